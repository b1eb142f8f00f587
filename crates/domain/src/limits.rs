//! How much may be asked and answered, in characters (Unicode scalar values) and counts.

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
/// Text or note of an answer at most.
pub const MAX_ANSWER_CHARS: usize = 20_000;
