//! More is said of old questions, while they are being read, than is kept: nothing of it is lost.

use super::super::{Feed, News, Viewer};
use askbus_domain::{
    Actor, Answer, AnswerAction, AnswerEntry, AnswerId, AskCommand, AskId, AskerId, AskerInfo,
    BeginCommand, BeginId, ClarifyId, Command, Commit, CommitId, ContextId, Dialect, Holder,
    Millis, PersonId, PolicyLayer, Presence, ProfileId, Response, Rights, RunId, SCHEMA, Session,
    SessionId, Surface, TenantId, Timestamp, TurnEnd, decide, parse_arguments,
};
use askbus_ledger::embedded::{self, EmbeddedOptions};
use askbus_ledger::{Bus, append};
use askbus_wire::codec::Decoded;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Old questions, and how much is kept of what is said of them.
const OLD: usize = 30;
const KEPT: usize = 7;

const AT: Timestamp = Timestamp::from_unix_millis(1_800_000_000_000);

fn tenant() -> TenantId {
    TenantId::new("local").unwrap()
}

/// Decides and writes.
async fn write(bus: &Bus, session: &str, command: &Command) {
    let session = SessionId::new(session).unwrap();
    let (mut state, mut last) = (Session::default(), 0);
    let read = bus.ledger.read_session(&tenant(), &session, 1).await;
    for stored in read.unwrap() {
        if let Decoded::Commit(commit) = &stored.decoded {
            state.apply(commit);
        }
        last = stored.seq;
    }
    let events = decide(&state, command, AT).unwrap();
    let commit = Commit {
        schema: SCHEMA,
        commit_id: CommitId::from_uuid(Uuid::now_v7()),
        tenant: tenant(),
        session_id: session,
        at: AT,
        events,
    };
    append(&*bus.ledger, &commit, last, None).await.unwrap();
}

fn answer(id: ClarifyId, who: &str) -> Command {
    Command::Answer(Box::new(Answer {
        clarify_id: id,
        response: Response {
            answer_id: AnswerId::new(format!("{who} {id}")).unwrap(),
            actor: Actor {
                person: PersonId::new(who).unwrap(),
                surface: Surface::Web,
            },
            action: AnswerAction::Answer,
            answers: vec![AnswerEntry {
                text: Some(format!("as {who} says")),
                ..AnswerEntry::default()
            }],
            text: None,
        },
        rights: Rights::default(),
        stored_at: AT,
    }))
}

/// A session in which one question was asked and answered, and which is over.
async fn over(bus: &Bus, session: &str) -> ClarifyId {
    let context_id = ContextId::from_uuid(Uuid::now_v7());
    let clarify_id = ClarifyId::from_uuid(Uuid::now_v7());
    let profile = ProfileId::new("default").unwrap();
    let begin = Command::Begin(BeginCommand::new(
        BeginId::new(session).unwrap(),
        context_id,
        RunId::new(session).unwrap(),
        profile.clone(),
        Holder::Until(AT.plus(Millis(3_600_000))),
    ));
    let ask = Command::Ask(Box::new(AskCommand {
        ask_id: AskId::new(session).unwrap(),
        clarify_id,
        context_id,
        profile: profile.clone(),
        asker_id: AskerId::new("asker").unwrap(),
        asker_ttl: Millis(15_000),
        asker: AskerInfo::default(),
        dialect: Dialect::Ask,
        input: parse_arguments(Dialect::Ask, &json!({"question": "Go?"})),
        call_limit: None,
        policy: PolicyLayer::default(),
        presence: Presence::Unknown,
        client_turn: None,
        parent: None,
    }));
    let end = Command::End {
        context_id,
        profile,
        end: TurnEnd::Completed,
    };
    for command in [begin, ask, answer(clarify_id, "ann"), end] {
        write(bus, session, &command).await;
    }
    clarify_id
}

/// Who answered a question too late, as the picture has it.
fn late(feed: &Feed, id: ClarifyId) -> Vec<String> {
    let card = feed.card(&tenant(), id).expect("it is in the picture");
    let late = card.late.iter();
    late.map(|late| late.response.actor.person.to_string())
        .collect()
}

// contract: E12
#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_of_old_questions_while_they_are_read_is_not_lost() {
    let dir = tempfile::tempdir().unwrap();
    let (bus, ledger) = embedded::open(dir.path()).unwrap();
    let mut old = Vec::new();
    for n in 0..OLD {
        old.push(over(&bus, &format!("old {n}")).await);
    }
    for n in 0..5 {
        over(&bus, &format!("new {n}")).await;
    }
    ledger.close().await;
    let options = EmbeddedOptions {
        latest: 8,
        ..EmbeddedOptions::default()
    };
    let (bus, ledger) = embedded::open_with(dir.path(), options).unwrap();
    let (feed, stop) = (Arc::new(Feed::keeping(KEPT)), CancellationToken::new());
    let following = Arc::clone(&feed).follow(Arc::clone(&bus.ledger), |_| true, stop.clone());
    let following = tokio::spawn(following);
    feed.reach(bus.ledger.last_seq().await.unwrap()).await;
    assert!(feed.card(&tenant(), old[0]).is_none(), "it was left out");
    let viewer = Viewer {
        tenant: tenant(),
        profiles: None,
    };
    let mut news = feed.snapshot(&viewer, u64::MAX).news;
    // Two of each, the second ones when there is no room any more.
    for who in ["ben", "cyd"] {
        for (n, id) in old.iter().enumerate() {
            write(&bus, &format!("old {n}"), &answer(*id, who)).await;
        }
    }
    feed.reach(bus.ledger.last_seq().await.unwrap()).await;
    let reading = Arc::clone(&feed).read_older(Arc::clone(&bus.ledger), |_| true, stop.clone());
    let read = tokio::time::timeout(Duration::from_secs(20), reading).await;
    read.expect("all of it is read");
    for id in &old {
        assert_eq!(late(&feed, *id), ["ben", "cyd"]);
    }
    // Whoever follows hears each of them once, in the order of the log.
    let mut heard = Vec::new();
    while let Ok(news) = news.try_recv() {
        if let News::Change(change) = &*news {
            heard.push(change.seq);
        }
    }
    assert_eq!(heard.len(), 2 * OLD);
    assert!(heard.is_sorted(), "{heard:?}");
    // What comes from then on is told as it comes.
    write(&bus, "old 0", &answer(old[0], "dan")).await;
    feed.reach(bus.ledger.last_seq().await.unwrap()).await;
    assert_eq!(late(&feed, old[0]), ["ben", "cyd", "dan"]);
    stop.cancel();
    following.await.unwrap();
    ledger.close().await;
}
