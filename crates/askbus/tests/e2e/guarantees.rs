//! What is promised names the tests that show it, and those exist.

use anyhow::{Context as _, Result};
use askbus_testkit::workspace;
use std::path::Path;

/// Everything in backquotes that can only be the name of a test.
fn names(text: &str) -> Vec<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    let is_name = |word: &&str| {
        word.contains('_')
            && word
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    quoted
        .filter(is_name)
        .filter(|word| word.matches('_').count() > 2)
        .collect()
}

fn sources(folder: &Path, all: &mut String) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, all)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            all.push_str(&std::fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

#[test]
fn every_promise_names_tests_that_exist() -> Result<()> {
    let page = std::fs::read_to_string(workspace().join("docs/guarantees.md"))?;
    let (promises, ends) = page.split_once("## Where it ends").context("two parts")?;
    for end in ends.split("\n- ").skip(1) {
        let says = !names(end).is_empty() || end.to_lowercase().contains("no test");
        assert!(says, "neither a test nor that there is none: {end}");
    }
    for promise in promises.split("\n\n").filter(|p| p.starts_with("**")) {
        assert!(!names(promise).is_empty(), "no test shows: {promise}");
    }
    let mut all = String::new();
    sources(&workspace().join("crates"), &mut all)?;
    let missing: Vec<&str> = names(&page)
        .into_iter()
        .filter(|name| !all.contains(&format!("fn {name}(")))
        .collect();
    assert!(missing.is_empty(), "there are no tests {missing:?}");
    Ok(())
}
