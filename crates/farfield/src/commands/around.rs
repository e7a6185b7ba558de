//! What a run asks for once: the set-up before its load, and the tear-down behind it.
//!
//! Each is a session of its own that the engine goes through once, without thinking; nothing of it is measured. It goes over the
//! kernel's sockets, on the emulated plane inside the server's namespace, and on the simulated plane before the model of the
//! server in a virtual time of its own.

use super::once::narrator::Narrator;
use crate::problem::Problem;
use farfield_base::{Duration, Instant};
use farfield_engine::Settings;
use farfield_engine::plane::{Plane, SocketsPlane};
use farfield_engine::sockets::Sources;
use farfield_traffic::load::LoadModel;
use farfield_user::{Itinerary, SessionLimits, TraceEvent};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

/// How long a session that is gone through once may take: requests have time limits of their own.
pub(super) const LONGEST: Duration = Duration::from_secs(3600);

/// A set-up or a tear-down that was gone through.
pub(super) struct Played {
    /// What was asked for, and what came.
    pub text: String,
    /// It came to its end.
    pub completed: bool,
}

/// Where the run's server is, and how much of each message is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Telling {
    pub address: SocketAddr,
    /// Heads and bodies are shown whole.
    pub whole: bool,
}

/// Goes through the set-up of a run, if it has one, and gives all sessions what it extracted.
pub(super) fn set_up(
    settings: &mut Settings,
    telling: Telling,
    stop: &Arc<AtomicBool>,
) -> Result<Option<Played>, Problem> {
    let [Some(part), _] = settings.itinerary.around_run() else { return Ok(None) };
    let (played, values) = play(part, settings, telling, stop)?;
    if stop.load(Ordering::Relaxed) {
        return Err(Problem::interrupted("interrupted in the set-up; the run was not begun"));
    }
    settings.itinerary.give(&values);
    Ok(Some(played))
}

/// Goes through the tear-down of a run, if it has one, be the run interrupted or not.
pub(super) fn tear_down(settings: &Settings, telling: Telling) -> Result<Option<Played>, Problem> {
    let [_, Some(part)] = settings.itinerary.around_run() else { return Ok(None) };
    play(part, settings, telling, &Arc::default()).map(|(played, _)| Some(played))
}

/// The values of variables, by number.
type Values = Vec<Option<Box<[u8]>>>;

fn play(
    mut itinerary: Itinerary,
    settings: &Settings,
    telling: Telling,
    stop: &Arc<AtomicBool>,
) -> Result<(Played, Values), Problem> {
    let (sender, events) = channel();
    itinerary.trace(sender);
    let mut narrator = Narrator::new(&settings.heading.target, telling.whole);
    let part = of_part(itinerary, settings, telling.address);
    let (mut text, mut ended) = (String::new(), None);
    run_part(part, settings, stop)?;
    // All senders are gone with the run.
    for event in events {
        if let TraceEvent::Ended { completed: true, values, .. } = &event {
            ended = Some(values.clone());
        }
        text.push_str(&narrator.narrate(event));
    }
    text.push_str(&narrator.end().0);
    Ok((Played { text, completed: ended.is_some() }, ended.unwrap_or_default()))
}

/// One session of `itinerary`, on the plane of the run that `settings` are of.
fn of_part(itinerary: Itinerary, settings: &Settings, address: SocketAddr) -> Settings {
    let plane = match &settings.plane {
        Plane::Sockets(sockets) => Plane::Sockets(sockets.clone()),
        Plane::Emulated(_) => Plane::Sockets(SocketsPlane { target: address, sources: Sources::default() }),
        Plane::Simulated(plane) => Plane::Simulated(plane.clone()),
    };
    Settings {
        load: LoadModel::recorded(vec![Instant::ZERO]),
        itinerary,
        policy: settings.policy,
        seed: settings.seed,
        requests_max: None,
        sessions: SessionLimits::default(),
        plane,
        workers: NonZeroU32::MIN,
        processors: settings.processors.clone(),
        warm_up: Duration::ZERO,
        duration: LONGEST,
        drain: Duration::ZERO,
        ignores_unfinished: false,
        visitors_bound: None,
        heading: settings.heading.clone(),
        limits: settings.limits.clone(),
        thresholds: Vec::new(),
        aborts: Vec::new(),
        output: None,
        warnings: Vec::new(),
    }
}

fn run_part(part: Settings, settings: &Settings, stop: &Arc<AtomicBool>) -> Result<(), Problem> {
    let run = move || farfield_engine::run(&part, stop, |_| {}).map(drop);
    let ran = match &settings.plane {
        Plane::Emulated(emulated) => emulated.testbed.inside(run).map_err(|error| {
            Problem::failed(format!("cannot enter the server's network namespace: {error}"))
        })?,
        // In a thread of its own: the thread that runs a load lowers its priority, which it may not be allowed to raise again, and
        // the load's own workers would inherit that.
        Plane::Sockets(_) | Plane::Simulated(_) => {
            std::thread::scope(|scope| scope.spawn(run).join()).expect("a run does not panic")
        }
    };
    ran.map_err(Problem::failed)
}
