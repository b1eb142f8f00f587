//! Who asks, as the person sees it.

use crate::support::{BINARY, asked, one_question};
use anyhow::Result;
use askbus_testkit::{AskbusUp, Browser, McpStdio};

// contract: E9 D15
#[tokio::test]
async fn the_person_sees_which_agent_asks_where_it_works_and_on_which_branch() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let git = up.askbus().home().join(".git");
    std::fs::create_dir(&git)?;
    std::fs::write(git.join("HEAD"), "ref: refs/heads/feature/login\n")?;
    let session = "6d3f2a10-0000-4000-8000-00000000c0de";
    let askbus = up.askbus().clone().env("CLAUDE_CODE_SESSION_ID", session);
    let mut client = McpStdio::connect(&askbus, &["mcp"]).await?;
    client
        .call(1, "ask_user", one_question("Who am I?", &[]))
        .await?;
    let shown = asked(&person, "Who am I?").await?;
    let asker = &shown["asker"];
    assert_eq!(asker["branch"], "feature/login", "{shown:#}");
    assert_eq!(asker["cwd"], up.askbus().home().display().to_string());
    assert_eq!(shown["session_id"], session);

    // The branch is that of the moment, not of the start.
    std::fs::write(git.join("HEAD"), "ref: refs/heads/other\n")?;
    client
        .call(2, "ask_user", one_question("And now?", &[]))
        .await?;
    let shown = asked(&person, "And now?").await?;
    assert_eq!(shown["asker"]["branch"], "other");

    let browser = Browser::open(1100, 960).await?;
    let link = person
        .post("/api/sign-in-link", &serde_json::json!({}))
        .await?;
    browser
        .goto(link.body["url"].as_str().unwrap_or_default())
        .await?;
    browser.find(".card[data-state=waiting]").await?;
    let text = browser.text().await;
    assert!(text.contains("feature/login"), "{text}");
    assert!(text.contains("c0de"), "{text}");
    browser.close().await
}
