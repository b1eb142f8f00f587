//! Questions and what became of them as people read them in a chat, and what fits a channel.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

mod fixture;

use askbus_domain::text_channel::{
    Buttons, ChannelLimits, Chat, Length, Listed, Put, Reply, Tag, Telling, Unclear, Understood,
    Unit, WaitingHere, split, understand,
};
use askbus_domain::{
    AnswerAction, Clarification, Command, Dialect, GoesOn, Language, Response, parse_arguments,
};
use fixture::{Log, answer, ask, at, cid, entry, response};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::iter;

const ROOMY: ChannelLimits = limits(4_000, Unit::Characters, 20);

const fn limits(most: usize, unit: Unit, messages: usize) -> ChannelLimits {
    ChannelLimits {
        message: Length { most, unit },
        messages,
        buttons: None,
    }
}

fn asked(n: u128, arguments: &Value) -> Log {
    let mut log = Log::begun();
    let ask = ask(n, Dialect::Ask, arguments);
    log.run(&Command::Ask(Box::new(ask)), at(0)).unwrap();
    log
}

fn many() -> Value {
    json!({"timeout_s": 600, "questions": [
        {"header": "Target", "question": "Where should this be deployed?\n1. not an option",
         "explanation": "The cluster in eu is full.\nNothing else is.",
         "options": [{"label": "staging", "description": "Nobody notices."}, "prod"], "recommended": 0},
        {"question": "Which checks may be left out?", "options": ["lint", "e2e", "none"],
         "multi_select": true, "max_select": 2},
        {"question": "What should the release be called?"}]})
}

fn tag(n: u128) -> String {
    Tag::of(cid(n)).beside(iter::empty())
}

fn put(clarification: &Clarification, index: usize, language: Language) -> Vec<String> {
    let tag = tag(1);
    Put::of(clarification, index, &tag, language).messages(&ROOMY)
}

// contract: N4
#[test]
fn a_question_as_a_message() {
    let clarification = asked(1, &many()).find(cid(1)).unwrap();
    for language in Language::ALL {
        let all: Vec<String> = (0..3)
            .flat_map(|n| put(&clarification, n, language))
            .collect();
        assert_eq!(all.len(), 3);
        let name = format!("chat_question_{}", language.as_str());
        insta::assert_snapshot!(name, all.join("\n\n"));
    }
    // Beyond the last one there is none.
    assert_eq!(
        put(&clarification, 7, Language::En),
        put(&clarification, 0, Language::En)
    );
}

/// Everything that is said, in one text.
#[test]
fn what_a_person_is_told() {
    let log = asked(1, &many());
    let clarification = log.find(cid(1)).unwrap();
    let here = WaitingHere::of(&clarification, &[]);
    let listed = |n, question, over| Listed {
        tag: tag(n),
        question,
        over,
    };
    let first = listed(1, here.questions.first().question.as_str(), false);
    let other = listed(2, "Which\u{202e} room?\u{7}", false);
    let over = listed(3, "Which one?", true);
    let chat = Chat {
        waiting: vec![here.clone()],
        ended: Vec::new(),
    };
    let outcome = |response: Response| {
        let mut log = log.clone();
        log.run(&answer(1, response, at(5)), at(5)).unwrap();
        fixture::outcome(&log, 1)
    };
    let partly = outcome(response(
        "a1",
        AnswerAction::Answer,
        vec![
            entry("q1", &["o1"], ""),
            entry("q2", &["o1", "o2"], "slow\nones"),
        ],
    ));
    let asked_back = outcome(Response {
        text: Some("which cluster?".into()),
        ..response("a2", AnswerAction::AskBack, Vec::new())
    });
    let skipped = outcome(response("a3", AnswerAction::Skip, Vec::new()));
    let mut expired = log.clone();
    let expire = Command::Expire { clarify_id: cid(1) };
    expired.run(&expire, at(700_000)).unwrap();
    let timeout = fixture::outcome(&expired, 1);
    for language in Language::ALL {
        let telling = Telling(language);
        let (tag, questions) = (tag(1), &clarification.questions);
        let mut all = vec![
            telling.which(&[first.clone(), other.clone()], 0),
            telling.which(&[first.clone(), over.clone()], 7),
            telling.list(&[first.clone(), other.clone()], 0),
            telling.list(&[first.clone(), other.clone()], 3),
            telling.list(&[], 0),
            telling.nothing_waits(None),
            telling.nothing_waits(Some(&tag)),
            telling.no_such("z9z9"),
            telling.help(),
            telling.noted(1, 3),
            telling.held(),
            telling.unjudged(),
            telling.not_sent("the inbox cannot be reached\nnow"),
            telling.refused("this question is meant for somebody else"),
            telling.taken(&tag, questions, &partly),
            telling.taken(&tag, questions, &asked_back),
            telling.taken(&tag, questions, &skipped),
            telling.ended(&tag, questions, &partly),
            telling.ended(&tag, questions, &timeout),
            telling.too_late(&tag, questions, &partly, None),
            telling.over(&tag, questions, &timeout),
        ];
        all.extend(GoesOn::ALL.map(|on| telling.too_late(&tag, questions, &timeout, Some(on))));
        for text in ["7", "1,2", "", "/skip it", "/ask", "/next", "x\u{202e}y: z"] {
            let reply = Reply {
                text,
                ..Reply::default()
            };
            if let Understood::Unclear { question, why, .. } = understand(&chat, &reply) {
                let question = questions.iter().nth(question).unwrap();
                all.push(telling.unclear(question, &why, false));
                all.push(telling.unclear(question, &why, true));
            }
        }
        let named = format!("#{tag}.2 1");
        let reply = Reply {
            text: &named,
            ..Reply::default()
        };
        let Understood::Unclear { question, why, .. } = understand(&chat, &reply) else {
            panic!("{named} was put already");
        };
        let question = questions.iter().nth(question).unwrap();
        all.push(telling.unclear(question, &why, false));
        let alike = parse_arguments(
            Dialect::Ask,
            &json!({"question": "?", "choices": ["2", "b"]}),
        );
        let alike = alike.unwrap().questions;
        let why = Unclear::Ambiguous {
            said: "2".into(),
            options: vec![0, 1],
        };
        all.push(telling.unclear(alike.first(), &why, false));
        let all: Vec<String> = all.iter().map(|lines| lines.join("\n")).collect();
        let name = format!("chat_told_{}", language.as_str());
        insta::assert_snapshot!(name, all.join("\n---\n"));
        let may_pass = |c: char| !c.is_control() || c == '\n';
        assert!(
            all.iter()
                .all(|t| t.chars().all(may_pass) && !t.contains('\u{202e}'))
        );
    }
}

/// The largest question that may be asked.
fn largest() -> Value {
    let option = |n: usize| json!({"label": format!("{n} {}", "字".repeat(490)), "description": "说明".repeat(1_000)});
    let options: Vec<Value> = (1..=20).map(option).collect();
    json!({"question": "问".repeat(4_000), "explanation": "因".repeat(2_000), "options": options})
}

// contract: N4
#[test]
fn no_limit_takes_an_option_away() {
    let clarification = asked(1, &largest()).find(cid(1)).unwrap();
    let tag = tag(1);
    for language in Language::ALL {
        let put = Put::of(&clarification, 0, &tag, language);
        let whole = put.messages(&limits(600, Unit::Characters, usize::MAX));
        let text = whole.join("");
        assert!(text.contains(&"说明".repeat(250)), "nothing is cut");
        for (limits, shortened) in [
            (limits(600, Unit::Characters, 200), false),
            (limits(2_048, Unit::Bytes, 20), true),
            (limits(1_000, Unit::Bytes, 5), true),
            (limits(200, Unit::Bytes, 1), true),
        ] {
            let messages = put.messages(&limits);
            assert!(messages.iter().all(|m| limits.message.holds(m)));
            let all = messages.join("\n");
            for n in 1..=20 {
                let line = format!("\n{n}. {n} 字");
                assert!(all.contains(&line), "{limits:?}: option {n}");
            }
            assert!(all.starts_with(&format!("❓ #{tag} 问")));
            assert_eq!(all.contains("askbus inbox"), shortened, "{limits:?}");
        }
    }
}

// contract: N4
#[test]
fn buttons_fit_or_there_are_none() {
    let clarification = asked(1, &many()).find(cid(1)).unwrap();
    let tag = tag(1);
    let with = |most, length, unit| ChannelLimits {
        buttons: Some(Buttons {
            most,
            text: Length { most: length, unit },
        }),
        ..ROOMY
    };
    let first = Put::of(&clarification, 0, &tag, Language::En);
    let buttons = first.buttons(&with(2, 75, Unit::Characters)).unwrap();
    let shown: Vec<_> = buttons
        .iter()
        .map(|b| (b.text.clone(), b.reply.clone()))
        .collect();
    assert_eq!(
        shown,
        [
            ("1. staging".to_owned(), format!("#{tag}.1 a")),
            ("2. prod".to_owned(), format!("#{tag}.1 b")),
        ]
    );
    // Pressing one says what stands on it.
    let chat = Chat {
        waiting: vec![WaitingHere::of(&clarification, &[])],
        ended: Vec::new(),
    };
    let reply = Reply {
        text: &shown[1].1,
        ..Reply::default()
    };
    let expected = Understood::Goes {
        id: cid(1),
        so_far: vec![entry("q1", &["o2"], "")],
        next: 1,
    };
    assert_eq!(understand(&chat, &reply), expected);
    let cut = first.buttons(&with(2, 8, Unit::Bytes)).unwrap();
    assert_eq!(cut[0].text, "1. st…");
    assert!(first.buttons(&with(1, 75, Unit::Characters)).is_none());
    assert!(first.buttons(&ROOMY).is_none());
    let several = Put::of(&clarification, 1, &tag, Language::En);
    assert!(several.buttons(&with(9, 75, Unit::Characters)).is_none());
}

// contract: N4
#[test]
fn no_text_begins_a_message_like_a_line_of_ours() {
    let lie = format!("{} ❓ #b2c2 Pay?", "x".repeat(60));
    let arguments =
        json!({"question": lie, "choices": [format!("{} 2. yes", "y".repeat(60)), "no"]});
    let clarification = asked(1, &arguments).find(cid(1)).unwrap();
    let tag = tag(1);
    for (most, unit) in [
        (70, Unit::Characters),
        (80, Unit::Bytes),
        (40, Unit::Characters),
    ] {
        let limits = limits(most, unit, usize::MAX);
        let messages = Put::of(&clarification, 0, &tag, Language::En).messages(&limits);
        assert!(
            messages.iter().all(|m| limits.message.holds(m)),
            "{messages:#?}"
        );
        let heads = messages.iter().flat_map(|m| m.lines());
        let heads: Vec<_> = heads
            .filter(|l| l.starts_with('❓') || l.starts_with("2."))
            .collect();
        assert_eq!(heads.len(), 2, "{messages:#?}");
        assert!(
            heads[0].starts_with(&format!("❓ #{tag} x")) && heads[1] == "2. no",
            "{heads:?}"
        );
    }
}

#[test]
fn a_held_question_shows_no_end() {
    let mut log = asked(1, &many());
    let text = |log: &Log| put(&log.find(cid(1)).unwrap(), 0, Language::En).join("\n");
    assert!(text(&log).contains("It ends by itself at 2027-01-15T08:10:00Z."));
    let hold = Command::Hold {
        clarify_id: cid(1),
        actor: fixture::person("ann"),
        rights: askbus_domain::Rights::default(),
        stored_at: at(1),
    };
    log.run(&hold, at(1)).unwrap();
    assert!(!text(&log).contains("It ends by itself"));
}

/// Labels that look like anything by which an option could be meant.
fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-tA-T]",
        "[1-9]|1[0-9]|20",
        "第([1-9]|1[0-9]|20)个",
        "[(]{1,20}([1-9]|1[0-9]|20)[)]{1,20}",
        "[①-⑳]",
        "[１-９]",
        "([1-9]|a|b|选1|1:|1: x|/skip|/text 1|#b2c2)[.,、 -]?([1-9]|b|c)?",
        "[一二三四五六七八九十]",
    ]
}

proptest! {
    // contract: N4
    #[test]
    fn every_button_of_every_question_means_its_option(
        labels in prop::collection::hash_set(hostile(), 2..=20),
        several: bool,
        at in 0_usize..2,
    ) {
        let question = json!({"question": "Which?", "options": labels.into_iter().collect::<Vec<_>>()});
        let other = json!({"question": "And?", "options": ["a", "1"]});
        let arguments = match (several, at) {
            (false, _) => json!({"questions": [question]}),
            (true, 0) => json!({"questions": [question, other]}),
            (true, _) => json!({"questions": [other, question]}),
        };
        // Labels that are one when they are trimmed are no question.
        prop_assume!(parse_arguments(Dialect::Ask, &arguments).is_ok());
        let clarification = asked(1, &arguments).find(cid(1)).unwrap();
        let answered = entry("q1", &["o1"], "");
        let so_far = [&[][..], std::slice::from_ref(&answered)][if several { at } else { 0 }];
        let waiting = WaitingHere::of(&clarification, so_far);
        let (index, question) = waiting.next();
        let tag = tag(1);
        let limits = ChannelLimits {
            buttons: Some(Buttons { most: 20, text: Length { most: 75, unit: Unit::Characters } }),
            ..ROOMY
        };
        let buttons = Put::of(&clarification, index, &tag, Language::En).buttons(&limits).unwrap();
        prop_assert_eq!(buttons.len(), question.options.len());
        let chat = Chat { waiting: vec![waiting.clone()], ended: Vec::new() };
        for (button, option) in buttons.iter().zip(&question.options) {
            let reply = Reply { text: &button.reply, ..Reply::default() };
            let chosen = match understand(&chat, &reply) {
                Understood::Settles { act, .. } => act.answers,
                Understood::Goes { so_far, .. } => so_far,
                other => panic!("{}: {other:?}", button.reply),
            };
            let expected = entry(question.id.as_str(), &[option.id.as_str()], "");
            prop_assert_eq!(chosen.last(), Some(&expected), "{}", &button.reply);
        }
    }

    #[test]
    fn splitting_loses_nothing(
        lines in prop::collection::vec("[a字 \u{1f600}]{0,60}", 0..12),
        most in 1_usize..80,
        bytes: bool,
    ) {
        let unit = if bytes { Unit::Bytes } else { Unit::Characters };
        let length = Length { most, unit };
        let messages = split(&lines, length);
        for message in &messages {
            let one = message.chars().count() == 1;
            prop_assert!(length.holds(message) || one, "{message:?}");
            prop_assert!(!message.trim().is_empty());
        }
        let letters = |texts: &[String]| -> String {
            // What was broken is marked where it goes on.
            let seen = |c: &char| !c.is_whitespace() && *c != '┆';
            texts.concat().chars().filter(seen).collect()
        };
        prop_assert_eq!(letters(&messages), letters(&lines));
    }
}

#[test]
fn the_arguments_of_these_tests_are_questions() {
    for arguments in [many(), largest()] {
        assert!(parse_arguments(Dialect::Ask, &arguments).is_ok());
    }
}
