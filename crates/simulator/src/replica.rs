//! One replica of the service through its lives: it crashes, stops, loses the bus or its callers,
//! and comes back.

use crate::faulty::{self, Line, Switch};
use crate::network;
use crate::random::Random;
use crate::world::{LEASE, World, keys};
use askbus_domain::PolicyTable;
use askbus_session_binding::{Clock, Listen, Options, StartError, start};
use askbus_wire::memory::MemoryAddress;
use askbus_wire::tenants::Tenants;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A service that was told to stop has ended by then, bus or no bus.
const STOPS_WITHIN: Duration = Duration::from_secs(30);

/// How a replica's lives differ from another's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nature {
    pub index: usize,
    pub skew_ms: i64,
    pub deadly_percent: u32,
    pub deadly_permille: u32,
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
    Reset,
    Nothing,
}

/// Lives until the run is over.
pub(crate) async fn live(world: Arc<World>, nature: Nature, mut random: Random) {
    let mut life = 0;
    while !world.over.is_cancelled() {
        life += 1;
        live_once(&world, nature, life, &mut random).await;
        let pause = random.millis(0, 5_000);
        let _ = tokio::time::timeout(pause, world.calm.cancelled()).await;
    }
}

async fn live_once(world: &Arc<World>, nature: Nature, life: u32, random: &mut Random) {
    let troubled = nature.troubled && !world.calm.is_cancelled();
    let line = Arc::new(Line {
        dead: CancellationToken::new(),
        cut: Switch::default(),
        skew_ms: nature.skew_ms,
        deadly_percent: if troubled { nature.deadly_percent } else { 0 },
        deadly_permille: if troubled { nature.deadly_permille } else { 0 },
        error_ms: nature.error_ms,
        slow_tail: nature.slow_tail,
        random: Mutex::new(random.fork()),
        told: AtomicBool::default(),
    });
    let (back, stop) = (MemoryAddress::new(), CancellationToken::new());
    let options = Options {
        bus: faulty::through(&line, &world.bus),
        clock: Clock::virtual_at(world.clock.now(), nature.skew_ms, random.seed()),
        verifier: keys().verifier.clone(),
        listen: Listen::Memory(back.clone()),
        tenants: Tenants::default(),
        instance: format!("r{}-{life}", nature.index),
        lease: LEASE,
        heartbeat: Options::heartbeat_for(LEASE),
        policy: PolicyTable::default(),
    };
    let started = tokio::select! {
        biased;
        () = world.over.cancelled() => return,
        () = line.dead.cancelled() => return,
        started = start(options, stop.clone()) => started,
    };
    let handle = match started {
        Ok(handle) => handle,
        Err(StartError::Stopped) => return,
        Err(error) => return world.broken(format!("a replica does not start: {error}")),
    };
    let (reset, resets) = watch::channel(0);
    let unplugged = CancellationToken::new();
    if let Some(front) = world.fronts.get(nature.index) {
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
    }
    stop.cancel();
    if tokio::time::timeout(STOPS_WITHIN, handle.join())
        .await
        .is_err()
    {
        world.broken(format!("replica {} does not stop", nature.index));
    }
    unplugged.cancel();
    line.dead.cancel();
}

/// Makes trouble until this life ends; true if it ends by a crash.
async fn trouble(
    world: &Arc<World>,
    nature: Nature,
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
                (30, Trouble::Cut),
                (15, Trouble::Reset),
                (27, Trouble::Nothing),
            ],
            Trouble::Nothing,
        );
        match next {
            Trouble::Crash => return true,
            Trouble::Stop => return false,
            Trouble::Nothing => {}
            Trouble::Reset => reset.send_modify(|n| *n += 1),
            Trouble::Cut => {
                line.cut.set(true);
                let away = random.millis(100, 9_000);
                let _ = tokio::time::timeout(away, world.calm.cancelled()).await;
                line.cut.set(false);
            }
        }
    }
    tokio::select! {
        biased;
        () = line.dead.cancelled() => true,
        () = world.over.cancelled() => false,
    }
}
