//! Two unanswered in a row switch asking off; the account of a turn (A7, A8).

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod fixture;

use askbus_domain::{
    Account, AnswerAction, AskCommand, BeginCommand, Command, Dialect, Event, EventKind, Figures,
    OnTimeout, PolicyLayer, Presence, Reason, TurnEnd, WhenAbsent,
};
use fixture::{Log, answer, ask, at, begin, chosen, cid, ctx, end, id, kinds, outcome, response};
use serde_json::json;

const MINUTE: u64 = 60_000;

/// A session whose nth question is asked at once after the last one.
struct Asking {
    log: Log,
    n: u128,
    now: u64,
}

impl Asking {
    fn hosted() -> Self {
        Self {
            log: Log::begun(),
            n: 0,
            now: 0,
        }
    }

    /// In a turn that an asking process began for itself.
    fn own() -> Self {
        let mut log = Log::default();
        let own = BeginCommand {
            own: true,
            ..begin(1)
        };
        log.run(&Command::Begin(own), at(0)).unwrap();
        Self { log, n: 0, now: 0 }
    }

    fn ask_with(&mut self, change: impl FnOnce(&mut AskCommand)) -> Vec<Event> {
        self.n += 1;
        let question = json!({"question": format!("Question {}?", self.n), "timeout_s": 60,
            "options": ["a", "b"], "recommended": 0});
        let mut command = ask(self.n, Dialect::Ask, &question);
        change(&mut command);
        let command = Command::Ask(Box::new(command));
        self.log.run(&command, at(self.now)).unwrap()
    }

    fn ask(&mut self) -> Vec<Event> {
        self.ask_with(|_| {})
    }

    fn expire(&mut self) {
        self.now += MINUTE;
        let expire = Command::Expire {
            clarify_id: cid(self.n),
        };
        let events = self.log.run(&expire, at(self.now)).unwrap();
        assert_eq!(kinds(&events), [EventKind::Resolved]);
    }

    /// Asks and lets the question end in this way.
    fn settle(&mut self, reason: Reason) {
        let policy = |on_timeout, when_absent| PolicyLayer {
            on_timeout: Some(on_timeout),
            when_absent: Some(when_absent),
            ..PolicyLayer::default()
        };
        let say = |action| match action {
            AnswerAction::AskBack => {
                let mut back = response("x", action, Vec::new());
                back.text = Some("which?".into());
                back
            }
            _ => response("x", action, Vec::new()),
        };
        let person = |this: &mut Self, sent| {
            this.ask();
            let sent = answer(this.n, sent, at(this.now));
            this.log.run(&sent, at(this.now)).unwrap();
        };
        match reason {
            Reason::Response => person(self, chosen("x", "o1")),
            Reason::AskBack => person(self, say(AnswerAction::AskBack)),
            Reason::Dismissed => person(self, say(AnswerAction::Dismiss)),
            Reason::Skipped => person(self, say(AnswerAction::Skip)),
            Reason::Timeout => {
                self.ask();
                self.expire();
            }
            Reason::Cancelled => {
                self.ask();
                let cancel = Command::Cancel {
                    clarify_id: cid(self.n),
                    profile: id("default"),
                };
                self.log.run(&cancel, at(self.now)).unwrap();
            }
            Reason::Deferred => {
                self.ask_with(|c| c.policy = policy(OnTimeout::Defer, WhenAbsent::Wait));
                self.expire();
            }
            Reason::Unattended => {
                self.ask_with(|c| {
                    c.policy = policy(OnTimeout::Return, WhenAbsent::Unattended);
                    c.presence = Presence::Absent;
                });
            }
            Reason::Off => {
                let events = self.ask();
                assert!(is_blocked(&events));
            }
        }
        assert_eq!(outcome(&self.log, self.n).reason, reason);
    }

    fn would_block(&self) -> bool {
        let mut next = Self {
            log: self.log.clone(),
            n: self.n,
            now: self.now,
        };
        is_blocked(&next.ask())
    }

    fn figures(&self) -> (u32, u32) {
        let Figures { asked, auto } = self.log.state.account().figures();
        (asked, auto)
    }
}

fn is_blocked(events: &[Event]) -> bool {
    let blocked = |e: &Event| matches!(e, Event::Resolved { outcome, .. } if outcome.reason == Reason::Off && outcome.blocked);
    assert_eq!(events[0].kind(), EventKind::Requested);
    events.iter().any(blocked)
}

// contract: A7
#[test]
fn two_unanswered_in_a_row_switch_asking_off_for_the_turn() {
    use Reason::{
        AskBack, Cancelled, Deferred, Dismissed, Off, Response, Skipped, Timeout, Unattended,
    };
    let table: [(&[Reason], bool); 16] = [
        (&[], false),
        (&[Timeout], false),
        (&[Timeout, Timeout], true),
        (&[Timeout, Unattended], true),
        (&[Unattended, Deferred], true),
        (&[Deferred, Timeout], true),
        (&[Timeout, Response, Timeout], false),
        (&[Timeout, Dismissed, Timeout], false),
        (&[Timeout, Skipped, Timeout], false),
        (&[Timeout, AskBack, Timeout], false),
        // Nobody acted: neither one more nor a new beginning.
        (&[Timeout, Cancelled, Timeout], true),
        (&[Timeout, Cancelled, Cancelled], false),
        (&[Response, Timeout, Timeout], true),
        (&[Timeout, Timeout, Off], true),
        (&[Timeout, Timeout, Off, Off], true),
        (&[Dismissed, Dismissed, Dismissed], false),
    ];
    for (row, blocked) in table {
        let mut asking = Asking::hosted();
        for reason in row {
            asking.settle(*reason);
        }
        assert_eq!(asking.would_block(), blocked, "{row:?}");
        // A new turn counts from nothing.
        let next = Command::Begin(begin(2));
        asking.log.run(&next, at(asking.now)).unwrap();
        let events = asking.ask_with(|c| c.context_id = ctx(2));
        assert!(!is_blocked(&events), "{row:?}");
    }
}

// contract: A7
#[test]
fn a_block_is_a_notice_and_says_that_nobody_was_asked() {
    let mut asking = Asking::hosted();
    asking.settle(Reason::Timeout);
    asking.settle(Reason::Timeout);
    let events = asking.ask();
    assert_eq!(kinds(&events), [EventKind::Requested, EventKind::Resolved]);
    let notice = outcome(&asking.log, asking.n);
    assert!(notice.blocked && notice.actor.is_none() && notice.assumptions.is_empty());
    assert_eq!(notice.unanswered.len(), 1);
    assert_eq!(asking.log.state.pending().count(), 0);
    assert_eq!(asking.figures(), (2, 2));
    // The studio dialect has no word for it, and is never blocked.
    let studio = ask(99, Dialect::Studio, &json!({"question": "?"}));
    let events = asking
        .log
        .run(&Command::Ask(Box::new(studio)), at(asking.now));
    assert_eq!(kinds(&events.unwrap()), [EventKind::Requested]);
    let mut plain = Asking::hosted();
    plain.settle(Reason::Timeout);
    plain.settle(Reason::Timeout);
    let interaction = ask(99, Dialect::Interaction, &json!({"question": "?"}));
    let events = plain
        .log
        .run(&Command::Ask(Box::new(interaction)), at(plain.now));
    assert!(is_blocked(&events.unwrap()));
}

// contract: A7
#[test]
fn how_many_is_a_policy() {
    let limit = |n| PolicyLayer {
        unanswered_limit: Some(n),
        ..PolicyLayer::default()
    };
    for (set, unanswered, blocked) in [
        (1, 0, false),
        (1, 1, true),
        (3, 2, false),
        (3, 3, true),
        (0, 5, false),
    ] {
        let mut asking = Asking::hosted();
        for _ in 0..unanswered {
            asking.ask_with(|c| c.policy = limit(0));
            asking.expire();
        }
        let events = asking.ask_with(|c| c.policy = limit(set));
        assert_eq!(is_blocked(&events), blocked, "{set} {unanswered}");
    }
}

// contract: A7
#[test]
fn a_block_comes_before_a_full_inbox_and_after_a_bad_question() {
    let mut asking = Asking::hosted();
    asking.ask();
    asking.settle(Reason::Timeout);
    asking.settle(Reason::Timeout);
    let full = PolicyLayer {
        max_pending: Some(1),
        ..PolicyLayer::default()
    };
    assert!(is_blocked(&asking.ask_with(|c| c.policy = full)));
    let bad = ask(99, Dialect::Ask, &json!({"question": " "}));
    let refused = asking
        .log
        .decide(&Command::Ask(Box::new(bad)), at(asking.now));
    assert_eq!(refused.unwrap_err().code(), "INVALID_QUESTION");
}

// contract: A7
#[test]
fn in_an_adapters_own_turn_a_row_ends_in_three_other_ways() {
    let marked = |name: &'static str| move |c: &mut AskCommand| c.client_turn = Some(name.into());
    let with = |presence| move |c: &mut AskCommand| c.presence = presence;
    let two = |change: fn(&mut AskCommand)| {
        let mut asking = Asking::own();
        for _ in 0..2 {
            asking.ask_with(change);
            asking.expire();
        }
        asking
    };
    let unmarked = two(|_| {});
    assert!(unmarked.would_block());
    let next = |asking: &Asking, change: &dyn Fn(&mut AskCommand), later: u64| {
        let mut next = Asking {
            log: asking.log.clone(),
            n: asking.n,
            now: asking.now + later,
        };
        is_blocked(&next.ask_with(change))
    };
    // The client's own turn marker.
    let in_turn_one = two(|c| c.client_turn = Some("one".into()));
    assert!(next(&in_turn_one, &marked("one"), 0));
    assert!(next(&in_turn_one, &|_| {}, 0));
    assert!(!next(&in_turn_one, &marked("two"), 0));
    // A person who comes; not one who was there all the time.
    let alone = two(|c| c.presence = Presence::Absent);
    assert!(next(&alone, &with(Presence::Absent), 0));
    assert!(next(&alone, &with(Presence::Unknown), 0));
    assert!(!next(&alone, &with(Presence::Present), 0));
    let ignored = two(|c| c.presence = Presence::Present);
    assert!(next(&ignored, &with(Presence::Present), 0));
    // Half an hour after the last one stayed unanswered.
    assert!(next(&unmarked, &|_| {}, 30 * MINUTE - 1));
    assert!(!next(&unmarked, &|_| {}, 30 * MINUTE));
    // Where there is no row, nothing is counted anew.
    let events = Asking::own().ask_with(marked("one"));
    assert!(matches!(
        &events[0],
        Event::Requested {
            counted_anew: false,
            ..
        }
    ));
    // What ended the row is counted anew, in the log too.
    let mut anew = unmarked;
    anew.now += 30 * MINUTE;
    let events = anew.ask();
    assert!(matches!(
        &events[0],
        Event::Requested {
            counted_anew: true,
            ..
        }
    ));
    anew.expire();
    assert!(!anew.would_block());
    anew.settle(Reason::Timeout);
    assert!(anew.would_block());
    assert_eq!(anew.figures(), (4, 4));
}

// contract: A7
#[test]
fn in_a_hosts_turn_nothing_but_the_next_turn_ends_a_block() {
    let mut asking = Asking::hosted();
    asking.ask_with(|c| c.presence = Presence::Absent);
    asking.expire();
    asking.ask_with(|c| c.presence = Presence::Absent);
    asking.expire();
    asking.now += 60 * MINUTE;
    let events = asking.ask_with(|c| {
        c.presence = Presence::Present;
        c.client_turn = Some("two".into());
    });
    assert!(is_blocked(&events));
}

// contract: A8
#[test]
fn the_account_counts_every_question_and_those_a_policy_settled() {
    use Reason::{
        AskBack, Cancelled, Deferred, Dismissed, Off, Response, Skipped, Timeout, Unattended,
    };
    for (reason, auto) in [
        (Response, 0),
        (AskBack, 0),
        (Dismissed, 0),
        (Skipped, 0),
        (Cancelled, 0),
        (Timeout, 1),
        (Unattended, 1),
        (Deferred, 0),
    ] {
        let mut asking = Asking::hosted();
        asking.settle(reason);
        assert_eq!(asking.figures(), (1, auto), "{reason:?}");
        let ended = asking
            .log
            .run(&end(1, TurnEnd::Completed), at(asking.now))
            .unwrap();
        let account = match &ended[..] {
            [Event::Ended { account, .. }] => *account,
            other => panic!("{other:?}"),
        };
        assert_eq!(account, Some(Figures { asked: 1, auto }), "{reason:?}");
    }
    // What the end itself settles counts as well.
    let mut asking = Asking::hosted();
    asking.settle(Timeout);
    asking.ask();
    asking.now += MINUTE;
    asking.ask();
    let ended = asking
        .log
        .run(&end(1, TurnEnd::Failed), at(asking.now))
        .unwrap();
    let account = ended.iter().find_map(|e| match e {
        Event::Ended { account, .. } => *account,
        _ => None,
    });
    assert_eq!(account, Some(Figures { asked: 3, auto: 2 }));
    let mut recount = Account::default();
    asking.log.events().for_each(|e| recount.note(e));
    assert_eq!(&recount, asking.log.state.account());
    let mut off = Asking::hosted();
    off.settle(Timeout);
    off.settle(Timeout);
    off.settle(Off);
    assert_eq!(off.figures(), (2, 2));
}
