//! What a person says in a chat, and what they are told: the same for every channel.

use super::Channel;
use crate::caller::Person;
use crate::drafts;
use crate::gateway::Gateway;
use crate::projection::Card;
use crate::submit::{self, Judged, NotSent};
use crate::trace::Trace;
use askbus_domain::text_channel::{
    Act, Chat, EndedHere, Listed, Put, Reply, Tag, Telling, Understood, WaitingHere, split,
    understand,
};
use askbus_domain::{
    Actor, AnswerEntry, AnswerId, ClarifyId, GoesOn, Language, Outcome, Question, Response,
    Timestamp,
};
use askbus_wire::messages::{Draft, InboxReply};
use ring::digest;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

/// Questions that a chat tells apart at most; more wait, and are told as these go.
const MOST_WAITING: usize = 200;
/// Questions that have ended and can still be replied to by name.
const MOST_ENDED: usize = 100;
/// How long the drafts of one question may take.
const PATIENCE: Duration = Duration::from_secs(2);

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
#[derive(Debug)]
pub(super) struct Heard {
    /// One word for programs.
    pub verdict: &'static str,
    /// Which question it was for, if that is known.
    pub clarify_id: Option<ClarifyId>,
    /// What the person is told, as messages that fit the channel.
    pub messages: Vec<String>,
}

/// The open questions of a person in a channel.
struct Open {
    cards: Vec<Arc<Card>>,
    ended: Vec<Arc<Card>>,
    chat: Chat,
}

impl Open {
    async fn of(gateway: &Gateway, channel: &Channel, person: &Person) -> Self {
        let viewer = person.viewer();
        let mine = |card: &Card| person.may_answer(&card.clarification);
        let (_, cards) = gateway.feed.pending(&viewer, mine, MOST_WAITING);
        let put_here = |card: &Card| mine(card) && !card.settled_at_once();
        let (_, ended) = gateway.feed.settled(&viewer, put_here, MOST_ENDED);
        let mut waiting = Vec::with_capacity(cards.len());
        for card in &cards {
            let draft = so_far(gateway, channel, person, card).await;
            waiting.push(WaitingHere::of(&card.clarification, &draft));
        }
        let over = |card: &Arc<Card>| EndedHere {
            id: card.id(),
            questions: Arc::clone(&card.clarification.questions),
        };
        let chat = Chat {
            waiting,
            ended: ended.iter().map(over).collect(),
        };
        Self { cards, ended, chat }
    }

    fn card(&self, id: ClarifyId) -> Option<&Arc<Card>> {
        let mut all = self.cards.iter().chain(&self.ended);
        all.find(|card| card.id() == id)
    }

    fn listed<'c>(&'c self, ids: &[ClarifyId]) -> Vec<Listed<'c>> {
        let waiting = self.chat.waiting.iter().filter(|w| ids.contains(&w.id));
        let waiting = waiting.map(|w| (w.id, w.next().1, false));
        let ended = self.chat.ended.iter().filter(|e| ids.contains(&e.id));
        let ended = ended.map(|e| (e.id, e.questions.first(), true));
        let line = |(id, question, over): (ClarifyId, &'c Question, bool)| Listed {
            tag: self.tag(id),
            question: &question.question,
            over,
        };
        waiting.chain(ended).map(line).collect()
    }

    /// The name of a question, as short as it may be in this chat.
    fn tag(&self, id: ClarifyId) -> String {
        tag(id, self.cards.iter().map(|c| c.id()))
    }
}

/// The name of a question beside all that wait.
pub(super) fn tag(id: ClarifyId, beside: impl Iterator<Item = ClarifyId>) -> String {
    Tag::of(id).beside(beside.map(Tag::of))
}

/// The tab under which a channel keeps what is answered so far.
fn tab(channel: &Channel) -> String {
    channel.surface.to_string()
}

/// What the person answered of several questions; kept as a draft, so that it outlives this process
/// and shows in the panel.
async fn so_far(
    gateway: &Gateway,
    channel: &Channel,
    person: &Person,
    card: &Card,
) -> Vec<AnswerEntry> {
    if card.clarification.questions.len() < 2 {
        return Vec::new();
    }
    let listing = gateway
        .bus
        .drafts
        .list(person.tenant(), &card.session, card.id());
    let Ok(Ok(drafts)) = tokio::time::timeout(PATIENCE, listing).await else {
        return Vec::new();
    };
    let (who, tab) = (&person.0.credential.subject, tab(channel));
    let own = drafts
        .into_iter()
        .find(|d| d.person == *who && d.draft.tab == tab);
    own.map(|d| d.draft.answers).unwrap_or_default()
}

/// Takes a message of a person.
pub(super) async fn hear(
    gateway: &Arc<Gateway>,
    channel: &Channel,
    person: &Person,
    message: &Message,
) -> Heard {
    channel.heard();
    let open = Open::of(gateway, channel, person).await;
    let understood = understand(
        &open.chat,
        &Reply {
            text: &message.text,
            about: message.about.as_deref(),
            written_at: message.written_at,
        },
    );
    let id = about(&understood);
    let card = id.and_then(|id| open.card(id));
    let language = language(channel, card.or(open.cards.first()).or(open.ended.first()));
    let telling = Telling(language);
    let said = |verdict, lines: Vec<String>| (verdict, lines);
    let (verdict, lines) = match (understood, card) {
        (Understood::Settles { act, .. } | Understood::TooLate { act, .. }, Some(card)) => {
            let tag = open.tag(card.id());
            send(
                gateway,
                channel,
                person,
                card,
                act,
                &message.id,
                (telling, &tag),
            )
            .await
        }
        (Understood::Goes { so_far, next, .. }, Some(card)) => {
            let tag = open.tag(card.id());
            keep(
                gateway,
                channel,
                person,
                card,
                so_far,
                next,
                (telling, &tag),
            )
            .await
        }
        (Understood::Holds { .. }, Some(card)) => {
            hold(gateway, channel, person, card, telling).await
        }
        (Understood::Unclear { question, why, .. }, Some(card)) => {
            let questions = &card.clarification.questions;
            let question = questions.iter().nth(question).unwrap_or(questions.first());
            let over = !card.clarification.is_pending();
            said("unclear", telling.unclear(question, &why, over))
        }
        (Understood::Which { of }, _) => said("ambiguous", telling.which(&open.listed(&of), 0)),
        (Understood::NoSuch { tag }, _) => said("unknown", telling.no_such(&tag)),
        (Understood::List, _) => {
            let all: Vec<ClarifyId> = open.chat.waiting.iter().map(|w| w.id).collect();
            said("list", telling.list(&open.listed(&all), 0))
        }
        (Understood::Help, _) => said("help", telling.help()),
        // A card that is gone meanwhile waits no more.
        _ => {
            let last = open.ended.first().map(|card| open.tag(card.id()));
            said("nothing_waits", telling.nothing_waits(last.as_deref()))
        }
    };
    Heard {
        verdict,
        clarify_id: id,
        messages: split(&lines, channel.limits.message),
    }
}

fn about(understood: &Understood) -> Option<ClarifyId> {
    match understood {
        Understood::Settles { id, .. }
        | Understood::TooLate { id, .. }
        | Understood::Goes { id, .. }
        | Understood::Holds { id }
        | Understood::Unclear { id, .. } => Some(*id),
        _ => None,
    }
}

fn language(channel: &Channel, card: Option<&Arc<Card>>) -> Language {
    let of = card.map(|card| channel.language(&card.clarification));
    of.or(channel.language).unwrap_or_default()
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

type Said = (&'static str, Vec<String>);

async fn send(
    gateway: &Arc<Gateway>,
    channel: &Channel,
    person: &Person,
    card: &Arc<Card>,
    act: Act,
    message: &str,
    (telling, tag): (Telling, &str),
) -> Said {
    let Some(answer_id) = answer_id(channel, message) else {
        return ("not_sent", telling.not_sent("the message has no name"));
    };
    let response = Response {
        answer_id,
        actor: actor(channel, person),
        action: act.action,
        answers: act.answers,
        text: act.text,
    };
    let trace = Trace::continuing(None);
    let judged = submit::respond(gateway, person, card, response, &trace).await;
    told(judged, card, telling, tag)
}

fn actor(channel: &Channel, person: &Person) -> Actor {
    Actor {
        person: person.0.credential.subject.clone(),
        surface: channel.surface.clone(),
    }
}

/// What became of what was sent, in words.
fn told(judged: Result<Judged, NotSent>, card: &Card, telling: Telling, tag: &str) -> Said {
    let questions = &card.clarification.questions;
    let late = |outcome: &Outcome, goes_on: Option<GoesOn>| {
        telling.too_late(tag, questions, outcome, goes_on)
    };
    match judged {
        Ok(Judged::Reply(InboxReply::Settled { outcome })) => {
            ("settled", telling.taken(tag, questions, &outcome))
        }
        Ok(Judged::Reply(InboxReply::Conflict { outcome })) => ("conflict", late(&outcome, None)),
        Ok(Judged::Reply(InboxReply::Late { outcome, goes_on })) => {
            ("late", late(&outcome, goes_on))
        }
        Ok(Judged::Reply(InboxReply::Held)) => ("held", telling.held()),
        Ok(Judged::Unjudged | Judged::Reply(InboxReply::PassedOn { .. })) => {
            ("sent", telling.unjudged())
        }
        Ok(Judged::Refused { error, .. } | Judged::Reply(InboxReply::Refused { error, .. })) => {
            ("refused", telling.refused(&error))
        }
        Err(not_sent) => ("not_sent", telling.not_sent(&not_sent.error.message)),
    }
}

/// Keeps what is answered of several questions, and puts the next one. Whoever answers is there: the
/// countdown stops.
async fn keep(
    gateway: &Arc<Gateway>,
    channel: &Channel,
    person: &Person,
    card: &Arc<Card>,
    so_far: Vec<AnswerEntry>,
    next: usize,
    (telling, tag): (Telling, &str),
) -> Said {
    let done = so_far.len();
    let draft = Draft {
        tab: tab(channel),
        answers: so_far,
        text: None,
    };
    if !drafts::keep(gateway, person, card, &draft).await {
        return (
            "not_sent",
            telling.not_sent("it could not be kept; send it again"),
        );
    }
    let trace = Trace::continuing(None);
    if let Err(error) = submit::hold(gateway, person, card, channel.surface.clone(), &trace).await {
        tracing::warn!(error = %error.error, channel = channel.name, "a countdown was not stopped");
    }
    let questions = &card.clarification.questions;
    let mut lines = telling.noted(done, questions.len());
    let put = Put::of(&card.clarification, next, tag, telling.0);
    lines.extend(put.messages(&channel.limits));
    ("kept", lines)
}

async fn hold(
    gateway: &Arc<Gateway>,
    channel: &Channel,
    person: &Person,
    card: &Arc<Card>,
    telling: Telling,
) -> Said {
    let trace = Trace::continuing(None);
    let judged = submit::hold(gateway, person, card, channel.surface.clone(), &trace).await;
    let tag = Tag::of(card.id()).beside(std::iter::empty());
    told(judged, card, telling, &tag)
}
