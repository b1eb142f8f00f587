//! Whatever a person's client, a host or another site may send.

use crate::fence;
use crate::projection::{Card, TurnFigures};
use crate::socket;
use crate::submit::Sent;
use crate::turns;
use askbus_domain::{
    Actor, Answer, AskCommand, AskerInfo, BeginCommand, Command, Dialect, Event, Holder, Millis,
    PersonId, PolicyLayer, Presence, Rights, Session, Surface, Timestamp, decide, parse_arguments,
};
use askbus_fuzz::{Material, Names, fuzz_bytes, fuzz_json};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use serde_json::{Value, json};
use std::sync::Arc;

const NOW: Timestamp = Timestamp::from_unix_millis(1_800_000_000_000);

/// A session that asks, and the card of what it asks.
fn asked(arguments: &Value) -> (Session, Card) {
    let id = |text: &str| text.to_owned();
    let context_id = "01a22db2-b5ef-72d9-8d4d-32ea513796eb".parse_id();
    let clarify_id = "01a22db2-b5ef-72d9-8d4d-32ea513796ea".parse_id();
    let (profile, run) = ("default".parse_id(), "run".parse_id());
    let begin_id = id("begin").try_into().unwrap();
    let until = Holder::Until(NOW.plus(Millis(3_600_000)));
    let begin = BeginCommand::new(begin_id, context_id, run, profile, until);
    let ask = AskCommand {
        ask_id: id("ask").try_into().unwrap(),
        clarify_id,
        context_id,
        profile: "default".parse_id(),
        asker_id: id("asker").try_into().unwrap(),
        asker_ttl: Millis(15_000),
        asker: AskerInfo::default(),
        dialect: Dialect::Ask,
        input: parse_arguments(Dialect::Ask, arguments),
        call_limit: None,
        policy: PolicyLayer::default(),
        presence: Presence::Unknown,
        client_turn: None,
        parent: None,
    };
    let mut session = Session::default();
    for command in [Command::Begin(begin), Command::Ask(Box::new(ask))] {
        let events = decide(&session, &command, NOW).unwrap();
        for event in &events {
            session.evolve(event);
        }
    }
    let card = Card {
        clarification: session.clarification(clarify_id).unwrap().clone(),
        session: "session".parse_id(),
        run: "run".parse_id(),
        profile: "default".parse_id(),
        requested_seq: 1,
        begun_seq: 1,
        noted: Vec::new(),
        settled_seq: None,
        late: Vec::new(),
        turn: Arc::new(TurnFigures::default()),
        trace: None,
    };
    (session, card)
}

/// An id of any kind.
trait ParseId {
    fn parse_id<T: serde::de::DeserializeOwned>(&self) -> T;
}

impl ParseId for str {
    fn parse_id<T: serde::de::DeserializeOwned>(&self) -> T {
        serde_json::from_value(self.into()).unwrap()
    }
}

const NAMES: Names = Names {
    fields: &[
        "answer_id",
        "action",
        "answers",
        "text",
        "response",
        "surface",
        "question_id",
        "option_ids",
        "note",
        "dismissed",
        "event",
        "type",
        "clarify_id",
        "session_id",
        "tab",
        "sessionId",
        "requestId",
        "answer",
        "begin_id",
        "run_id",
        "lease_ms",
        "for_ms",
        "policy",
        "parent",
        "timeout_ms",
        "on_timeout",
        "when_absent",
        "source",
        "toolset",
        "end",
        "tool",
        "group_chat",
        "room_id",
        "roomId",
        "name",
    ],
    words: &[
        "answer",
        "ask_back",
        "dismiss",
        "skip",
        "q1",
        "q2",
        "o1",
        "o2",
        "web",
        "terminal",
        "clarify.respond",
        "clarify.hold",
        "clarify.draft",
        "room.join",
        "clarify_response",
        "staging",
        "01a22db2-b5ef-72d9-8d4d-32ea513796ea",
        "adopt",
        "completed",
    ],
};

// contract: E10
#[test]
fn fuzz_answers() {
    let cards = [
        asked(&json!({"question": "Where?", "options": ["staging", "prod"]})),
        asked(&json!({"questions": [{"question": "Where?", "options": ["a", "a"]}, "What?"]})),
    ];
    let ann = Actor {
        person: PersonId::new("ann").unwrap(),
        surface: Surface::Web,
    };
    fuzz_json!(NAMES, |value: Value| {
        let Ok(sent) = serde_json::from_value::<Sent>(value) else {
            return;
        };
        for (session, card) in &cards {
            if let Ok(response) = sent.clone().into_response(card, ann.clone()) {
                assert_eq!(response.actor, ann);
                let answer = Command::Answer(Box::new(Answer {
                    clarify_id: card.id(),
                    response,
                    rights: Rights::default(),
                    stored_at: NOW,
                }));
                // What a question shows is all that can be chosen.
                let known = |a: &askbus_domain::QuestionAnswer| {
                    card.clarification.questions.get(&a.question_id).is_some()
                };
                for event in decide(session, &answer, NOW).into_iter().flatten() {
                    let Event::Resolved { outcome, .. } = event else {
                        panic!("an answer in time settles: {event:?}");
                    };
                    assert!(outcome.answers.iter().all(known));
                }
            }
        }
    });
}

#[test]
fn fuzz_frames() {
    fuzz_json!(NAMES, |value: Value| socket::read_any_frame(&value));
}

#[test]
fn fuzz_bodies_of_hosts() {
    let seeds = [
        r#"{"begin_id":"b","session_id":"s","run_id":"r","lease_ms":15000,"policy":{"timeout_ms":0,"on_timeout":"adopt"},"source":"workflow","parent":{"session_id":"p","name":"n"}}"#,
        r#"{"profile":"default"}"#,
        r#"{"end":"completed"}"#,
        r#"{"tool":"Write"}"#,
        "",
    ];
    fuzz_bytes!(Material::of(&seeds, NAMES.fields), turns::read_any_body);
}

// contract: D14
#[test]
fn fuzz_the_fence() {
    let seeds = [
        "Host: 127.0.0.1:7000\nOrigin: http://127.0.0.1:7000\nSec-Fetch-Site: same-origin",
        "Host: localhost\nOrigin: null\nSec-Fetch-Site: cross-site",
        "Host: ask.example\nOrigin: https://ask.example\nCookie: askbus=t",
        "Host: [::1]:7000\nOrigin: http://[::1]:7000",
        "Host: evil.example\nHost: localhost\nX-Forwarded-For: 10.0.0.1",
    ];
    let words = [
        "Host: ",
        "Origin: ",
        "Sec-Fetch-Site: ",
        "\n",
        "@",
        "http://",
        "localhost",
        "ask.example",
    ];
    let names = ["ask.example".to_owned()];
    let uri = Uri::from_static("/api/clarifications");
    fuzz_bytes!(Material::of(&seeds, &words), |bytes: &[u8]| {
        let mut headers = HeaderMap::new();
        for line in bytes.split(|b| *b == b'\n') {
            let mut parts = line.splitn(2, |b| *b == b':');
            let name = parts.next().unwrap_or_default().trim_ascii();
            let value = parts.next().unwrap_or_default().trim_ascii();
            if let (Ok(name), Ok(value)) =
                (HeaderName::from_bytes(name), HeaderValue::from_bytes(value))
            {
                headers.append(name, value);
            }
        }
        fence::is_script(&headers);
        if fence::check(&names, &Method::POST, &uri, &headers).is_ok() {
            // Whoever gets in speaks of one known host, and comes from no other page.
            let host = fence::host_of(&uri, &headers).unwrap();
            let name = host.host().to_ascii_lowercase();
            assert!(["127.0.0.1", "localhost", "[::1]", "ask.example"].contains(&name.as_str()));
            for origin in headers.get_all(header::ORIGIN) {
                assert!(
                    origin
                        .to_str()
                        .unwrap()
                        .to_ascii_lowercase()
                        .contains(&name)
                );
            }
        }
    });
}
