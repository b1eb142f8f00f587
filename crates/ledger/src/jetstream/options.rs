//! What may be chosen about the bus.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

const MIB: u64 = 1024 * 1024;

/// How to reach the bus, and how large its streams may grow.
#[derive(Clone)]
pub struct JetStreamOptions {
    /// Servers, `nats://host:port`, comma separated; `tls://` for TLS.
    pub url: String,
    /// `service@instance`, as the server shows the connection.
    pub name: String,
    /// User, with [`password`](Self::password). Replies then come below `_INBOX.USER`, as far as
    /// the name is made of letters, digits, `-` and `_`.
    pub user: Option<String>,
    /// Password of the user.
    pub password: Option<String>,
    /// A file with a NATS user's JWT and seed.
    pub credentials: Option<PathBuf>,
    /// A PEM file with further certificate authorities.
    pub root_certificates: Option<PathBuf>,
    /// How many servers must hold each message: 1 on a single server, 3 on a cluster.
    pub replicas: usize,
    /// How large the log may grow, in bytes. At nine tenths new questions are refused.
    pub log_max_bytes: u64,
    /// How large the inbox may grow, in bytes.
    pub inbox_max_bytes: u64,
    /// How large the drafts may grow, in bytes; then the oldest go.
    pub drafts_max_bytes: u64,
    /// How soon an inbox message comes again whose taker died; one that lives may keep it longer. The
    /// same on all instances; only tests have a reason to change it.
    pub ack_wait: Duration,
}

impl JetStreamOptions {
    /// One replica, 1 GiB of log, 256 MiB of inbox, 64 MiB of drafts, no credentials.
    pub fn new(url: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            name: name.into(),
            user: None,
            password: None,
            credentials: None,
            root_certificates: None,
            replicas: 1,
            log_max_bytes: 1024 * MIB,
            inbox_max_bytes: 256 * MIB,
            drafts_max_bytes: 64 * MIB,
            ack_wait: Duration::from_secs(5),
        }
    }
}

/// Without the secrets.
impl fmt::Debug for JetStreamOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JetStreamOptions")
            .field("name", &self.name)
            .field("user", &self.user)
            .field("credentials", &self.credentials)
            .field("replicas", &self.replicas)
            .field("log_max_bytes", &self.log_max_bytes)
            .finish_non_exhaustive()
    }
}
