//! `askbus inbox`.

use crate::cli::InboxArgs;
use crate::config::Config;
use crate::exit::{Failure, UNAVAILABLE};
use crate::panel::Panel;
use crate::{signals, terminal};
use futures::StreamExt as _;
use serde_json::Value;
use std::collections::HashSet;
use std::process::ExitCode;
use std::time::Duration;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;

/// How many the service lists at once.
pub(crate) const MOST: usize = 1_000;

/// The list of a reply.
pub(crate) fn clarifications(body: &Value) -> &[Value] {
    body.get("clarifications")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Prints what waits; with `--watch` also what comes.
pub(crate) async fn inbox(config: &Config, args: &InboxArgs) -> Result<ExitCode, Failure> {
    let panel = Panel::open(config)?;
    let body = panel
        .get(&format!("/api/clarifications?status=pending&limit={MOST}"))
        .await?;
    print_all(clarifications(&body), args.json);
    if clarifications(&body).len() >= MOST {
        eprintln!("askbus: more wait than the {MOST} that are shown");
    }
    if args.watch {
        watch(&panel, args.json, clarifications(&body)).await?;
    } else if !args.json && clarifications(&body).is_empty() {
        println!("Nothing waits.");
    }
    Ok(ExitCode::SUCCESS)
}

/// Follows the socket: each question as it comes, each hold and each end as it happens, across
/// reconnects.
async fn watch(panel: &Panel, json: bool, shown: &[Value]) -> Result<(), Failure> {
    let shutdown = signals::shutdown()?;
    let mut known: HashSet<String> = shown
        .iter()
        .map(|c| text(c, "clarify_id").to_owned())
        .collect();
    let mut pause = Duration::from_millis(250);
    loop {
        let (url, token) = panel.socket();
        let bad = |e: &dyn std::fmt::Display| Failure::new(UNAVAILABLE, e);
        let mut request = url.into_client_request().map_err(|e| bad(&e))?;
        let bearer = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|e| bad(&e))?;
        request.headers_mut().insert("authorization", bearer);
        if let Ok((mut socket, _)) = tokio_tungstenite::connect_async(request).await {
            pause = Duration::from_millis(250);
            loop {
                let message = tokio::select! {
                    () = shutdown.cancelled() => return Ok(()),
                    message = socket.next() => message,
                };
                let Some(Ok(message)) = message else { break };
                let Ok(frame) = message.to_text() else {
                    continue;
                };
                if let Ok(object) = serde_json::from_str::<Value>(frame) {
                    show_live(panel, &object, json, &mut known).await;
                }
            }
        }
        eprintln!("askbus: the connection is lost; trying again");
        tokio::select! {
            () = shutdown.cancelled() => return Ok(()),
            () = tokio::time::sleep(pause) => pause = (pause * 2).min(Duration::from_secs(5)),
        }
    }
}

/// Shows what an object of the socket is about, in the same form as the list.
async fn show_live(panel: &Panel, object: &Value, json: bool, known: &mut HashSet<String>) {
    let id = text(object, "clarify_id");
    let settled = text(object, "event") == "clarify.resolved"
        && object.get("resolved").and_then(Value::as_bool) == Some(true);
    let new = text(object, "event") == "clarify.requested" && known.insert(id.to_owned());
    let held = text(object, "event") == "clarify.held";
    if !(settled || new || held) {
        return;
    }
    match panel.get(&format!("/api/clarifications/{id}")).await {
        Ok(body) => print_one(body.get("clarification").unwrap_or(&body), json),
        Err(failure) => {
            failure.report();
        }
    }
}

/// Prints each as `inbox` and `history` do.
pub(crate) fn print_all(list: &[Value], json: bool) {
    for one in list {
        print_one(one, json);
    }
}

fn print_one(one: &Value, json: bool) {
    if json {
        println!("{one}");
    } else {
        print!("{}", terminal::clarification(one));
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
