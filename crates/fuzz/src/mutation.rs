//! Inputs that are almost right: seeds with something changed in them.

use crate::Entropy;

/// What inputs are made of.
#[derive(Debug, Clone, Default)]
pub struct Material {
    /// Inputs that are right, and those that once broke something.
    pub seeds: Vec<Vec<u8>>,
    /// Pieces that mean something to the parser.
    pub words: Vec<&'static str>,
}

impl Material {
    /// Of texts.
    pub fn of(seeds: &[&str], words: &[&'static str]) -> Self {
        Self {
            seeds: seeds.iter().map(|s| s.as_bytes().to_vec()).collect(),
            words: words.to_vec(),
        }
    }
}

/// Changes to one seed at most.
const MAX_CHANGES: usize = 6;
/// Bytes that parsers stumble over.
const ODD: [u8; 16] = *b"\0\"\\{}[]:,=%./ \x7f\xff";
/// Numbers and texts that parsers stumble over.
const ODD_WORDS: [&str; 24] = [
    "0",
    "-1",
    "1e999",
    "-0.0",
    "9223372036854775808",
    "18446744073709551616",
    "NaN",
    "null",
    "true",
    "\"\"",
    "[]",
    "{}",
    "\\ud800",
    "\\u0000",
    "é",
    "界",
    "👩‍👩‍👧",
    "\u{202e}",
    "\u{feff}",
    "\r\n",
    "..",
    "%00",
    "%ff",
    "\u{fffd}",
];

/// An input made of `material` as `entropy` has it.
pub fn mutated(material: &Material, entropy: &[u8]) -> Vec<u8> {
    let mut entropy = Entropy::new(entropy);
    // Now and then nothing but noise.
    if entropy.byte() == 0 {
        return entropy.0.as_slice().to_vec();
    }
    let mut input = seed(material, &mut entropy);
    for _ in 0..=entropy.below(MAX_CHANGES) {
        change(&mut input, material, &mut entropy);
        if entropy.is_over() {
            break;
        }
    }
    input
}

fn seed(material: &Material, entropy: &mut Entropy<'_>) -> Vec<u8> {
    let at = entropy.below(material.seeds.len());
    material.seeds.get(at).cloned().unwrap_or_default()
}

fn change(input: &mut Vec<u8>, material: &Material, entropy: &mut Entropy<'_>) {
    let kind = entropy.byte() % 8;
    let from = entropy.below(input.len() + 1);
    let to = (from + entropy.below(40)).min(input.len());
    let replacement = match kind {
        0 => Vec::new(),
        1 => vec![entropy.byte()],
        2 => entropy.pick(&ODD).into_iter().collect(),
        3 | 4 => entropy
            .pick(&material.words)
            .or_else(|| entropy.pick(&ODD_WORDS))
            .unwrap_or_default()
            .as_bytes()
            .to_vec(),
        5 => entropy.pick(&ODD_WORDS).unwrap_or_default().into(),
        6 => {
            let other = seed(material, entropy);
            let start = entropy.below(other.len() + 1);
            let length = entropy.below(60);
            other.into_iter().skip(start).take(length).collect()
        }
        // The same over again.
        _ => {
            let part = input.get(from..to).unwrap_or_default();
            part.repeat(entropy.below(8) + 2)
        }
    };
    // Inserted or put in its place.
    let to = if entropy.byte().is_multiple_of(2) {
        from
    } else {
        to
    };
    drop(input.splice(from..to, replacement));
}
