//! What everybody outside of the log saw and was told.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// How a clarification ended, as far as a voice tells it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct End {
    /// The reason.
    pub reason: String,
    /// The person who decided.
    pub person: Option<String>,
    /// Labels and texts of the answers, in order.
    pub said: Vec<String>,
    /// The answer that settled it, where it is told.
    pub answer_id: Option<String>,
}

impl End {
    /// Reads the fields of an outcome in JSON, as every surface shows them.
    pub fn read(object: &Value) -> Self {
        let word = |value: &Value| value.as_str().map(str::to_owned);
        // A socket tells the reason in the words of a dialect, and beside it our own.
        let reason = word(&object["outcome_reason"]).or_else(|| word(&object["reason"]));
        let answers = object["answers"].as_array().map_or(&[][..], Vec::as_slice);
        let said = answers.iter().flat_map(|answer| {
            let options = answer["options"].as_array().map_or(&[][..], Vec::as_slice);
            let labels = options.iter().filter_map(|o| word(&o["label"]));
            labels
                .chain(word(&answer["text"]))
                .chain(word(&answer["note"]))
                .collect::<Vec<_>>()
        });
        Self {
            reason: reason.unwrap_or_default(),
            person: word(&object["actor"]["person"]),
            said: said.collect(),
            answer_id: word(&object["answer_id"]),
        }
    }

    /// Whether both tell the same, as far as both tell it.
    pub fn agrees(&self, other: &Self) -> bool {
        let ids = self.answer_id.as_ref().zip(other.answer_id.as_ref());
        ids.is_none_or(|(one, other)| one == other)
            && (&self.reason, &self.person, &self.said)
                == (&other.reason, &other.person, &other.said)
    }
}

/// What a person was told about an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// It is stored; what it does is not known yet.
    Stored,
    /// It settled the question.
    Settled(End),
    /// The question had ended already; the answer is kept.
    Over(End),
    /// It was not sent, or nobody knows.
    NotSent(String),
}

/// An answer of a person.
#[derive(Debug, Clone)]
pub struct Sent {
    /// Who.
    pub person: String,
    /// To what.
    pub clarify_id: String,
    /// Its id.
    pub answer_id: String,
    /// What it says; nobody else says the same.
    pub text: String,
    /// What the author was told, in order.
    pub told: Vec<Told>,
}

impl Sent {
    /// Whether the author knows that it is stored.
    pub fn is_taken(&self) -> bool {
        let not_sent = |told: &Told| matches!(told, Told::NotSent(_));
        self.told.iter().any(|told| !not_sent(told))
    }
}

/// What an agent's call returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Returned {
    /// How a question ended.
    Settled {
        /// Which.
        clarify_id: String,
        /// How.
        end: End,
    },
    /// Anything else.
    Failed(String),
}

/// A call of an agent.
#[derive(Debug, Clone)]
pub struct Call {
    /// What it asks; no other call asks the same.
    pub question: String,
    /// Whether the asking process lives.
    pub lives: bool,
    /// Whether people leave it unanswered on purpose.
    pub left: bool,
    /// Whether its agent, if it lives, is to be given an outcome: an answer, or the end of its turn.
    pub due: bool,
    /// Every reply there was.
    pub returned: Vec<Returned>,
}

/// What the observing person saw, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sight {
    /// A question that waits.
    Waits(String),
    /// Its end.
    Ended(String),
}

/// The clarifications one source listed when all had come to rest.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// Who listed them.
    pub source: String,
    /// Those that wait.
    pub waiting: BTreeSet<String>,
    /// Those that ended, and the texts of their late answers.
    pub ended: BTreeMap<String, (End, Vec<String>)>,
}

/// The host of the turn.
#[derive(Debug, Clone, Default)]
pub struct Host {
    /// Whether its turn may end with its lease, although it lives.
    pub may_end: bool,
    /// What it said when it ended before it was told to.
    pub ended: Option<Vec<String>>,
}

/// A revision of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shown {
    /// Its host's id of it.
    pub update_id: String,
    /// Which one it is.
    pub revision: u64,
    /// Its one step; no other revision has the same.
    pub step: String,
}

impl Shown {
    /// The update that its host makes at this place, before it has a revision.
    pub fn of(at: usize) -> Self {
        Self {
            update_id: format!("update-{at}"),
            revision: 0,
            step: format!("step {at}"),
        }
    }
}

/// The host that plans.
#[derive(Debug, Clone, Default)]
pub struct Planner {
    /// What it was told is stored, in order.
    pub shown: Vec<Shown>,
    /// What was refused.
    pub refused: Option<String>,
    /// Whether it has shown all that it wanted to.
    pub done: bool,
    /// The revision that the gateway listed when all had come to rest.
    pub listed: Option<u64>,
}

/// What a channel was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The name of the delivery: the same when it is repeated.
    pub id: String,
    /// About which question.
    pub clarify_id: String,
    /// That it waits, or that it ended.
    pub kind: String,
}

/// All of it.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The host.
    pub host: Host,
    /// What people sent.
    pub sent: Vec<Sent>,
    /// What agents called.
    pub calls: Vec<Call>,
    /// What the observer saw.
    pub sights: Vec<Sight>,
    /// The host that plans.
    pub planner: Planner,
    /// What the channel was told, in order.
    pub notices: Vec<Notice>,
    /// What was listed.
    pub listings: Vec<Listing>,
}
