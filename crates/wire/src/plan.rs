//! Plans on their way: from the domain to protobuf, and as the one JSON object that hosts, tools and
//! panels see (E8).

use crate::proto;
use askbus_domain::{Plan, PlanStep, SessionId};
use serde_json::{Map, Value, json};

/// A plan of this session.
pub fn to_proto(session: &SessionId, plan: &Plan) -> proto::Plan {
    let step = |step: &PlanStep| proto::PlanStep {
        id: step.id.clone(),
        step: step.step.clone(),
        status: step.status.as_str().to_owned(),
    };
    proto::Plan {
        plan_id: plan.plan_id.to_string(),
        session_id: session.to_string(),
        run_id: plan.run_id.to_string(),
        revision: plan.revision,
        execution_state: plan.execution_state.as_str().to_owned(),
        explanation: plan.explanation.clone(),
        plan: plan.steps.iter().map(step).collect(),
        created_at_ms: plan.created_at.unix_millis(),
        updated_at_ms: plan.updated_at.unix_millis(),
    }
}

/// What a request plans, as the arguments of a tool call: one reader judges both.
pub fn arguments(input: proto::PlanInput) -> Value {
    let step = |s: proto::PlanStep| json!({"id": s.id, "step": s.step, "status": s.status});
    let plan: Vec<Value> = input.plan.into_iter().map(step).collect();
    json!({"explanation": input.explanation, "plan": plan})
}

/// A plan as E8 shows it; moments are Unix milliseconds.
pub fn snapshot(plan: &proto::Plan) -> Map<String, Value> {
    let step = |s: &proto::PlanStep| json!({"id": s.id, "step": s.step, "status": s.status});
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("plan_id", json!(plan.plan_id));
    put("session_id", json!(plan.session_id));
    put("run_id", json!(plan.run_id));
    put("revision", json!(plan.revision));
    put("execution_state", json!(plan.execution_state));
    if let Some(explanation) = &plan.explanation {
        put("explanation", json!(explanation));
    }
    put("plan", plan.plan.iter().map(step).collect());
    put("created_at", json!(plan.created_at_ms));
    put("updated_at", json!(plan.updated_at_ms));
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbus_domain::{InvalidPlan, parse_plan};

    // contract: E8
    #[test]
    fn a_snapshot_has_what_the_agent_said_and_what_the_service_decides() {
        let session = SessionId::new("s").unwrap();
        let plan: Plan = serde_json::from_value(json!({
            "plan_id": "00000000-0000-0000-0000-0000b0000001", "run_id": "r", "revision": 3,
            "execution_state": "interrupted", "plan": [{"id": "a", "step": "look", "status": "in_progress"}],
            "created_at": "2027-01-15T08:00:00Z", "updated_at": "2027-01-15T08:00:01Z",
        }))
        .unwrap();
        let expected = json!({
            "plan_id": "00000000-0000-0000-0000-0000b0000001", "session_id": "s", "run_id": "r",
            "revision": 3, "execution_state": "interrupted",
            "plan": [{"id": "a", "step": "look", "status": "in_progress"}],
            "created_at": 1_800_000_000_000_i64, "updated_at": 1_800_000_001_000_i64,
        });
        let shown = snapshot(&to_proto(&session, &plan));
        assert_eq!(Value::from(shown), expected);
        let why = Plan {
            explanation: Some("why".to_owned()),
            ..plan
        };
        assert_eq!(snapshot(&to_proto(&session, &why))["explanation"], "why");
    }

    // contract: E16
    #[test]
    fn what_a_request_plans_is_judged_like_the_arguments_of_a_call() {
        let step = proto::PlanStep {
            id: "a".to_owned(),
            step: "look".to_owned(),
            status: "pending".to_owned(),
        };
        let input = proto::PlanInput {
            explanation: Some("why".to_owned()),
            plan: vec![step],
        };
        let parsed = parse_plan(&arguments(input)).unwrap();
        assert_eq!(parsed.explanation(), Some("why"));
        assert_eq!(parsed.steps().len(), 1);
        let empty = parse_plan(&arguments(proto::PlanInput::default()));
        assert_eq!(empty, Err(InvalidPlan::NoSteps));
    }
}
