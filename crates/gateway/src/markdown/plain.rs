//! Markdown as plain words on one line, for lists, news and notifications: what a reader would say of it
//! aloud. Nothing of it is ever HTML.

use super::{is_plain, visible};
use askbus_domain::Question;
use pulldown_cmark::{Event, Options, Parser, TagEnd};
use serde_json::{Map, Value, json};
use unicode_segmentation::UnicodeSegmentation as _;

/// What is longer is cut, in characters as people count them.
const MOST: usize = 200;
/// Stands between what stood in rows or cells of its own.
const APART: &str = " · ";

/// The texts of these questions that read otherwise than they are written, as plain words: by question,
/// then `question` and `options`, in which option ids name `label`.
pub(crate) fn of_questions<'a>(
    questions: impl IntoIterator<Item = &'a Question>,
) -> Map<String, Value> {
    let mut all = Map::new();
    for question in questions {
        let mut parts = Map::new();
        if let Some(words) = words(&question.question) {
            parts.insert("question".to_owned(), words.into());
        }
        let labels = question.options.iter().filter_map(|option| {
            let words = words(&option.label)?;
            Some((option.id.to_string(), json!({"label": words})))
        });
        let labels: Map<String, Value> = labels.collect();
        if !labels.is_empty() {
            parts.insert("options".to_owned(), labels.into());
        }
        if !parts.is_empty() {
            all.insert(question.id.to_string(), parts.into());
        }
    }
    all
}

/// A text as plain words on one line; none when that is how it is written.
pub(crate) fn words(text: &str) -> Option<String> {
    if is_plain(text) {
        return None;
    }
    let text = visible(text);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut line = Line::default();
    for event in Parser::new_ext(&text, options) {
        match event {
            // What is HTML is text here as everywhere.
            Event::Text(words)
            | Event::Code(words)
            | Event::Html(words)
            | Event::InlineHtml(words) => {
                line.say(&words);
            }
            Event::SoftBreak | Event::HardBreak => line.at_least(Gap::Break),
            Event::End(
                TagEnd::Heading(_)
                | TagEnd::Item
                | TagEnd::TableCell
                | TagEnd::TableHead
                | TagEnd::TableRow,
            ) => line.at_least(Gap::Apart),
            Event::End(
                TagEnd::Paragraph
                | TagEnd::CodeBlock
                | TagEnd::HtmlBlock
                | TagEnd::BlockQuote(_)
                | TagEnd::List(_)
                | TagEnd::Table,
            ) => line.space(),
            _ => {}
        }
        if line.is_full() {
            break;
        }
    }
    let words = line.cut();
    // A text of marks alone says no more without them.
    (!words.is_empty() && words != text).then_some(words)
}

/// What comes before the next words.
#[derive(Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    #[default]
    None,
    Break,
    Space,
    Apart,
}

/// Whether a character belongs to a script that puts no spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{31ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ff60}' | '\u{20000}'..='\u{3ffff}')
}

#[derive(Default)]
struct Line {
    words: String,
    gap: Gap,
}

impl Line {
    fn space(&mut self) {
        self.at_least(Gap::Space);
    }

    /// The widest of several gaps counts.
    fn at_least(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    /// Words on the line. A line end between two characters of a script that is written without spaces
    /// is none.
    fn say(&mut self, text: &str) {
        for piece in text.split_inclusive(char::is_whitespace) {
            let words = piece.trim();
            if !words.is_empty() {
                self.put(words);
            }
            if piece.ends_with(char::is_whitespace) {
                self.space();
            }
        }
    }

    fn put(&mut self, words: &str) {
        match std::mem::take(&mut self.gap) {
            _ if self.words.is_empty() => {}
            Gap::Apart => self.words.push_str(APART),
            Gap::Space => self.words.push(' '),
            Gap::Break => {
                let wide = |c: Option<char>| c.is_some_and(is_unspaced);
                if !(wide(self.words.chars().next_back()) && wide(words.chars().next())) {
                    self.words.push(' ');
                }
            }
            Gap::None => {}
        }
        self.words.push_str(words);
    }

    /// Whether more would be cut off anyway; bytes are at least as many as characters.
    fn is_full(&self) -> bool {
        self.words.len() > MOST * 32
    }

    fn cut(self) -> String {
        match self.words.grapheme_indices(true).nth(MOST) {
            Some((at, _)) => format!("{}…", self.words.get(..at).unwrap_or_default().trim_end()),
            None => self.words,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_go_and_words_stay() {
        for (text, expected) in [
            ("Which **index** for `orders`?", "Which index for orders?"),
            ("# Plan\n- a\n- b\n\nWhich?", "Plan · a · b · Which?"),
            (
                "| a | b |\n|---|--:|\n| 1 | 2 |\n\nOk?",
                "a · b · 1 · 2 · Ok?",
            ),
            ("```sh\nls -l  /\n```\nRun *this*?", "ls -l / Run this?"),
            ("See [the plan](https://example.org/x).", "See the plan."),
            (
                "![a cat](https://example.org/c.png) *or not*",
                "a cat or not",
            ),
            ("**是否**部署到 `prod`？", "是否部署到 prod？"),
            ("**第一行**\n第二行\nand `this`", "第一行第二行 and this"),
            ("- 备份\n- 迁移\n\n**选哪个**？", "备份 · 迁移 · 选哪个？"),
            ("**هل** ننشر `الآن`؟", "هل ننشر الآن؟"),
            ("<img src=x> **x**", "<img src=x> x"),
            ("a \u{202e}**gnp.exe**", "a \u{fffd}gnp.exe"),
        ] {
            assert_eq!(words(text).as_deref(), Some(expected), "{text:?}");
        }
    }

    #[test]
    fn what_reads_as_it_is_written_is_left_as_it_is() {
        for text in [
            "Which one?",
            "2 * 3 & 4",
            "a_b",
            "***",
            "是否部署？",
            "<b>",
            "",
        ] {
            assert_eq!(words(text), None, "{text:?}");
        }
    }

    #[test]
    fn what_is_long_is_cut_between_characters() {
        let family = "👩\u{200d}👩\u{200d}👧\u{200d}👦";
        let long = words(&format!("**{}**", family.repeat(300))).unwrap();
        assert_eq!(long, format!("{}…", family.repeat(MOST)));
        let kept = words(&format!("**{}**", "x".repeat(MOST))).unwrap();
        assert_eq!(kept, "x".repeat(MOST));
    }
}
