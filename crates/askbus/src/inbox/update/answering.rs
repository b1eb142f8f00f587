//! Answers: sent at the press of a button, and sent again until somebody says what became of them.

use super::Effects;
use crate::inbox::draft::Obstacle;
use crate::inbox::entry::{Button, Entry, Spot, Status};
use crate::inbox::say::{Submission, What};
use crate::inbox::state::{Effect, Link, Moment, Pane, State};
use crate::inbox::words::words;
use askbus_domain::{ClarifyId, Millis, Timestamp};

/// An answer that nobody mentions for this long is sent once more.
const PATIENCE: Millis = Millis(8_000);
/// How long until what the service could not take just now is sent again.
const AGAIN: Millis = Millis(3_000);

impl State {
    pub(super) fn press(&mut self, button: Button, at: &Moment, effects: &mut Effects) {
        match button {
            Button::AskBack if !self.asks_back() => self.open_ask_back(),
            Button::Submit
            | Button::Recommended
            | Button::AskBack
            | Button::Skip
            | Button::Dismiss => {
                self.submit(button, at, effects);
            }
            Button::Hold => self.act(effects),
            Button::TakeBack => {
                if let Some(entry) = self.entry_mut() {
                    entry.status = Status::Waiting;
                    entry.keep_spot();
                }
            }
            Button::PassOn => self.pass_on(effects),
            Button::UseOther => self.use_other(),
            Button::Close => self.close_selected(),
        }
    }

    fn asks_back(&self) -> bool {
        self.entry()
            .is_some_and(|e| e.asking_back && e.draft.ask_back.words().is_some())
    }

    /// Opens the place where the person says what they need to know first.
    pub(super) fn open_ask_back(&mut self) {
        if let Some(entry) = self.entry_mut().filter(|e| e.is_answerable()) {
            entry.asking_back = true;
            entry.spot = Spot::AskBack;
            self.typing = true;
        }
    }

    fn submit(&mut self, button: Button, at: &Moment, effects: &mut Effects) {
        let words = words(self.language);
        let Some(entry) = self.entry_mut().filter(|e| e.is_answerable()) else {
            return;
        };
        let (action, answers) = match entry.sendable(button) {
            Ok(sendable) => sendable,
            Err(obstacle) => {
                let why = match obstacle {
                    Obstacle::Nothing if button == Button::AskBack => words.nothing_asked,
                    Obstacle::Nothing => words.nothing_filled_in,
                    Obstacle::OutOfBounds => words.out_of_bounds,
                    Obstacle::TooLong => words.too_long,
                    Obstacle::NoRecommendation => words.nothing_recommended,
                };
                self.notice = Some(why.to_owned());
                return;
            }
        };
        let submission = Submission {
            answer_id: at.fresh.clone(),
            action,
            answers,
            text: entry.draft.ask_back.words().map(str::to_owned),
        };
        entry.error = None;
        entry.status = Status::Sending {
            submission,
            again: None,
        };
        let id = entry.request.clarify_id;
        // It goes out as an answer: the service needs no draft of it any more.
        self.unsaved.retain(|other| *other != id);
        self.deliver(id, effects);
    }

    /// Sends an answer that is on its way, if there is a connection.
    pub(super) fn deliver(&mut self, id: ClarifyId, effects: &mut Effects) {
        let online = self.link == Link::Online;
        let now = self.now;
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        let Status::Sending { submission, again } = &mut entry.status else {
            return;
        };
        *again = online.then(|| now.plus(PATIENCE));
        let respond = What::Respond(submission.clone());
        if online {
            effects.push(Effect::Say(entry.say(respond)));
        }
    }

    /// Sends everything that is on its way.
    pub(super) fn deliver_all(&mut self, effects: &mut Effects) {
        let sending = |e: &&Entry| matches!(e.status, Status::Sending { .. });
        let ids: Vec<_> = self
            .entries
            .values()
            .filter(sending)
            .map(|e| e.request.clarify_id)
            .collect();
        for id in ids {
            self.deliver(id, effects);
        }
    }

    /// Sends again what nobody mentioned in time.
    pub(super) fn deliver_overdue(&mut self, effects: &mut Effects) {
        let now = self.now;
        let due =
            |e: &&Entry| matches!(e.status, Status::Sending { again: Some(at), .. } if at <= now);
        let ids: Vec<_> = self
            .entries
            .values()
            .filter(due)
            .map(|e| e.request.clarify_id)
            .collect();
        for id in ids {
            self.deliver(id, effects);
        }
    }

    /// The service could not take it just now.
    pub(super) fn deliver_later(&mut self, id: ClarifyId) {
        let later: Timestamp = self.now.plus(AGAIN);
        if let Some(Status::Sending { again, .. }) =
            self.entries.get_mut(&id).map(|e| &mut e.status)
        {
            *again = Some(later);
        }
    }

    fn pass_on(&mut self, effects: &mut Effects) {
        if self.link != Link::Online {
            self.notice = Some(words(self.language).not_now.to_owned());
            return;
        }
        let Some(entry) = self.entry_mut() else {
            return;
        };
        let Status::Late(late) = &mut entry.status else {
            return;
        };
        if late.may_pass_on() {
            late.passing = true;
            let answer_id = late.submission.answer_id.clone();
            entry.error = None;
            let pass_on = entry.say(What::PassOn { answer_id });
            effects.push(Effect::Say(pass_on));
        }
    }

    fn use_other(&mut self) {
        let Some(entry) = self.entry_mut().filter(|e| e.is_answerable()) else {
            return;
        };
        if let Some(other) = entry.other.take() {
            // What stood here can still be taken back.
            let mine = std::mem::replace(&mut entry.draft, other);
            entry.other = Some(mine);
            let id = entry.request.clarify_id;
            self.unsaved.push_back(id);
        }
    }

    /// Lets go of a question that is over.
    pub(super) fn close_selected(&mut self) {
        let over = |e: &&Entry| matches!(e.status, Status::Settled { .. } | Status::Late(_));
        if let Some(id) = self.entry().filter(over).map(|e| e.request.clarify_id) {
            self.remove(id);
        }
    }

    pub(super) fn remove(&mut self, id: ClarifyId) {
        self.entries.remove(&id);
        self.unsaved.retain(|other| *other != id);
        if self.selected == Some(id) {
            // Its neighbour is selected; nobody who is writing lands in it.
            self.pane = Pane::List;
        }
    }
}
