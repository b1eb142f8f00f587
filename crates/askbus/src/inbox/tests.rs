//! The view without a terminal: what each event makes of the state, and what is drawn of it.

mod answering;
mod drawing;
mod news;

use super::heard::{Heard, server_now};
use super::state::{Effect, Event, Moment, State};
use super::update::update;
use super::wrap::width;
use super::{entry::Entry, render::render};
use askbus_domain::{ClarifyId, Language, Timestamp};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value, json};

/// 2027-01-15T08:00:00Z.
const T0: i64 = 1_800_000_000_000;

/// A person at a terminal, with a service that says what the test wants.
struct Stage {
    state: State,
    now: i64,
    fresh: u32,
    done: Vec<Effect>,
}

impl Stage {
    fn new(language: Language, size: (u16, u16)) -> Self {
        let state = State::new("terminal-1".to_owned(), language, false, size);
        Self {
            state,
            now: T0,
            fresh: 0,
            done: Vec::new(),
        }
    }

    /// One that is connected, and before which these questions are.
    fn with(questions: &[Value]) -> Self {
        Self::sized(Language::En, (80, 24), questions)
    }

    fn sized(language: Language, size: (u16, u16), questions: &[Value]) -> Self {
        let mut stage = Self::new(language, size);
        stage.connect(questions);
        stage
    }

    fn connect(&mut self, questions: &[Value]) {
        self.hear(json!({"event": "hello", "seq": 1, "you": "ann", "tenant": "local", "server_now": self.now}));
        for question in questions {
            self.hear(question.clone());
        }
        let ids: Vec<_> = questions.iter().map(|q| &q["clarify_id"]).collect();
        self.hear(json!({"event": "ready", "seq": 1, "pending": ids}));
    }

    fn happens(&mut self, event: Event) -> &[Effect] {
        self.fresh += 1;
        let at = Moment {
            now: Timestamp::from_unix_millis(self.now),
            fresh: format!("answer-{}", self.fresh),
        };
        let (state, effects) = update(self.state.clone(), event, &at);
        self.state = state;
        let before = self.done.len();
        self.done.extend(effects);
        &self.done[before..]
    }

    #[allow(
        clippy::needless_pass_by_value,
        reason = "objects are written where they are heard"
    )]
    fn hear(&mut self, object: Value) -> Vec<Effect> {
        let heard = Heard::read(&object).unwrap_or_else(|| panic!("not understood: {object}"));
        self.happens(Event::Heard(Box::new(heard), server_now(&object)))
            .to_vec()
    }

    fn key(&mut self, code: KeyCode) -> Vec<Effect> {
        self.happens(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)))
            .to_vec()
    }

    fn control(&mut self, c: char) -> Vec<Effect> {
        self.happens(Event::Key(KeyEvent::new(
            KeyCode::Char(c),
            KeyModifiers::CONTROL,
        )))
        .to_vec()
    }

    /// Each character is a key.
    fn keys(&mut self, text: &str) -> Vec<Effect> {
        let before = self.done.len();
        for c in text.chars() {
            self.key(match c {
                '\n' => KeyCode::Enter,
                '\t' => KeyCode::Tab,
                '\u{1b}' => KeyCode::Esc,
                c => KeyCode::Char(c),
            });
        }
        self.done[before..].to_vec()
    }

    fn later(&mut self, ms: i64) -> Vec<Effect> {
        self.now += ms;
        self.happens(Event::Tick).to_vec()
    }

    fn entry(&self, n: u128) -> &Entry {
        &self.state.entries[&id(n)]
    }

    /// What is on the screen.
    fn screen(&self) -> String {
        let (columns, rows) = self.state.size;
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        terminal.draw(|frame| render(&self.state, frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let row = |y: u16| {
            let (mut row, mut x) = (String::new(), 0);
            while let Some(cell) = buffer.cell((x, y)) {
                row.push_str(cell.symbol());
                // What a wide character covers is not on the screen.
                x += u16::try_from(width(cell.symbol())).unwrap().max(1);
            }
            row
        };
        let rows: Vec<String> = (0..rows).map(row).collect();
        rows.join("\n")
    }
}

fn id(n: u128) -> ClarifyId {
    ClarifyId::from_uuid(uuid::Uuid::from_u128(n))
}

/// The objects that were said.
fn said(effects: &[Effect]) -> Vec<Value> {
    let said = effects.iter().filter_map(|e| match e {
        Effect::Say(say) => Some(say.object()),
        _ => None,
    });
    said.collect()
}

/// The objects of one event.
fn said_of(effects: &[Effect], event: &str) -> Vec<Value> {
    said(effects)
        .into_iter()
        .filter(|o| o["event"] == event)
        .collect()
}

fn options(labels: &[&str]) -> Vec<Value> {
    let one = |(i, label): (usize, &&str)| json!({"id": format!("o{}", i + 1), "label": label});
    labels.iter().enumerate().map(one).collect()
}

/// A question as the service says it.
fn question(n: u128, text: &str, labels: &[&str]) -> Value {
    json!({
        "event": "clarify.requested", "seq": 1, "clarify_id": id(n), "session_id": "build-42",
        "questions": [{"id": "q1", "question": text, "multi_select": false, "options": options(labels)}],
        "requested_at": T0 - 300_000, "deadline": null, "cap": T0 + 14 * 86_400_000, "grace_ms": 60_000,
        "held": false, "held_by": null, "to": null, "may_answer": true, "parent": null,
        "asker": {"client": "claude-code 2.1", "host": "laptop", "cwd": "/home/ann/app", "branch": "main"},
        "disconnected": null,
    })
}

/// The same with some fields of its own.
fn with(mut object: Value, fields: Value) -> Value {
    let (Value::Object(object_fields), Value::Object(fields)) = (&mut object, fields) else {
        panic!("no objects");
    };
    object_fields.extend(fields);
    object
}

/// Three questions at once, of all kinds.
fn three(n: u128) -> Value {
    with(
        question(n, "", &[]),
        json!({"questions": [
            {"id": "q1", "header": "Place", "question": "Deploy where?", "explanation": "Both are ready.",
             "multi_select": false, "recommended": "o1",
             "options": [{"id": "o1", "label": "staging", "description": "Nobody sees it."}, {"id": "o2", "label": "production"}]},
            {"id": "q2", "question": "Which checks?", "multi_select": true, "select": {"min": 1, "max": 2},
             "options": options(&["unit", "browser", "load"])},
            {"id": "q3", "question": "What goes into the notes?", "multi_select": false, "options": []},
        ]}),
    )
}

fn resolved(n: u128, person: &str, label: &str) -> Value {
    json!({"event": "clarify.resolved", "seq": 2, "clarify_id": id(n), "session_id": "build-42",
        "resolved": true, "reason": "response", "outcome_reason": "response",
        "actor": {"person": person, "surface": "web"}, "resolved_at": "2027-01-15T08:00:00Z",
        "answers": [{"question_id": "q1", "options": [{"id": "o1", "label": label}]}], "partial": []})
}
