//! How much room the log has left, known roughly and cheaply: asked of the server now and then, and
//! counted up by this process's own appends in between.

use super::{Shared, streams};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long an answer of the server serves.
const FRESH: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(super) struct Room(Mutex<Option<Known>>);

#[derive(Clone, Copy)]
struct Known {
    at: Instant,
    used: u64,
    /// None when the log has no limit.
    limit: Option<u64>,
}

impl Room {
    fn known(&self) -> Option<Known> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an append.
    pub fn used(&self, bytes: usize) {
        if let Some(known) = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_mut()
        {
            known.used += bytes as u64;
        }
    }
}

/// Whether nine tenths of the log are used, so that new questions are refused. When the server does
/// not say, there is room: the server itself refuses what does not fit.
pub(super) async fn is_scarce(shared: &Shared) -> bool {
    let known = match shared.room.known().filter(|k| k.at.elapsed() < FRESH) {
        Some(known) => known,
        None => match streams::usage(shared).await {
            Ok((used, limit)) => {
                let known = Known {
                    at: Instant::now(),
                    used,
                    limit,
                };
                *shared.room.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(known);
                known
            }
            Err(_) => return false,
        },
    };
    known
        .limit
        .is_some_and(|limit| known.used >= limit / 10 * 9)
}
