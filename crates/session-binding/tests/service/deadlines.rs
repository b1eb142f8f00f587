//! Deadlines: one settlement however many replicas watch, and never against an answer in time.

use crate::agent::{outcome, question};
use crate::world::{Setup, TENANT, World, actor, clarify_id, says, verdict, within};
use askbus_domain::{ClarifyId, Event, Reason, SessionId, TenantId, Timestamp};
use askbus_ledger::{Bus, Delivery, Inbox, LedgerError, Submission, Submitted};
use askbus_wire::messages::{InboxBody, InboxReply};
use askbus_wire::proto::attach_event::Event as Told;
use async_trait::async_trait;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::{mpsc, watch};

on_both!(
    a_deadline_settles_once_with_two_replicas,
    an_answer_in_time_wins_however_late_it_is_judged,
    an_answer_after_the_deadline_is_late,
    a_hold_stops_the_countdown_on_every_replica,
    overdue_deadlines_settle_after_a_restart,
    no_command_beats_an_answer_in_time,
);

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

/// Time is the subject: waits until a moment has passed.
async fn until_ms(moment: i64) {
    let left = u64::try_from(moment + 1 - now_ms()).unwrap_or(0);
    tokio::time::sleep(Duration::from_millis(left)).await;
}

// contract: E10, A4
async fn a_deadline_settles_once_with_two_replicas(world: World) {
    let (one, two) = (world.replica().await, world.replica().await);
    let agent = world.agent(&one);
    let elsewhere = agent.moved(&world.agent(&two));
    let mut attachment = elsewhere.attach(&[]).await;
    let context = agent.begin("s").await;
    let mut ids = Vec::new();
    for number in 0..10 {
        let question = format!("in time, {number}?");
        ids.push(agent.ask_for(&context, &question, 1.0).await);
    }
    for _ in &ids {
        let resolved = attachment.resolved().await;
        let asked = ids
            .iter()
            .find(|a| a.clarify_id == resolved.clarify_id)
            .unwrap();
        let outcome = outcome(&resolved);
        assert_eq!(
            (outcome.reason.as_str(), outcome.decided_by.as_str()),
            ("timeout", "policy")
        );
        assert!(outcome.answers.is_empty() && outcome.assumptions.is_empty());
        assert!(outcome.resolved_at_ms >= asked.deadline_ms.unwrap());
        assert_eq!(asked.deadline_ms.unwrap(), asked.requested_at_ms + 1_000);
    }
    // Whatever a rival still had in hand has come to nothing once both have ended.
    one.stop().await;
    two.stop().await;
    for asked in ids {
        assert_eq!(world.resolutions("s", &asked.clarify_id).await, 1);
    }
}

// contract: A4
async fn an_answer_in_time_wins_however_late_it_is_judged(world: World) {
    let (one, two) = (world.replica().await, world.replica().await);
    let agent = world.agent(&one);
    let context = agent.begin("s").await;
    let asked = agent.ask_for(&context, "in time?", 1.5).await;
    let unanswered = agent.ask_for(&context, "and this?", 1.5).await;
    one.stop().await;
    two.stop().await;
    let body = InboxBody::Respond(says("ann", "just in time"));
    let submitted = world.submit((TENANT, "s", &asked.clarify_id), body).await;
    let deadline = asked.deadline_ms.unwrap();
    assert!(
        now_ms() < deadline,
        "this machine is too slow for this test"
    );
    until_ms(deadline + 600).await;

    let (one, two) = (world.replica().await, world.replica().await);
    let InboxReply::Settled { outcome: told } = verdict(submitted).await else {
        panic!("an answer in time settles")
    };
    assert_eq!(told.reason, Reason::Response);
    assert!(told.resolved_at.unix_millis() <= deadline);
    let agent = world.agent(&two);
    let settled = agent.try_wait(&asked.clarify_id).await.unwrap();
    assert_eq!(
        outcome(&settled).answers[0].text.as_deref(),
        Some("just in time")
    );
    let timed_out = agent.try_wait(&unanswered.clarify_id).await.unwrap();
    assert_eq!(outcome(&timed_out).reason, "timeout");
    one.stop().await;
    two.stop().await;
    assert_eq!(world.resolutions("s", &asked.clarify_id).await, 1);
    assert_eq!(world.resolutions("s", &unanswered.clarify_id).await, 1);
}

// contract: A4
async fn an_answer_after_the_deadline_is_late(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let asked = agent.ask_for(&context, "in time?", 1.0).await;
    replica.stop().await;
    until_ms(asked.deadline_ms.unwrap()).await;
    // Nobody has settled it yet when this is sent, and yet it is late.
    let body = InboxBody::Respond(says("ann", "too late"));
    let submitted = world.submit((TENANT, "s", &asked.clarify_id), body).await;
    assert_eq!(world.resolutions("s", &asked.clarify_id).await, 0);
    let replica = world.replica().await;
    let InboxReply::Late { outcome, .. } = verdict(submitted).await else {
        panic!("an answer after the deadline is late")
    };
    assert_eq!(outcome.reason, Reason::Timeout);
    let late = world
        .until("the late answer is kept", "s", |e| {
            matches!(e, Event::Late { .. })
        })
        .await;
    let Event::Late { late, .. } = late else {
        panic!("{late:?}")
    };
    assert_eq!(late.response.answers[0].text.as_deref(), Some("too late"));
    replica.stop().await;
    assert_eq!(world.resolutions("s", &asked.clarify_id).await, 1);
}

// contract: A4
async fn a_hold_stops_the_countdown_on_every_replica(world: World) {
    let (one, two) = (world.replica().await, world.replica().await);
    let agent = world.agent(&one);
    let mut attachment = agent.attach(&[]).await;
    let context = agent.begin("s").await;
    let held = agent.ask_for(&context, "may I think?", 1.5).await;
    let reply = world.hold("s", &held.clarify_id, "ann").await;
    assert_eq!(reply, InboxReply::Held);
    let Some(Told::Held(told)) = attachment.next().await else {
        panic!("the asker hears of the hold")
    };
    assert_eq!(told.clarify_id, held.clarify_id);
    assert_eq!(told.actor.unwrap().person, "ann");
    // Holding again, by whomever, is the same.
    assert_eq!(
        world.hold("s", &held.clarify_id, "bob").await,
        InboxReply::Held
    );
    let shown = agent.get(&held.clarify_id).await;
    assert_eq!(
        (shown.deadline_ms, shown.held_by.unwrap().person),
        (None, "ann".to_owned())
    );
    // A question asked after it, with the same patience, times out; the held one does not.
    let other = agent.ask_for(&context, "and this?", 1.5).await;
    assert_eq!(attachment.resolved().await.clarify_id, other.clarify_id);
    for agent in [&agent, &world.agent(&two)] {
        assert_eq!(agent.get(&held.clarify_id).await.status, "pending");
    }
    // After a restart it is still held, and an asker that attaches again is told.
    one.stop().await;
    two.stop().await;
    let replica = world.replica().await;
    let agent = agent.moved(&world.agent(&replica));
    let mut attachment = agent.attach(&[&held.clarify_id]).await;
    assert!(matches!(attachment.next().await, Some(Told::Held(_))));
    let body = InboxBody::Respond(says("bob", "thought"));
    let submitted = world.submit((TENANT, "s", &held.clarify_id), body).await;
    assert!(matches!(
        verdict(submitted).await,
        InboxReply::Settled { .. }
    ));
    // A hold of what is settled says how it ended.
    let reply = world.hold("s", &held.clarify_id, "cleo").await;
    assert!(matches!(reply, InboxReply::Late { .. }), "{reply:?}");
    let id = clarify_id(&held.clarify_id);
    let holds = world.events("s").await;
    let holds: Vec<_> = holds
        .iter()
        .filter(|e| e.clarify_id() == Some(id))
        .collect();
    assert_eq!(holds.len(), 3, "{holds:?}");
    assert!(matches!(&holds[1], Event::Held { actor: a, .. } if *a == actor("ann")));
    replica.stop().await;
}

// contract: E13
async fn overdue_deadlines_settle_after_a_restart(world: World) {
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let context = agent.begin("s").await;
    let mut studio = agent.ask_request(&context, "studio", question("soon?"));
    studio.call_limit_ms = Some(1_200);
    let asked = agent.try_ask(studio).await.unwrap();
    // A call that cannot be resumed ends with its caller, and a hold reaches no further.
    assert_eq!(asked.deadline_ms, Some(asked.requested_at_ms + 1_200));
    assert_eq!(asked.cap_ms, asked.requested_at_ms + 1_200);
    assert_eq!(
        world.hold("s", &asked.clarify_id, "ann").await,
        InboxReply::Held
    );
    replica.stop().await;
    until_ms(asked.cap_ms).await;
    assert_eq!(world.resolutions("s", &asked.clarify_id).await, 0);
    let (one, two) = (world.replica().await, world.replica().await);
    let settled = world.agent(&one).try_wait(&asked.clarify_id).await.unwrap();
    assert_eq!(outcome(&settled).reason, "timeout");
    one.stop().await;
    two.stop().await;
    assert_eq!(world.resolutions("s", &asked.clarify_id).await, 1);
}

// A deadline that has passed is noticed by whatever comes first: the end of the turn, its
// replacement, an answer that is itself too late. The answer in time still wins.
// contract: A4
async fn no_command_beats_an_answer_in_time(world: World) {
    // Answers wait until the gate opens; commands do not.
    let (gate, open) = watch::channel(false);
    let replica = world.replica().await;
    let agent = world.agent(&replica);
    let mut asked = Vec::new();
    for session in ["ended", "replaced", "late"] {
        let context = agent.begin(session).await;
        let in_time = agent.ask_for(&context, "in time?", 1.5).await;
        asked.push((session, context, in_time));
    }
    replica.stop().await;
    let mut first = Vec::new();
    for (session, _, asked) in &asked {
        let body = InboxBody::Respond(says("ann", "just in time"));
        let place = (TENANT, *session, asked.clarify_id.as_str());
        first.push((world.submit(place, body).await, &asked.clarify_id));
    }
    let deadline = asked[2].2.deadline_ms.unwrap();
    assert!(
        now_ms() < asked[0].2.deadline_ms.unwrap(),
        "this machine is too slow for this test"
    );
    until_ms(deadline).await;
    let body = InboxBody::Respond(says("bob", "too late"));
    let place = (TENANT, "late", asked[2].2.clarify_id.as_str());
    let late = world.submit(place, body).await;
    let held_back: Vec<_> = first.iter().map(|(_, id)| clarify_id(id)).collect();
    let replica = world
        .replica_with(Setup::default(), |bus| Bus {
            inbox: Arc::new(HeldBack {
                inner: Arc::clone(&bus.inbox),
                held_back: Arc::new(held_back),
                open,
            }),
            ..bus
        })
        .await;
    let agent = agent.moved(&world.agent(&replica));
    let ending = tokio::spawn({
        let (agent, context) = (agent.clone(), asked[0].1.clone());
        async move { agent.end(&context, "completed").await }
    });
    let replacing = tokio::spawn({
        let agent = agent.clone();
        async move { agent.begin("replaced").await }
    });
    // Time is the subject: they had every chance to settle it.
    until_ms(deadline + 1_000).await;
    gate.send(true).unwrap();
    for (submitted, id) in first {
        let reply = verdict(submitted).await;
        assert!(matches!(reply, InboxReply::Settled { .. }), "{reply:?}");
        let settled = agent.get(id).await;
        let answers = &outcome(&settled).answers;
        assert_eq!(answers[0].text.as_deref(), Some("just in time"));
    }
    let reply = verdict(late).await;
    assert!(matches!(reply, InboxReply::Conflict { .. }), "{reply:?}");
    within("the turn ends", ending).await.unwrap().unwrap();
    within("a turn begins", replacing).await.unwrap();
    replica.stop().await;
}

/// An inbox that holds back the first message to each of some questions until a gate opens.
struct HeldBack {
    inner: Arc<dyn Inbox>,
    held_back: Arc<Vec<ClarifyId>>,
    open: watch::Receiver<bool>,
}

#[async_trait]
impl Inbox for HeldBack {
    async fn submit(&self, submission: Submission) -> Result<Submitted, LedgerError> {
        self.inner.submit(submission).await
    }

    async fn take(&self, tenant: &TenantId) -> Result<mpsc::Receiver<Delivery>, LedgerError> {
        let mut inner = self.inner.take(tenant).await?;
        let (out, gated) = mpsc::channel(8);
        let (held_back, open) = (Arc::clone(&self.held_back), self.open.clone());
        tokio::spawn(async move {
            let mut held_back: Vec<_> = held_back.iter().map(ToString::to_string).collect();
            while let Some(delivery) = inner.recv().await {
                let held = held_back
                    .iter()
                    .position(|id| *id == delivery.clarify_token);
                let (out, mut open) = (out.clone(), open.clone());
                if let Some(at) = held {
                    held_back.remove(at);
                }
                tokio::spawn(async move {
                    if held.is_some() {
                        let _ = open.wait_for(|open| *open).await;
                    }
                    let _ = out.send(delivery).await;
                });
            }
        });
        Ok(gated)
    }

    async fn oldest(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        id: ClarifyId,
    ) -> Result<Option<Timestamp>, LedgerError> {
        self.inner.oldest(tenant, session, id).await
    }
}
