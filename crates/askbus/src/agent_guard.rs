//! An agent must not answer itself: the answering commands refuse to run inside one.
//!
//! With agent and person under one OS user this is a guard rail, not a wall. A wall is a separate
//! user or a container, where the agent cannot read the person's credential.

use crate::exit::{Failure, NOT_ALLOWED};

/// Variables that agents and their hosts set for what they run.
const MARKERS: &[&str] = &[
    "ASKBUS_CONTEXT",
    "CLAUDECODE",
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_SANDBOX",
    "CODEX_SESSION_ID",
    "CODEX_THREAD_ID",
    "DSH_SESSION_ID",
    "GEMINI_CLI",
    "GROK_SESSION_ID",
    "OPENCODE",
    "OPENCODE_SESSION_ID",
    "PI_SESSION_ID",
    "QWEN_CODE",
    "QWEN_CODE_SESSION_ID",
];

/// What the agent around this process calls its conversation.
pub(crate) fn session() -> Option<String> {
    let names = MARKERS
        .iter()
        .filter(|name| name.ends_with("_SESSION_ID") || name.ends_with("_THREAD_ID"));
    // A thread is the narrower one, and comes after the session in the list.
    let values = names.rev().filter_map(|name| std::env::var(name).ok());
    let mut values = values.map(|value| value.trim().to_owned());
    values.find(|value| askbus_domain::SessionId::new(value.as_str()).is_ok())
}

/// Refuses when one of the markers is set.
pub(crate) fn refuse_agents() -> Result<(), Failure> {
    let found = MARKERS
        .iter()
        .find(|name| std::env::var_os(name).is_some_and(|v| !v.is_empty()));
    match found {
        None => Ok(()),
        Some(name) => Err(Failure::new(
            NOT_ALLOWED,
            format!(
                "an agent does not answer questions, and {name} says that this runs inside one. \
                 Nothing was sent; answer in the panel or in a terminal of your own"
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::MARKERS;

    // contract: P9
    #[test]
    fn our_own_marker_survives_hosts_that_strip_secrets() {
        for word in ["KEY", "PASSWORD", "SECRET", "TOKEN"] {
            assert!(
                MARKERS
                    .iter()
                    .all(|m| !m.starts_with("ASKBUS") || !m.contains(word))
            );
        }
    }
}
