//! What a reply does to the clarification that it is for.

use super::choice::{Unclear, own_words, read_choice, says_nothing};
use super::command::{Command, command};
use super::reply::{Act, EndedHere, Understood, WaitingHere};
use super::tag::Tag;
use crate::{AnswerAction, AnswerEntry, ClarifyId, Question, Questions, is_blank};

/// A reply to one that waits, to the question `number` of it or else to the next one.
pub(super) fn to_waiting(waiting: &WaitingHere, number: Option<usize>, text: &str) -> Understood {
    let (next, open) = waiting.next();
    let meant = match number.map(|number| numbered(&waiting.questions, number)) {
        None => (next, open),
        Some(Some(found)) => found,
        Some(None) => return no_such(waiting.id, number),
    };
    let (index, question) = meant;
    let unclear = |question, why| Understood::Unclear {
        id: waiting.id,
        question,
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
    let words = |words: &str| Some(words.to_owned()).filter(|w| !says_nothing(w));
    let entry = match command(text) {
        None => read_choice(question, text),
        Some((Command::Text, words)) => own_words(question, words),
        Some((Command::Skip, "")) => return settles(AnswerAction::Skip, None),
        Some((Command::Hold, "")) => return Understood::Holds { id: waiting.id },
        Some((Command::Dismiss, said)) => {
            return settles(AnswerAction::Dismiss, words(said).as_deref());
        }
        Some((Command::AskBack, said)) if says_nothing(said) => {
            return unclear(index, Unclear::CommandWithoutWords);
        }
        Some((Command::AskBack, said)) => return settles(AnswerAction::AskBack, Some(said)),
        Some((Command::Next, "")) if waiting.questions.len() > 1 => Ok(AnswerEntry {
            question_id: Some(question.id.clone()),
            dismissed: true,
            ..AnswerEntry::default()
        }),
        Some((Command::Back, "")) if waiting.done() > 0 => return back(waiting),
        Some((Command::Next | Command::Back, "")) => {
            return unclear(index, Unclear::NoOtherQuestion);
        }
        Some(_) => return unclear(index, Unclear::CommandWithWords),
    };
    match entry {
        // Nobody was shown it yet.
        _ if index != next && !waiting.has_answered(question) => {
            let number = index + 1;
            unclear(next, Unclear::NotYet { number })
        }
        Err(why) => unclear(index, why),
        Ok(entry) => with(waiting, entry),
    }
}

/// The question with this number, and its index.
fn numbered(questions: &Questions, number: usize) -> Option<(usize, &Question)> {
    let index = number.checked_sub(1)?;
    Some((index, questions.iter().nth(index)?))
}

fn no_such(id: ClarifyId, number: Option<usize>) -> Understood {
    let tag = Tag::of(id).beside(std::iter::empty());
    let number = number.map(|n| format!(".{n}")).unwrap_or_default();
    Understood::NoSuch {
        tag: format!("{tag}{number}"),
    }
}

/// The clarification with one more question answered, or one answered anew.
fn with(waiting: &WaitingHere, entry: AnswerEntry) -> Understood {
    let mut after = waiting.clone();
    let mut known = after.so_far.iter_mut();
    match known.find(|known| known.question_id == entry.question_id) {
        // What was noted before stands beside the answer that comes now.
        Some(known) if !known.decides() && !entry.dismissed => {
            *known = AnswerEntry {
                note: known.note.take(),
                ..entry
            };
        }
        Some(known) => *known = entry,
        None => after.so_far.push(entry),
    }
    if after.done() < after.questions.len() {
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
    if let Some(last) = before.so_far.iter().rposition(AnswerEntry::decides) {
        before.so_far.remove(last);
    }
    let (next, _) = before.next();
    Understood::Goes {
        id: before.id,
        so_far: before.so_far,
        next,
    }
}

/// What comes after the end is kept as it would have been taken; where it cannot be, as words.
pub(super) fn after_the_end(ended: &EndedHere, number: Option<usize>, text: &str) -> Understood {
    let found = match number.map(|number| numbered(&ended.questions, number)) {
        // Which of several questions it was for cannot be told.
        None if ended.questions.len() > 1 => None,
        None => Some((0, ended.questions.first())),
        Some(Some(found)) => Some(found),
        Some(None) => return no_such(ended.id, number),
    };
    let late = |act| Understood::TooLate { id: ended.id, act };
    let whole = |action, text: &str| {
        late(Act {
            action,
            answers: Vec::new(),
            text: Some(text.to_owned()).filter(|t| !is_blank(t)),
        })
    };
    let read = |entry: Result<AnswerEntry, Unclear>, index| match entry {
        Ok(entry) => late(Act {
            action: AnswerAction::Answer,
            answers: vec![entry],
            text: None,
        }),
        Err(why) => Understood::Unclear {
            id: ended.id,
            question: index,
            why,
        },
    };
    let says = |words: &str| !says_nothing(words);
    match (command(text), found) {
        (None, Some((index, question))) => read(read_choice(question, text), index),
        (None, None) if says(text) => whole(AnswerAction::Answer, text),
        (Some((Command::Text, said)), Some((index, question))) => {
            read(own_words(question, said), index)
        }
        (Some((Command::Text, said)), None) if says(said) => whole(AnswerAction::Answer, said),
        (Some((Command::Skip, "")), _) => whole(AnswerAction::Skip, ""),
        (Some((Command::Dismiss, said)), _) => whole(AnswerAction::Dismiss, said),
        (Some((Command::AskBack, said)), _) if says(said) => whole(AnswerAction::AskBack, said),
        // Nothing, or a command that needs a question that waits.
        _ => Understood::Over { id: ended.id },
    }
}
