//! One test's world: keys, a bus, replicas of the service, and the log to look into.

use crate::agent::Agent;
use askbus_credential::{Grant, Issued, Issuer, Role, Verifier};
use askbus_domain::{
    Actor, AnswerAction, AnswerEntry, AnswerId, ClarifyId, Event, Millis, PersonId, PolicyTable,
    ProfileId, Response, Rights, SessionId, Surface, TenantId, Timestamp, WaitingLimits,
};
use askbus_ledger::embedded::{self, EmbeddedHandle, EmbeddedOptions};
use askbus_ledger::hostile::{self, Faults, HostileHandle};
use askbus_ledger::jetstream::{self, JetStreamHandle, JetStreamOptions};
use askbus_ledger::{Bus, Submission, Submitted, until_reachable};
use askbus_session_binding::{Clock, Handle, Listen, Options, start};
use askbus_testkit::NatsServer;
use askbus_wire::client::Target;
use askbus_wire::codec::Decoded;
use askbus_wire::memory::MemoryAddress;
use askbus_wire::messages::{InboxBody, InboxMessage, InboxReply};
use askbus_wire::tenants::Tenants;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Nothing in a test waits longer for one thing.
const BOUND: Duration = Duration::from_secs(30);
pub const TENANT: &str = "local";
pub const PROFILE: &str = "default";
/// When virtual time begins.
pub const EPOCH: Timestamp = Timestamp::from_unix_millis(1_800_000_000_000);

/// Waits, at most as long as anything may take here.
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, future)
        .await
        .unwrap_or_else(|_| panic!("nothing within {BOUND:?}: {what}"))
}

pub fn tenant(name: &str) -> TenantId {
    TenantId::new(name).unwrap()
}

pub fn session(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

pub fn clarify_id(text: &str) -> ClarifyId {
    ClarifyId::parse(text).unwrap()
}

enum Backing {
    Embedded(Option<EmbeddedHandle>),
    JetStream(Box<NatsServer>, #[allow(dead_code)] JetStreamHandle),
    Memory(#[allow(dead_code)] HostileHandle),
}

pub struct World {
    /// The bus as the gateway has it.
    pub bus: Bus,
    backing: Backing,
    issuer: Issuer,
    verifier: Verifier,
    dir: TempDir,
    clock: Clock,
}

/// How a replica differs from the ordinary one.
#[derive(Clone)]
pub struct Setup {
    pub lease: Millis,
    pub tenants: &'static str,
    pub listen: Listen,
    pub instance: String,
    pub clock: Clock,
    pub policy: PolicyTable,
    pub waiting: WaitingLimits,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            lease: Millis(120_000),
            tenants: "all",
            listen: Listen::Tcp("127.0.0.1:0".parse().unwrap()),
            instance: Uuid::new_v4().to_string(),
            clock: Clock::system(),
            policy: PolicyTable::default(),
            waiting: WaitingLimits::default(),
        }
    }
}

impl Setup {
    /// On virtual time and without sockets, like [`World::in_memory`].
    pub fn in_memory() -> Self {
        // No two replicas make the same ids.
        static SEED: AtomicU64 = AtomicU64::new(1 << 32);
        let seed = SEED.fetch_add(1 << 32, Ordering::Relaxed);
        Self {
            listen: Listen::Memory(MemoryAddress::new()),
            clock: Clock::virtual_at(EPOCH, 0, seed),
            ..Self::default()
        }
    }

    pub fn lease(lease: Millis) -> Self {
        Self {
            lease,
            ..Self::default()
        }
    }

    pub fn leasing_in_memory(lease: Millis) -> Self {
        Self {
            lease,
            ..Self::in_memory()
        }
    }
}

/// One running session-binding.
pub struct Replica {
    pub target: Target,
    pub handle: Handle,
    stop: CancellationToken,
    link: Option<JetStreamHandle>,
}

impl Replica {
    /// Shuts it down in good order.
    pub async fn stop(self) {
        self.stop.cancel();
        within("the service stops", self.handle.join()).await;
        if let Some(link) = self.link {
            within("the connection is closed", link.close()).await;
        }
    }
}

impl Setup {
    pub fn options(&self, bus: Bus, verifier: Verifier) -> Options {
        Options {
            bus,
            clock: self.clock.clone(),
            verifier,
            listen: self.listen.clone(),
            tenants: Tenants::parse(self.tenants).unwrap(),
            instance: self.instance.clone(),
            lease: self.lease,
            heartbeat: Options::heartbeat_for(self.lease),
            policy: self.policy.clone(),
            people: None,
            waiting: self.waiting,
        }
    }
}

fn target_of(handle: &Handle, listen: &Listen) -> Target {
    match (handle.address(), listen) {
        (Some(address), _) => Target::Url(format!("http://{address}")),
        (None, Listen::Socket(path)) => Target::Socket(path.clone()),
        (None, Listen::Memory(address)) => Target::Memory(vec![address.clone()]),
        (None, Listen::Tcp(_)) => panic!("a TCP listener has an address"),
    }
}

impl World {
    pub fn embedded() -> Self {
        let dir = TempDir::new().unwrap();
        let (bus, handle) = embedded::open(&dir.path().join("ledger")).unwrap();
        Self::over(dir, bus, Backing::Embedded(Some(handle)))
    }

    pub async fn jetstream() -> Self {
        let server = NatsServer::start().await.unwrap();
        let options = JetStreamOptions::new(server.url(), "gateway@test");
        let (bus, client, handle) = jetstream::connect(options.clone()).await.unwrap();
        let made = jetstream::ensure_streams(&client, &options);
        within("the streams are made", made).await.unwrap();
        let dir = TempDir::new().unwrap();
        Self::over(dir, bus, Backing::JetStream(Box::new(server), handle))
    }

    /// Everything in memory, without a fault, and on virtual time when tokio's is paused.
    pub fn in_memory() -> Self {
        let (bus, handle) = hostile::open_at(1, Faults::NONE, EPOCH);
        Self::over(TempDir::new().unwrap(), bus, Backing::Memory(handle))
    }

    fn over(dir: TempDir, bus: Bus, backing: Backing) -> Self {
        let keys = dir.path().join("keys");
        let issuer = Issuer::open_or_create(&keys).unwrap();
        let verifier = Verifier::open(&keys).unwrap();
        Self {
            bus,
            backing,
            issuer,
            verifier,
            dir,
            clock: Clock::virtual_at(EPOCH, 0, 0),
        }
    }

    /// What the clock of the bus shows, in memory.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub fn dir(&self) -> &std::path::Path {
        self.dir.path()
    }

    pub fn verifier(&self) -> Verifier {
        self.verifier.clone()
    }

    pub fn nats(&mut self) -> &mut NatsServer {
        match &mut self.backing {
            Backing::JetStream(server, _) => server,
            Backing::Embedded(_) | Backing::Memory(_) => {
                panic!("there is no server behind the embedded file")
            }
        }
    }

    /// What a replica needs to connect to the server by itself.
    pub fn jetstream_options(&self, name: &str) -> JetStreamOptions {
        match &self.backing {
            Backing::JetStream(server, _) => JetStreamOptions::new(server.url(), name),
            Backing::Embedded(_) | Backing::Memory(_) => {
                panic!("there is no server behind the embedded file")
            }
        }
    }

    /// Closes the embedded file and opens it again, as a restart of the machine would.
    pub async fn reopen(&mut self) {
        self.reopen_with(EmbeddedOptions::default()).await;
    }

    pub async fn reopen_with(&mut self, options: EmbeddedOptions) {
        let Backing::Embedded(handle) = &mut self.backing else {
            panic!("only the embedded file can be reopened");
        };
        within("the file closes", handle.take().unwrap().close()).await;
        let (bus, opened) = embedded::open_with(&self.dir.path().join("ledger"), options).unwrap();
        *handle = Some(opened);
        self.bus = bus;
    }

    pub async fn replica(&self) -> Replica {
        self.replica_with(Setup::default(), |bus| bus).await
    }

    pub async fn replica_leasing(&self, lease: Millis) -> Replica {
        self.replica_with(Setup::lease(lease), |bus| bus).await
    }

    /// A replica whose bus is `change` of the real one. On JetStream it has a connection of its own.
    pub async fn replica_with(&self, setup: Setup, change: impl FnOnce(Bus) -> Bus) -> Replica {
        let (bus, link) = match &self.backing {
            Backing::Embedded(_) | Backing::Memory(_) => (self.bus.clone(), None),
            Backing::JetStream(..) => {
                let options = self.jetstream_options("session-binding@test");
                let (bus, _, handle) = jetstream::connect(options).await.unwrap();
                (bus, Some(handle))
            }
        };
        let stop = CancellationToken::new();
        let options = setup.options(change(bus), self.verifier());
        let handle = within("the service starts", start(options, stop.clone())).await;
        let handle = handle.unwrap();
        Replica {
            target: target_of(&handle, &setup.listen),
            handle,
            stop,
            link,
        }
    }

    pub fn token(&self, role: Role, who: &str, tenant_name: &str, profiles: &[&str]) -> String {
        let profiles = profiles.iter().map(|p| ProfileId::new(p).unwrap());
        let grant = Grant {
            subject: PersonId::new(who).unwrap(),
            role,
            tenant: tenant(tenant_name),
            profiles: profiles.collect(),
            groups: Vec::new(),
            life: Duration::from_mins(10),
        };
        self.issuer.sign(&grant).unwrap().0
    }

    /// An agent's credential of this life, with its record.
    pub fn agent_token(&self, life: Duration) -> (String, Issued) {
        let grant = Grant {
            subject: PersonId::new("robot").unwrap(),
            role: Role::Agent,
            tenant: tenant(TENANT),
            profiles: vec![ProfileId::new(PROFILE).unwrap()],
            groups: Vec::new(),
            life,
        };
        self.issuer.sign(&grant).unwrap()
    }

    pub fn revoke(&self, issued: &Issued) {
        self.issuer.revoke(&issued.id).unwrap();
    }

    /// An agent of the usual tenant and profile, in turns that a host begins for it.
    pub fn agent(&self, replica: &Replica) -> Agent {
        self.agent_of(replica, TENANT, PROFILE)
    }

    pub fn agent_of(&self, replica: &Replica, tenant: &str, profile: &str) -> Agent {
        let token = |role, who| self.token(role, who, tenant, &[profile]);
        let host = Agent::new(&replica.target, &token(Role::Host, "ci"));
        Agent::new(&replica.target, &token(Role::Agent, "robot")).under(&host)
    }

    /// A host of the usual tenant and profile, which may list what waits.
    pub fn host(&self, replica: &Replica) -> Agent {
        self.host_of(replica, TENANT)
    }

    pub fn host_of(&self, replica: &Replica, tenant: &str) -> Agent {
        let token = self.token(Role::Host, "ci", tenant, &[PROFILE]);
        Agent::new(&replica.target, &token)
    }

    /// Sends what a person means to do, as the gateway would.
    pub async fn submit(&self, place: (&str, &str, &str), body: InboxBody) -> Submitted {
        let (tenant_name, session_name, id) = place;
        let id = clarify_id(id);
        let tenant = tenant(tenant_name);
        let requested = self.bus.ledger.find_requested(&tenant, id);
        let requested = within("the question is looked up", requested).await;
        let requested_seq = requested.unwrap().map_or(0, |stored| stored.seq);
        let submission = Submission {
            tenant,
            session: session(session_name),
            clarify_id: id,
            message: InboxMessage::new(requested_seq, Rights::default(), body),
            trace: None,
        };
        within("the inbox has it", self.bus.inbox.submit(submission))
            .await
            .unwrap()
    }

    /// Sends an answer and waits for the verdict.
    pub async fn answer(&self, session: &str, id: &str, response: Response) -> InboxReply {
        let body = InboxBody::Respond(response);
        verdict(self.submit((TENANT, session, id), body).await).await
    }

    /// Waits until nothing sent to a question is unjudged. A server takes what is acknowledged out of
    /// the inbox after it heard of it, and nobody is told when.
    pub async fn until_judged(&self, session_name: &str, id: &str) {
        let (tenant, session, id) = (tenant(TENANT), session(session_name), clarify_id(id));
        within("an empty inbox", async {
            let oldest = || self.bus.inbox.oldest(&tenant, &session, id);
            while oldest().await.unwrap().is_some() {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    /// Sends a hold and waits for the verdict.
    pub async fn hold(&self, session: &str, id: &str, who: &str) -> InboxReply {
        let body = InboxBody::Hold { actor: actor(who) };
        verdict(self.submit((TENANT, session, id), body).await).await
    }

    /// What the log holds of a session of the usual tenant.
    pub async fn events(&self, session_name: &str) -> Vec<Event> {
        self.events_of(TENANT, session_name).await
    }

    pub async fn events_of(&self, tenant_name: &str, session_name: &str) -> Vec<Event> {
        let (tenant, session) = (tenant(tenant_name), session(session_name));
        // A test that had the server restarted may be ahead of its own connection.
        let read = async {
            until_reachable(&*self.bus.ledger).await.unwrap();
            self.bus.ledger.read_session(&tenant, &session, 1).await
        };
        let stored = within("the log is read", read).await.unwrap();
        stored
            .iter()
            .flat_map(|s| match &s.decoded {
                Decoded::Commit(commit) => commit.events.clone(),
                Decoded::Unreadable { problem } => panic!("{problem}"),
            })
            .collect()
    }

    /// Waits until the log holds an event of the session that fits, and returns it.
    pub async fn until(
        &self,
        what: &str,
        session_name: &str,
        fits: impl Fn(&Event) -> bool,
    ) -> Event {
        let mut tail = self.bus.ledger.tail(1).await.unwrap();
        let found = async {
            loop {
                let stored = tail.recv().await.expect("the log goes on");
                if stored.session.as_str() != session_name {
                    continue;
                }
                let Decoded::Commit(commit) = &stored.decoded else {
                    panic!("the log cannot be read")
                };
                if let Some(event) = commit.events.iter().find(|e| fits(e)) {
                    return event.clone();
                }
            }
        };
        within(what, found).await
    }

    /// How often the log says that this clarification was settled.
    pub async fn resolutions(&self, session_name: &str, id: &str) -> usize {
        let id = clarify_id(id);
        let resolved =
            |e: &&Event| matches!(e, Event::Resolved { clarify_id, .. } if *clarify_id == id);
        self.events(session_name)
            .await
            .iter()
            .filter(resolved)
            .count()
    }
}

pub fn actor(who: &str) -> Actor {
    Actor {
        person: PersonId::new(who).unwrap(),
        surface: Surface::Web,
    }
}

/// An answer in the person's own words, with an id of its own.
pub fn says(who: &str, text: &str) -> Response {
    let answer_id = Uuid::new_v4().to_string();
    says_as(&answer_id, who, text)
}

pub fn says_as(answer_id: &str, who: &str, text: &str) -> Response {
    Response {
        answer_id: AnswerId::new(answer_id).unwrap(),
        actor: actor(who),
        action: AnswerAction::Answer,
        answers: vec![AnswerEntry {
            text: Some(text.to_owned()),
            ..AnswerEntry::default()
        }],
        text: None,
    }
}

/// What the author of a submission is told.
pub async fn verdict(submitted: Submitted) -> InboxReply {
    within("the author is told", submitted.reply)
        .await
        .expect("the author is told")
}
