//! Who gets in, and that an agent does not answer itself.

use crate::support::{BINARY, ask, credential, words};
use anyhow::Result;
use askbus_testkit::{AskbusUp, Person, Reply};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Status and reason of a request written by hand, with nothing added to it.
async fn raw(up: &AskbusUp, head: &str, body: &str) -> Result<(u16, String)> {
    let address = up.url().trim_start_matches("http://");
    let exchange = async {
        let mut stream = tokio::net::TcpStream::connect(address).await?;
        let head = head.replace('\n', "\r\n");
        let rest = format!(
            "\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream
            .write_all(format!("{}{rest}", head.trim()).as_bytes())
            .await?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await?;
        anyhow::Ok(reply)
    };
    let reply = askbus_testkit::within("a raw reply", exchange).await??;
    let status = reply
        .split(' ')
        .nth(1)
        .and_then(|s| s.parse().ok())
        .unwrap_or(0);
    let body = reply.split_once("\r\n\r\n").map_or("", |(_, b)| b);
    let body: Value = serde_json::from_str(body).unwrap_or(Value::Null);
    Ok((
        status,
        body["reason"].as_str().unwrap_or_default().to_owned(),
    ))
}

fn reason(reply: &Reply) -> (u16, &str) {
    (
        reply.status,
        reply.body["reason"].as_str().unwrap_or_default(),
    )
}

// contract: D14
#[tokio::test]
async fn requests_of_other_sites_and_other_names_end_at_the_fence() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let token = credential(&up, "person", "default", "me").await?;
    let me = Person::bearer(up.url(), &token)?;
    let (asking, clarify_id) = ask(up.askbus(), &me, "Fenced?", &[]).await?;
    let host = up.url().trim_start_matches("http://").to_owned();
    let answer = words("from elsewhere").to_string();
    let path = format!("/api/clarifications/{clarify_id}/answer");
    let authorised = format!("Authorization: Bearer {token}\nContent-Type: application/json");

    let heads = [
        (
            format!("Host: {host}\nOrigin: http://evil.example"),
            "CROSS_SITE",
        ),
        (format!("Host: {host}\nOrigin: null"), "CROSS_SITE"),
        (
            format!("Host: {host}\nOrigin: http://127.0.0.1:1"),
            "CROSS_SITE",
        ),
        (
            format!("Host: {host}\nSec-Fetch-Site: cross-site"),
            "CROSS_SITE",
        ),
        (
            format!("Host: {host}\nSec-Fetch-Site: same-site"),
            "CROSS_SITE",
        ),
        ("Host: evil.example".to_owned(), "WRONG_HOST"),
        ("Host: rebound.evil.example:80".to_owned(), "WRONG_HOST"),
        ("Host: 127.0.0.1.evil.example".to_owned(), "WRONG_HOST"),
    ];
    for (head, refusal) in heads {
        let post = raw(
            &up,
            &format!("POST {path} HTTP/1.1\n{head}\n{authorised}"),
            &answer,
        )
        .await?;
        assert_eq!(post, (403, refusal.to_owned()), "POST with {head}");
        let upgrade = "Upgrade: websocket\nConnection: Upgrade\nSec-WebSocket-Version: 13\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
        let open = format!("GET /ws HTTP/1.1\n{head}\n{authorised}\n{upgrade}");
        assert_eq!(
            raw(&up, &open, "").await?,
            (403, refusal.to_owned()),
            "WebSocket with {head}"
        );
        // Reading is fenced too, also where a script of this machine may read.
        let read = format!("GET /api/clarifications HTTP/1.1\n{head}");
        assert_eq!(
            raw(&up, &read, "").await?,
            (403, refusal.to_owned()),
            "GET with {head}"
        );
    }
    let bare = raw(&up, &format!("POST {path} HTTP/1.1\n{authorised}"), &answer).await?;
    assert!((400..500).contains(&bare.0), "no Host at all: {bare:?}");

    // None of it did anything; the same request without the marks does.
    assert_eq!(me.pending().await?.len(), 1);
    let honest = format!("POST {path} HTTP/1.1\nHost: {host}\nOrigin: http://{host}\n{authorised}");
    assert_eq!(raw(&up, &honest, &answer).await?.0, 200);
    assert_eq!(asking.finish().await?.code, 0);
    Ok(())
}

// contract: D14 E6
#[tokio::test]
async fn only_a_persons_credential_answers() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let me = up.person().await?;
    let (asking, clarify_id) = ask(up.askbus(), &me, "Whose call?", &[]).await?;
    let answer = format!("/api/clarifications/{clarify_id}/answer");
    let hold = format!("/api/clarifications/{clarify_id}/hold");
    let pass_on = format!("/api/clarifications/{clarify_id}/pass-on");
    let one = format!("/api/clarifications/{clarify_id}");
    let body = words("myself");

    let agent = credential(&up, "agent", "default", "agent").await?;
    let host = credential(&up, "host", "default", "host").await?;
    let mut forged = credential(&up, "person", "default", "mallory").await?;
    // The claims of a person under the signature of an agent.
    forged.truncate(forged.rfind('.').unwrap_or_default());
    forged.push_str(&agent[agent.rfind('.').unwrap_or_default()..]);
    let elsewhere = AskbusUp::start(BINARY).await?;
    let foreign = credential(&elsewhere, "person", "default", "me").await?;
    let revoked = credential(&up, "person", "default", "gone").await?;
    let list = up.askbus().run(&["credential", "list", "--json"]).await?;
    let last: Value = serde_json::from_str(list.stdout.lines().last().unwrap_or_default())?;
    let record = last["id"].as_str().unwrap_or_default();
    assert_eq!(
        up.askbus()
            .run(&["credential", "revoke", record])
            .await?
            .code,
        0
    );

    for (who, token, expected) in [
        ("an agent", Some(agent.as_str()), (403, "FORBIDDEN")),
        ("a host", Some(host.as_str()), (403, "FORBIDDEN")),
        ("a forger", Some(forged.as_str()), (401, "UNAUTHENTICATED")),
        (
            "a stranger",
            Some(foreign.as_str()),
            (401, "UNAUTHENTICATED"),
        ),
        ("garbage", Some("garbage"), (401, "UNAUTHENTICATED")),
        ("nobody", None, (401, "UNAUTHENTICATED")),
    ] {
        let caller = match token {
            Some(token) => Person::bearer(up.url(), token)?,
            None => Person::nobody(up.url())?,
        };
        assert_eq!(
            reason(&caller.post(&answer, &body).await?),
            expected,
            "{who} answers"
        );
        assert_eq!(
            reason(&caller.post(&hold, &json!({})).await?),
            expected,
            "{who} holds"
        );
        let pass_on = caller.post(&pass_on, &json!({"answer_id": "a"})).await?;
        assert_eq!(reason(&pass_on), expected, "{who} sends words on");
        assert_eq!(
            reason(&caller.get(&one).await?),
            expected,
            "{who} reads one"
        );
        let sign_in = caller.post("/api/sign-in-link", &json!({})).await?;
        assert_eq!(reason(&sign_in), expected, "{who} wants a link");
        let socket = caller.socket().await.map(drop);
        assert!(
            format!("{socket:?}").contains(&expected.0.to_string()),
            "{who}: {socket:?}"
        );
        // A credential that is shown is judged, also where none is needed.
        if token.is_some() {
            assert_eq!(
                reason(&caller.get("/api/clarifications").await?),
                expected,
                "{who} lists"
            );
        }
    }
    // The deny list is watched: it holds at once or very soon.
    let gone = Person::bearer(up.url(), &revoked)?;
    let refused = async {
        while gone.get("/api/me").await?.status != 401 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        anyhow::Ok(())
    };
    askbus_testkit::within("the revocation to be noticed", refused).await??;

    // A script of this machine may look, and only look.
    let script = Person::nobody(up.url())?;
    for path in [
        "/api/clarifications",
        "/api/clarify/waiting",
        "/api/clarify/health",
    ] {
        assert_eq!(script.get(path).await?.status, 200, "{path}");
    }
    let page = script.with_header("cookie", "x=y")?;
    assert_eq!(
        page.get("/api/clarifications").await?.status,
        401,
        "a page is not a script"
    );

    assert_eq!(me.pending().await?.len(), 1);
    me.answer(&clarify_id, &words("mine")).await?;
    assert_eq!(asking.finish().await?.stdout, "mine\n");
    Ok(())
}

// contract: A10 D14
#[tokio::test]
async fn inside_an_agent_the_answering_command_refuses() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let me = up.person().await?;
    let (mut asking, clarify_id) = ask(up.askbus(), &me, "Tempted?", &["--choice", "yes"]).await?;
    let markers = [
        "ASKBUS_CONTEXT",
        "CLAUDECODE",
        "CODEX_THREAD_ID",
        "DSH_SESSION_ID",
        "GEMINI_CLI",
        "GROK_SESSION_ID",
        "OPENCODE",
        "PI_SESSION_ID",
        "QWEN_CODE",
    ];
    for marker in markers {
        let inside = up.askbus().clone().env(marker, "1");
        for how in [
            &["--choose", "yes"] as &[&str],
            &["--dismiss"],
            &["--skip"],
            &["--hold"],
            &["--ask-back", "why?"],
            &["--pass-on"],
        ] {
            let mut args = vec!["answer", clarify_id.as_str()];
            args.extend(how);
            let done = inside.run(&args).await?;
            assert_eq!(done.code, 77, "{marker}: {done:?}");
        }
    }
    // What an agent's shell can do with the credential it has.
    let agent = std::fs::read_to_string(up.askbus().home().join("credentials/agent"))?;
    let url = format!("{}/api/clarifications/{clarify_id}/answer", up.url());
    let mut curl = askbus_testkit::Program::new("curl");
    curl.args([
        "-s",
        "-o",
        "/dev/null",
        "-w",
        "%{http_code}",
        "-d",
        "{}",
        &url,
    ]);
    curl.args(["-H", &format!("Authorization: Bearer {}", agent.trim())]);
    let done = askbus_testkit::Process::spawn("curl", curl)?
        .finish()
        .await?;
    assert_eq!(done.stdout.trim(), "403", "{done:?}");
    let with_agent = up.askbus().clone().env("ASKBUS_CREDENTIAL", agent.trim());
    assert_eq!(
        with_agent
            .run(&["answer", &clarify_id, "--dismiss"])
            .await?
            .code,
        77
    );
    assert_eq!(me.pending().await?.len(), 1);
    me.send(
        Method::POST,
        &format!("/api/clarifications/{clarify_id}/answer"),
        b"{\"action\":\"dismiss\"}".to_vec(),
    )
    .await?;
    assert_eq!(asking.end().await?.code, 10);
    Ok(())
}
