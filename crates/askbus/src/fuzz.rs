//! Whatever stands on a command line or in a configuration.

use crate::cli::parse_duration;
use crate::policy::Policies;
use askbus_fuzz::{Material, fuzz_bytes};
use figment::Figment;
use figment::providers::{Format as _, Toml};
use serde::Deserialize;

#[test]
fn fuzz_durations() {
    let seeds = [
        "90",
        "90s",
        "5m",
        "2h",
        "1d",
        "250ms",
        "18446744073709551615d",
    ];
    fuzz_bytes!(Material::of(&seeds, &["ms", "s", "d"]), |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        if let Ok(duration) = parse_duration(&text) {
            // Digits and a unit, and nothing lost.
            let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
            let number: u128 = digits.parse().unwrap();
            assert!(number <= duration.as_millis() && duration.as_millis() <= number * 86_400_000);
        }
    });
}

#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    policy: Policies,
}

// contract: A5 A6
#[test]
fn fuzz_policies() {
    let seeds = [
        "[policy]\ntimeout = \"never\"\nmax_timeout = \"7d\"\ngrace = 60\nlanguage = \"zh\"\n",
        "[policy.tenants.acme]\nwhen_absent = \"deferred\"\non_timeout = \"adopt\"\nmax_pending = 8\n",
        "[policy.tenants.acme.profiles.ops]\nmin_timeout = \"1s\"\nunanswered_limit = 0\n",
        "[policy.tenants.acme.dialects.interaction]\ntimeout = \"20m\"\n",
    ];
    let words = [
        "[policy]\n",
        "tenants",
        "profiles",
        "dialects",
        "timeout = ",
        "\"never\"",
        "-1",
        "0",
        "\"return\"",
        "\"wait\"",
        "= 1e999\n",
        "'''",
    ];
    fuzz_bytes!(Material::of(&seeds, &words), |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let Ok(written) = Figment::from(Toml::string(&text)).extract::<Written>() else {
            return;
        };
        match written.policy.table() {
            Ok(table) => assert_ne!(table.all.max_pending, Some(0)),
            // What is wrong is named.
            Err(problem) => assert!(problem.contains("policy"), "{problem}"),
        }
    });
}
