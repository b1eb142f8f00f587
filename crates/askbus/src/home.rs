//! The folder of the single-machine mode: keys, credentials, log, socket and the last address.

use askbus_credential::{CredentialError, Grant, Issuer, Role, private};
use askbus_domain::{IdError, PersonId, ProfileId, TenantId};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The tenant of the single-machine mode.
pub(crate) const TENANT: &str = "local";
/// Its profile.
pub(crate) const PROFILE: &str = "default";
/// Its person.
pub(crate) const PERSON: &str = "me";
/// How long its credentials hold; they are renewed at each start when half of it is over.
const LIFE: Duration = Duration::from_hours(90 * 24);

/// Paths within the folder.
#[derive(Clone)]
pub(crate) struct Home(PathBuf);

/// Where the gateway was reached last.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LastAddress {
    /// Its address, `127.0.0.1:port`.
    pub address: String,
}

impl Home {
    pub(crate) fn new(path: &Path) -> Self {
        Self(path.to_owned())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn keys(&self) -> PathBuf {
        self.0.join("keys")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.0.join("askbus.sock")
    }

    /// The credential that commands of this role use.
    pub(crate) fn credential(&self, role: Role) -> PathBuf {
        self.0.join("credentials").join(role.as_str())
    }

    fn address_file(&self) -> PathBuf {
        self.0.join("gateway.json")
    }

    /// The address of the last start, if there was one.
    pub(crate) fn last_address(&self) -> Option<LastAddress> {
        let text = fs::read_to_string(self.address_file()).ok()?;
        serde_json::from_str(&text).ok()
    }

    pub(crate) fn keep_address(&self, address: &str) -> io::Result<()> {
        let json = serde_json::to_vec(&LastAddress {
            address: address.to_owned(),
        })?;
        private::write_file(&self.address_file(), &json)
    }

    /// Makes what is missing: the folder, the keys, and one credential each for agents, hosts and
    /// the person of this machine.
    pub(crate) fn prepare(&self) -> Result<Issuer, CredentialError> {
        let failed = |e: io::Error| CredentialError::File {
            path: self.0.display().to_string(),
            error: e.to_string(),
        };
        private::create_dir(&self.0).map_err(failed)?;
        private::create_dir(&self.0.join("credentials")).map_err(failed)?;
        let issuer = Issuer::open_or_create(&self.keys())?;
        let verifier = askbus_credential::Verifier::open(&self.keys())?;
        for role in [Role::Agent, Role::Host, Role::Person] {
            let path = self.credential(role);
            let kept = fs::read_to_string(&path)
                .ok()
                .and_then(|t| verifier.verify(t.trim()).ok());
            let now = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default()
                .as_secs();
            if kept.is_some_and(|c| c.expires_at > now + LIFE.as_secs() / 2) {
                continue;
            }
            let subject = if role == Role::Person {
                PERSON
            } else {
                role.as_str()
            };
            let (token, _) = issuer.issue(&local_grant(role, subject).map_err(|e| {
                CredentialError::File {
                    path: path.display().to_string(),
                    error: e.to_string(),
                }
            })?)?;
            private::write_file(&path, token.as_bytes()).map_err(failed)?;
        }
        Ok(issuer)
    }
}

fn local_grant(role: Role, subject: &str) -> Result<Grant, IdError> {
    Ok(Grant {
        subject: PersonId::new(subject)?,
        role,
        tenant: TenantId::new(TENANT)?,
        profiles: vec![ProfileId::new(PROFILE)?],
        groups: Vec::new(),
        life: LIFE,
    })
}
