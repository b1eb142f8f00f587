//! From a person to the inbox and back: what they sent is stored before anybody judges it, and what
//! session-binding made of it is told.

use crate::caller::Person;
use crate::gateway::Gateway;
use crate::projection::Card;
use crate::reply::Refusal;
use crate::trace::Trace;
use crate::{drafts, lookup, metrics};
use askbus_domain::{
    Actor, AnswerAction, AnswerEntry, AnswerId, Rejection, Response, Surface, Verdict, is_blank,
    verdict,
};
use askbus_ledger::{LedgerError, Submission};
use askbus_telemetry::Kind;
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::messages::{Draft, InboxBody, InboxMessage, InboxReply};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long the author waits for the verdict before the log is read instead.
const VERDICT_TIMEOUT: Duration = Duration::from_secs(3);

/// An answer as surfaces send it; E9's `response` alone is enough.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Sent {
    #[serde(default)]
    answer_id: Option<String>,
    #[serde(default)]
    action: Option<AnswerAction>,
    #[serde(default)]
    answers: Option<Vec<AnswerEntry>>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    response: Option<String>,
    #[serde(default)]
    pub surface: Option<Surface>,
}

impl Sent {
    /// A plain text, as one-question dialects send it.
    pub(crate) fn plain(response: Option<String>) -> Self {
        Self {
            response,
            ..Self::default()
        }
    }

    /// Whether it says anything at all.
    pub(crate) fn is_silent(&self) -> bool {
        self.action.is_none() && self.answers.is_none() && self.response.is_none()
    }

    /// What goes into the inbox. The answer id is made here where none is sent.
    pub(crate) fn into_response(self, card: &Card, actor: Actor) -> Result<Response, WireError> {
        let named = self.answer_id.filter(|id| !id.is_empty());
        let answer_id = answer_id(named.unwrap_or_else(|| uuid::Uuid::new_v4().to_string()))?;
        let action = self.action.unwrap_or(AnswerAction::Answer);
        let (answers, text) = match (self.answers, action) {
            (Some(answers), _) => (answers, self.text.or(self.response)),
            (None, AnswerAction::Answer) => {
                let entry = self
                    .response
                    .as_deref()
                    .and_then(|text| plain_entry(card, text));
                (entry.into_iter().collect(), self.text)
            }
            (None, _) => (Vec::new(), self.text.or(self.response)),
        };
        Ok(Response {
            answer_id,
            actor,
            action,
            answers,
            text,
        })
    }
}

/// A late answer to be sent on, as surfaces name it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PassOn {
    answer_id: String,
    #[serde(default)]
    pass_id: Option<String>,
    #[serde(default)]
    pub surface: Option<Surface>,
}

impl PassOn {
    /// What goes into the inbox. The id of the attempt is made here where none is sent.
    fn into_body(self, actor: Actor) -> Result<InboxBody, WireError> {
        let pass_id = self.pass_id.filter(|id| !id.is_empty());
        let pass_id = pass_id.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        Ok(InboxBody::PassOn {
            actor,
            answer_id: answer_id(self.answer_id)?,
            pass_id: answer_id(pass_id)?,
        })
    }
}

fn answer_id(id: String) -> Result<AnswerId, WireError> {
    AnswerId::new(id).map_err(|e| {
        let message = format!("{e}; nothing was sent; shorten it");
        WireError::new(ErrorCode::InvalidRequest, message)
    })
}

/// A plain text as an answer (E9, E10): blank is none; the exact label of one option chooses it;
/// anything else is the person's own words.
fn plain_entry(card: &Card, text: &str) -> Option<AnswerEntry> {
    if is_blank(text) {
        return None;
    }
    let questions = &card.clarification.questions;
    let mut matching = questions
        .first()
        .options
        .iter()
        .filter(|o| o.label == text.trim());
    let chosen = match (matching.next(), matching.next()) {
        // Of two options with one label neither was named.
        (Some(option), None) if questions.len() == 1 => Some(option.id.clone()),
        _ => None,
    };
    let own = chosen.is_none().then(|| text.to_owned());
    Some(AnswerEntry {
        option_ids: chosen.into_iter().collect(),
        text: own,
        ..AnswerEntry::default()
    })
}

/// What became of a message.
#[derive(Debug)]
pub(crate) enum Judged {
    /// It was judged.
    Reply(InboxReply),
    /// It was judged and not taken.
    Refused {
        reason: String,
        /// For the person, what became of their words included.
        error: String,
        /// Whether the words are kept as the person's draft.
        kept: bool,
    },
    /// It is stored and not judged yet.
    Unjudged,
}

/// A message that was not sent.
#[derive(Debug)]
pub(crate) struct NotSent {
    pub error: WireError,
    /// Whether the words are kept as the person's draft.
    pub kept: bool,
}

impl From<NotSent> for Refusal {
    fn from(not_sent: NotSent) -> Self {
        Refusal(not_sent.error)
    }
}

/// What became of words that did not reach the question.
fn whereabouts(kept: bool) -> &'static str {
    if kept {
        "what you wrote is kept as your draft"
    } else {
        "what you wrote is not kept here, keep it where you wrote it"
    }
}

/// Sends an answer. The submission goes on when the caller leaves: what a person sent before
/// closing the tab counts.
pub(crate) async fn respond(
    gateway: &Arc<Gateway>,
    person: &Person,
    card: &Arc<Card>,
    response: Response,
    trace: &Trace,
) -> Result<Judged, NotSent> {
    let draft = Draft {
        tab: response.answer_id.to_string(),
        answers: response.answers.clone(),
        text: response.text.clone(),
        messages: Vec::new(),
        sent_by: None,
    };
    // A client that clears its input field must not be the only one to hold words that were not
    // taken, and must not be told that somebody else does when nobody does.
    match send(gateway, person, card, InboxBody::Respond(response), trace).await {
        Ok(Judged::Reply(InboxReply::Refused { reason, error })) => {
            let kept = drafts::keep(gateway, person, card, &draft).await;
            let error = format!(
                "{error}; the question still waits and {}",
                whereabouts(kept)
            );
            Ok(Judged::Refused {
                reason,
                error,
                kept,
            })
        }
        Ok(judged) => Ok(judged),
        Err(mut error) => {
            let kept = drafts::keep(gateway, person, card, &draft).await;
            error.message = format!("{}; {}", error.message, whereabouts(kept));
            Err(NotSent { error, kept })
        }
    }
}

/// Stops the countdown.
pub(crate) async fn hold(
    gateway: &Arc<Gateway>,
    person: &Person,
    card: &Arc<Card>,
    surface: Surface,
    trace: &Trace,
) -> Result<Judged, NotSent> {
    let actor = Actor {
        person: person.0.credential.subject.clone(),
        surface,
    };
    match send(gateway, person, card, InboxBody::Hold { actor }, trace).await {
        Ok(Judged::Reply(InboxReply::Refused { reason, error })) => Ok(Judged::Refused {
            reason,
            error: format!("{error}; the question still waits"),
            kept: false,
        }),
        Ok(judged) => Ok(judged),
        Err(error) => Err(NotSent { error, kept: false }),
    }
}

/// Sends a late answer of the person's own on to the agent.
pub(crate) async fn pass_on(
    gateway: &Arc<Gateway>,
    person: &Person,
    card: &Arc<Card>,
    pass: PassOn,
    surface: Surface,
    trace: &Trace,
) -> Result<Judged, NotSent> {
    let not_sent = |error| NotSent { error, kept: true };
    let actor = Actor {
        person: person.0.credential.subject.clone(),
        surface,
    };
    let body = pass.into_body(actor).map_err(not_sent)?;
    match send(gateway, person, card, body, trace).await {
        Ok(Judged::Reply(InboxReply::Refused { reason, error })) => Ok(Judged::Refused {
            reason,
            error,
            kept: false,
        }),
        judged => judged.map_err(not_sent),
    }
}

async fn send(
    gateway: &Arc<Gateway>,
    person: &Person,
    card: &Arc<Card>,
    body: InboxBody,
    trace: &Trace,
) -> Result<Judged, WireError> {
    let parent = trace.of_answer(card.trace.as_deref());
    let mut span = metrics::span("answer", Kind::Server, card, Some(parent));
    span.link(card.trace.as_deref());
    let parent = span.traceparent(Some(parent)).map(str::to_owned);
    let submission = Submission {
        tenant: person.tenant().clone(),
        session: card.session.clone(),
        clarify_id: card.id(),
        message: InboxMessage::new(card.requested_seq, person.rights(), body),
        trace: parent,
    };
    let (gateway, person, card) = (Arc::clone(gateway), person.clone(), Arc::clone(card));
    let tasks = gateway.tasks.clone();
    let sending = tasks.spawn(async move {
        let begun = Instant::now();
        let judged = judged(&gateway, &person, &card, submission).await;
        let word = metrics::verdict_word(&judged);
        span.note("askbus.verdict", || word);
        if let Err(error) = &judged {
            span.failed(error.code.as_str());
        }
        let took = begun.elapsed();
        gateway.figures.count_verdict(person.tenant(), word, took);
        judged
    });
    sending.await.unwrap_or_else(|_| {
        let message = "whether it was sent is not known; sending it again is safe";
        Err(WireError::new(ErrorCode::Internal, message))
    })
}

/// Puts a message into the inbox and finds out what became of it.
async fn judged(
    gateway: &Gateway,
    person: &Person,
    card: &Arc<Card>,
    mut submission: Submission,
) -> Result<Judged, WireError> {
    // What has ended is judged all the same: the author may have answered it before.
    if card.clarification.is_pending() && !person.may_answer(&card.clarification) {
        let refused = Verdict::Refused(Rejection::NotAddressed);
        return Ok(Judged::Reply(refused.into()));
    }
    let body = submission.message.body.clone();
    let submitted = {
        let caller = submission.trace.take();
        let mut span = metrics::span("submit", Kind::Producer, card, caller.as_deref());
        submission.trace = span.traceparent(caller.as_deref()).map(str::to_owned);
        let submitted = gateway.bus.inbox.submit(submission).await;
        submitted.map_err(not_sent).inspect_err(|error| {
            span.failed(error.code.as_str());
        })?
    };
    match tokio::time::timeout(VERDICT_TIMEOUT, submitted.reply).await {
        Ok(Ok(reply)) => Ok(Judged::Reply(reply)),
        Ok(Err(_)) | Err(_) => Ok(read_verdict(gateway, person, card, &body).await),
    }
}

fn not_sent(error: LedgerError) -> WireError {
    match error {
        LedgerError::TooLarge(what) => {
            let message = format!("{what}; it was not sent, shorten it");
            WireError::new(ErrorCode::TooLarge, message)
        }
        LedgerError::Full => {
            let message = "the inbox is full; it was not sent, try again later";
            WireError::new(ErrorCode::Full, message)
        }
        LedgerError::InDoubt(_) => {
            tracing::warn!(%error, "whether an answer was stored is not known");
            let message = "the inbox did not say that it has it, so it may or may not have been \
                           sent; try again, the same answer counts once";
            WireError::new(ErrorCode::Unavailable, message)
        }
        LedgerError::Unavailable(_) | LedgerError::Misconfigured(_) => {
            tracing::warn!(%error, "an answer could not be stored");
            let message = "the inbox cannot be reached; it was not sent, try again";
            WireError::new(ErrorCode::Unavailable, message)
        }
    }
}

/// The verdict as the log has it, when nobody sent one.
async fn read_verdict(
    gateway: &Gateway,
    person: &Person,
    card: &Arc<Card>,
    body: &InboxBody,
) -> Judged {
    // Verdicts are late when much is to be judged: the log must not be searched as a whole then.
    let in_log = lookup::in_session(gateway, &person.viewer(), &card.session, card.id()).await;
    let Ok(Some(now)) = in_log else {
        return Judged::Unjudged;
    };
    match body {
        InboxBody::Respond(response) => match verdict(&now.clarification, response) {
            Some(verdict) => Judged::Reply(verdict.into()),
            None => Judged::Unjudged,
        },
        InboxBody::Hold { .. } => match &now.clarification.outcome {
            Some(outcome) => Judged::Reply(InboxReply::Late {
                outcome: Arc::clone(outcome),
                goes_on: None,
            }),
            None if now.clarification.held_by.is_some() => Judged::Reply(InboxReply::Held),
            None => Judged::Unjudged,
        },
        InboxBody::PassOn {
            actor, answer_id, ..
        } => {
            let note = now.clarification.late_note(&actor.person, answer_id);
            match note.and_then(askbus_domain::LateNote::way) {
                Some(goes_on) => Judged::Reply(InboxReply::PassedOn { goes_on }),
                None => Judged::Unjudged,
            }
        }
    }
}
