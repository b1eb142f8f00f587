//! The short name by which a chat tells questions apart.

use super::folding::folded;
use crate::ClarifyId;
use std::fmt;

/// Letters that are not taken for a digit, nor together for a word.
const LETTERS: [char; 19] = [
    'b', 'c', 'd', 'f', 'g', 'h', 'j', 'k', 'm', 'n', 'p', 'q', 'r', 's', 't', 'v', 'w', 'x', 'z',
];
const DIGITS: [char; 8] = ['2', '3', '4', '5', '6', '7', '8', '9'];
/// Characters of a tag that is written whole.
const WHOLE: usize = 8;
/// Characters of a tag where nothing else in sight begins like it.
const SHORT: usize = 4;

/// A short name of a clarification, such as `k7m2`: letters and digits take turns, so that no word
/// and no number is one. It follows from the id and stays the same for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag(String);

impl Tag {
    /// The tag of a clarification, whole.
    pub fn of(id: ClarifyId) -> Self {
        // The end of an id is by chance, its beginning is the time.
        let bytes = id.uuid().into_bytes();
        let mut rest = bytes
            .iter()
            .skip(12)
            .fold(0_u32, |sum, byte| sum.wrapping_shl(8) | u32::from(*byte));
        let mut tag = String::with_capacity(WHOLE);
        for place in 0..WHOLE {
            let from: &[char] = if place % 2 == 0 { &LETTERS } else { &DIGITS };
            let count = u32::try_from(from.len()).unwrap_or(u32::MAX);
            let index = usize::try_from(rest % count).unwrap_or_default();
            rest /= count;
            tag.extend(from.get(index));
        }
        Self(tag)
    }

    /// As short as it may be beside these others.
    pub fn beside(&self, others: impl Iterator<Item = Tag>) -> String {
        let mut length = SHORT;
        for other in others.filter(|other| other != self) {
            let same = self.0.chars().zip(other.0.chars());
            let same = same.take_while(|(a, b)| a == b).count();
            length = length.max((same + 1).next_multiple_of(2)).min(WHOLE);
        }
        self.0.chars().take(length).collect()
    }

    /// Whether `word`, with or without a hash before it, is the beginning of this tag.
    pub fn begins_with(&self, word: &str) -> bool {
        let word = folded(word);
        let word = word.strip_prefix('#').unwrap_or(&word);
        is_tag(word) && self.0.starts_with(word)
    }

    /// The tag at the beginning of a text, and what follows; it begins with a hash.
    pub(super) fn leading(text: &str) -> Option<(String, &str)> {
        let text = text.trim_start();
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        let (word, rest) = text.split_at_checked(end)?;
        let word = folded(word);
        let word = word.strip_prefix('#')?.trim_end_matches([':', ',', '.']);
        is_tag(word).then(|| (word.to_owned(), rest.trim_start()))
    }

    /// The first tag in a text that was quoted.
    pub(super) fn quoted(text: &str) -> Option<String> {
        let mut words = text.split_whitespace();
        words.find_map(|word| Some(Self::leading(word)?.0))
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a folded word has the form of a tag or of its beginning.
fn is_tag(word: &str) -> bool {
    let length = word.chars().count();
    (SHORT..=WHOLE).contains(&length)
        && word.chars().enumerate().all(|(place, c)| {
            let from: &[char] = if place % 2 == 0 { &LETTERS } else { &DIGITS };
            from.contains(&c)
        })
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
        let short = one.beside([next.clone()].into_iter());
        assert_eq!(short.len(), 4, "{short}");
        assert!(one.begins_with(&format!("＃{}", short.to_uppercase())));
        assert!(!next.begins_with(&short));
        // The first four characters repeat after 19 * 8 * 19 * 8 ids.
        let twin = tag(0xa000_0001 + 23_104);
        let longer = one.beside([twin.clone()].into_iter());
        assert!(longer.len() > 4 && one.begins_with(&longer) && !twin.begins_with(&longer));
        assert_eq!(one.beside([one.clone()].into_iter()).len(), 4);
    }

    #[test]
    fn words_and_numbers_are_no_tags() {
        for word in [
            "#general", "#1", "#12ab", "#b2c", "#a2b2", "#", "b2c2", "#b2c2d",
        ] {
            let leading = Tag::leading(word);
            assert_eq!(leading.is_some(), word == "#b2c2d", "{word}");
        }
        let (word, rest) = Tag::leading(" #B2C2:  1, 3 ").unwrap();
        assert_eq!((word.as_str(), rest), ("b2c2", "1, 3 "));
        assert_eq!(
            Tag::quoted("❓ #b2c2 (1/3) Which #d4f4?"),
            Some("b2c2".into())
        );
        assert_eq!(Tag::quoted("no tag at all"), None);
    }
}
