//! A chat of several people: what is for one of them says so, and is not taken from another.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

mod fixture;

use askbus_domain::text_channel::{
    ChannelLimits, Chat, Length, Put, Reply, Telling, Unit, named_of_others,
};
use askbus_domain::{Addressee, Command, Dialect, Language};
use fixture::chat::{busy, tag};
use fixture::{Log, ask, at, cid};
use serde_json::json;

const ROOMY: ChannelLimits = ChannelLimits {
    message: Length {
        most: 4_000,
        unit: Unit::Characters,
    },
    messages: 20,
    buttons: None,
};

// contract: N4
#[test]
fn a_question_among_several_people_says_whom_it_is_for() {
    for (to, en, zh) in [
        ("ann", "· For ann", "· 请 ann 回答"),
        ("group:ops", "· For group ops", "· 请 ops 组 回答"),
        (
            "group:room:r17",
            "· For the managers of r17",
            "· 请 r17 的管理员 回答",
        ),
        ("person:1. yes", "· For 1. yes", "· 请 1. yes 回答"),
    ] {
        let mut command = ask(1, Dialect::Ask, &json!({"question": "Where?"}));
        command.input.as_mut().unwrap().to = Some(Addressee::parse(to).unwrap());
        let mut log = Log::begun();
        log.run(&Command::Ask(Box::new(command)), at(0)).unwrap();
        let asked = log.find(cid(1)).unwrap();
        for (language, line) in [(Language::En, en), (Language::Zh, zh)] {
            let put = Put::of(&asked, 0, "b2c2", language);
            let alone = put.messages(&ROOMY).join("\n");
            assert!(!alone.contains(line), "{alone}");
            let among = put.among_several(&asked).messages(&ROOMY).join("\n");
            assert!(among.lines().any(|l| l == line), "{among}");
            // However little fits, it is said.
            let small = ChannelLimits {
                messages: 1,
                ..ROOMY
            };
            let least = put.among_several(&asked).messages(&small).join("\n");
            assert!(least.lines().any(|l| l == line), "{least}");
        }
    }
    let everybody = {
        let mut log = Log::begun();
        let command = ask(1, Dialect::Ask, &json!({"question": "Where?"}));
        log.run(&Command::Ask(Box::new(command)), at(0)).unwrap();
        log.find(cid(1)).unwrap()
    };
    let put = Put::of(&everybody, 0, "b2c2", Language::En);
    assert_eq!(
        put.among_several(&everybody).messages(&ROOMY),
        put.messages(&ROOMY)
    );
}

// contract: N4
#[test]
fn a_name_of_somebody_elses_question_is_known_as_that() {
    // One and two wait for whoever writes, three has ended, five and six wait for others.
    let (chat, others) = (busy(), [cid(5), cid(6)]);
    let named = |chat: &Chat, text: &str, about: Option<&str>| {
        let reply = Reply {
            text,
            about,
            written_at: None,
        };
        named_of_others(chat, &others, &reply)
    };
    let (mine, theirs) = (tag(1), tag(5));
    for (text, about, expected) in [
        (format!("#{theirs} 1"), None, Some(cid(5))),
        (format!("{theirs} 1"), None, Some(cid(5))),
        (format!("＃{theirs}：１"), None, Some(cid(5))),
        (format!("#{theirs}.2 1"), None, Some(cid(5))),
        ("1".to_owned(), Some(format!("#{theirs}")), Some(cid(5))),
        ("1".to_owned(), Some(cid(6).to_string()), Some(cid(6))),
        (
            "1".to_owned(),
            Some(format!("❓ #{theirs} Where?\n· For ann")),
            Some(cid(5)),
        ),
        // What is written counts before what it replies to.
        (format!("#{mine} 1"), Some(theirs.clone()), None),
        (format!("#{theirs} 1"), Some(mine.clone()), Some(cid(5))),
        ("#z9z9 1".to_owned(), Some(theirs.clone()), None),
        // Nothing of theirs is named.
        ("1".to_owned(), None, None),
        ("1".to_owned(), Some(mine.clone()), None),
        (format!("#{} 1", tag(3)), None, None),
        (format!("as in #{theirs}"), None, None),
    ] {
        assert_eq!(named(&chat, &text, about.as_deref()), expected, "{text}");
    }
    for (language, person, group) in [
        (
            Language::En,
            "#b2c2 is for ann; nothing was sent.",
            "#b2c2 is for group ops; nothing was sent.",
        ),
        (
            Language::Zh,
            "#b2c2 要由 ann 回答，未发送任何内容。",
            "#b2c2 要由 ops 组 回答，未发送任何内容。",
        ),
    ] {
        for (to, line) in [("ann", person), ("group:ops", group)] {
            let to = Addressee::parse(to).unwrap();
            assert_eq!(Telling(language).is_for("b2c2", &to), [line]);
        }
    }
}
