//! How a row of the file is laid out: a version, a tag, a moment, a few short texts, the payload.
//! The texts stand before the payload so that a scan never has to parse JSON.

use askbus_domain::Timestamp;

const VERSION: u8 = 1;
/// Version, tag and moment.
const HEAD: usize = 10;

/// A row with `N` texts.
pub(super) struct Frame<'a, const N: usize> {
    pub tag: u8,
    pub stored_at: Timestamp,
    pub texts: [&'a str; N],
    pub payload: &'a [u8],
}

/// Lays a row out. A text longer than 64 KiB is cut; callers bound theirs far below.
pub(super) fn encode(tag: u8, stored_at: Timestamp, texts: &[&str], payload: &[u8]) -> Vec<u8> {
    let length = HEAD + texts.iter().map(|t| t.len() + 2).sum::<usize>() + payload.len();
    let mut row = Vec::with_capacity(length);
    row.push(VERSION);
    row.push(tag);
    row.extend_from_slice(&stored_at.unix_millis().to_le_bytes());
    for text in texts {
        let length = u16::try_from(text.len()).unwrap_or(0);
        row.extend_from_slice(&length.to_le_bytes());
        row.extend_from_slice(
            text.as_bytes()
                .get(..usize::from(length))
                .unwrap_or_default(),
        );
    }
    row.extend_from_slice(payload);
    row
}

/// Reads a row; none when it is damaged or of a version this build does not know.
pub(super) fn parse<const N: usize>(row: &[u8]) -> Option<Frame<'_, N>> {
    let (&[version, tag], rest) = row.split_first_chunk::<2>()?;
    let (moment, mut rest) = rest.split_first_chunk::<8>()?;
    let mut texts = [""; N];
    for text in &mut texts {
        let (length, after) = rest.split_first_chunk::<2>()?;
        let (bytes, after) = after.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        *text = std::str::from_utf8(bytes).ok()?;
        rest = after;
    }
    let stored_at = Timestamp::from_unix_millis(i64::from_le_bytes(*moment));
    (version == VERSION).then_some(Frame {
        tag,
        stored_at,
        texts,
        payload: rest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_comes_back_as_it_was() {
        let at = Timestamp::from_unix_millis(1_700_000_000_123);
        let row = encode(3, at, &["会话", ""], b"{}");
        let frame = parse::<2>(&row).unwrap();
        assert_eq!((frame.tag, frame.stored_at), (3, at));
        assert_eq!(
            (frame.texts, frame.payload),
            (["会话", ""], b"{}".as_slice())
        );
    }

    #[test]
    fn a_damaged_row_is_noticed() {
        let row = encode(3, Timestamp::from_unix_millis(0), &["abc"], b"");
        assert!(parse::<1>(&row[..row.len() - 1]).is_none());
        assert!(parse::<1>(&[]).is_none());
        let mut foreign = row;
        foreign[0] = 9;
        assert!(parse::<1>(&foreign).is_none());
    }
}
