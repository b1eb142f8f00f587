//! Making keys and credentials.

use crate::claims::{Claims, ISSUER};
use crate::{Credential, CredentialError, Role, private};
use askbus_domain::{PersonId, ProfileId, TenantId};
use ed25519_dalek::SigningKey;
use ed25519_dalek::pkcs8::{
    EncodePrivateKey as _, EncodePublicKey as _, spki::der::pem::LineEnding,
};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, io};

pub(crate) const SIGNING_KEY: &str = "signing.pem";
pub(crate) const PUBLIC_KEY: &str = "public.pem";
pub(crate) const DENY_LIST: &str = "denied";
const ISSUED_LIST: &str = "issued.jsonl";

/// Signs credentials with the key in a folder of its own (0700).
pub struct Issuer {
    dir: PathBuf,
    key: EncodingKey,
}

/// What a new credential is to say.
#[derive(Debug, Clone)]
pub struct Grant {
    /// Who.
    pub subject: PersonId,
    /// What.
    pub role: Role,
    /// For which tenant.
    pub tenant: TenantId,
    /// With which profiles; at least one.
    pub profiles: Vec<ProfileId>,
    /// In which groups.
    pub groups: Vec<String>,
    /// For how long.
    pub life: Duration,
}

/// Where a credential comes from.
#[derive(Debug, Default)]
struct Origin {
    parents: Vec<String>,
    browser: bool,
}

/// The record of a credential; never the credential itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issued {
    /// Its id.
    pub id: String,
    /// Who.
    pub subject: PersonId,
    /// What.
    pub role: Role,
    /// For which tenant.
    pub tenant: TenantId,
    /// With which profiles.
    pub profiles: Vec<ProfileId>,
    /// In which groups; none in records of before they were kept.
    #[serde(default)]
    pub groups: Option<Vec<String>>,
    /// When, Unix seconds.
    pub issued_at: u64,
    /// Until when, Unix seconds.
    pub expires_at: u64,
    /// Whether it was revoked; not stored with the record.
    #[serde(default)]
    pub revoked: bool,
}

impl Issuer {
    /// Opens the key folder; makes folder, key pair and deny list when there are none. Nothing that
    /// exists is overwritten.
    pub fn open_or_create(dir: &Path) -> Result<Self, CredentialError> {
        private::create_dir(dir).map_err(|e| CredentialError::file(dir, e))?;
        let signing = dir.join(SIGNING_KEY);
        if !signing.exists() {
            let key = SigningKey::from_bytes(&rand::random());
            let pem = key
                .to_pkcs8_pem(LineEnding::LF)
                .map_err(|e| CredentialError::file(&signing, e))?;
            let public = key
                .verifying_key()
                .to_public_key_pem(LineEnding::LF)
                .map_err(|e| CredentialError::file(&signing, e))?;
            write(&dir.join(PUBLIC_KEY), public.as_bytes())?;
            write(&signing, pem.as_bytes())?;
        }
        let deny = dir.join(DENY_LIST);
        if !deny.exists() {
            write(&deny, b"")?;
        }
        Self::open(dir)
    }

    /// Opens an existing key folder.
    pub fn open(dir: &Path) -> Result<Self, CredentialError> {
        let path = dir.join(SIGNING_KEY);
        let pem = fs::read(&path).map_err(|e| CredentialError::file(&path, e))?;
        let key = EncodingKey::from_ed_pem(&pem).map_err(|e| CredentialError::file(&path, e))?;
        Ok(Self {
            dir: dir.to_owned(),
            key,
        })
    }

    /// Makes a credential, records that it was made, and returns the token with its record.
    pub fn issue(&self, grant: &Grant) -> Result<(String, Issued), CredentialError> {
        let (token, issued) = self.sign(grant)?;
        let path = self.dir.join(ISSUED_LIST);
        let line = serde_json::to_string(&issued).map_err(|e| CredentialError::file(&path, e))?;
        private::append_line(&path, &line).map_err(|e| CredentialError::file(&path, e))?;
        Ok((token, issued))
    }

    /// Makes a credential without a record.
    pub fn sign(&self, grant: &Grant) -> Result<(String, Issued), CredentialError> {
        self.sign_until(grant, u64::MAX, Origin::default())
    }

    /// Makes a credential for one browser, without a record.
    pub fn sign_browser(&self, grant: &Grant) -> Result<(String, Issued), CredentialError> {
        let origin = Origin {
            parents: Vec::new(),
            browser: true,
        };
        self.sign_until(grant, u64::MAX, origin)
    }

    /// Makes a credential for one more browser of the bearer of `parent`, without a record. It says
    /// what `parent` says, lives no longer, and is revoked with it; only that of another browser ends
    /// when its person signs out there, which is nothing to this one.
    ///
    /// # Errors
    /// [`CredentialError::Expired`] when the life of `parent` is over.
    pub fn sign_child(
        &self,
        parent: &Credential,
        life: Duration,
    ) -> Result<(String, Issued), CredentialError> {
        if parent.expires_at <= unix_seconds() {
            return Err(CredentialError::Expired);
        }
        let grant = Grant {
            subject: parent.subject.clone(),
            role: parent.role,
            tenant: parent.tenant.clone(),
            profiles: parent.profiles.clone(),
            groups: parent.groups.clone(),
            life,
        };
        let mut parents = parent.parents.clone();
        if !parent.browser {
            parents.push(parent.id.clone());
        }
        let origin = Origin {
            parents,
            browser: true,
        };
        self.sign_until(&grant, parent.expires_at, origin)
    }

    fn sign_until(
        &self,
        grant: &Grant,
        latest: u64,
        origin: Origin,
    ) -> Result<(String, Issued), CredentialError> {
        let now = unix_seconds();
        let issued = Issued {
            id: uuid::Uuid::new_v4().to_string(),
            subject: grant.subject.clone(),
            role: grant.role,
            tenant: grant.tenant.clone(),
            profiles: grant.profiles.clone(),
            groups: Some(grant.groups.clone()),
            issued_at: now,
            expires_at: now.saturating_add(grant.life.as_secs()).min(latest),
            revoked: false,
        };
        let claims = Claims {
            iss: ISSUER.to_owned(),
            jti: issued.id.clone(),
            sub: grant.subject.clone(),
            role: grant.role,
            tenant: grant.tenant.clone(),
            profiles: grant.profiles.clone(),
            groups: grant.groups.clone(),
            iat: now,
            exp: issued.expires_at,
            parents: origin.parents,
            browser: origin.browser,
        };
        let token = jsonwebtoken::encode(&Header::new(Algorithm::EdDSA), &claims, &self.key)
            .map_err(|e| CredentialError::file(&self.dir, e))?;
        Ok((token, issued))
    }

    /// Every credential recorded, oldest first, with its revocation.
    pub fn list(&self) -> Result<Vec<Issued>, CredentialError> {
        let path = self.dir.join(ISSUED_LIST);
        let text = read_or_empty(&path)?;
        let denied = read_or_empty(&self.dir.join(DENY_LIST))?;
        let mut all = Vec::new();
        for line in text.lines().filter(|l| !l.trim().is_empty()) {
            let mut issued: Issued =
                serde_json::from_str(line).map_err(|e| CredentialError::file(&path, e))?;
            issued.revoked = denied.lines().any(|d| d.trim() == issued.id);
            all.push(issued);
        }
        Ok(all)
    }

    /// Puts a credential's id on the deny list; running services take note at once.
    pub fn revoke(&self, id: &str) -> Result<(), CredentialError> {
        let path = self.dir.join(DENY_LIST);
        private::append_line(&path, id).map_err(|e| CredentialError::file(&path, e))
    }
}

fn write(path: &Path, content: &[u8]) -> Result<(), CredentialError> {
    private::write_file(path, content).map_err(|e| CredentialError::file(path, e))
}

fn read_or_empty(path: &Path) -> Result<String, CredentialError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(e) => Err(CredentialError::file(path, e)),
    }
}

pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs())
}
