//! One run from its seed to its verdict.

use crate::endings::{settle_down, turns_run_out};
use crate::hindsight::{ask_for_everything, look_at_others, look_back, look_for_drafts};
use crate::invariants::{History, check};
use crate::process::{self, Nature, Service};
use crate::random::Random;
use crate::world::{EPOCH, World, keys};
use crate::{agent, host, person, policy, stranger, tab};
use askbus_domain::{Event, Timestamp};
use askbus_ledger::Stored;
use askbus_ledger::hostile::{self, Arrived, Faults, HostileHandle};
use askbus_wire::messages::{Kept, Lease};
use askbus_wire::targets::Targets;
use askbus_wire::tenants::Tenants;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Once};
use std::time::Duration;
use tokio::task::JoinSet;

/// How long things are broken on purpose.
const TROUBLE: (u64, u64) = (8_000, 30_000);

/// Long enough for what is over to be forgotten: in part, and as a whole.
const MINUTES: Duration = Duration::from_mins(6);
const HOURS: Duration = Duration::from_hours(7);

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Its seed.
    pub seed: u64,
    /// Promises that were not kept.
    pub broken: Vec<String>,
    /// Commits of the log.
    pub commits: usize,
    /// Questions asked.
    pub asked: usize,
    /// Messages the inbox took in.
    pub sent: usize,
    /// What happened when, line by line: the same in every run of a seed.
    pub story: Vec<String>,
}

impl Report {
    const fn nothing(seed: u64) -> Self {
        Self {
            seed,
            broken: Vec::new(),
            commits: 0,
            asked: 0,
            sent: 0,
            story: Vec::new(),
        }
    }
}

thread_local! {
    static PANICS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// A panic in a task ends that task only; a run has to hear of it.
fn hear_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PANICS.with_borrow_mut(|panics| panics.push(info.to_string()));
            usual(info);
        }));
    });
}

/// Runs the world of a seed from beginning to end.
#[allow(clippy::expect_used)]
pub fn run(seed: u64) -> Report {
    hear_panics();
    PANICS.with_borrow_mut(Vec::clear);
    // Before time stands still.
    keys();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime can be made");
    let simulated = AssertUnwindSafe(|| runtime.block_on(simulate(seed)));
    // What panicked is told by its hook.
    let mut report = std::panic::catch_unwind(simulated).unwrap_or_else(|_| Report::nothing(seed));
    drop(runtime);
    report.broken.extend(PANICS.with_borrow_mut(std::mem::take));
    report
}

/// Hears every heartbeat that nobody loses on purpose.
async fn listen(world: Arc<World>) {
    let Ok(mut heard) = world.bus.alive.watch().await else {
        return world.broken("nobody hears heartbeats");
    };
    loop {
        let heartbeat = tokio::select! {
            biased;
            () = world.over.cancelled() => return,
            heartbeat = heard.recv() => heartbeat,
        };
        let Some(heartbeat) = heartbeat else { return };
        let now = world.clock.now();
        let named = heartbeat.leases.iter().filter_map(Lease::kept);
        let own = |kept: &Kept| match kept {
            Kept::Asker(tenant, _) | Kept::Turn(tenant, _) => *tenant == world.tenant,
        };
        let mut records = world.records();
        records
            .alive
            .extend(named.filter(own).map(|kept| (now, kept)));
        let people = heartbeat.people.iter();
        let people = people
            .filter(|person| person.tenant == world.tenant)
            .cloned();
        records.present.extend(people.map(|person| (now, person)));
    }
}

fn faults(random: &mut Random) -> Faults {
    let faults = on_a_day(random);
    Faults {
        lost_heartbeat: if random.percent(50) {
            0
        } else {
            faults.lost_heartbeat
        },
        late_write: u8::try_from(random.between(0, 5)).unwrap_or(0),
        ..faults
    }
}

fn on_a_day(random: &mut Random) -> Faults {
    let ack_wait = random.millis(300, 3_000);
    match random.between(0, 9) {
        0 | 1 => Faults {
            ack_wait,
            ..Faults::NONE
        },
        2..=6 => Faults {
            ack_wait,
            ..Faults::default()
        },
        _ => Faults {
            delay: 40,
            longest_delay: random.millis(20, 400),
            ack_wait,
            ..Faults::default()
        },
    }
}

async fn simulate(seed: u64) -> Report {
    let mut random = Random::new(seed);
    // Only where nothing is broken is it known who knows what.
    let quiet = random.percent(15);
    let faults = if quiet {
        Faults::NONE
    } else {
        faults(&mut random)
    };
    let (bus, handle) = hostile::open_at(random.seed(), faults, EPOCH);
    let replicas = usize::try_from(random.between(1, 3)).unwrap_or(1);
    let gateways = usize::try_from(random.between(1, 2)).unwrap_or(1);
    let world = World::new(bus, policy::table(&mut random), replicas, gateways);
    let neighbour = random.percent(35).then(|| world.neighbour());
    let worlds: Vec<Arc<World>> = [world].into_iter().chain(neighbour).collect();
    for world in &worlds {
        let mut records = world.records();
        records.heartbeats_arrive = faults.lost_heartbeat == 0;
        records.quiet = quiet;
    }
    let mut background = JoinSet::new();
    for (world, nature) in services(&worlds, gateways, quiet, &mut random) {
        background.spawn(process::live(world, nature, random.fork()));
    }
    let mut agents = JoinSet::new();
    for world in &worlds {
        background.spawn(listen(Arc::clone(world)));
        people(world, &mut background, &mut random);
        others(world, &mut agents, &mut random);
    }
    if let [world, neighbour] = worlds.as_slice() {
        for (stranger, there) in [(world, neighbour), (neighbour, world)] {
            let stranger = Arc::clone(stranger);
            agents.spawn(stranger::live(stranger, there.replicas(), random.fork()));
        }
    }
    tokio::time::sleep(random.millis(TROUBLE.0, TROUBLE.1)).await;
    for world in &worlds {
        world.records().calm_since = Some(world.clock.now());
        world.calm.cancel();
    }
    settle_down(&worlds, &handle, agents).await;
    if let Some(world) = worlds.first() {
        turns_run_out(world, &handle).await;
    }
    // What is over for a while is read from the log. Hours of heartbeats cost as much as thirty
    // other runs.
    if random.percent(10) {
        let hours = random.percent(2);
        tokio::time::sleep(if hours { HOURS } else { MINUTES }).await;
    }
    for world in &worlds {
        ask_for_everything(world, &handle, &mut random).await;
        look_back(world, &handle, &mut random).await;
        look_for_drafts(world).await;
        look_at_others(world, &handle, &mut random).await;
    }
    for world in &worlds {
        world.over.cancel();
    }
    while background.join_next().await.is_some() {}
    let report = judge(seed, &worlds, &handle);
    drop(handle);
    report
}

/// Everybody who answers in a tenant.
fn people(world: &Arc<World>, background: &mut JoinSet<()>, random: &mut Random) {
    for name in ["ann", "bob"] {
        if name == "ann" || random.percent(40) {
            background.spawn(person::live(Arc::clone(world), name, random.fork()));
        }
        let tabs = random.choose(&[(6, 0), (2, 1), (1, 2)], 0);
        for nth in 0..tabs {
            background.spawn(tab::live(Arc::clone(world), name, nth, random.fork()));
        }
    }
}

/// Everybody who asks in a tenant.
fn others(world: &Arc<World>, agents: &mut JoinSet<()>, random: &mut Random) {
    for n in 0..random.between(1, 3) {
        let (world, random) = (Arc::clone(world), random.fork());
        let name = format!("a{n}");
        agents.spawn(agent::live(world, name.clone(), name, None, random));
    }
    if random.percent(50) {
        agents.spawn(host::live(Arc::clone(world), random.fork()));
    }
}

/// The processes of a run, each with the tenant whose it is; gateways are everybody's.
fn services(
    worlds: &[Arc<World>],
    gateways: usize,
    quiet: bool,
    random: &mut Random,
) -> Vec<(Arc<World>, Nature)> {
    let Some((world, neighbours)) = worlds.split_first() else {
        return Vec::new();
    };
    let mut replicas = Targets::from(world.replicas());
    for neighbour in neighbours {
        replicas = replicas.but(neighbour.tenant.clone(), neighbour.replicas());
    }
    let foreign = neighbours.iter().map(|n| n.tenant.clone()).collect();
    let own = natures(world.fronts.len(), gateways, quiet, &replicas, random);
    let own = own.into_iter().map(|nature| match nature.service {
        Service::Gateway => nature,
        Service::SessionBinding => Nature {
            tenants: Tenants::AllBut(BTreeSet::clone(&foreign)),
            ..nature
        },
    });
    let mut all: Vec<_> = own.map(|nature| (Arc::clone(world), nature)).collect();
    for neighbour in neighbours {
        let own = natures(neighbour.fronts.len(), 0, quiet, &replicas, random);
        all.extend(own.into_iter().map(|nature| {
            let tenants = Tenants::Only(BTreeSet::from([neighbour.tenant.clone()]));
            (Arc::clone(neighbour), Nature { tenants, ..nature })
        }));
    }
    all
}

fn natures(
    replicas: usize,
    gateways: usize,
    quiet: bool,
    targets: &Targets,
    random: &mut Random,
) -> Vec<Nature> {
    let skewed = random.between(0, 3);
    let bindings = (0..replicas).map(|index| (Service::SessionBinding, index));
    let all = bindings.chain((0..gateways).map(|index| (Service::Gateway, index)));
    let nature = |(service, index): (Service, usize)| {
        // Alone, no replica may be so far off: it would leave deadlines to others.
        let far = service == Service::SessionBinding && replicas > 1 && random.percent(20);
        let most = if far { 5_000 } else { 900 };
        let skew = i64::try_from(random.between(0, 2 * most)).unwrap_or(0);
        let skew = skew - i64::try_from(most).unwrap_or(0);
        Nature {
            service,
            index,
            tenants: Tenants::default(),
            replicas: targets.clone(),
            skew_ms: if index as u64 == skewed { skew } else { 0 },
            deadly_percent: u32::try_from(random.between(0, 4)).unwrap_or(0),
            deadly_permille: u32::try_from(random.between(0, 3)).unwrap_or(0),
            // Where nothing is broken no stream ends either.
            fragile_permille: u32::try_from(random.between(0, 20))
                .ok()
                .filter(|_| !quiet)
                .unwrap_or(0),
            error_ms: i64::try_from(random.between(0, 50)).unwrap_or(0) - 25,
            slow_tail: random.millis(0, 500),
            troubled: random.percent(85) && !quiet,
        }
    };
    all.map(nature).collect()
}

fn judge(seed: u64, worlds: &[Arc<World>], handle: &HostileHandle) -> Report {
    let (log, arrivals) = (handle.log(), handle.arrivals());
    let mut report = Report {
        commits: log.len(),
        sent: arrivals.len(),
        ..Report::nothing(seed)
    };
    let mut story = Vec::new();
    for world in worlds {
        let records = world.records();
        let of_tenant = |stored: &&Arc<Stored>| stored.tenant == world.tenant;
        let log: Vec<Arc<Stored>> = log.iter().filter(of_tenant).cloned().collect();
        let of_tenant = |arrived: &&Arrived| arrived.tenant == world.tenant;
        let arrivals: Vec<Arrived> = arrivals.iter().filter(of_tenant).cloned().collect();
        let history = History {
            tenant: &world.tenant,
            log: &log,
            arrivals: &arrivals,
            records: &records,
        };
        let requested = |(_, _, e): &(_, _, &Event)| matches!(e, Event::Requested { .. });
        report.asked += history.events().filter(requested).count();
        let of_tenant = |broken: String| format!("tenant {}: {broken}", world.tenant);
        report
            .broken
            .extend(check(&history).into_iter().map(of_tenant));
        tell(&history, &mut story);
    }
    story.sort_by_key(|(at, _)| *at);
    let line = |(at, told): (Timestamp, String)| format!("{at} {told}");
    report.story = story.into_iter().map(line).collect();
    report
}

/// The log and the inbox of a tenant, each with its moment.
fn tell(history: &History<'_>, story: &mut Vec<(Timestamp, String)>) {
    let tenant = history.tenant;
    for (at, session, event) in history.events() {
        let told = serde_json::to_string(event).unwrap_or_default();
        story.push((at, format!("{tenant} log   {session}: {told}")));
    }
    for arrived in history.arrivals {
        let told = serde_json::to_string(&arrived.message.body).unwrap_or_default();
        let id = arrived.clarify_id;
        story.push((arrived.stored_at, format!("{tenant} inbox {id}: {told}")));
    }
}
