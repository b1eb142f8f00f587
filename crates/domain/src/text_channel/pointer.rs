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

/// Between words of a list.
const SEPARATORS: [char; 3] = [',', ';', '、'];
/// Between two numbers of a list, in one word or as a word.
const JOINS: [&str; 7] = ["和", "与", "跟", "及", "&", "+", "and"];
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
/// points at nothing. `ranges` says whether `1-3` is three numbers.
pub(super) fn pointers(piece: &str, options: usize, ranges: bool) -> Option<Vec<Pointer>> {
    let mut found = Vec::new();
    let mut words = piece.split_whitespace().peekable();
    if words.peek().is_some_and(|word| LEADING.contains(word)) {
        words.next();
    }
    for word in words {
        if JOINS.contains(&word) && !found.is_empty() {
            continue;
        }
        for part in joined(word) {
            match range(part).filter(|_| ranges) {
                Some((from, to)) => found.extend((from..=to).map(|n| at(n, part, options))),
                None => found.push(pointer(part, options)?),
            }
        }
    }
    (!found.is_empty()).then_some(found)
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

/// `1-3`, ascending and short enough to be a list of options.
fn range(word: &str) -> Option<(usize, usize)> {
    let (from, to) = word.split_once(['-', '~', '–', '到', '至'])?;
    let (from, to) = (from.parse().ok()?, to.parse().ok()?);
    (from < to && to - from < crate::MAX_OPTIONS).then_some((from, to))
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
    let unsigned = word.strip_prefix(['-', '+', '−']).unwrap_or(word);
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
