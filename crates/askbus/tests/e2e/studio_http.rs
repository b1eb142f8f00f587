//! The blocking HTTP route of hosts.

use crate::support::{BINARY, asked, begin_turn, choose, credential, id, words};
use anyhow::{Context as _, Result};
use askbus_testkit::{AskbusUp, NatsServer, Person, Reply, Service, Team, within};
use serde_json::{Value, json};

const ROUTE: &str = "/api/studio/clarifications/request";

fn body(context: &str, question: &str) -> Value {
    json!({"context_id": context, "question": question, "choices": ["yes", "no"]})
}

async fn host(up: &AskbusUp) -> Result<Person> {
    Person::bearer(
        up.url(),
        &credential(up, "host", "default", "studio").await?,
    )
}

fn pair(reply: &Reply) -> (u16, &str) {
    (
        reply.status,
        reply.body["reason"].as_str().unwrap_or_default(),
    )
}

// contract: E7 E10 E11 E19
#[tokio::test]
async fn a_call_blocks_until_the_end_and_says_how_it_ended() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let (host, person) = (host(&up).await?, up.person().await?);
    let cases = [
        ("q-choice", choose("o1"), "response", "yes"),
        ("q-words", words("neither"), "response", "neither"),
        ("q-blank", words("  \n"), "dismissed", ""),
        ("q-dismiss", json!({"action": "dismiss"}), "dismissed", ""),
        ("q-skip", json!({"action": "skip"}), "dismissed", ""),
        (
            "q-back",
            json!({"action": "ask_back", "text": "why?"}),
            "response",
            "why?",
        ),
    ];
    for (question, answer, reason, response) in cases {
        let context = begin_turn(up.askbus(), question, &[]).await?;
        let body = body(&context, question);
        let (reply, ()) = futures::try_join!(host.post(ROUTE, &body), async {
            let shown = asked(&person, question).await?;
            let taken = person.answer(id(&shown), &answer).await?;
            assert_eq!(taken.status, 200, "{taken:?}");
            Ok(())
        })?;
        assert_eq!(reply.status, 200, "{question}: {reply:?}");
        assert_eq!(reply.body["ok"], true);
        assert_eq!(reply.body["reason"], reason, "{question}: {reply:?}");
        assert_eq!(reply.body["response"], response, "{question}: {reply:?}");
        assert!(reply.body["clarify_id"].is_string());
    }

    let context = begin_turn(up.askbus(), "times-out", &[]).await?;
    let mut short = body(&context, "q-timeout");
    short["timeout_s"] = json!(1);
    let reply = host.post(ROUTE, &short).await?;
    assert_eq!(
        (reply.status, &reply.body["reason"]),
        (200, &json!("timeout")),
        "{reply:?}"
    );
    assert_eq!(reply.body["response"], "");

    let context = begin_turn(up.askbus(), "is-ended", &[]).await?;
    let body = body(&context, "q-ended");
    let (reply, ()) = futures::try_join!(host.post(ROUTE, &body), async {
        asked(&person, "q-ended").await?;
        let done = up.askbus().run(&["turn", "end", &context]).await?;
        assert_eq!(done.code, 0, "{done:?}");
        Ok(())
    })?;
    assert_eq!(
        (reply.status, &reply.body["reason"]),
        (200, &json!("cancelled")),
        "{reply:?}"
    );
    Ok(())
}

// contract: E4 E6 E7
#[tokio::test]
async fn errors_come_in_their_order() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let (host, person) = (host(&up).await?, up.person().await?);
    let mut socket = person.socket().await?;
    socket.find(|m| m["event"] == "ready").await?;

    // Credential before everything else.
    let nonsense = json!({"context_id": 7, "question": ""});
    let nobody = Person::nobody(up.url())?;
    assert_eq!(
        pair(&nobody.post(ROUTE, &nonsense).await?),
        (401, "UNAUTHENTICATED")
    );
    let forged = Person::bearer(up.url(), "eyJhbGciOiJub25lIn0.eyJyb2xlIjoiaG9zdCJ9.")?;
    assert_eq!(
        pair(&forged.post(ROUTE, &nonsense).await?),
        (401, "UNAUTHENTICATED")
    );
    assert_eq!(
        pair(&person.post(ROUTE, &nonsense).await?),
        (403, "FORBIDDEN")
    );

    // A context is named; it is known; it is this profile's. Each before the question is looked at.
    for bad in [
        json!({}),
        json!({"question": "?"}),
        json!({"context_id": " ", "question": "?"}),
        nonsense,
    ] {
        assert_eq!(host.post(ROUTE, &bad).await?.status, 400, "{bad}");
    }
    let unknown = host.post(ROUTE, &body("no-such-context", "")).await?;
    assert_eq!(pair(&unknown), (409, "CONTEXT_EXPIRED"));
    let other = credential(&up, "host", "other", "studio").await?;
    let as_other = up.askbus().clone().env("ASKBUS_CREDENTIAL", other);
    let foreign = begin_turn(&as_other, "foreign", &["--profile", "other"]).await?;
    let refused = host.post(ROUTE, &body(&foreign, "")).await?;
    assert_eq!(pair(&refused), (409, "CONTEXT_EXPIRED"));
    assert_eq!(
        refused.body, unknown.body,
        "unknown and foreign must not be told apart"
    );

    // The turn is active, still before the question is looked at.
    let over = begin_turn(up.askbus(), "over", &[]).await?;
    assert_eq!(up.askbus().run(&["turn", "end", &over]).await?.code, 0);
    let refused = host.post(ROUTE, &body(&over, "")).await?;
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(
        ["NO_ACTIVE_TURN", "CONTEXT_EXPIRED"].contains(&pair(&refused).1),
        "{refused:?}"
    );

    // The question, before one-per-session.
    let context = begin_turn(up.askbus(), "busy", &[]).await?;
    let first = body(&context, "the first");
    let waiting = host.post(ROUTE, &first);
    let probe = async {
        let shown = socket.find(|m| m["event"] == "clarify.requested").await?;
        let long = "x".repeat(4001);
        let many: Vec<String> = (0..21).map(|n| n.to_string()).collect();
        for bad in [
            json!({"question": "  "}),
            json!({"question": long}),
            json!({"question": 7}),
            json!({"question": "?", "choices": "yes"}),
            json!({"question": "?", "choices": many}),
            json!({"question": "?", "choices": ["ok", " "]}),
            json!({"question": "?", "choices": ["x".repeat(501)]}),
        ] {
            let mut bad = bad;
            bad["context_id"] = context.clone().into();
            let reply = host.post(ROUTE, &bad).await?;
            assert_eq!(pair(&reply), (400, "INVALID_QUESTION"), "{reply:?}");
            assert_eq!(reply.body["ok"], false);
        }
        let second = host.post(ROUTE, &body(&context, "the second")).await?;
        assert_eq!(pair(&second), (409, "BUSY"));
        person.answer(id(&shown), &choose("o2")).await?;
        Ok(())
    };
    let (reply, ()) = futures::try_join!(waiting, probe)?;
    assert_eq!(reply.body["response"], "no");

    // Nothing of all that was refused ever came before a person.
    socket.find(|m| m["event"] == "clarify.resolved").await?;
    let shown = socket
        .heard()
        .iter()
        .filter(|m| m["event"] == "clarify.requested");
    assert_eq!(shown.count(), 1, "{:?}", socket.heard());
    Ok(())
}

// contract: E6 E7
#[tokio::test]
async fn the_profile_is_one_the_credential_allows() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let context = begin_turn(up.askbus(), "s", &[]).await?;
    let host = host(&up).await?.with_header("x-hermes-profile", "other")?;
    let reply = host.post(ROUTE, &body(&context, "?")).await?;
    assert!([403, 409].contains(&reply.status), "{reply:?}");
    assert!(up.person().await?.pending().await?.is_empty());
    Ok(())
}

// contract: E6
#[tokio::test]
async fn without_a_session_binding_the_answer_is_503() -> Result<()> {
    let (nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
    let mut binding = team.session_binding(&nats).await?;
    let gateway = team.gateway(&nats, &binding.address).await?;
    binding.process.kill9().await?;
    let token = team.credential("host", "acme", "default", "studio").await?;
    let host = Person::bearer(&gateway.address, &token)?;
    let reply = host.post(ROUTE, &body("any", "?")).await?;
    assert_eq!(pair(&reply), (503, "UNAVAILABLE"), "{reply:?}");
    Ok(())
}

// contract: E11
#[tokio::test]
async fn a_call_whose_gateway_dies_ends_with_its_lease() -> Result<()> {
    let (nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
    let short = ["--lease-ms", "1500"];
    let binding = Service::ready(team.spawn_session_binding(&nats, &short)?).await?;
    let mut gateway = team.gateway(&nats, &binding.address).await?;
    let token = team.credential("host", "acme", "default", "ci").await?;
    let host = Person::bearer(&gateway.address, &token)?;
    let person = async |gateway: &Service| {
        let address = gateway.address.clone();
        team.person(&address, "acme", "default", "ann").await
    };
    let turn = json!({"session_id": "s", "for_ms": 600_000});
    let begun = host.post("/api/turns/begin", &turn).await?.body;
    let context = begun["context_id"]
        .as_str()
        .context("a context")?
        .to_owned();
    let asking = tokio::spawn(async move { host.post(ROUTE, &body(&context, "Still?")).await });
    let shown = asked(&person(&gateway).await?, "Still?").await?;
    gateway.process.kill9().await?;
    let told = within("the caller hears of it", asking).await??;
    assert!(told.is_err(), "nobody decided anything: {told:?}");

    let gateway = team.gateway(&nats, &binding.address).await?;
    let settled = person(&gateway).await?.until_settled(id(&shown)).await?;
    assert_eq!(settled["reason"], "cancelled", "{settled}");
    assert_eq!(settled["cause"], "asker_gone", "{settled}");
    Ok(())
}
