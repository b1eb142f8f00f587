//! People: they look at what a gateway shows them and answer through it, early or late, twice or not
//! at all, from one gateway or another.

use crate::answering::{Act, answer, says};
use crate::panel::{self, Socket};
use crate::random::Random;
use crate::world::{Shown, Told, ToldOn, World};
use askbus_domain::{ClarifyId, GoesOn, Timestamp};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// How long a gateway may take to say what became of an answer while the connection stands.
const VERDICT: Duration = Duration::from_secs(30);
/// Nobody takes longer to answer, in milliseconds.
const LONGEST: u64 = 20_000;
/// How long somebody stays who does not stay to the end, and how long they are away then, in
/// milliseconds.
const STAYS: (u64, u64) = (1_000, 25_000);
const AWAY: (u64, u64) = (1_000, 45_000);
/// How often an answer is sent that is not taken.
const TRIES: u32 = 8;

/// Something to be sent once its time has come and a connection is there.
struct Plan {
    at: Instant,
    object: Value,
    /// Which answer this is, if it is one: it will be told what became of it.
    answer: Option<String>,
    /// Whether it is an answer that says something of its own.
    says: bool,
    tries: u32,
    /// Keeps the run from ending before.
    _acting: TaskTrackerToken,
}

struct Person {
    world: Arc<World>,
    name: &'static str,
    random: Random,
    /// The last sequence of the log that was shown.
    seen: Option<u64>,
    /// Whether the replay of this connection is over.
    whole: bool,
    /// What waits on the screen.
    waiting: BTreeSet<ClarifyId>,
    /// Questions that were thought about.
    known: BTreeSet<ClarifyId>,
    plans: Vec<Plan>,
    /// How many of a hundred visits come to an end.
    restless: u32,
    /// Answers on their way, with the moment each was sent on this connection.
    sent: BTreeMap<String, (Instant, Plan)>,
}

/// One person until the run is over.
pub(crate) async fn live(world: Arc<World>, name: &'static str, random: Random) {
    let Some(token) = world.keys.person(name) else {
        return world.broken(format!("{name} has no credential"));
    };
    let mut random = random;
    let restless = random.choose(&[(2, 0), (1, 40), (1, 100)], 0);
    if random.percent(restless) {
        away(&world, &mut random).await;
    }
    let mut person = Person {
        world: Arc::clone(&world),
        name,
        random,
        restless,
        seen: None,
        whole: false,
        waiting: BTreeSet::new(),
        known: BTreeSet::new(),
        plans: Vec::new(),
        sent: BTreeMap::new(),
    };
    while !world.over.is_cancelled() {
        let opened = Socket::open(&world, token, person.seen, &mut person.random).await;
        if let Some(socket) = opened
            && person.look(socket).await
        {
            away(&world, &mut person.random).await;
            continue;
        }
        let pause = person.random.millis(10, 1_500);
        let _ = tokio::time::timeout(pause, world.over.cancelled()).await;
    }
    let waiting = std::mem::take(&mut person.waiting);
    world
        .records()
        .still_shown
        .extend(waiting.into_iter().map(|id| (name, id)));
}

/// Nobody is there for a while, as long as anybody asks.
async fn away(world: &World, random: &mut Random) {
    let pause = random.millis(AWAY.0, AWAY.1);
    let _ = tokio::time::timeout(pause, world.asked.cancelled()).await;
}

impl Person {
    /// Looks and acts while the connection stands; true when the person went away.
    async fn look(&mut self, mut socket: Socket) -> bool {
        let stays = self.random.millis(STAYS.0, STAYS.1);
        let leaves = self
            .random
            .percent(self.restless)
            .then(|| Instant::now() + stays);
        // What was said on the last connection is said again: it may not have arrived.
        for (_, (_, plan)) in std::mem::take(&mut self.sent) {
            self.plans.push(plan);
        }
        let connection = self.world.connection();
        let world = Arc::clone(&self.world);
        loop {
            let next = self.plans.iter().map(|plan| plan.at);
            let overdue = self.sent.values().map(|(at, _)| *at + VERDICT);
            let due = next.chain(overdue).min();
            tokio::select! {
                biased;
                () = world.over.cancelled() => return false,
                object = socket.next() => match object {
                    Some(object) => self.hear(connection, object),
                    None => return false,
                },
                () = tokio::time::sleep_until(leaves.unwrap_or_else(Instant::now)),
                    if leaves.is_some() && !world.asked.is_cancelled() => return true,
                () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    self.complain();
                    if !self.act(&mut socket).await {
                        return false;
                    }
                }
            }
        }
    }

    /// Nobody waits for ever for a verdict while the connection stands.
    fn complain(&mut self) {
        let now = Instant::now();
        let overdue = |(at, _): &(Instant, Plan)| *at + VERDICT <= now;
        let late: Vec<String> = self
            .sent
            .iter()
            .filter(|(_, sent)| overdue(sent))
            .map(|(id, _)| id.clone())
            .collect();
        for id in late {
            self.sent.remove(&id);
            self.world
                .broken(format!("{} was not told what became of {id}", self.name));
        }
    }

    /// Sends what is due; false when the connection is over.
    async fn act(&mut self, socket: &mut Socket) -> bool {
        let now = Instant::now();
        while let Some(place) = self.plans.iter().position(|plan| plan.at <= now) {
            let plan = self.plans.swap_remove(place);
            let stands = socket.send(&plan.object).await;
            match plan.answer.clone() {
                Some(id) => drop(self.sent.insert(id, (now, plan))),
                None if stands => {}
                None => self.plans.push(plan),
            }
            if !stands {
                return false;
            }
        }
        true
    }

    fn hear(&mut self, connection: u64, object: Value) {
        let event = object.get("event").and_then(Value::as_str).unwrap_or("");
        let own = object.get("answer_id").and_then(Value::as_str);
        // A verdict names the answer and has no place in the log.
        if let Some(id) = own.filter(|_| object.get("seq").is_none()) {
            let id = id.to_owned();
            return match event {
                "clarify.passed_on" => self.told_on(id, &object),
                _ if is_of_pass_on(&object) => self.pass_on(&id, &object),
                _ => self.told(id, object),
            };
        }
        match (event, panel::question(&object)) {
            ("clarify.requested", Some(id)) => {
                self.waiting.insert(id);
                if self.known.insert(id) {
                    self.think(id, &object);
                }
            }
            ("clarify.resolved", Some(id)) if object.get("seq").is_some() => {
                self.waiting.remove(&id);
            }
            ("ready", _) => {
                let pending = object.get("pending").and_then(Value::as_array);
                let ids = pending.into_iter().flatten().filter_map(Value::as_str);
                let ids: BTreeSet<ClarifyId> =
                    ids.filter_map(|id| ClarifyId::parse(id).ok()).collect();
                self.waiting.retain(|id| ids.contains(id));
            }
            ("error", _) => {
                let error = object.to_string();
                self.world.broken(format!("{} was told {error}", self.name));
            }
            _ => {}
        }
        // Between a greeting and the end of the replay not everything was shown up to its sequence.
        self.whole = (self.whole && event != "hello") || event == "ready";
        if let Some(seq) = object.get("seq").and_then(Value::as_u64)
            && self.whole
        {
            self.seen = Some(self.seen.map_or(seq, |seen| seen.max(seq)));
        }
        let now = self.world.clock.now();
        self.world.records().shown.push(Shown {
            person: self.name,
            connection,
            at: now,
            object,
        });
    }

    fn told_on(&self, answer_id: String, object: &Value) {
        let goes_on = object.get("goes_on").cloned();
        let goes_on = goes_on.and_then(|word| serde_json::from_value::<GoesOn>(word).ok());
        let (Some(clarify_id), Some(goes_on)) = (panel::question(object), goes_on) else {
            return self
                .world
                .broken(format!("{} was told {object}", self.name));
        };
        self.world.records().sent_on.push(ToldOn {
            person: self.name,
            clarify_id,
            answer_id,
            goes_on,
        });
    }

    /// Means to send a late answer on.
    fn pass_on(&mut self, answer_id: &str, object: &Value) {
        let Some(id) = panel::question(object) else {
            return;
        };
        let at = Instant::now() + self.random.millis(0, 3_000);
        let object = json!({"event": "clarify.pass_on", "clarify_id": id, "answer_id": answer_id,
            "pass_id": format!("on-{answer_id}")});
        self.plan(at, object, None);
    }

    /// Hears what became of an answer; sends it again when it was not taken for a passing reason.
    fn told(&mut self, id: String, object: Value) {
        let was_taken = object.get("event").and_then(Value::as_str) == Some("clarify.sent")
            || object.get("verdict").is_some();
        let sent = self.sent.remove(&id);
        // Somebody else was faster; or nobody wants more now.
        let says = sent.as_ref().is_some_and(|(_, plan)| plan.says);
        let verdict = object.get("verdict").and_then(Value::as_str);
        if says && matches!(verdict, Some("conflict" | "late")) && self.random.percent(60) {
            self.pass_on(&id, &object);
        }
        if let Some(clarify_id) = panel::question(&object) {
            self.world.records().told.push(Told {
                person: self.name,
                clarify_id,
                answer_id: id,
                object,
            });
        }
        if let Some((_, mut plan)) = sent
            && !was_taken
            && plan.tries < TRIES
        {
            plan.tries += 1;
            plan.at = Instant::now() + self.random.millis(50, 500);
            self.plans.push(plan);
        }
    }

    /// Makes plans about a question that is new.
    fn think(&mut self, id: ClarifyId, shown: &Value) {
        let random = &mut self.random;
        let deadline = shown.get("deadline").and_then(Value::as_i64);
        let left = deadline.map_or(LONGEST, |at| {
            let deadline = Timestamp::from_unix_millis(at);
            self.world.clock.now().until(deadline).0
        });
        // Around the deadline it is most interesting.
        let wait = if random.percent(30) {
            random.between(left.saturating_sub(300), left + 700)
        } else {
            random.between(0, left.saturating_mul(13) / 10)
        };
        let mut at = Instant::now() + Duration::from_millis(wait.min(LONGEST));
        let may_answer = shown.get("may_answer").and_then(Value::as_bool) == Some(true);
        if !may_answer && random.percent(70) {
            return;
        }
        let kind = random.choose(
            &[
                (20, Act::Ignore),
                (35, Act::Answer),
                (5, Act::Partly),
                (5, Act::DismissOne),
                (7, Act::Dismiss),
                (4, Act::Skip),
                (4, Act::AskBack),
                (14, Act::Hold),
                (6, Act::Misfit),
            ],
            Act::Ignore,
        );
        if matches!(kind, Act::Ignore) {
            return;
        }
        if matches!(kind, Act::Hold) {
            let hold = json!({"event": "clarify.hold", "clarify_id": id});
            self.plan(at, hold, None);
            if self.random.percent(30) {
                return;
            }
            at += self.random.millis(0, 15_000);
        }
        let answer_id = format!("{}-{:016x}", self.name, self.random.seed());
        let questions = shown.get("questions").and_then(Value::as_array);
        let questions = questions.map_or(1, Vec::len);
        let object = answer(id, &answer_id, kind, questions, &mut self.random);
        self.plan(at, object.clone(), Some(answer_id.clone()));
        if self.random.percent(20) {
            // The same again, at once or much later.
            at += self.random.millis(0, 4_000);
            self.plan(at, object, Some(answer_id));
        }
    }

    fn plan(&mut self, at: Instant, object: Value, answer: Option<String>) {
        self.plans.push(Plan {
            at,
            says: answer.is_some() && says(&object),
            object,
            answer,
            tries: 0,
            _acting: self.world.acting.token(),
        });
    }
}

/// Whether an object is about a late answer that was to be sent on, and could not be: it names no
/// run, as what is said of answers does.
fn is_of_pass_on(object: &Value) -> bool {
    let kept = object.get("kept").and_then(Value::as_bool) == Some(true);
    kept && object.get("run_id").is_none() && object.get("verdict").is_none()
}
