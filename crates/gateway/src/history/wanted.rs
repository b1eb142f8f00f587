//! What of the history somebody wants to see.

use crate::projection::{Card, Past};
use askbus_domain::{PersonId, QuestionAnswer, Reason, SessionId, Timestamp};
use serde::Deserialize as _;
use serde::de::IntoDeserializer as _;
use serde::de::value::Error as ReadError;

/// The filters as they came.
#[derive(Debug, Default)]
pub(super) struct Filters<'a> {
    pub session: Option<&'a str>,
    /// One or more, with commas in between.
    pub reason: Option<&'a str>,
    /// A moment: RFC 3339, or Unix milliseconds.
    pub since: Option<&'a str>,
    pub until: Option<&'a str>,
    pub asker: Option<&'a str>,
    pub person: Option<&'a str>,
    pub text: Option<&'a str>,
}

/// What a question has to be like; everything that is not said fits.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    session: Option<SessionId>,
    /// None is every reason.
    reasons: Vec<Reason>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    /// A part of what the asker said of itself, in lower case.
    asker: Option<String>,
    /// Who decided it, or wrote too late.
    person: Option<PersonId>,
    /// A part of anything that stands in it, in lower case.
    text: Option<String>,
}

impl Wanted {
    /// What the filters say, or what is wrong with them.
    pub(super) fn read(filters: &Filters<'_>) -> Result<Self, String> {
        let reasons = filters.reason.into_iter().flat_map(|list| list.split(','));
        let moment = |name, text: Option<&str>| text.map(|t| moment(name, t)).transpose();
        Ok(Self {
            session: filters
                .session
                .map(|text| SessionId::new(text).map_err(|e| e.to_string()))
                .transpose()?,
            reasons: reasons.map(reason).collect::<Result<_, _>>()?,
            since: moment("since", filters.since)?,
            until: moment("until", filters.until)?,
            asker: filters.asker.map(str::to_lowercase),
            person: filters
                .person
                .map(|text| PersonId::new(text).map_err(|e| e.to_string()))
                .transpose()?,
            text: filters.text.map(str::to_lowercase),
        })
    }

    /// Whether it is worth reading from the log.
    pub(super) fn may_fit(&self, past: &Past) -> bool {
        match past {
            Past::Kept(..) => true,
            Past::Shelved(shelved, _) => self.ended_so(shelved.reason, shelved.resolved_at),
        }
    }

    fn ended_so(&self, reason: Reason, at: Timestamp) -> bool {
        (self.reasons.is_empty() || self.reasons.contains(&reason))
            && self.since.is_none_or(|since| since <= at)
            && self.until.is_none_or(|until| at < until)
    }

    /// Whether it is wanted.
    pub(super) fn fits(&self, card: &Card) -> bool {
        let Some(outcome) = &card.clarification.outcome else {
            return false;
        };
        let by = |person: &PersonId| {
            let late = card.late.iter().map(|late| &late.response.actor.person);
            let decided = outcome.actor.as_ref().map(|actor| &actor.person);
            decided.into_iter().chain(late).any(|p| p == person)
        };
        self.ended_so(outcome.reason, outcome.resolved_at)
            && self.session.as_ref().is_none_or(|s| card.session == *s)
            && self.person.as_ref().is_none_or(by)
            && self
                .asker
                .as_ref()
                .is_none_or(|part| asker_says(card, part))
            && self.text.as_ref().is_none_or(|part| says(card, part))
    }
}

fn reason(word: &str) -> Result<Reason, String> {
    let known = Reason::ALL.into_iter().find(|r| r.as_str() == word.trim());
    known.ok_or_else(|| {
        let all = Reason::ALL.map(Reason::as_str).join(", ");
        format!("reason must be one or more of {all}")
    })
}

fn moment(name: &str, text: &str) -> Result<Timestamp, String> {
    if let Ok(ms) = text.parse() {
        return Ok(Timestamp::from_unix_millis(ms));
    }
    let read: Result<Timestamp, ReadError> = Timestamp::deserialize(text.into_deserializer());
    read.map_err(|_| {
        format!("{name} must be a moment such as 2027-01-15T08:00:00Z, or Unix milliseconds")
    })
}

fn asker_says(card: &Card, part: &str) -> bool {
    let asker = &card.clarification.asker;
    let told = [&asker.client, &asker.host, &asker.cwd, &asker.branch];
    told.into_iter().any(|text| contains(text, part))
}

fn contains(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(part)
}

/// Whether the part stands in what was asked, answered, or written too late.
fn says(card: &Card, part: &str) -> bool {
    let has = |text: &String| contains(text, part);
    let c = &card.clarification;
    let asked = c.questions.iter().any(|question| {
        let options = &question.options;
        has(&question.question)
            || has(&question.header)
            || question.explanation.as_ref().is_some_and(has)
            || options
                .iter()
                .any(|option| has(&option.label) || option.description.as_ref().is_some_and(has))
    });
    let answered = |list: &[QuestionAnswer]| {
        list.iter().any(|answer| {
            let written = answer.text.iter().chain(&answer.note);
            written.into_iter().any(has) || answer.options.iter().any(|o| has(&o.label))
        })
    };
    let ended = c.outcome.iter().any(|outcome| {
        answered(&outcome.answers) || answered(&outcome.partial) || outcome.text.iter().any(has)
    });
    let late = || {
        let mut late = card.late.iter();
        late.any(|late| answered(&late.answers) || late.response.text.iter().any(has))
    };
    asked || ended || late()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_cannot_be_read_is_named() {
        let filters = |name: &str, text: &'static str| {
            let said = |own: &str| (own == name).then_some(text);
            Filters {
                session: said("session"),
                reason: said("reason"),
                since: said("since"),
                until: said("until"),
                person: said("person"),
                ..Filters::default()
            }
        };
        for (name, text) in [
            ("reason", "timeout,never"),
            ("since", "yesterday"),
            ("until", "2027-13-01T00:00:00Z"),
            ("session", "a\u{1}b"),
            ("person", "a\u{1}b"),
        ] {
            let problem = Wanted::read(&filters(name, text)).unwrap_err();
            assert!(problem.contains(name), "{problem}");
        }
        let read = Wanted::read(&filters("reason", "off, timeout")).unwrap();
        assert_eq!(read.reasons, [Reason::Off, Reason::Timeout]);
        for (text, ms) in [
            ("1800000000000", 1_800_000_000_000),
            ("1970-01-01T00:00:01Z", 1_000),
        ] {
            let read = Wanted::read(&filters("since", text)).unwrap();
            assert_eq!(read.since, Some(Timestamp::from_unix_millis(ms)));
        }
    }
}
