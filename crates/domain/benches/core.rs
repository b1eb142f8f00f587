//! How long the pure core takes: reading input, deciding, folding, rendering.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, missing_docs)]

#[path = "../tests/fixture/mod.rs"]
mod fixture;

use askbus_domain::{
    AnswerAction, Circumstances, Command, Commit, Dialect, Questions, Session, decide,
    parse_arguments, result_text,
};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use fixture::{Log, answer, ask, at, begin, chosen, cid, entry, outcome, question, response};
use serde_json::{Value, json};
use std::hint::black_box;
use std::sync::Arc;

/// Questions of the long session: one turn, each one answered before the next.
const LONG: u128 = 5_000;
/// Questions that wait beside the one that is measured; a session may have one more.
const WAITING: u128 = 31;

/// Everything that one call may hold: five questions, twenty options each.
fn large_question() -> Value {
    let options: Vec<Value> = (0..20)
        .map(|n| json!({"label": format!("option {n}"), "description": "What it would mean."}))
        .collect();
    let questions: Vec<Value> = (0..5)
        .map(|n| {
            json!({"header": "Scope", "question": format!("What about part {n} of the work?"),
                "multi_select": true, "options": options, "recommended": 0})
        })
        .collect();
    json!({"questions": questions, "timeout_s": 600})
}

fn asking(n: u128, arguments: &Value) -> Command {
    Command::Ask(Box::new(ask(n, Dialect::Ask, arguments)))
}

fn answering(n: u128) -> Command {
    answer(n, chosen(&format!("answer-{n}"), "o1"), at(1_000))
}

/// A turn in which questions 1 to `waiting` wait.
fn waiting(waiting: u128) -> Log {
    let mut log = Log::begun();
    for n in 1..=waiting {
        log.run(&asking(n, &question()), at(0)).unwrap();
    }
    log
}

fn long_session() -> Log {
    let mut log = Log::begun();
    for n in 1..=LONG {
        log.run(&asking(n, &question()), at(0)).unwrap();
        log.run(&answering(n), at(1_000)).unwrap();
    }
    log
}

/// The questions of a clarification and an answer to all of them.
fn settled(arguments: &Value) -> (Log, Arc<Questions>) {
    let mut log = Log::begun();
    log.run(&asking(1, arguments), at(0)).unwrap();
    let questions = log.find(cid(1)).unwrap().questions;
    let entries = questions.iter().map(|q| entry(q.id.as_str(), &["o1"], ""));
    let words = response("answer-1", AnswerAction::Answer, entries.collect());
    log.run(&answer(1, words, at(1_000)), at(1_000)).unwrap();
    (log, questions)
}

fn reading(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parse");
    for (name, arguments) in [("one question", question()), ("five", large_question())] {
        group.bench_function(name, |b| {
            b.iter(|| parse_arguments(Dialect::Ask, black_box(&arguments)).unwrap());
        });
    }
    // As some models send it: the list is JSON text in JSON text.
    let questions = large_question()["questions"].to_string();
    let twice = json!({"questions": json!(questions).to_string()});
    group.bench_function("five, encoded twice", |b| {
        b.iter(|| parse_arguments(Dialect::Ask, black_box(&twice)).unwrap());
    });
}

fn deciding(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decide");
    let busy = waiting(WAITING).state;
    let done = settled(&question()).0.state;
    let replaced = waiting(WAITING + 1).state;
    let cases = [
        ("ask, 31 others wait", &busy, asking(99, &question())),
        ("answer, 31 wait", &busy, answering(1)),
        ("late answer", &done, answering_otherwise()),
        ("begin, 32 wait", &replaced, Command::Begin(begin(2))),
    ];
    for (name, state, command) in &cases {
        group.bench_function(*name, |b| {
            b.iter(|| decide(black_box(state), black_box(command), at(1_000)).unwrap());
        });
    }
}

fn answering_otherwise() -> Command {
    answer(1, chosen("answer-2", "o2"), at(2_000))
}

fn folding(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fold");
    let log = waiting(WAITING);
    let events = log.decide(&answering(1), at(1_000)).unwrap();
    let commit = log.commit(events, at(1_000));
    group.bench_function("one answer, 31 wait", |b| {
        b.iter_batched_ref(
            || log.state.clone(),
            |state| state.apply(black_box(&commit)),
            BatchSize::SmallInput,
        );
    });

    let long = long_session();
    group.throughput(Throughput::Elements(long.commits.len() as u64));
    group.sample_size(20);
    group.bench_function("10 001 commits of one turn", |b| {
        b.iter(|| fold(black_box(&long.commits)));
    });
    let lines: Vec<Vec<u8>> = long
        .commits
        .iter()
        .map(|commit| serde_json::to_vec(commit).unwrap())
        .collect();
    group.bench_function("10 001 commits of one turn, from JSON", |b| {
        b.iter(|| {
            let mut state = Session::default();
            for line in black_box(&lines) {
                state.apply(&serde_json::from_slice::<Commit>(line).unwrap());
            }
            state
        });
    });
}

fn fold(commits: &[Commit]) -> Session {
    let mut state = Session::default();
    for commit in commits {
        state.apply(commit);
    }
    state
}

fn rendering(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("render");
    for (name, arguments) in [("one question", question()), ("five", large_question())] {
        let (log, questions) = settled(&arguments);
        let outcome = outcome(&log, 1);
        group.bench_function(name, |b| {
            let around = Circumstances::default();
            b.iter(|| result_text(black_box(questions.as_ref()), black_box(&outcome), &around));
        });
    }
}

criterion_group!(core, reading, deciding, folding, rendering);
criterion_main!(core);
