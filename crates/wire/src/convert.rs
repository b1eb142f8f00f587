//! Domain values as protobuf messages.

mod outcome;
mod question;

pub use outcome::{late_message, outcome};
pub use question::questions;

use crate::proto;
use askbus_domain::{
    Actor, Addressee, Adjusted, AskerInfo, Bound, Clarification, GroupId, IdError, Millis, Parent,
    PersonId, SessionId, Surface, Timestamp,
};

/// The word of a surface.
pub fn surface_word(surface: &Surface) -> &str {
    surface.as_str()
}

impl From<&Actor> for proto::Actor {
    fn from(actor: &Actor) -> Self {
        Self {
            person: actor.person.to_string(),
            surface: surface_word(&actor.surface).to_owned(),
        }
    }
}

impl From<&Addressee> for proto::Addressee {
    fn from(addressee: &Addressee) -> Self {
        let to = match addressee {
            Addressee::Person(name) => proto::addressee::To::Person(name.to_string()),
            Addressee::Group(name) => proto::addressee::To::Group(name.to_string()),
        };
        Self { to: Some(to) }
    }
}

/// Whom a message means; none is everybody.
///
/// # Errors
/// What is wrong with the name.
pub fn addressee(message: Option<proto::Addressee>) -> Result<Option<Addressee>, IdError> {
    let Some(to) = message.and_then(|m| m.to) else {
        return Ok(None);
    };
    match to {
        proto::addressee::To::Person(name) => PersonId::new(name).map(Addressee::Person),
        proto::addressee::To::Group(name) => GroupId::new(name).map(Addressee::Group),
    }
    .map(Some)
}

impl From<&Parent> for proto::Parent {
    fn from(parent: &Parent) -> Self {
        Self {
            session_id: parent.session_id.to_string(),
            name: parent.name.clone(),
        }
    }
}

/// The parent a message names; none when it names no session.
///
/// # Errors
/// What is wrong with the session's id.
pub fn parent(message: Option<proto::Parent>) -> Result<Option<Parent>, IdError> {
    message
        .filter(|m| !m.session_id.is_empty())
        .map(|m| Ok(Parent::new(SessionId::new(m.session_id)?, &m.name)))
        .transpose()
}

impl From<&Adjusted> for proto::TimeoutAdjusted {
    fn from(adjusted: &Adjusted) -> Self {
        Self {
            asked_ms: adjusted.asked.map(|m| m.0),
            granted_ms: adjusted.granted.map(|m| m.0),
            by: adjusted.by.as_str().to_owned(),
        }
    }
}

/// The adjustment of a message; none when this build does not know the bound.
pub fn adjusted(message: &proto::TimeoutAdjusted) -> Option<Adjusted> {
    Some(Adjusted {
        asked: message.asked_ms.map(Millis),
        granted: message.granted_ms.map(Millis),
        by: Bound::parse(&message.by)?,
    })
}

/// A clarification of `session_id` as a message.
pub fn clarification(session_id: &str, c: &Clarification) -> proto::Clarification {
    proto::Clarification {
        clarify_id: c.id.to_string(),
        session_id: session_id.to_owned(),
        context_id: c.context_id.to_string(),
        dialect: c.dialect.as_str().to_owned(),
        questions: c.questions.iter().map(Into::into).collect(),
        requested_at_ms: c.requested_at.unix_millis(),
        deadline_ms: c
            .clock
            .deadline
            .filter(|_| c.held_by.is_none())
            .map(Timestamp::unix_millis),
        cap_ms: c.clock.cap.unix_millis(),
        held_by: c.held_by.as_ref().map(Into::into),
        status: if c.is_pending() { "pending" } else { "settled" }.to_owned(),
        outcome: c.outcome.as_deref().map(|o| outcome::settled(c, o)),
        to: c.to.as_ref().map(Into::into),
        parent: c.parent.as_ref().map(Into::into),
        on_timeout: c.terms.on_timeout.as_str().to_owned(),
        when_absent: c.terms.when_absent.as_str().to_owned(),
        adjusted: c.adjusted.as_ref().map(Into::into),
        grace_ms: c.clock.grace.0,
        timeout_ms: c.clock.timeout.map(|t| t.0),
        // The turn's, where the caller has it.
        asked: 0,
        auto: 0,
        run_id: String::new(),
        asker_id: c.asker_id.to_string(),
    }
}

impl From<proto::AskerInfo> for AskerInfo {
    fn from(info: proto::AskerInfo) -> Self {
        // For display only: cut, never refused.
        let cut = |text: String| text.chars().take(300).collect();
        Self {
            client: cut(info.client),
            host: cut(info.host),
            cwd: cut(info.cwd),
            branch: cut(info.branch),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whom_under_what_and_how_long_survive_the_message() {
        for to in ["person:ann", "group:ops"] {
            let to = Addressee::parse(to).unwrap();
            assert_eq!(addressee(Some((&to).into())), Ok(Some(to)));
        }
        assert_eq!(addressee(None), Ok(None));
        assert_eq!(addressee(Some(proto::Addressee { to: None })), Ok(None));
        let blank = proto::addressee::To::Group(" ".into());
        assert!(addressee(Some(proto::Addressee { to: Some(blank) })).is_err());
        let above = Parent::new(SessionId::new("main").unwrap(), "scout");
        assert_eq!(parent(Some((&above).into())), Ok(Some(above)));
        assert_eq!(parent(Some(proto::Parent::default())), Ok(None));
        assert_eq!(parent(None), Ok(None));
        for by in Bound::ALL {
            let told = Adjusted {
                asked: None,
                granted: Some(Millis(7)),
                by: *by,
            };
            assert_eq!(adjusted(&(&told).into()), Some(told));
        }
        let unknown = proto::TimeoutAdjusted {
            by: "weather".into(),
            ..Default::default()
        };
        assert_eq!(adjusted(&unknown), None);
    }
}
