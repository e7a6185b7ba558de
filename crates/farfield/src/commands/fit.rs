//! `farfield fit`: a log into a scenario, a site, a report.
//!
//! The folder that it writes: `scenario.toml`, which `farfield run` takes as it is; `site.json`, the objects,
//! pages and links that it asks for, of which `farfield site make` makes files; `fit.json`, everything that
//! was found; `report.html`, the same to look at.

mod read;

pub use read::{fitted, settings};

use crate::exit::Exit;
use crate::flags::fit::FitFlags;
use crate::output;
use crate::problem::Problem;
use farfield_base::Duration;
use farfield_fit::FitReport;
use farfield_fit::scenario::{FittedTraffic, RequestSource, TrafficSettings};
use farfield_report::fit::{page, summary, with_unit};
use farfield_scenario::site_folder;
use farfield_scenario::{HttpVersion, RunSpec, Scenario, Url};
use serde::Serialize;
use std::fmt::Write;
use std::io::Write as _;
use std::path::Path;

/// The files of the folder.
const FILES: [&str; 4] = ["scenario.toml", "site.json", "fit.json", "report.html"];

/// Fits the logs and writes the folder.
pub fn fit(flags: &FitFlags) -> Result<Exit, Problem> {
    if let Some(speed) = flags.speed.filter(|speed| !(speed.is_finite() && *speed > 0.0)) {
        return Err(Problem::usage(format!("--speed {speed}: write a factor above 0, such as 60")));
    }
    let target = match &flags.target {
        Some(url) => Some(url.parse::<Url>().map_err(|error| Problem::usage(format!("--target: {error}")))?),
        None => None,
    };
    if let Some(file) = FILES.iter().find(|file| flags.out.join(file).exists()) {
        let there = flags.out.join(file);
        return Err(Problem::usage(format!("{} exists; name another folder with -o", there.display())));
    }
    let mut settings = settings(&flags.log)?;
    settings.objects = flags.objects.max(1);
    let report = fitted(&flags.log, &settings)?;
    let asked = match target {
        Some(_) => RequestSource::Paths,
        None => RequestSource::Site(FILES[1].into()),
    };
    let pace = Pace::of(&report, flags);
    let wanted = TrafficSettings { speed: pace.speed, asked, course: flags.course };
    let mut traffic = report.traffic(&wanted).map_err(Problem::failed)?;
    traffic.words.extend(pace.words());
    let site = site_folder::as_json(&report.to_site(flags.log.seed).map_err(Problem::failed)?);
    let scenario = scenario(&traffic, target, flags, &pace);
    let folder =
        farfield_files::output::folder(&flags.out).map_err(|error| unwritable(&flags.out, &error))?;
    let contents = [
        (heading(&report, &traffic, &pace) + &scenario.to_toml()).into_bytes(),
        site,
        written(&report).into_bytes(),
        page(&report, &traffic).into_bytes(),
    ];
    for (file, content) in FILES.iter().zip(contents) {
        let made = folder.publish_below(&[file]).and_then(|mut made| made.write_all(&content));
        made.map_err(|error| unwritable(&flags.out.join(file), &error))?;
    }
    let takes = pace.takes(&report, &scenario);
    output::put(&summary(&report, &traffic, &flags.out, &takes))?;
    Ok(Exit::Fine)
}

/// The scenario's speed against the log's, and its length.
struct Pace {
    speed: f64,
    /// The speed was chosen here.
    is_chosen: bool,
    /// The time that the log covers, at this speed.
    covered: Duration,
}

impl Pace {
    /// A run lasts no longer than this, unless it follows the log's course.
    const LONGEST: Duration = Duration::from_secs(600);
    /// Requests that the first run of a slow log shows.
    const REQUESTS: f64 = 300.0;

    /// The pace as it was asked for; else as in the log, or so much faster that the longest run shows
    /// something: by 2, 5, 10, 20, …
    fn of(report: &FitReport, flags: &FitFlags) -> Pace {
        // A log of one instant is taken for a second's, as the rate of its sessions is.
        let covers_s = report.covers.as_secs_f64().max(1.0);
        let shown = report.popularity.requests as f64 * Self::LONGEST.as_secs_f64() / covers_s;
        let is_slow = !flags.course && report.covers > Self::LONGEST && shown < Self::REQUESTS;
        let steps = (0..).flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * 10f64.powi(power)));
        let wanted = Self::REQUESTS / shown.max(1e-9);
        let chosen = steps.take(40).find(|step| is_slow && *step >= wanted).unwrap_or(1.0);
        let speed = flags.speed.unwrap_or(chosen);
        let is_chosen = flags.speed.is_none() && speed != 1.0;
        Pace { speed, is_chosen, covered: Duration::from_secs_f64(covers_s / speed) }
    }

    fn words(&self) -> Option<String> {
        self.is_chosen.then(|| {
            format!(
                "It goes {0} times as fast as the log, which shows next to nothing in ten minutes: sessions come {0} times as often, \
                 and users think so much shorter. --speed 1 keeps the log's own pace.",
                self.speed
            )
        })
    }

    /// The run's length and the number of its requests, in words.
    fn takes(&self, report: &FitReport, scenario: &Scenario) -> String {
        let run = &scenario.run;
        let rate = report.popularity.requests as f64 / self.covered.as_secs_f64();
        let takes = with_unit((run.warm_up + run.duration).as_secs_f64());
        let mut text = format!("takes {takes}, with about {:.0} requests", rate * run.duration.as_secs_f64());
        if run.duration > Self::LONGEST && self.speed == 1.0 {
            let faster = (run.duration.as_secs_f64() / Self::LONGEST.as_secs_f64()).ceil();
            let _ = write!(text, "; farfield fit --speed {faster} makes that ten minutes");
        } else if self.speed != 1.0 {
            let _ = write!(text, ", at {} times the log's pace", self.speed);
        }
        text
    }
}

fn scenario(traffic: &FittedTraffic, target: Option<Url>, flags: &FitFlags, pace: &Pace) -> Scenario {
    let name = flags.out.file_name().map_or("fit".to_owned(), |name| name.to_string_lossy().into_owned());
    let whole_ms = |time: Duration| Duration::from_ms(time.as_ns() / 1_000_000);
    let covered = pace.covered;
    let second = Duration::from_secs(1);
    let run = match flags.course {
        true => RunSpec { warm_up: second, duration: whole_ms(covered).max(second), ..RunSpec::default() },
        false => RunSpec {
            // Sessions begin empty: it takes their length until as many are under way as there will be.
            warm_up: whole_ms(traffic.session.times(2)).clamp(second, Duration::from_secs(120)),
            duration: whole_ms(covered).clamp(Duration::from_secs(10), Pace::LONGEST),
            ..RunSpec::default()
        },
    };
    Scenario {
        name,
        seed: flags.log.seed,
        target,
        http: HttpVersion::default(),
        run,
        load: traffic.load.clone(),
        requests: Some(traffic.requests.clone()),
        ..Scenario::default()
    }
}

/// The comment at the head of the scenario.
fn heading(report: &FitReport, traffic: &FittedTraffic, pace: &Pace) -> String {
    let mut text = String::new();
    let covers =
        humantime::format_duration(std::time::Duration::from_secs(report.covers.as_ns() / 1_000_000_000));
    let _ = writeln!(text, "# Traffic fitted to {} requests of {covers}.", report.requests());
    if pace.speed != 1.0 && !pace.is_chosen {
        let _ = writeln!(text, "# It goes {} times as fast.", pace.speed);
    }
    for sentence in traffic.words.iter().chain(&traffic.doubts) {
        let _ = writeln!(text, "# {sentence}");
    }
    let _ =
        writeln!(text, "#\n# More sessions: another rate or scale in load.arrivals. Longer: run.duration.");
    text + "\n"
}

fn written(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("it is JSON") + "\n"
}

fn unwritable(path: &Path, error: &std::io::Error) -> Problem {
    Problem::failed(format!("cannot write {}: {error}", path.display()))
}
