//! What a reply in a chat means: for which question it is, and what it says of it.

use super::choice::{Unclear, own_words, read_choice};
use super::command::{Command, command};
use super::tag::Tag;
use crate::{
    AnswerAction, AnswerEntry, Clarification, ClarifyId, Question, QuestionId, Questions, Timestamp,
};
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

/// What is open in a chat, and what was a while ago.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chat {
    /// What waits, oldest first.
    pub waiting: Vec<WaitingHere>,
    /// What has ended, latest first.
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
    /// It is no answer; the question waits on.
    Unclear {
        /// In which clarification.
        id: ClarifyId,
        /// The index of the question.
        question: usize,
        /// Why.
        why: Unclear,
    },
    /// Several wait and it does not say which it means.
    Which {
        /// Those it could mean.
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
            if !is_answered(&so_far, entry.question_id.as_ref()) {
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
        let open = |(_, q): &(usize, &Question)| !is_answered(&self.so_far, Some(&q.id));
        let found = self.questions.iter().enumerate().find(open);
        found.unwrap_or((0, self.questions.first()))
    }
}

fn is_answered(so_far: &[AnswerEntry], id: Option<&QuestionId>) -> bool {
    so_far.iter().any(|entry| entry.question_id.as_ref() == id)
}

/// What `reply` means in `chat`.
pub fn understand(chat: &Chat, reply: &Reply<'_>) -> Understood {
    let (named, text) = match Tag::leading(reply.text) {
        Some((tag, rest)) => (Some(tag), rest),
        None => (None, reply.text.trim()),
    };
    match command(text) {
        Some((Command::List, "")) => return Understood::List,
        Some((Command::Help, "")) => return Understood::Help,
        _ => {}
    }
    let named = named.or_else(|| reply.about.map(reference));
    let Some(name) = named else {
        return match candidates(chat, reply).as_slice() {
            [] => Understood::NothingWaits,
            [one] => about_waiting(one, text),
            several => which(several),
        };
    };
    let waiting: Vec<_> = chat
        .waiting
        .iter()
        .filter(|w| has_name(w.id, &name))
        .collect();
    let ended: Vec<_> = chat
        .ended
        .iter()
        .filter(|e| has_name(e.id, &name))
        .collect();
    match (waiting.as_slice(), ended.as_slice()) {
        ([one], _) => about_waiting(one, text),
        ([], [one, ..]) => too_late(one, text),
        ([], []) => Understood::NoSuch { tag: name },
        (several, _) => which(several),
    }
}

/// An id stays what it is; of a message that was quoted, its tag counts.
fn reference(about: &str) -> String {
    let about = about.trim();
    Tag::quoted(about).unwrap_or_else(|| about.to_owned())
}

fn has_name(id: ClarifyId, name: &str) -> bool {
    ClarifyId::parse(name).is_ok_and(|named| named == id) || Tag::of(id).begins_with(name)
}

/// Those that a reply without a name can be for: what was written before a question came is not
/// about it.
fn candidates<'a>(chat: &'a Chat, reply: &Reply<'_>) -> Vec<&'a WaitingHere> {
    let in_time = |w: &&WaitingHere| reply.written_at.is_none_or(|at| at >= w.requested_at);
    chat.waiting.iter().filter(in_time).collect()
}

fn which(several: &[&WaitingHere]) -> Understood {
    Understood::Which {
        of: several.iter().map(|w| w.id).collect(),
    }
}

fn about_waiting(waiting: &WaitingHere, text: &str) -> Understood {
    let (index, question) = waiting.next();
    let unclear = |why| Understood::Unclear {
        id: waiting.id,
        question: index,
        why,
    };
    let settles = |action, text: Option<&str>| Understood::Settles {
        id: waiting.id,
        act: Act {
            action,
            answers: waiting.so_far.clone(),
            text: text.map(str::to_owned),
        },
    };
    let words = |words: &str| Some(words.to_owned()).filter(|w| !w.is_empty());
    let entry = match command(text) {
        None => read_choice(question, text),
        Some((Command::Text, words)) => own_words(question, words),
        Some((Command::Skip, "")) => return settles(AnswerAction::Skip, None),
        Some((Command::Hold, "")) => return Understood::Holds { id: waiting.id },
        Some((Command::Dismiss, said)) => {
            return settles(AnswerAction::Dismiss, words(said).as_deref());
        }
        Some((Command::AskBack, "")) => return unclear(Unclear::CommandWithoutWords),
        Some((Command::AskBack, said)) => return settles(AnswerAction::AskBack, Some(said)),
        Some((Command::Next, "")) if waiting.questions.len() > 1 => Ok(AnswerEntry {
            question_id: Some(question.id.clone()),
            dismissed: true,
            ..AnswerEntry::default()
        }),
        Some((Command::Back, "")) if !waiting.so_far.is_empty() => return back(waiting),
        Some((Command::Next | Command::Back, "")) => return unclear(Unclear::NoOtherQuestion),
        Some(_) => return unclear(Unclear::CommandWithWords),
    };
    match entry {
        Err(why) => unclear(why),
        Ok(entry) => with(waiting, entry),
    }
}

/// The clarification with one more question answered.
fn with(waiting: &WaitingHere, entry: AnswerEntry) -> Understood {
    let mut after = waiting.clone();
    after.so_far.push(entry);
    if after.so_far.len() < after.questions.len() {
        let (next, _) = after.next();
        return Understood::Goes {
            id: after.id,
            so_far: after.so_far,
            next,
        };
    }
    Understood::Settles {
        id: after.id,
        act: Act {
            action: AnswerAction::Answer,
            answers: after.so_far,
            text: None,
        },
    }
}

/// The clarification without the answer that was given last.
fn back(waiting: &WaitingHere) -> Understood {
    let mut before = waiting.clone();
    before.so_far.pop();
    let (next, _) = before.next();
    Understood::Goes {
        id: before.id,
        so_far: before.so_far,
        next,
    }
}

/// What comes after the end is kept as it would have been taken; where it cannot be, as words.
fn too_late(ended: &EndedHere, text: &str) -> Understood {
    let answer = |entry| Act {
        action: AnswerAction::Answer,
        answers: vec![entry],
        text: None,
    };
    let whole = |action, text: &str| Act {
        action,
        answers: Vec::new(),
        text: Some(text.to_owned()).filter(|t| !t.trim().is_empty()),
    };
    let first = ended.questions.first();
    let act = match command(text) {
        Some((Command::Skip, "")) => whole(AnswerAction::Skip, ""),
        Some((Command::Dismiss, said)) => whole(AnswerAction::Dismiss, said),
        Some((Command::AskBack, said)) if !said.is_empty() => whole(AnswerAction::AskBack, said),
        Some((Command::Text, said)) if ended.questions.len() == 1 => {
            own_words(first, said).map_or_else(|_| whole(AnswerAction::Answer, said), answer)
        }
        // Which of several questions it was for cannot be told.
        _ if ended.questions.len() > 1 => whole(AnswerAction::Answer, text),
        _ => match read_choice(first, text) {
            Ok(entry) => answer(entry),
            Err(why) => {
                return Understood::Unclear {
                    id: ended.id,
                    question: 0,
                    why,
                };
            }
        },
    };
    Understood::TooLate { id: ended.id, act }
}
