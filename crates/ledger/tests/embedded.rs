//! The embedded bus against the suite, and what only a file can do.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[allow(dead_code, unused_imports, unused_macros)]
mod conformance;

use askbus_ledger::embedded::{self, EmbeddedHandle, EmbeddedOptions};
use askbus_ledger::{AppendError, Bus, LedgerError, append};
use askbus_wire::messages::InboxReply;
use conformance::samples::{
    answer, begun, clarification, draft, ended, held, requested, session, tenant,
};
use conformance::{next, reached, run_on, seqs, submit, tail_until, within, write};
use std::sync::Arc;
use tempfile::TempDir;

struct Fixture {
    left: Bus,
    right: Bus,
    handle: EmbeddedHandle,
    _dir: TempDir,
}

impl Fixture {
    async fn close(self) {
        self.handle.close().await;
    }
}

#[allow(clippy::unused_async)]
async fn open() -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let (bus, handle) = embedded::open(dir.path()).unwrap();
    Fixture {
        left: bus.clone(),
        right: bus,
        handle,
        _dir: dir,
    }
}

run_on!(open);

// contract: D4
#[tokio::test]
async fn an_old_log_is_read_whole_from_anywhere_and_once_for_all_who_read_it_together() {
    let dir = tempfile::tempdir().unwrap();
    let (t, s) = (tenant("acme"), session("s"));
    let (bus, handle) = embedded::open(dir.path()).unwrap();
    let mut old = write(&bus, &begun(&t, &s), 0).await.unwrap();
    for _ in 0..1_299 {
        old = write(&bus, &held(&t, &s), old).await.unwrap();
    }
    drop(bus);
    handle.close().await;
    let (bus, handle) = embedded::open(dir.path()).unwrap();
    // Two read from the beginning, in step.
    let mut left = bus.ledger.tail(1).await.unwrap();
    let mut right = bus.ledger.tail(1).await.unwrap();
    let mut shared = 0;
    for seq in 1..=old {
        let (left, right) = (next(&mut left).await, next(&mut right).await);
        assert_eq!((left.seq, right.seq), (seq, seq));
        shared += u64::from(Arc::ptr_eq(&left, &right));
    }
    // All but the last few, which fill no batch.
    assert!(shared >= 1_280 && shared < old, "{shared}");
    // What is written meanwhile follows; one that nobody reads from hinders no other.
    let stuck = bus.ledger.tail(1).await.unwrap();
    let mut last = old;
    for _ in 0..300 {
        last = write(&bus, &held(&t, &s), last).await.unwrap();
    }
    for from in [1, 2, 255, 256, 257, 512, 1_280, 1_281, 1_300, 1_301, 1_599] {
        let seen = seqs(&tail_until(&bus, from, last).await);
        assert_eq!(seen, (from..=last).collect::<Vec<_>>(), "from {from}");
    }
    drop(stuck);
    handle.close().await;
}

#[tokio::test]
async fn who_folds_a_long_log_anew_is_spared_sessions_that_were_over_long_before() {
    let dir = tempfile::tempdir().unwrap();
    let options = EmbeddedOptions {
        latest: 10,
        ..EmbeddedOptions::default()
    };
    let (bus, handle) = embedded::open_with(dir.path(), options).unwrap();
    let (acme, other) = (tenant("acme"), tenant("other"));
    let over = async |tenant, name: &str| {
        let begun = write(&bus, &begun(tenant, &session(name)), 0).await;
        write(&bus, &ended(tenant, &session(name)), begun.unwrap()).await
    };
    let open = write(&bus, &begun(&acme, &session("open")), 0).await;
    assert_eq!(over(&acme, "gone").await, Some(3));
    assert_eq!(over(&other, "theirs").await, Some(5));
    // Something came after its end.
    let late = over(&acme, "late").await.unwrap();
    write(&bus, &held(&acme, &session("late")), late).await;
    assert_eq!(over(&acme, "straddling").await, Some(10));
    let straddling = write(&bus, &begun(&acme, &session("straddling")), 10).await;
    let mut last = write(&bus, &held(&acme, &session("open")), open.unwrap()).await;
    for _ in 0..7 {
        last = write(&bus, &held(&acme, &session("open")), last.unwrap()).await;
    }
    assert_eq!((straddling, last), (Some(11), Some(19)));
    drop(bus);
    handle.close().await;
    let (bus, handle) = embedded::open_with(dir.path(), options).unwrap();
    // Written before anybody reads: it is read all the same, whatever it is about.
    assert_eq!(
        write(&bus, &begun(&acme, &session("gone")), 3).await,
        Some(20)
    );
    for _ in 0..2 {
        let mut tail = bus.ledger.tail_current().await.unwrap();
        let mut seen = vec![next(&mut tail).await.seq];
        while seen.last() != Some(&20) {
            seen.push(next(&mut tail).await.seq);
        }
        // Without the session that was over; of the other tenant there is no other.
        let expected: Vec<u64> = (1..=20).filter(|seq| ![2, 3].contains(seq)).collect();
        assert_eq!(seen, expected);
    }
    // What was left out can be had besides, whatever was written meanwhile.
    let mut left_out = bus.ledger.left_out().await.unwrap().unwrap();
    assert_eq!(left_out.until, 3);
    let mut seen = Vec::new();
    while let Some(stored) = next(&mut left_out.messages).await {
        seen.push(stored.seq);
    }
    assert_eq!(seen, [2, 3]);
    assert_eq!(seqs(&tail_until(&bus, 1, 20).await).len(), 20);
    let gone = bus.ledger.read_session(&acme, &session("gone"), 1).await;
    assert_eq!(seqs(&gone.unwrap()), [2, 3, 20]);
    handle.close().await;
    // A log that is shorter than what is read anyway is read whole.
    let (bus, handle) = embedded::open(dir.path()).unwrap();
    assert!(bus.ledger.left_out().await.unwrap().is_none());
    let mut tail = bus.ledger.tail_current().await.unwrap();
    for seq in 1..=20 {
        assert_eq!(next(&mut tail).await.seq, seq);
    }
    handle.close().await;
}

// contract: D4
#[tokio::test]
async fn everything_is_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let (t, s, id) = (tenant("acme"), session("会话.1"), clarification());
    let (bus, handle) = embedded::open(dir.path()).unwrap();
    let mut last = write(&bus, &begun(&t, &s), 0).await.unwrap();
    let ask = requested(&t, &s, id);
    last = write(&bus, &ask, last).await.unwrap();
    for _ in 0..600 {
        last = write(&bus, &held(&t, &s), last).await.unwrap();
    }
    submit(&bus, &answer(&t, &s, id, "ana", "judged")).await;
    submit(&bus, &answer(&t, &s, id, "ben", "taken")).await;
    let mut taker = bus.inbox.take(&t).await.unwrap();
    let (judged, taken) = (next(&mut taker).await, next(&mut taker).await);
    judged.acker.ack().await.unwrap();
    let person = conformance::samples::actor("ana").person;
    bus.drafts
        .put(&t, &s, id, &person, &draft("Post"))
        .await
        .unwrap();
    let before = tail_until(&bus, 1, last).await;
    let mut cut = bus.ledger.tail(last + 1).await.unwrap();
    handle.close().await;
    assert!(within("the end of a tail", cut.recv()).await.is_none());
    let refused = bus.ledger.append_once(&held(&t, &s), last, None).await;
    assert!(matches!(
        refused,
        Err(AppendError::Ledger(LedgerError::Unavailable(_)))
    ));
    drop(taken);

    // The old bus is still held, the file is free all the same.
    let (bus, handle) = embedded::open(dir.path()).unwrap();
    assert_eq!(reached!(bus.ledger.last_seq()), last);
    assert_eq!(tail_until(&bus, 1, last).await, before);
    assert_eq!(
        seqs(&tail_until(&bus, 300, last).await),
        (300..=last).collect::<Vec<_>>()
    );
    assert_eq!(
        reached!(bus.ledger.find_requested(&t, id)).map(|m| m.seq),
        Some(2)
    );
    assert_eq!(
        write(&bus, &held(&t, &s), last - 1).await,
        None,
        "the guard is as it was"
    );
    assert_eq!(
        write(&bus, &ask, 1).await,
        Some(2),
        "an own commit is found"
    );
    assert_eq!(write(&bus, &held(&t, &s), last).await, Some(last + 1));
    let mut tail = bus.ledger.tail(last - 1).await.unwrap();
    for seq in last - 1..=last + 1 {
        assert_eq!(
            next(&mut tail).await.seq,
            seq,
            "from the file into the hot end"
        );
    }
    let mut taker = bus.inbox.take(&t).await.unwrap();
    let again = next(&mut taker).await;
    assert!(String::from_utf8_lossy(&again.payload).contains("taken"));
    again.acker.ack().await.unwrap();
    assert_eq!(
        reached!(bus.inbox.oldest(&t, &s, id)),
        None,
        "the judged one is gone"
    );
    assert_eq!(reached!(bus.drafts.list(&t, &s, id)).len(), 1);
    handle.close().await;
}

// contract: E10
#[tokio::test]
async fn what_was_judged_may_be_sent_again_and_is_judged_again() {
    let fixture = open().await;
    let (bus, t, s, id) = (&fixture.left, tenant("acme"), session("s"), clarification());
    let mut taker = bus.inbox.take(&t).await.unwrap();
    for _ in 0..2 {
        let submitted = submit(bus, &answer(&t, &s, id, "ana", "a1")).await;
        let delivery = next(&mut taker).await;
        delivery.acker.ack().await.unwrap();
        delivery.reply.send(&InboxReply::Held).await;
        let reply = within("a verdict on each", submitted.reply).await;
        assert_eq!(reply.unwrap(), InboxReply::Held);
    }
    fixture.close().await;
}

// contract: A4
#[tokio::test]
async fn an_answer_on_its_way_to_the_disk_counts_already() {
    let fixture = open().await;
    let (bus, t, s) = (&fixture.left, tenant("acme"), session("s"));
    for _ in 0..20 {
        let id = clarification();
        let submission = answer(&t, &s, id, "ana", "a1");
        let mut storing = std::pin::pin!(bus.inbox.submit(submission));
        assert!(
            futures::poll!(&mut storing).is_pending(),
            "it waits for the disk"
        );
        let oldest = reached!(bus.inbox.oldest(&t, &s, id));
        assert!(
            oldest.is_some(),
            "nobody may settle as if it were not there"
        );
        storing.await.unwrap();
    }
    fixture.close().await;
}

#[tokio::test]
async fn a_second_opening_is_refused_and_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let (_bus, handle) = embedded::open(dir.path()).unwrap();
    let Err(LedgerError::Unavailable(why)) = embedded::open(dir.path()) else {
        panic!("two openings of one file");
    };
    assert!(why.contains("in use"), "{why}");
    handle.close().await;
    let (_, handle) = embedded::open(dir.path()).unwrap();
    drop(handle);
    embedded::open(dir.path()).unwrap().1.close().await;
}

#[cfg(unix)]
#[tokio::test]
async fn nobody_else_may_read_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    let (_bus, handle) = embedded::open(&home).unwrap();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&home), 0o700);
    assert_eq!(mode(&home.join("askbus.redb")), 0o600);
    handle.close().await;
}

#[tokio::test]
async fn a_foreign_file_is_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("askbus.redb");
    std::fs::write(&path, vec![7_u8; 100_000]).unwrap();
    let refused = embedded::open(dir.path());
    assert!(matches!(refused, Err(LedgerError::Misconfigured(_))));
    assert_eq!(std::fs::read(&path).unwrap(), vec![7_u8; 100_000]);
}

#[tokio::test]
async fn a_full_log_refuses_questions_before_resolutions() {
    let dir = tempfile::tempdir().unwrap();
    let options = EmbeddedOptions {
        max_bytes: 20_000,
        ..EmbeddedOptions::default()
    };
    let (bus, handle) = embedded::open_with(dir.path(), options).unwrap();
    let (t, s) = (tenant("acme"), session("s"));
    let mut last = 0;
    let full = loop {
        let ask = requested(&t, &s, clarification());
        match append(bus.ledger.as_ref(), &ask, last, None).await {
            Ok(seq) => last = seq,
            Err(error) => break error,
        }
    };
    assert!(
        matches!(full, AppendError::Ledger(LedgerError::Full)),
        "{full:?}"
    );
    assert_eq!(
        write(&bus, &held(&t, &s), last).await,
        Some(last + 1),
        "this still fits"
    );
    handle.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_share_a_wait_for_the_disk() {
    let fixture = open().await;
    let t = tenant("acme");
    let started = std::time::Instant::now();
    let writers: Vec<_> = (0..64)
        .map(|i| {
            let (bus, t, s) = (fixture.left.clone(), t.clone(), session(&format!("s{i}")));
            tokio::spawn(async move {
                let mut last = 0;
                for _ in 0..50 {
                    last = write(&bus, &held(&t, &s), last).await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    eprintln!("3200 commits in {:?}", started.elapsed());
    assert_eq!(reached!(fixture.left.ledger.last_seq()), 3200);
    assert_eq!(tail_until(&fixture.left, 1, 3200).await.len(), 3200);
    fixture.close().await;
}
