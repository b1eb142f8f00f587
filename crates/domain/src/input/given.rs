//! The fields of a call, a question or an option, under whatever names they were sent.

use super::shape::{decoded, is_absent};
use super::{Parsed, invalid};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Names of one field as they are compared, the first one first: small letters and digits only, so
/// that `multi_select`, `multiSelect` and `Multi-Select` are one name.
pub(super) type Names = &'static [&'static str];

/// Fields that were ignored and are named at most.
const MAX_IGNORED: usize = 20;
/// How much of such a name is said, in characters.
const MAX_NAME_CHARS: usize = 60;

/// What was sent and not yet taken.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// What the names of its fields are prefixed with where they are told.
    at: String,
    fields: Vec<Field>,
    filled: bool,
}

#[derive(Debug)]
struct Field {
    plain: String,
    name: String,
    value: Value,
}

impl Field {
    fn new(name: String, value: Value) -> Self {
        Self {
            plain: plain(&name),
            name,
            value,
        }
    }
}

/// A name as it is compared.
pub(super) fn plain(name: &str) -> String {
    if name.is_ascii() {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        return letters.map(|c| c.to_ascii_lowercase()).collect();
    }
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

impl Given {
    /// What a model sent. Strict callers fill every field: a blank text and the word `null` or `none`
    /// stand for a field that is left out.
    pub(super) fn sent(object: Map<String, Value>, at: &str) -> Self {
        Self {
            filled: true,
            ..Self::exact(object, at)
        }
    }

    /// What stands as it is meant.
    pub(super) fn exact(object: Map<String, Value>, at: &str) -> Self {
        let fields = object.into_iter().map(|(n, v)| Field::new(n, v));
        Self {
            at: at.to_owned(),
            fields: fields.collect(),
            filled: false,
        }
    }

    fn absent(&self, value: &Value) -> bool {
        value.is_null() || self.filled && is_absent(value)
    }

    fn place(&self, names: &[&str]) -> Option<usize> {
        names.iter().find_map(|name| {
            let mut fields = self.fields.iter();
            fields.position(|f| f.plain == *name && !self.absent(&f.value))
        })
    }

    /// Whether the field is there.
    pub(super) fn has(&self, names: Names) -> bool {
        self.place(names).is_some()
    }

    pub(super) fn peek(&self, names: Names) -> Option<&Value> {
        self.fields.get(self.place(names)?).map(|f| &f.value)
    }

    /// Takes the field out, if it is there.
    pub(super) fn take(&mut self, names: Names) -> Option<Value> {
        self.take_named(names).map(|(_, value)| value)
    }

    /// As [`Given::take`], with the name it was sent under.
    pub(super) fn take_named(&mut self, names: Names) -> Option<(String, Value)> {
        let found = self.place(names).map(|place| self.fields.remove(place));
        found.map(|field| (field.name, field.value))
    }

    /// Takes the field out, also where it stands for nothing.
    pub(super) fn take_any(&mut self, names: Names) -> Option<Value> {
        let of = |f: &Field| names.contains(&f.plain.as_str());
        let place = self.place(names);
        let place = place.or_else(|| self.fields.iter().position(of))?;
        Some(self.fields.remove(place).value)
    }

    /// Puts a field in, under the first of its names.
    pub(super) fn put(&mut self, names: Names, value: Value) {
        let name = names.first().map(ToString::to_string);
        self.fields.extend(name.map(|name| Field::new(name, value)));
    }

    /// Takes in what `inner` has and this has not.
    pub(super) fn absorb(&mut self, inner: Map<String, Value>) {
        for (name, value) in inner {
            let field = Field::new(name, value);
            if self.place(&[&field.plain]).is_none() {
                self.fields.push(field);
            }
        }
    }

    /// Takes over those of these fields that this has not.
    pub(super) fn adopt(&mut self, from: &mut Self, all: &[Names]) {
        for names in all {
            if !self.has(names)
                && let Some(value) = from.take(names)
            {
                self.put(names, value);
            }
        }
    }

    /// Reads the field's value where it is JSON as text.
    pub(super) fn decode(&mut self, names: Names) {
        if let Some(place) = self.place(names)
            && let Some(field) = self.fields.get_mut(place)
        {
            field.value = decoded(std::mem::take(&mut field.value));
        }
    }

    /// Every field with its plain name.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.fields.iter().map(|f| (f.plain.as_str(), &f.value))
    }

    /// What is left when everything known was taken. What may be meant as the options or as the time is
    /// refused, for a question without them is another question; the rest is ignored and named.
    pub(super) fn finish(&self, left: &Left, ignored: &mut Ignored) -> Parsed<()> {
        let quiet = |field: &&Field| {
            let names = |names: &Names| names.contains(&field.plain.as_str());
            !left.quiet.iter().any(names) && !self.absent(&field.value)
        };
        for field in self.fields.iter().filter(quiet) {
            let name = format!("{}{}", self.at, field.name);
            if left.lacks_options && is_list(&field.value) {
                return invalid(name, format!("is not known; {}", left.known));
            }
            if left.lacks_time && field.plain.starts_with("timeout") {
                return invalid(
                    name,
                    "is not known; give the time as timeout_s, in seconds, beside the questions",
                );
            }
            ignored.note(&name);
        }
        Ok(())
    }
}

fn is_list(value: &Value) -> bool {
    let list = |value: &Value| value.as_array().is_some_and(|items| !items.is_empty());
    list(value) || value.is_string() && list(&decoded(value.clone()))
}

/// What becomes of the fields that nobody took.
#[derive(Debug, Clone, Copy)]
pub(super) struct Left {
    /// Which fields there are.
    pub known: &'static str,
    /// Those that say nothing that is kept, and need not be named.
    pub quiet: &'static [Names],
    /// Whether a list may be what the person was to choose from.
    pub lacks_options: bool,
    /// Whether a timeout may be what the caller meant by it.
    pub lacks_time: bool,
}

/// Names of fields that were sent and mean nothing here.
#[derive(Debug, Default)]
pub(super) struct Ignored(BTreeSet<String>);

impl Ignored {
    fn note(&mut self, name: &str) {
        if self.0.len() < MAX_IGNORED {
            self.0.insert(name.chars().take(MAX_NAME_CHARS).collect());
        }
    }

    /// Each of them once.
    pub(super) fn names(self) -> Vec<String> {
        self.0.into_iter().collect()
    }
}
