//! Text as it is compared: of one width and case, without what nobody sees. Keyboards of phones send
//! digits in a dozen forms that all mean the same.

use unicode_normalization::UnicodeNormalization as _;

/// `text` as numbers, commands and labels are compared. Characters that stand in a circle or a box
/// are words of their own.
pub(super) fn folded(text: &str) -> String {
    let seen = text.chars().filter(|c| !is_invisible(*c));
    let plain: String = seen
        .flat_map(apart)
        .nfkc()
        .flat_map(char::to_lowercase)
        .collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Variation selectors, joiners, marks of direction, soft hyphens.
const fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

/// The characters that `c` stands for, set apart when it is enclosed: `①③` is two numbers.
fn apart(c: char) -> impl Iterator<Item = char> {
    let plain = match c {
        // Those that have no plain form of their own in the standard.
        '\u{2776}'..='\u{277f}' => circled(c, '\u{2776}'),
        '\u{2780}'..='\u{2789}' => circled(c, '\u{2780}'),
        '\u{278a}'..='\u{2793}' => circled(c, '\u{278a}'),
        '\u{24f5}'..='\u{24fe}' => circled(c, '\u{24f5}'),
        '\u{24eb}'..='\u{24f4}' => moved(c, '\u{24eb}', '⑪'),
        '\u{24ff}' => Some('0'),
        '🔟' => Some('⑩'),
        '\u{2460}'..='\u{24ea}' | '\u{3220}'..='\u{3229}' | '\u{3280}'..='\u{3289}' => Some(c),
        // The cap around a key ends its number.
        '\u{20e3}' => Some(' '),
        _ => None,
    };
    let space = plain.map(|_| ' ');
    [space, Some(plain.unwrap_or(c)), space]
        .into_iter()
        .flatten()
}

/// What one character is in a word that is read from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// Nothing that anybody sees.
    Unseen,
    /// A letter or a digit, as it is compared.
    Plain(char),
    /// Anything else; it ends the word.
    Other,
}

/// What `c` is in a word. An enclosed number is a word of its own.
pub(super) fn sign(c: char) -> Sign {
    if is_invisible(c) {
        return Sign::Unseen;
    }
    let stands_alone = apart(c).nth(1).is_some();
    let mut plain = std::iter::once(c).nfkc().flat_map(char::to_lowercase);
    match (plain.next(), plain.next()) {
        (Some(one), None) if !stands_alone && one.is_ascii_alphanumeric() => Sign::Plain(one),
        _ => Sign::Other,
    }
}

fn circled(c: char, first: char) -> Option<char> {
    moved(c, first, '①')
}

fn moved(c: char, first: char, to: char) -> Option<char> {
    let offset = u32::from(c).checked_sub(u32::from(first))?;
    char::from_u32(u32::from(to) + offset)
}

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn one_form_for_all_that_means_the_same() {
        for (text, plain) in [
            ("１２", "12"),
            ("①③", "1 3"),
            ("❶➁➌", "1 2 3"),
            ("⑩⓫⓴🔟⓿", "10 11 20 10 0"),
            ("1️⃣3️⃣", "1 3"),
            ("⑴⒉㊂㈣", "(1) 2. 三 (四)"),
            ("ⓐⒷ", "a b"),
            ("ＳＴＡＧＩＮＧ\u{3000}Ｅｕ", "staging eu"),
            ("\u{feff}1\u{200b}\u{202e}", "1"),
            ("  a \t\n b ", "a b"),
            ("跳过", "跳过"),
            ("", ""),
        ] {
            assert_eq!(folded(text), plain, "{text}");
        }
    }
}
