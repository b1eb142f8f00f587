//! Signatures of webhooks in both directions, as the Standard Webhooks specification has them: an id,
//! a time and the body under HMAC-SHA256, each in a header.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderValue};
use ring::hmac;
use std::fmt;

/// Header: names the message; the same in every attempt.
pub(crate) const ID: &str = "webhook-id";
/// Header: when it was signed, Unix seconds.
pub(crate) const TIMESTAMP: &str = "webhook-timestamp";
/// Header: one or more signatures.
pub(crate) const SIGNATURE: &str = "webhook-signature";
/// A message signed longer ago, or further ahead, is refused.
pub(crate) const TOLERANCE_S: i64 = 300;
/// Where a key begins that is written down.
const PREFIX: &str = "whsec_";
/// How long a key may be, in bytes.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;
/// Signatures of one message that are looked at.
const MAX_SIGNATURES: usize = 8;
/// The longest id of a message.
const MAX_ID: usize = 256;

/// Signs and checks the messages of one webhook.
pub struct SigningKey(hmac::Key);

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey")
    }
}

/// What a checked message says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signed {
    pub id: String,
    /// Unix seconds.
    pub at: i64,
}

/// Why a message is not taken. Which of its parts is wrong is nobody's business.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unsigned {
    #[error("the headers webhook-id, webhook-timestamp and webhook-signature must be there, once")]
    Headers,
    #[error("the message was signed too long ago, or by a clock that is ahead")]
    Stale,
    #[error("the signature does not hold")]
    Wrong,
}

impl SigningKey {
    /// Reads `whsec_` and base64 of 24 to 64 bytes; none when it is not that.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text.trim().strip_prefix(PREFIX)?).ok()?;
        KEY_BYTES
            .contains(&bytes.len())
            .then(|| Self(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
    }

    /// The headers of a message.
    pub(crate) fn sign(&self, id: &str, at: i64, body: &[u8]) -> Option<HeaderMap> {
        let tag = hmac::sign(&self.0, &signed(id, at, body));
        let signature = format!("v1,{}", STANDARD.encode(tag));
        let mut headers = HeaderMap::new();
        for (name, value) in [
            (ID, id),
            (TIMESTAMP, &at.to_string()),
            (SIGNATURE, &signature),
        ] {
            headers.insert(name, HeaderValue::from_str(value).ok()?);
        }
        Some(headers)
    }

    /// Reads what the headers say, before the body is: whether it is worth reading.
    pub(crate) fn head(headers: &HeaderMap, now: i64) -> Result<Signed, Unsigned> {
        let one = |name| {
            let mut values = headers.get_all(name).iter();
            let first = values.next()?.to_str().ok()?;
            values.next().is_none().then_some(first)
        };
        let (Some(id), Some(at), Some(_)) = (one(ID), one(TIMESTAMP), one(SIGNATURE)) else {
            return Err(Unsigned::Headers);
        };
        let at: i64 = at.parse().map_err(|_| Unsigned::Headers)?;
        if id.is_empty() || id.len() > MAX_ID {
            return Err(Unsigned::Headers);
        }
        if now.abs_diff(at) > TOLERANCE_S.unsigned_abs() {
            return Err(Unsigned::Stale);
        }
        Ok(Signed {
            id: id.to_owned(),
            at,
        })
    }

    /// Whether the body is the one that was signed. Compared in constant time.
    pub(crate) fn verify(
        &self,
        headers: &HeaderMap,
        of: &Signed,
        body: &[u8],
    ) -> Result<(), Unsigned> {
        let given = headers.get(SIGNATURE).and_then(|v| v.to_str().ok());
        let message = signed(&of.id, of.at, body);
        let given = given.unwrap_or_default().split(' ').take(MAX_SIGNATURES);
        let holds = given
            .filter_map(|one| STANDARD.decode(one.strip_prefix("v1,")?).ok())
            .any(|tag| hmac::verify(&self.0, &message, &tag).is_ok());
        if holds { Ok(()) } else { Err(Unsigned::Wrong) }
    }
}

fn signed(id: &str, at: i64, body: &[u8]) -> Vec<u8> {
    let mut message = format!("{id}.{at}.").into_bytes();
    message.extend_from_slice(body);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    #[test]
    fn the_example_of_the_specification() {
        let key = SigningKey::parse(KEY).unwrap();
        let body = br#"{"test": 2432232314}"#;
        let headers = key
            .sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body)
            .unwrap();
        assert_eq!(
            headers[SIGNATURE],
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }

    #[test]
    fn only_what_was_signed_holds() {
        let key = SigningKey::parse(KEY).unwrap();
        let (now, body) = (1_800_000_000, b"{\"text\":\"1\"}".as_slice());
        let headers = key.sign("m1", now, body).unwrap();
        let head = SigningKey::head(&headers, now).unwrap();
        assert_eq!(key.verify(&headers, &head, body), Ok(()));
        assert_eq!(key.verify(&headers, &head, b"{}"), Err(Unsigned::Wrong));
        let changed = |name: &'static str, value: &str| {
            let mut headers = headers.clone();
            headers.insert(name, value.parse().unwrap());
            let head = SigningKey::head(&headers, now)?;
            key.verify(&headers, &head, body)
        };
        assert_eq!(changed(ID, "m2"), Err(Unsigned::Wrong));
        assert_eq!(changed(TIMESTAMP, "1800000001"), Err(Unsigned::Wrong));
        assert_eq!(changed(TIMESTAMP, "soon"), Err(Unsigned::Headers));
        assert_eq!(changed(SIGNATURE, "v1,AAAA"), Err(Unsigned::Wrong));
        assert_eq!(changed(SIGNATURE, "v1a,AAAA x"), Err(Unsigned::Wrong));
        let both = format!("v1,AAAA {}", headers[SIGNATURE].to_str().unwrap());
        assert_eq!(changed(SIGNATURE, &both), Ok(()));
        let other = SigningKey::parse(&format!("whsec_{}", STANDARD.encode([7; 24]))).unwrap();
        assert_eq!(other.verify(&headers, &head, body), Err(Unsigned::Wrong));
        for (at, expected) in [
            (now + TOLERANCE_S, true),
            (now + TOLERANCE_S + 1, false),
            (now - TOLERANCE_S - 1, false),
            (i64::MIN, false),
        ] {
            assert_eq!(SigningKey::head(&headers, at).is_ok(), expected, "{at}");
        }
        let mut twice = headers.clone();
        twice.append(ID, "m1".parse().unwrap());
        assert_eq!(SigningKey::head(&twice, now), Err(Unsigned::Headers));
        assert_eq!(
            SigningKey::head(&HeaderMap::new(), now),
            Err(Unsigned::Headers)
        );
    }

    #[test]
    fn a_key_is_long_enough_and_never_shown() {
        for text in [
            "",
            "whsec_",
            "whsec_c2hvcnQ=",
            "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "whsec_!",
        ] {
            assert!(SigningKey::parse(text).is_none(), "{text}");
        }
        let key = SigningKey::parse(&format!(" {KEY}\n")).unwrap();
        assert_eq!(format!("{key:?}"), "SigningKey");
    }
}
