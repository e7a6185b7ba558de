//! `farfield capacity`: what a server can take, by a search whose trials are runs.

mod generator;
pub mod load;
mod runner;

use crate::commands::child::ChildRuns;
use crate::commands::cluster::on;
use crate::exit::Exit;
use crate::flags::Format;
use crate::flags::capacity::{CapacityFlags, PeakOf};
use crate::flags::keys::with_seconds;
use crate::flags::values::RUNS;
use crate::output;
use crate::problem::Problem;
use farfield_base::{Duration, Share};
use farfield_engine::interrupt;
use farfield_engine::plane::PlaneKind;
use farfield_experiment::peak::peak;
use farfield_experiment::report::Ended;
use farfield_experiment::unmeasured::{CoolDowns, WarmUps};
use farfield_experiment::{Answer, CapacityReport, Goals, Needs, SearchPlan, Throughput, search};
use farfield_files::input::DOCUMENT_MAX;
use farfield_report::capacity::{page, text};
use farfield_scenario::{Overlay, RunPlan, Scenario};
use load::RisingLoad;
use runner::TrialRunner;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The file with the lengths of a search's trials, in its folder from the first of them on.
const LENGTHS_FILE: &str = "search.json";
/// The directory of the first trial.
const FIRST_TRIAL: &str = "0001";
/// The file with all of a search, in its folder.
const REPORT_FILE: &str = "capacity.json";
/// Arrivals a second of the first trial with a URL.
const FIRST_RATE: &str = "100/s";
/// Users of the first trial of a peak with a URL.
const FIRST_USERS: u32 = 1;
/// The budget has room for as many full trials, where their goals leave it the choice.
const TRIALS: u64 = 30;
/// The budget has room for at least so many full trials.
const TRIALS_MIN: u64 = 12;
/// A full trial is as much longer than the times of its goals: a queue that fills slowly reaches them.
const TIMES_OF_GOAL: u64 = 20;

/// Searches, and prints the answer.
pub fn capacity(flags: &CapacityFlags) -> Result<Exit, Problem> {
    if flags.slo.is_none() && flags.peak.is_none() {
        return Err(Problem::usage(
            "which capacity? --slo 'p99<200ms,errors<0.1%' is the highest load that keeps these goals, --peak the \
             most replies a second at any load, --peak=bytes the most bytes of bodies",
        ));
    }
    let goals = flags.slo.as_deref().map(str::parse::<Goals>).transpose();
    let goals = goals.map_err(|error| Problem::usage(format!("--slo: {error}")))?;
    let goals = goals.map(Goals::with_errors_bounded);
    let overlay = overlay(flags);
    let plan = super::run::read(Some(&flags.what), &overlay)?;
    refuse_parts(flags, &overlay, &plan)?;
    refuse_changes(&plan)?;
    let mut searched = searched(flags, goals.as_ref(), &plan)?;
    let load = RisingLoad::of(&plan, flags.peak.is_some())?;
    let has_check = generator::may_check(&plan, searched.generator, flags.on.on.is_some());
    if has_check.is_ok() {
        searched.budget = generator::budget_left(searched.budget);
    }
    let stop = interrupt::flag();
    let stop = stop.map_err(|error| Problem::failed(format!("cannot listen for signals: {error}")))?;
    on::check(&flags.on, &stop)?;
    let folder = flags.search.out.clone().unwrap_or_else(|| free_folder(&plan.scenario().name, "capacity"));
    let opened = farfield_files::output::folder(&folder);
    opened
        .map_err(|error| Problem::failed(format!("cannot make the folder {}: {error}", folder.display())))?;
    let said = time("--warm-up", flags.search.warm_up.as_deref())?;
    let warm_up = said.or(plan.says_warm_up().then_some(plan.scenario().run.warm_up));
    let run = &plan.scenario().run;
    // Sessions that arrive by themselves go on after the measured part, and seconds that are set aside end
    // it.
    let fixed = !run.cool_down.is_zero() || run.set_aside || load.is_of_sessions();
    let cool_down = fixed.then_some(run.cool_down);
    let mut runner = TrialRunner {
        runs: ChildRuns {
            what: Some(flags.what.clone()),
            words: overlay.words().into_iter().chain(flags.on.words()).collect(),
            scenario: plan.scenario().digest(),
            on: flags.on.on.clone(),
            stop,
        },
        load,
        goals: searched.goals.clone(),
        warm_ups: WarmUps::of(warm_up),
        cool_downs: CoolDowns::of(cool_down),
        folder: folder.clone(),
        quiet: flags.quiet,
    };
    let lengths = KeptLengths::of(&searched).keep(&folder)?;
    let report = match flags.peak {
        Some(_) => peak(&searched, &mut runner),
        None => search(&searched, &mut runner),
    };
    let report = generator::checked(report, has_check, plan.scenario(), runner.runs, &runner.load);
    // What is there is of another search, or of this one with a run that could not be read back.
    let has_report = folder.join(REPORT_FILE).exists();
    if let (Ended::Failed(sentence), true) = (&report.ended, report.trials.is_empty() || has_report) {
        // Only where it is empty, as no trial was made.
        if let (true, Some(lengths)) = (report.trials.is_empty(), lengths) {
            let _ = std::fs::remove_file(lengths);
        }
        let _ = std::fs::remove_dir(&folder);
        return Err(Problem::failed(sentence));
    }
    keep(&folder, &report)?;
    match flags.format {
        Format::Text => output::put(&text::render(&report, &folder))?,
        Format::Json => output::put(&json(&report))?,
    }
    Ok(exit(&report))
}

/// Refuses a part of a run, and what cannot be made by parts where these are asked for.
fn refuse_parts(flags: &CapacityFlags, overlay: &Overlay, plan: &RunPlan) -> Result<(), Problem> {
    super::run::refuse_part(plan, "a search for capacity")?;
    if flags.on.on.is_some() && plan.scenario().plane == PlaneKind::Simulated {
        return Err(Problem::usage(
            "plane: in virtual time each part of --on has a model of the server to itself, and what is found would be the \
             capacity of all of them: leave --on out",
        ));
    }
    if let Some(part) = flags.on.first_part() {
        super::run::read(Some(&flags.what), &overlay.clone().with("run.part", "--on", part.as_str()))?;
    }
    Ok(())
}

/// Refuses a network that changes: the load is to be what trials differ by.
fn refuse_changes(plan: &RunPlan) -> Result<(), Problem> {
    let changes = plan.network().is_some_and(|network| !network.conditions.is_empty());
    if changes {
        return Err(Problem::usage(
            "a search makes trials of several lengths, each of which would meet another mixture of the conditions in \
             `network.change`: leave it out, and search once under each of them",
        ));
    }
    Ok(())
}

/// The keys that are laid over the scenario in all trials. A server of which only the URL is known is loaded
/// openly: users who wait for a slow server ask it for less, and hide that it is slow.
fn overlay(flags: &CapacityFlags) -> Overlay {
    let overlay = flags.overlay();
    let is_url = flags.what.contains("://");
    match (is_url, flags.peak.is_some(), flags.load.users) {
        (true, false, None) => overlay.with("load.arrivals", "--rate", FIRST_RATE),
        (true, true, None) => overlay.with("load.users", "--users", FIRST_USERS),
        _ => overlay,
    }
}

fn searched(flags: &CapacityFlags, goals: Option<&Goals>, plan: &RunPlan) -> Result<SearchPlan, Problem> {
    let scenario = plan.scenario();
    if scenario.run.requests.is_some() || scenario.run.sessions.is_some() {
        return Err(Problem::usage(
            "a trial ends by its time: leave `run.requests` and `run.sessions` out of the scenario",
        ));
    }
    let load = RisingLoad::of(plan, flags.peak.is_some())?;
    let read =
        |flag: &str, text: &Option<String>| text.as_deref().map(|text| load.read(flag, text)).transpose();
    let from = read("--from", &flags.search.from)?.unwrap_or(load.own);
    let to = read("--to", &flags.search.to)?;
    if to.is_some_and(|to| to < from) {
        return Err(Problem::usage(format!(
            "--to is below the first load, {}; lower that with --from",
            load.value(from)
        )));
    }
    let budget = time("--budget", Some(&flags.search.budget))?.unwrap_or(Duration::ZERO);
    let own = time("--duration", flags.search.duration.as_deref())?;
    let goal_texts: Vec<String> =
        goals.iter().flat_map(|goals| goals.thresholds()).map(ToString::to_string).collect();
    let kept = flags.search.out.as_deref().and_then(|folder| KeptLengths::read(folder, &goal_texts));
    let kept = kept.filter(|kept| own.is_none_or(|own| own == kept.length()));
    let [length, length_max] = kept.as_ref().map_or_else(
        || {
            let length = own.unwrap_or_else(|| full_length(scenario, goals, budget));
            [length, length_max(scenario, own.is_some(), length, budget)]
        },
        |kept| [kept.length(), Duration::from_ns(kept.length_max_ns)],
    );
    let precision = flags.search.precision.parse::<Share>();
    let precision = precision.map_err(|error| Problem::usage(format!("--precision: {error}")))?.as_f64();
    if precision == 0.0 {
        return Err(Problem::usage("--precision 0: no number of trials is as exact as that; write 1%, say"));
    }
    Ok(SearchPlan {
        experiment: "capacity".to_owned(),
        goals: goal_texts,
        peak_of: match flags.peak {
            Some(PeakOf::Bytes) => Throughput::Bytes,
            Some(PeakOf::Requests) | None => Throughput::Requests,
        },
        key: load.key.clone(),
        unit: load.unit.to_owned(),
        whole: load.whole,
        from,
        to,
        generator: read("--generator-limit", &flags.search.generator_limit)?,
        length,
        needs: goals.map_or_else(Needs::default, |goals| goals.needs(length_max)),
        precision,
        budget,
        first_budget: kept.map(|kept| Duration::from_ns(kept.first_budget_ns)),
        seed: scenario.seed,
    })
}

pub fn time(flag: &str, text: Option<&str>) -> Result<Option<Duration>, Problem> {
    let read = text.map(|text| with_seconds(text).parse::<Duration>()).transpose();
    match read.map_err(|error| Problem::usage(format!("{flag}: {error}")))? {
        Some(time) if time.is_zero() => Err(Problem::usage(format!("{flag} 0: write a time that is more"))),
        time => Ok(time),
    }
}

/// Lengths of the trials of an earlier search for these goals in the folder, and its budget: one that goes
/// on, even with another budget or where the earlier was killed, makes the same trials again.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct KeptLengths {
    goals: Vec<String>,
    length_ns: u64,
    length_max_ns: u64,
    first_budget_ns: u64,
}

impl KeptLengths {
    fn of(plan: &SearchPlan) -> KeptLengths {
        KeptLengths {
            goals: plan.goals.clone(),
            length_ns: plan.length.as_ns(),
            length_max_ns: plan.needs.length_max.as_ns(),
            first_budget_ns: plan.first_budget.unwrap_or(plan.budget).as_ns(),
        }
    }

    fn length(&self) -> Duration {
        Duration::from_ns(self.length_ns)
    }

    fn read(folder: &Path, goals: &[String]) -> Option<KeptLengths> {
        let text = farfield_files::read_text(&folder.join(LENGTHS_FILE), DOCUMENT_MAX).ok()?;
        let kept: KeptLengths = serde_json::from_str(&text).ok()?;
        (kept.length_ns > 0 && kept.goals == goals).then_some(kept)
    }

    /// Writes them, and returns the file, unless there are trials, of this search or of another.
    fn keep(&self, folder: &Path) -> Result<Option<PathBuf>, Problem> {
        if folder.join(FIRST_TRIAL).exists() {
            return Ok(None);
        }
        let file = folder.join(LENGTHS_FILE);
        let text = serde_json::to_string_pretty(self).expect("numbers are finite") + "\n";
        let put = farfield_files::output::put(&file, text.as_bytes());
        put.map_err(|error| Problem::failed(format!("cannot write {}: {error}", file.display())))?;
        Ok(Some(file))
    }
}

/// Length of a full trial.
fn full_length(scenario: &Scenario, goals: Option<&Goals>, budget: Duration) -> Duration {
    if scenario.plane == PlaneKind::Simulated {
        return scenario.run.duration;
    }
    let part = |count: u64| Duration::from_ns(budget.as_ns() / count);
    let longest = goals.and_then(Goals::longest_time).unwrap_or(Duration::ZERO);
    part(TRIALS).max(longest.times(TIMES_OF_GOAL)).min(part(TRIALS_MIN))
}

/// The length up to which trials are lengthened that have too few requests: short ones as far as full ones
/// go, and full ones, where the user does not say how long they are, as far as the budget has room.
fn length_max(scenario: &Scenario, is_given: bool, length: Duration, budget: Duration) -> Duration {
    let is_simulated = scenario.plane == PlaneKind::Simulated;
    if is_given || is_simulated { length } else { length.max(Duration::from_ns(budget.as_ns() / TRIALS_MIN)) }
}

/// A folder for the runs of an experiment: `farfield-runs/2026-01-31T12-00-00Z-name-capacity`, with a number
/// where that is taken.
pub fn free_folder(name: &str, what: &str) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let name: String = name.chars().map(plain).collect();
    super::run::keep_out_of_git();
    let base = format!("{}-{name}-{what}", super::run::now_rfc3339().replace(':', "-"));
    let mut names = std::iter::once(base.clone()).chain((2..).map(|number| format!("{base}-{number}")));
    names
        .find_map(|name| Some(Path::new(RUNS).join(name)).filter(|path| !path.exists()))
        .expect("numbers do not run out")
}

/// Writes what the search came to beside its trials.
fn keep(folder: &Path, report: &CapacityReport) -> Result<(), Problem> {
    for (name, text) in [(REPORT_FILE, json(report)), ("capacity.html", page::render(report))] {
        let file = folder.join(name);
        let put = farfield_files::output::put(&file, text.as_bytes());
        put.map_err(|error| Problem::failed(format!("cannot write {}: {error}", file.display())))?;
    }
    Ok(())
}

fn json(report: &CapacityReport) -> String {
    serde_json::to_string_pretty(report).expect("names are strings and numbers are finite") + "\n"
}

fn exit(report: &CapacityReport) -> Exit {
    match (&report.ended, &report.answer) {
        (Ended::Interrupted, _) => Exit::Interrupted,
        (Ended::Failed(_), _) => Exit::Failed,
        (_, Answer::Found { .. }) => Exit::Fine,
        _ => Exit::Invalid,
    }
}
