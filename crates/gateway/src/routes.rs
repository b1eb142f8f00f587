//! The routes of people, and of scripts that look.

use crate::body::read_json;
use crate::caller::{Person, Reader, Shown};
use crate::explain::{explain, where_to};
use crate::gateway::Gateway;
use crate::params::{Id, Params};
use crate::reply::{Refusal, error_object, ok, outcome_fields, respond};
use crate::submit::{self, Judged, PassOn, Sent};
use crate::trace::Trace;
use crate::{
    assets, channels, drafts, events, history, lookup, metrics, plans, sign_in, socket, studio,
    turns, view,
};
use askbus_domain::{Actor, GoesOn, Outcome, SessionId, Surface};
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::messages::InboxReply;
use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::response::Response;
use axum::routing::{get, post};
use http::{Request, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Objects in a list unless the caller wants fewer or more.
const DEFAULT_LIMIT: usize = 100;
/// Objects in a list at most.
const MAX_LIMIT: usize = 1_000;

/// All routes. What is outermost, the fence, is not here: see `front`.
pub(crate) fn router(gateway: Arc<Gateway>) -> Router {
    Router::new()
        .merge(assets::router())
        .route("/sign-in", get(sign_in::by_link))
        .route("/api/sign-in", post(sign_in::by_credential))
        .route("/api/sign-out", post(sign_in::out))
        .route("/api/sign-in-link", post(sign_in::link))
        .route("/api/me", get(sign_in::me))
        .route("/api/clarifications", get(list))
        .route("/api/clarifications/{id}", get(one))
        .route("/api/clarifications/{id}/answer", post(answer))
        .route("/api/clarifications/{id}/draft", post(drafts::post))
        .route("/api/clarifications/{id}/hold", post(hold))
        .route("/api/clarifications/{id}/pass-on", post(pass_on))
        .route("/api/events", get(events::show))
        .route("/api/history", get(history::show))
        .route("/api/clarify/waiting", get(waiting))
        .route("/api/clarify/health", get(health))
        .route("/api/studio/clarifications/request", post(studio::request))
        .route("/api/studio/task-plans/update", post(plans::update))
        .route("/api/plans", get(plans::list))
        .route("/api/turns/begin", post(turns::begin))
        .route("/api/turns/{context_id}/hold", post(turns::hold))
        .route("/api/turns/{context_id}/end", post(turns::end))
        .route("/api/turns/{context_id}/tool-use", post(turns::tool_use))
        .route("/api/channels", get(channels::list))
        .route("/api/channels/{name}/reply", post(channels::reply))
        .route("/metrics", get(metrics::show))
        .route("/ws", get(socket::open))
        .fallback(async || Refusal::new(ErrorCode::NotFound, "there is no such route here"))
        .method_not_allowed_fallback(async || {
            let refused =
                WireError::new(ErrorCode::NotFound, "this route does not take this method");
            respond(StatusCode::METHOD_NOT_ALLOWED, &error_object(&refused))
        })
        .with_state(gateway)
}

#[derive(Debug, Deserialize)]
struct ListQuery {
    status: Option<String>,
    session: Option<String>,
    limit: Option<String>,
}

async fn list(
    State(gateway): State<Arc<Gateway>>,
    Reader(viewer): Reader,
    person: Result<Person, Refusal>,
    Params(query): Params<ListQuery>,
) -> Result<Response, Refusal> {
    let invalid = |what: &str| Refusal::new(ErrorCode::InvalidRequest, what);
    let limit = match query.limit.as_deref() {
        None | Some("") => DEFAULT_LIMIT,
        Some(text) => text
            .parse()
            .map_err(|_| invalid("limit must be a number"))?,
    };
    let session = match query.session.as_deref() {
        None | Some("") => None,
        Some(text) => Some(SessionId::new(text).map_err(|e| invalid(&e.to_string()))?),
    };
    let wanted =
        |card: &crate::projection::Card| session.as_ref().is_none_or(|s| card.session == *s);
    let limit = limit.clamp(1, MAX_LIMIT);
    // What people said is not for every script of the machine (D14).
    let settled = query.status.as_deref() == Some("settled");
    let person = match person {
        Err(refusal) if settled => return Err(refusal),
        person => person.ok(),
    };
    let (seq, cards) = match query.status.as_deref() {
        None | Some("" | "pending") => {
            // Whoever polls is there (D9); a script without a credential is nobody.
            if let Some(person) = &person {
                gateway.presence.looked(person, session.as_ref());
            }
            gateway.feed.pending(&viewer, wanted, limit)
        }
        Some("settled") => gateway.feed.settled(&viewer, wanted, limit),
        Some(_) => return Err(invalid("status must be pending or settled")),
    };
    let now = gateway.now();
    let objects: Vec<Value> = cards
        .iter()
        .map(|card| {
            let asker = gateway
                .presence
                .asker(&viewer.tenant, &card.clarification, now);
            view::clarification(card, now, asker, person.as_ref())
        })
        .collect();
    Ok(ok(
        &json!({"ok": true, "clarifications": objects, "seq": seq}),
    ))
}

#[derive(Debug, Deserialize)]
struct OneQuery {
    /// `1`: with the HTML of its texts.
    html: Option<String>,
}

async fn one(
    State(gateway): State<Arc<Gateway>>,
    person: Person,
    Id(id): Id,
    Params(query): Params<OneQuery>,
) -> Result<Response, Refusal> {
    let viewer = person.viewer();
    let card = lookup::find(&gateway, &viewer, &id).await?;
    let now = gateway.now();
    let asker = gateway
        .presence
        .asker(&viewer.tenant, &card.clarification, now);
    let mut object = view::clarification(&card, now, asker, Some(&person));
    if query.html.as_deref() == Some("1") {
        object = view::rendered(object, &card);
    }
    Ok(ok(&json!({"ok": true, "clarification": object})))
}

/// Where a person acts when they use a route: their browser, or what they say.
fn surface(person: &Person, said: Option<&Surface>) -> Surface {
    match said {
        Some(Surface::Terminal) => Surface::Terminal,
        _ if person.0.browser => Surface::Web,
        _ => Surface::Http,
    }
}

async fn answer(
    State(gateway): State<Arc<Gateway>>,
    person: Person,
    Extension(trace): Extension<Trace>,
    Id(id): Id,
    request: Request<Body>,
) -> Result<Response, Refusal> {
    let sent: Sent = read_json(request.into_body()).await?;
    if sent.is_silent() {
        // On this route a body forgotten by a script is no dismissal.
        let message = "say what to do: action, answers or response; nothing was sent";
        return Err(Refusal::new(ErrorCode::InvalidRequest, message));
    }
    let card = lookup::find(&gateway, &person.viewer(), &id).await?;
    let who = person.0.credential.subject.clone();
    let actor = Actor {
        person: who,
        surface: surface(&person, sent.surface.as_ref()),
    };
    let response = sent.into_response(&card, actor)?;
    let judged = submit::respond(&gateway, &person, &card, response, &trace).await?;
    Ok(judged_response(judged))
}

#[derive(Debug, Deserialize)]
struct HoldBody {
    #[serde(default)]
    surface: Option<Surface>,
}

async fn hold(
    State(gateway): State<Arc<Gateway>>,
    person: Person,
    Extension(trace): Extension<Trace>,
    Id(id): Id,
    request: Request<Body>,
) -> Result<Response, Refusal> {
    let body: HoldBody = read_json(request.into_body()).await?;
    let card = lookup::find(&gateway, &person.viewer(), &id).await?;
    let surface = surface(&person, body.surface.as_ref());
    let judged = submit::hold(&gateway, &person, &card, surface, &trace).await?;
    Ok(judged_response(judged))
}

async fn pass_on(
    State(gateway): State<Arc<Gateway>>,
    person: Person,
    Extension(trace): Extension<Trace>,
    Id(id): Id,
    request: Request<Body>,
) -> Result<Response, Refusal> {
    let pass: PassOn = read_json(request.into_body()).await?;
    let card = lookup::find(&gateway, &person.viewer(), &id).await?;
    let surface = surface(&person, pass.surface.as_ref());
    let judged = submit::pass_on(&gateway, &person, &card, pass, surface, &trace).await?;
    Ok(judged_response(judged))
}

/// What became of an answer, for its author.
fn judged_response(judged: Judged) -> Response {
    match judged {
        Judged::Unjudged => {
            let body = json!({"ok": true, "verdict": "sent"});
            respond(StatusCode::ACCEPTED, &body)
        }
        Judged::Reply(InboxReply::Settled { outcome }) => {
            let mut body = outcome_fields(&outcome);
            body.insert("ok".to_owned(), true.into());
            body.insert("verdict".to_owned(), "settled".into());
            ok(&body.into())
        }
        Judged::Reply(InboxReply::Held) => ok(&json!({"ok": true, "verdict": "held"})),
        Judged::Reply(InboxReply::PassedOn { goes_on }) => passed_on(goes_on),
        Judged::Reply(InboxReply::Conflict { outcome }) => not_taken("conflict", &outcome, None),
        Judged::Reply(InboxReply::Late { outcome, goes_on }) => {
            not_taken("late", &outcome, goes_on)
        }
        Judged::Refused {
            reason,
            error,
            kept,
        } => refused(&reason, &error, kept),
        Judged::Reply(InboxReply::Refused { reason, error }) => refused(&reason, &error, false),
    }
}

fn refused(reason: &str, error: &str, kept: bool) -> Response {
    let code = ErrorCode::parse(reason).unwrap_or(ErrorCode::InvalidAnswer);
    let status = StatusCode::from_u16(code.http()).unwrap_or(StatusCode::BAD_REQUEST);
    let body = json!({
        "ok": false,
        "verdict": "refused",
        "error": error,
        "reason": reason,
        "kept": kept,
    });
    respond(status, &body)
}

/// What became of a late answer that its author sent on.
fn passed_on(goes_on: GoesOn) -> Response {
    if goes_on.is_on_its_way() {
        return ok(&json!({"ok": true, "verdict": "passed_on", "goes_on": goes_on}));
    }
    let body = json!({
        "ok": false,
        "verdict": "late",
        "error": format!("what you wrote is kept and {}", where_to(goes_on)),
        "reason": "LATE",
        "kept": true,
        "goes_on": goes_on,
    });
    respond(StatusCode::CONFLICT, &body)
}

fn not_taken(verdict: &str, outcome: &Outcome, goes_on: Option<GoesOn>) -> Response {
    let body = json!({
        "ok": false,
        "verdict": verdict,
        "error": explain(outcome, goes_on),
        "reason": verdict.to_uppercase(),
        "kept": true,
        "goes_on": goes_on,
        "decided_by": outcome.decided_by(),
        "actor": outcome.actor,
        "resolved_at": outcome.resolved_at,
        "outcome": outcome_fields(outcome),
    });
    respond(StatusCode::CONFLICT, &body)
}

async fn waiting(State(gateway): State<Arc<Gateway>>, Reader(viewer): Reader) -> Response {
    let (_, cards) = gateway.feed.pending(&viewer, |_| true, usize::MAX);
    let mut counts: BTreeMap<&SessionId, usize> = BTreeMap::new();
    for card in &cards {
        *counts.entry(&card.session).or_default() += 1;
    }
    let sessions: Vec<Value> = counts
        .into_iter()
        .map(|(session, count)| json!({"session": session, "count": count}))
        .collect();
    ok(&json!({"ok": true, "sessions": sessions}))
}

/// Whether the service is well, which it is not while the log cannot be reached. How many wait is for those who may see them; on a single machine
/// everybody on it may.
async fn health(
    State(gateway): State<Arc<Gateway>>,
    Extension(shown): Extension<Shown>,
    person: Result<Person, Refusal>,
) -> Response {
    let mut body = Map::new();
    let well = *gateway.bus.ledger.reachable().borrow();
    let log = if well { "reachable" } else { "unreachable" };
    body.insert("ok".to_owned(), well.into());
    body.insert("log".to_owned(), log.into());
    body.insert("version".to_owned(), gateway.version.clone().into());
    body.insert("seq".to_owned(), gateway.feed.seq().into());
    let pending = match person {
        Ok(person) => Some(
            gateway
                .feed
                .pending(&person.viewer(), |_| true, usize::MAX)
                .1
                .len(),
        ),
        Err(_) if gateway.single_machine && matches!(shown, Shown::Nothing) => {
            Some(gateway.feed.pending_len())
        }
        Err(_) => None,
    };
    body.insert("pending".to_owned(), json!(pending));
    let mut reply = ok(&body.into());
    if !well {
        *reply.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    reply
}
