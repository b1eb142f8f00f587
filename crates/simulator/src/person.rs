//! People: they follow the log and answer through the inbox, early or late, twice or not at all.

use crate::random::Random;
use crate::world::{Sent, World, tenant};
use askbus_domain::{
    Actor, AnswerAction, AnswerEntry, AnswerId, ClarifyId, Clock, Event, OptionId, PersonId,
    QuestionId, Response, Rights, SessionId, Surface,
};
use askbus_ledger::Submission;
use askbus_wire::codec::Decoded;
use askbus_wire::messages::{InboxBody, InboxMessage};
use std::sync::Arc;
use std::time::Duration;

/// How long an author waits for a verdict.
const VERDICT: Duration = Duration::from_secs(30);
/// Nobody takes longer to answer, in milliseconds.
const LONGEST: u64 = 20_000;

/// A question as a person sees it.
#[derive(Clone)]
struct Seen {
    session: SessionId,
    clarify_id: ClarifyId,
    seq: u64,
    clock: Clock,
}

#[derive(Clone, Copy)]
enum Act {
    Ignore,
    Answer,
    Dismiss,
    Skip,
    AskBack,
    Hold,
    Misfit,
}

/// One person until the run is over.
pub(crate) async fn live(world: Arc<World>, name: &'static str, mut random: Random) {
    let Ok(person) = PersonId::new(name) else {
        return;
    };
    let Ok(mut tail) = world.bus.ledger.tail(1).await else {
        return world.broken("a person cannot follow the log");
    };
    loop {
        let stored = tokio::select! {
            biased;
            () = world.over.cancelled() => return,
            stored = tail.recv() => stored,
        };
        let Some(stored) = stored else { return };
        let Decoded::Commit(commit) = &stored.decoded else {
            world.broken("the log holds what nobody can read");
            continue;
        };
        for event in &commit.events {
            if let Event::Requested {
                clarify_id, clock, ..
            } = event
            {
                let seen = Seen {
                    session: stored.session.clone(),
                    clarify_id: *clarify_id,
                    seq: stored.seq,
                    clock: *clock,
                };
                let acting = act(Arc::clone(&world), person.clone(), seen, random.fork());
                world.acting.spawn(acting);
            }
        }
    }
}

async fn act(world: Arc<World>, person: PersonId, seen: Seen, mut random: Random) {
    let left = world.clock.now().until(seen.clock.expires_at(false)).0;
    // Around the deadline it is most interesting.
    let wait = if random.percent(30) {
        random.between(left.saturating_sub(300), left + 700)
    } else {
        random.between(0, left.saturating_mul(13) / 10)
    };
    tokio::time::sleep(Duration::from_millis(wait.min(LONGEST))).await;
    let kind = random.choose(
        &[
            (20, Act::Ignore),
            (45, Act::Answer),
            (7, Act::Dismiss),
            (4, Act::Skip),
            (4, Act::AskBack),
            (14, Act::Hold),
            (6, Act::Misfit),
        ],
        Act::Ignore,
    );
    let actor = Actor {
        person,
        surface: Surface::Web,
    };
    if matches!(kind, Act::Ignore) {
        return;
    }
    if matches!(kind, Act::Hold) {
        let body = InboxBody::Hold {
            actor: actor.clone(),
        };
        send(&world, &seen, body, &mut random).await;
        if random.percent(30) {
            return;
        }
        tokio::time::sleep(random.millis(0, 15_000)).await;
    }
    if let Some(response) = response(actor, kind, &mut random) {
        let body = InboxBody::Respond(response);
        send(&world, &seen, body.clone(), &mut random).await;
        if random.percent(20) {
            // The same again, at once or much later.
            tokio::time::sleep(random.millis(0, 4_000)).await;
            send(&world, &seen, body, &mut random).await;
        }
    }
}

fn response(actor: Actor, kind: Act, random: &mut Random) -> Option<Response> {
    let action = match kind {
        Act::Dismiss => AnswerAction::Dismiss,
        Act::Skip => AnswerAction::Skip,
        Act::AskBack => AnswerAction::AskBack,
        Act::Ignore | Act::Answer | Act::Hold | Act::Misfit => AnswerAction::Answer,
    };
    let id = format!("{}-{:016x}", actor.person, random.seed());
    let mut entry = AnswerEntry::default();
    if random.percent(50) {
        entry.option_ids = vec![OptionId::new("o1").ok()?];
    } else {
        entry.text = Some(format!("words of {id}"));
    }
    if matches!(kind, Act::Misfit) {
        entry.question_id = Some(QuestionId::new("q9").ok()?);
    }
    Some(Response {
        answer_id: AnswerId::new(&id).ok()?,
        actor,
        action,
        answers: vec![entry],
        text: matches!(kind, Act::AskBack).then(|| format!("more for {id}")),
    })
}

/// Sends until the inbox says that it has it, or patience is over.
async fn send(world: &Arc<World>, seen: &Seen, body: InboxBody, random: &mut Random) {
    for _ in 0..6 {
        let submission = Submission {
            tenant: tenant(),
            session: seen.session.clone(),
            clarify_id: seen.clarify_id,
            message: InboxMessage::new(seen.seq, Rights::default(), body.clone()),
            trace: None,
        };
        if let Ok(submitted) = world.bus.inbox.submit(submission).await {
            let place = {
                let mut records = world.records();
                records.sent.push(Sent {
                    session: seen.session.clone(),
                    clarify_id: seen.clarify_id,
                    body,
                    reply: None,
                });
                records.sent.len() - 1
            };
            let reply = tokio::time::timeout(VERDICT, submitted.reply).await;
            if let (Ok(Ok(reply)), Some(sent)) = (reply, world.records().sent.get_mut(place)) {
                sent.reply = Some(reply);
            }
            return;
        }
        tokio::time::sleep(random.millis(50, 500)).await;
    }
}
