//! Whatever a place behind a webhook, and the interface of WeChat, may send.

use super::{ilink, routes};
use askbus_fuzz::{Material, fuzz_bytes};
use serde_json::Value;

#[test]
fn fuzz_replies_of_webhooks() {
    let seeds = [
        r##"{"text":"1","from":"U17","reply_to":"#k7m2"}"##,
        r#"{"text":"","reply_to":null,"from":null}"#,
        r#"{"text":"❓ #k7m2.2 /text 1","reply_to":"01a22db2-b5ef-72d9-8d4d-32ea513796ea"}"#,
        r#"{"text":"1","written_at":"2027-01-15T08:00:00Z","else":[{}]}"#,
        r#"["1","U17"]"#,
        "",
    ];
    let words = [
        "\"text\":",
        "\"from\":",
        "\"reply_to\":",
        "\"written_at\":",
        "#k7m2",
    ];
    fuzz_bytes!(Material::of(&seeds, &words), |bytes: &[u8]| {
        let Ok(sent) = routes::read(bytes) else {
            return;
        };
        // Only an object says something, and what it says is its text.
        let object: Value = serde_json::from_slice(bytes).unwrap();
        assert!(object.is_object());
        assert_eq!(object["text"], sent.text);
    });
}

#[test]
fn fuzz_updates_of_wechat() {
    let seeds = [
        r#"{"ret":0,"msgs":[{"message_id":7,"from_user_id":"o9@im.wechat","message_type":1,"context_token":"C1","create_time_ms":5,"item_list":[{"type":1,"text_item":{"text":"1"},"ref_msg":{"title":"t","message_item":{"text_item":{"text":"❓ #b2c2"}}}}]}],"get_updates_buf":"buf-1"}"#,
        r#"{"msgs":[{},null,7,{"message_type":1}],"get_updates_buf":""}"#,
        r#"{"errcode":-14,"errmsg":"session timeout"}"#,
        r#"{"ret":-2}"#,
        "{}",
        "",
    ];
    let words = [
        "\"msgs\":",
        "\"ret\":",
        "\"errcode\":",
        "\"get_updates_buf\":",
        "\"message_id\":",
        "\"from_user_id\":",
        "\"message_type\":1",
        "\"context_token\":",
        "\"item_list\":",
        "\"text_item\":",
        "\"ref_msg\":",
        "-14",
    ];
    fuzz_bytes!(Material::of(&seeds, &words), |bytes: &[u8]| {
        let Ok(updates) = ilink::read_any_updates(bytes, "before") else {
            return;
        };
        // There is always a place to go on from, and every message has a name and an author.
        assert!(!updates.cursor.is_empty());
        for message in updates.messages {
            assert!(!message.id.is_empty() && !message.from.is_empty());
            assert!(
                message
                    .quotes
                    .is_none_or(|quoted| !quoted.trim().is_empty())
            );
        }
    });
}
