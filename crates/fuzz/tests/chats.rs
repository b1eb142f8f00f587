//! Replies as people send them in a chat.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use askbus_domain::text_channel::{
    Act, Chat, EndedHere, Length, Reply, Tag, Telling, Understood, Unit, WaitingHere, split,
    understand,
};
use askbus_domain::{
    Actor, AnswerEntry, AnswerId, ClarifyId, Dialect, Language, MAX_ANSWER_CHARS, PersonId,
    Questions, Response, Surface, Timestamp, parse_arguments,
};
use askbus_fuzz::{Material, fuzz_bytes};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

fn material() -> Material {
    Material::of(
        &[
            "1",
            "1,3",
            "１、３",
            "①③",
            "a",
            "staging",
            "第二个",
            "选1和3",
            "2: only in eu",
            "1\nbut not today",
            "/skip",
            "/反问：哪个集群？",
            "/text 4",
            "#b2b2 1",
            "#b2b2.2：1",
            "#b2b2 1\n#b2b2 2",
            "1, #b2b2 1",
            "❓ #b2b2 (2/2) Name?",
            "1 - 3",
            "10:30",
            "1-3",
            "neither of them, ask me tomorrow",
            "99999999999999999999",
        ],
        &[
            "#", "/", "：", "、", "和", "and", "-", "~", "第", "个", "1", "０", "⑳", "🔟",
            "\u{20e3}", "\u{200b}", "\u{202e}", "\u{feff}", "option ", "/next", "/back", "二十",
            "prod", "ﬀ",
        ],
    )
}

fn questions(arguments: &Value) -> Arc<Questions> {
    parse_arguments(Dialect::Ask, arguments).unwrap().questions
}

fn chat(waiting: usize) -> Chat {
    let kinds = [
        json!({"question": "Where?", "choices": ["staging", "prod", "2"]}),
        json!({"questions": [
            {"question": "Which?", "options": ["lint", "e2e", "docs"], "multi_select": true,
             "max_select": 2},
            {"question": "Name?"}]}),
        json!({"question": "Name?"}),
    ];
    let id = |n: usize| ClarifyId::from_uuid(uuid(n));
    let waits = |(n, kind): (usize, &Value)| WaitingHere {
        id: id(n),
        questions: questions(kind),
        requested_at: Timestamp::from_unix_millis(0),
        so_far: Vec::new(),
    };
    Chat {
        waiting: kinds.iter().enumerate().take(waiting).map(waits).collect(),
        ended: vec![EndedHere {
            id: id(9),
            questions: questions(&kinds[0]),
        }],
    }
}

fn uuid(n: usize) -> uuid::Uuid {
    uuid::Uuid::from_u128(0xa000_0000 + n as u128)
}

/// An answer never says more than what was written: every option is pointed at, all words stand there.
fn check_act(questions: &Questions, act: &Act, text: &str) {
    for entry in &act.answers {
        check_entry(entry, text);
    }
    let said = act.text.iter();
    assert!(said.clone().all(|t| text.contains(t.as_str())), "{text:?}");
    let response = Response {
        answer_id: AnswerId::new("m").unwrap(),
        actor: Actor {
            person: PersonId::new("ann").unwrap(),
            surface: Surface::channel("webhook", "team").unwrap(),
        },
        action: act.action,
        answers: act.answers.clone(),
        text: act.text.clone(),
    };
    let long = said
        .map(|t| t.chars().count())
        .any(|n| n > MAX_ANSWER_CHARS);
    assert!(response.fits(questions) || long, "{text:?}: {act:?}");
}

fn check_entry(entry: &AnswerEntry, text: &str) {
    let words = entry.text.iter().all(|t| text.contains(t.as_str()));
    let says = !entry.option_ids.is_empty() || entry.text.is_some() || entry.dismissed;
    assert!(words && says && entry.note.is_none(), "{text:?}: {entry:?}");
}

fn check(chat: &Chat, text: &str, about: Option<&str>) {
    let reply = Reply {
        text,
        about,
        written_at: None,
    };
    let of = |id: ClarifyId| {
        let waiting = chat.waiting.iter().map(|w| (w.id, &w.questions));
        let ended = chat.ended.iter().map(|e| (e.id, &e.questions));
        let mut all = waiting.chain(ended);
        Arc::clone(all.find(|(known, _)| *known == id).unwrap().1)
    };
    match understand(chat, &reply) {
        Understood::Settles { id, act } | Understood::TooLate { id, act } => {
            check_act(&of(id), &act, text);
        }
        Understood::Goes { id, so_far, next } => {
            assert!(next < of(id).len());
            for entry in &so_far {
                check_entry(entry, text);
            }
        }
        Understood::Unclear { id, question, why } => {
            let questions = of(id);
            let question = questions.iter().nth(question).unwrap();
            for language in Language::ALL {
                let lines = Telling(language).unclear(question, &why, false);
                let length = Length {
                    most: 60,
                    unit: Unit::Bytes,
                };
                let messages = split(&lines, length);
                assert!(messages.iter().all(|m| length.holds(m)));
            }
        }
        Understood::Which { of: several } => {
            let each: BTreeSet<ClarifyId> = several.iter().copied().collect();
            assert!(!each.is_empty() && each.len() == several.len(), "{text:?}");
            assert!(
                each.into_iter()
                    .all(|id| !of(id).first().question.is_empty())
            );
        }
        Understood::Holds { id } | Understood::Over { id } => {
            assert!(!of(id).first().question.is_empty());
        }
        Understood::NoSuch { tag } => {
            assert!(
                chat.waiting
                    .iter()
                    .all(|w| Tag::of(w.id).to_string() != tag)
            );
        }
        Understood::NothingWaits => assert!(chat.waiting.is_empty()),
        Understood::List | Understood::Help => {}
    }
}

// contract: N4
#[test]
fn fuzz_replies_in_a_chat() {
    let chats = [chat(0), chat(1), chat(2), chat(3)];
    fuzz_bytes!(material(), |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        for chat in &chats {
            check(chat, &text, None);
            check(chat, "1", Some(&text));
            check(
                chat,
                &format!("#{}{text}", Tag::of(ClarifyId::from_uuid(uuid(1)))),
                None,
            );
        }
    });
}
