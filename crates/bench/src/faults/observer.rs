//! A person who only looks: one live connection after the other, and lists in the end.

use super::board::Board;
use super::seen::{End, Listing};
use anyhow::{Context as _, Result, bail};
use askbus_testkit::{Askbus, Person, Socket};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// How long until a lost connection is opened again.
const RETRY: Duration = Duration::from_millis(20);
/// Objects in a list at most.
const MOST: usize = 1_000;

/// Looks until it is dropped. What is said twice, once in a replay and once as news, is the
/// business of the checks.
pub(super) async fn observe(board: Arc<Board>, person: Person) {
    let mut after = 0;
    loop {
        if let Ok(mut socket) = person.socket_at(&format!("/ws?after={after}")).await {
            // Late answers are no part of a replay.
            if let Ok(listing) = list(&person).await {
                let late = listing.ended.into_values().flat_map(|(_, late)| late);
                board.change(|state| state.recorded.extend(late));
            }
            // An error is a silence or the end of the connection; another one is opened.
            while let Ok(Some(object)) = socket.next().await {
                note(&board, &mut after, &object);
            }
            board.change(|state| state.reconnects += 1);
        }
        tokio::time::sleep(RETRY).await;
    }
}

fn note(board: &Board, after: &mut u64, object: &Value) {
    let word = |name: &str| object[name].as_str().unwrap_or_default();
    let id = word("clarify_id");
    match word("event") {
        "clarify.requested" => board.change(|s| s.sees_waiting(id, word("question"))),
        "clarify.resolved" => board.change(|s| {
            s.sees_ended(id);
            s.recorded.extend(End::read(object).answer_id);
        }),
        "clarify.late" => board.change(|s| s.recorded.extend(End::read(object).said)),
        "ready" => {
            let pending = object["pending"].as_array().map_or(&[][..], Vec::as_slice);
            let pending: BTreeSet<&str> = pending.iter().filter_map(Value::as_str).collect();
            board.change(|s| s.waiting.retain(|id, _| pending.contains(id.as_str())));
        }
        _ => {}
    }
    *after = object["seq"].as_u64().unwrap_or(0).max(*after);
}

/// What the gateway lists.
///
/// # Errors
/// When it is refused.
pub(super) async fn list(person: &Person) -> Result<Listing> {
    let mut all = Vec::new();
    for status in ["pending", "settled"] {
        let path = format!("/api/clarifications?status={status}&limit={MOST}");
        let reply = person.get(&path).await?;
        match reply.body["clarifications"].as_array() {
            Some(list) if reply.status == 200 => all.extend(list.clone()),
            _ => bail!("{path}: {reply:?}"),
        }
    }
    Ok(listing("the gateway", &all))
}

/// What `askbus inbox --json` and `askbus history --json` list.
///
/// # Errors
/// When one of them fails.
pub(super) async fn list_in_terminal(askbus: &Askbus) -> Result<Listing> {
    let most = MOST.to_string();
    let commands: [&[&str]; 2] = [
        &["inbox", "--json"],
        &["history", "--json", "--limit", &most],
    ];
    let mut all = Vec::new();
    for command in commands {
        let done = askbus.run(command).await?;
        if done.code != 0 {
            bail!("askbus {command:?}: {done:?}");
        }
        for line in done.stdout.lines() {
            all.push(serde_json::from_str(line).with_context(|| line.to_owned())?);
        }
    }
    Ok(listing("askbus history", &all))
}

fn listing(source: &str, all: &[Value]) -> Listing {
    let mut listing = Listing {
        source: source.to_owned(),
        ..Listing::default()
    };
    for object in all {
        let id = object["clarify_id"].as_str().unwrap_or_default().to_owned();
        if object["status"] == "pending" {
            listing.waiting.insert(id);
        } else {
            let late = object["late"].as_array().map_or(&[][..], Vec::as_slice);
            let late = late.iter().flat_map(|late| End::read(late).said).collect();
            listing.ended.insert(id, (End::read(object), late));
        }
    }
    listing
}

/// Whether a socket is open: a person who answers needs one.
pub(super) async fn connect(person: &Person) -> Socket {
    loop {
        match person.socket().await {
            Ok(socket) => return socket,
            Err(_) => tokio::time::sleep(RETRY).await,
        }
    }
}
