//! The fence (D14): which requests get in at all, judged by their head alone, before any body is
//! read and before anybody asks who is calling.

use askbus_wire::error::{ErrorCode, WireError};
use http::uri::Authority;
use http::{HeaderMap, Method, Uri, header};
use std::net::SocketAddr;

const LOOPBACK_NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Refuses what a page of another site, or a name that merely resolves to this machine, sends.
pub(crate) fn check(
    host_names: &[String],
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<(), WireError> {
    let host = host_of(uri, headers).ok_or_else(|| wrong_host("is missing or unclear"))?;
    let known = LOOPBACK_NAMES.contains(&host.host().to_ascii_lowercase().as_str())
        || host_names
            .iter()
            .any(|name| name.eq_ignore_ascii_case(host.host()));
    if !known {
        // A DNS-rebinding page reaches this port under its own name; that name ends here.
        return Err(wrong_host("names a host this service does not answer for"));
    }
    check_origin(&host, headers)?;
    check_fetch_site(method, uri, headers)
}

/// The one Host a request speaks of: a second, different one is unclear.
pub(crate) fn host_of(uri: &Uri, headers: &HeaderMap) -> Option<Authority> {
    let mut all = headers.get_all(header::HOST).iter();
    let named = match all.next() {
        Some(value) => Some(value.to_str().ok()?.parse::<Authority>().ok()?),
        None => None,
    };
    if all.next().is_some() {
        return None;
    }
    let host = match (uri.authority(), named) {
        (Some(target), Some(named)) if *target != named => return None,
        (Some(target), _) => target.clone(),
        (None, named) => named?,
    };
    (!host.as_str().contains('@')).then_some(host)
}

fn check_origin(host: &Authority, headers: &HeaderMap) -> Result<(), WireError> {
    for origin in headers.get_all(header::ORIGIN) {
        let same = origin
            .to_str()
            .ok()
            .is_some_and(|text| is_origin_of(text, host));
        if !same {
            return Err(cross_site(
                "the Origin header names another place than Host",
            ));
        }
    }
    Ok(())
}

/// Whether `origin` is this very host and port. `null` is nobody's.
fn is_origin_of(origin: &str, host: &Authority) -> bool {
    let Some((scheme, rest)) = origin.split_once("://") else {
        return false;
    };
    let default_port = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return false,
    };
    let Ok(authority) = rest.parse::<Authority>() else {
        return false;
    };
    let port = |a: &Authority| a.port_u16().unwrap_or(default_port);
    !authority.as_str().contains('@')
        && authority.host().eq_ignore_ascii_case(host.host())
        && port(&authority) == port(host)
}

fn check_fetch_site(method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), WireError> {
    for site in headers.get_all("sec-fetch-site") {
        if matches!(site.as_bytes(), b"same-origin" | b"none") {
            continue;
        }
        let is =
            |name: &str, value: &[u8]| headers.get(name).is_some_and(|v| v.as_bytes() == value);
        // A link in a mail or a chat leads here as a navigation of the whole window; it carries no
        // cookie and shows no data to the page it came from.
        let followed_link = *method == Method::GET
            && matches!(uri.path(), "/" | "/sign-in")
            && is("sec-fetch-mode", b"navigate")
            && is("sec-fetch-dest", b"document");
        if !followed_link {
            return Err(cross_site("a page of another site made the request"));
        }
    }
    Ok(())
}

/// Whether a request comes from this machine itself: a loopback peer that does not speak for
/// somebody else. A proxy on this machine says so in its headers.
pub(crate) fn is_local(peer: SocketAddr, headers: &HeaderMap) -> bool {
    let forwarded = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];
    peer.ip().to_canonical().is_loopback()
        && !forwarded.iter().any(|name| headers.contains_key(*name))
}

/// Whether it is a script rather than a page: neither Origin nor cookie, nor a browser's marks.
pub(crate) fn is_script(headers: &HeaderMap) -> bool {
    let marks = [
        header::ORIGIN.as_str(),
        header::COOKIE.as_str(),
        "sec-fetch-site",
    ];
    !marks.iter().any(|name| headers.contains_key(*name))
}

fn wrong_host(problem: &str) -> WireError {
    let help = "use the address the service printed, or start it with --host-names and this name";
    WireError::new(
        ErrorCode::WrongHost,
        format!("the Host header {problem}; nothing was done; {help}"),
    )
}

fn cross_site(problem: &str) -> WireError {
    let help = "open the panel itself and try again there";
    WireError::new(
        ErrorCode::CrossSite,
        format!("{problem}; nothing was done; {help}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use ErrorCode::{CrossSite, WrongHost};

    fn judge(method: &str, path: &str, pairs: &[(&str, &str)]) -> Option<ErrorCode> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let name = http::HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, value.parse().unwrap());
        }
        let names = ["ask.example".to_owned()];
        check(
            &names,
            &method.parse().unwrap(),
            &path.parse().unwrap(),
            &headers,
        )
        .err()
        .map(|e| e.code)
    }

    // contract: D14
    #[test]
    fn hosts() {
        let table = [
            ("127.0.0.1:4000", None),
            ("localhost", None),
            ("LOCALHOST:1", None),
            ("[::1]:9", None),
            ("ask.example", None),
            ("ASK.example:443", None),
            ("evil.example:4000", Some(WrongHost)),
            ("127.0.0.1.evil.example", Some(WrongHost)),
            ("localhost.", Some(WrongHost)),
            ("127.0.0.1@evil.example", Some(WrongHost)),
            ("user@127.0.0.1", Some(WrongHost)),
            ("", Some(WrongHost)),
            ("0.0.0.0:4000", Some(WrongHost)),
        ];
        for (host, expected) in table {
            assert_eq!(judge("GET", "/", &[("host", host)]), expected, "{host}");
        }
        assert_eq!(judge("GET", "/", &[]), Some(WrongHost));
        let two = [("host", "localhost"), ("host", "evil.example")];
        assert_eq!(judge("GET", "/", &two), Some(WrongHost));
        let target = judge("GET", "http://evil.example/", &[("host", "localhost")]);
        assert_eq!(target, Some(WrongHost));
        assert_eq!(judge("GET", "http://localhost:1/", &[]), None);
    }

    // contract: D14
    #[test]
    fn origins() {
        let table = [
            ("http://127.0.0.1:4000", None),
            ("HTTP://127.0.0.1:4000", Some(CrossSite)),
            ("http://127.0.0.1:4001", Some(CrossSite)),
            ("http://localhost:4000", Some(CrossSite)),
            ("https://127.0.0.1:4000", None),
            ("http://evil.example", Some(CrossSite)),
            ("null", Some(CrossSite)),
            ("", Some(CrossSite)),
            ("file://", Some(CrossSite)),
            ("http://x@127.0.0.1:4000", Some(CrossSite)),
        ];
        for (origin, expected) in table {
            let pairs = [("host", "127.0.0.1:4000"), ("origin", origin)];
            assert_eq!(judge("POST", "/api/x", &pairs), expected, "{origin}");
        }
        let named = [
            ("host", "ask.example"),
            ("origin", "https://ask.example:443"),
        ];
        assert_eq!(judge("POST", "/api/x", &named), None);
    }

    // contract: D14
    #[test]
    fn fetch_marks() {
        let judge = |method: &str, path: &str, site: &str, mode: &str, dest: &str| {
            let pairs = [
                ("host", "localhost:1"),
                ("sec-fetch-site", site),
                ("sec-fetch-mode", mode),
                ("sec-fetch-dest", dest),
            ];
            judge(method, path, &pairs)
        };
        assert_eq!(judge("GET", "/api/x", "same-origin", "cors", "empty"), None);
        assert_eq!(judge("GET", "/api/x", "none", "navigate", "document"), None);
        for site in ["cross-site", "same-site", "what"] {
            assert_eq!(
                judge("GET", "/", site, "navigate", "document"),
                None,
                "{site}"
            );
            assert_eq!(
                judge("GET", "/sign-in?code=x", site, "navigate", "document"),
                None
            );
            let refused = Some(CrossSite);
            assert_eq!(
                judge("GET", "/api/x", site, "navigate", "document"),
                refused
            );
            assert_eq!(judge("POST", "/", site, "navigate", "document"), refused);
            assert_eq!(judge("GET", "/", site, "navigate", "iframe"), refused);
            assert_eq!(judge("GET", "/", site, "no-cors", "image"), refused);
        }
    }

    // contract: D14
    #[test]
    fn a_proxy_on_this_machine_does_not_make_strangers_local() {
        let peer: SocketAddr = "127.0.0.1:5".parse().unwrap();
        let mut headers = HeaderMap::new();
        assert!(is_local(peer, &headers));
        assert!(is_local("[::ffff:127.0.0.1]:5".parse().unwrap(), &headers));
        assert!(!is_local("10.0.0.1:5".parse().unwrap(), &headers));
        headers.insert("x-forwarded-for", "10.0.0.1".parse().unwrap());
        assert!(!is_local(peer, &headers));
    }
}
