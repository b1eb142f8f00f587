//! What a result of each tool carries.

mod fixture;

use askbus_domain::Reason;
use askbus_mcp_adapter::{Gate, Toolset};
use askbus_wire::proto;
use fixture::client::{Client, open_gate, text};
use fixture::service::{Service, answer, outcome};
use serde_json::{Value, json};

fn ann() -> proto::Actor {
    proto::Actor {
        person: "ann".to_owned(),
        surface: "web".to_owned(),
    }
}

fn late() -> proto::LateMessage {
    proto::LateMessage {
        clarify_id: uuid::Uuid::now_v7().to_string(),
        answer_id: "a0".to_owned(),
        actor: Some(ann()),
        asked: "Where?".to_owned(),
        action: "answer".to_owned(),
        answers: vec![proto::QuestionAnswer {
            question_id: "q1".to_owned(),
            text: Some("prod, after all".to_owned()),
            ..Default::default()
        }],
        stored_at_ms: 1_800_000_000_000,
        ..Default::default()
    }
}

/// An outcome of `reason` as the service tells it.
fn told(reason: Reason) -> proto::Outcome {
    let person = reason.decided_by().as_str() == "person";
    proto::Outcome {
        actor: person.then(ann),
        text: (reason == Reason::AskBack).then(|| "Which one?".to_owned()),
        ..outcome(reason.as_str())
    }
}

// contract: A3 A7 E19
#[tokio::test]
async fn every_way_of_ending_has_its_words_and_none_is_an_error() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    for (nth, reason) in Reason::ALL.into_iter().enumerate() {
        client.ask(1, &format!("q{nth}?")).await;
        let clarify_id = service.question(nth).await;
        service.settle(&clarify_id, told(reason));
        let result = client.result(1).await;
        let structured = &result["structuredContent"];
        assert_eq!(result["isError"], false, "{reason:?}");
        assert_eq!(structured["status"], "settled");
        assert_eq!(structured["reason"], reason.as_str());
        assert_eq!(structured["mode"], json!(reason.ask_mode()));
        assert_eq!(structured["decided_by"], reason.decided_by().as_str());
        assert_eq!(structured["clarify_id"], json!(clarify_id));
        let person = reason.decided_by().as_str() == "person";
        assert_eq!(structured["actor"].is_object(), person, "{reason:?}");
        for list in ["answers", "late", "dismissed_questions", "assumptions"] {
            assert_eq!(structured[list], json!([]), "{reason:?} {list}");
        }
        for none in ["timeout", "deferred_text"] {
            assert!(structured[none].is_null(), "{reason:?} {none}");
        }
    }
}

// contract: A7
#[tokio::test]
async fn a_blocked_turn_is_a_notice() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    client.ask(1, "q").await;
    let off = proto::Outcome {
        blocked: true,
        ..outcome("off")
    };
    service.settle(&service.question(0).await, off);
    let result = client.result(1).await;
    assert_eq!(result["isError"], false);
    assert!(text(&result).contains("off for the rest of this turn"));
    assert_eq!(result["structuredContent"]["decided_by"], "policy");
}

#[tokio::test]
async fn the_clock_the_text_for_a_person_and_what_was_declined_are_told() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    client.ask(1, "q").await;
    let id = service.question(0).await;
    service.revise(&id, |c| {
        c.adjusted = Some(proto::TimeoutAdjusted {
            asked_ms: None,
            granted_ms: Some(90_500),
            by: "maximum".to_owned(),
        });
    });
    let deferred = proto::Outcome {
        timed_out: true,
        deferred_text: "请回复。".to_owned(),
        unanswered: vec!["q1".to_owned()],
        ..outcome("deferred")
    };
    service.settle(&id, deferred);
    let result = client.result(1).await;
    let structured = &result["structuredContent"];
    let adjusted = json!({"asked_s": null, "granted_s": 90.5, "by": "maximum"});
    assert_eq!(structured["timeout"], adjusted);
    assert_eq!(structured["deferred_text"], "请回复。");
    assert!(text(&result).contains("asked for no deadline and got a timeout of 90.500 s"));
    assert!(text(&result).ends_with("请回复。"), "{}", text(&result));

    client
        .call(2, "ask_user", json!({"questions": ["a?", "b?"]}))
        .await;
    let declined = proto::Outcome {
        unanswered: vec!["q2".to_owned()],
        dismissed_questions: vec!["q2".to_owned()],
        ..answer("yes")
    };
    service.settle(&service.question(1).await, declined);
    let result = client.result(2).await;
    assert_eq!(
        result["structuredContent"]["dismissed_questions"],
        json!(["q2"])
    );
    assert!(text(&result).contains("Q: b?\n(the person declined this one)"));
}

#[tokio::test]
async fn a_question_that_waited_as_long_as_any_may_says_so() {
    let service = Service::up();
    let mut client = Client::ask_toolset(service.options()).await;
    client.ask(1, "q").await;
    let id = service.question(0).await;
    let day = 86_400_000;
    service.revise(&id, |c| {
        c.requested_at_ms = 1_800_000_000_000 - 14 * day;
        c.cap_ms = 1_800_000_000_000;
        c.deadline_ms = None;
    });
    let over = proto::Outcome {
        timed_out: true,
        ..outcome("timeout")
    };
    service.settle(&id, over);
    assert!(text(&client.result(1).await).contains("It waited for 14 days."));
}

#[tokio::test]
async fn late_messages_ride_in_the_result_of_every_toolset() {
    let service = Service::up();
    let said = || proto::Outcome {
        late: vec![late()],
        ..answer("staging")
    };
    let mut ask = Client::ask_toolset(service.options()).await;
    ask.ask(1, "q").await;
    service.settle(&service.question(0).await, said());
    let in_ask = ask.result(1).await;
    assert!(text(&in_ask).contains("Late answer (in their own words): prod, after all"));

    let options = service.options();
    let mut clarify = Client::connect(options, Toolset::Interaction, Gate::default()).await;
    clarify.call(1, "clarify", json!({"question": "q"})).await;
    service.settle(&service.question(1).await, said());
    let in_clarify = clarify.result(1).await;
    assert!(text(&in_clarify).starts_with("staging\n\nLate messages from people."));

    let mut studio = Client::connect(service.options(), Toolset::Studio, open_gate()).await;
    let arguments = json!({"context_id": service.host_turn(), "question": "q"});
    studio.call(1, "ekko_studio_clarify", arguments).await;
    service.settle(&service.question(2).await, said());
    let in_studio = studio.result(1).await;
    assert_eq!(in_studio["structuredContent"]["response"], "staging");

    for result in [in_ask, in_clarify, in_studio] {
        let late = &result["structuredContent"]["late"][0];
        assert_eq!(late["answers"][0]["text"], "prod, after all", "{result}");
        assert_eq!(late["actor"]["person"], "ann");
        assert_eq!(late["asked"], "Where?");
    }
}

// contract: N1 E13
#[tokio::test]
async fn the_interaction_tool_returns_one_text_and_cannot_resume() {
    let service = Service::up();
    let options = service.options();
    let mut client = Client::connect(options, Toolset::Interaction, Gate::default()).await;
    let arguments = json!({"question": "Where?", "choices": ["staging", "prod"]});
    client.call(1, "clarify", arguments).await;
    let id = service.question(0).await;
    service.settle(&id, answer("prod"));
    let result = client.result(1).await;
    assert_eq!(text(&result), "prod");
    let expected = json!({"answer": "prod", "reason": "response", "clarify_id": id,
        "actor": {"person": "ann", "surface": "web"}, "late": []});
    assert_eq!(result["structuredContent"], expected);
    service.state(|s| {
        assert_eq!(s.asks[0].dialect, "interaction");
        let limit = s.asks[0].call_limit_ms.unwrap();
        assert!((300_000..=320_000).contains(&limit), "{limit}");
    });

    client
        .call(2, "clarify", json!({"question": "Where?"}))
        .await;
    service.settle(&service.question(1).await, outcome("timeout"));
    let result = client.result(2).await;
    assert_eq!(result["isError"], false);
    assert!(text(&result).starts_with("[no answer: timeout] Nobody answered in time."));
    assert_eq!(result["structuredContent"]["answer"], text(&result));

    // What nobody can be shown begins no question.
    let five = json!({"question": "q", "choices": ["1", "2", "3", "4", "5"]});
    client.call(3, "clarify", five).await;
    let refused = client.result(3).await;
    assert_eq!(refused["isError"], true);
    assert_eq!(refused["structuredContent"]["reason"], "INVALID_QUESTION");
    client
        .call(4, "ask_user", json!({"questions": ["q"]}))
        .await;
    assert_eq!(client.error(Some(4)).await["code"], -32602);
    service.state(|s| assert_eq!(s.asks.len(), 2));
}

// contract: E7
#[tokio::test]
async fn what_the_four_words_merge_has_a_finer_word_beside_them() {
    let service = Service::up();
    let mut client = Client::connect(service.options(), Toolset::Studio, open_gate()).await;
    for (nth, reason) in Reason::ALL.into_iter().enumerate() {
        let arguments = json!({"context_id": service.host_turn(), "question": "q"});
        client.call(1, "ekko_studio_clarify", arguments).await;
        service.settle(&service.question(nth).await, told(reason));
        let result = client.result(1).await;
        let structured = &result["structuredContent"];
        let word = structured["reason"].as_str().unwrap();
        let finer = structured.get("outcome_reason").and_then(Value::as_str);
        assert_eq!(finer.unwrap_or(word), reason.as_str());
        assert!(["response", "dismissed", "timeout", "cancelled"].contains(&word));
    }
}
