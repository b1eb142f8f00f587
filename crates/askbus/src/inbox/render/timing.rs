//! The clock of a question as it is shown (A4).

use super::look::Look;
use super::shown_on_one_row;
use crate::inbox::entry::Entry;
use crate::inbox::heard::Who;
use crate::inbox::state::State;
use crate::inbox::words::{Words, words};
use askbus_domain::{Millis, Phase};
use ratatui::style::Style;

/// From here on a countdown is marked.
const URGENT: Millis = Millis(60_000);

/// `4:59`, `1:04:59`, or days and hours. Rounded up, so that zero means over.
pub(super) fn countdown(left: Millis, words: &Words) -> String {
    let seconds = left.0.div_ceil(1_000);
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    let (minutes, rest) = (seconds / 60 % 60, seconds % 60);
    match (days, hours) {
        (1.., _) => (words.days)(days, hours),
        (0, 1..) => format!("{hours}:{minutes:02}:{rest:02}"),
        (0, 0) => format!("{minutes}:{rest:02}"),
    }
}

fn about(length: Millis, words: &Words) -> String {
    (words.about)(length.0 / 60_000)
}

/// Who acted, as this person reads it.
pub(super) fn name(state: &State, who: Option<&Who>) -> String {
    let words = words(state.language);
    match who {
        None => words.someone.to_owned(),
        Some(who) if who.person == state.me => words.you.to_owned(),
        Some(who) => shown_on_one_row(&who.person),
    }
}

/// How long ago it was asked.
pub(super) fn asked(state: &State, entry: &Entry) -> String {
    let words = words(state.language);
    let ago = entry.request.issued().until(state.now);
    let ago = (ago >= Millis(60_000)).then(|| about(ago, words));
    (words.asked)(ago.as_deref())
}

/// The clock on a card; none while it has nothing to say.
pub(super) fn line(state: &State, look: Look, entry: &Entry) -> Option<(String, Style)> {
    let words = words(state.language);
    let request = &entry.request;
    let clock = request.clock();
    let left = clock.remaining(request.held, state.now);
    let open = || about(state.now.until(clock.cap), words);
    match clock.phase(request.issued(), request.held, state.now) {
        // A countdown hurries and stays out of sight at first; how long there is does not.
        Phase::Hidden => Some(((words.open_for)(&about(left, words)), look.dim())),
        Phase::Countdown if left <= URGENT => {
            Some(((words.left)(&countdown(left, words)), look.bad()))
        }
        Phase::Countdown => Some(((words.left)(&countdown(left, words)), look.warning())),
        Phase::Expired => Some((words.expired.to_owned(), look.bad())),
        Phase::Waiting if request.held => {
            let who = name(state, request.held_by.as_ref());
            Some(((words.held)(&who, &open()), look.good()))
        }
        Phase::Waiting => request.cap.map(|_| ((words.open_for)(&open()), look.dim())),
    }
}

/// The clock in the list.
pub(super) fn short(state: &State, look: Look, entry: &Entry) -> Option<(String, Style)> {
    let request = &entry.request;
    let clock = request.clock();
    match clock.phase(request.issued(), request.held, state.now) {
        Phase::Waiting if request.held => {
            Some((words(state.language).held_short.to_owned(), look.dim()))
        }
        Phase::Waiting | Phase::Hidden => None,
        Phase::Countdown | Phase::Expired => {
            let left = clock.remaining(request.held, state.now);
            let style = if left <= URGENT {
                look.bad()
            } else {
                look.warning()
            };
            Some((countdown(left, words(state.language)), style))
        }
    }
}
