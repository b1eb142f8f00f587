//! How much may be asked, answered and planned, in characters (Unicode scalar values) and counts.

/// Questions in one clarification at most (A1).
pub const MAX_QUESTIONS: usize = 5;
/// Options of one question at most (A1, E3).
pub const MAX_OPTIONS: usize = 20;
/// A question's text at most (E4).
pub const MAX_QUESTION_CHARS: usize = 4_000;
/// A question's explanation at most.
pub const MAX_EXPLANATION_CHARS: usize = 2_000;
/// An option's label at most (E4).
pub const MAX_LABEL_CHARS: usize = 500;
/// An option's description at most.
pub const MAX_DESCRIPTION_CHARS: usize = 2_000;
/// What is kept of a header; a title, so the rest is cut.
pub const MAX_HEADER_CHARS: usize = 100;
/// What is shown of a header (A1).
pub const SHOWN_HEADER_CHARS: usize = 12;
/// Steps of a plan at most (E16).
pub const MAX_PLAN_STEPS: usize = 30;
/// A step's id at most.
pub const MAX_STEP_ID_CHARS: usize = 100;
/// A step's text at most.
pub const MAX_STEP_CHARS: usize = 200;
/// What an agent says to a whole plan at most.
pub const MAX_PLAN_EXPLANATION_CHARS: usize = 1_000;
/// Text or note of an answer at most.
pub const MAX_ANSWER_CHARS: usize = 20_000;
