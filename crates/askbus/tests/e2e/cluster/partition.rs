//! Hosts that cannot reach each other: each server and service in a network namespace of its own.
//! This needs root.

use super::crowd::{Crowd, right_answer};
use super::stage::{INBOX, LOG, SERVICES, Stage, took};
use super::{QUICK, others, tell};
use crate::support::id;
use anyhow::{Context as _, Result};
use std::time::Instant;

const NODES: [&str; 3] = ["n1", "n2", "n3"];

fn host(node: usize) -> Result<&'static str> {
    NODES.get(node).copied().context("no such node")
}

// contract: E11 E12
#[tokio::test]
async fn a_leader_alone_is_replaced_and_follows_when_it_is_back() -> Result<()> {
    let mut stage = Stage::start_on_a_network().await?;
    let mut crowd = Crowd::gather(&stage, 2).await?;
    crowd.ask(8).await?;
    crowd.all_shown().await?;
    let leader = stage.nats.leader(0, LOG).await?;
    for other in others(leader) {
        stage.network()?.cut(host(leader)?, host(other)?).await?;
    }
    let cut = Instant::now();
    // The services reach all three; those at the leader's have to find out.
    let answering = crowd.answer(12, QUICK);
    crowd.ask(4).await?;
    let taken = answering.done().await?;
    tell("the leader cut off", cut, &taken);
    crowd.settle(&stage, others(leader)[0]).await?;
    took("the leader cut off: all settled", cut);
    for (name, _) in SERVICES {
        stage.connected(name, |node| node != leader).await?;
    }
    took("the leader cut off: every service at another server", cut);

    stage.network()?.heal().await?;
    let healed = Instant::now();
    stage.nats.healthy().await?;
    for stream in [LOG, INBOX] {
        stage.nats.in_step(stream).await?;
    }
    took("the leader back: in step", healed);
    crowd.ask(2).await?;
    crowd.answer(2, QUICK).done().await?;
    crowd.settle(&stage, leader).await?;
    took("the leader back: all settled", healed);
    Ok(())
}

// contract: E11 E12
#[tokio::test]
async fn all_servers_alone_pretend_nothing_and_go_on_later() -> Result<()> {
    let mut stage = Stage::start_on_a_network().await?;
    let mut crowd = Crowd::gather(&stage, 2).await?;
    crowd.ask(4).await?;
    crowd.all_shown().await?;
    let waiting = crowd.person.pending().await?;
    for (one, other) in [("n1", "n2"), ("n2", "n3"), ("n1", "n3")] {
        stage.network()?.cut(one, other).await?;
    }
    let shown = waiting.first().context("nothing waits")?;
    let refused = crowd
        .person
        .answer(id(shown), &right_answer(shown)?)
        .await?;
    assert_eq!(refused.status, 503, "{refused:?}");
    stage.network()?.heal().await?;
    let healed = Instant::now();
    crowd.ask(2).await?;
    let taken = crowd.answer(6, QUICK).done().await?;
    tell("all servers together again", healed, &taken);
    crowd.settle(&stage, 0).await?;
    took("all servers together again: all settled", healed);
    Ok(())
}

// contract: E11 E12
#[tokio::test]
async fn services_cut_off_from_their_server_go_to_another() -> Result<()> {
    let mut stage = Stage::start_on_a_network().await?;
    let mut crowd = Crowd::gather(&stage, 2).await?;
    crowd.ask(8).await?;
    crowd.all_shown().await?;
    for (name, place) in SERVICES {
        let node = host(stage.connected(name, |_| true).await?)?;
        stage.network()?.cut(place, node).await?;
    }
    let cut = Instant::now();
    let answering = crowd.answer(12, QUICK);
    crowd.ask(4).await?;
    let taken = answering.done().await?;
    tell("every service cut off from its server", cut, &taken);
    crowd.settle(&stage, 0).await?;
    took("every service cut off from its server: all settled", cut);
    stage.network()?.heal().await?;
    crowd.ask(2).await?;
    crowd.answer(2, QUICK).done().await?;
    crowd.settle(&stage, 0).await?;
    Ok(())
}
