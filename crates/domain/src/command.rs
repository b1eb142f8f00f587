//! What may be asked of a session. Ids come in with the command; nothing is minted here.

use crate::{
    Actor, Addressee, Answer, AnswerId, AskId, AskInput, AskerId, AskerInfo, BeginId, ClarifyId,
    ContextId, Dialect, Holder, InvalidPlan, InvalidQuestion, Language, LeaseName, Millis, Parent,
    PersonId, PlanId, PlanInput, PolicyLayer, Presence, ProfileId, Rights, RunId, Scope, Timestamp,
    TurnEnd, UpdateId,
};

/// Begins a turn and ends the one before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeginCommand {
    /// The caller's id; repeating it changes nothing.
    pub begin_id: BeginId,
    /// The capability of the new turn.
    pub context_id: ContextId,
    /// The host's run marker.
    pub run_id: RunId,
    /// The profile of the caller's credential.
    pub profile: ProfileId,
    /// What keeps the turn alive.
    pub holder: Holder,
    /// Whether an asking process begins it for itself, without a host.
    pub own: bool,
    /// What the host wants of the policy.
    pub policy: PolicyLayer,
    /// The language of its instruction.
    pub language: Option<Language>,
    /// Which tools it offers; none is all of them.
    pub scope: Option<Scope>,
    /// Whose sub-agent it runs.
    pub parent: Option<Parent>,
    /// Whom its questions are meant for when they name nobody: the managers of a group chat (E18).
    pub to: Option<Addressee>,
}

impl BeginCommand {
    /// A turn of a host that says nothing else of itself.
    pub fn new(
        begin_id: BeginId,
        context_id: ContextId,
        run_id: RunId,
        profile: ProfileId,
        holder: Holder,
    ) -> Self {
        Self {
            begin_id,
            context_id,
            run_id,
            profile,
            holder,
            own: false,
            policy: PolicyLayer::default(),
            language: None,
            scope: None,
            parent: None,
            to: None,
        }
    }
}

/// Asks one to five questions together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskCommand {
    /// The caller's id; repeating it changes nothing.
    pub ask_id: AskId,
    /// The id the clarification gets if this is the first time.
    pub clarify_id: ClarifyId,
    /// The turn that asks.
    pub context_id: ContextId,
    /// The profile of the caller's credential.
    pub profile: ProfileId,
    /// The asking process.
    pub asker_id: AskerId,
    /// How long the asker's heartbeat may be missing.
    pub asker_ttl: Millis,
    /// Who asks, for the person.
    pub asker: AskerInfo,
    /// Whose defaults apply.
    pub dialect: Dialect,
    /// The questions as parsed at the edge. A failure is reported only after the binding checks,
    /// so that nobody can probe questions against a context that is not theirs (E6).
    pub input: Result<AskInput, InvalidQuestion>,
    /// How long the caller can wait when its call cannot be resumed (E13).
    pub call_limit: Option<Millis>,
    /// What the operator set for the tenant, the profile and the dialect.
    pub policy: PolicyLayer,
    /// Whether somebody is there who may answer.
    pub presence: Presence,
    /// The client's own marker of its turn, if it has one.
    pub client_turn: Option<String>,
    /// Whose sub-agent asks.
    pub parent: Option<Parent>,
}

/// Shows a plan, or the next revision of it (E16).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanCommand {
    /// The caller's id; repeating it changes nothing.
    pub update_id: UpdateId,
    /// The id the plan gets if its turn has none yet.
    pub plan_id: PlanId,
    /// The turn that plans.
    pub context_id: ContextId,
    /// The profile of the caller's credential.
    pub profile: ProfileId,
    /// Whose plan it is, for the person.
    pub asker: AskerInfo,
    /// The plan as parsed at the edge. A failure is reported only after the binding checks, so that
    /// nobody can probe plans against a context that is not theirs (E6).
    pub input: Result<PlanInput, InvalidPlan>,
}

/// A command to a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Begin a turn.
    Begin(BeginCommand),
    /// End a turn; ending it twice changes nothing.
    End {
        /// Which turn.
        context_id: ContextId,
        /// The profile of the caller's credential.
        profile: ProfileId,
        /// Why.
        end: TurnEnd,
    },
    /// Ask.
    Ask(Box<AskCommand>),
    /// Show a plan.
    UpdatePlan(Box<PlanCommand>),
    /// Take a person's answer.
    Answer(Box<Answer>),
    /// Stop the countdown for good (A4).
    Hold {
        /// Which clarification.
        clarify_id: ClarifyId,
        /// Who.
        actor: Actor,
        /// What their credential allows.
        rights: Rights,
        /// When the inbox stored it.
        stored_at: Timestamp,
    },
    /// The author of a late answer sends it on to the agent.
    PassOn {
        /// Which clarification it was meant for.
        clarify_id: ClarifyId,
        /// The late answer's id.
        answer_id: AnswerId,
        /// Its author.
        person: PersonId,
    },
    /// The agent used a tool (D8).
    ToolUse {
        /// Which turn.
        context_id: ContextId,
        /// The profile of the caller's credential.
        profile: ProfileId,
        /// The tool, by the agent's name for it.
        tool: String,
    },
    /// The caller withdraws its question.
    Cancel {
        /// Which clarification.
        clarify_id: ClarifyId,
        /// The profile of the caller's credential.
        profile: ProfileId,
    },
    /// The clarification's time may be up.
    Expire {
        /// Which clarification.
        clarify_id: ClarifyId,
    },
    /// The turn's time may be up.
    ExpireTurn {
        /// Which turn.
        context_id: ContextId,
    },
    /// No heartbeat named this asker for its lease time.
    AskerLost {
        /// Who is gone.
        asker_id: AskerId,
    },
    /// No heartbeat named the holder of the turn for its lease time.
    HolderLost {
        /// Which lease ran out.
        name: LeaseName,
    },
}
