//! Many surfaces answer at once; exactly one wins, and the others lose nothing.

use crate::support::{BINARY, ask, asked, credential, id, object};
use anyhow::Result;
use askbus_testkit::{Askbus, AskbusUp, NatsServer, Person, Process, Team};
use futures::future::try_join_all;
use serde_json::{Value, json};

const SURFACES: usize = 12;

/// Somebody who answers, as a client of HTTP and as the program in their terminal.
struct Author {
    name: String,
    person: Person,
    askbus: Askbus,
}

impl Author {
    /// Answers through one of the three kinds of surface; what they are told, in one shape.
    async fn answer(&self, n: usize, clarify_id: &str) -> Result<Value> {
        let text = format!("answer {n}");
        let entry = json!([{"question_id": "q1", "option_ids": [], "text": text}]);
        match n % 3 {
            0 => {
                let mut socket = self.person.socket().await?;
                socket.find(|m| m["event"] == "ready").await?;
                let answer_id = format!("answer-{n}");
                let respond = json!({"event": "clarify.respond", "clarify_id": clarify_id,
                    "answer_id": answer_id, "action": "answer", "answers": entry});
                socket.send(&respond).await?;
                let mine = socket.find(|m| {
                    m["event"] == "clarify.resolved"
                        && m["answer_id"] == answer_id.as_str()
                        && m.get("verdict").is_some()
                });
                mine.await
            }
            1 => {
                let body = json!({"answers": entry});
                Ok(self.person.answer(clarify_id, &body).await?.body)
            }
            _ => {
                let args = ["answer", clarify_id, "--text", &text, "--json"];
                let done = self.askbus.run(&args).await?;
                let said = object(&done)?;
                let expected = if said["verdict"] == "settled" { 0 } else { 20 };
                assert_eq!(done.code, expected, "{done:?}");
                Ok(said)
            }
        }
    }
}

/// All answer at once. One wins, all others are told who, and nothing that they wrote is lost.
async fn one_wins(
    authors: &[Author],
    me: &Person,
    mut asking: Process,
    clarify_id: &str,
) -> Result<()> {
    let mut watching = me.socket().await?;
    let answers = authors.iter().enumerate();
    let answers = answers.map(|(n, author)| author.answer(n, clarify_id));
    let told = try_join_all(answers).await?;

    let all = 0..authors.len();
    let won: Vec<usize> = all.filter(|n| told[*n]["verdict"] == "settled").collect();
    assert_eq!(won.len(), 1, "{told:#?}");
    let won = won[0];
    let winner = authors[won].name.as_str();
    let outcome = object(&asking.end().await?)?;
    assert_eq!(outcome["actor"]["person"], winner);
    assert_eq!(outcome["answers"][0]["text"], format!("answer {won}"));
    for (n, said) in told.iter().enumerate().filter(|(n, _)| *n != won) {
        assert_eq!(said["verdict"], "conflict", "{n}: {said}");
        assert_eq!(said["actor"]["person"], winner, "{n} is told who: {said}");
    }

    let is_late = |m: &Value| m["event"] == "clarify.late" && m["clarify_id"] == clarify_id;
    for _ in 1..authors.len() {
        watching.find(is_late).await?;
    }
    let path = format!("/api/clarifications/{clarify_id}");
    let kept = me.get(&path).await?.body;
    let late = kept["clarification"]["late"].as_array();
    let late = late.cloned().unwrap_or_default();
    assert_eq!(late.len(), authors.len() - 1, "{kept}");
    for n in (0..authors.len()).filter(|n| *n != won) {
        let own = format!("answer {n}\"");
        let found = late.iter().any(|l| l.to_string().contains(&own));
        assert!(found, "{n}: {late:?}");
    }

    // The same content again is fine, whoever sends it; other content is a conflict.
    let again = async |text: &str| {
        let body = json!({"answers": [{"question_id": "q1", "option_ids": [], "text": text}]});
        me.answer(clarify_id, &body).await
    };
    let same = again(&format!("answer {won}")).await?;
    let verdict = (same.status, &same.body["verdict"]);
    assert_eq!(verdict, (200, &json!("settled")), "{same:?}");
    let stored = &same.body["actor"]["person"];
    assert_eq!(stored, winner, "the stored outcome: {same:?}");
    let other = again("something else").await?;
    let verdict = (other.status, &other.body["verdict"]);
    assert_eq!(verdict, (409, &json!("conflict")), "{other:?}");
    assert_eq!(other.body["kept"], true);
    Ok(())
}

// contract: A2 E9 E12
#[tokio::test]
async fn of_twelve_answers_at_once_one_wins_and_eleven_are_told_who() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let me = up.person().await?;
    let author = async |n: usize| {
        let name = format!("person-{n}");
        let token = credential(&up, "person", "default", &name).await?;
        let person = Person::bearer(up.url(), &token)?;
        let askbus = up.askbus().clone().env("ASKBUS_CREDENTIAL", token);
        Ok::<_, anyhow::Error>(Author {
            name,
            person,
            askbus,
        })
    };
    let authors = try_join_all((0..SURFACES).map(author)).await?;
    let (asking, clarify_id) = ask(up.askbus(), &me, "Who is first?", &["--json"]).await?;
    one_wins(&authors, &me, asking, &clarify_id).await
}

// contract: A2 E9 E12
#[tokio::test]
async fn of_twelve_answers_through_two_gateways_one_wins_whichever_replica_judges() -> Result<()> {
    let (nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
    let one = team.session_binding(&nats).await?;
    let two = team.session_binding(&nats).await?;
    let near = team.gateway(&nats, &one.address).await?;
    let far = team.gateway(&nats, &two.address).await?;
    let author = async |n: usize| {
        let name = format!("person-{n}");
        // Each kind of surface at each gateway.
        let gateway = if (n / 3).is_multiple_of(2) {
            &near
        } else {
            &far
        };
        let token = team.credential("person", "acme", "default", &name).await?;
        let person = Person::bearer(&gateway.address, &token)?;
        let askbus = team.client(&gateway.address, &token)?;
        Ok::<_, anyhow::Error>(Author {
            name,
            person,
            askbus,
        })
    };
    let authors = try_join_all((0..SURFACES).map(author)).await?;
    let me = team.person(&near.address, "acme", "default", "me").await?;
    let agent = team.credential("agent", "acme", "default", "agent").await?;
    let agent = team.client(&near.address, &agent)?;
    let elsewhere = authors.iter().map(|a| &a.person);
    let (asking, clarify_id) = ask(&agent, &me, "Who is first?", &["--json"]).await?;
    // Before both gateways.
    try_join_all(elsewhere.map(|person| asked(person, "Who is first?"))).await?;
    one_wins(&authors, &me, asking, &clarify_id).await
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
