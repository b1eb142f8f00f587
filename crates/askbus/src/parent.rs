//! The end of the process that started this one. Its standard input ends with it, unless somebody else holds
//! the other end open: what a client started before often does, as it inherited it.

#[cfg(target_os = "linux")]
use {
    rustix::process::{Pid, PidfdFlags, getppid, pidfd_open},
    std::os::fd::OwnedFd,
    std::time::Duration,
    tokio::io::{Interest, unix::AsyncFd},
};

/// Waits until the parent is gone. Never where it was only a launcher, or where the system does not tell.
#[cfg(target_os = "linux")]
pub(crate) async fn gone() {
    if watch().await.is_none() {
        std::future::pending::<()>().await;
    }
}

/// None: nothing is known of the parent, or it does not matter.
#[cfg(target_os = "linux")]
async fn watch() -> Option<()> {
    let parent = open().inspect_err(unseen).ok()??;
    let ended = async || parent.readable().await.map(drop).inspect_err(unseen).ok();
    tokio::select! {
        biased;
        _ = ended() => return None,
        () = tokio::time::sleep(LAUNCH) => {}
    }
    tracing::debug!("this process ends with its parent");
    ended().await
}

#[cfg(target_os = "linux")]
fn unseen(error: &std::io::Error) {
    tracing::debug!(%error, "the end of the parent will not be seen");
}

/// The same, where there is nothing to wait on: the end of the input has to do.
#[cfg(not(target_os = "linux"))]
pub(crate) async fn gone() {
    std::future::pending().await
}

/// A parent that is gone so soon only started this process for somebody else.
#[cfg(target_os = "linux")]
const LAUNCH: Duration = Duration::from_secs(1);

/// What becomes readable when the parent ends; none when it is gone already, or is the first of all
/// processes, to which orphans fall.
#[cfg(target_os = "linux")]
fn open() -> std::io::Result<Option<AsyncFd<OwnedFd>>> {
    let Some(parent) = getppid().filter(|parent| *parent != Pid::INIT) else {
        return Ok(None);
    };
    let opened = pidfd_open(parent, PidfdFlags::NONBLOCK)?;
    // Gone before it was opened, its number may be another process's by now.
    if getppid() != Some(parent) {
        return Ok(None);
    }
    #[expect(deprecated, reason = "only unsound for a descriptor that is not owned")]
    let watched = AsyncFd::with_interest(opened, Interest::READABLE)?;
    Ok(Some(watched))
}
