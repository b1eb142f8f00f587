//! The languages of texts that people read.

use serde::{Deserialize, Serialize};

/// A language that texts for people exist in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// English.
    #[default]
    En,
    /// Chinese.
    Zh,
}

impl Language {
    /// Every language.
    pub const ALL: [Language; 2] = [Language::En, Language::Zh];

    /// Its code.
    pub const fn as_str(self) -> &'static str {
        match self {
            Language::En => "en",
            Language::Zh => "zh",
        }
    }

    /// Reads a language tag such as `zh`, `zh-CN` or `en_GB.UTF-8`; none for other languages.
    pub fn parse(tag: &str) -> Option<Self> {
        let primary = tag.trim().split(['-', '_', '.']).next().unwrap_or_default();
        Self::ALL
            .into_iter()
            .find(|language| primary.eq_ignore_ascii_case(language.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read_by_their_first_part() {
        for (tag, expected) in [
            ("zh", Some(Language::Zh)),
            ("zh-Hant-TW", Some(Language::Zh)),
            ("ZH_cn.UTF-8", Some(Language::Zh)),
            (" en-GB", Some(Language::En)),
            ("english", None),
            ("C.UTF-8", None),
            ("", None),
        ] {
            assert_eq!(Language::parse(tag), expected, "{tag}");
        }
        for language in Language::ALL {
            assert_eq!(serde_json::to_value(language).unwrap(), language.as_str());
            assert_eq!(Language::parse(language.as_str()), Some(language));
        }
    }
}
