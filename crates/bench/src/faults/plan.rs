//! What a round is to do: who is hit, how, when and for how long. All of it follows from the seed.

use askbus_testkit::Signal;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use std::fmt;
use std::time::Duration;

/// Who is hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Victim {
    /// One agent's MCP server.
    Adapter,
    /// `askbus up`: the only session-binding, the gateway and the log in one process.
    Up,
    /// One of the session-bindings; it holds the streams of about half of the agents.
    SessionBinding,
    /// All session-bindings.
    SessionBindings,
    /// The gateway.
    Gateway,
    /// The nats-server.
    NatsServer,
    /// The process that holds a turn.
    Host,
    /// An adapter, and with it a session-binding or `up`.
    AdapterAndReplica,
    /// Every process but those of people.
    Everything,
}

const EMBEDDED: [Victim; 5] = [
    Victim::Adapter,
    Victim::Up,
    Victim::Host,
    Victim::AdapterAndReplica,
    Victim::Everything,
];
const ON_NATS: [Victim; 8] = [
    Victim::Adapter,
    Victim::SessionBinding,
    Victim::SessionBindings,
    Victim::Gateway,
    Victim::NatsServer,
    Victim::Host,
    Victim::AdapterAndReplica,
    Victim::Everything,
];

impl fmt::Display for Victim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Victim::Adapter => "adapter",
            Victim::Up => "up",
            Victim::SessionBinding => "one session-binding",
            Victim::SessionBindings => "all session-bindings",
            Victim::Gateway => "gateway",
            Victim::NatsServer => "nats-server",
            Victim::Host => "host of a turn",
            Victim::AdapterAndReplica => "adapter and replica",
            Victim::Everything => "everything",
        })
    }
}

/// How it is hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Hit {
    /// SIGKILL, and later a new start.
    Kill,
    /// SIGSTOP, and later SIGCONT.
    Stop,
}

impl Hit {
    /// The signal.
    pub(crate) const fn signal(self) -> Signal {
        match self {
            Hit::Kill => Signal::KILL,
            Hit::Stop => Signal::STOP,
        }
    }
}

impl fmt::Display for Hit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Hit::Kill => "SIGKILL",
            Hit::Stop => "SIGSTOP",
        })
    }
}

/// One round.
#[derive(Debug, Clone)]
pub struct Plan {
    /// From which all of it follows.
    pub seed: u64,
    /// Who is hit.
    pub victim: Victim,
    /// How.
    pub hit: Hit,
    /// Once this many answers were judged.
    pub after: usize,
    /// For how long.
    pub down: Duration,
    /// Chance for what else there is to choose.
    pub(crate) chance: Chance,
}

impl Plan {
    /// The round of a seed. Victims and signals take turns, so that as many rounds in a row as there
    /// are victims hit each of them once, and twice as many do so with both signals.
    pub fn of(seed: u64, on_nats: bool) -> Self {
        let victims: &[Victim] = if on_nats { &ON_NATS } else { &EMBEDDED };
        let count = u64::try_from(victims.len()).unwrap_or(1);
        let at = seed % count;
        let victim = usize::try_from(at).ok().and_then(|at| victims.get(at));
        let hit = if (at + seed / count).is_multiple_of(2) {
            Hit::Kill
        } else {
            Hit::Stop
        };
        let mut chance = Chance(StdRng::seed_from_u64(seed));
        Self {
            seed,
            victim: victim.copied().unwrap_or(Victim::Everything),
            hit,
            after: chance.between(1, 40),
            // Shorter and longer than the lease, and hardly at all.
            down: chance.pick(&[20, 150, 500, 900, 1_400].map(Duration::from_millis)),
            chance,
        }
    }
}

/// Chance that follows from the seed.
#[derive(Debug, Clone)]
pub(crate) struct Chance(StdRng);

impl Chance {
    /// From `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: usize, high: usize) -> usize {
        self.0.random_range(low..=high.max(low))
    }

    /// One of these; they are never empty.
    pub(crate) fn pick<T: Copy + Default>(&mut self, of: &[T]) -> T {
        let at = self.between(0, of.len().saturating_sub(1));
        of.get(at).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn rounds_in_a_row_cover_the_whole_matrix() {
        for (on_nats, victims) in [(false, 5_u64), (true, 8)] {
            for first in [0, 3, 1_000_003] {
                let plans = |count| (first..first + count).map(|seed| Plan::of(seed, on_nats));
                let hit: BTreeSet<_> = plans(victims).map(|p| p.victim).collect();
                assert_eq!(hit.len() as u64, victims);
                let pairs: BTreeSet<_> = plans(2 * victims).map(|p| (p.victim, p.hit)).collect();
                assert_eq!(pairs.len() as u64, 2 * victims, "{on_nats} {first}");
            }
        }
    }

    #[test]
    fn a_seed_names_one_round() {
        let (one, again) = (Plan::of(7, true), Plan::of(7, true));
        assert_eq!((one.after, one.down), (again.after, again.down));
    }
}
