//! What happened, as it stands in the log for ever. Fields are only ever added.

mod reading;

use crate::{
    Actor, Addressee, Adjusted, AskId, AskerId, AskerInfo, ClarifyId, Clock, CommitId, ContextId,
    Dialect, Figures, GoesOn, LateAnswer, LateMessage, Millis, Outcome, Parent, Plan, PlanEnd,
    Questions, SessionId, TenantId, Terms, Timestamp, Turn, TurnEnd, UpdateId,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The schema this build writes; a log with a newer one is not acted upon.
pub const SCHEMA: u32 = 2;
/// The largest commit, in bytes of JSON.
pub const MAX_COMMIT_BYTES: usize = 256 * 1024;

/// One event of a session. Written as derived; `reading` says how it is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", remote = "Self")]
pub enum Event {
    /// A turn began; everything before it is history.
    Begun {
        /// The turn.
        #[serde(flatten)]
        turn: Turn,
    },
    /// A turn ended.
    Ended {
        /// Which.
        context_id: ContextId,
        /// Why.
        end: TurnEnd,
        /// What its questions came to (A8).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        account: Option<Figures>,
        /// How its plan ended with it (E16).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan: Option<PlanEnd>,
    },
    /// A tool changed something for the first time in this session (D8).
    Worked {
        /// The turn.
        context_id: ContextId,
        /// The tool, by the agent's name for it.
        tool: String,
    },
    /// An agent showed its plan, or the next revision of it (E16).
    Plan {
        /// The caller's id of the update.
        update_id: UpdateId,
        /// The turn that plans.
        context_id: ContextId,
        /// Whose plan it is, for the person.
        #[serde(default, skip_serializing_if = "AskerInfo::is_unknown")]
        asker: AskerInfo,
        /// The plan as it is now.
        #[serde(flatten)]
        plan: Arc<Plan>,
    },
    /// Questions were asked.
    Requested {
        /// The clarification's id.
        clarify_id: ClarifyId,
        /// The caller's id of the ask.
        ask_id: AskId,
        /// The turn that asks.
        context_id: ContextId,
        /// The asking process.
        asker_id: AskerId,
        /// How long the asker may be missing.
        asker_ttl: Millis,
        /// Who asks, for the person.
        #[serde(default)]
        asker: AskerInfo,
        /// Whose defaults apply.
        dialect: Dialect,
        /// What is asked.
        questions: Arc<Questions>,
        /// Until when.
        clock: Clock,
        /// When it was issued.
        requested_at: Timestamp,
        /// Whom it is meant for; none is everybody who may answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Addressee>,
        /// Whose sub-agent asks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<Parent>,
        /// The policy in force for it.
        #[serde(default, rename = "policy", skip_serializing_if = "Terms::is_default")]
        terms: Terms,
        /// How its timeout differs from the one asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        adjusted: Option<Adjusted>,
        /// The client's own marker of its turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client_turn: Option<String>,
        /// Whether a new row of unanswered questions starts here (A7).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        counted_anew: bool,
        /// Whether nobody was present who may answer it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        nobody_present: bool,
    },
    /// A person stopped the countdown.
    Held {
        /// Which clarification.
        clarify_id: ClarifyId,
        /// Who.
        actor: Actor,
    },
    /// A clarification was settled, once and for all.
    Resolved {
        /// Which.
        clarify_id: ClarifyId,
        /// How.
        #[serde(flatten)]
        outcome: Arc<Outcome>,
    },
    /// An answer came after the clarification was settled; nothing of it is lost.
    Late {
        /// Which clarification.
        clarify_id: ClarifyId,
        /// What came.
        #[serde(flatten)]
        late: LateAnswer,
        /// The text of what was asked.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        asked: String,
        /// Where it goes; none when it stays in the history until its author sends it on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        goes_on: Option<GoesOn>,
    },
    /// The author of a late answer sent it on to the agent.
    PassedOn {
        /// Which clarification it was meant for.
        clarify_id: ClarifyId,
        /// Where it goes.
        goes_on: GoesOn,
        /// What rides on.
        message: LateMessage,
    },
    /// Something in the inbox could not be taken as an answer.
    Refused {
        /// The id it carried in its subject, as written there.
        clarify_id: String,
        /// Why it was refused.
        problem: String,
        /// What was sent, as it came, so that nothing a person wrote is lost (cut at 64 KiB).
        sent: String,
        /// When the inbox stored it.
        stored_at: Timestamp,
    },
}

/// The name of an event, as it stands in subjects and headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventKind {
    /// `begun`
    Begun,
    /// `ended`
    Ended,
    /// `requested`
    Requested,
    /// `held`
    Held,
    /// `resolved`
    Resolved,
    /// `late`
    Late,
    /// `passed_on`
    PassedOn,
    /// `worked`
    Worked,
    /// `plan`
    Plan,
    /// `refused`
    Refused,
}

impl EventKind {
    /// The name.
    pub const fn as_str(self) -> &'static str {
        match self {
            EventKind::Begun => "begun",
            EventKind::Ended => "ended",
            EventKind::Requested => "requested",
            EventKind::Held => "held",
            EventKind::Resolved => "resolved",
            EventKind::Late => "late",
            EventKind::PassedOn => "passed_on",
            EventKind::Worked => "worked",
            EventKind::Plan => "plan",
            EventKind::Refused => "refused",
        }
    }

    /// Whether it brings something new into the log. That is refused first when room gets scarce, so
    /// that what is there can still come to its end.
    pub const fn is_new_matter(self) -> bool {
        matches!(self, EventKind::Requested | EventKind::Plan)
    }
}

impl Event {
    /// Its name.
    pub const fn kind(&self) -> EventKind {
        match self {
            Event::Begun { .. } => EventKind::Begun,
            Event::Ended { .. } => EventKind::Ended,
            Event::Requested { .. } => EventKind::Requested,
            Event::Held { .. } => EventKind::Held,
            Event::Resolved { .. } => EventKind::Resolved,
            Event::Late { .. } => EventKind::Late,
            Event::PassedOn { .. } => EventKind::PassedOn,
            Event::Worked { .. } => EventKind::Worked,
            Event::Plan { .. } => EventKind::Plan,
            Event::Refused { .. } => EventKind::Refused,
        }
    }

    /// The clarification it speaks of, if it speaks of one.
    pub const fn clarify_id(&self) -> Option<ClarifyId> {
        match self {
            Event::Requested { clarify_id, .. }
            | Event::Held { clarify_id, .. }
            | Event::Resolved { clarify_id, .. }
            | Event::Late { clarify_id, .. }
            | Event::PassedOn { clarify_id, .. } => Some(*clarify_id),
            Event::Begun { .. }
            | Event::Ended { .. }
            | Event::Worked { .. }
            | Event::Plan { .. }
            | Event::Refused { .. } => None,
        }
    }
}

/// One decision: all its events, written together as one message or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// The schema of the writer.
    pub schema: u32,
    /// Its id, by which a writer recognises its own commit after an error.
    pub commit_id: CommitId,
    /// The tenant.
    pub tenant: TenantId,
    /// The session.
    pub session_id: SessionId,
    /// When it was decided.
    pub at: Timestamp,
    /// What happened, in order; never empty.
    pub events: Vec<Event>,
}

impl Commit {
    /// The event its subject is named after: begun, else requested, else ended, else the last one.
    /// Look-ups by subject rely on this order.
    pub fn subject_kind(&self) -> EventKind {
        let has = |kind| self.events.iter().any(|e| e.kind() == kind);
        for kind in [EventKind::Begun, EventKind::Requested, EventKind::Ended] {
            if has(kind) {
                return kind;
            }
        }
        self.events.last().map_or(EventKind::Refused, Event::kind)
    }
}
