//! How many questions a second are asked and answered when many are on their way.

use super::asking::{Asker, Tally};
use super::place::Access;
use super::processes::{own_cpu_s, services_cpu_s};
use anyhow::{Context as _, Result};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use tokio::task::JoinSet;

/// Questions of one tenant on their way at the same time; fewer than a live connection takes.
const AT_ONCE: usize = 16;
/// Sessions of one tenant: an agent does not ask hundreds of questions in one turn.
const SESSIONS: usize = 64;

/// A gRPC `Ask`, the question shown on a live connection, answered on it, judged, heard by its asker.
#[derive(Debug, Clone, Serialize)]
pub struct Throughput {
    /// Of how many questions.
    pub questions: usize,
    /// In how many tenants, each with an asker and a person.
    pub tenants: usize,
    /// How many were on their way at the same time.
    pub at_once: usize,
    /// How long that took.
    pub seconds: f64,
    /// Questions asked and answered in a second.
    pub per_second: f64,
    /// Questions whose asker never heard the answer.
    pub lost: usize,
    /// Outcomes told a second time.
    pub repeated: usize,
    /// Processor time of the services for one question, in microseconds.
    pub services_cpu_us: f64,
    /// Processor time of this program for one question: it is asker and person at once.
    pub own_cpu_us: f64,
}

struct Party {
    asker: Arc<Asker>,
    tenant: String,
}

/// Asks and answers that many questions, after a tenth as many to warm up.
pub(crate) async fn measure(
    access: &Access,
    tenants: usize,
    questions: usize,
) -> Result<Throughput> {
    let each = (questions / tenants).max(1);
    let mut parties = Vec::with_capacity(tenants);
    for number in 0..tenants {
        let tenant = format!("tenant-{number}");
        let asker = access
            .asker(&tenant, &format!("asker-{number}"), SESSIONS.min(each))
            .await?;
        let asker = Arc::new(asker);
        parties.push(Party { asker, tenant });
    }
    let warm = each.div_ceil(10);
    round(access, &parties, warm).await?;
    let (services, own, begun) = (services_cpu_s(), own_cpu_s(), Instant::now());
    round(access, &parties, each).await?;
    let seconds = begun.elapsed().as_secs_f64();
    let asked = each * tenants;
    let of_one = |total: f64| (total * 1e6 / asked as f64).round();
    let tally: Tally = parties.iter().map(|p| p.asker.tally()).sum();
    Ok(Throughput {
        questions: asked,
        tenants,
        at_once: tenants * AT_ONCE.min(each),
        seconds: (seconds * 1e3).round() / 1e3,
        per_second: (asked as f64 / seconds).round(),
        lost: (asked + warm * tenants).saturating_sub(tally.answered),
        repeated: tally.repeated,
        services_cpu_us: of_one(services_cpu_s() - services),
        own_cpu_us: of_one(own_cpu_s() - own),
    })
}

/// Every party asks and answers `each` questions.
async fn round(access: &Access, parties: &[Party], each: usize) -> Result<()> {
    let mut work = JoinSet::new();
    for party in parties {
        let (mut person, _) = access.live_person(&party.tenant, "ann", None).await?;
        work.spawn(async move { person.answer_all(each).await.context("a person") });
        let next = Arc::new(AtomicUsize::new(0));
        for _ in 0..AT_ONCE {
            let (asker, next) = (Arc::clone(&party.asker), Arc::clone(&next));
            work.spawn(async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= each {
                        return Ok(());
                    }
                    let id = asker.ask(number).await?;
                    asker.outcome(&id).await?;
                }
            });
        }
    }
    while let Some(done) = work.join_next().await {
        done??;
    }
    Ok(())
}
