//! Replies that are to be sent, each in its order, and again when they were refused: pure. One that is
//! refused keeps no other one from being sent.

use super::super::given_up::GivenUp;
use super::super::options::Retries;
use askbus_domain::{ClarifyId, Timestamp};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// Texts that wait at once at most; meanwhile no messages are read.
pub(super) const MOST: usize = 64;
/// The longest pause after an attempt that failed until anything else is tried.
const MOST_BETWEEN: Duration = Duration::from_secs(5);

/// One text of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    /// The same in every attempt.
    pub client_id: String,
    pub to: String,
    pub context: String,
    pub text: String,
    /// Which clarification it is about.
    pub about: Option<ClarifyId>,
    /// Since when it is to be sent.
    pub since: Timestamp,
    /// The clarification that the reply says was settled; with its last text.
    pub settled: Option<ClarifyId>,
}

impl Text {
    /// One that was given up, to be sent with a newer context.
    pub(super) fn again(one: &GivenUp, to: &str, context: &str) -> Self {
        Self {
            client_id: one.id.clone(),
            to: to.to_owned(),
            context: context.to_owned(),
            text: one.text.clone(),
            about: one.about,
            since: one.since,
            settled: None,
        }
    }
}

/// What became of an attempt that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failed {
    /// It is tried again.
    Again,
    /// It is given up, after so many attempts.
    GivenUp(Text, u32),
}

/// The texts of one reply.
#[derive(Debug)]
struct Reply {
    texts: VecDeque<Text>,
    /// Attempts at the first of them so far.
    attempts: u32,
    /// When the next one may be made.
    not_before: Option<Instant>,
}

/// What is to be sent.
#[derive(Debug)]
pub(super) struct Outbox {
    retries: Retries,
    /// None of them is empty.
    replies: VecDeque<Reply>,
    /// Attempts that failed one after the other, whatever was to be sent.
    failed: u32,
    /// When anything may be tried again.
    not_before: Option<Instant>,
}

impl Outbox {
    pub(super) fn new(retries: Retries) -> Self {
        Self {
            retries,
            replies: VecDeque::new(),
            failed: 0,
            not_before: None,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.replies.iter().map(|reply| reply.texts.len()).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.replies.is_empty()
    }

    pub(super) fn has_room(&self) -> bool {
        self.len() < MOST
    }

    pub(super) fn holds(&self, client_id: &str) -> bool {
        let mut texts = self.replies.iter().flat_map(|reply| &reply.texts);
        texts.any(|text| text.client_id == client_id)
    }

    /// The texts of a reply.
    pub(super) fn put(&mut self, texts: impl IntoIterator<Item = Text>) {
        let texts: VecDeque<Text> = texts.into_iter().collect();
        if !texts.is_empty() {
            self.replies.push_back(Reply {
                texts,
                attempts: 0,
                not_before: None,
            });
        }
    }

    /// What is to be sent next: of those whose time has come the oldest.
    pub(super) fn next(&self, now: Instant) -> Option<&Text> {
        let comes = |reply: &&Reply| reply.not_before.is_none_or(|at| at <= now);
        self.replies.iter().find(comes)?.texts.front()
    }

    /// When.
    pub(super) fn due(&self) -> Option<Instant> {
        let earliest = self.replies.iter().map(|reply| reply.not_before).min()?;
        let due = earliest.max(self.not_before);
        Some(due.unwrap_or_else(Instant::now))
    }

    /// What is said to this person goes with this context from now on, which is the newest.
    pub(super) fn renew(&mut self, to: &str, context: &str) {
        for reply in &mut self.replies {
            let of_them = reply.texts.iter_mut().filter(|text| text.to == to);
            let renewed = of_them.map(|text| context.clone_into(&mut text.context));
            if renewed.count() > 0 {
                // What failed for want of it is tried again at once, and as long.
                (reply.attempts, reply.not_before) = (0, None);
            }
        }
        (self.failed, self.not_before) = (0, None);
    }

    /// This one was sent.
    pub(super) fn sent(&mut self, client_id: &str) -> Option<Text> {
        (self.failed, self.not_before) = (0, None);
        self.take(client_id)
    }

    /// This one was refused, or nobody knows.
    pub(super) fn failed(&mut self, client_id: &str, now: Instant) -> Failed {
        self.failed = self.failed.saturating_add(1);
        // Sooner than this one comes again: others are not to wait for it.
        let between = (self.retries.pause(self.failed) / 2).min(MOST_BETWEEN);
        self.not_before = Some(now + between);
        let Some(reply) = self.reply(client_id) else {
            return Failed::Again;
        };
        reply.attempts = reply.attempts.saturating_add(1);
        let attempts = reply.attempts;
        if attempts >= self.retries.attempts
            && let Some(text) = self.take(client_id)
        {
            return Failed::GivenUp(text, attempts);
        }
        let pause = self.retries.pause(attempts);
        if let Some(reply) = self.reply(client_id) {
            reply.not_before = Some(now + pause);
        }
        Failed::Again
    }

    /// The reply that begins with this text.
    fn reply(&mut self, client_id: &str) -> Option<&mut Reply> {
        let begins = |reply: &Reply| {
            reply
                .texts
                .front()
                .is_some_and(|t| t.client_id == client_id)
        };
        self.replies.iter_mut().find(|reply| begins(reply))
    }

    fn take(&mut self, client_id: &str) -> Option<Text> {
        let reply = self.reply(client_id)?;
        (reply.attempts, reply.not_before) = (0, None);
        let text = reply.texts.pop_front();
        self.replies.retain(|reply| !reply.texts.is_empty());
        text
    }
}

#[cfg(test)]
mod tests;
