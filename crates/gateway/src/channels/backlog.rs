//! What a channel has told and what it still has to: pure, and small enough to be written down after
//! every delivery.

use askbus_domain::{ClarifyId, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

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
    /// Asked up to here and over before anybody was told; that they ended is still to come. Not written
    /// down: after a crash such an end may be told of.
    #[serde(skip)]
    untold: HashSet<ClarifyId>,
}

impl Backlog {
    /// Whether there is room for more.
    pub(super) fn has_room(&self) -> bool {
        self.open.len() < MOST
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
            Said::Ended(id, _) => !self.holds(*id, What::Asked),
        });
        let (more, open) = (more.count(), self.open.len());
        // One commit fits whatever it holds: it would never fit otherwise.
        if more > 0 && open > 0 && open + more > MOST {
            return false;
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
        let told = match self.find(id, What::Asked) {
            Some(message) => message.attempts > 0,
            None => asked <= self.position && !untold,
        };
        self.done(id, What::Asked);
        if told {
            self.push(seq, id, What::Ended);
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
        if what == What::Asked && message.is_some_and(|m| m.attempts <= 1) {
            self.untold(id);
        }
        self.done(id, what);
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

    fn take(backlog: &mut Backlog, seq: u64, said: &[Said]) {
        assert!(backlog.take(seq, said), "{seq}");
    }

    #[test]
    fn each_question_is_told_once() {
        let mut backlog = Backlog::default();
        take(&mut backlog, 4, &[Said::Asked(id(1))]);
        take(&mut backlog, 4, &[Said::Asked(id(1))]);
        assert_eq!(open(&backlog), [(4, What::Asked, 0)]);
        backlog.begins(id(1), What::Asked);
        backlog.done(id(1), What::Asked);
        // As after a restart, when everything that waits is looked at again.
        take(&mut backlog, 4, &[Said::Asked(id(1))]);
        assert_eq!(open(&backlog), []);
        take(&mut backlog, 9, &[Said::Ended(id(1), 4)]);
        take(&mut backlog, 9, &[Said::Ended(id(1), 4)]);
        assert_eq!(open(&backlog), [(9, What::Ended, 0)]);
        backlog.done(id(1), What::Ended);
        take(&mut backlog, 9, &[Said::Ended(id(1), 4)]);
        assert_eq!(open(&backlog), []);
    }

    #[test]
    fn what_ends_untold_needs_no_telling() {
        let mut backlog = Backlog::default();
        take(&mut backlog, 4, &[Said::Asked(id(1))]);
        take(&mut backlog, 5, &[Said::Ended(id(1), 4)]);
        assert_eq!(open(&backlog), []);
        // Asked and ended before anybody looked.
        take(&mut backlog, 7, &[Said::Ended(id(2), 6)]);
        assert_eq!(open(&backlog), []);
        // The same, in two looks.
        backlog.untold(id(4));
        backlog.reached(10);
        take(&mut backlog, 11, &[Said::Ended(id(4), 10)]);
        assert_eq!(open(&backlog), []);
        // Over when the first attempt began.
        take(&mut backlog, 12, &[Said::Asked(id(5))]);
        backlog.begins(id(5), What::Asked);
        backlog.needless(id(5), What::Asked);
        take(&mut backlog, 13, &[Said::Ended(id(5), 12)]);
        assert_eq!(open(&backlog), []);
    }

    #[test]
    fn an_attempt_that_failed_may_have_been_heard() {
        for over_meanwhile in [false, true] {
            let mut backlog = Backlog::default();
            take(&mut backlog, 8, &[Said::Asked(id(3))]);
            backlog.begins(id(3), What::Asked);
            assert!(!backlog.failed(id(3), What::Asked, "500", NOW));
            if over_meanwhile {
                backlog.begins(id(3), What::Asked);
                backlog.needless(id(3), What::Asked);
            }
            take(&mut backlog, 9, &[Said::Ended(id(3), 8)]);
            assert_eq!(open(&backlog), [(9, What::Ended, 0)], "{over_meanwhile}");
        }
    }

    #[test]
    fn a_commit_is_taken_whole_or_not_at_all() {
        let mut backlog = Backlog::default();
        let many = u64::try_from(MOST).unwrap() - 1;
        for n in 1..=many {
            take(&mut backlog, n, &[Said::Asked(id(u128::from(n)))]);
        }
        let both = [Said::Asked(id(1_001)), Said::Asked(id(1_002))];
        assert!(!backlog.take(1_000, &both));
        assert_eq!((backlog.position, backlog.open.len()), (many, MOST - 1));
        take(&mut backlog, 1_001, &[Said::Asked(id(2_000))]);
        assert!(!backlog.has_room() && !backlog.take(1_002, &[Said::Asked(id(2_001))]));
        // What makes room is taken when there is none.
        take(&mut backlog, 1_002, &[Said::Ended(id(1), 1)]);
        assert_eq!(backlog.open.len(), MOST - 1);
        assert!(!backlog.take(1_003, &both));
        backlog.done(id(2), What::Asked);
        take(&mut backlog, 1_003, &both);
        assert_eq!(backlog.open.len(), MOST);
    }

    #[test]
    fn more_than_there_is_room_for_at_once_is_told_all_the_same() {
        let mut backlog = Backlog::default();
        backlog.reached(5);
        let all: Vec<Said> = (1..=5 * MOST)
            .map(|n| Said::Ended(id(n.try_into().unwrap()), 5))
            .collect();
        take(&mut backlog, 6, &all);
        for n in 1..=5 * MOST {
            let id = id(n.try_into().unwrap());
            backlog.begins(id, What::Ended);
            backlog.failed(id, What::Ended, &"❓".repeat(500), NOW);
        }
        assert_eq!(backlog.open.len(), 5 * MOST);
        let written = serde_json::to_vec(&backlog).unwrap();
        assert!(written.len() < askbus_domain::MAX_COMMIT_BYTES);
    }

    #[test]
    fn only_an_end_is_given_up() {
        let mut backlog = Backlog::default();
        take(&mut backlog, 1, &[Said::Asked(id(1))]);
        for _ in 0..2 * MAX_ATTEMPTS {
            backlog.begins(id(1), What::Asked);
            let problem = "it could not be reached".repeat(20);
            assert!(!backlog.failed(id(1), What::Asked, &problem, NOW));
        }
        assert_eq!(backlog.attempts(id(1), What::Asked), 2 * MAX_ATTEMPTS);
        take(&mut backlog, 2, &[Said::Ended(id(1), 1)]);
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
        let base = u64::MAX - 1_000;
        for n in 0..u64::try_from(MOST).unwrap() {
            let id = id(u128::MAX - u128::from(n));
            take(&mut backlog, base + n, &[Said::Asked(id)]);
            backlog.begins(id, What::Asked);
            backlog.failed(id, What::Asked, &"x".repeat(500), NOW);
        }
        assert!(!backlog.has_room());
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
