//! What a reply in a chat says of one question, in Chinese and in English, hostile ones included.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

mod fixture;

use askbus_domain::text_channel::{Unclear, named_option, read_choice};
use askbus_domain::{MAX_ANSWER_CHARS, Question};
use fixture::choices::Is::{self, Beside, Options, Outside, Words};
use fixture::choices::{bounded, check, checks, deploy, open, replicas};

// contract: N4
#[test]
fn one_option_by_number_letter_or_label() {
    let rows = [
        ("1", Options(&[1])),
        (" 2 ", Options(&[2])),
        ("01", Options(&[1])),
        ("１", Options(&[1])),
        ("①", Options(&[1])),
        ("❷", Options(&[2])),
        ("3️⃣", Options(&[3])),
        ("㈡", Options(&[2])),
        ("1.", Options(&[1])),
        ("1。", Options(&[1])),
        ("1)", Options(&[1])),
        ("（2）", Options(&[2])),
        ("【1】", Options(&[1])),
        ("1、", Options(&[1])),
        ("1!", Options(&[1])),
        ("2\n", Options(&[2])),
        ("\u{feff}2\u{200b}", Options(&[2])),
        ("一", Options(&[1])),
        ("第二个", Options(&[2])),
        ("第1项", Options(&[1])),
        ("选3", Options(&[3])),
        ("我选第二个", Options(&[2])),
        ("选项 1", Words("选项 1")),
        ("选项1", Options(&[1])),
        ("option 2", Options(&[2])),
        ("Number 1", Options(&[1])),
        ("a", Options(&[1])),
        ("B", Options(&[2])),
        ("ｃ", Options(&[3])),
        ("c)", Options(&[3])),
        ("选b", Options(&[2])),
        ("staging", Options(&[1])),
        ("STAGING", Options(&[1])),
        ("ｐｒｏｄ", Options(&[2])),
        ("哪里都不", Options(&[3])),
        ("1,1", Options(&[1])),
    ];
    check(&deploy(), &rows);
}

// contract: N4
#[test]
fn a_number_that_is_no_option_keeps_the_question_open() {
    let rows = [
        ("0", Outside("0")),
        ("4", Outside("4")),
        ("４", Outside("4")),
        ("-1", Outside("-1")),
        ("+1", Outside("+1")),
        ("1.5", Outside("1.5")),
        (
            "99999999999999999999999",
            Outside("99999999999999999999999"),
        ),
        ("⑳", Outside("20")),
        ("第九个", Outside("九")),
        ("十二", Outside("十二")),
        ("y", Outside("y")),
        ("option 7", Outside("7")),
        ("1,9", Outside("9")),
        ("9: because of the weather", Outside("9")),
    ];
    check(&deploy(), &rows);
}

// contract: N4
#[test]
fn any_other_text_is_the_persons_own_words() {
    let rows = [
        ("stag", Words("stag")),
        ("staging please", Words("staging please")),
        ("not 1", Words("not 1")),
        ("1 please", Words("1 please")),
        ("1 or 2", Words("1 or 2")),
        (
            "2 people should look first",
            Words("2 people should look first"),
        ),
        ("1?", Words("1?")),
        ("10:30", Words("10:30")),
        ("2027-01-15", Words("2027-01-15")),
        ("1/3", Words("1/3")),
        ("50%", Words("50%")),
        ("一个", Words("一个")),
        ("选一个", Words("选一个")),
        ("两个都行", Words("两个都行")),
        ("  both,\n but  later ", Words("both,\n but  later")),
        ("skip", Words("skip")),
        ("跳过", Words("跳过")),
        ("ok", Words("ok")),
        ("🙂", Words("🙂")),
        (
            "{\"option_ids\":[\"o1\"]}",
            Words("{\"option_ids\":[\"o1\"]}"),
        ),
        ("o1", Words("o1")),
        (
            "'; drop table answers; --",
            Words("'; drop table answers; --"),
        ),
        ("1\u{0}2", Words("1\u{0}2")),
        ("staging: only eu", Words("staging: only eu")),
        ("a note", Words("a note")),
    ];
    check(&deploy(), &rows);
}

// contract: A2, N4
#[test]
fn an_option_and_words_beside_it() {
    let rows = [
        ("1: but only in eu", Beside(&[1], "but only in eu")),
        ("１：只在欧洲", Beside(&[1], "只在欧洲")),
        ("b:not before noon", Beside(&[2], "not before noon")),
        (
            "2\nnot before noon\nplease",
            Beside(&[2], "not before noon\nplease"),
        ),
        ("1:", Options(&[1])),
        ("1: \u{200b}", Options(&[1])),
        (
            "1: 2 people look first",
            Beside(&[1], "2 people look first"),
        ),
    ];
    check(&deploy(), &rows);
}

// contract: A1, N4
#[test]
fn several_options_where_that_is_allowed() {
    let rows = [
        ("1,3", Options(&[1, 3])),
        ("1 3", Options(&[1, 3])),
        ("1、3", Options(&[1, 3])),
        ("１，３", Options(&[1, 3])),
        ("1；4", Options(&[1, 4])),
        ("1\n3", Options(&[1, 3])),
        ("①③", Options(&[1, 3])),
        ("1和3", Options(&[1, 3])),
        ("一、三", Options(&[1, 3])),
        ("选1和4", Options(&[1, 4])),
        ("1 and 3", Options(&[1, 3])),
        ("1+3", Options(&[1, 3])),
        ("1 & 3", Options(&[1, 3])),
        ("options 1, 2 and 4", Options(&[1, 2, 4])),
        ("a,c", Options(&[1, 3])),
        ("a 3", Options(&[1, 3])),
        ("2-4", Options(&[2, 3, 4])),
        ("2～4", Options(&[2, 3, 4])),
        ("3,1,3", Options(&[3, 1])),
        ("lint, E2E", Options(&[1, 2])),
        ("lint、4", Options(&[1, 4])),
        ("unit, fast", Options(&[3])),
        ("2,", Options(&[2])),
        ("1,3: after the freeze", Beside(&[1, 3], "after the freeze")),
        ("1,5", Outside("5")),
        ("2-9", Outside("2-9")),
        ("lint, all", Words("lint, all")),
        ("all of them", Words("all of them")),
        ("lint-e2e", Words("lint-e2e")),
        ("a-z", Words("a-z")),
        ("1-3-4", Words("1-3-4")),
        ("up to 3", Words("up to 3")),
        ("看到 3", Words("看到 3")),
    ];
    check(&checks(), &rows);
}

// contract: A1
#[test]
fn how_many_may_be_chosen_holds_in_a_chat_too() {
    let unclear = |why| Is::Unclear(why);
    check(
        &bounded(),
        &[
            ("1", unclear(Unclear::TooFew { min: 2 })),
            ("1,1", unclear(Unclear::TooFew { min: 2 })),
            ("1,12", Options(&[1, 12])),
            ("10 11 12", Options(&[10, 11, 12])),
            ("1-4", unclear(Unclear::TooMany { max: 3 })),
            ("Step 3; step 4", Options(&[3, 4])),
            ("十、十一", Options(&[10, 11])),
            ("none of them", Words("none of them")),
        ],
    );
    check(
        &deploy(),
        &[
            ("1,2", unclear(Unclear::OneOnly)),
            ("1和2", unclear(Unclear::OneOnly)),
            ("staging, prod", unclear(Unclear::OneOnly)),
        ],
    );
}

#[test]
fn a_question_without_options_takes_everything_as_words() {
    for text in ["1", "a", "0", "①", "1,3", "skip", "-1", "1: x", "第一个"] {
        let entry = read_choice(&open(), text).unwrap();
        assert!(entry.option_ids.is_empty());
        assert_eq!(entry.text.as_deref(), Some(text));
    }
}

// contract: E10
#[test]
fn nothing_and_too_much_are_no_answers() {
    for question in [deploy(), checks(), open()] {
        for text in ["", "  \n\t", "\u{3000}", "\u{200b}\u{feff}", "\u{202e}"] {
            assert_eq!(
                read_choice(&question, text),
                Err(Unclear::Blank),
                "{text:?}"
            );
        }
        let most = "字".repeat(MAX_ANSWER_CHARS);
        let read = read_choice(&question, &most).unwrap();
        assert_eq!(read.text.as_deref(), Some(most.as_str()));
        let more = format!("{most}字");
        assert_eq!(read_choice(&question, &more), Err(Unclear::TooLong));
    }
}

#[test]
fn a_command_line_names_an_exact_label_before_a_number() {
    let label = |question: &Question, name: &str| {
        let found = named_option(question, name);
        found.map(|o| o.label.clone()).map_err(|_| ())
    };
    let (numbers, words) = (replicas(), deploy());
    for (question, name, expected) in [
        (&numbers, "2", Ok("2")),
        (&numbers, "1", Ok("2")),
        (&numbers, "3", Ok("3")),
        (&numbers, "4", Ok("Ja")),
        (&numbers, "ja", Ok("ja")),
        (&numbers, "JA", Err(())),
        (&numbers, "0", Err(())),
        (&numbers, "6", Err(())),
        (&words, " 2 ", Ok("Prod")),
        (&words, "２", Ok("Prod")),
        (&words, "Prod", Ok("Prod")),
        (&words, "prod", Err(())),
        (&words, "a", Err(())),
    ] {
        assert_eq!(label(question, name), expected.map(str::to_owned), "{name}");
    }
}
