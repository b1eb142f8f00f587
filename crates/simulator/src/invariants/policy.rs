//! That every question was asked under the policy of its tenant, profile, dialect, turn and call, and
//! ended as that has it; worked out anew from what everybody wanted.

use super::{History, may_answer};
use crate::world::{Asking, profile};
use askbus_domain::{
    Clarification, ClarifyId, Dialect, Event, HARD_CAP, MIN_TIMEOUT, Millis, OnTimeout, Outcome,
    PolicyLayer, Reason, SessionId, Turn, WhenAbsent, Wish,
};
use askbus_wire::codec::Decoded;
use std::collections::{BTreeMap, BTreeSet};

/// What holds unless somebody says otherwise.
const GRACE: Millis = Millis(60_000);
const UNANSWERED: u32 = 2;
const PENDING: u32 = 32;

/// The layers that lie over a turn's questions, the widest first; the first two are the operator's
/// own, of which the second may be wider.
struct Layers<'a>([Option<&'a PolicyLayer>; 5]);

impl<'a> Layers<'a> {
    fn of(history: &'a History<'_>, turn: &'a Turn) -> Self {
        let table = &history.records.policy;
        let own = table.tenants.get(history.tenant);
        Self([
            Some(&table.all),
            own.map(|own| &own.layer),
            own.and_then(|own| own.dialects.get(&Dialect::Ask)),
            own.and_then(|own| own.profiles.get(&profile())),
            Some(&turn.policy),
        ])
    }

    /// What the narrowest layer says that says anything.
    fn narrowest<T>(&self, of: impl Fn(&PolicyLayer) -> Option<T>) -> Option<T> {
        self.0.iter().rev().flatten().find_map(|layer| of(layer))
    }

    /// The tightest bound; a tenant's own takes the place of the one for all.
    fn bound<T: Copy>(
        &self,
        of: impl Fn(&PolicyLayer) -> Option<T>,
        tighter: impl Fn(T, T) -> T,
    ) -> Option<T> {
        let [all, own, narrower @ ..] = &self.0;
        let wide = own.and_then(&of).or_else(|| all.and_then(&of));
        let bounds = narrower.iter().copied().flatten().filter_map(of);
        wide.into_iter().chain(bounds).reduce(tighter)
    }
}

/// A session as far as its policy has it.
#[derive(Default)]
struct Fold {
    turn: Option<Turn>,
    open: BTreeMap<ClarifyId, Clarification>,
    unanswered: u32,
    marker: Option<String>,
}

/// Every question is asked and ends as its policy has it.
pub fn check_policy(history: &History<'_>) -> Vec<String> {
    let mut sessions: BTreeMap<&SessionId, Fold> = BTreeMap::new();
    let mut broken = Vec::new();
    for stored in history.log {
        let Decoded::Commit(commit) = &stored.decoded else {
            continue;
        };
        let fold = sessions.entry(&stored.session).or_default();
        for event in &commit.events {
            let at_once = commit.events.iter().find_map(|other| match other {
                Event::Resolved {
                    clarify_id,
                    outcome,
                } if event.clarify_id() == Some(*clarify_id) => Some(&**outcome),
                _ => None,
            });
            if let Some(why) = fold.wrong(history, event, at_once) {
                broken.push(format!("session {}: {why}: {event:?}", stored.session));
            }
            fold.take(event);
        }
    }
    broken
}

impl Fold {
    fn take(&mut self, event: &Event) {
        match event {
            Event::Begun { turn } => {
                *self = Self {
                    turn: Some(turn.clone()),
                    ..Self::default()
                };
            }
            Event::Requested {
                clarify_id,
                counted_anew,
                client_turn,
                ..
            } => {
                if *counted_anew {
                    self.unanswered = 0;
                }
                if client_turn.is_some() {
                    self.marker.clone_from(client_turn);
                }
                self.open
                    .extend(Clarification::requested(event).map(|new| (*clarify_id, new)));
            }
            Event::Resolved {
                clarify_id,
                outcome,
            } => {
                self.open.remove(clarify_id);
                match outcome.reason {
                    Reason::Timeout | Reason::Unattended | Reason::Deferred => self.unanswered += 1,
                    Reason::Cancelled | Reason::Off => {}
                    _ => self.unanswered = 0,
                }
            }
            _ => {}
        }
    }

    fn wrong(
        &self,
        history: &History<'_>,
        event: &Event,
        at_once: Option<&Outcome>,
    ) -> Option<&'static str> {
        match event {
            Event::Begun { turn } => {
                let wanted = history.records.turns.get(turn.begin_id.as_str());
                let own = PolicyLayer {
                    language: None,
                    ..turn.policy.clone()
                };
                let right = *wanted.unwrap_or(&PolicyLayer::default()) == own;
                (!right).then_some("another policy than its host wanted")
            }
            Event::Requested { .. } => self.wrongly_asked(history, event, at_once),
            Event::Resolved {
                clarify_id,
                outcome,
            } => {
                let question = self.open.get(clarify_id)?;
                wrongly_ended(question, outcome)
            }
            _ => None,
        }
    }

    fn wrongly_asked(
        &self,
        history: &History<'_>,
        event: &Event,
        at_once: Option<&Outcome>,
    ) -> Option<&'static str> {
        let (
            Event::Requested {
                counted_anew,
                client_turn,
                nobody_present,
                ..
            },
            Some(turn),
            Some(question),
        ) = (event, &self.turn, Clarification::requested(event))
        else {
            return Some("asked without a turn");
        };
        let first = &question.questions.first().question;
        let Some(asking) = history.records.askings.get(first) else {
            return Some("nobody wanted this");
        };
        let layers = Layers::of(history, turn);
        if let Some(why) = wrong_terms(&question, asking, &layers, turn) {
            return Some(why);
        }
        let other_turn = client_turn.is_some() && *client_turn != self.marker;
        let may_count = turn.own && self.unanswered > 0;
        if (*counted_anew && !may_count) || (may_count && other_turn && !*counted_anew) {
            return Some("a row of unanswered questions is counted wrongly");
        }
        let in_row = if *counted_anew { 0 } else { self.unanswered };
        let limit = layers.narrowest(|l| l.unanswered_limit);
        let limit = limit.unwrap_or(UNANSWERED);
        let off = limit > 0 && in_row >= limit;
        let most = layers.bound(|l| l.max_pending, Ord::min);
        let most = most.unwrap_or(PENDING).max(1);
        if !off && self.open.len() >= usize::try_from(most).unwrap_or(usize::MAX) {
            return Some("more wait than may");
        }
        let right = match question.terms.when_absent {
            _ if off => Some(Reason::Off),
            WhenAbsent::Deferred if *nobody_present => Some(Reason::Deferred),
            WhenAbsent::Unattended if *nobody_present => Some(Reason::Unattended),
            _ => None,
        };
        (at_once.map(|outcome| outcome.reason) != right).then_some("it ended otherwise at once")
    }
}

fn wrong_terms(
    question: &Clarification,
    asking: &Asking,
    layers: &Layers<'_>,
    turn: &Turn,
) -> Option<&'static str> {
    let terms = question.terms;
    let on_timeout = asking.on_timeout.or(layers.narrowest(|l| l.on_timeout));
    let when_absent = asking.when_absent.or(layers.narrowest(|l| l.when_absent));
    let language = layers.narrowest(|l| l.language);
    if terms.on_timeout != on_timeout.unwrap_or_default()
        || terms.when_absent != when_absent.unwrap_or_default()
        || terms.language != language.unwrap_or_default()
        || question.clock.grace != layers.narrowest(|l| l.grace).unwrap_or(GRACE)
    {
        return Some("asked under other terms");
    }
    let cap = turn.cap().min(question.requested_at.plus(HARD_CAP));
    let deadline = wait(asking, layers).map(|wait| question.requested_at.plus(wait).min(cap));
    if (question.clock.deadline, question.clock.cap) != (deadline, cap) {
        return Some("asked with another deadline");
    }
    if question.to != asking.to {
        return Some("meant for somebody else");
    }
    let above = question.parent.as_ref().map(|p| p.session_id.as_str());
    let wanted = asking.parent.as_deref();
    let of_turn = turn.parent.as_ref().map(|p| p.session_id.as_str());
    (above != wanted.or(of_turn)).then_some("asked under another session")
}

/// How long the policy lets a question wait; none is for ever.
fn wait(asking: &Asking, layers: &Layers<'_>) -> Option<Millis> {
    let min = layers.bound(|l| l.min_timeout, Ord::max);
    let min = min.map_or(MIN_TIMEOUT, |min| min.max(MIN_TIMEOUT));
    let max = layers.bound(|l| l.max_timeout, Ord::min);
    match asking.timeout.or(layers.narrowest(|l| l.timeout)) {
        None | Some(Wish::Never) => max,
        Some(Wish::After(wait)) => Some(wait.max(min)).map(|w| max.map_or(w, |max| w.min(max))),
    }
}

fn wrongly_ended(question: &Clarification, outcome: &Outcome) -> Option<&'static str> {
    if outcome.reason == Reason::Deferred && !outcome.timed_out
        || outcome.reason == Reason::Unattended
    {
        let adopted = !outcome.assumptions.is_empty();
        let right = adopted == (outcome.reason == Reason::Unattended);
        return (!right).then_some("assumed wrongly");
    }
    if !outcome.is_by_clock() {
        return None;
    }
    let (reason, assumed) = match question.terms.on_timeout {
        OnTimeout::Return => (Reason::Timeout, 0),
        // The first question of every call has a recommendation, and no other.
        OnTimeout::Adopt => (Reason::Timeout, 1),
        OnTimeout::Defer => (Reason::Deferred, 0),
    };
    let right = (outcome.reason, outcome.assumptions.len()) == (reason, assumed);
    (!right).then_some("its deadline led to something else")
}

/// Only those for whom a question is meant answer it, early or late, and hold it.
pub fn check_addressees(history: &History<'_>) -> Vec<String> {
    let mut broken = Vec::new();
    let ids = history.events().filter_map(|(_, _, e)| e.clarify_id());
    for id in ids.collect::<BTreeSet<_>>() {
        let Some(question) = history.of(id) else {
            continue;
        };
        let outcome = question.outcome.as_ref();
        let decided = outcome.and_then(|outcome| outcome.actor.as_ref());
        let actors = decided.into_iter().chain(&question.held_by);
        let late = question.late.iter().map(|note| &note.person);
        let mut people = actors.map(|actor| &actor.person).chain(late);
        if let Some(other) = people.find(|person| !may_answer(&question, person)) {
            broken.push(format!(
                "{other} answered {id}, which is for {:?}",
                question.to
            ));
        }
    }
    broken
}
