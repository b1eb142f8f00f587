//! What is on the screen, without colour, at the sizes that people have.

use super::*;

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (40, 10)];
const LANGUAGES: [Language; 2] = [Language::En, Language::Zh];

/// What is drawn at each size in each language.
fn drawn(name: &str, questions: &[Value], act: impl Fn(&mut Stage)) {
    for language in LANGUAGES {
        for size in SIZES {
            let mut stage = Stage::sized(language, size, questions);
            act(&mut stage);
            let name = format!("{name}_{}_{}x{}", language.as_str(), size.0, size.1);
            // Rows without the spaces at their end, which no eye sees.
            let rows: Vec<_> = stage
                .screen()
                .lines()
                .map(|row| row.trim_end().to_owned())
                .collect();
            insta::assert_snapshot!(name, rows.join("\n"));
        }
    }
}

fn several() -> Vec<Value> {
    let sub =
        json!({"session_id": "tests-7", "parent": {"session_id": "build-42", "name": "tests"}});
    let other = json!({"session_id": "release-9", "deadline": T0 + 100_000,
        "asker": {"client": "codex 0.9", "host": "ci-runner-3", "cwd": "/srv/release", "branch": "v2"}});
    let theirs = json!({"session_id": "db-1", "to": {"person": "bob"}, "may_answer": false,
        "asker": {"client": "opencode", "host": "server", "cwd": "/srv/db", "branch": ""}});
    vec![
        three(1),
        with(
            question(
                2,
                "数据库迁移之前要不要先备份？这可能需要一个小时。",
                &["要", "不要"],
            ),
            sub,
        ),
        with(question(3, "Release 2.0 now?", &["yes", "no"]), other),
        with(question(4, "Drop the old table?", &["yes", "no"]), theirs),
    ]
}

#[test]
fn the_list() {
    drawn("list", &several(), |_| {});
}

#[test]
fn an_empty_list() {
    drawn("empty", &[], |_| {});
}

// contract: A4
#[test]
fn a_card_with_three_questions() {
    drawn("card", &[three(1)], |stage| {
        stage.keys("\n2\t12tonly on 测试机\nand here");
    });
}

#[test]
fn the_buttons_of_a_card() {
    drawn(
        "buttons",
        &[with(three(1), json!({"deadline": T0 + 30_000}))],
        |stage| {
            stage.keys("\n1s");
        },
    );
}

#[test]
fn a_question_that_bob_answered_first() {
    drawn(
        "late",
        &[question(1, "Deploy where?", &["staging", "production"])],
        |stage| {
            let sent = said_of(&stage.keys("\n2tplease\u{1b}s\n"), "clarify.respond");
            stage.hear(json!({"event": "clarify.resolved", "resolved": false, "clarify_id": id(1),
            "answer_id": sent[0]["answer_id"], "reason": "response", "error": "…", "verdict": "conflict",
            "stale": true, "goes_on": null, "outcome": resolved(1, "bob", "staging")}));
        },
    );
}

#[test]
fn without_a_connection() {
    drawn(
        "offline",
        &[question(1, "Deploy where?", &["staging"])],
        |stage| {
            stage.happens(Event::Lost);
            stage.keys("\n1s\n");
        },
    );
}

#[test]
fn the_keys() {
    drawn("keys", &[], |stage| {
        stage.keys("?");
    });
}

#[test]
fn the_keys_are_read_to_their_end_in_a_small_window() {
    for language in LANGUAGES {
        let mut stage = Stage::sized(language, (40, 10), &[]);
        stage.keys("?");
        let mut seen = stage.screen();
        for _ in 0..60 {
            stage.key(KeyCode::Down);
            seen.push_str(&stage.screen());
        }
        assert!(stage.screen().contains("Ctrl-C"), "{}", stage.screen());
        for (keys, _) in crate::inbox::words::words(language).help {
            assert!(seen.contains(keys), "{keys}");
        }
        stage.key(KeyCode::PageUp);
        assert!(stage.state.help.is_some());
        stage.key(KeyCode::Esc);
        assert_eq!(stage.state.help, None);
        // Where all of them are in sight, any key goes back.
        let mut stage = Stage::sized(language, (80, 24), &[]);
        stage.keys("?");
        assert!(stage.screen().contains("Ctrl-C"), "{}", stage.screen());
        stage.key(KeyCode::Down);
        assert_eq!(stage.state.help, None);
    }
}

#[test]
fn nothing_of_ours_is_cut_in_a_small_window() {
    let on_rows = |screen: &str| screen.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut stage = Stage::sized(Language::En, (40, 10), &[question(1, "Where?", &["here"])]);
    stage.happens(Event::Lost);
    let said = "Connection lost. What you write is kept; answers are sent when it is back.";
    assert!(
        on_rows(&stage.screen()).contains(said),
        "{}",
        stage.screen()
    );
    stage.keys("\ns\n");
    let said = "Choose or write something first; nothing was sent.";
    assert!(
        on_rows(&stage.screen()).contains(said),
        "{}",
        stage.screen()
    );
    // Of the keys whole ones are left out, and how to see them all never is.
    for (keys, expected) in [
        ("", "↑↓ move · Space choose · t text · ? keys"),
        ("t", "Enter new line · Esc out of the field"),
    ] {
        let mut stage = Stage::sized(Language::En, (40, 10), &[question(1, "Where?", &["here"])]);
        stage.keys("\n");
        stage.keys(keys);
        let screen = stage.screen();
        let last = screen.lines().last().unwrap().trim_end();
        assert_eq!(last, expected, "{screen}");
    }
}

// contract: D4
// contract: A4 A5
#[test]
fn what_is_assumed_and_noted_is_called_so_and_how_long_there_is_stands_in_the_card() {
    let asked = with(
        question(1, "Which port?", &["8080", "8081"]),
        json!({"requested_at": T0, "deadline": T0 + 300_000, "grace_ms": 60_000}),
    );
    let mut stage = Stage::with(&[asked]);
    stage.keys("\n");
    assert!(
        stage.screen().contains("open for 5 min"),
        "{}",
        stage.screen()
    );
    let mut ended = resolved(1, "ann", "8080");
    ended["answers"][0]["note"] = json!("by noon");
    ended["assumptions"] = json!([{"question_id": "q1", "option_id": "o2", "label": "8081"}]);
    stage.hear(ended);
    for words in [
        "→ Note: by noon",
        "→ assumed by the agent, chosen by nobody: 8081",
    ] {
        assert!(
            stage.screen().contains(words),
            "{words}: {}",
            stage.screen()
        );
    }
}

#[test]
fn the_list_says_the_words_of_markdown_and_the_card_shows_it() {
    let text = "Which **index** for `orders`?";
    let plain = json!({"plain": {"q1": {"question": "Which index for orders?"}}});
    let mut stage = Stage::with(&[with(question(1, text, &["a"]), plain)]);
    assert!(
        stage.screen().contains("> Which index for orders?"),
        "{}",
        stage.screen()
    );
    stage.keys("\n");
    assert!(stage.screen().contains(text), "{}", stage.screen());
}

// contract: A1
#[test]
fn a_long_question_can_be_read_to_its_end() {
    let text = "部署 and deploy, 一次又一次. ".repeat(200);
    let label = "label ".repeat(80);
    let one = with(question(1, text.trim(), &[label.trim(), "last"]), json!({}));
    let mut stage = Stage::with(&[one]);
    stage.keys("\n");
    assert!(
        stage.screen().contains("部署 and deploy"),
        "{}",
        stage.screen()
    );
    // Each place with the focus is in sight.
    stage.key(KeyCode::Down);
    assert!(
        stage.screen().contains("> ( ) 2. last"),
        "{}",
        stage.screen()
    );
    stage.keys("s");
    assert!(
        stage.screen().contains("> Send answer <"),
        "{}",
        stage.screen()
    );
    // And everything before it can be scrolled to.
    for _ in 0..20 {
        stage.key(KeyCode::PageUp);
    }
    assert!(
        stage.screen().contains("session build-42"),
        "{}",
        stage.screen()
    );
}

#[test]
fn no_text_moves_the_cursor_imitates_a_row_or_turns_what_follows() {
    let evil = "Deploy?\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}31m\r\n> Send answer <\u{202e}gnp.exe\u{2028}x\t.";
    let asker = json!({"client": evil, "host": evil, "cwd": evil, "branch": evil});
    let one = with(
        question(1, evil, &[evil]),
        json!({"asker": asker, "session_id": "s"}),
    );
    let mut stage = Stage::with(std::slice::from_ref(&one));
    let check = |stage: &Stage| {
        let screen = stage.screen();
        let bad = |c: char| {
            (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2028}')
        };
        assert!(!screen.contains(bad), "{screen:?}");
        // Every row has its width: nothing moved.
        for row in screen.lines() {
            assert_eq!(width(row), 80, "{row:?}");
        }
    };
    check(&stage);
    stage.keys("\n1");
    check(&stage);
    stage.hear(with(
        resolved(1, "bob", evil),
        json!({"actor": {"person": evil, "surface": evil}}),
    ));
    check(&stage);
    let mut stage = Stage::with(&[one]);
    stage.hear(json!({"event": "clarify.draft", "clarify_id": id(1), "own": true, "tab": "t",
        "answers": [{"question_id": "q1", "option_ids": [], "text": evil, "note": evil}], "text": evil}));
    stage.keys("\n");
    check(&stage);
    stage.hear(json!({"event": "error", "error": evil}));
    check(&stage);
}

#[test]
fn a_window_of_any_size_is_drawn() {
    for columns in [1, 20, 39, 40, 41, 99, 100, 101, 250] {
        for rows in [1, 7, 8, 9, 60] {
            let mut stage = Stage::sized(Language::Zh, (columns, rows), &several());
            stage.screen();
            stage.keys("\n\t\ttx");
            stage.screen();
        }
    }
}

#[test]
fn who_may_start_the_service_is_told_how() {
    let mut stage = Stage::sized(Language::En, (40, 10), &[]);
    stage.happens(Event::Lost);
    assert!(!stage.screen().contains("askbus up"), "{}", stage.screen());
    stage.state.here = true;
    let screen = stage.screen();
    assert!(screen.contains("Connection lost."), "{screen}");
    assert!(screen.contains("askbus up"), "{screen}");
}

/// A question whose second option is higher than a small window.
fn high() -> Value {
    let words = |first: &str, last: &str| format!("{first} {}{last}", "word ".repeat(70));
    let high = json!({"id": "o2", "label": words("Second:", "label-ends"),
        "description": words("because", "description-ends")});
    let options = json!([{"id": "o1", "label": "first"}, high, {"id": "o3", "label": "third"}]);
    with(
        question(1, "Which?", &[]),
        json!({"questions": [{"id": "q1", "question": "Which?", "multi_select": false, "options": options}]}),
    )
}

// contract: D4
#[test]
fn an_option_higher_than_the_window_is_read_from_its_beginning_to_its_end() {
    let mut stage = Stage::sized(Language::En, (40, 10), &[high()]);
    stage.keys("\n");
    let at = |stage: &Stage| stage.entry(1).spot;
    for from in ["above", "below"] {
        stage.key(if from == "above" {
            KeyCode::Down
        } else {
            KeyCode::Up
        });
        assert_eq!(at(&stage), crate::inbox::entry::Spot::Option(0, 1));
        let screen = stage.screen();
        assert!(screen.contains("> ( ) 2. Second:"), "{from}: {screen}");
        let mut read = screen;
        while !read.contains("description-ends") {
            stage.key(KeyCode::Down);
            assert_eq!(
                at(&stage),
                crate::inbox::entry::Spot::Option(0, 1),
                "{read}"
            );
            read.push_str(&stage.screen());
        }
        assert!(read.contains("label-ends"), "{read}");
        if from == "above" {
            stage.key(KeyCode::Down);
            assert_eq!(at(&stage), crate::inbox::entry::Spot::Option(0, 2));
        }
    }
    stage.keys(" ");
    assert_eq!(stage.entry(1).draft.filled[0].chosen, [1].into());
}

// contract: D4
#[test]
fn nothing_is_chosen_that_was_never_in_sight() {
    let long = "There is a lot to be said about it. ".repeat(20);
    for key in [" ", "\n"] {
        let asked = question(1, &long, &["a", "b"]);
        let mut stage = Stage::sized(Language::En, (40, 10), &[asked]);
        stage.keys("\n");
        let screen = stage.screen();
        assert!(screen.contains("There is a lot"), "from its top: {screen}");
        assert!(!screen.contains("( ) 1. a"), "{screen}");
        stage.keys(key);
        assert!(stage.entry(1).draft.filled[0].chosen.is_empty());
        assert!(stage.screen().contains("> ( ) 1. a"), "{}", stage.screen());
        stage.keys(key);
        assert_eq!(stage.entry(1).draft.filled[0].chosen, [0].into());
    }
}
