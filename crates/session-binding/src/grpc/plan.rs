//! `PlanService`.

use crate::grpc::caller;
use crate::grpc::turn::{bound, invalid, or_new};
use crate::past;
use crate::projection::Key;
use crate::service::Core;
use crate::spans;
use askbus_credential::Credential;
use askbus_domain::{
    Command, InvalidPlan, Plan, PlanCommand, PlanId, PlanInput, Session, UpdateId, parse_plan,
    parse_plan_alone,
};
use askbus_telemetry::Span;
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::plan;
use askbus_wire::proto::plan_service_server::PlanService;
use askbus_wire::proto::update_plan_request::Input;
use askbus_wire::proto::{UpdatePlanRequest, UpdatePlanResponse};
use serde_json::Value;
use std::sync::Arc;
use tonic::{Request, Response, Status};

/// The service.
pub(crate) struct Plans {
    core: Arc<Core>,
}

impl Plans {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self { core }
    }
}

/// The plan of a request, or why it cannot be shown.
fn parse_input(input: Option<Input>, alone: bool) -> Result<PlanInput, InvalidPlan> {
    match input {
        Some(Input::ArgumentsJson(text)) => {
            // What is no JSON is no object either.
            let arguments = serde_json::from_str(&text).unwrap_or(Value::Null);
            if alone {
                parse_plan_alone(&arguments)
            } else {
                parse_plan(&arguments)
            }
        }
        Some(Input::Plan(input)) => parse_plan(&plan::arguments(input)),
        None => Err(InvalidPlan::NoList),
    }
}

#[tonic::async_trait]
impl PlanService for Plans {
    async fn update(
        &self,
        request: Request<UpdatePlanRequest>,
    ) -> Result<Response<UpdatePlanResponse>, Status> {
        let core = &self.core;
        let credential = caller::asker(&request)?;
        let (mut span, trace) = caller::traced(&request, "UpdatePlan");
        let tenant = credential.tenant.clone();
        let updated = self
            .judge(&credential, request.into_inner(), &mut span, trace)
            .await;
        updated.inspect_err(|_| core.stats.count_plan_refused(&tenant))
    }
}

impl Plans {
    async fn judge(
        &self,
        credential: &Credential,
        body: UpdatePlanRequest,
        span: &mut Span,
        trace: Option<String>,
    ) -> Result<Response<UpdatePlanResponse>, Status> {
        let core = &self.core;
        let profile = caller::profile(credential, &body.profile)?;
        let (context_id, key) = bound(core, &credential.tenant, &body.context_id).await?;
        spans::note_session(span, &key);
        let update_id = UpdateId::new(or_new(core, body.update_id)).map_err(invalid)?;
        let command = PlanCommand {
            update_id: update_id.clone(),
            plan_id: PlanId::from_uuid(core.clock.uuid_v7()),
            context_id,
            profile,
            asker: body.asker.map(Into::into).unwrap_or_default(),
            input: parse_input(body.input, body.plan_alone),
        };
        let command = Command::UpdatePlan(Box::new(command));
        let session = core.run(key.clone(), command, trace).await;
        let session = caller::noted(span, session)?;
        let shown = caller::noted(span, outcome_of(core, &key, &session, &update_id).await)?;
        tracing::debug!(tenant = %key.0, session = %key.1, revision = shown.revision, "planned");
        let plan = Some(plan::to_proto(&key.1, &shown));
        Ok(Response::new(UpdatePlanResponse { plan }))
    }
}

/// The plan as this update left it. What has changed since a repeated one is told by the log.
async fn outcome_of(
    core: &Core,
    key: &Key,
    session: &Session,
    update_id: &UpdateId,
) -> Result<Arc<Plan>, WireError> {
    if let Some(plan) = session.plan_after(update_id) {
        return Ok(Arc::clone(plan));
    }
    let found = past::planned_by(core, key, update_id).await;
    let found = found.map_err(|e| WireError::new(ErrorCode::LogUnavailable, e))?;
    found.ok_or_else(|| WireError::new(ErrorCode::Internal, "the plan was not kept"))
}
