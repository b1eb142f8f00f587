//! Time as a value: moments, durations and the clock of one clarification (A4).

use crate::{Adjusted, Bound, ClockWish};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A moment, in milliseconds since the Unix epoch; written as RFC 3339 because people read the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A length of time in milliseconds.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Millis(pub u64);

/// The shortest timeout a caller may ask for (A4).
pub const MIN_TIMEOUT: Millis = Millis(1_000);
/// The longest timeout a caller may ask for (A4).
pub const MAX_TIMEOUT: Millis = HARD_CAP;
/// How long a question without a deadline waits at most: 14 days.
pub const HARD_CAP: Millis = Millis(14 * 24 * 3_600_000);
/// How long a turn lives at most: 28 days.
pub const TURN_CAP: Millis = Millis(28 * 24 * 3_600_000);

/// 9999-12-31T23:59:59.999Z, the last moment RFC 3339 can write.
const LAST_MOMENT: i64 = 253_402_300_799_999;

impl Timestamp {
    /// A moment from Unix milliseconds, held within what RFC 3339 can write (years 1970–9999).
    pub const fn from_unix_millis(ms: i64) -> Self {
        if ms < 0 {
            Self(0)
        } else if ms > LAST_MOMENT {
            Self(LAST_MOMENT)
        } else {
            Self(ms)
        }
    }

    /// Milliseconds since the Unix epoch.
    pub const fn unix_millis(self) -> i64 {
        self.0
    }

    /// This moment and `wait` more.
    #[must_use]
    pub fn plus(self, wait: Millis) -> Self {
        Self::from_unix_millis(self.0.saturating_add_unsigned(wait.0))
    }

    /// How long from this moment until `later`; zero when `later` is past.
    pub fn until(self, later: Timestamp) -> Millis {
        Millis(u64::try_from(later.0.saturating_sub(self.0)).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000)
            .map_err(|_| fmt::Error)?;
        f.write_str(&moment.format(&Rfc3339).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Rfc3339Text)
    }
}

/// Reads a moment without a copy of its text.
struct Rfc3339Text;

impl de::Visitor<'_> for Rfc3339Text {
    type Value = Timestamp;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
        let moment = OffsetDateTime::parse(text, &Rfc3339).map_err(E::custom)?;
        let ms = moment.unix_timestamp_nanos().div_euclid(1_000_000);
        let ms = i64::try_from(ms).map_err(E::custom)?;
        Ok(Timestamp::from_unix_millis(ms))
    }
}

/// What a surface shows of the remaining time (A4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Within the grace: the countdown runs but is not shown.
    Hidden,
    /// The countdown is shown.
    Countdown,
    /// The deadline has passed.
    Expired,
    /// Nothing counts down: held, or without a timeout.
    Waiting,
}

/// The clock of one clarification, started when the question was issued (A4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// How long the countdown stays hidden. Never lengthens nor raises the timeout.
    pub grace: Millis,
    /// The timeout that was asked for; none means never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    /// When the question settles by itself unless somebody holds it; none means never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// When it settles in any case, held or not.
    pub cap: Timestamp,
}

impl Clock {
    /// Starts the clock at `now`; the one place where wishes meet bounds. `call_limit` is how long the
    /// caller can wait when its dialect cannot resume a call (E13); `turn_cap` is when the turn ends.
    /// Says how the timeout differs from the one that somebody chose.
    pub fn start(
        now: Timestamp,
        wish: ClockWish,
        call_limit: Option<Millis>,
        turn_cap: Timestamp,
    ) -> (Self, Option<Adjusted>) {
        let (timeout, mut by) = wish.bounded();
        let turn_cap = turn_cap.min(now.plus(HARD_CAP));
        let call_cap = call_limit.map(|limit| now.plus(limit.max(MIN_TIMEOUT)));
        let cap = call_cap.map_or(turn_cap, |end| end.min(turn_cap));
        // A call that cannot be resumed is never without a deadline.
        let wanted = timeout.map(|wait| now.plus(wait));
        let deadline = match wanted {
            Some(end) => Some(end.min(cap)),
            None => call_cap.map(|_| cap),
        };
        if deadline != wanted {
            let caller = call_cap.is_some_and(|end| end <= turn_cap);
            by = Some(if caller {
                Bound::CallLimit
            } else {
                Bound::TurnEnd
            });
        }
        let granted = deadline.map(|end| now.until(end));
        let adjusted = by
            .filter(|_| wish.chosen && granted != wish.timeout)
            .map(|by| Adjusted {
                asked: wish.timeout,
                granted,
                by,
            });
        let clock = Self {
            grace: wish.grace,
            timeout,
            deadline,
            cap,
        };
        (clock, adjusted)
    }

    /// When the clarification settles by itself.
    pub fn expires_at(&self, held: bool) -> Timestamp {
        match self.deadline {
            Some(deadline) if !held => deadline,
            _ => self.cap,
        }
    }

    /// What to show at `now`, for a question issued at `issued`.
    pub fn phase(&self, issued: Timestamp, held: bool, now: Timestamp) -> Phase {
        if now >= self.expires_at(held) {
            return Phase::Expired;
        }
        match self.deadline {
            Some(_) if !held && now < issued.plus(self.grace) => Phase::Hidden,
            Some(_) if !held => Phase::Countdown,
            _ => Phase::Waiting,
        }
    }

    /// What is left at `now`; zero when held or without a deadline (A4).
    pub fn remaining(&self, held: bool, now: Timestamp) -> Millis {
        match self.deadline {
            Some(deadline) if !held => now.until(deadline),
            _ => Millis(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T0: Timestamp = Timestamp::from_unix_millis(1_800_000_000_000);

    fn start(timeout: Option<u64>, call_limit: Option<u64>) -> (Clock, Option<Adjusted>) {
        let wish = ClockWish {
            timeout: timeout.map(Millis),
            chosen: true,
            ..ClockWish::default()
        };
        Clock::start(T0, wish, call_limit.map(Millis), T0.plus(TURN_CAP))
    }

    fn clock(timeout: Option<u64>) -> Clock {
        start(timeout, None).0
    }

    // contract: A4
    #[test]
    fn grace_only_hides_the_countdown() {
        let c = clock(Some(90_000));
        assert_eq!(c.phase(T0, false, T0), Phase::Hidden);
        assert_eq!(c.phase(T0, false, T0.plus(Millis(59_999))), Phase::Hidden);
        assert_eq!(
            c.phase(T0, false, T0.plus(Millis(60_000))),
            Phase::Countdown
        );
        assert_eq!(c.remaining(false, T0.plus(Millis(60_000))), Millis(30_000));
        assert_eq!(c.phase(T0, false, T0.plus(Millis(90_000))), Phase::Expired);
        // Shorter than the grace: expires while hidden.
        let short = clock(Some(5_000));
        assert_eq!(
            short.phase(T0, false, T0.plus(Millis(4_999))),
            Phase::Hidden
        );
        assert_eq!(
            short.phase(T0, false, T0.plus(Millis(5_000))),
            Phase::Expired
        );
    }

    // contract: A4
    #[test]
    fn held_or_unlimited_waits_and_has_nothing_left_to_show() {
        let c = clock(Some(90_000));
        assert_eq!(c.phase(T0, true, T0.plus(Millis(95_000))), Phase::Waiting);
        assert_eq!(c.remaining(true, T0), Millis(0));
        assert_eq!(c.expires_at(true), T0.plus(HARD_CAP));
        let never = clock(None);
        assert_eq!(never.phase(T0, false, T0), Phase::Waiting);
        assert_eq!(never.expires_at(false), T0.plus(HARD_CAP));
    }

    // contract: A4
    #[test]
    fn timeouts_are_held_within_one_second_and_fourteen_days() {
        assert_eq!(clock(Some(1)).deadline, Some(T0.plus(Millis(1_000))));
        assert_eq!(clock(Some(u64::MAX)).deadline, Some(T0.plus(HARD_CAP)));
    }

    // contract: E13
    #[test]
    fn a_call_that_cannot_resume_ends_with_its_caller_and_a_hold_reaches_no_further() {
        let (c, adjusted) = start(Some(300_000), Some(54_000));
        assert_eq!(c.deadline, Some(T0.plus(Millis(54_000))));
        let told = |asked, by| Adjusted {
            asked,
            granted: Some(Millis(54_000)),
            by,
        };
        assert_eq!(
            adjusted,
            Some(told(Some(Millis(300_000)), Bound::CallLimit))
        );
        let (roomy, adjusted) = start(Some(300_000), Some(320_000));
        assert_eq!(roomy.expires_at(false), T0.plus(Millis(300_000)));
        assert_eq!(roomy.expires_at(true), T0.plus(Millis(320_000)));
        assert_eq!(adjusted, None);
        let (never, adjusted) = start(None, Some(54_000));
        assert_eq!(never.deadline, Some(T0.plus(Millis(54_000))));
        assert_eq!(adjusted, Some(told(None, Bound::CallLimit)));
    }

    #[test]
    fn moments_are_written_as_rfc_3339_and_read_back() {
        let text = serde_json::to_string(&T0.plus(Millis(7))).unwrap();
        assert_eq!(text, "\"2027-01-15T08:00:00.007Z\"");
        assert_eq!(
            serde_json::from_str::<Timestamp>(&text).unwrap(),
            T0.plus(Millis(7))
        );
        assert_eq!(Timestamp::from_unix_millis(-1).unix_millis(), 0);
        let edge = serde_json::to_string(&Timestamp::from_unix_millis(i64::MAX)).unwrap();
        assert_eq!(edge, "\"9999-12-31T23:59:59.999Z\"");
    }
}
