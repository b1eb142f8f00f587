//! What the bus says of this process's questions: outcomes, and signs that something was missed.
//!
//! The log republishes each commit once, at most, to whoever listens. Every message names its own
//! sequence and the one before it on the same subject; when that one was not heard, something is
//! missing.

use super::table::Table;
use askbus_domain::{Clarification, Commit, Event, EventKind, Reason};
use askbus_wire::codec::{Decoded, decode_commit};
use askbus_wire::{convert, proto};
use std::collections::HashMap;

/// A republished commit as it came.
pub(super) struct Republished<'a> {
    /// The event its subject is named after.
    pub event: &'a str,
    /// The session of its subject.
    pub session_id: &'a str,
    /// Its sequence, and the one before it on its subject (0: none), where the headers say so.
    pub sequences: Option<(u64, u64)>,
    /// The commit.
    pub payload: &'a [u8],
}

/// A session in which this process has questions.
struct Watched {
    /// What came before this sequence does not concern it.
    from: u64,
    /// The last sequence heard, by the event of the subject.
    last: HashMap<String, u64>,
    /// Its questions, as far as they are known in full.
    questions: HashMap<String, proto::Clarification>,
}

impl Watched {
    fn since(from: u64) -> Self {
        Self {
            from,
            last: HashMap::new(),
            questions: HashMap::new(),
        }
    }

    /// Notes a message; true if the one before it on its subject was not heard.
    fn note(&mut self, event: &str, sequence: u64, previous: u64) -> bool {
        let heard = self.last.insert(event.to_owned(), sequence);
        previous > heard.unwrap_or_default().max(self.from)
    }
}

/// What was heard of this process's questions.
pub(super) struct Heard {
    asker_id: String,
    sessions: HashMap<String, Watched>,
}

impl Heard {
    pub(super) fn new(asker_id: String) -> Self {
        Self {
            asker_id,
            sessions: HashMap::new(),
        }
    }

    /// Takes a message and tells `table` of the questions it settles. True if something was missed,
    /// so that the state of the open questions has to be asked for.
    pub(super) fn take(&mut self, table: &Table, message: &Republished<'_>) -> bool {
        let session_id = message.session_id;
        let watched = self.sessions.contains_key(session_id) || table.is_open_in(session_id);
        if !watched && !self.may_ask_here(message) {
            return false;
        }
        let commit = match decode_commit(message.payload) {
            Decoded::Commit(commit) => commit,
            Decoded::Unreadable { problem } => {
                tracing::debug!(session_id, problem, "a commit cannot be read here");
                return watched;
            }
        };
        if !watched && !commit.events.iter().any(|e| self.is_own(e)) {
            return false;
        }
        let missed = self.note(message, watched);
        let unknown = self.fold(table, session_id, &commit);
        self.forget_if_over(table, session_id);
        missed || unknown
    }

    /// The question was asked for, and waits.
    pub(super) fn waits(&mut self, table: &Table, question: proto::Clarification) {
        if table.is_open(&question.clarify_id) {
            if let Some(actor) = &question.held_by {
                table.held(&question.clarify_id, &actor.person);
            }
            let session_id = question.session_id.clone();
            let watched = self.sessions.entry(session_id);
            let questions = &mut watched.or_insert_with(|| Watched::since(0)).questions;
            questions.insert(question.clarify_id.clone(), question);
        }
    }

    /// Forgets what nobody waits for any more.
    pub(super) fn prune(&mut self, table: &Table) {
        if table.is_placing() {
            return;
        }
        self.sessions.retain(|session_id, watched| {
            watched.questions.retain(|id, _| table.is_open(id));
            !watched.questions.is_empty() || table.is_open_in(session_id)
        });
    }

    /// A look at the bytes, since most commits are of others.
    fn may_ask_here(&self, message: &Republished<'_>) -> bool {
        message.event == EventKind::Requested.as_str()
            && std::str::from_utf8(message.payload).is_ok_and(|text| text.contains(&self.asker_id))
    }

    fn is_own(&self, event: &Event) -> bool {
        matches!(event, Event::Requested { asker_id, .. } if asker_id.as_str() == self.asker_id)
    }

    fn note(&mut self, message: &Republished<'_>, known: bool) -> bool {
        let (sequence, previous) = message.sequences.unwrap_or_default();
        // A session that is first heard of by the question itself has nothing to miss before it.
        let from = if known { 0 } else { sequence };
        let watched = self
            .sessions
            .entry(message.session_id.to_owned())
            .or_insert_with(|| Watched::since(from));
        message.sequences.is_some() && watched.note(message.event, sequence, previous)
    }

    /// True if a question of this process was settled that is not known in full.
    fn fold(&mut self, table: &Table, session_id: &str, commit: &Commit) -> bool {
        let mut unknown = false;
        for event in &commit.events {
            let own = self.is_own(event);
            let Some(watched) = self.sessions.get_mut(session_id) else {
                break;
            };
            if let Event::Held { clarify_id, actor } = event {
                table.held(&clarify_id.to_string(), actor.person.as_str());
            } else if let Event::Resolved {
                clarify_id,
                outcome,
            } = event
            {
                let id = clarify_id.to_string();
                // What a person is to read of it is the service's to say.
                let whole = outcome.reason != Reason::Deferred;
                match watched.questions.remove(&id).filter(|_| whole) {
                    Some(question) => table.settled(proto::Clarification {
                        status: "settled".to_owned(),
                        outcome: Some(outcome.as_ref().into()),
                        ..question
                    }),
                    None => unknown |= table.is_open(&id),
                }
            } else if own && let Some(asked) = Clarification::requested(event) {
                let question = convert::clarification(session_id, &asked);
                watched
                    .questions
                    .insert(question.clarify_id.clone(), question);
            }
        }
        unknown
    }

    fn forget_if_over(&mut self, table: &Table, session_id: &str) {
        let over = |watched: &Watched| watched.questions.is_empty();
        if self.sessions.get(session_id).is_some_and(over) && !table.is_open_in(session_id) {
            self.sessions.remove(session_id);
        }
    }
}
