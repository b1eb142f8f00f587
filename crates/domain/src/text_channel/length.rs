//! What fits a channel, as data: channels count in characters or in bytes, and some have buttons.

use super::showing::MARK;
use serde::{Deserialize, Serialize};

/// What a channel counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Unicode scalar values.
    Characters,
    /// Bytes of UTF-8.
    Bytes,
}

/// How long a text may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Length {
    /// At most so many.
    pub most: usize,
    /// Of these.
    pub unit: Unit,
}

/// What fits the buttons under a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buttons {
    /// How many there may be.
    pub most: usize,
    /// How long the text on one may be.
    pub text: Length,
}

/// What fits a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelLimits {
    /// How long one message may be.
    pub message: Length,
    /// How many messages one question should take; beyond that it is put shorter, and says so.
    pub messages: usize,
    /// Its buttons, if it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buttons: Option<Buttons>,
}

/// Stands where a text was cut.
pub(super) const CUT: char = '…';

impl Length {
    /// How long `text` is.
    pub fn of(self, text: &str) -> usize {
        match self.unit {
            Unit::Characters => text.chars().count(),
            Unit::Bytes => text.len(),
        }
    }

    /// Whether `text` fits.
    pub fn holds(self, text: &str) -> bool {
        self.of(text) <= self.most
    }

    /// Where the longest beginning of `text` ends that fits; never 0, so that something always goes.
    fn end(self, text: &str) -> usize {
        let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
        let fitting = match self.unit {
            Unit::Characters => ends.take(self.most).last(),
            Unit::Bytes => ends.take_while(|end| *end <= self.most).last(),
        };
        let first = text.chars().next().map_or(0, char::len_utf8);
        fitting.unwrap_or(first)
    }

    /// `text` if it fits, else its beginning with a mark that it was cut.
    pub(super) fn cut(self, text: &str) -> String {
        if self.holds(text) {
            return text.to_owned();
        }
        let mark = self.of(CUT.encode_utf8(&mut [0; 4]));
        let less = Length {
            most: self.most.saturating_sub(mark),
            ..self
        };
        let (start, _) = text.split_at(less.end(text));
        format!("{}{CUT}", start.trim_end())
    }
}

/// The lines as messages that fit, in order and with nothing left out. A line that is longer than a
/// message is broken between words where it can be; what follows is marked, so that no text can begin
/// a message like a line of ours.
pub fn split(lines: &[String], length: Length) -> Vec<String> {
    let mut messages = Vec::new();
    let mut message = String::new();
    for line in lines.iter().flat_map(|line| broken(line, length)) {
        if message.trim().is_empty() {
            message = line;
            continue;
        }
        let longer = format!("{message}\n{line}");
        if length.holds(&longer) {
            message = longer;
        } else {
            messages.push(std::mem::replace(&mut message, line));
        }
    }
    if !message.trim().is_empty() {
        messages.push(message);
    }
    messages
}

/// One line as pieces that each fit.
fn broken(line: &str, length: Length) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut rest = line;
    loop {
        // Where not even that fits, the text alone has to.
        let mark = if pieces.is_empty() || length.of(MARK) * 2 > length.most {
            ""
        } else {
            MARK
        };
        let room = Length {
            most: length.most - length.of(mark),
            ..length
        };
        if room.holds(rest) {
            pieces.push(format!("{mark}{rest}"));
            return pieces;
        }
        let end = room.end(rest);
        let (fitting, _) = rest.split_at(end);
        // Not so early that a long word makes many short messages.
        let space = fitting
            .rfind(char::is_whitespace)
            .filter(|at| *at > end / 2);
        let (piece, after) = rest.split_at(space.unwrap_or(end));
        if !piece.trim().is_empty() {
            pieces.push(format!("{mark}{}", piece.trim_end()));
        }
        let after = if space.is_some() {
            after.trim_start()
        } else {
            after
        };
        rest = after;
    }
}
