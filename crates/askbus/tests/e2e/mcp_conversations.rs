//! Conversations that name themselves over HTTP: one asking process, whichever adapter their calls
//! come through, and calls that their clients make twice.

use crate::support::{BINARY, asked, credential, id, one_question, settled, words};
use anyhow::{Context as _, Result, ensure};
use askbus_testkit::{
    AskbusUp, Era, HttpCall, McpHttp, McpStdio, NatsServer, Person, Service, Team, within,
};
use futures::{FutureExt as _, StreamExt as _};
use serde_json::{Value, json};

/// What Codex says of the conversation that a call belongs to.
fn codex(thread: &str) -> Value {
    json!({"x-codex-turn-metadata": {"session_id": thread, "thread_id": thread, "turn_id": "t"}})
}

/// Asks in the conversation `one`, and returns once the person has the question.
async fn ask(client: &McpHttp, person: &Person, question: &str) -> Result<(HttpCall, Value)> {
    let arguments = one_question(question, &[]);
    let call = client.call_with_meta(1, "ask_user", arguments, codex("one"));
    let call = call.await?;
    Ok((call, asked(person, question).await?))
}

/// Has the person answer, and the call say so.
async fn answer(person: &Person, call: &mut HttpCall, shown: &Value, text: &str) -> Result<()> {
    person.answer(id(shown), &words(text)).await?;
    let result = call.result().await?;
    let said = &result["structuredContent"]["answers"][0]["text"];
    ensure!(said == text, "{result:#}");
    Ok(())
}

/// Neither does one adapter's next turn replace the one that another has begun by then, nor is one that
/// comes later held up by what it does not know of.
// contract: E11 E12
#[tokio::test]
async fn every_turn_of_a_conversation_is_one_through_all_adapters() -> Result<()> {
    let (nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
    let binding = team.session_binding(&nats).await?;
    let gateway = team.gateway(&nats, &binding.address).await?;
    let watcher = nats.client().await?;
    let mut begun = watcher.subscribe("clarify.begun.acme.one").await?;
    watcher.flush().await?;
    let person = team.person(&gateway.address, "acme", "p", "ann").await?;
    let token = team.credential("agent", "acme", "p", "bot").await?;
    let (mut adapters, mut clients) = (Vec::new(), Vec::new());
    for nth in 0..2 {
        let adapter = team.mcp_adapter(&binding.address, &[]).await?;
        let client = McpHttp::connect(&adapter.address, &token, Era::Stateless, "codex").await?;
        adapters.push(adapter);
        // Both know the first turn.
        let (mut call, shown) = ask(&client, &person, &format!("First turn, {nth}?")).await?;
        answer(&person, &mut call, &shown, "yes").await?;
        clients.push(client);
    }

    // A host's begin ends it, which neither of them hears of.
    let host = team.credential("host", "acme", "p", "ci").await?;
    let host = Person::bearer(&gateway.address, &host)?;
    let turn = host
        .post("/api/turns/begin", &json!({"session_id": "one"}))
        .await?;
    ensure!(turn.status == 200, "{turn:?}");
    let context = turn.body["context_id"].as_str().context("no context")?;
    let ended = host
        .post(
            &format!("/api/turns/{context}/end"),
            &json!({"end": "completed"}),
        )
        .await?;
    ensure!(ended.status == 200, "{ended:?}");

    let adapter = team.mcp_adapter(&binding.address, &[]).await?;
    clients.push(McpHttp::connect(&adapter.address, &token, Era::Stateless, "codex").await?);
    adapters.push(adapter);
    let mut calls = Vec::new();
    for (nth, client) in clients.iter().enumerate() {
        calls.push(ask(client, &person, &format!("Next turn, {nth}?")).await?);
    }
    let waiting = person.pending().await?;
    ensure!(waiting.len() == 3, "some were given up: {waiting:#?}");
    for (nth, (call, shown)) in calls.iter_mut().enumerate() {
        answer(&person, call, shown, &format!("answer {nth}")).await?;
    }
    watcher.flush().await?;
    let mut turns = 0;
    while let Some(Some(_)) = begun.next().now_or_never() {
        turns += 1;
    }
    assert_eq!(turns, 3, "the first one, the host's, and the next one");
    Ok(())
}

/// A client that lost sight of its call makes it again, maybe in another process, while the first one
/// still waits.
// contract: E11 E12
#[tokio::test]
async fn the_same_call_from_two_processes_is_one_question() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let url = up.announcement().mcp_url.clone().context("no mcp_url")?;
    let person = up.person().await?;
    let token = credential(&up, "agent", "default", "coder").await?;
    let mut calls = Vec::new();
    for _ in 0..3 {
        let client = McpHttp::connect(&url, &token, Era::Stateless, "codex").await?;
        calls.push(ask(&client, &person, "Once?").await?);
    }
    let waiting = person.pending().await?;
    ensure!(waiting.len() == 1, "{waiting:#?}");
    // The first process ends; the others wait for it all the same.
    drop(calls.remove(0));
    let (mut last, shown) = calls.pop().context("no call")?;
    answer(&person, &mut last, &shown, "once").await?;
    let (mut other, _) = calls.pop().context("no call")?;
    let result = other.result().await?;
    let said = &result["structuredContent"];
    assert_eq!(
        (&said["clarify_id"], &said["answers"][0]["text"]),
        (&shown["clarify_id"], &json!("once"))
    );
    ensure!(person.settled().await?.len() == 1, "it was asked twice");
    Ok(())
}

/// Some clients start a second server just to see which protocol it speaks, and kill it.
// contract: E11 P8
#[tokio::test]
async fn a_throw_away_sibling_changes_nothing() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "claude-code", "version": "1"},
    });
    let probe = async || {
        let mut sibling = McpStdio::start(up.askbus(), &["mcp"])?;
        let params = json!({"_meta": meta});
        sibling.request(1, "server/discover", params).await?;
        let reply = sibling.reply(1).await?;
        ensure!(reply["result"].is_object(), "{reply}");
        anyhow::Ok(sibling)
    };
    probe().await?.process.kill9().await?;
    let mut socket = person.socket().await?;
    let mut client = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    client
        .call(1, "ask_user", one_question("Alone?", &[]))
        .await?;
    let shown = asked(&person, "Alone?").await?;
    // One that ends by itself, and one that is killed, while the question waits.
    let mut sibling = probe().await?;
    sibling.process.close_stdin();
    ensure!(sibling.process.wait().await?.success(), "it failed");
    probe().await?.process.kill9().await?;
    let waiting = person.pending().await?;
    ensure!(waiting.len() == 1, "{waiting:#?}");
    person.answer(id(&shown), &words("yes")).await?;
    let reply = client.reply(1).await?;
    let said = &reply["result"]["structuredContent"];
    assert_eq!(said["answers"][0]["text"], "yes", "{reply:#}");
    socket.find(|m| m["event"] == "clarify.resolved").await?;
    let asked = |m: &&Value| m["event"] == "clarify.requested";
    assert_eq!(socket.heard().iter().filter(asked).count(), 1);
    Ok(())
}

/// Two credentials of one name are two callers, and a renewed one is the same caller.
// contract: E5
#[tokio::test]
async fn a_conversation_belongs_to_what_its_credential_may() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let url = up.announcement().mcp_url.clone().context("no mcp_url")?;
    let person = up.person().await?;
    let first = credential(&up, "agent", "default", "same").await?;
    let renewed = credential(&up, "agent", "default", "same").await?;
    let other = credential(&up, "agent", "other", "same").await?;
    let mut calls = Vec::new();
    for (nth, token) in [&first, &renewed].into_iter().enumerate() {
        let client = McpHttp::connect(&url, token, Era::Stateless, "claude-code").await?;
        let question = format!("Of one conversation, {nth}?");
        let call = client.call_with_meta(1, "ask_user", one_question(&question, &[]), codex("one"));
        calls.push(call.await?);
        let shown = asked(&person, &question).await?;
        assert_eq!(
            (&shown["session_id"], &shown["profile"]),
            (&json!("one"), &json!("default"))
        );
    }
    let waiting = person.pending().await?;
    assert_eq!(waiting.len(), 2, "the first one was given up: {waiting:#?}");
    // Another profile's session of that name is none.
    let client = McpHttp::connect(&url, &other, Era::Stateless, "claude-code").await?;
    let call = client.call_with_meta(1, "ask_user", one_question("Whose?", &[]), codex("one"));
    let result = call.await?.result().await?;
    assert_eq!(result["isError"], true, "{result:#}");
    assert_eq!(
        result["structuredContent"]["reason"], "CONTEXT_EXPIRED",
        "{result:#}"
    );
    Ok(())
}

// contract: E11 E12 E13
#[tokio::test]
async fn another_adapter_goes_on_where_one_was_killed() -> Result<()> {
    let nats = NatsServer::start().await?;
    let team = Team::prepare(BINARY).await?;
    let binding = team.session_binding(&nats).await?;
    let at = |service: &Service| {
        let address = service.address.trim_start_matches("http://");
        address.trim_end_matches("/mcp").to_owned()
    };
    let mut adapters = Vec::new();
    let budget = [("ASKBUS_CALL_BUDGET_MS", "2000")];
    for _ in 0..2 {
        adapters.push(team.mcp_adapter(&binding.address, &budget).await?);
    }
    let both = format!("{},{}", at(&adapters[0]), at(&adapters[1]));
    let gateway = team.spawn_gateway_with(&nats, &binding.address, &["--mcp-adapter", &both])?;
    let gateway = Service::ready(gateway).await?;
    let person = team.person(&gateway.address, "acme", "p", "ann").await?;
    let token = team.credential("agent", "acme", "p", "bot").await?;
    let url = format!("{}/mcp", gateway.address);
    let client = McpHttp::connect(&url, &token, Era::Stateless, "claude-code").await?;
    let mut call = client
        .call(1, "ask_user", one_question("Who goes on?", &[]))
        .await?;
    let said = call.result().await?;
    let wait = json!({"clarify_id": said["structuredContent"]["clarify_id"]});
    assert_eq!(said["structuredContent"]["status"], "pending", "{said:#}");

    // Whichever of the two it was: only one is left, and then the other one only.
    for killed in [0_usize, 1] {
        adapters[killed].process.kill9().await?;
        let pending = within("the other adapter to take over", async {
            loop {
                let call = client.call(2, "await_answer", wait.clone()).await;
                if let Ok(mut call) = call
                    && let Ok(result) = call.result().await
                {
                    return result;
                }
            }
        });
        let result = pending.await?;
        assert_eq!(
            result["structuredContent"]["status"], "pending",
            "{result:#}"
        );
        let address = at(&adapters[killed]);
        adapters[killed] = team
            .mcp_adapter_at(&address, &binding.address, &budget)
            .await?;
    }
    let shown = asked(&person, "Who goes on?").await?;
    person.answer(id(&shown), &words("you")).await?;
    let result = settled(&client, &wait).await?;
    assert_eq!(result["structuredContent"]["answers"][0]["text"], "you");
    Ok(())
}

/// While both live, the one that lost the call does not withdraw what the other one waits for.
// contract: E11 E12
#[tokio::test]
async fn what_one_adapter_lost_another_one_keeps() -> Result<()> {
    let nats = NatsServer::start().await?;
    let team = Team::prepare(BINARY).await?;
    let args = ["--lease-ms", "2000"];
    let binding = Service::ready(team.spawn_session_binding(&nats, &args)?).await?;
    let lease = [("ASKBUS_LEASE_MS", "2000")];
    let first = team.mcp_adapter(&binding.address, &lease).await?;
    let second = team.mcp_adapter(&binding.address, &lease).await?;
    let gateway = team.gateway(&nats, &binding.address).await?;
    let person = team.person(&gateway.address, "acme", "p", "ann").await?;
    let token = team.credential("agent", "acme", "p", "bot").await?;
    let at_first = McpHttp::connect(&first.address, &token, Era::Stateless, "claude-code").await?;
    let at_second =
        McpHttp::connect(&second.address, &token, Era::Stateless, "claude-code").await?;
    let lost = at_first
        .call(1, "ask_user", one_question("Kept?", &[]))
        .await?;
    let shown = asked(&person, "Kept?").await?;
    drop(lost);
    let wait = json!({"clarify_id": shown["clarify_id"]});
    let mut call = at_second
        .call_with_progress(2, "await_answer", wait)
        .await?;
    // Well beyond the time that the first one keeps it for. Nothing happens meanwhile: that is the point.
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    person.answer(id(&shown), &words("yes")).await?;
    let result = call.result().await?;
    assert_eq!(
        result["structuredContent"]["answers"][0]["text"], "yes",
        "{result:#}"
    );
    Ok(())
}
