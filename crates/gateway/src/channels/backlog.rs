//! What a channel has told and what it still has to: pure, and small enough to be written down after
//! every delivery.

use askbus_domain::{ClarifyId, Timestamp};
use serde::{Deserialize, Serialize};

/// Messages that wait at once at most; what comes after them waits in the log.
pub(super) const MOST: usize = 300;
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
}

/// How far a channel has come.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Backlog {
    /// What the log holds up to here was told, needs no telling, or stands in `open`.
    pub position: u64,
    /// What is not delivered, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<Message>,
}

impl Backlog {
    /// Whether there is room for more.
    pub(super) fn has_room(&self) -> bool {
        self.open.len() < MOST
    }

    /// A question waits since `seq`.
    pub(super) fn asked(&mut self, seq: u64, id: ClarifyId) {
        if seq > self.position && !self.holds(id, What::Asked) {
            self.push(seq, id, What::Asked);
        }
    }

    /// A question that was asked at `asked` ended at `seq`. Where nobody was told that it waits,
    /// nobody needs to hear that it ended.
    pub(super) fn ended(&mut self, asked: u64, seq: u64, id: ClarifyId) {
        if seq <= self.position || self.holds(id, What::Ended) {
            return;
        }
        let open = self.find(id, What::Asked);
        let told = match open {
            Some(message) => message.attempts > 0,
            None => asked <= self.position,
        };
        self.open.retain(|m| (m.id, m.what) != (id, What::Asked));
        if told {
            self.push(seq, id, What::Ended);
        }
    }

    /// Everything up to `seq` is taken in.
    pub(super) fn reached(&mut self, seq: u64) {
        self.position = self.position.max(seq);
    }

    /// An attempt begins.
    pub(super) fn begins(&mut self, id: ClarifyId, what: What) {
        if let Some(message) = self.find_mut(id, what) {
            message.attempts = message.attempts.saturating_add(1);
        }
    }

    /// It was delivered, or needs no telling any more.
    pub(super) fn done(&mut self, id: ClarifyId, what: What) {
        self.open.retain(|m| (m.id, m.what) != (id, what));
    }

    /// An attempt failed; says whether it was the last one.
    pub(super) fn failed(
        &mut self,
        id: ClarifyId,
        what: What,
        problem: &str,
        now: Timestamp,
    ) -> bool {
        let Some(message) = self.find_mut(id, what) else {
            return false;
        };
        message.problem = Some(problem.chars().take(MAX_PROBLEM).collect());
        message.failed_at = Some(now);
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

    fn holds(&self, id: ClarifyId, what: What) -> bool {
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
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn id(n: u128) -> ClarifyId {
        ClarifyId::from_uuid(Uuid::from_u128(n))
    }

    fn open(backlog: &Backlog) -> Vec<(u64, What, u32)> {
        let each = backlog.open.iter();
        each.map(|m| (m.seq, m.what, m.attempts)).collect()
    }

    const NOW: Timestamp = Timestamp::from_unix_millis(5);

    #[test]
    fn each_question_is_told_once() {
        let mut backlog = Backlog::default();
        backlog.asked(4, id(1));
        backlog.asked(4, id(1));
        assert_eq!(open(&backlog), [(4, What::Asked, 0)]);
        backlog.begins(id(1), What::Asked);
        backlog.done(id(1), What::Asked);
        backlog.reached(4);
        // As after a restart, when everything that waits is looked at again.
        backlog.asked(4, id(1));
        assert_eq!(open(&backlog), []);
        backlog.ended(4, 9, id(1));
        backlog.ended(4, 9, id(1));
        assert_eq!(open(&backlog), [(9, What::Ended, 0)]);
        backlog.done(id(1), What::Ended);
        backlog.reached(9);
        backlog.ended(4, 9, id(1));
        assert_eq!(open(&backlog), []);
    }

    #[test]
    fn what_ends_untold_needs_no_telling() {
        let mut backlog = Backlog::default();
        backlog.asked(4, id(1));
        backlog.ended(4, 5, id(1));
        assert_eq!(open(&backlog), []);
        // Asked and ended before anybody looked.
        backlog.ended(6, 7, id(2));
        assert_eq!(open(&backlog), []);
        // An attempt that failed may have been heard.
        backlog.asked(8, id(3));
        backlog.begins(id(3), What::Asked);
        assert!(!backlog.failed(id(3), What::Asked, "500", NOW));
        backlog.reached(8);
        backlog.ended(8, 9, id(3));
        assert_eq!(open(&backlog), [(9, What::Ended, 0)]);
    }

    #[test]
    fn only_an_end_is_given_up() {
        let mut backlog = Backlog::default();
        backlog.asked(1, id(1));
        for _ in 0..2 * MAX_ATTEMPTS {
            backlog.begins(id(1), What::Asked);
            let problem = "it could not be reached".repeat(20);
            assert!(!backlog.failed(id(1), What::Asked, &problem, NOW));
        }
        assert_eq!(backlog.attempts(id(1), What::Asked), 2 * MAX_ATTEMPTS);
        backlog.ended(1, 2, id(1));
        let mut last = false;
        for _ in 0..MAX_ATTEMPTS {
            assert!(!last);
            backlog.begins(id(1), What::Ended);
            last = backlog.failed(id(1), What::Ended, "500", NOW);
        }
        assert!(last && backlog.open.is_empty());
    }

    #[test]
    fn a_full_backlog_fits_one_message_of_the_bus() {
        let mut backlog = Backlog::default();
        let mut seq = 0;
        while backlog.has_room() {
            seq += 1;
            backlog.asked(u64::MAX - seq, id(u128::MAX - u128::from(seq)));
            backlog.begins(id(u128::MAX - u128::from(seq)), What::Asked);
            let problem = "x".repeat(500);
            let id = id(u128::MAX - u128::from(seq));
            backlog.failed(id, What::Asked, &problem, NOW);
        }
        let written = serde_json::to_vec(&backlog).unwrap();
        assert!(
            written.len() < askbus_domain::MAX_COMMIT_BYTES,
            "{}",
            written.len()
        );
        let read: Backlog = serde_json::from_slice(&written).unwrap();
        assert_eq!(read, backlog);
    }
}
