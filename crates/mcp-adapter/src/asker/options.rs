//! What an asking process is made of.

use super::connection::Token;
use super::resolutions::Outcomes;
use askbus_wire::client::Target;
use std::time::Duration;
use tonic::transport::Channel;

/// What an asking process is made of.
pub struct AskerOptions {
    /// Where the service listens.
    pub target: Target,
    /// The credential, of role agent or host.
    pub token: Token,
    /// One of the profiles the credential allows; none: its first.
    pub profile: Option<String>,
    /// The session to ask in; none: the one that the first call's client names, else one of this
    /// process's own.
    pub session: Option<String>,
    /// The context of a host's turn (`ASKBUS_CONTEXT`); none: a turn of this process's own.
    pub context: Option<String>,
    /// Who asks, for the person to read.
    pub info: AskerInfo,
    /// How long a call waits for a service that cannot be reached; zero: one attempt.
    pub patience: Duration,
    /// How it learns how its questions end.
    pub outcomes: Outcomes,
    /// The name it is known by; none: one of its own. Who takes another's name keeps what that one
    /// asked.
    pub asker_id: Option<String>,
    /// A connection to `target` that it shares with others; none: one of its own.
    pub channel: Option<Channel>,
}

/// Who asks. Everything in it is this process's own claim, cut to 300 characters a field.
#[derive(Debug, Clone, Default)]
pub struct AskerInfo {
    /// Client name and version; a call may name its own.
    pub client: String,
    /// Machine.
    pub host: String,
    /// Working directory.
    pub cwd: String,
}
