//! The terminal of the live view: entered, drawn to, left as it was.

use crate::live::keys::{KeyAction, meaning};
use crossterm::event::{Event, KeyEventKind};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, event, execute, terminal};
use farfield_base::Duration;
use farfield_os::terminal as before;
use ratatui::backend::CrosstermBackend;
use ratatui::{Frame, Terminal};
use std::io::{self, BufWriter, Stderr};

/// Leaves the second screen and shows the cursor, as [`leave`] does (DECSET 1049 and 25, xterm's ctlseqs).
const LEAVING: &[u8] = b"\x1b[?1049l\x1b[?25h";

/// A terminal in raw mode that shows its second screen. Standard error is drawn to: standard output may be a
/// file. Leaves it when dropped.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stderr>>>,
}

impl Screen {
    /// Enters.
    pub fn enter() -> io::Result<Screen> {
        before::keep(LEAVING)?;
        terminal::enable_raw_mode().inspect_err(|_| before::forget())?;
        let entered = execute!(io::stderr(), EnterAlternateScreen, cursor::Hide)
            .and_then(|()| Terminal::new(CrosstermBackend::new(BufWriter::new(io::stderr()))));
        match entered {
            Ok(terminal) => Ok(Screen { terminal }),
            Err(error) => {
                leave();
                Err(error)
            }
        }
    }

    /// Draws what has changed; an error if the process is ending, and the terminal was given back.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        if !before::is_kept() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.terminal.draw(draw).map(|_| ())
    }

    /// Waits for a key with a meaning, for `at_most`.
    pub fn next_key(&mut self, at_most: Duration) -> io::Result<Option<KeyAction>> {
        if !event::poll(at_most.to_std())? {
            return Ok(None);
        }
        Ok(match event::read()? {
            Event::Key(key) if key.kind == KeyEventKind::Press => meaning(key),
            _ => None,
        })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

/// Leaves the second screen and raw mode, once. What fails cannot be mended: the terminal is gone.
pub fn leave() {
    if !before::is_kept() {
        return;
    }
    let _ = terminal::disable_raw_mode();
    let _ = execute!(io::stderr(), LeaveAlternateScreen, cursor::Show);
    before::forget();
}
