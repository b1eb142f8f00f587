//! How a reply says which question it is for: by a name that it begins with, or by what it replies to.

use super::folding::{Sign, folded, sign};
use super::tag::{Tag, is_tag};
use crate::ClarifyId;
use std::fmt;

/// Before the name of a question that is put, of a reply that was taken, and of an end.
pub(super) const ASKED: &str = "❓";
pub(super) const TAKEN: &str = "✅";
pub(super) const ENDED: &str = "☑️";
/// The same, as chats may send them back.
const MARKS: [char; 3] = ['❓', '✅', '☑'];
/// What chats put before the lines of a text that is quoted.
const QUOTING: [char; 7] = ['>', '|', '"', '“', '「', '『', '\u{feff}'];
/// What may stand between a name and what is said.
pub(super) const SEPARATORS: [char; 16] = [
    ':', '：', ',', '，', '、', '.', '．', '。', ';', '；', '!', '！', ')', '）', ']', '】',
];
/// Before a name.
pub(super) const HASHES: [char; 3] = ['#', '＃', '﹟'];
/// Between two names, or two parts of a list.
pub(super) const JOINS: [&str; 10] = ["和", "与", "跟", "及", "或", "&", "+", "/", "and", "or"];
/// The longest number of a question, in digits.
const MAX_DIGITS: usize = 2;

/// A clarification and, if it is said, which of its questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    of: Of,
    /// Counted from 1.
    pub question: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Of {
    Id(ClarifyId),
    /// A tag or its beginning, folded.
    Tag(String),
}

impl Name {
    /// Whether it is the name of this one, as far as it goes.
    pub(super) fn fits(&self, id: ClarifyId) -> bool {
        match &self.of {
            Of::Id(named) => *named == id,
            Of::Tag(word) => Tag::of(id).is_written(word),
        }
    }

    /// The id, if it is one.
    pub(super) fn id(&self) -> Option<ClarifyId> {
        match self.of {
            Of::Id(id) => Some(id),
            Of::Tag(_) => None,
        }
    }

    /// A text that is nothing but an id or a name.
    fn whole(text: &str) -> Option<Self> {
        let (head, question) = match text.rsplit_once('.') {
            Some((head, number)) => (head, Some(number.parse().ok()?)),
            None => (text, None),
        };
        if let Ok(id) = ClarifyId::parse(head) {
            let of = Of::Id(id);
            return Some(Self { of, question });
        }
        let word = folded(head);
        let word = word.strip_prefix('#').unwrap_or(&word);
        let of = Of::Tag(word.to_owned());
        is_tag(word).then_some(Self { of, question })
    }

    /// The name at the head of a line of ours. What agents and people write stands behind it, or on
    /// lines that begin otherwise.
    fn of_line(line: &str) -> Option<Self> {
        let line = line.trim_start_matches(|c: char| c.is_whitespace() || QUOTING.contains(&c));
        let marked = line.strip_prefix(MARKS);
        let lead = Leading::of(marked.map_or(line, after_unseen))?;
        if !lead.hash || !is_tag(&lead.word) {
            return None;
        }
        let in_heading = marked.and(part(lead.rest));
        let question = in_heading.or(lead.numbered.map(|(number, _)| number));
        Some(Self {
            of: Of::Tag(lead.word),
            question,
        })
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.of {
            Of::Id(id) => id.fmt(f)?,
            Of::Tag(word) => f.write_str(word)?,
        }
        self.question
            .map_or(Ok(()), |number| write!(f, ".{number}"))
    }
}

/// What a reply refers to by an id, a name, or a message that is quoted; each once.
pub(super) fn referred(about: &str) -> Vec<Name> {
    let about = about.trim();
    if let Some(name) = Name::whole(about) {
        return vec![name];
    }
    if let Some(names) = only_names(about) {
        return names;
    }
    let mut names: Vec<Name> = Vec::new();
    for name in about.lines().filter_map(Name::of_line) {
        match names.iter_mut().find(|known| known.of == name.of) {
            None => names.push(name),
            Some(known) if known.question != name.question => known.question = None,
            Some(_) => {}
        }
    }
    names
}

/// The names of a text that is nothing but names, each once.
fn only_names(about: &str) -> Option<Vec<Name>> {
    let parts = about.split(|c: char| c.is_whitespace() || (c != '.' && SEPARATORS.contains(&c)));
    let mut names: Vec<Name> = Vec::new();
    for part in parts.filter(|part| !part.is_empty() && !is_join(part)) {
        let name = Name::whole(part)?;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then_some(names)
}

/// Whether a word only joins two others.
pub(super) fn is_join(word: &str) -> bool {
    JOINS.contains(&folded(word).as_str())
}

/// The `(2/3)` of a heading.
fn part(text: &str) -> Option<usize> {
    let (number, _) = text.strip_prefix('(')?.split_once('/')?;
    number.parse().ok()
}

/// The beginning of a reply where a name would stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Leading<'a> {
    /// Whether a hash stands before it.
    pub hash: bool,
    /// Letters and digits, folded; never empty.
    pub word: String,
    /// What is said, if this is a name.
    pub rest: &'a str,
    /// The same where a number behind a dot says which of several questions it is for.
    pub numbered: Option<(usize, &'a str)>,
}

impl<'a> Leading<'a> {
    pub(super) fn of(text: &'a str) -> Option<Self> {
        let text = after_unseen(text);
        let after_hash = text.strip_prefix(HASHES);
        let (word, after) = first_word(after_hash.map_or(text, after_unseen));
        (!word.is_empty()).then(|| Self {
            hash: after_hash.is_some(),
            word,
            rest: said(after),
            numbered: number(after),
        })
    }

    /// As a name.
    pub(super) fn name(&self) -> Option<Name> {
        is_tag(&self.word).then(|| Name {
            of: Of::Tag(self.word.clone()),
            question: None,
        })
    }

    /// Whether it can be the name of this one, or is one written wrongly.
    pub(super) fn is_like(&self, id: ClarifyId) -> bool {
        let tag = Tag::of(id);
        tag.is_written(&self.word) || (self.hash && tag.begins(&self.word))
    }

    /// Whether it has no form that a name could have and is like one all the same.
    pub(super) fn is_almost_a_name(&self) -> bool {
        let letter = self.word.bytes().any(|b| b.is_ascii_alphabetic());
        let digit = self.word.bytes().any(|b| b.is_ascii_digit());
        self.hash && letter && digit && (3..=9).contains(&self.word.len())
    }
}

/// Letters and digits at the beginning, folded, and what follows them.
fn first_word(text: &str) -> (String, &str) {
    let mut word = String::new();
    for (at, c) in text.char_indices() {
        match sign(c) {
            Sign::Unseen => {}
            Sign::Plain(plain) => word.push(plain),
            Sign::Other => return (word, text.get(at..).unwrap_or_default()),
        }
    }
    (word, "")
}

fn after_unseen(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_whitespace() || sign(c) == Sign::Unseen)
}

/// What is said behind a name.
fn said(after: &str) -> &str {
    let text = after.trim_start();
    let adjacent = text.len() == after.len();
    match text.strip_prefix(SEPARATORS) {
        // `:)` separates nothing.
        Some(rest) if adjacent || rest.starts_with(char::is_whitespace) => rest.trim(),
        _ => text.trim(),
    }
}

/// The number of a question behind a dot, and what is said.
fn number(after: &str) -> Option<(usize, &str)> {
    let (digits, after) = first_word(after.strip_prefix(['.', '．'])?);
    if digits.len() > MAX_DIGITS {
        return None;
    }
    Some((digits.parse().ok()?, said(after)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tagged(word: &str, question: Option<usize>) -> Name {
        Name {
            of: Of::Tag(word.to_owned()),
            question,
        }
    }

    #[test]
    fn a_name_ends_where_its_letters_end() {
        for (text, word, rest) in [
            (" #B2C2:  1, 3 ", "b2c2", "1, 3"),
            ("＃ｂ２ｃ２，１", "b2c2", "１"),
            ("#b2c2：1", "b2c2", "1"),
            ("#b2c2;1", "b2c2", "1"),
            ("#b2c2。1", "b2c2", "1"),
            ("#b2c2、1", "b2c2", "1"),
            ("#b2c2 : 1", "b2c2", "1"),
            ("#b2c2 :)", "b2c2", ":)"),
            ("# b2c2 1", "b2c2", "1"),
            ("#b2c2①", "b2c2", "①"),
            ("#b2c2第二个", "b2c2", "第二个"),
            ("#b2c2/skip", "b2c2", "/skip"),
            ("#b2c2-1", "b2c2", "-1"),
            ("#b2\u{200b}c2\n1", "b2c2", "1"),
            ("b2c2 1", "b2c2", "1"),
            ("#b2c21", "b2c21", ""),
            ("#general 1", "general", "1"),
        ] {
            let lead = Leading::of(text).unwrap();
            assert_eq!((lead.word.as_str(), lead.rest), (word, rest), "{text:?}");
            assert_eq!(lead.hash, !text.starts_with('b'), "{text:?}");
        }
        for text in ["", "#", "#选1", "选1", " \u{200b}", "#️⃣"] {
            assert_eq!(Leading::of(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_dot_and_a_number_say_which_question() {
        for (text, expected) in [
            ("#b2c2.1 a", Some((1, "a"))),
            ("#b2c2．２：a", Some((2, "a"))),
            ("#b2c2.12", Some((12, ""))),
            ("#b2c2.123 a", None),
            ("#b2c2. 1", None),
            ("#b2c2.a", None),
            ("#b2c2 1", None),
        ] {
            assert_eq!(Leading::of(text).unwrap().numbered, expected, "{text}");
        }
    }

    #[test]
    fn only_lines_of_ours_name_something() {
        let id = "01a22db2-b5ef-72d9-8d4d-32ea513796eb";
        let of = Of::Id(ClarifyId::parse(id).unwrap());
        let by_id = |question| Name {
            of: of.clone(),
            question,
        };
        for (about, expected) in [
            (id.to_owned(), vec![by_id(None)]),
            (format!("{id}.2"), vec![by_id(Some(2))]),
            ("b2c2".to_owned(), vec![tagged("b2c2", None)]),
            (" ＃B2C2 ".to_owned(), vec![tagged("b2c2", None)]),
            ("#b2c2.3".to_owned(), vec![tagged("b2c2", Some(3))]),
            (
                "❓ #b2c2 (2/3) Which #d4f4?".to_owned(),
                vec![tagged("b2c2", Some(2))],
            ),
            (
                "> ❓ #b2c2 Which?\n> 1. #d4f4".to_owned(),
                vec![tagged("b2c2", None)],
            ),
            (
                "Noted, 1 of 2.\n❓ #b2c2 (2/2) Which?".to_owned(),
                vec![tagged("b2c2", Some(2))],
            ),
            (
                "☑️ #b2c2 It was answered\n☑ #b2c2".to_owned(),
                vec![tagged("b2c2", None)],
            ),
            (
                "✅ #b2c2 Taken.\nChosen: ❓ #d4f4".to_owned(),
                vec![tagged("b2c2", None)],
            ),
            (
                "Which one?\n#b2c2 First\n#d4f4 Second\nsuch as: #b2c2 1".to_owned(),
                vec![tagged("b2c2", None), tagged("d4f4", None)],
            ),
            ("#b2c2 1".to_owned(), vec![tagged("b2c2", None)]),
            ("1. ❓ #b2c2\n┆ ❓ #d4f4\n· #f6g6".to_owned(), Vec::new()),
            ("no name at all".to_owned(), Vec::new()),
            ("17".to_owned(), Vec::new()),
            (String::new(), Vec::new()),
        ] {
            assert_eq!(referred(&about), expected, "{about:?}");
        }
        assert_eq!(tagged("b2c2", Some(3)).to_string(), "b2c2.3");
    }
}
