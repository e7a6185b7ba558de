//! `farfield try`: one session of a scenario, with all that is sent, extracted and checked.
//!
//! The engine runs the session on the scenario's plane, like those of any run; the events that the session
//! machine reports (`TraceEvent`) are printed. Nothing is measured and no run directory is left.

pub(super) mod narrator;

use super::around::{self, LONGEST, ServerShown};
use crate::exit::Exit;
use crate::flags::TryFlags;
use crate::output;
use crate::problem::Problem;
use farfield_base::{Duration, Instant};
use farfield_engine::plane::PreparedPlane;
use farfield_engine::{PlaneKind, Run, RunSettings, descriptors, interrupt, preflight};
use farfield_scenario::{Overlay, Prepared};
use farfield_traffic::load::LoadModel;
use farfield_user::{Itinerary, TraceEvent};
use narrator::{End, Narrator};
use std::num::NonZeroU32;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// Runs one session of the scenario that the flags name.
pub fn once(flags: &TryFlags) -> Result<Exit, Problem> {
    let mut plan = super::run::read(Some(&flags.scenario), &flags.overlay())?;
    super::run::refuse_part(&plan, "`farfield try`")?;
    // Before anything that makes threads: a process of several cannot enter a user namespace.
    plan.gain_privilege().map_err(Problem::forbidden)?;
    let stop =
        interrupt::flag().map_err(|error| Problem::failed(format!("cannot listen for Ctrl-C: {error}")))?;
    descriptors::raise();
    let Prepared { mut run, address, scenario, origin, files, home, .. } =
        plan.prepare(super::run::now_rfc3339())?;
    for warning in &run.settings.warnings {
        output::put_error(format_args!("warning: {warning}\n"));
    }
    keep_one_flow(&mut run.settings, flags.flow.as_deref())?;
    of_one_session(&mut run);
    preflight::check(&run).map_err(Problem::failed)?;
    super::run::announce(&run.plane, false)?;
    let log = farfield_files::temporary_folder("farfield-")
        .map_err(|error| Problem::failed(format!("cannot make a folder for the server's log: {error}")))?;
    let mut run = super::run::set_up(run, &scenario, log.path())?;
    drop(files);
    let shown = ServerShown { address, whole: flags.trace };
    if let Some(played) = around::set_up(&mut run, shown, &stop)? {
        output::put(&format!("set-up, once before the load{}\n", played.text))?;
        if !played.completed {
            return Ok(Exit::Threshold);
        }
    }
    // The trace is for this session; the tear-down needs the itinerary without it.
    let mut itinerary = run.settings.flows[0].itinerary.clone();
    let (sender, events) = channel();
    let way = run.settings.users.policy.proxy.as_ref().map(|proxy| format!(" through the proxy {proxy}"));
    let target = format!("{}{}", run.settings.heading.target, way.unwrap_or_default());
    let mut narrator = Narrator::new(&target, flags.trace);
    if !run.settings.flows[0].itinerary.trace(sender) {
        return Err(no_session());
    }
    let printer = thread::spawn(move || {
        print(&mut narrator, &events);
        narrator
    });
    // The senders are dropped with the run, which ends the printer.
    let ran = farfield_engine::run(&run, &stop, |_| {});
    // The printer ends when the last sender is dropped.
    std::mem::swap(&mut run.settings.flows[0].itinerary, &mut itinerary);
    drop(itinerary);
    let narrator = printer.join().map_err(|_| Problem::failed("the printer of the session ended early"))?;
    ran.map_err(Problem::failed)?;
    let (last, end) = narrator.end();
    output::put(&last)?;
    let torn_down = around::tear_down(&run, shown)?;
    if let Some(played) = &torn_down {
        output::put(&format!("\ntear-down, once behind the load{}", played.text))?;
    }
    drop(home);
    drop(origin);
    Ok(match end {
        _ if stop.load(Ordering::Relaxed) => Exit::Interrupted,
        End::Well if torn_down.is_some_and(|played| !played.completed) => Exit::Threshold,
        End::Well => Exit::Fine,
        End::Broken => Exit::Threshold,
        End::NeverBegun => Exit::Failed,
    })
}

/// Keeps the flow of this name, or the first that has sessions of states.
fn keep_one_flow(settings: &mut RunSettings, name: Option<&str>) -> Result<(), Problem> {
    let flows = &mut settings.flows;
    if let Some(name) = name {
        let names: Vec<String> = flows.iter().map(|flow| format!("`{}`", flow.name)).collect();
        flows.retain(|flow| &*flow.name == name);
        if flows.is_empty() {
            let there = match names.len() {
                1 if names[0] == "``" => "the scenario has no [[flow]]".to_owned(),
                _ => format!("the flows are {}", names.join(", ")),
            };
            return Err(Problem::usage(format!("--flow {name}: there is no such flow; {there}")));
        }
    }
    flows.retain(|flow| matches!(flow.itinerary, Itinerary::Sessions(_)));
    flows.truncate(1);
    match (flows.is_empty(), name) {
        (true, Some(name)) => Err(Problem::usage(format!(
            "--flow {name}: it has no session of states to try; write `session` in it, or try another"
        ))),
        (true, None) => Err(no_session()),
        (false, _) => Ok(()),
    }
}

fn no_session() -> Problem {
    Problem::usage(
        "the scenario has no session of states to try; write `[[session.state]]`, or ask once with \
         `farfield run SCENARIO --requests 1`",
    )
}

/// One session that begins at once, for as long as it takes.
fn of_one_session(run: &mut Run<PreparedPlane>) {
    let Run { settings, plane } = run;
    for flow in &mut settings.flows {
        flow.load = LoadModel::recorded(vec![Instant::ZERO]);
    }
    (settings.warm_up, settings.duration, settings.drain) = (Duration::ZERO, LONGEST, Duration::ZERO);
    if plane.kind() == PlaneKind::Sockets {
        settings.workers = NonZeroU32::MIN;
    }
}

/// Prints events as they come, until the senders are gone. If the reader closes the pipe the session goes
/// on.
fn print(narrator: &mut Narrator, events: &Receiver<TraceEvent>) {
    let mut reads = output::put(&narrator.heading()).is_ok();
    for event in events {
        let text = narrator.narrate(event);
        reads = reads && output::put(&text).is_ok();
    }
}

impl TryFlags {
    /// The flags that are short for keys of the scenario.
    fn overlay(&self) -> Overlay {
        let mut overlay = Overlay::once();
        self.target.lay(&mut overlay);
        self.proxy.lay(&mut overlay);
        self.tls.lay(&mut overlay);
        self.keys.lay(&mut overlay);
        overlay
    }
}
