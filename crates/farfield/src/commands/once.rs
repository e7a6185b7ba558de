//! `farfield try`: one session of a scenario, once through, with all that is sent, extracted and checked.
//!
//! The session is run by the engine, on the scenario's plane, as those of any run are: what is printed is what the session
//! machine reports of itself (`TraceEvent`). Nothing is measured and no run directory is left.

pub(super) mod narrator;

use super::around::{self, LONGEST, Telling};
use crate::exit::Exit;
use crate::flags::TryFlags;
use crate::output;
use crate::problem::Problem;
use crate::scenario::{self, Plane, Resolved, Scenario};
use farfield_base::{Duration, Instant};
use farfield_engine::plane::PlaneSettings;
use farfield_engine::run as engine;
use farfield_engine::testbed::gain_privilege;
use farfield_engine::{Settings, descriptors, interrupt, preflight};
use farfield_traffic::load::LoadModel;
use farfield_user::TraceEvent;
use narrator::{End, Narrator};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// Runs one session of the scenario that the flags name.
pub fn once(flags: &TryFlags) -> Result<Exit, Problem> {
    let mut scenario = scenario::read(&flags.as_of_a_run())?;
    let beside = Path::new(&flags.scenario).parent().unwrap_or(Path::new("")).to_owned();
    only_once(&mut scenario)?;
    if scenario.plane == Plane::Emulated {
        // Before anything that makes threads: a process of several cannot enter a user namespace.
        gain_privilege().map_err(Problem::forbidden)?;
    }
    let stop =
        interrupt::flag().map_err(|error| Problem::failed(format!("cannot listen for Ctrl-C: {error}")))?;
    descriptors::raise();
    let Resolved { mut settings, plane, address, origin, files, .. } = scenario.resolve(&beside)?;
    for warning in &settings.warnings {
        output::tell(format_args!("warning: {warning}\n"));
    }
    of_one_session(&mut settings, &plane);
    preflight::check(&settings, &plane).map_err(Problem::failed)?;
    let log = tempfile::tempdir()
        .map_err(|error| Problem::failed(format!("cannot make a folder for the server's log: {error}")))?;
    match plane {
        PlaneSettings::Sockets => {}
        PlaneSettings::Emulated(plane) => {
            settings.plane = engine::Plane::Emulated(super::run::set_up(*plane, log.path())?.into());
        }
        PlaneSettings::Simulated(plane) => settings.plane = engine::Plane::Simulated(plane),
    }
    drop(files);
    let telling = Telling { address, whole: flags.trace };
    if let Some(played) = around::set_up(&mut settings, telling, &stop)? {
        output::put(&format!("set-up, once before the load{}\n", played.text))?;
        if !played.completed {
            return Ok(Exit::Threshold);
        }
    }
    // Of this one session; the tear-down needs the others' settings.
    let mut itinerary = settings.itinerary.clone();
    let (sender, events) = channel();
    let mut narrator = Narrator::new(&settings.heading.target, flags.trace);
    if !settings.itinerary.trace(sender) {
        return Err(no_session());
    }
    let printer = thread::spawn(move || {
        print(&mut narrator, &events);
        narrator
    });
    // All senders are gone with the run, which ends the printer.
    let run = farfield_engine::run(&settings, &stop, |_| {});
    // What watches ends with the last that could report.
    std::mem::swap(&mut settings.itinerary, &mut itinerary);
    drop(itinerary);
    let narrator = printer.join().map_err(|_| Problem::failed("the printer of the session ended early"))?;
    run.map_err(Problem::failed)?;
    let (last, end) = narrator.end();
    output::put(&last)?;
    let torn_down = around::tear_down(&settings, telling)?;
    if let Some(played) = &torn_down {
        output::put(&format!("\ntear-down, once behind the load{}", played.text))?;
    }
    drop(origin);
    Ok(match end {
        _ if stop.load(Ordering::Relaxed) => Exit::Interrupted,
        End::Well if torn_down.is_some_and(|played| !played.completed) => Exit::Threshold,
        End::Well => Exit::Fine,
        End::Broken => Exit::Threshold,
        End::NeverBegun => Exit::Failed,
    })
}

fn no_session() -> Problem {
    Problem::usage(
        "the scenario has no session of states to try; write `[[session.state]]`, or ask once with \
         `farfield run SCENARIO --requests 1`",
    )
}

/// Runs the scenario's session once, without think times, and measures nothing.
fn only_once(scenario: &mut Scenario) -> Result<(), Problem> {
    let session =
        scenario.session.as_mut().filter(|session| session.replay.is_none()).ok_or_else(no_session)?;
    session.go_once();
    (scenario.thresholds, scenario.aborts) = (Vec::new(), Vec::new());
    (scenario.run.requests, scenario.run.sessions) = (None, None);
    scenario.run.finish_sessions = Duration::ZERO;
    scenario.run.warm_up = Duration::ZERO;
    Ok(())
}

/// One session that begins at once, for as long as it takes.
fn of_one_session(settings: &mut Settings, plane: &PlaneSettings) {
    settings.load = LoadModel::recorded(vec![Instant::ZERO]);
    (settings.warm_up, settings.duration, settings.drain) = (Duration::ZERO, LONGEST, Duration::ZERO);
    if matches!(plane, PlaneSettings::Sockets) {
        settings.workers = NonZeroU32::MIN;
    }
}

/// Prints events as they come, until no more can. Whoever reads may have had enough; the session goes on.
fn print(narrator: &mut Narrator, events: &Receiver<TraceEvent>) {
    let mut reads = output::put(&narrator.heading()).is_ok();
    for event in events {
        let text = narrator.narrate(event);
        reads = reads && output::put(&text).is_ok();
    }
}

impl TryFlags {
    /// The same flags as those of a run.
    fn as_of_a_run(&self) -> crate::flags::RunFlags {
        crate::flags::RunFlags {
            what: Some(self.scenario.clone()),
            target: self.target.clone(),
            plane: self.plane.clone(),
            seed: self.seed,
            sets: self.sets.clone(),
            out: None::<PathBuf>,
            ..crate::flags::RunFlags::default()
        }
    }
}
