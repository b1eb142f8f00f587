//! Old messages: read from the file and decoded off the runtime and ahead of who follows the log, and
//! once for all who follow it at about the same time.

use super::Shared;
use super::log::stored;
use super::store::{LOG, failed};
use crate::{LedgerError, Stored};
use futures::future::{self, BoxFuture};
use futures::{FutureExt as _, Stream, StreamExt as _, TryFutureExt as _, stream};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Sequences of one batch; the first batch begins with the first message of the log.
const BATCH: u64 = 256;
/// Batches decoded ahead of each tail.
const AHEAD: usize = 4;
/// Batches kept for tails that are a little behind.
const KEPT: usize = 64;
/// Payload of them at most, give or take those that are being read.
const KEPT_BYTES: usize = 32 * 1024 * 1024;

/// The messages of a batch, fewer than [`BATCH`] where old ones are gone.
#[derive(Clone)]
pub(super) struct Batch {
    pub messages: Arc<[Arc<Stored>]>,
    bytes: usize,
}

/// A batch that is being read, or was. It comes to its end even if nobody waits for it any more.
type Reading = future::Shared<BoxFuture<'static, Result<Batch, LedgerError>>>;

/// The batches that were read last, while anybody reads old messages.
#[derive(Default)]
pub(super) struct Replay(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    tails: usize,
    batches: VecDeque<(u64, Reading)>,
}

impl Kept {
    fn bytes(&self) -> usize {
        let read = self.batches.iter().filter_map(|(_, batch)| batch.peek());
        read.flatten().map(|batch| batch.bytes).sum()
    }
}

impl Replay {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self) {
        self.kept().tails += 1;
    }

    fn leave(&self) {
        let mut kept = self.kept();
        kept.tails -= 1;
        if kept.tails == 0 {
            kept.batches.clear();
        }
    }

    fn batch(&self, number: u64, read: impl FnOnce() -> Reading) -> Reading {
        let mut kept = self.kept();
        // What could not be read may be readable now.
        let failed = |batch: &Reading| matches!(batch.peek(), Some(Err(_)));
        kept.batches.retain(|(_, batch)| !failed(batch));
        let found = kept.batches.iter().rev().find(|(n, _)| *n == number);
        if let Some((_, found)) = found {
            return found.clone();
        }
        let reading = read();
        kept.batches.push_back((number, reading.clone()));
        while kept.batches.len() > KEPT || kept.bytes() > KEPT_BYTES {
            kept.batches.pop_front();
        }
        reading
    }
}

/// The messages that mattered when the file was opened, for those who fold the log anew.
pub(super) struct Current {
    replay: Replay,
    /// Their sequences, where they are not all.
    seqs: Option<Vec<u64>>,
    /// The last sequence then; whatever comes after it matters.
    until: u64,
}

impl Current {
    pub fn new(seqs: Option<Vec<u64>>, until: u64) -> Self {
        Self {
            replay: Replay::default(),
            seqs,
            until,
        }
    }

    /// The last sequence that the messages that matter stand for, when some do not.
    pub fn until(&self) -> Option<u64> {
        self.seqs.as_ref().map(|_| self.until)
    }

    /// Whether a message that was there then is among those that matter.
    pub fn has(&self, seq: u64) -> bool {
        let seqs = self.seqs.as_ref();
        seqs.is_none_or(|seqs| seqs.binary_search(&seq).is_ok())
    }

    /// The last sequence that may not matter; none when all do.
    pub fn last_left_out(&self) -> Option<u64> {
        let seqs = self.seqs.as_ref()?;
        let mut last = self.until;
        for seq in seqs.iter().rev() {
            if *seq != last {
                break;
            }
            last -= 1;
        }
        (last > 0).then_some(last)
    }

    fn batches(&self) -> u64 {
        let seqs = self.seqs.as_deref().unwrap_or_default();
        (seqs.len() as u64).div_ceil(BATCH)
    }

    fn batch(&self, number: u64) -> &[u64] {
        let seqs = self.seqs.as_deref().unwrap_or_default();
        let at = |number: u64| usize::try_from(number * BATCH).unwrap_or(usize::MAX);
        seqs.get(at(number)..at(number + 1).min(seqs.len()))
            .unwrap_or_default()
    }
}

/// Which messages are read.
#[derive(Clone, Copy)]
enum Which {
    All,
    Current,
}

impl Shared {
    fn replay_of(&self, which: Which) -> &Replay {
        match which {
            Which::All => &self.replay,
            Which::Current => &self.current.replay,
        }
    }
}

/// Somebody reads old messages; the last one who leaves lets go of them.
struct Visit(Arc<Shared>, Which);

impl Visit {
    fn begin(shared: &Arc<Shared>, which: Which) -> Self {
        shared.replay_of(which).enter();
        Self(Arc::clone(shared), which)
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.0.replay_of(self.1).leave();
    }
}

/// The batches with the sequences from `next` on of which all are stored when `end` is, by their
/// numbers.
pub(super) fn whole(next: u64, end: u64) -> Range<u64> {
    next.saturating_sub(1) / BATCH..end / BATCH
}

/// The batches with the sequences up to `end`.
pub(super) fn touched(end: u64) -> Range<u64> {
    0..end.div_ceil(BATCH)
}

/// The first sequence after the batches before this one.
pub(super) const fn first_of(number: u64) -> u64 {
    number * BATCH + 1
}

impl Shared {
    /// These batches in their order.
    pub(super) fn replay(
        self: &Arc<Self>,
        numbers: Range<u64>,
    ) -> impl Stream<Item = Result<Batch, LedgerError>> + use<> {
        self.read_ahead(numbers, Which::All)
    }

    /// Those that still matter, in their order.
    pub(super) fn replay_current(
        self: &Arc<Self>,
    ) -> impl Stream<Item = Result<Batch, LedgerError>> + use<> {
        self.read_ahead(0..self.current.batches(), Which::Current)
    }

    fn read_ahead(
        self: &Arc<Self>,
        numbers: Range<u64>,
        which: Which,
    ) -> impl Stream<Item = Result<Batch, LedgerError>> + use<> {
        let visit = Visit::begin(self, which);
        let batches = stream::iter(numbers).map(move |number| {
            let shared = &visit.0;
            let read = || shared.read_batch(number, which);
            shared.replay_of(which).batch(number, read)
        });
        batches.buffered(AHEAD)
    }

    fn read_batch(self: &Arc<Self>, number: u64, which: Which) -> Reading {
        let shared = Arc::clone(self);
        let read = tokio::task::spawn_blocking(move || {
            shared.read(|snapshot| match which {
                Which::All => batch(snapshot, number),
                Which::Current => these(snapshot, shared.current.batch(number)),
            })
        });
        let read = read
            .map_err(failed)
            .map(|read| read.and_then(|batch| batch));
        read.boxed().shared()
    }
}

fn batch(snapshot: &redb::ReadTransaction, number: u64) -> Result<Batch, redb::Error> {
    let log = snapshot.open_table(LOG)?;
    let mut messages = Vec::with_capacity(usize::try_from(BATCH).unwrap_or_default());
    let mut bytes = 0;
    for row in log.range(first_of(number)..first_of(number + 1))? {
        let (seq, row) = row?;
        bytes += row.value().len();
        messages.extend(stored(seq.value(), row.value()));
    }
    Ok(Batch {
        messages: messages.into(),
        bytes,
    })
}

fn these(snapshot: &redb::ReadTransaction, seqs: &[u64]) -> Result<Batch, redb::Error> {
    let log = snapshot.open_table(LOG)?;
    let mut messages = Vec::with_capacity(seqs.len());
    let mut bytes = 0;
    for seq in seqs {
        if let Some(row) = log.get(seq)? {
            bytes += row.value().len();
            messages.extend(stored(*seq, row.value()));
        }
    }
    Ok(Batch {
        messages: messages.into(),
        bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch_of(bytes: usize) -> Reading {
        let messages = Arc::new([]);
        let batch = Batch { messages, bytes };
        let reading = future::ready(Ok(batch)).boxed().shared();
        drop(reading.clone().now_or_never());
        reading
    }

    #[test]
    fn only_whole_batches_are_read_ahead() {
        assert_eq!(whole(1, BATCH - 1), 0..0);
        assert_eq!(whole(1, BATCH), 0..1);
        assert_eq!(whole(BATCH, 3 * BATCH + 1), 0..3);
        assert_eq!(whole(BATCH + 1, 3 * BATCH - 1), 1..2);
        assert!(whole(3 * BATCH + 1, 3 * BATCH + 5).is_empty());
    }

    #[test]
    fn a_batch_is_read_once_for_all_and_few_are_kept() {
        let replay = Replay::default();
        replay.enter();
        replay.enter();
        let mut read = 0;
        for _ in 0..2 {
            for number in 0..KEPT as u64 {
                drop(replay.batch(number, || {
                    read += 1;
                    batch_of(1)
                }));
            }
        }
        assert_eq!(read, KEPT);
        drop(replay.batch(KEPT as u64, || batch_of(1)));
        assert_eq!(replay.kept().batches.len(), KEPT);
        // Large ones are fewer.
        for number in 0..3 {
            drop(replay.batch(1_000 + number, || batch_of(KEPT_BYTES / 2)));
        }
        assert!(replay.kept().batches.len() <= 2);
        replay.leave();
        assert!(!replay.kept().batches.is_empty());
        replay.leave();
        assert!(replay.kept().batches.is_empty());
    }
}
