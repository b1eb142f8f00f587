//! A text that is being written, with its cursor. It moves by what looks like one character, and up and
//! down by the rows that are shown.

use super::wrap::{columns, rows};
use unicode_segmentation::UnicodeSegmentation as _;

/// A text with a cursor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Field {
    text: String,
    /// A byte offset between graphemes.
    at: usize,
}

impl Field {
    /// A text with the cursor at its end.
    pub(super) fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            at: text.len(),
            text,
        }
    }

    /// The whole text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The text, unless it is blank.
    pub(super) fn words(&self) -> Option<&str> {
        Some(self.text.as_str()).filter(|t| !askbus_domain::is_blank(t))
    }

    fn before(&self) -> &str {
        self.text.get(..self.at).unwrap_or_default()
    }

    fn after(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Writes at the cursor.
    pub(super) fn insert(&mut self, words: &str) {
        self.text.insert_str(self.at, words);
        self.at += words.len();
        self.settle();
    }

    /// What was inserted may have become one with what follows: the cursor stands between graphemes.
    fn settle(&mut self) {
        let end = |(start, g): (usize, &str)| start + g.len();
        let mut ends = self.text.grapheme_indices(true).map(end);
        self.at = ends
            .find(|end| *end >= self.at)
            .unwrap_or(self.text.len())
            .max(self.at);
    }

    /// Removes what stands before the cursor.
    pub(super) fn backspace(&mut self) {
        let gone = self
            .before()
            .graphemes(true)
            .next_back()
            .map_or(0, str::len);
        self.remove(self.at - gone..self.at);
    }

    /// Removes what stands after it.
    pub(super) fn delete(&mut self) {
        let gone = self.after().graphemes(true).next().map_or(0, str::len);
        self.remove(self.at..self.at + gone);
    }

    /// Removes the word before it.
    pub(super) fn delete_word(&mut self) {
        let kept = self.before().trim_end();
        let word = kept.split_word_bounds().next_back().map_or(0, str::len);
        let start = kept.len() - word;
        self.remove(start..self.at);
    }

    /// Removes the line before it.
    pub(super) fn delete_to_line_start(&mut self) {
        self.remove(self.line_start()..self.at);
    }

    fn remove(&mut self, range: std::ops::Range<usize>) {
        self.at = range.start;
        self.text.replace_range(range, "");
    }

    /// One character back.
    pub(super) fn left(&mut self) {
        self.at -= self
            .before()
            .graphemes(true)
            .next_back()
            .map_or(0, str::len);
    }

    /// One character on.
    pub(super) fn right(&mut self) {
        self.at += self.after().graphemes(true).next().map_or(0, str::len);
    }

    /// One word back.
    pub(super) fn word_left(&mut self) {
        let kept = self.before().trim_end();
        self.at = kept.len() - kept.split_word_bounds().next_back().map_or(0, str::len);
    }

    /// One word on.
    pub(super) fn word_right(&mut self) {
        let after = self.after();
        let space = after.len() - after.trim_start().len();
        let word = after
            .trim_start()
            .split_word_bounds()
            .next()
            .map_or(0, str::len);
        self.at += space + word;
    }

    fn line_start(&self) -> usize {
        self.before().rfind('\n').map_or(0, |end| end + 1)
    }

    /// To the beginning of the line.
    pub(super) fn home(&mut self) {
        self.at = self.line_start();
    }

    /// To its end.
    pub(super) fn end(&mut self) {
        self.at += self.after().find('\n').unwrap_or(self.after().len());
    }

    /// The row and the column of the cursor in rows of this width.
    pub(super) fn cursor(&self, width: usize) -> (usize, usize) {
        let rows = rows(&self.text, width);
        // Between two rows of one line the cursor stands at the beginning of the second.
        let row = rows
            .iter()
            .rposition(|row| row.start <= self.at)
            .unwrap_or(0);
        let start = rows.get(row).map_or(0, |row| row.start);
        let before = self.text.get(start..self.at).unwrap_or_default();
        (row, before.graphemes(true).map(columns).sum())
    }

    /// One row up or down; says whether there is one.
    pub(super) fn vertical(&mut self, width: usize, down: bool) -> bool {
        let (row, column) = self.cursor(width);
        let wanted = if down {
            row.checked_add(1)
        } else {
            row.checked_sub(1)
        };
        let rows = rows(&self.text, width);
        let Some(range) = wanted.and_then(|row| rows.get(row).cloned()) else {
            return false;
        };
        let line = self.text.get(range.clone()).unwrap_or_default();
        let mut used = 0;
        let before = line.grapheme_indices(true).find(|(_, grapheme)| {
            used += columns(grapheme);
            used > column
        });
        self.at = range.start + before.map_or(line.len(), |(at, _)| at);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_moves_and_removes_by_what_looks_like_one_character() {
        let mut field = Field::new("a👨‍👩‍👧部e\u{301}");
        field.backspace();
        assert_eq!(field.text(), "a👨‍👩‍👧部");
        field.left();
        field.backspace();
        assert_eq!(field.text(), "a部");
        field.insert("é");
        field.delete();
        assert_eq!(field.text(), "aé");
        field.home();
        field.right();
        field.insert("\n");
        assert_eq!(field.text(), "a\né");
        field.end();
        field.delete_to_line_start();
        field.backspace();
        field.backspace();
        field.backspace();
        assert_eq!(field.text(), "");
    }

    #[test]
    fn words_are_removed_and_walked_one_by_one() {
        let mut field = Field::new("deploy to staging ");
        field.word_left();
        field.word_left();
        field.insert("only ");
        field.word_right();
        field.delete_word();
        assert_eq!(field.text(), "deploy only  staging ");
        field.end();
        field.delete_word();
        assert_eq!(field.text(), "deploy only  ");
    }

    #[test]
    fn up_and_down_go_by_the_rows_that_are_shown() {
        let mut field = Field::new("部署到哪里\nabc");
        assert_eq!(field.cursor(6), (2, 3));
        assert!(field.vertical(6, false));
        // Not into the middle of a wide character.
        assert_eq!(field.cursor(6), (1, 2));
        assert!(field.vertical(6, false));
        assert_eq!(field.cursor(6), (0, 2));
        assert!(!field.vertical(6, false));
        field.insert("x");
        assert_eq!(field.text(), "部x署到哪里\nabc");
        assert!(field.vertical(80, true));
        assert!(!field.vertical(80, true));
    }

    #[test]
    fn a_mark_that_joins_what_follows_leaves_the_cursor_between_characters() {
        let mut field = Field::new("\u{301}");
        field.home();
        field.insert("e");
        assert_eq!(field.cursor(10), (0, 1));
        field.insert("x");
        assert_eq!(field.text(), "e\u{301}x");
    }
}
