//! Why a command was refused: one stable code each.

use crate::{InvalidPlan, InvalidQuestion, OptionId, QuestionId, Whose};

/// What is wrong with an answer. The clarification stays open and the author keeps the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAnswer {
    /// No such question in this clarification.
    #[error("there is no question {0} in this clarification")]
    UnknownQuestion(QuestionId),
    /// No such option in the question.
    #[error("there is no option {0} in this question")]
    UnknownOption(OptionId),
    /// One question answered twice in one response.
    #[error("question {0} is answered twice in one response")]
    Repeated(QuestionId),
    /// Several options for a question that takes one.
    #[error("question {0} takes one option only")]
    OneOptionOnly(QuestionId),
    /// Fewer options than the question takes.
    #[error("question {question} takes at least {min} options, or an own text")]
    TooFew {
        /// Which question.
        question: QuestionId,
        /// How many it takes at least.
        min: u8,
    },
    /// More options than the question takes.
    #[error("question {question} takes at most {max} options")]
    TooMany {
        /// Which question.
        question: QuestionId,
        /// How many it takes at most.
        max: u8,
    },
    /// A note to a question, and nothing that answers any.
    #[error(
        "there is only a note to question {0}; choose an option or write an answer, a note goes beside it"
    )]
    NoteAlone(QuestionId),
    /// A question that is declined and answered at once.
    #[error("question {0} is declined and answered in one response")]
    DeclinedAndAnswered(QuestionId),
    /// A text that names no question cannot answer several.
    #[error("this clarification has {count} questions; name each by its question_id")]
    SeveralQuestions {
        /// How many questions there are.
        count: usize,
    },
    /// Over the limit of [`crate::MAX_ANSWER_CHARS`].
    #[error("{field} is longer than {} characters", crate::MAX_ANSWER_CHARS)]
    TooLong {
        /// Which field.
        field: &'static str,
    },
    /// The question is over, and it keeps as many late answers as it may.
    #[error("{limit} answers {whose} came late already, and this one is not taken")]
    TooManyLate {
        /// How many it keeps.
        limit: usize,
        /// `of yours` or `to it`.
        whose: &'static str,
    },
    /// No late answer of this author has the id, or it says nothing.
    #[error("there is no late answer of yours to send on")]
    NothingToPassOn,
    /// An ask-back that says nothing.
    #[error("asking back needs a text that says what is missing")]
    EmptyAskBack,
}

/// Why a command was refused. The state is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// Unknown or expired context, or another profile: the same words for all (E6).
    #[error("Interaction context is unknown or has expired")]
    ContextExpired,
    /// The context is right but its turn is over (E6).
    #[error("Interaction context has no active turn")]
    NoActiveTurn,
    /// Somebody else's turn of the session is on, and a process without a host does not end it (E11).
    #[error("somebody else has a turn in this session; ask in another session")]
    SessionTaken,
    /// Another question is pending where only one may be (E6).
    #[error("Another clarification is already pending for this session")]
    Busy,
    /// The session has as many questions waiting as it may.
    #[error("{limit} clarifications of this session wait already; answer or cancel one first")]
    TooManyPending {
        /// How many may wait.
        limit: usize,
    },
    /// More waits of whoever asks than people can be shown.
    #[error(
        "{limit} clarifications of {whose} wait already; ask again when people have answered some, or cancel some"
    )]
    TooManyWaiting {
        /// How many may wait.
        limit: usize,
        /// Of whom so many wait.
        whose: Whose,
    },
    /// The questions cannot be shown (E4).
    #[error(transparent)]
    InvalidQuestion(#[from] InvalidQuestion),
    /// The plan cannot be shown (E16).
    #[error(transparent)]
    InvalidPlan(#[from] InvalidPlan),
    /// No such clarification in this session.
    #[error("No such clarification")]
    UnknownClarification,
    /// The question is meant for somebody else; the author keeps the text.
    #[error("this question is meant for somebody else")]
    NotAddressed,
    /// The answer does not fit the questions.
    #[error(transparent)]
    InvalidAnswer(#[from] InvalidAnswer),
    /// The decision would not fit one bus message.
    #[error("this is larger than one message may be; shorten it")]
    TooLarge,
    /// The log holds something written by a newer version.
    #[error("this session was written to by a newer version; upgrade this service")]
    UpgradeNeeded,
}

impl Rejection {
    /// Whether events that are newer than the state it was decided on may lift it: such a refusal
    /// says something only of the newest state.
    pub const fn may_be_lifted(&self) -> bool {
        matches!(
            self,
            Rejection::Busy
                | Rejection::SessionTaken
                | Rejection::TooManyPending { .. }
                | Rejection::InvalidAnswer(InvalidAnswer::NothingToPassOn)
        )
    }

    /// The stable reason code, the same on every transport.
    pub const fn code(&self) -> &'static str {
        match self {
            Rejection::ContextExpired => "CONTEXT_EXPIRED",
            Rejection::NoActiveTurn => "NO_ACTIVE_TURN",
            Rejection::SessionTaken => "SESSION_TAKEN",
            Rejection::Busy => "BUSY",
            Rejection::TooManyPending { .. } | Rejection::TooManyWaiting { .. } => {
                "TOO_MANY_PENDING"
            }
            Rejection::InvalidQuestion(_) => "INVALID_QUESTION",
            Rejection::InvalidPlan(_) => "INVALID_PLAN",
            Rejection::UnknownClarification => "UNKNOWN_CLARIFICATION",
            Rejection::NotAddressed => "NOT_ADDRESSED",
            Rejection::InvalidAnswer(_) => "INVALID_ANSWER",
            Rejection::TooLarge => "TOO_LARGE",
            Rejection::UpgradeNeeded => "UPGRADE_NEEDED",
        }
    }
}
