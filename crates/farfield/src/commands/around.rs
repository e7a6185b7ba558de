//! The set-up before the load of a run, and the tear-down after it.
//!
//! Each is a session of its own that the engine runs once, without think times; nothing of it is measured.
//! It uses the kernel's sockets, on the emulated plane inside the server's namespace; on the simulated plane
//! it has a virtual time of its own.

use super::once::narrator::Narrator;
use crate::problem::Problem;
use farfield_base::{Duration, Instant};
use farfield_engine::plane::{Plane, SocketsPlane};
use farfield_engine::sockets::SourceAddresses;
use farfield_engine::{Run, RunSettings};
use farfield_traffic::load::LoadModel;
use farfield_user::{Flow, Itinerary, LoadEnd, TraceEvent, UserSettings};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

/// Longest time of a session that runs once: requests have time limits of their own.
pub(super) const LONGEST: Duration = Duration::from_secs(3600);

/// A set-up or a tear-down that has run.
pub(super) struct Played {
    /// Requests and replies, as text.
    pub text: String,
    /// The session was completed.
    pub completed: bool,
}

impl Played {
    /// Puts itself behind what was played before it; true if it was not completed.
    fn join_to(self, all: &mut Option<Played>) -> bool {
        let failed = !self.completed;
        match all {
            None => *all = Some(self),
            Some(before) => {
                before.text.push_str(&self.text);
                before.completed &= self.completed;
            }
        }
        failed
    }
}

/// The run's server, and the extent of the messages shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerShown {
    pub address: SocketAddr,
    /// Heads and bodies are shown whole.
    pub whole: bool,
}

/// Runs the set-up of a run, if it has one, and gives all sessions the values that it extracted.
pub(super) fn set_up(
    run: &mut Run,
    shown: ServerShown,
    stop: &Arc<AtomicBool>,
) -> Result<Option<Played>, Problem> {
    let mut all: Option<Played> = None;
    for flow in 0..run.settings.flows.len() {
        let [Some(part), _] = run.settings.flows[flow].itinerary.around_run() else { continue };
        let (played, values) = play(part, run, shown, stop)?;
        if stop.load(Ordering::Relaxed) {
            return Err(Problem::interrupted("interrupted in the set-up; the run was not begun"));
        }
        run.settings.flows[flow].itinerary.give(&values);
        if played.join_to(&mut all) {
            break;
        }
    }
    Ok(all)
}

/// Runs the tear-down of a run, if it has one, even if the run was interrupted.
pub(super) fn tear_down(run: &Run, shown: ServerShown) -> Result<Option<Played>, Problem> {
    let (mut all, mut failed) = (None, None);
    for flow in &run.settings.flows {
        let [_, Some(part)] = flow.itinerary.around_run() else { continue };
        match play(part, run, shown, &Arc::default()) {
            Ok((played, _)) => drop(played.join_to(&mut all)),
            // The others are torn down all the same.
            Err(problem) => failed = failed.or(Some(problem)),
        }
    }
    failed.map_or(Ok(all), Err)
}

/// The values of variables, by number.
type Values = Vec<Option<Box<[u8]>>>;

fn play(
    mut itinerary: Itinerary,
    run: &Run,
    shown: ServerShown,
    stop: &Arc<AtomicBool>,
) -> Result<(Played, Values), Problem> {
    let (sender, events) = channel();
    itinerary.trace(sender);
    let mut narrator = Narrator::new(&run.settings.heading.target, shown.whole);
    let part = of_part(itinerary, run, shown.address);
    let (mut text, mut ended) = (String::new(), None);
    run_part(part, &run.plane, stop)?;
    // The senders are dropped with the run.
    for event in events {
        if let TraceEvent::Ended { completed: true, values, .. } = &event {
            ended = Some(values.clone());
        }
        text.push_str(&narrator.narrate(event));
    }
    text.push_str(&narrator.end().0);
    Ok((Played { text, completed: ended.is_some() }, ended.unwrap_or_default()))
}

/// The run of one session of `itinerary`, on the plane of `run`.
fn of_part(itinerary: Itinerary, run: &Run, address: SocketAddr) -> Run {
    let Run { settings, plane } = run;
    let plane = match plane {
        Plane::Sockets(sockets) => Plane::Sockets(sockets.clone()),
        Plane::Emulated(_) => Plane::Sockets(SocketsPlane {
            target: address,
            peers: None,
            unix: None,
            sources: SourceAddresses::default(),
            capture: None,
        }),
        Plane::Simulated(plane) => Plane::Simulated(plane.clone()),
    };
    let settings = RunSettings {
        flows: Flow::only(LoadModel::recorded(vec![Instant::ZERO]), itinerary),
        users: UserSettings { requests_max: None, end: LoadEnd::default(), ..settings.users.clone() },
        tls: settings.tls.clone(),
        hosts: settings.hosts.clone(),
        workers: NonZeroU32::MIN,
        part: farfield_base::Part::WHOLE,
        shared_by_parts: None,
        start_at: None,
        start_source: None,
        processors: settings.processors.clone(),
        warm_up: Duration::ZERO,
        duration: LONGEST,
        drain: Duration::ZERO,
        set_aside: None,
        ignores_unfinished: false,
        monitor: None,
        visitors_bound: None,
        heading: settings.heading.clone(),
        limits: settings.limits.clone(),
        thresholds: Vec::new(),
        aborts: Vec::new(),
        output: None,
        warnings: Vec::new(),
    };
    Run { settings, plane }
}

fn run_part(part: Run, plane: &Plane, stop: &Arc<AtomicBool>) -> Result<(), Problem> {
    let run = move || farfield_engine::run(&part, stop, |_| {}).map(drop);
    let ran = match plane {
        Plane::Emulated(emulated) => emulated.testbed.inside(run).map_err(|error| {
            Problem::failed(format!("cannot enter the server's network namespace: {error}"))
        })?,
        // In a thread of its own: the thread that runs a load lowers its priority, which it may not be
        // allowed to raise again, and the load's own workers would inherit that.
        Plane::Sockets(_) | Plane::Simulated(_) => {
            std::thread::scope(|scope| scope.spawn(run).join()).expect("a run does not panic")
        }
    };
    ran.map_err(Problem::failed)
}
