//! Arbitrary stories of two sessions: commands in any order, clocks that jump, ids that repeat or
//! are unknown.

use crate::fixture::{Log, ask, at, begin, cid, ctx, entry, id, person, response};
use askbus_domain::{
    Addressee, Answer, AnswerAction, AnswerEntry, AskerInfo, Clarification, ClarifyId, Command,
    ContextId, Dialect, Event, Holder, Millis, OnTimeout, Parent, PlanCommand, PlanId, PolicyLayer,
    Presence, ProfileId, Rejection, Response, Rights, Scope, Session, Timestamp, TurnEnd,
    WhenAbsent, Wish, parse_plan,
};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::json;
use uuid::Uuid;

/// What one step of a story does; ids are picked from what the session has seen so far.
#[derive(Debug, Clone)]
pub enum Act {
    Begin {
        begin: u128,
        context: u128,
        foreign: bool,
        until: Option<u64>,
        host: u8,
    },
    End {
        context: Option<u128>,
        foreign: bool,
        end: TurnEnd,
    },
    Ask {
        ask: u128,
        asker: u8,
        context: Option<u128>,
        foreign: bool,
        dialect: Dialect,
        input: u8,
        call_limit: Option<u64>,
        reuse: Option<Index>,
        beside: Beside,
    },
    Answer {
        to: Option<Index>,
        bob: bool,
        answer: u8,
        content: u8,
        ago: u64,
        rights: u8,
    },
    Hold {
        to: Option<Index>,
        bob: bool,
        ago: u64,
        rights: u8,
    },
    PassOn {
        to: Option<Index>,
        bob: bool,
        answer: u8,
    },
    UpdatePlan {
        update: u128,
        context: Option<u128>,
        foreign: bool,
        plan: u8,
    },
    ToolUse {
        context: Option<u128>,
        foreign: bool,
        tool: u8,
    },
    Cancel {
        to: Option<Index>,
        foreign: bool,
    },
    Expire {
        to: Option<Index>,
    },
    ExpireTurn {
        context: Option<u128>,
    },
    AskerLost {
        asker: u8,
    },
    HolderLost {
        known: bool,
    },
}

/// What an ask says beside its questions.
#[derive(Debug, Clone, Copy)]
pub struct Beside {
    policy: u8,
    presence: Presence,
    to: u8,
    parent: bool,
    marker: u8,
}

#[derive(Debug, Clone)]
pub struct Step {
    second_session: bool,
    jump: u64,
    act: Act,
}

/// One command and what it led to.
#[derive(Debug)]
pub struct Scene {
    pub now: Timestamp,
    pub before: Session,
    pub commits_before: usize,
    pub command: Command,
    pub events: Vec<Event>,
    pub refusal: Option<Rejection>,
    pub after: Session,
    /// Whom an answer went to, as it was right after.
    pub clarification: Option<Clarification>,
}

impl Scene {
    pub fn result(&self) -> Result<Vec<Event>, Rejection> {
        self.refusal
            .clone()
            .map_or_else(|| Ok(self.events.clone()), Err)
    }
}

#[derive(Debug, Default)]
pub struct Told {
    pub log: Log,
    pub scenes: Vec<Scene>,
    asked: Vec<ClarifyId>,
}

const HOUR: u64 = 3_600_000;

fn mostly_none<T: Clone + std::fmt::Debug + 'static>(
    some: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = Option<T>> {
    prop::option::weighted(0.15, some)
}

fn target() -> impl Strategy<Value = Option<Index>> {
    prop::option::weighted(0.95, any::<Index>())
}

fn wait() -> impl Strategy<Value = u64> {
    prop_oneof![
        40 => select(vec![0, 1, 500, 5_000]),
        5 => select(vec![60_000, 90_000, 300_000, HOUR]),
        1 => select(vec![24 * HOUR, 15 * 24 * HOUR, 30 * 24 * HOUR]),
    ]
}

fn rarely() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.06)
}

fn act() -> impl Strategy<Value = Act> {
    use TurnEnd::{Completed, Disposed, Failed, Stopped};
    let dialect = select(vec![
        Dialect::Ask,
        Dialect::Ask,
        Dialect::Studio,
        Dialect::Interaction,
    ]);
    prop_oneof![
        1 => (0..6_u128, 0..4_u128, rarely(), mostly_none(wait()), 0..6_u8)
            .prop_map(|(begin, context, foreign, until, host)| Act::Begin {
                begin, context, foreign, until, host }),
        1 => (mostly_none(0..5_u128), rarely(), select(vec![Completed, Failed, Stopped, Disposed]))
            .prop_map(|(context, foreign, end)| Act::End { context, foreign, end }),
        8 => (0..24_u128, 0..3_u8, mostly_none(0..5_u128), rarely(), dialect, 0..6_u8,
              mostly_none(wait()), prop::option::weighted(0.05, any::<Index>()), beside())
            .prop_map(|(ask, asker, context, foreign, dialect, input, call_limit, reuse, beside)| {
                Act::Ask { ask, asker, context, foreign, dialect, input, call_limit, reuse, beside }
            }),
        10 => (target(), any::<bool>(), 0..8_u8, 0..CONTENTS, wait(), 0..3_u8)
            .prop_map(|(to, bob, answer, content, ago, rights)| Act::Answer {
                to, bob, answer, content, ago, rights }),
        2 => (target(), any::<bool>(), wait(), 0..3_u8)
            .prop_map(|(to, bob, ago, rights)| Act::Hold { to, bob, ago, rights }),
        2 => (target(), any::<bool>(), 0..8_u8)
            .prop_map(|(to, bob, answer)| Act::PassOn { to, bob, answer }),
        2 => (0..40_u128, mostly_none(0..5_u128), rarely(), 0..6_u8)
            .prop_map(|(update, context, foreign, plan)| Act::UpdatePlan {
                update, context, foreign, plan }),
        1 => (mostly_none(0..5_u128), rarely(), 0..3_u8)
            .prop_map(|(context, foreign, tool)| Act::ToolUse { context, foreign, tool }),
        1 => (target(), rarely()).prop_map(|(to, foreign)| Act::Cancel { to, foreign }),
        2 => target().prop_map(|to| Act::Expire { to }),
        1 => mostly_none(0..5_u128).prop_map(|context| Act::ExpireTurn { context }),
        1 => (0..4_u8).prop_map(|asker| Act::AskerLost { asker }),
        1 => prop::bool::weighted(0.3).prop_map(|known| Act::HolderLost { known }),
    ]
}

fn beside() -> impl Strategy<Value = Beside> {
    use Presence::{Absent, Present, Unknown};
    let presence = select(vec![Unknown, Unknown, Present, Absent]);
    (0..8_u8, presence, 0..6_u8, rarely(), 0..4_u8).prop_map(
        |(policy, presence, to, parent, marker)| Beside {
            policy,
            presence,
            to,
            parent,
            marker,
        },
    )
}

/// Stories of up to 63 steps; each session's turn has begun.
pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step =
        (prop::bool::weighted(0.15), wait(), act()).prop_map(|(second_session, jump, act)| Step {
            second_session,
            jump,
            act,
        });
    prop::collection::vec(step, 1..64)
}

const CONTENTS: u8 = 17;

/// Everything a person may send, fitting or not.
fn content(n: u8, answer_id: &str) -> Response {
    use AnswerAction::{Answer, AskBack, Dismiss, Skip};
    let plain = |text: &str| AnswerEntry {
        text: Some(text.to_owned()),
        ..AnswerEntry::default()
    };
    let said = |action, answers| response(answer_id, action, answers);
    match n {
        0 => said(Answer, vec![plain("yes")]),
        1 | 2 => said(Answer, vec![entry("q1", &["o1"], "")]),
        3 => said(Answer, vec![entry("q1", &["o2", "o1"], "and more")]),
        4 => said(Answer, vec![entry("q1", &[], " \n")]),
        5 => said(Answer, Vec::new()),
        6 => Response {
            text: Some("which one?".into()),
            ..said(AskBack, vec![entry("q1", &["o1"], "")])
        },
        7 => said(AskBack, Vec::new()),
        8 => said(Dismiss, vec![entry("q1", &[], "half a thought")]),
        9 => said(Skip, Vec::new()),
        10 => said(Answer, vec![entry("q1", &["o9"], "")]),
        11 => said(Answer, vec![entry("q9", &[], "?")]),
        // Within the limit of characters and beyond that of a commit.
        12 => {
            let text = "\u{1}".repeat(20_000);
            said(
                Answer,
                (1..4)
                    .map(|q| entry(&format!("q{q}"), &[], &text))
                    .collect(),
            )
        }
        13 => said(
            Answer,
            vec![entry("q3", &[], "third"), entry("q1", &[], "first")],
        ),
        14 => said(
            Answer,
            vec![entry("q1", &[], "no"), entry("q1", &[], "yes")],
        ),
        _ => {
            let declined = AnswerEntry {
                dismissed: true,
                ..entry("q1", &[], "")
            };
            let others = (n == 16).then(|| entry("q2", &[], "because"));
            said(Answer, std::iter::once(declined).chain(others).collect())
        }
    }
}

fn rights(n: u8) -> Rights {
    Rights {
        groups: (n == 1).then(|| id("ops")).into_iter().collect(),
        operator: n == 2,
    }
}

/// What the operator set.
fn policy(n: u8) -> PolicyLayer {
    let none = PolicyLayer::default;
    match n {
        0 => PolicyLayer {
            on_timeout: Some(OnTimeout::Adopt),
            when_absent: Some(WhenAbsent::Deferred),
            ..none()
        },
        1 => PolicyLayer {
            on_timeout: Some(OnTimeout::Defer),
            when_absent: Some(WhenAbsent::Unattended),
            timeout: Some(Wish::After(Millis(60_000))),
            ..none()
        },
        2 => PolicyLayer {
            max_timeout: Some(Millis(120_000)),
            max_pending: Some(3),
            ..none()
        },
        3 => PolicyLayer {
            unanswered_limit: Some(0),
            min_timeout: Some(Millis(2_000)),
            ..none()
        },
        _ => none(),
    }
}

/// Everything an agent may plan, fitting or not.
fn planned(n: u8) -> serde_json::Value {
    let step = |id: &str, status: &str| json!({"id": id, "step": "do it", "status": status});
    match n {
        0 => json!({"plan": []}),
        1 => json!({"plan": [step("a", "pending")]}),
        2 => {
            json!({"plan": [step("a", "completed"), step("b", "in_progress"), step("c", "pending")]})
        }
        3 => json!({"plan": [step("a", "in_progress"), step("b", "in_progress")]}),
        4 => {
            let text = "\u{1}".repeat(200);
            let steps: Vec<_> = (0..30)
                .map(|n| json!({"id": format!("{n}"), "step": text.clone() + "x", "status": "pending"}))
                .collect();
            json!({"plan": steps})
        }
        _ => json!({"plan": [step("a", "completed")], "explanation": "done soon"}),
    }
}

fn profile(foreign: bool) -> ProfileId {
    id(if foreign { "other" } else { "default" })
}

fn command(told: &Told, act: &Act, n: usize, now: Timestamp) -> Command {
    let session = &told.log.state;
    let live = |context: &Option<u128>| -> ContextId {
        let latest = session.latest_turn().map(|(t, _)| t.context_id);
        context.map(ctx).or(latest).unwrap_or(ctx(99))
    };
    // One that waits, two times out of three.
    let waiting: Vec<ClarifyId> = session.pending().map(|c| c.id).collect();
    let target = |to: &Option<Index>| match to {
        Some(index) if !waiting.is_empty() && index.index(3) > 0 => *index.get(&waiting),
        Some(index) if !told.asked.is_empty() => *index.get(&told.asked),
        _ => cid(9_999),
    };
    let actor = |bob: bool| person(if bob { "bob" } else { "ann" });
    let stored =
        |ago: u64| Timestamp::from_unix_millis(now.unix_millis() - i64::try_from(ago).unwrap_or(0));
    match act {
        Act::Begin {
            begin: n,
            context,
            foreign,
            until,
            host,
        } => {
            let mut command = begin(*n);
            command.own = *host == 1;
            command.scope = (*host == 2).then_some(Scope {
                plan: true,
                clarify: false,
            });
            command.policy = policy(if *host == 3 { 1 } else { 9 });
            command.to = (*host == 4).then(|| Addressee::Group(id("ops")));
            command.context_id = ctx(*context);
            command.profile = profile(*foreign);
            if let Some(ms) = until {
                command.holder = Holder::Until(now.plus(Millis(*ms)));
            }
            Command::Begin(command)
        }
        Act::End {
            context,
            foreign,
            end,
        } => Command::End {
            context_id: live(context),
            profile: profile(*foreign),
            end: *end,
        },
        Act::Ask {
            ask: ask_id,
            asker,
            context,
            foreign,
            dialect,
            input,
            call_limit,
            reuse,
            beside,
        } => {
            let arguments = match input {
                0 => json!({"question": "Go on?"}),
                1 => json!({"question": "Where?", "choices": ["staging", "prod"]}),
                2 => json!({"question": " "}),
                3 => json!({"question": "Soon?", "choices": ["a", "b", "c"], "timeout_s": 90}),
                _ => json!({"questions": [
                    {"question": "Which?", "options": ["x", "y"], "multi_select": true, "recommended": 0},
                    {"question": "Why?"},
                    {"question": "When?", "options": ["now", "later"], "recommended": 1}]}),
            };
            let dialect = if *input > 3 { Dialect::Ask } else { *dialect };
            let mut command = ask(*ask_id, dialect, &arguments);
            command.clarify_id = match reuse {
                Some(index) => target(&Some(*index)),
                None => cid(n as u128),
            };
            // An id of an earlier turn cannot come again: the service makes them.
            if session.clarification(command.clarify_id).is_none() {
                command.clarify_id = cid(n as u128);
            }
            command.context_id = live(context);
            command.profile = profile(*foreign);
            command.asker_id = id(&format!("asker-{asker}"));
            command.call_limit = call_limit.map(Millis);
            command.policy = policy(beside.policy);
            command.presence = beside.presence;
            command.client_turn = (beside.marker > 1).then(|| format!("turn {}", beside.marker));
            command.parent = beside.parent.then(|| Parent::new(id("main"), "scout"));
            if let Ok(input) = &mut command.input {
                input.to = match beside.to {
                    0 => Some(Addressee::Person(id("ann"))),
                    1 => Some(Addressee::Group(id("ops"))),
                    _ => None,
                };
            }
            Command::Ask(Box::new(command))
        }
        Act::Answer {
            to,
            bob,
            answer,
            content: which,
            ago,
            rights: n,
        } => {
            let mut response = content(*which, &format!("answer-{answer}"));
            response.actor = actor(*bob);
            let (clarify_id, stored_at) = (target(to), stored(*ago));
            Command::Answer(Box::new(Answer {
                clarify_id,
                response,
                rights: rights(*n),
                stored_at,
            }))
        }
        Act::Hold {
            to,
            bob,
            ago,
            rights: n,
        } => Command::Hold {
            clarify_id: target(to),
            actor: actor(*bob),
            rights: rights(*n),
            stored_at: stored(*ago),
        },
        Act::PassOn { to, bob, answer } => {
            let came = told.log.events().filter_map(|e| match e {
                Event::Late {
                    clarify_id, late, ..
                } => Some((*clarify_id, &late.response)),
                _ => None,
            });
            let came: Vec<_> = came.collect();
            match to {
                // Mostly one that came late, by its author.
                Some(index) if *answer > 0 && !came.is_empty() => {
                    let (clarify_id, response) = index.get(&came);
                    Command::PassOn {
                        clarify_id: *clarify_id,
                        answer_id: response.answer_id.clone(),
                        person: response.actor.person.clone(),
                    }
                }
                _ => Command::PassOn {
                    clarify_id: target(to),
                    answer_id: id(&format!("answer-{answer}")),
                    person: actor(*bob).person,
                },
            }
        }
        Act::UpdatePlan {
            update,
            context,
            foreign,
            plan,
        } => Command::UpdatePlan(Box::new(PlanCommand {
            update_id: id(&format!("update-{update}")),
            plan_id: PlanId::from_uuid(Uuid::from_u128(n as u128)),
            context_id: live(context),
            profile: profile(*foreign),
            asker: AskerInfo::default(),
            input: parse_plan(&planned(*plan)),
        })),
        Act::ToolUse {
            context,
            foreign,
            tool,
        } => Command::ToolUse {
            context_id: live(context),
            profile: profile(*foreign),
            tool: ["Read", "Edit", "Bash"][usize::from(*tool)].to_owned(),
        },
        Act::Cancel { to, foreign } => Command::Cancel {
            clarify_id: target(to),
            profile: profile(*foreign),
        },
        Act::Expire { to } => Command::Expire {
            clarify_id: target(to),
        },
        Act::ExpireTurn { context } => Command::ExpireTurn {
            context_id: live(context),
        },
        Act::AskerLost { asker } => Command::AskerLost {
            asker_id: id(&format!("asker-{asker}")),
        },
        Act::HolderLost { known } => Command::HolderLost {
            name: id(if *known { "host" } else { "nobody" }),
        },
    }
}

/// Plays a story; nothing in it may panic.
pub fn walk(steps: &[Step]) -> [Told; 2] {
    let mut sessions = [Told::default(), Told::default()];
    let mut now = at(0);
    for told in &mut sessions {
        told.log = Log::begun();
    }
    for (n, step) in steps.iter().enumerate() {
        now = now.plus(Millis(step.jump));
        let told = &mut sessions[usize::from(step.second_session)];
        let command = command(told, &step.act, n, now);
        let before = told.log.state.clone();
        let commits_before = told.log.commits.len();
        let (events, refusal) = match told.log.run(&command, now) {
            Ok(events) => (events, None),
            Err(refusal) => (Vec::new(), Some(refusal)),
        };
        let asked = events
            .iter()
            .filter(|e| matches!(e, Event::Requested { .. }));
        told.asked.extend(asked.filter_map(Event::clarify_id));
        let clarification = match &command {
            Command::Answer(answer) => told.log.find(answer.clarify_id),
            _ => None,
        };
        let after = told.log.state.clone();
        told.scenes.push(Scene {
            now,
            before,
            commits_before,
            command,
            events,
            refusal,
            after,
            clarification,
        });
    }
    sessions
}
