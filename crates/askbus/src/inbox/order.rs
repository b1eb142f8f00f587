//! The order of what waits: what this person may answer, the nearest deadline first, and with it all of
//! its session, then what others are to answer; questions of sub-agents stand with the session they work for, after its own. It does not depend on holds, so
//! that nothing moves because somebody touched it.

use super::entry::Entry;
use askbus_domain::{ClarifyId, SessionId};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A row of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Row {
    /// What the following entries have in common, and the first of them, which says who asks.
    Session(SessionId, ClarifyId),
    /// A question.
    Entry(ClarifyId),
}

/// The rows of the list.
pub(super) fn rows(entries: &BTreeMap<ClarifyId, Entry>) -> Vec<Row> {
    let parents: HashMap<&SessionId, &SessionId> = entries
        .values()
        .filter_map(|e| {
            Some((
                &e.request.session_id,
                &e.request.parent.as_ref()?.session_id,
            ))
        })
        .collect();
    let mut sorted: Vec<&Entry> = entries.values().collect();
    sorted.sort_by_key(|e| {
        let r = &e.request;
        let due = r.deadline.unwrap_or(i64::MAX);
        (!r.may_answer, due, r.requested_at, r.clarify_id)
    });
    let mut places: HashMap<&SessionId, usize> = HashMap::new();
    let mut groups: Vec<(&SessionId, Vec<&Entry>)> = Vec::new();
    for entry in sorted {
        let session = top(&entry.request.session_id, &parents);
        let place = *places.entry(session).or_insert_with(|| {
            groups.push((session, Vec::new()));
            groups.len() - 1
        });
        if let Some((_, group)) = groups.get_mut(place) {
            group.push(entry);
        }
    }
    let mut rows = Vec::with_capacity(entries.len() + groups.len());
    for (session, mut group) in groups {
        group.sort_by_key(|e| e.request.session_id != *session);
        let Some(first) = group.first() else { continue };
        rows.push(Row::Session(session.clone(), first.request.clarify_id));
        rows.extend(group.iter().map(|e| Row::Entry(e.request.clarify_id)));
    }
    rows
}

fn top<'a>(
    session: &'a SessionId,
    parents: &HashMap<&'a SessionId, &'a SessionId>,
) -> &'a SessionId {
    let mut seen = HashSet::from([session]);
    let mut top = session;
    while let Some(parent) = parents.get(top).filter(|p| seen.insert(p)) {
        top = parent;
    }
    top
}
