//! The hosts' blocking route and gRPC through the public listener, over a stand-in for
//! session-binding's gRPC.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use askbus_credential::Role;
use askbus_domain::{Rejection, Timestamp};
use askbus_wire::client::{Client, Target};
use askbus_wire::error::WireError;
use askbus_wire::proto::attach_event::Event;
use askbus_wire::proto::clarify_service_server::{ClarifyService, ClarifyServiceServer};
use askbus_wire::proto::{
    AskRequest, AskResponse, AttachEvent, AttachRequest, Attached, CancelRequest, Clarification,
    GetClarificationRequest, ListPendingRequest, ListPendingResponse, Outcome, QuestionAnswer,
    WaitRequest, ask_request,
};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::{Request, Response, Status};
use world::{BOUND, Setup, World};

const ID: &str = "0197f0f6-0000-7000-8000-000000000001";

/// What the stand-in saw of one ask.
#[derive(Debug)]
struct Asked {
    request: AskRequest,
    bearer: String,
    trace: String,
}

struct Attachment {
    asker_id: String,
    open: Vec<String>,
    events: mpsc::Sender<Result<AttachEvent, Status>>,
}

struct StandIn {
    asked: mpsc::Sender<Asked>,
    attached: mpsc::Sender<Attachment>,
}

#[tonic::async_trait]
impl ClarifyService for StandIn {
    async fn ask(&self, request: Request<AskRequest>) -> Result<Response<AskResponse>, Status> {
        let text = |name: &str| {
            let value = request.metadata().get(name);
            value
                .map(|v| v.to_str().unwrap().to_owned())
                .unwrap_or_default()
        };
        let (bearer, trace) = (text("authorization"), text("traceparent"));
        let request = request.into_inner();
        let refuse = |rejection: Rejection| Err(WireError::from(rejection).to_status());
        match request.context_id.as_str() {
            "expired" => return refuse(Rejection::ContextExpired),
            "idle" => return refuse(Rejection::NoActiveTurn),
            "busy" => return refuse(Rejection::Busy),
            _ => {}
        }
        self.asked
            .send(Asked {
                request,
                bearer,
                trace,
            })
            .await
            .unwrap();
        Ok(Response::new(AskResponse {
            clarify_id: ID.into(),
            ..AskResponse::default()
        }))
    }

    type AttachStream = ReceiverStream<Result<AttachEvent, Status>>;

    async fn attach(
        &self,
        request: Request<AttachRequest>,
    ) -> Result<Response<Self::AttachStream>, Status> {
        let request = request.into_inner();
        let (events, receiver) = mpsc::channel(8);
        let attached = AttachEvent {
            event: Some(Event::Attached(Attached {})),
        };
        events.send(Ok(attached)).await.unwrap();
        let attachment = Attachment {
            asker_id: request.asker_id,
            open: request.open_clarify_ids,
            events,
        };
        // Tests that do not look at attachments let them end.
        let _ = self.attached.send(attachment).await;
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn wait(&self, _: Request<WaitRequest>) -> Result<Response<Clarification>, Status> {
        Err(Status::unimplemented(""))
    }
    async fn cancel(&self, _: Request<CancelRequest>) -> Result<Response<Clarification>, Status> {
        Err(Status::unimplemented(""))
    }
    async fn get_clarification(
        &self,
        _: Request<GetClarificationRequest>,
    ) -> Result<Response<Clarification>, Status> {
        Err(WireError::from(Rejection::UnknownClarification).to_status())
    }
    async fn list_pending(
        &self,
        _: Request<ListPendingRequest>,
    ) -> Result<Response<ListPendingResponse>, Status> {
        let clarification = Clarification {
            clarify_id: ID.into(),
            ..Clarification::default()
        };
        Ok(Response::new(ListPendingResponse {
            clarifications: vec![clarification],
        }))
    }
}

struct Binding {
    world: World,
    asked: mpsc::Receiver<Asked>,
    attached: mpsc::Receiver<Attachment>,
    _stop: oneshot::Sender<()>,
    host: String,
}

impl Binding {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (asked_sender, asked) = mpsc::channel(8);
        let (attached_sender, attached) = mpsc::channel(8);
        let service = StandIn {
            asked: asked_sender,
            attached: attached_sender,
        };
        let (stop, stopped) = oneshot::channel();
        let server = tonic::transport::Server::builder()
            .add_service(ClarifyServiceServer::new(service))
            .serve_with_incoming(TcpListenerStream::new(listener));
        tokio::spawn(async move {
            tokio::select! {
                served = server => served.unwrap(),
                _ = stopped => {}
            }
        });
        let setup = Setup {
            session_binding: Target::Url(url),
            ..Setup::default()
        };
        let world = World::with(setup).await;
        let host = world.token(Role::Host, "ci", "local", &["default", "other"]);
        Self {
            world,
            asked,
            attached,
            _stop: stop,
            host,
        }
    }

    async fn request(&self, body: Value) -> (u16, Value) {
        self.world.post(ROUTE, &self.host, body).await
    }
}

const ROUTE: &str = "/api/studio/clarifications/request";

fn resolved(reason: &str, text: Option<&str>) -> AttachEvent {
    let answer = |text: &str| QuestionAnswer {
        question_id: "q1".into(),
        text: Some(text.into()),
        ..QuestionAnswer::default()
    };
    let outcome = Outcome {
        reason: reason.into(),
        answers: text
            .filter(|_| reason == "response")
            .map(answer)
            .into_iter()
            .collect(),
        text: text.filter(|_| reason != "response").map(Into::into),
        resolved_at_ms: Timestamp::from_unix_millis(1_800_000_000_000).unix_millis(),
        ..Outcome::default()
    };
    let clarification = Clarification {
        clarify_id: ID.into(),
        status: "settled".into(),
        outcome: Some(outcome),
        ..Clarification::default()
    };
    AttachEvent {
        event: Some(Event::Resolved(clarification)),
    }
}

// contract: E5 E7
#[tokio::test(flavor = "multi_thread")]
async fn a_call_blocks_until_settled_and_hears_the_studio_words() {
    let mut binding = Binding::start().await;
    for (reason, text, word, response) in [
        ("response", Some("go on"), "response", "go on"),
        ("ask_back", Some("which?"), "response", "which?"),
        ("dismissed", Some("no"), "dismissed", ""),
        ("skipped", None, "dismissed", ""),
        ("timeout", None, "timeout", ""),
        ("cancelled", None, "cancelled", ""),
    ] {
        let world = &binding.world;
        let body = r#"{"context_id": "turn-1", "question": "Sure?",  "choices": ["a"]}"#;
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let call = world
            .http
            .post(world.url(ROUTE))
            .bearer_auth(&binding.host)
            .header("x-hermes-profile", "other")
            .header("traceparent", trace)
            .body(body)
            .send();
        let call = tokio::spawn(call);
        let attachment = binding.attached.recv().await.unwrap();
        let asked = binding.asked.recv().await.unwrap();
        assert_eq!(asked.request.context_id, "turn-1");
        assert_eq!(asked.request.profile, "other");
        assert_eq!(asked.request.dialect, "studio");
        assert_eq!(asked.request.asker_id, attachment.asker_id);
        assert_eq!(asked.request.call_limit_ms, Some(320_000));
        // As it came: session-binding judges it, after the binding.
        let as_it_came = ask_request::Input::ArgumentsJson(body.into());
        assert_eq!(asked.request.input, Some(as_it_came));
        assert_eq!(asked.bearer, format!("Bearer {}", binding.host));
        assert!(
            asked
                .trace
                .starts_with("00-0af7651916cd43dd8448eb211c80319c-")
        );
        assert!(!call.is_finished());
        attachment
            .events
            .send(Ok(resolved(reason, text)))
            .await
            .unwrap();
        let answer = call.await.unwrap().unwrap();
        assert_eq!(answer.status(), 200);
        let object: Value = answer.json().await.unwrap();
        let mut expected =
            json!({"ok": true, "clarify_id": ID, "response": response, "reason": word});
        if reason != word {
            expected["outcome_reason"] = json!(reason);
        }
        assert_eq!(object, expected, "{reason}");
    }
    binding.world.end().await;
}

// contract: E6 E7
#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_objects_with_the_tables_status() {
    let binding = Binding::start().await;
    for (body, status, reason) in [
        (
            json!({"context_id": "expired", "question": "q"}),
            409,
            "CONTEXT_EXPIRED",
        ),
        (
            json!({"context_id": "idle", "question": ""}),
            409,
            "NO_ACTIVE_TURN",
        ),
        (json!({"context_id": "busy", "question": "q"}), 409, "BUSY"),
        (json!({"question": "q"}), 400, "INVALID_REQUEST"),
        (
            json!({"context_id": "  ", "question": "q"}),
            400,
            "INVALID_REQUEST",
        ),
        (
            json!({"context_id": 7, "question": "q"}),
            400,
            "INVALID_REQUEST",
        ),
        (json!([]), 400, "INVALID_REQUEST"),
    ] {
        let (got, object) = binding.request(body.clone()).await;
        assert_eq!(
            (got, &object["reason"]),
            (status, &json!(reason)),
            "{body}: {object}"
        );
        assert_eq!(object["ok"], false);
        assert!(object["error"].is_string());
    }
    let world = &binding.world;
    let broken = world
        .http
        .post(world.url(ROUTE))
        .bearer_auth(&binding.host)
        .body("{");
    assert_eq!(broken.send().await.unwrap().status(), 400);
    let body = json!({"context_id": "turn-1", "question": "q"});
    let (status, object) = world.post(ROUTE, &world.person("ann"), body.clone()).await;
    assert_eq!((status, &object["reason"]), (403, &json!("FORBIDDEN")));
    assert_eq!(world.post(ROUTE, "nonsense", body).await.0, 401);
    binding.world.end().await;
}

// contract: E6
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_session_binding_is_503() {
    let world = World::start().await;
    let host = world.token(Role::Host, "ci", "local", &["default"]);
    let body = json!({"context_id": "turn-1", "question": "q"});
    let (status, object) = world.post(ROUTE, &host, body).await;
    assert_eq!(
        (status, &object["reason"]),
        (503, &json!("UNAVAILABLE")),
        "{object}"
    );
    world.end().await;
}

// contract: E11
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_leaves_takes_its_attachment_along() {
    let mut binding = Binding::start().await;
    let world = &binding.world;
    let body = json!({"context_id": "turn-1", "question": "q"});
    let call = world
        .http
        .post(world.url(ROUTE))
        .bearer_auth(&binding.host)
        .json(&body)
        .send();
    let call = tokio::spawn(call);
    let attachment = binding.attached.recv().await.unwrap();
    binding.asked.recv().await.unwrap();
    call.abort();
    let closed = tokio::time::timeout(BOUND, attachment.events.closed()).await;
    assert!(closed.is_ok(), "the attachment outlives its caller");
    binding.world.end().await;
}

// contract: E11
#[tokio::test(flavor = "multi_thread")]
async fn an_attachment_that_ends_is_opened_again_with_the_open_question() {
    let mut binding = Binding::start().await;
    let world = &binding.world;
    let body = json!({"context_id": "turn-1", "question": "q"});
    let call = world
        .http
        .post(world.url(ROUTE))
        .bearer_auth(&binding.host)
        .json(&body)
        .send();
    let call = tokio::spawn(call);
    let first = binding.attached.recv().await.unwrap();
    binding.asked.recv().await.unwrap();
    assert_eq!(first.open, Vec::<String>::new());
    let asker = first.asker_id.clone();
    drop(first);
    let second = binding.attached.recv().await.unwrap();
    assert_eq!(
        (second.asker_id.clone(), second.open.clone()),
        (asker, vec![ID.to_owned()])
    );
    second
        .events
        .send(Ok(resolved("response", Some("yes"))))
        .await
        .unwrap();
    let object: Value = call.await.unwrap().unwrap().json().await.unwrap();
    assert_eq!(object["response"], "yes");
    binding.world.end().await;
}

// contract: D14
#[tokio::test(flavor = "multi_thread")]
async fn grpc_passes_through_with_a_credential_only() {
    let mut binding = Binding::start().await;
    let target = Target::Url(binding.world.url(""));
    let client = Client::new(&target, &binding.host).unwrap();
    let pending = client
        .clarify
        .clone()
        .list_pending(ListPendingRequest::default())
        .await;
    assert_eq!(
        pending.unwrap().into_inner().clarifications[0].clarify_id,
        ID
    );
    // Errors keep their reason, streams stream.
    let unknown = client
        .clarify
        .clone()
        .get_clarification(GetClarificationRequest::default())
        .await;
    let error = WireError::from_status(&unknown.unwrap_err());
    assert_eq!(error.code.as_str(), "UNKNOWN_CLARIFICATION");
    let attach = AttachRequest {
        asker_id: "a".into(),
        ..AttachRequest::default()
    };
    let mut events = client
        .clarify
        .clone()
        .attach(attach)
        .await
        .unwrap()
        .into_inner();
    let attachment = binding.attached.recv().await.unwrap();
    assert!(matches!(
        events.message().await.unwrap().unwrap().event,
        Some(Event::Attached(_))
    ));
    attachment
        .events
        .send(Ok(resolved("timeout", None)))
        .await
        .unwrap();
    assert!(matches!(
        events.message().await.unwrap().unwrap().event,
        Some(Event::Resolved(_))
    ));
    drop(events);
    tokio::time::timeout(BOUND, attachment.events.closed())
        .await
        .unwrap();
    let forged = Client::new(&target, "nonsense").unwrap();
    let refused = forged
        .clarify
        .clone()
        .list_pending(ListPendingRequest::default())
        .await;
    assert_eq!(refused.unwrap_err().code(), tonic::Code::Unauthenticated);
    drop((client, forged));
    binding.world.end().await;
    // Nobody behind the gateway.
    let world = World::start().await;
    let host = world.token(Role::Host, "ci", "local", &["default"]);
    let client = Client::new(&Target::Url(world.url("")), &host).unwrap();
    let refused = client
        .clarify
        .clone()
        .list_pending(ListPendingRequest::default())
        .await;
    assert_eq!(refused.unwrap_err().code(), tonic::Code::Unavailable);
    drop(client);
    world.end().await;
}
