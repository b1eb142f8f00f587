//! The victims: how each is hit, and how an operator brings it back.

use super::agents::Agents;
use super::plan::{Chance, Hit, Victim};
use crate::deployment::{Deployment, Part, Services};
use anyhow::{Result, bail};
use askbus_testkit::{NatsServer, Signal};

/// Which of several is hit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    adapter: usize,
    binding: usize,
}

impl Choice {
    pub(super) fn of(chance: &mut Chance, adapters: usize, bindings: usize) -> Self {
        Self {
            adapter: chance.between(0, adapters.saturating_sub(1)),
            binding: chance.between(0, bindings.saturating_sub(1)),
        }
    }
}

/// What of the services is hit.
struct Targets<'a> {
    nats: Vec<&'a mut NatsServer>,
    /// Before the others: they need it.
    bindings: Vec<&'a mut Part>,
    gateway: Option<&'a mut Part>,
}

fn targets(services: &mut Services, victim: Victim, choice: Choice) -> Targets<'_> {
    let mut targets = Targets {
        nats: Vec::new(),
        bindings: Vec::new(),
        gateway: None,
    };
    match services {
        Services::Embedded { up } => match victim {
            Victim::Adapter | Victim::Host => {}
            _ => targets.bindings.push(up),
        },
        Services::OnNats {
            nats,
            bindings,
            gateway,
        } => {
            let all = matches!(victim, Victim::Everything);
            if all || victim == Victim::NatsServer {
                targets.nats.extend(nats.iter_mut());
            }
            if all || victim == Victim::SessionBindings {
                targets.bindings.extend(bindings.iter_mut());
            } else if matches!(victim, Victim::SessionBinding | Victim::AdapterAndReplica) {
                targets.bindings.extend(bindings.get_mut(choice.binding));
            }
            if all || victim == Victim::Gateway {
                targets.gateway = Some(gateway);
            }
        }
    }
    targets
}

fn signal(
    deployment: &mut Deployment,
    agents: &mut Agents,
    victim: Victim,
    choice: Choice,
    signal: Signal,
) -> Result<()> {
    match victim {
        Victim::Adapter | Victim::AdapterAndReplica => {
            agents.hit_adapter(choice.adapter, signal)?;
        }
        Victim::Host => agents.hit_host(signal)?,
        Victim::Everything => agents.hit_all(signal)?,
        _ => {}
    }
    let targets = targets(&mut deployment.services, victim, choice);
    for server in &targets.nats {
        server.signal(signal)?;
    }
    for part in targets.bindings.iter().chain(&targets.gateway) {
        part.signal(signal)?;
    }
    Ok(())
}

/// Hits the victim, all of it at once.
///
/// # Errors
/// When a process had ended before.
pub(super) fn hit(
    deployment: &mut Deployment,
    agents: &mut Agents,
    victim: Victim,
    choice: Choice,
    hit: Hit,
) -> Result<()> {
    signal(deployment, agents, victim, choice, hit.signal())
}

/// Brings the victim back: what was stopped goes on, services that were killed are started again.
/// Agents that were killed stay dead.
///
/// # Errors
/// When a service does not come back.
pub(super) async fn bring_back(
    deployment: &mut Deployment,
    agents: &mut Agents,
    victim: Victim,
    choice: Choice,
    hit: Hit,
) -> Result<()> {
    if hit == Hit::Stop {
        return signal(deployment, agents, victim, choice, Signal::CONT);
    }
    let targets = targets(&mut deployment.services, victim, choice);
    for server in targets.nats {
        server.kill9().await?;
        server.restart().await?;
    }
    let parts = targets.bindings.into_iter().chain(targets.gateway);
    let mut starting = parts.map(Part::restart).collect::<Vec<_>>();
    // At most two session-bindings and a gateway.
    match (
        starting.pop(),
        starting.pop(),
        starting.pop(),
        starting.pop(),
    ) {
        (Some(one), Some(two), Some(three), None) => tokio::try_join!(one, two, three).map(drop),
        (Some(one), Some(two), None, None) => tokio::try_join!(one, two).map(drop),
        (Some(one), None, None, None) => one.await,
        (None, None, None, None) => Ok(()),
        _ => bail!("more services than a round knows how to start"),
    }
}
