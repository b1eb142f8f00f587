//! Following the log of the embedded file: first what is old, then what is written.

use super::{Shared, replay};
use crate::{LedgerError, Stored};
use futures::StreamExt as _;
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Messages between a tail and its reader.
const CAPACITY: usize = 1024;
/// Messages handed over at once; so many fit.
const AT_ONCE: usize = 128;

/// Why a tail does not go on.
enum End {
    /// Its reader left, or the file is closed.
    Done,
    /// The file cannot be read now.
    Failed(LedgerError),
}

impl From<LedgerError> for End {
    fn from(error: LedgerError) -> Self {
        End::Failed(error)
    }
}

/// Starts a tail from sequence `from` on.
pub(super) fn start(
    shared: &Arc<Shared>,
    from: u64,
) -> Result<mpsc::Receiver<Arc<Stored>>, LedgerError> {
    let (out, messages) = mpsc::channel(CAPACITY);
    shared.spawn(follow(Arc::clone(shared), from, out))?;
    Ok(messages)
}

/// Starts a tail of what still matters, and of whatever comes.
pub(super) fn start_current(
    shared: &Arc<Shared>,
) -> Result<mpsc::Receiver<Arc<Stored>>, LedgerError> {
    let (out, messages) = mpsc::channel(CAPACITY);
    let this = Arc::clone(shared);
    shared.spawn(async move {
        let mut next = 1;
        if let Some(until) = this.current.until() {
            while next <= until {
                let sent = tokio::select! {
                    biased;
                    () = this.stop.cancelled() => return,
                    sent = send_current(&this, &mut next, &out) => sent,
                };
                match sent {
                    Ok(()) => next = until + 1,
                    Err(end) => {
                        if !waited(&this, end, next, &out).await {
                            return;
                        }
                    }
                }
            }
        }
        follow(this, next, out).await;
    })?;
    Ok(messages)
}

/// Sends what still matters of the messages from `next` on.
async fn send_current(
    shared: &Arc<Shared>,
    next: &mut u64,
    out: &mpsc::Sender<Arc<Stored>>,
) -> Result<(), End> {
    let mut batches = pin!(shared.replay_current());
    while let Some(batch) = batches.next().await {
        send_new(&batch?.messages, next, out).await?;
    }
    Ok(())
}

/// Waits until the file can be read again. Not when the tail is to end.
async fn waited(shared: &Shared, end: End, next: u64, out: &mpsc::Sender<Arc<Stored>>) -> bool {
    let End::Failed(error) = end else {
        return false;
    };
    if !shared.stop.is_cancelled() {
        tracing::warn!(%error, next, "a tail stands still: the log cannot be read");
    }
    tokio::select! {
        () = shared.stop.cancelled() => false,
        () = out.closed() => false,
        () = shared.readable_again() => true,
    }
}

/// Feeds one tail until its reader leaves or the file is closed.
async fn follow(shared: Arc<Shared>, mut next: u64, out: mpsc::Sender<Arc<Stored>>) {
    let mut last = shared.log.last.subscribe();
    loop {
        let end = *last.borrow_and_update();
        let sent = tokio::select! {
            biased;
            () = shared.stop.cancelled() => return,
            sent = send_until(&shared, &mut next, end, &out) => sent,
        };
        if let Err(end) = sent {
            if waited(&shared, end, next, &out).await {
                continue;
            }
            return;
        }
        tokio::select! {
            () = shared.stop.cancelled() => return,
            () = out.closed() => return,
            changed = last.changed() => if changed.is_err() { return },
        }
    }
}

/// Sends everything from `next` to `end`.
async fn send_until(
    shared: &Arc<Shared>,
    next: &mut u64,
    end: u64,
    out: &mpsc::Sender<Arc<Stored>>,
) -> Result<(), End> {
    while *next <= end {
        if let Some(batch) = shared.log.recent_from(*next) {
            send_on(batch, next, end, out).await?;
            continue;
        }
        let whole = replay::whole(*next, end);
        if whole.is_empty() {
            let batch = shared.read_from(*next).await?;
            send_on(batch, next, end, out).await?;
        } else {
            let left = replay::first_of(whole.end);
            let mut batches = pin!(shared.replay(whole));
            while let Some(batch) = batches.next().await {
                send_new(&batch?.messages, next, out).await?;
            }
            *next = left;
        }
    }
    Ok(())
}

/// Sends those from `next` on.
async fn send_new(
    messages: &[Arc<Stored>],
    next: &mut u64,
    out: &mpsc::Sender<Arc<Stored>>,
) -> Result<(), End> {
    let new = messages.partition_point(|m| m.seq < *next);
    send(messages.get(new..).unwrap_or_default(), out).await?;
    if let Some(last) = messages.last() {
        *next = (last.seq + 1).max(*next);
    }
    Ok(())
}

/// Sends the next messages up to `end` or beyond.
async fn send_on(
    messages: Vec<Arc<Stored>>,
    next: &mut u64,
    end: u64,
    out: &mpsc::Sender<Arc<Stored>>,
) -> Result<(), End> {
    // Old messages may be gone from the file; then there is nothing before the end.
    *next = messages.last().map_or(end, |m| m.seq) + 1;
    send(&messages, out).await
}

async fn send(messages: &[Arc<Stored>], out: &mpsc::Sender<Arc<Stored>>) -> Result<(), End> {
    for few in messages.chunks(AT_ONCE) {
        let room = out.reserve_many(few.len()).await.map_err(|_| End::Done)?;
        for (place, message) in room.zip(few) {
            place.send(Arc::clone(message));
        }
    }
    Ok(())
}
