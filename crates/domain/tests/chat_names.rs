//! Which question a reply in a chat is for: by the name that it begins with, or by what it replies to.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

mod fixture;

use askbus_domain::AnswerAction;
use askbus_domain::text_channel::{
    Chat, EndedHere, Listed, Reply, Tag, Telling, Unclear, Understood, WaitingHere, meant_waiting,
};
use askbus_domain::{AnswerEntry, ClarifyId, Language};
use fixture::chat::{
    busy, does, one, questions, say, say_about, settles, single, tag, three, unclear, waits,
};
use fixture::{cid, entry};
use serde_json::json;

fn none(name: &str) -> Understood {
    Understood::NoSuch { tag: name.into() }
}

fn which(of: &[u128]) -> Understood {
    let of: Vec<ClarifyId> = of.iter().map(|n| cid(*n)).collect();
    Understood::Which { of }
}

fn ended(n: u128) -> EndedHere {
    EndedHere {
        id: cid(n),
        questions: one(),
    }
}

// contract: N4
#[test]
fn two_are_told_apart_by_name_or_by_what_is_replied_to() {
    let chat = busy();
    let both = which(&[1, 2]);
    for text in [
        "1",
        "prod",
        "whatever you like",
        "/skip",
        "/hold",
        "/text 1",
    ] {
        assert_eq!(say(&chat, text), both, "{text}");
    }
    let settled = settles(1, vec![entry("q1", &["o1"], "")]);
    let (first, second) = (tag(1), tag(2));
    for text in [
        format!("#{first} 1"),
        format!("＃{} １", first.to_uppercase()),
        format!(" #{first}: a"),
        format!("#{first}\nstaging"),
        format!("#{} 1", Tag::of(cid(1))),
        format!("#{first}:1"),
        format!("#{first}：1"),
        format!("#{first},1"),
        format!("＃{first}，1"),
        format!("#{first}。1"),
        format!("#{first};1"),
        format!("#{first}.1"),
        format!("#{first}. 1"),
        format!("#{first} : 1"),
        format!("#{first}①"),
        format!("#{first}第一个"),
        format!("# {first} 1"),
        // Nothing else is called so.
        format!("{first} 1"),
        format!("{first}：1"),
    ] {
        assert_eq!(say(&chat, &text), settled, "{text}");
    }
    let quoted = format!("❓ #{first} Where #{second}?\n1. staging");
    for about in [
        cid(1).to_string(),
        first.clone(),
        format!("#{first}"),
        quoted,
    ] {
        assert_eq!(say_about(&chat, "1", &about), settled, "{about}");
    }
    // What the person writes counts before what they reply to.
    let said = say_about(&chat, &format!("#{first} 1"), &second);
    assert_eq!(said, settled);
    assert_eq!(say(&chat, "#z9z9 1"), none("z9z9"));
    assert_eq!(say_about(&chat, "1", "z9z9"), none("z9z9"));
    let unknown = cid(99).to_string();
    assert_eq!(say_about(&chat, "1", &unknown), none(&unknown));
}

// contract: N4
#[test]
fn a_name_that_went_wrong_is_refused_and_never_words() {
    let chat = Chat {
        ended: vec![ended(3)],
        ..single()
    };
    for (text, name) in [
        (format!("#{}1", tag(1)), format!("{}1", tag(1))),
        (format!("#{}staging", tag(1)), format!("{}staging", tag(1))),
        (format!("#{}x9y", tag(3)), format!("{}x9y", tag(3))),
        ("#zz9 1".into(), "zz9".into()),
        ("#zz9: a".into(), "zz9".into()),
        ("#7x3k 1,2".into(), "7x3k".into()),
        ("#zz9 staging".into(), "zz9".into()),
        ("#z9z9 anything".into(), "z9z9".into()),
    ] {
        assert_eq!(say(&chat, &text), none(&name), "{text}");
    }
    let words = |text: &str, said: &str| {
        let expected = settles(1, vec![entry("q1", &[], said)]);
        assert_eq!(say(&chat, text), expected, "{text}");
    };
    for text in [
        "#general 1",
        "#zz9 is the ticket",
        "#zz9",
        "#1",
        "z9z9 1",
        "zz9 1",
        "#选1",
    ] {
        words(text, text);
    }
    words("/text #zz9 1", "#zz9 1");
    words(&format!("#{} /text #zz9 1", tag(1)), "#zz9 1");
}

// contract: N4
#[test]
fn a_name_that_means_two_is_refused() {
    // The first four characters of a name repeat after so many ids.
    let twin = 1 + 23_104;
    let chat = Chat {
        waiting: vec![waits(1, one(), 0), waits(twin, one(), 0)],
        ended: Vec::new(),
    };
    let said = say(&chat, &format!("#{} 1", tag(1)));
    assert_eq!(said, which(&[1, twin]));
    let longer = Tag::of(cid(1)).beside(std::iter::once(Tag::of(cid(twin))));
    let said = say(&chat, &format!("#{longer} 1"));
    assert_eq!(said, settles(1, vec![entry("q1", &["o1"], "")]));
    // What has ended keeps its name: a message of it may be quoted long after.
    let chat = Chat {
        waiting: vec![waits(1, one(), 0)],
        ended: vec![ended(twin), ended(twin + 23_104)],
    };
    let quoted = format!("❓ #{} Where?", tag(1));
    let all = which(&[1, twin, twin + 23_104]);
    assert_eq!(say_about(&chat, "1", &quoted), all);
    assert_eq!(say(&chat, &format!("{} 1", tag(1))), all);
    let said = say(&chat, &format!("#{} 1", Tag::of(cid(1))));
    assert_eq!(said, settles(1, vec![entry("q1", &["o1"], "")]));
    let over = Chat {
        waiting: Vec::new(),
        ..chat
    };
    let said = say(&over, &format!("#{} 1", tag(1)));
    assert_eq!(said, which(&[twin, twin + 23_104]));
}

/// A question with one choice, one with several, and one in Chinese; all of them wait.
fn three_wait() -> Chat {
    let several =
        questions(&json!({"question": "Which?", "options": ["x", "y", "z"], "multi_select": true}));
    let chinese = questions(&json!({"question": "部署到哪里？", "options": ["测试", "生产"]}));
    Chat {
        waiting: vec![
            waits(1, one(), 0),
            waits(2, several, 0),
            waits(4, chinese, 0),
        ],
        ended: vec![ended(3)],
    }
}

// contract: N4
#[test]
fn a_reply_that_names_two_is_refused() {
    let chat = three_wait();
    let (a, b, c, over) = (tag(1), tag(2), tag(4), tag(3));
    for (text, of) in [
        (format!("#{a} 1\n#{b} 2"), &[1, 2][..]),
        (format!("#{b} 2\n#{a} 1"), &[2, 1]),
        (format!("#{a} 1\n\n  #{b}.2"), &[1, 2]),
        (format!("#{a} #{b} 1"), &[1, 2]),
        (format!("#{a}#{b} 1"), &[1, 2]),
        (format!("#{a}, #{b}: 1"), &[1, 2]),
        (format!("#{a} and #{b} 1"), &[1, 2]),
        (format!("#{a} & #{b}"), &[1, 2]),
        (format!("#{a}/#{b} 1"), &[1, 2]),
        (format!("#{a} 1, #{b} 2"), &[1, 2]),
        (format!("#{a} 1; #{b} my own words"), &[1, 2]),
        (format!("#{a} 1 and #{b} 2"), &[1, 2]),
        (format!("#{a} 1 #{b} 2"), &[1, 2]),
        (format!("#{a} staging #{b} x"), &[1, 2]),
        (format!("#{a} whatever you like, #{b} 2"), &[1, 2]),
        (format!("#{a} /skip\n#{b} /skip"), &[1, 2]),
        (format!("#{a} /skip #{b} /skip"), &[1, 2]),
        (format!("{a} 1\n{b} 2"), &[1, 2]),
        (format!("#{a} 1\n- #{b} 2\n- #{c} 2"), &[1, 2, 4]),
        (format!("#{a} 1\n2. #{b} 2"), &[1, 2]),
        (format!("#{over} 1\n#{b} 2"), &[3, 2]),
        (format!("#{a} 1\n#{a} 2"), &[1]),
        (format!("#{c} 1\n#{a} 2"), &[4, 1]),
        (format!("＃{c}　１\n＃{a}　２"), &[4, 1]),
        (format!("#{c} 1，#{a} 2"), &[4, 1]),
        (format!("#{c} 1、#{a} 2"), &[4, 1]),
        (format!("#{c} 测试；#{a} 2"), &[4, 1]),
        (format!("#{c} 和 #{a} 1"), &[4, 1]),
        (format!("#{c}和#{a}选1"), &[4, 1]),
        (format!("#{c} 1和#{a} 2"), &[4, 1]),
        (format!("#{c}第一个，#{a}第二个"), &[4, 1]),
        (format!("#{c} 都可以，#{a} 2"), &[4, 1]),
        (format!("#{c} /跳过\n#{a} /跳过"), &[4, 1]),
    ] {
        assert_eq!(say(&chat, &text), which(of), "{text}");
        let reply = Reply {
            text: &text,
            ..Reply::default()
        };
        assert_eq!(meant_waiting(&chat, &reply), None, "{text}");
    }
    for about in [
        format!("#{a} and #{b}"),
        format!("#{a} #{b}"),
        format!("#{a}, #{b}"),
        format!("{a} {b}"),
        format!("#{a}和 #{b}").replace("和 ", " 和 "),
        format!("#{a}、#{b}"),
        format!("{}\n{}", cid(1), cid(2)),
    ] {
        assert_eq!(say_about(&chat, "1", &about), which(&[1, 2]), "{about}");
    }
    // What the person writes says which of them it is.
    let said = say_about(&chat, &format!("#{a} 1"), &format!("#{a} and #{b}"));
    assert_eq!(said, settles(1, vec![entry("q1", &["o1"], "")]));
    assert_eq!(say_about(&chat, &format!("1\n#{b} 2"), &a), which(&[1, 2]));
}

// contract: N4
#[test]
fn a_name_in_a_sentence_is_part_of_what_is_said() {
    let chat = three_wait();
    let (a, b, c) = (tag(1), tag(2), tag(4));
    for (n, name, words) in [
        (1, &a, format!("the same as in #{b}, please")),
        (1, &a, format!("see #{b} 2")),
        (1, &a, format!("not before (#{b}) is done")),
        (1, &a, format!("as before, #{b} says why")),
        (1, &a, format!("wait for {b}")),
        (1, &a, format!("it depends:\n> #{b} 2\nso ask again")),
        (1, &a, "the ticket is #7\n#general knows".to_owned()),
        (4, &c, format!("和 #{b} 一样")),
        (4, &c, format!("跟#{b}一样就行")),
        (4, &c, format!("等 #{b} 有结果再说")),
        (4, &c, format!("先看#{b}，再决定")),
    ] {
        let expected = settles(n, vec![entry("q1", &[], &words)]);
        assert_eq!(say(&chat, &format!("#{name} {words}")), expected, "{words}");
        // What is marked as own words is nothing else.
        let marked = say(&chat, &format!("#{name} /text {words}"));
        assert_eq!(marked, expected, "{words}");
    }
    for words in [
        format!("1\n#{b} 2"),
        format!("#{b} 1"),
        format!("1, #{b} 2"),
    ] {
        let expected = settles(1, vec![entry("q1", &[], &words)]);
        assert_eq!(say(&chat, &format!("#{a} /text {words}")), expected);
    }
    let words = format!("as in #{b}");
    let expected = settles(1, vec![entry("q1", &["o1"], &words)]);
    assert_eq!(say(&chat, &format!("#{a} 1: {words}")), expected);
    // A label may look like a name.
    let like = questions(&json!({"question": "Which one?", "options": [format!("#{b}"), "none"]}));
    let chat = Chat {
        waiting: vec![waits(1, like, 0), waits(2, one(), 0)],
        ended: Vec::new(),
    };
    let said = say(&chat, &format!("#{a} #{b}"));
    assert_eq!(said, settles(1, vec![entry("q1", &["o1"], "")]));
}

// contract: E10, N4
#[test]
fn what_draws_nothing_is_unclear() {
    let one_of_three = Chat {
        waiting: vec![waits(2, three(), 0)],
        ended: Vec::new(),
    };
    for blank in ["\0", "\u{1}\u{7f}", "\u{2800}", "\u{3164} ", "\u{ad}"] {
        assert_eq!(say(&single(), blank), unclear(1, 0, Unclear::Blank));
        assert_eq!(say(&one_of_three, blank), unclear(2, 0, Unclear::Blank));
        let marked = say(&single(), &format!("/text {blank}"));
        assert_eq!(marked, unclear(1, 0, Unclear::Blank), "{blank:?}");
        let asked = say(&single(), &format!("/ask {blank}"));
        assert_eq!(asked, unclear(1, 0, Unclear::CommandWithoutWords));
        let late = Chat {
            waiting: Vec::new(),
            ended: vec![ended(3)],
        };
        let said = say(&late, &format!("#{} {blank}", tag(3)));
        assert_eq!(said, unclear(3, 0, Unclear::Blank), "{blank:?}");
    }
}

// contract: N4
#[test]
fn a_quoted_list_names_nothing_that_it_could_be_for() {
    let chat = Chat {
        waiting: vec![waits(1, one(), 0), waits(2, one(), 0), waits(5, one(), 0)],
        ended: vec![ended(3)],
    };
    for language in Language::ALL {
        let line = |n: u128, over| Listed {
            tag: tag(n),
            question: "Where? #z9z9",
            over,
        };
        let telling = Telling(language);
        for lines in [
            telling.which(&[line(1, false), line(2, false)], 0),
            telling.list(&[line(1, false), line(2, false)], 0),
        ] {
            let quoted = lines.join("\n");
            assert_eq!(say_about(&chat, "1", &quoted), which(&[1, 2]), "{quoted}");
            let quoted = format!("> {}", quoted.replace('\n', "\n> "));
            assert_eq!(say_about(&chat, "1", &quoted), which(&[1, 2]), "{quoted}");
        }
        // One of two is over by now: it still could have been meant.
        let quoted = telling
            .which(&[line(1, false), line(3, false)], 0)
            .join("\n");
        assert_eq!(say_about(&chat, "1", &quoted), which(&[1, 3]), "{quoted}");
        let quoted = telling
            .list(&[line(1, false), line(77, false)], 0)
            .join("\n");
        assert_eq!(say_about(&chat, "1", &quoted), which(&[1]), "{quoted}");
        // One name is one name.
        let settled = settles(1, vec![entry("q1", &["o1"], "")]);
        let quoted = telling.list(&[line(1, false)], 0).join("\n");
        assert_eq!(say_about(&chat, "1", &quoted), settled, "{quoted}");
        let quoted = telling.nothing_waits(Some(&tag(1))).join("\n");
        assert_eq!(say_about(&chat, "1", &quoted), settled, "{quoted}");
    }
}

// contract: N4
#[test]
fn a_quoted_text_without_a_name_says_nothing_of_what_is_meant() {
    let settled = settles(1, vec![entry("q1", &["o1"], "")]);
    let elsewhere = format!("the second part of a long text ❓ #{}", tag(2));
    for about in [
        "something else",
        "17",
        "",
        " ",
        &elsewhere,
        "┆ ❓ #z9z9",
        "1. #z9z9",
    ] {
        assert_eq!(say_about(&single(), "1", about), settled, "{about:?}");
        assert_eq!(say_about(&busy(), "1", about), which(&[1, 2]), "{about:?}");
        let nothing = say_about(&Chat::default(), "1", about);
        assert_eq!(nothing, Understood::NothingWaits, "{about:?}");
    }
    assert_eq!(say_about(&single(), "/list", "z9z9"), Understood::List);
}

/// Three questions, of which so many are answered.
fn answered(count: usize) -> Chat {
    let answers = [entry("q1", &["o2"], ""), entry("q2", &["o1", "o2"], "")];
    Chat {
        waiting: vec![WaitingHere {
            so_far: answers.into_iter().take(count).collect(),
            ..waits(2, three(), 0)
        }],
        ended: Vec::new(),
    }
}

// contract: A2, N4
#[test]
fn a_reply_to_a_question_that_is_answered_answers_that_one_anew() {
    let goes = |so_far: &[AnswerEntry], next| Understood::Goes {
        id: cid(2),
        so_far: so_far.to_vec(),
        next,
    };
    let (old, new) = (entry("q1", &["o2"], ""), entry("q1", &["o1"], ""));
    let second = entry("q2", &["o1", "o2"], "");
    let name = tag(2);
    let heading = format!("Noted, 1 of 3.\n❓ #{name} (1/3) Where?\n1. staging");
    // By a button, by hand, by quoting its message: in each state the same.
    let chat = answered(1);
    for said in [
        say(&chat, &format!("#{name}.1 a")),
        say(&chat, &format!("{name}.1: staging")),
        say_about(&chat, "1", &heading),
        say_about(&chat, "1", &format!("{}.1", cid(2))),
        say_about(&chat, &format!("#{name} 1"), &heading),
    ] {
        assert_eq!(said, goes(std::slice::from_ref(&new), 1));
    }
    let same = say(&chat, &format!("#{name}.1 b"));
    assert_eq!(same, goes(std::slice::from_ref(&old), 1), "pressed twice");
    let chat = answered(2);
    let both = [new.clone(), second.clone()];
    assert_eq!(say(&chat, &format!("#{name}.1 a")), goes(&both, 2));
    assert_eq!(say_about(&chat, "1", &heading), goes(&both, 2));
    let outside = Unclear::Outside { said: "3".into() };
    assert_eq!(say(&chat, &format!("#{name}.1 3")), unclear(2, 0, outside));
    // The one that is put is answered as without its number.
    let last = settles(2, vec![old.clone(), second.clone(), entry("q3", &[], "7")]);
    assert_eq!(say(&chat, &format!("#{name}.3 7")), last);
    assert_eq!(say(&chat, "7"), last);
    // Commands that are for all of it do not ask for a number.
    let partial = vec![old, second];
    let skipped = does(2, AnswerAction::Skip, partial, None);
    assert_eq!(say(&chat, &format!("#{name}.1 /skip")), skipped);
}

// contract: A2, N4
#[test]
fn a_question_that_was_not_put_is_not_answered() {
    let name = tag(2);
    for (chat, number, open) in [
        (answered(0), 2, 0),
        (answered(0), 3, 0),
        (answered(1), 3, 1),
    ] {
        for text in [
            format!("#{name}.{number} 1"),
            format!("#{name}.{number} /next"),
        ] {
            let why = Unclear::NotYet { number };
            assert_eq!(say(&chat, &text), unclear(2, open, why), "{text}");
        }
    }
    for number in [0, 4, 20] {
        let text = format!("#{name}.{number} 1");
        assert_eq!(say(&answered(1), &text), none(&format!("{name}.{number}")));
    }
    let about = format!("❓ #{name} (9/9) Where?");
    assert_eq!(
        say_about(&answered(1), "1", &about),
        none(&format!("{name}.9"))
    );
}

// contract: N4
#[test]
fn where_there_is_one_question_a_dot_only_separates() {
    let several =
        questions(&json!({"question": "Which?", "options": ["x", "y", "z"], "multi_select": true}));
    let chat = Chat {
        waiting: vec![waits(1, several, 0)],
        ended: Vec::new(),
    };
    for (text, options) in [
        (format!("#{}.1,3", tag(1)), ["o1", "o3"].as_slice()),
        (format!("#{}.2", tag(1)), &["o2"]),
        (format!("#{}. 2", tag(1)), &["o2"]),
    ] {
        let expected = settles(1, vec![entry("q1", options, "")]);
        assert_eq!(say(&chat, &text), expected, "{text}");
    }
    // The agent's own text is no part of the heading.
    let about = format!("❓ #{} (2/3) is what the log says. Why?", tag(1));
    let expected = settles(1, vec![entry("q1", &["o1"], "")]);
    assert_eq!(say_about(&chat, "1", &about), expected);
}

#[test]
fn what_is_looked_up_before_a_reply_is_read() {
    let chat = busy();
    let text = |text| Reply {
        text,
        ..Reply::default()
    };
    let (named, late) = (format!("#{} 1", tag(2)), format!("#{} 1", tag(3)));
    assert_eq!(meant_waiting(&chat, &text("1")), None);
    assert_eq!(meant_waiting(&chat, &text(&named)), Some(cid(2)));
    assert_eq!(meant_waiting(&chat, &text(&late)), None);
    assert_eq!(meant_waiting(&single(), &text("1")), Some(cid(1)));
    for (reply, concerned) in [
        (text("1"), &[][..]),
        (text(&named), &[2]),
        (text(named.trim_start_matches('#')), &[2]),
        (
            Reply {
                about: Some(&late),
                ..text("1")
            },
            &[3],
        ),
        (
            Reply {
                about: Some(&late),
                ..text(&named)
            },
            &[2, 3],
        ),
    ] {
        let mentions = reply.mentions();
        let found: Vec<u128> = (1..=9).filter(|n| mentions.concern(cid(*n))).collect();
        assert_eq!(found, concerned, "{reply:?}");
    }
}
