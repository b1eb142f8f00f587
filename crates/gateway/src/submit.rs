//! From a person to the inbox and back: what they sent is stored before anybody judges it, and what
//! session-binding made of it is told.

mod verdict;

use crate::caller::Person;
use crate::gateway::Gateway;
use crate::projection::Card;
use crate::reply::Refusal;
use crate::trace::Trace;
use crate::{drafts, lookup, metrics};
use askbus_domain::{Actor, AnswerAction, AnswerEntry, AnswerId, Response, Surface, is_blank};
use askbus_ledger::Submission;
use askbus_telemetry::Kind;
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::messages::{Draft, InboxBody, InboxMessage, InboxReply};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

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

/// How long a verdict is waited for after its author was told that it is still to come. Whoever judges
/// later than this was away for long, and the question shows in its own place that it waits.
pub(crate) const LATEST_VERDICT: Duration = Duration::from_mins(15);

/// Where the verdict on an answer comes that was not judged in time.
#[derive(Debug)]
pub(crate) struct Later {
    reply: oneshot::Receiver<InboxReply>,
    draft: Draft,
}

impl Later {
    /// What became of it; none when nobody says so any more. To be bounded by whoever waits.
    pub(crate) async fn judged(
        self,
        gateway: &Gateway,
        person: &Person,
        card: &Card,
    ) -> Option<Judged> {
        Some(match self.reply.await.ok()? {
            InboxReply::Refused { reason, error } => {
                refused(gateway, person, card, &self.draft, (reason, error)).await
            }
            reply => Judged::Reply(reply),
        })
    }
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
    let judged = respond_and_follow(gateway, person, card, response, trace).await;
    judged.map(|(judged, _)| judged)
}

/// As [`respond`], with the verdict that is still to come where it was not judged in time.
pub(crate) async fn respond_and_follow(
    gateway: &Arc<Gateway>,
    person: &Person,
    card: &Arc<Card>,
    response: Response,
    trace: &Trace,
) -> Result<(Judged, Option<Later>), NotSent> {
    let draft = Draft {
        tab: response.answer_id.to_string(),
        answers: response.answers.clone(),
        text: response.text.clone(),
        messages: Vec::new(),
        sent_by: None,
    };
    let body = InboxBody::Respond(response);
    match send_and_follow(gateway, person, card, body, trace).await {
        Ok((Judged::Reply(InboxReply::Refused { reason, error }), _)) => {
            let refused = refused(gateway, person, card, &draft, (reason, error)).await;
            Ok((refused, None))
        }
        Ok((judged, reply)) => Ok((judged, reply.map(|reply| Later { reply, draft }))),
        Err(mut error) => {
            let kept = drafts::keep(gateway, person, card, &draft).await;
            error.message = format!("{}; {}", error.message, whereabouts(kept));
            Err(NotSent { error, kept })
        }
    }
}

/// An answer that was judged and not taken. A client that clears its input field must not be the only
/// one to hold words that were not taken, and must not be told that somebody else does when nobody does.
async fn refused(
    gateway: &Gateway,
    person: &Person,
    card: &Card,
    draft: &Draft,
    (reason, error): (String, String),
) -> Judged {
    // Drafts are of questions that wait: of others nobody would see them.
    let waits = still_waits(gateway, person, card).await;
    let kept = waits && drafts::keep(gateway, person, card, draft).await;
    let stands = if waits { "still waits" } else { "is over" };
    let error = format!("{error}; the question {stands} and {}", whereabouts(kept));
    Judged::Refused {
        reason,
        error,
        kept,
    }
}

/// Whether a question waits, as the log has it; as it was last seen where the log cannot be read.
async fn still_waits(gateway: &Gateway, person: &Person, card: &Card) -> bool {
    let now = lookup::in_session(gateway, &person.viewer(), &card.session, card.id()).await;
    let now = now.ok().flatten();
    now.as_deref().unwrap_or(card).clarification.is_pending()
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

/// What became of a message, and where its verdict comes if it did not in time.
type Followed = (Judged, Option<oneshot::Receiver<InboxReply>>);

async fn send(
    gateway: &Arc<Gateway>,
    person: &Person,
    card: &Arc<Card>,
    body: InboxBody,
    trace: &Trace,
) -> Result<Judged, WireError> {
    let sent = send_and_follow(gateway, person, card, body, trace).await;
    sent.map(|(judged, _)| judged)
}

async fn send_and_follow(
    gateway: &Arc<Gateway>,
    person: &Person,
    card: &Arc<Card>,
    body: InboxBody,
    trace: &Trace,
) -> Result<Followed, WireError> {
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
        let judged = verdict::judged(&gateway, &person, &card, submission).await;
        let (judged, reply) = judged.map_or_else(|e| (Err(e), None), |(j, reply)| (Ok(j), reply));
        let word = metrics::verdict_word(&judged);
        span.note("askbus.verdict", || word);
        if let Err(error) = &judged {
            span.failed(error.code.as_str());
        }
        let took = begun.elapsed();
        gateway.figures.count_verdict(person.tenant(), word, took);
        judged.map(|judged| (judged, reply))
    });
    sending.await.unwrap_or_else(|_| {
        let message = "whether it was sent is not known; sending it again is safe";
        Err(WireError::new(ErrorCode::Internal, message))
    })
}
