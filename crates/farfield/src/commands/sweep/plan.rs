//! The runs of a sweep: its points, each of which is a scenario that can be run.

use super::SweepRequest;
use crate::commands::capacity::time;
use crate::commands::question::curves;
use crate::commands::question::document::column;
use crate::flags::sweep::{DesignFlags, RepeatFlags};
use crate::problem::Problem;
use farfield_base::Duration;
use farfield_engine::plane::PlaneKind;
use farfield_experiment::sweep::{
    Claim, Factor, Layout, LengthPlan, Point, Setting, SweepPlan, Until, points,
};
use farfield_files::input::DOCUMENT_MAX;
use farfield_report::sweep::column::Column;
use farfield_scenario::RunPlan;
use farfield_traffic::load::LoadModel;
use std::path::Path;

/// Attempts at a run that something disturbs, at most. In virtual time nothing does.
pub const ATTEMPTS: u32 = 3;
/// Runs of a point, unless something else is asked.
const REPEATS: u32 = 3;
/// Points at most: whoever asks for more has left something out of mind.
const POINTS_MAX: usize = 10_000;
/// Runs at most, of all points.
pub const RUNS_MAX: u64 = 100_000;
/// Runs at once at most.
const JOBS_MAX: u32 = 1_000;
/// Looks at claims at most: each makes twice as many blocks as there were.
const LOOKS_MAX: u32 = 16;

/// A plan, with the columns that its runs are read for.
pub struct Planned {
    pub plan: SweepPlan,
    pub columns: Vec<Column>,
    /// True if all runs are in virtual time.
    pub is_simulated: bool,
}

/// The plan of what is asked, of runs of `read`.
pub fn of(asked: &SweepRequest, read: &RunPlan) -> Result<Planned, Problem> {
    let mut planned = design_of(asked)?;
    let mut simulated = true;
    for point in &planned.plan.points {
        simulated &= plane_at(asked, point)? == PlaneKind::Simulated;
    }
    planned.is_simulated = simulated;
    let plan = &mut planned.plan;
    plan.jobs = match asked.design.jobs {
        Some(jobs) if jobs > JOBS_MAX => {
            return Err(Problem::usage(format!("--jobs {jobs}: at most {JOBS_MAX} runs at once")));
        }
        Some(jobs @ 2..) if asked.on.on.is_some() => {
            return Err(Problem::usage(format!(
                "--jobs {jobs}: the parts of --on make one run at a time; leave it out"
            )));
        }
        Some(jobs @ 2..) if !simulated => {
            return Err(Problem::usage(format!(
                "--jobs {jobs}: runs that are not simulated would take each other's processors; leave it out"
            )));
        }
        Some(jobs) => jobs as usize,
        None if asked.on.on.is_some() => 1,
        None if simulated => std::thread::available_parallelism().map_or(1, usize::from),
        None => 1,
    };
    // A part may be lost, also in virtual time.
    plan.attempts = if simulated && asked.on.on.is_none() { 1 } else { ATTEMPTS };
    plan.seed = read.scenario().seed;
    plan.lengths = lengths(asked, read, &plan.points)?;
    if asked.title.is_none() {
        plan.experiment = format!("{} of {}", asked.name, read.scenario().name);
    }
    Ok(planned)
}

/// The plan of what is asked, whatever the scenario is: points, columns, claims. Nothing is known of seeds
/// and planes.
pub fn design_of(asked: &SweepRequest) -> Result<Planned, Problem> {
    let (design, repeat) = (asked.design, asked.repeat);
    let (factors, layout, points) = match asked.question.map(|question| question.curves.as_slice()) {
        None | Some([]) => points_of(design)?,
        Some(curves) => curves::points_of(curves),
    };
    if points.len() > POINTS_MAX {
        return Err(Problem::usage(format!(
            "{} points; write at most {POINTS_MAX}, or vary one key at a time",
            points.len()
        )));
    }
    let repeats = repeats(repeat, points.len())?;
    if asked.looks > LOOKS_MAX {
        return Err(Problem::usage(format!("{} looks; write at most {LOOKS_MAX}", asked.looks)));
    }
    for (_, claim) in asked.claims.iter().flat_map(Claim::parts) {
        for settings in std::iter::once(&claim.at).chain(&claim.against) {
            let has_all = |point: &Point| settings.iter().all(|setting| point.settings.contains(setting));
            if !points.iter().any(has_all) {
                let label = Point { settings: settings.clone() }.label();
                return Err(Problem::usage(format!("claim `{}`: no point has {label}", claim.says)));
            }
        }
    }
    let until = repeat.until.as_deref().map(str::parse::<Until>).transpose();
    let mut until = until.map_err(|error| Problem::usage(format!("--until: {error}")))?;
    let mut columns: Vec<Column> = match asked.question {
        Some(question) => question.columns.clone(),
        None => Column::defaults(),
    };
    for metric in &design.metrics {
        column(metric, &mut columns)
            .map_err(|error| Problem::usage(format!("--metric {metric}: {error}")))?;
    }
    if let Some(until) = &mut until {
        let found = column(&until.metric, &mut columns);
        // An expression is named as it is read, whatever blanks were typed.
        until.metric = found.map_err(|error| Problem::usage(format!("--until: {error}")))?.info.name;
    }
    let plan = SweepPlan {
        experiment: asked.title.unwrap_or_default().to_owned(),
        factors,
        layout,
        points,
        repeats: repeats.least,
        until,
        repeats_max: repeats.most,
        lengths: None,
        columns: columns.iter().map(|column| column.info.clone()).collect(),
        claims: asked.claims.to_vec(),
        looks: asked.looks,
        claims_together: asked.question.is_some_and(|question| question.claims_together),
        budget: time("--budget", repeat.budget.as_deref())?,
        seed: 0,
        jobs: 1,
        attempts: 1,
    };
    Ok(Planned { plan, columns, is_simulated: false })
}

/// Numbers of runs of each point.
struct Repeats {
    least: u32,
    most: u32,
}

/// The repeats of so many points, of which no more follow than are made at all.
fn repeats(asked: &RepeatFlags, points: usize) -> Result<Repeats, Problem> {
    let least = asked.repeats.unwrap_or(REPEATS);
    let runs = u64::from(least).saturating_mul(points as u64);
    if runs > RUNS_MAX {
        let of = if points == 1 { String::new() } else { format!(" of {points} points") };
        return Err(Problem::usage(format!("{least} repeats{of}: at most {RUNS_MAX} runs in all")));
    }
    let room = (RUNS_MAX / points.max(1) as u64) as u32;
    Ok(Repeats { least, most: asked.repeats_max.min(room) })
}

/// Bounds of the lengths of runs; none where their length is what is varied, or follows from the load or from
/// a network that changes.
fn lengths(asked: &SweepRequest, read: &RunPlan, points: &[Point]) -> Result<Option<LengthPlan>, Problem> {
    let max = time("--length-max", Some(&asked.repeat.length_max))?;
    let run = &read.scenario().run;
    let max = max.into_iter().chain(run.duration_max).min().unwrap_or(Duration::ZERO);
    let ends_by_count = run.requests.is_some() || run.sessions.is_some();
    let mut settings = points.iter().flat_map(|point| &point.settings);
    let is_varied = settings.any(|Setting { key, .. }| key.starts_with("run.") || key == "run");
    let is_stationary = read.loads().all(|load| match load {
        LoadModel::Closed { stages, .. } => stages.is_none(),
        LoadModel::Open { arrivals, .. } | LoadModel::Hybrid { arrivals, .. } => arrivals.is_stationary(),
        LoadModel::Overload(_) => false,
    });
    // Runs of other lengths would meet other parts of what changes.
    let changes = read.network().is_some_and(|network| !network.conditions.is_empty());
    let has_length = !ends_by_count && !is_varied && is_stationary && !changes;
    Ok(has_length.then_some(LengthPlan {
        own: run.duration,
        max: max.max(run.duration),
        warm_up: run.warm_up,
        may_warm_up: !read.says_warm_up(),
    }))
}

fn points_of(design: &DesignFlags) -> Result<(Vec<Factor>, Layout, Vec<Point>), Problem> {
    if let Some(file) = &design.points {
        return Ok((Vec::new(), Layout::Listed, listed(file)?));
    }
    let factors: Result<Vec<Factor>, _> = design.vary.iter().map(|text| text.parse::<Factor>()).collect();
    let factors = factors.map_err(|error| Problem::usage(format!("--vary: {error}")))?;
    let twice = factors
        .iter()
        .enumerate()
        .find(|(at, factor)| factors[..*at].iter().any(|other| other.key == factor.key));
    if let Some((_, factor)) = twice {
        return Err(Problem::usage(format!("--vary {}: the key is varied twice", factor.key)));
    }
    let count = factors.iter().try_fold(1_usize, |count, factor| count.checked_mul(factor.levels.len()));
    match design.one_at_a_time {
        true => Ok((factors.clone(), Layout::OneAtATime, points::one_at_a_time(&factors))),
        false if count.is_none_or(|count| count > POINTS_MAX) => Err(Problem::usage(format!(
            "more than {POINTS_MAX} combinations; vary fewer keys, or --one-at-a-time"
        ))),
        false => Ok((factors.clone(), Layout::Full, points::full(&factors))),
    }
}

/// The points of a table: keys in the first line, values in the others.
fn listed(file: &Path) -> Result<Vec<Point>, Problem> {
    let refuse = |why: &dyn std::fmt::Display| Problem::usage(format!("{}: {why}", file.display()));
    let text = farfield_files::read_text(file, DOCUMENT_MAX).map_err(|error| refuse(&error))?;
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let keys = reader.headers().map_err(|error| refuse(&error))?.clone();
    if keys.iter().any(str::is_empty) {
        return Err(refuse(&"the first line names a key for each column"));
    }
    let mut points: Vec<Point> = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| refuse(&error))?;
        let cells = keys.iter().zip(&record).filter(|(_, value)| !value.is_empty());
        let setting = |(key, value): (&str, &str)| Setting { key: key.to_owned(), value: value.to_owned() };
        let point = Point { settings: cells.map(setting).collect() };
        if points.contains(&point) {
            return Err(refuse(&format!("the point {} is there twice", point.label())));
        }
        points.push(point);
    }
    match points.is_empty() {
        true => Err(refuse(&"it has no points: a line of keys, and a line of values for each point")),
        false => Ok(points),
    }
}

/// The plane of a point, whose scenario is read: one that cannot be run, or not by parts where these are
/// asked for, is refused before anything is.
fn plane_at(asked: &SweepRequest, point: &Point) -> Result<PlaneKind, Problem> {
    let mut overlay = asked.overlay.clone();
    let curves = asked.question.map_or(&[][..], |question| &question.curves);
    let settings = curves::resolved(&point.settings, curves);
    overlay.sets.extend(settings.iter().map(|Setting { key, value }| format!("{key}={value}")));
    if let Some(part) = asked.on.first_part() {
        overlay.set("run.part", "--on", part.as_str());
    }
    let plan = crate::commands::run::read(asked.what, &overlay).map_err(|problem| match point.label() {
        label if label.is_empty() => problem,
        label => problem.at(&format!("with {label}")),
    })?;
    Ok(plan.scenario().plane)
}
