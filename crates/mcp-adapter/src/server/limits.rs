//! How long a client waits for the result of a tool call, and so when a call that still waits for a
//! person has to be handed back.

use std::time::Duration;

/// Clients by the beginning of their name, and when their calls are handed back: without and with a
/// progress token. Measured; see `docs/clients.md`.
const CLIENTS: &[(&str, Duration, Duration)] = &[
    ("claude-code", HOUR, HOUR),
    ("grok-shell", HOUR, HOUR),
    ("opencode", UNKNOWN, HOUR),
    // The adapter of the same name sends no token, and counts by itself.
    ("pi-mcp", UNKNOWN, UNKNOWN),
    ("codex", secs(280), secs(280)),
    ("goose", secs(280), secs(280)),
    ("cursor", secs(280), secs(280)),
    ("visual studio code", secs(280), secs(280)),
    ("gemini-cli", secs(580), secs(580)),
    ("qwen", secs(580), secs(580)),
    ("antigravity", secs(170), secs(170)),
];
/// Not by its beginning: others begin with these letters too.
const PI: &str = "pi";
const HOUR: Duration = secs(3_600);
/// What every client known waits for.
const UNKNOWN: Duration = secs(50);

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// When a call is handed back, counted from its beginning. `budget` is the client's hard limit where
/// it is known; it is stronger than what its name says.
pub(super) fn hand_back(client: Option<&str>, token: bool, budget: Option<Duration>) -> Duration {
    if let Some(budget) = budget {
        let reserve = (budget / 10).clamp(Duration::from_millis(300), secs(10));
        return budget.saturating_sub(reserve).max(budget / 2);
    }
    let name = client.unwrap_or_default().trim().to_lowercase();
    if name == PI {
        return if token { HOUR } else { UNKNOWN };
    }
    let known = CLIENTS.iter().find(|(begin, ..)| name.starts_with(begin));
    known.map_or(
        UNKNOWN,
        |(_, silent, told)| {
            if token { *told } else { *silent }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    // contract: E13
    #[test]
    fn the_moment_of_hand_back_follows_from_the_client() {
        for (client, token, expected) in [
            (None, true, 50),
            (Some("someone"), true, 50),
            (Some("Zed"), false, 50),
            (Some("cline"), true, 50),
            (Some("dsh-mcp-client"), false, 50),
            (Some("claude-code"), true, 3_600),
            (Some("grok-shell-probe"), true, 3_600),
            (Some("opencode"), true, 3_600),
            (Some("opencode"), false, 50),
            (Some("pi"), true, 3_600),
            (Some("pi"), false, 50),
            (Some("pi-mcp-probe"), true, 50),
            (Some("pixie"), true, 50),
            (Some("codex-mcp-client"), true, 280),
            (Some("Goose"), true, 280),
            (Some("cursor-vscode"), true, 280),
            (Some("Visual Studio Code"), true, 280),
            (Some("gemini-cli-mcp-client"), true, 580),
            (Some("qwen-cli-mcp-client-probe"), true, 580),
            (Some("antigravity"), true, 170),
        ] {
            assert_eq!(hand_back(client, token, None), secs(expected), "{client:?}");
        }
    }

    // contract: E13
    #[test]
    fn a_known_budget_leaves_room_for_the_reply() {
        let after =
            |ms| hand_back(Some("codex"), true, Some(Duration::from_millis(ms))).as_millis();
        assert_eq!(after(3_000), 2_700);
        assert_eq!(after(360_000), 350_000);
        assert_eq!(after(20_000), 18_000);
        assert_eq!(after(500), 250);
        assert_eq!(after(1), 0);
    }
}
