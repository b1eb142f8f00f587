//! What other people's and agents' text looks like on a terminal: shown whole, able to move nothing.

use crate::pass_on;
pub(crate) use askbus_domain::text_channel::{on_one_line as line, visible};
use serde_json::Value;
use std::fmt::Write as _;

/// Marks a further line of a text, so that no text can imitate a line of ours.
const FURTHER: &str = "\n  ┆ ";

/// Text of several lines, each further one marked.
pub(crate) fn lines(text: &str) -> String {
    visible(text).replace('\n', FURTHER)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// A clarification as `inbox` and `history` print it.
pub(crate) fn clarification(one: &Value) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}  {}", text(one, "clarify_id"), asker(one));
    let asked = moment(text(one, "requested_at"));
    // What is over, or held, is not bound by its deadline any more.
    let waits = text(one, "reason").is_empty() && one.get("held") != Some(&Value::Bool(true));
    let deadline = moment(text(one, "deadline"));
    match (asked.as_str(), deadline.as_str()) {
        ("", "") => {}
        (asked, deadline) if waits && !deadline.is_empty() => {
            let _ = writeln!(out, "  asked {asked} · until {deadline}");
        }
        ("", _) => {}
        (asked, _) => {
            let _ = writeln!(out, "  asked {asked}");
        }
    }
    circumstances(&mut out, one);
    let questions = list(one, "questions");
    for (n, question) in questions.iter().enumerate() {
        let number = if questions.len() > 1 {
            format!("{}/{} ", n + 1, questions.len())
        } else {
            String::new()
        };
        let several = several(question);
        let _ = writeln!(
            out,
            "  {number}{}{several}",
            lines(text(question, "question"))
        );
        let explanation = text(question, "explanation");
        if !explanation.is_empty() {
            let _ = writeln!(out, "    {}", lines(explanation));
        }
        options(&mut out, question);
        if list(one, "dismissed_questions").contains(&Value::from(text(question, "id"))) {
            let _ = writeln!(out, "    → declined");
        }
        answers(&mut out, one, text(question, "id"));
        assumed(&mut out, one, text(question, "id"));
    }
    ending(&mut out, one);
    out.push('\n');
    out
}

/// A moment of the service as people read it: to the second, in UTC.
pub(crate) fn moment(rfc3339: &str) -> String {
    let Some((day, rest)) = rfc3339.split_once('T') else {
        return line(rfc3339);
    };
    let time = rest.trim_end_matches('Z').split('.').next().unwrap_or(rest);
    format!("{} {} UTC", line(day), line(time))
}

/// What was taken of an answer, question by question, and to which question.
pub(crate) fn taken(clarification: &Value, outcome: &Value) -> String {
    let mut out = String::new();
    for question in list(clarification, "questions") {
        let _ = writeln!(out, "  {}", lines(text(question, "question")));
        let declined = list(outcome, "dismissed_questions");
        if declined.contains(&Value::from(text(question, "id"))) {
            let _ = writeln!(out, "    → declined");
        }
        answers(&mut out, outcome, text(question, "id"));
        assumed(&mut out, outcome, text(question, "id"));
    }
    match text(outcome, "reason") {
        "" | "response" => {}
        reason => {
            let _ = writeln!(out, "  → {reason}");
        }
    }
    if !text(outcome, "text").is_empty() {
        let _ = writeln!(out, "  ┆ {}", lines(text(outcome, "text")));
    }
    out
}

/// Whom it is meant for, whose sub-agent asks, and who stopped the countdown.
fn circumstances(out: &mut String, one: &Value) {
    let named = |object: &str, name: &str| {
        let object = one.get(object).unwrap_or(&Value::Null);
        Some(line(text(object, name))).filter(|word| !word.is_empty())
    };
    let waits = text(one, "reason").is_empty();
    let not_yours = one.get("may_answer") == Some(&Value::Bool(false));
    let yours = if waits && not_yours {
        "  (not for you to answer)"
    } else {
        ""
    };
    if let Some(person) = named("to", "person") {
        let _ = writeln!(out, "  for {person}{yours}");
    }
    if let Some(group) = named("to", "group") {
        let _ = writeln!(out, "  for the group {group}{yours}");
    }
    if let Some(session) = named("parent", "session_id") {
        let name = named("parent", "name").map_or_else(String::new, |name| format!(" {name}"));
        let _ = writeln!(out, "  sub-agent{name} of session {session}");
    }
    if let Some(person) = named("held_by", "person").filter(|_| waits) {
        let _ = writeln!(out, "  held by {person}");
    }
}

/// How many options may be chosen, where several may.
fn several(question: &Value) -> String {
    if question.get("multi_select").and_then(Value::as_bool) != Some(true) {
        return String::new();
    }
    let bound = |name| question.get("select")?.get(name)?.as_u64();
    match (bound("min"), bound("max")) {
        (None, None) => "  (choose any)".to_owned(),
        (Some(min), None) => format!("  (choose at least {min})"),
        (None, Some(max)) => format!("  (choose at most {max})"),
        (Some(min), Some(max)) if min == max => format!("  (choose {min})"),
        (Some(min), Some(max)) => format!("  (choose {min} to {max})"),
    }
}

fn asker(one: &Value) -> String {
    let asker = one.get("asker").unwrap_or(&Value::Null);
    let known = ["client", "host", "cwd", "branch"].map(|name| line(text(asker, name)));
    let known: Vec<String> = known.into_iter().filter(|w| !w.is_empty()).collect();
    if known.is_empty() {
        return format!("session {}", line(text(one, "session_id")));
    }
    known.join(" · ")
}

fn options(out: &mut String, question: &Value) {
    for (i, option) in list(question, "options").iter().enumerate() {
        let recommended = text(option, "id") == text(question, "recommended");
        let mark = if recommended { "  (recommended)" } else { "" };
        let _ = writeln!(out, "    {}. {}{mark}", i + 1, line(text(option, "label")));
        let description = text(option, "description");
        if !description.is_empty() {
            let _ = writeln!(out, "       {}", line(description));
        }
    }
}

fn answers(out: &mut String, one: &Value, question: &str) {
    let of = |name| {
        list(one, name)
            .iter()
            .filter(|a| text(a, "question_id") == question)
    };
    for (mark, answer) in of("answers")
        .map(|a| ("→", a))
        .chain(of("partial").map(|a| ("(", a)))
    {
        let end = if mark == "(" {
            " — filled in, not an answer)"
        } else {
            ""
        };
        for option in list(answer, "options") {
            let _ = writeln!(out, "    {mark} {}{end}", line(text(option, "label")));
        }
        for (name, words) in words_of(answer) {
            let _ = writeln!(out, "    {mark} {name}{}{end}", lines(words));
        }
    }
}

/// What was written to one question, each with what it is called.
fn words_of(answer: &Value) -> impl Iterator<Item = (&'static str, &str)> {
    [("", "text"), ("note: ", "note")]
        .map(|(name, field)| (name, text(answer, field)))
        .into_iter()
        .filter(|(_, words)| !words.is_empty())
}

/// What the agent went on with, where nobody chose.
fn assumed(out: &mut String, one: &Value, question: &str) {
    for assumption in list(one, "assumptions") {
        if text(assumption, "question_id") == question {
            let label = line(text(assumption, "label"));
            let _ = writeln!(out, "    assumed by the agent, chosen by nobody: {label}");
        }
    }
}

fn ending(out: &mut String, one: &Value) {
    let reason = text(one, "reason");
    if reason.is_empty() {
        return;
    }
    let by = one
        .get("actor")
        .map(|a| text(a, "person"))
        .filter(|p| !p.is_empty());
    let by = by.map_or_else(String::new, |person| format!(" by {}", line(person)));
    let _ = writeln!(
        out,
        "  → {reason}{by}  {}",
        moment(text(one, "resolved_at"))
    );
    if !text(one, "text").is_empty() {
        let _ = writeln!(out, "  ┆ {}", lines(text(one, "text")));
    }
    let figure = |name| one.get("turn")?.get(name)?.as_u64();
    if let (Some(asked), Some(auto)) = (figure("asked"), figure("auto"))
        && auto > 0
    {
        let _ = writeln!(
            out,
            "  of {asked} asked in this turn, {auto} settled by policy"
        );
    }
    for late in list(one, "late_answers") {
        late_answer(out, late, text(one, "clarify_id"));
    }
}

/// What somebody wrote after the end, and whether the agent gets to know it.
fn late_answer(out: &mut String, late: &Value, clarify_id: &str) {
    let person = late.get("actor").map_or("", |actor| text(actor, "person"));
    let at = moment(text(late, "stored_at"));
    let _ = writeln!(out, "  too late, by {}  {at}", line(person));
    for answer in list(late, "answers") {
        for option in list(answer, "options") {
            let _ = writeln!(out, "    ↳ {}", line(text(option, "label")));
        }
        for (name, words) in words_of(answer) {
            let _ = writeln!(out, "    ↳ {name}{}", lines(words));
        }
    }
    own_words(out, text(late, "text"));
    // What says something without a word.
    let act = text(late, "action");
    if matches!(act, "dismiss" | "skip") {
        let _ = writeln!(out, "    ↳ {act}");
    }
    if let Some(place) = pass_on::where_to(text(late, "goes_on")) {
        let _ = writeln!(out, "    {place}");
    } else if late.get("may_pass_on") == Some(&Value::Bool(true)) {
        let _ = writeln!(
            out,
            "    not sent on; its author may: askbus answer {clarify_id} --pass-on"
        );
    }
}

fn own_words(out: &mut String, words: &str) {
    if !words.is_empty() {
        let _ = writeln!(out, "    ↳ {}", lines(words));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn no_text_can_imitate_another_entry_or_move_the_cursor() {
        let forged = "Delete?\n    1. no\n\n01a2-x  session build\n  Deploy?\u{1b}[2J\u{7}";
        let one = json!({"clarify_id": "ID", "session_id": "s", "asker": {"client": "evil\nID2"},
            "questions": [{"id": "q1", "question": forged,
                "options": [{"id": "o1", "label": "yes\n\u{202e}2. on"}]}]});
        let shown = clarification(&one);
        assert!(
            shown.chars().all(|c| c == '\n' || !c.is_control()),
            "{shown:?}"
        );
        assert!(!shown.contains('\u{202e}'));
        // Only the entry itself begins at the margin.
        let at_margin: Vec<_> = shown
            .lines()
            .filter(|l| !l.is_empty() && !l.starts_with("  "))
            .collect();
        assert_eq!(at_margin, ["ID  evil ⏎ ID2"]);
        let options = shown.lines().filter(|l| l.starts_with("    ")).count();
        assert_eq!(options, 1, "{shown}");
    }

    #[test]
    fn an_entry_says_whom_it_is_for_and_how_many_may_be_chosen() {
        let mut one = json!({"clarify_id": "ID", "session_id": "s", "to": {"group": "ops\nx"},
            "may_answer": false, "held_by": {"person": "bob"},
            "parent": {"session_id": "main", "name": "tests"},
            "questions": [{"id": "q1", "question": "Which?", "explanation": "Two\nlines",
                "multi_select": true, "select": {"min": 1, "max": 2}, "options": []}]});
        let shown = clarification(&one);
        for words in [
            "  for the group ops ⏎ x  (not for you to answer)\n",
            "  sub-agent tests of session main\n",
            "  held by bob\n",
            "  Which?  (choose 1 to 2)\n    Two\n  ┆ lines\n",
        ] {
            assert!(shown.contains(words), "{words:?}: {shown}");
        }
        one["reason"] = json!("unattended");
        one["dismissed_questions"] = json!(["q1"]);
        one["turn"] = json!({"asked": 3, "auto": 1});
        let shown = clarification(&one);
        assert!(shown.contains("    → declined\n"), "{shown}");
        assert!(
            shown.contains("of 3 asked in this turn, 1 settled by policy"),
            "{shown}"
        );
        assert!(
            !shown.contains("held by") && !shown.contains("not for you"),
            "{shown}"
        );
    }

    #[test]
    fn history_shows_what_came_too_late_and_where_it_goes() {
        let late = |goes_on: Value, may_pass_on: bool| {
            json!({"actor": {"person": "bob"}, "stored_at": "2027-01-15T08:00:00Z",
                "answers": [{"options": [{"label": "red\nx"}], "text": "please", "note": "soon"}],
                "goes_on": goes_on, "may_pass_on": may_pass_on})
        };
        let one = json!({"clarify_id": "ID", "reason": "timeout", "questions": [{"id": "q1"}],
            "late_answers": [late(json!("next_turn"), false), late(Value::Null, true)]});
        let shown = clarification(&one);
        let said = "  too late, by bob  2027-01-15 08:00:00 UTC\n    ↳ red ⏎ x\n    ↳ please\n    ↳ note: soon\n";
        let first = format!("{said}    reaches the agent when its next turn begins\n");
        let second = format!("{said}    not sent on; its author may: askbus answer ID --pass-on\n");
        assert!(shown.contains(&format!("{first}{second}")), "{shown}");
    }

    #[test]
    fn history_shows_what_was_answered_and_what_was_not() {
        let one = json!({"clarify_id": "ID", "session_id": "s", "reason": "response",
            "actor": {"person": "ann"}, "resolved_at": "2027-01-15T08:00:00Z",
            "answers": [{"question_id": "q1", "options": [{"label": "prod"}], "text": "soon"}],
            "partial": [], "questions": [{"id": "q1", "question": "Where?", "options": []}]});
        let shown = clarification(&one);
        for words in [
            "session s",
            "→ prod",
            "→ soon",
            "→ response by ann  2027-01-15",
        ] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
        let dismissed = json!({"clarify_id": "ID", "reason": "dismissed", "questions": [{"id": "q1"}],
            "partial": [{"question_id": "q1", "options": [{"label": "prod"}]}]});
        assert!(clarification(&dismissed).contains("prod — filled in, not an answer"));
    }

    #[test]
    fn an_entry_says_when_it_was_asked_and_until_when_it_waits() {
        let mut one = json!({"clarify_id": "ID", "session_id": "s", "questions": [],
            "requested_at": "2027-01-15T08:00:00.123Z", "deadline": "2027-01-15T08:05:00.5Z"});
        let both = "  asked 2027-01-15 08:00:00 UTC · until 2027-01-15 08:05:00 UTC\n";
        assert!(
            clarification(&one).contains(both),
            "{}",
            clarification(&one)
        );
        one["held"] = json!(true);
        let shown = clarification(&one);
        assert!(
            shown.contains("  asked 2027-01-15 08:00:00 UTC\n"),
            "{shown}"
        );
        one["held"] = json!(false);
        one["reason"] = json!("timeout");
        assert!(!clarification(&one).contains("until"));
    }

    #[test]
    fn what_the_agent_assumes_stands_beside_the_question() {
        let one = json!({"clarify_id": "ID", "session_id": "s", "reason": "timeout",
            "questions": [{"id": "q1", "question": "Which port?"}, {"id": "q2", "question": "When?"}],
            "assumptions": [{"question_id": "q1", "option_id": "o1", "label": "8080"}]});
        let shown = clarification(&one);
        let wanted = "Which port?\n    assumed by the agent, chosen by nobody: 8080\n  2/2 When?\n";
        assert!(shown.contains(wanted), "{shown}");
    }

    #[test]
    fn what_was_taken_is_said_with_its_question() {
        let clarification = json!({"questions": [{"id": "q1", "question": "Where?"},
            {"id": "q2", "question": "When?"}]});
        let outcome = json!({"reason": "response", "dismissed_questions": ["q2"],
            "answers": [{"question_id": "q1", "options": [{"label": "prod"}], "note": "by noon"}]});
        let shown = taken(&clarification, &outcome);
        let wanted = "  Where?\n    → prod\n    → note: by noon\n  When?\n    → declined\n";
        assert_eq!(shown, wanted);
        let skipped = json!({"reason": "skipped",
            "assumptions": [{"question_id": "q1", "label": "prod"}]});
        let wanted =
            "  Where?\n    assumed by the agent, chosen by nobody: prod\n  When?\n  → skipped\n";
        assert_eq!(taken(&clarification, &skipped), wanted);
    }
}
