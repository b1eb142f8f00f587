//! The log on three servers that hold every message together.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[allow(dead_code, unused_imports, unused_macros)]
mod conformance;

use askbus_domain::{Commit, CommitId};
use askbus_ledger::jetstream::{self, JetStreamHandle, JetStreamOptions};
use askbus_ledger::{AppendError, Bus, LedgerError, append};
use askbus_testkit::NatsCluster;
use askbus_wire::codec::Decoded;
use conformance::samples::{begun, clarification, held, requested, session, tenant};
use conformance::{reached, within};
use futures::future::join_all;

/// Rounds in all, each of which has one winner.
const ROUNDS: usize = 1_000;
/// Sessions raced in side by side; the rounds of one session follow each other.
const SESSIONS: usize = 25;
/// Writers that want the same place.
const WRITERS: usize = 8;

/// A connection to each server alone, so that rivals come in by different ones.
async fn open(cluster: &NatsCluster) -> (Vec<Bus>, Vec<JetStreamHandle>) {
    let (mut buses, mut handles) = (Vec::new(), Vec::new());
    for node in 0..3 {
        let user = "session-binding";
        let options = JetStreamOptions {
            user: Some(user.to_owned()),
            password: Some(std::fs::read_to_string(cluster.pass_file(user)).unwrap()),
            replicas: 3,
            log_max_bytes: 64 << 20,
            inbox_max_bytes: 16 << 20,
            drafts_max_bytes: 4 << 20,
            ..JetStreamOptions::new(cluster.url(node).unwrap(), format!("{user}@{node}"))
        };
        let (bus, client, handle) = jetstream::connect(options.clone()).await.unwrap();
        within("the streams", jetstream::ensure_streams(&client, &options))
            .await
            .unwrap();
        buses.push(bus);
        handles.push(handle);
    }
    cluster.in_step("ASKBUS_LOG").await.unwrap();
    (buses, handles)
}

/// What a writer says of its own commit: where it is, or that it lost. It tries again only when it
/// does not know.
async fn claim(bus: &Bus, commit: &Commit, expected: u64) -> Option<u64> {
    within("a claim", async {
        loop {
            match append(bus.ledger.as_ref(), commit, expected, None).await {
                Ok(seq) => return Some(seq),
                Err(AppendError::Conflict) => {
                    let (t, s) = (&commit.tenant, &commit.session_id);
                    let since = reached!(bus.ledger.read_session(t, s, expected + 1));
                    if let Some(first) = since.first() {
                        assert_ne!(id(&first.decoded), Some(commit.commit_id), "it won");
                        return None;
                    }
                    // The rival is still on its way, or came to nothing.
                }
                Err(
                    AppendError::Uncertain(_) | AppendError::Ledger(LedgerError::Unavailable(_)),
                ) => {}
                Err(other) => panic!("{other}"),
            }
        }
    })
    .await
}

fn id(decoded: &Decoded) -> Option<CommitId> {
    match decoded {
        Decoded::Commit(commit) => Some(commit.commit_id),
        Decoded::Unreadable { .. } => None,
    }
}

/// Races for every place of one session; gives the winners in order.
async fn race(buses: &[Bus], name: &str, rounds: usize) -> Vec<(u64, CommitId)> {
    let (t, s) = (tenant("acme"), session(name));
    let (mut expected, mut winners) = (0, Vec::new());
    for _ in 0..rounds {
        // Different events, so that the subjects of rivals differ too.
        let commits: Vec<_> = (0..WRITERS)
            .map(|writer| match writer % 3 {
                0 => begun(&t, &s),
                1 => requested(&t, &s, clarification()),
                _ => held(&t, &s),
            })
            .collect();
        let claims = commits.iter().enumerate().map(|(writer, commit)| {
            let bus = &buses[writer % buses.len()];
            async move { (claim(bus, commit, expected).await, commit.commit_id) }
        });
        let mut won = join_all(claims).await.into_iter();
        let mut won = won.by_ref().filter_map(|(seq, id)| Some((seq?, id)));
        let winner = won.next().expect("somebody wins");
        assert_eq!(won.next(), None, "one alone");
        expected = winner.0;
        winners.push(winner);
    }
    winners
}

// contract: E11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_all_rivals_wins_each_place_and_every_one_knows() {
    let cluster = NatsCluster::start().await.unwrap();
    let (buses, handles) = open(&cluster).await;
    let begun = std::time::Instant::now();
    let rounds = ROUNDS / SESSIONS;
    let names: Vec<_> = (0..SESSIONS).map(|n| format!("raced-{n}")).collect();
    let races = names.iter().map(|name| race(&buses, name, rounds));
    let winners = join_all(races).await;
    let took = begun.elapsed();
    let mut counted = 0;
    for (name, winners) in names.iter().zip(winners) {
        // What the winners were told is what every server's log holds, and nothing else is in it.
        for bus in &buses {
            let (t, s) = (tenant("acme"), session(name));
            let stored = reached!(bus.ledger.read_session(&t, &s, 0));
            let found: Vec<_> = stored
                .iter()
                .map(|m| (m.seq, id(&m.decoded).unwrap()))
                .collect();
            assert_eq!(found, winners);
        }
        counted += winners.len();
    }
    assert_eq!(counted, ROUNDS);
    println!(
        "{counted} rounds of {WRITERS} rivals in {} ms",
        took.as_millis()
    );
    for handle in handles {
        handle.close().await;
    }
}
