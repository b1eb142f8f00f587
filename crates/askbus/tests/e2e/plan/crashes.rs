//! Services die while plans are shown: what the log took stays, and counts once.

use super::{ROUTE, begin, host, pair, plans, step, update};
use crate::support::BINARY;
use anyhow::{Context as _, Result};
use askbus_testkit::{AskbusUp, Balancer, NatsServer, Person, Service, Team, Valve, within};
use askbus_wire::codec::{Decoded, decode_commit};
use futures::StreamExt as _;
use serde_json::{Value, json};

// contract: E16 E20
#[tokio::test]
async fn a_killed_service_shows_what_it_stored_and_interrupts_what_nobody_works_on() -> Result<()> {
    let lease = [("ASKBUS_LEASE_MS", "1500")];
    let mut up = AskbusUp::start_with(BINARY, &[], &lease).await?;
    let (host, person) = (host(&up).await?, up.person().await?);
    let context = begin(&host, json!({"session_id": "s", "lease_ms": 1_500})).await?;
    let mut told = 0;
    for _ in 0..20 {
        let reply = host
            .post(ROUTE, &update(&context, &[step("a", "in_progress")]))
            .await?;
        told = reply.body["revision"].as_u64().context("a revision")?;
    }
    up.kill9().await?;
    up.restart().await?;
    // What its host was told is there; and since its host is gone, it does not go on.
    let mut socket = person.socket().await?;
    let first = socket.find(|m| m["event"] == "plan.updated").await?;
    assert!(first["revision"].as_u64() >= Some(told), "{first}");
    let ended = socket
        .find(|m| m["event"] == "plan.updated" && m["execution_state"] == "interrupted")
        .await?;
    assert_eq!(ended["revision"].as_u64(), Some(told + 1));
    assert_eq!(ended["plan"][0]["status"], "pending");
    assert_eq!(
        pair(
            &host
                .post(ROUTE, &update(&context, &[step("a", "pending")]))
                .await?
        )
        .0,
        409
    );
    Ok(())
}

/// Shows the plan under one id for as long as it takes, as a host does.
async fn insist(host: &Person, context: &str, update_id: &str) -> Result<Value> {
    let mut body = update(context, &[step(update_id, "pending")]);
    body["update_id"] = json!(update_id);
    let shown = async {
        loop {
            match host.post(ROUTE, &body).await {
                Ok(reply) if reply.status == 200 => return Ok(reply.body),
                // Whether it was stored is not known: the same again.
                Ok(reply) if reply.status == 503 => {}
                Ok(reply) => anyhow::bail!("{reply:?}"),
                Err(_) => {}
            }
            tokio::task::yield_now().await;
        }
    };
    within("a plan is shown", shown).await?
}

/// How often its service dies.
const ROUNDS: u64 = 6;

// contract: E16
#[tokio::test]
async fn an_update_counts_once_however_often_its_service_dies_before_it_says_so() -> Result<()> {
    let (nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
    let mut binding = team.session_binding(&nats).await?;
    let mut gateway = team.gateway(&nats, &binding.address).await?;
    let address = gateway.address.clone();
    let token = team.credential("host", "acme", "default", "ci").await?;
    let host = Person::bearer(&address, &token)?;
    let context = begin(&host, json!({"session_id": "s", "for_ms": 600_000})).await?;
    for round in 0..ROUNDS {
        let update_id = format!("update-{round}");
        let (asking, at) = (Person::bearer(&gateway.address, &token)?, context.clone());
        let named = update_id.clone();
        let sent = tokio::spawn(async move {
            let mut body = update(&at, &[step(&named, "pending")]);
            body["update_id"] = json!(named);
            asking.post(ROUTE, &body).await
        });
        // Killed on the way, wherever that is: between store and word, or before either.
        tokio::task::yield_now().await;
        if round % 2 == 0 {
            binding.process.kill9().await?;
            binding = team.session_binding(&nats).await?;
        }
        gateway.process.kill9().await?;
        gateway = team.gateway(&nats, &binding.address).await?;
        let host = Person::bearer(&gateway.address, &token)?;
        let shown = insist(&host, &context, &update_id).await?;
        assert_eq!(shown["revision"], round + 1, "{shown}");
        assert_eq!(
            insist(&host, &context, &update_id).await?,
            shown,
            "the first outcome"
        );
        drop(within("the call ends", sent).await??);
    }
    // Who was away through all of it sees the last of it.
    let ann = team
        .person(&gateway.address, "acme", "default", "ann")
        .await?;
    let mut socket = ann.socket().await?;
    let last = socket.find(|m| m["event"] == "plan.updated").await?;
    assert_eq!(last["revision"], ROUNDS);
    // And an older one, sent again, is told what it led to then.
    let host = Person::bearer(&gateway.address, &token)?;
    let old = insist(&host, &context, "update-1").await?;
    assert_eq!(
        (&old["revision"], &old["plan"][0]["id"]),
        (&json!(2), &json!("update-1"))
    );
    assert_eq!(plans(&ann).await?[0]["revision"], ROUNDS);
    Ok(())
}

/// Who goes on with the session whose service died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heir {
    /// Another one, which was there all the time.
    Replica,
    /// One that is started afterwards.
    Successor,
}

/// The revision that stands in the next plan of the log.
async fn stored(told: &mut async_nats::Subscriber) -> Result<u64> {
    let message = within("the log to take a plan", told.next()).await?;
    let message = message.context("the bus is gone")?;
    let Decoded::Commit(commit) = decode_commit(&message.payload) else {
        anyhow::bail!("no commit: {message:?}");
    };
    let shown = commit.events.iter().find_map(|event| match event {
        askbus_domain::Event::Plan { plan, .. } => Some(plan.revision),
        _ => None,
    });
    shown.with_context(|| format!("no plan: {commit:?}"))
}

/// A manager of the room, and nobody else.
async fn manager(team: &Team, gateway: &str, room: &str) -> Result<Person> {
    let keys = team.keys().to_str().context("not UTF-8")?;
    let group = format!("room:{room}");
    let mut args = vec!["credential", "--signing-dir", keys, "issue"];
    args.extend(["--role", "person", "--tenant", "acme", "--sub", "ann"]);
    args.extend(["--group", &group]);
    let done = team.askbus().run(&args).await?;
    anyhow::ensure!(done.code == 0, "{done:?}");
    Person::bearer(gateway, done.stdout.trim())
}

/// The log takes a plan, and before anybody hears of it, its host included, the service that sent it
/// there dies.
async fn it_dies_between_store_and_word(heir: Heir) -> Result<()> {
    let (nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
    let mut log = nats.client().await?.subscribe("clarify.plan.>").await?;
    let (to_binding, to_gateway) = (
        Valve::start(&nats.url()).await?,
        Valve::start(&nats.url()).await?,
    );
    let dying = team.spawn_session_binding_over(&to_binding.url(), &[])?;
    let mut dying = Service::ready(dying).await?;
    let front = Balancer::start(&[&dying.address]).await?;
    let gateway = team.spawn_gateway_over(&to_gateway.url(), &front.url(), &[])?;
    let gateway = Service::ready(gateway).await?;
    let replica = match heir {
        Heir::Replica => Some(team.session_binding(&nats).await?),
        Heir::Successor => None,
    };
    let token = team.credential("host", "acme", "default", "ci").await?;
    let host = Person::bearer(&gateway.address, &token)?;
    let turn =
        json!({"session_id": "chat", "group_chat": true, "room_id": "42", "for_ms": 600_000});
    let context = begin(&host, turn).await?;
    let ann = manager(&team, &gateway.address, "42").await?;
    let mut socket = ann.socket().await?;
    socket
        .send(&json!({"event": "room.join", "roomId": "42"}))
        .await?;
    let joined = socket.find(|m| m["event"] == "room.joined").await?;
    assert_eq!(joined["plans"], json!([]), "{joined}");

    to_gateway.shut();
    to_binding.shut_at("askbus.log.plan.");
    let mut body = update(&context, &[step("first", "pending")]);
    body["update_id"] = json!("first");
    let asking = tokio::spawn({
        let (host, body) = (host.clone(), body.clone());
        async move { host.post(ROUTE, &body).await }
    });
    to_binding.is_shut().await?;
    assert_eq!(stored(&mut log).await?, 1);
    // The log has it. Nobody was told: not who sent it, and no surface.
    assert!(!asking.is_finished(), "its host was told");
    assert_eq!(plans(&ann).await?, Vec::<Value>::new());
    dying.process.kill9().await?;
    let told = within("the call ends", asking).await???;
    assert_eq!(told.status, 503, "{told:?}");
    let heir = match replica {
        Some(replica) => replica,
        None => team.session_binding(&nats).await?,
    };
    front.retarget(&[&heir.address]);
    to_gateway.open();

    // The room sees that revision, and the same call again makes no second one.
    let seen = socket.find(|m| m["event"] == "plan.updated").await?;
    assert_eq!(
        (&seen["revision"], &seen["room_id"], &seen["plan"]),
        (&json!(1), &json!("42"), &body["plan"])
    );
    let again = insist(&host, &context, "first").await?;
    for field in ["plan_id", "revision", "created_at", "updated_at", "plan"] {
        assert_eq!(again[field], seen[field], "{field}: {again}");
    }
    let next = insist(&host, &context, "second").await?;
    assert_eq!(
        (&next["revision"], &next["plan_id"]),
        (&json!(2), &seen["plan_id"])
    );
    let seen = socket.find(|m| m["event"] == "plan.updated").await?;
    assert_eq!(seen["revision"], 2, "{seen}");
    assert_eq!(stored(&mut log).await?, 2, "the log holds each once");
    Ok(())
}

// contract: E16 E18
#[tokio::test]
async fn stored_and_told_to_nobody_a_plan_is_shown_and_counts_once() -> Result<()> {
    it_dies_between_store_and_word(Heir::Successor).await
}

// contract: E16 E18
#[tokio::test]
async fn stored_and_told_to_nobody_a_plan_is_known_to_another_replica() -> Result<()> {
    it_dies_between_store_and_word(Heir::Replica).await
}
