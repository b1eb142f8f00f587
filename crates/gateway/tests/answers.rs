//! Reading and answering over HTTP.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use askbus_credential::Role;
use askbus_domain::{ClarifyId, Dialect, SessionId, TenantId};
use askbus_ledger::{Delivery, Inbox, LedgerError, Submission, Submitted};
use serde_json::{Value, json};
use std::sync::Arc;
use world::{Setup, World, now};

fn choice() -> Value {
    json!({"questions": [{"question": "Which one?", "options": ["red", "green"], "recommended": 1}]})
}

fn path(id: ClarifyId) -> String {
    format!("/api/clarifications/{id}/answer")
}

// contract: E10
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_settles_and_stands_in_the_list() {
    let world = World::start().await;
    let id = world.ask("s1", Dialect::Ask, choice()).await;
    let ann = world.person("ann");
    let (_, list) = world.get("/api/clarifications?session=s1", &ann).await;
    let card = &list["clarifications"][0];
    assert_eq!(card["clarify_id"], id.to_string());
    assert_eq!(
        (&card["status"], &card["reason"]),
        (&json!("pending"), &Value::Null)
    );
    assert_eq!(card["run_id"], "run-s1");
    assert_eq!(card["deadline"], Value::Null);
    assert_eq!(card["phase"], "waiting");
    assert_eq!(card["questions"][0]["recommended"], "o2");
    let body = json!({"answers": [{"question_id": "q1", "option_ids": ["o1"], "note": "please"}]});
    let (status, object) = world.post(&path(id), &ann, body).await;
    assert_eq!(
        (status, &object["verdict"]),
        (200, &json!("settled")),
        "{object}"
    );
    assert_eq!(object["reason"], "response");
    assert_eq!(object["decided_by"], "person");
    assert_eq!(object["actor"], json!({"person": "ann", "surface": "http"}));
    assert_eq!(object["answers"][0]["options"][0]["label"], "red");
    let mut socket = world.socket("/ws?after=0", &ann).await;
    socket.until(|o| o["event"] == "clarify.resolved").await;
    let (_, list) = world.get("/api/clarifications?status=settled", &ann).await;
    assert_eq!(list["clarifications"][0]["answers"][0]["note"], "please");
    let (_, list) = world.get("/api/clarifications", &ann).await;
    assert_eq!(list["clarifications"], json!([]));
    world.end().await;
}

// contract: A2, E10
#[tokio::test(flavor = "multi_thread")]
async fn words_are_an_answer_and_a_note_alone_is_none_wherever_they_stand() {
    let world = World::start().await;
    let ann = world.person("ann");
    let id = world.ask("s1", Dialect::Ask, choice()).await;
    for (body, reason) in [
        (
            json!({"action": "answer", "answers": [{"question_id": "q1", "note": "n"}]}),
            "note",
        ),
        (
            json!({"answers": [{"note": "n", "text": "\u{feff}"}]}),
            "note",
        ),
    ] {
        let (status, object) = world.post(&path(id), &ann, body).await;
        assert_eq!(
            (status, &object["reason"]),
            (400, &json!("INVALID_ANSWER")),
            "{object}"
        );
        let error = object["error"].as_str().unwrap();
        assert!(
            error.contains(reason) && error.contains("kept as your draft"),
            "{object}"
        );
    }
    let body = json!({"action": "answer", "text": "use staging"});
    let (status, object) = world.post(&path(id), &ann, body).await;
    assert_eq!(
        (status, &object["reason"]),
        (200, &json!("response")),
        "{object}"
    );
    assert_eq!(object["answers"][0]["text"], "use staging");

    let two = json!({"questions": ["One?", "Two?"]});
    let id = world.ask("s2", Dialect::Ask, two).await;
    let body = json!({"action": "answer", "text": "yes to both"});
    let (status, object) = world.post(&path(id), &ann, body).await;
    assert_eq!(
        (status, &object["reason"]),
        (400, &json!("INVALID_ANSWER")),
        "{object}"
    );
    assert!(
        object["error"].as_str().unwrap().contains("question_id"),
        "{object}"
    );
    let body = json!({"answers": [{"question_id": "q1", "text": "yes"}, {"question_id": "q2", "note": "later"}]});
    let (status, object) = world.post(&path(id), &ann, body).await;
    assert_eq!(
        (status, &object["reason"]),
        (200, &json!("response")),
        "{object}"
    );
    assert_eq!(object["unanswered"], json!(["q2"]));
    assert_eq!(object["partial"][0]["note"], "later");
    world.end().await;
}

// contract: E6
#[tokio::test(flavor = "multi_thread")]
async fn twelve_at_once_one_wins_and_the_others_hear_who() {
    let world = Arc::new(World::start().await);
    let id = world.ask("s", Dialect::Ask, choice()).await;
    let mut all = tokio::task::JoinSet::new();
    for n in 0..12 {
        let (world, token) = (Arc::clone(&world), world.person(&format!("p{n}")));
        all.spawn(async move {
            let body = json!({"answers": [{"text": format!("from p{n}")}]});
            world.post(&path(id), &token, body).await
        });
    }
    let answers = all.join_all().await;
    let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|(status, _)| *status == 200);
    assert_eq!((won.len(), lost.len()), (1, 11), "{answers:?}");
    let winner = won[0].1["actor"]["person"].as_str().unwrap().to_owned();
    for (status, object) in lost {
        assert_eq!(*status, 409, "{object}");
        assert_eq!(object["verdict"], "conflict");
        assert_eq!(object["actor"]["person"], winner.as_str());
        assert!(
            object["error"].as_str().unwrap().contains(&winner),
            "{object}"
        );
        assert!(
            object["error"].as_str().unwrap().contains("kept"),
            "{object}"
        );
    }
    // The same content again is fine, whoever sends it.
    let same = json!({"answers": [{"text": format!("from {winner}")}]});
    let (status, object) = world.post(&path(id), &world.person("late"), same).await;
    assert_eq!(
        (status, &object["actor"]["person"]),
        (200, &json!(winner)),
        "{object}"
    );
    // Nothing the others wrote is lost.
    let mut socket = world.socket("/ws?after=0", &world.person("x")).await;
    socket.replay().await;
    let (_, object) = world
        .get(&format!("/api/clarifications/{id}"), &world.person("x"))
        .await;
    assert_eq!(
        object["clarification"]["late"].as_array().unwrap().len(),
        11,
        "{object}"
    );
    drop(socket);
    Arc::into_inner(world).unwrap().end().await;
}

// contract: E10
#[tokio::test(flavor = "multi_thread")]
async fn refused_answers_leave_the_question_open_and_the_words_kept() {
    let world = World::start().await;
    let id = world.ask("s", Dialect::Ask, choice()).await;
    let ann = world.person("ann");
    for (body, reason) in [
        (
            json!({"answers": [{"question_id": "q9", "text": "my words"}]}),
            "INVALID_ANSWER",
        ),
        (
            json!({"answers": [{"option_ids": ["o1", "o2"]}]}),
            "INVALID_ANSWER",
        ),
        (json!({"action": "ask_back"}), "INVALID_ANSWER"),
        (json!({"action": "dance"}), "INVALID_REQUEST"),
        (json!([]), "INVALID_REQUEST"),
        (json!({}), "INVALID_REQUEST"),
        (json!("answer"), "INVALID_REQUEST"),
    ] {
        let (status, object) = world.post(&path(id), &ann, body.clone()).await;
        assert_eq!(
            (status, &object["reason"]),
            (400, &json!(reason)),
            "{body}: {object}"
        );
    }
    let (tenant, session) = (
        TenantId::new("local").unwrap(),
        SessionId::new("s").unwrap(),
    );
    let drafts = world.bus.drafts.list(&tenant, &session, id).await.unwrap();
    assert_eq!(drafts.len(), 3, "each of the three that were judged");
    let (status, object) = world.post(&path(id), &ann, json!({"answers": []})).await;
    assert_eq!(
        (status, &object["reason"]),
        (200, &json!("dismissed")),
        "{object}"
    );
    world.end().await;
}

// contract: E10
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_answer_may_be_corrected_under_its_own_id() {
    let world = World::start().await;
    let id = world.ask("s", Dialect::Ask, choice()).await;
    let ann = world.person("ann");
    let wrong = json!({"answer_id": "A1", "answers": [{"option_ids": ["o9"]}]});
    for _ in 0..2 {
        let (status, object) = world.post(&path(id), &ann, wrong.clone()).await;
        assert_eq!((status, &object["kept"]), (400, &json!(true)), "{object}");
    }
    let right = json!({"answer_id": "A1", "answers": [{"option_ids": ["o1"]}]});
    for _ in 0..2 {
        let (status, object) = world.post(&path(id), &ann, right.clone()).await;
        assert_eq!(
            (status, &object["answers"][0]["options"][0]["id"]),
            (200, &json!("o1")),
            "{object}"
        );
    }
    // An answer may be called what it likes.
    let id = world.ask("t", Dialect::Ask, choice()).await;
    let hold = format!("/api/clarifications/{id}/hold");
    assert_eq!(world.post(&hold, &ann, json!({})).await.0, 200);
    let named = json!({"answer_id": "hold", "answers": [{"option_ids": ["o2"]}]});
    let (status, object) = world.post(&path(id), &ann, named).await;
    assert_eq!(
        (status, &object["verdict"]),
        (200, &json!("settled")),
        "{object}"
    );
    world.end().await;
}

// contract: A4
#[tokio::test(flavor = "multi_thread")]
async fn a_hold_stops_the_countdown_for_all() {
    let world = World::start().await;
    let id = world
        .ask("s", Dialect::Studio, json!({"question": "now?"}))
        .await;
    let ann = world.person("ann");
    let mut other = world.socket("/ws", &world.person("bob")).await;
    other.replay().await;
    let hold = format!("/api/clarifications/{id}/hold");
    let (status, object) = world
        .post(&hold, &ann, json!({"surface": "terminal"}))
        .await;
    assert_eq!(
        (status, &object["verdict"]),
        (200, &json!("held")),
        "{object}"
    );
    let held = other.until(|o| o["event"] == "clarify.held").await;
    assert_eq!(
        held["actor"],
        json!({"person": "ann", "surface": "terminal"})
    );
    let (_, object) = world.get(&format!("/api/clarifications/{id}"), &ann).await;
    let card = &object["clarification"];
    assert_eq!(
        (&card["held"], &card["deadline"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(
        (&card["remaining_ms"], &card["phase"]),
        (&json!(0), &json!("waiting"))
    );
    drop(other);
    world.end().await;
}

// contract: E5
#[tokio::test(flavor = "multi_thread")]
async fn tenants_and_profiles_see_only_their_own() {
    let world = World::start().await;
    let mut ids = Vec::new();
    for (tenant, session, profile) in [
        ("local", "s1", "default"),
        ("local", "s2", "other"),
        ("acme", "s1", "default"),
    ] {
        world.begin(tenant, session, profile).await;
        let id = world
            .ask_at((tenant, session), Dialect::Ask, choice(), now())
            .await;
        let token = world.token(Role::Person, "ann", tenant, &[profile]);
        world.shown(&token, id).await;
        ids.push((id, token));
    }
    for (own, token) in &ids {
        let (_, list) = world.get("/api/clarifications", token).await;
        let seen: Vec<_> = list["clarifications"].as_array().unwrap().iter().collect();
        assert_eq!(seen.len(), 1, "{list}");
        assert_eq!(seen[0]["clarify_id"], own.to_string());
        let (_, waiting) = world.get("/api/clarify/waiting", token).await;
        assert_eq!(waiting["sessions"].as_array().unwrap().len(), 1);
        let replay = world.socket("/ws", token).await.replay().await;
        let shown = replay
            .iter()
            .filter(|o| o["event"] == "clarify.requested")
            .count();
        assert_eq!(shown, 1);
        // Foreign and unknown are one answer.
        let unknown = ClarifyId::from_uuid(uuid::Uuid::now_v7());
        let expected = world
            .get(&format!("/api/clarifications/{unknown}"), token)
            .await;
        assert_eq!(expected.0, 404);
        for (foreign, _) in ids.iter().filter(|(id, _)| id != own) {
            let one = world
                .get(&format!("/api/clarifications/{foreign}"), token)
                .await;
            assert_eq!(one, expected);
            let body = json!({"answers": [{"text": "mine now"}]});
            assert_eq!(world.post(&path(*foreign), token, body).await, expected);
        }
        let broken = world.get("/api/clarifications/nonsense", token).await;
        assert_eq!(broken, expected);
    }
    let both = world.token(Role::Person, "ann", "local", &["default", "other"]);
    let (_, list) = world.get("/api/clarifications", &both).await;
    assert_eq!(list["clarifications"].as_array().unwrap().len(), 2);
    world.end().await;
}

// contract: D10
#[tokio::test(flavor = "multi_thread")]
async fn the_badge_counts_per_session() {
    let world = World::start().await;
    world.ask("s1", Dialect::Ask, choice()).await;
    let other = json!({"question": "And then?"});
    let last = world
        .ask_at(("local", "s1"), Dialect::Ask, other, now())
        .await;
    world.shown(&world.person("ann"), last).await;
    world.ask("s2", Dialect::Ask, choice()).await;
    let (_, waiting) = world
        .get("/api/clarify/waiting", &world.person("ann"))
        .await;
    let expected = json!([{"session": "s1", "count": 2}, {"session": "s2", "count": 1}]);
    assert_eq!(waiting["sessions"], expected);
    let (_, health) = world.get("/api/clarify/health", &world.person("ann")).await;
    assert_eq!(
        (&health["ok"], &health["pending"]),
        (&json!(true), &json!(3))
    );
    assert_eq!(health["version"], "0.0.0-test");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_judged_yet_is_sent_and_no_more() {
    let world = World::with(Setup {
        judge: false,
        ..Setup::default()
    })
    .await;
    let id = world.ask("s", Dialect::Ask, choice()).await;
    let body = json!({"answers": [{"text": "later"}]});
    let (status, object) = world.post(&path(id), &world.person("ann"), body).await;
    assert_eq!(
        (status, object),
        (202, json!({"ok": true, "verdict": "sent"}))
    );
    world.end().await;
}

/// An inbox that cannot be reached.
struct Unreachable;

#[async_trait::async_trait]
impl Inbox for Unreachable {
    async fn submit(&self, _: Submission) -> Result<Submitted, LedgerError> {
        Err(LedgerError::Unavailable("gone".into()))
    }
    async fn take(
        &self,
        _: &TenantId,
    ) -> Result<tokio::sync::mpsc::Receiver<Delivery>, LedgerError> {
        Err(LedgerError::Unavailable("gone".into()))
    }
    async fn oldest(
        &self,
        _: &TenantId,
        _: &SessionId,
        _: ClarifyId,
    ) -> Result<Option<askbus_domain::Timestamp>, LedgerError> {
        Err(LedgerError::Unavailable("gone".into()))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_inbox_says_that_nothing_was_sent() {
    let setup = Setup {
        break_inbox: Some(Arc::new(Unreachable)),
        ..Setup::default()
    };
    let world = World::with(setup).await;
    let id = world.ask("s", Dialect::Ask, choice()).await;
    let body = json!({"answers": [{"text": "lost?"}]});
    let (status, object) = world.post(&path(id), &world.person("ann"), body).await;
    assert_eq!((status, &object["reason"]), (503, &json!("UNAVAILABLE")));
    let error = object["error"].as_str().unwrap();
    assert!(error.contains("not sent"), "{object}");
    // The drafts of this bus can be reached, so that much is true.
    assert!(error.contains("kept as your draft"), "{object}");
    let (tenant, session) = (
        TenantId::new("local").unwrap(),
        SessionId::new("s").unwrap(),
    );
    let drafts = world.bus.drafts.list(&tenant, &session, id).await.unwrap();
    assert_eq!(drafts[0].draft.answers[0].text.as_deref(), Some("lost?"));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_to_keep_is_not_said_to_be_kept() {
    let world = World::start().await;
    let id = world.ask("s", Dialect::Ask, choice()).await;
    // Within a request, and too large for the log.
    let body = json!({"answers": [{"text": "x".repeat(950_000)}]});
    let (status, object) = world.post(&path(id), &world.person("ann"), body).await;
    assert_eq!((status, &object["reason"]), (413, &json!("TOO_LARGE")));
    let error = object["error"].as_str().unwrap();
    assert!(error.contains("not sent"), "{object}");
    assert!(error.contains("not kept"), "{object}");
    world.end().await;
}
