//! The terminal while the view has it. However the program ends or pauses, it is given back as it was.

use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use std::io::{Result, Stdout, stdout};
use std::sync::atomic::{AtomicBool, Ordering};

/// The terminal, taken over. Dropping it gives it back.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes the terminal over. A panic gives it back before it is told.
    pub(super) fn enter() -> Result<Self> {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
        take_over()?;
        match Terminal::new(CrosstermBackend::new(stdout())) {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Draws.
    pub(super) fn draw(&mut self, render: impl FnOnce(&mut ratatui::Frame<'_>)) -> Result<()> {
        self.terminal.draw(render).map(drop)
    }

    /// How many columns and rows there are.
    pub(super) fn size(&self) -> Result<(u16, u16)> {
        let size = self.terminal.size()?;
        Ok((size.width, size.height))
    }

    /// Gives the terminal back for a while.
    pub(super) fn pause() {
        give_back();
    }

    /// Takes it over again; nothing of what was drawn counts any more.
    pub(super) fn resume(&mut self) -> Result<()> {
        take_over()?;
        self.forget()
    }

    /// Draws everything anew the next time.
    pub(super) fn forget(&mut self) -> Result<()> {
        // Not by the terminal's own `clear`: it asks where the cursor is, and nobody reads the reply.
        execute!(stdout(), Clear(ClearType::All))?;
        self.terminal = Terminal::new(CrosstermBackend::new(stdout()))?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Whether the terminal is ours. Giving it back twice would put the cursor back to where it was before,
/// and what was written meanwhile, such as why it broke, would be written over.
static TAKEN: AtomicBool = AtomicBool::new(false);

fn take_over() -> Result<()> {
    TAKEN.store(true, Ordering::SeqCst);
    enable_raw_mode().inspect_err(|_| give_back())?;
    execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste).inspect_err(|_| give_back())
}

/// Best effort, as the terminal itself may be gone.
fn give_back() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let _ = execute!(
        stdout(),
        DisableBracketedPaste,
        LeaveAlternateScreen,
        cursor::Show
    );
    let _ = disable_raw_mode();
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbus_testkit::{Askbus, Tmux};

    /// Set where the test runs itself in a terminal.
    const INSIDE: &str = "ASKBUS_TEST_IN_TERMINAL";

    /// Runs twice: here, and as a program in a terminal, which it takes over and then panics.
    #[tokio::test]
    async fn a_panic_gives_the_terminal_back_and_is_read_afterwards() -> anyhow::Result<()> {
        if std::env::var_os(INSIDE).is_some() {
            let mut screen = Screen::enter()?;
            screen.draw(|frame| frame.render_widget("drawn", frame.area()))?;
            // Raw, so that the key comes without Enter.
            let key = crossterm::event::read()?;
            panic!("broken by {:?}", key.as_key_press_event().map(|k| k.code));
        }
        let home = tempfile::tempdir()?;
        let this = Askbus::new(std::env::current_exe()?, home.path()).env(INSIDE, "1");
        let tmux = Tmux::open(&this, 80, 24).await?;
        let name = concat!(
            module_path!(),
            "::a_panic_gives_the_terminal_back_and_is_read_afterwards"
        );
        let name = name.split_once("::").map_or(name, |(_, name)| name);
        tmux.command(&format!("$askbus --exact {name} --nocapture"))
            .await?;
        tmux.until("the view", |screen| screen.starts_with("drawn"))
            .await?;
        assert!(tmux.is_full_screen().await?);
        tmux.types("x").await?;
        // On the other screen it would be gone with it.
        let screen = tmux.shows("broken by Some(Char('x'))").await?;
        assert!(!tmux.is_full_screen().await?, "{screen}");
        tmux.shows("test result: FAILED. 0 passed; 1 failed")
            .await?;
        // Keys are shown again and end with Enter.
        tmux.command("clear; stty -a | grep -o ' icanon' && echo still $((20 + 22))")
            .await?;
        tmux.until("lines", |screen| {
            screen.contains(" icanon") && screen.contains("still 42")
        })
        .await?;
        Ok(())
    }
}
