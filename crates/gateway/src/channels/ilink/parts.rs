//! An answer with messages, however long it is: each message is read as it comes, and what is left of the
//! answer without them is short.

use super::{Failed, Received, Response, received};
use askbus_wire::surrogates;
use bytes::Bytes;
use serde_json::Value;

/// What is kept at most, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Of one message; what is larger is left out.
    pub message: usize,
    /// Of what the messages say that are kept; what comes after so much is left out.
    pub messages: usize,
    /// Of the answer without its messages.
    pub rest: usize,
    /// Of the whole answer.
    pub all: usize,
}

/// More than people write in a chat, and as much as is read of any other answer.
const LIMITS: Limits = Limits {
    message: 1024 * 1024,
    messages: 8 * 1024 * 1024,
    rest: 256 * 1024,
    all: 512 * 1024 * 1024,
};

/// What an answer says.
#[derive(Debug)]
pub(super) struct Parts {
    pub response: Response,
    pub messages: Vec<Received>,
    /// Messages that were left out.
    pub left_out: usize,
}

/// Where in the answer it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In no list of messages.
    Rest,
    /// In the list of messages.
    Messages,
}

/// Reads an answer part by part.
#[derive(Debug)]
pub(super) struct Reading {
    limits: Limits,
    place: Place,
    /// How many objects and lists are open.
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// The last text that stands in the outermost object.
    name: Vec<u8>,
    rest: Vec<u8>,
    message: Vec<u8>,
    /// Of the message that comes now, kept or not.
    message_bytes: usize,
    /// Messages of the list so far.
    count: usize,
    messages: Vec<Received>,
    kept: usize,
    left_out: usize,
    read: usize,
    broken: bool,
}

impl Default for Reading {
    fn default() -> Self {
        Self::with(LIMITS)
    }
}

impl Reading {
    pub(super) fn with(limits: Limits) -> Self {
        Self {
            limits,
            place: Place::Rest,
            depth: 0,
            in_text: false,
            escaped: false,
            name: Vec::new(),
            rest: Vec::new(),
            message: Vec::new(),
            message_bytes: 0,
            count: 0,
            messages: Vec::new(),
            kept: 0,
            left_out: 0,
            read: 0,
            broken: false,
        }
    }

    /// Reads on; false when it need not be read any further.
    pub(super) fn push(&mut self, bytes: &Bytes) -> bool {
        self.read = self.read.saturating_add(bytes.len());
        for byte in bytes {
            self.byte(*byte);
        }
        !self.is_too_large() && !self.broken
    }

    fn is_too_large(&self) -> bool {
        self.read > self.limits.all || self.rest.len() > self.limits.rest
    }

    /// What it says, now that all of it was read.
    pub(super) fn done(self) -> Result<Parts, Failed> {
        if self.is_too_large() {
            return Err(Failed::TooLarge);
        }
        if self.broken || self.place == Place::Messages {
            return Err(Failed::Unreadable);
        }
        Ok(Parts {
            response: super::read(&self.rest)?,
            messages: self.messages,
            left_out: self.left_out,
        })
    }

    fn byte(&mut self, byte: u8) {
        if self.in_text {
            self.in_text = self.escaped || byte != b'"';
            self.escaped = !self.escaped && byte == b'\\';
            if self.in_text && self.depth == 1 && self.name.len() < self.limits.rest {
                self.name.push(byte);
            }
            return self.keep(byte);
        }
        match byte {
            b'"' => {
                self.in_text = true;
                if self.depth == 1 {
                    self.name.clear();
                }
                self.keep(byte);
            }
            b'[' | b'{' => {
                self.keep(byte);
                self.depth += 1;
                if byte == b'[' && self.depth == 2 && self.name == b"msgs" {
                    (self.place, self.count) = (Place::Messages, 0);
                }
            }
            b']' | b'}' => {
                if self.place == Place::Messages && self.depth == 2 {
                    self.end_of_message(true);
                    self.place = Place::Rest;
                }
                self.depth = self.depth.saturating_sub(1);
                self.keep(byte);
            }
            b',' if self.place == Place::Messages && self.depth == 2 => self.end_of_message(false),
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        match self.place {
            Place::Rest if self.rest.len() <= self.limits.rest => self.rest.push(byte),
            Place::Rest => {}
            Place::Messages => {
                self.message_bytes += 1;
                if self.message_bytes <= self.limits.message {
                    self.message.push(byte);
                }
            }
        }
    }

    /// A message is whole. An empty list holds none.
    fn end_of_message(&mut self, last: bool) {
        let too_large = std::mem::take(&mut self.message_bytes) > self.limits.message;
        let message = std::mem::take(&mut self.message);
        let empty = !too_large && message.iter().all(u8::is_ascii_whitespace);
        if empty && last && self.count == 0 {
            return;
        }
        self.count += 1;
        if too_large {
            self.left_out += 1;
            return;
        }
        let Ok(message) = surrogates::from_slice::<Value>(&message) else {
            self.broken = true;
            return;
        };
        let Some(message) = received(message) else {
            return;
        };
        let quotes = message.quotes.as_ref().map_or(0, String::len);
        let size = message.text.len() + quotes + message.from.len() + message.id.len();
        if self.kept.saturating_add(size) > self.limits.messages {
            self.left_out += 1;
            return;
        }
        self.kept += size;
        self.messages.push(message);
    }
}

#[cfg(test)]
mod tests;
