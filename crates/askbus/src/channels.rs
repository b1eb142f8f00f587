//! The `[[channels]]` tables of the configuration: chats through which people are told that something
//! waits, and answer.

use askbus_domain::text_channel::{Buttons, ChannelLimits, Length, Unit};
use askbus_domain::{Language, PersonId, ProfileId, TenantId};
use askbus_gateway::{
    ChannelOptions, ChannelPerson, Retries, SigningKey, Target, WECHAT_LIMITS, Way,
};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What fits a webhook unless it is configured: what a chat behind it takes is for it to say.
const WEBHOOK_LIMITS: ChannelLimits = ChannelLimits {
    message: Length {
        most: 3_000,
        unit: Unit::Characters,
    },
    messages: 10,
    buttons: Some(Buttons {
        most: 20,
        text: Length {
            most: 75,
            unit: Unit::Characters,
        },
    }),
};
/// Below this no option fits a message.
const LEAST_MESSAGE: usize = 100;
/// Where the iLink bot interface is.
const ILINK: &str = "https://ilinkai.weixin.qq.com";

/// One table. Keys of secrets name files: what stands in a configuration is shown and copied.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChannelTable {
    name: String,
    kind: Kind,
    #[serde(default = "local")]
    tenant: String,
    #[serde(default = "default_profiles")]
    profiles: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    language: Option<Language>,
    /// Where messages go; of WeChat the interface itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// File with the signing key of a webhook, or with the credential of a bot; in the home folder
    /// unless it is a whole path.
    credential_file: PathBuf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limits: Option<ChannelLimits>,
    people: Vec<PersonTable>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Webhook,
    Wechat,
}

impl ChannelTable {
    /// What `askbus config show` says of it: nothing that must stay secret, not even where it is.
    pub(crate) fn shown(&self) -> String {
        let kind = match self.kind {
            Kind::Webhook => "webhook",
            Kind::Wechat => "wechat",
        };
        format!("{kind} of tenant {}", self.tenant)
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// Somebody who answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PersonTable {
    /// How the channel names them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    subject: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    groups: Vec<String>,
}

fn local() -> String {
    crate::home::TENANT.to_owned()
}

fn default_profiles() -> Vec<String> {
    vec![crate::home::PROFILE.to_owned()]
}

/// The channels of a gateway; the message of an error names the channel and the key.
pub(crate) fn options(tables: &[ChannelTable], home: &Path) -> Result<Vec<ChannelOptions>, String> {
    let mut secrets: Vec<(String, &str)> = Vec::new();
    let mut options = Vec::new();
    for table in tables {
        let secret = secret(&home.join(&table.credential_file));
        let secret = secret.map_err(|e| at(table, "credential_file", &e))?;
        // What is signed for one of them would be good for the other.
        let mut others = secrets.iter().filter(|(_, other)| *other != table.name);
        if let Some((_, other)) = others.find(|(known, _)| *known == secret) {
            let problem = format!("holds what channel {other} has; each needs its own");
            return Err(at(table, "credential_file", &problem));
        }
        secrets.push((secret.clone(), &table.name));
        options.push(channel(table, secret)?);
    }
    Ok(options)
}

fn at(table: &ChannelTable, key: &str, problem: &dyn std::fmt::Display) -> String {
    format!("channel {}: {key} {problem}", table.name)
}

/// Refuses people of whom a message could not say which one wrote it.
fn told_apart(people: &[PersonTable]) -> Result<(), String> {
    for (n, person) in people.iter().enumerate() {
        match person.from.as_deref().map(str::trim) {
            Some("") => return Err("is blank".to_owned()),
            None if people.len() > 1 => {
                return Err("is missing: several people are told apart by it".to_owned());
            }
            _ => {}
        }
        let before = people.iter().take(n).any(|other| other.from == person.from);
        if before {
            let from = person.from.as_deref().unwrap_or_default();
            return Err(format!("names {from} twice"));
        }
    }
    Ok(())
}

fn channel(table: &ChannelTable, secret: String) -> Result<ChannelOptions, String> {
    let at = |key: &str, problem: &dyn std::fmt::Display| at(table, key, problem);
    let tenant = TenantId::new(&table.tenant).map_err(|e| at("tenant", &e))?;
    let profiles = table.profiles.iter().map(ProfileId::new);
    let profiles: Result<Vec<_>, _> = profiles.collect();
    let people = table.people.iter().map(|person| {
        let subject = PersonId::new(&person.subject).map_err(|e| at("people.subject", &e))?;
        Ok(ChannelPerson {
            from: person.from.clone(),
            subject,
            groups: person.groups.clone(),
        })
    });
    let people = people.collect::<Result<Vec<_>, String>>()?;
    told_apart(&table.people).map_err(|e| at("people.from", &e))?;
    let target = |url: &str| Target::parse(url).map_err(|e| at("url", &e));
    let (way, limits) = match table.kind {
        Kind::Webhook => {
            let url = table
                .url
                .as_deref()
                .ok_or_else(|| at("url", &"is missing"))?;
            let signing = SigningKey::parse(&secret).ok_or_else(|| {
                at(
                    "credential_file",
                    &"must hold whsec_ and base64 of 24 to 64 bytes",
                )
            })?;
            let target = target(url)?;
            (Way::Webhook { target, signing }, WEBHOOK_LIMITS)
        }
        Kind::Wechat => {
            // A bot talks with the one person who signed it in.
            if people.len() != 1 || people.iter().any(|p| p.from.is_none()) {
                return Err(at("people", &"must name one person, with from"));
            }
            let target = target(table.url.as_deref().unwrap_or(ILINK))?;
            (
                Way::WeChat {
                    target,
                    bot: secret,
                },
                WECHAT_LIMITS,
            )
        }
    };
    let limits = table.limits.unwrap_or(limits);
    if limits.message.most < LEAST_MESSAGE {
        return Err(at(
            "limits.message.most",
            &format!("must be at least {LEAST_MESSAGE}"),
        ));
    }
    Ok(ChannelOptions {
        name: table.name.clone(),
        tenant,
        profiles: profiles.map_err(|e| at("profiles", &e))?,
        language: table.language,
        limits,
        people,
        way,
        retries: Retries::default(),
    })
}

/// The one line of a file that nobody else may read.
fn secret(path: &Path) -> Result<String, String> {
    let told = |problem: &dyn std::fmt::Display| format!("{}: {problem}", path.display());
    let text = std::fs::read_to_string(path).map_err(|e| told(&e))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(path)
            .map_err(|e| told(&e))?
            .permissions()
            .mode();
        if mode & 0o077 != 0 {
            return Err(told(&"others may read it; chmod 600"));
        }
    }
    let line = text.trim();
    if line.is_empty() || line.lines().count() > 1 {
        return Err(told(&"must hold one line"));
    }
    Ok(line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use figment::providers::{Format as _, Toml};

    const SIGNING: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n";

    fn read(dir: &Path, toml: &str) -> Result<Vec<ChannelOptions>, String> {
        #[derive(Deserialize)]
        struct Tables {
            channels: Vec<ChannelTable>,
        }
        let toml = toml.replace("DIR", &dir.display().to_string());
        let tables: Result<Tables, _> = figment::Figment::from(Toml::string(&toml)).extract();
        options(&tables.map_err(|e| e.to_string())?.channels, dir)
    }

    fn write(dir: &Path, name: &str, text: &str, mode: u32) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = dir.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_channel_is_what_its_table_says() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "signing", SIGNING, 0o600);
        write(dir.path(), "bot", "b@im.bot:0600", 0o600);
        let table = r#"
            [[channels]]
            name = "team"
            kind = "webhook"
            tenant = "acme"
            profiles = ["web", "app"]
            language = "zh"
            url = "https://hooks.example/askbus"
            credential_file = "DIR/signing"
            limits = { message = { most = 2048, unit = "bytes" }, messages = 4 }
            people = [{ from = "U1", subject = "ann", groups = ["ops"] }, { from = "U2", subject = "bob" }]
            [[channels]]
            name = "mine"
            kind = "wechat"
            credential_file = "bot"
            people = [{ from = "o9@im.wechat", subject = "ann" }]
        "#;
        let channels = read(dir.path(), table).unwrap();
        let team = &channels[0];
        assert_eq!((team.name.as_str(), team.tenant.as_str()), ("team", "acme"));
        assert_eq!((team.profiles.len(), team.people.len()), (2, 2));
        assert_eq!(
            (team.language, team.limits.message.unit),
            (Some(Language::Zh), Unit::Bytes)
        );
        assert_eq!(channels[1].tenant.as_str(), crate::home::TENANT);
        let shown = format!("{channels:?}");
        for secret in ["MfKQ9r8", "0600", "askbus\""] {
            assert!(!shown.contains(secret), "{secret}: {shown}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "signing", SIGNING, 0o600);
        write(dir.path(), "open", SIGNING, 0o644);
        write(dir.path(), "copy", SIGNING.trim(), 0o600);
        write(dir.path(), "short", "whsec_c2hvcnQ=", 0o600);
        write(dir.path(), "two", "a\nb\n", 0o600);
        let table = |url: &str, file: &str, people: &str, more: &str| {
            format!(
                "[[channels]]\nname = \"team\"\nkind = \"webhook\"\nurl = \"{url}\"\n\
                 credential_file = \"DIR/{file}\"\npeople = [{people}]\n{more}\n"
            )
        };
        let (good, ann) = ("https://hooks.example/", "{ subject = \"ann\" }");
        assert!(read(dir.path(), &table(good, "signing", ann, "")).is_ok());
        for (toml, words) in [
            (table("http://hooks.example/", "signing", ann, ""), "must begin with https"),
            (table(good, "none", ann, ""), "credential_file"),
            (table(good, "open", ann, ""), "chmod 600"),
            (table(good, "short", ann, ""), "24 to 64 bytes"),
            (table(good, "two", ann, ""), "one line"),
            (table(good, "signing", "{ subject = \" \" }", ""), "people.subject"),
            (table(good, "signing", ann, "secret = \"x\""), "secret"),
            (
                table(good, "signing", "{ from = \"U1\", subject = \"ann\" }, { from = \"U1\", subject = \"bob\" }", ""),
                "people.from names U1 twice",
            ),
            (
                table(good, "signing", "{ from = \"U1\", subject = \"ann\" }, { subject = \"bob\" }", ""),
                "people.from is missing",
            ),
            (table(good, "signing", "{ from = \" \", subject = \"ann\" }", ""), "people.from is blank"),
            (
                // The same key in another file is the same key.
                table(good, "signing", ann, "") + &table(good, "copy", ann, "").replace("team", "ops"),
                "channel ops: credential_file holds what channel team has",
            ),
            (
                table(good, "signing", ann, "limits = { message = { most = 9, unit = \"bytes\" }, messages = 1 }"),
                "limits.message.most",
            ),
            (
                "[[channels]]\nname = \"m\"\nkind = \"wechat\"\ncredential_file = \"DIR/two\"\npeople = []\n".to_owned(),
                "one line",
            ),
        ] {
            let problem = read(dir.path(), &toml).unwrap_err();
            assert!(problem.contains(words), "{words}: {problem}");
        }
    }
}
