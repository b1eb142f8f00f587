//! What everybody in a run shares.

use crate::planning::Planned;
use crate::random::Random;
use askbus_credential::{Grant, Issuer, Role, Verifier};
use askbus_domain::{
    Addressee, ClarifyId, ContextId, GoesOn, GroupId, Millis, OnTimeout, Outcome, PersonId,
    PolicyLayer, PolicyTable, ProfileId, Rights, SessionId, TenantId, Timestamp, WhenAbsent, Wish,
};
use askbus_ledger::Bus;
use askbus_wire::client::Target;
use askbus_wire::clock::Clock;
use askbus_wire::memory::MemoryAddress;
use askbus_wire::messages::{Kept, PersonPresent};
use askbus_wire::proto::LateMessage;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// When every run begins.
pub(crate) const EPOCH: Timestamp = Timestamp::from_unix_millis(1_800_000_000_000);
/// How long an asker or the holder of a turn may be missing.
pub(crate) const LEASE: Millis = Millis(3_000);
/// The tenant of every run, and the one that some have beside it, with services of its own.
pub(crate) const TENANTS: [&str; 2] = ["t", "u"];
const PROFILE: &str = "default";
/// Everybody who may answer, each with their one group.
const PEOPLE: [(&str, &str); 2] = [("ann", "team"), ("bob", "ops")];

/// Keys and credentials, made once a process: they take longer than a run.
pub(crate) struct Keys {
    pub verifier: Verifier,
    tenants: Vec<Credentials>,
    _dir: TempDir,
}

/// The credentials of everybody in one tenant; in each, everybody has the same names.
pub(crate) struct Credentials {
    pub agent: String,
    pub host: String,
    /// Names and their credentials.
    people: Vec<(&'static str, String)>,
}

impl Credentials {
    #[allow(clippy::expect_used)]
    fn issue(issuer: &Issuer, tenant: &str) -> Self {
        let token = |role, who: &str, groups: Vec<String>| {
            let grant = Grant {
                subject: PersonId::new(who).expect("a name"),
                role,
                tenant: TenantId::new(tenant).expect("a name"),
                profiles: vec![profile()],
                groups,
                life: Duration::from_hours(24),
            };
            issuer.sign(&grant).expect("a credential can be made").0
        };
        let person = |(name, group): (&'static str, &str)| {
            (name, token(Role::Person, name, vec![group.to_owned()]))
        };
        Self {
            agent: token(Role::Agent, "robot", Vec::new()),
            host: token(Role::Host, "ci", Vec::new()),
            people: PEOPLE.map(person).to_vec(),
        }
    }

    /// The credential of a person.
    pub(crate) fn person(&self, name: &str) -> Option<&str> {
        let mut people = self.people.iter();
        let own = people.find(|(person, _)| *person == name);
        own.map(|(_, token)| token.as_str())
    }
}

/// The keys of this process.
#[allow(clippy::expect_used)]
pub(crate) fn keys() -> &'static Keys {
    static KEYS: OnceLock<Keys> = OnceLock::new();
    KEYS.get_or_init(|| {
        let dir = TempDir::new().expect("a temporary folder can be made");
        let issuer = Issuer::open_or_create(dir.path()).expect("keys can be made");
        Keys {
            verifier: Verifier::open(dir.path()).expect("the key can be read"),
            tenants: TENANTS.map(|t| Credentials::issue(&issuer, t)).into(),
            _dir: dir,
        }
    })
}

/// The one profile of a run.
#[allow(clippy::expect_used)]
pub(crate) fn profile() -> ProfileId {
    ProfileId::new(PROFILE).expect("a name")
}

/// What a person's credential allows.
pub(crate) fn rights(person: &str) -> Rights {
    let group = PEOPLE.iter().find(|(name, _)| *name == person);
    Rights {
        groups: group
            .and_then(|(_, group)| GroupId::new(*group).ok())
            .into_iter()
            .collect(),
        operator: false,
    }
}

/// What an agent wanted of a question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asking {
    /// The timeout it named.
    pub timeout: Option<Wish>,
    /// What is to become of it when its time is up.
    pub on_timeout: Option<OnTimeout>,
    /// What is to become of it when nobody is present.
    pub when_absent: Option<WhenAbsent>,
    /// Whom it is meant for.
    pub to: Option<Addressee>,
    /// The session above the sub-agent that asks.
    pub parent: Option<String>,
}

/// What a host was told when it began a turn.
#[derive(Debug, Clone)]
pub struct BegunTurn {
    /// Its turn.
    pub context_id: ContextId,
    /// Late messages it was given.
    pub late: Vec<LateMessage>,
    /// The instruction for its agent.
    pub instruction: String,
}

/// What a person was told when they sent a late answer of theirs on.
#[derive(Debug, Clone)]
pub struct ToldOn {
    /// Who.
    pub person: &'static str,
    /// Which question it was meant for.
    pub clarify_id: ClarifyId,
    /// Which answer.
    pub answer_id: String,
    /// Where it goes.
    pub goes_on: GoesOn,
}

/// What a person was told about an answer of theirs.
#[derive(Debug, Clone)]
pub struct Told {
    /// Who.
    pub person: &'static str,
    /// Which question.
    pub clarify_id: ClarifyId,
    /// Which answer.
    pub answer_id: String,
    /// In the words of the gateway.
    pub object: Value,
}

impl Told {
    /// Whether the inbox has the answer, as far as its author was told.
    pub fn is_sent(&self) -> bool {
        self.object.get("event").and_then(Value::as_str) == Some("clarify.sent")
            || self.object.get("verdict").is_some()
    }

    /// Whether the author was told that their words are kept as a draft.
    pub fn is_draft(&self) -> bool {
        let verdict = self.object.get("verdict").and_then(Value::as_str);
        verdict.is_none_or(|v| v == "refused")
            && self.object.get("kept").and_then(Value::as_bool) == Some(true)
    }

    /// The session, as the author was told.
    pub fn session(&self) -> Option<SessionId> {
        SessionId::new(self.object.get("session_id")?.as_str()?).ok()
    }
}

/// Something that came to a person's screen.
#[derive(Debug, Clone)]
pub struct Shown {
    /// Whose.
    pub person: &'static str,
    /// Over which of all connections.
    pub connection: u64,
    /// When.
    pub at: Timestamp,
    /// In the words of the gateway.
    pub object: Value,
}

/// What somebody typed and did not send.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Typing {
    /// Who.
    pub person: &'static str,
    /// In which of their tabs.
    pub tab: String,
    /// To which question.
    pub clarify_id: ClarifyId,
}

/// What the people and agents of a tenant saw.
#[derive(Debug, Default)]
pub struct Records {
    /// What stands in the tabs of people, unsent, with the session of the question.
    pub typed: BTreeMap<Typing, (SessionId, String)>,
    /// What people were told about their answers.
    pub told: Vec<Told>,
    /// What came to their screens, in its order.
    pub shown: Vec<Shown>,
    /// What waits on a screen when everything is over.
    pub still_shown: Vec<(&'static str, ClarifyId)>,
    /// What is over, as people can look it up in the end.
    pub histories: Vec<Value>,
    /// Results as agents got them.
    pub results: Vec<(ClarifyId, Outcome)>,
    /// Plans that agents were told are shown.
    pub planned: Vec<Planned>,
    /// The last plans of all sessions, as people can look them up in the end.
    pub plan_lists: Vec<Value>,
    /// Questions whose agents gave up without hearing how they ended, and when.
    pub unheard: Vec<(String, Timestamp)>,
    /// When each name was last heard to be there, again and again: leases of heartbeats.
    pub alive: Vec<(Timestamp, Kept)>,
    /// Whether every heartbeat reaches everybody who listens.
    pub heartbeats_arrive: bool,
    /// Since when nothing is broken on purpose.
    pub calm_since: Option<Timestamp>,
    /// Questions of which an agent was told that nobody was asked, and in which words.
    pub unasked: Vec<(String, String)>,
    /// What agents wanted of their questions, by the text of the first.
    pub askings: BTreeMap<String, Asking>,
    /// What hosts wanted of the policy, by the id of the begin.
    pub turns: BTreeMap<String, PolicyLayer>,
    /// What hosts were told when they began a turn.
    pub begun: Vec<BegunTurn>,
    /// What hosts were told that a turn of theirs came to: the questions that become its reply.
    pub replies: Vec<(ContextId, Vec<ClarifyId>)>,
    /// What people were told when they sent a late answer on.
    pub sent_on: Vec<ToldOn>,
    /// People as heartbeats named them, with the moment of each heartbeat.
    pub present: Vec<(Timestamp, PersonPresent)>,
    /// Whether nothing at all is broken on purpose, from beginning to end.
    pub quiet: bool,
    /// What the operator set.
    pub policy: PolicyTable,
    /// What must not happen, as somebody saw it happen.
    pub broken: Vec<String>,
}

/// One tenant of a run. What it shares with the other is what all tenants share: the bus, the gateways
/// and the time.
pub(crate) struct World {
    pub tenant: TenantId,
    pub keys: &'static Credentials,
    /// The bus as people have it: it misbehaves, but nobody is cut off from it.
    pub bus: Bus,
    pub clock: Clock,
    /// What the operator set, the same for every replica.
    pub policy: PolicyTable,
    /// Where the tenant's replicas can be reached.
    pub fronts: Vec<MemoryAddress>,
    /// Where the gateways can be reached.
    pub gateways: Vec<MemoryAddress>,
    /// Cancelled when nothing is broken on purpose any more.
    pub calm: CancellationToken,
    /// Cancelled when no agent asks any more.
    pub asked: CancellationToken,
    /// What people are about to do.
    pub acting: TaskTracker,
    /// Cancelled when the run ends.
    pub over: CancellationToken,
    records: Mutex<Records>,
    connections: Arc<AtomicU64>,
}

impl World {
    /// The tenant of every run.
    #[allow(clippy::expect_used)]
    pub(crate) fn new(
        bus: Bus,
        policy: PolicyTable,
        replicas: usize,
        gateways: usize,
    ) -> Arc<Self> {
        let [name, _] = TENANTS;
        let records = Records {
            policy: policy.clone(),
            ..Records::default()
        };
        Arc::new(Self {
            tenant: TenantId::new(name).expect("a name"),
            keys: keys().tenants.first().expect("it has credentials"),
            bus,
            policy,
            clock: Clock::virtual_at(EPOCH, 0, 0),
            fronts: (0..replicas).map(|_| MemoryAddress::new()).collect(),
            gateways: (0..gateways).map(|_| MemoryAddress::new()).collect(),
            calm: CancellationToken::new(),
            asked: CancellationToken::new(),
            acting: TaskTracker::new(),
            over: CancellationToken::new(),
            records: Mutex::new(records),
            connections: Arc::default(),
        })
    }

    /// The other tenant, with one replica of its own.
    #[allow(clippy::expect_used)]
    pub(crate) fn neighbour(&self) -> Arc<Self> {
        let [_, name] = TENANTS;
        let records = Records {
            policy: self.policy.clone(),
            ..Records::default()
        };
        Arc::new(Self {
            tenant: TenantId::new(name).expect("a name"),
            keys: keys().tenants.last().expect("it has credentials"),
            bus: self.bus.clone(),
            policy: self.policy.clone(),
            clock: self.clock.clone(),
            fronts: vec![MemoryAddress::new()],
            gateways: self.gateways.clone(),
            calm: self.calm.clone(),
            asked: self.asked.clone(),
            acting: self.acting.clone(),
            over: self.over.clone(),
            records: Mutex::new(records),
            connections: Arc::clone(&self.connections),
        })
    }

    pub(crate) fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn broken(&self, what: impl Into<String>) {
        self.records().broken.push(what.into());
    }

    /// A number for a new connection.
    pub(crate) fn connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed)
    }

    /// The tenant's replicas.
    pub(crate) fn replicas(&self) -> Target {
        Target::Memory(self.fronts.clone())
    }

    /// The replicas in an order of one's own.
    pub(crate) fn target(&self, random: &mut Random) -> Target {
        let mut list = self.fronts.clone();
        let first = random.between(0, list.len() as u64 - 1);
        list.rotate_left(usize::try_from(first).unwrap_or(0));
        Target::Memory(list)
    }
}
