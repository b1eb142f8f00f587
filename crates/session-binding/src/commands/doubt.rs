//! What is said of a command that failed when an earlier attempt of it may have been written.

use super::error::CommandError;

/// Whether an attempt to write is in doubt: its commit may be in the log or still on its way there.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    /// The session's last sequence that the attempt expected.
    expected: Option<u64>,
}

impl Doubt {
    /// Notes an attempt of which nobody knows what came of it.
    pub(super) const fn begin(&mut self, expected: u64) {
        self.expected = Some(expected);
    }

    /// Notes how far the session is known: what expected less is in what was read, or refused for
    /// ever by its guard.
    pub(super) fn read_to(&mut self, last_seq: u64) {
        self.expected = self.expected.filter(|expected| *expected >= last_seq);
    }

    /// An error as its caller may hear it: never that nothing was written when something may be.
    pub(super) fn told(&self, error: CommandError) -> CommandError {
        match error {
            CommandError::Rejected(_) | CommandError::Ledger(_) | CommandError::Overloaded
                if self.expected.is_some() =>
            {
                CommandError::Uncertain(error.to_string())
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbus_ledger::LedgerError;

    fn unreachable() -> CommandError {
        LedgerError::Unavailable("no bus".into()).into()
    }

    fn is_uncertain(doubt: &Doubt) -> bool {
        matches!(doubt.told(unreachable()), CommandError::Uncertain(_))
    }

    #[test]
    fn nobody_is_told_that_nothing_was_written_before_the_log_went_on() {
        let mut doubt = Doubt::default();
        assert!(!is_uncertain(&doubt));
        doubt.begin(7);
        assert!(is_uncertain(&doubt));
        doubt.read_to(7);
        assert!(is_uncertain(&doubt), "it may still arrive");
        doubt.read_to(8);
        assert!(!is_uncertain(&doubt), "whatever came first is known");
    }

    #[test]
    fn a_session_that_has_nothing_yet_can_be_in_doubt_too() {
        let mut doubt = Doubt::default();
        doubt.begin(0);
        doubt.read_to(0);
        assert!(is_uncertain(&doubt));
    }
}
