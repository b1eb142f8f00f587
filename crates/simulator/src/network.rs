//! Connections between callers and one process, which can all be cut at once.

use askbus_wire::memory::{MemoryAddress, MemoryListener};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Carries connections from `front` to `back` until `end` is cancelled; then all of them break and
/// new ones are refused. `reset` breaks those that are open.
pub(crate) async fn carry(
    mut front: MemoryListener,
    back: MemoryAddress,
    reset: tokio::sync::watch::Receiver<u64>,
    end: CancellationToken,
) {
    let mut open = JoinSet::new();
    let mut reset = reset;
    loop {
        tokio::select! {
            biased;
            () = end.cancelled() => return,
            changed = reset.changed() => {
                open.abort_all();
                if changed.is_err() { return }
            }
            _ = open.join_next(), if !open.is_empty() => {}
            near = front.accept() => {
                let Some(mut near) = near else { return };
                let back = back.clone();
                open.spawn(async move {
                    if let Ok(mut far) = back.connect().await {
                        let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                    }
                });
            }
        }
    }
}
