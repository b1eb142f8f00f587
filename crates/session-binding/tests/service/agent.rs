//! An agent: the ordinary client with an agent's credential.

use crate::world::within;
use askbus_wire::client::{Client, Target};
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::proto::ask_request::Input;
use askbus_wire::proto::attach_event::Event;
use askbus_wire::proto::begin_turn_request::Life;
use askbus_wire::proto::{
    AskRequest, AskResponse, AttachEvent, AttachRequest, BeginTurnRequest, BeginTurnResponse,
    CancelRequest, Clarification, EndTurnRequest, EndTurnResponse, GetClarificationRequest,
    HoldTurnRequest, HoldTurnResponse, ListPendingRequest, Outcome, WaitRequest,
};
use tonic::{Status, Streaming};
use uuid::Uuid;

#[derive(Clone)]
pub struct Agent {
    pub client: Client,
    /// Of whoever begins its turns.
    pub host: Client,
    /// Its asker id.
    pub asker: String,
}

/// The stable code of a refused call.
pub fn code(status: &Status) -> ErrorCode {
    WireError::from_status(status).code
}

/// The outcome of a settled clarification.
pub fn outcome(clarification: &Clarification) -> &Outcome {
    assert_eq!(clarification.status, "settled", "{clarification:?}");
    clarification.outcome.as_ref().expect("settled says how")
}

/// The arguments of a tool call that asks one question.
pub fn question(text: &str) -> Input {
    Input::ArgumentsJson(serde_json::json!({ "question": text }).to_string())
}

/// The same with a timeout in seconds.
pub fn question_for(text: &str, seconds: f64) -> Input {
    let arguments = serde_json::json!({ "question": text, "timeout_s": seconds });
    Input::ArgumentsJson(arguments.to_string())
}

impl Agent {
    pub fn new(target: &Target, token: &str) -> Self {
        let client = Client::new(target, token).unwrap();
        Self {
            host: client.clone(),
            client,
            asker: Uuid::new_v4().to_string(),
        }
    }

    /// The same with turns of this host's.
    pub fn under(self, host: &Agent) -> Self {
        Self {
            host: host.client.clone(),
            ..self
        }
    }

    /// The same agent with the same asker id at another replica.
    pub fn moved(&self, other: &Agent) -> Self {
        Self {
            client: other.client.clone(),
            host: other.host.clone(),
            asker: self.asker.clone(),
        }
    }

    pub async fn try_begin(&self, request: BeginTurnRequest) -> Result<BeginTurnResponse, Status> {
        let own = matches!(request.life, Some(Life::AskerId(_)));
        let by = if own { &self.client } else { &self.host };
        let mut turns = by.turns.clone();
        within("a turn begins", turns.begin_turn(request))
            .await
            .map(tonic::Response::into_inner)
    }

    /// Begins a turn that lives for a while by itself; its context.
    pub async fn begin(&self, session: &str) -> String {
        self.begin_with(session, Some(Life::ForMs(3_600_000))).await
    }

    pub async fn begin_with(&self, session: &str, life: Option<Life>) -> String {
        let request = BeginTurnRequest {
            session_id: session.to_owned(),
            life,
            ..BeginTurnRequest::default()
        };
        self.try_begin(request).await.unwrap().context_id
    }

    pub async fn end(&self, context: &str, end: &str) -> Result<EndTurnResponse, Status> {
        let request = EndTurnRequest {
            context_id: context.to_owned(),
            end: end.to_owned(),
            profile: String::new(),
        };
        let mut turns = self.host.turns.clone();
        within("a turn ends", turns.end_turn(request))
            .await
            .map(tonic::Response::into_inner)
    }

    pub async fn hold(&self, context: &str) -> Result<Held, Status> {
        let request = HoldTurnRequest {
            context_id: context.to_owned(),
            profile: String::new(),
        };
        let mut turns = self.host.turns.clone();
        let stream = within("a turn is held", turns.hold_turn(request)).await?;
        Ok(Held(stream.into_inner()))
    }

    pub fn ask_request(
        &self,
        context: &str,
        dialect: &str,
        input: impl Into<Option<Input>>,
    ) -> AskRequest {
        AskRequest {
            context_id: context.to_owned(),
            asker_id: self.asker.clone(),
            dialect: dialect.to_owned(),
            input: input.into(),
            ..AskRequest::default()
        }
    }

    pub async fn try_ask(&self, request: AskRequest) -> Result<AskResponse, Status> {
        let mut clarify = self.client.clarify.clone();
        within("the question is taken", clarify.ask(request))
            .await
            .map(tonic::Response::into_inner)
    }

    /// Asks one question without a deadline; its id.
    pub async fn ask(&self, context: &str, text: &str) -> String {
        let request = self.ask_request(context, "ask", question(text));
        self.try_ask(request).await.unwrap().clarify_id
    }

    /// Asks one question with a deadline.
    pub async fn ask_for(&self, context: &str, text: &str, seconds: f64) -> AskResponse {
        let request = self.ask_request(context, "ask", question_for(text, seconds));
        self.try_ask(request).await.unwrap()
    }

    pub async fn attach(&self, open: &[&str]) -> Attachment {
        let request = AttachRequest {
            asker_id: self.asker.clone(),
            open_clarify_ids: open.iter().map(ToString::to_string).collect(),
        };
        let mut clarify = self.client.clarify.clone();
        let stream = within("it attaches", clarify.attach(request))
            .await
            .unwrap();
        let mut attachment = Attachment(stream.into_inner());
        let first = attachment.next().await.expect("the stream is open");
        assert!(matches!(first, Event::Attached(_)), "{first:?}");
        attachment
    }

    pub async fn try_wait(&self, id: &str) -> Result<Clarification, Status> {
        let request = WaitRequest {
            clarify_id: id.to_owned(),
            asker_id: Some(self.asker.clone()),
        };
        let mut clarify = self.client.clarify.clone();
        within("it settles", clarify.wait(request))
            .await
            .map(tonic::Response::into_inner)
    }

    pub async fn try_cancel(&self, id: &str) -> Result<Clarification, Status> {
        let request = CancelRequest {
            clarify_id: id.to_owned(),
        };
        let mut clarify = self.client.clarify.clone();
        within("it is withdrawn", clarify.cancel(request))
            .await
            .map(tonic::Response::into_inner)
    }

    pub async fn try_get(&self, id: &str) -> Result<Clarification, Status> {
        let request = GetClarificationRequest {
            clarify_id: id.to_owned(),
        };
        let mut clarify = self.client.clarify.clone();
        within("it is found", clarify.get_clarification(request))
            .await
            .map(tonic::Response::into_inner)
    }

    pub async fn get(&self, id: &str) -> Clarification {
        self.try_get(id).await.unwrap()
    }

    pub async fn try_pending(&self, session: &str) -> Result<Vec<String>, Status> {
        let request = ListPendingRequest {
            session_id: session.to_owned(),
        };
        let mut clarify = self.client.clarify.clone();
        let list = within("the list comes", clarify.list_pending(request)).await?;
        let list = list.into_inner().clarifications;
        Ok(list.into_iter().map(|c| c.clarify_id).collect())
    }

    /// The ids of what waits, of one session or all; as a host or a person.
    pub async fn pending(&self, session: &str) -> Vec<String> {
        self.try_pending(session).await.unwrap()
    }
}

/// An open attachment.
pub struct Attachment(Streaming<AttachEvent>);

impl Attachment {
    /// The next event that is no heartbeat; none at the end of the stream.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            let message = within("the attachment says something", self.0.message()).await;
            match message.unwrap()?.event.expect("every event is one") {
                Event::Heartbeat(_) => {}
                event => return Some(event),
            }
        }
    }

    /// The next event, which is a resolution.
    pub async fn resolved(&mut self) -> Clarification {
        match self.next().await.expect("the stream is open") {
            Event::Resolved(clarification) => clarification,
            other => panic!("{other:?} is no resolution"),
        }
    }

    /// Reads on until the service refuses to go on.
    pub async fn refused(self) -> Status {
        refused_by(self.0).await
    }

    /// Reads on until the service closes the stream, whatever comes.
    pub async fn closed(mut self) {
        within("the stream ends", async move {
            while let Ok(Some(_)) = self.0.message().await {}
        })
        .await;
    }
}

async fn refused_by<T>(mut stream: Streaming<T>) -> Status {
    within("the stream is refused", async move {
        loop {
            match stream.message().await {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the stream ended without a word"),
                Err(status) => return status,
            }
        }
    })
    .await
}

/// A held turn.
pub struct Held(Streaming<HoldTurnResponse>);

impl Held {
    /// Waits for the first sign that the turn is held.
    pub async fn confirmed(&mut self) {
        let first = within("the hold is confirmed", self.0.message()).await;
        assert_eq!(first.unwrap().expect("the stream is open").ended, "");
    }

    /// Reads on until the service refuses to go on.
    pub async fn refused(self) -> Status {
        refused_by(self.0).await
    }

    /// How the turn ended; none when the stream ended without a word.
    pub async fn ended(mut self) -> Option<String> {
        loop {
            let message = within("the held turn ends", self.0.message()).await;
            match message {
                Ok(Some(message)) if message.ended.is_empty() => {}
                Ok(Some(message)) => return Some(message.ended),
                Ok(None) | Err(_) => return None,
            }
        }
    }
}
