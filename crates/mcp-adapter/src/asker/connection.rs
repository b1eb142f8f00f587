//! Calls to the service: one client, remade when its credential is refused.

use super::lock;
use askbus_domain::TenantId;
use askbus_wire::client::{Bearer, Client, Target};
use askbus_wire::error::{ErrorCode, WireError};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;
use tonic::transport::Channel;
use tonic::{Response, Status};

/// How long one call may take before it counts as lost.
const CALL_LIMIT: Duration = Duration::from_secs(10);

/// Where the credential comes from.
#[derive(Clone)]
pub enum Token {
    /// The token itself.
    Value(String),
    /// A file that holds it. It is read when a client is made, and again after the service refused
    /// the credential, so a credential made later takes effect without a restart.
    File(PathBuf),
}

impl From<String> for Token {
    fn from(token: String) -> Self {
        Token::Value(token)
    }
}

impl Token {
    /// The tenant the credential names. It is not verified here: the service does that, and whoever
    /// holds a credential learns nothing from its own name.
    pub(super) async fn tenant(&self) -> Result<TenantId, WireError> {
        #[derive(Deserialize)]
        struct Claims {
            tenant: TenantId,
        }
        let token = self.read().await?;
        let payload = token.trim().split('.').nth(1).unwrap_or_default();
        let claims = URL_SAFE_NO_PAD
            .decode(payload)
            .ok()
            .and_then(|json| serde_json::from_slice::<Claims>(&json).ok());
        claims.map(|claims| claims.tenant).ok_or_else(|| {
            WireError::new(
                ErrorCode::Unauthenticated,
                "the credential names no tenant; it is not one of askbus",
            )
        })
    }

    async fn read(&self) -> Result<String, WireError> {
        match self {
            Token::Value(token) => Ok(token.clone()),
            // The service writes the file at its first start: a missing one is a missing service.
            Token::File(path) => tokio::fs::read_to_string(path).await.map_err(|e| {
                let code = match e.kind() {
                    std::io::ErrorKind::NotFound => ErrorCode::Unavailable,
                    _ => ErrorCode::Unauthenticated,
                };
                WireError::new(
                    code,
                    format!("the credential {} cannot be read: {e}", path.display()),
                )
            }),
        }
    }
}

/// The way to the service.
pub(super) struct Connection {
    target: Target,
    token: Mutex<Token>,
    /// Shared with others.
    channel: Option<Channel>,
    current: Mutex<Option<Client>>,
}

impl Connection {
    /// The file that is to hold the credential, while there is none.
    pub(super) async fn lacks_credential(&self) -> Option<PathBuf> {
        let Token::File(path) = self.token() else {
            return None;
        };
        let exists = tokio::fs::try_exists(&path).await;
        (!exists.unwrap_or(true)).then_some(path)
    }

    pub(super) fn new(target: Target, token: Token, channel: Option<Channel>) -> Self {
        Self {
            target,
            token: Mutex::new(token),
            channel,
            current: Mutex::default(),
        }
    }

    pub(super) fn token(&self) -> Token {
        lock(&self.token).clone()
    }

    /// Speaks with this token from now on.
    pub(super) fn renew(&self, token: Token) {
        *lock(&self.token) = token;
        *lock(&self.current) = None;
    }

    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    /// The client in use, or a new one.
    async fn client(&self) -> Result<Client, WireError> {
        let current = lock(&self.current).clone();
        if let Some(client) = current {
            return Ok(client);
        }
        let token = self.token().read().await?;
        let client = match &self.channel {
            Some(channel) => Client::over(channel.clone(), Bearer::new(&token)?),
            None => Client::new(&self.target, &token)?,
        };
        *lock(&self.current) = Some(client.clone());
        Ok(client)
    }

    /// One call, bounded. An error with [`ErrorCode::Unavailable`] may have reached the service.
    pub(super) async fn call<T, F>(
        &self,
        call: impl FnOnce(Client) -> F + Send,
    ) -> Result<T, WireError>
    where
        F: Future<Output = Result<Response<T>, Status>> + Send,
    {
        let client = self.client().await?;
        match tokio::time::timeout(CALL_LIMIT, call(client)).await {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => {
                let error = WireError::from_status(&status);
                if error.code == ErrorCode::Unauthenticated {
                    *lock(&self.current) = None;
                }
                Err(error)
            }
            Err(_) => Err(WireError::new(
                ErrorCode::Unavailable,
                format!("{} gave no answer within {CALL_LIMIT:?}", self.target),
            )),
        }
    }
}
