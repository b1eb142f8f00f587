//! The plan card (E16): what an agent means to do in its turn, step by step, and how far it has come.
//! What it says is the agent's; that it runs, and which revision it is, is the service's alone.

mod input;
mod planning;

pub use input::{InvalidPlan, PlanInput, StepField, parse_plan, parse_plan_alone};
pub(crate) use planning::Planning;

use crate::{PlanId, RunId, Timestamp, TurnEnd};
use serde::{Deserialize, Serialize};

/// How far a step has come, as the agent says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// Not begun.
    Pending,
    /// Worked on; one step of a plan at most.
    InProgress,
    /// Done.
    Completed,
}

impl StepStatus {
    /// Every status.
    pub const ALL: [StepStatus; 3] = [
        StepStatus::Pending,
        StepStatus::InProgress,
        StepStatus::Completed,
    ];

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            StepStatus::Pending => "pending",
            StepStatus::InProgress => "in_progress",
            StepStatus::Completed => "completed",
        }
    }

    /// Reads the word.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.as_str() == text)
    }
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PlanStep {
    /// The agent's name for it; no other step of the plan has it.
    pub id: String,
    /// What is to be done, for the person.
    pub step: String,
    /// How far it has come.
    pub status: StepStatus,
}

/// Whether anybody works on a plan; the service decides it, by the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionState {
    /// Its turn is on.
    Running,
    /// The host said that the turn was completed.
    Ended,
    /// The turn ended in any other way.
    Interrupted,
    /// The host said that the turn failed.
    Failed,
}

impl ExecutionState {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            ExecutionState::Running => "running",
            ExecutionState::Ended => "ended",
            ExecutionState::Interrupted => "interrupted",
            ExecutionState::Failed => "failed",
        }
    }

    /// What the end of its turn makes of a plan.
    pub const fn after(end: TurnEnd) -> Self {
        match end {
            TurnEnd::Completed => ExecutionState::Ended,
            TurnEnd::Failed => ExecutionState::Failed,
            TurnEnd::Stopped
            | TurnEnd::Replaced
            | TurnEnd::Disposed
            | TurnEnd::Interrupted
            | TurnEnd::Expired => ExecutionState::Interrupted,
        }
    }
}

/// A turn's plan at one revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Its id; every turn has a plan of its own.
    pub plan_id: PlanId,
    /// The host's marker of the run behind the turn.
    pub run_id: RunId,
    /// Higher than that of every plan of the session before it: who sees several keeps the highest.
    pub revision: u64,
    /// Whether anybody works on it.
    pub execution_state: ExecutionState,
    /// What the agent says to the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
    /// Its steps, in order.
    #[serde(rename = "plan")]
    pub steps: Vec<PlanStep>,
    /// When the first revision of it was taken.
    pub created_at: Timestamp,
    /// When this one was.
    pub updated_at: Timestamp,
}

/// How a plan ended together with its turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEnd {
    /// Which plan.
    pub plan_id: PlanId,
    /// Its last revision.
    pub revision: u64,
    /// What became of it.
    pub execution_state: ExecutionState,
    /// When.
    pub at: Timestamp,
}

impl Plan {
    /// Whether its turn is on.
    pub const fn is_running(&self) -> bool {
        matches!(self.execution_state, ExecutionState::Running)
    }

    /// How it ends with its turn; none if it has ended.
    pub(crate) fn ending(&self, end: TurnEnd, now: Timestamp) -> Option<PlanEnd> {
        self.is_running().then(|| PlanEnd {
            plan_id: self.plan_id,
            revision: self.revision + 1,
            execution_state: ExecutionState::after(end),
            at: now.max(self.updated_at),
        })
    }

    /// The plan as its end left it: a step that was worked on is open again, and nothing is completed
    /// that the agent did not call so. The end of another plan changes nothing.
    #[must_use]
    pub fn ended(&self, end: &PlanEnd) -> Self {
        if end.plan_id != self.plan_id || end.revision <= self.revision {
            return self.clone();
        }
        let open = |step: &PlanStep| PlanStep {
            status: match step.status {
                StepStatus::Pending | StepStatus::InProgress => StepStatus::Pending,
                StepStatus::Completed => StepStatus::Completed,
            },
            ..step.clone()
        };
        Self {
            revision: end.revision,
            execution_state: end.execution_state,
            steps: self.steps.iter().map(open).collect(),
            updated_at: end.at,
            ..self.clone()
        }
    }
}
