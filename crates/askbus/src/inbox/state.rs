//! All that the full-screen view knows, and what may happen to it.

use super::entry::{Entry, Spot};
use super::heard::{Heard, Plan};
use super::order::Row;
use super::say::Say;
use askbus_domain::{ClarifyId, Language, SessionId, Timestamp};
use ratatui::crossterm::event::KeyEvent;
use std::collections::{BTreeMap, HashSet, VecDeque};

/// When something happens, and an id that nobody has used: nothing in here makes its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moment {
    /// By the clock of this machine.
    pub now: Timestamp,
    /// For an answer, should one come of it.
    pub fresh: String,
}

/// What happens.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Event {
    Key(KeyEvent),
    Paste(String),
    /// The screen has so many columns and rows.
    Size(u16, u16),
    /// Time passes.
    Tick,
    /// The service said something, and what its clock shows.
    Heard(Box<Heard>, Option<i64>),
    /// The connection is lost.
    Lost,
    /// The person's editor is done with a field: its text, or what went wrong.
    Edited(ClarifyId, Spot, Result<String, EditorTrouble>),
}

/// What became of an editor that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EditorTrouble {
    /// What went wrong.
    pub error: String,
    /// Where what was written there is kept.
    pub kept: Option<String>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    Say(Say),
    /// Let the person edit a text in their own editor.
    Edit(ClarifyId, Spot, String),
    /// Make a sound: a question is new.
    Ring,
    /// Let the shell go on until it is called back.
    Suspend,
    /// Draw everything anew.
    Redraw,
    Leave,
}

/// Which part has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pane {
    List,
    Card,
}

/// How the connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    Connecting,
    Online,
    Offline,
}

/// From this width on list and card stand side by side.
const TWO_PANES: u16 = 100;
/// How wide the list is then.
pub(super) const LIST_COLUMNS: u16 = 40;
/// With fewer rows than this a window is low.
const LOW: u16 = 16;

/// The state of the view.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    pub me: String,
    pub tenant: String,
    /// The name under which this terminal's drafts are kept.
    pub tab: String,
    pub language: Language,
    pub color: bool,
    /// Whether the service is one of this machine, where its person can start it.
    pub here: bool,
    pub size: (u16, u16),
    pub link: Link,
    /// Whether all that waits was told since the connection came.
    pub caught_up: bool,
    /// Whether that was so once: from then on what comes is new.
    pub announcing: bool,
    /// The service's clock less ours, in milliseconds.
    pub ahead: i64,
    /// By the service's clock, as of the last event.
    pub now: Timestamp,
    pub entries: BTreeMap<ClarifyId, Entry>,
    /// The plans that agents work on.
    pub plans: BTreeMap<SessionId, Plan>,
    /// Settled ids, so that nothing out of order opens them again; the oldest first.
    pub settled: VecDeque<ClarifyId>,
    pub rows: Vec<Row>,
    pub selected: Option<ClarifyId>,
    pub pane: Pane,
    /// Whether keys are written into the field that has the focus.
    pub typing: bool,
    /// The number that was typed just before, which the next digit may belong to.
    pub number: Option<usize>,
    /// The keys are shown, from this row on.
    pub help: Option<usize>,
    /// A line for the person, until the next key.
    pub notice: Option<String>,
    /// Drafts that the service has not heard of, the oldest first.
    pub unsaved: VecDeque<ClarifyId>,
    pub saved_at: Timestamp,
}

impl State {
    /// The view before anything is known.
    pub(super) fn new(tab: String, language: Language, color: bool, size: (u16, u16)) -> Self {
        let never = Timestamp::from_unix_millis(0);
        Self {
            me: String::new(),
            tenant: String::new(),
            tab,
            language,
            color,
            here: false,
            size,
            link: Link::Connecting,
            caught_up: false,
            announcing: false,
            ahead: 0,
            now: never,
            entries: BTreeMap::new(),
            plans: BTreeMap::new(),
            settled: VecDeque::new(),
            rows: Vec::new(),
            selected: None,
            pane: Pane::List,
            typing: false,
            number: None,
            help: None,
            notice: None,
            unsaved: VecDeque::new(),
            saved_at: never,
        }
    }

    /// Whether list and card stand side by side.
    pub(super) fn is_wide(&self) -> bool {
        self.size.0 >= TWO_PANES
    }

    /// Whether there are so few rows that what can be left out is.
    pub(super) fn is_low(&self) -> bool {
        self.size.1 < LOW
    }

    /// How many columns a card has.
    pub(super) fn card_columns(&self) -> usize {
        let taken = if self.is_wide() { LIST_COLUMNS + 1 } else { 0 };
        usize::from(self.size.0.saturating_sub(taken)).max(20)
    }

    /// How many columns a field has.
    pub(super) fn field_columns(&self) -> usize {
        self.card_columns().saturating_sub(FIELD_INDENT + 1)
    }

    /// How many rows a card has, about.
    pub(super) fn card_rows(&self) -> usize {
        usize::from(self.size.1.saturating_sub(4)).max(4)
    }

    /// How many wait for an answer of this person.
    pub(super) fn waiting(&self) -> usize {
        let waits = |e: &&Entry| e.is_open() && e.request.may_answer;
        self.entries.values().filter(waits).count()
    }

    /// The question that is selected.
    pub(super) fn entry(&self) -> Option<&Entry> {
        self.entries.get(&self.selected?)
    }

    /// The question that is selected, to be changed.
    pub(super) fn entry_mut(&mut self) -> Option<&mut Entry> {
        self.entries.get_mut(&self.selected?)
    }

    /// The ids of the list in its order.
    pub(super) fn listed(&self) -> impl DoubleEndedIterator<Item = ClarifyId> + '_ {
        self.rows.iter().filter_map(|row| match row {
            Row::Entry(id) => Some(*id),
            Row::Session(..) => None,
        })
    }

    /// Remembers that a question is over.
    pub(super) fn remember(&mut self, id: ClarifyId) {
        if !self.settled.contains(&id) {
            self.settled.push_back(id);
        }
        if self.settled.len() > REMEMBER {
            self.settled.pop_front();
        }
    }

    /// What would be lost if the terminal went away now: drafts the service has not heard of, answers
    /// that have not left, and words whose question was settled without them.
    pub(super) fn unsent(&self) -> Vec<&Entry> {
        let unsaved: HashSet<&ClarifyId> = self.unsaved.iter().collect();
        let unsent = |entry: &&Entry| {
            let waits = unsaved.contains(&entry.request.clarify_id) && !entry.draft.is_blank();
            waits
                || matches!(
                    entry.status,
                    super::entry::Status::Sending { .. }
                        | super::entry::Status::Settled { kept: true, .. }
                )
        };
        self.entries.values().filter(unsent).collect()
    }
}

/// Settled ids that are remembered.
const REMEMBER: usize = 2_000;
/// How far a field stands from the edge of its card.
pub(super) const FIELD_INDENT: usize = 6;
