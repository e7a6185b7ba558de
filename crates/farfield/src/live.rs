//! The live view: a run on the terminal while it goes on, redrawn ten times a second.
//!
//! The collector hands over [`Figures`] once a second, which costs it a copy. All else happens on a thread of
//! the view's own that runs only where nothing else does: it reads keys, draws, and writes to a terminal that
//! may be slow or gone. A run never waits for it. What it shows is what the run directory's checkpoint holds.

mod draw;
mod figures;
mod keys;
mod screen;
mod view;

use crate::output;
use farfield_base::Duration;
use farfield_engine::Settings;
use farfield_engine::os::clock::Clock;
use farfield_engine::os::processors;
use figures::{Figures, RunFacts};
use keys::Request;
use screen::Screen;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use view::View;

/// Time between two drawings.
const FRAME: Duration = Duration::from_ms(100);
/// Time that the end of a run waits for a terminal that takes no more.
const PATIENCE: Duration = Duration::from_ms(500);

/// A view that runs.
pub struct LiveView {
    shared: Arc<Shared>,
    /// Closed by the view's thread when it has left the terminal.
    left: Receiver<()>,
}

/// What the collector and the view's thread share.
struct Shared {
    /// The latest figures that are not drawn yet.
    latest: Mutex<Option<Figures>>,
    /// The first second of a row that the view has no final figures of.
    next_second: Mutex<usize>,
    ended: AtomicBool,
}

impl LiveView {
    /// Begins the view of a run with these settings, where there is a terminal for it; `stop` ends the run.
    pub fn begin(settings: &Settings, stop: &Arc<AtomicBool>) -> Option<LiveView> {
        if !suits() {
            return None;
        }
        let screen = Screen::enter().ok()?;
        let shared = Arc::new(Shared {
            latest: Mutex::default(),
            next_second: Mutex::default(),
            ended: AtomicBool::new(false),
        });
        let (leaving, left) = channel();
        let view = View::new(RunFacts::of(settings), std::env::var_os("NO_COLOR").is_none());
        let (theirs, stop) = (Arc::clone(&shared), Arc::clone(stop));
        let spawned = thread::Builder::new().name("live view".to_owned()).spawn(move || {
            show(screen, view, &theirs, &stop);
            drop(leaving);
        });
        spawned.ok().map(|_| LiveView { shared, left })
    }

    /// Hands over the progress of the run.
    pub fn update(&self, run: &farfield_engine::Progress<'_>) {
        let mut next = self.shared.next_second.lock().unwrap_or_else(PoisonError::into_inner);
        let figures = Figures::of(run, &mut next);
        let mut latest = self.shared.latest.lock().unwrap_or_else(PoisonError::into_inner);
        *latest = Some(match latest.take() {
            Some(undrawn) => figures.after(undrawn),
            None => figures,
        });
    }

    /// Ends the view, and leaves the terminal as it was.
    pub fn end(self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        // An error means that the thread has ended, which is what is waited for.
        if let Err(std::sync::mpsc::RecvTimeoutError::Timeout) = self.left.recv_timeout(PATIENCE.to_std()) {
            screen::leave();
        }
    }
}

/// Whether a view can be shown: on a terminal that is read by nobody else, by a process in its foreground.
fn suits() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    !dumb && io::stdin().is_terminal() && io::stderr().is_terminal() && output::is_in_foreground()
}

/// Draws until the run has ended, or the terminal is gone.
fn show(mut screen: Screen, mut view: View, shared: &Shared, stop: &AtomicBool) {
    // Where it cannot be, the view still yields to workers as any thread does.
    let _ = processors::set_idle();
    let clock = Clock::starting_in(Duration::ZERO);
    while !shared.ended.load(Ordering::Relaxed) {
        let fresh = shared.latest.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(figures) = fresh {
            view.take(figures, clock.now());
        }
        if screen.draw(|frame| draw::draw(frame, &view, clock.now())).is_err() {
            return;
        }
        let request = match screen.next_key(FRAME) {
            Ok(Some(key)) => view.handle_key(key),
            Ok(None) => None,
            Err(_) => return,
        };
        match request {
            Some(Request::Quit) => stop.store(true, Ordering::Relaxed),
            // The terminal passes Ctrl-C on as a key. A second one ends the process at once.
            Some(Request::Interrupt) => {
                if stop.load(Ordering::Relaxed) {
                    screen::leave();
                }
                let _ =
                    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::INT);
            }
            None => {}
        }
        if stop.load(Ordering::Relaxed) {
            view.note_ending();
        }
    }
}
