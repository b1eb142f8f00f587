//! A service that stops or starts settles nothing, and nothing is lost meanwhile (E11, E12).

use crate::agent::outcome;
use crate::world::{Setup, TENANT, World, clarify_id, says, session, tenant, verdict, within};
use askbus_domain::{Commit, CommitId, ContextId, Event, Millis, SCHEMA, TurnEnd};
use askbus_session_binding::Listen;
use askbus_wire::messages::{InboxBody, InboxReply};
use askbus_wire::proto::attach_event::Event as Told;
use std::time::{Duration, Instant};
use uuid::Uuid;

on_both!(
    a_restart_cancels_nothing_and_answers_wait_for_it,
    open_streams_end_soon_and_settle_nothing,
    one_replica_goes_and_the_other_goes_on,
);

// contract: E11, E12
async fn a_restart_cancels_nothing_and_answers_wait_for_it(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let mut ids = Vec::new();
    for text in ["answered?", "withdrawn?", "open?", "held?"] {
        ids.push(agent.ask(&context, text).await);
    }
    replica.stop().await;
    let kinds: Vec<_> = world
        .events("s")
        .await
        .iter()
        .map(|e| e.kind().as_str())
        .collect();
    assert_eq!(
        kinds,
        ["begun", "requested", "requested", "requested", "requested"]
    );
    // The service is down; what people send is kept.
    let yes = InboxBody::Respond(says("ann", "yes"));
    let submitted = world.submit((TENANT, "s", &ids[0]), yes).await;

    let replica = world.replica().await;
    assert!(matches!(
        verdict(submitted).await,
        InboxReply::Settled { .. }
    ));
    let agent = agent.moved(&world.agent(&replica));
    agent.try_cancel(&ids[1]).await.unwrap();
    assert_eq!(world.hold("s", &ids[3], "ann").await, InboxReply::Held);
    let open: Vec<_> = ids.iter().map(String::as_str).collect();
    let mut attachment = agent.attach(&open).await;
    let answered = attachment.resolved().await;
    assert_eq!(
        (&answered.clarify_id, outcome(&answered).reason.as_str()),
        (&ids[0], "response")
    );
    let withdrawn = attachment.resolved().await;
    assert_eq!(
        (&withdrawn.clarify_id, outcome(&withdrawn).reason.as_str()),
        (&ids[1], "cancelled")
    );
    let Some(Told::Held(held)) = attachment.next().await else {
        panic!("the held one is told of")
    };
    assert_eq!(held.clarify_id, ids[3]);
    // The old context still asks, and the attachment hears what comes from now on.
    let late = agent.ask(&context, "one more?").await;
    for id in [&ids[2], &late] {
        world.answer("s", id, says("ann", "yes")).await;
        assert_eq!(attachment.resolved().await.clarify_id, *id);
    }
    replica.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_embedded_file_is_all_there_is() {
    let mut world = World::embedded();
    let socket = Setup {
        listen: Listen::Socket(world.dir().join("askbus.sock")),
        ..Setup::default()
    };
    let replica = world.replica_with(socket.clone(), |bus| bus).await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let id = agent.ask(&context, "remember?").await;
    let body = InboxBody::Respond(says("ann", "of course"));
    replica.stop().await;
    drop(world.submit((TENANT, "s", &id), body).await);
    world.reopen().await;
    // The same socket, and the same client finds the service again by itself.
    let replica = world.replica_with(socket, |bus| bus).await;
    let settled = agent.try_wait(&id).await;
    let settled = match settled {
        // The connection of before was still on its way out.
        Err(_) => agent.try_wait(&id).await,
        settled => settled,
    };
    assert_eq!(
        outcome(&settled.unwrap()).answers[0].text.as_deref(),
        Some("of course")
    );
    replica.stop().await;
}

// contract: E11
async fn open_streams_end_soon_and_settle_nothing(world: World) {
    let replica = world.replica_leasing(Millis(1_000)).await;
    let agent = world.agent(&replica);
    let attachment = agent.attach(&[]).await;
    let context = agent.begin_with("s", None).await;
    let mut held = agent.hold(&context).await.unwrap();
    held.confirmed().await;
    let id = agent.ask(&context, "still?").await;
    let waiting = tokio::spawn({
        let (agent, id) = (agent.clone(), id.clone());
        async move { agent.try_wait(&id).await }
    });
    // Its lookup is behind this one of the same connection.
    agent.get(&id).await;
    let begun = Instant::now();
    let (stopped, (), ended) = tokio::join!(
        async {
            replica.stop().await;
            begun.elapsed()
        },
        attachment.closed(),
        held.ended(),
    );
    assert!(stopped <= Duration::from_secs(5), "{stopped:?}");
    // The turn goes on; it is to be held elsewhere.
    assert_eq!(ended, None);
    let waited = waiting.await.unwrap();
    assert!(waited.is_err(), "{waited:?}");
    let kinds: Vec<_> = world
        .events("s")
        .await
        .iter()
        .map(|e| e.kind().as_str())
        .collect();
    assert_eq!(kinds, ["begun", "requested"]);
    // Its lease begins anew with the next start.
    let replica = world.replica_leasing(Millis(1_000)).await;
    let agent = agent.moved(&world.agent(&replica));
    let mut held = agent.hold(&context).await.unwrap();
    held.confirmed().await;
    assert_eq!(agent.get(&id).await.status, "pending");
    replica.stop().await;
}

// contract: E11
async fn one_replica_goes_and_the_other_goes_on(world: World) {
    let (one, two) = (world.replica().await, world.replica().await);
    let agent = world.agent(&one);
    let attachment = agent.attach(&[]).await;
    let context = agent.begin("s").await;
    let first = agent.ask(&context, "first?").await;
    let second = agent.ask(&context, "second?").await;
    let ((), ()) = tokio::join!(one.stop(), attachment.closed());
    world.answer("s", &first, says("ann", "yes")).await;
    let agent = agent.moved(&world.agent(&two));
    let mut attachment = agent.attach(&[&first, &second]).await;
    assert_eq!(attachment.resolved().await.clarify_id, first);
    world.answer("s", &second, says("ann", "no")).await;
    assert_eq!(attachment.resolved().await.clarify_id, second);
    let id = clarify_id(&second);
    world
        .until(
            "the log has it",
            "s",
            |e| matches!(e, Event::Resolved { clarify_id, .. } if *clarify_id == id),
        )
        .await;
    two.stop().await;
}

/// A commit of a version to come.
fn newer(session_name: &str) -> Commit {
    Commit {
        schema: SCHEMA + 1,
        commit_id: CommitId::from_uuid(Uuid::new_v4()),
        tenant: tenant(TENANT),
        session_id: session(session_name),
        at: askbus_domain::Timestamp::from_unix_millis(1_800_000_000_000),
        events: vec![Event::Ended {
            context_id: ContextId::from_uuid(Uuid::new_v4()),
            end: TurnEnd::Completed,
            account: None,
            plan: None,
        }],
    }
}

on_both!(an_old_version_leaves_answers_to_a_newer_one);

// While versions are mixed, an old replica takes answers to sessions that it cannot read any more.
async fn an_old_version_leaves_answers_to_a_newer_one(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let context = agent.begin("new").await;
    let id = agent.ask(&context, "who may judge?").await;
    let context = agent.begin("old").await;
    let other = agent.ask(&context, "and this?").await;
    let (tenant, session) = (tenant(TENANT), session("new"));
    let stored = world.bus.ledger.read_session(&tenant, &session, 1);
    let last = stored.await.unwrap().last().unwrap().seq;
    let commit = newer("new");
    askbus_ledger::append(&*world.bus.ledger, &commit, last, None)
        .await
        .unwrap();
    let answer = InboxBody::Respond(says("ann", "not you"));
    let mut answer = world.submit((TENANT, "new", &id), answer).await;
    let hold = InboxBody::Hold {
        actor: crate::world::actor("bob"),
    };
    let mut hold = world.submit((TENANT, "new", &id), hold).await;
    // Sent later to the same inbox, and judged.
    let reply = world.answer("old", &other, says("ann", "here")).await;
    assert!(matches!(reply, InboxReply::Settled { .. }), "{reply:?}");
    // What was taken is done with before it ends.
    replica.stop().await;
    for submitted in [&mut answer, &mut hold] {
        assert!(submitted.reply.try_recv().is_err(), "nobody could judge");
    }
    let id = clarify_id(&id);
    let left = world.bus.inbox.oldest(&tenant, &session, id);
    assert!(left.await.unwrap().is_some(), "an answer was thrown away");
    let stored = world.bus.ledger.read_session(&tenant, &session, last + 1);
    assert_eq!(stored.await.unwrap().len(), 1, "nothing was written");
}

// The log keeps nothing for ever, and a replica may outlive what it has read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_aged_out_of_the_log_begins_anew() {
    let mut world = World::jetstream().await;
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    for end in ["completed", "stopped"] {
        let context = agent.begin("s").await;
        let id = agent.ask(&context, "remembered?").await;
        agent.try_cancel(&id).await.unwrap();
        agent.end(&context, end).await.unwrap();
        let client = world.nats().client().await.unwrap();
        let filter = askbus_wire::subject::log_session(&tenant(TENANT), &session("s"));
        let purge = serde_json::json!({ "filter": filter }).to_string();
        let purged = client.request("$JS.API.STREAM.PURGE.ASKBUS_LOG", purge.into());
        let purged = within("the session ages", purged).await.unwrap();
        let purged: serde_json::Value = serde_json::from_slice(&purged.payload).unwrap();
        assert_eq!(purged["purged"], 4, "{purged}");
    }
    let context = agent.begin("s").await;
    let id = agent.ask(&context, "once more?").await;
    let reply = world.answer("s", &id, says("ann", "yes")).await;
    assert!(matches!(reply, InboxReply::Settled { .. }), "{reply:?}");
    replica.stop().await;
}
