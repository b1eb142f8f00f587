//! Who is there when a question is asked, and what follows when nobody is (A6, D9). The tests play
//! the gateways by their heartbeats.

use crate::agent::{Agent, outcome, question};
use crate::world::{PROFILE, Replica, Setup, TENANT, World, session, tenant, within};
use askbus_domain::{
    GroupId, PersonId, PolicyLayer, PolicyTable, ProfileId, Rights, TenantPolicy, WhenAbsent,
};
use askbus_wire::messages::{Heartbeat, PersonPresent};
use askbus_wire::proto::addressee::To;
use askbus_wire::proto::{Addressee, AskResponse, BeginTurnRequest, TurnPolicy};
use std::time::Duration;

on_both!(
    one_who_may_answer_and_is_there_is_enough_whichever_gateway_names_them,
    a_fresh_replica_waits_until_it_has_heard_of_everybody,
    the_narrower_of_tenant_profile_turn_and_call_decides,
);

fn person(name: &str, profile: &str) -> PersonPresent {
    PersonPresent {
        tenant: tenant(TENANT),
        person: PersonId::new(name).unwrap(),
        profiles: vec![ProfileId::new(profile).unwrap()],
        rights: Rights::default(),
        session: None,
        ago_ms: 0,
    }
}

/// What a gateway says of who is there.
async fn named(world: &World, gateway: &str, people: Vec<PersonPresent>) {
    let heartbeat = Heartbeat {
        service: "gateway".into(),
        instance: gateway.into(),
        people,
        ..Heartbeat::default()
    };
    let said = world.bus.alive.publish(&heartbeat);
    within("the heartbeat goes out", said).await.unwrap();
}

fn when_absent(choice: WhenAbsent) -> PolicyTable {
    let layer = PolicyLayer {
        when_absent: Some(choice),
        ..PolicyLayer::default()
    };
    PolicyTable {
        all: layer,
        ..PolicyTable::default()
    }
}

async fn replica(world: &World, policy: PolicyTable) -> Replica {
    let setup = Setup {
        policy,
        ..Setup::default()
    };
    world.replica_with(setup, |bus| bus).await
}

/// Asks in a turn of its own; a person or a group may be meant.
async fn ask_in(agent: &Agent, session: &str, to: Option<To>) -> AskResponse {
    let context = agent.begin(session).await;
    let mut request = agent.ask_request(&context, "ask", question("May I?"));
    request.to = to.map(|to| Addressee { to: Some(to) });
    agent.try_ask(request).await.unwrap()
}

fn settled_as(asked: &AskResponse) -> Option<&str> {
    let outcome = asked.settled.as_ref()?.outcome.as_ref();
    outcome.map(|o| o.reason.as_str())
}

/// Asks again, in another turn, until the heartbeat that was sent has been heard.
async fn until_waits(agent: &Agent, name: &str, to: Option<To>) {
    let waits = async {
        for round in 0.. {
            let asked = ask_in(agent, &format!("{name}-{round}"), to.clone()).await;
            if settled_as(&asked).is_none() {
                return;
            }
        }
    };
    within(
        "the question waits for the person who is there",
        Box::pin(waits),
    )
    .await;
}

// contract: A6, D9
async fn one_who_may_answer_and_is_there_is_enough_whichever_gateway_names_them(world: World) {
    let replica = replica(&world, when_absent(WhenAbsent::Deferred)).await;
    let agent = world.agent(&replica);
    // Somebody is there who may not answer this profile's questions, and somebody who left long ago.
    let gone = PersonPresent {
        ago_ms: 15_001,
        ..person("bob", PROFILE)
    };
    named(&world, "one", vec![person("ann", "other"), gone]).await;
    let asked = ask_in(&agent, "nobody", None).await;
    assert_eq!(settled_as(&asked), Some("deferred"));
    let outcome = asked.settled.and_then(|settled| settled.outcome).unwrap();
    assert_eq!(outcome.decided_by, "policy");
    assert!(outcome.answers.is_empty() && outcome.actor.is_none());

    named(&world, "two", vec![person("bob", PROFILE)]).await;
    Box::pin(until_waits(&agent, "bob", None)).await;
    // Who looks at one session only is there for that one.
    let looking = PersonPresent {
        session: Some(session("watched")),
        ..person("eve", PROFILE)
    };
    let ops = PersonPresent {
        rights: Rights {
            groups: vec![GroupId::new("ops").unwrap()],
            operator: false,
        },
        ..person("joe", PROFILE)
    };
    let to_eve = || Some(To::Person("eve".into()));
    let to_ops = || Some(To::Group("ops".into()));
    let asked = ask_in(&agent, "to-ops", to_ops()).await;
    assert_eq!(settled_as(&asked), Some("deferred"), "bob is not of ops");
    named(&world, "one", vec![looking, ops]).await;
    Box::pin(until_waits(&agent, "ops", to_ops())).await;
    let asked = ask_in(&agent, "not-watched", to_eve()).await;
    assert_eq!(settled_as(&asked), Some("deferred"));
    let asked = ask_in(&agent, "watched", to_eve()).await;
    assert_eq!(settled_as(&asked), None);
    replica.stop().await;
}

// contract: D9
async fn a_fresh_replica_waits_until_it_has_heard_of_everybody(world: World) {
    let replica = replica(&world, when_absent(WhenAbsent::Deferred)).await;
    let agent = world.agent(&replica);
    let asking = ask_in(&agent, "s", None);
    tokio::pin!(asking);
    // A gateway says every five seconds who is there; here it does so once the question is asked.
    let mut pace = tokio::time::interval(Duration::from_millis(500));
    pace.tick().await;
    let asked = loop {
        tokio::select! {
            asked = &mut asking => break asked,
            _ = pace.tick() => named(&world, "one", vec![person("ann", PROFILE)]).await,
        }
    };
    assert_eq!(settled_as(&asked), None, "{asked:?}");
    replica.stop().await;
}

// contract: A6
async fn the_narrower_of_tenant_profile_turn_and_call_decides(world: World) {
    let layer = |choice| PolicyLayer {
        when_absent: Some(choice),
        ..PolicyLayer::default()
    };
    let own = TenantPolicy {
        layer: layer(WhenAbsent::Deferred),
        profiles: [(
            ProfileId::new(PROFILE).unwrap(),
            layer(WhenAbsent::Unattended),
        )]
        .into(),
        ..TenantPolicy::default()
    };
    let table = PolicyTable {
        tenants: [(tenant(TENANT), own)].into(),
        ..PolicyTable::default()
    };
    let replica = replica(&world, table).await;
    let begin = |when_absent: &str, session: &str| BeginTurnRequest {
        session_id: session.into(),
        policy: Some(TurnPolicy {
            when_absent: when_absent.into(),
            ..TurnPolicy::default()
        }),
        ..BeginTurnRequest::default()
    };
    let (agent, of_other) = (
        world.agent(&replica),
        world.agent_of(&replica, TENANT, "other"),
    );
    let cases = [
        (&of_other, "", "", Some("deferred")),
        (&agent, "", "", Some("unattended")),
        (&agent, "deferred", "", Some("deferred")),
        (&agent, "deferred", "unattended", Some("unattended")),
        (&agent, "deferred", "wait", None),
        (&agent, "wait", "", None),
    ];
    for (n, (agent, turn, call, expected)) in cases.into_iter().enumerate() {
        let name = format!("s{n}");
        let context = agent
            .try_begin(begin(turn, &name))
            .await
            .unwrap()
            .context_id;
        let mut request = agent.ask_request(&context, "ask", question("May I?"));
        request.when_absent = call.into();
        let asked = agent.try_ask(request).await.unwrap();
        assert_eq!(settled_as(&asked), expected, "{turn:?} {call:?}");
        let clarification = agent.get(&asked.clarify_id).await;
        if expected.is_some() {
            assert!(outcome(&clarification).actor.is_none());
        }
        // What was asked and settled at once is one commit.
        let events = world.events(&name).await;
        assert_eq!(events.len(), 2 + usize::from(expected.is_some()));
    }
    replica.stop().await;
}
