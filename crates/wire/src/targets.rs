//! Which session-binding serves which tenant: `acme=h:1;h:2,h:3`.

use crate::client::{NotATarget, Target};
use crate::error::{ErrorCode, WireError};
use askbus_domain::{IdError, TenantId};
use std::collections::BTreeMap;
use tonic::transport::Channel;

/// Session-bindings by tenant, and those of all other tenants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Targets {
    named: BTreeMap<TenantId, Target>,
    others: Option<Target>,
}

/// Why a table cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetsError {
    /// A part that names no target.
    #[error(transparent)]
    Target(#[from] NotATarget),
    /// A name that is not a tenant id.
    #[error(transparent)]
    Tenant(#[from] IdError),
    /// The same tenant twice.
    #[error("tenant {0} is named twice")]
    Twice(TenantId),
    /// Two parts without a tenant.
    #[error("only one part may go without a tenant (write acme=h:1;h:2,h:3)")]
    TwoDefaults,
}

impl std::str::FromStr for Targets {
    type Err = TargetsError;

    /// Parts with `;` between them: `tenant=target`, or `a,b=target` for several tenants, or once a
    /// bare target for all others. A target is what [`Target`] reads.
    fn from_str(text: &str) -> Result<Self, TargetsError> {
        let mut table = Self {
            named: BTreeMap::new(),
            others: None,
        };
        for part in text.split(';').map(str::trim) {
            // A `=` within an address or a path is not ours.
            let named = part
                .split_once('=')
                .filter(|(tenants, _)| !tenants.contains(['/', ':']));
            let Some((tenants, target)) = named else {
                if table.others.replace(part.parse()?).is_some() {
                    return Err(TargetsError::TwoDefaults);
                }
                continue;
            };
            let target: Target = target.parse()?;
            for tenant in tenants.split(',') {
                let tenant = TenantId::new(tenant.trim())?;
                if table.named.contains_key(&tenant) {
                    return Err(TargetsError::Twice(tenant));
                }
                table.named.insert(tenant, target.clone());
            }
        }
        Ok(table)
    }
}

/// One session-binding for everybody.
impl From<Target> for Targets {
    fn from(target: Target) -> Self {
        Self {
            named: BTreeMap::new(),
            others: Some(target),
        }
    }
}

impl Targets {
    /// The same, but for `tenant`, which has its own.
    #[must_use]
    pub fn but(mut self, tenant: TenantId, target: Target) -> Self {
        self.named.insert(tenant, target);
        self
    }

    /// A channel to each, which connects when first used.
    ///
    /// # Errors
    /// When an address cannot be one.
    pub fn channels(&self) -> Result<Channels, WireError> {
        let named = self.named.iter();
        Ok(Channels {
            named: named
                .map(|(tenant, target)| Ok((tenant.clone(), target.channel()?)))
                .collect::<Result<_, WireError>>()?,
            others: self.others.as_ref().map(Target::channel).transpose()?,
        })
    }
}

/// Channels to the session-bindings of a table.
pub struct Channels {
    named: BTreeMap<TenantId, Channel>,
    others: Option<Channel>,
}

impl Channels {
    /// The channel to those who serve `tenant`.
    ///
    /// # Errors
    /// `WRONG_INSTANCE` when the table has nobody for it.
    pub fn of(&self, tenant: &TenantId) -> Result<Channel, WireError> {
        let found = self.named.get(tenant).or(self.others.as_ref());
        found.cloned().ok_or_else(|| {
            let text = format!("no session-binding is named for tenant {tenant} here");
            WireError::new(ErrorCode::WrongInstance, text)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Targets, TargetsError> {
        text.parse()
    }

    fn tenant(name: &str) -> TenantId {
        TenantId::new(name).unwrap()
    }

    #[test]
    fn tables() {
        let one = read("h:1").unwrap();
        assert_eq!(one, Targets::from("h:1".parse::<Target>().unwrap()));
        let table = read("acme, umbrella = a:1 ; b:1,c:1").unwrap();
        let acme = Target::Url("http://a:1".to_owned());
        assert_eq!(table.named.get(&tenant("acme")), Some(&acme));
        assert_eq!(table.named.get(&tenant("umbrella")), Some(&acme));
        let pair = Target::Replicas(vec!["b:1".to_owned(), "c:1".to_owned()]);
        assert_eq!(table.others, Some(pair));
        let socket = read("/run/a=b.sock").unwrap();
        assert_eq!(socket.others, Some(Target::Socket("/run/a=b.sock".into())));
    }

    #[test]
    fn what_is_no_table() {
        assert_eq!(read("a:1;b:1"), Err(TargetsError::TwoDefaults));
        let twice = Err(TargetsError::Twice(tenant("acme")));
        assert_eq!(read("acme=a:1;acme=b:1"), twice);
        assert!(matches!(read(""), Err(TargetsError::Target(_))));
        assert!(matches!(read("acme=a:1;"), Err(TargetsError::Target(_))));
        assert!(matches!(read("acme="), Err(TargetsError::Target(_))));
        assert!(matches!(read("=a:1"), Err(TargetsError::Tenant(_))));
    }

    #[tokio::test]
    async fn a_tenant_of_nobody_is_the_wrong_instance() {
        let channels = read("acme=a:1").unwrap().channels().unwrap();
        assert!(channels.of(&tenant("acme")).is_ok());
        let refused = channels.of(&tenant("other")).map(drop).unwrap_err();
        assert_eq!(refused.code, ErrorCode::WrongInstance);
        let shared = read("acme=a:1;b:1").unwrap().channels().unwrap();
        assert!(shared.of(&tenant("other")).is_ok());
    }
}
