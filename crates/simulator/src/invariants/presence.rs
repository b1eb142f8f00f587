//! That nobody is called absent who is there, and nobody waited for who is not. Where something is
//! broken nobody can know who knew what; so this is about quiet runs.

use super::History;
use crate::world::{EPOCH, Records};
use askbus_domain::{Addressee, Event, Millis, Timestamp, WhenAbsent};
use askbus_wire::messages::PersonPresent;

/// For how long somebody counts who was there (D9).
const COUNTS_FOR: Millis = Millis(15_000);
/// From when on every replica knows who is there, after the beginning.
const KNOWN_AFTER: Millis = Millis(9_000);
/// Between looking who is there and the moment that the log stamps on the question.
const SLACK: Millis = Millis(300);

/// An absence that matters is told as it is.
pub fn check_presence(history: &History<'_>) -> Vec<String> {
    if !history.records.quiet {
        return Vec::new();
    }
    let mut broken = Vec::new();
    for (at, _, event) in history.events() {
        let Event::Requested {
            clarify_id,
            terms,
            to,
            nobody_present,
            ..
        } = event
        else {
            continue;
        };
        if terms.when_absent == WhenAbsent::Wait {
            continue;
        }
        let mut counted = counted(history.records, to.as_ref());
        if *nobody_present {
            let there = counted.find(|(heard, until)| heard.plus(SLACK) <= at && at <= *until);
            if let Some((heard, _)) = there {
                broken.push(format!(
                    "nobody was there for {clarify_id} at {at}, heard {heard}"
                ));
            }
        } else if at >= EPOCH.plus(KNOWN_AFTER)
            && !counted.any(|(heard, until)| heard <= at && at <= until.plus(SLACK))
        {
            broken.push(format!(
                "somebody was there for {clarify_id} at {at}: {to:?}"
            ));
        }
    }
    broken
}

/// When those who may answer were heard of, and until when they count by that.
fn counted<'a>(
    records: &'a Records,
    to: Option<&'a Addressee>,
) -> impl Iterator<Item = (Timestamp, Timestamp)> + 'a {
    let may =
        move |person: &PersonPresent| to.is_none_or(|to| to.allows(&person.rights, &person.person));
    let named = records
        .present
        .iter()
        .filter(move |(_, person)| may(person));
    named.filter_map(|(heard, person)| {
        let left = COUNTS_FOR.0.checked_sub(person.ago_ms)?;
        Some((*heard, heard.plus(Millis(left))))
    })
}
