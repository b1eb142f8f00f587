//! Whatever a client may send.

use super::lines::Verdict;
use super::{lines, origin};
use askbus_fuzz::{Material, Names, fuzz_bytes, fuzz_json};
use rmcp::model::RequestId;
use serde_json::Value;

#[test]
fn fuzz_lines_of_a_client() {
    let seeds = [
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"ask_user","arguments":{"questions":["q"]},"_meta":{"progressToken":1}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"r"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{"_meta":{}}}"#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
    ];
    let words = [
        "\"id\":null",
        "\"jsonrpc\":\"1.0\"",
        "\"method\":\"ping\"",
        "\"params\":",
        "\u{feff}",
        "\"\\ud83d\"",
        "\\",
    ];
    fuzz_bytes!(Material::of(&seeds, &words), |bytes: &[u8]| {
        for era_known in [false, true] {
            match lines::judge(bytes, era_known) {
                Verdict::Take(message) => {
                    lines::decides_era(&message);
                }
                Verdict::Drop => {}
                Verdict::Refuse(error, id) => {
                    assert!(!error.message.is_empty());
                    // Whoever waits under an id that can be read hears of it.
                    let read: Option<Value> = serde_json::from_slice(bytes).ok();
                    let field = |name: &str| read.as_ref().and_then(|v| v.get(name)).cloned();
                    let asked = field("method").is_some_and(|method| method.is_string());
                    let wanted = field("id").and_then(|id| serde_json::from_value(id).ok());
                    let is_short = |id: &RequestId| id.to_string().len() <= lines::MAX_ID;
                    if asked && wanted.as_ref().is_some_and(is_short) {
                        assert_eq!(id, wanted);
                    }
                }
            }
        }
    });
}

#[test]
fn fuzz_what_a_client_says_of_its_agent() {
    const NAMES: Names = Names {
        fields: &[
            "x-codex-turn-metadata",
            "x-codex-turn-metadata",
            "session_id",
            "thread_id",
            "turn_id",
            "subagent_kind",
            "sessionId",
            "threadId",
            "turnId",
        ],
        words: &[
            "thread-1",
            "thread-2",
            "{\"session_id\":\"s\",\"thread_id\":\"t\"}",
            "\u{7}",
        ],
    };
    fuzz_json!(NAMES, |meta: Value| {
        let Some(meta) = meta.as_object() else {
            return;
        };
        let origin = origin::of(meta);
        for name in [&origin.session, &origin.turn, &origin.parent]
            .into_iter()
            .flatten()
        {
            assert!(!name.is_empty() && name.chars().count() <= 100);
            assert!(!name.contains(char::is_control));
        }
        // Nobody is their own sub-agent.
        assert!(origin.parent.is_none() || origin.parent != origin.session);
    });
}
