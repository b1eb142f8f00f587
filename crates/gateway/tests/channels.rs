//! Channels: what a gateway tells of what happened while it did not run.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use askbus_domain::text_channel::{ChannelLimits, Length, Unit};
use askbus_domain::{ClarifyId, Command, ContextId, Dialect, PersonId, ProfileId, TurnEnd};
use askbus_gateway::{ChannelOptions, ChannelPerson, SigningKey, Target, Way};
use askbus_testkit::{Hook, HookMessage};
use serde_json::json;
use std::collections::BTreeMap;
use world::{Setup, World, now};

/// Sessions with as many questions as one may have waiting, and a few more.
const SESSIONS: usize = 34;
const EACH: usize = 32;

fn told_by(hook: &Hook) -> Setup {
    let limits = ChannelLimits {
        message: Length {
            most: 2_000,
            unit: Unit::Characters,
        },
        messages: 8,
        buttons: None,
    };
    let channel = ChannelOptions {
        name: "team".into(),
        tenant: askbus_domain::TenantId::new("local").unwrap(),
        profiles: vec![ProfileId::new("default").unwrap()],
        language: None,
        limits,
        people: vec![ChannelPerson {
            from: None,
            subject: PersonId::new("ann").unwrap(),
            groups: Vec::new(),
        }],
        way: Way::Webhook {
            target: Target::parse(hook.address()).unwrap(),
            signing: SigningKey::parse(&Hook::key()).unwrap(),
        },
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
        eprintln!(
            "DBG {} {} {:?}",
            seen.len(),
            all,
            std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .unwrap()
                .as_millis()
        );
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
