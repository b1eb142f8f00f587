//! `GET /api/events`: what a socket says, for whoever cannot open one. It answers at once when the log
//! has gone on since `after`, else as soon as it does, at the latest after 25 seconds.

use crate::caller::{Person, recheck};
use crate::feed::{self, Behind, Snapshot, Written};
use crate::gateway::Gateway;
use crate::params::Params;
use crate::presence::Seat;
use crate::projection::{Card, Change};
use crate::reply::{Refusal, ok};
use crate::{drafts, plans, socket, view};
use askbus_domain::{SessionId, Timestamp};
use askbus_wire::error::ErrorCode;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;

/// How long a request waits for news at most.
const PATIENCE: Duration = Duration::from_secs(25);

#[derive(Debug, Deserialize)]
pub(crate) struct Query {
    /// Everything up to here is known; none: nothing is.
    after: Option<String>,
    session: Option<String>,
    surface: Option<String>,
    /// The `now` of the answer before: drafts since then are told.
    since: Option<String>,
    /// The caller's tab, whose own drafts are no news to it.
    tab: Option<String>,
}

/// `GET /api/events?after=…`: `{ok, events, seq, now}`. The events are the objects of `/ws`, the same
/// ones in the same order: `hello`, what was settled and what waits or changed since `after`, plans,
/// drafts since `since`, and `ready`, which names all that waits. It counts as presence for as long as it
/// lasts.
pub(crate) async fn show(
    State(gateway): State<Arc<Gateway>>,
    person: Person,
    Params(query): Params<Query>,
) -> Result<Response, Refusal> {
    let invalid = |what: &str| Refusal::new(ErrorCode::InvalidRequest, what);
    let after = number::<u64>(query.after.as_deref(), "after")?;
    let since = number::<i64>(query.since.as_deref(), "since")?;
    let session = match query.session.as_deref() {
        None | Some("") => None,
        Some(text) => Some(SessionId::new(text).map_err(|e| invalid(&e.to_string()))?),
    };
    let _place = gateway
        .live
        .open(person.tenant(), &person.0.credential.subject)?;
    let _seat = Seat::sit(&gateway, &person, query.session.as_deref());
    let look = Look {
        gateway: &gateway,
        person: &person,
        session,
        panel: query.surface.as_deref() == Some("panel"),
        tab: query.tab.as_deref().map(drafts::cut_tab),
    };
    let caught_up = gateway.feed.catches_up(&*gateway.bus.ledger, after).await;
    let after = caught_up.map_err(|Behind| {
        let message = "this instance is behind; nothing was lost; try again in a moment";
        Refusal::new(ErrorCode::Unavailable, message)
    })?;
    let since = since.map(Timestamp::from_unix_millis);
    let news = look.events(after, since).await;
    if let Some(ended) = recheck(&gateway, &person.0) {
        let message = format!("{ended}; nothing is told; sign in again");
        return Err(Refusal::new(ErrorCode::Unauthenticated, message));
    }
    Ok(ok(&json!({
        "ok": true,
        "events": news.events,
        "seq": news.seq,
        "now": news.now.unix_millis(),
    })))
}

fn number<T: FromStr>(text: Option<&str>, name: &str) -> Result<Option<T>, Refusal> {
    let given = text.filter(|text| !text.is_empty());
    let read = given.map(str::parse).transpose();
    let message = format!("{name} must be a number");
    read.map_err(|_| Refusal::new(ErrorCode::InvalidRequest, message))
}

/// What is told, and where the next request goes on.
struct News {
    events: Vec<Value>,
    seq: u64,
    now: Timestamp,
}

struct Look<'a> {
    gateway: &'a Arc<Gateway>,
    person: &'a Person,
    session: Option<SessionId>,
    panel: bool,
    tab: Option<String>,
}

impl Look<'_> {
    fn wants(&self, session: &SessionId) -> bool {
        self.session.as_ref().is_none_or(|s| s == session)
    }

    async fn events(&self, after: Option<u64>, since: Option<Timestamp>) -> News {
        let (feed, viewer) = (&self.gateway.feed, self.person.viewer());
        let from = after.unwrap_or(u64::MAX);
        let mut snapshot = feed.snapshot(&viewer, from);
        let (begun, mut written) = self.drafts(since);
        if written.is_empty() && after.is_some_and(|after| after >= snapshot.seq) {
            self.wait(&mut snapshot).await;
            snapshot = feed.snapshot(&viewer, from);
        }
        let (now, more) = self.drafts(Some(begun));
        written.extend(more);
        let mut events = vec![socket::hello(self.gateway, self.person, snapshot.seq)];
        let resolved = snapshot.resolved.iter();
        events.extend(resolved.filter(|(_, c)| self.wants(&c.session)).filter_map(
            |(seq, card)| {
                let outcome = card.clarification.outcome.as_ref()?;
                Some(view::resolved(card, *seq, outcome))
            },
        ));
        let pending = snapshot.pending.iter().filter(|c| self.wants(&c.session));
        let pending: Vec<Arc<Card>> = pending.cloned().collect();
        let new = |card: &&Arc<Card>| after.is_none_or(|after| card.moved_after(after));
        events.extend(pending.iter().filter(new).map(|card| self.requested(card)));
        let plans = snapshot.plans.iter();
        events.extend(
            plans
                .filter(|c| self.wants(&c.session))
                .map(|c| plans::updated(c)),
        );
        events.extend(latest(&written, self.person).map(|d| drafts::event(d, self.person)));
        if after.is_none() {
            let own = drafts::own(self.gateway, self.person, &pending).await;
            events.extend(
                own.iter()
                    .map(|(card, kept)| drafts::own_event(card, &kept.draft)),
            );
        }
        let mut ready = socket::ready(snapshot.seq, &pending);
        if let Some(fields) = ready.as_object_mut() {
            let gone = pending.iter().filter(|card| self.gone(card));
            let gone: Vec<_> = gone.map(|card| card.id()).collect();
            fields.insert("disconnected".to_owned(), json!(gone));
        }
        events.push(ready);
        News {
            events,
            seq: snapshot.seq,
            now,
        }
    }

    /// The drafts told since a moment that are news to this caller, and the moment to go on from.
    fn drafts(&self, since: Option<Timestamp>) -> (Timestamp, Vec<Written>) {
        let now = || self.gateway.now();
        let tenant = self.person.tenant();
        let (now, mut written) = self.gateway.feed.drafts_since(tenant, now, since);
        written.retain(|draft| self.hears(draft));
        (now, written)
    }

    fn hears(&self, written: &Written) -> bool {
        let own = written.person == self.person.0.credential.subject;
        let same_tab = own && self.tab.as_ref() == Some(&written.draft.tab);
        let card = &written.card;
        !same_tab && self.person.viewer().sees(card) && self.wants(&card.session)
    }

    fn requested(&self, card: &Card) -> Value {
        let (gateway, person) = (self.gateway, self.person);
        let now = gateway.now();
        let asker = gateway
            .presence
            .asker(person.tenant(), &card.clarification, now);
        let object = view::requested(card, now, asker, person);
        if self.panel {
            view::rendered(object, card)
        } else {
            object
        }
    }

    fn gone(&self, card: &Card) -> bool {
        let presence = &self.gateway.presence;
        let asker = presence.asker(
            self.person.tenant(),
            &card.clarification,
            self.gateway.now(),
        );
        asker.disconnected == Some(true)
    }

    /// Waits until something happens that this person sees.
    async fn wait(&self, snapshot: &mut Snapshot) {
        let viewer = self.person.viewer();
        let next = async {
            loop {
                let news = match snapshot.news.recv().await {
                    Ok(news) => news,
                    Err(RecvError::Lagged(_) | RecvError::Closed) => return,
                };
                let heard = match &*news {
                    feed::News::Change(Change { card, .. }) | feed::News::Asker(card) => {
                        viewer.sees(card) && self.wants(&card.session)
                    }
                    feed::News::Plan(card) => viewer.sees_plan(card) && self.wants(&card.session),
                    feed::News::Draft(written) => self.hears(written),
                };
                if heard {
                    return;
                }
            }
        };
        let mut revocations = self.gateway.verifier.revocations();
        let ended = async {
            while revocations.changed().await.is_ok() {
                if recheck(self.gateway, &self.person.0).is_some() {
                    return;
                }
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            biased;
            () = self.gateway.shutdown.cancelled() => {}
            () = ended => {}
            // When nothing comes, that is told.
            _ = tokio::time::timeout(PATIENCE, next) => {}
        }
    }
}

/// Of each person, question and tab the last draft; of other people their tabs are nobody's business.
fn latest<'a>(written: &'a [Written], person: &Person) -> impl Iterator<Item = &'a Written> {
    let me = &person.0.credential.subject;
    let mut seen = HashSet::new();
    let mut last: Vec<&Written> = Vec::new();
    for draft in written.iter().rev() {
        let tab = (draft.person == *me).then_some(&draft.draft.tab);
        if seen.insert((draft.card.id(), &draft.person, tab)) {
            last.push(draft);
        }
    }
    last.into_iter().rev()
}
