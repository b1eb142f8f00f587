//! How long services take to be ready over a long log.

use super::processes::{self, Resident};
use super::samples::millis;
use super::story;
use crate::deployment::{Deployment, Part, Services};
use anyhow::{Context as _, Result};
use askbus_domain::{Commit, Timestamp};
use askbus_ledger::jetstream::{self, JetStreamOptions};
use askbus_ledger::{Ledger, embedded};
use askbus_testkit::Signal;
use futures::StreamExt as _;
use futures::stream;
use serde::Serialize;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Sessions written side by side; the commits of each are written one after the other.
const AT_ONCE: usize = 1_024;

/// A log of settled questions, read from its beginning.
#[derive(Debug, Clone, Serialize)]
pub struct Replay {
    /// Messages in the log.
    pub events: u64,
    /// Written in a second, with the guard of each session.
    pub written_per_second: f64,
    /// From the start of each service until it is ready, in milliseconds.
    pub ready_ms: Vec<Ready>,
    /// Every service then.
    pub processes: Vec<Resident>,
}

/// One service.
#[derive(Debug, Clone, Serialize)]
pub struct Ready {
    /// `up`, `session-binding` or `gateway`.
    pub service: &'static str,
    /// How long it took.
    pub ms: f64,
}

/// Writes about that many messages while no service runs, and starts the services again.
pub(crate) async fn measure(mut deployment: Deployment, events: u64) -> Result<Replay> {
    stop_all(&mut deployment).await?;
    let sessions = events.div_ceil(story::COMMITS);
    let begun = Instant::now();
    let before = write(&deployment, sessions).await?;
    let written = sessions * story::COMMITS;
    let written_per_second = (written as f64 / begun.elapsed().as_secs_f64()).round();
    let ready_ms = match &mut deployment.services {
        Services::Embedded { up } => vec![ready("up", up).await?],
        Services::OnNats {
            bindings, gateway, ..
        } => {
            let mut ready_ms = Vec::new();
            for binding in bindings {
                ready_ms.push(ready("session-binding", binding).await?);
            }
            ready_ms.push(ready("gateway", gateway).await?);
            ready_ms
        }
    };
    Ok(Replay {
        events: before + written,
        written_per_second,
        ready_ms,
        processes: processes::services(),
    })
}

async fn stop_all(deployment: &mut Deployment) -> Result<()> {
    let parts: Vec<&mut Part> = match &mut deployment.services {
        Services::Embedded { up } => vec![up],
        Services::OnNats {
            bindings, gateway, ..
        } => bindings.iter_mut().chain([gateway]).collect(),
    };
    for part in parts {
        part.signal(Signal::TERM)?;
        part.process().wait().await?;
    }
    Ok(())
}

async fn ready(service: &'static str, part: &mut Part) -> Result<Ready> {
    let begun = Instant::now();
    part.restart().await?;
    let ms = millis(begun.elapsed());
    Ok(Ready { service, ms })
}

/// Writes the sessions; how many messages were in the log before.
async fn write(deployment: &Deployment, sessions: u64) -> Result<u64> {
    let tenant = deployment.tenant();
    match deployment.nats_urls() {
        None => {
            let (bus, handle) = embedded::open(deployment.home())?;
            let before = bus.ledger.last_seq().await?;
            let written = write_sessions(&*bus.ledger, tenant, sessions).await;
            drop(bus);
            handle.close().await;
            written.map(|()| before)
        }
        Some(url) => {
            let options = JetStreamOptions::new(url, "bench@writer");
            let (bus, _client, handle) = jetstream::connect(options).await?;
            askbus_ledger::until_reachable(&*bus.ledger).await?;
            let before = bus.ledger.last_seq().await?;
            let written = write_sessions(&*bus.ledger, tenant, sessions).await;
            drop(bus);
            handle.close().await;
            written.map(|()| before)
        }
    }
}

async fn write_sessions(ledger: &dyn Ledger, tenant: &str, sessions: u64) -> Result<()> {
    let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
    let now = Timestamp::from_unix_millis(now);
    let writes = stream::iter(0..sessions).map(|number| async move {
        let commits = story::session(tenant, number, now)?;
        write_session(ledger, &commits).await
    });
    let mut writes = writes.buffer_unordered(AT_ONCE);
    while let Some(written) = writes.next().await {
        written.context("writing a session")?;
    }
    Ok(())
}

async fn write_session(ledger: &dyn Ledger, commits: &[Commit]) -> Result<()> {
    let mut last = 0;
    for commit in commits {
        last = askbus_ledger::append(ledger, commit, last, None).await?;
    }
    Ok(())
}
