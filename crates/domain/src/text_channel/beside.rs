//! Names of other questions in what is said to one: a message that answers two is an answer to neither.

use super::choice::{is_label, points_only, says_nothing};
use super::command::{Command, command};
use super::naming::{HASHES, JOINS, Leading, Name, SEPARATORS, is_join};
use super::reply::Chat;
use crate::{ClarifyId, MAX_LABEL_CHARS, Questions};

/// Words in the form of a name that are looked at in one message: nobody writes so many.
const MOST: usize = 50;
/// Joins that begin a sentence too: "the same as".
const LIKE: [&str; 3] = ["和", "与", "跟"];
/// What stands before the lines of a list.
const BULLETS: [char; 5] = ['-', '*', '•', '·', '–'];

/// The questions that wait and that `text`, said to a clarification with these questions, names
/// besides, each once. A name counts at the beginning of a line, and beside a choice; one that stands in
/// a sentence is part of what the person says, and so is all that they marked as their own words.
pub(super) fn named_beside(chat: &Chat, questions: &Questions, text: &str) -> Vec<ClarifyId> {
    if matches!(command(text), Some((Command::Text, _)))
        || questions.iter().any(|q| is_label(q, text))
    {
        return Vec::new();
    }
    let is_choice = |said: &str| is_choice(questions, said);
    let names = text.lines().map(str::trim_end).flat_map(names_of_line);
    let mut found: Vec<ClarifyId> = Vec::new();
    for Named { before, lead, name } in names.take(MOST) {
        let answered = || lead.numbered.is_some() || is_choice(said(&lead));
        let begun = trimmed(before);
        let counts = match begun {
            "" => true,
            join if is_join(join) => !LIKE.contains(&join) || answered(),
            _ => is_choice(begun) || (before.trim_end().ends_with(SEPARATORS) && answered()),
        };
        if counts {
            let of_it = chat.waiting.iter().filter(|w| name.fits(w.id));
            found.extend(of_it.map(|w| w.id));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// What has the form of a name, in a line.
struct Named<'a> {
    before: &'a str,
    lead: Leading<'a>,
    name: Name,
}

fn names_of_line(line: &str) -> impl Iterator<Item = Named<'_>> {
    let mut before = None;
    let starts = line.char_indices().filter_map(move |(at, c)| {
        let last: Option<char> = before.replace(c);
        let apart = last.is_none_or(|last| last.is_whitespace() || parts(last) || joins(last));
        let names = c.is_alphanumeric() || HASHES.contains(&c);
        (apart && names).then_some(at)
    });
    starts.filter_map(move |at| {
        let (before, rest) = line.split_at_checked(at)?;
        let lead = Leading::of(rest)?;
        let name = lead.name()?;
        Some(Named { before, lead, name })
    })
}

fn parts(c: char) -> bool {
    SEPARATORS.contains(&c) || BULLETS.contains(&c)
}

/// Whether a character is one that joins two parts of a list without white space, as `和` does.
fn joins(c: char) -> bool {
    let mut letters = [0; 4];
    JOINS.contains(&&*c.encode_utf8(&mut letters))
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || parts(c))
}

/// Without the `and` before the next part.
fn without_join(text: &str) -> &str {
    let text = trimmed(text);
    let word = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    match text.strip_suffix(word) {
        Some(less) if is_join(word) => trimmed(less),
        _ => trimmed(text.strip_suffix(joins).unwrap_or(text)),
    }
}

/// What is said behind a name, up to the next one.
fn said<'a>(lead: &Leading<'a>) -> &'a str {
    lead.rest.split(HASHES).next().unwrap_or_default()
}

/// Whether a text answers by itself: as numbers or letters, as a label, or as a command.
fn is_choice(questions: &Questions, text: &str) -> bool {
    let text = without_join(text);
    // Longer ones are no choice, and are not compared again and again.
    if says_nothing(text) || text.chars().nth(2 * MAX_LABEL_CHARS).is_some() {
        return false;
    }
    points_only(text) || command(text).is_some() || questions.iter().any(|q| is_label(q, text))
}
