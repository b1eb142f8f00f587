//! Who calls: checked before a request's body is read.

use crate::service::Core;
use crate::spans;
use askbus_credential::{Credential, CredentialError, Role, Verifier};
use askbus_domain::ProfileId;
use askbus_telemetry::{Kind, Span};
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::headers;
use askbus_wire::tenants::Tenants;
use std::sync::Arc;
use std::time::Duration;
use tonic::service::Interceptor;
use tonic::{Request, Status};

/// How often the credential behind an open stream is looked at again.
const RECHECK: Duration = Duration::from_secs(5);

/// Puts the verified credential into the request's extensions.
#[derive(Clone)]
pub(crate) struct Authenticate {
    verifier: Verifier,
    tenants: Tenants,
}

impl Authenticate {
    pub(crate) fn new(core: &Arc<Core>) -> Self {
        Self {
            verifier: core.verifier.clone(),
            tenants: core.tenants.clone(),
        }
    }
}

impl Interceptor for Authenticate {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let token = request
            .metadata()
            .get("authorization")
            .and_then(|v| v.to_str().ok())
            .and_then(bearer)
            .ok_or_else(|| WireError::new(ErrorCode::Unauthenticated, "a credential is needed"))?;
        let credential = self.verifier.verify(token).map_err(unauthenticated)?;
        if !self.tenants.serves(&credential.tenant) {
            let text = format!(
                "tenant {} is not served by this instance",
                credential.tenant
            );
            return Err(WireError::new(ErrorCode::WrongInstance, text).into());
        }
        request.extensions_mut().insert(credential);
        Ok(request)
    }
}

/// The token of a bearer credential. The word before it counts in any case, as in HTTP.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn unauthenticated(error: CredentialError) -> WireError {
    WireError::new(ErrorCode::Unauthenticated, error)
}

/// Resolves once a credential that was good when its call came has expired or was revoked.
pub(crate) async fn refused(core: &Core, credential: &Credential) -> Status {
    let mut pace = tokio::time::interval(RECHECK);
    loop {
        pace.tick().await;
        if let Err(error) = core.verifier.still_holds(credential) {
            return unauthenticated(error).into();
        }
    }
}

/// The verified caller of a request.
pub(crate) fn credential<T>(request: &Request<T>) -> Result<Credential, Status> {
    let found = request.extensions().get::<Credential>().cloned();
    found.ok_or_else(|| WireError::new(ErrorCode::Unauthenticated, "a credential is needed").into())
}

/// The caller, if it may ask (agents and hosts).
pub(crate) fn asker<T>(request: &Request<T>) -> Result<Credential, Status> {
    let credential = credential(request)?;
    if credential.may_ask() {
        return Ok(credential);
    }
    let text = format!(
        "a {} does not ask; agents and hosts do",
        credential.role.as_str()
    );
    Err(WireError::new(ErrorCode::Forbidden, text).into())
}

/// Refuses an agent what a host alone may do.
pub(crate) fn not_an_agents(credential: &Credential, what: &str) -> Result<(), Status> {
    if credential.role != Role::Agent {
        return Ok(());
    }
    let text = format!("an agent does not {what}; nothing was done; a host's credential may");
    Err(WireError::new(ErrorCode::Forbidden, text).into())
}

/// The profile in force for this call.
pub(crate) fn profile(credential: &Credential, selected: &str) -> Result<ProfileId, Status> {
    let profile = credential.profile(Some(selected));
    Ok(profile
        .map_err(|e| WireError::new(ErrorCode::Forbidden, e))?
        .clone())
}

/// A call as its trace shows it, and the trace for what it leads to.
pub(crate) fn traced<T>(request: &Request<T>, name: &'static str) -> (Span, Option<String>) {
    let caller = trace(request);
    let span = spans::begin(name, Kind::Server, caller.as_deref());
    let trace = span.traceparent(caller.as_deref()).map(str::to_owned);
    (span, trace)
}

/// What a command came to, noted in its span.
pub(crate) fn noted<T, E: Into<WireError>>(
    span: &mut Span,
    result: Result<T, E>,
) -> Result<T, WireError> {
    result.map_err(|error| {
        let error = error.into();
        span.failed(error.code.as_str());
        error
    })
}

/// The trace the caller is in.
fn trace<T>(request: &Request<T>) -> Option<String> {
    let value = request
        .metadata()
        .get(headers::TRACEPARENT)?
        .to_str()
        .ok()?;
    Some(value.to_owned())
}
