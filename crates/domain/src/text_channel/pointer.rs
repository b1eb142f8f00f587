//! Words that point at an option: its number in any of the forms in which people write numbers, or
//! its letter.

use super::folding::folded;

/// What one word of a reply points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pointer {
    /// The option at this index, counted from 0.
    At(usize),
    /// Something that is a number or a letter and no option's.
    Outside(String),
}

/// What one word, or one end of a range, points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pointed {
    /// As it was written, folded.
    pub said: String,
    pub at: Pointer,
}

/// Between words of a list.
const SEPARATORS: [char; 3] = [',', ';', '、'];
/// Between two numbers of a list, in one word or as a word.
const JOINS: [&str; 7] = ["和", "与", "跟", "及", "&", "+", "and"];
/// Between the ends of a range, in one word or as a word.
const TO: [&str; 15] = [
    "-", "~", "–", "—", "―", "‐", "‒", "−", "〜", "∼", "...", "..", "到", "至", "to",
];
/// Before a number.
const LEADING: [&str; 6] = ["option", "options", "number", "no.", "choose", "pick"];
const LEADING_ZH: [&str; 5] = ["我选择", "我选", "选择", "选项", "选"];
const COUNTED_ZH: [&str; 5] = ["个选项", "个", "项", "条", "种"];
const DIGITS_ZH: [char; 10] = ['一', '二', '三', '四', '五', '六', '七', '八', '九', '十'];

/// The pieces of a list, folded; none of them blank.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let lines = text.lines().map(folded);
    let pieces = lines.flat_map(|line| {
        let pieces = line.split(SEPARATORS).map(|p| p.trim().to_owned());
        pieces.collect::<Vec<_>>()
    });
    pieces.filter(|piece| !piece.is_empty()).collect()
}

/// All that one folded piece of a list points at, among so many options; none when a word of it
/// points at nothing.
pub(super) fn pointers(piece: &str, options: usize) -> Option<Vec<Pointed>> {
    let mut found = Vec::new();
    let words: Vec<&str> = piece.split_whitespace().collect();
    let led = words.first().is_some_and(|word| LEADING.contains(word));
    for word in ranges_joined(words.get(usize::from(led)..)?) {
        if JOINS.contains(&word.as_str()) && !found.is_empty() {
            continue;
        }
        for part in joined(&word) {
            let at = match range(part, options) {
                Some(range) => range,
                None => vec![pointer(part, options)?],
            };
            let said = || part.to_owned();
            found.extend(at.into_iter().map(|at| Pointed { said: said(), at }));
        }
    }
    (!found.is_empty()).then_some(found)
}

/// The words, with `1 - 3` as one of them.
fn ranges_joined(words: &[&str]) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    let mut open = false;
    for word in words {
        let closes = TO.contains(word);
        match joined.last_mut() {
            Some(last) if open || closes => last.push_str(word),
            _ => joined.push((*word).to_owned()),
        }
        // A word cannot end in `to`: that would be a word like any other.
        open = closes
            || TO
                .iter()
                .any(|to| *to != "to" && word.len() > to.len() && word.ends_with(to));
    }
    joined
}

/// The parts of a word such as `1和3`. A sign at its beginning joins nothing.
fn joined(word: &str) -> Vec<&str> {
    for join in JOINS {
        if let Some((first, rest)) = word.split_once(join)
            && !first.is_empty()
            && !rest.is_empty()
            && join != "and"
        {
            let mut parts = vec![first];
            parts.extend(joined(rest));
            return parts;
        }
    }
    vec![word]
}

/// What `1-3` points at: each of these options, or nothing that there is. None when it is no range.
fn range(word: &str, options: usize) -> Option<Vec<Pointer>> {
    let word = undecorated(word);
    let (from, to) = TO.iter().find_map(|to| word.split_once(to))?;
    let (from, to) = (undecorated(from), undecorated(to));
    let outside = || vec![Pointer::Outside(word.to_owned())];
    if let (Some(first), Some(last)) = (number(from), number(to)) {
        let inside = 1 <= first && first <= last && last <= options;
        let each = (first..=last).map(|n| at(n, word, options));
        return Some(if inside { each.collect() } else { outside() });
    }
    // Two letters are a word like any other unless they are options.
    let (first, last) = (letter(from)?, letter(to)?);
    let inside = first <= last && last <= options;
    inside.then(|| (first..=last).map(|n| at(n, word, options)).collect())
}

fn at(number: usize, said: &str, options: usize) -> Pointer {
    match number.checked_sub(1).filter(|index| *index < options) {
        Some(index) => Pointer::At(index),
        None => Pointer::Outside(said.to_owned()),
    }
}

/// What one folded word points at; none when it is a word like any other.
fn pointer(word: &str, options: usize) -> Option<Pointer> {
    let bare = undecorated(word);
    if let Some(number) = number(bare) {
        return Some(at(number, bare, options));
    }
    if is_numeric(bare) {
        return Some(Pointer::Outside(bare.to_owned()));
    }
    letter(bare).map(|number| at(number, bare, options))
}

/// Without brackets, the dot behind a number, and the words that go with one in Chinese.
fn undecorated(word: &str) -> &str {
    let word = word.trim_start_matches(['(', '[', '【', '「']);
    let word = word.trim_end_matches([')', ']', '】', '」', '.', '。', ':', '!']);
    let chosen = LEADING_ZH.iter().find_map(|p| word.strip_prefix(p));
    let word = chosen.unwrap_or(word);
    // `一个` is an amount, `第一个` is an option.
    let Some(counted) = word.strip_prefix('第') else {
        return word;
    };
    let stripped = COUNTED_ZH.iter().find_map(|s| counted.strip_suffix(s));
    stripped.unwrap_or(counted)
}

fn number(word: &str) -> Option<usize> {
    if !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit()) {
        // What does not fit is outside of any list.
        return Some(word.parse().unwrap_or(usize::MAX));
    }
    number_zh(word)
}

/// `一` to `二十`.
fn number_zh(word: &str) -> Option<usize> {
    let digit = |c: char| DIGITS_ZH.iter().position(|d| *d == c).map(|i| i + 1);
    let chars: Vec<char> = word.chars().collect();
    match chars.as_slice() {
        [one] => digit(*one),
        ['十', unit] => digit(*unit).filter(|n| *n < 10).map(|n| 10 + n),
        ['二', '十'] => Some(20),
        _ => None,
    }
}

/// A number that counts nothing, such as `-1` or `1.5`.
fn is_numeric(word: &str) -> bool {
    let unsigned = word.strip_prefix(['-', '+', '−', '–', '—']).unwrap_or(word);
    let digits = unsigned.bytes().filter(u8::is_ascii_digit).count();
    let dots = unsigned.bytes().filter(|b| *b == b'.').count();
    digits > 0 && dots <= 1 && digits + dots == unsigned.len()
}

/// `a` is 1, `b` is 2.
fn letter(word: &str) -> Option<usize> {
    let [byte] = word.as_bytes() else {
        return None;
    };
    byte.is_ascii_lowercase()
        .then(|| usize::from(byte - b'a') + 1)
}
