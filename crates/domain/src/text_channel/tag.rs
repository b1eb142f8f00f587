//! The short name by which a chat tells questions apart.

use crate::ClarifyId;
use std::fmt;

/// Letters that are not taken for a digit, nor together for a word.
const LETTERS: [u8; 19] = *b"bcdfghjkmnpqrstvwxz";
const DIGITS: [u8; 8] = *b"23456789";
/// Characters of a tag that is written whole.
const WHOLE: usize = 8;
/// Characters of a tag where nothing else in sight begins like it.
const SHORT: usize = 4;

/// A short name of a clarification, such as `k7m2`: letters and digits take turns, so that no word
/// and no number is one. It follows from the id and stays the same for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag([u8; WHOLE]);

impl Tag {
    /// The tag of a clarification, whole.
    pub fn of(id: ClarifyId) -> Self {
        // The end of an id is by chance, its beginning is the time.
        let bytes = id.uuid().into_bytes();
        let mut rest = bytes
            .iter()
            .skip(12)
            .fold(0_u32, |sum, byte| sum.wrapping_shl(8) | u32::from(*byte));
        let mut tag = [0; WHOLE];
        for (place, c) in tag.iter_mut().enumerate() {
            let from = at(place);
            let count = u32::try_from(from.len()).unwrap_or(u32::MAX);
            let index = usize::try_from(rest % count).unwrap_or_default();
            rest /= count;
            *c = from.get(index).copied().unwrap_or_default();
        }
        Self(tag)
    }

    /// As short as it may be beside these others.
    pub fn beside(self, others: impl Iterator<Item = Tag>) -> String {
        let mut length = SHORT;
        for other in others.filter(|other| *other != self) {
            let same = self.0.iter().zip(other.0);
            let same = same.take_while(|(a, b)| **a == *b).count();
            length = length.max((same + 1).next_multiple_of(2)).min(WHOLE);
        }
        self.beginning(length)
    }

    /// Whether `word`, folded and without a hash, is this tag or its beginning.
    pub(super) fn is_written(self, word: &str) -> bool {
        is_tag(word) && self.0.starts_with(word.as_bytes())
    }

    /// Whether `word`, folded and without a hash, begins as this tag does in its shortest form.
    pub(super) fn begins(self, word: &str) -> bool {
        let short = self.0.iter().take(SHORT);
        word.len() >= SHORT && short.eq(word.as_bytes().iter().take(SHORT))
    }

    fn beginning(self, length: usize) -> String {
        self.0
            .iter()
            .take(length)
            .copied()
            .map(char::from)
            .collect()
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.beginning(WHOLE))
    }
}

const fn at(place: usize) -> &'static [u8] {
    if place.is_multiple_of(2) {
        &LETTERS
    } else {
        &DIGITS
    }
}

/// Whether a folded word has the form of a tag or of its beginning.
pub(super) fn is_tag(word: &str) -> bool {
    let mut bytes = word.bytes().enumerate();
    (SHORT..=WHOLE).contains(&word.len()) && bytes.all(|(place, c)| at(place).contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn tag(n: u128) -> Tag {
        Tag::of(ClarifyId::from_uuid(Uuid::from_u128(n)))
    }

    #[test]
    fn a_tag_is_short_until_another_begins_like_it() {
        let (one, next) = (tag(0xa000_0001), tag(0xa000_0002));
        assert_ne!(one, next);
        let short = one.beside([next].into_iter());
        assert_eq!(short.len(), 4, "{short}");
        assert!(one.is_written(&short) && one.begins(&short) && !next.is_written(&short));
        // The first four characters repeat after 19 * 8 * 19 * 8 ids.
        let twin = tag(0xa000_0001 + 23_104);
        let longer = one.beside([twin].into_iter());
        assert!(longer.len() > 4 && one.is_written(&longer) && !twin.is_written(&longer));
        assert!(twin.begins(&longer), "they begin alike");
        assert_eq!(one.beside([one].into_iter()).len(), 4);
        assert_eq!(one.to_string().len(), 8);
    }

    #[test]
    fn words_and_numbers_are_no_tags() {
        for word in ["general", "1", "12ab", "b2c", "a2b2", "", "b2c2d3f4g", "字"] {
            assert!(!is_tag(word), "{word}");
        }
        assert!(is_tag("b2c2") && is_tag("b2c2d") && is_tag("b2c2d3f4"));
    }
}
