//! The promises, as functions over the log and what everybody saw.

mod notices;
mod plans;
#[cfg(test)]
mod tests;

use super::log::{Log, Question};
use super::seen::{Call, End, Listing, Returned, Seen, Sent, Sight, Told};
use std::collections::BTreeSet;
use std::fmt;

/// Which promise is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Something a person or an agent may count on is gone.
    Lost,
    /// Two truths about one question.
    Double,
    /// What had ended goes on.
    Resurrected,
}

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Which.
    pub kind: Kind,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Lost => "lost",
            Kind::Double => "double",
            Kind::Resurrected => "resurrected",
        };
        write!(f, "{kind}: {}", self.what)
    }
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, kind: Kind, what: String) {
        self.0.push(Finding { kind, what });
    }
}

/// Every promise; empty when all are kept.
pub fn check(log: &Log, seen: &Seen) -> Vec<Finding> {
    let mut found = Findings::default();
    for (id, question) in &log.questions {
        check_question(&mut found, id, question);
    }
    for broken in &log.broken {
        let kind = if broken.contains("twice") {
            Kind::Double
        } else {
            Kind::Resurrected
        };
        found.add(kind, broken.clone());
    }
    for sent in &seen.sent {
        check_sent(&mut found, log, sent);
    }
    for call in &seen.calls {
        check_call(&mut found, log, seen, call);
    }
    if let (false, Some(said)) = (seen.host.may_end, &seen.host.ended) {
        let what = format!("the host of a turn ended, and its turn with it: {said:?}");
        found.add(Kind::Lost, what);
    }
    let ended = known_to_have_ended(seen);
    check_sights(&mut found, &seen.sights);
    for listing in &seen.listings {
        check_listing(&mut found, log, seen, listing, &ended);
    }
    plans::check(&mut found, log, seen);
    notices::check(&mut found, seen);
    found.0
}

/// The log was read when every asker was gone: each question has ended, once.
fn check_question(found: &mut Findings, id: &str, question: &Question) {
    match question.ends.as_slice() {
        [] => found.add(
            Kind::Resurrected,
            format!("{id} still waits although its asker is gone"),
        ),
        [_] => {}
        ends => found.add(Kind::Double, format!("{id} ended more than once: {ends:?}")),
    }
}

/// What a person was told is stored is in the log, and what they were told is what the log says.
fn check_sent(found: &mut Findings, log: &Log, sent: &Sent) {
    if !sent.is_taken() {
        return;
    }
    let about = || {
        format!(
            "answer {:?} of {} to {}",
            sent.text, sent.person, sent.clarify_id
        )
    };
    let Some(question) = log.questions.get(&sent.clarify_id) else {
        found.add(Kind::Lost, format!("{}: no such question", about()));
        return;
    };
    let won = question.ends.iter().any(|end| is_of(end, sent));
    let late = question
        .late
        .iter()
        .any(|(person, id)| (person, id) == (&sent.person, &sent.answer_id));
    let refused = log.refused.iter().any(|body| body.contains(&sent.text));
    if !won && !late && !refused {
        let told = &sent.told;
        found.add(
            Kind::Lost,
            format!("{} is in no history: {told:?}", about()),
        );
    }
    if won && late {
        found.add(Kind::Double, format!("{} counts and is late", about()));
    }
    for told in &sent.told {
        let truth = match told {
            Told::Settled(end) => won && ended_so(question, end),
            Told::Over(end) => !won && ended_so(question, end),
            Told::Stored | Told::NotSent(_) => true,
        };
        if !truth {
            let ends = &question.ends;
            found.add(
                Kind::Double,
                format!(
                    "{}: its author was told {told:?}, the log says {ends:?}",
                    about()
                ),
            );
        }
    }
}

fn is_of(end: &End, sent: &Sent) -> bool {
    end.person.as_ref() == Some(&sent.person) && end.answer_id.as_ref() == Some(&sent.answer_id)
}

fn ended_so(question: &Question, told: &End) -> bool {
    question.ends.first().is_some_and(|end| end.agrees(told))
}

/// An agent that lives has the outcome, once, and it is the log's; or its question waits.
fn check_call(found: &mut Findings, log: &Log, seen: &Seen, call: &Call) {
    let name = &call.question;
    if call.returned.len() > 1 {
        let returned = &call.returned;
        found.add(Kind::Double, format!("{name} returned twice: {returned:?}"));
    }
    for returned in &call.returned {
        match returned {
            Returned::Settled { clarify_id, end } => match log.questions.get(clarify_id) {
                Some(question) if question.question != *name => {
                    let other = &question.question;
                    found.add(Kind::Double, format!("{name} got the outcome of {other}"));
                }
                Some(question) if !ended_so(question, end) => {
                    let ends = &question.ends;
                    found.add(
                        Kind::Double,
                        format!("{name}: the agent was told {end:?}, the log says {ends:?}"),
                    );
                }
                Some(_) => {}
                None => found.add(Kind::Lost, format!("{name}: {clarify_id} is in no history")),
            },
            Returned::Failed(error) if call.lives => {
                found.add(Kind::Lost, format!("{name} failed: {error}"));
            }
            Returned::Failed(_) => {}
        }
    }
    for listing in &seen.listings {
        check_whether_it_waits(found, log, call, listing);
    }
    if call.lives && call.due && call.returned.is_empty() {
        found.add(
            Kind::Lost,
            format!("{name}: its agent was not given the outcome"),
        );
    }
}

/// A call's question waits once, as long as its agent lives and has no outcome.
fn check_whether_it_waits(found: &mut Findings, log: &Log, call: &Call, listing: &Listing) {
    let (name, source) = (&call.question, &listing.source);
    let asks_it = |id: &&String| log.questions.get(*id).is_some_and(|q| q.question == *name);
    let open = listing.waiting.iter().filter(asks_it).count();
    if open > 1 {
        found.add(
            Kind::Double,
            format!("{source}: {name} waits {open} times at once"),
        );
    }
    if open > 0 && !call.lives {
        found.add(
            Kind::Resurrected,
            format!("{source}: {name} waits although its asker was killed"),
        );
    }
    if open > 0 && !call.returned.is_empty() {
        found.add(
            Kind::Resurrected,
            format!("{source}: {name} waits although its call has returned"),
        );
    }
    if open == 0 && call.lives && call.returned.is_empty() {
        found.add(
            Kind::Lost,
            format!("{source}: {name} neither waits nor has its agent the outcome"),
        );
    }
}

/// What ended is shown as waiting no more.
fn check_sights(found: &mut Findings, sights: &[Sight]) {
    let mut ended = BTreeSet::new();
    for sight in sights {
        match sight {
            Sight::Ended(id) => {
                ended.insert(id);
            }
            Sight::Waits(id) if ended.contains(id) => found.add(
                Kind::Resurrected,
                format!("{id} was shown as waiting after its end had been shown"),
            ),
            Sight::Waits(_) => {}
        }
    }
}

/// The questions of which somebody was told that they are over.
fn known_to_have_ended(seen: &Seen) -> BTreeSet<&str> {
    let sights = seen.sights.iter().filter_map(|sight| match sight {
        Sight::Ended(id) => Some(id.as_str()),
        Sight::Waits(_) => None,
    });
    let over = |told: &Told| matches!(told, Told::Settled(_) | Told::Over(_));
    let answered = seen.sent.iter().filter(move |s| s.told.iter().any(over));
    let returned = seen.calls.iter().flat_map(|call| &call.returned);
    let returned = returned.filter_map(|returned| match returned {
        Returned::Settled { clarify_id, .. } => Some(clarify_id.as_str()),
        Returned::Failed(_) => None,
    });
    sights
        .chain(answered.map(|s| s.clarify_id.as_str()))
        .chain(returned)
        .collect()
}

/// What a source lists is what the log says, and nothing that is known to have ended is missing.
fn check_listing(
    found: &mut Findings,
    log: &Log,
    seen: &Seen,
    listing: &Listing,
    known: &BTreeSet<&str>,
) {
    let source = &listing.source;
    for (id, (end, _)) in &listing.ended {
        let ends = log.questions.get(id).map(|q| q.ends.as_slice());
        if !ends.is_some_and(|ends| ends.first().is_some_and(|e| e.agrees(end))) {
            found.add(
                Kind::Double,
                format!("{source} lists {id} as {end:?}, the log says {ends:?}"),
            );
        }
    }
    for id in known {
        if listing.waiting.contains(*id) {
            found.add(
                Kind::Resurrected,
                format!("{source} lists {id} as waiting again"),
            );
        } else if !listing.ended.contains_key(*id) {
            found.add(
                Kind::Lost,
                format!("{source} does not list {id}, which has ended"),
            );
        }
    }
    let over = |sent: &&Sent| sent.told.iter().any(|told| matches!(told, Told::Over(_)));
    for sent in seen.sent.iter().filter(over) {
        let kept = listing.ended.get(&sent.clarify_id);
        if !kept.is_some_and(|(_, late)| late.contains(&sent.text)) {
            let (text, id) = (&sent.text, &sent.clarify_id);
            found.add(
                Kind::Lost,
                format!("{source} does not show the late answer {text:?} to {id}"),
            );
        }
    }
}
