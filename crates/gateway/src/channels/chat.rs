//! What a person says in a chat, and what they are told: the same for every channel.

mod later;
mod open;
mod steps;
mod telling;

pub(super) use later::Later;
pub(super) use open::tag;

use super::Channel;
use crate::caller::Person;
use crate::gateway::Gateway;
use crate::projection::Card;
use crate::submit;
use crate::trace::Trace;
use askbus_domain::text_channel::{
    Act, Button, Reply, Telling, Understood, meant_waiting, split, understand,
};
use askbus_domain::{Actor, AnswerId, ClarifyId, Language, Response, Timestamp, verdict_of};
use open::Open;
use rand::Rng as _;
use ring::digest;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;
use steps::{Kept, NotKept, Unknown};
use telling::{Said, told};

/// How long until a message is judged anew that another one of the same moment overtook, more or less:
/// as many times as there are pauses.
const PAUSES_MS: [u64; 9] = [0, 5, 10, 20, 50, 100, 200, 400, 800];
const OVERTAKEN: &str = "another message changed the answer in the same moment and this one was not taken; send it again";
const IN_DOUBT: &str =
    "whether it was kept is not known; /list shows what comes next, look before you send it again";

/// A message as it came.
#[derive(Debug, Clone, Default)]
pub(super) struct Message {
    /// The channel's own name of it: the same message counts once.
    pub id: String,
    pub text: String,
    pub about: Option<String>,
    pub written_at: Option<Timestamp>,
}

/// What became of a message.
pub(super) struct Heard {
    /// One word for programs.
    pub verdict: &'static str,
    /// Which question it was for, if that is known.
    pub clarify_id: Option<ClarifyId>,
    /// What the person is told, as messages that fit the channel.
    pub messages: Vec<String>,
    /// Under the last of them, where a question is put and they fit.
    pub buttons: Option<Vec<Button>>,
    /// Where it was not judged in time, what is still to come.
    pub later: Option<Later>,
}

/// A message and where it came from.
struct Hearing<'a> {
    gateway: &'a Arc<Gateway>,
    channel: &'a Arc<Channel>,
    person: &'a Person,
    message: &'a Message,
    /// The id of what it answers.
    answer_id: AnswerId,
}

/// Takes a message of a person.
pub(super) async fn hear(
    gateway: &Arc<Gateway>,
    channel: &Arc<Channel>,
    person: &Person,
    message: &Message,
) -> Heard {
    channel.heard();
    let (clarify_id, said) = if let Some(answer_id) = answer_id(channel, &message.id) {
        let hearing = Hearing {
            gateway,
            channel,
            person,
            message,
            answer_id,
        };
        hearing.judged().await
    } else {
        let telling = Telling(channel.language.unwrap_or_default());
        let lines = telling.not_sent("the message has no name");
        (None, Said::new("not_sent", lines))
    };
    Heard {
        verdict: said.verdict,
        clarify_id,
        messages: split(&said.lines, channel.limits.message),
        buttons: said.buttons,
        later: said.later,
    }
}

/// What a message comes to: for which clarification, and what is told.
type Verdict = (Option<ClarifyId>, Said);

/// A message that has to be judged anew: what it was judged by is not so any more.
struct Anew {
    card: Arc<Card>,
    /// Whether it may have been kept all the same.
    in_doubt: bool,
}

impl Hearing<'_> {
    /// Reads, decides and writes, anew when another message wrote meanwhile.
    async fn judged(&self) -> Verdict {
        let (mut pauses, mut in_doubt) = (PAUSES_MS.into_iter(), false);
        loop {
            let anew = match self.judged_once().await {
                Ok((id, said)) if in_doubt && said.verdict == "not_sent" => {
                    return (id, self.not_read(None, IN_DOUBT));
                }
                Ok(verdict) => return verdict,
                Err(anew) => anew,
            };
            in_doubt |= anew.in_doubt;
            let Some(pause) = pauses.next() else {
                let why = if in_doubt { IN_DOUBT } else { OVERTAKEN };
                return (Some(anew.card.id()), self.not_read(Some(&anew.card), why));
            };
            let part = rand::rng().random_range(0.5..1.5);
            tokio::time::sleep(Duration::from_millis(pause).mul_f64(part)).await;
        }
    }

    async fn judged_once(&self) -> Result<Verdict, Anew> {
        if let Some((card, said)) = self.answered_before() {
            return Ok((Some(card.id()), said));
        }
        let reply = Reply {
            text: &self.message.text,
            about: self.message.about.as_deref(),
            written_at: self.message.written_at,
        };
        let mut open = match Open::of(self.gateway, self.channel, self.person, &reply).await {
            Ok(open) => open,
            Err(error) => return Ok((None, self.not_read(None, &error.message))),
        };
        // What was answered of several questions says which one comes next.
        let meant = meant_waiting(&open.chat, &reply).and_then(|id| open.card(id).cloned());
        let mut kept = Kept::default();
        if let Some(card) = &meant {
            kept = match steps::kept(self, card).await {
                Ok(kept) => kept,
                Err(Unknown) => return Ok((Some(card.id()), self.not_known(Some(card)))),
            };
            if kept.holds(&self.answer_id) {
                return Ok((Some(card.id()), self.next_again(card, &open, &kept)));
            }
            open.fill(card.id(), &kept);
        }
        let understood = understand(&open.chat, &reply);
        let asks = matches!(understood, Understood::List | Understood::Help);
        if let Some(card) = open.of_others(&reply).filter(|_| !asks) {
            return Ok((Some(card.id()), self.for_another(card, &open)));
        }
        let id = about(&understood);
        if let Some(id) = id {
            let ended = open
                .card(id)
                .filter(|card| !card.clarification.is_pending());
            match steps::kept_in_ended(self, ended).await {
                Ok(None) => {}
                Ok(Some(card)) => return Ok((Some(card.id()), self.over_meanwhile(&card, &open))),
                Err(Unknown) => return Ok((Some(id), self.not_known(open.card(id)))),
            }
        }
        let said = match id.and_then(|id| open.card(id)) {
            Some(card) => self.done(understood, card, &open, kept).await?,
            None => self.said_of_none(understood, &mut open).await,
        };
        Ok((id, said))
    }

    /// Does what a message means to this clarification.
    async fn done(
        &self,
        understood: Understood,
        card: &Arc<Card>,
        open: &Open,
        kept: Kept,
    ) -> Result<Said, Anew> {
        let telling = self.telling(Some(card));
        let tag = open.tag(card.id());
        let c = &card.clarification;
        Ok(match understood {
            Understood::Settles { act, .. } => {
                let kept = match steps::sending(self, card, kept).await {
                    Ok(kept) => kept,
                    Err(why) => return self.not_kept(card, why),
                };
                let said = self.send(card, act, (telling, &tag)).await;
                if matches!(said.verdict, "refused" | "not_sent") {
                    steps::not_sent(self, card, kept).await;
                    return Ok(said);
                }
                let later = said.later.map(|later| later.of(kept));
                Said { later, ..said }
            }
            Understood::TooLate { act, .. } => self.send(card, act, (telling, &tag)).await,
            Understood::Goes { so_far, next, .. } => {
                let done = askbus_domain::text_channel::done(&so_far);
                match steps::keep(self, card, so_far, &kept).await {
                    Ok(()) => telling::next(self.channel, c, (done, next), (telling, &tag)),
                    Err(why) => return self.not_kept(card, why),
                }
            }
            Understood::Holds { .. } => {
                let surface = self.channel.surface.clone();
                let trace = Trace::continuing(None);
                let held = submit::hold(self.gateway, self.person, card, surface, &trace).await;
                told(held, card, telling, &tag)
            }
            Understood::Unclear { question, why, .. } => {
                let question = c.questions.iter().nth(question);
                let question = question.unwrap_or(c.questions.first());
                let lines = telling.unclear(question, &why, !c.is_pending());
                Said::new("unclear", lines)
            }
            Understood::Over { .. } => {
                let outcome = c.outcome.as_deref();
                let lines = outcome.map(|outcome| telling.over(&tag, &c.questions, outcome));
                Said::new("over", lines.unwrap_or_default())
            }
            // Nothing else is about one clarification.
            _ => Said::new("nothing_waits", telling.nothing_waits(None)),
        })
    }

    fn not_kept(&self, card: &Arc<Card>, why: NotKept) -> Result<Said, Anew> {
        let in_doubt = match why {
            NotKept::Overtaken => false,
            NotKept::InDoubt => true,
            NotKept::Failed => {
                return Ok(self.not_read(Some(card), "it could not be kept; send it again"));
            }
        };
        let card = Arc::clone(card);
        Err(Anew { card, in_doubt })
    }

    /// What a message comes to that is about no clarification, or about several.
    async fn said_of_none(&self, understood: Understood, open: &mut Open) -> Said {
        let telling = self.telling(open.any());
        match understood {
            Understood::Which { of } => {
                let (listed, more) = open.listed(self, &of).await;
                Said::new("ambiguous", telling.which(&listed, more))
            }
            Understood::NoSuch { tag } => Said::new("unknown", telling.no_such(&tag)),
            Understood::List => {
                let all: Vec<ClarifyId> = open.chat.waiting.iter().map(|w| w.id).collect();
                let (listed, more) = open.listed(self, &all).await;
                Said::new("list", telling.list(&listed, more))
            }
            Understood::Help => Said::new("help", telling.help()),
            _ => {
                let last = open.last.as_ref().map(|card| open.tag(card.id()));
                Said::new("nothing_waits", telling.nothing_waits(last.as_deref()))
            }
        }
    }

    /// That a question which all have read in this chat is for somebody else.
    fn for_another(&self, card: &Arc<Card>, open: &Open) -> Said {
        let (tag, telling) = (open.tag(card.id()), self.telling(Some(card)));
        let to = card.clarification.to.as_ref();
        let lines = to.map_or_else(|| telling.no_such(&tag), |to| telling.is_for(&tag, to));
        Said::new("refused", lines)
    }

    /// What this very message came to before, if it settled something or came too late for it.
    fn answered_before(&self) -> Option<(Arc<Card>, Said)> {
        let author = &self.person.0.credential.subject;
        let known = |card: &Card| verdict_of(&card.clarification, author, &self.answer_id);
        let viewer = self.person.viewer();
        let knows = |card: &Card| known(card).is_some();
        let (_, found) = self.gateway.feed.settled(&viewer, knows, 1);
        let card = found.into_iter().next()?;
        let judged = submit::Judged::Reply(known(&card)?.into());
        let tag = tag(self.gateway, self.channel, card.id());
        let said = told(Ok(judged), &card, self.telling(Some(&card)), &tag);
        Some((card, said))
    }

    /// What is told of a message that is part of what is kept already.
    fn next_again(&self, card: &Arc<Card>, open: &Open, kept: &Kept) -> Said {
        let tag = open.tag(card.id());
        let (c, telling) = (&card.clarification, self.telling(Some(card)));
        telling::next(self.channel, c, kept.standing(c), (telling, &tag))
    }

    /// The same when all of it is over.
    fn over_meanwhile(&self, card: &Arc<Card>, open: &Open) -> Said {
        let (c, telling) = (&card.clarification, self.telling(Some(card)));
        let outcome = c.outcome.as_deref();
        let lines = outcome.map(|o| telling.ended(&open.tag(c.id), &c.questions, o));
        Said::new("kept", lines.unwrap_or_default())
    }

    fn not_known(&self, card: Option<&Arc<Card>>) -> Said {
        let why = "what you answered so far cannot be read; send it again";
        self.not_read(card, why)
    }

    fn not_read(&self, card: Option<&Arc<Card>>, why: &str) -> Said {
        Said::new("not_sent", self.telling(card).not_sent(why))
    }

    async fn send(&self, card: &Arc<Card>, act: Act, (telling, tag): (Telling, &str)) -> Said {
        let response = Response {
            answer_id: self.answer_id.clone(),
            actor: Actor {
                person: self.person.0.credential.subject.clone(),
                surface: self.channel.surface.clone(),
            },
            action: act.action,
            answers: act.answers,
            text: act.text,
        };
        let trace = Trace::continuing(None);
        let (gateway, person) = (self.gateway, self.person);
        let sent = submit::respond_and_follow(gateway, person, card, response, &trace).await;
        let (judged, later) = sent.map_or_else(|e| (Err(e), None), |(j, later)| (Ok(j), later));
        Said {
            later: later.map(|later| Later::new(self, card, later)),
            ..told(judged, card, telling, tag)
        }
    }

    fn telling(&self, card: Option<&Arc<Card>>) -> Telling {
        let of = card.map(|card| self.channel.language(&card.clarification));
        let language: Option<Language> = of.or(self.channel.language);
        Telling(language.unwrap_or_default())
    }
}

fn about(understood: &Understood) -> Option<ClarifyId> {
    match understood {
        Understood::Settles { id, .. }
        | Understood::TooLate { id, .. }
        | Understood::Goes { id, .. }
        | Understood::Holds { id }
        | Understood::Over { id }
        | Understood::Unclear { id, .. } => Some(*id),
        _ => None,
    }
}

/// The id of an answer that came as this message of this channel.
pub(super) fn answer_id(channel: &Channel, message: &str) -> Option<AnswerId> {
    let named = format!("{}\n{message}", channel.surface);
    let hash = digest::digest(&digest::SHA256, named.as_bytes());
    let mut id = String::with_capacity(64);
    for byte in hash.as_ref() {
        let _ = write!(id, "{byte:02x}");
    }
    AnswerId::new(id).ok()
}
