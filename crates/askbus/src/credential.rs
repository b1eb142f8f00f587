//! `askbus credential`.

use crate::cli::{CredentialArgs, CredentialCommand};
use crate::config::Config;
use crate::deployment;
use crate::exit::{Failure, USAGE};
use crate::home::Home;
use crate::{agent_guard, output, terminal};
use askbus_credential::{Grant, Issuer, Role};
use askbus_domain::{PersonId, ProfileId, TenantId, Timestamp};
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

/// Makes, lists and revokes credentials.
pub(crate) fn run(config: &Config, args: &CredentialArgs) -> Result<ExitCode, Failure> {
    let dir = config
        .signing_dir
        .clone()
        .unwrap_or_else(|| Home::new(&config.home).keys());
    match &args.command {
        CredentialCommand::Init {
            deploy: Some(base),
            uid,
            owned,
            nats_servers,
        } => {
            deployment::prepare(base, *uid, owned, nats_servers)?;
            output::line(base.display())?;
        }
        CredentialCommand::Init { .. } => {
            Issuer::open_or_create(&dir)?;
            output::line(dir.display())?;
        }
        CredentialCommand::Issue {
            role,
            sub,
            tenant,
            profiles,
            groups,
            life,
            json,
        } => {
            let role = parse_role(role)?;
            if matches!(role, Role::Person | Role::Operator) {
                agent_guard::refuse_agents()?;
            }
            let bad = |e: askbus_domain::IdError| Failure::new(USAGE, e);
            let grant = Grant {
                subject: PersonId::new(sub).map_err(bad)?,
                role,
                tenant: TenantId::new(tenant).map_err(bad)?,
                profiles: profiles
                    .iter()
                    .map(ProfileId::new)
                    .collect::<Result<_, _>>()
                    .map_err(bad)?,
                groups: groups.clone(),
                life: *life,
            };
            let (token, record) = issuer(config, &dir)?.issue(&grant)?;
            if *json {
                output::line(json!({"credential": token, "record": record}))?;
            } else {
                output::line(token)?;
            }
        }
        CredentialCommand::List { json } => {
            for record in Issuer::open(&dir)?.list()? {
                if *json {
                    output::line(json!(record))?;
                } else {
                    let profiles: Vec<_> =
                        record.profiles.iter().map(ToString::to_string).collect();
                    let state = state(record.revoked, record.expires_at);
                    output::line(format_args!(
                        "{}  {:<8} {}  tenant {}  profiles {}  {state}",
                        record.id,
                        record.role.as_str(),
                        record.subject,
                        record.tenant,
                        profiles.join(",")
                    ))?;
                }
            }
        }
        CredentialCommand::Revoke { id } => {
            let issuer = Issuer::open(&dir)?;
            if !issuer.list()?.iter().any(|record| record.id == *id) {
                return Err(Failure::new(USAGE, format!("there is no credential {id}")));
            }
            issuer.revoke(id)?;
            output::line(format_args!("revoked {id}"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A folder that somebody named holds keys already: new ones would make a credential that no service takes.
fn issuer(config: &Config, dir: &Path) -> Result<Issuer, Failure> {
    if config.signing_dir.is_none() {
        return Ok(Issuer::open_or_create(dir)?);
    }
    Issuer::open(dir).map_err(|error| {
        let named = dir.display();
        let text =
            format!("{error}; make keys with `askbus credential init --signing-dir {named}`");
        Failure::new(USAGE, text)
    })
}

/// Whether a credential still holds, and until when.
fn state(revoked: bool, expires_at: u64) -> String {
    let until = i64::try_from(expires_at.saturating_mul(1_000)).unwrap_or(i64::MAX);
    let until = terminal::moment(&Timestamp::from_unix_millis(until).to_string());
    if revoked {
        "revoked".to_owned()
    } else if expires_at <= unix_seconds() {
        format!("expired {until}")
    } else {
        format!("valid until {until}")
    }
}

fn unix_seconds() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}

fn parse_role(text: &str) -> Result<Role, Failure> {
    [Role::Agent, Role::Person, Role::Host, Role::Operator]
        .into_iter()
        .find(|role| role.as_str() == text)
        .ok_or_else(|| Failure::new(USAGE, "role is agent, person, host or operator"))
}
