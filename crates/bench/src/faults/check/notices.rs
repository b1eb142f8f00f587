//! A channel was told of each question that waited to the end, and of none under two names.

use super::{Findings, Kind};
use crate::faults::seen::{Notice, Seen};
use std::collections::{BTreeMap, BTreeSet};

/// What a notice of a question that waits calls itself.
const ASKED: &str = "question.asked";

pub(super) fn check(found: &mut Findings, seen: &Seen) {
    let mut names: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for Notice {
        id,
        clarify_id,
        kind,
    } in &seen.notices
    {
        names.entry((clarify_id, kind)).or_default().insert(id);
    }
    for ((clarify_id, kind), names) in &names {
        if names.len() > 1 {
            let what = format!("{kind} of {clarify_id} was told under several names: {names:?}");
            found.add(Kind::Double, what);
        }
    }
    let waiting = seen.listings.iter().flat_map(|listing| &listing.waiting);
    for id in waiting.collect::<BTreeSet<_>>() {
        if !names.contains_key(&(id.as_str(), ASKED)) {
            let what = format!("{id} waits, and the channel was not told of it");
            found.add(Kind::Lost, what);
        }
    }
}
