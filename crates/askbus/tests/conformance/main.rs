//! The protocol's own conformance suite and inspector against `askbus up`. Run by `./test conformance`,
//! which brings both and builds the program with the tools that the suite calls.

#![allow(missing_docs, clippy::indexing_slicing, reason = "tests")]

use anyhow::{Context as _, Result, ensure};
use askbus_testkit::conformance::{Check, Conformance, Expected};
use askbus_testkit::{AskbusUp, Nginx, workspace};
use serde_json::Value;
use std::collections::BTreeMap;

/// The program under test.
const BINARY: &str = env!("CARGO_BIN_EXE_askbus");
/// What the inspector can be told to speak.
const ERAS: [&str; 3] = ["legacy", "auto", "modern"];

/// A service, and a proxy that signs in for whoever cannot.
struct Stage {
    conformance: Conformance,
    up: AskbusUp,
    nginx: Nginx,
}

impl Stage {
    async fn set() -> Result<Self> {
        let conformance = Conformance::installed()?;
        let up = AskbusUp::start(BINARY).await?;
        let agent = ["--role", "agent", "--profile", "default", "--sub", "coder"];
        let issue = [&["credential", "issue"], agent.as_slice()].concat();
        let issued = up.askbus().run(&issue).await?;
        ensure!(issued.code == 0, "{issued:#?}");
        let server = format!(
            "server {{ listen 127.0.0.1:PORT; location / {{ proxy_pass {}; proxy_http_version 1.1; \
             proxy_set_header Host $http_host; proxy_set_header Authorization \"Bearer {}\"; }} }}",
            up.url(),
            issued.stdout.trim()
        );
        Ok(Self {
            conformance,
            nginx: Nginx::start(&server, &[]).await?,
            up,
        })
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.nginx.port())
    }
}

// contract: E13
#[tokio::test]
async fn every_scenario_passes_or_is_listed_with_a_reason() -> Result<()> {
    let stage = Stage::set().await?;
    let expected = Expected::read()?;
    let url = stage.url("/mcp/conformance");
    let mut problems = BTreeMap::new();
    for (revision, expected) in &expected {
        let found = stage.conformance.run(&url, revision, None).await?;
        let wrong = expected.problems(&found);
        if !wrong.is_empty() {
            problems.insert(revision, wrong);
        }
    }
    ensure!(problems.is_empty(), "{problems:#?}");
    documented(&expected)
}

/// The page says the same; `UPDATE_RECORDED=1` writes its table anew.
fn documented(expected: &BTreeMap<String, Expected>) -> Result<()> {
    let path = workspace().join("docs/conformance.md");
    let page = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let table = Expected::table(expected);
    if std::env::var("UPDATE_RECORDED").is_ok_and(|v| v == "1") {
        let head = page.split("| scenario |").next().unwrap_or_default();
        std::fs::write(&path, format!("{head}{table}"))?;
        return Ok(());
    }
    ensure!(
        page.ends_with(&table),
        "docs/conformance.md is to end:\n{table}"
    );
    Ok(())
}

// contract: E13
#[tokio::test]
async fn the_tools_that_agents_get_are_listed_as_the_protocol_wants() -> Result<()> {
    let stage = Stage::set().await?;
    for revision in Expected::read()?.keys() {
        for path in ["/mcp", "/mcp/interaction"] {
            let url = stage.url(path);
            let found = stage
                .conformance
                .run(&url, revision, Some("tools-list"))
                .await?;
            let checks: Vec<&Check> = found.values().flatten().collect();
            ensure!(
                checks.iter().any(|check| check.has_succeeded())
                    && !checks.iter().any(|check| check.has_failed()),
                "{revision}, {path}: {checks:#?}"
            );
        }
    }
    Ok(())
}

// contract: E13
#[tokio::test]
async fn the_inspector_lists_and_calls_over_http() -> Result<()> {
    let stage = Stage::set().await?;
    let url = stage.url("/mcp");
    let target = [url.as_str(), "--transport", "http"];
    for era in ERAS {
        inspected(&stage, &target, &[], era).await.context(era)?;
    }
    Ok(())
}

// contract: E13
#[tokio::test]
async fn the_inspector_lists_and_calls_over_stdio() -> Result<()> {
    let stage = Stage::set().await?;
    let env = stage.up.askbus().variables();
    for era in ERAS {
        inspected(&stage, &[BINARY, "mcp"], &env, era)
            .await
            .context(era)?;
    }
    Ok(())
}

/// The tools are those that everybody gets, and one of them reaches the service.
async fn inspected(
    stage: &Stage,
    target: &[&str],
    env: &[(String, String)],
    era: &str,
) -> Result<()> {
    let inspect =
        |method: &'static [&'static str]| stage.conformance.inspect(target, env, method, era);
    let listed = inspect(&["--method", "tools/list"]).await?;
    let tools = listed["tools"].as_array().map(Vec::as_slice);
    let names: Vec<&Value> = tools
        .unwrap_or_default()
        .iter()
        .map(|t| &t["name"])
        .collect();
    ensure!(
        names
            == [
                "ask_user",
                "await_answer",
                "update_plan",
                "list_capabilities"
            ],
        "{listed:#}"
    );
    let call = &["--method", "tools/call", "--tool-name", "list_capabilities"];
    let called = inspect(call).await?;
    ensure!(
        called["structuredContent"]["service"]["reachable"] == true,
        "{called:#}"
    );
    Ok(())
}
