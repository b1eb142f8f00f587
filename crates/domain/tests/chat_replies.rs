//! Which question a reply in a chat is for, and what it does to it.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

mod fixture;

use askbus_domain::text_channel::{
    Act, Chat, EndedHere, Reply, Unclear, Understood, WaitingHere, understand,
};
use askbus_domain::{
    Answer, AnswerAction, AnswerEntry, Command, Dialect, Reason, Response, Rights, Timestamp,
    Verdict, verdict, verdict_of,
};
use fixture::chat::{busy, does, one, say, say_about, settles, single, tag, three, unclear, waits};
use fixture::{at, cid, entry, id, person};
use serde_json::json;

// contract: N4
#[test]
fn a_reply_goes_to_the_one_that_waits() {
    let chat = single();
    assert_eq!(say(&chat, "2"), settles(1, vec![entry("q1", &["o2"], "")]));
    let words = "neither; ask me tomorrow";
    assert_eq!(say(&chat, words), settles(1, vec![entry("q1", &[], words)]));
    let outside = Unclear::Outside { said: "3".into() };
    assert_eq!(say(&chat, "3"), unclear(1, 0, outside));
    assert_eq!(say(&chat, " "), unclear(1, 0, Unclear::Blank));
    assert_eq!(say(&Chat::default(), "1"), Understood::NothingWaits);
    assert_eq!(say(&Chat::default(), "hello"), Understood::NothingWaits);
}

// contract: N4
#[test]
fn what_was_written_before_a_question_came_is_not_about_it() {
    let at_time = |chat: &Chat, ms| {
        let reply = Reply {
            text: "1",
            about: None,
            written_at: Some(at(ms)),
        };
        understand(chat, &reply)
    };
    let first = settles(1, vec![entry("q1", &["o1"], "")]);
    assert_eq!(at_time(&busy(), 59_999), first);
    let both = Understood::Which {
        of: vec![cid(1), cid(2)],
    };
    assert_eq!(at_time(&busy(), 60_000), both);
    let later = Chat {
        waiting: vec![waits(2, one(), 60_000)],
        ended: Vec::new(),
    };
    assert_eq!(at_time(&later, 1_000), Understood::NothingWaits);
    // A name says what is meant, whatever the clocks say.
    let reply = Reply {
        text: "1",
        about: Some(&tag(2)),
        written_at: Some(at(0)),
    };
    let second = settles(2, vec![entry("q1", &["o1"], "")]);
    assert_eq!(understand(&later, &reply), second);
}

#[test]
fn several_questions_go_one_by_one() {
    let mut chat = Chat {
        waiting: vec![waits(2, three(), 0)],
        ended: Vec::new(),
    };
    let goes = |so_far: &[AnswerEntry], next| Understood::Goes {
        id: cid(2),
        so_far: so_far.to_vec(),
        next,
    };
    let (first, second) = (entry("q1", &["o2"], ""), entry("q2", &["o1", "o2"], ""));
    assert_eq!(say(&chat, "2"), goes(std::slice::from_ref(&first), 1));
    chat.waiting[0].so_far = vec![first.clone()];
    // The numbers are those of the second question now.
    assert_eq!(say(&chat, "1,2"), goes(&[first.clone(), second.clone()], 2));
    let outside = Unclear::Outside { said: "3".into() };
    assert_eq!(say(&chat, "3"), unclear(2, 1, outside));
    assert_eq!(say(&chat, "/back"), goes(&[], 0));
    let declined = AnswerEntry {
        question_id: Some(id("q2")),
        dismissed: true,
        ..AnswerEntry::default()
    };
    assert_eq!(
        say(&chat, "/下一题"),
        goes(&[first.clone(), declined.clone()], 2)
    );
    chat.waiting[0].so_far = vec![first.clone(), declined.clone()];
    let third = entry("q3", &[], "1");
    assert_eq!(
        say(&chat, "1"),
        settles(2, vec![first.clone(), declined.clone(), third])
    );
    // What is filled in goes along with what is done to the whole.
    let partial = vec![first, declined];
    let skipped = does(2, AnswerAction::Skip, partial.clone(), None);
    assert_eq!(say(&chat, "/skip"), skipped);
    let asked = does(2, AnswerAction::AskBack, partial, Some("which cluster?"));
    assert_eq!(say(&chat, "/ask which cluster?"), asked);
}

#[test]
fn commands_in_both_languages() {
    let chat = single();
    let nothing = || Vec::new();
    for (text, expected) in [
        ("/skip", does(1, AnswerAction::Skip, nothing(), None)),
        ("/跳过", does(1, AnswerAction::Skip, nothing(), None)),
        ("／ＳＫＩＰ", does(1, AnswerAction::Skip, nothing(), None)),
        ("/dismiss", does(1, AnswerAction::Dismiss, nothing(), None)),
        ("/不回答", does(1, AnswerAction::Dismiss, nothing(), None)),
        (
            "/dismiss not mine",
            does(1, AnswerAction::Dismiss, nothing(), Some("not mine")),
        ),
        ("/hold", Understood::Holds { id: cid(1) }),
        ("/稍等", Understood::Holds { id: cid(1) }),
        (
            "/ask why?",
            does(1, AnswerAction::AskBack, nothing(), Some("why?")),
        ),
        (
            "/反问：为什么？",
            does(1, AnswerAction::AskBack, nothing(), Some("为什么？")),
        ),
        ("/ask", unclear(1, 0, Unclear::CommandWithoutWords)),
        ("/text 2", settles(1, vec![entry("q1", &[], "2")])),
        ("/文字 2", settles(1, vec![entry("q1", &[], "2")])),
        ("/text /skip", settles(1, vec![entry("q1", &[], "/skip")])),
        ("/text", unclear(1, 0, Unclear::Blank)),
        ("/skip the tests", unclear(1, 0, Unclear::CommandWithWords)),
        ("/hold on", unclear(1, 0, Unclear::CommandWithWords)),
        ("/next", unclear(1, 0, Unclear::NoOtherQuestion)),
        ("/back", unclear(1, 0, Unclear::NoOtherQuestion)),
        ("/list", Understood::List),
        ("/列表", Understood::List),
        ("/help", Understood::Help),
        ("/帮助", Understood::Help),
        ("/srv/app", settles(1, vec![entry("q1", &[], "/srv/app")])),
        ("skip", settles(1, vec![entry("q1", &[], "skip")])),
        ("跳过", settles(1, vec![entry("q1", &[], "跳过")])),
    ] {
        assert_eq!(say(&chat, text), expected, "{text}");
    }
    assert_eq!(say(&Chat::default(), "/list"), Understood::List);
    assert_eq!(say(&Chat::default(), "/skip"), Understood::NothingWaits);
}

// contract: N4
#[test]
fn a_reply_to_what_has_ended_goes_the_way_of_late_answers() {
    let chat = busy();
    let late = |act: Act| Understood::TooLate { id: cid(3), act };
    let answer = |entry| {
        late(Act {
            action: AnswerAction::Answer,
            answers: vec![entry],
            text: None,
        })
    };
    let name = tag(3);
    assert_eq!(
        say(&chat, &format!("#{name} 2")),
        answer(entry("q1", &["o2"], ""))
    );
    let words = format!("#{name} too late?");
    assert_eq!(say(&chat, &words), answer(entry("q1", &[], "too late?")));
    assert_eq!(
        say_about(&chat, "1", &cid(3).to_string()),
        answer(entry("q1", &["o1"], ""))
    );
    let outside = Unclear::Outside { said: "5".into() };
    assert_eq!(say(&chat, &format!("#{name} 5")), unclear(3, 0, outside));
    let several = Chat {
        waiting: Vec::new(),
        ended: vec![EndedHere {
            id: cid(4),
            questions: three(),
        }],
    };
    let Understood::TooLate { act, .. } = say(&several, &format!("#{} 1", tag(4))) else {
        panic!("not late");
    };
    assert_eq!((act.answers.len(), act.text.as_deref()), (0, Some("1")));
    // The number of the question says which it was for.
    let Understood::TooLate { act, .. } = say(&several, &format!("#{}.2 1", tag(4))) else {
        panic!("not late");
    };
    assert_eq!(act.answers, [entry("q2", &["o1"], "")]);
}

// contract: N4
#[test]
fn what_has_ended_takes_words_and_no_command_for_what_waits() {
    let mut chat = busy();
    chat.ended.push(EndedHere {
        id: cid(4),
        questions: three(),
    });
    for n in [3, 4] {
        for text in [
            "/hold",
            "/next",
            "/back",
            "/稍等",
            "/ask",
            "/skip it",
            "/hold on",
            "/list all",
        ] {
            let said = say(&chat, &format!("#{} {text}", tag(n)));
            assert_eq!(said, Understood::Over { id: cid(n) }, "{text}");
        }
        for (text, action, words) in [
            ("/skip", AnswerAction::Skip, None),
            ("/dismiss", AnswerAction::Dismiss, None),
            ("/dismiss not mine", AnswerAction::Dismiss, Some("not mine")),
            ("/ask why?", AnswerAction::AskBack, Some("why?")),
        ] {
            let act = Act {
                action,
                answers: Vec::new(),
                text: words.map(str::to_owned),
            };
            let said = say(&chat, &format!("#{} {text}", tag(n)));
            assert_eq!(said, Understood::TooLate { id: cid(n), act }, "{text}");
        }
    }
    let blank = unclear(3, 0, Unclear::Blank);
    assert_eq!(say(&chat, &format!("#{}", tag(3))), blank);
    assert_eq!(say(&chat, &format!("#{} /text", tag(3))), blank);
    for text in ["", "/text", " \u{200b}"] {
        let said = say(&chat, &format!("#{} {text}", tag(4)));
        assert_eq!(said, Understood::Over { id: cid(4) }, "{text:?}");
    }
}

#[test]
fn a_draft_that_does_not_fit_is_left_out() {
    let mut log = fixture::Log::begun();
    let arguments = json!({"questions": [{"question": "a", "options": ["x", "y"]}, "b"]});
    let ask = fixture::ask(1, Dialect::Ask, &arguments);
    log.run(&Command::Ask(Box::new(ask)), at(0)).unwrap();
    let clarification = log.find(cid(1)).unwrap();
    let draft = [
        entry("q9", &[], "x"),
        entry("q1", &["o7"], ""),
        entry("q2", &[], "first"),
        entry("q2", &[], "second"),
        AnswerEntry::default(),
    ];
    let waiting = WaitingHere::of(&clarification, &draft);
    assert_eq!(waiting.so_far, [entry("q2", &[], "first")]);
    assert_eq!(waiting.next().0, 0);
    assert_eq!(waiting.requested_at, at(0));
}

// contract: N4, E19
#[test]
fn whatever_settles_is_taken_by_the_session_as_it_was_understood() {
    let settle = |text: &str| {
        let mut log = fixture::Log::begun();
        let arguments = json!({"question": "Where?", "choices": ["staging", "prod"]});
        let ask = fixture::ask(1, Dialect::Ask, &arguments);
        log.run(&Command::Ask(Box::new(ask)), at(0)).unwrap();
        let waiting = WaitingHere::of(&log.find(cid(1)).unwrap(), &[]);
        let chat = Chat {
            waiting: vec![waiting],
            ended: Vec::new(),
        };
        let Understood::Settles { act, .. } = say(&chat, text) else {
            panic!("{text} settles nothing");
        };
        let response = Response {
            answer_id: id("m1"),
            actor: person("ann"),
            action: act.action,
            answers: act.answers,
            text: act.text,
        };
        let answer = Answer {
            clarify_id: cid(1),
            response: response.clone(),
            rights: Rights::default(),
            stored_at: Timestamp::from_unix_millis(at(5).unix_millis()),
        };
        log.run(&Command::Answer(Box::new(answer)), at(5)).unwrap();
        let clarification = log.find(cid(1)).unwrap();
        let told = verdict(&clarification, &response);
        // The id alone says the same to its author, and nothing to anybody else.
        let (ann, bob) = (person("ann").person, person("bob").person);
        assert_eq!(verdict_of(&clarification, &ann, &id("m1")), told);
        assert_eq!(verdict_of(&clarification, &ann, &id("m2")), None);
        assert_eq!(verdict_of(&clarification, &bob, &id("m1")), None);
        match told {
            Some(Verdict::Settled(outcome)) => outcome.reason,
            other => panic!("{text}: {other:?}"),
        }
    };
    assert_eq!(settle("1"), Reason::Response);
    assert_eq!(settle("skip"), Reason::Response);
    assert_eq!(settle("/skip"), Reason::Skipped);
    assert_eq!(settle("/dismiss"), Reason::Dismissed);
    assert_eq!(settle("/ask why?"), Reason::AskBack);
}
