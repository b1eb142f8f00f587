//! Channels: what a gateway tells of what happened while it did not run.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use askbus_credential::Role;
use askbus_domain::{ClarifyId, Command, ContextId, Dialect, ProfileId, TenantId, TurnEnd};
use askbus_gateway::ChannelOptions;
use askbus_testkit::{Hook, HookAnswer, HookMessage};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use world::{BOUND, Setup, World, chats, now};

/// Sessions with as many questions as one may have waiting, and a few more.
const SESSIONS: usize = 34;
const EACH: usize = 32;

/// One channel, of ann and the default profile.
fn told_by(hook: &Hook) -> Setup {
    told_to(hook, "ann", "default")
}

fn told_to(hook: &Hook, person: &str, profile: &str) -> Setup {
    let channel = ChannelOptions {
        profiles: vec![ProfileId::new(profile).unwrap()],
        ..chats::webhook(hook, vec![chats::person(None, person)])
    };
    Setup {
        channels: vec![channel],
        ..Setup::default()
    }
}

async fn end(world: &World, session: &str, context_id: ContextId) {
    let profile = ProfileId::new("default").unwrap();
    let end = TurnEnd::Completed;
    let end = Command::End {
        context_id,
        profile,
        end,
    };
    world.write("local", session, &end, now()).await;
}

/// A question of a session's turn.
async fn ask(world: &World, session: &str) -> ClarifyId {
    // The same words again would be the same question.
    let question = json!({"question": format!("Here? {}", uuid::Uuid::new_v4())});
    world
        .ask_at(("local", session), Dialect::Ask, question, now())
        .await
}

/// How often each was told, by kind and question.
fn counts(seen: &[HookMessage], kind: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for message in seen.iter().filter(|m| m.body["type"] == kind) {
        let id = message.body["clarify_id"].as_str().unwrap().to_owned();
        *counts.entry(id).or_default() += 1;
    }
    counts
}

/// More than a gateway remembers for sockets, more than waits for delivery at once, and both at once.
// contract: N4
#[tokio::test(flavor = "multi_thread")]
async fn every_end_that_came_while_nobody_served_the_channel_is_told_once() {
    let hook = Hook::start().await.unwrap();
    let mut world = World::with(told_by(&hook)).await;
    let mut turns = Vec::new();
    let mut told = Vec::new();
    for n in 0..SESSIONS {
        let session = format!("s{n}");
        let context = world.begin("local", &session, "default").await;
        for _ in 0..EACH {
            told.push(ask(&world, &session).await.to_string());
        }
        turns.push((session, context));
    }
    let all = SESSIONS * EACH;
    assert!(all > 1_000);
    hook.until("all are told", |seen| {
        seen.len() >= all && counts(seen, "question.asked").len() == all
    })
    .await
    .unwrap();
    world.stop().await;

    // Beside what was told there are questions that nobody will ever be told of.
    let context = world.begin("local", "untold", "default").await;
    let untold = ask(&world, "untold").await.to_string();
    for (session, context) in &turns {
        end(&world, session, *context).await;
    }
    end(&world, "untold", context).await;
    world.begin("local", "waits", "default").await;
    let waits = ask(&world, "waits").await.to_string();
    world.start_again(told_by(&hook)).await;
    hook.until("the last one is told", |seen| {
        seen.len() > 2 * all
            && counts(seen, "question.asked").contains_key(&waits)
            && counts(seen, "question.ended").len() >= all
    })
    .await
    .unwrap();
    // After it nothing is left that could be told.
    world.stop().await;
    let seen = hook.seen();
    let expected = |ids: &[String]| -> BTreeMap<String, usize> {
        ids.iter().map(|id| (id.clone(), 1)).collect()
    };
    assert_eq!(counts(&seen, "question.ended"), expected(&told));
    told.push(waits);
    assert_eq!(counts(&seen, "question.asked"), expected(&told));
    assert!(!told.contains(&untold));
    world.end().await;
}

/// What the channel has written down, once it satisfies `wanted`.
async fn written(world: &World, wanted: impl Fn(&Value) -> bool) -> Value {
    let tenant = TenantId::new("local").unwrap();
    let reading = async {
        loop {
            let found = world.bus.positions.get(&tenant, "channel.team").await;
            let found = found.unwrap().map(|position| position.value);
            let read = found.and_then(|value| serde_json::from_slice(&value).ok());
            if let Some(read) = read.filter(&wanted) {
                return read;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(BOUND, reading).await.unwrap()
}

// contract: N4
#[tokio::test(flavor = "multi_thread")]
async fn what_went_out_of_the_channels_sight_is_given_up() {
    for (person, profile) in [("bob", "default"), ("ann", "other")] {
        let hook = Hook::start().await.unwrap();
        hook.answer(HookAnswer::Status(500));
        let mut world = World::with(told_by(&hook)).await;
        world.begin("local", "s", "default").await;
        let question = json!({"question": "For ann?", "to": "ann"});
        world
            .ask_at(("local", "s"), Dialect::Ask, question, now())
            .await;
        written(&world, |w| w["open"][0]["problem"] == "it answered 500").await;
        world.stop().await;
        hook.answer(HookAnswer::Status(204));
        world.start_again(told_to(&hook, person, profile)).await;
        written(&world, |w| w["owner"] == "test" && w["open"].is_null()).await;
        let taken = hook.seen().into_iter().filter(|m| m.taken).count();
        assert_eq!(taken, 0, "{person} of {profile} was told of it");
        world.end().await;
    }
}

/// Nobody was told of it, so nobody needs to hear that it ended.
// contract: N4
#[tokio::test(flavor = "multi_thread")]
async fn who_refused_a_question_does_not_hear_its_end() {
    for (status, hears) in [(404, false), (307, false), (500, true)] {
        let hook = Hook::start().await.unwrap();
        hook.answer(HookAnswer::Status(status));
        let world = World::with(told_by(&hook)).await;
        let context = world.begin("local", "refused", "default").await;
        let refused = ask(&world, "refused").await.to_string();
        let problem = format!("it answered {status}");
        written(&world, |w| w["open"][0]["problem"] == *problem).await;
        end(&world, "refused", context).await;
        // What the channel knows is written down before it tells of the next one.
        let context = world.begin("local", "taken", "default").await;
        let taken = ask(&world, "taken").await.to_string();
        let only_that_waits = |w: &Value| {
            let open = w["open"].as_array().into_iter().flatten();
            let mut asked = open.filter(|m| m["what"] == "asked");
            asked.next().is_some_and(|m| m["id"] == *taken) && asked.next().is_none()
        };
        written(&world, only_that_waits).await;
        hook.answer(HookAnswer::Status(204));
        hook.until("it is told", |seen| {
            let told = |m: &&HookMessage| m.taken && m.body["clarify_id"] == *taken;
            seen.iter().any(|m| told(&m))
        })
        .await
        .unwrap();
        end(&world, "taken", context).await;
        written(&world, |w| {
            w["open"].is_null() && w["position"].as_u64() >= Some(6)
        })
        .await;
        let seen: Vec<HookMessage> = hook.seen().into_iter().filter(|m| m.taken).collect();
        let mut expected = vec![taken.clone()];
        expected.extend(hears.then(|| refused.clone()));
        expected.sort();
        let told: Vec<String> = counts(&seen, "question.ended").into_keys().collect();
        assert_eq!(told, expected, "{status}");
        assert_eq!(counts(&seen, "question.asked").len(), 1, "{status}");
        world.end().await;
    }
}

/// A place that refuses everything for good: all that waits was tried, is counted, and is seen by those
/// alone who see the questions.
// contract: N4
#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_for_good_is_counted_and_hides_nothing_new() {
    let hook = Hook::start().await.unwrap();
    hook.answer(HookAnswer::Status(400));
    let world = World::with(told_by(&hook)).await;
    let mut all = Vec::new();
    for n in 0..11 {
        let session = format!("s{n}");
        world.begin("local", &session, "default").await;
        for _ in 0..30 {
            all.push(ask(&world, &session).await.to_string());
        }
    }
    assert_eq!(all.len(), 330);
    hook.until("each is tried", |seen| {
        seen.len() >= 330 && counts(seen, "question.asked").len() == 330
    })
    .await
    .unwrap();
    let tried = |w: &Value| {
        let attempts = |list: &Value| {
            let all = list.as_array().into_iter().flatten();
            all.filter(|m| m["attempts"].as_u64() > Some(0)).count()
        };
        attempts(&w["open"]) + attempts(&w["put_off"]) == 330
    };
    written(&world, tried).await;
    let channels = async |token: &str| {
        let (status, body) = world.get("/api/channels", token).await;
        assert_eq!(status, 200, "{body}");
        body["channels"].clone()
    };
    let shown = channels(&world.person("ann")).await;
    assert_eq!(shown[0]["undelivered"], 330, "{shown}");
    let listed = shown[0]["messages"].as_array().unwrap();
    let untried = listed.iter().filter(|m| m["attempts"] == 0).count();
    assert_eq!((listed.len(), untried), (330, 0));
    let bob = world.token(Role::Person, "bob", "local", &["other"]);
    assert_eq!(channels(&bob).await, json!([]));
    let operator = world.token(Role::Operator, "ops", "local", &["default"]);
    let figures = world.http.get(world.url("/metrics")).bearer_auth(operator);
    let figures = figures.send().await.unwrap().text().await.unwrap();
    let line = "askbus_gateway_channel_undelivered{tenant=\"local\",channel=\"team\"} 330.0";
    assert!(figures.lines().any(|l| l == line), "{figures}");
    world.end().await;
}
