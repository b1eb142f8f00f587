//! `GET /api/events`: what a socket says, for whoever cannot open one. It answers at once when the log
//! has gone on since `after`, else as soon as it does, at the latest after 25 seconds.

use crate::caller::Person;
use crate::feed::{News, Snapshot};
use crate::gateway::Gateway;
use crate::params::Params;
use crate::presence::Seat;
use crate::projection::Card;
use crate::reply::{Refusal, ok};
use crate::{drafts, plans, socket, view};
use askbus_domain::SessionId;
use askbus_wire::error::ErrorCode;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
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
}

/// `GET /api/events?after=…`: `{ok, events, seq}`. The events are the objects of `/ws`, the same ones
/// in the same order: `hello`, what was settled and what waits or changed since `after`, plans, and
/// `ready`, which names all that waits. It counts as presence for as long as it lasts.
pub(crate) async fn show(
    State(gateway): State<Arc<Gateway>>,
    person: Person,
    Params(query): Params<Query>,
) -> Result<Response, Refusal> {
    let invalid = |what: &str| Refusal::new(ErrorCode::InvalidRequest, what);
    let after: Option<u64> = match query.after.as_deref() {
        None | Some("") => None,
        Some(text) => Some(
            text.parse()
                .map_err(|_| invalid("after must be a number"))?,
        ),
    };
    let session = match query.session.as_deref() {
        None | Some("") => None,
        Some(text) => Some(SessionId::new(text).map_err(|e| invalid(&e.to_string()))?),
    };
    let Ok(_permit) = Arc::clone(&gateway.sockets).try_acquire_owned() else {
        let message = "too many live connections; nothing was lost; try again in a moment";
        return Err(Refusal::new(ErrorCode::RateLimited, message));
    };
    let _seat = Seat::sit(&gateway, &person, query.session.as_deref());
    let look = Look {
        gateway: &gateway,
        person: &person,
        session,
        panel: query.surface.as_deref() == Some("panel"),
    };
    let events = look.events(after).await;
    let seq = events.first().and_then(|hello| hello["seq"].as_u64());
    Ok(ok(&json!({"ok": true, "events": events, "seq": seq})))
}

struct Look<'a> {
    gateway: &'a Arc<Gateway>,
    person: &'a Person,
    session: Option<SessionId>,
    panel: bool,
}

impl Look<'_> {
    fn wants(&self, session: &SessionId) -> bool {
        self.session.as_ref().is_none_or(|s| s == session)
    }

    async fn events(&self, after: Option<u64>) -> Vec<Value> {
        let viewer = self.person.viewer();
        let from = after.unwrap_or(u64::MAX);
        let mut snapshot = self.gateway.feed.snapshot(&viewer, from);
        let mut moved = Vec::new();
        if after.is_some_and(|after| after >= snapshot.seq) {
            moved = self.news(&mut snapshot).await;
            snapshot = self.gateway.feed.snapshot(&viewer, from);
        }
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
        events.append(&mut moved);
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
        events
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

    /// Waits until something happens that this person sees; what does not stand in the log is returned.
    async fn news(&self, snapshot: &mut Snapshot) -> Vec<Value> {
        let viewer = self.person.viewer();
        let next = async {
            loop {
                let news = match snapshot.news.recv().await {
                    Ok(news) => news,
                    Err(RecvError::Lagged(_) | RecvError::Closed) => return Vec::new(),
                };
                match &*news {
                    News::Change(change) => {
                        if viewer.sees(&change.card) && self.wants(&change.card.session) {
                            return Vec::new();
                        }
                    }
                    News::Plan(card) => {
                        if viewer.sees_plan(card) && self.wants(&card.session) {
                            return Vec::new();
                        }
                    }
                    News::Asker(card) => {
                        if viewer.sees(card) && self.wants(&card.session) {
                            return Vec::new();
                        }
                    }
                    News::Draft {
                        card,
                        person,
                        draft,
                        ..
                    } => {
                        let own = *person == self.person.0.credential.subject;
                        if viewer.sees(card) && self.wants(&card.session) {
                            return vec![if own {
                                drafts::own_event(card, draft)
                            } else {
                                drafts::writing_event(card, person)
                            }];
                        }
                    }
                }
            }
        };
        tokio::select! {
            biased;
            () = self.gateway.shutdown.cancelled() => Vec::new(),
            news = tokio::time::timeout(PATIENCE, next) => news.unwrap_or_default(),
        }
    }
}
