//! `farfield run`: drive a server, and judge the result.

use crate::commands::report::shown;
use crate::exit::Exit;
use crate::flags::{Format, RunFlags};
use crate::output;
use crate::problem::Problem;
use crate::progress::Progress;
use crate::scenario::{self, Plane, Resolved, Scenario};
use farfield_engine::place::gain_privilege;
use farfield_engine::plane::{EmulatedPlane, PlaneSettings};
use farfield_engine::run as engine;
use farfield_engine::{Emulated, Output, RunDirectory, SetUpError, descriptors, interrupt, preflight};
use farfield_measure::Summary;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

/// Runs what the flags mean.
pub fn run(flags: &RunFlags) -> Result<Exit, Problem> {
    let scenario = scenario::read(flags)?;
    let beside = match &flags.what {
        Some(what) if !what.contains("://") => Path::new(what).parent().unwrap_or(Path::new("")).to_owned(),
        _ => PathBuf::new(),
    };
    if flags.show_scenario {
        // What a run would refuse is refused here, before anybody keeps the file.
        scenario.clone().check(&beside)?;
        output::put(&scenario.to_toml())?;
        return Ok(Exit::Fine);
    }
    let done = drive(scenario, &beside, flags.quiet)?;
    let put = match flags.format {
        Format::Text => output::put_coloured(&shown(&done.summary, &done.directory)),
        Format::Json => output::put(&done.summary.to_json()),
    };
    match put {
        // How the run ended is worth more than that nobody could be told.
        Err(problem) if done.exit != Exit::Fine => {
            problem.tell();
            Ok(done.exit)
        }
        put => put.map(|()| done.exit),
    }
}

/// A run that is over.
pub struct Done {
    pub summary: Summary,
    pub directory: PathBuf,
    pub exit: Exit,
}

/// Makes a run of the scenario, whose files lie `beside` it.
pub fn drive(scenario: Scenario, beside: &Path, quiet: bool) -> Result<Done, Problem> {
    if scenario.plane == Plane::Emulated {
        // Before anything that makes threads: a process of several cannot enter a user namespace.
        gain_privilege().map_err(Problem::forbidden)?;
    }
    let stop =
        interrupt::flag().map_err(|error| Problem::failed(format!("cannot listen for Ctrl-C: {error}")))?;
    descriptors::raise();
    let Resolved { mut settings, plane, mut scenario, origin, files } = scenario.resolve(beside)?;
    // Not kept with the rest: the scenario that a run leaves behind must run again, into a directory of its own.
    let directory = scenario.output.directory.take().unwrap_or_else(|| default_directory(&scenario.name));
    preflight::check(&settings, &plane).map_err(Problem::failed)?;
    let (keep, budget) = (scenario.output.samples.0, scenario.output.disk_budget);
    settings.warnings.extend(preflight::disk(&settings, keep, budget, &directory));
    let created = RunDirectory::create(&directory).map_err(Problem::failed)?;
    match plane {
        PlaneSettings::Sockets => {}
        PlaneSettings::Emulated(plane) => {
            settings.plane = engine::Plane::Emulated(set_up(*plane, &directory)?.into());
        }
        PlaneSettings::Simulated(plane) => settings.plane = engine::Plane::Simulated(plane),
    }
    // Whoever serves them has read them by now.
    drop(files);
    let aborts: Vec<String> = settings.aborts.iter().map(ToString::to_string).collect();
    settings.output = Some(Output { directory: created, scenario: scenario.to_toml(), keep, budget });
    let mut progress = Progress::new(&settings, quiet);
    let summary = farfield_engine::run(settings, &stop, |now| progress.tell(now)).map_err(Problem::failed)?;
    progress.end();
    drop(origin);
    let interrupted = stop.load(Ordering::Relaxed);
    let reason = summary.incomplete_reason.as_deref().unwrap_or_default();
    let aborted = !interrupted && aborts.iter().any(|threshold| reason.contains(threshold));
    let exit = Exit::of_run(&summary, interrupted, aborted);
    Ok(Done { summary, directory, exit })
}

/// Sets up the emulated plane. What could not be is not left behind as a run.
fn set_up(plane: EmulatedPlane, directory: &Path) -> Result<Emulated, Problem> {
    plane.set_up(directory).map_err(|error| {
        // It stays if the server left its last words there.
        let _ = std::fs::remove_dir(directory);
        match error {
            SetUpError::Place(error) => Problem::forbidden(error),
            SetUpError::Server(error) => Problem::failed(error),
        }
    })
}

/// `farfield-runs/2026-01-31T12-00-00Z-name`, and a number behind it if that is taken.
fn default_directory(name: &str) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let name: String = name.chars().map(plain).collect();
    let base = format!("{}-{name}", now_rfc3339().replace(':', "-"));
    let candidates = std::iter::once(base.clone()).chain((2..).map(|n| format!("{base}-{n}")));
    let mut places = candidates.map(|name| Path::new("farfield-runs").join(name));
    places.find(|place| !place.exists()).expect("numbers do not run out")
}

/// The wall-clock time, to the second, in UTC.
pub fn now_rfc3339() -> String {
    let now: SystemTime =
        UNIX_EPOCH + std::time::Duration::from_secs(farfield_engine::os::clock::unix_seconds());
    humantime::format_rfc3339_seconds(now).to_string()
}
