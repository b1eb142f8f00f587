//! What is kept in memory, derived from the rows at every start, and old rows dropped on the way.

use super::arrival::Arrival;
use super::frame;
use super::log::{SessionKey, ids, tag};
use super::store::{Change, DRAFTS, INBOX, LOG, Store};
use crate::LedgerError;
use askbus_domain::{EventKind, TenantId};
use redb::{ReadTransaction, ReadableTable};
use std::collections::{HashMap, HashSet};

const DAY_MS: i64 = 24 * 3_600_000;
/// How long a message of the log is kept at least.
const LOG_AGE_MS: i64 = 30 * DAY_MS;
/// How long a draft is kept.
const DRAFT_AGE_MS: i64 = 14 * DAY_MS;
/// Rows dropped in one transaction.
const DROP_BATCH: usize = 10_000;

/// What the file holds.
#[derive(Default)]
pub(super) struct Loaded {
    pub sessions: HashMap<SessionKey, Vec<u64>>,
    /// Sequences of the messages that still matter to whoever folds the log anew, ascending; none
    /// when the log is so short that all do.
    pub current: Option<Vec<u64>>,
    pub last_seq: u64,
    pub last_stored: i64,
    pub log_bytes: u64,
    pub inbox: Vec<(String, Arrival)>,
    pub next_inbox: u64,
}

/// Reads the whole file once.
pub(super) fn load(store: &Store, now: i64, latest: u64) -> Result<Loaded, LedgerError> {
    let (loaded, dropped) = store.read(|snapshot| {
        let mut dropped = Vec::new();
        let mut loaded = Loaded::default();
        let damaged = load_log(snapshot, now, latest, &mut loaded, &mut dropped)?
            .or(load_inbox(snapshot, &mut loaded)?);
        load_drafts(snapshot, now, &mut dropped)?;
        Ok(match damaged {
            Some(what) => Err(LedgerError::Misconfigured(what)),
            None => Ok((loaded, dropped)),
        })
    })??;
    for batch in dropped.chunks(DROP_BATCH) {
        store.write(batch, true)?;
    }
    Ok(loaded)
}

/// Rows of one session that were stored long ago, and where its last turn begins.
#[derive(Default)]
struct Old {
    rows: Vec<(u64, u64)>,
    begun: u64,
}

fn load_log(
    snapshot: &ReadTransaction,
    now: i64,
    latest: u64,
    loaded: &mut Loaded,
    dropped: &mut Vec<Change>,
) -> Result<Option<String>, redb::Error> {
    let mut old: HashMap<SessionKey, Old> = HashMap::new();
    let mut over: HashSet<SessionKey> = HashSet::new();
    for entry in snapshot.open_table(LOG)?.iter()? {
        let (seq, row) = entry?;
        let (seq, row) = (seq.value(), row.value());
        let Some((frame, key)) = frame::parse(row).and_then(|f| ids(&f).map(|key| (f, key))) else {
            return Ok(Some(format!(
                "message {seq} of the log is damaged or of a newer version"
            )));
        };
        loaded.last_seq = seq;
        let stored_at = frame.stored_at.unix_millis();
        loaded.last_stored = loaded.last_stored.max(stored_at);
        loaded.log_bytes += row.len() as u64;
        let is_old = stored_at < now.saturating_sub(LOG_AGE_MS);
        let begins = frame.tag == tag(EventKind::Begun);
        if is_old || begins && old.contains_key(&key) {
            let session = old.entry(key.clone()).or_default();
            if begins {
                session.begun = seq;
            }
            if is_old {
                session.rows.push((seq, row.len() as u64));
            }
        }
        if frame.tag == tag(EventKind::Ended) {
            over.insert(key.clone());
        } else {
            over.remove(&key);
        }
        loaded.sessions.entry(key).or_default().push(seq);
    }
    for (key, session) in old {
        // A session is read from its last begin, so nothing from there on may go; its last message
        // therefore stays, and with it the sequence that guards the next append.
        let gone = session.rows.iter().filter(|(seq, _)| *seq < session.begun);
        for (seq, size) in gone {
            dropped.push(Change::DropLog(*seq));
            loaded.log_bytes -= size;
        }
        if let Some(seqs) = loaded.sessions.get_mut(&key) {
            // Both are ascending, and what is old comes before what is not.
            let gone = session
                .rows
                .partition_point(|(seq, _)| *seq < session.begun);
            seqs.drain(..gone.min(seqs.len()));
        }
    }
    loaded.current = current(&loaded.sessions, &over, loaded.last_seq, latest);
    Ok(None)
}

/// What still matters: the latest messages, and all of every session that is not over, or of which
/// one is among the latest. The latest session of a tenant makes known that there is this tenant.
fn current(
    sessions: &HashMap<SessionKey, Vec<u64>>,
    over: &HashSet<SessionKey>,
    last: u64,
    latest: u64,
) -> Option<Vec<u64>> {
    let before = last.checked_sub(latest).filter(|before| *before > 0)?;
    let end = |seqs: &[u64]| seqs.last().copied().unwrap_or_default();
    let mut ends: HashMap<&TenantId, u64> = HashMap::new();
    for (key, seqs) in sessions {
        let newest = ends.entry(&key.0).or_default();
        *newest = end(seqs).max(*newest);
    }
    let matters = |key: &SessionKey, seqs: &[u64]| {
        let end = end(seqs);
        !over.contains(key) || end > before || ends.get(&key.0) == Some(&end)
    };
    let mut seqs: Vec<u64> = sessions
        .iter()
        .filter(|(key, seqs)| matters(key, seqs))
        .flat_map(|(_, seqs)| seqs.iter().copied())
        .collect();
    seqs.sort_unstable();
    Some(seqs)
}

fn load_inbox(
    snapshot: &ReadTransaction,
    loaded: &mut Loaded,
) -> Result<Option<String>, redb::Error> {
    loaded.next_inbox = 1;
    for entry in snapshot.open_table(INBOX)?.iter()? {
        let (seq, row) = entry?;
        let Some(message) = Arrival::from_row(seq.value(), row.value()) else {
            return Ok(Some(format!(
                "message {} of the inbox is damaged",
                seq.value()
            )));
        };
        loaded.next_inbox = seq.value() + 1;
        let stored_at = message.1.stored_at.unix_millis();
        loaded.last_stored = loaded.last_stored.max(stored_at);
        loaded.inbox.push(message);
    }
    Ok(None)
}

fn load_drafts(
    snapshot: &ReadTransaction,
    now: i64,
    dropped: &mut Vec<Change>,
) -> Result<(), redb::Error> {
    for entry in snapshot.open_table(DRAFTS)?.iter()? {
        let (key, row) = entry?;
        let kept = frame::parse::<0>(row.value())
            .is_some_and(|f| f.stored_at.unix_millis() >= now.saturating_sub(DRAFT_AGE_MS));
        if !kept {
            dropped.push(Change::DropDraft(key.value().to_owned()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbus_domain::{SessionId, TenantId, Timestamp};

    fn row(session: &str, kind: EventKind, days_ago: i64, now: i64) -> Vec<u8> {
        let at = Timestamp::from_unix_millis(now - days_ago * DAY_MS);
        frame::encode(tag(kind), at, &["acme", session, ""], b"{}")
    }

    #[test]
    fn old_messages_go_unless_a_last_turn_needs_them() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), super::super::disk::plain()).unwrap();
        let now = 1_800_000_000_000;
        let rows = [
            ("busy", EventKind::Begun, 40),
            ("idle", EventKind::Begun, 39),
            ("busy", EventKind::Requested, 38),
            ("busy", EventKind::Begun, 35),
            ("idle", EventKind::Requested, 34),
            ("fresh", EventKind::Begun, 33),
            ("busy", EventKind::Held, 31),
            ("fresh", EventKind::Begun, 1),
        ];
        let log = rows
            .iter()
            .zip(1..)
            .map(|((session, kind, age), seq)| Change::Log(seq, row(session, *kind, *age, now)));
        let mut changes: Vec<_> = log.collect();
        for (key, age) in [("kept", 13), ("old", 15)] {
            let at = Timestamp::from_unix_millis(now - age * DAY_MS);
            changes.push(Change::Draft(key.into(), frame::encode(0, at, &[], b"{}")));
        }
        assert!(store.write(&changes, true).is_ok());
        // The second time nothing more goes.
        for _ in 0..2 {
            let loaded = load(&store, now, 100).unwrap();
            let of = |session: &str| {
                let key = (
                    TenantId::new("acme").unwrap(),
                    SessionId::new(session).unwrap(),
                );
                loaded.sessions[&key].clone()
            };
            assert_eq!(of("busy"), [4, 7], "everything since the last begin stays");
            assert_eq!(of("idle"), [2, 5]);
            assert_eq!(of("fresh"), [8]);
            assert_eq!(loaded.last_seq, 8);
        }
        let left = store
            .read(|snapshot| {
                let log = snapshot.open_table(LOG)?;
                let seqs: Vec<u64> = log.iter()?.map(|e| e.unwrap().0.value()).collect();
                let drafts = snapshot.open_table(DRAFTS)?;
                let keys: Vec<_> = drafts
                    .iter()?
                    .map(|e| e.unwrap().0.value().to_owned())
                    .collect();
                Ok((seqs, keys))
            })
            .unwrap();
        assert_eq!(left, (vec![2, 4, 5, 7, 8], vec!["kept".to_owned()]));
    }
}
