//! Checking credentials with the public key.

use crate::claims::{Claims, ISSUER};
use crate::deny::DenyList;
use crate::issuer::{PUBLIC_KEY, unix_seconds};
use crate::{Credential, CredentialError};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, errors::ErrorKind};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// Verifies credentials; cheap to clone.
#[derive(Clone)]
pub struct Verifier {
    inner: Arc<Inner>,
}

struct Inner {
    key: DecodingKey,
    validation: Validation,
    denied: DenyList,
    fingerprint: String,
    /// Tokens whose signature was found good, by their digest: checking it again for every call
    /// would be a tenth of all work. Life and deny list are checked every time.
    signed: Mutex<HashMap<[u8; 32], Arc<Credential>>>,
    /// Signatures checked so far.
    checked: AtomicU64,
}

/// A longer token is refused unread.
const MAX_TOKEN_BYTES: usize = 8 * 1024;
/// Tokens remembered at once; then all are forgotten and checked anew.
const MAX_REMEMBERED: usize = 4096;

impl Verifier {
    /// Reads the public key in `dir` and follows the deny list beside it. The signing key is not
    /// needed and need not be readable.
    pub fn open(dir: &Path) -> Result<Self, CredentialError> {
        let path = dir.join(PUBLIC_KEY);
        let pem = fs::read(&path).map_err(|e| CredentialError::file(&path, e))?;
        let key = DecodingKey::from_ed_pem(&pem).map_err(|e| CredentialError::file(&path, e))?;
        let mut validation = Validation::new(Algorithm::EdDSA);
        validation.set_issuer(&[ISSUER]);
        validation.set_required_spec_claims(&["exp", "iss", "sub"]);
        validation.validate_aud = false;
        validation.leeway = 0;
        let digest: [u8; 32] = Sha256::digest(&pem).into();
        let [a, b, c, d, ..] = digest;
        let fingerprint = format!("{:08x}", u32::from_be_bytes([a, b, c, d]));
        let denied = DenyList::follow(dir)?;
        Ok(Self {
            inner: Arc::new(Inner {
                key,
                validation,
                denied,
                fingerprint,
                signed: Mutex::default(),
                checked: AtomicU64::new(0),
            }),
        })
    }

    /// The credential behind a token. Signature, life and deny list are checked.
    pub fn verify(&self, token: &str) -> Result<Credential, CredentialError> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(CredentialError::Invalid);
        }
        let digest: [u8; 32] = Sha256::digest(token).into();
        let known = self.remembered().get(&digest).cloned();
        let credential = if let Some(known) = known {
            known
        } else {
            let signed = Arc::new(self.check_signature(token)?);
            let mut remembered = self.remembered();
            if remembered.len() >= MAX_REMEMBERED {
                remembered.clear();
            }
            remembered.insert(digest, Arc::clone(&signed));
            signed
        };
        self.still_holds(&credential)?;
        Ok(Credential::clone(&credential))
    }

    /// How many signatures were checked so far; of a good token that comes again, none is.
    pub fn signatures_checked(&self) -> u64 {
        self.inner.checked.load(Ordering::Relaxed)
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, HashMap<[u8; 32], Arc<Credential>>> {
        self.inner
            .signed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn check_signature(&self, token: &str) -> Result<Credential, CredentialError> {
        self.inner.checked.fetch_add(1, Ordering::Relaxed);
        let data = jsonwebtoken::decode::<Claims>(token, &self.inner.key, &self.inner.validation)
            .map_err(|e| match e.kind() {
            ErrorKind::ExpiredSignature => CredentialError::Expired,
            _ => CredentialError::Invalid,
        })?;
        let credential = Credential::from(data.claims);
        if credential.profiles.is_empty() {
            return Err(CredentialError::Invalid);
        }
        Ok(credential)
    }

    fn is_denied(&self, credential: &Credential) -> bool {
        let mut ids = credential.parents.iter().chain([&credential.id]);
        ids.any(|id| self.inner.denied.contains(id))
    }

    /// Whether a credential that was verified earlier still holds: its life and the deny list, for
    /// whoever serves it for longer than one call.
    pub fn still_holds(&self, credential: &Credential) -> Result<(), CredentialError> {
        if credential.expires_at <= unix_seconds() {
            return Err(CredentialError::Expired);
        }
        if self.is_denied(credential) {
            return Err(CredentialError::Revoked);
        }
        Ok(())
    }

    /// Hears whenever the deny list was read again: whoever serves somebody for long looks then whether
    /// they still may be served.
    pub fn revocations(&self) -> watch::Receiver<()> {
        self.inner.denied.changes()
    }

    /// Eight hexadecimal digits that name the key; two services on one machine with different keys
    /// keep their cookies apart by it.
    pub fn fingerprint(&self) -> &str {
        &self.inner.fingerprint
    }
}
