//! One round, from the first process to the verdict.

use super::agents::{Agents, QUESTIONS};
use super::board::{Board, State};
use super::cast::{self, Choice};
use super::check::{Finding, check};
use super::observer::{list, list_in_terminal, observe};
use super::people::{ON_SOCKET, OVER_HTTP, answer_all};
use super::plan::{Hit, Plan, Victim};
use super::seen::{Returned, Seen};
use super::{Options, chat, log, planner};
use crate::deployment::{Deployment, Settings, TENANTS, Way};
use anyhow::{Result, ensure};
use askbus_credential::Role;
use askbus_testkit::{Hook, NatsServer, Person};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// How long an asker or a host may be missing.
const LEASE: Duration = Duration::from_secs(1);
/// How long anything may take that is waited for.
const LIMIT: Duration = Duration::from_secs(20);
/// Lists are made again at most so often while something still happens.
const TRIES: usize = 20;
/// Session-bindings of a round over NATS.
const BINDINGS: usize = 2;

/// What a round came to.
#[derive(Debug, Clone)]
pub struct Round {
    /// Questions in the log.
    pub asked: u64,
    /// Questions that a person's answer settled.
    pub answered: u64,
    /// Answers that came too late and are kept.
    pub late: u64,
    /// Questions that the service withdrew before the end: their asker or their turn was gone.
    pub cancelled: u64,
    /// Revisions of a plan that its host was told are stored.
    pub plan_revisions: u64,
    /// What the channel was told, each once.
    pub notices: u64,
    /// What it was told again, under the same name.
    pub repeated: u64,
    /// Promises that were broken.
    pub findings: Vec<Finding>,
}

/// Plays a round.
///
/// # Errors
/// When it cannot be played to its end: a service does not start, or nothing comes to rest and no
/// promise is broken either.
pub(super) async fn play(options: &Options, plan: &Plan) -> Result<Round> {
    let hook = Arc::new(Hook::start().await?);
    let mut deployment = deploy(options, &hook).await?;
    let board = Arc::new(Board::new());
    let mut people = JoinSet::new();
    let person = |name: &str| deployment.person(name);
    let (eve, ann, bob) = (person("eve")?, person(ON_SOCKET)?, person(OVER_HTTP)?);
    people.spawn(observe(Arc::clone(&board), eve.clone()));
    people.spawn(chat::listen(Arc::clone(&board), hook));
    let host = deployment.credential(Role::Host, "planner")?;
    let host = Person::bearer(deployment.url(), &host)?;
    let context = planner::begin(&host).await?;
    people.spawn(planner::plan(Arc::clone(&board), host, context));
    let mut agents = Agents::start(&deployment, Arc::clone(&board)).await?;
    let all_wait = board.until(LIMIT, |s| s.waiting.len() == QUESTIONS).await;
    let waiting = board.look(|s| s.waiting.len());
    ensure!(all_wait, "only {waiting} of {QUESTIONS} questions wait");

    let mut chance = plan.chance.clone();
    let choice = Choice::of(&mut chance, agents.adapters(), BINDINGS);
    board.change(|state| state.stage = 1);
    people.spawn(answer_all(Arc::clone(&board), chance, ann, bob));
    let flows = board.until(LIMIT, |s| s.taken() >= plan.after).await;
    ensure!(
        flows,
        "only {} answers were taken",
        board.look(State::taken)
    );
    if may_outlast_the_lease(options, plan) {
        board.change(|state| state.seen.host.may_end = true);
    }
    cast::hit(&mut deployment, &mut agents, plan.victim, choice, plan.hit)?;
    board.change(|state| state.stage = 2);
    // Not a wait for something to happen: this is how long the fault lasts.
    tokio::time::sleep(plan.down).await;
    cast::bring_back(&mut deployment, &mut agents, plan.victim, choice, plan.hit).await?;
    board.change(|state| state.stage = 3);
    agents.one_more(&deployment).await?;

    let rest = board.until(LIMIT, State::is_at_rest).await;
    agents.look_at_host()?;
    let missing = board.look(State::missing);
    let seen = look_around(&deployment, &board, &eve).await?;
    agents.leave().await?;
    let over = board.until(LIMIT, |s| s.waiting.is_empty()).await;
    people.shutdown().await;
    let log = log::read(&mut deployment).await?;
    let findings = check(&log, &seen);
    ensure!(
        rest || !findings.is_empty(),
        "no rest within {LIMIT:?}: {missing:#?}"
    );
    ensure!(
        over || !findings.is_empty(),
        "questions wait although everybody left"
    );
    let ended = |wanted: &dyn Fn(&str) -> bool| {
        let ends = log.questions.values().filter_map(|q| q.ends.first());
        ends.filter(|end| wanted(&end.reason)).count() as u64
    };
    let left = seen.calls.iter().filter(|call| {
        let settled = |r: &Returned| matches!(r, Returned::Settled { .. });
        call.lives && call.left && !call.returned.iter().any(settled)
    });
    let told: BTreeSet<&String> = seen.notices.iter().map(|notice| &notice.id).collect();
    Ok(Round {
        plan_revisions: seen.planner.shown.len() as u64,
        notices: told.len() as u64,
        repeated: (seen.notices.len() - told.len()) as u64,
        asked: log.questions.len() as u64,
        answered: ended(&|reason| reason == "response"),
        late: log.questions.values().map(|q| q.late.len() as u64).sum(),
        cancelled: ended(&|reason| reason == "cancelled").saturating_sub(left.count() as u64),
        findings,
    })
}

/// Whether one of several session-bindings stands still for so long that the others take those who
/// speak through it for gone. A caller cannot tell a stopped session-binding from a slow network within
/// the second that a lease lasts here: it moves to the next after 20 s, of the 120 s of a lease across a
/// network.
fn may_outlast_the_lease(options: &Options, plan: &Plan) -> bool {
    let one = matches!(
        plan.victim,
        Victim::SessionBinding | Victim::AdapterAndReplica
    );
    let unheard = plan.down + LEASE / 3;
    options.nats_server.is_some() && one && plan.hit == Hit::Stop && unheard >= LEASE
}

async fn deploy(options: &Options, hook: &Hook) -> Result<Deployment> {
    let (local, team) = TENANTS;
    let tenant = options.nats_server.as_ref().map_or(local, |_| team);
    let settings = Settings {
        binary: options.binary.clone(),
        lease: Some(LEASE),
        configuration: Some(chat::configuration(hook, tenant)),
    };
    match &options.nats_server {
        None => Deployment::embedded(settings).await,
        Some(program) => {
            let nats = NatsServer::start_program(program).await?;
            Deployment::on_nats(settings, vec![nats], BINDINGS).await
        }
    }
}

/// What everybody saw up to now, and what the gateway and the terminal list.
async fn look_around(deployment: &Deployment, board: &Board, person: &Person) -> Result<Seen> {
    let program = deployment.program(Role::Person, "eve", Way::Gateway)?;
    let mut tries = 0;
    loop {
        tries += 1;
        let before = board.changes();
        let (panel, terminal, planned) = tokio::try_join!(
            list(person),
            list_in_terminal(&program),
            planner::listed(person)
        )?;
        let mut seen = board.look(|state| state.seen.clone());
        // What happened while somebody made a list would stand against it.
        if board.changes() == before || tries == TRIES {
            seen.listings = vec![panel, terminal];
            seen.planner.listed = planned;
            return Ok(seen);
        }
    }
}
