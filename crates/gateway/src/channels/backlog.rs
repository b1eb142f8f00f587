//! What a channel has told and what it still has to: pure, and small enough to be written down after
//! every delivery.

use askbus_domain::{ClarifyId, Timestamp};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::{BTreeSet, VecDeque};

/// Messages that wait at once at most; what comes after them waits in the log.
pub(super) const MOST: usize = 300;
/// Places among these for messages that nobody has tried yet: what is refused again and again keeps no
/// new one from its first attempt.
const UNTRIED: usize = 50;
/// What was tried and makes room for others at most.
const MOST_PUT_OFF: usize = 1_000;
/// Questions that were over before anybody was told of them, and are written down, at most.
const MOST_UNTOLD: usize = 500;
/// Attempts after which it is not told any more that a question ended: by then nobody looks for it.
/// That one waits is told for as long as it does.
const MAX_ATTEMPTS: u32 = 40;
/// What is kept of why an attempt failed, in characters.
const MAX_PROBLEM: usize = 160;

/// What is told of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum What {
    /// That it waits.
    Asked,
    /// That it ended.
    Ended,
}

impl What {
    /// The word.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            What::Asked => "asked",
            What::Ended => "ended",
        }
    }
}

/// One message that is not delivered yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Message {
    /// The sequence of what it tells of.
    pub seq: u64,
    /// Of which question.
    pub id: ClarifyId,
    /// What.
    pub what: What,
    /// Attempts so far, the running one included.
    #[serde(default)]
    pub attempts: u32,
    /// Why the last one failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// When it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_at: Option<Timestamp>,
    /// Whether every attempt that has ended was refused, so that nobody was told that it waits.
    #[serde(default, skip_serializing_if = "is_false")]
    refused: bool,
    /// Whether the attempt that runs is the only one that may be heard. Whoever goes on after a crash
    /// does not know what became of it.
    #[serde(skip)]
    alone: bool,
}

/// One that waits and was tried, and whose turn comes again when there is a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PutOff {
    /// The sequence of its question.
    pub seq: u64,
    /// Of which question.
    pub id: ClarifyId,
    /// Attempts so far.
    pub attempts: u32,
    /// Whether every one was refused.
    #[serde(default, skip_serializing_if = "is_false")]
    refused: bool,
}

/// What a failed attempt leaves behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failed {
    pub problem: String,
    /// Whether it is certain that nobody heard it: it was not sent, or refused.
    pub unheard: bool,
}

impl Failed {
    /// Nothing was sent, or what was sent was refused.
    pub(super) fn unheard(problem: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
            unheard: true,
        }
    }

    /// Nobody knows whether it was heard.
    pub(super) fn in_doubt(problem: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
            unheard: false,
        }
    }
}

/// What a commit says of a question that the channel tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// It waits.
    Asked(ClarifyId),
    /// It ended; where in the log it was asked.
    Ended(ClarifyId, u64),
}

/// How far a channel has come.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Backlog {
    /// What the log holds up to here was told, needs no telling, or stands in `open`.
    pub position: u64,
    /// What is not delivered, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<Message>,
    /// What makes room for others, in the order in which it comes again.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub put_off: VecDeque<PutOff>,
    /// Asked up to here and over before anybody was told; that they ended is still to come. Of more than
    /// so many the last ones are written down: after a crash the end of another one may be told of.
    #[serde(
        default,
        skip_serializing_if = "BTreeSet::is_empty",
        serialize_with = "last_ones"
    )]
    untold: BTreeSet<ClarifyId>,
}

impl Backlog {
    /// Whether there is room for more.
    pub(super) fn has_room(&self) -> bool {
        self.open.len() < MOST || self.to_put_off().is_some()
    }

    /// How many are not delivered.
    pub(super) fn undelivered(&self) -> usize {
        self.open.len() + self.put_off.len()
    }

    /// Takes in what the commit at `seq` says, all of it or nothing: false when there is no room. What
    /// was taken in before counts once.
    #[must_use]
    pub(super) fn take(&mut self, seq: u64, said: &[Said]) -> bool {
        if seq <= self.position {
            return true;
        }
        let more = said.iter().filter(|said| match said {
            Said::Asked(_) => true,
            Said::Ended(id, _) => !self.holds(*id, What::Asked) && !self.is_untold(*id),
        });
        let more = more.count();
        // One commit fits whatever it holds: it would never fit otherwise.
        while more > 0 && !self.open.is_empty() && self.open.len() + more > MOST {
            let Some(at) = self.to_put_off() else {
                return false;
            };
            let message = self.open.remove(at);
            self.put_off.push_back(PutOff::of(&message));
        }
        for said in said {
            match *said {
                Said::Asked(id) => self.push(seq, id, What::Asked),
                Said::Ended(id, asked) => self.ended(asked, seq, id),
            }
        }
        self.position = seq;
        true
    }

    /// A question that was asked at `asked` ended at `seq`. Where nobody was told that it waits,
    /// nobody needs to hear that it ended.
    fn ended(&mut self, asked: u64, seq: u64, id: ClarifyId) {
        let untold = self.untold.remove(&id);
        let put_off = self.put_off.iter().find(|put_off| put_off.id == id);
        let (told, alone) = match (self.find(id, What::Asked), put_off) {
            (Some(message), _) => (message.attempts > 0 && !message.refused, message.alone),
            (None, Some(put_off)) => (!put_off.refused, false),
            (None, None) => (asked <= self.position && !untold, false),
        };
        self.done(id, What::Asked);
        if told {
            self.push(seq, id, What::Ended);
            if let Some(message) = self.find_mut(id, What::Ended) {
                message.alone = alone;
            }
        }
    }

    /// A question was asked and is over, and nobody was told of it.
    pub(super) fn untold(&mut self, id: ClarifyId) {
        self.untold.insert(id);
    }

    /// Whether that is so.
    pub(super) fn is_untold(&self, id: ClarifyId) -> bool {
        self.untold.contains(&id)
    }

    /// An attempt that told nobody: the question was over already.
    pub(super) fn needless(&mut self, id: ClarifyId, what: What) {
        // An attempt before this one may have been heard.
        let message = self.find(id, What::Asked);
        if what == What::Asked && message.is_some_and(|m| m.alone) {
            self.untold(id);
        }
        self.done(id, what);
        self.unheard(id, what);
    }

    /// An attempt to tell that it waits was not heard. Where it was the only one that could be, nobody
    /// needs to hear that the question ended meanwhile.
    fn unheard(&mut self, id: ClarifyId, what: What) {
        let ended = self.find(id, What::Ended);
        if what == What::Asked && ended.is_some_and(|m| m.alone && m.attempts == 0) {
            self.done(id, What::Ended);
        }
    }

    /// Everything up to `seq` is taken in.
    pub(super) fn reached(&mut self, seq: u64) {
        self.position = self.position.max(seq);
    }

    /// Where the message stands that makes room for others, if one is to: one that was refused the most.
    fn to_put_off(&self) -> Option<usize> {
        let tried = self.open.iter().filter(|m| m.attempts > 0).count();
        if tried <= MOST - UNTRIED || self.put_off.len() >= MOST_PUT_OFF {
            return None;
        }
        let refused = |m: &Message| m.what == What::Asked && m.failed_at.is_some();
        let all = self.open.iter().enumerate().filter(|(_, m)| refused(m));
        let most = all.max_by_key(|(at, m)| (m.attempts, std::cmp::Reverse(*at)));
        most.map(|(at, _)| at)
    }

    /// Lets one that made room for others come again, if there is a place for it, or if `refused` is
    /// another one that makes room in its stead; says which, and how often it was tried.
    pub(super) fn come_again(&mut self, refused: Option<ClarifyId>) -> Option<(ClarifyId, u32)> {
        if self.put_off.is_empty() {
            return None;
        }
        if self.open.len() >= MOST - UNTRIED {
            let is = |m: &Message| Some(m.id) == refused && m.what == What::Asked;
            let at = self.open.iter().position(is)?;
            let message = self.open.remove(at);
            self.put_off.push_back(PutOff::of(&message));
        }
        let PutOff {
            seq,
            id,
            attempts,
            refused,
        } = self.put_off.pop_front()?;
        self.push(seq, id, What::Asked);
        if let Some(message) = self.find_mut(id, What::Asked) {
            (message.attempts, message.refused) = (attempts, refused);
        }
        Some((id, attempts))
    }

    /// An attempt begins; says whether it is the first one that may be heard.
    pub(super) fn begins(&mut self, id: ClarifyId, what: What) -> bool {
        let Some(message) = self.find_mut(id, what) else {
            return false;
        };
        message.alone = message.attempts == 0 || message.refused;
        message.refused = false;
        message.attempts = message.attempts.saturating_add(1);
        message.alone
    }

    /// It was delivered, or needs no telling any more.
    pub(super) fn done(&mut self, id: ClarifyId, what: What) {
        self.open.retain(|m| (m.id, m.what) != (id, what));
        if what == What::Asked {
            self.put_off.retain(|put_off| put_off.id != id);
        }
    }

    /// An attempt failed; says whether it was the last one.
    pub(super) fn failed(
        &mut self,
        id: ClarifyId,
        what: What,
        Failed { problem, unheard }: &Failed,
        now: Timestamp,
    ) -> bool {
        if *unheard {
            self.unheard(id, what);
        }
        // So that all of it fits one message of the bus, however much one commit ended.
        let kept = if self.open.len() > MOST {
            0
        } else {
            MAX_PROBLEM
        };
        let Some(message) = self.find_mut(id, what) else {
            return false;
        };
        message.problem = Some(problem.chars().take(kept).collect());
        message.failed_at = Some(now);
        message.refused = *unheard && message.alone;
        message.alone = false;
        let last = what == What::Ended && message.attempts >= MAX_ATTEMPTS;
        if last {
            self.done(id, what);
        }
        last
    }

    /// Attempts at a message so far.
    pub(super) fn attempts(&self, id: ClarifyId, what: What) -> u32 {
        self.find(id, what).map_or(0, |m| m.attempts)
    }

    /// Whether this waits to be delivered.
    pub(super) fn holds(&self, id: ClarifyId, what: What) -> bool {
        self.find(id, what).is_some()
    }

    fn find(&self, id: ClarifyId, what: What) -> Option<&Message> {
        self.open.iter().find(|m| (m.id, m.what) == (id, what))
    }

    fn find_mut(&mut self, id: ClarifyId, what: What) -> Option<&mut Message> {
        self.open.iter_mut().find(|m| (m.id, m.what) == (id, what))
    }

    fn push(&mut self, seq: u64, id: ClarifyId, what: What) {
        self.open.push(Message {
            seq,
            id,
            what,
            attempts: 0,
            problem: None,
            failed_at: None,
            refused: false,
            alone: false,
        });
    }
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde calls"
)]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// Ids are in the order in which they were made.
fn last_ones<S: Serializer>(all: &BTreeSet<ClarifyId>, to: S) -> Result<S::Ok, S::Error> {
    let surplus = all.len().saturating_sub(MOST_UNTOLD);
    to.collect_seq(all.iter().skip(surplus))
}

impl PutOff {
    fn of(message: &Message) -> Self {
        Self {
            seq: message.seq,
            id: message.id,
            attempts: message.attempts,
            refused: message.refused,
        }
    }
}

#[cfg(test)]
mod tests;
