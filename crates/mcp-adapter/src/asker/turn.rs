//! The turn of a process that no host gave one: begun at the first question, never before, since
//! clients start throw-away siblings just to read the list of tools.

use super::connection::Connection;
use super::lock;
use askbus_domain::SessionId;
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::proto;
use askbus_wire::trace::Trace;
use std::sync::Mutex;

/// Characters of the process's own in the name of a session beside another.
const OWN_PART: usize = 4;

struct State {
    /// The same for every attempt at one turn, so that concurrent and repeated begins are one. Another
    /// process under this name has ids of its own; the service gives it the turn that stands.
    begin_id: String,
    context_id: Option<String>,
    /// The trace of the question that the turn began with; its end belongs there too.
    trace: Option<Trace>,
    /// Settled by the first begin.
    session_id: Option<String>,
}

/// The process's own turn.
pub(super) struct OwnTurn {
    asker_id: String,
    profile: String,
    state: Mutex<State>,
}

impl OwnTurn {
    pub(super) fn new(
        session_id: Option<String>,
        asker_id: String,
        profile: String,
        begin_id: String,
    ) -> Self {
        let state = Mutex::new(State {
            begin_id,
            context_id: None,
            trace: None,
            session_id,
        });
        Self {
            asker_id,
            profile,
            state,
        }
    }

    /// The context of the turn, which begins if there is none; in the session `named`, if there was
    /// none before, or beside it where somebody else has a turn in that one.
    pub(super) async fn context(
        &self,
        connection: &Connection,
        trace: &Trace,
        named: Option<&str>,
    ) -> Result<String, WireError> {
        loop {
            let (begin_id, session_id) = {
                let mut state = lock(&self.state);
                if let Some(context_id) = &state.context_id {
                    return Ok(context_id.clone());
                }
                let session = named.unwrap_or(&self.asker_id);
                let session = state.session_id.get_or_insert_with(|| session.to_owned());
                let session = session.clone();
                (state.begin_id.clone(), session)
            };
            match self.begin(connection, trace, &begin_id, &session_id).await {
                Ok(context_id) => {
                    let mut state = lock(&self.state);
                    if state.begin_id == begin_id {
                        state.context_id = Some(context_id.clone());
                        state.trace = Some(trace.clone());
                    }
                    return Ok(context_id);
                }
                Err(error) if error.code == ErrorCode::SessionTaken => {
                    let Some(beside) = beside(&session_id, &self.asker_id) else {
                        return Err(error);
                    };
                    let mut state = lock(&self.state);
                    // A call beside this one may have been told the same.
                    if state.session_id.as_ref() == Some(&session_id) {
                        state.session_id = Some(beside);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn begin(
        &self,
        connection: &Connection,
        trace: &Trace,
        begin_id: &str,
        session_id: &str,
    ) -> Result<String, WireError> {
        let request = trace.request(proto::BeginTurnRequest {
            begin_id: begin_id.to_owned(),
            session_id: session_id.to_owned(),
            run_id: String::new(),
            profile: self.profile.clone(),
            life: Some(proto::begin_turn_request::Life::AskerId(
                self.asker_id.clone(),
            )),
            ..Default::default()
        });
        let begun = connection
            .call(|mut client| async move { client.turns.begin_turn(request).await })
            .await?;
        Ok(begun.context_id)
    }

    /// The service says that this turn is over: the next question begins another one, by this id.
    pub(super) fn over(&self, context_id: &str, begin_id: String) {
        let mut state = lock(&self.state);
        if state.context_id.as_deref() == Some(context_id) {
            state.context_id = None;
            state.begin_id = begin_id;
        }
    }

    /// The service knows this begin as that of a turn which others have followed by now: its reply was
    /// lost. The next question begins by another id.
    pub(super) fn overtaken(&self, begin_id: String) {
        let mut state = lock(&self.state);
        if state.context_id.is_none() {
            state.begin_id = begin_id;
        }
    }

    /// Ends the turn, if there is one.
    pub(super) async fn end(&self, connection: &Connection) -> Result<(), WireError> {
        let (context_id, trace) = {
            let mut state = lock(&self.state);
            match state.context_id.take() {
                Some(context_id) => (context_id, state.trace.take()),
                None => return Ok(()),
            }
        };
        let trace = trace.unwrap_or_else(Trace::begin);
        let request = trace.request(proto::EndTurnRequest {
            context_id,
            end: "completed".to_owned(),
            profile: self.profile.clone(),
        });
        connection
            .call(|mut client| async move { client.turns.end_turn(request).await })
            .await
            .map(drop)
    }
}

/// The session to ask in when somebody else has a turn in `session`: its name and a part of this
/// process's own, then this process's alone, then none. The same wherever the process's calls come in.
fn beside(session: &str, asker_id: &str) -> Option<String> {
    if session == asker_id {
        return None;
    }
    let own = asker_id.chars().rev().filter(char::is_ascii_alphanumeric);
    let own: String = std::iter::once('~').chain(own.take(OWN_PART)).collect();
    let beside = format!("{session}{own}");
    let fits = !session.ends_with(&own) && SessionId::new(&beside).is_ok();
    Some(if fits { beside } else { asker_id.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_name_gets_a_part_of_the_process_and_then_gives_way() {
        let asker = "mcp-0b6f7d2e-1c7a-4d0e-9c64-5a10e4c8d9f2";
        let first = beside("build", asker).unwrap();
        assert_eq!(first, "build~2f9d");
        let second = beside(&first, asker).unwrap();
        assert_eq!(second, asker);
        assert_eq!(beside(&second, asker), None);
        let long = "x".repeat(126);
        assert_eq!(beside(&long, asker).as_deref(), Some(asker));
    }
}
