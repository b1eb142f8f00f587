//! How long from the moment a question is asked until its card has been painted, in real Chromium on this
//! machine: `cargo bench -p askbus --bench card`. Needs what `./test` brings.

#![allow(clippy::indexing_slicing, reason = "what is not there in JSON is null")]

use anyhow::{Context as _, Result};
use askbus_testkit::{AskbusUp, Browser, McpStdio};
use serde_json::json;

/// Questions asked before anything is measured: the browser's own warming up is not of interest.
const BEFORE: u64 = 20;
/// Questions measured, one after the other.
const MEASURED: u64 = 300;

/// Notes when a question comes to the page and when its card has been painted.
const STOPWATCH: &str = "
    window.took = [];
    const came = new Map();
    const Real = WebSocket;
    window.WebSocket = class extends Real {
        constructor(...given) {
            super(...given);
            super.addEventListener('message', (event) => {
                const message = JSON.parse(event.data);
                if (message.event !== 'clarify.requested') return;
                came.set(message.clarify_id, [performance.now(), Date.now() - message.requested_at]);
            });
        }
    };
    new MutationObserver(() => {
        for (const [id, [at, way]] of came) {
            if (!document.querySelector(`[data-clarify-id='${id}'] input`)) continue;
            came.delete(id);
            requestAnimationFrame(() => setTimeout(() => window.took.push([id, way, performance.now() - at])));
        }
    }).observe(document, {subtree: true, childList: true});";

fn main() -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(run())
}

async fn run() -> Result<()> {
    let up = AskbusUp::start(env!("CARGO_BIN_EXE_askbus")).await?;
    let person = up.person().await?;
    let browser = Browser::open(1100, 960).await?;
    browser.before_pages(STOPWATCH).await?;
    let link = person.post("/api/sign-in-link", &json!({})).await?;
    let link = link.body["url"].as_str().context("a link")?;
    browser.goto(link).await?;
    browser.find("[data-connection=online]").await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let mut all: [Vec<f64>; 3] = Default::default();
    for n in 0..BEFORE + MEASURED {
        let questions = json!({"questions": [{"question": format!("Which of them is number {n}?"),
            "options": [{"label": "one", "description": "The first of them."}, "two", "three"]}]});
        agent.call(n, "ask_user", questions).await?;
        browser.until("window.took.length === 1").await?;
        let took = browser.run("return window.took.pop()").await?;
        let id = took[0].as_str().context("an id")?;
        let (way, drawn) = took[1].as_f64().zip(took[2].as_f64()).context("times")?;
        if n >= BEFORE {
            for (all, one) in all.iter_mut().zip([way, drawn, way + drawn]) {
                all.push(one);
            }
        }
        // As on any other day: what is answered leaves the page a few seconds later.
        person.answer(id, &json!({"response": "one"})).await?;
        agent.reply(n).await?;
    }
    let names = [
        "asked to received by the page",
        "received to painted",
        "asked to painted",
    ];
    for (name, mut times) in names.into_iter().zip(all) {
        times.sort_by(f64::total_cmp);
        let at = |share: usize| {
            times
                .get(times.len() * share / 100)
                .copied()
                .unwrap_or_default()
        };
        println!(
            "{name:<30} p50 {:>6.1} ms   p99 {:>6.1} ms   ({})",
            at(50),
            at(99),
            times.len()
        );
    }
    browser.close().await
}
