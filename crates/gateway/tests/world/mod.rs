//! A gateway over an embedded ledger, with a stand-in for session-binding that judges the inbox by
//! the domain's own rules.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

pub mod chats;
pub mod second;

use askbus_credential::{Grant, Issuer, Role, Verifier};
use askbus_domain::{
    Answer, AskCommand, AskId, AskerId, AskerInfo, BeginCommand, BeginId, ClarifyId, Command,
    Commit, CommitId, ContextId, Dialect, Event, Holder, Millis, PersonId, PolicyLayer, Presence,
    ProfileId, RunId, SCHEMA, Session, SessionId, TenantId, Timestamp, decide, parse_arguments,
    verdict,
};
use askbus_gateway::{Handle, Options, SignIn};
use askbus_ledger::embedded::{self, EmbeddedHandle, EmbeddedOptions};
use askbus_ledger::{Bus, Delivery, Drafts, append};
use askbus_wire::client::Target;
use askbus_wire::codec::Decoded;
use askbus_wire::messages::{InboxBody, InboxMessage, InboxReply};
use futures::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error as WsError, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use tokio_util::sync::CancellationToken;

/// Nothing in a test takes longer.
pub const BOUND: Duration = Duration::from_secs(20);

pub struct World {
    pub bus: Bus,
    pub gateway: Option<Handle>,
    pub stop: CancellationToken,
    pub http: reqwest::Client,
    pub address: String,
    issuer: Issuer,
    verifier: Verifier,
    judges: JoinSet<()>,
    ledger: Option<EmbeddedHandle>,
    keys: std::path::PathBuf,
    dir: TempDir,
}

pub struct Setup {
    pub single_machine: bool,
    pub session_binding: Target,
    pub judge: bool,
    pub tenants: &'static str,
    pub break_inbox: Option<std::sync::Arc<dyn askbus_ledger::Inbox>>,
    /// Makes what the gateway has for its drafts.
    pub drafts: Option<MakeDrafts>,
    pub channels: Vec<askbus_gateway::ChannelOptions>,
}

/// Makes drafts that stand before others.
pub type MakeDrafts = Box<dyn FnOnce(Arc<dyn Drafts>) -> Arc<dyn Drafts> + Send>;

/// What is asked, and whether somebody is there to hear it.
pub struct Asked {
    pub dialect: Dialect,
    pub arguments: Value,
    pub presence: Presence,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            single_machine: true,
            session_binding: Target::Url("http://127.0.0.1:1".into()),
            judge: true,
            tenants: "all",
            break_inbox: None,
            drafts: None,
            channels: Vec::new(),
        }
    }
}

pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::from_unix_millis(i64::try_from(since.as_millis()).unwrap())
}

impl World {
    pub async fn start() -> Self {
        Self::with(Setup::default()).await
    }

    pub async fn with(setup: Setup) -> Self {
        let dir = TempDir::new().unwrap();
        let keys = dir.path().join("keys");
        let issuer = Issuer::open_or_create(&keys).unwrap();
        let verifier = Verifier::open(&keys).unwrap();
        let (bus, ledger) = embedded::open(&dir.path().join("ledger")).unwrap();
        let judged = setup.judge;
        let (gateway, stop) = serve(setup, &bus, &keys).await;
        let mut judges = JoinSet::new();
        if judged {
            for tenant in ["local", "acme"] {
                judges.spawn(judge(bus.clone(), TenantId::new(tenant).unwrap()));
            }
        }
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(BOUND)
            .build()
            .unwrap();
        let address = gateway.address().to_string();
        Self {
            bus,
            gateway: Some(gateway),
            stop,
            http,
            address,
            issuer,
            verifier,
            judges,
            ledger: Some(ledger),
            keys,
            dir,
        }
    }

    /// Stops the gateway; the log goes on.
    pub async fn stop(&mut self) {
        self.stop.cancel();
        if let Some(gateway) = self.gateway.take() {
            tokio::time::timeout(BOUND, gateway.join())
                .await
                .expect("the gateway stops");
        }
    }

    /// Starts one again, which was stopped.
    pub async fn start_again(&mut self, setup: Setup) {
        let (gateway, stop) = serve(setup, &self.bus, &self.keys).await;
        self.address = gateway.address().to_string();
        (self.gateway, self.stop) = (Some(gateway), stop);
    }

    /// Stops all and starts again on the same file, which counts so many messages as its latest.
    pub async fn reopen(&mut self, latest: u64) {
        self.stop().await;
        self.judges.shutdown().await;
        if let Some(ledger) = self.ledger.take() {
            ledger.close().await;
        }
        let options = EmbeddedOptions {
            latest,
            ..EmbeddedOptions::default()
        };
        let file = self.dir.path().join("ledger");
        let (bus, ledger) = embedded::open_with(&file, options).unwrap();
        (self.bus, self.ledger) = (bus, Some(ledger));
        for tenant in ["local", "acme"] {
            let tenant = TenantId::new(tenant).unwrap();
            self.judges.spawn(judge(self.bus.clone(), tenant));
        }
        self.start_again(Setup::default()).await;
    }

    pub async fn end(mut self) {
        self.stop().await;
        self.judges.shutdown().await;
        if let Some(ledger) = self.ledger.take() {
            ledger.close().await;
        }
    }

    pub fn cookie_name(&self) -> String {
        format!("askbus_{}", self.verifier.fingerprint())
    }

    pub fn token(&self, role: Role, who: &str, tenant: &str, profiles: &[&str]) -> String {
        self.issued(role, who, tenant, profiles).0
    }

    pub fn revoke(&self, id: &str) {
        self.issuer.revoke(id).unwrap();
    }

    /// A token and its id; it lives for ten minutes.
    pub fn issued(
        &self,
        role: Role,
        who: &str,
        tenant: &str,
        profiles: &[&str],
    ) -> (String, String) {
        let grant = grant(role, who, tenant, profiles);
        let (token, issued) = self.issuer.sign(&grant).unwrap();
        (token, issued.id)
    }

    /// A person of tenant `local`, profile `default`, in these groups.
    pub fn grouped(&self, who: &str, groups: &[&str]) -> String {
        self.member(who, ("local", "default"), groups)
    }

    /// A person of this tenant and profile, in these groups.
    pub fn member(&self, who: &str, of: (&str, &str), groups: &[&str]) -> String {
        let (tenant, profile) = of;
        let grant = Grant {
            groups: groups.iter().map(|g| (*g).to_owned()).collect(),
            ..grant(Role::Person, who, tenant, &[profile])
        };
        self.issuer.sign(&grant).unwrap().0
    }

    /// A person of tenant `local`, profile `default`.
    pub fn person(&self, who: &str) -> String {
        self.token(Role::Person, who, "local", &["default"])
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub async fn get(&self, path: &str, token: &str) -> (u16, Value) {
        let response = self
            .http
            .get(self.url(path))
            .bearer_auth(token)
            .send()
            .await
            .unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    pub async fn post(&self, path: &str, token: &str, body: Value) -> (u16, Value) {
        let request = self
            .http
            .post(self.url(path))
            .bearer_auth(token)
            .json(&body);
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    pub async fn session(&self, tenant: &str, session: &str) -> (Session, u64) {
        read(
            &self.bus,
            &TenantId::new(tenant).unwrap(),
            &SessionId::new(session).unwrap(),
        )
        .await
    }

    /// Decides and writes.
    pub async fn write(&self, tenant: &str, session: &str, command: &Command, at: Timestamp) {
        let (state, last) = self.session(tenant, session).await;
        let events = decide(&state, command, at).unwrap();
        self.commit((tenant, session), events, last, at).await;
    }

    /// Writes an event that nobody decided.
    pub async fn write_as_it_is(&self, tenant: &str, session: &str, event: Event, last: u64) {
        self.commit((tenant, session), vec![event], last, now())
            .await;
    }

    async fn commit(
        &self,
        (tenant, session): (&str, &str),
        events: Vec<Event>,
        last: u64,
        at: Timestamp,
    ) {
        let commit = Commit {
            schema: SCHEMA,
            commit_id: CommitId::from_uuid(uuid::Uuid::now_v7()),
            tenant: TenantId::new(tenant).unwrap(),
            session_id: SessionId::new(session).unwrap(),
            at,
            events,
        };
        append(&*self.bus.ledger, &commit, last, None)
            .await
            .unwrap();
    }

    /// Begins a turn of `profile` in a session.
    pub async fn begin(&self, tenant: &str, session: &str, profile: &str) -> ContextId {
        let context_id = ContextId::from_uuid(uuid::Uuid::now_v7());
        let at = Timestamp::from_unix_millis(now().unix_millis() - 3_600_000);
        let begin = Command::Begin(BeginCommand::new(
            BeginId::new(uuid::Uuid::new_v4().to_string()).unwrap(),
            context_id,
            RunId::new(format!("run-{session}")).unwrap(),
            ProfileId::new(profile).unwrap(),
            Holder::Until(at.plus(Millis(24 * 3_600_000))),
        ));
        self.write(tenant, session, &begin, at).await;
        context_id
    }

    /// Asks in the session's turn as of `at`.
    pub async fn ask_at(
        &self,
        (tenant, session): (&str, &str),
        dialect: Dialect,
        arguments: Value,
        at: Timestamp,
    ) -> ClarifyId {
        let asked = Asked {
            dialect,
            arguments,
            presence: Presence::Unknown,
        };
        self.ask_as((tenant, session), asked, at).await
    }

    /// Asks in the session's turn as of `at`.
    pub async fn ask_as(
        &self,
        (tenant, session): (&str, &str),
        asked: Asked,
        at: Timestamp,
    ) -> ClarifyId {
        let Asked {
            dialect,
            arguments,
            presence,
        } = asked;
        let (state, _) = self.session(tenant, session).await;
        let turn = state.active_turn().unwrap().clone();
        let clarify_id = ClarifyId::from_uuid(uuid::Uuid::now_v7());
        let ask = Command::Ask(Box::new(AskCommand {
            ask_id: AskId::new(uuid::Uuid::new_v4().to_string()).unwrap(),
            clarify_id,
            context_id: turn.context_id,
            profile: turn.profile,
            asker_id: AskerId::new("asker").unwrap(),
            asker_ttl: Millis(15_000),
            asker: AskerInfo::default(),
            dialect,
            input: parse_arguments(dialect, &arguments),
            call_limit: (dialect == Dialect::Studio).then_some(Millis(320_000)),
            policy: PolicyLayer::default(),
            presence,
            client_turn: None,
            parent: None,
        }));
        self.write(tenant, session, &ask, at).await;
        clarify_id
    }

    /// Begins a turn of profile `default` of tenant `local`, asks, and waits until people see it.
    pub async fn ask(&self, session: &str, dialect: Dialect, arguments: Value) -> ClarifyId {
        self.begin("local", session, "default").await;
        let id = self
            .ask_at(("local", session), dialect, arguments, now())
            .await;
        self.shown(&self.person("onlooker"), id).await;
        id
    }

    /// Waits until a person's socket shows the question.
    pub async fn shown(&self, token: &str, id: ClarifyId) {
        let mut socket = self.socket("/ws", token).await;
        socket
            .until(|o| o["event"] == "clarify.requested" && o["clarify_id"] == id.to_string())
            .await;
    }

    /// Waits until a person's socket shows that the question is over.
    pub async fn shown_over(&self, token: &str, id: ClarifyId) {
        let mut socket = self.socket("/ws?after=0", token).await;
        socket
            .until(|o| o["event"] == "clarify.resolved" && o["clarify_id"] == id.to_string())
            .await;
    }

    pub async fn socket(&self, path: &str, token: &str) -> Socket {
        let bearer = format!("Bearer {token}");
        self.try_socket(path, &[("authorization", &bearer)])
            .await
            .unwrap()
    }

    /// A socket, or the status that refused it.
    pub async fn try_socket(&self, path: &str, headers: &[(&str, &str)]) -> Result<Socket, u16> {
        let url = format!("ws://{}{path}", self.address);
        let mut request = url.into_client_request().unwrap();
        for (name, value) in headers {
            let name: http::HeaderName = name.parse().unwrap();
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        match tokio_tungstenite::connect_async(request).await {
            Ok((stream, _)) => Ok(Socket(stream)),
            Err(WsError::Http(response)) => Err(response.status().as_u16()),
            Err(other) => panic!("{other}"),
        }
    }
}

fn grant(role: Role, who: &str, tenant: &str, profiles: &[&str]) -> Grant {
    Grant {
        subject: PersonId::new(who).unwrap(),
        role,
        tenant: TenantId::new(tenant).unwrap(),
        profiles: profiles
            .iter()
            .map(|p| ProfileId::new(p).unwrap())
            .collect(),
        groups: Vec::new(),
        life: Duration::from_mins(10),
    }
}

/// Starts a gateway over this bus.
async fn serve(setup: Setup, bus: &Bus, keys: &std::path::Path) -> (Handle, CancellationToken) {
    let mut bus = bus.clone();
    if let Some(inbox) = setup.break_inbox {
        bus.inbox = inbox;
    }
    if let Some(make) = setup.drafts {
        bus.drafts = make(bus.drafts);
    }
    let stop = CancellationToken::new();
    let options = Options {
        bus,
        verifier: Verifier::open(keys).unwrap(),
        listen: SocketAddr::from(([127, 0, 0, 1], 0)).into(),
        clock: askbus_wire::clock::Clock::system(),
        tenants: askbus_wire::tenants::Tenants::parse(setup.tenants).unwrap(),
        session_binding: setup.session_binding.into(),
        sign_in: Some(SignIn {
            issuer: Issuer::open(keys).unwrap(),
            tenant: TenantId::new("local").unwrap(),
            profiles: vec![ProfileId::new("default").unwrap()],
            person: PersonId::new("owner").unwrap(),
            life: Duration::from_hours(1),
        }),
        single_machine: setup.single_machine,
        mcp: None,
        host_names: vec!["ask.example".into()],
        channels: setup.channels,
        instance: "test".into(),
        version: "0.0.0-test".into(),
    };
    let gateway = askbus_gateway::start(options, stop.clone()).await.unwrap();
    (gateway, stop)
}

pub struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    pub async fn send(&mut self, object: Value) {
        self.send_text(&object.to_string()).await;
    }

    pub async fn send_text(&mut self, text: &str) {
        assert!(self.try_send_text(text).await, "the connection is open");
    }

    /// Whether all of it left before the connection was closed.
    pub async fn try_send_text(&mut self, text: &str) -> bool {
        self.0.send(Message::text(text)).await.is_ok()
    }

    /// The next object; none when the connection was closed, with its code.
    pub async fn next(&mut self) -> Result<Value, Option<u16>> {
        loop {
            let frame = tokio::time::timeout(BOUND, self.0.next())
                .await
                .expect("a frame in time");
            match frame {
                Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(frame))) => return Err(frame.map(|f| f.code.into())),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(None),
            }
        }
    }

    /// The first object that fits; those before it are passed over.
    pub async fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        self.collect_until(fits).await.pop().unwrap()
    }

    /// All objects up to the first that fits.
    pub async fn collect_until(&mut self, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut all = Vec::new();
        loop {
            let object = self.next().await.expect("the connection stays open");
            all.push(object);
            if fits(all.last().unwrap()) {
                return all;
            }
        }
    }

    /// The objects of the replay.
    pub async fn replay(&mut self) -> Vec<Value> {
        self.collect_until(|o| o["event"] == "ready").await
    }
}

async fn read(bus: &Bus, tenant: &TenantId, session: &SessionId) -> (Session, u64) {
    let mut state = Session::default();
    let mut last = 0;
    for stored in bus.ledger.read_session(tenant, session, 1).await.unwrap() {
        if let Decoded::Commit(commit) = &stored.decoded {
            state.apply(commit);
        }
        last = stored.seq;
    }
    (state, last)
}

/// Judges a tenant's inbox, one message after the other.
async fn judge(bus: Bus, tenant: TenantId) {
    let mut deliveries = bus.inbox.take(&tenant).await.unwrap();
    while let Some(delivery) = deliveries.recv().await {
        judge_one(&bus, &tenant, delivery).await;
    }
}

async fn judge_one(bus: &Bus, tenant: &TenantId, delivery: Delivery) {
    let message: InboxMessage = serde_json::from_slice(&delivery.payload).unwrap();
    let clarify_id = ClarifyId::parse(&delivery.clarify_token).unwrap();
    let (state, last) = read(bus, tenant, &delivery.session).await;
    let command = match &message.body {
        InboxBody::Respond(response) => Command::Answer(Box::new(Answer {
            clarify_id,
            response: response.clone(),
            rights: message.rights.clone(),
            stored_at: delivery.stored_at,
        })),
        InboxBody::Hold { actor } => Command::Hold {
            clarify_id,
            actor: actor.clone(),
            rights: message.rights.clone(),
            stored_at: delivery.stored_at,
        },
        InboxBody::PassOn {
            actor, answer_id, ..
        } => Command::PassOn {
            clarify_id,
            answer_id: answer_id.clone(),
            person: actor.person.clone(),
        },
    };
    let at = now();
    let events = match decide(&state, &command, at) {
        Ok(events) => events,
        Err(rejection) => {
            delivery.acker.ack().await.unwrap();
            let refused = askbus_domain::Verdict::Refused(rejection);
            return delivery.reply.send(&refused.into()).await;
        }
    };
    if !events.is_empty() {
        let commit = Commit {
            schema: SCHEMA,
            commit_id: CommitId::from_uuid(uuid::Uuid::now_v7()),
            tenant: tenant.clone(),
            session_id: delivery.session.clone(),
            at,
            events,
        };
        append(&*bus.ledger, &commit, last, None).await.unwrap();
    }
    delivery.acker.ack().await.unwrap();
    let (state, _) = read(bus, tenant, &delivery.session).await;
    let clarification = state.clarification(clarify_id).unwrap();
    let reply = match &message.body {
        InboxBody::Respond(response) => verdict(clarification, response).unwrap().into(),
        InboxBody::Hold { .. } => match &clarification.outcome {
            Some(outcome) => InboxReply::Late {
                outcome: outcome.clone(),
                goes_on: None,
            },
            None => InboxReply::Held,
        },
        InboxBody::PassOn {
            actor, answer_id, ..
        } => {
            let note = clarification.late_note(&actor.person, answer_id);
            InboxReply::PassedOn {
                goes_on: note.and_then(askbus_domain::LateNote::way).unwrap(),
            }
        }
    };
    delivery.reply.send(&reply).await;
}
