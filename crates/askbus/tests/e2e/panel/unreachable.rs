//! A network that swallows what is sent without a word.

use super::fresh_link;
use crate::support::BINARY;
use anyhow::Result;
use askbus_testkit::{AskbusUp, Browser};

/// While it is told to, the question of who is signed in goes out and nothing comes back, not even an
/// error.
const SWALLOWED: &str = "
    const real = window.fetch;
    window.fetch = (path, how) => {
        if (!window.swallowed || !String(path).startsWith('/api/me')) return real(path, how);
        window.waits = true;
        return new Promise((_, fail) => {
            how?.signal?.addEventListener('abort', () => fail(how.signal.reason));
        });
    };
";

// contract: E12
#[tokio::test]
async fn a_request_that_never_ends_keeps_the_page_from_nothing() -> Result<()> {
    let mut up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let browser = Browser::open(1100, 960).await?;
    browser.before_pages(SWALLOWED).await?;
    browser.goto(&fresh_link(&person).await?).await?;
    browser.find("[data-connection=online]").await?;
    browser.run("window.swallowed = true").await?;
    up.kill9().await?;
    browser.until("window.waits === true").await?;
    up.restart().await?;
    browser.find("[data-connection=online]").await?;
    browser.close().await
}
