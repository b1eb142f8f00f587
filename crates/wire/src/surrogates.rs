//! Text that was cut in the middle of a character. JavaScript writes half of a pair as an escape of its
//! own, which is no text and which a strict reader refuses with all that stands around it.

use serde::de::DeserializeOwned;

/// What stands in the place of half a character, as long as any other escape.
const REPLACEMENT: &[u8; 6] = b"\\ufffd";

/// The same JSON with every unpaired half replaced; none when there is none in it.
pub fn replaced(json: &[u8]) -> Option<Vec<u8>> {
    let mut whole: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(rest) = json.get(at..).filter(|rest| !rest.is_empty()) {
        let unit = unit(rest);
        at += match unit {
            // A backslash that is escaped begins nothing.
            None if rest.first() == Some(&b'\\') => 2,
            None => 1,
            Some(high)
                if is_high(high) && rest.get(6..).and_then(self::unit).is_some_and(is_low) =>
            {
                12
            }
            Some(half) if is_high(half) || is_low(half) => {
                let copy = whole.get_or_insert_with(|| json.to_vec());
                if let Some(place) = copy.get_mut(at..at + 6) {
                    place.copy_from_slice(REPLACEMENT);
                }
                6
            }
            Some(_) => 6,
        };
    }
    whole
}

/// Reads JSON in which text may have been cut in the middle of a character.
///
/// # Errors
///
/// When it is not the JSON of a `T` all the same.
pub fn from_slice<T: DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    match replaced(json) {
        Some(whole) => serde_json::from_slice(&whole),
        None => serde_json::from_slice(json),
    }
}

/// The code unit whose escape stands at the beginning.
fn unit(json: &[u8]) -> Option<u16> {
    let digits = json.strip_prefix(b"\\u")?.get(..4)?;
    let digits = std::str::from_utf8(digits).ok()?;
    digits
        .bytes()
        .all(|b| b.is_ascii_hexdigit())
        .then(|| u16::from_str_radix(digits, 16).ok())
        .flatten()
}

const fn is_high(unit: u16) -> bool {
    matches!(unit, 0xD800..=0xDBFF)
}

const fn is_low(unit: u16) -> bool {
    matches!(unit, 0xDC00..=0xDFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    // contract: A1
    #[test]
    fn half_a_character_is_replaced_and_nothing_else() {
        for (cut, text) in [
            (r#""\ud83d cut""#, "\u{fffd} cut"),
            (r#""cut \uD83D""#, "cut \u{fffd}"),
            (r#""\ude00""#, "\u{fffd}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83d\n\\ude00""#, "\u{fffd}\n\\ude00"),
        ] {
            assert!(replaced(cut.as_bytes()).is_some(), "{cut}");
            let read: String = from_slice(cut.as_bytes()).unwrap();
            assert_eq!(read, text, "{cut}");
        }
        for whole in [
            r#""\ud83d\ude00""#,
            r#""\\ud83d""#,
            r#""caf\u00e9 \\ \"""#,
            r#""\ud83""#,
            r#""\u""#,
            "",
            "\\",
        ] {
            assert_eq!(replaced(whole.as_bytes()), None, "{whole}");
            let read = from_slice::<serde_json::Value>(whole.as_bytes()).ok();
            assert_eq!(read, serde_json::from_str(whole).ok(), "{whole}");
        }
    }
}
