//! Group chats: a room's managers follow its plan and answer its questions.

use super::{ROUTE, begin, host, step, update};
use crate::support::{BINARY, id};
use anyhow::Result;
use askbus_testkit::{AskbusUp, Person};
use serde_json::json;

// contract: E18
#[tokio::test]
async fn a_rooms_managers_join_it_follow_its_plan_and_answer_its_questions() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let host = host(&up).await?;
    let member = async |sub: &str, group: &str| {
        let args = [
            "credential",
            "issue",
            "--role",
            "person",
            "--sub",
            sub,
            "--group",
            group,
        ];
        let done = up.askbus().run(&args).await?;
        anyhow::ensure!(done.code == 0, "{done:?}");
        Person::bearer(up.url(), done.stdout.trim())
    };
    let (ann, bob) = (
        member("ann", "room:42").await?,
        member("bob", "room:7").await?,
    );
    let turn =
        json!({"session_id": "chat", "group_chat": true, "room_id": "42", "for_ms": 600_000});
    let context = begin(&host, turn).await?;
    let mut socket = ann.socket().await?;
    let join = json!({"event": "room.join", "roomId": "42"});
    socket.send(&join).await?;
    let joined = socket.find(|m| m["event"] == "room.joined").await?;
    assert_eq!(
        (&joined["ok"], &joined["pendingClarifies"]),
        (&json!(true), &json!([]))
    );
    host.post(ROUTE, &update(&context, &[step("a", "pending")]))
        .await?;
    let plan = socket.find(|m| m["event"] == "plan.updated").await?;
    assert_eq!(plan["room_id"], "42", "{plan}");

    let question = json!({"context_id": context, "question": "Deploy?", "choices": ["yes", "no"]});
    let waiting = host.post("/api/studio/clarifications/request", &question);
    let (answered, ()) = futures::try_join!(waiting, async {
        let shown = socket.find(|m| m["event"] == "clarify.requested").await?;
        assert_eq!(
            (&shown["room_id"], &shown["may_answer"]),
            (&json!("42"), &json!(true))
        );
        assert_eq!(shown["to"], json!({"group": "room:42"}));
        let answer = json!({"event": "clarify.respond", "roomId": "42",
            "clarify_id": id(&shown), "response": "no"});

        // Whoever joins later finds it.
        let mut later = ann.socket().await?;
        later.send(&join).await?;
        let joined = later.find(|m| m["event"] == "room.joined").await?;
        assert_eq!(
            joined["pendingClarifies"][0]["clarify_id"],
            shown["clarify_id"]
        );
        assert_eq!(joined["plans"][0]["revision"], 1, "{joined}");

        // Of another room's managers nobody joins or answers.
        let mut other = bob.socket().await?;
        other.send(&join).await?;
        let refused = other.find(|m| m["event"] == "room.joined").await?;
        assert_eq!(
            (&refused["reason"], &refused["ok"]),
            (&json!("NOT_ADDRESSED"), &json!(null))
        );
        other.send(&answer).await?;
        let refused = other.find(|m| m["event"] == "clarify.ack").await?;
        assert!(
            refused["error"].is_string() && refused["ok"].is_null(),
            "{refused}"
        );
        // Nor does a room answer what is not its own.
        let mut mine = answer.clone();
        mine["roomId"] = json!("7");
        other.send(&mine).await?;
        let refused = other.find(|m| m["roomId"] == "7").await?;
        assert_eq!(refused["reason"], "UNKNOWN_CLARIFICATION", "{refused}");
        assert_eq!(ann.pending().await?.len(), 1);

        socket.send(&answer).await?;
        let ack = socket.find(|m| m["event"] == "clarify.ack").await?;
        assert_eq!(
            (&ack["ok"], &ack["resolved"]),
            (&json!(true), &json!(true)),
            "{ack}"
        );
        assert_eq!(
            (&ack["roomId"], &ack["clarify_id"]),
            (&json!("42"), &shown["clarify_id"])
        );
        assert!(ack["stale"].is_null() && ack["error"].is_null(), "{ack}");

        let mut again = answer.clone();
        again["response"] = json!("yes");
        later.send(&again).await?;
        let ack = later.find(|m| m["event"] == "clarify.ack").await?;
        assert_eq!(
            (&ack["ok"], &ack["resolved"]),
            (&json!(true), &json!(false)),
            "{ack}"
        );
        assert_eq!(ack["stale"], true, "{ack}");
        later.send(&join).await?;
        let joined =
            later.find(|m| m["event"] == "room.joined" && m["pendingClarifies"] == json!([]));
        joined.await?;
        Ok(())
    })?;
    assert_eq!(
        (&answered.body["reason"], &answered.body["response"]),
        (&json!("response"), &json!("no"))
    );
    Ok(())
}
