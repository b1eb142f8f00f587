//! One run from its seed to its verdict.

use crate::invariants::{History, check};
use crate::process::{self, Nature, Service};
use crate::random::Random;
use crate::world::{EPOCH, LEASE, World, keys, tenant};
use crate::{agent, host, panel, person};
use askbus_domain::{ClarifyId, Event, Session, SessionId, Timestamp};
use askbus_ledger::hostile::{self, Faults, HostileHandle};
use askbus_wire::client::Client;
use askbus_wire::codec::Decoded;
use askbus_wire::messages::Lease;
use askbus_wire::proto::GetClarificationRequest;
use askbus_wire::{convert, proto};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Once};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long things are broken on purpose.
const TROUBLE: (u64, u64) = (8_000, 30_000);
/// Everybody has come to an end by then.
const AGENTS_END_WITHIN: Duration = Duration::from_mins(10);
/// People are done by then.
const PEOPLE_END_WITHIN: Duration = Duration::from_mins(10);
/// The inbox is empty by then.
const DRAINED_WITHIN: Duration = Duration::from_mins(5);
/// After everybody is gone: a lease, and as long as a bus needs to show it that loses nothing but a
/// heartbeat that cannot be sent now and then.
const LEASES_END_WITHIN: Duration = Duration::from_secs(20);
/// The same on a bus that loses many heartbeats.
const LEASES_END_LATE_WITHIN: Duration = Duration::from_mins(4);

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
    let mut report = runtime.block_on(simulate(seed));
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
        world.records().alive.extend(named.map(|kept| (now, kept)));
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
    let faults = faults(&mut random);
    let (bus, handle) = hostile::open_at(random.seed(), faults, EPOCH);
    let replicas = usize::try_from(random.between(1, 3)).unwrap_or(1);
    let gateways = usize::try_from(random.between(1, 2)).unwrap_or(1);
    let world = World::new(bus, replicas, gateways);
    world.records().heartbeats_arrive = faults.lost_heartbeat == 0;
    let mut background = JoinSet::new();
    background.spawn(listen(Arc::clone(&world)));
    for nature in natures(replicas, gateways, &mut random) {
        background.spawn(process::live(Arc::clone(&world), nature, random.fork()));
    }
    for name in ["ann", "bob"] {
        if name == "ann" || random.percent(40) {
            background.spawn(person::live(Arc::clone(&world), name, random.fork()));
        }
    }
    let mut agents = JoinSet::new();
    for n in 0..random.between(1, 3) {
        let (world, random) = (Arc::clone(&world), random.fork());
        let name = format!("a{n}");
        agents.spawn(agent::live(world, name.clone(), name, None, random));
    }
    if random.percent(50) {
        agents.spawn(host::live(Arc::clone(&world), random.fork()));
    }
    tokio::time::sleep(random.millis(TROUBLE.0, TROUBLE.1)).await;
    world.records().calm_since = Some(world.clock.now());
    world.calm.cancel();
    settle_down(&world, &handle, agents).await;
    // What is over for a while is read from the log.
    if random.percent(10) {
        let hours = random.percent(10);
        tokio::time::sleep(if hours { HOURS } else { MINUTES }).await;
    }
    ask_for_everything(&world, &handle, &mut random).await;
    look_back(&world, &handle, &mut random).await;
    look_for_drafts(&world).await;
    world.over.cancel();
    while background.join_next().await.is_some() {}
    let report = judge(seed, &world, &handle);
    drop(handle);
    report
}

fn natures(replicas: usize, gateways: usize, random: &mut Random) -> Vec<Nature> {
    let skewed = random.between(0, 3);
    let bindings = (0..replicas).map(|index| (Service::SessionBinding, index));
    let all = bindings.chain((0..gateways).map(|index| (Service::Gateway, index)));
    let nature = |(service, index): (Service, usize)| {
        let skew = i64::try_from(random.between(0, 1_800)).unwrap_or(0) - 900;
        Nature {
            service,
            index,
            skew_ms: if index as u64 == skewed { skew } else { 0 },
            deadly_percent: u32::try_from(random.between(0, 4)).unwrap_or(0),
            deadly_permille: u32::try_from(random.between(0, 3)).unwrap_or(0),
            error_ms: i64::try_from(random.between(0, 50)).unwrap_or(0) - 25,
            slow_tail: random.millis(0, 500),
            troubled: random.percent(85),
        }
    };
    all.map(nature).collect()
}

/// Waits until everybody has ended and everything is judged.
async fn settle_down(world: &Arc<World>, handle: &HostileHandle, mut agents: JoinSet<()>) {
    let ended = async { while agents.join_next().await.is_some() {} };
    if timeout(AGENTS_END_WITHIN, ended).await.is_err() {
        world.broken("an agent does not come to an end");
    }
    leases_end(world, handle).await;
    // People have read the log by then, and do what they mean to do.
    tokio::time::sleep(Duration::from_secs(5)).await;
    world.acting.close();
    if timeout(PEOPLE_END_WITHIN, world.acting.wait())
        .await
        .is_err()
    {
        world.broken("a person does not come to an end");
    }
    let drained = async {
        while handle.unjudged() > 0 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    if timeout(DRAINED_WITHIN, drained).await.is_err() {
        world.broken(format!("{} messages stay in the inbox", handle.unjudged()));
    }
}

/// Nothing waits longer than its lease for those who are gone, and no turn goes on without them.
async fn leases_end(world: &World, handle: &HostileHandle) {
    let within = if world.records().heartbeats_arrive {
        LEASES_END_WITHIN
    } else {
        LEASES_END_LATE_WITHIN
    };
    let over = async {
        while pending(handle).next().is_some() || turns_on(handle) {
            tokio::time::sleep(Duration::from_millis(LEASE.0 / 10)).await;
        }
    };
    if timeout(within, over).await.is_err() {
        let waiting: Vec<String> = pending(handle).map(|id| id.to_string()).collect();
        world.broken(format!(
            "everybody is gone for {within:?}, and there still is: {waiting:?}, a turn: {}",
            turns_on(handle)
        ));
    }
}

/// Whether a turn is active in any session.
fn turns_on(handle: &HostileHandle) -> bool {
    let mut sessions: BTreeMap<SessionId, Session> = BTreeMap::new();
    for stored in handle.log() {
        if let Decoded::Commit(commit) = &stored.decoded {
            let session = sessions.entry(stored.session.clone()).or_default();
            session.apply(commit);
        }
    }
    sessions.values().any(|s| s.active_turn().is_some())
}

/// The questions of the log that are not settled.
fn pending(handle: &HostileHandle) -> impl Iterator<Item = ClarifyId> {
    let mut open = BTreeSet::new();
    for stored in handle.log() {
        let Decoded::Commit(commit) = &stored.decoded else {
            continue;
        };
        for event in &commit.events {
            match event {
                Event::Requested { clarify_id, .. } => {
                    open.insert(*clarify_id);
                }
                Event::Resolved { clarify_id, .. } => {
                    open.remove(clarify_id);
                }
                _ => {}
            }
        }
    }
    open.into_iter()
}

/// Looks every question up at some replica; what it says is a result like any other.
async fn ask_for_everything(world: &Arc<World>, handle: &HostileHandle, random: &mut Random) {
    let ids: Vec<ClarifyId> = handle
        .log()
        .iter()
        .filter_map(|stored| match &stored.decoded {
            Decoded::Commit(commit) => Some(commit.events.clone()),
            Decoded::Unreadable { .. } => None,
        })
        .flatten()
        .filter_map(|event| match event {
            Event::Requested { clarify_id, .. } => Some(clarify_id),
            _ => None,
        })
        .collect();
    let Ok(client) = Client::new(&world.target(random), &keys().host) else {
        return;
    };
    for id in ids {
        match look_up(&client, id).await {
            Some(found) => {
                // That it waits is told by the log.
                if let Some(outcome) = found.outcome.as_ref().and_then(convert::outcome) {
                    world.records().results.push((id, outcome));
                }
            }
            None => world.broken(format!("{id} cannot be looked up")),
        }
    }
}

async fn look_up(client: &Client, id: ClarifyId) -> Option<proto::Clarification> {
    for _ in 0..40 {
        let request = GetClarificationRequest {
            clarify_id: id.to_string(),
        };
        let mut clarify = client.clarify.clone();
        let looking = clarify.get_clarification(request);
        if let Ok(Ok(found)) = timeout(Duration::from_secs(12), looking).await {
            return Some(found.into_inner());
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    None
}

/// Lets a person look at everything that is over, as their screen would.
async fn look_back(world: &World, handle: &HostileHandle, random: &mut Random) {
    const PATH: &str = "/api/clarifications?status=settled&limit=1000";
    let Some(token) = panel::token("ann") else {
        return;
    };
    let last = handle.log().len() as u64;
    for _ in 0..40 {
        if let Some(history) = panel::get(world, token, PATH, random).await
            && history.get("seq").and_then(Value::as_u64) >= Some(last)
        {
            world.records().histories.push(history);
            return;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    world.broken("nobody can look at what is over");
}

/// Whoever was told that their words are kept as a draft finds them there.
async fn look_for_drafts(world: &World) {
    let told = world.records().told.clone();
    for told in told.iter().filter(|told| told.is_draft()) {
        let Some(session) = told.session() else {
            world.broken(format!("{told:?} names no session"));
            continue;
        };
        let mut kept = false;
        // A read may fail on this bus.
        for _ in 0..20 {
            let drafts = &world.bus.drafts;
            if let Ok(drafts) = drafts.list(&tenant(), &session, told.clarify_id).await {
                kept = drafts
                    .iter()
                    .any(|d| d.person.as_str() == told.person && d.draft.tab == told.answer_id);
                break;
            }
        }
        if !kept {
            world.broken(format!("{told:?}, but there is no such draft"));
        }
    }
}

fn judge(seed: u64, world: &World, handle: &HostileHandle) -> Report {
    let (log, arrivals) = (handle.log(), handle.arrivals());
    let records = world.records();
    let history = History {
        log: &log,
        arrivals: &arrivals,
        records: &records,
    };
    let requested = |(_, _, e): &(_, _, &Event)| matches!(e, Event::Requested { .. });
    Report {
        seed,
        broken: check(&history),
        commits: log.len(),
        asked: history.events().filter(requested).count(),
        sent: arrivals.len(),
        story: tell(&history),
    }
}

/// The log and the inbox in the order of their moments.
fn tell(history: &History<'_>) -> Vec<String> {
    let mut story: Vec<(Timestamp, String)> = Vec::new();
    for (at, session, event) in history.events() {
        let told = serde_json::to_string(event).unwrap_or_default();
        story.push((at, format!("log   {session}: {told}")));
    }
    for arrived in history.arrivals {
        let told = serde_json::to_string(&arrived.message.body).unwrap_or_default();
        story.push((
            arrived.stored_at,
            format!("inbox {}: {told}", arrived.clarify_id),
        ));
    }
    story.sort_by_key(|(at, _)| *at);
    let line = |(at, told): (Timestamp, String)| format!("{at} {told}");
    story.into_iter().map(line).collect()
}
