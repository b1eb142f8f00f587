//! `Ask`: from the message to the command and back.

use crate::commands::Work;
use crate::grpc::caller;
use crate::grpc::turn::{bound, invalid, or_new};
use crate::projection::Asking;
use crate::service::Core;
use crate::spans;
use askbus_credential::Credential;
use askbus_domain::{
    AskCommand, AskId, AskInput, AskerId, ChoiceInput, Clarification, ClarifyId, Dialect,
    InvalidQuestion, Language, Millis, OnTimeout, QuestionInput, Session, SessionId, Timestamp,
    WhenAbsent, parse_arguments, parse_structured,
};
use askbus_telemetry::Span;
use askbus_wire::convert;
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::proto::ask_request::Input;
use askbus_wire::proto::{AskRequest, AskResponse, QuestionInputs};
use tonic::Status;

fn choice(input: askbus_wire::proto::ChoiceInput) -> ChoiceInput {
    ChoiceInput {
        label: input.label,
        description: input.description,
    }
}

/// The canonical questions of a request, or why they cannot be shown.
fn parse_input(
    dialect: Dialect,
    input: Option<Input>,
    timeout_ms: Option<u64>,
) -> Result<AskInput, InvalidQuestion> {
    match input {
        Some(Input::ArgumentsJson(text)) => match serde_json::from_str(&text) {
            Ok(arguments) => parse_arguments(dialect, &arguments),
            Err(error) => Err(InvalidQuestion::unreadable("arguments", error)),
        },
        Some(Input::Questions(QuestionInputs { questions })) => {
            let list = questions.into_iter().map(|q| QuestionInput {
                header: q.header,
                question: q.question,
                multi_select: q.multi_select,
                options: q.options.into_iter().map(choice).collect(),
                recommended: q.recommended,
                explanation: q.explanation,
                min_select: q.min_select,
                max_select: q.max_select,
            });
            parse_structured(dialect, list.collect(), timeout_ms)
        }
        None => Err(InvalidQuestion::unreadable("questions", "missing")),
    }
}

/// A word that may be left out.
pub(crate) fn word<T>(
    field: &str,
    text: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Status> {
    if text.is_empty() {
        return Ok(None);
    }
    match parse(text) {
        Some(found) => Ok(Some(found)),
        None => Err(invalid(format!("{field} does not know {text:?}"))),
    }
}

/// What a request says of one question beside its input; the input's own words come first.
struct Beside {
    to: Option<askbus_domain::Addressee>,
    on_timeout: Option<OnTimeout>,
    when_absent: Option<WhenAbsent>,
    grace: Option<Millis>,
    language: Option<Language>,
}

impl Beside {
    fn of(body: &AskRequest) -> Result<Self, Status> {
        Ok(Self {
            to: convert::addressee(body.to.clone()).map_err(invalid)?,
            on_timeout: word("on_timeout", &body.on_timeout, OnTimeout::parse)?,
            when_absent: word("when_absent", &body.when_absent, WhenAbsent::parse)?,
            grace: body.grace_ms.map(Millis),
            // A language without texts of its own is no reason to refuse.
            language: Language::parse(&body.language),
        })
    }

    fn fill(self, input: AskInput) -> AskInput {
        AskInput {
            to: input.to.or(self.to),
            on_timeout: input.on_timeout.or(self.on_timeout),
            when_absent: input.when_absent.or(self.when_absent),
            grace: input.grace.or(self.grace),
            language: input.language.or(self.language),
            ..input
        }
    }
}

/// Longest marker of a client's turn that is compared, in characters.
const MAX_MARKER_CHARS: usize = 200;

/// Asks, and says what became of it.
pub(super) async fn ask(
    core: &Core,
    credential: &Credential,
    trace: Option<String>,
    span: &mut Span,
    body: AskRequest,
) -> Result<AskResponse, Status> {
    let dialect = Dialect::parse(&body.dialect)
        .ok_or_else(|| invalid("dialect is ask, studio or interaction"))?;
    let profile = caller::profile(credential, &body.profile)?;
    let (context_id, key) = bound(core, &credential.tenant, &body.context_id).await?;
    let beside = Beside::of(&body)?;
    let marker: String = body.client_turn.chars().take(MAX_MARKER_CHARS).collect();
    let input = parse_input(dialect, body.input, body.timeout_ms).map(|input| beside.fill(input));
    let input = match input {
        Ok(input) => for_somebody_here(core, input).await,
        refused => refused,
    };
    let (policy, presence) = core.circumstances(&key, &profile, dialect, &input).await;
    let command = AskCommand {
        ask_id: AskId::new(or_new(core, body.ask_id)).map_err(invalid)?,
        clarify_id: ClarifyId::from_uuid(core.clock.uuid_v7()),
        context_id,
        profile,
        asker_id: AskerId::new(or_new(core, body.asker_id)).map_err(invalid)?,
        asker_ttl: core.lease,
        asker: body.asker.unwrap_or_default().into(),
        dialect,
        input,
        call_limit: body.call_limit_ms.map(Millis),
        policy,
        presence,
        client_turn: Some(marker).filter(|m| !m.is_empty()),
        parent: convert::parent(body.parent).map_err(invalid)?,
    };
    let command = Box::new(command);
    let work = Work::Ask(command.clone(), Asking::with(credential));
    let session = core.submit(key.clone(), work, trace).await;
    spans::note_session(span, &key);
    let session = caller::noted(span, session)?;
    let asked = session
        .asked(&command)
        .ok_or_else(|| WireError::new(ErrorCode::Internal, "the question was not kept"))?;
    spans::note_question(span, asked.id);
    tracing::info!(tenant = %key.0, session = %key.1, clarify = %asked.id, "asked");
    Ok(response(&key.1, &session, asked, &command.ask_id))
}

/// Refuses a question for somebody who can never answer it. Where that cannot be found out, it is asked.
async fn for_somebody_here(core: &Core, input: AskInput) -> Result<AskInput, InvalidQuestion> {
    let (Some(people), Some(to)) = (&core.people, &input.to) else {
        return Ok(input);
    };
    let people = std::sync::Arc::clone(people);
    let known = tokio::task::spawn_blocking(move || people()).await;
    if let Ok(Some(roster)) = known {
        roster.check(to)?;
    }
    Ok(input)
}

fn response(
    session_id: &SessionId,
    session: &Session,
    asked: &Clarification,
    ask_id: &AskId,
) -> AskResponse {
    let run_id = session.latest_turn().map(|(t, _)| t.run_id.to_string());
    AskResponse {
        clarify_id: asked.id.to_string(),
        session_id: session_id.to_string(),
        run_id: run_id.unwrap_or_default(),
        deadline_ms: asked.clock.deadline.map(Timestamp::unix_millis),
        cap_ms: asked.clock.cap.unix_millis(),
        requested_at_ms: asked.requested_at.unix_millis(),
        adjusted: asked.adjusted.as_ref().map(Into::into),
        reattached: asked.ask_id != *ask_id,
        settled: (!asked.is_pending()).then(|| convert::clarification(session_id.as_str(), asked)),
    }
}
