//! The history page by page: what is kept whole and what is read from the log, filters, who may look.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use askbus_credential::Role;
use askbus_domain::{
    AskId, AskerInfo, ClarifyId, Command, Commit, CommitId, Dialect, Event, Millis, Outcome,
    Presence, ProfileId, Reason, SCHEMA, SessionId, TenantId, Timestamp, TurnEnd,
};
use askbus_ledger::append;
use askbus_wire::codec::Decoded;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use world::{Asked, World, now};

/// More than the gateway keeps whole.
const MANY: usize = 10_400;

/// Every page from the newest to the oldest.
async fn pages(world: &World, token: &str, query: &str) -> Vec<Vec<Value>> {
    let (mut pages, mut before) = (Vec::new(), String::new());
    loop {
        let path = format!("/api/history?{query}{before}");
        let (status, body) = world.get(&path, token).await;
        assert_eq!((status, &body["ok"]), (200, &json!(true)), "{path}: {body}");
        pages.push(body["clarifications"].as_array().unwrap().clone());
        assert!(pages.len() < 1_000, "pages without end");
        match body["next"].as_u64() {
            Some(next) => before = format!("&before={next}"),
            None => return pages,
        }
    }
}

async fn all(world: &World, token: &str, query: &str) -> Vec<Value> {
    pages(world, token, query).await.concat()
}

fn words(list: &[Value], field: &str) -> Vec<String> {
    let word = |o: &Value| o[field].as_str().unwrap_or_default().to_owned();
    list.iter().map(word).collect()
}

async fn answered(world: &World, token: &str, id: ClarifyId, text: &str) {
    let path = format!("/api/clarifications/{id}/answer");
    let said = json!({"answers": [{"question_id": "q1", "text": text}]});
    let (_, body) = world.post(&path, token, said).await;
    assert!(body["verdict"].is_string(), "{body}");
    // An author hears the verdict before the log has come round to everybody: what is shown now comes
    // after it.
    let marker = format!("after {}", uuid::Uuid::new_v4());
    world
        .ask(&marker, Dialect::Ask, json!({"question": "Seen?"}))
        .await;
}

/// The question that waits in a session, so many times more, each settled in the moment it is asked.
async fn crowd(world: &World, session: &str, count: usize, reason: Reason) {
    let (tenant, session) = (
        TenantId::new("local").unwrap(),
        SessionId::new(session).unwrap(),
    );
    let stored = world.bus.ledger.read_session(&tenant, &session, 1).await;
    let stored = stored.unwrap();
    let commits = stored.iter().filter_map(|stored| match &stored.decoded {
        Decoded::Commit(commit) => Some(&commit.events),
        Decoded::Unreadable { .. } => None,
    });
    let mut requested = commits
        .flatten()
        .filter(|e| matches!(e, Event::Requested { .. }));
    let template = requested.next().expect("a question waits").clone();
    let outcome = json!({"reason": reason, "unanswered": ["q1"], "resolved_at": now()});
    let outcome: Arc<Outcome> = Arc::new(serde_json::from_value(outcome).unwrap());
    let mut events = Vec::new();
    for nth in 0..count {
        let mut asked = template.clone();
        let id = ClarifyId::from_uuid(uuid::Uuid::now_v7());
        if let Event::Requested {
            clarify_id,
            ask_id,
            asker,
            ..
        } = &mut asked
        {
            *clarify_id = id;
            *ask_id = AskId::new(uuid::Uuid::new_v4().to_string()).unwrap();
            *asker = AskerInfo {
                client: format!("Robot {nth}"),
                ..AskerInfo::default()
            };
        }
        events.push(asked);
        events.push(Event::Resolved {
            clarify_id: id,
            outcome: Arc::clone(&outcome),
        });
    }
    let commit = Commit {
        schema: SCHEMA,
        commit_id: CommitId::from_uuid(uuid::Uuid::now_v7()),
        tenant,
        session_id: session,
        at: now(),
        events,
    };
    let last = stored.last().map_or(0, |stored| stored.seq);
    append(&*world.bus.ledger, &commit, last, None)
        .await
        .unwrap();
}

/// So many that none of those before is kept whole.
async fn push_out(world: &World, session: &str) -> usize {
    world
        .ask(session, Dialect::Ask, json!({"question": "Again?"}))
        .await;
    let each = 100;
    for _ in 0..MANY / each {
        crowd(world, session, each, Reason::Timeout).await;
    }
    // The log is read in its order: what is shown now comes after all of them.
    let marker = format!("after {session}");
    world
        .ask(&marker, Dialect::Ask, json!({"question": "There?"}))
        .await;
    MANY / each * each
}

// contract: A8 E12 E19
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_longer_kept_whole_reads_the_same_and_no_page_tells_anything_twice() {
    let world = World::start().await;
    let (ann, bob) = (world.person("ann"), world.person("bob"));
    let id = world
        .ask("old", Dialect::Ask, json!({"question": "Which colour?"}))
        .await;
    let hold = format!("/api/clarifications/{id}/hold");
    assert_eq!(world.post(&hold, &ann, json!({})).await.0, 200);
    answered(&world, &ann, id, "Red paint").await;
    answered(&world, &bob, id, "Blue paint").await;
    let query = "session=old";
    let kept = all(&world, &ann, query).await;
    assert_eq!(words(&kept, "clarify_id"), [id.to_string()]);
    assert_eq!(kept[0]["late_answers"][0]["actor"]["person"], "bob");
    let many = push_out(&world, "crowd").await;
    assert_eq!(all(&world, &ann, query).await, kept);
    // What comes to it from now on is not lost either.
    answered(&world, &world.person("cid"), id, "Green paint").await;
    let whole = all(&world, &ann, query).await;
    let late = whole[0]["late_answers"].as_array().unwrap();
    assert_eq!(late.len(), 2, "{whole:?}");
    assert_eq!(late[1]["actor"]["person"], "cid");

    for limit in [1_000, 77] {
        let pages = pages(&world, &ann, &format!("limit={limit}")).await;
        let told = pages.concat();
        let ids: BTreeSet<String> = words(&told, "clarify_id").into_iter().collect();
        assert_eq!((told.len(), ids.len()), (many + 1, many + 1), "{limit}");
        let seqs = |page: &Vec<Value>| -> Vec<u64> {
            page.iter().map(|o| o["seq"].as_u64().unwrap()).collect()
        };
        let all: Vec<u64> = seqs(&told);
        assert!(all.is_sorted_by(|newer, older| newer >= older), "{limit}");
        for pair in pages.windows(2) {
            // At most what one commit settled beyond the limit, and never half of it.
            assert!(pair[0].len() < limit + 100, "{limit}: {}", pair[0].len());
            assert!(seqs(&pair[0]).last() > seqs(&pair[1]).first(), "{limit}");
        }
    }
    world.end().await;
}

// contract: E5 A6
#[tokio::test(flavor = "multi_thread")]
async fn filters_find_the_same_whether_kept_whole_or_not() {
    let world = World::start().await;
    let ann = world.person("ann");
    let early = now();
    let paint = world
        .ask("paint", Dialect::Ask, json!({"question": "Which colour?"}))
        .await;
    answered(&world, &ann, paint, "Rosy Red").await;
    let size = world
        .ask(
            "size",
            Dialect::Ask,
            json!({"question": "How much?", "options": ["A bucket", "b"]}),
        )
        .await;
    answered(&world, &world.person("bob"), size, "two").await;
    let between = now().plus(Millis(1));
    let answered_later = async |found: &[&str], query: &str| {
        let found_now = all(&world, &ann, query).await;
        assert_eq!(words(&found_now, "session_id"), found, "{query}");
    };
    for kept in [true, false] {
        if !kept {
            push_out(&world, "crowd").await;
        }
        for (query, found) in [
            ("session=paint", &["paint"][..]),
            ("session=nothing", &[]),
            ("reason=response", &["size", "paint"]),
            ("reason=response,dismissed&limit=1", &["size", "paint"]),
            ("reason=dismissed", &[]),
            ("person=bob", &["size"]),
            ("person=bo", &[]),
            ("text=rosy%20RED", &["paint"]),
            ("text=BUCKET", &["size"]),
            ("text=colour&person=bob", &[]),
            (
                "text=colour&person=ann&session=paint&reason=response",
                &["paint"],
            ),
        ] {
            answered_later(found, query).await;
        }
        let window = format!(
            "since={}&until={}",
            early.unix_millis(),
            between.unix_millis()
        );
        answered_later(&["size", "paint"], &window).await;
        answered_later(&[], &format!("until={}", early.unix_millis())).await;
        answered_later(&[], &format!("reason=response&since={between}")).await;
    }
    // Every commit of the crowd has a robot of each number.
    let robots = all(&world, &ann, "asker=robot%2042&reason=timeout").await;
    assert_eq!(robots.len(), MANY / 100);
    assert!(robots.iter().all(|o| o["asker"]["client"] == "Robot 42"));
    for bad in [
        "limit=x",
        "before=-1",
        "reason=never",
        "since=soon",
        "sesion=paint",
    ] {
        let (status, body) = world.get(&format!("/api/history?{bad}"), &ann).await;
        assert_eq!(
            (status, &body["reason"]),
            (400, &json!("INVALID_REQUEST")),
            "{bad}: {body}"
        );
    }
    world.end().await;
}

/// Every way of ending without a person, as the rules of the domain decide it.
async fn end_without_anybody(world: &World) -> Vec<&'static str> {
    let profile = ProfileId::new("default").unwrap();
    let ask = |when_absent: &'static str, presence| Asked {
        dialect: Dialect::Ask,
        arguments: json!({"question": "Which?", "options": ["a", "b"], "recommended": 0,
            "timeout_s": 1, "when_absent": when_absent}),
        presence,
    };
    for (session, when_absent, presence) in [
        ("timeout", "wait", Presence::Present),
        ("cancelled", "wait", Presence::Present),
        ("ended", "wait", Presence::Present),
        ("unattended", "unattended", Presence::Absent),
        ("deferred", "deferred", Presence::Absent),
    ] {
        let context_id = world.begin("local", session, "default").await;
        let long_ago = Timestamp::from_unix_millis(now().unix_millis() - 60_000);
        let asked = ask(when_absent, presence);
        let at = if session == "timeout" {
            long_ago
        } else {
            now()
        };
        let clarify_id = world.ask_as(("local", session), asked, at).await;
        let command = match session {
            "timeout" => Command::Expire { clarify_id },
            "cancelled" => Command::Cancel {
                clarify_id,
                profile: profile.clone(),
            },
            "ended" => Command::End {
                context_id,
                profile: profile.clone(),
                end: TurnEnd::Completed,
            },
            _ => continue,
        };
        world.write("local", session, &command, now()).await;
    }
    // Two in a row stay unanswered, then asking is off.
    world.begin("local", "off", "default").await;
    for _ in 0..3 {
        let asked = ask("unattended", Presence::Absent);
        world.ask_as(("local", "off"), asked, now()).await;
    }
    vec![
        "off",
        "unattended",
        "unattended",
        "deferred",
        "unattended",
        "cancelled",
        "cancelled",
        "timeout",
    ]
}

// contract: A3 A7 E19
#[tokio::test(flavor = "multi_thread")]
async fn nobody_acted_where_no_person_decided() {
    let world = World::start().await;
    let expected = end_without_anybody(&world).await;
    let last = world
        .ask("a person", Dialect::Ask, json!({"question": "And you?"}))
        .await;
    let ann = world.person("ann");
    answered(&world, &ann, last, "yes").await;
    let mut history = all(&world, &ann, "").await;
    let by_person = history.remove(0);
    assert_eq!(
        (&by_person["decided_by"], &by_person["actor"]["person"]),
        (&json!("person"), &json!("ann"))
    );
    assert_eq!(words(&history, "reason"), expected);
    for row in &history {
        assert!(row["actor"].is_null(), "{row}");
        assert_ne!(row["decided_by"], "person", "{row}");
        assert_eq!(row["answers"], json!([]), "{row}");
        assert!(row["answer_id"].is_null(), "{row}");
    }
    world.end().await;
}

// contract: D14 E5
#[tokio::test(flavor = "multi_thread")]
async fn only_people_look_and_each_sees_their_own_tenant_and_profiles() {
    let world = World::start().await;
    let ann = world.person("ann");
    let to_bob = json!({"question": "Only bob?", "to": "person:bob"});
    let id = world.ask("own", Dialect::Ask, to_bob).await;
    answered(&world, &world.person("bob"), id, "fine").await;
    for (tenant, profile) in [("acme", "default"), ("local", "other")] {
        // Another tenant's session may have the same name.
        let session = if tenant == "acme" { "own" } else { "foreign" };
        world.begin(tenant, session, profile).await;
        let theirs = json!({"question": format!("Secret of {tenant} {profile}?")});
        let id = world
            .ask_at((tenant, session), Dialect::Ask, theirs, now())
            .await;
        let person = world.token(Role::Person, "zoe", tenant, &[profile]);
        world.shown(&person, id).await;
        answered(&world, &person, id, "secret").await;
        let seen = all(&world, &person, "").await;
        assert_eq!(words(&seen, "clarify_id"), [id.to_string()], "{tenant}");
    }
    let seen = all(&world, &ann, "").await;
    assert_eq!(words(&seen, "clarify_id"), [id.to_string()]);
    assert!(!json!(seen).to_string().contains("ecret"), "{seen:?}");
    // Whom it was for is told, and that it was not for her.
    assert_eq!(seen[0]["to"], json!({"person": "bob"}));
    assert_eq!(seen[0]["may_answer"], false);
    for role in [Role::Agent, Role::Host] {
        let token = world.token(role, "robot", "local", &["default"]);
        let (status, body) = world.get("/api/history", &token).await;
        assert_eq!(
            (status, &body["reason"]),
            (403, &json!("FORBIDDEN")),
            "{body}"
        );
    }
    // Not even a script on the same machine.
    let nobody = world
        .http
        .get(world.url("/api/history"))
        .send()
        .await
        .unwrap();
    assert_eq!(nobody.status(), 401);
    world.end().await;
}
