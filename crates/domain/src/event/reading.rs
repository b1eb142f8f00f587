//! Reading events without keeping anything aside: the tag of an event stands first in whatever this
//! project writes, so that its fields can go straight to where they belong. An event whose fields come
//! in another order is read the long way round, to the same end.

use super::{Event, EventKind};
use crate::{
    Addressee, Adjusted, AskId, AskerId, AskerInfo, ClarifyId, Clock, ContextId, Dialect, Figures,
    Millis, Outcome, Parent, PlanEnd, Questions, Terms, Timestamp, Turn, TurnEnd,
};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// The field that names the event.
const TAG: &str = "event";
/// The field that stands after it in events of a clarification.
const CLARIFY_ID: &str = "clarify_id";

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The derived way of writing.
        Event::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Event;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Event, A::Error> {
        match map.next_key::<Text>()? {
            Some(Text(key)) if key.is(TAG) => {}
            key => return in_any_order(key.map(|Text(key)| (key.into(), None)), map),
        }
        let Text(tag) = map.next_value()?;
        match tag.kind() {
            Some(EventKind::Requested) => requested(map),
            Some(EventKind::Resolved) => resolved(map),
            Some(EventKind::Begun) => {
                let turn = Turn::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Event::Begun { turn })
            }
            Some(EventKind::Ended) => ended(map),
            _ => in_any_order([(TAG.to_owned(), Some(tag.into()))], map),
        }
    }
}

fn requested<'de, A: MapAccess<'de>>(map: A) -> Result<Event, A::Error> {
    #[derive(Deserialize)]
    struct Requested {
        clarify_id: ClarifyId,
        ask_id: AskId,
        context_id: ContextId,
        asker_id: AskerId,
        asker_ttl: Millis,
        #[serde(default)]
        asker: AskerInfo,
        dialect: Dialect,
        questions: Arc<Questions>,
        clock: Clock,
        requested_at: Timestamp,
        to: Option<Addressee>,
        parent: Option<Parent>,
        #[serde(default, rename = "policy")]
        terms: Terms,
        adjusted: Option<Adjusted>,
        client_turn: Option<String>,
        #[serde(default)]
        counted_anew: bool,
        #[serde(default)]
        nobody_present: bool,
    }
    let read = Requested::deserialize(MapAccessDeserializer::new(map))?;
    Ok(Event::Requested {
        clarify_id: read.clarify_id,
        ask_id: read.ask_id,
        context_id: read.context_id,
        asker_id: read.asker_id,
        asker_ttl: read.asker_ttl,
        asker: read.asker,
        dialect: read.dialect,
        questions: read.questions,
        clock: read.clock,
        requested_at: read.requested_at,
        to: read.to,
        parent: read.parent,
        terms: read.terms,
        adjusted: read.adjusted,
        client_turn: read.client_turn,
        counted_anew: read.counted_anew,
        nobody_present: read.nobody_present,
    })
}

fn resolved<'de, A: MapAccess<'de>>(mut map: A) -> Result<Event, A::Error> {
    let key = match map.next_key::<Text>()? {
        Some(Text(key)) if key.is(CLARIFY_ID) => {
            let clarify_id = map.next_value()?;
            let outcome = Outcome::deserialize(MapAccessDeserializer::new(map))?;
            let outcome = Arc::new(outcome);
            return Ok(Event::Resolved {
                clarify_id,
                outcome,
            });
        }
        key => key.map(|Text(key)| (key.into(), None)),
    };
    let tag = EventKind::Resolved.as_str().to_owned();
    let ahead = [(TAG.to_owned(), Some(tag))].into_iter().chain(key);
    in_any_order(ahead, map)
}

fn ended<'de, A: MapAccess<'de>>(map: A) -> Result<Event, A::Error> {
    #[derive(Deserialize)]
    struct Ended {
        context_id: ContextId,
        end: TurnEnd,
        account: Option<Figures>,
        plan: Option<PlanEnd>,
    }
    let read = Ended::deserialize(MapAccessDeserializer::new(map))?;
    Ok(Event::Ended {
        context_id: read.context_id,
        end: read.end,
        account: read.account,
        plan: read.plan,
    })
}

/// The derived way of reading, which keeps all fields until it has seen the tag. `ahead` are the keys
/// that were taken already, with their values unless those come next.
fn in_any_order<'de, A: MapAccess<'de>>(
    ahead: impl IntoIterator<Item = (String, Option<String>)>,
    map: A,
) -> Result<Event, A::Error> {
    let ahead = ahead.into_iter().collect();
    let whole = Whole {
        ahead,
        value: None,
        map,
    };
    Event::deserialize(MapAccessDeserializer::new(whole))
}

/// All fields of a map, those that were taken already put back in front.
struct Whole<A> {
    ahead: VecDeque<(String, Option<String>)>,
    value: Option<String>,
    map: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Whole<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let Some((key, value)) = self.ahead.pop_front() else {
            return self.map.next_key_seed(seed);
        };
        self.value = value;
        seed.deserialize(key.into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match self.value.take() {
            Some(value) => seed.deserialize(value.into_deserializer()),
            None => self.map.next_value_seed(seed),
        }
    }
}

/// A short text, not copied where its source lasts.
struct Text<'de>(Short<'de>);

enum Short<'de> {
    Lasting(&'de str),
    Copied(String),
}

impl Short<'_> {
    fn as_str(&self) -> &str {
        match self {
            Short::Lasting(text) => text,
            Short::Copied(text) => text,
        }
    }

    fn is(&self, text: &str) -> bool {
        self.as_str() == text
    }

    fn kind(&self) -> Option<EventKind> {
        const STRAIGHT: [EventKind; 4] = [
            EventKind::Requested,
            EventKind::Resolved,
            EventKind::Begun,
            EventKind::Ended,
        ];
        STRAIGHT.into_iter().find(|kind| self.is(kind.as_str()))
    }
}

impl From<Short<'_>> for String {
    fn from(text: Short<'_>) -> Self {
        match text {
            Short::Lasting(text) => text.to_owned(),
            Short::Copied(text) => text,
        }
    }
}

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Taking;
        impl<'de> Visitor<'de> for Taking {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Short::Lasting(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Short::Copied(text.to_owned())))
            }

            fn visit_string<E: Error>(self, text: String) -> Result<Text<'de>, E> {
                Ok(Text(Short::Copied(text)))
            }
        }
        deserializer.deserialize_str(Taking)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Commit, Event};
    use serde_json::Value;

    const SCHEMA_2: &str = include_str!("../../tests/corpus/schema-2.jsonl");

    /// The fields of an object as JSON text, in this order.
    fn object(fields: &[(String, Value)]) -> String {
        let name = |name: &String| serde_json::to_string(name).unwrap();
        let fields: Vec<String> = fields
            .iter()
            .map(|(key, value)| format!("{}:{value}", name(key)))
            .collect();
        format!("{{{}}}", fields.join(","))
    }

    fn fields(event: &Event) -> Vec<(String, Value)> {
        let Value::Object(fields) = serde_json::to_value(event).unwrap() else {
            panic!("{event:?}")
        };
        fields.into_iter().collect()
    }

    #[test]
    fn the_order_of_the_fields_means_nothing() {
        let mut kinds = std::collections::BTreeSet::new();
        for line in SCHEMA_2.lines() {
            let commit: Commit = serde_json::from_str(line).unwrap();
            for event in commit.events {
                kinds.insert(event.kind());
                let written = serde_json::to_string(&event).unwrap();
                let mut fields = fields(&event);
                let tag = fields.iter().position(|(key, _)| key == "event").unwrap();
                let mut orders = vec![written, object(&fields)];
                for place in 0..fields.len() {
                    fields.rotate_left(1);
                    orders.push(object(&fields));
                    // The tag first, and anything after it.
                    let mut straight = fields.clone();
                    let tag = (straight.len() + tag - 1 - place) % straight.len();
                    let tag = straight.remove(tag);
                    assert_eq!(tag.0, "event");
                    straight.insert(0, tag);
                    orders.push(object(&straight));
                }
                for text in orders {
                    let read: Event = serde_json::from_str(&text).unwrap();
                    assert_eq!(read, event, "{text}");
                    // From text that does not last, and from a tree.
                    let read: Event = serde_json::from_reader(text.as_bytes()).unwrap();
                    assert_eq!(read, event, "{text}");
                    let value: Value = serde_json::from_str(&text).unwrap();
                    assert_eq!(serde_json::from_value::<Event>(value).unwrap(), event);
                }
            }
        }
        assert!(kinds.len() >= 8, "{kinds:?}");
    }

    #[test]
    fn what_is_missing_or_strange_is_told_in_the_same_words_whatever_the_order() {
        let id = r#""clarify_id":"0197e0a0-0000-7000-8000-000000000001""#;
        for (fields, problem) in [
            (r#""event":"teleported""#, "unknown variant `teleported`"),
            (r#""a":1"#, "missing field `event`"),
            (r#""event":"requested""#, "missing field `clarify_id`"),
            (r#""event":"resolved""#, "missing field `clarify_id`"),
            (r#""event":"ended""#, "missing field `context_id`"),
            (r#""event":"begun""#, "missing field `context_id`"),
            (r#""event":"held""#, "missing field `clarify_id`"),
            (
                &format!(r#""event":"resolved",{id}"#),
                "missing field `reason`",
            ),
            (
                &format!(r#"{id},"event":"resolved""#),
                "missing field `reason`",
            ),
        ] {
            let read = serde_json::from_str::<Event>(&format!("{{{fields}}}"));
            let error = read.unwrap_err().to_string();
            assert!(error.starts_with(problem), "{fields}: {error}");
        }
        assert!(serde_json::from_str::<Event>("[]").is_err());
        assert!(serde_json::from_str::<Event>("{}").is_err());
    }
}
