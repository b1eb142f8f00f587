//! That late messages reach the agent, each once: kept by a count of its own, not by the session's.

use super::Broken;
use crate::{ClarifyId, Event, GoesOn, LateMessage, MAX_LATE, Outcome, Reason, Turn, TurnEnd};
use std::collections::BTreeSet;

/// Messages and an outcome that make more than this, in bytes of JSON, need not fit one commit.
const SURELY_FITS: usize = 32 * 1024;

type Id = (ClarifyId, String, String);

fn id(message: &LateMessage) -> Id {
    let (person, answer) = (&message.actor.person, &message.answer_id);
    (message.clarify_id, person.to_string(), answer.to_string())
}

/// The late messages of one session on their way.
#[derive(Default)]
pub(super) struct Riding {
    waiting: Vec<LateMessage>,
    arrived: BTreeSet<Id>,
    /// A result that left them behind. Only the end of a turn, in the same commit, may do that.
    missed: Option<String>,
}

impl Riding {
    /// Takes in the next event; `turn` is the latest one before it and how it ended.
    pub(super) fn take(
        &mut self,
        turn: Option<(&Turn, Option<TurnEnd>)>,
        event: &Event,
    ) -> Result<(), Broken> {
        match event {
            Event::Resolved {
                clarify_id,
                outcome,
            } => return self.resolved(*clarify_id, outcome),
            Event::Ended { .. } => self.missed = None,
            _ => self.end()?,
        }
        match event {
            Event::Begun { turn } => self.begun(turn),
            Event::Late {
                clarify_id,
                late,
                asked,
                goes_on: Some(goes_on),
            } => match LateMessage::of(*clarify_id, asked, late) {
                Some(message) => self.sent(turn, message, *goes_on),
                None => Err(Broken(format!("nothing rides on for {clarify_id}"))),
            },
            Event::PassedOn {
                message, goes_on, ..
            } => self.sent(turn, message.clone(), *goes_on),
            _ => Ok(()),
        }
    }

    /// Nothing was left behind.
    pub(super) fn end(&self) -> Result<(), Broken> {
        match &self.missed {
            Some(missed) => Err(Broken(missed.clone())),
            None => Ok(()),
        }
    }

    fn resolved(&mut self, id: ClarifyId, outcome: &Outcome) -> Result<(), Broken> {
        let is_read = !matches!(outcome.reason, Reason::Cancelled | Reason::Off);
        if !is_read && !outcome.late.is_empty() {
            return Err(Broken(format!(
                "late messages ride with {id}, which nobody reads"
            )));
        }
        if is_read && outcome.late.is_empty() && !self.waiting.is_empty() && self.fit(outcome) {
            let missed = format!("late messages wait although the result of {id} was read");
            self.missed.get_or_insert(missed);
        }
        self.arrive(&outcome.late)
    }

    fn fit(&self, outcome: &Outcome) -> bool {
        let all = serde_json::to_vec(&(&self.waiting, outcome));
        all.is_ok_and(|json| json.len() <= SURELY_FITS)
    }

    fn arrive(&mut self, riding: &[LateMessage]) -> Result<(), Broken> {
        for message in riding {
            let place = self.waiting.iter().position(|waits| waits == message);
            let Some(place) = place else {
                return Err(Broken(format!(
                    "{:?} rides although it does not wait",
                    id(message)
                )));
            };
            self.waiting.remove(place);
            if !self.arrived.insert(id(message)) {
                return Err(Broken(format!("{:?} rides twice", id(message))));
            }
        }
        Ok(())
    }

    /// An instruction takes everything along; a turn without one hands it on.
    fn begun(&mut self, turn: &Turn) -> Result<(), Broken> {
        let told = !turn.own && turn.scope().clarify;
        let (taken, left) = (&turn.late, &turn.undelivered);
        let all = if told { taken } else { left };
        if *all != self.waiting || taken.len() + left.len() != all.len() {
            return Err(Broken(format!(
                "turn {} leaves late messages behind",
                turn.context_id
            )));
        }
        self.arrive(taken)
    }

    fn sent(
        &mut self,
        turn: Option<(&Turn, Option<TurnEnd>)>,
        message: LateMessage,
        goes_on: GoesOn,
    ) -> Result<(), Broken> {
        let returns = |turn: &Turn, end| !turn.own && end != TurnEnd::Disposed;
        let way = match turn {
            Some((_, None)) => GoesOn::NextResult,
            Some((turn, Some(end))) if returns(turn, end) => GoesOn::NextTurn,
            _ => GoesOn::Nowhere,
        };
        let full = way != GoesOn::Nowhere && self.waiting.len() >= MAX_LATE;
        let right = if full { GoesOn::QueueFull } else { way };
        if goes_on != right {
            let (id, said, right) = (id(&message), goes_on.as_str(), right.as_str());
            return Err(Broken(format!("{id:?} goes to {said} and not to {right}")));
        }
        if goes_on.is_on_its_way() {
            let known = self.waiting.iter().any(|waits| id(waits) == id(&message));
            if known || self.arrived.contains(&id(&message)) {
                return Err(Broken(format!("{:?} is sent on twice", id(&message))));
            }
            self.waiting.push(message);
        }
        Ok(())
    }
}
