//! Plans and rooms as people see them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use askbus_credential::Role;
use askbus_domain::{
    Addressee, AskerInfo, BeginCommand, BeginId, ClarifyId, Command, ContextId, Dialect, Event,
    Holder, Millis, PlanCommand, PlanId, ProfileId, RunId, TurnEnd, UpdateId, parse_plan,
};
use serde_json::{Value, json};
use std::sync::Arc;
use world::{World, now};

/// Begins a turn, of a room's managers where one is named.
async fn begin(world: &World, (tenant, session): (&str, &str), room: Option<&str>) -> ContextId {
    let context_id = ContextId::from_uuid(uuid::Uuid::now_v7());
    let mut begin = BeginCommand::new(
        BeginId::new(uuid::Uuid::new_v4().to_string()).unwrap(),
        context_id,
        RunId::new(format!("run-{session}")).unwrap(),
        ProfileId::new("default").unwrap(),
        Holder::Until(now().plus(Millis(3_600_000))),
    );
    begin.to = room.map(|room| Addressee::managers_of(room).unwrap());
    let begin = Command::Begin(begin);
    world.write(tenant, session, &begin, now()).await;
    context_id
}

/// Whose plans these are.
fn planner() -> AskerInfo {
    AskerInfo {
        client: "claude-code 2.1".to_owned(),
        host: "build-7".to_owned(),
        cwd: "/srv/app".to_owned(),
        branch: "main".to_owned(),
    }
}

/// Shows the next revision of a session's plan.
async fn show(world: &World, (tenant, session): (&str, &str), context_id: ContextId, step: &str) {
    let plan = json!({"plan": [{"id": "a", "step": step, "status": "in_progress"}]});
    let command = Command::UpdatePlan(Box::new(PlanCommand {
        update_id: UpdateId::new(uuid::Uuid::new_v4().to_string()).unwrap(),
        plan_id: PlanId::from_uuid(uuid::Uuid::now_v7()),
        context_id,
        profile: ProfileId::new("default").unwrap(),
        asker: planner(),
        input: parse_plan(&plan),
    }));
    world.write(tenant, session, &command, now()).await;
}

async fn end(world: &World, (tenant, session): (&str, &str), context_id: ContextId) {
    let end = Command::End {
        context_id,
        profile: ProfileId::new("default").unwrap(),
        end: TurnEnd::Completed,
    };
    world.write(tenant, session, &end, now()).await;
}

fn is_revision(revision: u64) -> impl Fn(&Value) -> bool {
    move |o| o["event"] == "plan.updated" && o["revision"] == revision
}

async fn listed(world: &World, token: &str) -> Vec<Value> {
    let (status, body) = world.get("/api/plans", token).await;
    assert_eq!(status, 200, "{body}");
    body["plans"].as_array().unwrap().clone()
}

// contract: E16
#[tokio::test(flavor = "multi_thread")]
async fn an_older_revision_changes_nothing_that_people_see() {
    let world = World::start().await;
    let ann = world.person("ann");
    let place = ("local", "s");
    let context = begin(&world, place, None).await;
    let mut socket = world.socket("/ws", &ann).await;
    for step in ["one", "two", "three"] {
        show(&world, place, context, step).await;
    }
    let third = socket.until(is_revision(3)).await;
    assert_eq!(third["plan"][0]["step"], "three");

    // As an older program might write it: a revision that comes after a higher one.
    let (session, last) = world.session("local", "s").await;
    let old = session.plan().unwrap();
    let mut old = old.as_ref().clone();
    old.revision = 2;
    old.steps[0].step = "stale".to_owned();
    let stale = Event::Plan {
        update_id: UpdateId::new("stale").unwrap(),
        context_id: context,
        asker: AskerInfo::default(),
        plan: Arc::new(old),
    };
    world.write_as_it_is("local", "s", stale, last).await;
    begin(&world, ("local", "other"), None).await;
    let other = begin(&world, ("local", "other"), None).await;
    show(&world, ("local", "other"), other, "after it").await;
    let next = socket.until(|o| o["event"] == "plan.updated").await;
    assert_eq!(next["plan"][0]["step"], "after it", "{next}");
    let shown = listed(&world, &ann).await;
    let of = |session: &str| shown.iter().find(|p| p["session_id"] == session).unwrap();
    assert_eq!(
        (&of("s")["revision"], &of("s")["plan"][0]["step"]),
        (&json!(3), &json!("three"))
    );

    end(&world, place, context).await;
    let ended = socket.until(is_revision(4)).await;
    assert_eq!(
        (&ended["execution_state"], &ended["plan"][0]["status"]),
        (&json!("ended"), &json!("pending"))
    );
    // Whose it is stands there as with a question, and outlives its turn.
    let whose = json!({"client": "claude-code 2.1", "host": "build-7", "cwd": "/srv/app", "branch": "main"});
    let listed = listed(&world, &ann).await;
    let of = |session: &str| listed.iter().find(|p| p["session_id"] == session).unwrap();
    assert_eq!(
        (&ended["asker"], &of("s")["asker"], &of("other")["asker"]),
        (&whose, &whose, &whose)
    );
    // Whoever comes now sees the highest one, once.
    let replay = world.socket("/ws", &ann).await.replay().await;
    let seen: Vec<&Value> = replay
        .iter()
        .filter(|o| o["event"] == "plan.updated" && o["session_id"] == "s")
        .map(|o| &o["revision"])
        .collect();
    assert_eq!(seen, [&json!(4)]);
    world.end().await;
}

// contract: E8 E18
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_and_a_room_are_of_one_tenant_and_profile() {
    let world = World::start().await;
    let place = ("acme", "s");
    let context = begin(&world, place, Some("42")).await;
    show(&world, place, context, "ours").await;
    let question = json!({"question": "Deploy?", "choices": ["yes", "no"]});
    let id = world.ask_at(place, Dialect::Studio, question, now()).await;
    let member = |tenant, profile| world.member("ann", (tenant, profile), &["room:42"]);
    let ours = member("acme", "default");
    let mut socket = world.socket("/ws", &ours).await;
    let join = json!({"event": "room.join", "roomId": "42"});
    socket.until(is_revision(1)).await;
    socket.send(join.clone()).await;
    let joined = socket.until(|o| o["event"] == "room.joined").await;
    assert_eq!(joined["pendingClarifies"][0]["clarify_id"], id.to_string());
    assert_eq!(joined["plans"][0]["plan"][0]["step"], "ours");

    // A manager of a room of the same name elsewhere is nobody here, and nor is another profile's.
    for stranger in [member("local", "default"), member("acme", "other")] {
        assert_eq!(listed(&world, &stranger).await, Vec::<Value>::new());
        let mut socket = world.socket("/ws", &stranger).await;
        let replay = socket.replay().await;
        let plans = replay.iter().filter(|o| o["event"] == "plan.updated");
        assert_eq!(plans.count(), 0, "{replay:?}");
        socket.send(join.clone()).await;
        let joined = socket.until(|o| o["event"] == "room.joined").await;
        assert_eq!(
            (&joined["pendingClarifies"], &joined["plans"]),
            (&json!([]), &json!([])),
            "{joined}"
        );
        let answer = in_room("42", id, "yes");
        socket.send(answer).await;
        let refused = socket.until(|o| o["event"] == "clarify.ack").await;
        assert_eq!(refused["reason"], "UNKNOWN_CLARIFICATION", "{refused}");
        assert!(refused["ok"].is_null(), "{refused}");
    }
    // Agents follow nobody's plans.
    for role in [Role::Agent, Role::Host] {
        let token = world.token(role, "bot", "acme", &["default"]);
        let (status, body) = world.get("/api/plans", &token).await;
        assert_eq!((status, &body["reason"]), (403, &json!("FORBIDDEN")));
    }
    world.end().await;
}

fn in_room(room: &str, id: ClarifyId, response: &str) -> Value {
    json!({"event": "clarify.respond", "roomId": room, "clarify_id": id, "response": response})
}

// contract: E18
#[tokio::test(flavor = "multi_thread")]
async fn a_rooms_answer_counts_once_and_only_from_its_managers() {
    let world = World::start().await;
    let place = ("local", "chat");
    begin(&world, place, Some("42")).await;
    let question = json!({"question": "Deploy?", "choices": ["yes", "no"]});
    let id = world.ask_at(place, Dialect::Studio, question, now()).await;
    begin(&world, ("local", "alone"), None).await;
    let outside = json!({"question": "Alone?", "choices": ["yes", "no"]});
    let outside = world
        .ask_at(("local", "alone"), Dialect::Studio, outside, now())
        .await;
    let (ann, bob) = (
        world.grouped("ann", &["room:42"]),
        world.grouped("bob", &["room:7"]),
    );
    world.shown(&ann, outside).await;
    let mut manager = world.socket("/ws", &ann).await;
    let mut second = world.socket("/ws", &ann).await;
    let mut other = world.socket("/ws", &bob).await;
    let ack = |o: &Value| o["event"] == "clarify.ack";

    for (room, about, reason) in [
        ("42", id, "NOT_ADDRESSED"),
        ("7", id, "UNKNOWN_CLARIFICATION"),
        ("7", outside, "UNKNOWN_CLARIFICATION"),
        ("no room", id, "NOT_ADDRESSED"),
        ("", id, "NOT_ADDRESSED"),
    ] {
        other.send(in_room(room, about, "yes")).await;
        let refused = other.until(ack).await;
        assert_eq!(refused["reason"], reason, "{room}: {refused}");
        assert_eq!(refused["roomId"], room, "{refused}");
        assert!(refused["error"].is_string(), "{refused}");
    }
    let (status, pending) = world.get("/api/clarifications", &ann).await;
    assert_eq!(status, 200);
    assert_eq!(pending["clarifications"].as_array().unwrap().len(), 2);

    manager.send(in_room("42", id, "no")).await;
    let taken = manager.until(ack).await;
    assert_eq!(
        (&taken["ok"], &taken["resolved"], &taken["stale"]),
        (&json!(true), &json!(true), &Value::Null),
        "{taken}"
    );
    second.send(in_room("42", id, "yes")).await;
    let stale = second.until(ack).await;
    assert_eq!(
        (&stale["ok"], &stale["resolved"], &stale["stale"]),
        (&json!(true), &json!(false), &json!(true)),
        "{stale}"
    );
    second
        .send(json!({"event": "room.join", "roomId": "42"}))
        .await;
    let joined = second.until(|o| o["event"] == "room.joined").await;
    assert_eq!(joined["pendingClarifies"], json!([]), "{joined}");
    world.end().await;
}
