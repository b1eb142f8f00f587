//! What operators see: one trace for each question.

mod collector;

use crate::support::{BINARY, ask, asked, choose, id, one_question, words};
use anyhow::{Context as _, Result, ensure};
use askbus_testkit::{AskbusUp, McpStdio, NatsServer, Person, Team};
use collector::{Collector, Received};
use std::collections::BTreeSet;
use std::net::TcpListener;

const QUESTION: &str = "Which harbour shall the ferry use?";
const OPTION: &str = "the northern one";
const ANSWER: &str = "the one behind the lighthouse";
/// The trace of an author.
const OWN: &str = "0af7651916cd43dd8448eb211c80319c";
const ADAPTER: &str = "askbus-mcp-adapter";
const BINDING: &str = "askbus-session-binding";
const GATEWAY: &str = "askbus-gateway";

/// Service and name of each span, sorted.
fn names(spans: &[Received]) -> Vec<(&str, &str)> {
    let mut names: Vec<_> = spans
        .iter()
        .map(|s| (s.service.as_str(), s.name.as_str()))
        .collect();
    names.sort_unstable();
    names
}

/// What belongs to the trace of one question that an adapter asked and a person answered.
fn expected() -> Vec<(&'static str, &'static str)> {
    let mut names = vec![
        (ADAPTER, "ask"),
        (ADAPTER, "deliver"),
        (BINDING, "BeginTurn"),
        (BINDING, "append"),
        (BINDING, "Ask"),
        (BINDING, "append"),
        (GATEWAY, "show"),
        (GATEWAY, "answer"),
        (GATEWAY, "submit"),
        (BINDING, "judge"),
        (BINDING, "append"),
        (BINDING, "EndTurn"),
        (BINDING, "append"),
    ];
    names.sort_unstable();
    names
}

/// Every span but the first leads back to another one of the trace.
fn hang_together(spans: &[Received]) -> Result<()> {
    let known = |parent: &str| spans.iter().any(|s| s.span == parent);
    let loose: Vec<_> = spans.iter().filter(|s| !known(&s.parent)).collect();
    ensure!(loose.len() == 1, "loose: {loose:#?}\nof {spans:#?}");
    ensure!(loose[0].name == "ask", "{loose:#?}");
    Ok(())
}

/// Nothing of what was asked, answered or shown as proof is in what was exported.
fn keeps_secrets(collector: &Collector, secrets: &[&str]) -> Result<()> {
    let everything = collector.everything();
    for secret in secrets {
        ensure!(secret.len() > 8, "{secret} proves nothing");
        ensure!(!everything.contains(secret), "{secret} was exported");
    }
    Ok(())
}

#[tokio::test]
async fn one_trace_runs_through_all_services() -> Result<()> {
    let collector = Collector::start().await?;
    let (nats, team) = (NatsServer::start().await?, Team::prepare(BINARY).await?);
    let setting = format!("otlp_endpoint = \"{}\"\n", collector.url());
    std::fs::write(team.askbus().home().join("config.toml"), setting)?;
    let mut binding = team.session_binding(&nats).await?;
    let mut gateway = team.gateway(&nats, &binding.address).await?;
    let agent = team.credential("agent", "acme", "default", "agent").await?;
    let person = team.credential("person", "acme", "default", "ann").await?;
    let askbus = team.client(&binding.address, &agent)?;
    let askbus = askbus.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url());
    let url = nats.url();
    let mut args = vec!["mcp-adapter", "--nats", &url];
    args.extend(["--session-binding", &binding.address]);
    let mut adapter = McpStdio::connect(&askbus, &args).await?;
    adapter
        .call(1, "ask_user", one_question(QUESTION, &[OPTION, "none"]))
        .await?;
    let ann = Person::bearer(&gateway.address, &person)?;
    let shown = asked(&ann, QUESTION).await?;
    ensure!(ann.answer(id(&shown), &words(ANSWER)).await?.status == 200);
    let reply = adapter.reply(1).await?;
    ensure!(reply.to_string().contains(ANSWER), "{reply}");
    adapter.process.close_stdin();
    ensure!(adapter.process.wait().await?.success());
    // Another one, whose calls the gateway passes on.
    let through = team.client(&gateway.address, &agent)?;
    let through = through.env("ASKBUS_OTLP_ENDPOINT", collector.url());
    let (asking, passed_on) = ask(&through, &ann, "Through the gateway?", &[]).await?;
    let own = format!("00-{OWN}-b7ad6b7169203331-01");
    let traced = ann.clone().with_header("traceparent", &own)?;
    ensure!(traced.answer(&passed_on, &words(ANSWER)).await?.status == 200);
    ensure!(asking.finish().await?.code == 0);
    // The last spans are sent before a service ends.
    ensure!(gateway.process.stop().await?.success());
    ensure!(binding.process.stop().await?.success());

    let settled = ("askbus.clarify_id", id(&shown));
    let ask = collector.first(ADAPTER, "ask", settled)?;
    let spans = collector.trace(&ask.trace);
    assert_eq!(names(&spans), expected(), "{spans:#?}");
    hang_together(&spans)?;
    for span in &spans {
        ensure!(span.process == span.service, "{span:?}");
    }
    let ask = collector.first(ADAPTER, "ask", ("askbus.clarify_id", &passed_on))?;
    let spans = collector.trace(&ask.trace);
    hang_together(&spans)?;
    let forwarded = spans.iter().filter(|s| s.name == "forward").count();
    ensure!(forwarded >= 3, "begin, ask and end: {spans:#?}");
    // Its answer came within a trace of its author's, and is linked to the question's.
    let passed_on = ("askbus.clarify_id", passed_on.as_str());
    for (service, name) in [(GATEWAY, "answer"), (GATEWAY, "submit"), (BINDING, "judge")] {
        assert_eq!(
            collector.first(service, name, passed_on)?.trace,
            OWN,
            "{name}"
        );
    }
    assert_eq!(
        collector.first(GATEWAY, "answer", passed_on)?.links,
        [ask.trace.as_str()]
    );
    let resolved = collector
        .trace(OWN)
        .into_iter()
        .find(|s| s.name == "append");
    let resolved = resolved.context("no append in the author's trace")?;
    assert_eq!(resolved.links, [ask.trace.as_str()], "{resolved:?}");
    let judged = collector.first(BINDING, "judge", settled)?;
    assert_eq!(judged.attributes["askbus.verdict"], "settled");
    let delivered = collector.first(ADAPTER, "deliver", settled)?;
    assert_eq!(delivered.attributes["askbus.reason"], "response");
    keeps_secrets(&collector, &[QUESTION, OPTION, ANSWER, &agent, &person])
}

#[tokio::test]
async fn one_trace_runs_through_a_single_machine_and_ends_with_the_question() -> Result<()> {
    let collector = Collector::start().await?;
    let variables = [("ASKBUS_OTLP_ENDPOINT", collector.url())];
    let mut up = AskbusUp::start_with(BINARY, &[], &variables).await?;
    let me = up.person().await?;
    let mut adapter = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    adapter
        .call(1, "ask_user", one_question(QUESTION, &[OPTION, "none"]))
        .await?;
    let shown = asked(&me, QUESTION).await?;
    ensure!(me.answer(id(&shown), &choose("o1")).await?.status == 200);
    adapter.reply(1).await?;
    adapter.process.close_stdin();
    ensure!(adapter.process.wait().await?.success());
    // Nobody answers this one.
    let (asking, late) = ask(up.askbus(), &me, "Nobody?", &["--timeout", "1s"]).await?;
    ensure!(asking.finish().await?.code == 12);
    ensure!(up.stop().await?.success());

    let ask = collector.first(ADAPTER, "ask", ("askbus.clarify_id", id(&shown)))?;
    let spans = collector.trace(&ask.trace);
    assert_eq!(names(&spans), expected(), "{spans:#?}");
    hang_together(&spans)?;
    let processes: BTreeSet<&str> = spans.iter().map(|s| s.process.as_str()).collect();
    assert_eq!(
        processes.into_iter().collect::<Vec<_>>(),
        [ADAPTER, "askbus-up"]
    );

    let ask = collector.first(ADAPTER, "ask", ("askbus.clarify_id", &late))?;
    let ended = collector.first(BINDING, "append", ("askbus.reason", "timeout"))?;
    assert_eq!(
        (&ask.process, &ask.trace),
        (&"askbus-ask".to_owned(), &ended.trace)
    );
    keeps_secrets(&collector, &[QUESTION, OPTION])
}

#[tokio::test]
async fn a_collector_that_is_away_harms_nobody_and_one_that_cannot_be_is_refused() -> Result<()> {
    let nobody = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let endpoint = format!("http://{nobody}");
    let variables = [("ASKBUS_OTLP_ENDPOINT", endpoint.as_str())];
    let mut up = AskbusUp::start_with(BINARY, &[], &variables).await?;
    let me = up.person().await?;
    let (asking, asked_id) = ask(up.askbus(), &me, "All the same?", &[]).await?;
    ensure!(me.answer(&asked_id, &words("yes")).await?.status == 200);
    let done = asking.finish().await?;
    ensure!(done.code == 0 && done.stdout == "yes\n", "{done:?}");
    ensure!(up.stop().await?.success());
    for never in ["nonsense", "https://127.0.0.1:4317"] {
        let refused = up.askbus().clone().env("ASKBUS_OTLP_ENDPOINT", never);
        let done = refused.run(&["ask", "Who?"]).await?;
        ensure!(
            done.code == 78 && done.stderr.contains("otlp_endpoint"),
            "{done:?}"
        );
    }
    Ok(())
}
