//! Finding a clarification by its id: in the picture, else in the log, because history there is
//! longer than what is kept in memory.

use crate::feed::Viewer;
use crate::gateway::Gateway;
use crate::projection::{Card, Projection};
use askbus_domain::{ClarifyId, Rejection, SessionId};
use askbus_ledger::LedgerError;
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

/// Whether there is no such card in sight, and not only no way to know now.
pub(crate) fn is_unknown(error: &WireError) -> bool {
    error.code != ErrorCode::Unavailable
}

fn unavailable(error: impl std::fmt::Display) -> WireError {
    WireError::new(
        ErrorCode::Unavailable,
        format!("{error}; nothing was changed; try again"),
    )
}

/// The card as the log holds it now, wherever it is. This searches the log from the moment that the
/// id names; who knows the session asks [`in_session`], which does not.
async fn in_log(
    gateway: &Gateway,
    viewer: &Viewer,
    id: ClarifyId,
) -> Result<Option<Arc<Card>>, WireError> {
    let found = gateway.bus.ledger.find_requested(&viewer.tenant, id).await;
    match found.map_err(unavailable)? {
        Some(requested) => in_session(gateway, viewer, &requested.session, id).await,
        None => Ok(None),
    }
}

/// The card as the log holds it now, folded from its whole session.
pub(crate) async fn in_session(
    gateway: &Gateway,
    viewer: &Viewer,
    of: &SessionId,
    id: ClarifyId,
) -> Result<Option<Arc<Card>>, WireError> {
    let folded = session(gateway, viewer, of).await.map_err(unavailable)?;
    Ok(folded.card(id).cloned())
}

/// All cards of a session as the log holds them now.
pub(crate) async fn session(
    gateway: &Gateway,
    viewer: &Viewer,
    of: &SessionId,
) -> Result<Projection, LedgerError> {
    let stored = gateway.bus.ledger.read_session(&viewer.tenant, of, 1).await;
    let mut folded = Projection::default();
    for message in stored? {
        if let Decoded::Commit(commit) = &message.decoded {
            folded.apply(message.seq, commit, message.trace.as_deref());
        }
    }
    Ok(folded)
}
