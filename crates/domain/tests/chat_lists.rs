//! Replies that could be several things at once: ranges, and labels that look like numbers.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

mod fixture;

use askbus_domain::text_channel::Unclear;
use fixture::choices::Is::{self, Beside, Options, Outside, Words};
use fixture::choices::{check, checks, deploy, question, replicas};
use serde_json::json;

// contract: A1, N4
#[test]
fn a_range_is_a_list_or_outside_and_never_words() {
    let rows = [
        ("2-4", Options(&[2, 3, 4])),
        ("2 - 4", Options(&[2, 3, 4])),
        ("2- 4", Options(&[2, 3, 4])),
        ("2 到 4", Options(&[2, 3, 4])),
        ("第2到第4个", Options(&[2, 3, 4])),
        ("二至四", Options(&[2, 3, 4])),
        ("②～④", Options(&[2, 3, 4])),
        ("２－４", Options(&[2, 3, 4])),
        ("2–4", Options(&[2, 3, 4])),
        ("2—4", Options(&[2, 3, 4])),
        ("2−4", Options(&[2, 3, 4])),
        ("2〜4", Options(&[2, 3, 4])),
        ("2..4", Options(&[2, 3, 4])),
        ("2…4", Options(&[2, 3, 4])),
        ("2 to 4", Options(&[2, 3, 4])),
        ("2to4", Options(&[2, 3, 4])),
        ("options 2-4", Options(&[2, 3, 4])),
        ("选2-4", Options(&[2, 3, 4])),
        ("b-d", Options(&[2, 3, 4])),
        ("4,1-2", Options(&[4, 1, 2])),
        ("1-2 and 4", Options(&[1, 2, 4])),
        ("3-3", Options(&[3])),
        ("1-2: after the freeze", Beside(&[1, 2], "after the freeze")),
        ("1-30", Outside("1-30")),
        (
            "1-99999999999999999999999",
            Outside("1-99999999999999999999999"),
        ),
        ("3-1", Outside("3-1")),
        ("0-2", Outside("0-2")),
        ("7-9", Outside("7-9")),
        ("1 - 30", Outside("1-30")),
        ("十到二十", Outside("十到二十")),
        ("–1", Outside("–1")),
    ];
    check(&checks(), &rows);
    let one_only = || Is::Unclear(Unclear::OneOnly);
    let rows = [
        ("1-2", one_only()),
        ("1~2", one_only()),
        ("1到2", one_only()),
        ("1 - 2", one_only()),
        ("a-b", one_only()),
        ("1-3: because", one_only()),
        ("2-2", Options(&[2])),
        ("1-30", Outside("1-30")),
        ("10-12", Outside("10-12")),
        ("a-z", Words("a-z")),
    ];
    check(&deploy(), &rows);
}

// contract: N4
#[test]
fn what_could_mean_two_options_is_refused() {
    let ambiguous = |said: &str, options: &[usize]| {
        Is::Unclear(Unclear::Ambiguous {
            said: said.to_owned(),
            options: options.to_vec(),
        })
    };
    let rows = [
        ("2", ambiguous("2", &[0, 1])),
        ("3", ambiguous("3", &[1, 2])),
        ("b", ambiguous("b", &[1, 2])),
        ("1", Options(&[1])),
        ("a", Options(&[1])),
        ("c", Options(&[3])),
        ("JA", ambiguous("JA", &[3, 4])),
        ("ja", Options(&[5])),
        ("Ja", Options(&[4])),
        ("７", Outside("7")),
        // The same with words beside it.
        ("2: as in eu", ambiguous("2", &[0, 1])),
        ("a: as in eu", Beside(&[1], "as in eu")),
    ];
    check(&replicas(), &rows);
    // In a list as well as alone.
    let several = question(
        &json!({"question": "Which ports?", "options": ["2", "80", "443", "1 4", "a, b"],
        "multi_select": true}),
    );
    let rows = [
        ("2", ambiguous("2", &[0, 1])),
        ("2,3", ambiguous("2", &[0, 1])),
        ("1 2", ambiguous("2", &[0, 1])),
        ("80,443", Options(&[2, 3])),
        ("80 443", Options(&[2, 3])),
        ("80,81", Outside("81")),
        ("1 4", ambiguous("1 4", &[0, 3])),
        ("1,4", Options(&[1, 4])),
        ("a, b", ambiguous("a, b", &[0, 1, 4])),
        ("e", Options(&[5])),
    ];
    check(&several, &rows);
}
