//! The embedded bus on a disk that fails: nothing is claimed that is not known, and once the disk works
//! again so does the bus, without a restart.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[allow(dead_code, unused_imports, unused_macros)]
mod conformance;

use askbus_ledger::embedded::{self, Disk, EmbeddedHandle, EmbeddedOptions};
use askbus_ledger::{AppendError, Bus, LedgerError};
use conformance::samples::{answer, begun, clarification, held, session, tenant};
use conformance::{next, reached, seqs, submit, tail_until, within, write};
use redb::backends::FileBackend;
use redb::{BackendError, StorageBackend};
use std::io::{Error, ErrorKind};
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// When the disk fails.
#[derive(Debug, Default)]
struct Faults {
    /// It takes nothing.
    full: AtomicBool,
    /// The operation that is to fail, counted down; 0 means none.
    fails_at: AtomicU64,
}

impl Faults {
    fn fail(&self) -> bool {
        if self.full.load(Ordering::SeqCst) {
            return true;
        }
        let left = self.fails_at.load(Ordering::SeqCst);
        self.fails_at
            .store(left.saturating_sub(1), Ordering::SeqCst);
        left == 1
    }

    fn disk(self: &Arc<Self>) -> Disk {
        let faults = Arc::clone(self);
        Arc::new(move |file| {
            let faults = Arc::clone(&faults);
            Box::new(Faulty { file, faults })
        })
    }

    fn open(self: &Arc<Self>, dir: &Path) -> (Bus, EmbeddedHandle) {
        embedded::open_on(dir, EmbeddedOptions::default(), self.disk()).unwrap()
    }
}

fn no_room() -> Error {
    Error::from(ErrorKind::StorageFull)
}

#[derive(Debug)]
struct Faulty {
    file: FileBackend,
    faults: Arc<Faults>,
}

impl StorageBackend for Faulty {
    fn len(&self) -> Result<u64, Error> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> Result<(), Error> {
        if self.faults.fail() {
            return Err(no_room());
        }
        self.file.set_len(len)
    }

    fn sync_data(&self) -> Result<(), Error> {
        if self.faults.fail() {
            return Err(no_room());
        }
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), Error> {
        if self.faults.fail() {
            // Some of it comes through.
            self.file.write(offset, &data[..data.len() / 2])?;
            return Err(no_room());
        }
        self.file.write(offset, data)
    }

    fn close(&self) -> Result<(), Error> {
        self.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_range(start, end)
    }

    fn try_lock_shared_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }
}

async fn well(bus: &Bus) {
    let mut reachable = bus.ledger.reachable();
    within("the log", reachable.wait_for(|up| *up))
        .await
        .unwrap();
}

// contract: D4
#[tokio::test]
async fn whichever_write_fails_what_is_told_is_true_and_the_log_goes_on() {
    let (t, s, id) = (tenant("acme"), session("s"), clarification());
    let (mut refused, mut in_doubt, mut landed) = (0, 0, 0);
    let mut fails_at = 0;
    loop {
        fails_at += 1;
        let dir = tempfile::tempdir().unwrap();
        let faults = Arc::<Faults>::default();
        let (bus, handle) = faults.open(dir.path());
        let first = write(&bus, &begun(&t, &s), 0).await.unwrap();
        let mut tail = bus.ledger.tail(1).await.unwrap();
        assert_eq!(next(&mut tail).await.seq, first);
        let commit = held(&t, &s);
        faults.fails_at.store(fails_at, Ordering::SeqCst);
        let told = bus.ledger.append_once(&commit, first, None).await;
        let unspent = faults.fails_at.swap(0, Ordering::SeqCst) != 0;
        well(&bus).await;
        let there = reached!(bus.ledger.read_session(&t, &s, first + 1)).len();
        match told {
            Ok(seq) => assert_eq!((seq, there), (first + 1, 1)),
            Err(AppendError::Uncertain(_)) => {
                in_doubt += 1;
                landed += there;
            }
            Err(AppendError::Ledger(LedgerError::Unavailable(_))) => {
                refused += 1;
                assert_eq!(there, 0, "it was said that it is not written");
            }
            Err(other) => panic!("{other}"),
        }
        // The same again is written once, and everybody sees it.
        assert_eq!(write(&bus, &commit, first).await, Some(first + 1));
        assert_eq!(next(&mut tail).await.seq, first + 1);
        submit(&bus, &answer(&t, &s, id, "ana", "a1")).await;
        let last = write(&bus, &held(&t, &s), first + 1).await.unwrap();
        assert_eq!(last, first + 2);
        let before = tail_until(&bus, 1, last).await;
        drop(tail);
        handle.close().await;
        let (bus, handle) = embedded::open(dir.path()).unwrap();
        assert_eq!(tail_until(&bus, 1, last).await, before);
        assert_eq!(seqs(&before), [1, 2, 3]);
        assert!(reached!(bus.inbox.oldest(&t, &s, id)).is_some());
        handle.close().await;
        if unspent {
            break;
        }
    }
    // The loop went through all writes of a commit, before and after it counts.
    assert!(
        refused + in_doubt == fails_at - 1 && in_doubt > 0,
        "{refused} {in_doubt} {fails_at}"
    );
    assert!(landed < usize::try_from(in_doubt).unwrap(), "{landed}");
}

// contract: D4
#[tokio::test]
async fn a_full_disk_refuses_everything_until_there_is_room_and_forgets_nothing() {
    let (t, s, id) = (tenant("acme"), session("s"), clarification());
    let dir = tempfile::tempdir().unwrap();
    let faults = Arc::<Faults>::default();
    let (bus, handle) = faults.open(dir.path());
    let mut last = write(&bus, &begun(&t, &s), 0).await.unwrap();
    for _ in 0..600 {
        last = write(&bus, &held(&t, &s), last).await.unwrap();
    }
    submit(&bus, &answer(&t, &s, id, "ana", "judged meanwhile")).await;
    submit(&bus, &answer(&t, &s, id, "ben", "unjudged")).await;
    let mut taker = bus.inbox.take(&t).await.unwrap();
    let (judged, _unjudged) = (next(&mut taker).await, next(&mut taker).await);

    faults.full.store(true, Ordering::SeqCst);
    let commit = held(&t, &s);
    let told = bus.ledger.append_once(&commit, last, None).await;
    assert!(
        matches!(
            told,
            Err(AppendError::Uncertain(_) | AppendError::Ledger(LedgerError::Unavailable(_)))
        ),
        "{told:?}"
    );
    assert!(!*bus.ledger.reachable().borrow());
    let unavailable = |error| matches!(error, LedgerError::Unavailable(_));
    assert!(unavailable(bus.ledger.last_seq().await.unwrap_err()));
    let read = bus.ledger.read_session(&t, &s, last + 1).await;
    assert!(unavailable(read.unwrap_err()), "it may hold the commit");
    let found = bus.ledger.find_requested(&t, id).await;
    assert!(unavailable(found.unwrap_err()));
    assert!(unavailable(bus.inbox.oldest(&t, &s, id).await.unwrap_err()));
    let sent = bus.inbox.submit(answer(&t, &s, id, "cyd", "refused")).await;
    assert!(unavailable(sent.unwrap_err()));
    judged.acker.ack().await.unwrap();
    // Whoever begins to follow it now is told once it can be read.
    let mut tail = bus.ledger.tail(1).await.unwrap();

    faults.full.store(false, Ordering::SeqCst);
    well(&bus).await;
    for seq in 1..=last {
        assert_eq!(next(&mut tail).await.seq, seq);
    }
    assert_eq!(write(&bus, &commit, last).await, Some(last + 1));
    assert_eq!(next(&mut tail).await.seq, last + 1);
    drop((tail, taker));
    handle.close().await;
    let (bus, handle) = embedded::open(dir.path()).unwrap();
    let mut taker = bus.inbox.take(&t).await.unwrap();
    let payload = next(&mut taker).await.payload;
    assert!(String::from_utf8_lossy(&payload).contains("unjudged"));
    assert!(taker.try_recv().is_err(), "the other one was judged");
    handle.close().await;
}

#[tokio::test]
async fn a_file_that_is_gone_is_not_made_anew() {
    let (t, s) = (tenant("acme"), session("s"));
    let dir = tempfile::tempdir().unwrap();
    let faults = Arc::<Faults>::default();
    let (bus, handle) = faults.open(dir.path());
    let first = write(&bus, &begun(&t, &s), 0).await.unwrap();
    let (path, aside) = (dir.path().join("askbus.redb"), dir.path().join("aside"));
    std::fs::rename(&path, &aside).unwrap();
    faults.fails_at.store(1, Ordering::SeqCst);
    let told = bus.ledger.append_once(&held(&t, &s), first, None).await;
    assert!(told.is_err());
    // It is tried at once, and a second later.
    let refused = bus.inbox.oldest(&t, &s, clarification()).await;
    assert!(matches!(refused, Err(LedgerError::Unavailable(_))));
    assert!(!path.exists());
    std::fs::rename(&aside, &path).unwrap();
    well(&bus).await;
    assert_eq!(
        write(&bus, &held(&t, &s), first).await,
        Some(first + 1),
        "and goes on where it was"
    );
    handle.close().await;
}
