//! Rows of which each has a revision before its value: drafts and positions.

use super::Shared;
use super::frame;
use super::store::{Change, DRAFTS, POSITIONS};
use crate::LedgerError;
use askbus_domain::Timestamp;
use redb::{ReadTransaction, TableDefinition};
use tokio::sync::oneshot;

/// The tag of a row with a revision. Drafts of older versions have none.
const REVISED: u8 = 1;

/// Where a row stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    Drafts,
    Positions,
}

/// A value to be written.
pub(super) struct Put {
    pub table: Table,
    /// The subject that the bus would use.
    pub key: String,
    /// The revision that it must still have; none: whatever it has.
    pub expected: Option<u64>,
    pub value: Vec<u8>,
    pub done: oneshot::Sender<Result<Option<u64>, LedgerError>>,
}

/// A row as it is read.
pub(super) struct Revised<'a> {
    pub revision: u64,
    pub stored_at: Timestamp,
    pub value: &'a [u8],
}

impl Table {
    const fn definition(self) -> TableDefinition<'static, &'static str, &'static [u8]> {
        match self {
            Table::Drafts => DRAFTS,
            Table::Positions => POSITIONS,
        }
    }

    /// A row to be written.
    pub fn change(self, key: String, at: Timestamp, revision: u64, value: &[u8]) -> Change {
        let mut payload = revision.to_le_bytes().to_vec();
        payload.extend_from_slice(value);
        let row = frame::encode(REVISED, at, &[], &payload);
        match self {
            Table::Drafts => Change::Draft(key, row),
            Table::Positions => Change::Position(key, row),
        }
    }

    /// Reads a row; none when it is damaged.
    pub fn decode(self, row: &[u8]) -> Option<Revised<'_>> {
        let frame = frame::parse::<0>(row)?;
        let (revision, value) = if (self, frame.tag) == (Table::Drafts, 0) {
            (1, frame.payload)
        } else {
            let (revision, value) = frame.payload.split_first_chunk::<8>()?;
            (u64::from_le_bytes(*revision), value)
        };
        Some(Revised {
            revision,
            stored_at: frame.stored_at,
            value,
        })
    }

    /// What is made of the row under `key`, if there is one.
    pub fn find<T>(
        self,
        snapshot: &ReadTransaction,
        key: &str,
        make: impl FnOnce(Revised<'_>) -> T,
    ) -> Result<Option<T>, redb::Error> {
        let rows = snapshot.open_table(self.definition())?;
        let row = rows.get(key)?;
        Ok(row.and_then(|row| self.decode(row.value()).map(make)))
    }
}

/// The revision under `key` as the file has it, 0 where there is none. Blocks on the disk.
pub(super) fn revision(shared: &Shared, table: Table, key: &str) -> Result<u64, LedgerError> {
    let found = shared.read(|snapshot| table.find(snapshot, key, |row| row.revision))?;
    Ok(found.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_revision_and_a_draft_of_an_older_version_its_first() {
        let at = Timestamp::from_unix_millis(7);
        for table in [Table::Drafts, Table::Positions] {
            let (Change::Draft(key, row) | Change::Position(key, row)) =
                table.change("k".into(), at, 5, b"{}")
            else {
                panic!("another table");
            };
            let read = table.decode(&row).unwrap();
            assert_eq!(
                (key.as_str(), read.revision, read.value),
                ("k", 5, b"{}".as_slice())
            );
            assert_eq!(read.stored_at, at);
        }
        let row = frame::encode(0, at, &[], b"{}");
        let read = Table::Drafts.decode(&row).unwrap();
        assert_eq!((read.revision, read.value), (1, b"{}".as_slice()));
        let row = frame::encode(0, at, &[], &[9, 0, 0, 0, 0, 0, 0, 0, b'x']);
        let read = Table::Positions.decode(&row).unwrap();
        assert_eq!((read.revision, read.value), (9, b"x".as_slice()));
    }
}
