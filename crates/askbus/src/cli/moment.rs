//! Moments as people write them.

use super::duration::parse_duration;
use askbus_domain::Timestamp;
use serde::Deserialize as _;
use serde::de::IntoDeserializer as _;
use serde::de::value::Error;
use std::time::{SystemTime, UNIX_EPOCH};

/// `2h` is so long ago; `2027-01-15` its beginning in UTC; or a whole moment as in RFC 3339.
pub(crate) fn parse_moment(text: &str) -> Result<Timestamp, String> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    });
    moment(text, now)
}

fn moment(text: &str, now: i64) -> Result<Timestamp, String> {
    if let Ok(ago) = parse_duration(text) {
        let ago = i64::try_from(ago.as_millis()).unwrap_or(i64::MAX);
        return Ok(Timestamp::from_unix_millis(now.saturating_sub(ago)));
    }
    [text.to_owned(), format!("{text}T00:00:00Z")]
        .into_iter()
        .find_map(|text| rfc3339(&text).ok())
        .ok_or_else(|| {
            format!("{text:?} is not a moment such as 2h, 2027-01-15 or 2027-01-15T08:00:00Z")
        })
}

fn rfc3339(text: &str) -> Result<Timestamp, Error> {
    Timestamp::deserialize(text.into_deserializer())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        let now = 1_800_000_000_000;
        for (text, expected) in [
            ("2h", "2027-01-15T06:00:00Z"),
            ("90", "2027-01-15T07:58:30Z"),
            ("2027-01-14", "2027-01-14T00:00:00Z"),
            ("2027-01-14T01:00:00+01:00", "2027-01-14T00:00:00Z"),
            ("99999d", "1970-01-01T00:00:00Z"),
        ] {
            assert_eq!(moment(text, now).unwrap().to_string(), expected, "{text}");
        }
        for bad in ["", "yesterday", "2027-02-30", "2h ago"] {
            assert!(moment(bad, now).is_err(), "{bad}");
        }
    }
}
