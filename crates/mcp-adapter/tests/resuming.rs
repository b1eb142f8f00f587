//! Calls that end before their question does, and those that go on with it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod fixture;

use fixture::client::Client;
use fixture::service::{Service, State, answer};
use serde_json::{Value, json};
use std::time::Duration;

/// A client's limit at which calls are handed back after 300 ms.
const SHORT: Duration = Duration::from_millis(600);

fn structured(result: &Value) -> &Value {
    &result["structuredContent"]
}

async fn handed_back(client: &mut Client, id: u64) -> String {
    let result = client.result(id).await;
    assert_eq!(result["isError"], false, "{result}");
    let said = structured(&result);
    assert_eq!(said["status"], "pending", "{result}");
    assert_eq!(
        (&said["answers"], &said["actor"]),
        (&json!([]), &Value::Null)
    );
    let text = result["content"][0]["text"].as_str().unwrap();
    let clarify_id = said["clarify_id"].as_str().unwrap().to_owned();
    assert!(
        text.contains("await_answer") && text.contains(&clarify_id),
        "{text}"
    );
    // Some clients give their model the object alone.
    assert_eq!(said["message"], text);
    clarify_id
}

// contract: E13
#[tokio::test]
async fn a_call_is_handed_back_before_the_clients_limit_and_goes_on_by_its_id() {
    let service = Service::up();
    let mut client = Client::with_budget(service.options(), SHORT).await;
    client.ask(1, "q").await;
    let clarify_id = handed_back(&mut client, 1).await;
    let wait = json!({"clarify_id": clarify_id});
    client.call(2, "await_answer", wait.clone()).await;
    assert_eq!(handed_back(&mut client, 2).await, clarify_id);
    client.call(3, "await_answer", wait.clone()).await;
    service.settle(&clarify_id, answer("yes"));
    let result = client.result(3).await;
    assert_eq!(structured(&result)["reason"], "response");
    assert_eq!(structured(&result)["answers"][0]["text"], "yes");
    // A result may be read any number of times.
    client.call(4, "await_answer", wait).await;
    assert_eq!(structured(&client.result(4).await)["reason"], "response");
    service.state(|s| assert_eq!((s.asks.len(), s.cancels.len()), (1, 0)));
}

// contract: E13
#[tokio::test]
async fn what_settles_between_two_calls_is_told_to_the_next() {
    let service = Service::up();
    let mut client = Client::with_budget(service.options(), SHORT).await;
    client.ask(1, "by its id?").await;
    let clarify_id = handed_back(&mut client, 1).await;
    service.settle(&clarify_id, answer("first"));
    client
        .call(2, "await_answer", json!({"clarify_id": clarify_id}))
        .await;
    assert_eq!(
        structured(&client.result(2).await)["answers"][0]["text"],
        "first"
    );

    client.ask(3, "by the same words?").await;
    let clarify_id = handed_back(&mut client, 3).await;
    service.settle(&clarify_id, answer("second"));
    client.ask(4, "by the same words?").await;
    let result = client.result(4).await;
    assert_eq!(structured(&result)["clarify_id"], clarify_id.as_str());
    assert_eq!(structured(&result)["answers"][0]["text"], "second");
    service.state(|s| assert_eq!(s.asks.len(), 2));
    // Its result went out: the same words are a new question.
    client.ask(5, "by the same words?").await;
    let again = handed_back(&mut client, 5).await;
    assert_ne!(again, clarify_id);
}

// contract: E13
#[tokio::test]
async fn the_same_words_go_on_with_the_question_that_waits() {
    let service = Service::up();
    let mut client = Client::with_budget(service.options(), SHORT).await;
    client.ask(1, "q").await;
    let clarify_id = handed_back(&mut client, 1).await;
    client.ask(2, "q").await;
    assert_eq!(handed_back(&mut client, 2).await, clarify_id);
    client.ask(3, "another").await;
    assert_ne!(handed_back(&mut client, 3).await, clarify_id);
    service.state(|s| assert_eq!((s.asks.len(), s.cancels.len()), (2, 0)));
}

// contract: A4, E13
#[tokio::test]
async fn the_same_words_on_other_terms_go_on_with_the_first_and_to_somebody_else_are_asked_anew() {
    let service = Service::up();
    let mut client = Client::with_budget(service.options(), SHORT).await;
    client.ask(1, "q").await;
    let clarify_id = handed_back(&mut client, 1).await;
    let again = json!({"questions": ["q"], "timeout_s": 60, "on_timeout": "adopt"});
    client.call(2, "ask_user", again).await;
    let result = client.result(2).await;
    let object = structured(&result);
    assert_eq!(object["clarify_id"], clarify_id.as_str());
    let told = "the timeout and the terms of that call count, not those of this one.";
    assert!(
        object["message"].as_str().unwrap().ends_with(told),
        "{object}"
    );
    assert_eq!(result["content"][0]["text"], object["message"]);
    // The same terms need no word.
    client.ask(3, "q").await;
    let result = client.result(3).await;
    assert!(
        !structured(&result)["message"]
            .as_str()
            .unwrap()
            .contains("terms")
    );
    let to_bob = json!({"questions": ["q"], "to": "bob"});
    client.call(4, "ask_user", to_bob).await;
    assert_ne!(handed_back(&mut client, 4).await, clarify_id);
}

// contract: A1
#[tokio::test]
async fn what_of_a_call_was_not_used_is_named_with_its_result() {
    let service = Service::up();
    let mut client = Client::with_budget(service.options(), SHORT).await;
    let strange =
        json!({"questions": [{"question": "q", "id": 7}], "priority": "high", "timeout_s": ""});
    client.call(1, "ask_user", strange).await;
    let result = client.result(1).await;
    let object = structured(&result);
    assert_eq!(object["ignored"], json!(["priority", "questions[0].id"]));
    let told = "Not known here and not used: priority, questions[0].id.";
    assert!(
        object["message"].as_str().unwrap().ends_with(told),
        "{object}"
    );
    assert_eq!(result["content"][0]["text"], object["message"]);
    client.ask(2, "plain").await;
    assert_eq!(structured(&client.result(2).await)["ignored"], json!(null));
}

// contract: E11
#[tokio::test]
async fn what_was_handed_back_is_withdrawn_with_the_client() {
    let service = Service::up();
    let mut client = Client::with_budget(service.options(), SHORT).await;
    client.ask(1, "q").await;
    let clarify_id = handed_back(&mut client, 1).await;
    let (rest, took) = client.end().await;
    assert!(rest.is_empty(), "{rest:?}");
    assert!(took < Duration::from_secs(1), "{took:?}");
    service.state(|s| assert_eq!(s.cancels, [clarify_id]));
}

// contract: E11
#[tokio::test]
async fn a_cancelled_wait_withdraws_the_question() {
    let service = Service::up();
    let mut client = Client::with_budget(service.options(), SHORT).await;
    client.ask(1, "q").await;
    let clarify_id = handed_back(&mut client, 1).await;
    client
        .call(2, "await_answer", json!({"clarify_id": clarify_id}))
        .await;
    client.cancel(2).await;
    let withdrawn = service
        .until("a withdrawal", |s| s.cancels.first().cloned())
        .await;
    assert_eq!(withdrawn, clarify_id);
    client.ping(3).await;
}

// contract: E12
#[tokio::test]
async fn a_question_of_another_process_lives_on_under_its_name() {
    let service = Service::up();
    let mut first = Client::with_budget(service.options(), SHORT).await;
    first.ask(1, "q").await;
    let clarify_id = handed_back(&mut first, 1).await;
    let asked_by = service.state(|s| s.asks[0].asker_id.clone());
    let mut second = Client::with_budget(service.options(), SHORT).await;
    second
        .call(1, "await_answer", json!({"clarify_id": clarify_id}))
        .await;
    assert_eq!(handed_back(&mut second, 1).await, clarify_id);
    let attached = |s: &mut State| {
        let names = s.attaches.iter().filter(|a| a.asker_id == asked_by);
        names.count()
    };
    assert_eq!(service.state(attached), 2);
    second
        .call(2, "await_answer", json!({"clarify_id": clarify_id}))
        .await;
    service.settle(&clarify_id, answer("yes"));
    assert_eq!(structured(&second.result(2).await)["reason"], "response");
}

/// The one that asked still waits; what its neighbour thinks better of is the neighbour's wait alone.
// contract: E11 E12
#[tokio::test]
async fn a_cancelled_wait_leaves_the_question_of_another_process_alone() {
    let service = Service::up();
    let mut first = Client::ask_toolset(service.options()).await;
    first.ask(1, "q").await;
    let clarify_id = service.question(0).await;
    let mut second = Client::ask_toolset(service.options()).await;
    let wait = json!({"clarify_id": clarify_id});
    let params =
        json!({"name": "await_answer", "arguments": wait, "_meta": {"progressToken": "t"}});
    second
        .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
        .await;
    second.progress("Waiting for a person").await;
    second.cancel(1).await;
    second.call(2, "await_answer", wait).await;
    // Each time once under its own name, and once under that of the first.
    let again = |s: &mut State| (s.checks.len() == 4).then_some(());
    service.until("another wait", again).await;
    service.settle(&clarify_id, answer("yes"));
    assert_eq!(structured(&first.result(1).await)["reason"], "response");
    assert_eq!(structured(&second.result(2).await)["reason"], "response");
    service.state(|s| assert_eq!(s.cancels, Vec::<String>::new()));
}

/// An error that comes after the question went out does not say that nobody was asked.
// contract: P6
#[tokio::test]
async fn an_error_after_the_question_was_asked_names_it() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    client.ask(1, "q").await;
    let clarify_id = service.question(0).await;
    service.state(|s| s.token = Some("another".to_owned()));
    service.break_attachments();
    let result = client.result(1).await;
    assert_eq!(result["isError"], true, "{result}");
    let said = structured(&result);
    assert_eq!(said["reason"], "UNAUTHENTICATED", "{result}");
    assert_eq!(said["clarify_id"], clarify_id.as_str(), "{result}");
    let text = said["message"].as_str().unwrap();
    assert!(text.contains("The question was asked"), "{text}");
    assert!(!text.contains("Nobody was asked"), "{text}");
    // Before it is asked, that is what has to be said.
    client.ask(2, "another?").await;
    let result = client.result(2).await;
    let said = structured(&result);
    assert_eq!(
        (&said["reason"], &said["clarify_id"]),
        (&json!("UNAUTHENTICATED"), &Value::Null)
    );
    assert!(
        said["message"]
            .as_str()
            .unwrap()
            .contains("Nobody was asked")
    );
}

/// The service is there and has no log: to start another one would not help.
// contract: P6
#[tokio::test]
async fn a_log_that_is_away_is_not_called_a_service_that_is_away() {
    let service = Service::up();
    service.state(|s| s.log_is_away = true);
    let mut client = Client::with_budget(service.options(), SHORT).await;
    client.ask(1, "q").await;
    let result = client.result(1).await;
    let said = structured(&result);
    assert_eq!(said["reason"], "LOG_UNAVAILABLE", "{result}");
    let text = said["message"].as_str().unwrap();
    assert!(text.contains("cannot reach its log"), "{text}");
    assert!(!text.contains("askbus up"), "{text}");

    let nowhere = Service::down();
    let mut client = Client::with_budget(nowhere.options(), SHORT).await;
    client.ask(1, "q").await;
    let result = client.result(1).await;
    assert_eq!(structured(&result)["reason"], "UNAVAILABLE", "{result}");
    assert!(
        structured(&result)["message"]
            .as_str()
            .unwrap()
            .contains("askbus up")
    );
}

#[tokio::test]
async fn an_id_of_no_question_is_said_to_be_none() {
    let service = Service::up();
    let mut client = Client::with_budget(service.options(), SHORT).await;
    for (arguments, reason) in [
        (json!({}), "INVALID_REQUEST"),
        (json!({"clarify_id": " "}), "INVALID_REQUEST"),
        (json!({"clarify_id": "none"}), "UNKNOWN_CLARIFICATION"),
    ] {
        client.call(1, "await_answer", arguments).await;
        let result = client.result(1).await;
        assert_eq!(structured(&result)["reason"], reason, "{result}");
        assert_eq!(result["isError"], true);
    }
}

// contract: P6
#[tokio::test]
async fn capabilities_name_every_tool_and_whether_the_service_is_there() {
    let service = Service::up();
    let mut client = Client::with_budget(service.options(), SHORT).await;
    let listed = client.request(1, "tools/list", json!({})).await;
    let names = |tools: &Value| -> Vec<String> {
        let tools = tools.as_array().unwrap().iter();
        tools
            .map(|t| t["name"].as_str().unwrap().to_owned())
            .collect()
    };
    client.call(2, "list_capabilities", json!({})).await;
    let result = client.result(2).await;
    let said = structured(&result);
    assert_eq!(names(&said["tools"]), names(&listed["tools"]));
    assert_eq!(said["hand_back_s"], json!(0.3));
    assert_eq!(said["service"], json!({"reachable": true, "problem": null}));
    assert_eq!(said["limits"]["questions"], 5);
    service.state(|s| assert!(s.asks.is_empty() && s.begins.is_empty()));
}
