//! Who is calling: a credential in `Authorization: Bearer` or in the cookie of a browser.

use crate::feed::Viewer;
use crate::gateway::Gateway;
use crate::reply::Refusal;
use crate::sign_in::form_field;
use askbus_credential::{Credential, CredentialError, Role};
use askbus_domain::{Clarification, GroupId, Rights, SessionId, TenantId};
use askbus_wire::error::ErrorCode;
use askbus_wire::messages::PersonPresent;
use axum::extract::FromRequestParts;
use http::request::Parts;
use http::{HeaderMap, header};
use percent_encoding::percent_decode_str;
use std::sync::Arc;

/// The header that says whom the caller means to speak for.
const AS: &str = "askbus-as";

/// A verified credential and the token it came in.
#[derive(Debug)]
pub(crate) struct Caller {
    pub credential: Credential,
    pub token: String,
    /// From a browser's cookie.
    pub browser: bool,
}

/// What a request showed; kept in its extensions.
#[derive(Debug, Clone)]
pub(crate) enum Shown {
    Nothing,
    /// A credential that does not hold, and why.
    Bad(String),
    Good(Arc<Caller>),
}

/// Whether the request is a script's on this machine (D14); kept in its extensions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LocalScript(pub bool);

impl Shown {
    /// What `headers` show. A bearer credential goes before a cookie.
    pub(crate) fn by(gateway: &Gateway, headers: &HeaderMap) -> Self {
        let (token, browser) = if let Some(value) = headers.get(header::AUTHORIZATION) {
            match value.to_str().ok().and_then(bearer) {
                Some(token) => (token.to_owned(), false),
                None => {
                    return Shown::Bad(
                        "the Authorization header is not a bearer credential".into(),
                    );
                }
            }
        } else {
            match cookie(headers, &gateway.cookie_name) {
                Some(token) => (token.to_owned(), true),
                None => return Shown::Nothing,
            }
        };
        match gateway.verifier.verify(&token) {
            Ok(credential) => Shown::Good(Arc::new(Caller {
                credential,
                token,
                browser,
            })),
            Err(error) => Shown::Bad(error.to_string()),
        }
    }

    /// The caller, or a 401 that says what is missing.
    pub(crate) fn caller(&self) -> Result<&Arc<Caller>, Refusal> {
        let problem = match self {
            Shown::Good(caller) => return Ok(caller),
            Shown::Nothing => "no credential was sent",
            Shown::Bad(problem) => problem.as_str(),
        };
        let help = "nothing was done; sign in with a fresh link, or send Authorization: Bearer";
        Err(Refusal::new(
            ErrorCode::Unauthenticated,
            format!("{problem}; {help}"),
        ))
    }
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let values = headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|v| v.to_str().ok());
    let mut pairs = values
        .flat_map(|v| v.split(';'))
        .filter_map(|p| p.trim().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// The credential's tenant, when this instance serves it.
pub(crate) fn served<'a>(gateway: &Gateway, caller: &'a Caller) -> Result<&'a TenantId, Refusal> {
    let tenant = &caller.credential.tenant;
    if gateway.tenants.serves(tenant) {
        return Ok(tenant);
    }
    let message = "this instance does not serve your tenant; nothing was done; use its own address";
    Err(Refusal::new(ErrorCode::WrongInstance, message))
}

/// A person who may see and answer; agents and hosts are refused (403).
#[derive(Debug, Clone)]
pub(crate) struct Person(pub Arc<Caller>);

impl Person {
    pub(crate) fn viewer(&self) -> Viewer {
        let credential = &self.0.credential;
        Viewer {
            tenant: credential.tenant.clone(),
            profiles: Some(credential.profiles.clone()),
        }
    }

    pub(crate) fn tenant(&self) -> &TenantId {
        &self.0.credential.tenant
    }

    /// What their credential allows beside their name.
    pub(crate) fn rights(&self) -> Rights {
        let credential = &self.0.credential;
        Rights {
            // What is no name of a group names none.
            groups: credential
                .groups
                .iter()
                .filter_map(|g| GroupId::new(g).ok())
                .collect(),
            operator: credential.role == Role::Operator,
        }
    }

    /// Whether the question is meant for them, or for everybody who sees it.
    pub(crate) fn may_answer(&self, clarification: &Clarification) -> bool {
        let me = &self.0.credential.subject;
        let to = clarification.to.as_ref();
        to.is_none_or(|to| to.allows(&self.rights(), me))
    }

    /// The person as others hear of them while they look at one session or at all.
    pub(crate) fn present(&self, session: Option<SessionId>) -> PersonPresent {
        let credential = &self.0.credential;
        PersonPresent {
            tenant: credential.tenant.clone(),
            person: credential.subject.clone(),
            profiles: credential.profiles.clone(),
            rights: self.rights(),
            session,
            ago_ms: 0,
        }
    }
}

/// Whom the caller means to speak for, where they say so: a page stays open while its browser may become
/// another person's, and what the first one wrote must not go out in the name of the second. In the header
/// `Askbus-As`, or the parameter `as` where there can be no header: tenant and person, percent-encoded,
/// with a slash between them.
fn means(parts: &Parts) -> Option<(String, String)> {
    let named = if let Some(value) = parts.headers.get(AS) {
        String::from_utf8_lossy(value.as_bytes()).into_owned()
    } else {
        let query = parts.uri.query()?;
        form_field(query.as_bytes(), "as")?
    };
    let (tenant, person) = named.split_once('/').unwrap_or((&named, ""));
    let text = |token: &str| percent_decode_str(token).decode_utf8_lossy().into_owned();
    Some((text(tenant), text(person)))
}

fn shown(parts: &Parts) -> Shown {
    parts
        .extensions
        .get::<Shown>()
        .cloned()
        .unwrap_or(Shown::Nothing)
}

impl FromRequestParts<Arc<Gateway>> for Person {
    type Rejection = Refusal;
    async fn from_request_parts(
        parts: &mut Parts,
        gateway: &Arc<Gateway>,
    ) -> Result<Self, Refusal> {
        let shown = shown(parts);
        let caller = shown.caller()?;
        if !caller.credential.may_answer() {
            let role = caller.credential.role.as_str();
            let message = format!(
                "a credential of role {role} may neither see nor answer what people are asked; \
                 nothing was done; a person answers in the panel or with their own credential"
            );
            return Err(Refusal::new(ErrorCode::Forbidden, message));
        }
        served(gateway, caller)?;
        let credential = &caller.credential;
        if means(parts).is_some_and(|(tenant, person)| {
            tenant != credential.tenant.as_str() || person != credential.subject.as_str()
        }) {
            let message = format!(
                "this browser is signed in as {} now; nothing was done; load the page again",
                credential.subject
            );
            return Err(Refusal::new(ErrorCode::Unauthenticated, message));
        }
        Ok(Person(Arc::clone(caller)))
    }
}

/// An agent or a host, who may ask.
#[derive(Debug, Clone)]
pub(crate) struct Asker(pub Arc<Caller>);

impl FromRequestParts<Arc<Gateway>> for Asker {
    type Rejection = Refusal;
    async fn from_request_parts(
        parts: &mut Parts,
        gateway: &Arc<Gateway>,
    ) -> Result<Self, Refusal> {
        let shown = shown(parts);
        let caller = shown.caller()?;
        if !caller.credential.may_ask() {
            let message =
                "this credential is a person's and may not ask; use an agent's or a host's";
            return Err(Refusal::new(ErrorCode::Forbidden, message));
        }
        served(gateway, caller)?;
        Ok(Asker(Arc::clone(caller)))
    }
}

/// A host, whose turns they are.
#[derive(Debug, Clone)]
pub(crate) struct Host(pub Arc<Caller>);

impl FromRequestParts<Arc<Gateway>> for Host {
    type Rejection = Refusal;
    async fn from_request_parts(
        parts: &mut Parts,
        gateway: &Arc<Gateway>,
    ) -> Result<Self, Refusal> {
        let Asker(caller) = Asker::from_request_parts(parts, gateway).await?;
        if caller.credential.role != Role::Host {
            let message =
                "turns are begun, held and ended with a host's credential; nothing was done";
            return Err(Refusal::new(ErrorCode::Forbidden, message));
        }
        Ok(Host(caller))
    }
}

/// Whoever may read: a person, or a script on a single machine (D14).
#[derive(Debug, Clone)]
pub(crate) struct Reader(pub Viewer);

impl FromRequestParts<Arc<Gateway>> for Reader {
    type Rejection = Refusal;
    async fn from_request_parts(
        parts: &mut Parts,
        gateway: &Arc<Gateway>,
    ) -> Result<Self, Refusal> {
        let script = parts.extensions.get::<LocalScript>().is_some_and(|s| s.0);
        if gateway.single_machine && script && matches!(shown(parts), Shown::Nothing) {
            return Ok(Reader(Viewer {
                tenant: gateway.local_tenant.clone(),
                profiles: None,
            }));
        }
        Person::from_request_parts(parts, gateway)
            .await
            .map(|person| Reader(person.viewer()))
    }
}

/// Why a credential no longer holds, if it does not.
pub(crate) fn recheck(gateway: &Gateway, caller: &Caller) -> Option<CredentialError> {
    gateway.verifier.still_holds(&caller.credential).err()
}
