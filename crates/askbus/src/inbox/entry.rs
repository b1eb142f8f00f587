//! One question as the terminal knows it: what was asked, what is filled in, and how it stands.

use super::draft::{Draft, Obstacle};
use super::field::Field;
use super::heard::{Outcome, Request, Who};
use super::say::{Say, Submission, What};
use askbus_domain::{AnswerAction, GoesOn, Timestamp};

/// How a question stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Status {
    /// It waits.
    Waiting,
    /// An answer of this person is on its way; sent again at `again`, or as soon as there is a
    /// connection.
    Sending {
        submission: Submission,
        again: Option<Timestamp>,
    },
    /// The inbox has it.
    Sent { submission: Submission },
    /// It is settled; nobody here may know how. `kept`: something of this person's is unsent.
    Settled {
        outcome: Option<Outcome>,
        since: Timestamp,
        kept: bool,
    },
    /// An answer of this person came too late.
    Late(Late),
}

/// An answer that came too late.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Late {
    pub submission: Submission,
    /// How it had ended; the news may still come.
    pub outcome: Option<Outcome>,
    /// Where it goes; none: nowhere until its author sends it on.
    pub goes_on: Option<GoesOn>,
    /// Whether it is being sent on.
    pub passing: bool,
}

impl Late {
    /// Whether its author may send it on: it holds words, and does not go on already.
    pub(super) fn may_pass_on(&self) -> bool {
        let Submission {
            action,
            answers,
            text,
            ..
        } = &self.submission;
        let written = text.as_ref().is_some_and(|t| !askbus_domain::is_blank(t));
        let says = |a: &askbus_domain::AnswerEntry| {
            !a.option_ids.is_empty() || a.text.is_some() || a.note.is_some()
        };
        let words = match action {
            AnswerAction::AskBack => written,
            AnswerAction::Answer => written || answers.iter().any(says),
            AnswerAction::Dismiss | AnswerAction::Skip => false,
        };
        words && !self.passing && !self.goes_on.is_some_and(GoesOn::is_on_its_way)
    }
}

/// A place in a card where the focus can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spot {
    /// An option of a question, both from 0.
    Option(usize, usize),
    /// Own words to a question.
    Text(usize),
    /// The note to a question.
    Note(usize),
    /// Declining a question.
    Decline(usize),
    /// What has to be known first.
    AskBack,
    Button(Button),
}

impl Spot {
    /// The question it belongs to.
    pub(super) fn question(self) -> Option<usize> {
        match self {
            Spot::Option(q, _) | Spot::Text(q) | Spot::Note(q) | Spot::Decline(q) => Some(q),
            Spot::AskBack | Spot::Button(_) => None,
        }
    }

    /// Whether text is written here.
    pub(super) fn is_field(self) -> bool {
        matches!(self, Spot::Text(_) | Spot::Note(_) | Spot::AskBack)
    }
}

/// Something a person does with a whole card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Button {
    Submit,
    Recommended,
    AskBack,
    Skip,
    Dismiss,
    Hold,
    TakeBack,
    PassOn,
    UseOther,
    Close,
}

/// A question with all that is known of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub request: Request,
    pub draft: Draft,
    pub status: Status,
    /// Why the last answer was not taken.
    pub error: Option<String>,
    /// Whether this person did anything here.
    pub touched: bool,
    /// Whether the service was asked to stop the countdown.
    pub hold_asked: bool,
    /// What the same person wrote elsewhere, where it differs.
    pub other: Option<Draft>,
    /// Who writes at it elsewhere, and until when that is said.
    pub writing: Option<(String, Timestamp)>,
    /// Who else answered too late.
    pub late_others: Vec<Who>,
    /// Whether the place for asking back is open.
    pub asking_back: bool,
    /// Where the focus is.
    pub spot: Spot,
    /// The first row that is shown.
    pub scroll: usize,
    /// Whether what is shown follows the focus.
    pub follow: bool,
}

impl Entry {
    /// A question that nobody here has touched.
    pub(super) fn new(request: Request) -> Self {
        let mut entry = Self {
            draft: Draft::blank(&request.questions),
            request,
            status: Status::Waiting,
            error: None,
            touched: false,
            hold_asked: false,
            other: None,
            writing: None,
            late_others: Vec::new(),
            asking_back: false,
            spot: Spot::Button(Button::Close),
            scroll: 0,
            follow: true,
        };
        entry.keep_spot();
        entry
    }

    /// Whether it waits and this person may answer it.
    pub(super) fn is_answerable(&self) -> bool {
        self.status == Status::Waiting && self.request.may_answer
    }

    /// Whether it still waits, as far as is known here.
    pub(super) fn is_open(&self) -> bool {
        matches!(
            self.status,
            Status::Waiting | Status::Sending { .. } | Status::Sent { .. }
        )
    }

    /// Something said about it.
    pub(super) fn say(&self, what: What) -> Say {
        Say {
            session_id: self.request.session_id.clone(),
            clarify_id: self.request.clarify_id,
            what,
        }
    }

    /// The field at a spot.
    pub(super) fn field_mut(&mut self, spot: Spot) -> Option<&mut Field> {
        match spot {
            Spot::Text(q) => self.draft.filled.get_mut(q).map(|f| &mut f.text),
            Spot::Note(q) => self.draft.filled.get_mut(q).map(|f| &mut f.note),
            Spot::AskBack => Some(&mut self.draft.ask_back),
            Spot::Option(..) | Spot::Decline(_) | Spot::Button(_) => None,
        }
    }

    /// Every place where the focus can be, in the order in which they are shown.
    pub(super) fn spots(&self) -> Vec<Spot> {
        let mut spots = Vec::new();
        if self.is_answerable() {
            let several = self.request.questions.len() > 1;
            for (q, (question, filled)) in self
                .request
                .questions
                .iter()
                .zip(&self.draft.filled)
                .enumerate()
            {
                if !filled.declined {
                    spots.extend((0..question.options.len()).map(|o| Spot::Option(q, o)));
                    spots.extend([Spot::Text(q), Spot::Note(q)]);
                }
                if several {
                    spots.push(Spot::Decline(q));
                }
            }
            if self.asking_back {
                spots.push(Spot::AskBack);
            }
        }
        spots.extend(self.buttons().into_iter().map(Spot::Button));
        spots
    }

    /// The buttons of the card as it stands.
    pub(super) fn buttons(&self) -> Vec<Button> {
        match &self.status {
            Status::Waiting if self.request.may_answer => {
                let mut buttons = vec![Button::Submit];
                if self
                    .request
                    .questions
                    .iter()
                    .any(|q| q.preferred().is_some())
                {
                    buttons.push(Button::Recommended);
                }
                buttons.extend([Button::AskBack, Button::Skip, Button::Dismiss]);
                if self.request.deadline.is_some() && !self.request.held {
                    buttons.push(Button::Hold);
                }
                if self.other.is_some() {
                    buttons.push(Button::UseOther);
                }
                buttons
            }
            Status::Sending { again: None, .. } => vec![Button::TakeBack],
            Status::Waiting | Status::Sent { .. } | Status::Sending { .. } => Vec::new(),
            Status::Late(late) if late.may_pass_on() => vec![Button::PassOn, Button::Close],
            Status::Settled { .. } | Status::Late(_) => vec![Button::Close],
        }
    }

    /// Sees to it that the focus is at a place that there is.
    pub(super) fn keep_spot(&mut self) {
        let spots = self.spots();
        if !spots.contains(&self.spot) {
            let same = |s: &&Spot| s.question().is_some() && s.question() == self.spot.question();
            let next = spots.iter().find(same).or(spots.first());
            self.spot = next.copied().unwrap_or(Spot::Button(Button::Close));
            if spots.first() == Some(&self.spot) {
                self.scroll = 0;
            }
        }
    }

    /// What a button would send; why it cannot, where it cannot.
    pub(super) fn sendable(
        &self,
        button: Button,
    ) -> Result<(AnswerAction, Vec<askbus_domain::AnswerEntry>), Obstacle> {
        let questions = &self.request.questions;
        let sent = self.draft.sent(questions);
        let (action, answers) = match button {
            Button::Recommended => {
                if !questions.iter().any(|q| q.preferred().is_some()) {
                    return Err(Obstacle::NoRecommendation);
                }
                (AnswerAction::Answer, self.draft.recommended(questions))
            }
            Button::AskBack => {
                self.draft.ask_back.words().ok_or(Obstacle::Nothing)?;
                (AnswerAction::AskBack, sent)
            }
            Button::Skip => (AnswerAction::Skip, sent),
            Button::Dismiss => (AnswerAction::Dismiss, sent),
            _ if self.draft.answered() == 0 => return Err(Obstacle::Nothing),
            _ => (AnswerAction::Answer, sent),
        };
        match self.draft.obstacle(questions) {
            // Nobody needs to mend an answer that they do not give.
            Some(Obstacle::OutOfBounds) if action != AnswerAction::Answer => Ok((action, answers)),
            // What is recommended stands in place of what is out of bounds.
            Some(Obstacle::OutOfBounds) if button == Button::Recommended => Ok((action, answers)),
            Some(obstacle) => Err(obstacle),
            None => Ok((action, answers)),
        }
    }
}
