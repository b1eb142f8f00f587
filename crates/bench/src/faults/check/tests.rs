//! Each promise broken once, in a forged history: a check that cannot fail proves nothing.

use super::{Finding, Kind, check};
use crate::faults::log::{Log, Question};
use crate::faults::planner::SESSION;
use crate::faults::seen::{
    Call, End, Host, Listing, Notice, Planner, Returned, Seen, Sent, Shown, Sight, Told,
};

const ID: &str = "0190-a";
const LATE: &str = "bob on question 0 (1)";

fn won() -> End {
    End {
        reason: "response".to_owned(),
        person: Some("ann".to_owned()),
        said: vec!["ann on question 0 (0)".to_owned()],
        answer_id: Some("answer-0".to_owned()),
    }
}

fn cancelled() -> End {
    End {
        reason: "cancelled".to_owned(),
        ..End::default()
    }
}

fn sent(person: &str, at: usize, told: Told) -> Sent {
    Sent {
        person: person.to_owned(),
        clarify_id: ID.to_owned(),
        answer_id: format!("answer-{at}"),
        text: format!("{person} on question 0 ({at})"),
        told: vec![Told::NotSent("away".to_owned()), told],
    }
}

fn notice(what: &str) -> Notice {
    Notice {
        id: format!("{ID}.{what}"),
        clarify_id: ID.to_owned(),
        kind: format!("question.{what}"),
    }
}

/// One question that two people answered; everybody was told the truth.
fn truth() -> (Log, Seen) {
    let mut log = Log::default();
    let question = Question {
        question: "question 0".to_owned(),
        ends: vec![won()],
        late: vec![("bob".to_owned(), "answer-1".to_owned())],
    };
    log.questions.insert(ID.to_owned(), question);
    let revisions = [(0, 1), (1, 2)].map(|(at, revision)| Shown {
        revision,
        ..Shown::of(at)
    });
    log.plans.insert(SESSION.to_owned(), revisions.to_vec());
    let told = End {
        // An agent is not told the id of the answer.
        answer_id: None,
        ..won()
    };
    let mut listing = Listing {
        source: "the gateway".to_owned(),
        ..Listing::default()
    };
    listing
        .ended
        .insert(ID.to_owned(), (won(), vec![LATE.to_owned()]));
    let seen = Seen {
        host: Host::default(),
        sent: vec![
            sent("ann", 0, Told::Settled(won())),
            sent("bob", 1, Told::Over(won())),
        ],
        calls: vec![Call {
            question: "question 0".to_owned(),
            lives: true,
            left: false,
            due: true,
            returned: vec![Returned::Settled {
                clarify_id: ID.to_owned(),
                end: told,
            }],
        }],
        planner: Planner {
            shown: revisions.to_vec(),
            refused: None,
            done: true,
            listed: Some(2),
        },
        notices: vec![notice("asked"), notice("asked"), notice("ended")],
        sights: vec![Sight::Waits(ID.to_owned()), Sight::Ended(ID.to_owned())],
        listings: vec![listing],
    };
    (log, seen)
}

/// What is found after one change.
fn found(change: impl FnOnce(&mut Log, &mut Seen)) -> Vec<Kind> {
    let (mut log, mut seen) = truth();
    change(&mut log, &mut seen);
    let mut kinds: Vec<Kind> = check(&log, &seen).iter().map(|f| f.kind).collect();
    kinds.dedup();
    kinds
}

fn question(log: &mut Log) -> &mut Question {
    log.questions.get_mut(ID).unwrap()
}

fn waits_again(listing: &mut Listing) {
    listing.ended.clear();
    listing.waiting.insert(ID.to_owned());
}

#[test]
fn the_truth_breaks_no_promise() {
    let (log, seen) = truth();
    assert_eq!(check(&log, &seen), Vec::<Finding>::new());
}

#[test]
fn an_answer_that_was_taken_and_is_in_no_history_is_lost() {
    assert_eq!(found(|log, _| question(log).late.clear()), [Kind::Lost]);
    let stored = found(|log, seen| {
        question(log).late.clear();
        seen.sent[1].told = vec![Told::Stored];
    });
    assert_eq!(stored, [Kind::Lost]);
    let unknown = found(|log, seen| {
        log.questions.clear();
        seen.calls.clear();
        seen.listings.clear();
    });
    assert_eq!(unknown, [Kind::Lost]);
}

#[test]
fn an_answer_nobody_was_told_about_may_be_missing() {
    let silent = found(|log, seen| {
        question(log).late.clear();
        seen.sent[1].told.pop();
    });
    assert_eq!(silent, []);
}

#[test]
fn an_agent_that_lives_has_the_outcome_or_its_question_waits() {
    assert_eq!(
        found(|_, seen| seen.calls[0].returned.clear()),
        [Kind::Lost]
    );
    let left = found(|_, seen| {
        seen.calls[0].returned.clear();
        (seen.calls[0].left, seen.calls[0].due) = (true, false);
    });
    assert_eq!(left, [Kind::Lost], "it does not wait either");
    let killed = found(|_, seen| {
        seen.calls[0].returned.clear();
        seen.calls[0].lives = false;
    });
    assert_eq!(killed, []);
    let failed = found(|_, seen| {
        seen.calls[0].returned = vec![Returned::Failed("unknown".to_owned())];
    });
    assert_eq!(failed, [Kind::Lost]);
}

#[test]
fn what_a_surface_does_not_list_is_lost() {
    assert_eq!(
        found(|_, seen| seen.listings[0].ended.clear()),
        [Kind::Lost]
    );
    let late = found(|_, seen| {
        seen.listings[0]
            .ended
            .insert(ID.to_owned(), (won(), Vec::new()));
    });
    assert_eq!(late, [Kind::Lost]);
}

#[test]
fn a_turn_that_ends_under_its_host_is_lost() {
    let ended = |may_end| {
        found(|_, seen| {
            seen.host = Host {
                may_end,
                ended: Some(Vec::new()),
            }
        })
    };
    assert_eq!(ended(false), [Kind::Lost]);
    assert_eq!(ended(true), []);
}

#[test]
fn two_ends_of_one_question_are_double() {
    assert_eq!(
        found(|log, _| question(log).ends.push(won())),
        [Kind::Double]
    );
    let law = found(|log, _| log.broken.push("0190-a is settled twice".to_owned()));
    assert_eq!(law, [Kind::Double]);
}

#[test]
fn a_voice_that_tells_another_end_than_the_log_is_double() {
    let agent = found(|_, seen| {
        seen.calls[0].returned = vec![Returned::Settled {
            clarify_id: ID.to_owned(),
            end: cancelled(),
        }];
    });
    assert_eq!(agent, [Kind::Double]);
    let loser = found(|_, seen| seen.sent[1].told = vec![Told::Settled(won())]);
    assert_eq!(loser, [Kind::Double]);
    let late = found(|_, seen| seen.sent[1].told = vec![Told::Over(cancelled())]);
    assert_eq!(late, [Kind::Double]);
    let winner = found(|log, _| question(log).late.push(("ann".into(), "answer-0".into())));
    assert_eq!(winner, [Kind::Double]);
    let listed = found(|_, seen| {
        let late = vec![LATE.to_owned()];
        seen.listings[0]
            .ended
            .insert(ID.to_owned(), (cancelled(), late));
    });
    assert_eq!(listed, [Kind::Double]);
}

#[test]
fn a_call_that_returns_twice_or_with_another_outcome_is_double() {
    let twice = found(|_, seen| {
        let again = seen.calls[0].returned[0].clone();
        seen.calls[0].returned.push(again);
    });
    assert_eq!(twice, [Kind::Double]);
    let other = found(|log, _| question(log).question = "question 1".to_owned());
    assert_eq!(other, [Kind::Double]);
    let asked_twice = found(|log, seen| {
        for id in ["0190-b", "0190-c"] {
            let copy = Question {
                question: "question 9".to_owned(),
                ends: vec![cancelled()],
                late: Vec::new(),
            };
            log.questions.insert(id.to_owned(), copy);
            seen.listings[0].waiting.insert(id.to_owned());
            seen.notices.push(Notice {
                id: format!("{id}.asked"),
                clarify_id: id.to_owned(),
                ..notice("asked")
            });
        }
        seen.calls.push(Call {
            question: "question 9".to_owned(),
            lives: true,
            left: true,
            due: false,
            returned: Vec::new(),
        });
    });
    assert_eq!(asked_twice, [Kind::Double]);
}

#[test]
fn a_confirmed_revision_of_a_plan_is_in_the_log_once() {
    let stored = |log: &mut Log| log.plans.remove(SESSION).unwrap();
    let gone = found(|log, _| {
        stored(log);
    });
    assert_eq!(gone, [Kind::Lost]);
    let twice = found(|log, _| {
        let mut revisions = stored(log);
        let again = Shown {
            revision: 3,
            ..revisions[1].clone()
        };
        revisions.push(again);
        log.plans.insert(SESSION.to_owned(), revisions);
    });
    assert_eq!(twice, [Kind::Double]);
    let other = found(|_, seen| seen.planner.shown[0].step = "step 9".to_owned());
    assert_eq!(other, [Kind::Double]);
    let refused = found(|_, seen| seen.planner.refused = Some("409".to_owned()));
    assert_eq!(refused, [Kind::Lost]);
    assert_eq!(found(|_, seen| seen.planner.listed = Some(1)), [Kind::Lost]);
    // What was stored and never confirmed may be there or not.
    let unheard = found(|_, seen| {
        seen.planner.shown.pop();
    });
    assert_eq!(unheard, []);
}

#[test]
fn a_channel_is_told_of_what_waits_under_one_name() {
    let second = found(|_, seen| {
        let id = "another".to_owned();
        seen.notices.push(Notice {
            id,
            ..notice("asked")
        });
    });
    assert_eq!(second, [Kind::Double]);
    let waits = |told: bool| {
        found(|log, seen| {
            question(log).ends = vec![cancelled()];
            question(log).late.clear();
            seen.sent.clear();
            seen.calls[0].returned.clear();
            seen.calls[0].due = false;
            seen.sights.pop();
            waits_again(&mut seen.listings[0]);
            if !told {
                seen.notices.clear();
            }
        })
    };
    assert_eq!(waits(true), []);
    assert_eq!(waits(false), [Kind::Lost]);
}

#[test]
fn what_ended_does_not_wait_again() {
    let shown = found(|_, seen| seen.sights.push(Sight::Waits(ID.to_owned())));
    assert_eq!(shown, [Kind::Resurrected]);
    let listed = found(|_, seen| {
        waits_again(&mut seen.listings[0]);
        seen.sent[1].told = vec![Told::Stored];
    });
    assert_eq!(listed, [Kind::Resurrected]);
}

#[test]
fn nothing_waits_for_the_dead() {
    assert_eq!(
        found(|log, seen| {
            question(log).ends.clear();
            question(log).late.clear();
            seen.sent.clear();
            seen.calls[0].lives = false;
            seen.calls[0].returned.clear();
            seen.sights.pop();
            waits_again(&mut seen.listings[0]);
        }),
        [Kind::Resurrected]
    );
    let law = found(|log, _| {
        log.broken
            .push("0190-a waits although no turn is active".to_owned());
    });
    assert_eq!(law, [Kind::Resurrected]);
}
