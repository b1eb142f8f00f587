//! Signing in: a one-time link or an issued credential becomes the cookie of one browser.

use crate::body;
use crate::caller::{Person, Shown};
use crate::fence;
use crate::gateway::Gateway;
use crate::options::SignIn;
use crate::page::{self, Text};
use crate::reply::{Refusal, ok};
use askbus_credential::{Credential, CredentialError, Grant, Role};
use askbus_wire::error::ErrorCode;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use subtle::ConstantTimeEq as _;

/// How long a link works.
const CODE_LIFE: Duration = Duration::from_hours(24);
/// Unused codes at most; the oldest goes first.
const MAX_CODES: usize = 256;

struct Code {
    secret: String,
    until: Instant,
    whose: Whose,
}

/// Whom a code signs in.
enum Whose {
    /// The person this gateway was started for.
    Own(Grant),
    /// Somebody signed in: nothing wider than their credential, and nothing longer.
    Bearer(Box<Credential>),
}

/// Hands out one-time codes and turns them into credentials.
pub(crate) struct Desk {
    sign_in: Option<SignIn>,
    codes: Mutex<Vec<Code>>,
}

impl Desk {
    pub(crate) fn new(sign_in: Option<SignIn>) -> Self {
        Self {
            sign_in,
            codes: Mutex::default(),
        }
    }

    /// A code for the person this gateway was started for.
    pub(crate) fn own_code(&self) -> Option<String> {
        let sign_in = self.sign_in.as_ref()?;
        Some(self.mint(Whose::Own(Grant {
            subject: sign_in.person.clone(),
            role: Role::Person,
            tenant: sign_in.tenant.clone(),
            profiles: sign_in.profiles.clone(),
            groups: Vec::new(),
            life: sign_in.life,
        })))
    }

    /// A code for one more browser of somebody signed in.
    fn code_for(&self, credential: &Credential) -> Option<String> {
        self.sign_in.as_ref()?;
        Some(self.mint(Whose::Bearer(Box::new(credential.clone()))))
    }

    fn mint(&self, whose: Whose) -> String {
        // Short enough for a link that a terminal does not break.
        let secret = format!("{:032x}", rand::random::<u128>());
        let until = Instant::now() + CODE_LIFE;
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|c| c.until > Instant::now());
        if codes.len() >= MAX_CODES {
            codes.remove(0);
        }
        codes.push(Code {
            secret: secret.clone(),
            until,
            whose,
        });
        secret
    }

    /// Spends a code. Every code is compared in full, so that time tells nothing.
    fn spend(&self, given: &str) -> Option<Whose> {
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = None;
        for (index, code) in codes.iter().enumerate() {
            if bool::from(code.secret.as_bytes().ct_eq(given.as_bytes())) {
                found = Some(index);
            }
        }
        let code = codes.remove(found?);
        (code.until > Instant::now()).then_some(code.whose)
    }
}

/// `GET /sign-in?code=…`: spends the code, sets the cookie, and leads to the panel.
pub(crate) async fn by_link(
    State(gateway): State<Arc<Gateway>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    if method != Method::GET {
        // A HEAD of a mail scanner must not spend the code.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let code = uri
        .query()
        .and_then(|q| form_field(q.as_bytes(), "code"))
        .unwrap_or_default();
    // Who is signed in already wants the panel; who is not is told there.
    let stale = || Ok(page::leading_on(&headers, Text::Stale, "/?link=stale"));
    let (Some(whose), Some(sign_in)) = (gateway.desk.spend(&code), &gateway.desk.sign_in) else {
        return stale();
    };
    let signed = match &whose {
        Whose::Own(grant) => sign_in.issuer.sign_browser(grant),
        Whose::Bearer(parent) => sign_in.issuer.sign_child(parent, sign_in.life),
    };
    let (token, issued) = match signed {
        Ok(signed) => signed,
        Err(CredentialError::Expired) => return stale(),
        Err(error) => {
            tracing::error!(%error, "a browser's credential could not be signed");
            let message = "signing in failed; ask for a fresh link";
            return Err(Refusal::new(ErrorCode::Internal, message));
        }
    };
    // Not a redirect: after a link from elsewhere a browser would follow it as a cross-site
    // navigation, without a strict cookie. A navigation that this page begins is same-site.
    let mut response = page::leading_on(&headers, Text::SignedIn, "/");
    let life = left(issued.expires_at);
    set_cookie(&gateway, &headers, &mut response, &token, life);
    Ok(response)
}

/// `POST /api/sign-in` `{credential}`: an issued person's credential becomes the cookie. A plain
/// form works too, for the page without scripts.
pub(crate) async fn by_credential(
    State(gateway): State<Arc<Gateway>>,
    request: Request<Body>,
) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let body = body::read(body).await?;
    let kind = parts
        .headers
        .get(header::CONTENT_TYPE)
        .map(HeaderValue::as_bytes)
        .unwrap_or_default();
    let form = kind.starts_with(b"application/x-www-form-urlencoded");
    let token = if form {
        form_field(&body, "credential")
    } else {
        let object: Option<Value> = serde_json::from_slice(&body).ok();
        object.and_then(|o| o.get("credential")?.as_str().map(ToOwned::to_owned))
    };
    let token = token.unwrap_or_default();
    let credential = match gateway.verifier.verify(token.trim()) {
        Ok(credential) => credential,
        Err(error) if form => {
            tracing::debug!(%error, "a form's credential was refused");
            return Ok(page::to_sign_in(&parts.headers, Text::NotSignedIn));
        }
        Err(error) => {
            let message = format!("{error}; you are not signed in; ask for another credential");
            return Err(Refusal::new(ErrorCode::Unauthenticated, message));
        }
    };
    if !credential.may_answer() {
        let message = "only a person's credential signs in a browser; you are not signed in";
        return Err(Refusal::new(ErrorCode::Forbidden, message));
    }
    let life = left(credential.expires_at);
    let mut response = if form {
        page::leading_on(&parts.headers, Text::SignedIn, "/")
    } else {
        ok(&json!({"ok": true, "person": credential.subject}))
    };
    set_cookie(&gateway, &parts.headers, &mut response, token.trim(), life);
    Ok(response)
}

/// `POST /api/sign-out`: forgets the cookie, and ends the live connections of all tabs that have it. A
/// credential that was made for this browser is revoked; one that was brought here is its owner's.
pub(crate) async fn out(
    State(gateway): State<Arc<Gateway>>,
    Extension(shown): Extension<Shown>,
    headers: HeaderMap,
) -> Response {
    let mut revoked = false;
    if let Shown::Good(caller) = shown
        && caller.browser
    {
        revoked = caller.credential.browser && revoke(&gateway, &caller.credential.id).await;
        // An error only says that no connection is open.
        let _ = gateway.signed_out.send(caller.credential.id.clone());
    }
    let mut response = ok(&json!({"ok": true, "revoked": revoked}));
    set_cookie(&gateway, &headers, &mut response, "", Duration::ZERO);
    response
}

/// Puts a credential on the deny list, which every service of the installation follows.
async fn revoke(gateway: &Arc<Gateway>, id: &str) -> bool {
    let (gateway, id) = (Arc::clone(gateway), id.to_owned());
    let writing = tokio::task::spawn_blocking(move || {
        let sign_in = gateway.desk.sign_in.as_ref()?;
        Some(sign_in.issuer.revoke(&id))
    });
    match writing.await {
        Ok(Some(Ok(()))) => true,
        Ok(None) => false,
        Ok(Some(Err(error))) => {
            tracing::error!(%error, "the credential of a browser could not be revoked");
            false
        }
        Err(error) => {
            tracing::error!(%error, "the credential of a browser could not be revoked");
            false
        }
    }
}

/// `POST /api/sign-in-link`: a link for one more browser of the same person.
pub(crate) async fn link(
    State(gateway): State<Arc<Gateway>>,
    person: Person,
    request: Request<Body>,
) -> Result<Response, Refusal> {
    let Some(code) = gateway.desk.code_for(&person.0.credential) else {
        let message =
            "this gateway has no signing key, so it makes no links; sign in with a credential";
        return Err(Refusal::new(ErrorCode::NotFound, message));
    };
    let host = fence::host_of(request.uri(), request.headers())
        .ok_or_else(|| Refusal::new(ErrorCode::WrongHost, "the Host header is missing"))?;
    let scheme = if is_https(request.headers()) {
        "https"
    } else {
        "http"
    };
    Ok(ok(
        &json!({"ok": true, "url": format!("{scheme}://{host}/sign-in?code={code}")}),
    ))
}

/// `GET /api/me`.
pub(crate) async fn me(State(gateway): State<Arc<Gateway>>, person: Person) -> Response {
    let credential = &person.0.credential;
    ok(&json!({
        "ok": true,
        "person": credential.subject,
        "role": credential.role,
        "tenant": credential.tenant,
        "profiles": credential.profiles,
        "groups": credential.groups,
        "expires_at": credential.expires_at,
        "version": gateway.version,
        "instance": gateway.instance,
    }))
}

/// How long it is until a moment in Unix seconds.
fn left(expires_at: u64) -> Duration {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    Duration::from_secs(expires_at.saturating_sub(now))
}

fn is_https(headers: &HeaderMap) -> bool {
    headers
        .get("x-forwarded-proto")
        .is_some_and(|v| v.as_bytes().eq_ignore_ascii_case(b"https"))
}

fn set_cookie(
    gateway: &Gateway,
    headers: &HeaderMap,
    response: &mut Response,
    token: &str,
    life: Duration,
) {
    let secure = if is_https(headers) { "; Secure" } else { "" };
    let cookie = format!(
        "{}={token}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict{secure}",
        gateway.cookie_name,
        life.as_secs(),
    );
    if let Ok(value) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
}

/// One field of a form or a query.
pub(crate) fn form_field(form: &[u8], name: &str) -> Option<String> {
    let form = std::str::from_utf8(form).ok()?;
    let mut pairs = form.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(key, _)| *key == name)?;
    let spaced = value.replace('+', " ");
    percent_decode_str(&spaced)
        .decode_utf8()
        .ok()
        .map(std::borrow::Cow::into_owned)
}
