//! The pure core of Askbus: what a question is, who may settle it, and what follows.
//!
//! Everything here is a total function of its arguments: no runtime, no I/O, no clock. A command and
//! a state go into [`decide`], events come out, and [`Session::evolve`] folds events back into
//! state. Whatever is a rule about a question belongs in this crate; whatever moves bytes does not.

mod answer;
mod clarification;
mod clock;
mod command;
mod decide;
mod dialect;
mod event;
mod ids;
mod input;
mod invariants;
mod question;
mod reason;
mod rejection;
mod render;
mod session;
mod turn;
mod verdict;

pub use answer::{
    Answer, AnswerAction, AnswerEntry, ChosenOption, MAX_ANSWER_CHARS, QuestionAnswer, Response,
};
pub use clarification::{Assumption, Clarification, LateAnswer, Outcome};
pub use clock::{Clock, HARD_CAP, MAX_TIMEOUT, MIN_TIMEOUT, Millis, Phase, TURN_CAP, Timestamp};
pub use command::{AskCommand, BeginCommand, Command};
pub use decide::{decide, decide_past, expiry_jitter};
pub use dialect::Dialect;
pub use event::{Commit, Event, EventKind, MAX_COMMIT_BYTES, SCHEMA};
pub use ids::{
    AnswerId, AskId, AskerId, BeginId, ClarifyId, CommitId, ContextId, IdError, LeaseName,
    MAX_TOKEN_BYTES, OptionId, PersonId, ProfileId, QuestionId, RunId, SessionId, TenantId,
};
pub use input::{AskInput, StructuredQuestion, TimeoutChoice, parse_arguments, parse_structured};
pub use invariants::{
    Broken, check_history, check_in_time, check_settles_once, check_waits_in_turn,
};
pub use question::{
    Choice, InvalidQuestion, MAX_LABEL_CHARS, MAX_OPTIONS, MAX_QUESTION_CHARS, MAX_QUESTIONS,
    Question, Questions,
};
pub use reason::{Actor, CancelCause, DecidedBy, Reason, Surface};
pub use rejection::{InvalidAnswer, Rejection};
pub use render::{interaction_text, result_text};
pub use session::{Due, Session};
pub use turn::{AskerInfo, Holder, Turn, TurnEnd};
pub use verdict::{Verdict, verdict};
