//! Words that come late or from a newer version, questions meant for somebody, and twins.

use crate::agent::{Agent, outcome, question};
use crate::world::{Setup, TENANT, World, actor, says, says_as, verdict, within};
use askbus_domain::{AnswerId, Event, GoesOn, Rights, SCHEMA};
use askbus_ledger::Submission;
use askbus_wire::messages::{InboxBody, InboxMessage, InboxReply};
use askbus_wire::proto;
use std::time::Duration;

on_both!(
    a_late_message_rides_with_the_next_result_once,
    a_late_message_rides_with_the_next_turn_of_a_host,
    an_answer_that_lost_is_sent_on_by_its_author,
    a_question_meant_for_somebody_is_theirs_to_answer,
    identical_questions_of_one_asker_are_one,
    a_late_message_to_an_agent_that_is_gone_goes_nowhere,
    five_late_messages_wait_and_a_sixth_is_sent_on_once_there_is_room,
    a_sub_agents_question_names_the_session_above,
);

fn pass_on(name: &str, answer_id: &str, pass_id: &str) -> InboxBody {
    InboxBody::PassOn {
        actor: actor(name),
        answer_id: AnswerId::new(answer_id).unwrap(),
        pass_id: AnswerId::new(pass_id).unwrap(),
    }
}

fn late_texts(outcome: &proto::Outcome) -> Vec<String> {
    let text = |m: &proto::LateMessage| m.answers[0].text.clone().unwrap_or_default();
    outcome.late.iter().map(text).collect()
}

async fn timed_out(agent: &Agent, context: &str, text: &str) -> String {
    let asked = agent.ask_for(context, text, 1.0).await;
    let settled = agent.try_wait(&asked.clarify_id).await.unwrap();
    assert_eq!(outcome(&settled).mode, "timed_out");
    asked.clarify_id
}

// contract: E10
async fn a_late_message_rides_with_the_next_result_once(world: World) {
    let (one, two) = (world.replica().await, world.replica().await);
    let agent = world.agent(&one);
    let context = agent.begin("s").await;
    let id = timed_out(&agent, &context, "in time?").await;
    let reply = world.answer("s", &id, says("ann", "a little later")).await;
    let InboxReply::Late { goes_on, .. } = reply else {
        panic!("{reply:?}")
    };
    assert_eq!(goes_on, Some(GoesOn::NextResult));
    let elsewhere = agent.moved(&world.agent(&two));
    for expected in [&["a little later"][..], &[]] {
        let id = elsewhere.ask(&context, "and now?").await;
        world.answer("s", &id, says("ann", "yes")).await;
        let settled = agent.try_wait(&id).await.unwrap();
        let outcome = outcome(&settled);
        assert_eq!(
            (outcome.reason.as_str(), outcome.mode.as_str()),
            ("response", "answered")
        );
        assert_eq!(late_texts(outcome), expected);
    }
    one.stop().await;
    two.stop().await;
}

// contract: E14
async fn a_late_message_rides_with_the_next_turn_of_a_host(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let id = timed_out(&agent, &context, "in time?").await;
    agent.end(&context, "completed").await.unwrap();
    replica.stop().await;
    // It waits in the log, not in a process.
    let replica = world.replica().await;
    let reply = world.answer("s", &id, says("ann", "do it")).await;
    let InboxReply::Late { goes_on, .. } = reply else {
        panic!("{reply:?}")
    };
    assert_eq!(goes_on, Some(GoesOn::NextTurn));
    let agent = agent.moved(&world.agent(&replica));
    for expected in [1, 0] {
        let request = proto::BeginTurnRequest {
            session_id: "s".into(),
            ..Default::default()
        };
        let begun = agent.try_begin(request).await.unwrap();
        assert_eq!(begun.late.len(), expected);
    }
    replica.stop().await;
}

// contract: E10
async fn an_answer_that_lost_is_sent_on_by_its_author(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let id = agent.ask(&context, "which?").await;
    world.answer("s", &id, says("ann", "this one")).await;
    let lost = world
        .answer("s", &id, says_as("b1", "bob", "that one"))
        .await;
    assert!(matches!(lost, InboxReply::Conflict { .. }), "{lost:?}");
    let foreign = pass_on("ann", "b1", "p0");
    let refused = verdict(world.submit((TENANT, "s", &id), foreign).await).await;
    assert!(
        matches!(&refused, InboxReply::Refused { reason, .. } if reason == "INVALID_ANSWER"),
        "{refused:?}"
    );
    let sent = InboxReply::PassedOn {
        goes_on: GoesOn::NextResult,
    };
    for pass_id in ["p1", "p2"] {
        let body = pass_on("bob", "b1", pass_id);
        let told = verdict(world.submit((TENANT, "s", &id), body).await).await;
        assert_eq!(told, sent, "{pass_id}");
    }
    // Of an earlier turn by now; what was sent on went with its instruction.
    agent.begin("s").await;
    let body = pass_on("bob", "b1", "p3");
    let told = verdict(world.submit((TENANT, "s", &id), body).await).await;
    assert_eq!(told, sent);
    replica.stop().await;
    let events = world.events("s").await;
    let passed = |e: &&Event| matches!(e, Event::PassedOn { .. });
    assert_eq!(events.iter().filter(passed).count(), 1);
    let rode = events.iter().filter_map(|e| match e {
        Event::Begun { turn } => Some(turn.late.len()),
        _ => None,
    });
    assert_eq!(rode.collect::<Vec<_>>(), [0, 1]);
}

async fn a_question_meant_for_somebody_is_theirs_to_answer(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let mut request = agent.ask_request(&context, "ask", question("who?"));
    request.to = Some(proto::Addressee {
        to: Some(proto::addressee::To::Group("ops".into())),
    });
    let id = agent.try_ask(request).await.unwrap().clarify_id;
    let group = agent.get(&id).await.to.unwrap().to;
    assert_eq!(group, Some(proto::addressee::To::Group("ops".into())));
    let refused = world.answer("s", &id, says("bob", "me")).await;
    assert!(
        matches!(&refused, InboxReply::Refused { reason, .. } if reason == "NOT_ADDRESSED"),
        "{refused:?}"
    );
    assert_eq!(agent.get(&id).await.status, "pending");
    let rights = Rights {
        groups: vec![askbus_domain::GroupId::new("ops").unwrap()],
        operator: false,
    };
    let body = InboxBody::Respond(says("ann", "us"));
    let taken = verdict(submit(&world, &id, InboxMessage::new(0, rights, body)).await).await;
    assert!(matches!(taken, InboxReply::Settled { .. }), "{taken:?}");
    replica.stop().await;
}

fn way(reply: &InboxReply) -> Option<GoesOn> {
    let InboxReply::Late { goes_on, .. } = reply else {
        panic!("{reply:?}")
    };
    *goes_on
}

// An asking process that began its own turn does not come again.
async fn a_late_message_to_an_agent_that_is_gone_goes_nowhere(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let own = proto::BeginTurnRequest {
        session_id: "s".into(),
        life: Some(proto::begin_turn_request::Life::AskerId(
            agent.asker.clone(),
        )),
        ..Default::default()
    };
    let _attached = agent.attach(&[]).await;
    let context = agent.try_begin(own).await.unwrap().context_id;
    let id = timed_out(&agent, &context, "in time?").await;
    agent.end(&context, "completed").await.unwrap();
    let answer = says_as("a1", "ann", "too late");
    let reply = world.answer("s", &id, answer).await;
    assert_eq!(way(&reply), Some(GoesOn::Nowhere));
    // Its author may try, and is told again that nobody is there.
    let body = pass_on("ann", "a1", "p1");
    let told = verdict(world.submit((TENANT, "s", &id), body).await).await;
    let nowhere = InboxReply::PassedOn {
        goes_on: GoesOn::Nowhere,
    };
    assert_eq!(told, nowhere);
    replica.stop().await;
}

async fn five_late_messages_wait_and_a_sixth_is_sent_on_once_there_is_room(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let id = timed_out(&agent, &context, "in time?").await;
    for n in 1..=6 {
        let answer = says_as(&format!("a{n}"), "ann", &format!("late {n}"));
        let expected = if n <= 5 {
            GoesOn::NextResult
        } else {
            GoesOn::QueueFull
        };
        let reply = world.answer("s", &id, answer).await;
        assert_eq!(way(&reply), Some(expected), "{n}");
    }
    let told = |goes_on| InboxReply::PassedOn { goes_on };
    let full = verdict(
        world
            .submit((TENANT, "s", &id), pass_on("ann", "a6", "p1"))
            .await,
    )
    .await;
    assert_eq!(full, told(GoesOn::QueueFull));
    let next = agent.ask(&context, "and now?").await;
    world.answer("s", &next, says("ann", "yes")).await;
    let settled = agent.try_wait(&next).await.unwrap();
    let all = ["late 1", "late 2", "late 3", "late 4", "late 5"];
    assert_eq!(late_texts(outcome(&settled)), all);
    let sent = verdict(
        world
            .submit((TENANT, "s", &id), pass_on("ann", "a6", "p2"))
            .await,
    )
    .await;
    assert_eq!(sent, told(GoesOn::NextResult));
    let last = agent.ask(&context, "anything else?").await;
    world.answer("s", &last, says("ann", "no")).await;
    let settled = agent.try_wait(&last).await.unwrap();
    assert_eq!(late_texts(outcome(&settled)), ["late 6"]);
    replica.stop().await;
}

// contract: D15
async fn a_sub_agents_question_names_the_session_above(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let above = |session: &str, name: &str| proto::Parent {
        session_id: session.into(),
        name: name.into(),
    };
    let begin = proto::BeginTurnRequest {
        session_id: "s".into(),
        parent: Some(above("main", "reviewer")),
        ..Default::default()
    };
    let context = agent.try_begin(begin).await.unwrap().context_id;
    // The turn's, unless the call says it more exactly.
    let own = Some(above("other", "tester"));
    for (said, expected) in [
        (None, above("main", "reviewer")),
        (own, above("other", "tester")),
    ] {
        let request = proto::AskRequest {
            parent: said,
            ..agent.ask_request(&context, "ask", question("May I?"))
        };
        let id = agent.try_ask(request).await.unwrap().clarify_id;
        assert_eq!(agent.get(&id).await.parent, Some(expected));
    }
    replica.stop().await;
}

async fn submit(world: &World, id: &str, message: InboxMessage) -> askbus_ledger::Submitted {
    let submission = Submission {
        tenant: crate::world::tenant(TENANT),
        session: crate::world::session("s"),
        clarify_id: crate::world::clarify_id(id),
        message,
        trace: None,
    };
    let submitted = world.bus.inbox.submit(submission);
    within("the inbox has it", submitted).await.unwrap()
}

async fn identical_questions_of_one_asker_are_one(world: World) {
    let (one, two) = (world.replica().await, world.replica().await);
    let agent = world.agent(&one);
    let elsewhere = agent.moved(&world.agent(&two));
    let context = agent.begin("s").await;
    let request = agent.ask_request(&context, "ask", question("same?"));
    let first = agent.try_ask(request.clone()).await.unwrap();
    let second = elsewhere.try_ask(request.clone()).await.unwrap();
    assert!(!first.reattached && second.reattached);
    assert_eq!(first.clarify_id, second.clarify_id);
    let asked = |e: &&Event| matches!(e, Event::Requested { .. });
    let events = world.events("s").await;
    assert_eq!(events.iter().filter(asked).count(), 1);
    world
        .answer("s", &first.clarify_id, says("ann", "yes"))
        .await;
    let anew = elsewhere.try_ask(request).await.unwrap();
    assert!(!anew.reattached);
    assert_ne!(anew.clarify_id, first.clarify_id);
    one.stop().await;
    two.stop().await;
}

// While versions are mixed, an old replica takes what a newer gateway wrote.
#[tokio::test(start_paused = true)]
async fn a_message_of_a_newer_version_waits_for_one_and_is_kept_if_none_comes() {
    let world = World::in_memory();
    let replica = world.replica_with(Setup::in_memory(), |bus| bus).await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let id = agent.ask(&context, "readable?").await;
    let message = InboxMessage {
        schema: SCHEMA + 1,
        ..InboxMessage::new(
            0,
            Rights::default(),
            InboxBody::Respond(says("ann", "from tomorrow")),
        )
    };
    let mut submitted = submit(&world, &id, message).await;
    // Something sent later is judged.
    let other = agent.ask(&context, "this too?").await;
    let reply = world.answer("s", &other, says("ann", "yes")).await;
    assert!(matches!(reply, InboxReply::Settled { .. }), "{reply:?}");
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert!(submitted.reply.try_recv().is_err(), "nobody could judge");
    let refusals = |events: &[Event]| {
        let refused =
            |e: &&Event| matches!(e, Event::Refused { sent, .. } if sent.contains("from tomorrow"));
        events.iter().filter(refused).count()
    };
    assert_eq!(refusals(&world.events("s").await), 0);
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(refusals(&world.events("s").await), 1);
    replica.stop().await;
}
