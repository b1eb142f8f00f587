//! What the service says.

use super::Effects;
use crate::inbox::draft::Draft;
use crate::inbox::entry::{Entry, Late, Status};
use crate::inbox::heard::{Heard, Kept, Meaning, Outcome, Plan, Refusal, Request, Who};
use crate::inbox::say::What;
use crate::inbox::state::{Effect, Link, State};
use crate::inbox::words::words;
use askbus_domain::{ClarifyId, ExecutionState, GoesOn, Millis};
use std::collections::HashSet;

/// How long somebody counts as writing after they were seen to.
const WRITES_FOR: Millis = Millis(5_000);
/// Plans that are known at once.
const MOST_PLANS: usize = 100;

impl State {
    pub(super) fn hear(&mut self, heard: Heard, effects: &mut Effects) {
        match heard {
            Heard::Hello { you, tenant } => self.greeted(you, tenant),
            Heard::Ready { pending } => self.ready(&pending.into_iter().collect(), effects),
            Heard::Requested(request) => self.requested(*request, effects),
            Heard::Held { id, by } => self.held(id, by),
            Heard::Asker { id, disconnected } => {
                if let Some(entry) = self.entries.get_mut(&id) {
                    entry.request.disconnected = Some(disconnected);
                }
            }
            Heard::Resolved { id, outcome } => self.resolved(id, outcome),
            Heard::NotResolved { id, refusal } => self.not_resolved(id, refusal),
            Heard::Sent { id, answer_id } => self.sent(id, &answer_id),
            Heard::Late { id, by, goes_on } => self.late_news(id, by, goes_on),
            Heard::PassedOn { id, goes_on, error } => self.passed_on(id, goes_on, error),
            Heard::Draft { id, draft } => self.draft(id, &draft),
            Heard::Writing { id, person } => {
                let until = self.now.plus(WRITES_FOR);
                if let Some(entry) = self.entries.get_mut(&id) {
                    entry.writing = Some((person, until));
                }
            }
            Heard::Plan(plan) => self.planned(*plan),
            Heard::Error { error } => {
                self.notice = Some(error);
                self.nothing_passes();
            }
        }
    }

    fn greeted(&mut self, you: String, tenant: String) {
        if self.link == Link::Offline {
            self.notice = Some(words(self.language).back_online.to_owned());
        }
        self.link = Link::Online;
        self.caught_up = false;
        // All that run are told again.
        self.plans.clear();
        self.me = you;
        self.tenant = tenant;
    }

    /// Of each session the last plan, for as long as somebody works on it.
    fn planned(&mut self, plan: Plan) {
        let known = self.plans.get(&plan.session_id);
        let older = known.is_some_and(|known| {
            if known.plan_id == plan.plan_id {
                plan.revision <= known.revision
            } else {
                plan.seq <= known.seq
            }
        });
        if older {
            return;
        }
        if plan.execution_state != ExecutionState::Running {
            self.plans.remove(&plan.session_id);
        } else if known.is_some() || self.plans.len() < MOST_PLANS {
            self.plans.insert(plan.session_id.clone(), plan);
        }
    }

    /// The connection is gone: what is on its way has to leave again.
    pub(super) fn lost(&mut self) {
        self.link = Link::Offline;
        self.nothing_passes();
        for entry in self.entries.values_mut() {
            if let Status::Sending { again, .. } = &mut entry.status {
                *again = None;
            }
            entry.writing = None;
        }
    }

    fn nothing_passes(&mut self) {
        for entry in self.entries.values_mut() {
            if let Status::Late(late) = &mut entry.status {
                late.passing = false;
            }
        }
    }

    fn requested(&mut self, request: Request, effects: &mut Effects) {
        let id = request.clarify_id;
        if self.settled.contains(&id) {
            return;
        }
        if let Some(entry) = self.entries.get_mut(&id) {
            // A hold takes the deadline off the object; the card keeps its place in the order.
            let deadline = request
                .deadline
                .or(entry.request.deadline.filter(|_| request.held));
            entry.request = Request {
                deadline,
                ..request
            };
            return;
        }
        self.entries.insert(id, Entry::new(request));
        if self.announcing {
            effects.push(Effect::Ring);
        }
    }

    /// All that waits has been told. What waits here and not there was settled while nobody listened.
    fn ready(&mut self, pending: &HashSet<ClarifyId>, effects: &mut Effects) {
        let gone =
            |e: &&Entry| e.status == Status::Waiting && !pending.contains(&e.request.clarify_id);
        let gone: Vec<_> = self
            .entries
            .values()
            .filter(gone)
            .map(|e| e.request.clarify_id)
            .collect();
        for id in gone {
            self.end(id, None);
        }
        let holds = |e: &&Entry| e.hold_asked && !e.request.held && e.is_answerable();
        for entry in self.entries.values().filter(holds) {
            effects.push(Effect::Say(entry.say(What::Hold)));
        }
        self.deliver_all(effects);
        self.caught_up = true;
        self.announcing = true;
    }

    fn held(&mut self, id: ClarifyId, by: Option<Who>) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.request.held = true;
            entry.request.held_by = by;
        }
    }

    fn resolved(&mut self, id: ClarifyId, outcome: Outcome) {
        self.remember(id);
        let mine = outcome.actor.as_ref().is_some_and(|a| a.person == self.me);
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        match &mut entry.status {
            Status::Late(late) => {
                late.outcome.get_or_insert(outcome);
            }
            Status::Settled { outcome: known, .. } => {
                known.get_or_insert(outcome);
            }
            Status::Sending { submission, .. } | Status::Sent { submission } if !mine => {
                let submission = submission.clone();
                entry.status = Status::Late(Late {
                    submission,
                    outcome: Some(outcome),
                    goes_on: None,
                    passing: false,
                });
            }
            Status::Waiting | Status::Sending { .. } | Status::Sent { .. } => {
                self.end(id, Some(outcome));
            }
        }
    }

    /// It is over. Text of this person that was never sent stays with it.
    fn end(&mut self, id: ClarifyId, outcome: Option<Outcome>) {
        self.remember(id);
        let since = self.now;
        self.unsaved.retain(|other| *other != id);
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        let kept = entry.status == Status::Waiting && entry.touched && entry.draft.has_words();
        entry.status = Status::Settled {
            outcome,
            since,
            kept,
        };
        entry.error = None;
        entry.follow = true;
    }

    fn sent(&mut self, id: ClarifyId, answer_id: &str) {
        self.nothing_passes();
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        if let Status::Sending { submission, .. } = &entry.status
            && submission.answer_id == answer_id
        {
            let submission = submission.clone();
            entry.status = Status::Sent { submission };
        }
    }

    fn not_resolved(&mut self, id: ClarifyId, refusal: Refusal) {
        let said = if refusal.error.is_empty() {
            refusal.reason.clone()
        } else {
            refusal.error.clone()
        };
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        let about = |answer: &str| {
            refusal
                .answer_id
                .as_deref()
                .is_none_or(|named| named == answer)
        };
        match &mut entry.status {
            Status::Sending { submission, .. } | Status::Sent { submission }
                if about(&submission.answer_id) =>
            {
                let submission = submission.clone();
                match refusal.meaning() {
                    Meaning::Later => self.deliver_later(id),
                    Meaning::Late => {
                        let (outcome, goes_on) = (refusal.outcome, refusal.goes_on);
                        entry.status = Status::Late(Late {
                            submission,
                            outcome,
                            goes_on,
                            passing: false,
                        });
                        self.remember(id);
                    }
                    Meaning::Refused => {
                        entry.status = Status::Waiting;
                        entry.error = Some(said);
                    }
                }
            }
            Status::Late(late) if late.passing && about(&late.submission.answer_id) => {
                late.passing = false;
                entry.error = Some(said);
            }
            // About a hold: the next action asks for it again. Or about an answer from elsewhere.
            Status::Waiting if refusal.answer_id.is_none() => entry.hold_asked = false,
            _ => {}
        }
    }

    /// An answer came too late; where its author is here, they were told before.
    fn late_news(&mut self, id: ClarifyId, by: Option<Who>, goes_on: Option<GoesOn>) {
        let Some(by) = by else { return };
        let mine = by.person == self.me;
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        match &mut entry.status {
            Status::Late(late) if mine => late.goes_on = late.goes_on.or(goes_on),
            _ if !mine => entry.late_others.push(by),
            _ => {}
        }
    }

    fn passed_on(&mut self, id: ClarifyId, goes_on: Option<GoesOn>, error: Option<String>) {
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        if let Status::Late(late) = &mut entry.status {
            late.passing = false;
            late.goes_on = goes_on;
            entry.error = error;
        }
    }

    /// What the same person wrote elsewhere: taken where nothing was done here, else offered.
    fn draft(&mut self, id: ClarifyId, kept: &Kept) {
        let Some(entry) = self.entries.get_mut(&id).filter(|e| e.is_answerable()) else {
            return;
        };
        let questions = &entry.request.questions;
        let other = Draft::read(questions, &kept.answers, kept.text.as_deref());
        let same = |one: &Draft, other: &Draft| {
            one.kept(questions) == other.kept(questions)
                && one.ask_back.text() == other.ask_back.text()
        };
        if !entry.touched {
            entry.asking_back = other.ask_back.words().is_some();
            entry.draft = other;
        } else if !other.is_blank() && !same(&entry.draft, &other) {
            entry.other = Some(other);
        }
    }
}
