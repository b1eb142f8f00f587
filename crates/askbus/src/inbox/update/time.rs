//! What time does: it sends again, saves drafts, and takes away what is over.

use super::Effects;
use crate::inbox::entry::{Entry, Status};
use crate::inbox::say::What;
use crate::inbox::state::{Effect, Link, Pane, State};
use askbus_domain::{ClarifyId, Millis};

/// The service hears of drafts at most this often.
const SAVE_EVERY: Millis = Millis(1_000);
/// How long a settled question stays.
const LINGER: Millis = Millis(7_000);

impl State {
    pub(super) fn time_passes(&mut self, effects: &mut Effects) {
        self.deliver_overdue(effects);
        self.save_drafts(effects);
        let now = self.now;
        for entry in self.entries.values_mut() {
            entry.writing.take_if(|(_, until)| *until <= now);
        }
        let open = self.selected.filter(|_| self.pane == Pane::Card);
        let over = |e: &&Entry| match e.status {
            Status::Settled { since, kept, .. } => !kept && since.plus(LINGER) <= now,
            _ => false,
        };
        let gone: Vec<ClarifyId> = self
            .entries
            .values()
            .filter(over)
            .map(|e| e.request.clarify_id)
            // Nobody loses what they are reading.
            .filter(|id| Some(*id) != open)
            .collect();
        for id in gone {
            self.remove(id);
        }
    }

    /// Tells the service of drafts, one at a time, as often as it may hear of them.
    pub(super) fn save_drafts(&mut self, effects: &mut Effects) {
        if self.link != Link::Online || !self.caught_up || self.now < self.saved_at.plus(SAVE_EVERY)
        {
            return;
        }
        let Some(id) = self.unsaved.pop_front() else {
            return;
        };
        self.saved_at = self.now;
        effects.extend(self.draft_of(id));
    }

    /// All drafts that were not told yet, for when the person leaves.
    pub(in crate::inbox) fn last_drafts(&mut self) -> Effects {
        let unsaved = std::mem::take(&mut self.unsaved);
        unsaved
            .into_iter()
            .filter_map(|id| self.draft_of(id))
            .collect()
    }

    fn draft_of(&self, id: ClarifyId) -> Option<Effect> {
        let entry = self
            .entries
            .get(&id)
            .filter(|e| e.status == Status::Waiting)?;
        let draft = What::Draft {
            tab: self.tab.clone(),
            answers: entry.draft.kept(&entry.request.questions),
            text: entry.draft.ask_back.text().to_owned(),
        };
        Some(Effect::Say(entry.say(draft)))
    }
}
