//! The full-screen inbox: the terminal and the connection around the state.

use super::connection::{Connection, News};
use super::editor::Editor;
use super::entry::Spot;
use super::heard::{Heard, server_now};
use super::render::render;
use super::screen::Screen;
use super::state::{EditorTrouble, Effect, Event, Moment, State};
use super::update::update;
use super::words::words;
use crate::exit::{Failure, UNAVAILABLE};
use crate::output;
use crate::panel::Panel;
use askbus_domain::{ClarifyId, Language, Timestamp};
use crossterm::event::EventStream;
use futures::StreamExt as _;
use rustix::process::{Signal, getpid, kill_process};
use std::env;
use std::io::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};
use tokio::time::{Interval, MissedTickBehavior, interval};

/// How often time is looked at: countdowns show seconds.
const TICK: Duration = Duration::from_secs(1);
/// How much is taken in before it is drawn.
const AT_ONCE: usize = 1_000;

/// Runs until the person leaves.
pub(super) async fn run(panel: &Panel, language: Language) -> Result<(), Failure> {
    let color = env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let signals = Signals::listen()?;
    let mut screen = Screen::enter()?;
    let size = screen.size()?;
    let tab = format!("terminal-{}", uuid::Uuid::new_v4());
    let mut view = View {
        state: Some(State {
            here: panel.is_here(),
            ..State::new(tab, language, color, size)
        }),
        connection: Connection::open(panel),
        keys: Some(EventStream::new()),
        editor: None,
        tick: ticks(),
        signals,
        leaving: false,
        refused: None,
    };
    let ended = view.live(&mut screen).await;
    // What is typed from here on is the shell's.
    view.keys = None;
    drop(screen);
    view.leave().await;
    ended
}

fn ticks() -> Interval {
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tick
}

/// The signals that concern a program that has the terminal.
struct Signals {
    terminate: Stream,
    interrupt: Stream,
    hang_up: Stream,
    stop: Stream,
    go_on: Stream,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        let raw = |s: Signal| SignalKind::from_raw(s.as_raw());
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
            stop: signal(raw(Signal::TSTP))?,
            go_on: signal(raw(Signal::CONT))?,
        })
    }

    async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.terminate.recv() => Told::Leave,
            _ = self.hang_up.recv() => Told::Leave,
            _ = self.interrupt.recv() => Told::Interrupted,
            _ = self.stop.recv() => Told::Stop,
            _ = self.go_on.recv() => Told::GoOn,
        }
    }
}

/// What a signal tells.
#[derive(Clone, Copy)]
enum Told {
    Leave,
    Interrupted,
    Stop,
    GoOn,
}

struct View {
    /// Always there but while an event is taken.
    state: Option<State>,
    connection: Connection,
    /// None while somebody else reads the terminal.
    keys: Option<EventStream>,
    editor: Option<(ClarifyId, Spot, Editor)>,
    tick: Interval,
    signals: Signals,
    leaving: bool,
    refused: Option<Failure>,
}

impl View {
    async fn live(&mut self, screen: &mut Screen) -> Result<(), Failure> {
        while !self.leaving {
            if let Some(state) = self.state.as_ref().filter(|_| self.editor.is_none()) {
                screen.draw(|frame| render(state, frame))?;
            }
            self.wait(screen).await?;
            for _ in 0..AT_ONCE {
                let Some(news) = self.connection.next_here() else {
                    break;
                };
                self.news(Some(news), screen)?;
            }
        }
        self.refused.take().map_or(Ok(()), Err)
    }

    /// Takes the next thing that happens.
    async fn wait(&mut self, screen: &mut Screen) -> Result<(), Failure> {
        let keys = async {
            match &mut self.keys {
                Some(keys) => keys.next().await,
                None => std::future::pending().await,
            }
        };
        let edited = async {
            match &mut self.editor {
                Some((_, _, editor)) => editor.ended().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            told = self.signals.next() => self.told(told, screen),
            status = edited => {
                let Some((id, spot, editor)) = self.editor.take() else { return Ok(()) };
                self.take_back(screen)?;
                self.happens(Event::Edited(id, spot, editor.outcome(status)), screen)?;
                self.leaving |= self.refused.is_some();
                Ok(())
            }
            key = keys => {
                if let Some(Ok(event)) = key {
                    return self.terminal_event(event, screen);
                }
                // The terminal is gone.
                self.leaving = true;
                Ok(())
            }
            news = self.connection.next(), if self.refused.is_none() => self.news(news, screen),
            _ = self.tick.tick() => self.happens(Event::Tick, screen),
        }
    }

    fn told(&mut self, told: Told, screen: &mut Screen) -> Result<(), Failure> {
        match told {
            Told::Leave => self.leaving = true,
            // While an editor has the terminal this is between it and the person.
            Told::Interrupted => self.leaving = self.editor.is_none(),
            Told::Stop => self.suspend(screen)?,
            Told::GoOn if self.editor.is_none() => self.take_back(screen)?,
            Told::GoOn => {}
        }
        Ok(())
    }

    fn terminal_event(
        &mut self,
        event: crossterm::event::Event,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        use crossterm::event::Event as Seen;
        match event {
            Seen::Key(key) => self.happens(Event::Key(key), screen),
            Seen::Paste(text) => self.happens(Event::Paste(text), screen),
            Seen::Resize(columns, rows) => self.happens(Event::Size(columns, rows), screen),
            Seen::FocusGained | Seen::FocusLost | Seen::Mouse(_) => Ok(()),
        }
    }

    fn news(&mut self, news: Option<News>, screen: &mut Screen) -> Result<(), Failure> {
        match news {
            Some(News::Object(object)) => {
                let Some(heard) = Heard::read(&object) else {
                    return Ok(());
                };
                self.happens(Event::Heard(Box::new(heard), server_now(&object)), screen)
            }
            Some(News::Lost) => self.happens(Event::Lost, screen),
            Some(News::Refused(failure)) => {
                self.refused = Some(failure);
                // Who is writing is let finish.
                self.leaving = self.editor.is_none();
                Ok(())
            }
            None => Err(Failure::new(
                UNAVAILABLE,
                "the connection ended; start it again",
            )),
        }
    }

    fn happens(&mut self, event: Event, screen: &mut Screen) -> Result<(), Failure> {
        let Some(state) = self.state.take() else {
            return Ok(());
        };
        let (state, effects) = update(state, event, &moment());
        self.state = Some(state);
        for effect in effects {
            match effect {
                Effect::Say(say) => self.connection.say(say.object()),
                Effect::Edit(id, spot, text) => self.edit(id, spot, &text, screen)?,
                Effect::Ring => ring()?,
                Effect::Suspend => self.suspend(screen)?,
                Effect::Redraw => screen.forget()?,
                Effect::Leave => self.leaving = true,
            }
        }
        Ok(())
    }

    /// Leaves the terminal to whoever needs it now.
    fn let_go(&mut self) {
        // Its thread would read what is meant for them.
        self.keys = None;
        Screen::pause();
    }

    fn take_back(&mut self, screen: &mut Screen) -> Result<(), Failure> {
        screen.resume()?;
        if self.keys.is_none() {
            self.keys = Some(EventStream::new());
        }
        let (columns, rows) = screen.size()?;
        self.happens(Event::Size(columns, rows), screen)
    }

    fn edit(
        &mut self,
        id: ClarifyId,
        spot: Spot,
        text: &str,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        self.let_go();
        match Editor::start(text) {
            Ok(editor) => self.editor = Some((id, spot, editor)),
            Err(trouble) => {
                self.take_back(screen)?;
                self.happens(Event::Edited(id, spot, Err(trouble)), screen)?;
            }
        }
        Ok(())
    }

    /// Stops until somebody lets it go on.
    fn suspend(&mut self, screen: &mut Screen) -> Result<(), Failure> {
        let editing = self.editor.is_some();
        if !editing {
            self.let_go();
        }
        kill_process(getpid(), Signal::STOP).map_err(std::io::Error::from)?;
        if editing {
            Ok(())
        } else {
            self.take_back(screen)
        }
    }

    /// The service hears of what was written last; what it cannot hear of is left with the person.
    async fn leave(mut self) {
        if let Some((_, _, editor)) = &mut self.editor {
            editor.end().await;
        }
        let Some(mut state) = self.state.take() else {
            return;
        };
        if state.link == super::state::Link::Online {
            for effect in state.last_drafts() {
                if let Effect::Say(say) = effect {
                    self.connection.say(say.object());
                }
            }
        }
        self.connection.close().await;
        print_unsent(&state);
        if let Some((_, _, editor)) = self.editor.take() {
            let ended = editor.outcome(Err(std::io::ErrorKind::Interrupted.into()));
            if let Err(EditorTrouble {
                error,
                kept: Some(path),
            }) = ended
            {
                output::remark((words(state.language).editor_kept)(&error, &path));
            }
        }
    }
}

fn print_unsent(state: &State) {
    let unsent = state.unsent();
    if unsent.is_empty() {
        return;
    }
    output::remark(words(state.language).not_sent);
    for entry in unsent {
        output::remark(super::render::plain(entry));
    }
}

fn ring() -> std::io::Result<()> {
    let mut out = std::io::stdout();
    out.write_all(b"\x07")?;
    out.flush()
}

fn moment() -> Moment {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Moment {
        now: Timestamp::from_unix_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)),
        fresh: uuid::Uuid::new_v4().to_string(),
    }
}

/// The language of the person's surroundings; none where they name none that is spoken here.
pub(super) fn language() -> Option<Language> {
    // The first that is set decides, as for every other program.
    let named = ["LC_ALL", "LC_MESSAGES", "LANG"]
        .into_iter()
        .filter_map(|name| env::var(name).ok());
    let tag = named.into_iter().find(|tag| !tag.is_empty())?;
    Language::parse(&tag)
}
