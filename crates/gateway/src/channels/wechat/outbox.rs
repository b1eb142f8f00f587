//! Replies that are to be sent, in their order, and again when they were refused: pure.

use askbus_domain::ClarifyId;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// Replies that wait at once at most; meanwhile no messages are read.
pub(super) const MOST: usize = 64;
/// Attempts after which a reply is given up, so that one that is never taken does not keep back all
/// others.
const MAX_ATTEMPTS: u32 = 12;
/// Between two attempts, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_mins(1));

/// One text of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    /// The same in every attempt.
    pub client_id: String,
    pub to: String,
    pub context: String,
    pub text: String,
    /// The clarification that the reply says was settled; with its last text.
    pub settled: Option<ClarifyId>,
}

/// What became of an attempt that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failed {
    /// It is tried again.
    Again,
    /// It is given up.
    GivenUp(Text),
}

/// What is to be sent.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    texts: VecDeque<Text>,
    /// Attempts at the first one so far.
    attempts: u32,
    /// When the next one may be made.
    not_before: Option<Instant>,
}

impl Outbox {
    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    pub(super) fn has_room(&self) -> bool {
        self.texts.len() < MOST
    }

    pub(super) fn put(&mut self, texts: impl IntoIterator<Item = Text>) {
        self.texts.extend(texts);
    }

    /// What is to be sent next.
    pub(super) fn next(&self) -> Option<&Text> {
        self.texts.front()
    }

    /// When.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.is_empty()).then(|| self.not_before.unwrap_or_else(Instant::now))
    }

    /// What is said to this person goes with this context from now on, which is the newest.
    pub(super) fn renew(&mut self, to: &str, context: &str) {
        for text in self.texts.iter_mut().filter(|text| text.to == to) {
            context.clone_into(&mut text.context);
        }
        // What failed for want of it is tried again at once, and as long.
        (self.attempts, self.not_before) = (0, None);
    }

    /// The first one was sent.
    pub(super) fn sent(&mut self) -> Option<Text> {
        (self.attempts, self.not_before) = (0, None);
        self.texts.pop_front()
    }

    /// It was refused, or nobody knows.
    pub(super) fn failed(&mut self, now: Instant) -> Failed {
        self.attempts += 1;
        if self.attempts >= MAX_ATTEMPTS
            && let Some(text) = self.sent()
        {
            return Failed::GivenUp(text);
        }
        let doubled = self.attempts.saturating_sub(1).min(16);
        let pause = PAUSE.0.saturating_mul(1 << doubled).min(PAUSE.1);
        self.not_before = Some(now + pause);
        Failed::Again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(n: u32) -> Text {
        Text {
            client_id: n.to_string(),
            to: "ann".into(),
            context: "C1".into(),
            text: "✅".into(),
            settled: None,
        }
    }

    #[test]
    fn in_order_and_again_until_it_is_given_up() {
        let (mut outbox, now) = (Outbox::default(), Instant::now());
        outbox.put([text(1), text(2)]);
        let mut waited = Duration::ZERO;
        for _ in 1..MAX_ATTEMPTS {
            assert_eq!(outbox.failed(now), Failed::Again);
            assert_eq!(outbox.next(), Some(&text(1)));
            let pause = outbox.due().unwrap() - now;
            assert!(
                pause >= waited.min(PAUSE.1) && pause <= PAUSE.1,
                "{pause:?}"
            );
            waited = pause;
        }
        outbox.renew("ann", "C2");
        let newer = |n| Text {
            context: "C2".into(),
            ..text(n)
        };
        assert_eq!(outbox.next(), Some(&newer(1)));
        assert!(outbox.due().unwrap() < now + waited, "the context is new");
        for _ in 1..MAX_ATTEMPTS {
            assert_eq!(outbox.failed(now), Failed::Again);
        }
        assert_eq!(outbox.failed(now), Failed::GivenUp(newer(1)));
        assert_eq!(outbox.next(), Some(&newer(2)));
        assert_eq!(outbox.sent(), Some(newer(2)));
        assert!(outbox.is_empty() && outbox.next().is_none() && outbox.due().is_none());
    }
}
