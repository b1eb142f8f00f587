//! What every inbox must do.

use super::samples::{actor, answer, clarification, session, tenant};
use super::{next, reached, submit, within};
use askbus_ledger::{Bus, Delivery, LedgerError, Submission};
use askbus_wire::messages::{InboxBody, InboxMessage, InboxReply};
use std::collections::HashSet;
use tokio::sync::mpsc;

/// Takes one message, settles it, and drops whatever comes again of it.
async fn judge(taker: &mut mpsc::Receiver<Delivery>, wanted: &str) -> InboxMessage {
    loop {
        let delivery = next(taker).await;
        let message: InboxMessage = serde_json::from_slice(&delivery.payload).unwrap();
        delivery.reply.send(&InboxReply::Held).await;
        delivery.acker.ack().await.unwrap();
        if message.message_id() == wanted {
            return message;
        }
    }
}

/// Acks what comes until nothing is unjudged any more: a server takes an ack out of the inbox
/// after it was sent, not before.
pub async fn drain(bus: &Bus, taker: &mut mpsc::Receiver<Delivery>, submission: &Submission) {
    let (t, s, id) = (
        &submission.tenant,
        &submission.session,
        submission.clarify_id,
    );
    within("an empty inbox", async {
        loop {
            if reached!(bus.inbox.oldest(t, s, id)).is_none() {
                return;
            }
            while let Ok(delivery) = taker.try_recv() {
                delivery.acker.ack().await.unwrap();
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
}

pub async fn inbox(bus: &Bus) {
    let (t, s, id) = (tenant("acme"), session("s"), clarification());
    let first = answer(&t, &s, id, "ana", "a1");
    assert_eq!(reached!(bus.inbox.oldest(&t, &s, id)), None);
    // Durable before anybody takes it.
    submit(bus, &first).await;
    let stored = reached!(bus.inbox.oldest(&t, &s, id)).expect("it is unjudged");
    submit(bus, &answer(&t, &s, id, "ben", "b1")).await;
    assert_eq!(
        reached!(bus.inbox.oldest(&t, &s, id)),
        Some(stored),
        "the older one counts"
    );
    assert_eq!(reached!(bus.inbox.oldest(&t, &s, clarification())), None);

    let mut taker = reached!(bus.inbox.take(&t));
    let delivery = next(&mut taker).await;
    assert_eq!((&delivery.tenant, &delivery.session), (&t, &s));
    assert_eq!(delivery.clarify_token, id.to_string());
    assert_eq!(delivery.deliveries, 1);
    assert!(delivery.stored_at >= stored);
    delivery.acker.ack().await.unwrap();
    drain(bus, &mut taker, &first).await;

    // A taker that waits already gets what is sent now, and may refuse to have it again.
    let second = answer(&t, &s, id, "ana", "a2");
    submit(bus, &second).await;
    let delivery = next(&mut taker).await;
    delivery.acker.term().await.unwrap();
    drain(bus, &mut taker, &second).await;
}

pub async fn inbox_dedupe(bus: &Bus) {
    let (t, s, id) = (tenant("acme"), session("s"), clarification());
    for _ in 0..3 {
        submit(bus, &answer(&t, &s, id, "ana", "same")).await;
    }
    // Another author, another clarification, another tenant: other messages.
    submit(bus, &answer(&t, &s, id, "ben", "same")).await;
    submit(bus, &answer(&t, &s, clarification(), "ana", "same")).await;
    submit(bus, &answer(&t, &s, id, "ana", "other")).await;
    submit(bus, &answer(&tenant("globex"), &s, id, "ana", "same")).await;
    let mut taker = reached!(bus.inbox.take(&t));
    let mut seen = HashSet::new();
    let mut fresh = 0;
    while seen.len() < 4 {
        let delivery = next(&mut taker).await;
        let message: InboxMessage = serde_json::from_slice(&delivery.payload).unwrap();
        fresh += u64::from(delivery.deliveries == 1);
        seen.insert((
            delivery.clarify_token.clone(),
            message.actor().person.clone(),
            message.message_id().to_owned(),
        ));
        delivery.acker.ack().await.unwrap();
    }
    assert_eq!(fresh, 4, "each of the four is stored once");
    drain(bus, &mut taker, &answer(&t, &s, id, "ana", "same")).await;
    // The same id with another content, and a hold beside an answer called "hold".
    let mut corrected = answer(&t, &s, id, "ana", "same");
    if let InboxBody::Respond(response) = &mut corrected.message.body {
        response.answers[0].text = Some("SQLite".into());
    }
    let answered = answer(&t, &s, id, "ana", "hold");
    let mut held = answered.clone();
    held.message.body = InboxBody::Hold {
        actor: actor("ana"),
    };
    for submission in [&corrected, &held, &answered] {
        submit(bus, submission).await;
    }
    let mut wanted = vec![corrected.message, held.message, answered.message];
    while !wanted.is_empty() {
        let delivery = next(&mut taker).await;
        let message: InboxMessage = serde_json::from_slice(&delivery.payload).unwrap();
        wanted.retain(|w| *w != message);
        delivery.acker.ack().await.unwrap();
    }
    let mut foreign = reached!(bus.inbox.take(&tenant("globex")));
    assert_eq!(next(&mut foreign).await.tenant, tenant("globex"));
}

pub async fn inbox_tenants(bus: &Bus) {
    let (acme, globex, s) = (tenant("acme"), tenant("globex"), session("s"));
    let mut of_acme = reached!(bus.inbox.take(&acme));
    let mut of_globex = reached!(bus.inbox.take(&globex));
    for i in 0..20 {
        let t = if i % 2 == 0 { &acme } else { &globex };
        submit(
            bus,
            &answer(t, &s, clarification(), "ana", &format!("a{i}")),
        )
        .await;
    }
    for (taker, t) in [(&mut of_acme, &acme), (&mut of_globex, &globex)] {
        let mut seen = HashSet::new();
        while seen.len() < 10 {
            let delivery = next(taker).await;
            assert_eq!(delivery.tenant, *t);
            seen.insert(delivery.clarify_token.clone());
            delivery.acker.ack().await.unwrap();
        }
    }
}

/// Two takers of one tenant share the work.
pub async fn inbox_shared(left: &Bus, right: &Bus) {
    let (t, s) = (tenant("acme"), session("s"));
    let mut one = reached!(left.inbox.take(&t));
    let mut two = reached!(right.inbox.take(&t));
    let mut wanted = HashSet::new();
    for i in 0..200 {
        let id = clarification();
        wanted.insert(id.to_string());
        submit(left, &answer(&t, &s, id, "ana", &format!("a{i}"))).await;
    }
    while !wanted.is_empty() {
        let delivery = within("a message", async {
            tokio::select! { d = one.recv() => d, d = two.recv() => d }
        })
        .await
        .unwrap();
        delivery.acker.ack().await.unwrap();
        wanted.remove(&delivery.clarify_token);
    }
}

pub async fn inbox_redelivery(bus: &Bus) {
    let (t, s, id) = (tenant("acme"), session("s"), clarification());
    let submission = answer(&t, &s, id, "ana", "a1");
    submit(bus, &submission).await;
    let mut vanishing = reached!(bus.inbox.take(&t));
    let first = next(&mut vanishing).await;
    assert_eq!(first.deliveries, 1);
    drop((first, vanishing));
    assert!(
        reached!(bus.inbox.oldest(&t, &s, id)).is_some(),
        "taken is not judged"
    );
    let mut taker = reached!(bus.inbox.take(&t));
    let again = next(&mut taker).await;
    assert!(again.deliveries >= 2, "it says that it comes again");
    again.acker.ack().await.unwrap();
    drain(bus, &mut taker, &submission).await;
}

pub async fn inbox_reply(bus: &Bus, taking: &Bus) {
    let (t, s) = (tenant("acme"), session("s"));
    let mut taker = reached!(taking.inbox.take(&t));
    // A verdict may be lost, but not always.
    for i in 0..30 {
        let message_id = format!("a{i}");
        let submission = answer(&t, &s, clarification(), "ana", &message_id);
        let submitted = submit(bus, &submission).await;
        let judged = judge(&mut taker, &message_id).await;
        assert_eq!(judged, submission.message);
        if let Ok(reply) = within("a verdict or none", submitted.reply).await {
            assert_eq!(reply, InboxReply::Held);
            return;
        }
    }
    panic!("no verdict reached its author");
}
