//! `GET /api/history`: what was asked and how it ended, latest first, page by page. A page is a window
//! of the log's sequence: it begins before the one it is given and names the one to go on before, so
//! that nothing is told twice or left out while more is settled. What is no longer kept whole is read
//! from the log, message by message.

mod wanted;

use crate::caller::Person;
use crate::feed::{Known, Viewer};
use crate::gateway::Gateway;
use crate::params::Params;
use crate::projection::{Card, Past, Projection};
use crate::reply::{Refusal, ok};
use crate::view;
use askbus_ledger::Stored;
use askbus_wire::codec::Decoded;
use askbus_wire::error::{ErrorCode, WireError};
use axum::extract::State;
use axum::response::Response;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use wanted::{Filters, Wanted};

/// Questions of a page unless the caller wants fewer or more.
const DEFAULT_LIMIT: usize = 100;
/// Questions of a page at most, but for those that one commit settled together.
const MAX_LIMIT: usize = 1_000;
/// Questions looked at together.
const AT_ONCE: (usize, usize) = (16, 128);
/// Questions looked at for one page at most, and for how long; the next one goes on from there.
const MAX_LOOKED: usize = 100_000;
const MAX_TIME: Duration = Duration::from_secs(4);
/// Messages of the log read at the same time.
const READS: usize = 16;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Query {
    before: Option<String>,
    limit: Option<String>,
    session: Option<String>,
    reason: Option<String>,
    since: Option<String>,
    until: Option<String>,
    asker: Option<String>,
    person: Option<String>,
    text: Option<String>,
}

impl Query {
    fn filters(&self) -> Filters<'_> {
        Filters {
            session: given(self.session.as_ref()),
            reason: given(self.reason.as_ref()),
            since: given(self.since.as_ref()),
            until: given(self.until.as_ref()),
            asker: given(self.asker.as_ref()),
            person: given(self.person.as_ref()),
            text: given(self.text.as_ref()),
        }
    }
}

/// What a parameter says; an empty one is as good as none.
fn given(parameter: Option<&String>) -> Option<&str> {
    parameter
        .map(|text| text.trim())
        .filter(|text| !text.is_empty())
}

fn invalid(what: &str) -> Refusal {
    Refusal::new(ErrorCode::InvalidRequest, what)
}

fn number<T: std::str::FromStr>(text: Option<&str>, name: &str) -> Result<Option<T>, Refusal> {
    let read = text.map(str::parse).transpose();
    read.map_err(|_| invalid(&format!("{name} must be a number")))
}

/// `GET /api/history`.
pub(crate) async fn show(
    State(gateway): State<Arc<Gateway>>,
    person: Person,
    Params(query): Params<Query>,
) -> Result<Response, Refusal> {
    let wanted = Wanted::read(&query.filters()).map_err(|problem| invalid(&problem))?;
    let limit = number::<usize>(given(query.limit.as_ref()), "limit")?;
    let limit = limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    let before = number::<u64>(given(query.before.as_ref()), "before")?;
    let seq = gateway.feed.seq();
    let viewer = person.viewer();
    let page = page(
        &gateway,
        &viewer,
        &wanted,
        before.unwrap_or(u64::MAX),
        limit,
    )
    .await?;
    let cards = page.cards.iter();
    let objects: Vec<Value> = cards
        .map(|(seq, card)| object(&gateway, &person, *seq, card))
        .collect();
    Ok(ok(&json!({
        "ok": true,
        "clarifications": objects,
        "next": page.next,
        "seq": seq,
    })))
}

/// A card as every list shows it, with where in the log it was settled.
fn object(gateway: &Gateway, person: &Person, seq: u64, card: &Card) -> Value {
    let now = gateway.now();
    let asker = gateway
        .presence
        .asker(person.tenant(), &card.clarification, now);
    let mut object = view::clarification(card, now, asker, Some(person));
    if let Some(fields) = object.as_object_mut() {
        fields.extend(Map::from_iter([("seq".to_owned(), json!(seq))]));
    }
    object
}

struct Page {
    cards: Vec<(u64, Arc<Card>)>,
    /// Where the next page begins; none when there is nothing before this one.
    next: Option<u64>,
}

async fn page(
    gateway: &Gateway,
    viewer: &Viewer,
    wanted: &Wanted,
    before: u64,
    limit: usize,
) -> Result<Page, WireError> {
    let begun = Instant::now();
    let mut page = Page {
        cards: Vec::new(),
        next: Some(before),
    };
    let mut looked = 0;
    while let Some(before) = page.next {
        let left = limit.saturating_sub(page.cards.len());
        if left == 0 || looked >= MAX_LOOKED || begun.elapsed() > MAX_TIME {
            break;
        }
        let most = left.clamp(AT_ONCE.0, AT_ONCE.1);
        let known = gateway.feed.known();
        let past = gateway.feed.past(&viewer.tenant, before, most);
        page.next = past.last().map(Past::seq);
        if let (true, Known::After(after)) = (past.is_empty(), known) {
            // What was over long before this process started is still being read.
            page.next = Some(before.min(after.saturating_add(1)));
            let left = MAX_TIME.saturating_sub(begun.elapsed());
            let whole = gateway.feed.known_whole();
            if tokio::time::timeout(left, whole).await.is_err() {
                break;
            }
        }
        looked += past.len();
        let worth: Vec<Past> = past.into_iter().filter(|p| wanted.may_fit(p)).collect();
        for (seq, card) in whole(gateway, viewer, worth).await? {
            // What one commit settled is not torn apart.
            let last = page.cards.last().map(|(last, _)| *last);
            if page.cards.len() >= limit && last != Some(seq) {
                page.next = last;
                return Ok(page);
            }
            if viewer.sees(&card) && wanted.fits(&card) {
                page.cards.push((seq, card));
            }
        }
    }
    Ok(page)
}

/// These questions whole, in the same order; what is gone from the log is left out.
async fn whole(
    gateway: &Gateway,
    viewer: &Viewer,
    past: Vec<Past>,
) -> Result<Vec<(u64, Arc<Card>)>, WireError> {
    let places = past.iter().flat_map(|past| match past {
        Past::Kept(..) => [].as_slice(),
        Past::Shelved(_, places) => places,
    });
    // In the order of the log, so that each question finds the turn it was asked in.
    let places: BTreeSet<u64> = places.copied().collect();
    let reads = places
        .into_iter()
        .map(|seq| gateway.bus.ledger.read_at(seq));
    let read: Vec<Option<Arc<Stored>>> = stream::iter(reads)
        .buffered(READS)
        .try_collect()
        .await
        .map_err(|error| {
            let message = format!("{error}; try again");
            WireError::new(ErrorCode::Unavailable, message)
        })?;
    let mut projection = Projection::default();
    let own = |stored: &Arc<Stored>| stored.tenant == viewer.tenant;
    for stored in read.into_iter().flatten().filter(own) {
        if let Decoded::Commit(commit) = &stored.decoded {
            projection.apply(stored.seq, commit, stored.trace.as_deref());
        }
    }
    let whole = past.into_iter().filter_map(|past| match past {
        Past::Kept(seq, card) => Some((seq, card)),
        Past::Shelved(shelved, _) => {
            let mut card = Arc::clone(projection.card(shelved.id)?);
            // The messages that were read are not all of its turn.
            Arc::make_mut(&mut card).turn = shelved.turn;
            Some((shelved.settled_seq, card))
        }
    });
    Ok(whole.collect())
}
