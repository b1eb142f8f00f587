//! What may be asked of a session. Ids come in with the command; nothing is minted here.

use crate::{
    Actor, Answer, AskId, AskInput, AskerId, AskerInfo, BeginId, ClarifyId, ContextId, Dialect,
    Holder, InvalidQuestion, LeaseName, Millis, ProfileId, RunId, Timestamp, TurnEnd,
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
    /// Take a person's answer.
    Answer(Box<Answer>),
    /// Stop the countdown for good (A4).
    Hold {
        /// Which clarification.
        clarify_id: ClarifyId,
        /// Who.
        actor: Actor,
        /// When the inbox stored it.
        stored_at: Timestamp,
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
