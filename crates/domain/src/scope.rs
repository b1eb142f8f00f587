//! Which tools a host's turn offers (E15).

use serde::{Deserialize, Serialize};

/// What a host says of a turn it begins. A group chat is a chat turn like any other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostTurn {
    /// Whether the turn belongs to a session of the host.
    pub has_session: bool,
    /// Where the turn comes from, in the host's words.
    pub source: Option<String>,
    /// Where its session comes from, in the host's words.
    pub session_source: Option<String>,
    /// The kind of agent; none is a coding agent.
    pub agent_kind: Option<String>,
    /// Whether the input is a slash command.
    pub command: bool,
    /// Whether the agent shows plans and asks by means of its own.
    pub natively_capable: bool,
    /// Whether the interaction server is switched off for this agent and profile.
    pub interaction_disabled: bool,
    /// Whether the agent runs in a bare terminal, without a host's interface.
    pub terminal: bool,
}

/// Which tools a turn offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// The plan card.
    pub plan: bool,
    /// Questions.
    pub clarify: bool,
}

/// The agent kind that asks and plans; every other kind only plans.
const CODING: &str = "coding";
/// Sources whose turns nobody watches closely enough to be asked.
const PLAN_ONLY_SOURCES: [&str; 2] = ["workflow", "global_agent"];

impl Scope {
    /// Everything; also of turns that say nothing of themselves.
    pub const FULL: Scope = Scope {
        plan: true,
        clarify: true,
    };
    /// Nothing.
    pub const NONE: Scope = Scope {
        plan: false,
        clarify: false,
    };

    /// The scope of a turn (E15). What excludes comes before what narrows.
    pub fn of(turn: &HostTurn) -> Self {
        if turn.natively_capable
            || !turn.has_session
            || turn.interaction_disabled
            || turn.terminal
            || turn.command
        {
            return Self::NONE;
        }
        let plan_only = |source: &Option<String>| {
            source
                .as_deref()
                .is_some_and(|s| PLAN_ONLY_SOURCES.contains(&s))
        };
        let coding = turn.agent_kind.as_deref().is_none_or(|k| k == CODING);
        Self {
            plan: true,
            clarify: coding && !plan_only(&turn.source) && !plan_only(&turn.session_source),
        }
    }
}

impl Default for Scope {
    fn default() -> Self {
        Self::FULL
    }
}
