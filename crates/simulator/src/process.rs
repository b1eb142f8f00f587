//! One process of a service through its lives: it crashes, stops, loses the bus or its callers, and
//! comes back.

use crate::faulty::{self, Line, Switch};
use crate::network;
use crate::random::Random;
use crate::world::{LEASE, World, keys};
use askbus_gateway as gateway;
use askbus_ledger::Bus;
use askbus_session_binding as session_binding;
use askbus_wire::clock::Clock;
use askbus_wire::memory::MemoryAddress;
use askbus_wire::targets::Targets;
use askbus_wire::tenants::Tenants;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A service that was told to stop has ended by then, bus or no bus.
const STOPS_WITHIN: Duration = Duration::from_secs(30);

/// Which service a process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    SessionBinding,
    Gateway,
}

/// How a process's lives differ from another's.
#[derive(Debug, Clone)]
pub(crate) struct Nature {
    pub service: Service,
    pub index: usize,
    /// Whom it serves.
    pub tenants: Tenants,
    /// Where a gateway finds the replicas.
    pub replicas: Targets,
    pub skew_ms: i64,
    pub deadly_percent: u32,
    pub deadly_permille: u32,
    pub fragile_permille: u32,
    pub error_ms: i64,
    pub slow_tail: Duration,
    /// Whether anything is done to it at all.
    pub troubled: bool,
}

#[derive(Clone, Copy)]
enum Trouble {
    Crash,
    Stop,
    Cut,
    Silence,
    Reset,
    Nothing,
}

enum Running {
    SessionBinding(session_binding::Handle),
    Gateway(gateway::Handle),
}

impl Running {
    async fn join(self) {
        match self {
            Self::SessionBinding(handle) => handle.join().await,
            Self::Gateway(handle) => handle.join().await,
        }
    }
}

/// What a process is started with.
struct Start {
    nature: Nature,
    bus: Bus,
    clock: Clock,
    listen: MemoryAddress,
    instance: String,
}

impl Start {
    /// None when it was stopped before it was ready; what is wrong when it does not start.
    async fn run(self, world: &World, stop: CancellationToken) -> Result<Option<Running>, String> {
        match self.nature.service {
            Service::SessionBinding => {
                let options = session_binding::Options {
                    bus: self.bus,
                    clock: self.clock,
                    verifier: keys().verifier.clone(),
                    listen: session_binding::Listen::Memory(self.listen),
                    tenants: self.nature.tenants,
                    instance: self.instance,
                    lease: LEASE,
                    heartbeat: session_binding::Options::heartbeat_for(LEASE),
                    policy: world.policy.clone(),
                    people: None,
                    waiting: askbus_domain::WaitingLimits::default(),
                };
                match session_binding::start(options, stop).await {
                    Ok(handle) => Ok(Some(Running::SessionBinding(handle))),
                    Err(session_binding::StartError::Stopped) => Ok(None),
                    Err(error) => Err(error.to_string()),
                }
            }
            Service::Gateway => {
                let options = gateway::Options {
                    bus: self.bus,
                    clock: self.clock,
                    verifier: keys().verifier.clone(),
                    listen: gateway::Listen::Memory(self.listen),
                    tenants: self.nature.tenants,
                    session_binding: self.nature.replicas,
                    sign_in: None,
                    single_machine: false,
                    mcp: None,
                    host_names: Vec::new(),
                    channels: Vec::new(),
                    instance: self.instance,
                    version: "0.0.0-simulated".to_owned(),
                };
                match gateway::start(options, stop).await {
                    Ok(handle) => Ok(Some(Running::Gateway(handle))),
                    Err(gateway::GatewayError::Stopped) => Ok(None),
                    Err(error) => Err(error.to_string()),
                }
            }
        }
    }
}

/// Lives until the run is over.
pub(crate) async fn live(world: Arc<World>, nature: Nature, mut random: Random) {
    let mut life = 0;
    while !world.over.is_cancelled() {
        life += 1;
        live_once(&world, &nature, life, &mut random).await;
        let pause = random.millis(0, 5_000);
        let _ = tokio::time::timeout(pause, world.calm.cancelled()).await;
    }
}

async fn live_once(world: &Arc<World>, nature: &Nature, life: u32, random: &mut Random) {
    let troubled = nature.troubled && !world.calm.is_cancelled();
    let line = Arc::new(Line {
        dead: CancellationToken::new(),
        cut: Switch::default(),
        silent: Switch::default(),
        skew_ms: nature.skew_ms,
        deadly_percent: if troubled { nature.deadly_percent } else { 0 },
        deadly_permille: if troubled { nature.deadly_permille } else { 0 },
        fragile_permille: nature.fragile_permille,
        error_ms: nature.error_ms,
        slow_tail: nature.slow_tail,
        random: Mutex::new(random.fork()),
        told: AtomicBool::default(),
    });
    let (back, stop) = (MemoryAddress::new(), CancellationToken::new());
    let (front, kind) = match nature.service {
        Service::SessionBinding => (world.fronts.get(nature.index), "r"),
        Service::Gateway => (world.gateways.get(nature.index), "g"),
    };
    let start = Start {
        nature: nature.clone(),
        bus: faulty::through(&line, &world.bus),
        clock: Clock::virtual_at(world.clock.now(), nature.skew_ms, random.seed()),
        listen: back.clone(),
        instance: format!("{}-{kind}{}-{life}", world.tenant, nature.index),
    };
    let started = tokio::select! {
        biased;
        () = world.over.cancelled() => return,
        () = line.dead.cancelled() => return,
        started = start.run(world, stop.clone()) => started,
    };
    let running = match started {
        Ok(Some(running)) => running,
        Ok(None) => return,
        Err(error) => {
            return world.broken(format!("{:?} does not start: {error}", nature.service));
        }
    };
    let (reset, resets) = watch::channel(0);
    let unplugged = CancellationToken::new();
    if let Some(front) = front {
        tokio::spawn(network::carry(
            front.bind(),
            back,
            resets,
            unplugged.clone(),
        ));
    }
    let crashes = trouble(world, nature, &line, &reset, random).await;
    if crashes {
        line.dead.cancel();
        unplugged.cancel();
        // Its connections break first: which of the two a server hears would be chance, and not the
        // seed's.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    stop.cancel();
    if tokio::time::timeout(STOPS_WITHIN, running.join())
        .await
        .is_err()
    {
        world.broken(format!(
            "{:?} {} does not stop",
            nature.service, nature.index
        ));
    }
    unplugged.cancel();
    line.dead.cancel();
}

/// Makes trouble until this life ends; true if it ends by a crash.
async fn trouble(
    world: &Arc<World>,
    nature: &Nature,
    line: &Arc<Line>,
    reset: &watch::Sender<u64>,
    random: &mut Random,
) -> bool {
    loop {
        let pause = random.millis(200, 8_000);
        tokio::select! {
            biased;
            () = line.dead.cancelled() => return true,
            () = world.calm.cancelled() => break,
            () = tokio::time::sleep(pause) => {}
        }
        if !nature.troubled {
            continue;
        }
        let next = random.choose(
            &[
                (20, Trouble::Crash),
                (8, Trouble::Stop),
                (25, Trouble::Cut),
                (12, Trouble::Silence),
                (15, Trouble::Reset),
                (20, Trouble::Nothing),
            ],
            Trouble::Nothing,
        );
        match next {
            Trouble::Crash => return true,
            Trouble::Stop => return false,
            Trouble::Nothing => {}
            Trouble::Reset => reset.send_modify(|n| *n += 1),
            Trouble::Cut => {
                let away = random.millis(100, 9_000);
                line.cut.set(true);
                let _ = tokio::time::timeout(away, world.calm.cancelled()).await;
                line.cut.set(false);
            }
            Trouble::Silence => {
                let away = random.millis(1_000, 14_000);
                line.silent.set(true);
                let _ = tokio::time::timeout(away, world.calm.cancelled()).await;
                line.silent.set(false);
            }
        }
    }
    tokio::select! {
        biased;
        () = line.dead.cancelled() => true,
        () = world.over.cancelled() => false,
    }
}
