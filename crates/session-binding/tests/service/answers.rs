//! What people send is judged once, and its author is told how.

use crate::agent::outcome;
use crate::world::{TENANT, World, actor, clarify_id, says, says_as, verdict, within};
use askbus_domain::{AnswerAction, CancelCause, Event, MAX_ANSWER_CHARS, Reason};
use askbus_wire::messages::{InboxBody, InboxReply};
use askbus_wire::subject;

on_both!(
    the_author_hears_settled_conflict_or_late,
    one_of_twelve_answers_at_once_wins,
    an_answer_to_an_earlier_turn_is_kept_as_late,
    an_answer_that_does_not_fit_is_refused_and_kept,
    blank_is_dismissed,
    a_hold_of_an_earlier_turn_says_how_it_ended,
);

// contract: E9
async fn the_author_hears_settled_conflict_or_late(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let id = agent.ask(&context, "which?").await;
    let first = says("ann", "this");
    let InboxReply::Settled { outcome: won } = world.answer("s", &id, first.clone()).await else {
        panic!("the first answer settles it")
    };
    assert_eq!(won.answer_id.as_ref(), Some(&first.answer_id));
    // The same content by another person is the same answer.
    let same = world.answer("s", &id, says("bob", "this")).await;
    assert_eq!(
        same,
        InboxReply::Settled {
            outcome: won.clone()
        }
    );
    // Other content is a conflict that names the winner.
    let other = world.answer("s", &id, says("bob", "that")).await;
    assert_eq!(
        other,
        InboxReply::Conflict {
            outcome: won.clone()
        }
    );

    let id = agent.ask(&context, "withdrawn?").await;
    agent.try_cancel(&id).await.unwrap();
    let InboxReply::Late { outcome, .. } = world.answer("s", &id, says("ann", "hello?")).await
    else {
        panic!("nobody answered before")
    };
    assert_eq!(outcome.cause, Some(CancelCause::Withdrawn));
    // Nothing that was written is lost.
    let texts: Vec<_> = world
        .events("s")
        .await
        .into_iter()
        .filter_map(|e| match e {
            Event::Late { late, .. } => late.response.answers[0].text.clone(),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["that", "hello?"]);
    replica.stop().await;
}

// contract: E10
async fn one_of_twelve_answers_at_once_wins(world: World) {
    let (one, two) = (world.replica().await, world.replica().await);
    let agent = world.agent(&one);
    let context = agent.begin("s").await;
    for round in 0..5 {
        let id = agent.ask(&context, "who is first?").await;
        let people: Vec<_> = (0..12)
            .map(|n| (format!("p{n}"), format!("text {n}")))
            .collect();
        let replies = people
            .iter()
            .map(|(who, text)| world.answer("s", &id, says(who, text)));
        let replies = futures::future::join_all(replies).await;
        let settled = replies
            .iter()
            .filter(|r| matches!(r, InboxReply::Settled { .. }))
            .count();
        let conflicts = replies
            .iter()
            .filter(|r| matches!(r, InboxReply::Conflict { .. }))
            .count();
        assert_eq!((settled, conflicts), (1, 11), "round {round}: {replies:?}");
        assert_eq!(world.resolutions("s", &id).await, 1);
        let cid = clarify_id(&id);
        let late = |e: &&Event| matches!(e, Event::Late { clarify_id, .. } if *clarify_id == cid);
        assert_eq!(world.events("s").await.iter().filter(late).count(), 11);
        let heard = outcome(&agent.try_wait(&id).await.unwrap())
            .actor
            .clone()
            .unwrap()
            .person;
        let all_name_it = replies.iter().all(|r| match r {
            InboxReply::Settled { outcome } | InboxReply::Conflict { outcome } => {
                outcome.actor.as_ref().unwrap().person.as_str() == heard
            }
            _ => false,
        });
        assert!(all_name_it);
    }
    assert!(one.handle.stats().answers() + two.handle.stats().answers() >= 60);
    one.stop().await;
    two.stop().await;
}

async fn an_answer_to_an_earlier_turn_is_kept_as_late(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let id = agent.ask(&context, "before?").await;
    agent.begin("s").await;
    let mut response = says_as("answer-1", "ann", "after all");
    response.text = Some("sorry".into());
    let InboxReply::Late { outcome, .. } = world.answer("s", &id, response.clone()).await else {
        panic!("the turn was over")
    };
    assert_eq!(outcome.cause, Some(CancelCause::TurnEnded));
    let late = |events: &[Event]| -> Vec<_> {
        let late = events.iter().filter_map(|e| match e {
            Event::Late { late, .. } => Some(late.response.clone()),
            _ => None,
        });
        late.collect()
    };
    assert_eq!(late(&world.events("s").await), vec![response.clone()]);
    // Another author may happen upon the same answer id.
    agent.begin("s").await;
    let other = says_as("answer-1", "bob", "me too");
    assert!(matches!(
        world.answer("s", &id, other.clone()).await,
        InboxReply::Late { .. }
    ));
    assert_eq!(late(&world.events("s").await), vec![response, other]);
    replica.stop().await;
}

// contract: E9
async fn an_answer_that_does_not_fit_is_refused_and_kept(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let id = agent.ask(&context, "short?").await;
    let long = "x".repeat(MAX_ANSWER_CHARS + 1);
    let reply = world.answer("s", &id, says("ann", &long)).await;
    let InboxReply::Refused { reason, error } = reply else {
        panic!("{reply:?}")
    };
    assert_eq!(reason, "INVALID_ANSWER");
    assert!(error.contains("20000"), "{error}");
    assert_eq!(agent.get(&id).await.status, "pending");
    let refused = world
        .until("what was sent is kept", "s", |e| {
            matches!(e, Event::Refused { .. })
        })
        .await;
    let Event::Refused {
        sent,
        clarify_id: token,
        ..
    } = refused
    else {
        panic!()
    };
    assert!(token == id && sent.contains(&long));
    // The question is as it was.
    let reply = world.answer("s", &id, says("ann", "short")).await;
    assert!(matches!(reply, InboxReply::Settled { .. }), "{reply:?}");
    // An answer to nothing is refused as well.
    let nothing = uuid::Uuid::now_v7().to_string();
    let reply = world.answer("s", &nothing, says("ann", "to whom?")).await;
    let InboxReply::Refused { reason, .. } = reply else {
        panic!("{reply:?}")
    };
    assert_eq!(reason, "UNKNOWN_CLARIFICATION");
    // And so is an answer that names another session than the question's own.
    let reply = world.answer("t", &id, says("ann", "wrong door")).await;
    let InboxReply::Refused { reason, .. } = reply else {
        panic!("{reply:?}")
    };
    assert_eq!(reason, "UNKNOWN_CLARIFICATION");
    assert_eq!(replica.handle.stats().refused(), 3);
    replica.stop().await;
}

// contract: E10, E19
async fn blank_is_dismissed(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let expected = [
        (AnswerAction::Answer, "  \n", Reason::Dismissed),
        (AnswerAction::Dismiss, "", Reason::Dismissed),
        (AnswerAction::Skip, "", Reason::Skipped),
    ];
    for (action, text, reason) in expected {
        let id = agent.ask(&context, "well?").await;
        let mut response = says("ann", text);
        response.action = action;
        let reply = world.answer("s", &id, response).await;
        let InboxReply::Settled { outcome } = reply else {
            panic!("{reply:?}")
        };
        assert_eq!(outcome.reason, reason);
        assert!(outcome.answers.is_empty());
    }
    let id = agent.ask(&context, "well?").await;
    let mut back = says("ann", "");
    back.action = AnswerAction::AskBack;
    back.text = Some("which one do you mean?".into());
    let reply = world.answer("s", &id, back).await;
    let InboxReply::Settled { outcome } = reply else {
        panic!("{reply:?}")
    };
    assert_eq!(outcome.reason, Reason::AskBack);
    assert_eq!(outcome.text.as_deref(), Some("which one do you mean?"));
    replica.stop().await;
}

async fn a_hold_of_an_earlier_turn_says_how_it_ended(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let id = agent.ask(&context, "before?").await;
    agent.begin("s").await;
    let reply = world.hold("s", &id, "ann").await;
    let InboxReply::Late { outcome, .. } = reply else {
        panic!("{reply:?}")
    };
    assert_eq!(outcome.reason, Reason::Cancelled);
    replica.stop().await;
}

/// Publishes bytes to the inbox as somebody with access to the bus could.
async fn publish(world: &mut World, id: &str, payload: Vec<u8>) {
    let client = world.nats().client().await.unwrap();
    let subject = subject::inbox(
        &crate::world::tenant(TENANT),
        &crate::world::session("s"),
        clarify_id(id),
    );
    within(
        "the bytes are sent",
        client.publish(subject, payload.into()),
    )
    .await
    .unwrap();
    within("the bytes are sent", client.flush()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_that_are_no_answer_are_kept_and_the_inbox_goes_on() {
    let mut world = World::jetstream().await;
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let id = agent.ask(&context, "legible?").await;
    let doomed = agent.ask_for(&context, "in time?", 2.0).await;
    let odd = [
        b"not json at all \xff".to_vec(),
        Vec::new(),
        br#"{"schema":2,"requested_seq":1,"type":"escalate"}"#.to_vec(),
        // Each of these takes six bytes once written as JSON.
        vec![1; 200_000],
    ];
    for payload in odd {
        for id in [&id, &doomed.clarify_id] {
            publish(&mut world, id, payload.clone()).await;
        }
    }
    let reply = world.answer("s", &id, says("ann", "quite")).await;
    assert!(matches!(reply, InboxReply::Settled { .. }), "{reply:?}");
    // What cannot be read does not stand in the way of a deadline for ever.
    let settled = agent.try_wait(&doomed.clarify_id).await.unwrap();
    assert_eq!(outcome(&settled).reason, "timeout");
    for (what, begin) in [
        ("text", "not json at all"),
        ("kind", "{\"schema\":2"),
        ("bytes", "\u{1}"),
    ] {
        let kept = world
            .until(
                what,
                "s",
                |e| matches!(e, Event::Refused { sent, .. } if sent.starts_with(begin)),
            )
            .await;
        let Event::Refused {
            problem,
            clarify_id: token,
            ..
        } = kept
        else {
            panic!()
        };
        assert!(!problem.is_empty());
        assert!(token == id || token == doomed.clarify_id);
    }
    replica.stop().await;
    let refused = world.events("s").await;
    let refused = refused
        .iter()
        .filter(|e| matches!(e, Event::Refused { .. }))
        .count();
    assert_eq!(refused, 8);
}

// An answer that was noted once is noted once, also when the inbox brings it a second time long
// after its own memory of duplicates.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_answer_sent_twice_is_noted_once() {
    let mut world = World::jetstream().await;
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let old = agent.ask(&context, "before?").await;
    let context = agent.begin("s").await;
    let current = agent.ask(&context, "now?").await;
    for id in [&old, &current] {
        let body = InboxBody::Respond(says_as("answer-1", "ann", "once"));
        let submitted = world.submit((TENANT, "s", id), body.clone()).await;
        verdict(submitted).await;
        let message =
            askbus_wire::messages::InboxMessage::new(0, askbus_domain::Rights::default(), body);
        // Without a message id the stream takes it as something new.
        for _ in 0..3 {
            publish(&mut world, id, serde_json::to_vec(&message).unwrap()).await;
        }
        // Judged after those, because it was sent after them to the same place and one after the
        // other is taken.
        let body = InboxBody::Hold {
            actor: actor("bob"),
        };
        verdict(world.submit((TENANT, "s", id), body).await).await;
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
        [
            "begun",
            "requested",
            "resolved",
            "ended",
            "begun",
            "requested",
            "late",
            "resolved"
        ]
    );
    world.until_judged("s", &old).await;
}
