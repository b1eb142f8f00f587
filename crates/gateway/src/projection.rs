//! One tenant's questions and plans as the log tells them: those that wait or run, a bounded recent
//! history, and where in the log everything before it is.

mod joining;
mod plans;
mod shelf;

pub(crate) use plans::PlanCard;
pub(crate) use shelf::Shelved;

use askbus_domain::{
    Account, Addressee, Clarification, ClarifyId, Commit, ContextId, Event, Figures, LateAnswer,
    ProfileId, RunId, SessionId,
};
pub(crate) use joining::Meanwhile;
use joining::Unplaced;
use plans::Plans;
use shelf::Shelf;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Settled questions kept whole per tenant; older ones are read from the log.
const MAX_SETTLED: usize = 10_000;

/// One clarification with what surfaces need beside it.
#[derive(Debug, Clone)]
pub(crate) struct Card {
    pub clarification: Clarification,
    pub session: SessionId,
    pub run: RunId,
    pub profile: ProfileId,
    /// Log sequence of its `requested`; every message to the inbox carries it.
    pub requested_seq: u64,
    /// Log sequence of the `begun` of its turn.
    pub begun_seq: u64,
    /// Where the log speaks of it beside asking and settling.
    pub noted: Vec<u64>,
    /// Log sequence of its `resolved`.
    pub settled_seq: Option<u64>,
    pub late: Vec<LateAnswer>,
    /// What the questions of its turn came to.
    pub turn: Arc<TurnFigures>,
    /// The trace in which it was asked.
    pub trace: Option<Arc<str>>,
}

impl Card {
    pub(crate) fn id(&self) -> ClarifyId {
        self.clarification.id
    }

    /// Whether the log speaks of it after `seq`.
    pub(crate) fn moved_after(&self, seq: u64) -> bool {
        self.requested_seq > seq || self.noted.iter().any(|noted| *noted > seq)
    }

    /// Whether it was settled in the moment it was asked: nobody was asked, so that it stands in the
    /// history and never before anybody.
    pub(crate) fn settled_at_once(&self) -> bool {
        self.settled_seq == Some(self.requested_seq)
    }
}

/// The figures of a turn (A8), shared by the cards of all its questions.
#[derive(Debug, Default)]
pub(crate) struct TurnFigures {
    asked: AtomicU32,
    auto: AtomicU32,
}

impl TurnFigures {
    /// As they are now.
    pub(crate) fn now(&self) -> Figures {
        Figures {
            asked: self.asked.load(Ordering::Relaxed),
            auto: self.auto.load(Ordering::Relaxed),
        }
    }

    fn set(&self, figures: Figures) {
        self.asked.store(figures.asked, Ordering::Relaxed);
        self.auto.store(figures.auto, Ordering::Relaxed);
    }
}

/// What happened to a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Requested,
    Held,
    Resolved,
    Late,
}

/// One change and the card as it left it.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub seq: u64,
    pub kind: ChangeKind,
    pub card: Arc<Card>,
}

/// A question that is over, kept whole or to be read from the log.
#[derive(Debug, Clone)]
pub(crate) enum Past {
    Kept(u64, Arc<Card>),
    /// With the sequences of the log that make it up.
    Shelved(Shelved, Vec<u64>),
}

impl Past {
    /// Log sequence of its `resolved`.
    pub(crate) fn seq(&self) -> u64 {
        match self {
            Past::Kept(seq, _) => *seq,
            Past::Shelved(shelved, _) => shelved.settled_seq,
        }
    }
}

struct Turn {
    begun_seq: u64,
    context: ContextId,
    profile: ProfileId,
    to: Option<Addressee>,
    run: RunId,
    account: Account,
    figures: Arc<TurnFigures>,
}

/// The projection of one tenant.
#[derive(Default)]
pub(crate) struct Projection {
    turns: HashMap<SessionId, Turn>,
    cards: HashMap<ClarifyId, Arc<Card>>,
    pending: BTreeSet<(u64, ClarifyId)>,
    settled: VecDeque<(u64, ClarifyId)>,
    shelf: Shelf,
    plans: Plans,
    /// What was said of questions that may be among those left out, until they are joined.
    unplaced: Option<Unplaced>,
}

impl Projection {
    /// Folds the commit stored at `seq`.
    pub(crate) fn apply(&mut self, seq: u64, commit: &Commit, trace: Option<&str>) -> Vec<Change> {
        let (session, events) = (&commit.session_id, commit.events.iter());
        let mut changes: Vec<Change> = events
            .filter_map(|event| self.fold(seq, session, event, trace))
            .collect();
        // What the same commit settled is not shown as waiting.
        changes.retain(|change| {
            let card = self.cards.get(&change.card.id());
            change.kind != ChangeKind::Requested || !card.is_some_and(|c| c.settled_at_once())
        });
        changes
    }

    /// Folds the plans of a commit that [`Projection::apply`] has folded.
    pub(crate) fn apply_plans(&mut self, seq: u64, commit: &Commit) -> Vec<Arc<PlanCard>> {
        let session = &commit.session_id;
        let shown = commit.events.iter().filter_map(|event| match event {
            Event::Plan { asker, plan, .. } => {
                let turn = self.turns.get(session)?;
                self.plans.show(PlanCard {
                    session: session.clone(),
                    profile: turn.profile.clone(),
                    to: turn.to.clone(),
                    asker: asker.clone(),
                    seq,
                    plan: Arc::clone(plan),
                })
            }
            Event::Ended {
                plan: Some(end), ..
            } => self.plans.end(seq, session, end),
            _ => None,
        });
        shown.collect()
    }

    fn fold(
        &mut self,
        seq: u64,
        session: &SessionId,
        event: &Event,
        trace: Option<&str>,
    ) -> Option<Change> {
        // A turn that begins has an account of its own.
        let of_turn = !matches!(event, Event::Begun { .. });
        if let Some(turn) = self.turns.get_mut(session).filter(|_| of_turn) {
            turn.account.note(event);
            turn.figures.set(turn.account.figures());
        }
        match event {
            Event::Begun { turn } => {
                let turn = Turn {
                    begun_seq: seq,
                    context: turn.context_id,
                    profile: turn.profile.clone(),
                    to: turn.to.clone(),
                    run: turn.run_id.clone(),
                    account: Account::default(),
                    figures: Arc::default(),
                };
                self.turns.insert(session.clone(), turn);
                None
            }
            Event::Ended { context_id, .. } => {
                // Nothing is asked in a turn that is over; its cards know their run themselves.
                if self
                    .turns
                    .get(session)
                    .is_some_and(|t| t.context == *context_id)
                {
                    self.turns.remove(session);
                }
                None
            }
            Event::Requested { clarify_id, .. } => {
                let turn = self.turns.get(session)?;
                if self.cards.contains_key(clarify_id) {
                    return None;
                }
                let card = Arc::new(Card {
                    clarification: Clarification::requested(event)?,
                    session: session.clone(),
                    run: turn.run.clone(),
                    profile: turn.profile.clone(),
                    requested_seq: seq,
                    begun_seq: turn.begun_seq,
                    noted: Vec::new(),
                    settled_seq: None,
                    late: Vec::new(),
                    turn: Arc::clone(&turn.figures),
                    trace: trace.map(Arc::from),
                });
                self.pending.insert((seq, *clarify_id));
                self.cards.insert(*clarify_id, Arc::clone(&card));
                Some(Change {
                    seq,
                    kind: ChangeKind::Requested,
                    card,
                })
            }
            Event::Held { clarify_id, .. }
            | Event::Resolved { clarify_id, .. }
            | Event::Late { clarify_id, .. }
            | Event::PassedOn { clarify_id, .. } => self.evolve(seq, *clarify_id, session, event),
            Event::Worked { .. } | Event::Plan { .. } | Event::Refused { .. } => None,
        }
    }

    fn evolve(
        &mut self,
        seq: u64,
        id: ClarifyId,
        session: &SessionId,
        event: &Event,
    ) -> Option<Change> {
        let Some(slot) = self.cards.get_mut(&id) else {
            match &mut self.unplaced {
                Some(unplaced) => unplaced.keep(seq, session, event),
                None => self.shelf.note(id, seq),
            }
            return None;
        };
        if slot.session != *session {
            return None;
        }
        let card = Arc::make_mut(slot);
        if !matches!(event, Event::Resolved { .. }) {
            shelf::note(&mut card.noted, seq);
        }
        let (waited, free) = (
            card.clarification.is_pending(),
            card.clarification.held_by.is_none(),
        );
        card.clarification.evolve(event);
        let kind = match event {
            Event::Held { .. } if free && card.clarification.held_by.is_some() => ChangeKind::Held,
            Event::Resolved { .. } if waited => {
                card.settled_seq = Some(seq);
                ChangeKind::Resolved
            }
            Event::Late { late, .. } => {
                card.late.push(late.clone());
                ChangeKind::Late
            }
            _ => return None,
        };
        let card = Arc::clone(slot);
        if kind == ChangeKind::Resolved {
            self.pending.remove(&(card.requested_seq, id));
            self.settled.push_back((seq, id));
            if self.settled.len() > MAX_SETTLED {
                self.shelve_oldest();
            }
        }
        Some(Change { seq, kind, card })
    }

    fn shelve_oldest(&mut self) {
        let oldest = self.settled.pop_front();
        let card = oldest.and_then(|(seq, id)| Some((seq, self.cards.remove(&id)?)));
        if let Some((seq, card)) = card
            && let Some(outcome) = &card.clarification.outcome
        {
            self.shelf.put(&card, seq, outcome);
        }
    }

    /// The card with this id.
    pub(crate) fn card(&self, id: ClarifyId) -> Option<&Arc<Card>> {
        self.cards.get(&id)
    }

    /// The last plan of each session: those that run, then those that ended, the latest first.
    pub(crate) fn plans(&self) -> impl Iterator<Item = &Arc<PlanCard>> {
        self.plans.all()
    }

    /// How many wait.
    pub(crate) fn pending_len(&self) -> usize {
        self.pending.len()
    }

    /// Those that wait, oldest first.
    pub(crate) fn pending(&self) -> impl Iterator<Item = &Arc<Card>> {
        self.pending.iter().filter_map(|(_, id)| self.cards.get(id))
    }

    /// Those settled, with the sequence of settling, latest first.
    pub(crate) fn settled(&self) -> impl Iterator<Item = (u64, &Arc<Card>)> {
        let latest_first = self.settled.iter().rev();
        latest_first.filter_map(|(seq, id)| Some((*seq, self.cards.get(id)?)))
    }
    /// All that was settled before `seq`, latest first.
    pub(crate) fn past(&self, seq: u64) -> impl Iterator<Item = Past> {
        let end = self.settled.partition_point(|(settled, _)| *settled < seq);
        let kept = self.settled.range(..end).rev();
        let kept =
            kept.filter_map(|(at, id)| Some(Past::Kept(*at, Arc::clone(self.cards.get(id)?))));
        let shelved = self.shelf.before(seq);
        kept.chain(shelved.map(|(shelved, places)| Past::Shelved(shelved.clone(), places)))
    }
}
