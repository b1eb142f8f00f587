//! Many questions waiting at once: what each takes of memory, how fast one more is, and whether all
//! of them find their answer.

use super::answering::{LivePerson, PostingPerson};
use super::asking::{Asker, Tally};
use super::place::Access;
use super::processes::{self, Resident};
use super::samples::{Samples, Spread, millis};
use anyhow::Result;
use futures::StreamExt as _;
use futures::stream;
use serde::Serialize;
use std::sync::Arc;
use std::time::Instant;

/// Questions that wait in one session; a session may hold 32.
const IN_SESSION: usize = 25;
/// Questions of one asker that wait, at most.
const OF_ASKER: usize = 5_000;
/// Calls on their way at the same time, per asker.
const AT_ONCE: usize = 64;
/// Answers of one person; the gateway lets each send 2 000 at once.
const OF_PERSON: usize = 1_900;
/// Answers on their way at the same time.
const ANSWERS_AT_ONCE: usize = 256;

/// So many questions waiting at once.
#[derive(Debug, Clone, Serialize)]
pub struct Waiting {
    /// How many.
    pub questions: usize,
    /// Asked in a second while getting there.
    pub asked_per_second: f64,
    /// Every service then.
    pub processes: Vec<Resident>,
    /// All services together, above what they held before the first question, per question.
    pub bytes_per_question: f64,
    /// Opening a live connection to which all of them are shown, in milliseconds.
    pub panel_opens_ms: f64,
    /// From asking one more until it is shown there.
    pub one_more_shown: Spread,
    /// From answering it until its asker has heard.
    pub one_more_answered: Spread,
}

/// All of them answered in the end.
#[derive(Debug, Clone, Serialize)]
pub struct Drained {
    /// Questions that had been waiting.
    pub questions: usize,
    /// Answers by single requests in a second.
    pub answered_per_second: f64,
    /// Questions whose asker never heard the answer.
    pub lost: usize,
    /// Outcomes told a second time.
    pub repeated: usize,
}

/// One more question while few or many wait.
#[derive(Debug, Clone, Serialize)]
pub struct WaitingFigures {
    /// While nothing waits.
    pub none: OneMore,
    /// For each number of waiting questions, ascending.
    pub waiting: Vec<Waiting>,
    /// The end.
    pub drained: Drained,
}

/// One more question.
#[derive(Debug, Clone, Serialize)]
pub struct OneMore {
    /// From asking until it is shown on a live connection.
    pub shown: Spread,
    /// From answering until its asker has heard.
    pub answered: Spread,
}

struct Crowd {
    /// With how many questions each.
    askers: Vec<(Arc<Asker>, usize)>,
    ids: Vec<String>,
}

/// Lets as many wait as each of `counts` says, then answers all.
pub(crate) async fn measure(
    access: &Access,
    counts: &[usize],
    probes: usize,
) -> Result<WaitingFigures> {
    let mut counts = counts.to_vec();
    counts.sort_unstable();
    let prober = access.asker(access.tenant, "prober", 1).await?;
    let (mut person, _) = access.live_person(access.tenant, "ann", None).await?;
    let none = one_more(&prober, &mut person, probes).await?;
    drop(person);
    let before = total(&processes::services());
    let mut crowd = Crowd {
        askers: Vec::new(),
        ids: Vec::new(),
    };
    let mut waiting = Vec::with_capacity(counts.len());
    for count in counts {
        let (already, begun) = (crowd.ids.len(), Instant::now());
        crowd.grow(access, count).await?;
        let asked_per_second = rate(count - already, begun);
        let processes = processes::services();
        let more = total(&processes).saturating_sub(before) * 1024;
        let begun = Instant::now();
        let (mut person, shown) = access.live_person(access.tenant, "ann", None).await?;
        let panel_opens_ms = millis(begun.elapsed());
        anyhow::ensure!(shown == count, "{count} wait, {shown} are shown");
        let more_questions = one_more(&prober, &mut person, probes).await?;
        waiting.push(Waiting {
            questions: count,
            asked_per_second,
            bytes_per_question: (more as f64 / count as f64).round(),
            processes,
            panel_opens_ms,
            one_more_shown: more_questions.shown,
            one_more_answered: more_questions.answered,
        });
    }
    let drained = crowd.drain(access).await?;
    Ok(WaitingFigures {
        none,
        waiting,
        drained,
    })
}

fn total(processes: &[Resident]) -> u64 {
    processes.iter().map(|p| p.rss_kib).sum()
}

fn rate(count: usize, begun: Instant) -> f64 {
    (count as f64 / begun.elapsed().as_secs_f64()).round()
}

async fn one_more(asker: &Asker, person: &mut LivePerson, times: usize) -> Result<OneMore> {
    let (mut shown, mut answered) = (Samples::default(), Samples::default());
    for _ in 0..times {
        let begun = Instant::now();
        // It is shown before or after its asker has the id.
        let asking = async { anyhow::Ok((asker.ask(0).await?, Instant::now())) };
        let ((id, _), card) = tokio::try_join!(asking, person.question())?;
        anyhow::ensure!(card.clarify_id == id, "another question was shown");
        shown.add(card.at.duration_since(begun));
        let begun = person.answer(&id, &card.session_id).await?;
        answered.add(asker.outcome(&id).await?.at.duration_since(begun));
    }
    Ok(OneMore {
        shown: shown.spread(),
        answered: answered.spread(),
    })
}

impl Crowd {
    /// Asks until `count` wait.
    async fn grow(&mut self, access: &Access, count: usize) -> Result<()> {
        while self.ids.len() < count {
            let missing = (count - self.ids.len()).min(OF_ASKER);
            let name = format!("crowd-{}", self.askers.len());
            let asker = access
                .asker(access.tenant, &name, missing.div_ceil(IN_SESSION))
                .await?;
            let asker = Arc::new(asker);
            let asks = stream::iter(0..missing).map(|number| {
                let asker = Arc::clone(&asker);
                async move { asker.ask(number / IN_SESSION).await }
            });
            let mut asks = asks.buffer_unordered(AT_ONCE);
            while let Some(id) = asks.next().await {
                self.ids.push(id?);
            }
            drop(asks);
            self.askers.push((asker, missing));
        }
        Ok(())
    }

    /// Answers everything and counts what the askers heard.
    async fn drain(self, access: &Access) -> Result<Drained> {
        let people = self.ids.len().div_ceil(OF_PERSON).max(8);
        let people: Vec<PostingPerson> = (0..people)
            .map(|n| access.posting_person(access.tenant, &format!("person-{n}")))
            .collect::<Result<_>>()?;
        let begun = Instant::now();
        let answers = stream::iter(self.ids.iter().zip(people.iter().cycle()))
            .map(|(id, person)| async move { person.answer(id).await });
        let mut answers = answers.buffer_unordered(ANSWERS_AT_ONCE);
        while let Some(answered) = answers.next().await {
            answered?;
        }
        let answered_per_second = rate(self.ids.len(), begun);
        for (asker, questions) in &self.askers {
            asker.heard_of(*questions).await;
        }
        let tally: Tally = self.askers.iter().map(|(asker, _)| asker.tally()).sum();
        Ok(Drained {
            questions: self.ids.len(),
            answered_per_second,
            lost: self.ids.len() - tally.answered.min(self.ids.len()),
            repeated: tally.repeated,
        })
    }
}
