//! `farfield run`: drive a server, and judge the result.

use crate::commands::around::{self, ServerShown};
use crate::commands::rank::Rank;
use crate::commands::{report, verify};
use crate::exit::Exit;
use crate::flags::RunFlags;
use crate::flags::values::{RUNS, is_last, run_directory};
use crate::flags::watch::RunFormat;
use crate::live::wire;
use crate::metrics::{MetricsTargets, listen};
use crate::output;
use crate::problem::Problem;
use crate::progress::{Progress, ProgressDisplay, Watch};
use farfield_base::Part;
use farfield_engine::plane::{Plane, PlaneKind, PreparedPlane};
use farfield_engine::{
    Output, Run, RunDirectory, RunDirectoryError, RunError, SetUpError, StartError, StartSource, descriptors,
    interrupt, preflight, tls_probe,
};
use farfield_measure::Summary;
use farfield_scenario::inputs;
use farfield_scenario::starts;
use farfield_scenario::{Overlay, Prepared, RunPlan, Scenario};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Runs the scenario that the flags name.
pub fn run(flags: &RunFlags) -> Result<Exit, Problem> {
    let flags = &located(flags)?;
    if let Some(address) = &flags.join.join {
        return super::joined::run(flags, address);
    }
    if flags.repeat.is_asked() {
        return super::sweep::repeated(flags);
    }
    if flags.repeat.budget.is_some() {
        return Err(Problem::usage("--budget is the time of repeats: write --repeats or --until as well"));
    }
    let plan = read(flags.what.as_deref(), &flags.overlay())?;
    if flags.show_scenario {
        output::put(&plan.scenario().to_toml())?;
        return Ok(Exit::Fine);
    }
    if let Some(confirmed) = &flags.starts_only {
        only(confirmed, &plan)?;
    }
    if let Some(door) = &flags.on.on {
        return super::cluster::on::run(flags, door, &plan);
    }
    let shown = match (flags.quiet, flags.plain) {
        (true, _) => ProgressDisplay::Nothing,
        (false, true) => ProgressDisplay::Lines,
        (false, false) => ProgressDisplay::Live,
    };
    let done = drive(plan, watch(flags, shown)?)?;
    let put = match flags.format {
        RunFormat::Text => {
            output::put_coloured(&report::shown(&done.summary, &done.directory, flags.verbose))
        }
        RunFormat::Json => output::put(&done.summary.to_json()),
        RunFormat::Jsonl => output::put(&wire::result(&done.directory, done.exit.code(), &done.summary)),
    };
    match put {
        // The result of the run outranks a failure to print it.
        Err(problem) if done.exit != Exit::Fine => {
            problem.print();
            Ok(done.exit)
        }
        put => put.map(|()| done.exit),
    }
}

/// The receivers of a run's figures that the flags ask for.
pub(super) fn watch(flags: &RunFlags, shown: ProgressDisplay) -> Result<Watch, Problem> {
    let to = &flags.watch;
    Ok(Watch {
        shown,
        metrics: MetricsTargets::of(to.metrics.as_deref(), &to.metrics_push, &to.metrics_otlp)?,
        figures: flags.format == RunFormat::Jsonl,
        ui: to.ui.as_deref().map(|address| listen(address, "--ui")).transpose()?,
        parent: flags.with_parent,
        member: None,
    })
}

/// Ends the run as Ctrl-C does when the process that made it ends, however that ends.
pub(super) fn end_with(parent: u32, stop: &AtomicBool) {
    // Where the kernel has no such signal the run ends by itself.
    let _ = set_parent_process_death_signal(Some(Signal::INT));
    // It may have ended before.
    if getppid().is_none_or(|own| own.as_raw_nonzero().get().cast_unsigned() != parent) {
        stop.store(true, Ordering::Relaxed);
    }
}

/// Refuses a plan that starts other programs than those that were confirmed: its file was changed since.
fn only(confirmed: &str, plan: &RunPlan) -> Result<(), Problem> {
    let programs = plan.starts();
    if starts::digest(&programs) == confirmed {
        return Ok(());
    }
    let lines: Vec<String> = programs.iter().map(|program| format!("\n  {}", program.line())).collect();
    let what = if lines.is_empty() { " none".to_owned() } else { lines.concat() };
    Err(Problem::failed(format!(
        "the scenario was changed after its programs were confirmed, and nothing of it was started. It would start{what}"
    )))
}

/// The run that `what` names, a URL or a scenario file, with `flags` laid over it.
pub(super) fn read(what: Option<&str>, flags: &Overlay) -> Result<RunPlan, Problem> {
    let read = match what {
        None => farfield_scenario::from_flags(flags),
        Some(url) if url.contains("://") => farfield_scenario::from_url(url, flags),
        Some(path) => farfield_scenario::from_file(Path::new(path), flags),
    };
    read.map_err(Problem::from)
}

/// `flags` with the scenario of a run that is to be repeated in place of its directory.
fn located(flags: &RunFlags) -> Result<RunFlags, Problem> {
    let mut flags = flags.clone();
    if flags.join.join.is_none() && flags.load.part.as_deref() == Some("auto") {
        flags.load.part = Some(Rank::of_environment()?.part()?.to_string());
    }
    if let Some(what) = flags.what.as_mut().filter(|what| is_last(what)) {
        *what = run_directory(what).map_err(Problem::usage)?.to_string_lossy().into_owned();
    }
    if let Some(what) = flags.what.as_mut().filter(|what| Path::new(what).is_dir()) {
        let scenario = inputs::checked_scenario(Path::new(what))?;
        *what =
            scenario.to_str().map(str::to_owned).ok_or_else(|| Problem::usage("its path is not UTF-8"))?;
    }
    Ok(flags)
}

/// A finished run.
pub struct CompletedRun {
    pub summary: Summary,
    pub directory: PathBuf,
    pub exit: Exit,
}

/// Refuses a part of a run in a command that makes runs of its own.
pub(super) fn refuse_part(plan: &RunPlan, command: &str) -> Result<(), Problem> {
    let run = &plan.scenario().run;
    let key = match (run.part == Part::WHOLE, run.start_at) {
        (false, _) => "run.part",
        (true, Some(_)) => "run.start-at",
        (true, None) => return Ok(()),
    };
    Err(Problem::usage(format!("{key}: {command} makes whole runs, when it comes to them; leave this out")))
}

/// Runs the plan.
pub fn drive(mut plan: RunPlan, watch: Watch) -> Result<CompletedRun, Problem> {
    let has_programs = !plan.programs().is_empty();
    let has_shell = plan.programs().iter().any(|program| program.command.is_none());
    // Before anything that makes threads: a process of several cannot enter a user namespace.
    let gained = if has_programs { plan.gain_privilege_for_shell() } else { plan.gain_privilege() };
    gained.map_err(Problem::forbidden)?;
    // Ctrl-C is the shell's, and so is the terminal.
    let stop = if has_shell { interrupt::flag_of_a_parent() } else { interrupt::flag() };
    let stop = stop.map_err(|error| Problem::failed(format!("cannot listen for signals: {error}")))?;
    let watch = if has_shell { Watch { shown: ProgressDisplay::Nothing, ..watch } } else { watch };
    // After privilege was gained, which forgets it.
    if let Some(parent) = watch.parent {
        end_with(parent, &stop);
    }
    if let Some(member) = &watch.member {
        member.ends(&stop);
    }
    descriptors::raise();
    let Prepared { mut run, address, mut scenario, origin, files, home, inputs } =
        plan.prepare(now_rfc3339())?;
    // Not kept: the scenario in a run directory must run again, into another directory.
    let asked = scenario.output.directory.take();
    preflight::check(&run).map_err(Problem::failed)?;
    announce(&run.plane, watch.shown == ProgressDisplay::Nothing)?;
    let (keep, budget) = (scenario.output.samples.0, scenario.output.disk_budget);
    let has_page = scenario.output.report;
    let disk_of = asked.as_deref().unwrap_or(Path::new(RUNS));
    run.settings.warnings.extend(preflight::disk(&run.settings, keep, budget, disk_of));
    if run.plane.kind() != PlaneKind::Simulated {
        run.settings.warnings.extend(preflight::quota(run.settings.workers));
    }
    let is_new = asked.as_ref().is_none_or(|asked| !asked.exists());
    let created = match &asked {
        Some(asked) => RunDirectory::create(asked),
        None => new_directory(&scenario.name),
    };
    let created = created.map_err(Problem::failed)?;
    let directory = created.path().to_owned();
    let mut run = set_up(run, &scenario, &directory)?;
    // The server has read the files by now.
    drop(files);
    let shown = ServerShown { address, whole: false };
    begin_with_set_up(&mut run, shown, &stop, &directory)?;
    let aborts: Vec<String> = run.settings.aborts.iter().map(ToString::to_string).collect();
    let kept = inputs.keep(&scenario, &created)?;
    let verifies = scenario.capture.as_ref().is_some_and(|capture| capture.verify);
    let results = created.clone();
    let logs_keys = scenario.logs_keys();
    run.settings.output = Some(Output { directory: created, scenario: kept, keep, budget, logs_keys });
    run.settings.start_source = watch.member.clone().map(|member| member as Arc<dyn StartSource>);
    let mut progress = Progress::begin(watch, &run, &directory, &stop)?;
    let ran = farfield_engine::run(&run, &stop, |now| progress.update(now));
    progress.end();
    end_with_tear_down(&run, shown);
    drop(run);
    drop(home);
    let mut summary = ran.map_err(|error| unbegun(error, &directory, is_new))?;
    drop(origin);
    if verifies && directory.join("capture.pcapng").exists() {
        verify::at_the_end(&directory, &mut summary, stop.load(Ordering::Relaxed));
        if let Err(error) = results.replace("summary.json", summary.to_json().as_bytes()) {
            // The summary that the engine left there stays.
            summary.warnings.push(format!("summary.json lacks the check capture-agrees: {error}"));
        }
    }
    if has_page {
        write_page(&results);
    }
    // A signal during the writing of the result no longer interrupts the run.
    let interrupted = stop.load(Ordering::Relaxed) && !summary.complete;
    let reason = summary.incomplete_reason.as_deref().unwrap_or_default();
    let aborted = !interrupted && aborts.iter().any(|threshold| reason.contains(threshold));
    let exit = Exit::of_run(&summary, interrupted, aborted);
    Ok(CompletedRun { summary, directory, exit })
}

/// The problem of a run that did not come to its end. One that did not start leaves no directory of its own.
fn unbegun(error: RunError, directory: &Path, is_new: bool) -> Problem {
    if is_new && matches!(error, RunError::Start(_)) {
        let _ = std::fs::remove_dir_all(directory);
    }
    match error {
        RunError::Start(StartError::Interrupted) => Problem::interrupted(error),
        error => Problem::failed(error),
    }
}

/// Samples that are read for the page at the end of a run: a fifth of a second's work, and less than 40 MiB.
pub const SAMPLES_OF_PAGE: u64 = 500_000;

/// Writes the page of the run, which is made of its directory alone. Without it the result is still whole.
pub(super) fn write_page(results: &RunDirectory) {
    let page = farfield_report::RunDirectory::open(results.path()).map_err(|error| error.to_string());
    let page = page.map(|run| farfield_report::page::render_within(&run, SAMPLES_OF_PAGE));
    let written = page
        .and_then(|page| results.replace(report::PAGE, page.as_bytes()).map_err(|error| error.to_string()));
    if let Err(error) = written {
        output::put_error(format_args!("warning: the page of the run was not written: {error}\n"));
    }
}

/// Runs the set-up, if there is one. A run whose set-up fails is not begun, and leaves no directory.
fn begin_with_set_up(
    run: &mut Run,
    shown: ServerShown,
    stop: &Arc<AtomicBool>,
    directory: &Path,
) -> Result<(), Problem> {
    let played = around::set_up(run, shown, stop);
    let problem = match played {
        Ok(Some(played)) if !played.completed => {
            output::put_error(format_args!("{}\n\n", played.text.trim()));
            Problem::failed("the set-up failed, so the run was not begun")
        }
        Ok(_) => return Ok(()),
        Err(problem) => problem,
    };
    // The directory stays if the server's log is in it.
    let _ = std::fs::remove_dir(directory);
    Err(problem)
}

/// Runs the tear-down, if there is one. Its failure does not change the result.
fn end_with_tear_down(run: &Run, shown: ServerShown) {
    match around::tear_down(run, shown) {
        Ok(Some(played)) if !played.completed => {
            output::put_error(format_args!("\n{}\n\nwarning: the tear-down failed\n", played.text.trim()));
        }
        Ok(_) => {}
        Err(problem) => output::put_error(format_args!("warning: the tear-down failed: {problem}\n")),
    }
}

/// Says what the plane is about to add to the machine, if anything outside the run's own namespaces; a plane
/// that cannot be added is refused.
pub(super) fn announce(plane: &PreparedPlane, quiet: bool) -> Result<(), Problem> {
    let Plane::Emulated(plane) = plane else { return Ok(()) };
    if let Some(changes) = plane.changes().map_err(Problem::forbidden)?.filter(|_| !quiet) {
        output::put_error(format_args!("farfield: {changes}\n"));
    }
    Ok(())
}

/// Sets up the plane, and shakes hands once with a server that talks TLS. A failure removes the run
/// directory.
pub(super) fn set_up(run: Run<PreparedPlane>, scenario: &Scenario, directory: &Path) -> Result<Run, Problem> {
    let set_up = run.set_up(directory).map_err(|error| match error {
        SetUpError::Testbed(error) => Problem::forbidden(error),
        SetUpError::Server(error) => Problem::failed(error),
    });
    let usable = set_up.and_then(|run| match tls_probe::check(&run) {
        Ok(()) => Ok(run),
        Err(refusal) => Err(Problem::failed(scenario.advise(&refusal))),
    });
    usable.inspect_err(|_| {
        // The directory stays if the server's log is in it.
        let _ = std::fs::remove_dir(directory);
    })
}

/// Makes `farfield-runs/2026-01-31T12-00-00Z-name`, with a number behind it if that is taken.
pub(super) fn new_directory(name: &str) -> Result<RunDirectory, RunDirectoryError> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let name: String = name.chars().map(plain).collect();
    let base = format!("{}-{name}", now_rfc3339().replace(':', "-"));
    let mut names = std::iter::once(base.clone()).chain((2..).map(|n| format!("{base}-{n}")));
    keep_out_of_git();
    loop {
        let path = Path::new(RUNS).join(names.next().expect("numbers do not run out"));
        // Another run may be making the same one at the same time.
        match RunDirectory::create_new(&path) {
            Err(error) if error.is_taken() && path.exists() => {}
            made => return made,
        }
    }
}

/// Makes git ignore the folder of runs, as it is first made.
pub(super) fn keep_out_of_git() {
    let folder = Path::new(RUNS);
    // Where it cannot be made, the run's own directory says why.
    if !folder.exists() && farfield_files::output::folder(folder).is_ok() {
        let _ = farfield_files::output::put(&folder.join(".gitignore"), b"*\n");
    }
}

/// The wall-clock time, to the second, in UTC.
pub fn now_rfc3339() -> String {
    let now: SystemTime = UNIX_EPOCH + std::time::Duration::from_secs(farfield_os::clock::unix_seconds());
    humantime::format_rfc3339_seconds(now).to_string()
}
