//! The state of a session: the fold of its events since its turn began.

use crate::plan::Planning;
use crate::{
    Account, AskCommand, Clarification, ClarifyId, Commit, ContextId, Dialect, Event, Holder,
    LateMessage, Plan, ProfileId, SCHEMA, Timestamp, Turn, TurnEnd, UpdateId,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Something that may be due at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Due {
    /// A clarification's time is up.
    Clarification(ClarifyId),
    /// The turn's time is up.
    Turn(ContextId),
}

/// One session's state.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Session {
    turn: Option<Turn>,
    ended: Option<TurnEnd>,
    /// Shared, so that a copy of a session with a long turn costs little: services copy it for each
    /// decision.
    clarifications: BTreeMap<ClarifyId, Arc<Clarification>>,
    account: Account,
    late: Vec<LateMessage>,
    work_begun: bool,
    planning: Planning,
    unreadable: bool,
}

impl Session {
    /// Folds one event into the state.
    pub fn evolve(&mut self, event: &Event) {
        self.account.note(event);
        match event {
            Event::Begun { turn } => {
                self.late.clone_from(&turn.undelivered);
                self.work_begun = turn.work_begun;
                self.turn = Some(turn.clone());
                self.ended = None;
                self.clarifications.clear();
                self.planning = Planning::begun(turn);
            }
            Event::Plan {
                update_id, plan, ..
            } => self.planning.updated(update_id, plan),
            Event::Worked { .. } => self.work_begun = true,
            Event::Ended {
                context_id,
                end,
                plan,
                ..
            } => {
                if self
                    .turn
                    .as_ref()
                    .is_some_and(|t| t.context_id == *context_id)
                {
                    self.ended = Some(*end);
                    if let Some(plan) = plan {
                        self.planning.ended(plan);
                    }
                }
            }
            Event::Requested { clarify_id, .. } => {
                if let Some(new) = Clarification::requested(event) {
                    self.clarifications
                        .entry(*clarify_id)
                        .or_insert_with(|| Arc::new(new));
                }
            }
            Event::Held { clarify_id, .. }
            | Event::Resolved { clarify_id, .. }
            | Event::Late { clarify_id, .. }
            | Event::PassedOn { clarify_id, .. } => {
                self.evolve_late(event);
                if let Some(clarification) = self.clarifications.get_mut(clarify_id) {
                    Arc::make_mut(clarification).evolve(event);
                }
            }
            Event::Refused { .. } => {}
        }
    }

    /// Keeps the late messages that wait for something to ride with, those for questions of earlier
    /// turns as well.
    fn evolve_late(&mut self, event: &Event) {
        match event {
            // Whatever waited rode with it, or was there before and waits on.
            Event::Resolved { outcome, .. } => {
                self.late.retain(|waits| !outcome.late.contains(waits));
            }
            Event::Late {
                clarify_id,
                late,
                asked,
                goes_on: Some(goes_on),
            } if goes_on.is_on_its_way() => {
                self.late.extend(LateMessage::of(*clarify_id, asked, late));
            }
            Event::PassedOn {
                message, goes_on, ..
            } if goes_on.is_on_its_way() => self.late.push(message.clone()),
            _ => {}
        }
    }

    /// Folds a commit into the state. A commit of a newer schema makes the session unreadable:
    /// this build then refuses to decide anything about it.
    pub fn apply(&mut self, commit: &Commit) {
        if commit.schema > SCHEMA {
            self.unreadable = true;
            return;
        }
        for event in &commit.events {
            #[cfg(debug_assertions)]
            insist(self.check_resolution(event));
            self.evolve(event);
        }
        #[cfg(debug_assertions)]
        self.check_invariants();
    }

    /// Drops what a turn that is over asked and planned; the turn itself stays. While a turn is active
    /// this does nothing.
    pub fn forget_clarifications(&mut self) {
        if self.active_turn().is_none() {
            self.clarifications.clear();
            self.planning.forget();
        }
    }

    /// Marks that the log holds something this build cannot read.
    pub fn mark_unreadable(&mut self) {
        self.unreadable = true;
    }

    /// Whether the log holds something this build cannot read.
    pub const fn is_unreadable(&self) -> bool {
        self.unreadable
    }

    /// The laws of a session that hold after every commit; panics in debug builds and tests.
    #[cfg(any(test, debug_assertions))]
    pub fn check_invariants(&self) {
        // What is only half read keeps no law, and nothing is decided about it.
        if !self.unreadable {
            insist(crate::check_waits_in_turn(self));
            insist(crate::check_plan_runs_in_turn(self));
        }
    }

    #[cfg(debug_assertions)]
    fn check_resolution(&self, event: &Event) -> Result<(), crate::Broken> {
        crate::check_settles_once(self, event)?;
        match event {
            Event::Resolved {
                clarify_id,
                outcome,
            } => self
                .clarification(*clarify_id)
                .map_or(Ok(()), |before| crate::check_in_time(before, outcome)),
            _ => Ok(()),
        }
    }

    /// The turn that is on now.
    pub fn active_turn(&self) -> Option<&Turn> {
        self.turn.as_ref().filter(|_| self.ended.is_none())
    }

    /// The latest turn and, once it is over, how it ended.
    pub fn latest_turn(&self) -> Option<(&Turn, Option<TurnEnd>)> {
        self.turn.as_ref().map(|t| (t, self.ended))
    }

    /// The profile the session belongs to, once a turn has begun.
    pub fn profile(&self) -> Option<&ProfileId> {
        self.turn.as_ref().map(|t| &t.profile)
    }

    /// What the questions of the latest turn came to.
    pub const fn account(&self) -> &Account {
        &self.account
    }

    /// Late messages that wait for something to ride with.
    pub fn late(&self) -> &[LateMessage] {
        &self.late
    }

    /// Whether a tool changed something in this session (D8).
    pub const fn work_begun(&self) -> bool {
        self.work_begun
    }

    /// The plan of the latest turn.
    pub fn plan(&self) -> Option<&Arc<Plan>> {
        self.planning.plan()
    }

    /// The highest revision of a plan of this session; 0 before the first.
    pub const fn plan_revision(&self) -> u64 {
        self.planning.revision()
    }

    /// The plan as this update left it, if nothing has changed it since.
    pub fn plan_after(&self, update_id: &UpdateId) -> Option<&Arc<Plan>> {
        self.planning.outcome_of(update_id)
    }

    pub(crate) const fn planning(&self) -> &Planning {
        &self.planning
    }

    /// The clarification with this id, if it belongs to the latest turn.
    pub fn clarification(&self, id: ClarifyId) -> Option<&Clarification> {
        self.clarifications.get(&id).map(Arc::as_ref)
    }

    /// The same, to be kept beyond the session's next change.
    pub fn shared_clarification(&self, id: ClarifyId) -> Option<&Arc<Clarification>> {
        self.clarifications.get(&id)
    }

    /// The clarification that this ask is about: the same ask again, or one of the same asker that
    /// waits with the same questions already.
    pub fn asked(&self, ask: &AskCommand) -> Option<&Clarification> {
        let again = |c: &&Clarification| c.ask_id == ask.ask_id;
        self.clarifications().find(again).or_else(|| {
            let input = ask.input.as_ref().ok()?;
            let turn = self.turn.as_ref()?;
            let parent = ask.parent.as_ref().or(turn.parent.as_ref());
            let to = turn.addressee(input);
            let same = |c: &&Clarification| {
                ask.dialect == Dialect::Ask
                    && c.dialect == Dialect::Ask
                    && c.asker_id == ask.asker_id
                    && c.questions == input.questions
                    && c.to.as_ref() == to
                    && c.parent.as_ref() == parent
            };
            self.pending().find(same)
        })
    }

    /// All clarifications of the latest turn.
    pub fn clarifications(&self) -> impl Iterator<Item = &Clarification> {
        self.clarifications.values().map(Arc::as_ref)
    }

    /// Those that wait.
    pub fn pending(&self) -> impl Iterator<Item = &Clarification> {
        self.clarifications().filter(|c| c.is_pending())
    }

    /// Everything that will be due by itself, with its moment.
    pub fn due(&self) -> impl Iterator<Item = (Timestamp, Due)> {
        let questions = self
            .pending()
            .map(|c| (c.expires_at(), Due::Clarification(c.id)));
        let turn = self
            .active_turn()
            .map(|t| (t.cap(), Due::Turn(t.context_id)));
        questions.chain(turn)
    }

    /// The lease that keeps the active turn alive, if it is kept alive by one.
    pub fn turn_lease(&self) -> Option<&Holder> {
        self.active_turn()
            .map(|t| &t.holder)
            .filter(|h| matches!(h, Holder::Lease { .. }))
    }
}

/// Panics when a law is broken.
#[cfg(any(test, debug_assertions))]
#[allow(clippy::panic)]
fn insist(law: Result<(), crate::Broken>) {
    if let Err(broken) = law {
        panic!("{broken}");
    }
}
