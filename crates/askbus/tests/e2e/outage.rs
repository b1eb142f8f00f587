//! The bus is absent, or goes away.

use crate::support::{BINARY, asked, begin_turn, choose, id, one_question};
use anyhow::Result;
use askbus_testkit::{McpStdio, NatsServer, Person, Service, Team, within};

// contract: E11 E12
#[tokio::test]
async fn services_wait_for_a_bus_that_is_not_there_and_say_so() -> Result<()> {
    let (mut nats, team) = (NatsServer::absent()?, Team::prepare(BINARY).await?);
    let mut binding = team.spawn_session_binding(&nats, &[])?;
    binding
        .stderr
        .clone()
        .find(|line| line.to_lowercase().contains("nats"))
        .await?;
    assert!(binding.is_running()?);
    nats.restart().await?;
    let binding = Service::ready(binding).await?;
    nats.stop().await?;

    let mut gateway = team.spawn_gateway(&nats, &binding.address)?;
    gateway
        .stderr
        .clone()
        .find(|line| line.to_lowercase().contains("nats"))
        .await?;
    assert!(gateway.is_running()?);
    nats.restart().await?;
    let gateway = Service::ready(gateway).await?;

    let agent = team.credential("agent", "acme", "default", "agent").await?;
    let mut client = McpStdio::connect(&team.client(&gateway.address, &agent)?, &["mcp"]).await?;
    client
        .call(1, "ask_user", one_question("Up now?", &["yes"]))
        .await?;
    let alice = team
        .person(&gateway.address, "acme", "default", "alice")
        .await?;
    let shown = asked(&alice, "Up now?").await?;
    let taken = alice.answer(id(&shown), &choose("o1")).await?;
    // On a slow machine it may be judged a moment later than its author waits.
    assert!([200, 202].contains(&taken.status), "{taken:?}");
    let settled = alice.until_settled(id(&shown)).await?;
    assert_eq!(settled["reason"], "response", "{settled}");
    let reply = client.reply(1).await?;
    let outcome = &reply["result"]["structuredContent"];
    assert_eq!(outcome["reason"], "response", "{reply}");
    assert_eq!(outcome["answers"][0]["options"][0]["label"], "yes");
    Ok(())
}

// contract: E11 E12
#[tokio::test]
async fn an_answer_without_a_bus_is_kept_by_its_sender_and_goes_through_later() -> Result<()> {
    let (mut nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
    let binding = team.session_binding(&nats).await?;
    let gateway = team.gateway(&nats, &binding.address).await?;
    let agent = team.credential("agent", "acme", "default", "agent").await?;
    let mut client = McpStdio::connect(&team.client(&gateway.address, &agent)?, &["mcp"]).await?;
    client
        .call(1, "ask_user", one_question("Lost?", &["no"]))
        .await?;
    let alice = team
        .person(&gateway.address, "acme", "default", "alice")
        .await?;
    let shown = asked(&alice, "Lost?").await?;

    nats.kill9().await?;
    let refused = alice.answer(id(&shown), &choose("o1")).await?;
    assert_eq!(refused.status, 503, "{refused:?}");
    assert_eq!(refused.body["reason"], "UNAVAILABLE");
    let person = team
        .credential("person", "acme", "default", "alice")
        .await?;
    let terminal = team.client(&gateway.address, &person)?;
    let kept = terminal
        .run(&["answer", id(&shown), "--choose", "no"])
        .await?;
    assert_eq!(kept.code, 75, "kept, try again: {kept:?}");

    nats.restart().await?;
    let taken = async {
        loop {
            // What a person's surface does: it sends again, at a pace, until it is taken.
            let reply = alice.answer(id(&shown), &choose("o1")).await?;
            if ![429, 503].contains(&reply.status) {
                return anyhow::Ok(reply);
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    };
    let taken = within("the answer to be taken", taken).await??;
    assert!([200, 202].contains(&taken.status), "{taken:?}");
    let outcome = &client.reply(1).await?["result"]["structuredContent"];
    assert_eq!(outcome["reason"], "response", "{outcome}");
    assert_eq!(outcome["answers"][0]["options"][0]["label"], "no");
    Ok(())
}

/// A script hears at once enough that nothing was asked; it does not hang on a bus that is away.
// contract: A3 E11
#[tokio::test]
async fn a_script_does_not_hang_on_a_bus_that_is_away() -> Result<()> {
    let (mut nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
    let binding = team.session_binding(&nats).await?;
    let gateway = team.gateway(&nats, &binding.address).await?;
    let host = team.credential("host", "acme", "default", "host").await?;
    let askbus = team.client(&gateway.address, &host)?;
    let context = begin_turn(&askbus, "s1", &[]).await?;
    nats.kill9().await?;
    for askbus in [askbus.clone().env("ASKBUS_CONTEXT", context), askbus] {
        let done = askbus
            .run(&["ask", "Is anybody there?", "--timeout", "5s"])
            .await?;
        assert_eq!(done.code, 69, "{done:?}");
        assert!(done.stderr.contains("cannot reach its log"), "{done:?}");
        assert!(done.stderr.contains("LOG_UNAVAILABLE"), "{done:?}");
    }
    Ok(())
}

/// Repeats a look until it is what is wanted.
async fn seen<T: PartialEq>(wanted: &T, look: impl AsyncFn() -> Result<T>) -> Result<()> {
    within("what is wanted is seen", async {
        while look().await? != *wanted {}
        Ok(())
    })
    .await?
}

// contract: E11
#[tokio::test]
async fn services_without_a_bus_say_that_they_are_not_well() -> Result<()> {
    let (mut nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
    let binding = team.session_binding(&nats).await?;
    let gateway = team.gateway(&nats, &binding.address).await?;
    let nobody = Person::nobody(&gateway.address)?;
    let panel = async || {
        let health = nobody.get("/api/clarify/health").await?;
        let log = health.body["log"].as_str().unwrap_or_default().to_owned();
        anyhow::Ok((health.status, log))
    };
    let checked = async |service, at: &str| {
        let args = ["healthcheck", service, "--target", at];
        anyhow::Ok(team.askbus().run(&args).await?.code)
    };
    let both = async || {
        anyhow::Ok((
            checked("gateway", &gateway.address).await?,
            checked("session-binding", &binding.address).await?,
        ))
    };
    seen(&(200, "reachable".to_owned()), panel).await?;
    assert_eq!(both().await?, (0, 0));
    nats.kill9().await?;
    seen(&(503, "unreachable".to_owned()), panel).await?;
    seen(&(69, 69), both).await?;
    nats.restart().await?;
    seen(&(200, "reachable".to_owned()), panel).await?;
    seen(&(0, 0), both).await?;
    Ok(())
}
