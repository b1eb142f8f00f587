//! Pages without scripts, for a browser that is not in the panel yet or is not let in: in the language
//! that it asks for.

use crate::fence;
use askbus_domain::Language;
use askbus_wire::error::{ErrorCode, WireError};
use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};

/// What a page says.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Text {
    /// Nobody is signed in, and the request comes from elsewhere.
    Stranger,
    /// A link that is no good any more.
    Stale,
    SignedIn,
    NotSignedIn,
}

struct Words {
    stranger: &'static str,
    stale: &'static str,
    signed_in: &'static str,
    not_signed_in: &'static str,
    credential: &'static str,
    sign_in: &'static str,
    open: &'static str,
    refused: &'static str,
    wrong_host: fn(&str) -> String,
    unclear_host: &'static str,
    printed: &'static str,
    named: &'static str,
}

const EN: Words = Words {
    stranger: "Open the sign-in link you were given, or paste your credential.",
    stale: "This link was used before or is too old. The command askbus up prints a fresh one.",
    signed_in: "You are signed in. The panel opens now.",
    not_signed_in: "Not signed in: that credential is not one of this service, or it has expired or was revoked.",
    credential: "Credential",
    sign_in: "Sign in",
    open: "Open the panel",
    refused: "This request was refused; nothing was done.",
    wrong_host: |host| format!("This service does not answer under the name {host}."),
    unclear_host: "This service does not know under which name it was called.",
    printed: "Open the address that it printed when it was started.",
    named: "Or start it so that it answers under this name as well:",
};

const ZH: Words = Words {
    stranger: "请打开给你的登录链接，或粘贴你的凭证。",
    stale: "这个链接已经用过或已过期。运行 askbus up 会输出新的链接。",
    signed_in: "已登录，正在打开面板。",
    not_signed_in: "未登录：这不是本服务的凭证，或者它已过期、已被撤销。",
    credential: "凭证",
    sign_in: "登录",
    open: "打开面板",
    refused: "这个请求被拒绝，没有执行任何操作。",
    wrong_host: |host| format!("本服务不以 {host} 这个名称提供访问。"),
    unclear_host: "本服务无法确认它是以哪个名称被访问的。",
    printed: "请打开服务启动时输出的地址。",
    named: "或者让它也以这个名称提供访问：",
};

const fn words(language: Language) -> &'static Words {
    match language {
        Language::En => &EN,
        Language::Zh => &ZH,
    }
}

/// A page that leads on by itself.
pub(crate) fn leading_on(headers: &HeaderMap, text: Text, next: &str) -> Response {
    let language = language(headers);
    let open = words(language).open;
    let refresh = format!("<meta http-equiv=\"refresh\" content=\"0;url={next}\">");
    let body = format!("<p><a href=\"{next}\">{open}</a></p>");
    dressed(language, text, &refresh, &body)
}

/// A page on which one can sign in.
pub(crate) fn to_sign_in(headers: &HeaderMap, text: Text) -> Response {
    let language = language(headers);
    let Words {
        credential,
        sign_in,
        ..
    } = words(language);
    let form = format!(
        "<form method=\"post\" action=\"/api/sign-in\">\
         <label class=\"caption\" for=\"credential\">{credential}</label><div class=\"row field\">\
         <input id=\"credential\" name=\"credential\" type=\"password\" autocomplete=\"off\" required>\
         <button class=\"primary\">{sign_in}</button></div></form>"
    );
    dressed(language, text, "", &form)
}

/// Whether a window of a browser asks, which shows what it gets to a person.
pub(crate) fn is_wanted(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::GET && items(headers, &header::ACCEPT).any(|(kind, _)| kind == "text/html")
}

/// What a person sees whose request was refused. Of a name that is not known, nothing else is let in
/// either: the page stands by itself.
pub(crate) fn refused(uri: &Uri, headers: &HeaderMap, error: &WireError) -> Response {
    let language = language(headers);
    let words = words(language);
    let body = if error.code == ErrorCode::WrongHost {
        let host = fence::host_of(uri, headers).map(|host| ammonia::clean_text(host.host()));
        let (said, named) = match &host {
            Some(host) => {
                let named = words.named;
                let command = format!("askbus up --host-names {host}");
                let named = format!("<p>{named}</p><pre>{command}</pre>");
                ((words.wrong_host)(host), named)
            }
            None => (words.unclear_host.to_owned(), String::new()),
        };
        format!("<p>{said}</p><p>{}</p>{named}", words.printed)
    } else {
        let message = ammonia::clean_text(&error.message);
        format!("<p>{}</p><p lang=\"en\">{message}</p>", words.refused)
    };
    let head = "<style>body{max-width:40rem;margin:3rem auto;padding:0 1rem;font:1rem/1.6 system-ui,sans-serif}\
                pre{white-space:pre-wrap;overflow-wrap:anywhere}p{overflow-wrap:anywhere}</style>";
    let status = StatusCode::from_u16(error.code.http());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let main = format!("<h1>Askbus</h1>{body}");
    let mut response = html(status, language, head, &main);
    let policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; \
                  frame-ancestors 'none'";
    response.headers_mut().insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(policy),
    );
    response
}

fn dressed(language: Language, text: Text, head: &str, body: &str) -> Response {
    let words = words(language);
    let (status, said) = match text {
        Text::Stranger => (StatusCode::UNAUTHORIZED, words.stranger),
        Text::Stale => (StatusCode::UNAUTHORIZED, words.stale),
        Text::NotSignedIn => (StatusCode::UNAUTHORIZED, words.not_signed_in),
        Text::SignedIn => (StatusCode::OK, words.signed_in),
    };
    let head = format!(
        "{head}<link rel=\"icon\" href=\"/assets/favicon.svg\" type=\"image/svg+xml\">\
         <link rel=\"stylesheet\" href=\"/assets/styles.css\">\
         <link rel=\"stylesheet\" href=\"/assets/views.css\">"
    );
    let main = format!("<section class=\"sign-in\"><h1>Askbus</h1><p>{said}</p>{body}</section>");
    html(status, language, &head, &main)
}

fn html(status: StatusCode, language: Language, head: &str, main: &str) -> Response {
    let text = format!(
        "<!doctype html><html lang=\"{}\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\">\
         <title>Askbus</title>{head}</head><body><main>{main}</main></body></html>",
        language.as_str(),
    );
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let mut put = |name, value| headers.insert(name, HeaderValue::from_static(value));
    put(header::CONTENT_TYPE, "text/html; charset=utf-8");
    put(header::CACHE_CONTROL, "no-store");
    put(header::VARY, "accept, accept-language");
    // With no-referrer a browser would send the form with Origin: null, which the fence refuses.
    put(header::REFERRER_POLICY, "same-origin");
    response
}

/// The language that the browser's person would rather read.
fn language(headers: &HeaderMap) -> Language {
    let known = items(headers, &header::ACCEPT_LANGUAGE)
        .filter_map(|(tag, weight)| Some((Language::parse(tag)?, weight)));
    // Of equals the first one.
    let best = known.reduce(|best, next| if next.1 > best.1 { next } else { best });
    best.map(|(language, _)| language).unwrap_or_default()
}

/// What a header lists, each with its weight; what has none is not wanted.
fn items<'a>(
    headers: &'a HeaderMap,
    name: &header::HeaderName,
) -> impl Iterator<Item = (&'a str, f32)> {
    let values = headers.get_all(name).iter();
    let listed = values.filter_map(|value| value.to_str().ok());
    let listed = listed.flat_map(|value| value.split(','));
    let read = listed.map(|item| {
        let mut parts = item.split(';').map(str::trim);
        let what = parts.next().unwrap_or_default();
        let weight = parts.find_map(|part| part.strip_prefix("q="));
        (what, weight.map_or(1.0, |w| w.parse().unwrap_or(0.0)))
    });
    read.filter(|(_, weight)| *weight > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(pairs: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name.clone(), HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn the_language_is_the_one_that_is_wanted_most() {
        for (wanted, expected) in [
            ("zh-CN,zh;q=0.9,en;q=0.8", Language::Zh),
            ("en-GB, zh", Language::En),
            ("de, en;q=0.3, zh;q=0.5", Language::Zh),
            ("zh;q=0, en;q=0.1", Language::En),
            ("zh;q=x, en;q=0.1", Language::En),
            ("fr", Language::En),
            ("", Language::En),
        ] {
            let headers = asking(&[(header::ACCEPT_LANGUAGE, wanted)]);
            assert_eq!(language(&headers), expected, "{wanted}");
        }
        assert_eq!(language(&HeaderMap::new()), Language::En);
    }

    #[test]
    fn a_page_is_for_windows_of_browsers() {
        let window = asking(&[(header::ACCEPT, "text/html,application/xhtml+xml,*/*;q=0.8")]);
        assert!(is_wanted(&Method::GET, &window));
        assert!(!is_wanted(&Method::POST, &window));
        for accept in ["*/*", "application/json", "text/html;q=0"] {
            let other = asking(&[(header::ACCEPT, accept)]);
            assert!(!is_wanted(&Method::GET, &other), "{accept}");
        }
        assert!(!is_wanted(&Method::GET, &HeaderMap::new()));
    }
}
