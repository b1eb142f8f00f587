//! What a person is told when their words did not settle a question.

use askbus_domain::{DecidedBy, GoesOn, Outcome};
use askbus_wire::convert::surface_word;

/// Why an answer did not settle the question, for its author: who or what did, what was kept, and
/// where it goes.
pub(crate) fn explain(outcome: &Outcome, goes_on: Option<GoesOn>) -> String {
    let kept = "what you wrote is kept with the question";
    let ended = match (outcome.decided_by(), &outcome.actor) {
        (DecidedBy::Person, Some(actor)) => format!(
            "{} settled this first ({}, {})",
            actor.person,
            surface_word(&actor.surface),
            outcome.reason.as_str(),
        ),
        _ => format!("this had ended already ({})", outcome.reason.as_str()),
    };
    match goes_on {
        Some(goes_on) => format!("{ended}; {kept} and {}", where_to(goes_on)),
        None => format!("{ended}; {kept}"),
    }
}

/// Where a late answer goes, as the end of a sentence about it.
pub(crate) const fn where_to(goes_on: GoesOn) -> &'static str {
    match goes_on {
        GoesOn::NextResult => "reaches the agent with its next result",
        GoesOn::NextTurn => "reaches the agent when its next turn begins",
        GoesOn::Nowhere => "goes no further: the agent that asked is gone for good",
        GoesOn::QueueFull => {
            "goes no further for now: too many late messages wait for the agent; send it on later"
        }
    }
}
