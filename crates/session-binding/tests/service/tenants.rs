//! Tenants and profiles see nothing of each other, whatever ids they choose.

use crate::agent::{code, outcome};
use crate::world::{PROFILE, Setup, TENANT, World, says, verdict, within};
use askbus_wire::error::ErrorCode;
use askbus_wire::messages::{InboxBody, InboxReply};
use askbus_wire::proto::attach_event::Event;

on_both!(
    equal_ids_of_two_tenants_do_not_cross,
    an_attachment_hears_its_own_profiles_only,
    each_instance_serves_its_tenants,
);

// contract: E5
async fn equal_ids_of_two_tenants_do_not_cross(world: World) {
    let replica = world.replica().await;
    let ours = world.agent(&replica);
    let theirs = {
        let mut agent = world.agent_of(&replica, "acme", PROFILE);
        agent.asker.clone_from(&ours.asker);
        agent
    };
    let (mut heard, mut overheard) = (ours.attach(&[]).await, theirs.attach(&[]).await);
    let our_context = ours.begin("s").await;
    let their_context = theirs.begin("s").await;
    let our_id = ours.ask(&our_context, "ours?").await;
    let their_id = theirs.ask(&their_context, "theirs?").await;
    let (our_host, their_host) = (world.host(&replica), world.host_of(&replica, "acme"));
    assert_eq!(our_host.pending("s").await, vec![our_id.clone()]);
    assert_eq!(their_host.pending("").await, vec![their_id.clone()]);
    for (agent, id) in [(&ours, &their_id), (&theirs, &our_id)] {
        for refused in [
            agent.try_get(id).await,
            agent.try_wait(id).await,
            agent.try_cancel(id).await,
        ] {
            assert_eq!(code(&refused.unwrap_err()), ErrorCode::UnknownClarification);
        }
    }
    // An answer of one tenant to the other's question is refused.
    let body = InboxBody::Respond(says("eve", "mine now"));
    let reply = verdict(world.submit(("acme", "s", &our_id), body).await).await;
    let InboxReply::Refused { reason, .. } = reply else {
        panic!("{reply:?}")
    };
    assert_eq!(reason, "UNKNOWN_CLARIFICATION");
    let body = InboxBody::Respond(says("bob", "theirs"));
    verdict(world.submit(("acme", "s", &their_id), body).await).await;
    world.answer("s", &our_id, says("ann", "ours")).await;
    // Each attachment hears the one and nothing of the other.
    assert_eq!(
        outcome(&heard.resolved().await).answers[0].text.as_deref(),
        Some("ours")
    );
    assert_eq!(
        outcome(&overheard.resolved().await).answers[0]
            .text
            .as_deref(),
        Some("theirs")
    );
    let mut again = theirs.attach(&[&our_id]).await;
    assert_eq!(
        again.next().await,
        Some(Event::UnknownClarifyId(our_id.clone()))
    );
    // Turns as well: ending one leaves the other alone.
    theirs.end(&their_context, "completed").await.unwrap();
    ours.ask(&our_context, "still?").await;
    let kinds = |events: Vec<askbus_domain::Event>| -> Vec<_> {
        events.iter().map(|e| e.kind().as_str()).collect()
    };
    let ours = kinds(world.events_of(TENANT, "s").await);
    assert_eq!(ours, ["begun", "requested", "resolved", "requested"]);
    let theirs = kinds(world.events_of("acme", "s").await);
    assert_eq!(
        theirs,
        ["begun", "requested", "refused", "resolved", "ended"]
    );
    replica.stop().await;
}

// contract: E5
async fn an_attachment_hears_its_own_profiles_only(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let mut other = world.agent_of(&replica, TENANT, "other");
    other.asker.clone_from(&agent.asker);
    let mut overheard = other.attach(&[]).await;
    let context = agent.begin("s").await;
    let other_context = other.begin("t").await;
    let secret = agent.ask(&context, "secret?").await;
    let own = other.ask(&other_context, "own?").await;
    world.answer("s", &secret, says("ann", "hush")).await;
    world.answer("t", &own, says("bob", "loud")).await;
    let heard = overheard.resolved().await;
    assert_eq!(heard.clarify_id, own);
    replica.stop().await;
}

async fn each_instance_serves_its_tenants(world: World) {
    let only = |tenants| Setup {
        tenants,
        ..Setup::default()
    };
    let theirs = world.replica_with(only("acme"), |bus| bus).await;
    let shared = world.replica_with(only("all,!acme"), |bus| bus).await;
    let agent = world.agent_of(&theirs, "acme", PROFILE);
    let context = agent.begin("s").await;
    let id = agent.ask(&context, "who judges?").await;
    let body = InboxBody::Respond(says("ann", "the right one"));
    let reply = verdict(world.submit(("acme", "s", &id), body).await).await;
    assert!(matches!(reply, InboxReply::Settled { .. }), "{reply:?}");
    let wrong = world.agent_of(&shared, "acme", PROFILE);
    assert_eq!(
        code(&wrong.try_get(&id).await.unwrap_err()),
        ErrorCode::WrongInstance
    );
    // The shared instance learns a tenant from the log and passes over what is not its own.
    let ours = world.agent(&shared);
    let context = ours.begin("s").await;
    let id = ours.ask(&context, "and here?").await;
    within("it is judged", world.answer("s", &id, says("bob", "yes"))).await;
    assert_eq!(theirs.handle.stats().answers(), 1);
    assert_eq!(shared.handle.stats().answers(), 1);
    theirs.stop().await;
    shared.stop().await;
}
