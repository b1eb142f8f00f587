//! Reading what those who fold the log anew leave out: one batch after the other, so that it is in
//! nobody's way.

use super::log::stored;
use super::replay::first_of;
use super::store::{LOG, failed};
use super::{Shared, replay};
use crate::{LedgerError, LeftOut, Stored};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Messages between the file and the reader.
const CAPACITY: usize = 1024;

type Out = mpsc::Sender<Option<Arc<Stored>>>;

/// Starts reading what was left out when the file was opened, if anything was.
pub(super) fn start(shared: &Arc<Shared>) -> Result<Option<LeftOut>, LedgerError> {
    let Some(until) = shared.current.last_left_out() else {
        return Ok(None);
    };
    let (out, messages) = mpsc::channel(CAPACITY);
    let this = Arc::clone(shared);
    shared.spawn(async move {
        tokio::select! {
            biased;
            () = this.stop.cancelled() => {}
            sent = send(&this, until, &out) => if let Err(error) = sent {
                tracing::error!(%error, "old messages of the log cannot be read");
            },
        }
    })?;
    Ok(Some(LeftOut { until, messages }))
}

async fn send(shared: &Arc<Shared>, until: u64, out: &Out) -> Result<(), LedgerError> {
    for number in replay::touched(until) {
        for message in read(shared, number, until).await? {
            if out.send(Some(message)).await.is_err() {
                return Ok(());
            }
        }
    }
    // An error only says that nobody reads any more.
    let _ = out.send(None).await;
    Ok(())
}

/// A batch, as soon as it can be read.
async fn read(
    shared: &Arc<Shared>,
    number: u64,
    until: u64,
) -> Result<Vec<Arc<Stored>>, LedgerError> {
    loop {
        let reader = Arc::clone(shared);
        let read = tokio::task::spawn_blocking(move || {
            let snapshot = |snapshot: &_| batch(&reader, snapshot, number, until);
            reader.read(snapshot)
        });
        match read.await.map_err(failed)? {
            Ok(messages) => return Ok(messages),
            Err(error) => {
                tracing::warn!(%error, "old messages of the log cannot be read now");
                shared.readable_again().await;
            }
        }
    }
}

fn batch(
    shared: &Shared,
    snapshot: &redb::ReadTransaction,
    number: u64,
    until: u64,
) -> Result<Vec<Arc<Stored>>, redb::Error> {
    let log = snapshot.open_table(LOG)?;
    let mut messages = Vec::new();
    for row in log.range(first_of(number)..first_of(number + 1).min(until + 1))? {
        let (seq, row) = row?;
        if !shared.current.has(seq.value()) {
            messages.extend(stored(seq.value(), row.value()));
        }
    }
    Ok(messages)
}
