//! The pure core of Askbus: what a question is, who may settle it, and what follows.
//!
//! Everything here is a total function of its arguments: no runtime, no I/O, no clock. A command and
//! a state go into [`decide`], events come out, and [`Session::evolve`] folds events back into
//! state. Whatever is a rule about a question belongs in this crate; whatever moves bytes does not.

mod account;
mod addressee;
mod answer;
mod blank;
mod clarification;
mod clock;
mod command;
mod decide;
mod deferred;
mod dialect;
mod event;
mod ids;
mod input;
mod instruction;
mod invariants;
mod language;
mod late;
mod limits;
mod outcome;
mod parent;
mod plan;
mod policy;
mod question;
mod reason;
mod rejection;
mod render;
mod roster;
mod scope;
mod session;
pub mod text_channel;
mod turn;
mod verdict;
mod vocabulary;
mod waiting;
mod work;

pub use account::{Account, Figures};
pub use addressee::{Addressee, Rights};
pub use answer::{Answer, AnswerAction, AnswerEntry, ChosenOption, QuestionAnswer, Response};
pub use blank::is_blank;
pub use clarification::{Clarification, LateAnswer, LateNote};
pub use clock::{Clock, HARD_CAP, MAX_TIMEOUT, MIN_TIMEOUT, Millis, Phase, TURN_CAP, Timestamp};
pub use command::{AskCommand, BeginCommand, Command, PlanCommand};
pub use decide::{decide, decide_past, expiry_jitter, pass_on_verdict};
pub use deferred::deferred_text;
pub use dialect::Dialect;
pub use event::{Commit, Event, EventKind, MAX_COMMIT_BYTES, SCHEMA};
pub use ids::{
    AnswerId, AskId, AskerId, BeginId, ChannelId, ClarifyId, CommitId, ContextId, GroupId, IdError,
    LeaseName, MAX_TOKEN_BYTES, OptionId, PersonId, PlanId, ProfileId, QuestionId, RunId,
    SessionId, TenantId, UpdateId,
};
pub use input::{
    AskInput, ChoiceInput, QuestionInput, TimeoutChoice, parse_arguments, parse_structured,
};
pub use instruction::instruction;
pub use invariants::{
    Broken, check_history, check_in_time, check_plan_runs_in_turn, check_settles_once,
    check_waits_in_turn,
};
pub use language::Language;
pub use late::{GoesOn, LateMessage, MAX_LATE, MAX_LATE_CHARS};
pub use limits::{
    MAX_ANSWER_CHARS, MAX_DESCRIPTION_CHARS, MAX_EXPLANATION_CHARS, MAX_HEADER_CHARS,
    MAX_LABEL_CHARS, MAX_OPTIONS, MAX_PLAN_EXPLANATION_CHARS, MAX_PLAN_STEPS, MAX_QUESTION_CHARS,
    MAX_QUESTIONS, MAX_STEP_CHARS, MAX_STEP_ID_CHARS, SHOWN_HEADER_CHARS,
};
pub use outcome::{Assumption, Outcome};
pub use parent::Parent;
pub use plan::{
    ExecutionState, InvalidPlan, Plan, PlanEnd, PlanInput, PlanStep, StepField, StepStatus,
    parse_plan, parse_plan_alone,
};
pub use policy::{
    Adjusted, Bound, ClockWish, MeaninglessPolicy, OnTimeout, Policy, PolicyLayer, PolicyTable,
    Presence, TenantPolicy, Terms, WhenAbsent, Wish,
};
pub use question::{Bounds, Choice, InvalidQuestion, Question, Questions};
pub use reason::{Actor, CancelCause, DecidedBy, Reason, Surface};
pub use rejection::{InvalidAnswer, Rejection};
pub use render::{Circumstances, adjusted_text, interaction_text, result_text};
pub use roster::Roster;
pub use scope::{HostTurn, Scope};
pub use session::{Due, Session};
pub use turn::{AskerInfo, Holder, Turn, TurnEnd};
pub use verdict::{Verdict, verdict, verdict_of};
pub use vocabulary::{StudioResult, studio_result};
pub use waiting::{Waiting, WaitingLimits, Whose};
pub use work::is_work;
