//! Why a command did not get through, and what its caller hears of it.

use askbus_domain::{ClarifyId, Rejection};
use askbus_ledger::LedgerError;
use askbus_wire::error::{ErrorCode, WireError};

/// Why a command did not get through.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum CommandError {
    #[error(transparent)]
    Rejected(#[from] Rejection),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// It may have been written: the same command again tells.
    #[error("whether it was written is not known ({0}); try again")]
    Uncertain(String),
    #[error("the service is busy or stopping; try again")]
    Overloaded,
    /// The question would time out although the inbox holds an answer that came in time.
    #[error("an answer that came in time is not judged yet; try again")]
    AnswersFirst(ClarifyId),
}

impl From<CommandError> for WireError {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Rejected(rejection) => rejection.into(),
            CommandError::Ledger(LedgerError::Full) => WireError::new(
                ErrorCode::Full,
                "the log is full; no new questions are taken until space is freed",
            ),
            CommandError::Ledger(LedgerError::TooLarge(why)) => {
                WireError::new(ErrorCode::TooLarge, why)
            }
            CommandError::Ledger(e @ LedgerError::Misconfigured(_)) => {
                WireError::new(ErrorCode::Internal, e)
            }
            CommandError::Ledger(e @ LedgerError::Unavailable(_)) => {
                WireError::new(ErrorCode::LogUnavailable, e)
            }
            CommandError::Overloaded
            | CommandError::Ledger(LedgerError::InDoubt(_))
            | CommandError::Uncertain(_)
            | CommandError::AnswersFirst(_) => WireError::new(ErrorCode::Unavailable, error),
        }
    }
}
