//! Bad input on every entrance: a stable reason, a process that lives on, and nothing before a
//! person.

use crate::support::{BINARY, ask, credential, id, one_question, words};
use anyhow::Result;
use askbus_testkit::{AskbusUp, McpStdio, Person, Reply};
use askbus_wire::client::{Client, Target};
use askbus_wire::error::WireError;
use askbus_wire::proto::{AskRequest, QuestionInput, QuestionInputs, ask_request::Input};
use reqwest::Method;
use serde_json::{Value, json};

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

fn reason(reply: &Reply) -> (u16, &str) {
    (
        reply.status,
        reply.body["reason"].as_str().unwrap_or_default(),
    )
}

/// Arguments of `ask_user` that cannot be shown.
fn unshowable() -> Vec<Value> {
    vec![
        json!({}),
        json!({"questions": null}),
        json!({"questions": 7}),
        json!({"questions": []}),
        json!({"questions": [{}]}),
        json!({"questions": [{"question": "   "}]}),
        json!({"questions": [{"question": ["?"]}]}),
        json!({"questions": [{"question": "x".repeat(4001)}]}),
        json!({"questions": [{"question": "?", "options": (0..21).map(|n| n.to_string()).collect::<Vec<_>>()}]}),
        json!({"questions": [{"question": "?", "options": ["ok", ""]}]}),
        json!({"questions": [{"question": "?", "options": ["x".repeat(501)]}]}),
        json!({"questions": [{"question": "?", "options": [{"label": {"en": "yes"}}]}]}),
        json!({"questions": [{"question": "?", "options": ["a"], "recommended": 1}]}),
        json!({"questions": [{"question": "?", "multi_select": "perhaps"}]}),
        json!({"questions": (0..6).map(|n| json!({"question": n.to_string()})).collect::<Vec<_>>()}),
        json!({"questions": [{"question": "?"}], "timeout_s": "soon"}),
    ]
}

// contract: A1 E4
#[tokio::test]
async fn over_mcp() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let me = up.person().await?;
    let mut socket = me.socket().await?;
    let mut client = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    for (n, arguments) in (100..).zip(unshowable()) {
        client.call(n, "ask_user", arguments.clone()).await?;
        let reply = client.reply(n).await?;
        let result = &reply["result"];
        assert_eq!(result["isError"], true, "{arguments}: {reply}");
        assert_eq!(
            result["structuredContent"]["reason"], "INVALID_QUESTION",
            "{arguments}: {reply}"
        );
    }
    let lines: [&[u8]; 8] = [
        b"{not json",
        b"[1,2,3]",
        b"\"text\"",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":[]}",
        b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"ask_user\",\"arguments\":\"?\"}}",
        b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"no/such\",\"params\":{}}",
        b"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{\"name\":\"no_such_tool\",\"arguments\":{}}}",
        b"\xff\xfe\x00{\"jsonrpc\":\"2.0\"}",
    ];
    for line in lines {
        client.write(line).await?;
        client.write(b"\n").await?;
    }
    let deep = nested(20_000);
    let call = |id: u64, arguments: &str| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"ask_user\",\"arguments\":{arguments}}}}}\n"
        )
    };
    client
        .write(call(5, &format!("{{\"questions\":{deep}}}")).as_bytes())
        .await?;
    let huge = "x".repeat(3 * 1024 * 1024);
    client
        .write(
            call(
                6,
                &format!("{{\"questions\":[{{\"question\":\"{huge}\"}}]}}"),
            )
            .as_bytes(),
        )
        .await?;
    // What is nested too deep or too long to be read as well.
    for number in [1, 2, 3, 4, 5, 6] {
        let reply = client.reply(number).await?;
        assert!(reply["error"]["code"].is_i64(), "{reply}");
    }

    // The process lives, nothing was shown, and the next good question goes through.
    client
        .call(7, "ask_user", one_question("Good?", &[]))
        .await?;
    let shown = socket.find(|m| m["event"] == "clarify.requested").await?;
    assert_eq!(
        shown["question"], "Good?",
        "the first that comes before a person"
    );
    me.answer(id(&shown), &words("yes")).await?;
    client.reply(7).await?;
    assert_eq!(client.stray_output(), Vec::<String>::new());
    Ok(())
}

// contract: E4
#[tokio::test]
async fn over_http() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let me = up.person().await?;
    let (asking, clarify_id) = ask(up.askbus(), &me, "Well formed?", &["--choice", "a"]).await?;
    let route = format!("/api/clarifications/{clarify_id}/answer");
    let entry = |fields: Value| json!({"answers": [fields]});
    let judged: Vec<(Value, &str)> = vec![
        (
            entry(json!({"question_id": "q9", "option_ids": ["o1"]})),
            "INVALID_ANSWER",
        ),
        (
            entry(json!({"question_id": "q1", "option_ids": ["o9"]})),
            "INVALID_ANSWER",
        ),
        (
            entry(json!({"question_id": "q1", "option_ids": ["o1", "o1"]})),
            "",
        ),
        (
            entry(json!({"question_id": "q1", "text": "x".repeat(20_001)})),
            "INVALID_ANSWER",
        ),
        (
            json!({"answers": [{"question_id": "q1", "text": "1"}, {"question_id": "q1", "text": "2"}]}),
            "INVALID_ANSWER",
        ),
        (
            json!({"action": "ask_back", "text": "  "}),
            "INVALID_ANSWER",
        ),
        (json!({"action": "explode"}), "INVALID_REQUEST"),
        (json!({"answers": "a"}), "INVALID_REQUEST"),
        (
            json!({"answer_id": "x".repeat(500), "answers": []}),
            "INVALID_REQUEST",
        ),
        (json!([]), "INVALID_REQUEST"),
        (json!("yes"), "INVALID_REQUEST"),
    ];
    for (body, code) in judged.iter().filter(|(_, code)| !code.is_empty()) {
        let reply = me.post(&route, body).await?;
        assert_eq!(reason(&reply), (400, *code), "{body}");
        assert!(
            reply.body["error"].as_str().is_some_and(|e| !e.is_empty()),
            "{reply:?}"
        );
    }
    let bytes: [(Vec<u8>, u16); 5] = [
        (b"{".to_vec(), 400),
        (b"\xff\xfe\xfd".to_vec(), 400),
        (b"{\"text\":\"\xc3\x28\"}".to_vec(), 400),
        (nested(50_000).into_bytes(), 400),
        (vec![b'x'; 2 * 1024 * 1024], 413),
    ];
    for (body, status) in bytes {
        let start = body.get(..5.min(body.len())).unwrap_or_default().to_vec();
        let reply = me.send(Method::POST, &route, body).await?;
        assert_eq!(reply.status, status, "{start:?}: {reply:?}");
        assert!(reply.body["reason"].is_string(), "{reply:?}");
    }
    for (path, status) in [
        ("/api/clarifications/nonsense", 404),
        ("/api/clarifications?status=perhaps", 400),
        ("/api/clarifications?limit=many", 400),
        ("/api/no/such/route", 404),
        ("/assets/../../../../etc/passwd", 404),
        ("/assets/%2e%2e%2f%2e%2e%2fetc%2fpasswd", 404),
    ] {
        let reply = me.get(path).await?;
        assert_eq!(reply.status, status, "{path}: {reply:?}");
    }
    assert_eq!(me.pending().await?.len(), 1, "the question still waits");
    me.answer(&clarify_id, &words("a")).await?;
    assert_eq!(asking.finish().await?.code, 0);
    Ok(())
}

// contract: E9
#[tokio::test]
async fn over_a_socket() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let me = up.person().await?;
    let (asking, clarify_id) = ask(up.askbus(), &me, "Well framed?", &["--choice", "a"]).await?;
    let mut socket = me.socket().await?;
    socket.find(|m| m["event"] == "ready").await?;
    let frames = [
        "not json".to_owned(),
        "[]".to_owned(),
        "7".to_owned(),
        "{}".to_owned(),
        json!({"event": "clarify.explode", "clarify_id": clarify_id}).to_string(),
        json!({"event": "clarify.respond"}).to_string(),
        json!({"event": "clarify.respond", "clarify_id": 7, "response": "a"}).to_string(),
        json!({"event": "clarify.respond", "clarify_id": clarify_id, "response": 7}).to_string(),
        json!({"event": "clarify.draft", "clarify_id": clarify_id, "answers": 7}).to_string(),
        nested(10_000),
    ];
    for frame in frames {
        socket.send_text(&frame).await?;
        let said = socket.find(|m| m["event"] == "error").await?;
        assert_eq!(said["reason"], "INVALID_REQUEST", "{frame:.80}: {said}");
    }
    for (body, code) in [
        (json!({"response": "x".repeat(20_001)}), "INVALID_ANSWER"),
        (
            json!({"answers": [{"question_id": "q1", "option_ids": ["o9"]}]}),
            "INVALID_ANSWER",
        ),
    ] {
        let mut body = body;
        body["event"] = "clarify.respond".into();
        body["clarify_id"] = clarify_id.as_str().into();
        socket.send(&body).await?;
        let said = socket.find(|m| m["resolved"] == false).await?;
        assert_eq!(
            (&said["reason"], &said["kept"]),
            (&json!(code), &json!(true)),
            "{said}"
        );
    }
    // Bytes and frames beyond the limit end that connection at most; the next one is served.
    let mut other = me.socket().await?;
    other.send_binary(vec![0xff; 16]).await.ok();
    other.send_text(&"x".repeat(1024 * 1024)).await.ok();
    let mut socket = me.socket().await?;
    socket.find(|m| m["event"] == "clarify.requested").await?;
    socket
        .send(&json!({"event": "clarify.respond", "clarify_id": clarify_id, "response": "a"}))
        .await?;
    socket
        .find(|m| m["event"] == "clarify.resolved" && m["resolved"] == true)
        .await?;
    assert_eq!(asking.finish().await?.stdout, "a\n");
    Ok(())
}

// contract: A1 E4
#[tokio::test]
async fn over_grpc() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let me = up.person().await?;
    let token = credential(&up, "agent", "default", "agent").await?;
    let mut client = Client::new(&Target::Url(up.url().to_owned()), &token)?;
    let question = |text: &str| QuestionInput {
        question: text.to_owned(),
        ..QuestionInput::default()
    };
    let typed =
        |questions: Vec<QuestionInput>| Some(Input::Questions(QuestionInputs { questions }));
    let json = |text: &str| Some(Input::ArgumentsJson(text.to_owned()));
    let cases = [
        ("no input", "ask", None),
        ("blank", "ask", typed(vec![question(" ")])),
        ("oversize", "ask", typed(vec![question(&"x".repeat(4001))])),
        ("none", "ask", typed(vec![])),
        ("not JSON", "ask", json("{")),
        ("nested", "ask", json(&nested(50_000))),
        ("a list", "ask", json("[]")),
        ("no such dialect", "riddle", typed(vec![question("?")])),
    ];
    for (name, dialect, input) in cases {
        let request = AskRequest {
            context_id: "no-such-context".to_owned(),
            asker_id: "tester".to_owned(),
            dialect: dialect.to_owned(),
            input,
            ..AskRequest::default()
        };
        let Err(status) = client.clarify.ask(request).await else {
            panic!("{name} was taken")
        };
        let code = WireError::from_status(&status).code.as_str();
        let known = ["INVALID_QUESTION", "INVALID_REQUEST", "CONTEXT_EXPIRED"];
        assert!(known.contains(&code), "{name}: {code} {status:?}");
    }
    // Larger than a message may be.
    let request = AskRequest {
        context_id: "x".to_owned(),
        input: json(&"x".repeat(8 * 1024 * 1024)),
        ..AskRequest::default()
    };
    assert!(client.clarify.ask(request).await.is_err());
    assert!(me.pending().await?.is_empty());
    let (asking, clarify_id) = ask(up.askbus(), &me, "Alive?", &[]).await?;
    me.answer(&clarify_id, &words("yes")).await?;
    assert_eq!(asking.finish().await?.code, 0);
    Ok(())
}

// contract: E4
#[tokio::test]
async fn on_the_command_line() -> Result<()> {
    use std::os::unix::ffi::OsStrExt as _;
    let up = AskbusUp::start(BINARY).await?;
    let me = up.person().await?;
    let long = "x".repeat(4001);
    let option = "x".repeat(501);
    for args in [
        ["ask", "", "--json"],
        ["ask", &long, "--json"],
        ["ask", "?", &format!("--choice={option}")],
    ] {
        let done = up.askbus().run(&args).await?;
        assert_eq!(done.code, 64, "{done:?}");
        assert!(
            done.stderr.contains("INVALID_QUESTION"),
            "the stable reason: {:.300}",
            done.stderr
        );
    }
    let mut command = up.askbus().command(&["ask"]);
    command.arg(std::ffi::OsStr::from_bytes(b"\xff\xfe?"));
    let done = askbus_testkit::Process::spawn("askbus ask with bytes", command)?
        .finish()
        .await?;
    assert_eq!(done.code, 64, "{done:?}");
    assert!(me.pending().await?.is_empty());
    let bad = Person::bearer(up.url(), &"x".repeat(8_000))?;
    assert_eq!(bad.get("/api/me").await?.status, 401);
    assert_eq!(me.get("/api/me").await?.status, 200);
    Ok(())
}
