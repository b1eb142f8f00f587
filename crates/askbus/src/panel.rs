//! The person's commands speak to the gateway over HTTP.

use crate::config::Config;
use crate::exit::{CONFIG, Failure, TRY_AGAIN, UNAVAILABLE};
use crate::home::Home;
use crate::identity;
use askbus_credential::Role;
use askbus_wire::error::ErrorCode;
use reqwest::{Client, Method, StatusCode};
use serde_json::Value;
use std::time::Duration;

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// The gateway, as this person.
pub(crate) struct Panel {
    client: Client,
    token: String,
    place: Place,
}

/// Where the gateway is.
#[derive(Clone)]
pub(crate) enum Place {
    /// Where the configuration says.
    Told(String),
    /// Where this machine's service said it is; another start may change that.
    LastStart(Home, String),
}

impl Place {
    /// Its address now, `http://host:port`.
    fn base(&self) -> String {
        match self {
            Self::Told(base) => base.clone(),
            Self::LastStart(home, base) => {
                let last = home.last_address();
                last.map_or_else(|| base.clone(), |last| format!("http://{}", last.address))
            }
        }
    }

    /// Where to open a WebSocket now.
    pub(crate) fn socket(&self) -> String {
        format!("{}/ws", self.base().replacen("http", "ws", 1))
    }
}

/// A reply: its status and JSON.
pub(crate) struct Reply {
    pub status: StatusCode,
    pub body: Value,
}

impl Panel {
    pub(crate) fn open(config: &Config) -> Result<Self, Failure> {
        let token = identity::token(config, Role::Person)?;
        let base = identity::gateway_url(config)?;
        if base.starts_with("https://") {
            let text = format!(
                "{base}: agents reach a service behind TLS, but the commands of people speak plain HTTP only; \
                 open {base} in a browser, or run the command where the service is"
            );
            return Err(Failure::new(CONFIG, text));
        }
        let client = Client::builder()
            .timeout(PATIENCE)
            .no_proxy()
            .build()
            .map_err(|e| Failure::new(UNAVAILABLE, e))?;
        let place = match &config.url {
            Some(_) => Place::Told(base),
            None => Place::LastStart(Home::new(&config.home), base),
        };
        Ok(Self {
            client,
            token,
            place,
        })
    }

    /// Whether the service is one of this machine.
    pub(crate) fn is_here(&self) -> bool {
        match &self.place {
            Place::LastStart(..) => true,
            Place::Told(base) => {
                let host = reqwest::Url::parse(base).ok();
                let host = host.as_ref().and_then(reqwest::Url::host_str);
                host.is_some_and(|host| matches!(host, "localhost" | "127.0.0.1" | "[::1]"))
            }
        }
    }

    /// Where to open a WebSocket, with the credential to present.
    pub(crate) fn socket(&self) -> (Place, &str) {
        (self.place.clone(), &self.token)
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, Failure> {
        let reply = self.send(Method::GET, path, None, UNAVAILABLE).await?;
        refuse(&reply)?;
        Ok(reply.body)
    }

    /// Posts something a person wrote: when it cannot be delivered the exit status says to try again.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Reply, Failure> {
        self.send(Method::POST, path, Some(body), UNAVAILABLE).await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        unreachable: u8,
    ) -> Result<Reply, Failure> {
        let base = self.place.base();
        let mut request = self
            .client
            .request(method, format!("{base}{path}"))
            .bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(|e| {
            if e.is_connect() {
                let unsent = if body.is_some() {
                    "nothing was sent. "
                } else {
                    ""
                };
                let text = format!(
                    "no service can be reached at {base}. {unsent}Start it with `askbus up` and \
                     try again"
                );
                return Failure::new(unreachable, text);
            }
            let text = format!(
                "the service at {base} did not reply ({e}); whether it took this is not known. \
                 Sending it again is safe"
            );
            Failure::new(TRY_AGAIN, text)
        })?;
        let status = response.status();
        let body = response.json().await.unwrap_or(Value::Null);
        Ok(Reply { status, body })
    }
}

/// Turns an error reply into a failure with the right exit status.
pub(crate) fn refuse(reply: &Reply) -> Result<(), Failure> {
    if reply.status.is_success() {
        return Ok(());
    }
    let word = |name: &str| {
        reply
            .body
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let code = ErrorCode::parse(word("reason"));
    let exit = match code {
        Some(ErrorCode::Unavailable | ErrorCode::RateLimited) => TRY_AGAIN,
        Some(code) => code.exit(),
        None => UNAVAILABLE,
    };
    let text = match word("error") {
        "" => format!("the service replied {}", reply.status),
        text => text.to_owned(),
    };
    Err(Failure::new(exit, text))
}

/// A fresh one-time link of a service that is running already.
pub(crate) async fn fresh_link(config: &Config) -> Result<String, Failure> {
    let panel = Panel::open(config)?;
    let reply = panel
        .post("/api/sign-in-link", &serde_json::json!({}))
        .await?;
    refuse(&reply)?;
    let url = reply
        .body
        .get("url")
        .and_then(Value::as_str)
        .unwrap_or_default();
    Ok(url.to_owned())
}
