//! The lines a process writes: kept, readable in order, and awaited with a bound.

use crate::bound::within;
use anyhow::{Context as _, Result};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::sync::watch;

#[derive(Default)]
struct Kept {
    lines: Vec<String>,
    ended: bool,
}

/// A stream of lines with a place in it; a clone reads from the same place on its own.
#[derive(Clone)]
pub struct Lines {
    what: String,
    kept: Arc<Mutex<Kept>>,
    moved: watch::Receiver<usize>,
    next: usize,
}

impl Lines {
    /// Reads `source` to its end in a task of its own. `what` names it in failures.
    pub(crate) fn read(what: String, source: impl AsyncRead + Unpin + Send + 'static) -> Self {
        let kept: Arc<Mutex<Kept>> = Arc::default();
        let (mover, moved) = watch::channel(0);
        let writer = Arc::clone(&kept);
        // Ends with the process: its pipe closes when it and its children are gone.
        tokio::spawn(async move {
            let mut source = BufReader::new(source);
            let mut line = Vec::new();
            while let Ok(length) = source.read_until(b'\n', &mut line).await {
                if length == 0 {
                    break;
                }
                let text = String::from_utf8_lossy(&line)
                    .trim_end_matches(['\r', '\n'])
                    .to_owned();
                line.clear();
                lock(&writer).lines.push(text);
                mover.send_modify(|count| *count += 1);
            }
            lock(&writer).ended = true;
            mover.send_modify(|count| *count += 1);
        });
        Self {
            what,
            kept,
            moved,
            next: 0,
        }
    }

    /// The next line; none at the end of the stream.
    ///
    /// # Errors
    /// When nothing comes within the limit.
    pub async fn next(&mut self) -> Result<Option<String>> {
        let what = self.what.clone();
        within(&format!("another line of {what}"), self.line())
            .await
            .with_context(|| self.tail())
    }

    /// The next line that `wanted` takes; lines before it are passed over.
    ///
    /// # Errors
    /// When none comes within the limit, or the stream ends.
    pub async fn find(&mut self, wanted: impl Fn(&str) -> bool) -> Result<String> {
        let what = format!("the expected line of {}", self.what);
        let found = async {
            while let Some(line) = self.line().await {
                if wanted(&line) {
                    return Some(line);
                }
            }
            None
        };
        let found = within(&what, found).await;
        match found {
            Ok(Some(line)) => Ok(line),
            Ok(None) => Err(anyhow::anyhow!(
                "{} ended first; {}",
                self.what,
                self.tail()
            )),
            Err(error) => Err(error.context(self.tail())),
        }
    }

    /// Everything written so far.
    pub fn all(&self) -> Vec<String> {
        lock(&self.kept).lines.clone()
    }

    /// Waits for the end of the stream and returns every line of it.
    ///
    /// # Errors
    /// When it does not end within the limit.
    pub async fn to_end(&mut self) -> Result<Vec<String>> {
        let what = format!("the end of {}", self.what);
        within(&what, async { while self.line().await.is_some() {} }).await?;
        Ok(self.all())
    }

    async fn line(&mut self) -> Option<String> {
        loop {
            // Seen before looking, so that a line which comes in between wakes the wait.
            self.moved.borrow_and_update();
            {
                let kept = lock(&self.kept);
                if let Some(line) = kept.lines.get(self.next) {
                    self.next += 1;
                    return Some(line.clone());
                }
                if kept.ended {
                    return None;
                }
            }
            if self.moved.changed().await.is_err() {
                // The reader is gone (its runtime ended); what it kept is all there is.
                return lock(&self.kept)
                    .lines
                    .get(self.next)
                    .cloned()
                    .inspect(|_| self.next += 1);
            }
        }
    }

    fn tail(&self) -> String {
        let kept = lock(&self.kept);
        let from = kept.lines.len().saturating_sub(20);
        let last = kept.lines.get(from..).unwrap_or_default().join("\n  ");
        format!("last lines of {}:\n  {last}", self.what)
    }
}

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}
