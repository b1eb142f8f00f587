//! The laws of a session, over arbitrary sequences of commands.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod fixture;
mod story;

use askbus_domain::{
    Account, Command, Commit, DecidedBy, Event, EventKind, LateMessage, MAX_COMMIT_BYTES, MAX_LATE,
    Outcome, Plan, Presence, QuestionId, Reason, Session, StepStatus, Verdict, check_history,
    verdict,
};
use fixture::late_verdict;
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
use story::{Scene, steps, walk};

fn outcomes(events: &[Event]) -> impl Iterator<Item = &Outcome> {
    events.iter().filter_map(|e| match e {
        Event::Resolved { outcome, .. } => Some(outcome.as_ref()),
        _ => None,
    })
}

fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> Session {
    let mut session = Session::default();
    for event in events {
        session.evolve(event);
    }
    session
}

proptest! {
    // A failing story prints its steps; nothing is written beside the tests.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    // contract: E11
    #[test]
    fn nothing_waits_once_the_turn_is_over_and_begin_replaces(steps in steps()) {
        for Scene { before, command, events, after, .. } in walk(&steps).iter().flat_map(|s| &s.scenes) {
            if after.active_turn().is_none() {
                prop_assert_eq!(after.pending().count(), 0);
                prop_assert!(after.due().next().is_none());
            }
            let over = events.iter().any(|e| matches!(e, Event::Ended { .. } | Event::Begun { .. }));
            if over {
                for waiting in before.pending() {
                    let ends = outcomes(events).count();
                    prop_assert_eq!(ends, before.pending().count());
                    let settled = events.iter().any(
                        |e| e.kind() == EventKind::Resolved && e.clarify_id() == Some(waiting.id));
                    prop_assert!(settled);
                }
            }
            if let Command::Begin(begin) = command && !events.is_empty() {
                prop_assert_eq!(after.active_turn().map(|t| t.context_id), Some(begin.context_id));
                let ended = events.iter().any(|e| e.kind() == EventKind::Ended);
                prop_assert_eq!(ended, before.active_turn().is_some());
            }
        }
    }

    // contract: E10, E12
    #[test]
    fn a_clarification_is_settled_at_most_once_and_stays_so(steps in steps()) {
        for session in walk(&steps) {
            let mut settled = HashMap::new();
            for scene in &session.scenes {
                for event in &scene.events {
                    if let Event::Resolved { clarify_id, outcome } = event {
                        prop_assert_eq!(settled.insert(*clarify_id, outcome.clone()), None);
                    }
                }
                for clarification in scene.after.clarifications() {
                    let outcome = clarification.outcome.as_ref();
                    prop_assert_eq!(outcome, settled.get(&clarification.id));
                }
            }
            for (id, outcome) in settled {
                prop_assert_eq!(session.log.find(id).unwrap().outcome, Some(outcome));
            }
        }
    }

    #[test]
    fn the_fold_of_the_log_is_the_state(steps in steps()) {
        for session in walk(&steps) {
            let all: Vec<&Event> = session.log.events().collect();
            prop_assert_eq!(&fold(all.iter().copied()), &session.log.state);
            let last = all.iter().rposition(|e| e.kind() == EventKind::Begun).unwrap_or(0);
            prop_assert_eq!(&fold(all[last..].iter().copied()), &session.log.state);
            for clarification in session.log.state.clarifications() {
                prop_assert_eq!(session.log.find(clarification.id), Some(clarification.clone()));
            }
        }
    }

    #[test]
    fn commits_are_read_back_as_they_were_written(steps in steps()) {
        for commit in walk(&steps).iter().flat_map(|s| &s.log.commits) {
            let json = serde_json::to_vec(commit).unwrap();
            prop_assert!(json.len() <= MAX_COMMIT_BYTES);
            prop_assert_eq!(&serde_json::from_slice::<Commit>(&json).unwrap(), commit);
        }
    }

    // Look-ups by subject rely on this: begun, else requested, else ended, else the last event.
    #[test]
    fn a_subject_names_the_event_that_look_ups_need(steps in steps()) {
        for commit in walk(&steps).iter().flat_map(|s| &s.log.commits) {
            let kinds: Vec<EventKind> = commit.events.iter().map(Event::kind).collect();
            prop_assert!(!kinds.is_empty());
            let expected = [EventKind::Begun, EventKind::Requested, EventKind::Ended]
                .into_iter()
                .find(|k| kinds.contains(k))
                .unwrap_or(kinds[kinds.len() - 1]);
            prop_assert_eq!(commit.subject_kind(), expected);
            // A turn's begin and a question are commits of their own.
            let both = kinds.contains(&EventKind::Begun) && kinds.contains(&EventKind::Requested);
            prop_assert!(!both);
        }
    }

    // contract: E19, A3, A5
    #[test]
    fn only_a_persons_response_has_answers(steps in steps()) {
        for scene in walk(&steps).iter().flat_map(|s| &s.scenes) {
            for outcome in outcomes(&scene.events) {
                let person = outcome.decided_by() == DecidedBy::Person;
                prop_assert_eq!(outcome.actor.is_some(), person);
                prop_assert_eq!(outcome.answer_id.is_some(), person);
                prop_assert_eq!(!outcome.answers.is_empty(), outcome.reason == Reason::Response);
                prop_assert_eq!(outcome.cause.is_some(), outcome.reason == Reason::Cancelled);
                prop_assert!(person || (outcome.partial.is_empty() && outcome.text.is_none()));
                let assumes = [Reason::Skipped, Reason::Timeout, Reason::Unattended];
                prop_assert!(outcome.assumptions.is_empty() || assumes.contains(&outcome.reason));
                prop_assert!(outcome.declined.is_empty() || person);
                prop_assert!(outcome.declined.iter().all(|id| outcome.unanswered.contains(id)));
                prop_assert_eq!(outcome.blocked, outcome.reason == Reason::Off);
                prop_assert!(!outcome.timed_out || outcome.reason == Reason::Deferred);
                let unread = [Reason::Cancelled, Reason::Off];
                prop_assert!(outcome.late.is_empty() || !unread.contains(&outcome.reason));
                let answered = |id: &QuestionId| outcome.answers.iter().any(|a| a.question_id == *id);
                prop_assert!(outcome.unanswered.iter().all(|id| !answered(id)));
            }
            for clarification in scene.after.clarifications() {
                if let Some(outcome) = &clarification.outcome {
                    let told = outcome.answers.len() + outcome.unanswered.len();
                    prop_assert_eq!(told, clarification.questions.len());
                }
            }
        }
    }

    #[test]
    fn deciding_again_decides_the_same_and_doing_it_again_changes_nothing(steps in steps()) {
        for session in walk(&steps) {
            for scene in &session.scenes {
                // The log stood at this length when the command came.
                let mut log = session.log.clone();
                log.commits.truncate(scene.commits_before);
                log.state = scene.before.clone();
                prop_assert_eq!(&log.decide(&scene.command, scene.now), &scene.result());
                if scene.refusal.is_none() {
                    log.run(&scene.command, scene.now).unwrap();
                    prop_assert_eq!(&log.state, &scene.after);
                    prop_assert_eq!(log.decide(&scene.command, scene.now), Ok(Vec::new()));
                }
            }
        }
    }

    // contract: E10
    #[test]
    fn an_answer_that_was_taken_is_known_for_ever_and_told_the_same(steps in steps()) {
        for session in walk(&steps) {
            let end = session.scenes.last().map_or(fixture::at(0), |s| s.now);
            for scene in &session.scenes {
                let (Command::Answer(answer), None) = (&scene.command, &scene.refusal) else {
                    continue;
                };
                let again = session.log.decide(&scene.command, end);
                prop_assert_eq!(again, Ok(Vec::new()), "{:?}", answer);
                let then = scene.clarification.as_ref().unwrap();
                let now = session.log.find(answer.clarify_id).unwrap();
                let told = verdict(then, &answer.response);
                prop_assert_eq!(&verdict(&now, &answer.response), &told);
                let outcome = then.outcome.clone().unwrap();
                let late = scene.events.iter().find_map(|e| match e {
                    Event::Late { late, goes_on, .. } => Some((late, *goes_on)),
                    _ => None,
                });
                match (late, outcome.decided_by()) {
                    (Some((late, goes_on)), decided_by) => {
                        prop_assert_eq!(&late.response, &answer.response);
                        prop_assert_eq!(late.stored_at, answer.stored_at);
                        prop_assert_eq!(told, Some(match decided_by {
                            DecidedBy::Person => Verdict::Conflict(outcome),
                            DecidedBy::Policy | DecidedBy::System => late_verdict(outcome, goes_on),
                        }));
                    }
                    (None, _) if !scene.events.is_empty() => {
                        prop_assert_eq!(told, Some(Verdict::Settled(outcome)));
                    }
                    // Known already, or the same again: told by what it was the first time.
                    (None, decided_by) => {
                        let late = matches!(told, Some(Verdict::Conflict(_) | Verdict::Late { .. }));
                        let settled = matches!(told, Some(Verdict::Settled(_)));
                        prop_assert!(late || (settled && decided_by == DecidedBy::Person));
                    }
                }
            }
        }
    }

    // contract: E10, E13, A4
    #[test]
    fn the_moment_of_storing_counts_and_not_the_moment_of_judging(steps in steps()) {
        for scene in walk(&steps).iter().flat_map(|s| &s.scenes) {
            match &scene.command {
                Command::Answer(answer) => {
                    let Some(c) = scene.before.clarification(answer.clarify_id) else { continue };
                    if !c.is_pending() || scene.refusal.is_some() { continue }
                    let kinds: Vec<EventKind> = scene.events.iter().map(Event::kind).collect();
                    let decided = outcomes(&scene.events).next().unwrap();
                    if answer.stored_at <= c.expires_at() {
                        prop_assert_eq!(kinds, [EventKind::Resolved]);
                        prop_assert_eq!(decided.decided_by(), DecidedBy::Person);
                        prop_assert_eq!(decided.resolved_at, answer.stored_at);
                    } else {
                        prop_assert_eq!(kinds, [EventKind::Resolved, EventKind::Late]);
                        prop_assert!(decided.is_by_clock());
                    }
                }
                Command::Expire { clarify_id } => {
                    let due = scene.before.clarification(*clarify_id)
                        .is_some_and(|c| c.is_pending() && scene.now >= c.expires_at());
                    prop_assert_eq!(!scene.events.is_empty(), due);
                }
                _ => {}
            }
        }
    }

    // contract: A4, E13
    #[test]
    fn hold_is_one_way_and_never_reaches_beyond_the_cap(steps in steps()) {
        for scene in walk(&steps).iter().flat_map(|s| &s.scenes) {
            let holds = scene.events.iter().filter(|e| e.kind() == EventKind::Held).count();
            let allowed = usize::from(matches!(scene.command, Command::Hold { .. }));
            prop_assert!(holds <= allowed);
            for c in scene.after.clarifications() {
                prop_assert!(c.expires_at() <= c.clock.cap);
                prop_assert!(c.expires_at() >= c.clock.expires_at(false));
                if let Some(earlier) = scene.before.clarification(c.id)
                    && earlier.held_by.is_some()
                    && scene.before.latest_turn().map(|(t, _)| &t.begin_id)
                        == scene.after.latest_turn().map(|(t, _)| &t.begin_id)
                {
                    prop_assert_eq!(&earlier.held_by, &c.held_by);
                }
            }
        }
    }

    // contract: E14
    #[test]
    fn a_late_message_reaches_the_agent_once_at_most(steps in steps()) {
        let key = |m: &LateMessage| (m.clarify_id, m.actor.person.clone(), m.answer_id.clone());
        for session in walk(&steps) {
            let mut waits = HashSet::new();
            for event in session.log.events() {
                match event {
                    Event::Late { clarify_id, late, goes_on: Some(way), .. } if way.is_on_its_way() => {
                        let author = late.response.actor.person.clone();
                        let new = (*clarify_id, author, late.response.answer_id.clone());
                        prop_assert!(waits.insert(new));
                    }
                    Event::PassedOn { message, .. } => prop_assert!(waits.insert(key(message))),
                    Event::Resolved { outcome, .. } => {
                        prop_assert!(outcome.late.iter().all(|m| waits.remove(&key(m))));
                    }
                    Event::Begun { turn } => {
                        prop_assert!(turn.late.iter().all(|m| waits.remove(&key(m))));
                        let left: HashSet<_> = turn.undelivered.iter().map(key).collect();
                        prop_assert_eq!(&left, &waits);
                    }
                    _ => {}
                }
                prop_assert!(waits.len() <= MAX_LATE);
            }
            let left: HashSet<_> = session.log.state.late().iter().map(key).collect();
            prop_assert_eq!(left, waits);
        }
    }

    // contract: A7, A8
    #[test]
    fn the_account_is_a_recount_of_the_log_and_blocks_only_after_a_row(steps in steps()) {
        for session in walk(&steps) {
            let mut recount = Account::default();
            for event in session.log.events() {
                recount.note(event);
                if let Event::Ended { account, .. } = event {
                    prop_assert_eq!(*account, Some(recount.figures()));
                }
            }
            prop_assert_eq!(&recount, session.log.state.account());
            for scene in &session.scenes {
                let blocked = outcomes(&scene.events).any(|o| o.blocked);
                prop_assert!(!blocked || scene.before.account().in_row() >= 2);
            }
        }
    }

    // contract: A6
    #[test]
    fn what_settles_at_once_never_waited_and_only_an_absence_or_a_block_does_that(steps in steps()) {
        for scene in walk(&steps).iter().flat_map(|s| &s.scenes) {
            let Command::Ask(ask) = &scene.command else { continue };
            for outcome in outcomes(&scene.events) {
                let absent = ask.presence == Presence::Absent;
                prop_assert!(outcome.blocked || (absent && !outcome.is_by_clock()));
                prop_assert_eq!(scene.before.pending().count(), scene.after.pending().count());
            }
        }
    }

    // contract: E16
    #[test]
    fn the_highest_revision_is_the_plan_in_whatever_order_its_revisions_are_seen(
        steps in steps(), order in any::<u64>()
    ) {
        for session in walk(&steps) {
            let mut shown: Vec<Plan> = Vec::new();
            let mut running: Option<Plan> = None;
            for event in session.log.events() {
                match event {
                    Event::Plan { plan, .. } => {
                        running = Some(plan.as_ref().clone());
                        shown.extend(running.clone());
                    }
                    Event::Ended { plan: Some(end), .. } => {
                        shown.extend(running.take().map(|plan| plan.ended(end)));
                    }
                    Event::Ended { plan: None, .. } => prop_assert_eq!(&running, &None),
                    _ => {}
                }
            }
            // Without gaps, from the first on.
            let revisions: Vec<u64> = shown.iter().map(|p| p.revision).collect();
            prop_assert_eq!(&revisions, &(1..=revisions.len() as u64).collect::<Vec<_>>());
            prop_assert_eq!(session.log.state.plan_revision(), revisions.len() as u64);
            let last = shown.last().cloned();
            if let Some(plan) = session.log.state.plan() {
                prop_assert_eq!(Some(plan.as_ref()), last.as_ref());
                prop_assert_eq!(plan.is_running(), session.log.state.active_turn().is_some());
            }
            // Who keeps the highest ends with the last, whatever the order and however often.
            let mut seen = shown.clone();
            seen.extend(shown.clone());
            let by = |plan: &Plan| plan.revision.wrapping_mul(order | 1).rotate_left(17);
            seen.sort_by_key(by);
            let kept = seen.into_iter().max_by_key(|plan| plan.revision);
            prop_assert_eq!(kept, last);
        }
    }

    // contract: E16
    #[test]
    fn only_the_agent_completes_a_step_and_an_update_counts_once(steps in steps()) {
        for session in walk(&steps) {
            let mut taken = HashSet::new();
            for scene in &session.scenes {
                for event in &scene.events {
                    let Event::Ended { plan: Some(end), .. } = event else { continue };
                    let before = scene.before.plan().unwrap();
                    let after = before.ended(end);
                    for (was, is) in before.steps.iter().zip(&after.steps) {
                        let completed = is.status == StepStatus::Completed;
                        prop_assert_eq!(completed, was.status == StepStatus::Completed);
                        prop_assert!(completed || is.status == StepStatus::Pending);
                    }
                    prop_assert!(!after.is_running());
                }
                for event in &scene.events {
                    let Event::Plan { update_id, plan, .. } = event else {
                        if event.kind() == EventKind::Begun {
                            taken.clear();
                        }
                        continue;
                    };
                    prop_assert!(taken.insert(update_id));
                    prop_assert_eq!(scene.events.len(), 1);
                    let (before, after) = (&scene.before, &scene.after);
                    prop_assert!(before.clarifications().eq(after.clarifications()));
                    prop_assert_eq!(after.plan_after(update_id), Some(plan));
                }
            }
        }
    }

    #[test]
    fn only_the_addressed_settle_or_hold(steps in steps()) {
        for scene in walk(&steps).iter().flat_map(|s| &s.scenes) {
            let (id, rights, actor) = match &scene.command {
                Command::Answer(answer) => (answer.clarify_id, &answer.rights, &answer.response.actor),
                Command::Hold { clarify_id, rights, actor, .. } => (*clarify_id, rights, actor),
                _ => continue,
            };
            if let Some(to) = scene.before.clarification(id).and_then(|c| c.to.as_ref()) {
                prop_assert!(scene.events.is_empty() || to.allows(rights, &actor.person));
            }
        }
    }

    #[test]
    fn every_history_keeps_the_laws_that_the_simulator_checks(steps in steps()) {
        for session in walk(&steps) {
            let commits = session.log.commits.iter();
            let events = commits.flat_map(|c| c.events.iter().map(|e| (c.at, e)));
            prop_assert_eq!(check_history(events), Ok(()));
        }
    }

    #[test]
    fn a_refused_command_leaves_everything_as_it_was(steps in steps()) {
        for scene in walk(&steps).iter().flat_map(|s| &s.scenes) {
            if scene.refusal.is_some() || scene.events.is_empty() {
                prop_assert_eq!(&scene.before, &scene.after);
            }
        }
    }
}

/// The laws above say little if the stories never get to the point.
#[test]
fn the_stories_reach_every_event_and_every_reason_that_exists_now() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for _ in 0..300 {
        let steps = steps().new_tree(&mut runner).unwrap().current();
        for scene in walk(&steps).iter().flat_map(|s| &s.scenes) {
            for event in &scene.events {
                *seen.entry(event.kind().as_str().to_owned()).or_default() += 1;
            }
            for outcome in outcomes(&scene.events) {
                *seen.entry(outcome.reason.as_str().to_owned()).or_default() += 1;
            }
            if let Some(refusal) = &scene.refusal {
                *seen.entry(refusal.code().to_owned()).or_default() += 1;
            }
        }
    }
    let expected = [
        "begun",
        "ended",
        "requested",
        "held",
        "resolved",
        "late",
        "passed_on",
        "worked",
        "plan",
        "response",
        "ask_back",
        "dismissed",
        "skipped",
        "timeout",
        "cancelled",
        "unattended",
        "deferred",
        "off",
        "NOT_ADDRESSED",
        "CONTEXT_EXPIRED",
        "NO_ACTIVE_TURN",
        "BUSY",
        "INVALID_QUESTION",
        "INVALID_PLAN",
        "UNKNOWN_CLARIFICATION",
        "INVALID_ANSWER",
        "TOO_LARGE",
    ];
    for word in expected {
        assert!(
            seen.get(word).copied().unwrap_or(0) >= 10,
            "{word} is rare: {seen:?}"
        );
    }
}
