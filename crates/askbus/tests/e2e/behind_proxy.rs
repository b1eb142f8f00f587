//! A laptop whose way to the service leads through a proxy and TLS.

use crate::support::{BINARY, asked, choose, credential, id, one_question};
use anyhow::{Context as _, Result, ensure};
use askbus_testkit::{
    Askbus, AskbusUp, ConnectProxy, Era, McpHttp, McpStdio, Nginx, Person, folder,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::json;

/// A name that no resolver knows: only the proxy does.
const HOST: &str = "askbus.example.test";

struct Stage {
    up: AskbusUp,
    person: Person,
    nginx: Nginx,
}

/// `askbus up` behind an nginx that speaks TLS and passes gRPC on.
async fn stage() -> Result<Stage> {
    let up = AskbusUp::start_with(BINARY, &["--host-names", HOST], &[]).await?;
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed([HOST.to_owned(), "127.0.0.1".to_owned()])?;
    let host = up.url().trim_start_matches("http://");
    let server = format!(
        "server {{ listen 127.0.0.1:PORT ssl http2; \
         ssl_certificate FOLDER/cert.pem; ssl_certificate_key FOLDER/key.pem; \
         location / {{ grpc_pass grpc://{host}; grpc_set_header Host $host; }} }}"
    );
    let files = [
        ("cert.pem", cert.pem()),
        ("key.pem", signing_key.serialize_pem()),
    ];
    let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
    Ok(Stage {
        person: up.person().await?,
        nginx: Nginx::start(&server, &files).await?,
        up,
    })
}

async fn ask_and_answer(stage: &Stage, laptop: &Askbus, question: &str) -> Result<()> {
    let mut client = McpStdio::connect(laptop, &["mcp"]).await?;
    client
        .call(1, "ask_user", one_question(question, &["yes", "no"]))
        .await?;
    let shown = asked(&stage.person, question).await;
    let shown = shown.with_context(|| format!("nginx: {:#?}", stage.nginx.errors()))?;
    stage.person.answer(id(&shown), &choose("o1")).await?;
    let reply = client.reply(1).await?;
    let said = &reply["result"]["structuredContent"];
    assert_eq!(
        said["answers"][0]["options"][0]["label"], "yes",
        "{reply:#}"
    );
    Ok(())
}

// contract: E13
#[tokio::test]
async fn an_agent_asks_through_tls_and_through_a_proxy() -> Result<()> {
    let stage = stage().await?;
    let token = credential(&stage.up, "agent", "default", "laptop").await?;
    let home = folder()?;
    let roots = stage.nginx.folder().join("cert.pem").display().to_string();
    let laptop = Askbus::new(BINARY, home.path())
        .env("ASKBUS_CREDENTIAL", token.trim())
        .env("SSL_CERT_FILE", roots);
    let port = stage.nginx.port();
    let direct = laptop
        .clone()
        .env("ASKBUS_URL", format!("https://127.0.0.1:{port}"));
    ask_and_answer(&stage, &direct, "Through TLS?").await?;

    let user = STANDARD.encode("ann:secret");
    let proxy = ConnectProxy::start(&user, ([127, 0, 0, 1], port).into()).await?;
    let through = laptop
        .clone()
        .env("ASKBUS_URL", format!("https://{HOST}"))
        .env(
            "HTTPS_PROXY",
            format!("http://ann:secret@{}", proxy.address()),
        );
    ask_and_answer(&stage, &through, "Through a proxy?").await?;
    let asked_for = proxy.asked();
    ensure!(!asked_for.is_empty(), "the proxy was passed by");
    ensure!(
        asked_for.iter().all(|h| *h == format!("{HOST}:443")),
        "{asked_for:?}"
    );

    // Without the root, nothing is sent.
    let stranger = direct.env("SSL_CERT_FILE", "/dev/null");
    let done = stranger.run(&["ask", "Anybody?"]).await?;
    assert_eq!(done.code, 69, "{done:?}");
    let waiting = stage.person.pending().await?;
    ensure!(waiting.is_empty(), "{waiting:?}");
    // The commands of people say what they cannot.
    let done = direct_person(&stage, home.path()).await?;
    ensure!(
        done.code == 78 && done.stderr.contains("behind TLS"),
        "{done:?}"
    );
    Ok(())
}

async fn direct_person(stage: &Stage, home: &std::path::Path) -> Result<askbus_testkit::Finished> {
    let token = credential(&stage.up, "person", "default", "ann").await?;
    let url = format!("https://127.0.0.1:{}", stage.nginx.port());
    let person = Askbus::new(BINARY, home)
        .env("ASKBUS_CREDENTIAL", token.trim())
        .env("ASKBUS_URL", url);
    person.run(&["inbox"]).await
}

// contract: E13
#[tokio::test]
async fn mcp_over_http_works_behind_a_proxy_that_buffers() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let token = credential(&up, "agent", "default", "coder").await?;
    let server = format!(
        "server {{ listen 127.0.0.1:PORT; location / {{ proxy_pass {}; proxy_buffering on; \
         proxy_http_version 1.1; proxy_set_header Host $host; }} }}",
        up.url()
    );
    let nginx = Nginx::start(&server, &[]).await?;
    let url = format!("http://127.0.0.1:{}/mcp", nginx.port());
    for era in [Era::Handshake, Era::Stateless] {
        let client = McpHttp::connect(&url, &token, era, "claude-code").await?;
        let question = format!("Buffered, {era:?}?");
        let mut call = client
            .call(1, "ask_user", one_question(&question, &[]))
            .await?;
        assert_eq!(call.header("content-type"), Some("text/event-stream"));
        let shown = asked(&person, &question).await?;
        let answer = json!({"answers": [{"question_id": "q1", "option_ids": [], "text": "yes"}]});
        person.answer(id(&shown), &answer).await?;
        let result = call.result().await?;
        assert_eq!(result["structuredContent"]["answers"][0]["text"], "yes");
    }
    Ok(())
}
