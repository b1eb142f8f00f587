//! What the service says.

use super::*;
use crate::inbox::entry::Status;
use crate::inbox::order::Row;
use crate::inbox::state::Pane;

#[test]
fn what_comes_moves_neither_selection_nor_focus_nor_text() {
    let mut stage = Stage::with(&[question(1, "Notes?", &[])]);
    stage.keys("\nhal");
    let first = with(
        question(2, "Now?", &["yes"]),
        json!({"deadline": T0 + 70_000, "session_id": "other"}),
    );
    assert_eq!(stage.hear(first), [Effect::Ring]);
    stage.keys("f");
    assert_eq!(
        (stage.state.selected, stage.state.pane),
        (Some(id(1)), Pane::Card)
    );
    assert_eq!(stage.entry(1).draft.filled[0].text.text(), "half");
    let listed: Vec<_> = stage.state.listed().collect();
    assert_eq!(listed, [id(2), id(1)], "the nearest deadline is first");
}

#[test]
fn sub_agents_stand_under_the_session_they_work_for() {
    let own = with(question(1, "Main?", &[]), json!({"session_id": "main"}));
    let sub = with(
        question(2, "Sub?", &[]),
        json!({"session_id": "sub", "parent": {"session_id": "main", "name": "tests"}, "deadline": T0 + 90_000}),
    );
    let other = with(
        question(3, "Other?", &[]),
        json!({"session_id": "other", "deadline": T0 + 95_000}),
    );
    let stage = Stage::with(&[other, own, sub]);
    let session = |name: &str, n| Row::Session(askbus_domain::SessionId::new(name).unwrap(), id(n));
    let expected = [
        session("main", 1),
        Row::Entry(id(1)),
        Row::Entry(id(2)),
        session("other", 3),
        Row::Entry(id(3)),
    ];
    assert_eq!(stage.state.rows, expected);
}

// contract: E9 E12
#[test]
fn settled_elsewhere_says_by_whom_and_goes_by_itself() {
    let mut stage = Stage::with(&[
        question(1, "Deploy where?", &["staging"]),
        question(2, "Then?", &[]),
    ]);
    stage.hear(resolved(1, "bob", "staging"));
    assert_eq!(stage.state.waiting(), 1);
    stage.later(6_900);
    assert!(stage.state.entries.contains_key(&id(1)));
    stage.later(200);
    assert!(!stage.state.entries.contains_key(&id(1)));
    // Nothing out of order opens it again.
    stage.hear(question(1, "Deploy where?", &["staging"]));
    assert!(!stage.state.entries.contains_key(&id(1)));

    // What somebody reads stays until they close it; what they wrote is shown.
    stage.keys("\nmine");
    stage.hear(resolved(2, "bob", "no"));
    stage.later(60_000);
    let screen = stage.screen();
    for words in [
        "Answered by bob (web)",
        "→ no",
        "What you wrote is kept below.",
        "→ mine",
    ] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    // Who leaves now is given their words on the way out.
    assert_eq!(stage.state.unsent().len(), 1);
    stage.keys("\n");
    assert!(stage.state.unsent().is_empty());
    assert!(stage.state.entries.is_empty());
    assert!(
        stage.screen().contains("Nothing waits for you."),
        "{}",
        stage.screen()
    );
}

// contract: E12
#[test]
fn a_lost_connection_keeps_what_was_typed_and_sends_what_is_under_way_again() {
    let (one, two) = (
        question(1, "Notes?", &[]),
        question(2, "Deploy where?", &["staging"]),
    );
    let mut stage = Stage::with(&[one.clone(), two.clone()]);
    stage.keys("\nhalf");
    stage.happens(Event::Lost);
    assert!(
        stage.screen().contains("Connection lost."),
        "{}",
        stage.screen()
    );
    stage.keys(" of it\u{1b}\u{1b}");
    stage.key(KeyCode::Down);
    assert_eq!(
        said_of(&stage.keys("\n1s\n"), "clarify.respond"),
        Vec::<Value>::new()
    );
    assert!(
        stage
            .screen()
            .contains("It is sent as soon as the connection is back"),
        "{}",
        stage.screen()
    );
    let before = stage.done.len();
    stage.connect(&[one, two]);
    let sent = said_of(&stage.done[before..], "clarify.respond");
    assert_eq!(sent.len(), 1);
    assert_eq!(stage.entry(1).draft.filled[0].text.text(), "half of it");
    // Nobody mentions it: once more, under the same id.
    let again = said_of(&stage.later(8_000), "clarify.respond");
    assert_eq!(again, sent);
    stage.hear(
        json!({"event": "clarify.sent", "clarify_id": id(2), "answer_id": sent[0]["answer_id"]}),
    );
    assert!(matches!(stage.entry(2).status, Status::Sent { .. }));
    assert_eq!(
        said_of(&stage.later(20_000), "clarify.respond"),
        Vec::<Value>::new()
    );
}

#[test]
fn what_was_settled_while_nobody_listened_is_over() {
    let (one, two) = (
        question(1, "Notes?", &[]),
        question(2, "Deploy where?", &["staging"]),
    );
    let mut stage = Stage::with(&[one.clone(), two]);
    stage.happens(Event::Lost);
    stage.connect(&[one]);
    assert!(matches!(
        stage.entry(2).status,
        Status::Settled { outcome: None, .. }
    ));
    assert_eq!(stage.state.waiting(), 1);
}

#[test]
fn what_the_service_cannot_take_now_is_sent_again_and_what_is_no_answer_comes_back() {
    let mut stage = Stage::with(&[question(1, "Deploy where?", &["staging"])]);
    let sent = said_of(&stage.keys("\n1s\n"), "clarify.respond");
    let refusal = |reason: &str| {
        json!({"event": "clarify.resolved", "resolved": false, "clarify_id": id(1), "session_id": "build-42",
            "answer_id": sent[0]["answer_id"], "reason": reason, "error": "why", "verdict": "refused"})
    };
    stage.hear(refusal("UNAVAILABLE"));
    assert_eq!(
        said_of(&stage.later(2_000), "clarify.respond"),
        Vec::<Value>::new()
    );
    assert_eq!(said_of(&stage.later(1_000), "clarify.respond"), sent);
    stage.hear(refusal("INVALID_ANSWER"));
    assert_eq!(stage.entry(1).status, Status::Waiting);
    assert!(
        stage.screen().contains("Not accepted: why"),
        "{}",
        stage.screen()
    );
    assert_eq!(stage.entry(1).draft.filled[0].chosen, [0].into());
}

// contract: E9
#[test]
fn an_answer_that_comes_too_late_is_kept_says_who_won_and_is_sent_on_by_its_author() {
    let mut stage = Stage::with(&[question(1, "Deploy where?", &["staging", "production"])]);
    let sent = said_of(&stage.keys("\n2tplease\u{1b}s\n"), "clarify.respond");
    let outcome = resolved(1, "bob", "staging");
    stage.hear(json!({"event": "clarify.resolved", "resolved": false, "clarify_id": id(1), "session_id": "build-42",
        "answer_id": sent[0]["answer_id"], "reason": "response", "error": "bob settled this first", "verdict": "conflict",
        "stale": true, "goes_on": null, "outcome": outcome}));
    stage.hear(outcome);
    let screen = stage.screen();
    for words in [
        "Your answer came too late.",
        "Answered by bob (web)",
        "→ production",
        "→ please",
        "The agent is not told of it unless you send it on.",
        "Send it on to the agent",
    ] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    let passed = said_of(&stage.keys("p\n"), "clarify.pass_on");
    assert_eq!(passed[0]["answer_id"], sent[0]["answer_id"]);
    assert_eq!(passed[0]["surface"], "terminal");
    stage.hear(
        json!({"event": "clarify.passed_on", "clarify_id": id(1), "answer_id": sent[0]["answer_id"],
        "passed_on": true, "goes_on": "next_turn", "kept": true, "error": null}),
    );
    assert!(
        stage
            .screen()
            .contains("It reaches the agent when its next turn begins."),
        "{}",
        stage.screen()
    );
    assert_eq!(
        said_of(&stage.keys("p\n"), "clarify.pass_on"),
        Vec::<Value>::new()
    );
}

#[test]
fn what_the_person_wrote_elsewhere_is_taken_up_and_never_overwrites() {
    let draft = |text: &str| {
        json!({"event": "clarify.draft", "clarify_id": id(1), "session_id": "build-42", "own": true, "tab": "tab-9",
            "answers": [{"question_id": "q1", "option_ids": ["o1"], "text": text}], "text": null})
    };
    let mut stage = Stage::with(&[question(1, "Deploy where?", &["staging"])]);
    stage.hear(draft("from the browser"));
    assert_eq!(
        stage.entry(1).draft.filled[0].text.text(),
        "from the browser"
    );
    stage.keys("\nt!\u{1b}");
    stage.hear(draft("and more"));
    assert_eq!(
        stage.entry(1).draft.filled[0].text.text(),
        "from the browser!"
    );
    assert!(
        stage.screen().contains("You wrote something else here"),
        "{}",
        stage.screen()
    );
    stage.keys("u\n");
    assert_eq!(stage.entry(1).draft.filled[0].text.text(), "and more");
}

#[test]
fn ten_thousand_wait_and_only_what_is_in_sight_is_drawn() {
    let all: Vec<Value> = (1..=10_000)
        .map(|n| {
            with(
                question(n, &format!("Number {n}?"), &["yes"]),
                json!({"session_id": format!("s{}", n % 50)}),
            )
        })
        .collect();
    let mut stage = Stage::new(Language::En, (80, 24));
    stage.hear(
        json!({"event": "hello", "seq": 1, "you": "ann", "tenant": "local", "server_now": T0}),
    );
    // One state for all of them: this is about what is drawn, not about copies.
    let at = Moment {
        now: Timestamp::from_unix_millis(T0),
        fresh: String::new(),
    };
    let mut state = stage.state;
    for object in &all {
        let heard = Heard::read(object).unwrap();
        (state, _) = update(state, Event::Heard(Box::new(heard), None), &at);
        assert!(
            state.rows.is_empty(),
            "the list is made once, when all is there"
        );
    }
    let pending = (1..=10_000).map(id).collect();
    (state, _) = update(
        state,
        Event::Heard(Box::new(Heard::Ready { pending }), None),
        &at,
    );
    stage.state = state;
    assert_eq!(stage.state.rows.len(), 10_050);
    assert!(stage.screen().contains("Askbus · 10000 waiting"));
    stage.key(KeyCode::End);
    assert_eq!(stage.state.selected, stage.state.listed().next_back());
}

// contract: E16
#[test]
fn what_agents_work_on_stands_below_what_waits_and_says_whose_it_is() {
    let plan = |revision: u64, state: &str, steps: [&str; 2]| {
        json!({"event": "plan.updated", "seq": 10 + revision, "session_id": "release-9",
            "plan_id": "00000000-0000-0000-0000-0000b0000001", "run_id": "r", "revision": revision,
            "execution_state": state, "plan": [
                {"id": "a", "step": "look", "status": steps[0]},
                {"id": "b", "step": "mend", "status": steps[1]}],
            "asker": {"client": "codex 0.9", "host": "ci-runner-3", "cwd": "/srv/release", "branch": "v2"}})
    };
    let whose = "codex 0.9 · ci-runner-3 · /srv/release · (v2)";
    for questions in [vec![], vec![question(1, "Deploy where?", &["staging"])]] {
        let mut stage = Stage::with(&questions);
        stage.hear(plan(1, "running", ["in_progress", "pending"]));
        let screen = stage.screen();
        assert!(screen.contains(whose), "{screen}");
        assert!(screen.contains("session release-9"), "{screen}");
        assert!(screen.contains("Plan: 0 of 2 done · look"), "{screen}");
        stage.hear(plan(2, "running", ["completed", "in_progress"]));
        stage.hear(plan(1, "running", ["in_progress", "pending"]));
        let screen = stage.screen();
        assert!(screen.contains("Plan: 1 of 2 done · mend"), "{screen}");
        stage.hear(plan(3, "ended", ["completed", "pending"]));
        assert!(!stage.screen().contains(whose), "{}", stage.screen());
    }
}
