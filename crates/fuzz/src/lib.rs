//! Made-up input for everything that reads what comes from outside.
//!
//! A target is a test: it has seeds, which are always tried first and among which every input that
//! once broke something is kept, and then tries inputs made of them. `cargo nextest run` tries a few
//! of them; `BOLERO_RANDOM_ITERATIONS=1000000` tries as many as that, and `cargo bolero test` goes
//! where the code leads it.

mod mutation;
mod value;

pub use bolero;
pub use mutation::{Material, mutated};
pub use value::{Names, value};

/// Inputs a target tries where nobody says otherwise.
pub const ITERATIONS: usize = 500;
/// Bytes that one input is made of.
pub const ENTROPY: usize = 192;

/// Tries `check` with the seeds of the material, and then with inputs made of it.
#[macro_export]
macro_rules! fuzz_bytes {
    ($material:expr, $check:expr) => {{
        let material: $crate::Material = $material;
        let check = $check;
        for seed in &material.seeds {
            check(seed.as_slice());
        }
        let check = ::std::panic::AssertUnwindSafe(check);
        $crate::fuzz_entropy!(|entropy: &[u8]| {
            // The whole wrapper, and not what is in it.
            let check = &check;
            (check.0)(&$crate::mutated(&material, entropy));
        });
    }};
}

/// Tries `check` with JSON made of names and words.
#[macro_export]
macro_rules! fuzz_json {
    ($names:expr, $check:expr) => {{
        let names: $crate::Names = $names;
        let check = ::std::panic::AssertUnwindSafe($check);
        $crate::fuzz_entropy!(|entropy: &[u8]| {
            let check = &check;
            (check.0)($crate::value(&names, entropy));
        });
    }};
}

/// Tries `check` with plain bytes.
#[macro_export]
macro_rules! fuzz_entropy {
    ($check:expr) => {
        $crate::bolero::check!()
            .with_iterations($crate::ITERATIONS)
            .with_max_len($crate::ENTROPY)
            .with_test_time(::std::time::Duration::MAX)
            .for_each($check)
    };
}

/// Reads choices out of bytes; zeros once they are used up.
struct Entropy<'a>(std::slice::Iter<'a, u8>);

impl<'a> Entropy<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self(bytes.iter())
    }

    fn is_over(&self) -> bool {
        self.0.as_slice().is_empty()
    }

    fn byte(&mut self) -> u8 {
        self.0.next().copied().unwrap_or_default()
    }

    /// Less than `limit`; zero if that is zero.
    fn below(&mut self, limit: usize) -> usize {
        let number = usize::from(u16::from_le_bytes([self.byte(), self.byte()]));
        number.checked_rem(limit).unwrap_or_default()
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> Option<T> {
        let at = self.below(list.len());
        list.get(at).copied()
    }
}
