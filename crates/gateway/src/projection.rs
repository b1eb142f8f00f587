//! One tenant's questions as the log tells them: those that wait, and a bounded recent history.

use askbus_domain::{
    Account, Clarification, ClarifyId, Commit, ContextId, Event, Figures, LateAnswer, ProfileId,
    RunId, SessionId,
};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Settled questions kept per tenant; older ones are looked up in the log.
const MAX_SETTLED: usize = 10_000;
/// Late answers kept per question, the newest; the log keeps all.
const MAX_LATE: usize = 20;

/// One clarification with what surfaces need beside it.
#[derive(Debug, Clone)]
pub(crate) struct Card {
    pub clarification: Clarification,
    pub session: SessionId,
    pub run: RunId,
    pub profile: ProfileId,
    /// Log sequence of its `requested`; every message to the inbox carries it.
    pub requested_seq: u64,
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

struct Turn {
    context: ContextId,
    profile: ProfileId,
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
                    context: turn.context_id,
                    profile: turn.profile.clone(),
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
            Event::Worked { .. } | Event::Refused { .. } => None,
        }
    }

    fn evolve(
        &mut self,
        seq: u64,
        id: ClarifyId,
        session: &SessionId,
        event: &Event,
    ) -> Option<Change> {
        let slot = self
            .cards
            .get_mut(&id)
            .filter(|card| card.session == *session)?;
        let card = Arc::make_mut(slot);
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
                if card.late.len() > MAX_LATE {
                    card.late.remove(0);
                }
                ChangeKind::Late
            }
            _ => return None,
        };
        let card = Arc::clone(slot);
        if kind == ChangeKind::Resolved {
            self.pending.remove(&(card.requested_seq, id));
            self.settled.push_back((seq, id));
            if self.settled.len() > MAX_SETTLED
                && let Some((_, oldest)) = self.settled.pop_front()
            {
                self.cards.remove(&oldest);
            }
        }
        Some(Change { seq, kind, card })
    }

    /// The card with this id.
    pub(crate) fn card(&self, id: ClarifyId) -> Option<&Arc<Card>> {
        self.cards.get(&id)
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
}
