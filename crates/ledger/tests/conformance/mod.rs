//! What every bus must do, whatever it is made of. Each backing runs all of it.

mod drafts;
mod inboxes;
pub mod samples;

pub use drafts::*;
pub use inboxes::*;

use askbus_domain::{Commit, CommitId, MAX_COMMIT_BYTES, SCHEMA};
use askbus_ledger::{AppendError, Bus, LedgerError, Stored, Submission, Submitted, append};
use askbus_wire::codec::Decoded;
use askbus_wire::messages::Heartbeat;
use samples::{answer, begun, clarification, held, requested, session, tenant};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Long enough for a slow machine; a bus that needs it has failed.
const PATIENCE: Duration = Duration::from_secs(45);

pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let outcome = tokio::time::timeout(PATIENCE, future).await;
    outcome.unwrap_or_else(|_| panic!("not in time: {what}"))
}

/// Repeats `attempt` for as long as the bus cannot be reached.
macro_rules! reached {
    ($attempt:expr) => {
        within(stringify!($attempt), async {
            loop {
                match $attempt.await {
                    Ok(value) => break value,
                    Err(LedgerError::Unavailable(_) | LedgerError::InDoubt(_)) => {
                        tokio::task::yield_now().await;
                    }
                    Err(other) => panic!("{other}"),
                }
            }
        })
        .await
    };
}
pub(crate) use reached;

fn own(stored: &Stored, id: CommitId) -> bool {
    matches!(&stored.decoded, Decoded::Commit(c) if c.commit_id == id)
}

/// Appends until it is known whether this commit is the one that followed `expected`.
pub async fn write(bus: &Bus, commit: &Commit, expected: u64) -> Option<u64> {
    within("an append", async {
        loop {
            match append(bus.ledger.as_ref(), commit, expected, None).await {
                Ok(seq) => return Some(seq),
                Err(AppendError::Conflict) => {
                    let since = reached!(bus.ledger.read_session(
                        &commit.tenant,
                        &commit.session_id,
                        expected + 1
                    ));
                    // Nothing came: a rival was on its way and came to nothing.
                    if let Some(first) = since.first() {
                        return own(first, commit.commit_id).then_some(first.seq);
                    }
                }
                Err(
                    AppendError::Uncertain(_) | AppendError::Ledger(LedgerError::Unavailable(_)),
                ) => {
                    tokio::task::yield_now().await;
                }
                Err(other) => panic!("{other}"),
            }
        }
    })
    .await
}

pub async fn submit(bus: &Bus, submission: &Submission) -> Submitted {
    reached!(bus.inbox.submit(submission.clone()))
}

pub async fn next<T>(receiver: &mut mpsc::Receiver<T>) -> T {
    within("a message", receiver.recv())
        .await
        .expect("it goes on for as long as it is read")
}

pub async fn tail_until(bus: &Bus, from: u64, last: u64) -> Vec<Arc<Stored>> {
    let mut tail = reached!(bus.ledger.tail(from));
    let mut seen: Vec<Arc<Stored>> = Vec::new();
    while seen.last().is_none_or(|m| m.seq < last) {
        seen.push(next(&mut tail).await);
    }
    seen
}

pub fn seqs(messages: &[Arc<Stored>]) -> Vec<u64> {
    messages.iter().map(|m| m.seq).collect()
}

pub async fn guard(bus: &Bus) {
    let (t, one, two) = (tenant("acme"), session("one"), session("two"));
    let first = write(bus, &begun(&t, &one), 0)
        .await
        .expect("the first write of a session");
    assert_eq!(
        write(bus, &held(&t, &one), 0).await,
        None,
        "a second first write"
    );
    let nowhere = bus
        .ledger
        .append_once(&held(&t, &one), first + 7, None)
        .await;
    assert!(nowhere.is_err(), "an expectation from nowhere");
    let other = write(bus, &begun(&t, &two), 0)
        .await
        .expect("another session is not affected");
    let second = write(bus, &held(&t, &one), first)
        .await
        .expect("the expected sequence");
    assert!(first < other && other < second);
    assert_eq!(
        write(bus, &held(&t, &one), first).await,
        None,
        "a stale expectation"
    );
    // The same session name in another tenant is another session.
    assert!(
        write(bus, &begun(&tenant("other"), &one), 0)
            .await
            .is_some()
    );
    assert_eq!(reached!(bus.ledger.last_seq()), second + 1);
}

/// Twelve writers on two connections want the same place, fifty times.
pub async fn race(left: &Bus, right: &Bus) {
    let (t, s) = (tenant("acme"), session("raced"));
    let mut expected = 0;
    for round in 0..50 {
        let writers: Vec<_> = (0..12)
            .map(|i| {
                let bus = if i % 2 == 0 {
                    left.clone()
                } else {
                    right.clone()
                };
                // Different events, so that the subjects of rivals differ too.
                let commit = match i % 3 {
                    0 => begun(&t, &s),
                    1 => requested(&t, &s, clarification()),
                    _ => held(&t, &s),
                };
                tokio::spawn(async move { write(&bus, &commit, expected).await })
            })
            .collect();
        let mut winners = Vec::new();
        for writer in writers {
            winners.extend(writer.await.unwrap());
        }
        assert_eq!(winners.len(), 1, "round {round}: {winners:?}");
        let all = reached!(left.ledger.read_session(&t, &s, 0));
        assert_eq!(all.len(), round + 1, "exactly one message a round");
        expected = winners[0];
        assert_eq!(all.last().map(|m| m.seq), Some(expected));
    }
}

pub async fn repeated_append(bus: &Bus) {
    let (t, s) = (tenant("acme"), session("again"));
    let commit = begun(&t, &s);
    let first = write(bus, &commit, 0).await.unwrap();
    for _ in 0..5 {
        assert_eq!(
            write(bus, &commit, 0).await,
            Some(first),
            "the same commit, the same place"
        );
    }
    let next = write(bus, &held(&t, &s), first).await.unwrap();
    assert_eq!(
        write(bus, &commit, 0).await,
        Some(first),
        "also after others came"
    );
    let all = reached!(bus.ledger.read_session(&t, &s, 0));
    assert_eq!(seqs(&all), [first, next], "written once");
}

pub async fn tail(bus: &Bus) {
    let t = tenant("acme");
    let mut last = [0; 5];
    let mut written = Vec::new();
    // The first half before anybody reads, the second half while they do.
    let mut whole = None;
    for i in 0..400 {
        if i == 200 {
            whole = Some(reached!(bus.ledger.tail(1)));
        }
        let s = session(&format!("s{}", i % 5));
        let commit = held(&t, &s);
        last[i % 5] = write(bus, &commit, last[i % 5]).await.unwrap();
        written.push((last[i % 5], commit));
    }
    let mut whole = whole.unwrap();
    let end = written.last().unwrap().0;
    let mut before = askbus_domain::Timestamp::from_unix_millis(0);
    for (seq, commit) in &written {
        let message = next(&mut whole).await;
        assert_eq!(
            message.seq, *seq,
            "in order, nothing left out, nothing twice"
        );
        assert_eq!(message.decoded, Decoded::Commit(Box::new(commit.clone())));
        assert!(
            message.stored_at >= before,
            "the log's clock never goes back"
        );
        before = message.stored_at;
    }
    let middle = tail_until(bus, 150, end).await;
    assert_eq!(seqs(&middle), (150..=end).collect::<Vec<_>>());
    // From beyond the end: waits for it.
    let mut ahead = reached!(bus.ledger.tail(end + 2));
    let one = write(bus, &held(&t, &session("s0")), last[0])
        .await
        .unwrap();
    let two = write(bus, &held(&t, &session("s0")), one).await.unwrap();
    assert_eq!(next(&mut ahead).await.seq, two);
}

pub async fn read_session(bus: &Bus) {
    let (t, s, other) = (tenant("acme"), session("long"), session("other"));
    assert!(reached!(bus.ledger.read_session(&t, &s, 0)).is_empty());
    assert_eq!(reached!(bus.ledger.last_seq()), 0);
    let (mut last, mut last_other, mut written) = (0, 0, Vec::new());
    for _ in 0..30 {
        last = write(bus, &held(&t, &s), last).await.unwrap();
        written.push(last);
        last_other = write(bus, &held(&t, &other), last_other).await.unwrap();
        // At once: what was acknowledged is never missing from a read.
        let read = reached!(bus.ledger.read_session(&t, &s, last));
        assert_eq!(seqs(&read), [last]);
    }
    assert_eq!(reached!(bus.ledger.last_seq()), last_other);
    assert_eq!(seqs(&reached!(bus.ledger.read_session(&t, &s, 0))), written);
    assert_eq!(
        seqs(&reached!(bus.ledger.read_session(&t, &s, written[27]))),
        written[27..]
    );
    assert_eq!(
        seqs(&reached!(bus.ledger.read_session(&t, &s, written[3] + 1))),
        written[4..]
    );
    assert!(reached!(bus.ledger.read_session(&t, &s, last + 1)).is_empty());
    assert!(reached!(bus.ledger.read_session(&tenant("foreign"), &s, 0)).is_empty());
}

pub async fn read_at(bus: &Bus) {
    let (t, s, other) = (tenant("acme"), session("one"), session("other"));
    assert!(reached!(bus.ledger.read_at(1)).is_none(), "an empty log");
    let (mut last, mut last_other, mut written) = (0, 0, Vec::new());
    for _ in 0..5 {
        last = write(bus, &held(&t, &s), last).await.unwrap();
        last_other = write(bus, &held(&t, &other), last_other).await.unwrap();
        written.extend([(last, s.clone()), (last_other, other.clone())]);
        // At once: what was acknowledged is never missing from a read.
        let read = reached!(bus.ledger.read_at(last_other)).unwrap();
        assert_eq!(read.seq, last_other);
    }
    for (seq, session) in written {
        let read = reached!(bus.ledger.read_at(seq)).unwrap();
        assert_eq!((read.seq, &read.session), (seq, &session));
        let whole = reached!(bus.ledger.read_session(&t, &session, seq));
        assert_eq!(whole.first(), Some(&read));
    }
    for nothing in [0, last_other + 1, u64::MAX] {
        assert!(reached!(bus.ledger.read_at(nothing)).is_none());
    }
}

pub async fn find_requested(bus: &Bus) {
    let (t, s) = (tenant("acme"), session("asking"));
    assert!(
        reached!(bus.ledger.find_requested(&t, clarification())).is_none(),
        "an empty log"
    );
    let mut last = write(bus, &begun(&t, &s), 0).await.unwrap();
    let mut asked = Vec::new();
    for _ in 0..20 {
        let id = clarification();
        last = write(bus, &requested(&t, &s, id), last).await.unwrap();
        asked.push((id, last));
    }
    for (id, seq) in [asked[0], asked[10], asked[19]] {
        let found = reached!(bus.ledger.find_requested(&t, id)).expect("it was asked");
        assert_eq!(found.seq, seq);
        assert!(reached!(bus.ledger.find_requested(&tenant("foreign"), id)).is_none());
    }
    assert!(reached!(bus.ledger.find_requested(&t, clarification())).is_none());
    let no_time = askbus_domain::ClarifyId::from_uuid(uuid::Uuid::nil());
    assert!(reached!(bus.ledger.find_requested(&t, no_time)).is_none());
}

pub async fn unreadable(bus: &Bus) {
    let (t, s) = (tenant("acme"), session("new"));
    let newer = Commit {
        schema: SCHEMA + 1,
        ..held(&t, &s)
    };
    let mut tail = reached!(bus.ledger.tail(1));
    // The writer itself cannot recognise it, so only the tail tells.
    drop(bus.ledger.append_once(&newer, 0, None).await);
    let mut attempts = 0;
    let seen = within("a message of a newer schema", async {
        loop {
            tokio::select! {
                seen = tail.recv() => break seen.unwrap(),
                () = tokio::task::yield_now() => {
                    if reached!(bus.ledger.last_seq()) == 0 {
                        attempts += 1;
                        drop(bus.ledger.append_once(&newer, 0, None).await);
                    }
                }
            }
        }
    })
    .await;
    assert_eq!(
        (seen.tenant.clone(), seen.session.clone()),
        (t.clone(), s.clone()),
        "{attempts}"
    );
    assert!(
        matches!(seen.decoded, Decoded::Unreadable { .. }),
        "{seen:?}"
    );
    assert_eq!(reached!(bus.ledger.read_session(&t, &s, 0)), [seen]);
}

pub async fn too_large(bus: &Bus) {
    let (t, s) = (tenant("acme"), session("big"));
    let mut commit = held(&t, &s);
    let event = commit.events[0].clone();
    commit.events = vec![event; MAX_COMMIT_BYTES / 64];
    let refused = append(bus.ledger.as_ref(), &commit, 0, None).await;
    assert!(
        matches!(refused, Err(AppendError::Ledger(LedgerError::TooLarge(_)))),
        "{refused:?}"
    );
    assert_eq!(reached!(bus.ledger.last_seq()), 0);
}

pub async fn odd_ids(bus: &Bus) {
    let t = tenant("租户 a.b > *");
    let names = [
        "a", "a.b", "a b", "会话", "a>*", "100%", "%2E", "A", "a/b", "a=b",
    ];
    let mut written = Vec::new();
    for name in names {
        written.push(write(bus, &begun(&t, &session(name)), 0).await.expect(name));
    }
    for (name, seq) in names.into_iter().zip(&written) {
        let read = reached!(bus.ledger.read_session(&t, &session(name), 0));
        assert_eq!(seqs(&read), [*seq], "{name}");
        assert_eq!(read[0].session.as_str(), name);
    }
    let id = clarification();
    let mut taker = reached!(bus.inbox.take(&t));
    submit(bus, &answer(&t, &session("会话"), id, "安娜 x.y", "答 1")).await;
    let delivery = next(&mut taker).await;
    assert_eq!(
        (delivery.tenant.as_str(), delivery.session.as_str()),
        (t.as_str(), "会话")
    );
    assert_eq!(delivery.clarify_token, id.to_string());
}

pub async fn trace(bus: &Bus) {
    let (t, s) = (tenant("acme"), session("traced"));
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let commit = begun(&t, &s);
    within("an append", async {
        while append(bus.ledger.as_ref(), &commit, 0, Some(trace))
            .await
            .is_err()
        {}
    })
    .await;
    let seen = tail_until(bus, 1, 1).await;
    assert_eq!(seen[0].trace.as_deref(), Some(trace));
    let mut taker = reached!(bus.inbox.take(&t));
    submit(bus, &answer(&t, &s, clarification(), "ana", "a1")).await;
    assert_eq!(next(&mut taker).await.trace.as_deref(), Some(trace));
}

/// Writes a position until it is known whether this very writing is the one after `expected`.
async fn place(bus: &Bus, name: &str, expected: u64, value: &[u8]) -> Option<u64> {
    within("a position", async {
        loop {
            match bus
                .positions
                .put(&tenant("acme"), name, expected, value)
                .await
            {
                Ok(written) => return written,
                Err(LedgerError::InDoubt(_)) => {
                    let now = reached!(bus.positions.get(&tenant("acme"), name));
                    if let Some(now) = now.filter(|p| p.revision != expected) {
                        return (now.value == value).then_some(now.revision);
                    }
                }
                Err(LedgerError::Unavailable(_)) => tokio::task::yield_now().await,
                Err(other) => panic!("{other}"),
            }
        }
    })
    .await
}

/// A position is written by whoever knows its revision, and by nobody else.
pub async fn positions(bus: &Bus) {
    let (acme, other) = (tenant("acme"), tenant("other"));
    let name = "channel.团队 *>";
    assert_eq!(reached!(bus.positions.get(&acme, name)), None);
    let first = place(bus, name, 0, b"one")
        .await
        .expect("the first writing");
    assert_eq!(place(bus, name, 0, b"rival").await, None);
    let second = place(bus, name, first, b"two").await.expect("the next one");
    assert!(second > first);
    assert_eq!(place(bus, name, first, b"late").await, None);
    let now = reached!(bus.positions.get(&acme, name)).expect("it was written");
    assert_eq!(
        (now.revision, now.value.as_ref()),
        (second, b"two".as_slice())
    );
    assert_eq!(reached!(bus.positions.get(&other, name)), None);
    assert_eq!(reached!(bus.positions.get(&acme, "channel")), None);
    // Of many who know the same revision one writes.
    let rivals = (0..8_u8).map(|n| async move { place(bus, name, second, &[n]).await.map(|_| n) });
    let won: Vec<u8> = futures::future::join_all(rivals)
        .await
        .into_iter()
        .flatten()
        .collect();
    let now = reached!(bus.positions.get(&acme, name)).expect("one of them");
    assert_eq!(now.value.as_ref(), won.as_slice());
    let large = vec![b'x'; MAX_COMMIT_BYTES + 1];
    let refused = bus.positions.put(&acme, name, now.revision, &large).await;
    assert!(matches!(refused, Err(LedgerError::TooLarge(_))));
}

pub async fn alive(publishing: &Bus, watching: &Bus) {
    let mut one = reached!(publishing.alive.watch());
    let mut two = reached!(watching.alive.watch());
    let heartbeat = Heartbeat {
        service: "session-binding".into(),
        instance: "i 1".into(),
        schema: SCHEMA,
        ..Heartbeat::default()
    };
    // One may be lost; instances repeat themselves.
    for watcher in [&mut one, &mut two] {
        let seen = within("a heartbeat", async {
            loop {
                reached!(publishing.alive.publish(&heartbeat));
                let pause = tokio::time::timeout(Duration::from_millis(200), watcher.recv());
                if let Ok(seen) = pause.await {
                    break seen.unwrap();
                }
            }
        })
        .await;
        assert_eq!(seen, heartbeat);
    }
}

/// One test per part of the suite. `$open` makes a fixture with `left`, `right` (two connections
/// to one bus, or twice the same) and `close`.
macro_rules! run_on {
    ($open:path) => {
        run_on!($open: [guard, repeated_append, tail, read_session, read_at, find_requested,
            unreadable, too_large, odd_ids, trace, inbox, inbox_dedupe, inbox_tenants, inbox_redelivery, drafts, guarded_drafts, positions]
            [race, inbox_shared, inbox_reply, alive]);
    };
    ($open:path: [$($one:ident),*] [$($two:ident),*]) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $one() {
            let fixture = $open().await;
            crate::conformance::$one(&fixture.left).await;
            fixture.close().await;
        })*
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $two() {
            let fixture = $open().await;
            crate::conformance::$two(&fixture.left, &fixture.right).await;
            fixture.close().await;
        })*
    };
}
pub(crate) use run_on;
