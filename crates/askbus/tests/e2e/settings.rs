//! Settings that mean nothing are refused where they are read, and those that are shown count.

use crate::support::BINARY;
use anyhow::Result;
use askbus_testkit::{Askbus, AskbusUp, folder};

#[tokio::test]
async fn a_setting_that_means_nothing_is_refused_by_every_command() -> Result<()> {
    let home = folder()?;
    for (name, value) in [
        ("toolset", "zz"),
        ("call_budget_ms", "0"),
        ("lease_ms", "0"),
        ("lease_ms", "999"),
    ] {
        let variable = format!("ASKBUS_{}", name.to_uppercase());
        let askbus = Askbus::new(BINARY, home.path()).env(&variable, value);
        for command in [&["up"][..], &["config", "show"], &["ask", "Which?"]] {
            let done = askbus.run(command).await?;
            assert_eq!(done.code, 78, "{name}={value}, {command:?}: {done:?}");
            assert!(done.stderr.contains(name), "{done:?}");
            assert_eq!(done.stdout, "");
        }
    }
    let least = Askbus::new(BINARY, home.path())
        .env("ASKBUS_TOOLSET", "studio")
        .env("ASKBUS_CALL_BUDGET_MS", "1")
        .env("ASKBUS_LEASE_MS", "1000");
    assert_eq!(least.run(&["config", "show"]).await?.code, 0);
    Ok(())
}

#[tokio::test]
async fn the_largest_log_is_the_one_that_is_set_without_nats_too() -> Result<()> {
    let up = AskbusUp::start_with(BINARY, &[], &[("ASKBUS_LOG_MAX_BYTES", "400")]).await?;
    let done = up.askbus().run(&["ask", "Is there room?"]).await?;
    assert_eq!(done.code, 69, "{done:?}");
    assert!(done.stderr.contains("full"), "{done:?}");
    assert!(up.person().await?.pending().await?.is_empty());
    Ok(())
}
