//! A turn: the stretch of an agent's work that may ask (E5, E11, E20).

use crate::{
    Addressee, AskInput, BeginCommand, BeginId, ContextId, Language, LateMessage, LeaseName,
    Millis, Parent, PolicyLayer, ProfileId, RunId, Scope, TURN_CAP, Timestamp,
};
use serde::{Deserialize, Serialize};

/// What keeps a turn alive (E20).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    /// Heartbeats that name `name`; missing for `ttl` ends the turn as interrupted.
    Lease {
        /// The name heartbeats carry.
        name: LeaseName,
        /// How long it may be missing.
        ttl: Millis,
    },
    /// Nobody holds it; it lives until this moment.
    Until(Timestamp),
}

impl Holder {
    /// The name that heartbeats carry for it, if any do.
    pub const fn lease_name(&self) -> Option<&LeaseName> {
        match self {
            Holder::Lease { name, .. } => Some(name),
            Holder::Until(_) => None,
        }
    }
}

/// Why a turn is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// The host says it is done.
    Completed,
    /// The host says it failed.
    Failed,
    /// The host stopped it.
    Stopped,
    /// A new turn of the session began.
    Replaced,
    /// The session was disposed of.
    Disposed,
    /// Its host is gone (E20).
    Interrupted,
    /// It reached the moment it was to live until.
    Expired,
}

impl TurnEnd {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            TurnEnd::Completed => "completed",
            TurnEnd::Failed => "failed",
            TurnEnd::Stopped => "stopped",
            TurnEnd::Replaced => "replaced",
            TurnEnd::Disposed => "disposed",
            TurnEnd::Interrupted => "interrupted",
            TurnEnd::Expired => "expired",
        }
    }

    /// Reads a word that a host may say; what only the system decides is not among them.
    pub fn parse_host(text: &str) -> Option<Self> {
        [
            TurnEnd::Completed,
            TurnEnd::Failed,
            TurnEnd::Stopped,
            TurnEnd::Disposed,
        ]
        .into_iter()
        .find(|e| e.as_str() == text)
    }
}

/// Who asks, for the person to read. Everything in it is the asker's own claim.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AskerInfo {
    /// Client name and version.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub client: String,
    /// Machine.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// Working directory.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cwd: String,
    /// The git branch that the working directory is on.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub branch: String,
}

impl AskerInfo {
    /// Whether nothing is said of it.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// One turn of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Its capability.
    pub context_id: ContextId,
    /// The caller's id of the begin.
    pub begin_id: BeginId,
    /// The host's own run marker.
    pub run_id: RunId,
    /// The profile it runs under.
    pub profile: ProfileId,
    /// What keeps it alive.
    pub holder: Holder,
    /// When it began.
    pub begun_at: Timestamp,
    /// The latest begins before this one, newest first, so that a retry that comes late does not
    /// replace the turn that followed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_begins: Vec<BeginId>,
    /// Whether an asking process began it for itself, without a host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
    /// What its host wants of the policy.
    #[serde(default, skip_serializing_if = "PolicyLayer::is_empty")]
    pub policy: PolicyLayer,
    /// The language of its instruction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// Which tools it offers; none is all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// Whose sub-agent it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// Whether a tool changed something before it (D8).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub work_begun: bool,
    /// Late messages that ride to the agent with its instruction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<LateMessage>,
    /// Late messages that still wait for a result to ride with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undelivered: Vec<LateMessage>,
    /// The highest revision of a plan of the session before it (E16).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub plan_revision: u64,
    /// Whom its questions are meant for when they name nobody: the managers of a group chat (E18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Addressee>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// How many earlier begins a turn remembers.
const EARLIER_BEGINS: usize = 8;

impl Turn {
    /// The turn that `begin` begins, if it is the first one of its session.
    pub fn begun(begin: &BeginCommand, at: Timestamp) -> Self {
        Self {
            context_id: begin.context_id,
            begin_id: begin.begin_id.clone(),
            run_id: begin.run_id.clone(),
            profile: begin.profile.clone(),
            holder: begin.holder.clone(),
            begun_at: at,
            earlier_begins: Vec::new(),
            own: begin.own,
            policy: begin.policy.clone(),
            language: begin.language,
            scope: begin.scope,
            parent: begin.parent.clone(),
            work_begun: false,
            late: Vec::new(),
            undelivered: Vec::new(),
            plan_revision: 0,
            to: begin.to.clone(),
        }
    }

    /// What the turn after this one remembers.
    pub(crate) fn begins_so_far(&self) -> Vec<BeginId> {
        let earlier = self.earlier_begins.iter().take(EARLIER_BEGINS - 1);
        std::iter::once(&self.begin_id)
            .chain(earlier)
            .cloned()
            .collect()
    }

    /// Whether `begin` is for this turn: by its id, or because an asking process, wherever its calls
    /// come in, has one turn of its own.
    pub fn is_begun_by(&self, begin: &BeginCommand) -> bool {
        let same_process = || {
            let (mine, theirs) = (self.holder.lease_name(), begin.holder.lease_name());
            self.own && begin.own && mine.is_some() && mine == theirs
        };
        self.begin_id == begin.begin_id || same_process()
    }

    /// Which tools it offers.
    pub fn scope(&self) -> Scope {
        self.scope.unwrap_or_default()
    }

    /// Whom a question is meant for: whom it names, else whom the turn does.
    pub fn addressee<'a>(&'a self, input: &'a AskInput) -> Option<&'a Addressee> {
        input.to.as_ref().or(self.to.as_ref())
    }

    /// When the turn ends in any case: 28 days, or the moment it was to live until.
    pub fn cap(&self) -> Timestamp {
        let cap = self.begun_at.plus(TURN_CAP);
        match self.holder {
            Holder::Until(end) => end.min(cap),
            Holder::Lease { .. } => cap,
        }
    }
}
