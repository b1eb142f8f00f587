//! Several calls that wait for one question, what they hear meanwhile, and whose they are.

#![allow(clippy::indexing_slicing)]

mod fixture;

use fixture::client::Client;
use fixture::service::{Script, Service, State, answer};
use serde_json::{Value, json};

fn words(result: &Value) -> &Value {
    &result["structuredContent"]["answers"][0]["text"]
}

fn asked(count: usize) -> impl FnMut(&mut State) -> Option<()> {
    move |s| (s.asks.len() == count).then_some(())
}

#[tokio::test]
async fn identical_questions_wait_for_one_answer() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    client.ask(1, "same?").await;
    let id = service.question(0).await;
    client.ping(2).await;
    service.script(Script::Reattach(0));
    client.ask(3, "same?").await;
    service.until("the second ask", asked(2)).await;
    client.ping(4).await;
    service.settle(&id, answer("both"));
    let (first, second) = (client.next().await, client.next().await);
    for message in [&first, &second] {
        assert_eq!(words(&message["result"]), "both", "{message}");
    }
    let ids = [&first["id"], &second["id"]];
    assert!(
        ids.contains(&&json!(1)) && ids.contains(&&json!(3)),
        "{ids:?}"
    );
    service.state(|s| assert!(s.cancels.is_empty() && s.clarifications.len() == 1));
}

// contract: E11
#[tokio::test]
async fn a_cancelled_twin_leaves_the_question_to_the_other_and_the_last_one_withdraws_it() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    client.ask(1, "same?").await;
    service.question(0).await;
    client.ping(2).await;
    for (nth, call) in [(2, 3), (3, 5)] {
        service.script(Script::Reattach(0));
        client.ask(call, "same?").await;
        service.until("another ask", asked(nth)).await;
        client.ping(call + 1).await;
    }
    client.cancel(1).await;
    client.ping(7).await;
    client.cancel(3).await;
    client.ping(8).await;
    service.state(|s| assert!(s.cancels.is_empty(), "one call still waits"));
    client.cancel(5).await;
    let id = service.question(0).await;
    let withdrawn = service
        .until("a withdrawal", |s| s.cancels.first().cloned())
        .await;
    assert_eq!(withdrawn, id);
}

#[tokio::test]
async fn a_twin_whose_question_was_withdrawn_before_it_came_asks_again() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    client.ask(1, "same?").await;
    let first = service.question(0).await;
    client.ping(2).await;
    client.cancel(1).await;
    service
        .until("a withdrawal", |s| s.cancels.first().cloned())
        .await;
    // The service took the twin's `Ask` before it heard of the withdrawal.
    service.script(Script::Reattach(0));
    client.ask(3, "same?").await;
    let second = service.question(1).await;
    assert_ne!(first, second);
    service.settle(&second, answer("asked again"));
    assert_eq!(words(&client.result(3).await), "asked again");
}

// contract: A4
#[tokio::test]
async fn a_hold_is_heard_where_the_call_waits() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    client.ask_with_meta(1, json!({"progressToken": "t"})).await;
    client.progress("Waiting for a person").await;
    let id = service.question(0).await;
    service.hold(&id, "ann");
    client.progress("the deadline no longer counts").await;
    service.settle(&id, answer("yes"));
    client.result(1).await;
}

fn codex(thread: &str, turn: &str) -> Value {
    json!({"threadId": thread, "sessionId": "thread-root", "callId": "call_1",
        "x-codex-turn-metadata": {"session_id": "thread-root", "thread_id": thread,
            "turn_id": turn, "model": "gpt-5.5", "sandbox": "workspace-write"}})
}

// contract: D15 A7
#[tokio::test]
async fn a_client_that_names_its_threads_asks_in_them_and_sub_agents_under_their_parent() {
    let service = Service::up();
    let mut root = Client::ask_toolset(service.options()).await;
    root.ask_with_meta(1, codex("thread-root", "turn-1")).await;
    service.settle(&service.question(0).await, answer("yes"));
    root.result(1).await;
    let mut sub = Client::ask_toolset(service.options()).await;
    sub.ask_with_meta(1, codex("thread-sub", "turn-2")).await;
    service.settle(&service.question(1).await, answer("yes"));
    sub.result(1).await;
    service.state(|s| {
        let sessions = [&s.begins[0].session_id, &s.begins[1].session_id];
        assert_eq!(sessions, ["thread-root", "thread-sub"]);
        assert_eq!(s.asks[0].parent, None);
        assert_eq!(s.asks[0].client_turn, "turn-1");
        let parent = s.asks[1].parent.clone().unwrap();
        assert_eq!(parent.session_id, "thread-root");
        assert_eq!(s.asks[1].client_turn, "turn-2");
    });
    // A session that the process was given is kept.
    let mut options = service.options();
    options.session = Some("given".to_owned());
    let mut given = Client::ask_toolset(options).await;
    given.ask_with_meta(1, codex("thread-root", "turn-3")).await;
    service.settle(&service.question(2).await, answer("yes"));
    given.result(1).await;
    service.state(|s| assert_eq!(s.begins[2].session_id, "given"));
}
