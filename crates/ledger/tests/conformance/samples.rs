//! Commits and messages to try a bus with.

use askbus_domain::{
    Actor, AnswerAction, AnswerEntry, AnswerId, AskId, AskerId, AskerInfo, BeginCommand, BeginId,
    ClarifyId, Clock, ClockWish, Commit, CommitId, ContextId, Dialect, Event, Holder, LeaseName,
    Millis, PersonId, ProfileId, Question, QuestionId, Questions, Response, Rights, RunId, SCHEMA,
    SessionId, Surface, TURN_CAP, TenantId, Terms, Timestamp, Turn, TurnEnd,
};
use askbus_ledger::Submission;
use askbus_wire::messages::{Draft, InboxBody, InboxMessage};
use std::sync::Arc;
use uuid::Uuid;

pub fn tenant(name: &str) -> TenantId {
    TenantId::new(name).unwrap()
}

pub fn session(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

pub fn clarification() -> ClarifyId {
    ClarifyId::from_uuid(Uuid::now_v7())
}

fn now() -> Timestamp {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    Timestamp::from_unix_millis(i64::try_from(since.as_millis()).unwrap())
}

fn commit(tenant: &TenantId, session: &SessionId, event: Event) -> Commit {
    Commit {
        schema: SCHEMA,
        commit_id: CommitId::from_uuid(Uuid::now_v7()),
        tenant: tenant.clone(),
        session_id: session.clone(),
        at: now(),
        events: vec![event],
    }
}

pub fn begun(tenant: &TenantId, session: &SessionId) -> Commit {
    let lease = LeaseName::new("lease").unwrap();
    let begin = BeginCommand::new(
        BeginId::new("b1").unwrap(),
        ContextId::from_uuid(Uuid::now_v7()),
        RunId::new("r1").unwrap(),
        ProfileId::new("default").unwrap(),
        Holder::Lease {
            name: lease,
            ttl: Millis(15_000),
        },
    );
    let turn = Turn::begun(&begin, now());
    commit(tenant, session, Event::Begun { turn })
}

pub fn requested(tenant: &TenantId, session: &SessionId, id: ClarifyId) -> Commit {
    let question = Question {
        id: QuestionId::new("q1").unwrap(),
        header: String::new(),
        question: "Which database? 哪个数据库？".into(),
        explanation: None,
        multi_select: false,
        select: None,
        options: Vec::new(),
        recommended: None,
    };
    let event = Event::Requested {
        clarify_id: id,
        ask_id: AskId::new(id.to_string()).unwrap(),
        context_id: ContextId::from_uuid(Uuid::now_v7()),
        asker_id: AskerId::new("asker").unwrap(),
        asker_ttl: Millis(15_000),
        asker: AskerInfo::default(),
        dialect: Dialect::Ask,
        questions: Arc::new(Questions::new(vec![question]).unwrap()),
        clock: Clock::start(now(), ClockWish::default(), None, now().plus(TURN_CAP)).0,
        requested_at: now(),
        to: None,
        parent: None,
        terms: Terms::default(),
        adjusted: None,
        client_turn: None,
        counted_anew: false,
        nobody_present: false,
    };
    commit(tenant, session, event)
}

pub fn ended(tenant: &TenantId, session: &SessionId) -> Commit {
    let context_id = ContextId::from_uuid(Uuid::now_v7());
    let end = TurnEnd::Completed;
    commit(
        tenant,
        session,
        Event::Ended {
            context_id,
            end,
            account: None,
            plan: None,
        },
    )
}

pub fn held(tenant: &TenantId, session: &SessionId) -> Commit {
    commit(
        tenant,
        session,
        Event::Held {
            clarify_id: clarification(),
            actor: actor("ana"),
        },
    )
}

pub fn actor(person: &str) -> Actor {
    Actor {
        person: PersonId::new(person).unwrap(),
        surface: Surface::Web,
    }
}

pub fn answer(
    tenant: &TenantId,
    session: &SessionId,
    id: ClarifyId,
    person: &str,
    answer_id: &str,
) -> Submission {
    let entry = AnswerEntry {
        text: Some("Postgres".into()),
        ..AnswerEntry::default()
    };
    let response = Response {
        answer_id: AnswerId::new(answer_id).unwrap(),
        actor: actor(person),
        action: AnswerAction::Answer,
        answers: vec![entry],
        text: None,
    };
    Submission {
        tenant: tenant.clone(),
        session: session.clone(),
        clarify_id: id,
        message: InboxMessage::new(1, Rights::default(), InboxBody::Respond(response)),
        trace: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into()),
    }
}

pub fn draft(text: &str) -> Draft {
    Draft {
        tab: "tab".into(),
        answers: Vec::new(),
        text: Some(text.into()),
        messages: Vec::new(),
        sent_by: None,
    }
}
