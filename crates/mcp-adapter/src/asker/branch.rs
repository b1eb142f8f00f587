//! The git branch that a directory is on, read from its files: no program is run.

use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::fs;
use tokio::time::timeout;

/// Where a repository says what is checked out.
const HEAD: &str = "HEAD";
/// A commit is named by so many of its digits.
const SHORT: usize = 12;

/// The files are a line each.
const MAX_BYTES: u64 = 4_096;
/// A question does not wait for a slow disk.
const LIMIT: Duration = Duration::from_millis(200);

/// The branch of the repository that holds `directory`, or the commit where none is checked out; none
/// outside of a repository, and none that takes long to find.
pub(super) async fn of(directory: &str) -> Option<String> {
    if directory.is_empty() {
        return None;
    }
    timeout(LIMIT, find(directory)).await.ok()?
}

async fn find(directory: &str) -> Option<String> {
    let mut above = Some(Path::new(directory)).filter(|d| d.is_absolute());
    while let Some(place) = above {
        if let Some(git) = git_folder(place).await {
            let head = line(&git.join(HEAD)).await?;
            return named(head.trim());
        }
        above = place.parent();
    }
    None
}

/// The folder, or the one that a linked worktree's file names.
async fn git_folder(place: &Path) -> Option<PathBuf> {
    let git = place.join(".git");
    let kind = fs::metadata(&git).await.ok()?;
    if kind.is_dir() {
        return Some(git);
    }
    let text = line(&git).await?;
    let named = text.strip_prefix("gitdir:")?.trim();
    Some(place.join(named))
}

/// A short file; nothing that is not one is opened.
async fn line(file: &Path) -> Option<String> {
    let about = fs::metadata(file).await.ok()?;
    if !about.is_file() || about.len() > MAX_BYTES {
        return None;
    }
    fs::read_to_string(file).await.ok()
}

fn named(head: &str) -> Option<String> {
    let branch = head.strip_prefix("ref: refs/heads/");
    let commit = || head.chars().take(SHORT).collect();
    let name: String = branch.map_or_else(commit, str::to_owned);
    (!name.is_empty() && !name.chars().any(char::is_control)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn at(place: &Path) -> Option<String> {
        of(place.to_str().unwrap()).await
    }

    #[tokio::test]
    async fn the_branch_is_that_of_the_repository_around() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("crates/one");
        std::fs::create_dir_all(&inner).unwrap();
        let git = folder.path().join(".git");
        std::fs::create_dir(&git).unwrap();
        let head = |text: &str| std::fs::write(git.join(HEAD), text).unwrap();
        head("ref: refs/heads/feature/login\n");
        assert_eq!(at(&inner).await.as_deref(), Some("feature/login"));
        head("0123456789abcdef0123456789abcdef01234567\n");
        assert_eq!(at(&inner).await.as_deref(), Some("0123456789ab"));
        // A linked worktree.
        let tree = folder.path().join("tree");
        let linked = git.join("worktrees/tree");
        std::fs::create_dir_all(&linked).unwrap();
        std::fs::create_dir(&tree).unwrap();
        std::fs::write(tree.join(".git"), "gitdir: ../.git/worktrees/tree\n").unwrap();
        std::fs::write(linked.join(HEAD), "ref: refs/heads/other\n").unwrap();
        assert_eq!(at(&tree).await.as_deref(), Some("other"));
    }

    #[tokio::test]
    async fn what_is_no_repository_has_no_branch() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(of("").await, None);
        assert_eq!(of("relative").await, None);
        std::fs::write(folder.path().join(".git"), "nonsense").unwrap();
        assert!(at(folder.path()).await.is_none());
    }
}
