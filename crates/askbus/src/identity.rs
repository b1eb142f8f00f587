//! Which service a command speaks to, and with which credential.

use crate::config::Config;
use crate::exit::{CONFIG, Failure, UNAVAILABLE};
use crate::home::Home;
use askbus_credential::Role;
use askbus_mcp_adapter::asker::Token;
use askbus_wire::client::Target;
use askbus_wire::targets::Targets;
use std::fs;
use std::path::Path;

/// Where session-binding is: the configured address, the service's URL, or this machine's socket.
pub(crate) fn target(config: &Config) -> Result<Target, Failure> {
    match config.session_binding.as_ref().or(config.url.as_ref()) {
        Some(text) => parse_target(text),
        None => Ok(Target::Socket(Home::new(&config.home).socket())),
    }
}

/// A target as it stands in the configuration.
pub(crate) fn parse_target(text: &str) -> Result<Target, Failure> {
    text.parse()
        .map_err(|e| Failure::new(CONFIG, format!("setting session_binding: {e}")))
}

/// A gateway's targets by tenant, as they stand in the configuration.
pub(crate) fn parse_targets(text: &str) -> Result<Targets, Failure> {
    text.parse()
        .map_err(|e| Failure::new(CONFIG, format!("setting session_binding: {e}")))
}

/// The credential of a caller: the configured one (its text, or a file that holds it), else this
/// machine's for that role, which may come to be only when the service first starts.
pub(crate) fn source(config: &Config, role: Role) -> Token {
    match &config.credential {
        // A token has no slash; a path that names no file yet may be written later.
        Some(given) if given.contains('/') || Path::new(given).is_file() => {
            Token::File(given.into())
        }
        Some(given) => Token::Value(given.trim().to_owned()),
        None => Token::File(Home::new(&config.home).credential(role)),
    }
}

/// The credential's text, for commands that need it now.
pub(crate) fn token(config: &Config, role: Role) -> Result<String, Failure> {
    match source(config, role) {
        Token::Value(token) if is_token(&token) => Ok(token),
        Token::Value(name) => Err(Failure::new(
            CONFIG,
            format!(
                "setting credential: there is no file {name}, and a credential it is not either"
            ),
        )),
        Token::File(path) => match fs::read_to_string(&path) {
            Ok(text) => Ok(text.trim().to_owned()),
            Err(error) if config.credential.is_some() => {
                Err(Failure::new(CONFIG, format!("{}: {error}", path.display())))
            }
            Err(_) => Err(match &config.url {
                Some(url) => Failure::new(
                    CONFIG,
                    format!(
                        "there is no credential for {url}; set ASKBUS_CREDENTIAL to a {}'s \
                         credential, or to a file that holds one",
                        role.as_str()
                    ),
                ),
                None => never_run(config),
            }),
        },
    }
}

/// Whether a text has the form of a credential: three parts of a signed token.
fn is_token(text: &str) -> bool {
    text.split('.').count() == 3
}

fn never_run(config: &Config) -> Failure {
    Failure::new(
        UNAVAILABLE,
        format!(
            "no service has run in {} yet; start one with `askbus up`",
            config.home.display()
        ),
    )
}

/// Where the gateway is: the configured URL, or the address of this machine's last start.
pub(crate) fn gateway_url(config: &Config) -> Result<String, Failure> {
    if let Some(url) = &config.url {
        let url = url.trim_end_matches('/');
        // As for agents, a host and a port are enough.
        let scheme = if url.contains("://") { "" } else { "http://" };
        return Ok(format!("{scheme}{url}"));
    }
    match Home::new(&config.home).last_address() {
        Some(last) => Ok(format!("http://{}", last.address)),
        None => Err(never_run(config)),
    }
}
