//! MCP over HTTP: both eras, on one machine and as services.

use crate::support::{BINARY, asked, choose, credential, id, one_question, settled, words};
use anyhow::{Context as _, Result, ensure};
use askbus_testkit::{AskbusUp, Era, McpHttp, Person, within};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const ERAS: [Era; 2] = [Era::Handshake, Era::Stateless];

struct Stage {
    up: AskbusUp,
    person: Person,
    url: String,
    token: String,
}

async fn stage_with(variables: &[(&str, &str)]) -> Result<Stage> {
    let up = AskbusUp::start_with(BINARY, &[], variables).await?;
    let url = up.announcement().mcp_url.clone().context("no mcp_url")?;
    let token = credential(&up, "agent", "default", "coder").await?;
    Ok(Stage {
        person: up.person().await?,
        up,
        url,
        token,
    })
}

async fn stage() -> Result<Stage> {
    stage_with(&[]).await
}

impl Stage {
    async fn client(&self, era: Era) -> Result<McpHttp> {
        McpHttp::connect(&self.url, &self.token, era, "claude-code").await
    }
}

// contract: A1 A9
#[tokio::test]
async fn an_agent_asks_over_http_in_both_eras_and_a_person_answers() -> Result<()> {
    let stage = stage().await?;
    for era in ERAS {
        let client = stage.client(era).await?;
        let listed = client
            .request(1, "tools/list", json!({}))
            .await?
            .result()
            .await?;
        let tools = listed["tools"].as_array().context("no tools")?;
        let names: Vec<_> = tools.iter().map(|tool| &tool["name"]).collect();
        let expected = [
            "ask_user",
            "await_answer",
            "update_plan",
            "list_capabilities",
        ];
        assert_eq!(names, expected);
        let question = format!("Which way, {era:?}?");
        let mut call = client
            .call(2, "ask_user", one_question(&question, &["left", "right"]))
            .await?;
        let shown = asked(&stage.person, &question).await?;
        assert_eq!(shown["asker"]["client"], "claude-code 1", "{shown:#}");
        stage.person.answer(id(&shown), &choose("o2")).await?;
        let result = call.result().await?;
        let said = &result["structuredContent"];
        assert_eq!(
            (&said["status"], &said["reason"]),
            (&json!("settled"), &json!("response"))
        );
        assert_eq!(said["answers"][0]["options"][0]["label"], "right");
        assert_eq!(call.header("content-type"), Some("text/event-stream"));
    }
    Ok(())
}

// contract: E13
#[tokio::test]
async fn a_reply_begins_in_time_without_a_progress_token() -> Result<()> {
    let stage = stage().await?;
    for era in ERAS {
        let client = stage.client(era).await?;
        // It returns once the reply has begun, long before anybody answers.
        let call = client.call(1, "ask_user", one_question("Silent?", &[]));
        let mut call = within("the head of the reply", call).await??;
        let shown = asked(&stage.person, "Silent?").await?;
        stage.person.answer(id(&shown), &words("no")).await?;
        let result = call.result().await?;
        assert_eq!(result["structuredContent"]["answers"][0]["text"], "no");
        assert!(call.notifications.is_empty(), "{:?}", call.notifications);
        let mut call = client
            .call_with_progress(2, "ask_user", one_question("Told?", &[]))
            .await?;
        let shown = asked(&stage.person, "Told?").await?;
        stage.person.answer(id(&shown), &words("yes")).await?;
        call.result().await?;
        ensure!(!call.notifications.is_empty(), "no progress was told");
    }
    Ok(())
}

// contract: E13
#[tokio::test]
async fn a_call_is_handed_back_and_goes_on_by_its_id() -> Result<()> {
    let stage = stage_with(&[("ASKBUS_CALL_BUDGET_MS", "1500")]).await?;
    for era in ERAS {
        let client = stage.client(era).await?;
        let question = format!("Later, {era:?}?");
        let mut call = client
            .call(1, "ask_user", one_question(&question, &[]))
            .await?;
        let result = call.result().await?;
        let said = &result["structuredContent"];
        assert_eq!(said["status"], "pending", "{result:#}");
        let wait = json!({"clarify_id": said["clarify_id"]});
        let shown = asked(&stage.person, &question).await?;
        assert_eq!(shown["clarify_id"], said["clarify_id"]);
        stage.person.answer(id(&shown), &words("now")).await?;
        let result = settled(&client, &wait).await?;
        assert_eq!(result["structuredContent"]["answers"][0]["text"], "now");
        // Without a connection in between, by whoever knows the id.
        let mut again = stage
            .client(Era::Stateless)
            .await?
            .call(3, "await_answer", wait)
            .await?;
        let result = again.result().await?;
        assert_eq!(result["structuredContent"]["answers"][0]["text"], "now");
    }
    Ok(())
}

// contract: E11
#[tokio::test]
async fn a_lost_connection_keeps_the_question_for_the_lease() -> Result<()> {
    let stage = stage_with(&[("ASKBUS_LEASE_MS", "8000")]).await?;
    for era in ERAS {
        let client = stage.client(era).await?;
        let question = format!("Gone, {era:?}?");
        let call = client
            .call(1, "ask_user", one_question(&question, &[]))
            .await?;
        let shown = asked(&stage.person, &question).await?;
        let mut socket = stage.person.socket().await?;
        drop(call);
        // The card says so, and until when: at once, or with the list that the socket begins with.
        let gone = |m: &Value| m["clarify_id"] == shown["clarify_id"] && m["disconnected"] == true;
        let told = socket.find(gone).await?;
        ensure!(told["kept_until"].is_i64(), "{told}");
        // Whoever comes back by the id finds it.
        let wait = json!({"clarify_id": shown["clarify_id"]});
        let mut call = client.call(2, "await_answer", wait).await?;
        stage.person.answer(id(&shown), &words("back")).await?;
        let result = call.result().await?;
        assert_eq!(result["structuredContent"]["answers"][0]["text"], "back");
    }
    Ok(())
}

/// Nor is the question withdrawn when the connection goes before the reply has begun.
// contract: E11
#[tokio::test]
async fn a_connection_lost_at_once_keeps_the_question_too() -> Result<()> {
    let stage = stage().await?;
    let client = stage.client(Era::Stateless).await?;
    let shown = tokio::select! {
        shown = asked(&stage.person, "At once?") => shown?,
        // In this era the head of a silent call comes after two seconds.
        _ = client.call(1, "ask_user", one_question("At once?", &[])) => {
            anyhow::bail!("the reply began before the question came")
        }
    };
    let mut socket = stage.person.socket().await?;
    let gone = |m: &Value| m["clarify_id"] == shown["clarify_id"] && m["disconnected"] == true;
    let told = socket.find(gone).await?;
    ensure!(told["kept_until"].is_i64(), "{told}");
    stage.person.answer(id(&shown), &words("kept")).await?;
    let wait = json!({"clarify_id": shown["clarify_id"]});
    let result = settled(&client, &wait).await?;
    assert_eq!(result["structuredContent"]["answers"][0]["text"], "kept");
    Ok(())
}

// contract: E11
#[tokio::test]
async fn a_cancelled_call_of_a_session_withdraws_its_question() -> Result<()> {
    let stage = stage().await?;
    let client = stage.client(Era::Handshake).await?;
    let _call = client
        .call(1, "ask_user", one_question("Cancelled?", &[]))
        .await?;
    let shown = asked(&stage.person, "Cancelled?").await?;
    let mut socket = stage.person.socket().await?;
    let params = json!({"requestId": 1, "reason": "test"});
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
    assert_eq!(client.notify(&cancel).await?, 202);
    let told = socket.find(|m| m["event"] == "clarify.resolved").await?;
    assert_eq!(
        (&told["clarify_id"], &told["cause"]),
        (&shown["clarify_id"], &json!("withdrawn")),
        "{told}"
    );
    Ok(())
}

/// Both would be answered, and one of the answers would reach nobody.
// contract: E13
#[tokio::test]
async fn two_requests_under_one_id_of_a_session_are_one_card() -> Result<()> {
    let stage = stage().await?;
    let client = stage.client(Era::Handshake).await?;
    let mut first = client
        .call(78, "ask_user", one_question("First?", &["yes"]))
        .await?;
    let shown = asked(&stage.person, "First?").await?;
    let second = client.call(78, "ask_user", one_question("Second?", &["yes"]));
    let refused = second.await.err().context("a second one was taken")?;
    let refused = refused.to_string();
    let body = refused.split_once(": ").context("no body")?.1;
    let body: Value = serde_json::from_str(body)?;
    ensure!(refused.starts_with("400"), "{refused}");
    assert_eq!(
        (&body["error"]["code"], &body["id"]),
        (&json!(-32600), &json!(null))
    );
    let cards = stage.person.pending().await?;
    assert_eq!(cards.len(), 1, "{cards:?}");
    stage.person.answer(id(&shown), &choose("o1")).await?;
    let outcome = first.result().await?["structuredContent"].take();
    assert_eq!(outcome["clarify_id"], shown["clarify_id"], "{outcome}");
    // Now it is free.
    let mut third = client
        .call(78, "ask_user", one_question("Third?", &["yes"]))
        .await?;
    let shown = asked(&stage.person, "Third?").await?;
    stage.person.answer(id(&shown), &choose("o1")).await?;
    let outcome = third.result().await?["structuredContent"].take();
    assert_eq!(outcome["clarify_id"], shown["clarify_id"], "{outcome}");
    Ok(())
}

// contract: E5 D14
#[tokio::test]
async fn only_agents_and_hosts_get_in_and_only_into_their_own_sessions() -> Result<()> {
    let stage = stage().await?;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let base = stage.url.trim_end_matches("/mcp");
    let nobody =
        Person::nobody(base)?.with_header("accept", "application/json, text/event-stream")?;
    assert_eq!(nobody.post("/mcp", &body).await?.status, 401);
    assert_eq!(
        stage.person.post("/mcp", &body).await?.status,
        401,
        "a cookie is no bearer"
    );
    let forged = Person::bearer(base, "a.b.c")?;
    assert_eq!(forged.post("/mcp", &body).await?.status, 401);
    let person = credential(&stage.up, "person", "default", "ann").await?;
    assert_eq!(
        Person::bearer(base, &person)?
            .post("/mcp", &body)
            .await?
            .status,
        403
    );
    let page = Person::bearer(base, &stage.token)?.with_header("origin", "http://evil.example")?;
    assert_eq!(page.post("/mcp", &body).await?.status, 403);

    let client = stage.client(Era::Handshake).await?;
    let session = client.session().context("no session")?;
    let other = credential(&stage.up, "agent", "default", "other").await?;
    let other = Person::bearer(base, &other)?
        .with_header("accept", "application/json, text/event-stream")?
        .with_header("mcp-session-id", session)?;
    assert_eq!(other.post("/mcp", &body).await?.status, 404);
    Ok(())
}

/// A service that is stopped hands its calls back, and withdraws nothing.
// contract: E11 E13
#[tokio::test]
async fn a_call_outlives_the_restart_of_the_service() -> Result<()> {
    let mut stage = stage().await?;
    let client = stage.client(Era::Stateless).await?;
    let question = one_question("Across a restart?", &[]);
    let mut call = client.call_with_progress(1, "ask_user", question).await?;
    let shown = asked(&stage.person, "Across a restart?").await?;
    let (status, result) = tokio::join!(stage.up.stop(), call.result());
    ensure!(status?.success(), "it did not end well");
    let said = result?["structuredContent"].take();
    assert_eq!(
        (&said["status"], &said["clarify_id"]),
        (&json!("pending"), &shown["clarify_id"]),
        "{said:#}"
    );
    stage.up.restart().await?;
    asked(&stage.person, "Across a restart?").await?;
    stage.person.answer(id(&shown), &words("yes")).await?;
    let wait = json!({"clarify_id": shown["clarify_id"]});
    let result = settled(&client, &wait).await?;
    assert_eq!(
        result["structuredContent"]["answers"][0]["text"], "yes",
        "{result:#}"
    );
    Ok(())
}

/// Through the gateway as at the adapter: 400, and an error that an MCP client can read.
// contract: E4
#[tokio::test]
async fn a_body_that_is_no_message_is_the_senders_fault() -> Result<()> {
    let stage = stage().await?;
    let address = stage.up.url().trim_start_matches("http://");
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         connection: close\r\n",
        stage.token
    );
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#;
    for (body, code) in [
        (
            "transfer-encoding: chunked\r\n\r\n1\r\n{\r\nno size\r\n".to_owned(),
            -32700,
        ),
        (
            "transfer-encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(),
            -32700,
        ),
        ("content-length: 0\r\n\r\n".to_owned(), -32700),
        ("\r\n".to_owned(), -32700),
        ("content-length: 1\r\n\r\n5".to_owned(), -32600),
        (
            format!("content-length: {}\r\n\r\n{batch}", batch.len()),
            -32600,
        ),
    ] {
        let mut connection = TcpStream::connect(address).await?;
        connection
            .write_all(format!("{head}{body}").as_bytes())
            .await?;
        let mut reply = String::new();
        within("the reply", connection.read_to_string(&mut reply)).await??;
        ensure!(reply.starts_with("HTTP/1.1 400 "), "{body:?}: {reply}");
        let (head, said) = reply.split_once("\r\n\r\n").context("no body")?;
        ensure!(head.contains("content-type: application/json"), "{head}");
        let said: Value = serde_json::from_str(said).with_context(|| reply.clone())?;
        assert_eq!(said["jsonrpc"], "2.0", "{body:?}: {said}");
        assert_eq!(said["error"]["code"], code, "{body:?}: {said}");
    }
    Ok(())
}

// contract: N1 E2
#[tokio::test]
async fn other_toolsets_have_addresses_of_their_own() -> Result<()> {
    let stage = stage().await?;
    for (path, tools) in [
        ("interaction", json!(["clarify"])),
        ("studio", json!(["ekko_studio_update_plan"])),
    ] {
        let url = format!("{}/{path}", stage.url);
        let client = McpHttp::connect(&url, &stage.token, Era::Stateless, "tester").await?;
        let listed = client
            .request(1, "tools/list", json!({}))
            .await?
            .result()
            .await?;
        let names: Vec<_> = listed["tools"].as_array().into_iter().flatten().collect();
        let names: Value = names.iter().map(|tool| tool["name"].clone()).collect();
        assert_eq!(names, tools);
    }
    // What the conformance suite calls is in no program but its own.
    let url = format!("{}/conformance", stage.url);
    let client = McpHttp::connect(&url, &stage.token, Era::Stateless, "tester").await?;
    let refused = client.request(1, "tools/list", json!({})).await.err();
    let refused = refused.context("there are tools")?.to_string();
    ensure!(refused.starts_with("404"), "{refused}");
    Ok(())
}
