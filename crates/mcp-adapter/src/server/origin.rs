//! Which agent asks, as its client says in a call's `_meta`.

use crate::asker::Origin;
use serde_json::{Map, Value};

/// What Codex says of the turn behind a call.
const CODEX_TURN: &str = "x-codex-turn-metadata";
/// A claim is cut, never refused.
const MAX_CHARS: usize = 100;

/// Codex names its session, its thread and its turn; a thread other than the session is a sub-agent
/// (D15). Other clients say nothing of the kind.
pub(super) fn of(meta: &Map<String, Value>) -> Origin {
    let parsed;
    let turn = match meta.get(CODEX_TURN) {
        Some(Value::Object(turn)) => turn,
        // As it stands in a header.
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(Value::Object(turn)) => {
                parsed = turn;
                &parsed
            }
            _ => return Origin::default(),
        },
        _ => return Origin::default(),
    };
    let word = |name: &str, own_name: &str| {
        let text = turn.get(name).or_else(|| meta.get(own_name))?.as_str()?;
        let text: String = text
            .trim()
            .chars()
            .filter(|c| !c.is_control())
            .take(MAX_CHARS)
            .collect();
        (!text.is_empty()).then_some(text)
    };
    let session = word("session_id", "sessionId");
    let thread = word("thread_id", "threadId").or_else(|| session.clone());
    let sub_agent = thread != session;
    Origin {
        turn: word("turn_id", "turnId"),
        parent: session.filter(|_| sub_agent),
        name: word("subagent_kind", "subagentKind")
            .filter(|_| sub_agent)
            .unwrap_or_default(),
        session: thread,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The `_meta` of a call in the form that Codex 0.171 sends; put together, not recorded.
    fn codex(thread: &str) -> Value {
        json!({
            "progressToken": 3, "callId": "call_1", "itemId": "fc_1",
            "threadId": thread, "sessionId": "0199c2a0-5d6e-7a30-8f7c-0a1b2c3d4e5f",
            "x-codex-turn-metadata": {
                "session_id": "0199c2a0-5d6e-7a30-8f7c-0a1b2c3d4e5f", "thread_id": thread,
                "turn_id": "0199c2a0-6b10-7e21-9d0c-1a2b3c4d5e6f", "model": "gpt-5.5",
                "sandbox": "workspace-write",
            },
        })
    }

    fn origin(meta: &Value) -> Origin {
        of(meta.as_object().unwrap())
    }

    // contract: D15
    #[test]
    fn a_thread_other_than_the_session_is_a_sub_agent_of_it() {
        let root = "0199c2a0-5d6e-7a30-8f7c-0a1b2c3d4e5f";
        let turn = Some("0199c2a0-6b10-7e21-9d0c-1a2b3c4d5e6f".to_owned());
        let expected = Origin {
            session: Some(root.to_owned()),
            turn: turn.clone(),
            ..Origin::default()
        };
        assert_eq!(origin(&codex(root)), expected);
        let sub = "0199c2a1-0000-7000-8000-000000000001";
        let expected = Origin {
            session: Some(sub.to_owned()),
            turn,
            parent: Some(root.to_owned()),
            name: String::new(),
        };
        assert_eq!(origin(&codex(sub)), expected);
        // As text, as it stands in a header.
        let mut text = codex(sub);
        text[CODEX_TURN] = text[CODEX_TURN].to_string().into();
        assert_eq!(origin(&text), expected);
    }

    #[test]
    fn clients_that_say_nothing_ask_as_themselves() {
        for meta in [
            json!({}),
            json!({"claudecode/toolUseId": "toolu_1", "threadId": "t"}),
            json!({CODEX_TURN: null}),
            json!({CODEX_TURN: "not JSON"}),
            json!({CODEX_TURN: ["session_id"]}),
            json!({CODEX_TURN: {"session_id": 7, "thread_id": " "}}),
        ] {
            assert_eq!(origin(&meta), Origin::default(), "{meta}");
        }
    }
}
