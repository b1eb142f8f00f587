//! Starting, running and stopping.

use crate::attachments::Attachments;
use crate::commands::{self, Commands};
use crate::deadlines::{self, Deadlines};
use crate::leases::{self, Leases};
use crate::presence::People;
use crate::projection::Projection;
use crate::stats::Stats;
use crate::{KnownPeople, Options, StartError, grpc, inbox};
use askbus_credential::Verifier;
use askbus_domain::{Millis, PolicyTable, WaitingLimits};
use askbus_ledger::{Bus, LedgerError, Stored};
use askbus_wire::clock::Clock;
use askbus_wire::tenants::Tenants;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How often sessions that are over are forgotten, and after how many messages of the log.
const FORGET_EVERY: Duration = Duration::from_secs(30);
const FORGET_AFTER: u64 = 4_096;
/// Messages of the log taken at once.
const AT_ONCE: usize = 128;

/// What all parts of one process share.
pub(crate) struct Core {
    pub bus: Bus,
    pub clock: Clock,
    pub verifier: Verifier,
    pub tenants: Tenants,
    pub instance: String,
    pub lease: Millis,
    pub heartbeat: Duration,
    pub policy: PolicyTable,
    pub people: Option<KnownPeople>,
    pub waiting_limits: WaitingLimits,
    pub projection: Projection,
    pub deadlines: Deadlines,
    pub attachments: Attachments,
    pub leases: Leases,
    pub presence: People,
    pub stats: Stats,
    /// Cancelled when the process is told to stop.
    pub shutdown: CancellationToken,
    /// Everything that runs until shutdown, open streams included.
    pub tasks: TaskTracker,
    /// Set once at start; the queues need the core and the core needs the queues.
    commands: OnceLock<Commands>,
}

impl Core {
    /// The command queues. Every path that leads here starts after they were set.
    #[allow(clippy::expect_used)]
    pub(crate) fn commands(&self) -> &Commands {
        self.commands
            .get()
            .expect("the queues are set before anything runs")
    }
}

/// A running session-binding.
pub struct Handle {
    pub(crate) core: Arc<Core>,
    address: Option<SocketAddr>,
    queues: TaskTracker,
    stop_queues: CancellationToken,
}

impl Handle {
    /// Where it listens, when that is TCP.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// What it did so far.
    pub fn stats(&self) -> &Stats {
        &self.core.stats
    }

    /// Waits until everything has ended; returns soon after the shutdown token is cancelled.
    pub async fn join(self) {
        self.core.tasks.wait().await;
        // Nobody is left to submit anything.
        self.stop_queues.cancel();
        self.queues.wait().await;
    }
}

/// Starts it: reads the log up to its end, then listens. Ends when `shutdown` is cancelled; nothing
/// is settled by that.
pub async fn start(options: Options, shutdown: CancellationToken) -> Result<Handle, StartError> {
    let core = Arc::new(Core {
        bus: options.bus,
        clock: options.clock,
        verifier: options.verifier,
        tenants: options.tenants,
        instance: options.instance,
        lease: options.lease,
        heartbeat: options.heartbeat,
        policy: options.policy,
        people: options.people,
        waiting_limits: options.waiting,
        projection: Projection::new(),
        deadlines: Deadlines::default(),
        attachments: Attachments::default(),
        leases: Leases::new(),
        presence: People::new(),
        stats: Stats::default(),
        shutdown: shutdown.clone(),
        tasks: TaskTracker::new(),
        commands: OnceLock::new(),
    });
    let (queues, stop_queues) = (TaskTracker::new(), CancellationToken::new());
    // Empty until now, so this cannot fail.
    let _ = core
        .commands
        .set(Commands::start(&core, &queues, &stop_queues));
    queues.close();
    let tasks = core.tasks.clone();

    let begun = tokio::time::Instant::now();
    let last = tokio::select! {
        biased;
        () = shutdown.cancelled() => return Err(StartError::Stopped),
        last = askbus_ledger::until_reachable(&*core.bus.ledger) => last?,
    };
    tokio::select! {
        biased;
        () = shutdown.cancelled() => return Err(StartError::Stopped),
        () = learn_clock(&core) => {}
    }
    tasks.spawn(follow(Arc::clone(&core), shutdown.clone()));
    tokio::select! {
        biased;
        () = shutdown.cancelled() => return Err(StartError::Stopped),
        () = core.projection.applied().reach(last) => {}
    }
    tracing::info!(
        events = last,
        ms = begun.elapsed().as_millis(),
        "the log is read up to its end"
    );

    let address = grpc::listen(&core, &options.listen, &shutdown, &tasks).await?;
    tasks.spawn(leases::publish(Arc::clone(&core), shutdown.clone()));
    tasks.spawn(leases::watch(Arc::clone(&core), shutdown.clone()));
    tasks.spawn(forget(Arc::clone(&core), shutdown.clone()));
    tasks.spawn(inbox::run(Arc::clone(&core), shutdown.clone()));
    tasks.spawn(deadlines::run(Arc::clone(&core), shutdown.clone()));
    tasks.close();
    Ok(Handle {
        core,
        address,
        queues,
        stop_queues,
    })
}

/// Waits until the log has said what time it is: by a clock that is off, everything might be overdue.
async fn learn_clock(core: &Core) {
    while let Err(error) = core.bus.ledger.learn_clock().await {
        tracing::warn!(%error, "waiting for the log's clock");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Forgets sessions that are over, now and then.
async fn forget(core: Arc<Core>, shutdown: CancellationToken) {
    let mut pace = tokio::time::interval(FORGET_EVERY);
    loop {
        tokio::select! {
            biased;
            () = shutdown.cancelled() => return,
            _ = pace.tick() => {
                core.projection.forget(core.now());
                core.stats.set_kept(core.projection.kept());
            }
        }
    }
}

/// Follows the log for as long as the process lives.
async fn follow(core: Arc<Core>, shutdown: CancellationToken) {
    let mut next = 1;
    'connect: loop {
        let tail = match next {
            1 => core.bus.ledger.tail_current().await,
            _ => core.bus.ledger.tail(next).await,
        };
        let mut tail = match tail {
            Ok(tail) => tail,
            Err(error) => {
                tracing::warn!(%error, "the log cannot be followed; trying again");
                tokio::select! {
                    biased;
                    () = shutdown.cancelled() => break 'connect,
                    () = tokio::time::sleep(Duration::from_secs(1)) => continue 'connect,
                }
            }
        };
        let mut read = Vec::with_capacity(AT_ONCE);
        loop {
            let count = tokio::select! {
                biased;
                () = shutdown.cancelled() => break 'connect,
                count = tail.recv_many(&mut read, AT_ONCE) => count,
            };
            if count == 0 {
                continue 'connect;
            }
            for stored in read.drain(..) {
                next = stored.seq + 1;
                take(&core, &stored);
            }
        }
    }
    core.attachments.close_all();
}

fn take(core: &Core, stored: &Stored) {
    // A long log is not remembered as a whole while it is read.
    if stored.seq.is_multiple_of(FORGET_AFTER) {
        core.projection.forget(core.now());
    }
    if core.tenants.serves(&stored.tenant) {
        let changes = core.projection.apply_tail(stored);
        core.announce(changes);
    } else {
        core.projection.skip(stored.seq);
    }
}

/// Waits until the tail has read everything that is in the log now: what is unknown after that is
/// not there.
pub(crate) async fn barrier(core: &Core) -> Result<(), LedgerError> {
    let last = core.bus.ledger.last_seq().await?;
    commands::wait_applied(core, last).await
}
