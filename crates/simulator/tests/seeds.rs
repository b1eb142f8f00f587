//! Two thousand seeds, in parts that run side by side.
#![allow(clippy::panic)]

use askbus_simulator::run;

const SEEDS: u64 = 2_000;
const PARTS: u64 = 8;

fn part(part: u64) {
    let mut failed = Vec::new();
    let (mut asked, mut sent) = (0, 0);
    for seed in (0..SEEDS).filter(|seed| seed % PARTS == part) {
        let report = run(seed);
        asked += report.asked;
        sent += report.sent;
        if !report.broken.is_empty() {
            println!(
                "cargo run -p askbus-simulator -- --seed {seed}\n  {:?}",
                report.broken
            );
            failed.push(seed);
        }
    }
    assert!(failed.is_empty(), "seeds {failed:?}");
    // A world in which nothing happens keeps every promise.
    assert!(
        asked > 500 && sent > 250,
        "{asked} questions, {sent} messages"
    );
}

macro_rules! parts {
    ($($name:ident = $part:literal),*) => {$(
        #[test]
        fn $name() {
            part($part);
        }
    )*};
}

parts!(
    part_0 = 0,
    part_1 = 1,
    part_2 = 2,
    part_3 = 3,
    part_4 = 4,
    part_5 = 5,
    part_6 = 6,
    part_7 = 7
);

/// A seed that broke a promise once, and which. What it leads to changes with the simulator; it costs
/// little to look again.
macro_rules! regressions {
    ($($name:ident = $seed:literal),*) => {$(
        #[test]
        fn $name() {
            assert_eq!(run($seed).broken, Vec::<String>::new());
        }
    )*};
}

regressions!(
    an_answer_whose_question_cannot_be_looked_up_is_named_in_the_reply = 1_749,
    two_signs_of_life_are_lost_in_one_short_silence = 10_001_624,
    a_plan_whose_turn_was_taken_away_is_shown_in_the_next_one = 30_019_336
);

#[test]
fn a_seed_is_a_run() {
    for seed in [1, 2, 3] {
        assert_eq!(run(seed), run(seed), "seed {seed}");
    }
}
