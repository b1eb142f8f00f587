//! What a host says of a turn it begins, and what it is told.

use crate::grpc::ask::word;
use crate::grpc::turn::invalid;
use crate::service::Core;
use askbus_domain::{
    Addressee, BeginCommand, Dialect, HostTurn, Language, Millis, OnTimeout, PolicyLayer, Scope,
    TenantId, Turn, WhenAbsent, Wish, instruction,
};
use askbus_wire::convert;
use askbus_wire::proto::begin_turn_request::Life;
use askbus_wire::proto::{BeginTurnRequest, BeginTurnResponse, TurnPolicy};
use tonic::Status;

/// What the turn's agent may do in it, by name.
const CLARIFY: &str = "clarify";
const PLAN: &str = "plan";

/// Whether an asking process begins this turn for itself, and says nothing of it that is a host's to say.
pub(super) fn is_own(body: &BeginTurnRequest) -> bool {
    let plain = BeginTurnRequest {
        begin_id: body.begin_id.clone(),
        session_id: body.session_id.clone(),
        run_id: body.run_id.clone(),
        profile: body.profile.clone(),
        life: body.life.clone(),
        ..BeginTurnRequest::default()
    };
    matches!(body.life, Some(Life::AskerId(_))) && *body == plain
}

/// Which tools a turn without a session of the host gets, and every other one (E15).
pub(super) fn scope(body: &BeginTurnRequest) -> Result<Scope, Status> {
    let said = |text: &str| Some(text.to_owned()).filter(|t| !t.is_empty());
    let command = match body.input_kind.as_str() {
        "" | "text" => false,
        "command" => true,
        _ => return Err(invalid("input_kind is text or command")),
    };
    Ok(Scope::of(&HostTurn {
        has_session: !body.session_id.is_empty(),
        source: said(&body.source),
        session_source: said(&body.session_source),
        agent_kind: said(&body.agent_kind),
        command,
        natively_capable: body.natively_capable,
        interaction_disabled: body.interaction_disabled,
        terminal: body.terminal,
    }))
}

/// The dialect of the tools that the instruction is to speak of.
pub(super) fn toolset(body: &BeginTurnRequest) -> Result<Dialect, Status> {
    match body.toolset.as_str() {
        "" => Ok(Dialect::Studio),
        word => {
            Dialect::parse(word).ok_or_else(|| invalid("toolset is studio, ask or interaction"))
        }
    }
}

/// `begin` with all that the host says of the turn.
pub(super) fn described(
    begin: BeginCommand,
    body: &mut BeginTurnRequest,
    scope: Scope,
) -> Result<BeginCommand, Status> {
    // A language without texts of its own is as if none was named.
    let language = Language::parse(&body.language);
    let policy = PolicyLayer {
        language,
        ..policy(&body.policy.take().unwrap_or_default())?
    };
    Ok(BeginCommand {
        policy,
        language,
        scope: Some(scope).filter(|s| *s != Scope::FULL),
        parent: convert::parent(body.parent.take()).map_err(invalid)?,
        to: room(&body.room_id)?,
        ..begin
    })
}

/// The managers of the room that the turn belongs to (E18).
fn room(id: &str) -> Result<Option<Addressee>, Status> {
    let named = Some(id).filter(|id| !id.trim().is_empty());
    let managers = named.map(Addressee::managers_of).transpose();
    managers.map_err(|_| invalid("room_id is too long, or not a line of plain text"))
}

fn policy(said: &TurnPolicy) -> Result<PolicyLayer, Status> {
    let layer = PolicyLayer {
        timeout: said.timeout_ms.map(|ms| match ms {
            0 => Wish::Never,
            ms => Wish::After(Millis(ms)),
        }),
        min_timeout: said.min_timeout_ms.map(Millis),
        max_timeout: said.max_timeout_ms.map(Millis),
        grace: said.grace_ms.map(Millis),
        on_timeout: word("policy.on_timeout", &said.on_timeout, OnTimeout::parse)?,
        when_absent: word("policy.when_absent", &said.when_absent, WhenAbsent::parse)?,
        max_pending: said.max_pending,
        unanswered_limit: said.unanswered_limit,
        language: None,
    };
    let checked = layer.checked();
    checked.map_err(|problem| invalid(format_args!("policy.{problem}")))
}

/// What the host of `turn` is told.
pub(super) fn begun(
    core: &Core,
    tenant: &TenantId,
    session_id: String,
    turn: &Turn,
    toolset: Dialect,
) -> BeginTurnResponse {
    let layer = core.policy.of(tenant, &turn.profile, toolset);
    let language = turn.language.or(layer.language).unwrap_or_default();
    BeginTurnResponse {
        context_id: turn.context_id.to_string(),
        session_id,
        run_id: turn.run_id.to_string(),
        // An asking process that began it for itself needs no word of it.
        instruction: if turn.own {
            String::new()
        } else {
            instruction(turn, language, toolset)
        },
        capabilities: capabilities(turn.scope()),
        late: turn.late.iter().map(Into::into).collect(),
    }
}

fn capabilities(scope: Scope) -> Vec<String> {
    let named = [(scope.clarify, CLARIFY), (scope.plan, PLAN)];
    let named = named.into_iter().filter(|(may, _)| *may);
    named.map(|(_, name)| name.to_owned()).collect()
}
