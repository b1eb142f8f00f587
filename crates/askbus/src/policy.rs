//! The `[policy]` tables of the configuration: what becomes of a question that nobody answers, or
//! for which nobody is there. What is left out is as in the wider table.

use crate::cli::parse_duration;
use askbus_domain::{
    Dialect, Language, Millis, OnTimeout, PolicyLayer, PolicyTable, ProfileId, TenantId,
    TenantPolicy, WhenAbsent, Wish,
};
use serde::de::{Deserializer, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// One table. Which tables it may hold depends on where it stands; see [`Policies::table`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Policies {
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<Timeout>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_timeout: Option<Wait>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_timeout: Option<Wait>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grace: Option<Wait>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_timeout: Option<OnTimeout>,
    #[serde(skip_serializing_if = "Option::is_none")]
    when_absent: Option<WhenAbsent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_pending: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unanswered_limit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<Language>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tenants: BTreeMap<String, Policies>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    dialects: BTreeMap<String, Policies>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    profiles: BTreeMap<String, Policies>,
}

/// `90s`, `5m`, or seconds as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wait(Millis);

/// A wait, or `never`, which 0 is as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Timeout(Wish);

struct Duration;

impl Visitor<'_> for Duration {
    type Value = Wait;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration such as \"90s\" or \"5m\", or seconds as a number")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Wait, E> {
        let duration =
            parse_duration(text).map_err(|_| E::invalid_value(Unexpected::Str(text), &self))?;
        let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Ok(Wait(Millis(ms)))
    }

    fn visit_u64<E: serde::de::Error>(self, seconds: u64) -> Result<Wait, E> {
        Ok(Wait(Millis(seconds.saturating_mul(1_000))))
    }

    fn visit_i64<E: serde::de::Error>(self, seconds: i64) -> Result<Wait, E> {
        let seconds = u64::try_from(seconds)
            .map_err(|_| E::invalid_value(Unexpected::Signed(seconds), &self))?;
        self.visit_u64(seconds)
    }
}

impl<'de> Deserialize<'de> for Wait {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Duration)
    }
}

impl<'de> Deserialize<'de> for Timeout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OrNever;
        impl Visitor<'_> for OrNever {
            type Value = Timeout;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "\"never\", or ")?;
                Duration.expecting(f)
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Timeout, E> {
                if text == "never" {
                    return Ok(Timeout(Wish::Never));
                }
                let wait = Duration.visit_str(text);
                let bad = |_: E| E::invalid_value(Unexpected::Str(text), &self);
                wait.map(Timeout::after).map_err(bad)
            }

            fn visit_u64<E: serde::de::Error>(self, seconds: u64) -> Result<Timeout, E> {
                Duration.visit_u64(seconds).map(Timeout::after)
            }

            fn visit_i64<E: serde::de::Error>(self, seconds: i64) -> Result<Timeout, E> {
                Duration.visit_i64(seconds).map(Timeout::after)
            }
        }
        deserializer.deserialize_any(OrNever)
    }
}

impl Timeout {
    const fn after(wait: Wait) -> Self {
        Self(match wait.0 {
            Millis(0) => Wish::Never,
            wait => Wish::After(wait),
        })
    }
}

impl Serialize for Wait {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}ms", self.0.0))
    }
}

impl Serialize for Timeout {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Wish::Never => serializer.serialize_str("never"),
            Wish::After(wait) => Wait(wait).serialize(serializer),
        }
    }
}

impl Policies {
    /// The table of the services; the message of an error names the key.
    pub(crate) fn table(&self) -> Result<PolicyTable, String> {
        Self::without(
            "policy",
            &[("dialects", &self.dialects), ("profiles", &self.profiles)],
        )?;
        let mut table = PolicyTable {
            all: self.layer("policy")?,
            ..PolicyTable::default()
        };
        for (name, own) in &self.tenants {
            let at = format!("policy.tenants.{name}");
            let tenant = TenantId::new(name).map_err(|e| format!("setting {at}: {e}"))?;
            table.tenants.insert(tenant, own.tenant(&at)?);
        }
        Ok(table)
    }

    fn tenant(&self, at: &str) -> Result<TenantPolicy, String> {
        Self::without(at, &[("tenants", &self.tenants)])?;
        let mut policy = TenantPolicy {
            layer: self.layer(at)?,
            ..TenantPolicy::default()
        };
        for (name, own) in &self.dialects {
            let at = format!("{at}.dialects.{name}");
            let dialect = Dialect::parse(name)
                .ok_or_else(|| format!("setting {at}: a dialect is ask, studio or interaction"))?;
            policy.dialects.insert(dialect, own.leaf(&at)?);
        }
        for (name, own) in &self.profiles {
            let at = format!("{at}.profiles.{name}");
            let profile = ProfileId::new(name).map_err(|e| format!("setting {at}: {e}"))?;
            policy.profiles.insert(profile, own.leaf(&at)?);
        }
        Ok(policy)
    }

    fn leaf(&self, at: &str) -> Result<PolicyLayer, String> {
        let inner = [
            ("tenants", &self.tenants),
            ("dialects", &self.dialects),
            ("profiles", &self.profiles),
        ];
        Self::without(at, &inner)?;
        self.layer(at)
    }

    fn without(at: &str, tables: &[(&str, &BTreeMap<String, Policies>)]) -> Result<(), String> {
        match tables.iter().find(|(_, table)| !table.is_empty()) {
            None => Ok(()),
            Some((name, _)) => Err(format!(
                "setting {at}.{name}: not here; the tables are policy, policy.tenants.NAME, \
                 policy.tenants.NAME.dialects.NAME and policy.tenants.NAME.profiles.NAME"
            )),
        }
    }

    fn layer(&self, at: &str) -> Result<PolicyLayer, String> {
        let layer = PolicyLayer {
            timeout: self.timeout.map(|t| t.0),
            min_timeout: self.min_timeout.map(|w| w.0),
            max_timeout: self.max_timeout.map(|w| w.0),
            grace: self.grace.map(|w| w.0),
            on_timeout: self.on_timeout,
            when_absent: self.when_absent,
            max_pending: self.max_pending,
            unanswered_limit: self.unanswered_limit,
            language: self.language,
        };
        let checked = layer.checked();
        checked.map_err(|problem| format!("setting {at}.{problem}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use figment::Figment;
    use figment::providers::{Format as _, Toml};

    #[derive(Debug, Deserialize)]
    struct File {
        policy: Policies,
    }

    fn read(toml: &str) -> Result<PolicyTable, String> {
        let file: File = Figment::from(Toml::string(toml))
            .extract_lossy()
            .map_err(|e| format!("{}: {}", e.path.join("."), e.kind))?;
        file.policy.table()
    }

    #[test]
    fn every_table_is_read_and_the_narrower_one_wins() {
        let table = read(
            r#"
            [policy]
            timeout = "5m"
            min_timeout = 10
            language = "zh"
            [policy.tenants.acme]
            timeout = "never"
            max_timeout = "1h"
            grace = "0s"
            on_timeout = "adopt"
            when_absent = "unattended"
            max_pending = 8
            unanswered_limit = 0
            [policy.tenants.acme.dialects.interaction]
            timeout = 90
            [policy.tenants.acme.profiles.ops]
            when_absent = "deferred"
            "#,
        )
        .unwrap();
        let of = |tenant: &str, profile: &str, dialect| {
            let tenant = TenantId::new(tenant).unwrap();
            table.of(&tenant, &ProfileId::new(profile).unwrap(), dialect)
        };
        let other = of("other", "ops", Dialect::Ask);
        assert_eq!(other.timeout, Some(Wish::After(Millis(300_000))));
        assert_eq!(other.min_timeout, Some(Millis(10_000)));
        assert_eq!(other.when_absent, None);
        let acme = of("acme", "dev", Dialect::Ask);
        assert_eq!(acme.timeout, Some(Wish::Never));
        assert_eq!(acme.max_timeout, Some(Millis(3_600_000)));
        assert_eq!(acme.grace, Some(Millis(0)));
        assert_eq!(acme.on_timeout, Some(OnTimeout::Adopt));
        assert_eq!(acme.when_absent, Some(WhenAbsent::Unattended));
        assert_eq!(
            (acme.max_pending, acme.unanswered_limit),
            (Some(8), Some(0))
        );
        assert_eq!(acme.language, Some(Language::Zh));
        let narrow = of("acme", "ops", Dialect::Interaction);
        assert_eq!(narrow.timeout, Some(Wish::After(Millis(90_000))));
        assert_eq!(narrow.when_absent, Some(WhenAbsent::Deferred));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (toml, place) in [
            ("[policy]\ntimeout = \"soon\"", "policy.timeout"),
            ("[policy]\ntimeout = -1", "policy.timeout"),
            ("[policy]\nmax_timeout = \"never\"", "policy.max_timeout"),
            ("[policy]\nmax_timeout = 0", "policy.max_timeout"),
            (
                "[policy]\nmin_timeout = 20\nmax_timeout = 10",
                "policy.min_timeout",
            ),
            ("[policy]\nmax_pending = 0", "policy.max_pending"),
            ("[policy]\nmax_pending = -3", "policy.max_pending"),
            ("[policy]\nlanguage = \"fr\"", "policy.language"),
            ("[policy]\nwhen_away = \"wait\"", "policy"),
            ("[policy.profiles.ops]\ngrace = 1", "policy.profiles"),
            (
                "[policy.tenants.acme]\nwhen_absent = \"maybe\"",
                "policy.tenants.acme.when_absent",
            ),
            (
                "[policy.tenants.acme.dialects.studios]\ngrace = 1",
                "policy.tenants.acme.dialects.studios",
            ),
            (
                "[policy.tenants.acme.profiles.ops.profiles.x]\ngrace = 1",
                "policy.tenants.acme.profiles.ops.profiles",
            ),
            ("[policy.tenants.\"\"]\ngrace = 1", "policy.tenants."),
        ] {
            let error = read(toml).unwrap_err();
            assert!(error.contains(place), "{toml}: {error}");
        }
    }
}
