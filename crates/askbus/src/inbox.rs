//! `askbus inbox` and `askbus history`.

use crate::cli::{HistoryArgs, InboxArgs};
use crate::config::Config;
use crate::exit::{Failure, UNAVAILABLE};
use crate::panel::Panel;
use crate::signals;
use futures::StreamExt as _;
use serde_json::Value;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;

/// The list of a reply.
pub(crate) fn clarifications(body: &Value) -> &[Value] {
    body.get("clarifications")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Prints what waits; with `--watch` also what comes.
pub(crate) async fn inbox(config: &Config, args: &InboxArgs) -> Result<ExitCode, Failure> {
    let panel = Panel::open(config)?;
    let body = panel.get("/api/clarifications?status=pending").await?;
    print_all(clarifications(&body), args.json);
    if args.watch {
        watch(&panel, args.json, clarifications(&body)).await?;
    } else if !args.json && clarifications(&body).is_empty() {
        println!("Nothing waits.");
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints how questions ended, newest first.
pub(crate) async fn history(config: &Config, args: &HistoryArgs) -> Result<ExitCode, Failure> {
    let panel = Panel::open(config)?;
    let mut path = format!("/api/clarifications?status=settled&limit={}", args.limit);
    if let Some(session) = &args.session {
        let _ = write!(path, "&session={}", askbus_wire::subject::token(session));
    }
    let body = panel.get(&path).await?;
    print_all(clarifications(&body), args.json);
    Ok(ExitCode::SUCCESS)
}

/// Follows the socket: each question as it comes, each end as it happens, across reconnects.
async fn watch(panel: &Panel, json: bool, shown: &[Value]) -> Result<(), Failure> {
    let shutdown = signals::shutdown()?;
    let mut known: std::collections::HashSet<String> = shown
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
                    show_live(&object, json, &mut known);
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

fn show_live(object: &Value, json: bool, known: &mut std::collections::HashSet<String>) {
    let id = text(object, "clarify_id").to_owned();
    match text(object, "event") {
        "clarify.requested" if known.insert(id) => print_one(object, json),
        "clarify.resolved" if json => println!("{object}"),
        "clarify.resolved" => println!(
            "{}  {}{}",
            text(object, "clarify_id"),
            text(object, "reason"),
            by(object)
        ),
        _ => {}
    }
}

fn print_all(list: &[Value], json: bool) {
    for one in list {
        print_one(one, json);
    }
}

fn print_one(one: &Value, json: bool) {
    if json {
        println!("{one}");
    } else {
        print!("{}", render(one));
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn by(value: &Value) -> String {
    value
        .get("actor")
        .and_then(|a| a.get("person"))
        .and_then(Value::as_str)
        .map_or_else(String::new, |person| format!(" by {}", plain(person)))
}

/// Agents' text on a terminal: control characters could rewrite what the person sees.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_control() && c != '\n' {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect()
}

fn render(one: &Value) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}  session {}",
        text(one, "clarify_id"),
        plain(text(one, "session_id"))
    );
    let deadline = text(one, "deadline");
    if !deadline.is_empty() {
        let _ = writeln!(out, "  until {deadline}");
    }
    let questions = one
        .get("questions")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    for (n, question) in questions.iter().enumerate() {
        let number = if questions.len() > 1 {
            format!("{}/{} ", n + 1, questions.len())
        } else {
            String::new()
        };
        let _ = writeln!(out, "  {number}{}", plain(text(question, "question")));
        let options = question
            .get("options")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        for (i, option) in options.iter().enumerate() {
            let recommended = text(option, "id") == text(question, "recommended");
            let mark = if recommended { "  (recommended)" } else { "" };
            let _ = writeln!(out, "    {}. {}{mark}", i + 1, plain(text(option, "label")));
        }
    }
    if !text(one, "reason").is_empty() {
        let _ = writeln!(out, "  → {}{}", text(one, "reason"), by(one));
    }
    out.push('\n');
    out
}
