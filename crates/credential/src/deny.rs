//! The deny list, followed while services run.

use crate::CredentialError;
use crate::issuer::DENY_LIST;
use arc_swap::ArcSwap;
use notify::{RecursiveMode, Watcher as _};
use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::watch;

/// Ids of revoked credentials, re-read whenever the file changes.
pub(crate) struct DenyList {
    ids: Arc<ArcSwap<HashSet<String>>>,
    /// Told whenever it was read again.
    changed: watch::Sender<()>,
    // Stops watching when dropped.
    _watcher: notify::RecommendedWatcher,
}

impl DenyList {
    /// Reads the list in `dir` and follows it. The folder is watched rather than the file, because
    /// a replaced file would end a watch on the file itself.
    pub(crate) fn follow(dir: &Path) -> Result<Self, CredentialError> {
        let path = dir.join(DENY_LIST);
        let ids = Arc::new(ArcSwap::from_pointee(read(&path)));
        let changed = watch::Sender::new(());
        let (shared, file, tell) = (Arc::clone(&ids), path.clone(), changed.clone());
        let mut watcher =
            notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                if let Ok(event) = event
                    && !event.kind.is_access()
                {
                    shared.store(Arc::new(read(&file)));
                    tell.send_replace(());
                }
            })
            .map_err(|e| CredentialError::file(&path, e))?;
        watcher
            .watch(dir, RecursiveMode::NonRecursive)
            .map_err(|e| CredentialError::file(&path, e))?;
        // What was written between the first read and the watch.
        ids.store(Arc::new(read(&path)));
        Ok(Self {
            ids,
            changed,
            _watcher: watcher,
        })
    }

    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    pub(crate) fn contains(&self, id: &str) -> bool {
        self.ids.load().contains(id)
    }
}

fn read(path: &Path) -> HashSet<String> {
    match fs::read_to_string(path) {
        Ok(text) => text
            .lines()
            .map(|l| l.trim().to_owned())
            .filter(|l| !l.is_empty())
            .collect(),
        Err(error) => {
            if error.kind() != std::io::ErrorKind::NotFound {
                tracing::error!(path = %path.display(), %error, "the deny list cannot be read");
            }
            HashSet::new()
        }
    }
}
