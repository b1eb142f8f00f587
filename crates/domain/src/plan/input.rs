//! What an agent may plan (E16), judged before anything is shown.

use super::{PlanStep, StepStatus};
use crate::{MAX_PLAN_EXPLANATION_CHARS, MAX_PLAN_STEPS, MAX_STEP_CHARS, MAX_STEP_ID_CHARS};
use serde_json::{Map, Value};
use std::fmt;

/// Which field of which step: `plan[2].status`. Steps count from 0, as in the list that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepField {
    /// Which step.
    pub at: usize,
    /// Which of its fields.
    pub field: &'static str,
}

impl fmt::Display for StepField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "plan[{}].{}", self.at, self.field)
    }
}

/// Why a plan is not taken, and how to mend it. The plan that is shown stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPlan {
    /// Not an object.
    #[error("the arguments must be a JSON object with plan, a list of 1 to {MAX_PLAN_STEPS} steps")]
    NoObject,
    /// `plan` is missing, or no list.
    #[error("plan must be a list of 1 to {MAX_PLAN_STEPS} steps, each {{id, step, status}}")]
    NoList,
    /// No step at all.
    #[error("plan is empty; send 1 to {MAX_PLAN_STEPS} steps, those that are completed included")]
    NoSteps,
    /// More than [`MAX_PLAN_STEPS`].
    #[error("plan has {0} steps, at most {MAX_PLAN_STEPS} are shown; join some of them")]
    TooManySteps(usize),
    /// A step that is no object.
    #[error("plan[{0}] must be an object with id, step and status")]
    NoStep(usize),
    /// A field that no plan has; what the service decides is not the caller's to set.
    #[error("there is no field {0:?} in a plan; send explanation and plan only")]
    UnknownField(String),
    /// A field that no step has.
    #[error("plan[{at}] has a field {field:?}; a step has id, step and status only")]
    UnknownStepField {
        /// Which step.
        at: usize,
        /// Which field.
        field: String,
    },
    /// Missing, or not text.
    #[error("{0} is required and must be a string")]
    NotText(StepField),
    /// Nothing but white space.
    #[error("{0} must not be blank; write a few words")]
    Blank(StepField),
    /// Longer than it may be.
    #[error("{field} is {chars} characters long, at most {max} are shown; shorten it")]
    TooLong {
        /// Which field.
        field: StepField,
        /// Its length in characters.
        chars: usize,
        /// How long it may be.
        max: usize,
    },
    /// Not one of the three.
    #[error("{0} must be pending, in_progress or completed")]
    UnknownStatus(StepField),
    /// Two steps with one id.
    #[error("plan[{at}].id repeats the id of plan[{first}]; give every step an id of its own")]
    RepeatedId {
        /// Which step.
        at: usize,
        /// The one before it with the same id.
        first: usize,
    },
    /// Two steps at once.
    #[error(
        "plan[{at}] is in_progress and so is plan[{first}]; one step at most is, set the other to \
         pending or completed"
    )]
    TwoInProgress {
        /// Which step.
        at: usize,
        /// The one before it.
        first: usize,
    },
    /// An explanation that is no text.
    #[error("explanation must be a string; leave it out if there is nothing to say")]
    ExplanationNotText,
    /// Longer than [`MAX_PLAN_EXPLANATION_CHARS`].
    #[error(
        "explanation is {0} characters long, at most {MAX_PLAN_EXPLANATION_CHARS} are shown; shorten \
         it"
    )]
    ExplanationTooLong(usize),
}

/// A plan that may be shown: it keeps every rule of E16.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanInput {
    explanation: Option<String>,
    steps: Vec<PlanStep>,
}

impl PlanInput {
    /// What the agent says to the whole.
    pub fn explanation(&self) -> Option<&str> {
        self.explanation.as_deref()
    }

    /// The steps, in order.
    pub fn steps(&self) -> &[PlanStep] {
        &self.steps
    }
}

/// What a host's request may say beside its plan: which turn it means, and which update it is.
const BESIDE: [&str; 2] = ["context_id", "update_id"];
const EXPLANATION: &str = "explanation";
const PLAN: &str = "plan";

/// Reads what a host's request says. Texts are trimmed; lengths count the characters that were sent.
///
/// # Errors
/// The first rule that is not kept.
pub fn parse_plan(arguments: &Value) -> Result<PlanInput, InvalidPlan> {
    read(arguments, &BESIDE)
}

/// As [`parse_plan`], for the arguments of a tool: nothing stands beside the plan.
///
/// # Errors
/// The first rule that is not kept.
pub fn parse_plan_alone(arguments: &Value) -> Result<PlanInput, InvalidPlan> {
    read(arguments, &[])
}

fn read(arguments: &Value, beside: &[&str]) -> Result<PlanInput, InvalidPlan> {
    let Value::Object(object) = arguments else {
        return Err(InvalidPlan::NoObject);
    };
    let known = |key: &str| key == EXPLANATION || key == PLAN || beside.contains(&key);
    if let Some(key) = object.keys().find(|key| !known(key)) {
        return Err(InvalidPlan::UnknownField(shortened(key)));
    }
    let explanation = explanation_of(object.get(EXPLANATION))?;
    let Some(Value::Array(list)) = object.get(PLAN) else {
        return Err(InvalidPlan::NoList);
    };
    match list.len() {
        0 => return Err(InvalidPlan::NoSteps),
        count if count > MAX_PLAN_STEPS => return Err(InvalidPlan::TooManySteps(count)),
        _ => {}
    }
    let steps = list
        .iter()
        .enumerate()
        .map(|(at, value)| step_of(at, value));
    let steps = steps.collect::<Result<Vec<_>, _>>()?;
    check_together(&steps)?;
    Ok(PlanInput { explanation, steps })
}

fn explanation_of(value: Option<&Value>) -> Result<Option<String>, InvalidPlan> {
    let text = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text,
        Some(_) => return Err(InvalidPlan::ExplanationNotText),
    };
    let chars = text.chars().count();
    if chars > MAX_PLAN_EXPLANATION_CHARS {
        return Err(InvalidPlan::ExplanationTooLong(chars));
    }
    Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
}

fn step_of(at: usize, value: &Value) -> Result<PlanStep, InvalidPlan> {
    let Value::Object(step) = value else {
        return Err(InvalidPlan::NoStep(at));
    };
    if let Some(key) = step
        .keys()
        .find(|key| !matches!(key.as_str(), "id" | "step" | "status"))
    {
        let field = shortened(key);
        return Err(InvalidPlan::UnknownStepField { at, field });
    }
    let status_field = StepField {
        at,
        field: "status",
    };
    let id = text_of(step, StepField { at, field: "id" }, MAX_STEP_ID_CHARS)?;
    let text = text_of(step, StepField { at, field: "step" }, MAX_STEP_CHARS)?;
    let status = match step.get(status_field.field) {
        Some(Value::String(word)) => StepStatus::parse(word),
        _ => None,
    };
    Ok(PlanStep {
        id,
        step: text,
        status: status.ok_or(InvalidPlan::UnknownStatus(status_field))?,
    })
}

fn text_of(step: &Map<String, Value>, field: StepField, max: usize) -> Result<String, InvalidPlan> {
    let Some(Value::String(text)) = step.get(field.field) else {
        return Err(InvalidPlan::NotText(field));
    };
    let chars = text.chars().count();
    if chars > max {
        return Err(InvalidPlan::TooLong { field, chars, max });
    }
    match text.trim() {
        "" => Err(InvalidPlan::Blank(field)),
        text => Ok(text.to_owned()),
    }
}

/// What holds between steps.
fn check_together(steps: &[PlanStep]) -> Result<(), InvalidPlan> {
    let mut working = None;
    for (at, step) in steps.iter().enumerate() {
        let same = |earlier: &PlanStep| earlier.id == step.id;
        if let Some(first) = steps.iter().take(at).position(same) {
            return Err(InvalidPlan::RepeatedId { at, first });
        }
        if step.status == StepStatus::InProgress
            && let Some(first) = working.replace(at)
        {
            return Err(InvalidPlan::TwoInProgress { at, first });
        }
    }
    Ok(())
}

/// A name that the caller made up, short enough for a sentence.
fn shortened(name: &str) -> String {
    name.chars().take(60).collect()
}
