//! Being told to stop.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The number of SIGHUP on every system there is.
const HANG_UP: u32 = 1;

/// A token that is cancelled by SIGTERM, SIGINT, or SIGHUP: a terminal that is closed and a connection that
/// is dropped end a command in order. Whoever started it with SIGHUP ignored, as `nohup` does, wants it to
/// go on.
pub(crate) fn shutdown() -> std::io::Result<CancellationToken> {
    let token = CancellationToken::new();
    let mut term = signal(SignalKind::terminate())?;
    let mut int = signal(SignalKind::interrupt())?;
    let mut hang_up = match ignored() {
        Some(ignored) if !has(ignored, HANG_UP) => Some(signal(SignalKind::hangup())?),
        // To listen to it would undo what cannot be told apart from being wanted.
        Some(_) | None => None,
    };
    let cancelled = token.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
            () = heard(hang_up.as_mut()) => {}
        }
        cancelled.cancel();
    });
    Ok(token)
}

async fn heard(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// The signals that this process was started to ignore; none where the system does not say.
fn ignored() -> Option<u64> {
    mask(&std::fs::read_to_string("/proc/self/status").ok()?)
}

fn mask(status: &str) -> Option<u64> {
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

const fn has(mask: u64, number: u32) -> bool {
    mask & (1 << (number - 1)) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_stands_in_the_status_of_the_process() {
        let status = |mask: &str| {
            format!("Name:\taskbus\nSigBlk:\t0000000000000001\nSigIgn:\t{mask}\nSigCgt:\t0\n")
        };
        let hang_up = |text: &str| mask(text).map(|mask| has(mask, HANG_UP));
        assert_eq!(hang_up(&status("0000000000001001")), Some(true));
        // SIGINT, as in the background of a script, and SIGPIPE.
        assert_eq!(hang_up(&status("0000000000001002")), Some(false));
        assert_eq!(hang_up(&status("0000000000000000")), Some(false));
        assert_eq!(hang_up("Name:\taskbus\n"), None);
        assert_eq!(hang_up(&status("?")), None);
    }
}
