//! Exit statuses, one table, and the failure that carries one.

use crate::output;
use askbus_wire::error::{ErrorCode, WireError};
use std::fmt::Display;
use std::process::ExitCode;

/// Wrong use of the command line.
pub(crate) const USAGE: u8 = 64;
/// A service cannot be reached.
pub(crate) const UNAVAILABLE: u8 = 69;
/// What there was to say could not be written.
pub(crate) const OUTPUT: u8 = 74;
/// Kept by the caller; try again.
pub(crate) const TRY_AGAIN: u8 = 75;
/// Not allowed.
pub(crate) const NOT_ALLOWED: u8 = 77;
/// The configuration cannot work.
pub(crate) const CONFIG: u8 = 78;
/// `answer`: somebody or something else settled it.
pub(crate) const LATE: u8 = 20;

/// Why a command ended without doing its work.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    pub(crate) fn new(code: u8, message: impl Display) -> Self {
        Self {
            code,
            message: message.to_string(),
        }
    }

    /// The same, said of something.
    pub(crate) fn about(self, what: impl Display) -> Self {
        Self {
            code: self.code,
            message: format!("{what}: {}", self.message),
        }
    }

    pub(crate) fn report(&self) -> ExitCode {
        fail(self.code, &self.message)
    }
}

/// Says why on standard error.
pub(crate) fn fail(code: u8, message: &dyn Display) -> ExitCode {
    output::remark(format_args!("askbus: {message}"));
    ExitCode::from(code)
}

impl From<WireError> for Failure {
    fn from(error: WireError) -> Self {
        let hint = match error.code {
            ErrorCode::Unauthenticated => " (see `askbus credential issue`)",
            _ => "",
        };
        Self::new(
            error.code.exit(),
            format!("{error} [{}]{hint}", error.code.as_str()),
        )
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(OUTPUT, error)
    }
}

impl From<askbus_credential::CredentialError> for Failure {
    fn from(error: askbus_credential::CredentialError) -> Self {
        Self::new(CONFIG, error)
    }
}
