//! Many surfaces answer at once; exactly one wins, and the others lose nothing.

use crate::support::{BINARY, ask, credential, id, object};
use anyhow::Result;
use askbus_testkit::{AskbusUp, Person};
use futures::future::try_join_all;
use serde_json::{Value, json};

const SURFACES: usize = 12;

/// Answers through one of the three kinds of surface; what its author is told, in one shape.
async fn answer(up: &AskbusUp, n: usize, token: &str, clarify_id: &str) -> Result<Value> {
    let text = format!("answer {n}");
    let entry = json!([{"question_id": "q1", "option_ids": [], "text": text}]);
    match n % 3 {
        0 => {
            let mut socket = Person::bearer(up.url(), token)?.socket().await?;
            socket.find(|m| m["event"] == "ready").await?;
            let answer_id = format!("answer-{n}");
            socket
                .send(
                    &json!({"event": "clarify.respond", "clarify_id": clarify_id,
                "answer_id": answer_id, "action": "answer", "answers": entry}),
                )
                .await?;
            let mine = socket.find(|m| {
                m["event"] == "clarify.resolved"
                    && m["answer_id"] == answer_id.as_str()
                    && m.get("verdict").is_some()
            });
            mine.await
        }
        1 => {
            let person = Person::bearer(up.url(), token)?;
            Ok(person
                .answer(clarify_id, &json!({"answers": entry}))
                .await?
                .body)
        }
        _ => {
            let askbus = up.askbus().clone().env("ASKBUS_CREDENTIAL", token);
            let done = askbus
                .run(&["answer", clarify_id, "--text", &text, "--json"])
                .await?;
            let said = object(&done)?;
            let expected = if said["verdict"] == "settled" { 0 } else { 20 };
            assert_eq!(done.code, expected, "{done:?}");
            Ok(said)
        }
    }
}

// contract: A2 E9 E12
#[tokio::test]
async fn of_twelve_answers_at_once_one_wins_and_eleven_are_told_who() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let me = up.person().await?;
    let names: Vec<String> = (0..SURFACES).map(|n| format!("person-{n}")).collect();
    let tokens = try_join_all(
        names
            .iter()
            .map(|name| credential(&up, "person", "default", name)),
    );
    let tokens = tokens.await?;
    let (mut asking, clarify_id) = ask(up.askbus(), &me, "Who is first?", &["--json"]).await?;
    let answers = tokens
        .iter()
        .enumerate()
        .map(|(n, token)| answer(&up, n, token, &clarify_id));
    let told = try_join_all(answers).await?;

    let won: Vec<usize> = (0..SURFACES)
        .filter(|n| told[*n]["verdict"] == "settled")
        .collect();
    assert_eq!(won.len(), 1, "{told:#?}");
    let winner = names[won[0]].as_str();
    let outcome = object(&asking.end().await?)?;
    assert_eq!(outcome["actor"]["person"], winner);
    assert_eq!(outcome["answers"][0]["text"], format!("answer {}", won[0]));
    for (n, said) in told.iter().enumerate().filter(|(n, _)| *n != won[0]) {
        assert_eq!(said["verdict"], "conflict", "{n}: {said}");
        assert_eq!(said["actor"]["person"], winner, "{n} is told who: {said}");
    }

    // Nothing that the eleven wrote is lost.
    let kept = me
        .get(&format!("/api/clarifications/{clarify_id}"))
        .await?
        .body;
    let late = kept["clarification"]["late"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    assert_eq!(late.len(), SURFACES - 1, "{kept}");
    for n in (0..SURFACES).filter(|n| *n != won[0]) {
        assert!(
            late.iter()
                .any(|l| l.to_string().contains(&format!("answer {n}\""))),
            "{n}: {late:?}"
        );
    }

    // The same content again is fine, whoever sends it; other content is a conflict.
    let text = format!("answer {}", won[0]);
    let again = |text: String| {
        let body = json!({"answers": [{"question_id": "q1", "option_ids": [], "text": text}]});
        let (me, clarify_id) = (&me, clarify_id.as_str());
        async move { me.answer(clarify_id, &body).await }
    };
    let same = again(text).await?;
    assert_eq!(
        (same.status, &same.body["verdict"]),
        (200, &json!("settled")),
        "{same:?}"
    );
    assert_eq!(
        same.body["actor"]["person"], winner,
        "the stored outcome: {same:?}"
    );
    let other = again("something else".to_owned()).await?;
    assert_eq!(
        (other.status, &other.body["verdict"]),
        (409, &json!("conflict")),
        "{other:?}"
    );
    assert_eq!(other.body["kept"], true);
    Ok(())
}

// contract: A4
#[tokio::test]
async fn a_hold_reaches_every_surface_and_stops_the_clock() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let me = up.person().await?;
    let (mut asking, clarify_id) =
        ask(up.askbus(), &me, "Slowly?", &["--timeout", "3s", "--json"]).await?;
    let mut other = me.socket().await?;
    let held = up.askbus().run(&["answer", &clarify_id, "--hold"]).await?;
    assert_eq!(held.code, 0, "{held:?}");
    let heard = other.find(|m| m["event"] == "clarify.held").await?;
    assert_eq!(
        (id(&heard), &heard["actor"]["person"]),
        (clarify_id.as_str(), &json!("me"))
    );
    // Holding again changes nothing. A second question outlives the deadline that the first had.
    assert_eq!(me.hold(&clarify_id).await?.status, 200);
    let (code, _) = up
        .askbus()
        .json(&["ask", "Meanwhile?", "--timeout", "4s", "--json"])
        .await?;
    assert_eq!(code, 12);
    let waiting = me.pending().await?;
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    assert_eq!(
        (&waiting[0]["held"], &waiting[0]["deadline"]),
        (&json!(true), &json!(null))
    );
    assert_eq!(
        up.askbus()
            .run(&["answer", &clarify_id, "--text", "done"])
            .await?
            .code,
        0
    );
    assert_eq!(asking.end().await?.code, 0);
    Ok(())
}
