//! What the writer does when the disk fails. The file refuses everything after one failure, until it is
//! closed and opened again; that is done until it takes a write, and everybody is refused meanwhile.

use super::super::store::{Change, INBOX, LOG, WriteError, failed};
use super::{Decided, Request, Writer};
use crate::{AppendError, LedgerError};
use redb::{ReadTransaction, ReadableTable};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// How long between two tries.
const PAUSE: Duration = Duration::from_secs(1);
/// What the disk must take before it is trusted again: more than most batches.
const PROBE_BYTES: usize = 256 * 1024;
/// Where that is written for a moment. No draft's key; a start that finds it removes it.
const PROBE_KEY: &str = "probe";

/// The file does not take writes any more.
pub(super) struct Broken {
    error: LedgerError,
    /// The batch that it may hold all the same.
    in_doubt: Option<Decided>,
}

impl Broken {
    /// By `failure` to write `decided`.
    pub fn by(failure: WriteError, decided: Decided) -> Self {
        let in_doubt = matches!(failure, WriteError::InDoubt(_)).then_some(decided);
        Self {
            error: failure.into(),
            in_doubt,
        }
    }
}

/// What the file turns out to hold.
struct Found {
    last_seq: u64,
    inbox: BTreeSet<u64>,
}

impl Found {
    fn read(snapshot: &ReadTransaction) -> Result<Self, redb::Error> {
        let log = snapshot.open_table(LOG)?;
        let inbox = snapshot.open_table(INBOX)?;
        let seqs = inbox.iter()?.map(|row| row.map(|(seq, _)| seq.value()));
        Ok(Self {
            last_seq: log.last()?.map_or(0, |(seq, _)| seq.value()),
            inbox: seqs.collect::<Result<_, _>>()?,
        })
    }

    /// Whether the batch is in the file. Batches are written whole or not at all.
    fn holds(&self, decided: &Decided) -> bool {
        match decided.messages.last() {
            Some((last, _)) => last.seq == self.last_seq,
            None => decided
                .arrivals
                .values()
                .any(|arrival| self.inbox.contains(&arrival.seq)),
        }
    }
}

impl Writer {
    /// Opens the file again until it takes a write. False when it is to be closed instead.
    pub(super) fn recover(
        &mut self,
        broken: Broken,
        requests: &mut mpsc::Receiver<Request>,
    ) -> bool {
        let Broken {
            error,
            mut in_doubt,
        } = broken;
        tracing::warn!(
            %error,
            "the log cannot be written: questions and answers are refused as unavailable; the file is \
             opened again until it can be"
        );
        let mut told = false;
        // A disk that fails again and again is not asked all the time.
        let mut pause = self
            .mended
            .and_then(|at| PAUSE.checked_sub(at.elapsed()))
            .unwrap_or_default();
        loop {
            if !refuse_for(pause, requests) {
                return false;
            }
            match self.mend(&mut in_doubt) {
                Ok(()) => break,
                Err(error @ LedgerError::Misconfigured(_)) if !told => {
                    tracing::error!(%error, "the log needs a restart, or its file back");
                    told = true;
                }
                Err(error) => tracing::debug!(%error, "the log cannot be written yet"),
            }
            pause = PAUSE;
        }
        self.mended = Some(Instant::now());
        self.shared.store.set_well(true);
        tracing::info!("the log can be written again");
        true
    }

    /// Opens the file again, finds out whether it holds what is in doubt, and writes to it.
    fn mend(&mut self, in_doubt: &mut Option<Decided>) -> Result<(), LedgerError> {
        self.shared.store.reopen()?;
        let found = self.shared.store.look(Found::read)?;
        let held = in_doubt.as_ref().is_some_and(|d| found.holds(d));
        let known = *self.shared.log.last.borrow();
        if found.last_seq != known && !held {
            return Err(LedgerError::Misconfigured(format!(
                "its file ends with message {}, and the last one written was {known}",
                found.last_seq
            )));
        }
        self.probe(&found, in_doubt.as_ref().filter(|_| held))?;
        if let Some(decided) = in_doubt.take()
            && held
        {
            self.publish(decided);
        }
        Ok(())
    }

    /// Writes something that takes room, and removes what was judged without the file knowing.
    fn probe(&self, found: &Found, held: Option<&Decided>) -> Result<(), LedgerError> {
        let arrived = |seq| held.is_some_and(|d| d.arrivals.values().any(|a| a.seq == seq));
        let judged = found
            .inbox
            .iter()
            .filter(|seq| !self.shared.inbox.has(**seq) && !arrived(**seq));
        let mut changes: Vec<Change> = judged.map(|seq| Change::DropInbox(*seq)).collect();
        changes.push(Change::Draft(PROBE_KEY.to_owned(), vec![0; PROBE_BYTES]));
        self.shared.store.write(&changes, true)?;
        let remove = Change::DropDraft(PROBE_KEY.to_owned());
        Ok(self.shared.store.write(&[remove], true)?)
    }
}

/// Refuses whatever comes in the next while. False once everybody who may ask is gone.
fn refuse_for(pause: Duration, requests: &mut mpsc::Receiver<Request>) -> bool {
    let clock = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let Ok(clock) = clock else {
        std::thread::sleep(pause);
        return true;
    };
    clock.block_on(async {
        let until = tokio::time::Instant::now() + pause;
        loop {
            match tokio::time::timeout_at(until, requests.recv()).await {
                Ok(Some(request)) => request.refuse(),
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
    })
}

impl Request {
    /// Nothing of it is done. Whoever asked may have stopped waiting; that is theirs.
    fn refuse(self) {
        let error = failed("the disk failed; the file is being opened again");
        match self {
            Request::Append(append) => drop(append.done.send(Err(AppendError::Ledger(error)))),
            Request::Submit(submit) => drop(submit.done.send(Err(error))),
            Request::Barrier(done) => drop(done.send(Err(error))),
            Request::Put(put) => drop(put.done.send(Err(error))),
            // What is judged is known in memory, and removed once the file is open again.
            Request::Settle(_) | Request::Check => {}
        }
    }
}
