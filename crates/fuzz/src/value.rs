//! JSON made of the names a parser looks for and of values it may not expect there.

use crate::Entropy;
use serde_json::{Map, Number, Value};

/// What JSON is made of.
#[derive(Debug, Clone, Copy)]
pub struct Names {
    /// Fields of objects.
    pub fields: &'static [&'static str],
    /// Texts.
    pub words: &'static [&'static str],
}

/// How deep it goes.
const DEPTH: usize = 4;
/// Elements of one list or object.
const WIDTH: usize = 7;

/// A value made of `names` as `entropy` has it; an object more often than not.
pub fn value(names: &Names, entropy: &[u8]) -> Value {
    let mut entropy = Entropy::new(entropy);
    match entropy.byte() % 16 {
        0 => any(names, &mut entropy, DEPTH),
        _ => object(names, &mut entropy, DEPTH),
    }
}

fn any(names: &Names, entropy: &mut Entropy<'_>, depth: usize) -> Value {
    match entropy.byte() % 16 {
        0 => Value::Null,
        1 => Value::Bool(entropy.byte().is_multiple_of(2)),
        2 | 3 => number(entropy),
        4..=8 => Value::String(text(names, entropy)),
        // JSON as text, as models send it.
        9 if depth > 0 => Value::String(any(names, entropy, depth - 1).to_string()),
        10..=12 if depth > 0 => {
            let length = entropy.below(WIDTH);
            (0..length)
                .map(|_| any(names, entropy, depth - 1))
                .collect()
        }
        _ if depth > 0 => object(names, entropy, depth),
        _ => Value::String(text(names, entropy)),
    }
}

fn object(names: &Names, entropy: &mut Entropy<'_>, depth: usize) -> Value {
    let length = entropy.below(WIDTH);
    let mut object = Map::new();
    for _ in 0..length {
        let name = entropy.pick(names.fields).unwrap_or_default().to_owned();
        object.insert(name, any(names, entropy, depth - 1));
    }
    Value::Object(object)
}

fn number(entropy: &mut Entropy<'_>) -> Value {
    match entropy.byte() % 8 {
        0 => u64::MAX.into(),
        1 => i64::MIN.into(),
        2 => Number::from_f64(1e300).map_or(Value::Null, Value::Number),
        3 => Number::from_f64(-0.5).map_or(Value::Null, Value::Number),
        4 => 0.into(),
        _ => (i64::from(entropy.byte()) - 3).into(),
    }
}

fn text(names: &Names, entropy: &mut Entropy<'_>) -> String {
    match entropy.byte() % 8 {
        0 => String::new(),
        1 => " \n".to_owned(),
        2 => "界".repeat(entropy.below(5_000)),
        3 => String::from_utf8_lossy(entropy.0.as_slice()).into_owned(),
        4 => entropy.below(30).to_string(),
        _ => entropy.pick(names.words).unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: Names = Names {
        fields: &["question", "options"],
        words: &["Where?", "[1]"],
    };

    #[test]
    fn the_same_bytes_make_the_same_value_and_other_bytes_another() {
        let bytes = |n: u8| -> Vec<u8> { (0..=255).map(|b: u8| b.wrapping_mul(n)).collect() };
        assert_eq!(value(&NAMES, &bytes(7)), value(&NAMES, &bytes(7)));
        let made: std::collections::HashSet<String> = (1..=255)
            .map(|n| value(&NAMES, &bytes(n)).to_string())
            .collect();
        assert!(made.len() > 40, "{}", made.len());
        assert!(made.iter().any(|v| v.contains("\"question\"")));
    }
}
