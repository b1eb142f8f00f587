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

/// Whoever runs a command beside somebody else's service is told what is missing, not that it is away.
#[tokio::test]
async fn a_service_elsewhere_without_a_credential_for_it_is_not_said_to_be_away() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let own = up.askbus().home().join("credentials/person");
    let address = up.url().trim_start_matches("http://");
    let home = folder()?;
    let elsewhere = Askbus::new(BINARY, home.path()).env("ASKBUS_URL", address);
    for command in [&["inbox"][..], &["ask", "Which?"]] {
        let done = elsewhere.run(command).await?;
        assert_ne!(done.code, 0, "{done:?}");
        assert!(done.stderr.contains("ASKBUS_CREDENTIAL"), "{done:?}");
        assert!(!done.stderr.contains("can be reached"), "{done:?}");
    }
    let slip = elsewhere.clone().env("ASKBUS_CREDENTIAL", "nofile");
    let done = slip.run(&["inbox"]).await?;
    assert_eq!(done.code, 78, "{done:?}");
    assert!(done.stderr.contains("no file nofile"), "{done:?}");
    // A host and a port are enough.
    let named = elsewhere.env("ASKBUS_CREDENTIAL", own.display().to_string());
    let done = named.run(&["inbox", "--json"]).await?;
    assert_eq!(done.code, 0, "{done:?}");
    Ok(())
}

#[tokio::test]
async fn a_folder_without_keys_makes_no_credential() -> Result<()> {
    let home = folder()?;
    let askbus = Askbus::new(BINARY, home.path());
    let keys = home.path().join("kyes");
    let named = keys.display().to_string();
    let dir = ["--signing-dir", &named];
    let issue = ["issue", "--role", "agent", "--sub", "bot"];
    let done = askbus
        .run(&[&["credential"], &dir[..], &issue[..]].concat())
        .await?;
    assert_eq!(done.code, 64, "{done:?}");
    assert!(done.stderr.contains("credential init"), "{done:?}");
    assert!(!keys.exists());
    let init = [&["credential"], &dir[..], &["init"]].concat();
    assert_eq!(askbus.run(&init).await?.code, 0);
    let done = askbus
        .run(&[&["credential"], &dir[..], &issue[..]].concat())
        .await?;
    assert_eq!(done.code, 0, "{done:?}");
    Ok(())
}
