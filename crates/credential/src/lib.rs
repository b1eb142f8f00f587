//! Who is calling: Ed25519-signed credentials with role, tenant and profiles, verified by every
//! service with the public key, revocable through a watched deny file. Nothing in a request body
//! can widen what a credential allows, so nothing of a request enters here but the token.

mod claims;
mod deny;
mod issuer;
pub mod private;
mod verifier;

pub use claims::{Credential, Role};
pub use issuer::{Grant, Issued, Issuer};
pub use verifier::Verifier;

/// Why a credential was refused or could not be handled.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// Not signed by a known key, malformed, or of another issuer.
    #[error("the credential is not one of this service's")]
    Invalid,
    /// Past its life.
    #[error("the credential has expired; get a new one")]
    Expired,
    /// On the deny list.
    #[error("the credential was revoked")]
    Revoked,
    /// The credential does not allow the profile that was asked for.
    #[error("the credential does not allow this profile")]
    ProfileNotAllowed,
    /// Key files could not be read or written.
    #[error("{path}: {error}")]
    File {
        /// Which file.
        path: String,
        /// What happened.
        error: String,
    },
}

impl CredentialError {
    #[allow(clippy::needless_pass_by_value)]
    pub(crate) fn file(path: &std::path::Path, error: impl std::fmt::Display) -> Self {
        Self::File {
            path: path.display().to_string(),
            error: error.to_string(),
        }
    }
}
