//! What a credential says.

use crate::CredentialError;
use askbus_domain::{PersonId, ProfileId, TenantId};
use serde::{Deserialize, Serialize};

/// What the bearer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Asks; never answers.
    Agent,
    /// Sees and answers.
    Person,
    /// Begins and ends turns for agents it runs, and asks for them; never answers.
    Host,
    /// Runs the service for a tenant; sees and answers too.
    Operator,
}

impl Role {
    /// The word on the wire and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Agent => "agent",
            Role::Person => "person",
            Role::Host => "host",
            Role::Operator => "operator",
        }
    }
}

/// A verified credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// Its own id, by which it is revoked.
    pub id: String,
    /// Who: a person's name, or the name of an agent or host.
    pub subject: PersonId,
    /// What the bearer is.
    pub role: Role,
    /// The one tenant it speaks for.
    pub tenant: TenantId,
    /// Profiles it allows, at least one; the first is the default.
    pub profiles: Vec<ProfileId>,
    /// Groups of a person.
    pub groups: Vec<String>,
    /// End of its life, Unix seconds.
    pub expires_at: u64,
    /// Ids of the credentials it was derived from, the oldest first. Revoking any of them revokes it.
    pub parents: Vec<String>,
    /// Whether it was made for one browser alone: who signs out there needs it no more.
    pub browser: bool,
}

impl Credential {
    /// May ask questions and begin turns.
    pub const fn may_ask(&self) -> bool {
        matches!(self.role, Role::Agent | Role::Host)
    }

    /// May see what waits, and answer. Never an agent: it would answer itself.
    pub const fn may_answer(&self) -> bool {
        matches!(self.role, Role::Person | Role::Operator)
    }

    /// The profile in force: `selected` if the credential allows it, the first one when none is
    /// selected (E7).
    pub fn profile(&self, selected: Option<&str>) -> Result<&ProfileId, CredentialError> {
        match selected.filter(|s| !s.is_empty()) {
            None => self.profiles.first(),
            Some(name) => self.profiles.iter().find(|p| p.as_str() == name),
        }
        .ok_or(CredentialError::ProfileNotAllowed)
    }

    /// Whether it allows `profile`.
    pub fn allows(&self, profile: &ProfileId) -> bool {
        self.profiles.contains(profile)
    }
}

/// The claims as they stand in the token.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Claims {
    pub iss: String,
    pub jti: String,
    pub sub: PersonId,
    pub role: Role,
    pub tenant: TenantId,
    pub profiles: Vec<ProfileId>,
    #[serde(default)]
    pub groups: Vec<String>,
    pub iat: u64,
    pub exp: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub browser: bool,
}

pub(crate) const ISSUER: &str = "askbus";

impl From<Claims> for Credential {
    fn from(claims: Claims) -> Self {
        Self {
            id: claims.jti,
            subject: claims.sub,
            role: claims.role,
            tenant: claims.tenant,
            profiles: claims.profiles,
            groups: claims.groups,
            expires_at: claims.exp,
            parents: claims.parents,
            browser: claims.browser,
        }
    }
}
