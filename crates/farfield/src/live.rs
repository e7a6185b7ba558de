//! The live view: a run on the terminal while it goes on, redrawn when there are new figures, at each key,
//! and twice a second for the time that is left.
//!
//! The collector hands over [`Figures`] once a second, which costs it a copy. All else happens on a thread
//! of the view's own: it reads keys, draws, and writes to a terminal that may be slow or gone. Its priority
//! is the collector's, below that of workers but never without a share, since Ctrl-C is a key here. A run
//! never waits for it: figures go through a channel, and no lock is held by both.

mod draw;
pub mod figures;
mod keys;
mod screen;
pub mod view;
pub mod wire;

use crate::output;
use farfield_base::{Duration, Instant};
use farfield_engine::{Run, interrupt};
use farfield_os::clock::Clock;
use farfield_os::processors;
use figures::{Figures, RunFacts};
use keys::Request;
use screen::Screen;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::thread;
use view::View;

/// Time between two looks for figures. A key is seen at once.
const LOOK: Duration = Duration::from_ms(100);
/// Time between two drawings where there is nothing new but the time.
const STILL: Duration = Duration::from_ms(500);
/// Figures that may wait for the view. Where it gets no processor for as many seconds, the rows of later
/// ones come with the next that it takes.
const WAITING: usize = 8;
/// Time that the end of a run waits for a terminal that takes no more.
const PATIENCE: Duration = Duration::from_ms(500);

/// A view that runs.
pub struct LiveView {
    figures: SyncSender<Figures>,
    /// The first second of a row that the view has no final figures of.
    next_second: usize,
    ended: Arc<AtomicBool>,
    /// Closed by the view's thread when it has left the terminal.
    left: Receiver<()>,
}

impl LiveView {
    /// Begins the view of a run, where there is a terminal for it; `stop` ends the run.
    pub fn begin(run: &Run, stop: &Arc<AtomicBool>) -> Option<LiveView> {
        if !suits() {
            return None;
        }
        let screen = Screen::enter().ok()?;
        let (figures, to_draw) = sync_channel(WAITING);
        let ended = Arc::new(AtomicBool::new(false));
        let (leaving, left) = channel();
        let view = View::new(RunFacts::of(run), std::env::var_os("NO_COLOR").is_none());
        let flags = RunSignals { ended: Arc::clone(&ended), stop: Arc::clone(stop) };
        let spawned = thread::Builder::new().name("live view".to_owned()).spawn(move || {
            show(screen, view, &to_draw, &flags);
            drop(leaving);
        });
        spawned.ok().map(|_| LiveView { figures, next_second: 0, ended, left })
    }

    /// Hands over the progress of the run.
    pub fn update(&mut self, run: &farfield_engine::Progress<'_>) {
        let mut next = self.next_second;
        if self.figures.try_send(Figures::of(run, &mut next)).is_ok() {
            self.next_second = next;
        }
    }

    /// Ends the view, and leaves the terminal as it was.
    pub fn end(self) {
        self.ended.store(true, Ordering::Relaxed);
        // An error means that the thread has ended, which is what is waited for.
        if let Err(RecvTimeoutError::Timeout) = self.left.recv_timeout(PATIENCE.to_std()) {
            screen::leave();
        }
    }
}

/// True if a view can be shown: on a terminal that is read by nobody else, by a process in its foreground.
fn suits() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    !dumb && io::stdin().is_terminal() && io::stderr().is_terminal() && output::is_in_foreground()
}

/// Flags that the run has ended, and that it is to end.
struct RunSignals {
    ended: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
}

/// Draws until the run has ended, or the terminal is gone.
fn show(mut screen: Screen, mut view: View, to_draw: &Receiver<Figures>, flags: &RunSignals) {
    // Where it cannot be lowered, the view still yields to workers as any thread does.
    let _ = processors::set_background();
    let clock = Clock::starting_in(Duration::ZERO);
    let stop = &flags.stop;
    // The latest instant of the next drawing.
    let mut due = Instant::ZERO;
    while !flags.ended.load(Ordering::Relaxed) {
        for figures in to_draw.try_iter() {
            view.take(figures, clock.now());
            due = Instant::ZERO;
        }
        let now = clock.now();
        if now >= due {
            if screen.draw(|frame| draw::draw(frame, &view, now)).is_err() {
                return;
            }
            due = now + STILL;
        }
        // Keys that were pressed together are acted on together: a drawing may take long on a busy machine.
        let mut at_most = LOOK;
        loop {
            match screen.next_key(at_most) {
                Ok(Some(key)) => act(view.handle_key(key), stop),
                Ok(None) => break,
                Err(_) => return,
            }
            (at_most, due) = (Duration::ZERO, Instant::ZERO);
        }
        if stop.load(Ordering::Relaxed) {
            view.note_ending();
        }
    }
}

/// Does what a key asks of the run.
fn act(request: Option<Request>, stop: &AtomicBool) {
    match request {
        Some(Request::Quit) => stop.store(true, Ordering::Relaxed),
        // The terminal passes Ctrl-C on as a key. A second one ends the process at once, which gives the
        // terminal back.
        Some(Request::Interrupt) => interrupt::raise(),
        None => {}
    }
}
