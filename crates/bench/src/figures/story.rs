//! Sessions as they are written in daily work, for logs that are read again.

use anyhow::Result;
use askbus_domain::{
    Actor, Answer, AnswerAction, AnswerEntry, AskCommand, AskerInfo, BeginCommand, ClarifyId,
    Command, Commit, CommitId, ContextId, Dialect, Holder, Millis, OptionId, PersonId, QuestionId,
    Response, SCHEMA, Session, SessionId, Surface, TenantId, Timestamp, TurnEnd, decide,
    parse_arguments,
};
use serde_json::json;
use uuid::Uuid;

/// Questions of one session: each is asked and answered.
const QUESTIONS: u64 = 12;
/// Commits of one session: its turn begins and ends around them.
pub(crate) const COMMITS: u64 = 2 * QUESTIONS + 2;

/// The commits of one session in their order, decided by the core as a service would.
pub(crate) fn session(tenant: &str, number: u64, now: Timestamp) -> Result<Vec<Commit>> {
    let tenant = TenantId::new(tenant)?;
    let session_id = SessionId::new(format!("session-{number}"))?;
    let context_id = ContextId::from_uuid(Uuid::now_v7());
    let mut state = Session::default();
    let mut commits = Vec::new();
    for command in commands(number, context_id, now)? {
        let commit = Commit {
            schema: SCHEMA,
            commit_id: CommitId::from_uuid(Uuid::now_v7()),
            tenant: tenant.clone(),
            session_id: session_id.clone(),
            at: now,
            events: decide(&state, &command, now)?,
        };
        state.apply(&commit);
        commits.push(commit);
    }
    Ok(commits)
}

fn commands(number: u64, context_id: ContextId, now: Timestamp) -> Result<Vec<Command>> {
    let profile = askbus_domain::ProfileId::new("default")?;
    let begin = BeginCommand::new(
        askbus_domain::BeginId::new(format!("begin-{number}"))?,
        context_id,
        askbus_domain::RunId::new(format!("run-{number}"))?,
        profile.clone(),
        Holder::Until(now.plus(Millis(3_600_000))),
    );
    let mut commands = vec![Command::Begin(begin)];
    for question in 0..QUESTIONS {
        let clarify_id = ClarifyId::from_uuid(Uuid::now_v7());
        let arguments = json!({"questions": [{
            "question": format!("Where should part {question} of session {number} go next?"),
            "options": ["staging", "production"]}]});
        commands.push(Command::Ask(Box::new(AskCommand {
            ask_id: askbus_domain::AskId::new(format!("ask-{question}"))?,
            clarify_id,
            context_id,
            profile: profile.clone(),
            asker_id: askbus_domain::AskerId::new(format!("asker-{number}"))?,
            asker_ttl: Millis(15_000),
            asker: AskerInfo::default(),
            dialect: Dialect::Ask,
            input: parse_arguments(Dialect::Ask, &arguments),
            call_limit: None,
            policy: askbus_domain::PolicyLayer::default(),
            presence: askbus_domain::Presence::Unknown,
            client_turn: None,
            parent: None,
        })));
        let entry = AnswerEntry {
            question_id: Some(QuestionId::new("q1")?),
            option_ids: vec![OptionId::new("o2")?],
            text: None,
            note: None,
            dismissed: false,
        };
        commands.push(Command::Answer(Box::new(Answer {
            clarify_id,
            response: Response {
                answer_id: askbus_domain::AnswerId::new(clarify_id.to_string())?,
                actor: Actor {
                    person: PersonId::new("ann")?,
                    surface: Surface::Web,
                },
                action: AnswerAction::Answer,
                answers: vec![entry],
                text: None,
            },
            rights: askbus_domain::Rights::default(),
            stored_at: now,
        })));
    }
    commands.push(Command::End {
        context_id,
        profile,
        end: TurnEnd::Completed,
    });
    Ok(commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_whole() {
        let now = Timestamp::from_unix_millis(1_800_000_000_000);
        let commits = session("acme", 7, now).unwrap();
        assert_eq!(commits.len() as u64, COMMITS);
        assert!(commits.iter().all(|c| c.events.len() == 1));
        let mut state = Session::default();
        for commit in &commits {
            state.apply(commit);
        }
        assert_eq!(state.pending().count(), 0);
        assert_eq!(state.clarifications().count() as u64, QUESTIONS);
        assert!(state.active_turn().is_none());
    }
}
