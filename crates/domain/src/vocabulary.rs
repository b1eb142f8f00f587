//! The words of each dialect for how a clarification ended: one table for every adapter.

use crate::render::spoken;
use crate::{Outcome, Reason};

impl Reason {
    /// The word the studio dialect knows for it (column E); none where nobody could be asked.
    pub const fn studio_word(self) -> Option<&'static str> {
        match self {
            Reason::Response | Reason::AskBack => Some("response"),
            Reason::Dismissed | Reason::Skipped => Some("dismissed"),
            Reason::Timeout | Reason::Unattended | Reason::Deferred => Some("timeout"),
            Reason::Cancelled => Some("cancelled"),
            Reason::Off => None,
        }
    }

    /// The word that clients of the studio dialect are told, who know four only. What it has no word
    /// for was never before anybody: the question counts as withdrawn.
    pub const fn studio_reason(self) -> &'static str {
        match self.studio_word() {
            Some(word) => word,
            None => "cancelled",
        }
    }

    /// The mode of a result of `ask_user` (column A); none where nobody was asked, which is a notice
    /// and no result (A7).
    pub const fn ask_mode(self) -> Option<&'static str> {
        match self {
            Reason::Response | Reason::AskBack => Some("answered"),
            Reason::Dismissed | Reason::Skipped | Reason::Cancelled => Some("declined"),
            Reason::Timeout => Some("timed_out"),
            Reason::Unattended => Some("unattended"),
            Reason::Deferred => Some("deferred"),
            Reason::Off => None,
        }
    }

    /// The status of an interview (column D).
    pub const fn interview_status(self) -> &'static str {
        match self {
            Reason::Response | Reason::AskBack => "answered",
            Reason::Dismissed | Reason::Cancelled => "dismissed",
            Reason::Skipped => "skipped",
            Reason::Timeout => "timeout",
            Reason::Unattended | Reason::Deferred => "no_client",
            Reason::Off => "off",
        }
    }
}

/// How a question ended, as the studio dialect hears it (E7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudioResult {
    /// One of `response`, `dismissed`, `timeout` and `cancelled`.
    pub reason: &'static str,
    /// The person's words; empty unless the reason is `response`.
    pub response: String,
    /// The finer word, where the four merge several ways of ending.
    pub outcome_reason: Option<&'static str>,
}

/// How a question ended, as the studio dialect hears it.
pub fn studio_result(outcome: &Outcome) -> StudioResult {
    let reason = outcome.reason.studio_reason();
    StudioResult {
        reason,
        response: spoken(outcome).unwrap_or_default(),
        outcome_reason: Some(outcome.reason.as_str()).filter(|word| *word != reason),
    }
}
