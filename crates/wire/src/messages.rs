//! JSON messages of the bus beside commits: what people send, what they are told, heartbeats and
//! drafts.

use askbus_domain::{
    Actor, AnswerEntry, AnswerId, AskerId, GoesOn, LeaseName, Outcome, PersonId, ProfileId,
    Response, Rights, SessionId, TenantId, Verdict,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a person sends to the inbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum InboxBody {
    /// An answer, an ask-back, a dismissal or a skip.
    Respond(Response),
    /// Stop the countdown.
    Hold {
        /// Who.
        actor: Actor,
    },
    /// Send a late answer of one's own on to the agent.
    PassOn {
        /// Who.
        actor: Actor,
        /// The late answer's id.
        answer_id: AnswerId,
        /// Made by the surface: every attempt is judged once.
        pass_id: AnswerId,
    },
}

impl InboxBody {
    /// The oldest schema that can say it: a replica of an older version leaves what it cannot read
    /// to newer ones.
    fn schema(&self) -> u32 {
        match self {
            // To a replica of schema 1 the question would only be left blank.
            InboxBody::Respond(response) if response.answers.iter().any(|a| a.dismissed) => 2,
            InboxBody::Respond(_) | InboxBody::Hold { .. } => 1,
            InboxBody::PassOn { .. } => 2,
        }
    }
}

/// An inbox message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxMessage {
    /// The schema of the writer.
    pub schema: u32,
    /// Log sequence of the `requested` it answers: it is judged only once the judge has read that
    /// far.
    pub requested_seq: u64,
    /// What the author's credential allows, as its gateway checked it.
    #[serde(default, skip_serializing_if = "Rights::is_empty")]
    pub rights: Rights,
    /// What is sent.
    #[serde(flatten)]
    pub body: InboxBody,
}

impl InboxMessage {
    /// A message of the oldest schema that can say it.
    pub fn new(requested_seq: u64, rights: Rights, body: InboxBody) -> Self {
        Self {
            schema: body.schema(),
            requested_seq,
            rights,
            body,
        }
    }

    /// The schema of a stored message, whatever else it holds.
    ///
    /// # Errors
    /// Why it is not an inbox message of any version.
    pub fn schema_of(payload: &[u8]) -> Result<u32, serde_json::Error> {
        #[derive(Deserialize)]
        struct Envelope {
            schema: u32,
        }
        serde_json::from_slice(payload).map(|Envelope { schema }| schema)
    }

    /// Who sent it.
    pub fn actor(&self) -> &Actor {
        match &self.body {
            InboxBody::Respond(response) => &response.actor,
            InboxBody::Hold { actor } | InboxBody::PassOn { actor, .. } => actor,
        }
    }

    /// What makes it unique among its author's messages to one clarification.
    pub fn message_id(&self) -> &str {
        match &self.body {
            InboxBody::Respond(response) => response.answer_id.as_str(),
            InboxBody::Hold { .. } => "hold",
            InboxBody::PassOn { pass_id, .. } => pass_id.as_str(),
        }
    }
}

/// What the author of an inbox message is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum InboxReply {
    /// The answer settled it, or the same had been said before.
    Settled {
        /// How it ended.
        outcome: Arc<Outcome>,
    },
    /// A person had settled it otherwise; the text is kept.
    Conflict {
        /// How it ended.
        outcome: Arc<Outcome>,
    },
    /// It had ended without a person; the text is kept.
    Late {
        /// How it ended.
        outcome: Arc<Outcome>,
        /// Where the text goes; none when it stays in the history.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        goes_on: Option<GoesOn>,
    },
    /// A late answer was sent on.
    PassedOn {
        /// Where it goes.
        goes_on: GoesOn,
    },
    /// The countdown is stopped.
    Held,
    /// Not taken; the question is as it was.
    Refused {
        /// Stable reason code.
        reason: String,
        /// For the person.
        error: String,
    },
}

impl From<Verdict> for InboxReply {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Settled(outcome) => InboxReply::Settled { outcome },
            Verdict::Conflict(outcome) => InboxReply::Conflict { outcome },
            Verdict::Late { outcome, goes_on } => InboxReply::Late { outcome, goes_on },
            Verdict::PassedOn(goes_on) => InboxReply::PassedOn { goes_on },
            Verdict::Held => InboxReply::Held,
            Verdict::Refused(rejection) => InboxReply::Refused {
                reason: rejection.code().to_owned(),
                error: rejection.to_string(),
            },
        }
    }
}

/// What an instance says of itself every few seconds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Heartbeat {
    /// `session-binding`, `gateway` or `mcp-adapter`.
    pub service: String,
    /// Unique per process.
    pub instance: String,
    /// Its version.
    pub version: String,
    /// The schema it writes.
    pub schema: u32,
    /// Leases it keeps alive, per tenant: askers attached to it and turns held through it.
    pub leases: Vec<Lease>,
    /// Sessions with a person present, per tenant.
    #[serde(default)]
    pub present: Vec<Lease>,
    /// People who are present, and what they may see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub people: Vec<PersonPresent>,
    /// Which part of what it says this is, from 0: many names go out in several messages.
    #[serde(default)]
    pub part: u32,
    /// In how many parts it says this; 0 counts as 1.
    #[serde(default)]
    pub parts: u32,
    /// Whether this is its last one: it is told to stop.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaves: bool,
}

/// A person with an open surface, or with one a moment ago.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonPresent {
    /// The tenant.
    pub tenant: TenantId,
    /// Who.
    pub person: PersonId,
    /// The profiles whose questions they see.
    pub profiles: Vec<ProfileId>,
    /// What their credential allows beside.
    #[serde(flatten)]
    pub rights: Rights,
    /// The one session they look at; none is all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// How long ago they were last there, in milliseconds; 0 while a surface of theirs is open.
    #[serde(default, skip_serializing_if = "is_now")]
    pub ago_ms: u64,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_now(ago_ms: &u64) -> bool {
    *ago_ms == 0
}

/// A name within a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Lease {
    /// The tenant.
    pub tenant: String,
    /// The asker, the turn's lease or the session.
    pub name: String,
}

impl Lease {
    /// The lease of an asking process's questions.
    pub fn asker(tenant: &TenantId, asker: &AskerId) -> Self {
        Self {
            tenant: tenant.to_string(),
            name: format!("{ASKER}{asker}"),
        }
    }

    /// The lease of a turn.
    pub fn turn(tenant: &TenantId, name: &LeaseName) -> Self {
        Self {
            tenant: tenant.to_string(),
            name: format!("{TURN}{name}"),
        }
    }

    /// What the lease keeps alive; none when the name is of a kind this build does not know.
    pub fn kept(&self) -> Option<Kept> {
        let tenant = TenantId::new(&self.tenant).ok()?;
        if let Some(name) = self.name.strip_prefix(ASKER) {
            return Some(Kept::Asker(tenant, AskerId::new(name).ok()?));
        }
        let name = self.name.strip_prefix(TURN)?;
        Some(Kept::Turn(tenant, LeaseName::new(name).ok()?))
    }
}

const ASKER: &str = "asker:";
const TURN: &str = "turn:";

/// What a lease keeps alive.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Kept {
    /// The questions of an asker.
    Asker(TenantId, AskerId),
    /// A turn, by the name of its holder.
    Turn(TenantId, LeaseName),
}

/// A person's unsent answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    /// Made by the tab that wrote it, so that two tabs do not overwrite each other.
    pub tab: String,
    /// Per question, as far as filled in.
    pub answers: Vec<AnswerEntry>,
    /// Text to the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The messages of a chat of which it was made, the last ones, by names that tell nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// The message of a chat, by such a name, that sends all of it now: meanwhile nothing is added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_by: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    // An old version leaves what is newer than itself to others: nothing is newer than it has to be.
    #[test]
    fn a_message_is_of_the_oldest_schema_that_can_say_it() {
        let actor = Actor {
            person: PersonId::new("ann").unwrap(),
            surface: askbus_domain::Surface::Web,
        };
        let id = |text| AnswerId::new(text).unwrap();
        let rights = Rights {
            groups: Vec::new(),
            operator: true,
        };
        let hold = InboxBody::Hold {
            actor: actor.clone(),
        };
        let pass_on = InboxBody::PassOn {
            actor,
            answer_id: id("a1"),
            pass_id: id("p1"),
        };
        let responds = |answer_id: &str, entry: serde_json::Value| {
            let response = serde_json::json!({"type": "respond", "answer_id": answer_id,
                "actor": {"person": "ann", "surface": "web"}, "action": "answer",
                "answers": [{"question_id": "q1", "text": "yes"}, entry]});
            serde_json::from_value::<InboxBody>(response).unwrap()
        };
        let blank = serde_json::json!({"question_id": "q2"});
        let declines = serde_json::json!({"question_id": "q2", "dismissed": true});
        for (body, schema, message_id) in [
            (hold, 1, "hold"),
            (pass_on, 2, "p1"),
            (responds("a1", blank), 1, "a1"),
            (responds("a2", declines), 2, "a2"),
        ] {
            let message = InboxMessage::new(7, rights.clone(), body);
            assert_eq!((message.schema, message.message_id()), (schema, message_id));
            assert_eq!(message.actor().person.as_str(), "ann");
            let json = serde_json::to_vec(&message).unwrap();
            assert_eq!(InboxMessage::schema_of(&json).unwrap(), schema);
            assert_eq!(
                serde_json::from_slice::<InboxMessage>(&json).unwrap(),
                message
            );
        }
        let strange = br#"{"schema":9,"type":"escalate"}"#;
        assert_eq!(InboxMessage::schema_of(strange).unwrap(), 9);
        assert!(InboxMessage::schema_of(b"{}").is_err());
    }

    #[test]
    fn leases_say_what_they_keep() {
        let tenant = TenantId::new("t").unwrap();
        let asker = AskerId::new("turn:1").unwrap();
        let name = LeaseName::new("asker:1").unwrap();
        assert_eq!(
            Lease::asker(&tenant, &asker).kept(),
            Some(Kept::Asker(tenant.clone(), asker))
        );
        assert_eq!(
            Lease::turn(&tenant, &name).kept(),
            Some(Kept::Turn(tenant, name))
        );
        let strange = Lease {
            tenant: "t".to_owned(),
            name: "room:1".to_owned(),
        };
        assert_eq!(strange.kept(), None);
    }
}
