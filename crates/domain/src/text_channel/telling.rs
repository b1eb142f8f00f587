//! What a person is told in a chat about their replies, and about questions that ended.

use super::choice::{Unclear, unmistakable};
use super::length::{Length, Unit};
use super::naming::{ENDED, TAKEN};
use super::showing::{further_lines_marked, on_one_line};
use super::words::{Distinct, words};
use crate::{
    Addressee, Bounds, GoesOn, Language, Outcome, Question, QuestionAnswer, Questions, Reason,
};

/// How many options of a question may be chosen.
pub fn bounds_text(question: &Question, language: Language) -> String {
    let Bounds { min, max } = question.select.unwrap_or_default();
    (words(language).several)(min, max)
}

/// The one or the group that a question is for.
pub(super) fn whom(to: &Addressee, language: Language) -> String {
    let words = words(language);
    let shown = |name: &str| NAMED.cut(&on_one_line(name));
    match (to, to.room()) {
        (_, Some(room)) => (words.managers)(&shown(room)),
        (Addressee::Person(name), None) => shown(name.as_str()),
        (Addressee::Group(name), None) => (words.group)(&shown(name.as_str())),
    }
}

/// What is shown of a question where it is only named.
const NAMED: Length = Length {
    most: 80,
    unit: Unit::Characters,
};

/// A question as it stands in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed<'a> {
    /// Its name, without the hash: as short as it may be beside all that a reply could be for.
    pub tag: String,
    /// What is asked.
    pub question: &'a str,
    /// Whether it is over.
    pub over: bool,
}

/// Says things in the person's language, each as lines.
#[derive(Debug, Clone, Copy)]
pub struct Telling(pub Language);

impl Telling {
    /// Why a reply is no answer to a question that waits or is over, with the options it could have
    /// meant.
    pub fn unclear(self, question: &Question, why: &Unclear, over: bool) -> Vec<String> {
        let (why, words) = (shown(why), words(self.0));
        let distinct = distinct(question, &why);
        let state = if over {
            words.is_over
        } else {
            words.still_waits
        };
        let mut lines = vec![(words.unclear)(
            &why,
            question.options.len(),
            &distinct,
            state,
        )];
        let options = question.options.iter().enumerate();
        lines.extend(options.map(|(i, o)| format!("{}. {}", i + 1, on_one_line(&o.label))));
        if question.multi_select && !question.options.is_empty() {
            lines.push(bounds_text(question, self.0));
        }
        lines
    }

    /// That a reply does not say which of several questions it means.
    pub fn which(self, of: &[Listed<'_>], more: usize) -> Vec<String> {
        let words = words(self.0);
        let all_wait = of.len() > 1 && of.iter().all(|one| !one.over);
        let first = if all_wait {
            words.which
        } else {
            words.which_of
        };
        let mut lines = vec![first.to_owned()];
        lines.extend(self.named(of, more));
        lines.extend(of.first().map(|one| (words.which_example)(&one.tag)));
        lines
    }

    /// What waits, and how many more.
    pub fn list(self, waiting: &[Listed<'_>], more: usize) -> Vec<String> {
        if waiting.is_empty() {
            return vec![words(self.0).nothing_waits.to_owned()];
        }
        let mut lines = vec![words(self.0).waits.to_owned()];
        lines.extend(self.named(waiting, more));
        lines
    }

    fn named(self, of: &[Listed<'_>], more: usize) -> Vec<String> {
        let words = words(self.0);
        let line = |one: &Listed<'_>| {
            let question = NAMED.cut(&on_one_line(one.question));
            let over = if one.over { words.over } else { "" };
            format!("#{} {question}{over}", one.tag)
        };
        let mut lines: Vec<String> = of.iter().map(line).collect();
        if more > 0 {
            lines.push((words.more)(more));
        }
        lines
    }

    /// That nothing waits, and how to say something all the same to what ended last.
    pub fn nothing_waits(self, last: Option<&str>) -> Vec<String> {
        let words = words(self.0);
        let mut lines = vec![words.nothing_waits.to_owned()];
        lines.extend(last.map(|tag| (words.last_ended)(tag)));
        lines
    }

    /// That no question has the name that was used.
    pub fn no_such(self, tag: &str) -> Vec<String> {
        vec![(words(self.0).no_such)(&NAMED.cut(&on_one_line(tag)))]
    }

    /// That a question of this chat is for somebody else.
    pub fn is_for(self, tag: &str, to: &Addressee) -> Vec<String> {
        vec![(words(self.0).is_for_others)(tag, &whom(to, self.0))]
    }

    /// What can be said.
    pub fn help(self) -> Vec<String> {
        words(self.0).help.lines().map(str::to_owned).collect()
    }

    /// That one of several questions is answered.
    pub fn noted(self, done: usize, of: usize) -> Vec<String> {
        vec![(words(self.0).noted)(done, of)]
    }

    /// That the countdown is stopped.
    pub fn held(self) -> Vec<String> {
        vec![words(self.0).held.to_owned()]
    }

    /// That a reply is stored and not judged yet.
    pub fn unjudged(self) -> Vec<String> {
        vec![words(self.0).unjudged.to_owned()]
    }

    /// That a reply could not be sent.
    pub fn not_sent(self, why: &str) -> Vec<String> {
        vec![(words(self.0).not_sent)(&on_one_line(why))]
    }

    /// That a reply was judged and not taken.
    pub fn refused(self, why: &str) -> Vec<String> {
        vec![(words(self.0).refused)(&on_one_line(why))]
    }

    /// That the person's own reply settled the clarification, and as what it was taken.
    pub fn taken(self, tag: &str, questions: &Questions, outcome: &Outcome) -> Vec<String> {
        let words = words(self.0);
        let first = match outcome.reason {
            Reason::Response => words.taken.to_owned(),
            reason => format!("{} {}", words.taken, (words.ended)(reason)),
        };
        let mut lines = vec![format!("{TAKEN} #{tag} {first}")];
        lines.extend(self.content(questions, outcome));
        lines
    }

    /// That a clarification has ended, how, and by whom.
    pub fn ended(self, tag: &str, questions: &Questions, outcome: &Outcome) -> Vec<String> {
        let words = words(self.0);
        let who = outcome.actor.as_ref().map(|actor| {
            let who = format!("{}, {}", actor.person, actor.surface);
            (words.by)(&on_one_line(&who))
        });
        let who = who.unwrap_or_default();
        let first = format!("{ENDED} #{tag} {}{who}", (words.ended)(outcome.reason));
        let mut lines = vec![first];
        lines.extend(self.content(questions, outcome));
        lines
    }

    /// That a reply came too late: what had ended it, and where the words go.
    pub fn too_late(
        self,
        tag: &str,
        questions: &Questions,
        outcome: &Outcome,
        goes_on: Option<GoesOn>,
    ) -> Vec<String> {
        let words = words(self.0);
        let mut lines = self.ended(tag, questions, outcome);
        let end = match (goes_on, self.0) {
            (Some(goes_on), _) => (words.goes_on)(goes_on),
            (None, Language::En) => ".",
            (None, Language::Zh) => "。",
        };
        lines.push(format!("{}{end}", words.kept));
        lines
    }

    /// That a clarification is over, so that what was said does nothing.
    pub fn over(self, tag: &str, questions: &Questions, outcome: &Outcome) -> Vec<String> {
        let mut lines = self.ended(tag, questions, outcome);
        lines.push((words(self.0).nothing_done)(tag));
        lines
    }

    /// What was chosen and written, question by question.
    fn content(self, questions: &Questions, outcome: &Outcome) -> Vec<String> {
        let words = words(self.0);
        let several = questions.len() > 1;
        let mut lines = Vec::new();
        for (index, question) in questions.iter().enumerate() {
            let of = |a: &&QuestionAnswer| a.question_id == question.id;
            let Some(answer) = outcome.answers.iter().find(of) else {
                continue;
            };
            let number = if several {
                format!("{}) ", index + 1)
            } else {
                String::new()
            };
            let labels = answer.options.iter().map(|o| on_one_line(&o.label));
            let labels: Vec<String> = labels.collect();
            if !labels.is_empty() {
                let labels = (words.list)(&labels);
                lines.push(format!("{number}{}{labels}", words.chose));
            }
            let own = answer.text.iter().chain(&answer.note);
            lines.extend(own.map(|t| format!("{number}{}{}", words.said, further_lines_marked(t))));
        }
        if let Some(text) = &outcome.text {
            lines.push(format!("{}{}", words.said, further_lines_marked(text)));
        }
        let open = questions
            .iter()
            .enumerate()
            .filter(|(_, q)| outcome.unanswered.contains(&q.id));
        let open: Vec<String> = open.map(|(index, _)| (index + 1).to_string()).collect();
        if several && outcome.reason == Reason::Response && !open.is_empty() {
            lines.push(format!("{}{}", words.left_out, (words.list)(&open)));
        }
        lines
    }
}

/// A reply as it is quoted back: on one line and not longer than a name.
fn shown(why: &Unclear) -> Unclear {
    let short = |said: &String| NAMED.cut(&on_one_line(said));
    match why {
        Unclear::Outside { said } => Unclear::Outside { said: short(said) },
        Unclear::Ambiguous { said, options } => Unclear::Ambiguous {
            said: short(said),
            options: options.clone(),
        },
        other => other.clone(),
    }
}

/// Replies that each mean one option and nothing else, for those that a reply could have meant.
fn distinct(question: &Question, why: &Unclear) -> Vec<Distinct> {
    let Unclear::Ambiguous { options, .. } = why else {
        return Vec::new();
    };
    let each = options.iter().filter_map(|index| {
        let label = on_one_line(&question.options.get(*index)?.label);
        Some(Distinct {
            reply: unmistakable(question, *index),
            label: NAMED.cut(&label),
        })
    });
    each.collect()
}
