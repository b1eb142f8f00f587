//! What services in containers need before they start: keys, the deny list and pass phrases, each
//! in a folder of its own, so that a container gets the folder it needs and no other.

use crate::exit::{CONFIG, Failure};
use askbus_credential::{Issuer, private};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::{chown, symlink};
use std::path::Path;

/// The users of `deploy/nats/permissions.conf`.
const USERS: [&str; 4] = ["session-binding", "gateway", "mcp-adapter", "observer"];

/// Makes what is missing below `base`, and gives what services read to `uid`:
/// `keys` (signing key and records, for nobody but the issuer), `verify` (public key and deny list),
/// `nats` (pass phrases of all users, for the server), and one folder per service with its own pass
/// phrase. Nothing that exists is changed, but for its owner.
pub(crate) fn prepare(
    base: &Path,
    uid: Option<u32>,
    owned: &[std::path::PathBuf],
    nats_servers: &[String],
) -> Result<(), Failure> {
    let (keys, verify, nats) = (base.join("keys"), base.join("verify"), base.join("nats"));
    for folder in [&keys, &verify, &nats] {
        folder_of(folder, None)?;
    }
    // The deny list is where services see it; the issuer reaches it through a link.
    keep(&verify.join("denied"), "")?;
    let link = keys.join("denied");
    if link.symlink_metadata().is_err() {
        symlink("../verify/denied", &link).map_err(|e| failed(&link, &e))?;
    }
    Issuer::open_or_create(&keys)?;
    let public = keys.join("public.pem");
    let pem = fs::read_to_string(&public).map_err(|e| failed(&public, &e))?;
    keep(&verify.join("public.pem"), &pem)?;

    let mut users =
        String::from("# Made by `askbus credential init`: the pass phrases of the users.\n");
    for user in USERS {
        let folder = base.join(user);
        folder_of(&folder, None)?;
        let pass = keep(&folder.join("nats-pass"), &pass_phrase())?;
        let name = user.to_uppercase().replace('-', "_");
        // A string cannot fail to grow.
        let _ = writeln!(users, "PASS_{name}: \"{}\"", pass.trim());
    }
    let file = nats.join("users.conf");
    if keep(&file, &users)? != users {
        let text = format!(
            "{} holds other pass phrases than the folders of the services; move it away, run this \
             again, and restart the NATS server",
            file.display()
        );
        return Err(Failure::new(CONFIG, text));
    }
    if !nats_servers.is_empty() {
        keep(&nats.join("routes.conf"), &routes(nats_servers))?;
    }
    let read = USERS.map(|user| base.join(user));
    for folder in read.iter().chain([&verify, &nats]).chain(owned) {
        folder_of(folder, uid)?;
    }
    Ok(())
}

/// The part of the servers' configuration by which they know each other.
fn routes(servers: &[String]) -> String {
    let pass = pass_phrase();
    let mut text = format!("authorization {{ user: route, password: \"{pass}\" }}\nroutes: [\n");
    for server in servers {
        let _ = writeln!(
            text,
            "  \"nats-route://route:{pass}@{}:6222\"",
            server.trim()
        );
    }
    text.push_str("]\n");
    text
}

/// 244 random bits.
fn pass_phrase() -> String {
    let half = || uuid::Uuid::new_v4().simple();
    format!("{}{}", half(), half())
}

/// Writes a file unless it is there, and returns what it holds.
fn keep(path: &Path, content: &str) -> Result<String, Failure> {
    match fs::read_to_string(path) {
        Ok(found) => Ok(found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            private::write_file(path, content.as_bytes()).map_err(|e| failed(path, &e))?;
            Ok(content.to_owned())
        }
        Err(error) => Err(failed(path, &error)),
    }
}

/// Makes a folder that only its owner may read; gives it and the files in it to `uid`.
fn folder_of(path: &Path, uid: Option<u32>) -> Result<(), Failure> {
    private::create_dir(path).map_err(|e| failed(path, &e))?;
    if uid.is_none() {
        return Ok(());
    }
    let entries = fs::read_dir(path).map_err(|e| failed(path, &e))?;
    for entry in entries {
        let entry = entry.map_err(|e| failed(path, &e))?;
        let file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if file {
            chown(entry.path(), uid, uid).map_err(|e| failed(&entry.path(), &e))?;
        }
    }
    chown(path, uid, uid).map_err(|e| failed(path, &e))
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(CONFIG, format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn read(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn each_service_finds_what_it_needs_and_nothing_is_made_twice() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path();
        let servers = ["n1".to_owned(), "n2".to_owned()];
        prepare(base, None, &[], &servers).unwrap();
        let users = read(&base.join("nats/users.conf"));
        for user in USERS {
            let pass = read(&base.join(user).join("nats-pass"));
            assert!(pass.len() > 60 && users.contains(&format!("\"{pass}\"")));
        }
        assert!(read(&base.join("nats/routes.conf")).contains("@n2:6222"));
        let key = read(&base.join("keys/signing.pem"));
        assert_eq!(
            read(&base.join("keys/public.pem")),
            read(&base.join("verify/public.pem"))
        );
        assert!(!base.join("verify/signing.pem").exists());
        let mode = |path: &str| base.join(path).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("nats"), mode("nats/users.conf")), (0o700, 0o600));
        assert_eq!(mode("gateway/nats-pass"), 0o600);

        prepare(base, None, &[], &servers).unwrap();
        assert_eq!(users, read(&base.join("nats/users.conf")));
        assert_eq!(key, read(&base.join("keys/signing.pem")));
    }

    #[test]
    fn what_is_revoked_is_written_where_services_look() {
        let dir = tempfile::tempdir().unwrap();
        prepare(dir.path(), None, &[], &[]).unwrap();
        let issuer = Issuer::open(&dir.path().join("keys")).unwrap();
        issuer.revoke("some-id").unwrap();
        assert_eq!(read(&dir.path().join("verify/denied")), "some-id\n");
    }

    #[test]
    fn pass_phrases_that_do_not_match_are_no_success() {
        let dir = tempfile::tempdir().unwrap();
        prepare(dir.path(), None, &[], &[]).unwrap();
        fs::remove_file(dir.path().join("gateway/nats-pass")).unwrap();
        assert!(prepare(dir.path(), None, &[], &[]).is_err());
    }
}
