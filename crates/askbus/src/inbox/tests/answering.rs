//! What keys do.

use super::*;
use crate::inbox::entry::{Button, Spot, Status};
use crate::inbox::state::{EditorTrouble, Pane};

fn deadline(n: u128, text: &str, labels: &[&str]) -> Value {
    with(question(n, text, labels), json!({"deadline": T0 + 240_000}))
}

// contract: E9
#[test]
fn choosing_never_sends_and_enter_on_the_button_does() {
    let mut stage = Stage::with(&[question(1, "Deploy where?", &["staging", "production"])]);
    assert_eq!(stage.state.pane, Pane::List);
    // Into the card, choose by number, then by space, then by Enter.
    let done = stage.keys("\n2");
    assert_eq!(said_of(&done, "clarify.respond"), Vec::<Value>::new());
    assert_eq!(stage.entry(1).draft.filled[0].chosen, [1].into());
    stage.keys("1 ");
    assert_eq!(stage.entry(1).draft.filled[0].chosen, [].into());
    stage.keys("\n");
    assert_eq!(stage.entry(1).draft.filled[0].chosen, [0].into());
    assert_eq!(said_of(&stage.done, "clarify.respond"), Vec::<Value>::new());
    let done = stage.keys("s\n");
    let sent = said_of(&done, "clarify.respond");
    assert_eq!(sent.len(), 1);
    assert_eq!(
        sent[0]["answers"],
        json!([{"question_id": "q1", "option_ids": ["o1"]}])
    );
    assert_eq!(
        (&sent[0]["action"], &sent[0]["surface"]),
        (&json!("answer"), &json!("terminal"))
    );
    assert_eq!(sent[0]["session_id"], "build-42");
    assert!(matches!(stage.entry(1).status, Status::Sending { .. }));
    // It is sent once, whatever is pressed now.
    assert_eq!(
        said_of(&stage.keys("s\n\n 1"), "clarify.respond"),
        Vec::<Value>::new()
    );
}

#[test]
fn nothing_filled_in_is_not_sent_and_says_so() {
    let mut stage = Stage::with(&[question(1, "Deploy where?", &["staging"])]);
    assert_eq!(
        said_of(&stage.keys("\ns\n"), "clarify.respond"),
        Vec::<Value>::new()
    );
    assert!(
        stage.screen().contains("Choose or write something first"),
        "{}",
        stage.screen()
    );
    assert_eq!(stage.entry(1).status, Status::Waiting);
}

// contract: A4
#[test]
fn the_first_key_in_a_question_holds_it_once_and_tab_does_not() {
    let mut stage = Stage::with(&[
        deadline(1, "Deploy where?", &["staging", "production"]),
        deadline(2, "And then?", &[]),
    ]);
    let holds = |stage: &Stage| said_of(&stage.done, "clarify.hold").len();
    stage.keys("\n");
    stage.key(KeyCode::Tab);
    assert_eq!(holds(&stage), 0);
    stage.key(KeyCode::Down);
    stage.keys("2\u{1b}");
    assert_eq!(holds(&stage), 1);
    // Going through the list holds nothing.
    stage.keys("\u{1b}");
    stage.key(KeyCode::Up);
    assert_eq!(holds(&stage), 1);
    stage.hear(json!({"event": "clarify.held", "seq": 3, "clarify_id": id(1), "actor": {"person": "ann", "surface": "web"}}));
    assert!(stage.screen().contains("held"), "{}", stage.screen());
}

#[test]
fn a_hold_without_a_connection_is_said_when_it_is_back() {
    let one = deadline(1, "Deploy where?", &["staging"]);
    let mut stage = Stage::with(std::slice::from_ref(&one));
    stage.happens(Event::Lost);
    assert_eq!(said(&stage.keys("\n1")), Vec::<Value>::new());
    let before = stage.done.len();
    stage.connect(&[one]);
    assert_eq!(said_of(&stage.done[before..], "clarify.hold").len(), 1);
}

// contract: A1 A2
#[test]
fn several_are_chosen_within_bounds_and_own_words_and_notes_go_along() {
    let mut stage = Stage::with(&[three(1)]);
    stage.keys("\n2");
    // The second question: three are too many.
    stage.keys("\t123");
    assert_eq!(stage.entry(1).draft.filled[1].chosen, [0, 1, 2].into());
    assert_eq!(
        said_of(&stage.keys("s\n"), "clarify.respond"),
        Vec::<Value>::new()
    );
    assert!(
        stage.screen().contains("Another number of options"),
        "{}",
        stage.screen()
    );
    stage.key(KeyCode::BackTab);
    stage.key(KeyCode::BackTab);
    stage.keys("3tonly on Linux\u{1b}nsoon\u{1b}");
    let done = stage.keys("s\n");
    let sent = said_of(&done, "clarify.respond");
    let expected = json!([
        {"question_id": "q1", "option_ids": ["o2"]},
        {"question_id": "q2", "option_ids": ["o1", "o2"], "text": "only on Linux", "note": "soon"},
    ]);
    assert_eq!(
        sent[0]["answers"],
        expected,
        "{sent:#?}\n{}",
        stage.screen()
    );
}

#[test]
fn a_number_of_two_digits_is_gone_to_and_chosen_by_hand() {
    let labels: Vec<String> = (1..=12).map(|n| format!("option {n}")).collect();
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let mut stage = Stage::with(&[question(1, "Which?", &labels)]);
    stage.keys("\n1");
    assert_eq!(stage.entry(1).spot, Spot::Option(0, 0));
    stage.keys("2");
    assert_eq!(stage.entry(1).spot, Spot::Option(0, 11));
    assert_eq!(stage.entry(1).draft.filled[0].chosen, [].into());
    stage.keys(" ");
    assert_eq!(stage.entry(1).draft.filled[0].chosen, [11].into());
    // Input methods may send digits of double width.
    stage.keys("３");
    assert_eq!(stage.entry(1).spot, Spot::Option(0, 2));
}

#[test]
fn enter_in_a_field_is_a_new_line_and_letters_are_letters() {
    let mut stage = Stage::with(&[question(1, "What goes into the notes?", &[])]);
    stage.keys("\nsend dkx 部署？\nq");
    assert_eq!(
        stage.entry(1).draft.filled[0].text.text(),
        "send dkx 部署？\nq"
    );
    stage.happens(Event::Paste("\r\npasted\rtext".to_owned()));
    assert_eq!(
        stage.entry(1).draft.filled[0].text.text(),
        "send dkx 部署？\nq\npasted\ntext"
    );
    assert_eq!(said_of(&stage.done, "clarify.respond"), Vec::<Value>::new());
    // Out of the field, the same letters are keys.
    stage.keys("\u{1b}s");
    assert_eq!(stage.entry(1).spot, Spot::Button(Button::Submit));
}

#[test]
fn all_recommended_is_its_own_button_and_what_it_sends_is_the_persons_choice() {
    let mut stage = Stage::with(&[three(1)]);
    // Nothing is chosen beforehand.
    assert!(stage.entry(1).draft.is_blank());
    stage.keys("\n\ttunit is enough\u{1b}r");
    let sent = said_of(&stage.keys("\n"), "clarify.respond");
    let expected = json!([
        {"question_id": "q1", "option_ids": ["o1"]},
        {"question_id": "q2", "option_ids": [], "text": "unit is enough"},
    ]);
    assert_eq!(sent[0]["answers"], expected);
    assert_eq!(sent[0]["action"], "answer");
}

#[test]
fn one_question_is_declined_and_all_are_by_another_control() {
    let mut stage = Stage::with(&[three(1)]);
    stage.keys("\n1\td");
    assert!(stage.entry(1).draft.filled[1].declined);
    let sent = said_of(&stage.keys("s\n"), "clarify.respond");
    let expected = json!([
        {"question_id": "q1", "option_ids": ["o1"]},
        {"question_id": "q2", "option_ids": [], "dismissed": true},
    ]);
    assert_eq!(sent[0]["answers"], expected);
    let mut stage = Stage::with(&[three(1)]);
    let sent = said_of(&stage.keys("\n1D\n"), "clarify.respond");
    assert_eq!(sent[0]["action"], "dismiss");
    // What was filled in goes along with every action.
    assert_eq!(
        sent[0]["answers"],
        json!([{"question_id": "q1", "option_ids": ["o1"]}])
    );
}

#[test]
fn skip_and_ask_back_are_sent_with_what_is_filled_in() {
    let mut stage = Stage::with(&[question(1, "Deploy where?", &["staging"])]);
    assert_eq!(
        said_of(&stage.keys("\nk\n"), "clarify.respond")[0]["action"],
        "skip"
    );
    let mut stage = Stage::with(&[question(1, "Deploy where?", &["staging"])]);
    stage.keys("\n1bWhich region?\u{1b}");
    stage.key(KeyCode::Tab);
    assert_eq!(stage.entry(1).spot, Spot::Button(Button::Submit));
    stage.key(KeyCode::Right);
    let sent = said_of(&stage.keys("\n"), "clarify.respond");
    assert_eq!(
        (&sent[0]["action"], &sent[0]["text"]),
        (&json!("ask_back"), &json!("Which region?"))
    );
    assert_eq!(
        sent[0]["answers"],
        json!([{"question_id": "q1", "option_ids": ["o1"]}])
    );
}

#[test]
fn leaving_answers_nothing() {
    let mut stage = Stage::with(&[deadline(1, "Deploy where?", &["staging"])]);
    stage.keys("\n1");
    let before = said_of(&stage.done, "clarify.respond").len();
    assert_eq!(stage.control('c'), [Effect::Leave]);
    assert_eq!(said_of(&stage.done, "clarify.respond").len(), before);
    // It is no action in the question either.
    let mut stage = Stage::with(&[deadline(1, "Deploy where?", &["staging"])]);
    stage.keys("\n");
    assert_eq!(stage.control('c'), [Effect::Leave]);
    assert_eq!(stage.control('z'), [Effect::Suspend]);
    assert_eq!(said(&stage.done), Vec::<Value>::new());
}

#[test]
fn the_editor_gives_back_its_text_and_loses_none_when_it_fails() {
    let mut stage = Stage::with(&[question(1, "Notes?", &["none"])]);
    let done = stage.keys("\ntbefore\u{1b}e");
    let spot = Spot::Text(0);
    assert_eq!(
        done.last(),
        Some(&Effect::Edit(id(1), spot, "before".to_owned()))
    );
    let trouble = EditorTrouble {
        error: "exit status: 1".to_owned(),
        kept: Some("/tmp/askbus-1.md".to_owned()),
    };
    stage.happens(Event::Edited(id(1), spot, Err(trouble)));
    assert_eq!(stage.entry(1).draft.filled[0].text.text(), "before");
    assert!(
        stage.screen().contains("kept in /tmp/askbus-1.md"),
        "{}",
        stage.screen()
    );
    stage.happens(Event::Edited(id(1), spot, Ok("after\nit".to_owned())));
    assert_eq!(stage.entry(1).draft.filled[0].text.text(), "after\nit");
    // In the middle of a field there is a key for it as well.
    stage.keys("t");
    assert_eq!(
        stage.control('g').last(),
        Some(&Effect::Edit(id(1), spot, "after\nit".to_owned()))
    );
}

#[test]
fn drafts_are_saved_at_most_once_a_second_and_not_after_the_answer() {
    let mut stage = Stage::with(&[question(1, "Notes?", &[])]);
    stage.keys("\na");
    stage.keys("b");
    let drafts = said_of(&stage.done, "clarify.draft");
    assert_eq!(drafts.len(), 1);
    assert_eq!(drafts[0]["tab"], "terminal-1");
    stage.later(500);
    assert_eq!(said_of(&stage.done, "clarify.draft").len(), 1);
    let saved = said_of(&stage.later(500), "clarify.draft");
    assert_eq!(
        saved[0]["answers"],
        json!([{"question_id": "q1", "option_ids": [], "text": "ab"}])
    );
    stage.keys("c\u{1b}s\n");
    assert_eq!(
        said_of(&stage.later(5_000), "clarify.draft"),
        Vec::<Value>::new()
    );
}

#[test]
fn a_question_for_somebody_else_can_be_read_and_not_answered() {
    let theirs = with(
        deadline(1, "Deploy where?", &["staging"]),
        json!({"to": {"group": "ops"}, "may_answer": false}),
    );
    let mut stage = Stage::with(&[theirs]);
    let done = stage.keys("\n1s\nh");
    assert_eq!(said(&done), Vec::<Value>::new());
    assert!(
        stage
            .screen()
            .contains("For the group ops. Only they can answer."),
        "{}",
        stage.screen()
    );
}
