//! The gatherer: admits the parts, gives them their start, adds their figures up, and keeps their files.
//!
//! A place whose part goes before the start is free again, for a process that is started in its stead. After
//! the start a part that goes, or says nothing for [`SILENCE_NS`], is lost: the others go on, and the run is
//! invalid without its units.

mod admission;
mod attend;
mod files;

use super::link::Waker;
use super::scenario_digest;
use super::ticket::GatherKey;
use super::wire::{HandoutFile, PartFigures};
use admission::{Refusals, Strangers, admit};
use attend::SILENCE_NS;
use farfield_base::Part;
use farfield_os::clock::{monotonic_ns, unix_ns_at};
pub(super) use files::FILES;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Time from the last part's readiness to the start, for all parts together and for each: theirs to start
/// threads, and ours to tell them.
const LEAD_NS: u64 = 2_000_000_000;
const LEAD_OF_PART_NS: u64 = 1_000_000;
/// Time for connections to end after the run.
const LAST_WORDS_NS: u64 = 1_500_000_000;
/// The longest wait between two looks at what has happened.
const LOOK: Duration = Duration::from_millis(100);
/// Time between two views of the sum.
const SUM_NS: u64 = 1_000_000_000;
/// Time after which parts that are waited for are named, and again.
const NAMED_NS: u64 = 2_000_000_000;
/// Factor by which the wait is longer for a part whose run is over: it may have packets to check.
const QUIET_AT_END: u64 = 10;

/// A rendezvous to be held.
#[derive(Debug)]
pub struct GatherSettings {
    /// The parts, two at least.
    pub parts: Vec<Part>,
    /// The scenario and its files.
    pub files: Vec<HandoutFile>,
    /// Bytes that the files of a part have at most, all together.
    pub bytes_max: u64,
    /// The version of farfield, which parts must have.
    pub farfield: String,
    /// The scenario as all parts have it in common, and the digests of its files that are not handed out.
    pub scenario: String,
    /// The longest wait for all parts to be ready, in nanoseconds.
    pub wait_ns: u64,
    /// The longest wait for figures of a part that runs, in nanoseconds.
    pub quiet_ns: u64,
}

/// The reason why there is no run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GatherError {
    /// Parts are missing.
    #[error("{0}; nothing was measured")]
    NotReady(String),
    /// A part cannot run.
    #[error("{0}; nothing was measured")]
    Failed(String),
    /// Ctrl-C.
    #[error("interrupted before the start: nothing was measured")]
    Interrupted,
}

/// The end of a rendezvous.
#[derive(Debug, Clone, Default)]
pub struct RendezvousResult {
    /// The parts that came back, in order.
    pub returned: Vec<ReturnedPart>,
    /// The lost parts, each in a sentence.
    pub lost: Vec<String>,
    /// Ctrl-C ended the run.
    pub interrupted: bool,
}

/// A part that came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnedPart {
    /// The part.
    pub part: Part,
    /// The part's name, with that of its machine.
    pub name: String,
    /// The part's run directory, as the gatherer has it.
    pub directory: PathBuf,
}

/// An event, for whoever watches.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// A peer was not admitted.
    Refused(String),
    /// A part has come.
    Joined(String),
    /// A part has gone before the start.
    Left(String),
    /// Parts that are waited for.
    Waiting(String),
    /// All are ready.
    Starting {
        /// Nanoseconds until the start.
        in_ns: u64,
        /// The largest error of a part's clock.
        error_ns: u64,
    },
    /// A part is lost.
    Lost(String),
    /// Figures of all parts together, and how many parts are in them.
    Sum(Box<PartFigures>, usize),
    /// A part has handed its files over.
    Returned(String),
}

/// A gatherer that listens.
#[derive(Debug)]
pub struct Gatherer {
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    key: GatherKey,
    tls: Arc<rustls::ServerConfig>,
    settings: GatherSettings,
    /// The digest of the scenario, as parts name it.
    scenario: String,
    /// The folder of the parts' directories.
    folder: PathBuf,
    state: Mutex<GathererState>,
    changed: Condvar,
    strangers: Mutex<Strangers>,
    /// Peers that are being served.
    attended: AtomicUsize,
    closing: AtomicBool,
}

#[derive(Debug)]
struct GathererState {
    phase: Phase,
    seats: Vec<Seat>,
    news: Vec<News>,
    refusals: Refusals,
    /// A reason to give the run up, before its start.
    fatal: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    Waiting,
    /// The start, by the gatherer's monotonic clock and by its wall clock.
    Started {
        monotonic_ns: u64,
        unix_ns: u64,
    },
    /// Runs end now; the reason.
    Ending {
        why: String,
    },
}

/// The place of a part.
#[derive(Debug)]
struct Seat {
    part: Part,
    host: String,
    standing: Standing,
    waker: Option<Arc<Waker>>,
    figures: Option<PartFigures>,
    /// The monotonic clock when it last said anything ahead of its start.
    heard_ns: u64,
    /// The monotonic clock when its last figures came.
    spoke_ns: u64,
    /// Files have come.
    hands_over: bool,
    /// The reason why it is waited for no longer.
    given_up: Option<String>,
    /// Nanoseconds by which its clock may be wrong.
    error_ns: Option<u64>,
    directory: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Standing {
    Free,
    Joined,
    Ready,
    /// The part was given its start.
    Running,
    Returned,
    Lost(String),
}

impl Seat {
    fn name(&self) -> String {
        match self.host.as_str() {
            "" => format!("part {}", self.part),
            host => format!("part {} on {host}", self.part),
        }
    }

    /// True if nothing is to come of it.
    fn is_over(&self) -> bool {
        matches!(self.standing, Standing::Free | Standing::Returned | Standing::Lost(_))
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, GathererState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, news: News) {
        self.state().news.push(news);
        self.changed.notify_all();
    }
}

impl Gatherer {
    /// Begins to admit parts at `listener`. Each gets a run directory in `folder`.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn begin(
        listener: TcpListener,
        key: GatherKey,
        settings: GatherSettings,
        folder: &Path,
    ) -> io::Result<Gatherer> {
        listener.set_nonblocking(true)?;
        let seat = |part: &Part| Seat {
            part: *part,
            host: String::new(),
            standing: Standing::Free,
            waker: None,
            figures: None,
            heard_ns: 0,
            spoke_ns: 0,
            hands_over: false,
            given_up: None,
            error_ns: None,
            directory: None,
        };
        let state = GathererState {
            phase: Phase::Waiting,
            seats: settings.parts.iter().map(seat).collect(),
            news: Vec::new(),
            refusals: Refusals::default(),
            fatal: None,
        };
        let shared = Arc::new(Shared {
            scenario: scenario_digest(&settings.scenario),
            tls: key.server(),
            key,
            settings,
            folder: folder.to_owned(),
            state: Mutex::new(state),
            changed: Condvar::new(),
            strangers: Mutex::default(),
            attended: AtomicUsize::new(0),
            closing: AtomicBool::new(false),
        });
        let own = Arc::clone(&shared);
        let accepting =
            Builder::new().name("rendezvous".to_owned()).spawn(move || accept(&own, &listener))?;
        Ok(Gatherer { shared, accepting: Some(accepting) })
    }

    /// Holds the rendezvous and awaits the end of the run. `stop` ends it; `on_news` hears what happens.
    ///
    /// # Errors
    /// If not all parts were ready, and so nothing was measured.
    pub fn gather(
        &self,
        stop: &AtomicBool,
        mut on_news: impl FnMut(News),
    ) -> Result<RendezvousResult, GatherError> {
        self.await_start(stop, &mut on_news)
            .inspect_err(|error| self.end(&error.to_string(), &mut on_news))?;
        let (mut next_sum, mut interrupted) = (monotonic_ns() + SUM_NS, false);
        let mut name_next = 0;
        loop {
            let over = self.look(&mut on_news).seats.iter().all(Seat::is_over);
            if over {
                break;
            }
            if stop.load(Ordering::Relaxed) && !interrupted {
                interrupted = true;
                self.turn(Phase::Ending { why: "the run was interrupted".to_owned() });
            }
            if let Some(names) = self.quiet(interrupted).filter(|_| monotonic_ns() >= name_next) {
                name_next = monotonic_ns() + NAMED_NS;
                on_news(News::Waiting(names));
            }
            if monotonic_ns() >= next_sum {
                next_sum += SUM_NS;
                if let Some((sum, parts)) = self.sum() {
                    on_news(News::Sum(Box::new(sum), parts));
                }
            }
        }
        let state = self.shared.state();
        let lost = |seat: &Seat| match &seat.standing {
            Standing::Lost(why) => Some(format!("{}: {why}", seat.name())),
            _ => None,
        };
        let returned = |seat: &Seat| {
            let directory = seat.directory.clone().filter(|_| seat.standing == Standing::Returned)?;
            Some(ReturnedPart { part: seat.part, name: seat.name(), directory })
        };
        let lost: Vec<String> = state.seats.iter().filter_map(lost).collect();
        Ok(RendezvousResult {
            returned: state.seats.iter().filter_map(returned).collect(),
            // Parts may be lost by what stops the run ahead of a look at `stop`.
            interrupted: interrupted || (stop.load(Ordering::Relaxed) && !lost.is_empty()),
            lost,
        })
    }

    /// Waits until all parts are ready, and gives them the start.
    fn await_start(&self, stop: &AtomicBool, on_news: &mut impl FnMut(News)) -> Result<(), GatherError> {
        let begun = monotonic_ns();
        let mut name_next = begun + NAMED_NS;
        loop {
            let mut state = self.look(on_news);
            let waited_for = waited_for(&state.seats, monotonic_ns());
            if let Some(why) = &state.fatal {
                return Err(GatherError::Failed(why.clone()));
            }
            if stop.load(Ordering::Relaxed) {
                return Err(GatherError::Interrupted);
            }
            let Some(names) = waited_for else {
                let error_ns = state.seats.iter().filter_map(|seat| seat.error_ns).max();
                let in_ns = LEAD_NS + LEAD_OF_PART_NS * state.seats.len() as u64;
                let monotonic_ns = monotonic_ns() + in_ns;
                state.seats.iter_mut().for_each(|seat| seat.spoke_ns = monotonic_ns);
                // In one step with the look at the seats: one that goes from now on is lost.
                state.turn(Phase::Started { monotonic_ns, unix_ns: unix_ns_at(monotonic_ns) });
                drop(state);
                on_news(News::Starting { in_ns, error_ns: error_ns.unwrap_or(0) });
                return Ok(());
            };
            drop(state);
            let now = monotonic_ns();
            if now >= begun + self.shared.settings.wait_ns {
                return Err(GatherError::NotReady(format!("not all parts were ready in time: {names}")));
            }
            if now >= name_next {
                name_next = now + NAMED_NS;
                on_news(News::Waiting(names));
            }
        }
    }

    /// Waits for news, and passes them on.
    fn look(&self, on_news: &mut impl FnMut(News)) -> MutexGuard<'_, GathererState> {
        let mut state = self.shared.state();
        if state.news.is_empty() {
            let waited = self.shared.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let summed = state.refusals.summed(monotonic_ns());
        state.news.extend(summed);
        let news = std::mem::take(&mut state.news);
        if news.is_empty() {
            return state;
        }
        drop(state);
        news.into_iter().for_each(on_news);
        self.shared.state()
    }

    fn turn(&self, phase: Phase) {
        self.shared.state().turn(phase);
    }

    /// The parts that run and report nothing, in words. One that does so for too long is given up.
    fn quiet(&self, interrupted: bool) -> Option<String> {
        let now = monotonic_ns();
        let mut state = self.shared.state();
        let running = state.seats.iter_mut();
        let running = running.filter(|seat| seat.standing == Standing::Running && !seat.hands_over);
        let mut names = Vec::new();
        for seat in running {
            let quiet_ns = now.saturating_sub(seat.spoke_ns);
            if quiet_ns < NAMED_NS {
                continue;
            }
            let has_ended =
                seat.figures.as_ref().is_some_and(|figures| figures.now_ns >= figures.measured_ns.1);
            let (what, patience_ns) = match has_ended && !interrupted {
                true => ("handed nothing over", self.shared.settings.quiet_ns * QUIET_AT_END),
                false => ("reported no figures", self.shared.settings.quiet_ns),
            };
            let why = format!("it has {what} for {} s", quiet_ns / 1_000_000_000);
            names.push(format!("{}: {why}", seat.name()));
            if quiet_ns >= patience_ns {
                seat.given_up = Some(why);
                seat.waker.iter().for_each(|waker| waker.wake());
            }
        }
        drop(state);
        in_words(names)
    }

    /// Ends all parts before the start, and waits until they know.
    fn end(&self, why: &str, on_news: &mut impl FnMut(News)) {
        self.turn(Phase::Ending { why: why.to_owned() });
        let until = monotonic_ns() + SUM_NS;
        while monotonic_ns() < until && !self.look(on_news).seats.iter().all(Seat::is_over) {}
    }

    /// The figures of all parts together.
    fn sum(&self) -> Option<(PartFigures, usize)> {
        let mut state = self.shared.state();
        // A part that is lost is in no figure from then on.
        let seats = state.seats.iter_mut().filter(|seat| !matches!(seat.standing, Standing::Lost(_)));
        let figures: Vec<PartFigures> = seats.filter_map(|seat| seat.figures.clone()).collect();
        drop(state);
        let (first, others) = figures.split_first()?;
        let mut sum = first.clone();
        others.iter().for_each(|other| sum.add(other));
        Some((sum, figures.len()))
    }
}

impl Drop for Gatherer {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Relaxed);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        // Parts are to hear the gatherer's last word, and a process takes its connections with it.
        let until = monotonic_ns() + LAST_WORDS_NS;
        while self.shared.attended.load(Ordering::Relaxed) > 0 && monotonic_ns() < until {
            drop(self.shared.changed.wait_timeout(self.shared.state(), LOOK));
        }
    }
}

impl GathererState {
    /// Begins another phase, and wakes all threads for it.
    fn turn(&mut self, phase: Phase) {
        self.phase = phase;
        self.seats.iter().filter_map(|seat| seat.waker.as_ref()).for_each(|waker| waker.wake());
    }
}

/// The parts that are not ready, or have said nothing since, in words; `None` if all are.
fn waited_for(seats: &[Seat], now_ns: u64) -> Option<String> {
    let absent = |seat: &Seat| {
        let silent_ns = now_ns.saturating_sub(seat.heard_ns);
        match seat.standing {
            Standing::Ready if silent_ns < SILENCE_NS => None,
            Standing::Ready => {
                Some(format!("{} has said nothing for {:.1} s", seat.name(), silent_ns as f64 / 1e9))
            }
            Standing::Joined => Some(format!("{} is not ready", seat.name())),
            _ => Some(format!("part {} has not joined", seat.part)),
        }
    };
    in_words(seats.iter().filter_map(absent).collect())
}

/// The first of some names, and how many more there are; `None` if there are none.
fn in_words(mut names: Vec<String>) -> Option<String> {
    /// Parts that are named at once.
    const NAMED: usize = 8;
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    (!names.is_empty()).then(|| names.join(", "))
}

/// Accepts connections until the gatherer closes.
fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    let nap = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    while !shared.closing.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((socket, peer)) => admit(shared, socket, peer),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let _ = poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&nap));
            }
            // No descriptor is left, or the peer has gone: nothing becomes readable by that.
            Err(_) => drop(poll(&mut [], Some(&nap))),
        }
    }
}
