//! What became of a message, in words.

use super::super::Channel;
use super::later::Later;
use crate::projection::Card;
use crate::submit::{Judged, NotSent};
use askbus_domain::text_channel::{Button, Telling};
use askbus_domain::{Clarification, GoesOn, Outcome};
use askbus_wire::messages::InboxReply;

/// What a person is told of their message.
pub(super) struct Said {
    /// One word for programs.
    pub verdict: &'static str,
    pub lines: Vec<String>,
    /// Under a question that is put, where they fit.
    pub buttons: Option<Vec<Button>>,
    /// Where it was not judged in time, what is still to come.
    pub later: Option<Later>,
}

impl Said {
    pub(super) fn new(verdict: &'static str, lines: Vec<String>) -> Self {
        Self {
            verdict,
            lines,
            buttons: None,
            later: None,
        }
    }
}

/// What became of what was sent.
pub(super) fn told(
    judged: Result<Judged, NotSent>,
    card: &Card,
    telling: Telling,
    tag: &str,
) -> Said {
    let questions = &card.clarification.questions;
    let late = |outcome: &Outcome, goes_on: Option<GoesOn>| {
        telling.too_late(tag, questions, outcome, goes_on)
    };
    let (verdict, lines) = match judged {
        Ok(Judged::Reply(InboxReply::Settled { outcome })) => {
            ("settled", telling.taken(tag, questions, &outcome))
        }
        Ok(Judged::Reply(InboxReply::Conflict { outcome })) => ("conflict", late(&outcome, None)),
        Ok(Judged::Reply(InboxReply::Late { outcome, goes_on })) => {
            ("late", late(&outcome, goes_on))
        }
        Ok(Judged::Reply(InboxReply::Held)) => ("held", telling.held()),
        Ok(Judged::Unjudged | Judged::Reply(InboxReply::PassedOn { .. })) => {
            ("sent", telling.unjudged())
        }
        Ok(Judged::Refused { error, .. } | Judged::Reply(InboxReply::Refused { error, .. })) => {
            ("refused", telling.refused(&error))
        }
        Err(not_sent) => ("not_sent", telling.not_sent(&not_sent.error.message)),
    };
    Said::new(verdict, lines)
}

/// That so many of several questions are answered, and the next one.
pub(super) fn next(
    channel: &Channel,
    clarification: &Clarification,
    (done, next): (usize, usize),
    (telling, tag): (Telling, &str),
) -> Said {
    let mut lines = telling.noted(done, clarification.questions.len());
    let put = channel.put(clarification, next, tag, telling.0);
    lines.extend(put.messages(&channel.limits));
    Said {
        buttons: put.buttons(&channel.limits),
        ..Said::new("kept", lines)
    }
}
