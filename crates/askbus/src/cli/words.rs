//! Settings that are one word of a few: the words of the one vocabulary.

use askbus_domain::{OnTimeout, Reason, WhenAbsent};
use clap::builder::PossibleValuesParser;

/// What becomes of a question that nobody is there for.
pub(super) fn when_absent() -> PossibleValuesParser {
    PossibleValuesParser::new(WhenAbsent::ALL.iter().map(|word| word.as_str()))
}

/// What becomes of a question whose time is up.
pub(super) fn on_timeout() -> PossibleValuesParser {
    PossibleValuesParser::new(OnTimeout::ALL.iter().map(|word| word.as_str()))
}

/// How a question ended.
pub(super) fn reason() -> PossibleValuesParser {
    PossibleValuesParser::new(Reason::ALL.map(Reason::as_str))
}
