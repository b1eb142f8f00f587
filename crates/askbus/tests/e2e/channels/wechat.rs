//! WeChat, as far as it can be had without Tencent.

use super::{channel, up};
use anyhow::Result;
use askbus_testkit::{Browser, FakeILink};
use serde_json::{Value, json};

// contract: N4
#[tokio::test]
async fn a_conversation_in_wechat() -> Result<()> {
    let wechat = FakeILink::start().await?;
    let (mut up, _config) = up(&[wechat.table("mine", "ann", "language = \"zh\"")]).await?;
    let first = up.askbus().spawn(&[
        "ask",
        "部署到哪里？",
        "--choice",
        "预发布",
        "--choice",
        "生产",
        "--json",
    ])?;
    let second = up.askbus().spawn(&["ask", "叫什么名字？", "--json"])?;
    // Nothing can be said to somebody who never wrote.
    wechat.write("你好");
    let shown = wechat.says(&["部署到哪里？"]).await?;
    assert!(shown.contains("\n1. 预发布\n2. 生产\n"), "{shown}");
    let tag = shown
        .split_whitespace()
        .nth(1)
        .unwrap_or_default()
        .to_owned();
    let other = wechat.says(&["❓", "叫什么名字？"]).await?;
    let other = other
        .split_whitespace()
        .nth(1)
        .unwrap_or_default()
        .to_owned();

    wechat.write("１");
    wechat.says(&["有多个问题在等待", &tag, &other]).await?;
    wechat.write(&format!("{tag} ９"));
    wechat.says(&["没有选项 9"]).await?;
    wechat.write_as("somebody@im.wechat", &format!("{tag} 1"));
    wechat.write(&format!("{tag} 第二个"));
    wechat.says(&["已收到", "已选：生产"]).await?;
    let done = first.finish().await?;
    let answer: Value = serde_json::from_str(done.stdout.trim())?;
    assert_eq!(
        answer["answers"][0]["options"][0]["label"], "生产",
        "{answer}"
    );
    assert_eq!(answer["actor"]["surface"], "wechat:mine", "{answer}");
    wechat.write(&format!("{tag} 1"));
    wechat.says(&["你的回复来晚了"]).await?;

    // A restart repeats nothing and loses nothing.
    up.kill9().await?;
    up.restart().await?;
    wechat.write("/不回答");
    wechat.says(&["问题已被拒绝回答"]).await?;
    assert_eq!(second.finish().await?.code, 10);
    let asked = |m: &&[String; 3]| m[2].starts_with("❓") && m[2].contains("叫什么名字？");
    assert_eq!(
        wechat.sent().iter().filter(asked).count(),
        1,
        "{:#?}",
        wechat.sent()
    );

    // What is refused is kept and told later.
    wechat.refuse(Some(-2));
    let third = up.askbus().spawn(&["ask", "还在吗？", "--json"])?;
    let person = up.person().await?;
    let failing = async {
        loop {
            let shown = person.get("/api/channels").await?.body["channels"][0].clone();
            if shown["messages"][0]["problem"] == "it answered ret -2" {
                return anyhow::Ok(shown);
            }
            tokio::task::yield_now().await;
        }
    };
    let shown = askbus_testkit::within("a refusal", failing).await??;
    assert_eq!(shown["undelivered"], 1, "{shown}");
    wechat.refuse(None);
    wechat.says(&["还在吗？"]).await?;
    wechat.write("在");
    wechat.says(&["你的原话：在"]).await?;
    assert_eq!(third.finish().await?.code, 0);
    Ok(())
}

// contract: N4
#[tokio::test]
async fn a_chat_whose_messages_cannot_be_read_is_said_in_terminal_and_panel() -> Result<()> {
    let wechat = FakeILink::start().await?;
    wechat.garble(true);
    let (up, _config) = up(&[wechat.table("mine", "ann", "")]).await?;
    let person = up.person().await?;
    let known = async |wanted: &dyn Fn(&Value) -> bool| {
        let looking = async {
            // Who asks too often is refused for a moment.
            while !channel(&person)
                .await
                .is_ok_and(|shown| wanted(&shown["problem"]))
            {
                tokio::task::yield_now().await;
            }
        };
        askbus_testkit::within("what is known of the chat", looking).await
    };
    known(&Value::is_string).await?;
    let inbox = up.askbus().run(&["inbox"]).await?;
    assert_eq!(
        inbox.stderr,
        "askbus: the chat mine cannot be reached (its answer is not the JSON that was expected); \
         not delivered there: 0\n"
    );
    let browser = Browser::open(1100, 960).await?;
    let link = person.post("/api/sign-in-link", &json!({})).await?;
    browser
        .goto(link.body["url"].as_str().unwrap_or_default())
        .await?;
    browser.find("#channels:not([hidden])").await?;
    let said = "document.getElementById('channels').textContent";
    browser
        .until(&format!(
            "{said}.includes('is not the JSON that was expected')"
        ))
        .await?;
    browser.close().await?;
    wechat.garble(false);
    known(&Value::is_null).await?;
    assert_eq!(up.askbus().run(&["inbox"]).await?.stderr, "");
    // What was written meanwhile is read.
    wechat.write("hello");
    wechat.says(&["No question waits"]).await?;
    Ok(())
}
