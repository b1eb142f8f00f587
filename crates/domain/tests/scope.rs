//! Which tools a host's turn offers.

use askbus_domain::{HostTurn, Scope};

fn chat() -> HostTurn {
    HostTurn {
        has_session: true,
        ..HostTurn::default()
    }
}

const PLAN_ONLY: Scope = Scope {
    plan: true,
    clarify: false,
};

// contract: E15
#[test]
fn every_row_of_the_scope_table() {
    let words = |text: &str| Some(text.to_owned());
    let table = [
        (chat(), Scope::FULL),
        (
            HostTurn {
                agent_kind: words("coding"),
                source: words("chat"),
                ..chat()
            },
            Scope::FULL,
        ),
        // A group chat.
        (
            HostTurn {
                source: words("group_chat"),
                ..chat()
            },
            Scope::FULL,
        ),
        (
            HostTurn {
                command: true,
                ..chat()
            },
            Scope::NONE,
        ),
        (
            HostTurn {
                source: words("workflow"),
                ..chat()
            },
            PLAN_ONLY,
        ),
        (
            HostTurn {
                source: words("global_agent"),
                ..chat()
            },
            PLAN_ONLY,
        ),
        (
            HostTurn {
                session_source: words("workflow"),
                ..chat()
            },
            PLAN_ONLY,
        ),
        (
            HostTurn {
                session_source: words("global_agent"),
                source: words("chat"),
                ..chat()
            },
            PLAN_ONLY,
        ),
        (
            HostTurn {
                agent_kind: words("hermes"),
                ..chat()
            },
            PLAN_ONLY,
        ),
        (
            HostTurn {
                natively_capable: true,
                ..chat()
            },
            Scope::NONE,
        ),
        (HostTurn::default(), Scope::NONE),
        (
            HostTurn {
                interaction_disabled: true,
                ..chat()
            },
            Scope::NONE,
        ),
        (
            HostTurn {
                terminal: true,
                ..chat()
            },
            Scope::NONE,
        ),
        // What excludes wins over what narrows.
        (
            HostTurn {
                source: words("workflow"),
                terminal: true,
                ..chat()
            },
            Scope::NONE,
        ),
        (
            HostTurn {
                agent_kind: words("hermes"),
                command: true,
                ..chat()
            },
            Scope::NONE,
        ),
    ];
    for (turn, expected) in table {
        assert_eq!(Scope::of(&turn), expected, "{turn:?}");
    }
}
