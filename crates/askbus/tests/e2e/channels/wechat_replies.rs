//! In WeChat nobody misses what became of what they wrote, and nothing counts twice.

use super::up;
use anyhow::Result;
use askbus_testkit::{FakeILink, McpStdio};
use serde_json::{Value, json};

fn two() -> Value {
    json!({"questions": [
        {"question": "Target?", "options": ["staging", "prod"]},
        {"question": "Drop the table?", "options": ["drop", "keep"]}]})
}

/// How often the person saw a text in which all of these stand.
fn seen(wechat: &FakeILink, parts: &[&str]) -> usize {
    let sent = wechat.sent();
    let has = |[.., text]: &&[String; 3]| parts.iter().all(|part| text.contains(part));
    sent.iter().filter(has).count()
}

async fn answers(client: &mut McpStdio) -> Result<Vec<String>> {
    let outcome = client.reply(1).await?["result"]["structuredContent"].clone();
    let answers = outcome["answers"].as_array().into_iter().flatten();
    let labels = answers.map(|a| {
        a["options"][0]["label"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    });
    Ok(labels.collect())
}

// contract: A2, N4
#[tokio::test]
async fn a_message_that_comes_again_counts_once() -> Result<()> {
    let wechat = FakeILink::start().await?;
    let (mut up, _config) = up(&[wechat.table("mine", "ann", "language = \"en\"")]).await?;
    wechat.write("hello");
    wechat.says(&["No question waits"]).await?;
    let mut client = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    client.call(1, "ask_user", two()).await?;
    wechat.says(&["(1/2) Target?"]).await?;
    // It dies while it tells what became of the reply: the reply comes again.
    wechat.never_answer();
    wechat.write("1");
    wechat.tries(&["(2/2) Drop the table?"], 1).await?;
    up.kill9().await?;
    wechat.refuse(None);
    up.restart().await?;
    wechat
        .says(&["Noted, 1 of 2", "(2/2) Drop the table?"])
        .await?;
    // The interface sends it once more.
    wechat.repeat_last();
    wechat.write("keep");
    wechat.says(&["Taken", "2) Chosen: keep"]).await?;
    assert_eq!(answers(&mut client).await?, ["staging", "keep"]);
    assert_eq!(seen(&wechat, &["Noted, 1 of 2"]), 1, "{:#?}", wechat.sent());
    Ok(())
}

// contract: A2, N4
#[tokio::test]
async fn what_became_of_a_reply_is_sent_until_it_is_taken() -> Result<()> {
    let wechat = FakeILink::start().await?;
    let (up, _config) = up(&[wechat.table("mine", "ann", "language = \"en\"")]).await?;
    wechat.write("hello");
    wechat.says(&["No question waits"]).await?;
    let mut client = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    client.call(1, "ask_user", two()).await?;
    wechat.says(&["(1/2) Target?"]).await?;
    wechat.refuse_next(2);
    wechat.write("1");
    wechat
        .says(&["Noted, 1 of 2", "(2/2) Drop the table?"])
        .await?;
    wechat.tries(&["(2/2) Drop the table?"], 3).await?;
    // What is said meanwhile is heard meanwhile.
    wechat.refuse(Some(-2));
    wechat.write("1");
    wechat.tries(&["Taken"], 1).await?;
    assert_eq!(answers(&mut client).await?, ["staging", "drop"]);
    wechat.write("/list");
    wechat.refuse(None);
    wechat.says(&["Taken", "2) Chosen: drop"]).await?;
    wechat.says(&["No question waits here"]).await?;
    // Whoever was told that it was taken does not hear that it ended.
    let another = up.askbus().spawn(&["ask", "And this?", "--json"])?;
    wechat.says(&["And this?"]).await?;
    wechat.write("fine");
    wechat.says(&["Taken", "fine"]).await?;
    assert_eq!(another.finish().await?.code, 0);
    let person = up.person().await?;
    let delivered = async {
        loop {
            let shown = person.get("/api/channels").await?.body["channels"][0].clone();
            if shown["undelivered"] == 0 {
                return anyhow::Ok(shown);
            }
            tokio::task::yield_now().await;
        }
    };
    askbus_testkit::within("everything is delivered", delivered).await??;
    assert_eq!(
        seen(&wechat, &["It was answered"]),
        0,
        "{:#?}",
        wechat.sent()
    );
    Ok(())
}

// contract: N4
#[tokio::test]
async fn a_quoted_list_names_nothing() -> Result<()> {
    let wechat = FakeILink::start().await?;
    let (up, _config) = up(&[wechat.table("mine", "ann", "language = \"zh\"")]).await?;
    wechat.write("你好");
    let choices = ["--choice", "甲", "--choice", "乙", "--json"];
    let _first = up
        .askbus()
        .spawn(&[&["ask", "第一？"][..], &choices].concat())?;
    let shown = wechat.says(&["❓", "第一？"]).await?;
    let _second = up
        .askbus()
        .spawn(&[&["ask", "第二？"][..], &choices].concat())?;
    wechat.says(&["❓", "第二？"]).await?;
    wechat.write("1");
    let list = wechat.says(&["有多个问题在等待"]).await?;
    wechat.write_about("2", &list);
    let again = &["有多个问题在等待"];
    wechat.tries(again, 2).await?;
    wechat.write_about("2", &shown);
    wechat.says(&["已收到", "已选：乙"]).await?;
    assert_eq!(seen(&wechat, &["已收到"]), 1, "{:#?}", wechat.sent());
    Ok(())
}

// contract: N4
#[tokio::test]
async fn an_interface_that_holds_no_call_is_not_asked_without_a_pause() -> Result<()> {
    let wechat = FakeILink::start().await?;
    let (up, _config) = up(&[wechat.table("mine", "ann", "language = \"en\"")]).await?;
    wechat.write("hello");
    wechat.says(&["No question waits"]).await?;
    wechat.hasty(true);
    let before = wechat.calls();
    // At least so long; a slow machine only leaves less time for calls.
    let asking = up.askbus().spawn(&["ask", "Anybody?", "--timeout", "4s"])?;
    assert_eq!(asking.finish().await?.code, 12);
    let calls = wechat.calls() - before;
    assert!(calls <= 8, "{calls} calls in four seconds");
    wechat.hasty(false);
    wechat.write("still there?");
    wechat.says(&["was the last one"]).await?;
    Ok(())
}
