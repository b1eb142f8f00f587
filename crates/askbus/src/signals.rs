//! Being told to stop.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that is cancelled by SIGTERM or SIGINT.
pub(crate) fn shutdown() -> std::io::Result<CancellationToken> {
    let token = CancellationToken::new();
    let (mut term, mut int) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    );
    let cancelled = token.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        cancelled.cancel();
    });
    Ok(token)
}
