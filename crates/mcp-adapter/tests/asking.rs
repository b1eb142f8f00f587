//! What the asking process does towards the service.

mod fixture;

use askbus_mcp_adapter::{Gate, Token, Toolset};
use askbus_wire::error::ErrorCode;
use fixture::client::{Client, text};
use fixture::service::{Script, Service, answer, cancelled, outcome};
use serde_json::json;
use std::time::{Duration, Instant};

// contract: A1 E5
#[tokio::test]
async fn the_own_turn_begins_at_the_first_ask_and_only_then() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    client.request(1, "tools/list", json!({})).await;
    service.state(|s| assert!(s.begins.is_empty() && s.attaches.is_empty()));

    client.ask(2, "first?").await;
    let first = service.question(0).await;
    service.settle(&first, answer("yes"));
    assert_eq!(
        client.result(2).await["structuredContent"]["answers"][0]["text"],
        "yes"
    );
    client.ask(3, "second?").await;
    let second = service.question(1).await;
    service.settle(&second, answer("no"));
    client.result(3).await;

    service.state(|s| {
        assert_eq!(s.begins.len(), 1);
        assert_eq!(s.attaches.len(), 1);
        assert_eq!(s.asks[0].context_id, s.asks[1].context_id);
        assert_ne!(s.asks[0].ask_id, s.asks[1].ask_id);
        let asker = &s.attaches[0].asker_id;
        assert!(asker.starts_with("mcp-") && s.asks[0].asker_id == *asker);
        assert_eq!(s.asks[0].asker.as_ref().unwrap().client, "tester 1");
        let life = s.begins[0].life.clone().unwrap();
        assert!(
            matches!(life, askbus_wire::proto::begin_turn_request::Life::AskerId(a) if a == *asker)
        );
    });
}

#[tokio::test]
async fn a_host_s_turn_is_used_and_not_ended() {
    let service = Service::up();
    let context_id = service.host_turn();
    let mut options = service.options();
    options.context = Some(context_id.clone());
    let mut client = Client::ask_toolset(options).await;
    client.ask(1, "q").await;
    service.settle(&service.question(0).await, answer("yes"));
    client.result(1).await;
    client.end().await;
    service.state(|s| {
        assert_eq!(s.asks[0].context_id, context_id);
        assert!(s.begins.is_empty() && s.ends.is_empty());
    });
}

// contract: E11
#[tokio::test]
async fn a_cancelled_call_withdraws_its_question_and_gets_no_reply() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    client.ask(1, "cancelled?").await;
    client.ask(2, "kept?").await;
    service.question(1).await;
    let id_of = |text: &str| {
        service.state(|s| {
            let found = s
                .clarifications
                .iter()
                .find(|c| c.questions[0].question == text);
            found.unwrap().clarify_id.clone()
        })
    };
    client.cancel(1).await;
    let withdrawn = service
        .until("a withdrawal", |s| s.cancels.first().cloned())
        .await;
    assert_eq!(withdrawn, id_of("cancelled?"));
    client.ping(3).await;
    service.settle(&id_of("kept?"), answer("yes"));
    client.result(2).await;
    // Clients are known to cancel what is answered already.
    client.cancel(2).await;
    client.ping(4).await;
    let (rest, _) = client.end().await;
    assert!(rest.is_empty(), "{rest:?}");
    service.state(|s| assert_eq!(s.cancels.len(), 1));
}

// contract: E11
#[tokio::test]
async fn a_call_cancelled_while_its_ask_is_lost_leaves_no_question() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    service.script(Script::LoseReply);
    client.ask(1, "q").await;
    let id = service.question(0).await;
    client.cancel(1).await;
    let withdrawn = service
        .until("a withdrawal", |s| s.cancels.first().cloned())
        .await;
    assert_eq!(withdrawn, id);
}

// contract: E11
#[tokio::test]
async fn the_end_of_input_withdraws_ends_the_turn_and_the_process_within_a_second() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    client.ask(1, "a?").await;
    client.ask(2, "b?").await;
    service.question(1).await;
    let (_, took) = client.end().await;
    assert!(took < Duration::from_secs(1), "{took:?}");
    service.state(|s| {
        assert_eq!(s.cancels.len(), 2);
        assert_eq!(s.ends.len(), 1);
        assert_eq!(s.ends[0].end, "completed");
        assert_eq!(s.ends[0].context_id, s.asks[0].context_id);
    });
}

// contract: E11
#[tokio::test]
async fn a_signal_ends_it_like_the_end_of_input_even_without_a_service() {
    let mut service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    client.ask(1, "a?").await;
    service.question(0).await;
    service.stop().await;
    let (_, took) = client.shut_down().await;
    assert!(took < Duration::from_secs(1), "{took:?}");
}

// contract: E11
#[tokio::test]
async fn a_client_that_reads_no_more_does_not_hold_up_the_end() {
    let service = Service::up();
    let (toolset, gate) = (Toolset::Ask, Gate::default());
    let mut client = Client::with_room(64, service.options(), toolset, gate);
    client.initialize().await;
    client.ask(1, "q").await;
    service.question(0).await;
    for id in 2..40 {
        let list = json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {}});
        client.send(&list).await;
    }
    let since = Instant::now();
    let ended = client.end_unread().await;
    assert!(
        since.elapsed() < Duration::from_secs(1),
        "{:?}",
        since.elapsed()
    );
    assert!(ended.is_ok());
    service.state(|s| assert_eq!((s.cancels.len(), s.ends.len()), (1, 1)));
}

// contract: P4
#[tokio::test]
async fn a_credential_made_later_takes_effect_without_a_restart() {
    let service = Service::up();
    service.state(|s| s.token = Some("new".to_owned()));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("credential");
    let mut options = service.options();
    options.token = Token::File(path.clone());
    options.patience = Duration::ZERO;
    let mut client = Client::ask_toolset(options).await;
    client.ask(1, "without a file").await;
    assert_eq!(
        client.result(1).await["structuredContent"]["reason"],
        "UNAVAILABLE"
    );
    std::fs::write(&path, "old").unwrap();
    client.ask(2, "with an old one").await;
    assert_eq!(
        client.result(2).await["structuredContent"]["reason"],
        "UNAUTHENTICATED"
    );
    std::fs::write(&path, "new\n").unwrap();
    client.ask(3, "with the right one").await;
    service.settle(&service.question(0).await, answer("yes"));
    assert_eq!(
        client.result(3).await["structuredContent"]["reason"],
        "response"
    );
}

#[tokio::test]
async fn an_outcome_missed_while_the_attachment_was_broken_is_replayed() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    client.ask(1, "q").await;
    let id = service.question(0).await;
    service.break_attachments();
    service.settle(&id, answer("late but heard"));
    let result = client.result(1).await;
    assert_eq!(
        result["structuredContent"]["answers"][0]["text"],
        "late but heard"
    );
    service.state(|s| assert_eq!(s.attaches.last().unwrap().open_clarify_ids, [id]));
}

#[tokio::test]
async fn an_open_question_outlives_a_restart_of_the_service() {
    let mut service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    client.ask(1, "q").await;
    let id = service.question(0).await;
    service.stop().await;
    service.settle(&id, answer("after the restart"));
    client.ping(2).await;
    service.start();
    let result = client.result(1).await;
    assert_eq!(
        result["structuredContent"]["answers"][0]["text"],
        "after the restart"
    );
    service.state(|s| assert_eq!(s.asks.len(), 1));
}

#[tokio::test]
async fn an_ask_whose_reply_was_lost_is_repeated_under_its_id() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    service.script(Script::LoseReply);
    service.script(Script::Fail(ErrorCode::Unavailable));
    client.ask(1, "q").await;
    service
        .until("three attempts", |s| (s.asks.len() == 3).then_some(()))
        .await;
    service.settle(&service.question(0).await, answer("once"));
    client.result(1).await;
    service.state(|s| {
        assert_eq!(s.clarifications.len(), 1);
        assert!(s.asks.iter().all(|a| a.ask_id == s.asks[0].ask_id));
    });
}

/// Whether it was asked is not known for a while; then the service says that it was not.
#[tokio::test]
async fn an_ask_in_doubt_that_is_then_refused_ends_with_the_refusal() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    for script in [
        Script::Fail(ErrorCode::Unavailable),
        Script::Fail(ErrorCode::LogUnavailable),
        Script::Fail(ErrorCode::TooManyPending),
    ] {
        service.script(script);
    }
    client.ask(1, "q").await;
    let result = client.result(1).await;
    let structured = &result["structuredContent"];
    assert_eq!(
        (&result["isError"], &structured["reason"]),
        (&json!(true), &json!("TOO_MANY_PENDING"))
    );
    // Some clients give their model the object alone.
    assert_eq!(structured["message"], result["content"][0]["text"]);
    service.state(|s| {
        assert!(s.asks.iter().all(|a| a.ask_id == s.asks[0].ask_id));
        assert_eq!((s.asks.len(), s.cancels.len()), (3, 0));
    });
    // It is nobody's: nothing is left that would be withdrawn with the client.
    client.end().await;
    service.state(|s| assert_eq!(s.cancels, Vec::<String>::new()));
}

#[tokio::test]
async fn an_outcome_may_come_before_the_reply_to_its_ask() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    service.script(Script::SettleFirst(Box::new(outcome("off"))));
    client.ask(1, "q").await;
    assert_eq!(client.result(1).await["structuredContent"]["reason"], "off");
}

#[tokio::test]
async fn a_question_lost_with_the_lease_is_asked_again_by_itself() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    client.ask(1, "q").await;
    let first = service.question(0).await;
    service.settle(&first, cancelled("asker_gone"));
    let second = service.question(1).await;
    service.settle(&second, answer("still here"));
    let result = client.result(1).await;
    assert_eq!(result["structuredContent"]["clarify_id"], second);
    service.state(|s| assert_ne!(s.asks[0].ask_id, s.asks[1].ask_id));
}

#[tokio::test]
async fn an_own_turn_that_ended_is_begun_anew_once() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    client.ask(1, "q").await;
    service.settle(&service.question(0).await, answer("a"));
    client.result(1).await;
    service.state(|s| s.turns.values_mut().for_each(|active| *active = false));
    client.ask(2, "q").await;
    service.settle(&service.question(1).await, answer("b"));
    client.result(2).await;
    service.state(|s| {
        assert_eq!(s.begins.len(), 2);
        assert_eq!(s.begins[0].session_id, s.begins[1].session_id);
        assert_ne!(s.begins[0].begin_id, s.begins[1].begin_id);
    });

    service.state(|s| s.turns.values_mut().for_each(|active| *active = false));
    service.script(Script::Fail(ErrorCode::NoActiveTurn));
    service.script(Script::Fail(ErrorCode::NoActiveTurn));
    client.ask(3, "q").await;
    let result = client.result(3).await;
    assert_eq!(result["structuredContent"]["reason"], "NO_ACTIVE_TURN");
    assert_eq!(result["isError"], true);
}

/// The reply to a begin was lost, and others under the same name have gone on since.
#[tokio::test]
async fn a_begin_that_was_overtaken_is_made_anew_once() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    service.state(|s| s.refused_begins.push_back(ErrorCode::ContextExpired));
    client.ask(1, "q").await;
    service.settle(&service.question(0).await, answer("a"));
    assert_eq!(client.result(1).await["isError"], false);

    let mut client = Client::ask_toolset(service.options()).await;
    for _ in 0..2 {
        service.state(|s| s.refused_begins.push_back(ErrorCode::ContextExpired));
    }
    client.ask(1, "q").await;
    let result = client.result(1).await;
    assert_eq!(result["structuredContent"]["reason"], "CONTEXT_EXPIRED");
}

// A turn that somebody ended on purpose takes its questions with it: two processes in one session
// would otherwise take it from each other for ever.
#[tokio::test]
async fn a_question_that_ended_with_its_turn_is_not_asked_again() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    client.ask(1, "q").await;
    service.settle(&service.question(0).await, cancelled("turn_ended"));
    let result = client.result(1).await;
    assert_eq!(result["structuredContent"]["reason"], "cancelled");
    assert_eq!(result["isError"], false);
    service.state(|s| assert_eq!(s.asks.len(), 1));
}

#[tokio::test]
async fn without_a_service_a_call_ends_with_a_hint_and_starts_nothing() {
    let service = Service::down();
    let mut options = service.options();
    options.patience = Duration::from_millis(300);
    let mut client = Client::ask_toolset(options).await;
    client.ask(1, "q").await;
    let result = client.result(1).await;
    assert_eq!(result["isError"], true);
    assert_eq!(result["structuredContent"]["reason"], "UNAVAILABLE");
    assert!(text(&result).contains("askbus up"), "{result}");
}

#[tokio::test]
async fn a_service_that_comes_up_within_the_patience_is_asked() {
    let mut service = Service::down();
    let mut client = Client::ask_toolset(service.options()).await;
    client.ask(1, "q").await;
    client.ping(2).await;
    service.start();
    service.settle(&service.question(0).await, answer("yes"));
    client.result(1).await;
}

#[tokio::test]
async fn a_question_the_service_has_lost_is_said_to_be_lost() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    client.ask(1, "q").await;
    service.question(0).await;
    service.state(|s| s.clarifications.clear());
    service.break_attachments();
    let result = client.result(1).await;
    assert_eq!(
        result["structuredContent"]["reason"],
        "UNKNOWN_CLARIFICATION"
    );
    assert_eq!(result["isError"], true);
}

#[tokio::test]
async fn many_calls_wait_each_on_its_own() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    for id in 1..=20 {
        client.ask(id, &format!("{id}")).await;
    }
    service.question(19).await;
    let questions = service.state(|s| s.clarifications.clone());
    for question in questions.iter().rev() {
        service.settle(
            &question.clarify_id,
            answer(&question.questions[0].question),
        );
        let message = client.next().await;
        let text = &message["result"]["structuredContent"]["answers"][0]["text"];
        assert_eq!(*text, message["id"].to_string());
    }
    service.state(|s| {
        assert!(s.begins.iter().all(|b| b.begin_id == s.begins[0].begin_id));
        assert_eq!(s.turns.len(), 1);
    });
}

// One trace from the tool call to the answer: the caller's where it names one.
#[tokio::test]
async fn every_call_of_the_service_is_in_the_trace_of_its_tool_call() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let params = json!({"name": "ask_user", "arguments": {"questions": ["q"]},
        "_meta": {"traceparent": format!("00-{trace}-b7ad6b7169203331-01")}});
    client
        .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
        .await;
    service.question(0).await;
    client.cancel(1).await;
    let traced = service
        .until("a withdrawal", |s| {
            (!s.cancels.is_empty()).then(|| std::mem::take(&mut s.traces))
        })
        .await;
    assert_eq!(
        traced.iter().map(|(call, _)| *call).collect::<Vec<_>>(),
        ["begin", "ask", "cancel"]
    );
    for (call, sent) in traced {
        let sent = sent.unwrap();
        assert!(sent.starts_with(&format!("00-{trace}-")), "{call}: {sent}");
    }
    // Without one it begins its own.
    client.ask(2, "q").await;
    service.settle(&service.question(1).await, answer("yes"));
    client.result(2).await;
    let own = service.state(|s| s.traces[0].1.clone().unwrap());
    assert!(
        own.len() == 55 && own.starts_with("00-") && !own.contains(trace),
        "{own}"
    );
}

// The end of an own turn belongs to the question that the turn began with.
#[tokio::test]
async fn the_end_of_a_turn_is_in_the_trace_of_its_first_question() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    let given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let params = json!({"name": "ask_user", "arguments": {"questions": ["q"]},
        "_meta": {"traceparent": given}});
    client
        .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
        .await;
    service.settle(&service.question(0).await, answer("yes"));
    client.result(1).await;
    client.end().await;
    // Handed on as it came: nothing here puts a span of its own in its place.
    let traced = service.state(|s| std::mem::take(&mut s.traces));
    let expected = ["begin", "ask", "end"].map(|call| (call, Some(given.to_owned())));
    assert_eq!(traced, expected);
}
