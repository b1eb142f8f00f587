//! What the file lies on. It is a seam: tests put a disk that fails under the same code.

use redb::backends::FileBackend;
use redb::{BackendError, StorageBackend};
use std::ops::Bound;
use std::sync::Arc;

/// Makes what is read and written of an open file; again each time the file is opened.
pub type Disk = Arc<dyn Fn(FileBackend) -> Box<dyn StorageBackend> + Send + Sync>;

/// The file itself.
pub(super) fn plain() -> Disk {
    Arc::new(|file| Box::new(file))
}

/// What a [`Disk`] made.
#[derive(Debug)]
pub(super) struct Backend(Box<dyn StorageBackend>);

impl Backend {
    pub fn new(disk: &Disk, file: FileBackend) -> Self {
        Self(disk(file))
    }
}

impl StorageBackend for Backend {
    fn len(&self) -> Result<u64, std::io::Error> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), std::io::Error> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> Result<(), std::io::Error> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> Result<(), std::io::Error> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), std::io::Error> {
        self.0.write(offset, data)
    }

    fn close(&self) -> Result<(), std::io::Error> {
        self.0.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.try_lock_range(start, end)
    }

    fn try_lock_shared_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, BackendError> {
        self.0.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.query_lock_range(start, end)
    }
}
