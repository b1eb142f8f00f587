//! An answer is read the same, however it is cut and however long it is.

use super::*;
use serde_json::json;

const SMALL: Limits = Limits {
    message: 300,
    messages: 100,
    rest: 80,
    all: 4_000,
};

fn message(n: usize, text: &str, padding: usize) -> Value {
    json!({"message_id": n, "from_user_id": "o9", "message_type": 1, "context_token": "C1",
        "item_list": [{"type": 1, "text_item": {"text": text}}], "else": "x".repeat(padding)})
}

fn read_in(limits: Limits, body: &str, cut: usize) -> Result<Parts, Failed> {
    let mut reading = Reading::with(limits);
    for part in body.as_bytes().chunks(cut) {
        if !reading.push(&Bytes::copy_from_slice(part)) {
            break;
        }
    }
    reading.done()
}

fn texts(parts: &Parts) -> Vec<&str> {
    parts.messages.iter().map(|m| m.text.as_str()).collect()
}

#[test]
fn messages_are_read_however_the_answer_is_cut() {
    let odd = "a \"]},[{\\ \u{1f600}";
    let body = json!({"ret": 0, "else": [["msgs", {"msgs": [1]}]],
        "msgs": [message(1, odd, 0), null, [7, [8]], {"message_type": 1}, message(2, "2", 0)],
        "get_updates_buf": "buf-2"});
    for body in [body.to_string(), format!(" {body:#}\n")] {
        for cut in 1..body.len() {
            let parts = read_in(LIMITS, &body, cut).unwrap();
            assert_eq!(texts(&parts), [odd, "2"], "{cut}");
            assert_eq!(
                (parts.response.get_updates_buf.as_str(), parts.left_out),
                ("buf-2", 0)
            );
        }
    }
}

#[test]
fn an_answer_without_messages_is_one() {
    for (body, cursor) in [
        ("", ""),
        ("{}", ""),
        ("{\"msgs\": [ ], \"get_updates_buf\": \"b\"}", "b"),
        ("{\"get_updates_buf\": \"msgs\", \"else\": [{}]}", "msgs"),
    ] {
        let parts = read_in(SMALL, body, 1).unwrap();
        assert_eq!(parts.response.get_updates_buf, cursor, "{body}");
        assert!(parts.messages.is_empty());
    }
}

#[test]
fn what_is_no_json_is_unreadable() {
    for body in [
        "{\"msgs\": [1,], \"ret\": 0}",
        "{\"msgs\": [,1]}",
        "{\"msgs\": [{]}",
        "{\"msgs\": [1 2]}",
        "{\"msgs\": [1",
        "{\"msgs\": 1}",
        "{\"msgs\": null}",
        "{\"msgs\": [], \"msgs\": []}",
        "{\"msgs\": []]",
        "[[1]",
        "{",
    ] {
        for cut in [1, 100] {
            let read = read_in(SMALL, body, cut);
            assert!(matches!(read, Err(Failed::Unreadable)), "{body}: {read:?}");
        }
    }
}

#[test]
fn what_is_too_large_is_left_out_and_the_rest_is_read() {
    let all = [
        message(1, "1", 0),
        message(2, "too large", 400),
        message(3, "3", 0),
        message(4, &"y".repeat(97), 0),
        message(5, "5", 0),
    ];
    let body = json!({"msgs": all, "get_updates_buf": "buf"}).to_string();
    let parts = read_in(SMALL, &body, 7).unwrap();
    assert_eq!(
        texts(&parts),
        ["1", "3", "5"],
        "of the fourth there is too much beside the others"
    );
    assert_eq!(
        (parts.left_out, parts.response.get_updates_buf.as_str()),
        (2, "buf")
    );
}

#[test]
fn there_is_an_end_to_what_is_read() {
    let many: Vec<Value> = (0..100).map(|n| message(n, "1", 0)).collect();
    let messages = json!({"msgs": many}).to_string();
    let rest = json!({"else": "x".repeat(100)}).to_string();
    for body in [messages, rest] {
        let read = read_in(SMALL, &body, 10);
        assert!(matches!(read, Err(Failed::TooLarge)), "{read:?}");
    }
}
