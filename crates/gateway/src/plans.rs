//! Plans: the route of hosts that shows one (E8), and the objects in which people see it (E16). It is
//! stored before anybody sees it, and who sees several revisions keeps the highest.

use crate::caller::{Asker, Person};
use crate::gateway::Gateway;
use crate::params::Params;
use crate::projection::PlanCard;
use crate::reply::{Refusal, ok};
use crate::studio::{Said, within};
use crate::trace::Trace;
use askbus_domain::{Addressee, SessionId};
use askbus_wire::client::{Bearer, Client};
use askbus_wire::error::ErrorCode;
use askbus_wire::headers::TRACEPARENT;
use askbus_wire::{plan, proto};
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::response::Response;
use http::Request;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Plans in a list unless the caller wants fewer or more.
const DEFAULT_LIMIT: usize = 100;
/// Plans in a list at most.
const MAX_LIMIT: usize = 1_000;

/// `POST /api/studio/task-plans/update`.
pub(crate) async fn update(
    State(gateway): State<Arc<Gateway>>,
    Asker(caller): Asker,
    Extension(trace): Extension<Trace>,
    request: Request<Body>,
) -> Result<Response, Refusal> {
    let said = Said::read(request, "the plan was not changed").await?;
    let update_id = match said.arguments.get("update_id") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(_) => {
            let message = "update_id must be a string; the plan was not changed";
            return Err(Refusal::new(ErrorCode::InvalidRequest, message));
        }
    };
    let client = Client::over(
        gateway.session_binding.of(&caller.credential.tenant)?,
        Bearer::new(&caller.token)?,
    );
    let mut message = tonic::Request::new(proto::UpdatePlanRequest {
        update_id,
        context_id: said.context_id,
        profile: said.profile,
        input: Some(proto::update_plan_request::Input::ArgumentsJson(
            said.arguments_json,
        )),
        plan_alone: false,
        asker: None,
    });
    if let Ok(value) = trace.as_str().parse() {
        message.metadata_mut().insert(TRACEPARENT, value);
    }
    let mut plans = client.plans;
    let updated = within(plans.update(message)).await?.into_inner();
    let shown = updated.plan.ok_or_else(|| {
        let message = "the plan cannot be read by this version; upgrade the gateway";
        Refusal::new(ErrorCode::UpgradeNeeded, message)
    })?;
    let mut object = plan::snapshot(&shown);
    object.insert("ok".to_owned(), true.into());
    Ok(ok(&object.into()))
}

#[derive(Debug, Deserialize)]
pub(crate) struct ListQuery {
    session: Option<String>,
    limit: Option<String>,
}

/// `GET /api/plans`: the last plan of each session in sight, those that run first.
pub(crate) async fn list(
    State(gateway): State<Arc<Gateway>>,
    person: Person,
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
    let wanted = |card: &PlanCard| session.as_ref().is_none_or(|s| card.session == *s);
    let limit = limit.clamp(1, MAX_LIMIT);
    let (seq, cards) = gateway.feed.plans(&person.viewer(), wanted, limit);
    let plans: Vec<Value> = cards.iter().map(|card| object(card)).collect();
    Ok(ok(&json!({"ok": true, "plans": plans, "seq": seq})))
}

/// A plan as people see it.
pub(crate) fn object(card: &PlanCard) -> Value {
    let mut object = plan::snapshot(&plan::to_proto(&card.session, &card.plan));
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    put("seq", json!(card.seq));
    put("asker", json!(card.asker));
    put("profile", json!(card.profile));
    put("room_id", json!(card.to.as_ref().and_then(Addressee::room)));
    object.into()
}

/// `plan.updated`.
pub(crate) fn updated(card: &PlanCard) -> Value {
    let mut object = object(card);
    if let Value::Object(fields) = &mut object {
        fields.insert("event".to_owned(), "plan.updated".into());
    }
    object
}
