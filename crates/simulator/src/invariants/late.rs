//! What hosts and authors are told of late messages and of the questions that become a reply.

use super::History;
use askbus_domain::{ClarifyId, ContextId, Event, LateNote, PersonId, Reason, Turn};
use askbus_wire::proto;
use std::collections::BTreeMap;

fn turns<'a>(history: &'a History<'_>) -> impl Iterator<Item = &'a Turn> {
    history.events().filter_map(|(_, _, event)| match event {
        Event::Begun { turn } => Some(turn),
        _ => None,
    })
}

/// A host is told the late messages that the log lets ride with its turn, and they stand in the
/// instruction.
pub fn check_begun(history: &History<'_>) -> Vec<String> {
    let mut broken = Vec::new();
    for told in &history.records.begun {
        let context = told.context_id;
        let Some(turn) = turns(history).find(|turn| turn.context_id == context) else {
            broken.push(format!("turn {context} is not in the log"));
            continue;
        };
        let late: Vec<proto::LateMessage> = turn.late.iter().map(Into::into).collect();
        if late != told.late {
            broken.push(format!(
                "the host of {context} was told {:?}, the log says {late:?}",
                told.late
            ));
        }
        let words = turn.late.iter().flat_map(|message| {
            let answers = message.answers.iter();
            let texts = answers.filter_map(|answer| answer.text.as_deref());
            texts.chain([message.asked.as_str()])
        });
        for words in words.filter(|words| !told.instruction.contains(*words)) {
            broken.push(format!("the instruction of {context} leaves out {words:?}"));
        }
    }
    broken
}

/// A host that ends a turn is told every question of it that becomes its reply, and no other.
pub fn check_replies(history: &History<'_>) -> Vec<String> {
    let mut asked: BTreeMap<ClarifyId, ContextId> = BTreeMap::new();
    let mut deferred: BTreeMap<ContextId, Vec<ClarifyId>> = BTreeMap::new();
    for (_, _, event) in history.events() {
        match event {
            Event::Requested {
                clarify_id,
                context_id,
                ..
            } => {
                asked.insert(*clarify_id, *context_id);
            }
            Event::Resolved {
                clarify_id,
                outcome,
            } if outcome.reason == Reason::Deferred => {
                if let Some(context) = asked.get(clarify_id) {
                    deferred.entry(*context).or_default().push(*clarify_id);
                }
            }
            _ => {}
        }
    }
    let mut broken = Vec::new();
    for (context, told) in &history.records.replies {
        let mut told = told.clone();
        let mut right = deferred.get(context).cloned().unwrap_or_default();
        told.sort_unstable();
        right.sort_unstable();
        if told != right {
            broken.push(format!(
                "the reply of {context} was told as {told:?}, it is {right:?}"
            ));
        }
    }
    broken
}

/// Who was told that a late answer of theirs goes on finds it on its way in the log.
pub fn check_sent_on(history: &History<'_>) -> Vec<String> {
    let lie = |told: &&crate::world::ToldOn| {
        let question = history.of(told.clarify_id);
        let way = question.as_ref().and_then(|question| {
            let person = PersonId::new(told.person).ok()?;
            let mut notes = question.late.iter();
            let own = |n: &&LateNote| n.person == person && n.answer_id.as_str() == told.answer_id;
            notes.find(own)?.way()
        });
        told.goes_on.is_on_its_way() && way != Some(told.goes_on)
    };
    let lies = history.records.sent_on.iter().filter(lie);
    lies.map(|told| format!("{told:?}, which the log does not say"))
        .collect()
}
