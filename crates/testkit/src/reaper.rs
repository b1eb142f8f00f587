//! The last resort against left-over processes: a small shell that holds the reading end of a pipe.
//! When the test's process is gone, however it died, the pipe closes and the shell kills the
//! process groups it was told of and removes the folders and network namespaces it was told of.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

const SCRIPT: &str = r#"
trap '' HUP INT TERM
groups=" "; folders=""; namespaces=""
while read -r verb what; do
    case $verb in
        group) groups="$groups$what " ;;
        done) groups="${groups%% "$what" *} ${groups#* "$what" }" ;;
        folder) folders="$folders$what
" ;;
        namespace) namespaces="$namespaces $what" ;;
    esac
done
for group in $groups; do kill -9 "-$group" 2>/dev/null; done
for namespace in $namespaces; do ip netns delete "$namespace" 2>/dev/null; done
# Who was killed may still be writing for a moment.
printf %s "$folders" | while read -r folder; do
    tries=0
    while ! rm -rf -- "$folder" 2>/dev/null && [ "$tries" -lt 100 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
done
"#;

fn tell(message: &str) {
    static PIPE: OnceLock<Option<Mutex<ChildStdin>>> = OnceLock::new();
    let pipe = PIPE.get_or_init(|| {
        // A group of its own: whoever ends the test's group must not end the reaper.
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        shell.process_group(0).spawn().ok()?.stdin.map(Mutex::new)
    });
    if let Some(pipe) = pipe {
        let mut pipe = pipe.lock().unwrap_or_else(PoisonError::into_inner);
        // Without a reaper, drop still cleans up.
        let _ = pipe
            .write_all(message.as_bytes())
            .and_then(|()| pipe.flush());
    }
}

/// A process group that must not outlive this process.
pub(crate) fn group(id: i32) {
    tell(&format!("group {id}\n"));
}

/// The group is gone: its number may belong to somebody else from now on.
pub(crate) fn done(id: i32) {
    tell(&format!("done {id}\n"));
}

/// A temporary folder that must not outlive this process.
pub(crate) fn folder(path: &Path) {
    tell(&format!("folder {}\n", path.display()));
}

/// A network namespace that must not outlive this process.
pub(crate) fn namespace(name: &str) {
    tell(&format!("namespace {name}\n"));
}
