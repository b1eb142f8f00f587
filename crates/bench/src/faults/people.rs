//! People who answer: one on a live connection, one over HTTP. Each goes on with an answer, under
//! the same id, until they are told what became of it.

use super::board::Board;
use super::observer::connect;
use super::plan::Chance;
use super::seen::{End, Sent, Told};
use askbus_testkit::Person;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Answers on their way at once: fewer than a connection takes.
const AT_ONCE: usize = 16;
/// How long until an answer that was not sent is sent again.
const RETRY: Duration = Duration::from_millis(50);

/// An answer to be given: its place among what was sent.
#[derive(Debug, Clone)]
struct Task {
    at: usize,
    clarify_id: String,
    answer_id: String,
    body: Value,
}

/// Who answers on a live connection.
pub(super) const ON_SOCKET: &str = "ann";
/// Who answers over HTTP.
pub(super) const OVER_HTTP: &str = "bob";

/// Hands each waiting question, as far as the round has come, to one of the two or to both, until it
/// is dropped.
pub(super) async fn answer_all(board: Arc<Board>, mut chance: Chance, ann: Person, bob: Person) {
    let (to_ann, for_ann) = mpsc::channel(1_024);
    let (to_bob, for_bob) = mpsc::channel(1_024);
    let mut people = JoinSet::new();
    people.spawn(on_socket(Arc::clone(&board), ann, for_ann));
    people.spawn(over_http(Arc::clone(&board), bob, for_bob));
    let mut changes = board.watch();
    let mut given = BTreeSet::new();
    loop {
        changes.borrow_and_update();
        let next = board.look(|state| {
            let mut waiting = state.waiting.iter();
            let found = waiting.find(|(id, question)| {
                let mut calls = state.seen.calls.iter().enumerate();
                let call = calls.find(|(_, call)| call.question == **question);
                !given.contains(*id)
                    && call.is_some_and(|(at, call)| !call.left && stage_of(at) <= state.stage)
            });
            found.map(|(id, question)| (id.clone(), question.clone()))
        });
        let Some((id, question)) = next else {
            // The board lives as long as this borrow.
            let _ = changes.changed().await;
            continue;
        };
        given.insert(id.clone());
        let who = chance.between(0, 9);
        let mut sent = true;
        if who < 7 {
            sent &= to_ann
                .send(task(&board, ON_SOCKET, &id, &question))
                .await
                .is_ok();
        }
        if who > 4 {
            sent &= to_bob
                .send(task(&board, OVER_HTTP, &id, &question))
                .await
                .is_ok();
        }
        if !sent {
            return;
        }
    }
}

/// Most are answered before and while the victim is hit, some while it is down, the rest after that.
fn stage_of(call: usize) -> usize {
    match call % 10 {
        0..6 => 1,
        6..8 => 2,
        _ => 3,
    }
}

fn task(board: &Board, person: &str, clarify_id: &str, question: &str) -> Task {
    board.change(|state| {
        let at = state.seen.sent.len();
        let (answer_id, text) = (
            format!("answer-{at}"),
            format!("{person} on {question} ({at})"),
        );
        let answer = json!({"question_id": "q1", "option_ids": [], "text": text});
        let body = json!({"answer_id": answer_id, "action": "answer", "answers": [answer]});
        state.seen.sent.push(Sent {
            person: person.to_owned(),
            clarify_id: clarify_id.to_owned(),
            answer_id: answer_id.clone(),
            text,
            told: Vec::new(),
        });
        Task {
            at,
            clarify_id: clarify_id.to_owned(),
            answer_id,
            body,
        }
    })
}

/// Writes down what the author was told; whether that is all there is to be told.
fn tell(board: &Board, task: &Task, told: Told) -> bool {
    let done = !matches!(told, Told::NotSent(_));
    board.change(|state| {
        if let Some(sent) = state.seen.sent.get_mut(task.at) {
            // The same failure again and again is one.
            if sent.told.last() != Some(&told) {
                sent.told.push(told);
            }
        }
    });
    done
}

/// Reads a verdict, which is the same over HTTP and on a connection.
fn verdict(object: &Value) -> Told {
    match object["verdict"].as_str() {
        Some("settled") => Told::Settled(End::read(object)),
        Some("conflict" | "late") => Told::Over(End::read(&object["outcome"])),
        Some("sent") => Told::Stored,
        _ if object["event"] == "clarify.sent" => Told::Stored,
        _ => Told::NotSent(object.to_string()),
    }
}

async fn over_http(board: Arc<Board>, person: Person, mut tasks: mpsc::Receiver<Task>) {
    let mut sending = JoinSet::new();
    loop {
        tokio::select! {
            Some(task) = tasks.recv(), if sending.len() < AT_ONCE => {
                sending.spawn(send(Arc::clone(&board), person.clone(), task));
            }
            Some(_) = sending.join_next() => {}
            else => return,
        }
    }
}

async fn send(board: Arc<Board>, person: Person, task: Task) {
    loop {
        let told = match person.answer(&task.clarify_id, &task.body).await {
            Ok(reply) => verdict(&reply.body),
            Err(error) => Told::NotSent(format!("{error:#}")),
        };
        if tell(&board, &task, told) {
            return;
        }
        tokio::time::sleep(RETRY).await;
    }
}

async fn on_socket(board: Arc<Board>, person: Person, mut tasks: mpsc::Receiver<Task>) {
    let mut open: BTreeMap<String, Task> = BTreeMap::new();
    let mut again: BTreeSet<String> = BTreeSet::new();
    loop {
        let mut socket = connect(&person).await;
        again.extend(open.keys().cloned());
        loop {
            let retry = again.pop_first();
            let sent = match retry.as_ref().and_then(|id| open.get(id)) {
                Some(task) => socket.send(&frame(task)).await,
                None => Ok(()),
            };
            if sent.is_err() {
                break;
            }
            if retry.is_some() {
                continue;
            }
            tokio::select! {
                Some(task) = tasks.recv(), if open.len() < AT_ONCE => {
                    again.insert(task.answer_id.clone());
                    open.insert(task.answer_id.clone(), task);
                }
                object = socket.next() => {
                    let Ok(Some(object)) = object else { break };
                    if let Some(task) = reply_to(&object, &open) {
                        let id = task.answer_id.clone();
                        if tell(&board, task, verdict(&object)) {
                            open.remove(&id);
                        } else {
                            tokio::time::sleep(RETRY).await;
                            again.insert(id);
                        }
                    }
                }
            }
        }
        for task in open.values() {
            tell(
                &board,
                task,
                Told::NotSent("the connection is lost".to_owned()),
            );
        }
    }
}

fn frame(task: &Task) -> Value {
    let mut frame = task.body.clone();
    frame["event"] = "clarify.respond".into();
    frame["clarify_id"] = task.clarify_id.clone().into();
    frame
}

/// The answer that an object replies to. What everybody hears names an answer too, but no verdict,
/// and is never about something that was not resolved.
fn reply_to<'a>(object: &Value, open: &'a BTreeMap<String, Task>) -> Option<&'a Task> {
    let own = object["event"] == "clarify.sent"
        || object["verdict"].is_string()
        || object["resolved"] == false;
    object["answer_id"]
        .as_str()
        .filter(|_| own)
        .and_then(|id| open.get(id))
}
