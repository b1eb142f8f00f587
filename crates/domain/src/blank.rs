//! When a text says nothing.

use unicode_general_category::{GeneralCategory, get_general_category};

/// Whether nobody would see anything of `text`: editors, input methods and models leave characters
/// behind that are no white space and draw nothing all the same.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(draws_nothing)
}

fn draws_nothing(c: char) -> bool {
    c.is_whitespace()
        || is_filler(c)
        || matches!(
            get_general_category(c),
            GeneralCategory::Control | GeneralCategory::Format
        )
}

/// Letters, marks and symbols that stand for an empty place: fillers of Hangul, the empty Braille
/// cell, vowels that are only understood, what joins or varies a character that is not there.
const fn is_filler(c: char) -> bool {
    matches!(c,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}'
        | '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::is_blank;

    // contract: E10
    #[test]
    fn what_draws_nothing_says_nothing() {
        let blank = [
            "",
            " ",
            "\n\t\r",
            "\u{a0}",
            "\u{3000}",
            "\u{2028}",
            "\u{feff}",
            "\u{200b}",
            "\u{200c}\u{200d}",
            "\u{2060}",
            "\u{ad}",
            "\u{202e}\u{202c}",
            "\u{0}\u{7f}\u{85}",
            "\u{3164}",
            "\u{2800}",
            "\u{fe0f}",
            "\u{e0001}\u{e0100}",
            " \u{feff} \u{200b}\n",
        ];
        for text in blank {
            assert!(is_blank(text), "{text:?}");
        }
        let seen = [
            "x",
            "0",
            ".",
            "是",
            "\u{feff}x",
            "\u{200b}.\u{200b}",
            "👍",
            "👨\u{200d}👩",
            "❤\u{fe0f}",
            "\u{301}",
            "ᄀ",
            "\u{2801}",
            "\u{fffd}",
        ];
        for text in seen {
            assert!(!is_blank(text), "{text:?}");
        }
    }
}
