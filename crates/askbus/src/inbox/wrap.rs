//! Text broken into rows of a width. What is shown and what is edited use the same rows, so that the
//! cursor stands where its character stands.

use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// No row ends with one of these.
const OPENING: &str = "（「『【《“‘([{";
/// No row begins with one of these.
const CLOSING: &str = "，。、；：？！）」』】》”’,.;:?!)]}";

/// How many columns a grapheme takes as it is shown.
pub(super) fn columns(grapheme: &str) -> usize {
    match grapheme {
        "\n" | "\r\n" | "\r" => 0,
        "\t" => TAB.len(),
        // A control character is shown as a replacement character.
        g if g.chars().any(char::is_control) => 1,
        g => g.width(),
    }
}

/// What stands for a tab.
pub(super) const TAB: &str = "  ";

/// How many columns a text of one row takes.
pub(super) fn width(text: &str) -> usize {
    text.graphemes(true).map(columns).sum()
}

/// Whether a row may end before `next`, which follows `last`.
fn may_break(last: &str, next: &str) -> bool {
    if next.trim().is_empty()
        || CLOSING.contains(next)
        || OPENING.contains(last) && !last.is_empty()
    {
        return false;
    }
    last.trim().is_empty() || columns(last) > 1 || columns(next) > 1 || last == "-" || last == "/"
}

/// The rows of a text, as byte ranges in their order. Every byte but line ends belongs to one row; a
/// text has at least one. Spaces at the end of a row may stand beyond its width.
pub(super) fn rows(text: &str, width: usize) -> Vec<Range<usize>> {
    let width = width.max(2);
    let mut rows = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        break_line(line.trim_end_matches(['\n', '\r']), start, width, &mut rows);
        start += line.len();
    }
    // The line after the last line end, empty as it is, can be written in.
    if text.is_empty() || text.ends_with('\n') {
        rows.push(text.len()..text.len());
    }
    rows
}

fn break_line(line: &str, offset: usize, width: usize, rows: &mut Vec<Range<usize>>) {
    let (mut start, mut used) = (0, 0);
    // The last place where the row may end, and how much of the width was used there.
    let mut place: Option<(usize, usize)> = None;
    let mut last = "";
    for (at, grapheme) in line.grapheme_indices(true) {
        let wide = columns(grapheme);
        if at > start && may_break(last, grapheme) {
            place = Some((at, used));
        }
        if used + wide > width && at > start && !grapheme.trim().is_empty() {
            let (end, before) = place.take().unwrap_or((at, used));
            rows.push(offset + start..offset + end);
            start = end;
            used -= before;
        }
        used += wide;
        last = grapheme;
    }
    rows.push(offset + start..offset + line.len());
}

/// A text cut to a width, with a mark where something is missing.
pub(super) fn cut(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut used = 1;
    for grapheme in text.graphemes(true) {
        used += columns(grapheme);
        if used > most {
            break;
        }
        shown.push_str(grapheme);
    }
    shown.push('…');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(text: &str, width: usize) -> Vec<&str> {
        rows(text, width)
            .into_iter()
            .map(|row| &text[row])
            .collect()
    }

    #[test]
    fn rows_end_between_words_and_between_wide_characters() {
        assert_eq!(broken("", 10), [""]);
        assert_eq!(broken("one two three", 8), ["one two ", "three"]);
        assert_eq!(broken("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(broken("部署到哪里？", 6), ["部署到", "哪里？"]);
        // No row begins with a mark that closes.
        assert_eq!(broken("部署到。哪", 6), ["部署", "到。哪"]);
        assert_eq!(broken("Deploy 到哪里去", 10), ["Deploy 到", "哪里去"]);
        // And none ends with one that opens.
        assert_eq!(broken("在这里（甲）", 8), ["在这里", "（甲）"]);
        assert_eq!(broken("（（（（", 4), ["（（", "（（"]);
        assert_eq!(broken("a\n\nb\n", 4), ["a", "", "b", ""]);
        assert_eq!(broken("a\r\nb", 4), ["a", "b"]);
    }

    #[test]
    fn what_looks_like_one_character_is_never_parted() {
        let family = "👨‍👩‍👧‍👦";
        let text = family.repeat(3);
        for row in broken(&text, 4) {
            assert!(row.is_empty() || row.len() % family.len() == 0, "{row:?}");
        }
        assert_eq!(cut("部署到哪里", 5), "部署…");
        assert_eq!(cut("abc", 3), "abc");
    }
}
