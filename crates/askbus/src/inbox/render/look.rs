//! How things look. Colour is added to what can be told without it.

use ratatui::style::{Color, Modifier, Style};

/// With colour, or without.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    color: bool,
}

#[allow(clippy::unused_self, reason = "all looks are asked for in one way")]
impl Look {
    pub(super) fn new(color: bool) -> Self {
        Self { color }
    }

    fn colored(self, style: Style, color: Color) -> Style {
        if self.color { style.fg(color) } else { style }
    }

    /// Names and titles.
    pub(super) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// What is not looked for.
    pub(super) fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// Where the focus is.
    pub(super) fn focus(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// What is chosen or recommended.
    pub(super) fn good(self) -> Style {
        self.colored(self.strong(), Color::Green)
    }

    /// What a person should see to.
    pub(super) fn warning(self) -> Style {
        self.colored(self.strong(), Color::Yellow)
    }

    /// What went wrong or is about to end.
    pub(super) fn bad(self) -> Style {
        self.colored(self.strong(), Color::Red)
    }
}
