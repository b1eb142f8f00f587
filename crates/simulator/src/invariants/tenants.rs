//! That nothing of one tenant comes to another. What everybody in a tenant is told is held against
//! that tenant's log alone by every other promise; this is about all that is shown beside it.

use super::History;
use askbus_domain::{ClarifyId, Event};
use askbus_wire::codec::Decoded;
use serde_json::Value;
use std::collections::BTreeSet;

/// Whatever comes to a screen, a history or the inbox is about a question of the tenant.
pub fn check_tenants(history: &History<'_>) -> Vec<String> {
    let asked = |event: &Event| match event {
        Event::Requested { clarify_id, .. } => Some(*clarify_id),
        _ => None,
    };
    let own: BTreeSet<ClarifyId> = history.events().filter_map(|(.., e)| asked(e)).collect();
    let records = history.records;
    let shown = records.shown.iter().map(|shown| &shown.object);
    let mut broken = Vec::new();
    for object in shown.chain(&records.histories) {
        let mut named = BTreeSet::new();
        questions(object, &mut named);
        if let Some(foreign) = named.difference(&own).next() {
            broken.push(format!("{foreign} is another tenant's: {object}"));
        }
        let tenant = object.get("tenant").and_then(Value::as_str);
        if tenant.is_some_and(|tenant| tenant != history.tenant.as_str()) {
            broken.push(format!("somebody was greeted as another's: {object}"));
        }
    }
    for arrived in history.arrivals {
        if !own.contains(&arrived.clarify_id) {
            broken.push(format!(
                "the inbox took {arrived:?}, which is another tenant's"
            ));
        }
    }
    for stored in history.log {
        if let Decoded::Commit(commit) = &stored.decoded
            && (commit.tenant != *history.tenant || commit.session_id != stored.session)
        {
            broken.push(format!(
                "{commit:?} stands in the log of {}",
                history.tenant
            ));
        }
    }
    broken
}

/// Every question that is named anywhere in an object.
fn questions(object: &Value, found: &mut BTreeSet<ClarifyId>) {
    match object {
        Value::Object(fields) => {
            found.extend(crate::panel::question(object));
            fields.values().for_each(|value| questions(value, found));
        }
        Value::Array(list) => list.iter().for_each(|value| questions(value, found)),
        _ => {}
    }
}
