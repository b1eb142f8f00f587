//! Finding a clarification by its id: in the picture, else in the log, because history there is
//! longer than what is kept in memory.

use crate::feed::Viewer;
use crate::gateway::Gateway;
use crate::projection::{Card, Projection};
use askbus_domain::{ClarifyId, Rejection};
use askbus_wire::codec::Decoded;
use askbus_wire::error::{ErrorCode, WireError};
use std::sync::Arc;

/// The card with this id, if it is in the viewer's sight. Unknown and foreign are one refusal.
pub(crate) async fn find(
    gateway: &Gateway,
    viewer: &Viewer,
    id: &str,
) -> Result<Arc<Card>, WireError> {
    let unknown = || WireError::from(Rejection::UnknownClarification);
    let id = ClarifyId::parse(id).map_err(|_| unknown())?;
    let card = match gateway.feed.card(&viewer.tenant, id) {
        Some(card) => Some(card),
        None => in_log(gateway, viewer, id).await?,
    };
    card.filter(|card| viewer.sees(card)).ok_or_else(unknown)
}

/// The card as the log holds it now, folded from its whole session.
pub(crate) async fn in_log(
    gateway: &Gateway,
    viewer: &Viewer,
    id: ClarifyId,
) -> Result<Option<Arc<Card>>, WireError> {
    let unavailable = |error: askbus_ledger::LedgerError| {
        WireError::new(
            ErrorCode::Unavailable,
            format!("{error}; nothing was changed; try again"),
        )
    };
    let ledger = &gateway.bus.ledger;
    let found = ledger
        .find_requested(&viewer.tenant, id)
        .await
        .map_err(unavailable)?;
    let Some(requested) = found else {
        return Ok(None);
    };
    let stored = ledger
        .read_session(&viewer.tenant, &requested.session, 1)
        .await;
    let mut session = Projection::default();
    for message in stored.map_err(unavailable)? {
        if let Decoded::Commit(commit) = &message.decoded {
            session.apply(message.seq, commit, message.trace.as_deref());
        }
    }
    Ok(session.card(id).cloned())
}
