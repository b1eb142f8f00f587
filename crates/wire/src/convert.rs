//! Domain values as protobuf messages.

use crate::proto;
use askbus_domain::{
    Actor, Addressee, Adjusted, AskerInfo, Assumption, Bound, ChosenOption, Clarification, GroupId,
    IdError, LateMessage, Millis, Outcome, Parent, PersonId, Question, QuestionAnswer, Reason,
    SessionId, Surface, Timestamp, deferred_text,
};
use serde_json::{Map, Value, json};

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

impl From<&Question> for proto::Question {
    fn from(question: &Question) -> Self {
        let choice = |o: &askbus_domain::Choice| proto::Choice {
            id: o.id.to_string(),
            label: o.label.clone(),
            description: o.description.clone().unwrap_or_default(),
        };
        Self {
            id: question.id.to_string(),
            header: question.header.clone(),
            question: question.question.clone(),
            multi_select: question.multi_select,
            options: question.options.iter().map(choice).collect(),
            recommended: question
                .recommended
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
            explanation: question.explanation.clone().unwrap_or_default(),
            min_select: question.select.and_then(|s| s.min).map(u32::from),
            max_select: question.select.and_then(|s| s.max).map(u32::from),
        }
    }
}

impl From<&QuestionAnswer> for proto::QuestionAnswer {
    fn from(answer: &QuestionAnswer) -> Self {
        let chosen = |o: &ChosenOption| proto::ChosenOption {
            id: o.id.to_string(),
            label: o.label.clone(),
        };
        Self {
            question_id: answer.question_id.to_string(),
            options: answer.options.iter().map(chosen).collect(),
            text: answer.text.clone(),
            note: answer.note.clone(),
        }
    }
}

impl From<&Outcome> for proto::Outcome {
    fn from(outcome: &Outcome) -> Self {
        let assumption = |a: &Assumption| proto::Assumption {
            question_id: a.question_id.to_string(),
            option_id: a.option_id.to_string(),
            label: a.label.clone(),
        };
        let cause = outcome.cause.and_then(|c| serde_json::to_value(c).ok());
        Self {
            reason: outcome.reason.as_str().to_owned(),
            decided_by: outcome.decided_by().as_str().to_owned(),
            actor: outcome.actor.as_ref().map(Into::into),
            answers: outcome.answers.iter().map(Into::into).collect(),
            partial: outcome.partial.iter().map(Into::into).collect(),
            unanswered: outcome.unanswered.iter().map(ToString::to_string).collect(),
            assumptions: outcome.assumptions.iter().map(assumption).collect(),
            text: outcome.text.clone(),
            answer_id: outcome.answer_id.as_ref().map(ToString::to_string),
            resolved_at_ms: outcome.resolved_at.unix_millis(),
            cause: cause
                .as_ref()
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            dismissed_questions: outcome.declined.iter().map(ToString::to_string).collect(),
            late: outcome.late.iter().map(Into::into).collect(),
            mode: outcome.reason.ask_mode().unwrap_or_default().to_owned(),
            deferred_text: String::new(),
            blocked: outcome.blocked,
            timed_out: outcome.is_by_clock(),
        }
    }
}

impl From<&LateMessage> for proto::LateMessage {
    fn from(late: &LateMessage) -> Self {
        let action = serde_json::to_value(late.action).ok();
        Self {
            clarify_id: late.clarify_id.to_string(),
            answer_id: late.answer_id.to_string(),
            actor: Some((&late.actor).into()),
            asked: late.asked.clone(),
            action: action
                .as_ref()
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            answers: late.answers.iter().map(Into::into).collect(),
            text: late.text.clone(),
            stored_at_ms: late.stored_at.unix_millis(),
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

/// How `c` ended, with the texts that need its questions.
pub fn settled(c: &Clarification, outcome: &Outcome) -> proto::Outcome {
    let deferred = outcome.reason == Reason::Deferred;
    let text = deferred.then(|| deferred_text(&c.questions, c.terms.language));
    proto::Outcome {
        deferred_text: text.unwrap_or_default(),
        ..outcome.into()
    }
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
        outcome: c.outcome.as_deref().map(|o| settled(c, o)),
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

type Answers<'a> = dyn Fn(&[proto::QuestionAnswer]) -> Vec<Value> + 'a;

/// The outcome behind a message; none when it is not one this build can read.
pub fn outcome(message: &proto::Outcome) -> Option<Outcome> {
    // The JSON of the domain is the one definition; the message carries the same fields.
    let answers = |list: &[proto::QuestionAnswer]| -> Vec<Value> {
        list.iter()
            .map(|a| {
                let options: Vec<_> =
                    a.options.iter().map(|o| json!({"id": o.id, "label": o.label})).collect();
                json!({"question_id": a.question_id, "options": options, "text": a.text, "note": a.note})
            })
            .collect()
    };
    let assumptions: Vec<_> = message
        .assumptions
        .iter()
        .map(|a| json!({"question_id": a.question_id, "option_id": a.option_id, "label": a.label}))
        .collect();
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    put("reason", json!(message.reason));
    if let Some(actor) = &message.actor {
        put(
            "actor",
            json!({"person": actor.person, "surface": actor.surface}),
        );
    }
    if !message.cause.is_empty() {
        put("cause", json!(message.cause));
    }
    put("answers", answers(&message.answers).into());
    put("partial", answers(&message.partial).into());
    put("unanswered", json!(message.unanswered));
    put("declined", json!(message.dismissed_questions));
    put("assumptions", assumptions.into());
    put("blocked", json!(message.blocked));
    let deferred = message.reason == Reason::Deferred.as_str();
    put("timed_out", json!(deferred && message.timed_out));
    let late: Vec<_> = message.late.iter().map(|m| late(m, &answers)).collect();
    put("late", late.into());
    put("text", json!(message.text));
    put("answer_id", json!(message.answer_id));
    put(
        "resolved_at",
        json!(Timestamp::from_unix_millis(message.resolved_at_ms)),
    );
    serde_json::from_value(Value::Object(object)).ok()
}

fn late(message: &proto::LateMessage, answers: &Answers<'_>) -> Value {
    let actor = message.actor.as_ref();
    json!({
        "clarify_id": message.clarify_id,
        "answer_id": message.answer_id,
        "actor": actor.map(|a| json!({"person": a.person, "surface": a.surface})),
        "asked": message.asked,
        "action": message.action,
        "answers": answers(&message.answers),
        "text": message.text,
        "stored_at": Timestamp::from_unix_millis(message.stored_at_ms),
    })
}

/// The reason of an outcome message.
pub fn reason(message: &proto::Outcome) -> Option<Reason> {
    Reason::ALL
        .into_iter()
        .find(|r| r.as_str() == message.reason)
}

/// The questions of a message; none when they are not ones this build can read.
pub fn questions(list: &[proto::Question]) -> Option<askbus_domain::Questions> {
    let question = |q: &proto::Question| {
        let options: Vec<_> = q
            .options
            .iter()
            .map(|o| {
                let described = Some(&o.description).filter(|d| !d.is_empty());
                json!({"id": o.id, "label": o.label, "description": described})
            })
            .collect();
        let recommended = Some(&q.recommended).filter(|r| !r.is_empty());
        let explanation = Some(&q.explanation).filter(|e| !e.is_empty());
        let bounded = q.min_select.is_some() || q.max_select.is_some();
        let select = bounded.then(|| json!({"min": q.min_select, "max": q.max_select}));
        json!({"id": q.id, "header": q.header, "question": q.question,
            "explanation": explanation, "select": select,
            "multi_select": q.multi_select, "options": options, "recommended": recommended})
    };
    serde_json::from_value(list.iter().map(question).collect()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_survives_the_message() {
        let text = r#"{"reason":"dismissed","actor":{"person":"ann","surface":"web"},"answers":[],
            "partial":[{"question_id":"q1","options":[{"id":"o2","label":"b"}],"text":"t","note":"n"}],
            "unanswered":["q1","q2"],"assumptions":[{"question_id":"q2","option_id":"o1","label":"a"}],
            "text":"why","answer_id":"a1","resolved_at":"2027-01-15T08:00:00.007Z"}"#;
        let original: Outcome = serde_json::from_str(text).unwrap();
        assert_eq!(outcome(&proto::Outcome::from(&original)), Some(original));
        let cancelled: Outcome = serde_json::from_str(
            r#"{"reason":"cancelled","cause":"asker_gone","resolved_at":"2027-01-15T08:00:00Z"}"#,
        )
        .unwrap();
        assert_eq!(outcome(&proto::Outcome::from(&cancelled)), Some(cancelled));
        let late = r#"{"clarify_id":"0197e0a0-0000-7000-8000-000000000001","answer_id":"a0",
            "actor":{"person":"bob","surface":"terminal"},"asked":"q?","action":"ask_back",
            "answers":[{"question_id":"q1","options":[{"id":"o1","label":"a"}],"note":"n"}],
            "text":"which?","stored_at":"2027-01-15T08:00:00.003Z"}"#;
        for text in [
            format!(
                r#"{{"reason":"response","actor":{{"person":"ann","surface":"http"}},
                "answers":[{{"question_id":"q1","options":[],"text":"t"}}],"unanswered":["q2"],
                "declined":["q2"],"answer_id":"a1","resolved_at":"2027-01-15T08:00:00Z","late":[{late}]}}"#
            ),
            r#"{"reason":"deferred","unanswered":["q1"],"timed_out":true,
                "resolved_at":"2027-01-15T08:00:00Z"}"#
                .to_owned(),
            r#"{"reason":"deferred","unanswered":["q1"],"resolved_at":"2027-01-15T08:00:00Z"}"#
                .to_owned(),
            r#"{"reason":"timeout","unanswered":["q1"],"resolved_at":"2027-01-15T08:00:00Z"}"#
                .to_owned(),
            r#"{"reason":"off","unanswered":["q1"],"blocked":true,
                "resolved_at":"2027-01-15T08:00:00Z"}"#
                .to_owned(),
        ] {
            let original: Outcome = serde_json::from_str(&text).unwrap();
            let message = proto::Outcome::from(&original);
            assert_eq!(message.timed_out, original.is_by_clock(), "{text}");
            assert_eq!(message.mode, original.reason.ask_mode().unwrap_or_default());
            assert_eq!(outcome(&message), Some(original), "{text}");
        }
    }

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

    #[test]
    fn questions_survive_the_message() {
        let args = json!({"questions": [{"question": "q", "header": "h", "multi_select": true,
            "explanation": "e", "min_select": 1, "max_select": 2,
            "options": [{"label": "a", "description": "d"}, "b"], "recommended": 1},
            {"question": "r", "multi_select": true, "max_select": 1, "options": ["a", "b"]}]});
        let parsed = askbus_domain::parse_arguments(askbus_domain::Dialect::Ask, &args).unwrap();
        let messages: Vec<proto::Question> = parsed.questions.iter().map(Into::into).collect();
        assert_eq!(
            questions(&messages).as_ref(),
            Some(parsed.questions.as_ref())
        );
    }
}
