//! Who may answer, and what a reply may leave out, decline or choose too much of.

#![allow(clippy::unwrap_used, clippy::panic)]

mod fixture;

use askbus_domain::{
    Addressee, Answer, AnswerAction, AnswerEntry, AskInput, Command, Dialect, EventKind,
    InvalidAnswer, Reason, Rejection, Response, Rights, Roster, parse_arguments, verdict,
};
use fixture::{
    Log, answer, ask, at, chosen, cid, entry, hold, id, kinds, outcome, person, response,
};
use serde_json::{Value, json};

fn to(text: &str) -> Addressee {
    Addressee::parse(text).unwrap()
}

fn asked(change: impl FnOnce(&mut AskInput), arguments: &Value) -> Log {
    let mut log = Log::begun();
    let mut command = ask(1, Dialect::Ask, arguments);
    let mut input = parse_arguments(Dialect::Ask, arguments).unwrap();
    change(&mut input);
    command.input = Ok(input);
    log.run(&Command::Ask(Box::new(command)), at(0)).unwrap();
    log
}

fn question() -> Value {
    json!({"question": "Where?", "choices": ["staging", "prod"], "timeout_s": 90})
}

fn from(name: &str, rights: &Rights, ms: u64) -> Command {
    Command::Answer(Box::new(Answer {
        clarify_id: cid(1),
        response: Response {
            actor: person(name),
            ..chosen(&format!("{name}'s"), "o1")
        },
        rights: rights.clone(),
        stored_at: at(ms),
    }))
}

#[test]
fn only_the_addressed_and_operators_answer() {
    let nobody = Rights::default();
    let ops = Rights {
        groups: vec![id("dev"), id("ops")],
        operator: false,
    };
    let operator = Rights {
        groups: Vec::new(),
        operator: true,
    };
    for (addressee, name, rights, may) in [
        (None, "bob", &nobody, true),
        (Some("ann"), "ann", &nobody, true),
        (Some("person:ann"), "bob", &nobody, false),
        (Some("person:ann"), "bob", &ops, false),
        (Some("person:ann"), "bob", &operator, true),
        (Some("group:ops"), "bob", &ops, true),
        (Some("group:ops"), "bob", &nobody, false),
        (Some("group:ops"), "ops", &nobody, false),
        (Some("group:ops"), "bob", &operator, true),
    ] {
        let case = format!("{addressee:?} {name} {rights:?}");
        let log = asked(|input| input.to = addressee.map(to), &question());
        assert_eq!(log.find(cid(1)).unwrap().to, addressee.map(to));
        let answered = log.decide(&from(name, rights, 1), at(1));
        let held = log.decide(
            &Command::Hold {
                clarify_id: cid(1),
                actor: person(name),
                rights: rights.clone(),
                stored_at: at(1),
            },
            at(1),
        );
        if may {
            assert_eq!(kinds(&answered.unwrap()), [EventKind::Resolved], "{case}");
            assert_eq!(kinds(&held.unwrap()), [EventKind::Held], "{case}");
        } else {
            assert_eq!(answered, Err(Rejection::NotAddressed), "{case}");
            assert_eq!(held, Err(Rejection::NotAddressed), "{case}");
        }
    }
}

// What is settled is told to whoever says the same; who is not addressed adds nothing to it.
#[test]
fn whom_it_is_not_meant_for_is_not_late_either() {
    let nobody = Rights::default();
    let mut log = asked(|input| input.to = Some(to("ann")), &question());
    assert_eq!(
        log.decide(&from("bob", &nobody, 91_000), at(91_000)),
        Err(Rejection::NotAddressed)
    );
    log.run(&from("ann", &nobody, 1), at(1)).unwrap();
    assert_eq!(log.decide(&from("bob", &nobody, 2), at(2)), Ok(Vec::new()));
    let Command::Answer(mut other) = from("bob", &nobody, 2) else {
        unreachable!()
    };
    other.response.answers[0].option_ids = vec![id("o2")];
    let other = Command::Answer(other);
    assert_eq!(log.decide(&other, at(2)), Err(Rejection::NotAddressed));
    // A hold on what is over or held changes nothing, whoever it is from.
    assert_eq!(log.decide(&hold(at(2)), at(2)), Ok(Vec::new()));
}

#[test]
fn names_of_addressees_are_read_as_written() {
    for (text, shown) in [
        ("ann", "person:ann"),
        ("person:ann", "person:ann"),
        ("group:ops", "group:ops"),
        ("group:room:7", "group:room:7"),
        ("team:x", "person:team:x"),
    ] {
        assert_eq!(to(text).to_string(), shown);
        let json = serde_json::to_string(&to(text)).unwrap();
        assert_eq!(serde_json::from_str::<Addressee>(&json).unwrap(), to(text));
    }
    assert_eq!(
        serde_json::to_value(to("group:ops")).unwrap(),
        json!({"group": "ops"})
    );
    assert!(Addressee::parse("group:").is_err());
    assert!(Addressee::parse("").is_err());
    assert!(Rights::default().is_empty());
}

fn three() -> Value {
    json!({"questions": [
        {"question": "Where?", "options": ["staging", "prod"], "recommended": 0},
        {"question": "Why?"},
        {"question": "When?", "options": ["now", "later"], "recommended": 1}]})
}

fn declines(question: &str) -> AnswerEntry {
    AnswerEntry {
        question_id: Some(id(question)),
        dismissed: true,
        ..AnswerEntry::default()
    }
}

fn replied(
    arguments: &Value,
    action: AnswerAction,
    entries: Vec<AnswerEntry>,
) -> Result<Log, Rejection> {
    let mut log = asked(|_| {}, arguments);
    let mut sent = response("a", action, entries);
    if action == AnswerAction::AskBack {
        sent.text = Some("why?".into());
    }
    log.run(&answer(1, sent, at(1)), at(1))?;
    Ok(log)
}

fn ids(list: &[askbus_domain::QuestionId]) -> Vec<&str> {
    list.iter().map(askbus_domain::QuestionId::as_str).collect()
}

#[test]
fn one_question_is_declined_and_the_others_answered() {
    let entries = vec![declines("q3"), entry("q1", &["o2"], "")];
    let mut log = replied(&three(), AnswerAction::Answer, entries).unwrap();
    let settled = outcome(&log, 1);
    assert_eq!(settled.reason, Reason::Response);
    assert_eq!(settled.answers.len(), 1);
    assert_eq!(ids(&settled.unanswered), ["q2", "q3"]);
    assert_eq!(ids(&settled.declined), ["q3"]);
    // Declining another one is another answer.
    let other = response(
        "b",
        AnswerAction::Answer,
        vec![declines("q2"), entry("q1", &["o2"], "")],
    );
    assert_eq!(verdict(&log.find(cid(1)).unwrap(), &other), None);
    log.run(&answer(1, other.clone(), at(2_000)), at(2_000))
        .unwrap();
    let told = verdict(&log.find(cid(1)).unwrap(), &other);
    assert!(
        matches!(told, Some(askbus_domain::Verdict::Conflict(_))),
        "{told:?}"
    );
    let same = response(
        "c",
        AnswerAction::Answer,
        vec![entry("q1", &["o2"], ""), declines("q3")],
    );
    let told = verdict(&log.find(cid(1)).unwrap(), &same);
    assert!(
        matches!(told, Some(askbus_domain::Verdict::Settled(_))),
        "{told:?}"
    );
}

// contract: E10
#[test]
fn declining_every_one_of_them_declines_the_whole() {
    let all = || vec![declines("q1"), declines("q2"), declines("q3")];
    let log = replied(&three(), AnswerAction::Answer, all()).unwrap();
    let settled = outcome(&log, 1);
    assert_eq!(settled.reason, Reason::Dismissed);
    assert_eq!(ids(&settled.declined), ["q1", "q2", "q3"]);
    assert_eq!(settled.unanswered.len(), 3);
}

#[test]
fn what_is_declined_cannot_be_answered_in_the_same_breath() {
    let both = AnswerEntry {
        dismissed: true,
        ..entry("q1", &["o1"], "")
    };
    assert_eq!(
        replied(&three(), AnswerAction::Answer, vec![both]).map(|_| ()),
        Err(InvalidAnswer::DeclinedAndAnswered(id("q1")).into())
    );
    let blank = AnswerEntry {
        text: Some("  ".into()),
        ..declines("q1")
    };
    let log = replied(
        &three(),
        AnswerAction::Answer,
        vec![blank, entry("q2", &[], "x")],
    )
    .unwrap();
    assert_eq!(ids(&outcome(&log, 1).declined), ["q1"]);
}

// contract: D3, A5
#[test]
fn a_skip_assumes_nothing_where_the_person_said_something() {
    let assumed = |entries| {
        let log = replied(&three(), AnswerAction::Skip, entries).unwrap();
        let settled = outcome(&log, 1);
        assert_eq!(settled.reason, Reason::Skipped);
        assert!(settled.answers.is_empty());
        let ids = settled
            .assumptions
            .iter()
            .map(|a| a.question_id.to_string());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(assumed(Vec::new()), ["q1", "q3"]);
    assert_eq!(assumed(vec![entry("q1", &["o2"], "")]), ["q3"]);
    assert_eq!(assumed(vec![declines("q3")]), ["q1"]);
    assert!(assumed(vec![declines("q1"), entry("q3", &[], "never")]).is_empty());
}

#[test]
fn bounds_of_a_selection_hold_for_what_is_submitted() {
    let bounded = json!({"questions": [{"question": "Which?", "options": ["a", "b", "c", "d"],
        "multi_select": true, "min_select": 2, "max_select": 3}]});
    let answer = |options: &[&str], text: &str, action| {
        replied(&bounded, action, vec![entry("q1", options, text)])
    };
    let few = InvalidAnswer::TooFew {
        question: id("q1"),
        min: 2,
    };
    let many = InvalidAnswer::TooMany {
        question: id("q1"),
        max: 3,
    };
    let say = AnswerAction::Answer;
    assert_eq!(
        answer(&["o1"], "", say).map(|_| ()),
        Err(few.clone().into())
    );
    assert_eq!(
        answer(&["o1"], "and more", say).map(|_| ()),
        Err(few.into())
    );
    assert_eq!(
        answer(&["o1", "o2", "o3", "o4"], "", say).map(|_| ()),
        Err(many.into())
    );
    for taken in [&["o1", "o2"][..], &["o1", "o2", "o3"], &["o1", "o1", "o2"]] {
        assert!(answer(taken, "", say).is_ok(), "{taken:?}");
    }
    // An own text may stand instead, and half of a selection may be kept with another reply.
    assert!(answer(&[], "none of them", say).is_ok());
    for action in [
        AnswerAction::Dismiss,
        AnswerAction::AskBack,
        AnswerAction::Skip,
    ] {
        let log = answer(&["o1"], "", action).unwrap();
        assert_eq!(outcome(&log, 1).partial.len(), 1, "{action:?}");
    }
}

// That a question is over does not say yet whether it was the author's to answer, nor where the words
// go: until that is in the log there is no verdict.
#[test]
fn what_is_not_judged_has_no_verdict() {
    let mut log = asked(|input| input.to = Some(to("ann")), &question());
    log.run(&fixture::expire(), at(90_000)).unwrap();
    for name in ["ann", "bob"] {
        let sent = Response {
            actor: person(name),
            ..chosen(&format!("{name}'s"), "o1")
        };
        assert_eq!(verdict(&log.find(cid(1)).unwrap(), &sent), None, "{name}");
        let judged = log.run(&from(name, &Rights::default(), 91_000), at(91_000));
        let told = verdict(&log.find(cid(1)).unwrap(), &sent);
        if name == "ann" {
            let way = Some(askbus_domain::GoesOn::NextResult);
            assert_eq!(told, Some(fixture::late_verdict(outcome(&log, 1), way)));
        } else {
            assert_eq!((judged, told), (Err(Rejection::NotAddressed), None));
        }
    }
}

// contract: A6
#[test]
fn a_question_for_nobody_who_is_here_is_refused_with_who_is() {
    let person = |name: &str, groups: &[&str], operator| {
        let groups = groups.iter().map(|g| id(g)).collect();
        (id(name), Rights { groups, operator })
    };
    let check = |people: &[(askbus_domain::PersonId, Rights)], whom: &str| {
        let roster = Roster {
            people: people.to_vec(),
            more_groups: false,
        };
        roster
            .check(&to(whom))
            .map_err(|refused| refused.to_string())
    };
    let me = [person("me", &[], false)];
    assert_eq!(check(&me, "me"), Ok(()));
    let alone = "to names nobody: there is only one person here; leave it out";
    for whom in ["bob", "group:ops", "group:me"] {
        assert_eq!(check(&me, whom), Err(alone.to_owned()), "{whom}");
    }
    let team = [person("me", &[], false), person("bob", &["ops"], false)];
    for whom in ["bob", "BOB", "group:ops", "me"] {
        assert_eq!(check(&team, whom), Ok(()), "{whom}");
    }
    assert_eq!(
        check(&team, "group:dev").unwrap_err(),
        "to names nobody who can answer here; take one of bob, me, group:ops, or leave it out"
    );
    assert!(check(&team, "group:Ops").is_err());
    let run = [person("root", &[], true)];
    assert_eq!(check(&run, "anybody"), Ok(()));
    let unsure = Roster {
        people: me.to_vec(),
        more_groups: true,
    };
    assert_eq!(unsure.check(&to("group:any")), Ok(()));
    assert!(unsure.check(&to("bob")).is_err());
}
