//! What is expected of the suite's scenarios: which pass, and why the others do not.

use super::{Check, EVERY_MESSAGE, Found};
use crate::places::workspace;
use anyhow::{Context as _, Result};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// The expectations for one revision of the protocol, from `crates/testkit/conformance/expected.json`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Scenarios that pass.
    pass: BTreeSet<String>,
    /// Why a scenario, or one check of it (`scenario/check`), does not pass.
    reasons: BTreeMap<String, String>,
}

impl Expected {
    /// Those for every revision, in their order.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read() -> Result<BTreeMap<String, Self>> {
        let path = workspace().join("crates/testkit/conformance/expected.json");
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        serde_json::from_str(&text).with_context(|| path.display().to_string())
    }

    /// Everything in which `found` is not what is expected; nothing when all is.
    pub fn problems(&self, found: &Found) -> Vec<String> {
        let mut problems = Vec::new();
        let reasons = self.reasons.keys().map(|key| scenario_of(key));
        for name in self.pass.iter().map(String::as_str).chain(reasons) {
            if !found.contains_key(name) {
                problems.push(format!("{name} is expected, but was not run"));
            }
        }
        for (name, checks) in found {
            self.judge(name, checks, &mut problems);
        }
        problems
    }

    fn judge(&self, name: &str, checks: &[Check], problems: &mut Vec<String>) {
        let failed: Vec<&Check> = checks.iter().filter(|check| check.has_failed()).collect();
        let whole = self.reasons.contains_key(name);
        for check in &failed {
            let own = self.reasons.contains_key(&format!("{name}/{}", check.id));
            if !own && (!whole || check.id == EVERY_MESSAGE) {
                let error = check.error.as_deref().unwrap_or("no word why");
                problems.push(format!("{name}: {} ({}): {error}", check.id, check.status));
            }
        }
        for key in self.reasons.keys() {
            let check = key.strip_prefix(name).and_then(|key| key.strip_prefix('/'));
            if check.is_some_and(|id| failed.iter().all(|check| check.id != id)) {
                problems.push(format!("{key} has a reason to fail, but does not"));
            }
        }
        let passes = failed.is_empty() && checks.iter().any(Check::has_succeeded);
        let reasoned = whole || !failed.is_empty();
        match (passes, self.pass.contains(name)) {
            (true, true) => {}
            (true, false) => problems.push(format!("{name} passes, but is not listed to")),
            (false, true) => problems.push(format!("{name} is listed to pass, but does not")),
            (false, false) if reasoned => {}
            (false, false) => problems.push(format!("{name} looked at nothing")),
        }
    }

    /// A line for every scenario of all revisions, as Markdown.
    pub fn table(all: &BTreeMap<String, Self>) -> String {
        let revisions: Vec<&str> = all.keys().map(String::as_str).collect();
        let mut lines = vec![
            format!("| scenario | {} |", revisions.join(" | ")),
            format!("|---|{}", "---|".repeat(revisions.len())),
        ];
        let names = all.values().flat_map(|expected| {
            let reasons = expected.reasons.keys().map(|key| scenario_of(key));
            expected.pass.iter().map(String::as_str).chain(reasons)
        });
        for name in names.collect::<BTreeSet<_>>() {
            let cells: Vec<String> = all.values().map(|expected| expected.cell(name)).collect();
            lines.push(format!("| `{name}` | {} |", cells.join(" | ")));
        }
        lines.join("\n") + "\n"
    }

    fn cell(&self, name: &str) -> String {
        if self.pass.contains(name) {
            return "passes".to_owned();
        }
        if let Some(reason) = self.reasons.get(name) {
            return reason.clone();
        }
        let parts = self
            .reasons
            .iter()
            .filter(|(key, _)| scenario_of(key) == name);
        let parts: BTreeSet<&str> = parts.map(|(_, reason)| reason.as_str()).collect();
        if parts.is_empty() {
            return "not part of it".to_owned();
        }
        let parts: Vec<&str> = parts.into_iter().collect();
        format!("passes but for: {}", parts.join("; "))
    }
}

fn scenario_of(key: &str) -> &str {
    key.split_once('/').map_or(key, |(scenario, _)| scenario)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use serde_json::json;

    /// Its name, and its checks with how they stand.
    type Scenario = (&'static str, &'static [(&'static str, &'static str)]);

    fn expected() -> Expected {
        let expected = json!({
            "pass": ["a"],
            "reasons": {"b": "offers no b", "c/two": "offers no c"},
        });
        serde_json::from_value(expected).unwrap()
    }

    fn found(scenarios: &[Scenario]) -> Found {
        let check = |(id, status): &(&str, &str)| Check {
            id: (*id).to_owned(),
            status: (*status).to_owned(),
            error: None,
        };
        let scenarios = scenarios.iter();
        let scenarios = scenarios
            .map(|(name, checks)| ((*name).to_owned(), checks.iter().map(check).collect()));
        scenarios.collect()
    }

    const A: Scenario = ("a", &[("one", "SUCCESS"), ("two", "SKIPPED")]);
    const B: Scenario = ("b", &[("one", "FAILURE"), (EVERY_MESSAGE, "SUCCESS")]);
    const C: Scenario = ("c", &[("one", "SUCCESS"), ("two", "WARNING")]);

    #[test]
    fn what_is_expected_is_no_problem() {
        assert_eq!(
            expected().problems(&found(&[A, B, C])),
            Vec::<String>::new()
        );
    }

    #[test]
    fn whatever_else_happens_is_one() {
        let cases: [(&[Scenario], &str); 8] = [
            (&[B, C], "a is expected, but was not run"),
            (&[A, C], "b is expected, but was not run"),
            (&[A, B], "c is expected, but was not run"),
            (
                &[A, B, C, ("d", &[("one", "WARNING")])],
                "d: one (WARNING): no word why",
            ),
            (
                &[A, B, C, ("d", &[("one", "SUCCESS")])],
                "d passes, but is not listed to",
            ),
            (
                &[A, B, C, ("d", &[(EVERY_MESSAGE, "SUCCESS")])],
                "d looked at nothing",
            ),
            (
                &[A, ("b", &[("one", "SUCCESS")]), C],
                "b passes, but is not listed to",
            ),
            (
                &[A, ("b", &[(EVERY_MESSAGE, "FAILURE")]), C],
                "b: wire-schema-valid (FAILURE): no word why",
            ),
        ];
        for (scenarios, problem) in cases {
            assert_eq!(expected().problems(&found(scenarios)), [problem]);
        }
        let broken = found(&[("a", &[("one", "FAILURE")]), B, C]);
        let problems = expected().problems(&broken);
        let wanted = [
            "a: one (FAILURE): no word why",
            "a is listed to pass, but does not",
        ];
        assert_eq!(problems, wanted);
        let mended = found(&[A, B, ("c", &[("one", "FAILURE"), ("two", "SUCCESS")])]);
        let problems = expected().problems(&mended);
        let wanted = [
            "c: one (FAILURE): no word why",
            "c/two has a reason to fail, but does not",
        ];
        assert_eq!(problems, wanted);
    }

    #[test]
    fn the_table_says_of_each_scenario_how_it_stands() {
        let all = BTreeMap::from([("2025-11-25".to_owned(), expected())]);
        assert_eq!(
            Expected::table(&all),
            "| scenario | 2025-11-25 |\n|---|---|\n| `a` | passes |\n| `b` | offers no b |\n\
             | `c` | passes but for: offers no c |\n"
        );
    }
}
