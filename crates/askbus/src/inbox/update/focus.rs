//! Where the focus of a card is, and what of the card is in sight.

use crate::inbox::entry::Spot;
use crate::inbox::render;
use crate::inbox::state::State;

impl State {
    pub(super) fn focus(&mut self, spot: Spot) {
        let Some(entry) = self.entry_mut() else {
            return;
        };
        let spots = entry.spots();
        if !spots.contains(&spot) {
            return;
        }
        let first = spots.first() == Some(&spot);
        entry.spot = spot;
        self.typing = spot.is_field();
        let rows = render::card_rows(self);
        let Some(block) = render::focused(self) else {
            return;
        };
        if let Some(entry) = self.entry_mut() {
            if first {
                entry.scroll = 0;
            } else if block.len() > rows {
                // Read from its beginning, from wherever one comes.
                entry.scroll = block.start;
            }
        }
    }

    /// Shows more of a place that is higher than the window; says whether there was more.
    fn scroll_within(&mut self, by: isize) -> bool {
        let (rows, block) = (render::card_rows(self), render::focused(self));
        let Some(block) = block.filter(|block| block.len() > rows) else {
            return false;
        };
        let Some(entry) = self.entry_mut() else {
            return false;
        };
        let before = entry.scroll;
        let page = rows.saturating_sub(1);
        entry.scroll = match by {
            1 => (before + page)
                .min(block.end.saturating_sub(rows))
                .max(before),
            -1 => before.saturating_sub(page).max(block.start).min(before),
            _ => before,
        };
        entry.scroll != before
    }

    /// Whether any of the place that has the focus is in sight; if not, it is now.
    pub(super) fn in_sight(&mut self) -> bool {
        let (rows, block) = (render::card_rows(self), render::focused(self));
        let (Some(block), Some(entry)) = (block, self.entry_mut()) else {
            return true;
        };
        let seen = block.start < entry.scroll + rows && entry.scroll < block.end;
        if !seen {
            entry.scroll = block.start;
        }
        seen
    }

    pub(super) fn step(&mut self, by: isize) {
        if self.scroll_within(by) {
            return;
        }
        let Some(entry) = self.entry() else { return };
        let spots = entry.spots();
        let place = spots.iter().position(|s| *s == entry.spot).unwrap_or(0);
        let wanted = place
            .saturating_add_signed(by)
            .min(spots.len().saturating_sub(1));
        match spots.get(wanted) {
            Some(spot) if wanted != place => self.focus(*spot),
            // There is nowhere to go to: what is hidden below or above is shown.
            _ => self.scroll(by.signum()),
        }
    }

    /// To the next question, the place for asking back, or the buttons.
    pub(super) fn step_section(&mut self, on: bool) {
        let Some(entry) = self.entry() else { return };
        let section = |spot: &Spot| (spot.question(), matches!(spot, Spot::Button(_)));
        let spots = entry.spots();
        let here = section(&entry.spot);
        let place = spots.iter().position(|s| *s == entry.spot).unwrap_or(0);
        let other = if on {
            let later = spots.iter().skip(place).find(|s| section(s) != here);
            later.or(spots.first()).copied()
        } else {
            let earlier = spots.iter().take(place).rev().find(|s| section(s) != here);
            let found = earlier.or(spots.last()).map(section);
            spots.iter().find(|s| Some(section(s)) == found).copied()
        };
        if let Some(spot) = other {
            self.focus(spot);
        }
    }

    pub(super) fn scroll(&mut self, pages: isize) {
        let rows = isize::try_from(self.card_rows()).unwrap_or(isize::MAX);
        let by = rows.saturating_sub(2).max(1).saturating_mul(pages);
        if let Some(entry) = self.entry_mut() {
            entry.scroll = entry.scroll.saturating_add_signed(by);
            entry.follow = false;
        }
    }
}
