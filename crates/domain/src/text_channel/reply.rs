//! What a reply in a chat means: for which question it is, and what it says of it.

use super::answering::{after_the_end, to_waiting};
use super::beside::named_beside;
use super::choice::{Unclear, is_label, points_only};
use super::command::{Command, command};
use super::naming::{Leading, Name, referred};
use crate::{AnswerAction, AnswerEntry, Clarification, ClarifyId, Question, Questions, Timestamp};
use std::sync::Arc;

/// A clarification that waits in a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingHere {
    /// Which.
    pub id: ClarifyId,
    /// What is asked.
    pub questions: Arc<Questions>,
    /// Since when: what was written before is not about it.
    pub requested_at: Timestamp,
    /// What the person answered so far, question by question.
    pub so_far: Vec<AnswerEntry>,
}

/// A clarification that has ended and was put in this chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedHere {
    /// Which.
    pub id: ClarifyId,
    /// What was asked.
    pub questions: Arc<Questions>,
}

/// What a reply may be for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chat {
    /// What waits, oldest first.
    pub waiting: Vec<WaitingHere>,
    /// What has ended, latest first, as far as the reply concerns it.
    pub ended: Vec<EndedHere>,
}

/// A message of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reply<'a> {
    /// What they wrote.
    pub text: &'a str,
    /// What it replies to, if the channel knows: an id, a tag, or the message that they quote.
    pub about: Option<&'a str>,
    /// When they wrote it, if the channel knows.
    pub written_at: Option<Timestamp>,
}

/// What a reply names, before it is known what there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mentions<'a> {
    pub(super) lead: Option<Leading<'a>>,
    pub(super) about: Vec<Name>,
}

impl<'a> Reply<'a> {
    /// What it names.
    pub fn mentions(&self) -> Mentions<'a> {
        Mentions {
            lead: Leading::of(self.text),
            about: self.about.map(referred).unwrap_or_default(),
        }
    }
}

impl Mentions<'_> {
    /// Whether the reply may be for this one, or is not to be read without knowing of it.
    pub fn concern(&self, id: ClarifyId) -> bool {
        let leads = self.lead.as_ref().is_some_and(|lead| lead.is_like(id));
        leads || self.about.iter().any(|name| name.fits(id))
    }

    /// Those that it names by their whole id.
    pub fn ids(&self) -> impl Iterator<Item = ClarifyId> {
        self.about.iter().filter_map(Name::id)
    }
}

/// What a person does to a clarification, as it goes to the inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    /// What they mean to do.
    pub action: AnswerAction,
    /// Per question.
    pub answers: Vec<AnswerEntry>,
    /// The text to the whole.
    pub text: Option<String>,
}

/// What a reply means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Understood {
    /// It settles a clarification.
    Settles {
        /// Which.
        id: ClarifyId,
        /// How.
        act: Act,
    },
    /// It answers one question of several; the next one is to be put.
    Goes {
        /// In which clarification.
        id: ClarifyId,
        /// All that is answered now.
        so_far: Vec<AnswerEntry>,
        /// The index of the question to put next.
        next: usize,
    },
    /// It stops the countdown.
    Holds {
        /// Of which.
        id: ClarifyId,
    },
    /// It is for a clarification that has ended, and goes the way of late answers.
    TooLate {
        /// Which.
        id: ClarifyId,
        /// What it says.
        act: Act,
    },
    /// It is for a clarification that has ended, and says nothing that could be kept.
    Over {
        /// Which.
        id: ClarifyId,
    },
    /// It is no answer; the question is as it was.
    Unclear {
        /// In which clarification.
        id: ClarifyId,
        /// The index of the question.
        question: usize,
        /// Why.
        why: Unclear,
    },
    /// It could be for several, or refers to several, and does not say which it means.
    Which {
        /// Those of them that this chat knows.
        of: Vec<ClarifyId>,
    },
    /// No clarification of this chat has the name it uses.
    NoSuch {
        /// The name.
        tag: String,
    },
    /// Nothing waits that it could be for.
    NothingWaits,
    /// It asks what waits.
    List,
    /// It asks what can be said.
    Help,
}

impl WaitingHere {
    /// A clarification with what its person answered so far, as a draft keeps it; what does not fit
    /// the questions is left out.
    pub fn of(clarification: &Clarification, draft: &[AnswerEntry]) -> Self {
        let questions = &clarification.questions;
        let fits = |entry: &&AnswerEntry| {
            let question = entry.question_id.as_ref().and_then(|id| questions.get(id));
            question.is_some_and(|q| entry.option_ids.iter().all(|o| q.option(o).is_some()))
        };
        let mut so_far: Vec<AnswerEntry> = Vec::new();
        for entry in draft.iter().filter(fits) {
            if so_far.iter().all(|e| e.question_id != entry.question_id) {
                so_far.push(entry.clone());
            }
        }
        Self {
            id: clarification.id,
            questions: Arc::clone(questions),
            requested_at: clarification.requested_at,
            so_far,
        }
    }

    /// The first question without an answer, and its index.
    pub fn next(&self) -> (usize, &Question) {
        let open = |(_, q): &(usize, &Question)| !self.has_answered(q);
        let found = self.questions.iter().enumerate().find(open);
        found.unwrap_or((0, self.questions.first()))
    }

    /// How many of its questions are answered or declined.
    pub fn done(&self) -> usize {
        done(&self.so_far)
    }

    pub(super) fn has_answered(&self, question: &Question) -> bool {
        let of = |entry: &AnswerEntry| entry.question_id.as_ref() == Some(&question.id);
        self.so_far.iter().any(|e| of(e) && e.decides())
    }
}

/// How many questions these answer or decline; a note alone does neither.
pub fn done(so_far: &[AnswerEntry]) -> usize {
    so_far.iter().filter(|entry| entry.decides()).count()
}

/// One that a reply may be for.
#[derive(Debug, Clone, Copy)]
enum Here<'a> {
    Waiting(&'a WaitingHere),
    Ended(&'a EndedHere),
}

impl<'a> Here<'a> {
    fn questions(self) -> &'a Questions {
        match self {
            Here::Waiting(waiting) => &waiting.questions,
            Here::Ended(ended) => &ended.questions,
        }
    }

    fn id(self) -> ClarifyId {
        match self {
            Here::Waiting(waiting) => waiting.id,
            Here::Ended(ended) => ended.id,
        }
    }

    fn several(self) -> bool {
        self.questions().len() > 1
    }
}

/// What a reply is for, and what is left of it without the name.
struct Meant<'a> {
    here: Here<'a>,
    /// Which of several questions, counted from 1, if it says so.
    question: Option<usize>,
    text: &'a str,
}

/// What `reply` means in `chat`.
pub fn understand(chat: &Chat, reply: &Reply<'_>) -> Understood {
    let lead = Leading::of(reply.text).filter(|lead| lead.hash && lead.name().is_some());
    match command(lead.map_or(reply.text, |lead| lead.rest)) {
        Some((Command::List, "")) => return Understood::List,
        Some((Command::Help, "")) => return Understood::Help,
        _ => {}
    }
    match meant_alone(chat, reply) {
        Err(understood) => understood,
        Ok(Meant {
            here,
            question,
            text,
        }) => match here {
            Here::Waiting(waiting) => to_waiting(waiting, question, text),
            Here::Ended(ended) => after_the_end(ended, question, text),
        },
    }
}

/// The clarification that waits and that `reply` is for, if it is for one: what was answered of it so
/// far has to be known before the reply is read.
pub fn meant_waiting(chat: &Chat, reply: &Reply<'_>) -> Option<ClarifyId> {
    match meant_alone(chat, reply).ok()?.here {
        Here::Waiting(waiting) => Some(waiting.id),
        Here::Ended(_) => None,
    }
}

/// What `reply` is for, where it names no other question besides.
fn meant_alone<'a>(chat: &'a Chat, reply: &Reply<'a>) -> Result<Meant<'a>, Understood> {
    let meant = meant(chat, reply)?;
    let mut of = named_beside(chat, meant.here.questions(), meant.text);
    if of.is_empty() {
        return Ok(meant);
    }
    of.retain(|id| *id != meant.here.id());
    of.insert(0, meant.here.id());
    Err(Understood::Which { of })
}

/// What `reply` is for, or what it means without being for anything.
fn meant<'a>(chat: &'a Chat, reply: &Reply<'a>) -> Result<Meant<'a>, Understood> {
    let Mentions { lead, about } = reply.mentions();
    let number_of = |here: Here<'_>| {
        let name = about.iter().find(|name| name.fits(here.id()));
        name.and_then(|n| n.question).filter(|_| here.several())
    };
    if let Some(lead) = lead {
        // Without a hash it is a name only where something is called so.
        let name = lead.name();
        let name = name.filter(|name| lead.hash || all(chat).any(|here| name.fits(here.id())));
        if let Some(name) = name {
            let here = named(chat, &[name])?;
            let numbered = lead.numbered.filter(|_| here.several());
            return Ok(Meant {
                here,
                question: numbered.map_or_else(|| number_of(here), |(number, _)| Some(number)),
                text: numbered.map_or(lead.rest, |(_, rest)| rest),
            });
        }
        if is_mistaken(&lead, chat) {
            return Err(Understood::NoSuch { tag: lead.word });
        }
    }
    let here = if about.is_empty() {
        without_a_name(chat, reply)?
    } else {
        named(chat, &about)?
    };
    Ok(Meant {
        here,
        question: number_of(here),
        text: reply.text.trim(),
    })
}

/// Whether a hash and a word are a name that went wrong, and no words of the person's own.
fn is_mistaken(lead: &Leading<'_>, chat: &Chat) -> bool {
    let is_choice = || {
        let mut questions = chat.waiting.iter().flat_map(|w| w.questions.iter());
        points_only(lead.rest) || questions.any(|q| is_label(q, lead.rest))
    };
    all(chat).any(|here| lead.is_like(here.id())) || (lead.is_almost_a_name() && is_choice())
}

fn all(chat: &Chat) -> impl Iterator<Item = Here<'_>> {
    let ended = chat.ended.iter().map(Here::Ended);
    chat.waiting.iter().map(Here::Waiting).chain(ended)
}

/// The one that these names are for.
fn named<'a>(chat: &'a Chat, names: &[Name]) -> Result<Here<'a>, Understood> {
    let is_named = |here: &Here<'_>| names.iter().any(|name| name.fits(here.id()));
    let found: Vec<_> = all(chat).filter(is_named).collect();
    match (found.as_slice(), names) {
        ([], names) => Err(Understood::NoSuch {
            tag: names.first().map(Name::to_string).unwrap_or_default(),
        }),
        ([one], [_]) => Ok(*one),
        (several, _) => Err(which(several)),
    }
}

/// The one that a reply without a name is for: what was written before a question came is not about
/// it.
fn without_a_name<'a>(chat: &'a Chat, reply: &Reply<'_>) -> Result<Here<'a>, Understood> {
    let in_time = |w: &&WaitingHere| reply.written_at.is_none_or(|at| at >= w.requested_at);
    let found = chat.waiting.iter().filter(in_time).map(Here::Waiting);
    match found.collect::<Vec<_>>().as_slice() {
        [] => Err(Understood::NothingWaits),
        [one] => Ok(*one),
        several => Err(which(several)),
    }
}

fn which(several: &[Here<'_>]) -> Understood {
    Understood::Which {
        of: several.iter().map(|here| here.id()).collect(),
    }
}
