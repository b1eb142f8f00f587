//! Three NATS servers: what dies of them, and what then. How long each recovery took is printed.

mod crowd;
mod partition;
mod stage;

use crate::support::id;
use anyhow::{Context as _, Result};
use askbus_testkit::Askbus;
use crowd::{Crowd, Taken, right_answer, right_label};
use stage::{INBOX, LOG, Stage, took};
use std::time::{Duration, Instant};

/// Between two answers of a person who is quick.
const QUICK: Duration = Duration::from_millis(20);

/// The nodes that are not this one.
fn others(node: usize) -> [usize; 2] {
    [(node + 1) % 3, (node + 2) % 3]
}

/// Prints when the first answer after `since` was taken, when the first was judged at once, how long
/// an author waited at most, and how many were told to try again.
fn tell(what: &str, since: Instant, taken: &[Taken]) {
    let after = |judged: bool| {
        let these = taken
            .iter()
            .filter(|t| t.at > since && (t.judged || !judged));
        these.map(|t| t.at.duration_since(since).as_millis()).min()
    };
    let waited = taken.iter().map(|t| t.waited.as_millis()).max();
    let refusals: u32 = taken.iter().map(|t| t.refusals).sum();
    println!(
        "{what}: first answer taken after {:?} ms, first judged at once after {:?} ms, an \
         author waited {:?} ms at most, told to try again {refusals} times",
        after(false),
        after(true),
        waited
    );
}

// contract: E11 E12
#[tokio::test]
async fn the_leader_dies_while_questions_wait_and_answers_flow() -> Result<()> {
    let mut stage = Stage::start().await?;
    let mut crowd = Crowd::gather(&stage, 3).await?;
    for stream in [LOG, INBOX] {
        crowd.ask(12).await?;
        crowd.all_shown().await?;
        let leader = stage.nats.leader(0, stream).await?;
        let answering = crowd.answer(16, QUICK);
        // A few are answered before; who answers them is told on a socket.
        let mut socket = crowd.person.socket().await?;
        for _ in 0..3 {
            socket.find(|m| m["event"] == "clarify.resolved").await?;
        }
        stage.nats.kill9(leader).await?;
        let killed = Instant::now();
        crowd.ask(4).await?;
        let taken = answering.done().await?;
        tell(&format!("the leader of {stream} killed"), killed, &taken);
        crowd.settle(&stage, others(leader)[0]).await?;
        took(
            &format!("the leader of {stream} killed: all settled"),
            killed,
        );
        stage.nats.restart(leader)?;
        stage.nats.healthy().await?;
        stage.nats.in_step(stream).await?;
    }
    Ok(())
}

/// What is refused is refused in words, and what waits goes on waiting.
// contract: E11 E12
#[tokio::test]
async fn without_a_majority_nothing_is_pretended_and_later_all_goes_on() -> Result<()> {
    let mut stage = Stage::start().await?;
    let mut crowd = Crowd::gather(&stage, 2).await?;
    crowd.ask(6).await?;
    crowd.all_shown().await?;
    let waiting = crowd.person.pending().await?;
    let leader = stage.nats.leader(0, LOG).await?;
    let [other, left] = others(leader);
    stage.nats.kill9(leader).await?;
    stage.nats.kill9(other).await?;

    let shown = waiting.first().context("nothing waits")?;
    let refused = crowd
        .person
        .answer(id(shown), &right_answer(shown)?)
        .await?;
    assert_eq!(refused.status, 503, "{refused:?}");
    assert_eq!(refused.body["reason"], "UNAVAILABLE", "{refused:?}");
    let terminal = client(&stage, "person", "bob").await?;
    let kept = terminal
        .run(&["answer", id(shown), "--choose", right_label(shown)?])
        .await?;
    assert_eq!(kept.code, 75, "kept, try again: {kept:?}");
    let script = client(&stage, "agent", "script").await?;
    let done = script.run(&["ask", "Is anybody there?"]).await?;
    assert_eq!(done.code, 69, "{done:?}");
    assert!(done.stderr.contains("LOG_UNAVAILABLE"), "{done:?}");
    let still = crowd.person.pending().await?;
    assert_eq!(still.len(), waiting.len(), "{still:?}");

    stage.nats.restart(leader)?;
    stage.nats.restart(other)?;
    let back = Instant::now();
    crowd.ask(2).await?;
    let taken = crowd.answer(8, QUICK).done().await?;
    tell("two of three servers back", back, &taken);
    stage.nats.healthy().await?;
    crowd.settle(&stage, left).await?;
    took("two of three servers back: all settled", back);
    Ok(())
}

/// The program as somebody of the tenant runs it at the gateway.
async fn client(stage: &Stage, role: &str, name: &str) -> Result<Askbus> {
    let token = stage.team.credential(role, "acme", "default", name).await?;
    stage.team.client(&stage.gateway.address, &token)
}

/// As an operator brings a new version onto the servers: one after the other, each told to leave.
// contract: E11 E12
#[tokio::test]
async fn servers_are_restarted_one_by_one_and_nobody_notices() -> Result<()> {
    let mut stage = Stage::start().await?;
    let mut crowd = Crowd::gather(&stage, 2).await?;
    for node in 0..3 {
        crowd.ask(6).await?;
        crowd.all_shown().await?;
        let begun = Instant::now();
        let answering = crowd.answer(8, Duration::from_millis(300));
        stage.nats.retire(node).await?;
        took(&format!("server {node} left"), begun);
        crowd.ask(2).await?;
        stage.nats.restart(node)?;
        let taken = answering.done().await?;
        tell(&format!("server {node} restarted"), begun, &taken);
        crowd.settle(&stage, others(node)[0]).await?;
        stage.nats.healthy().await?;
        for stream in [LOG, INBOX] {
            stage.nats.in_step(stream).await?;
        }
        took(&format!("server {node} in step again"), begun);
    }
    Ok(())
}
