//! The redb file: four tables, opened with the right permissions by one process at a time.

use super::disk::{Backend, Disk};
use crate::LedgerError;
use redb::{
    Builder, Database, DatabaseError, Durability, ReadableDatabase, TableDefinition,
    WriteTransaction,
};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};
use tokio::sync::watch;

pub(super) const LOG: TableDefinition<u64, &[u8]> = TableDefinition::new("log");
pub(super) const INBOX: TableDefinition<u64, &[u8]> = TableDefinition::new("inbox");
pub(super) const DRAFTS: TableDefinition<&str, &[u8]> = TableDefinition::new("drafts");
pub(super) const POSITIONS: TableDefinition<&str, &[u8]> = TableDefinition::new("positions");

/// Enough for the hot end of the log; the rest is read rarely and comes from the page cache.
const CACHE_BYTES: usize = 64 * 1024 * 1024;

/// One row written or removed.
pub(super) enum Change {
    Log(u64, Vec<u8>),
    DropLog(u64),
    Inbox(u64, Vec<u8>),
    DropInbox(u64),
    Draft(String, Vec<u8>),
    DropDraft(String),
    Position(String, Vec<u8>),
}

/// The open file. It can be closed while others still hold the store; they are then told so.
pub(super) struct Store {
    path: PathBuf,
    disk: Disk,
    database: RwLock<Option<Database>>,
    /// Not from a failed write on until the file was opened again and takes one.
    well: watch::Sender<bool>,
}

/// Why changes were not written.
pub(super) enum WriteError {
    /// Nothing of them is in the file.
    Refused(LedgerError),
    /// The file may hold all of them, or none.
    InDoubt(LedgerError),
}

impl WriteError {
    pub fn error(&self) -> &LedgerError {
        let (Self::Refused(error) | Self::InDoubt(error)) = self;
        error
    }
}

impl From<WriteError> for LedgerError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Refused(error) | WriteError::InDoubt(error) => error,
        }
    }
}

/// A failure of the file, in words. Nothing is lost by flattening: no caller can mend it.
pub(super) fn failed(error: impl std::fmt::Display) -> LedgerError {
    LedgerError::Unavailable(error.to_string())
}

impl Store {
    /// Opens or makes `askbus.redb` in `dir`, on `disk`.
    pub fn open(dir: &Path, disk: Disk) -> Result<Self, LedgerError> {
        make_dir(dir).map_err(|e| failed(format!("{}: {e}", dir.display())))?;
        let path = dir.join("askbus.redb");
        let database = open_file(&path, &disk, true)?;
        let store = Self {
            disk,
            database: RwLock::new(Some(database)),
            well: watch::Sender::new(true),
            path,
        };
        // So that readers find the tables.
        store.write(&[], true).map_err(|error| {
            let (path, error) = (store.path.display(), error.error());
            LedgerError::Misconfigured(format!("{path}: {error}"))
        })?;
        Ok(store)
    }

    /// Closes the file and opens it again: after one failure of the disk it refuses everything. It is
    /// not made anew if it is gone.
    pub fn reopen(&self) -> Result<(), LedgerError> {
        self.close();
        let database = open_file(&self.path, &self.disk, false)?;
        let mut guard = self
            .database
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *guard = Some(database);
        Ok(())
    }

    /// Whether the file can be read and written, and every change of it.
    pub fn well(&self) -> watch::Receiver<bool> {
        self.well.subscribe()
    }

    /// Says whether the file can be read and written.
    pub fn set_well(&self, well: bool) {
        self.well.send_replace(well);
    }

    /// Refuses while what the file holds is not known.
    ///
    /// # Errors
    /// [`LedgerError::Unavailable`].
    pub fn check(&self) -> Result<(), LedgerError> {
        if *self.well.borrow() {
            return Ok(());
        }
        Err(failed("the disk failed; the file is being opened again"))
    }

    /// Runs `body` on a snapshot. Blocks on the disk.
    pub fn read<T>(
        &self,
        body: impl FnOnce(&redb::ReadTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, LedgerError> {
        self.check()?;
        self.look(body)
    }

    /// [`Store::read`] for whoever finds out what the file holds.
    pub fn look<T>(
        &self,
        body: impl FnOnce(&redb::ReadTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, LedgerError> {
        let guard = self.database.read().unwrap_or_else(PoisonError::into_inner);
        let database = guard.as_ref().ok_or_else(|| failed("it is closed"))?;
        let snapshot = database.begin_read().map_err(failed)?;
        body(&snapshot).map_err(failed)
    }

    /// Writes all changes or none; `durable` waits for the disk, otherwise the next durable write
    /// takes them along.
    pub fn write(&self, changes: &[Change], durable: bool) -> Result<(), WriteError> {
        let guard = self.database.read().unwrap_or_else(PoisonError::into_inner);
        let database = guard
            .as_ref()
            .ok_or_else(|| WriteError::Refused(failed("it is closed")))?;
        let transaction = filled(database, changes, durable)
            .map_err(|error| WriteError::Refused(failed(error)))?;
        let committed = transaction.commit();
        committed.map_err(|error| WriteError::InDoubt(failed(error)))
    }

    /// Closes the file once running reads are through; the lock on it is then free.
    pub fn close(&self) {
        self.database
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }
}

/// All changes, to be committed.
fn filled(
    database: &Database,
    changes: &[Change],
    durable: bool,
) -> Result<WriteTransaction, redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_durability(if durable {
        Durability::Immediate
    } else {
        Durability::None
    })?;
    {
        let mut log = transaction.open_table(LOG)?;
        let mut inbox = transaction.open_table(INBOX)?;
        let mut drafts = transaction.open_table(DRAFTS)?;
        let mut positions = transaction.open_table(POSITIONS)?;
        for change in changes {
            match change {
                Change::Log(seq, row) => drop(log.insert(seq, row.as_slice())?),
                Change::DropLog(seq) => drop(log.remove(seq)?),
                Change::Inbox(seq, row) => drop(inbox.insert(seq, row.as_slice())?),
                Change::DropInbox(seq) => drop(inbox.remove(seq)?),
                Change::Draft(key, row) => drop(drafts.insert(key.as_str(), row.as_slice())?),
                Change::DropDraft(key) => drop(drafts.remove(key.as_str())?),
                Change::Position(key, row) => {
                    drop(positions.insert(key.as_str(), row.as_slice())?);
                }
            }
        }
    }
    Ok(transaction)
}

fn open_file(path: &Path, disk: &Disk, make: bool) -> Result<Database, LedgerError> {
    let file = file(path, make).map_err(|e| failed(format!("{}: {e}", path.display())))?;
    let backend = redb::backends::FileBackend::new(file).map_err(|e| open_error(path, &e))?;
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    if make {
        builder.set_repair_callback(|session| {
            tracing::warn!(
                progress = session.progress(),
                "checking the log after a crash"
            );
        });
    }
    builder
        .create_with_backend(Backend::new(disk, backend))
        .map_err(|e| open_error(path, &e))
}

fn open_error(path: &Path, error: &DatabaseError) -> LedgerError {
    let path = path.display();
    match error {
        DatabaseError::DatabaseAlreadyOpen => {
            LedgerError::Unavailable(format!("{path} is in use by another process"))
        }
        // Not a database at all is told apart from a disk that fails.
        DatabaseError::Storage(redb::StorageError::Io(e)) if e.kind() != ErrorKind::InvalidData => {
            failed(format!("{path}: {e}"))
        }
        other => LedgerError::Misconfigured(format!("{path}: {other}")),
    }
}

fn make_dir(dir: &Path) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

fn file(path: &Path, make: bool) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(make).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
