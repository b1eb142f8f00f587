//! The way in of every request: its credential is checked before its body is read.

use super::open_calls::OpenCalls;
use super::sessions::Sessions;
use super::{Bearer, Line, MAX_BODY, body, opening};
use crate::server::handler::Handler;
use crate::server::lines::{Verdict, judge, surrogates};
use crate::server::open_ids;
use askbus_credential::Verifier;
use askbus_domain::ProfileId;
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::tenants::Tenants;
use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::LengthLimitError;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_server::StreamableHttpService;
use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Where the session of a client of the older era stands.
const SESSION: &str = "mcp-session-id";
/// How long a request may take to arrive.
const BODY_LIMIT: Duration = Duration::from_secs(30);
/// Where the context of a host's turn stands.
const CONTEXT: &str = "askbus-context";

/// What some programs write before any text, and rmcp takes for a part of it.
const MARK: &[u8] = b"\xEF\xBB\xBF";

type Inner = StreamableHttpService<Handler, OpenCalls>;

/// The endpoint of one toolset.
#[derive(Clone)]
pub(super) struct Admission(Arc<State>);

struct State {
    inner: Inner,
    verifier: Verifier,
    tenants: Tenants,
    sessions: Sessions,
    shutdown: CancellationToken,
}

impl Admission {
    pub(super) fn new(
        inner: Inner,
        verifier: Verifier,
        tenants: Tenants,
        sessions: Sessions,
        shutdown: CancellationToken,
    ) -> Self {
        Self(Arc::new(State {
            inner,
            verifier,
            tenants,
            sessions,
            shutdown,
        }))
    }
}

impl tower::Service<Request<Body>> for Admission {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let state = Arc::clone(&self.0);
        Box::pin(async move { Ok(state.serve(request).await) })
    }
}

impl State {
    async fn serve(self: Arc<Self>, mut request: Request<Body>) -> Response {
        let bearer = match self.bearer(request.headers()) {
            Ok(bearer) => bearer,
            Err(error) => return refusal(&error),
        };
        let owner = bearer.owner();
        let session = text(request.headers(), SESSION);
        let used = match &session {
            Some(session) => match self.sessions.use_by(&owner, session) {
                Some(used) => Some(used),
                // The protocol's word for a session that is over: the client begins another one.
                None => return (StatusCode::NOT_FOUND, "there is no such session").into_response(),
            },
            None => None,
        };
        // What ends with the service is lost like a connection, and not withdrawn.
        let lost = self.shutdown.child_token();
        let same_id = Arc::<OnceLock<RequestId>>::default();
        let line = Line {
            bearer,
            lost: lost.clone(),
            session: session.clone(),
            context: text(request.headers(), CONTEXT),
            same_id: Arc::clone(&same_id),
        };
        // The token goes no further.
        request.headers_mut().remove(header::AUTHORIZATION);
        request.extensions_mut().insert(line);
        let (request, waits) = match whole(request).await {
            Ok(read) => read,
            Err(unread) => return self.unread(unread, session.as_deref()),
        };
        let state = Arc::clone(&self);
        let answering = async move {
            let response = state.inner.handle(request).await.map(Body::new);
            if let Some(id) = same_id.get() {
                return refused(open_ids::refusal(id), None);
            }
            if let Some(session) = text(response.headers(), SESSION) {
                state.sessions.begun(&owner, &session).await;
            }
            response
        };
        let answering = body::guarded(answering, lost.clone());
        let response = if waits {
            opening::within(answering).await
        } else {
            answering.await
        };
        body::watched(response, lost, used)
    }

    fn unread(&self, unread: Unread, session: Option<&str>) -> Response {
        match unread {
            Unread::TooLarge => {
                let text = format!("a request has at most {MAX_BODY} bytes; nothing was done");
                (StatusCode::PAYLOAD_TOO_LARGE, text).into_response()
            }
            Unread::TooLate => {
                let text = "the request took too long to arrive; nothing was done";
                (StatusCode::REQUEST_TIMEOUT, text).into_response()
            }
            Unread::Refused(error, Some(id)) => {
                // Under the id, it would be taken for the reply to the request that is open.
                let open = session.is_some_and(|session| self.sessions.is_open(session, &id));
                if open {
                    refused(open_ids::refusal(&id), None)
                } else {
                    refused(error, Some(id))
                }
            }
            Unread::Refused(error, None) => refused(error, None),
        }
    }

    fn bearer(&self, headers: &HeaderMap) -> Result<Bearer, WireError> {
        let refused = |text: &str| WireError::new(ErrorCode::Unauthenticated, text);
        let value = headers
            .get(header::AUTHORIZATION)
            .ok_or_else(|| refused("send Authorization: Bearer with an agent's credential"))?;
        let token = value
            .to_str()
            .ok()
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim())
            .ok_or_else(|| refused("the Authorization header is not a bearer credential"))?;
        let credential = self
            .verifier
            .verify(token)
            .map_err(|e| WireError::new(ErrorCode::Unauthenticated, e))?;
        if !self.tenants.serves(&credential.tenant) {
            let text = format!("tenant {} is not served here", credential.tenant);
            return Err(WireError::new(ErrorCode::WrongInstance, text));
        }
        if !credential.may_ask() {
            let role = credential.role.as_str();
            let text = format!("a {role} does not ask; agents and hosts do");
            return Err(WireError::new(ErrorCode::Forbidden, text));
        }
        let profiles: Vec<&str> = credential.profiles.iter().map(ProfileId::as_str).collect();
        let (role, profiles) = (credential.role.as_str(), profiles.join(" "));
        Ok(Bearer {
            tenant: credential.tenant.clone(),
            holder: format!("{role} {}\n{profiles}", credential.subject),
            token: token.to_owned(),
        })
    }
}

/// Why a request is not looked at any further.
enum Unread {
    TooLarge,
    TooLate,
    /// With the id of the request that it is, as far as that can be told.
    Refused(ErrorData, Option<RequestId>),
}

/// Reads a body, which is bounded in size and time, and says whether its answer may take long. Whose reply
/// must keep its own head is answered at once anyway. To what it cannot read, rmcp would reply in words
/// that name no request.
async fn whole(request: Request<Body>) -> Result<(Request<Body>, bool), Unread> {
    if request.method() != Method::POST {
        return Ok((request, false));
    }
    let (parts, body) = request.into_parts();
    let bytes = read(body).await?;
    let waits = waits(&bytes)?;
    Ok((Request::from_parts(parts, Body::from(bytes)), waits))
}

async fn read(body: Body) -> Result<Bytes, Unread> {
    let read = tokio::time::timeout(BODY_LIMIT, axum::body::to_bytes(body, MAX_BODY)).await;
    let bytes = match read {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(error)) if is_too_large(&error) => return Err(Unread::TooLarge),
        Ok(Err(_)) => {
            return Err(unparsed(
                "the body broke off; nothing was done; send it again",
            ));
        }
        Err(_) => return Err(Unread::TooLate),
    };
    let bytes = match bytes.strip_prefix(MARK) {
        Some(rest) => bytes.slice_ref(rest),
        None => bytes,
    };
    Ok(surrogates::replaced(&bytes).map_or(bytes, Bytes::from))
}

/// Whether the answer to a message may take long.
fn waits(bytes: &[u8]) -> Result<bool, Unread> {
    match judge(bytes, true) {
        Verdict::Take(message) => Ok(matches!(
            *message,
            JsonRpcMessage::Request(request)
                if matches!(request.request, ClientRequest::CallToolRequest(_))
        )),
        Verdict::Drop if bytes.trim_ascii().is_empty() => {
            Err(unparsed("the body is empty; a message is one JSON object"))
        }
        // Needs no answer, and gets the one of HTTP.
        Verdict::Drop => match serde_json::from_slice::<ClientJsonRpcMessage>(bytes) {
            Ok(_) => Ok(false),
            Err(_) => Err(Unread::Refused(
                ErrorData::invalid_request("this is no message of JSON-RPC 2.0", None),
                None,
            )),
        },
        Verdict::Refuse(error, id) => Err(Unread::Refused(error, id)),
    }
}

fn is_too_large(error: &axum::Error) -> bool {
    error
        .source()
        .is_some_and(<dyn Error>::is::<LengthLimitError>)
}

fn unparsed(problem: &'static str) -> Unread {
    Unread::Refused(ErrorData::parse_error(problem, None), None)
}

fn refused(error: ErrorData, id: Option<RequestId>) -> Response {
    let message = ServerJsonRpcMessage::error(error, id);
    (StatusCode::BAD_REQUEST, axum::Json(message)).into_response()
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

fn refusal(error: &WireError) -> Response {
    let status = match error.code {
        ErrorCode::Unauthenticated => StatusCode::UNAUTHORIZED,
        ErrorCode::WrongInstance => StatusCode::MISDIRECTED_REQUEST,
        _ => StatusCode::FORBIDDEN,
    };
    let body = serde_json::json!({"error": error.message, "reason": error.code.as_str()});
    let mut response = (status, axum::Json(body)).into_response();
    if status == StatusCode::UNAUTHORIZED {
        let challenge = HeaderValue::from_static("Bearer");
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}
