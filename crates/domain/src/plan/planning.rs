//! What a session keeps of its plan: the fold of its events since the turn began.

use super::{ExecutionState, Plan, PlanEnd, PlanInput};
use crate::{PlanId, Timestamp, Turn, UpdateId};
use std::collections::VecDeque;
use std::sync::Arc;

/// How many updates are known again when they are repeated; a caller repeats its last ones only.
const REMEMBERED: usize = 64;

/// The plan of the latest turn, and what outlives a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Planning {
    plan: Option<Arc<Plan>>,
    /// The highest revision of the session.
    revision: u64,
    /// The latest updates of the turn, oldest first.
    updates: VecDeque<UpdateId>,
}

impl Planning {
    /// What a turn begins with.
    pub(crate) fn begun(turn: &Turn) -> Self {
        Self {
            revision: turn.plan_revision,
            ..Self::default()
        }
    }

    /// Folds an update.
    pub(crate) fn updated(&mut self, update_id: &UpdateId, plan: &Arc<Plan>) {
        if plan.revision <= self.revision {
            return;
        }
        self.revision = plan.revision;
        self.plan = Some(Arc::clone(plan));
        if self.updates.len() >= REMEMBERED {
            self.updates.pop_front();
        }
        self.updates.push_back(update_id.clone());
    }

    /// Folds the end of the turn.
    pub(crate) fn ended(&mut self, end: &PlanEnd) {
        self.revision = self.revision.max(end.revision);
        if let Some(plan) = &mut self.plan {
            *plan = Arc::new(plan.ended(end));
        }
    }

    /// Drops what a turn that is over has left; its revision stays.
    pub(crate) fn forget(&mut self) {
        self.plan = None;
        self.updates = VecDeque::new();
    }

    pub(crate) fn plan(&self) -> Option<&Arc<Plan>> {
        self.plan.as_ref()
    }

    pub(crate) const fn revision(&self) -> u64 {
        self.revision
    }

    /// Whether the update was taken before.
    pub(crate) fn knows(&self, update_id: &UpdateId) -> bool {
        self.updates.contains(update_id)
    }

    /// The plan as this update left it, if nothing has changed it since.
    pub(crate) fn outcome_of(&self, update_id: &UpdateId) -> Option<&Arc<Plan>> {
        let is_last = self.updates.back() == Some(update_id);
        self.plan.as_ref().filter(|p| is_last && p.is_running())
    }

    /// The plan that follows when `input` is taken; `plan_id` is for the first of its turn.
    pub(crate) fn next(
        &self,
        plan_id: PlanId,
        turn: &Turn,
        input: &PlanInput,
        now: Timestamp,
    ) -> Plan {
        let before = self.plan.as_deref();
        Plan {
            plan_id: before.map_or(plan_id, |p| p.plan_id),
            run_id: turn.run_id.clone(),
            revision: self.revision + 1,
            execution_state: ExecutionState::Running,
            explanation: input.explanation().map(str::to_owned),
            steps: input.steps().to_vec(),
            created_at: before.map_or(now, |p| p.created_at),
            // A replica whose clock is behind does not turn time back.
            updated_at: before.map_or(now, |p| p.updated_at.max(now)),
        }
    }
}
