//! The laws of the plans of one session (E16).

use super::Broken;
use crate::{Event, ExecutionState, Session, StepStatus};
use std::collections::BTreeSet;

/// What was planned so far.
#[derive(Default)]
pub(super) struct Planned<'a> {
    /// Whether a turn has begun: what was before the log's first turn is not known.
    begun: bool,
    revision: u64,
    /// The updates of the turn.
    updates: BTreeSet<&'a str>,
}

impl<'a> Planned<'a> {
    /// Takes the next event; `session` is the state before it.
    pub(super) fn take(&mut self, session: &Session, event: &'a Event) -> Result<(), Broken> {
        match event {
            Event::Begun { turn } => {
                if self.begun && turn.plan_revision != self.revision {
                    return Err(Broken(format!(
                        "turn {} begins after revision {} of the plan, the last one was {}",
                        turn.context_id, turn.plan_revision, self.revision
                    )));
                }
                self.begun = true;
                self.revision = turn.plan_revision;
                self.updates.clear();
                Ok(())
            }
            Event::Plan {
                update_id,
                context_id,
                plan,
                ..
            } => {
                if session.active_turn().map(|t| t.context_id) != Some(*context_id) {
                    let id = plan.plan_id;
                    return Err(Broken(format!("plan {id} is changed outside of its turn")));
                }
                if !self.updates.insert(update_id.as_str()) {
                    return Err(Broken(format!("update {update_id} is taken twice")));
                }
                if !plan.is_running() {
                    return Err(Broken(format!("update {update_id} ends its plan")));
                }
                let working = |s: &&crate::PlanStep| s.status == StepStatus::InProgress;
                if plan.steps.iter().filter(working).count() > 1 {
                    return Err(Broken(format!("{update_id} works on two steps at once")));
                }
                self.grows(plan.revision)
            }
            Event::Ended {
                plan: Some(end), ..
            } => {
                let before = session.plan().map(|p| p.ended(end));
                let Some(after) = before.filter(|after| after.plan_id == end.plan_id) else {
                    let id = end.plan_id;
                    return Err(Broken(format!("plan {id} ends and was never shown")));
                };
                if after.execution_state == ExecutionState::Running {
                    return Err(Broken(format!("plan {} runs on", end.plan_id)));
                }
                self.grows(end.revision)
            }
            _ => Ok(()),
        }
    }

    fn grows(&mut self, revision: u64) -> Result<(), Broken> {
        if revision != self.revision + 1 {
            return Err(Broken(format!(
                "revision {revision} of a plan comes after {}",
                self.revision
            )));
        }
        self.revision = revision;
        Ok(())
    }
}
