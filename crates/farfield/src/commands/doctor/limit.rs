//! `farfield doctor --limit`: the load that farfield itself can offer on this machine, before its own server.
//!
//! The server is in this process, with as many threads as there are processors; generators are runs of this
//! same program, on the sockets plane, one or two at a time. What a page takes at the server is not the
//! scenario's: paths that farfield's own server does not know are answered with 404, which is as much work
//! for a generator as another short reply. It serves over TLS where the scenario's target does, and takes as
//! long as it is asked to, so that users who wait ask it no more often than another server.

use crate::commands::capacity::{load::RisingLoad, time};
use crate::commands::child::{ChildRun, ChildRuns, in_ns};
use crate::commands::observe::validity;
use crate::exit::Exit;
use crate::flags::doctor::DoctorFlags;
use crate::output;
use crate::problem::Problem;
use farfield_base::Duration;
use farfield_engine::plane::PlaneKind;
use farfield_engine::{descriptors, interrupt};
use farfield_experiment::limit::{self, GeneratorCheck, Generators, LimitReport, Offered};
use farfield_experiment::{Stop, Validity};
use farfield_measure::{Quantile, Summary};
use farfield_origin::{Origin, OriginConfig, OriginError};
use farfield_report::figures;
use farfield_scenario::{Overlay, Scenario};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::thread;

/// The load of the first run, where the scenario has none.
const FIRST_RATE: &str = "1000/s";
/// The page that is asked of the server, where the scenario does not say: a kilobyte.
const PAGE: &str = "bytes/1024";
/// The measured part of a run, and its warm-up.
const MEASURED: Duration = Duration::from_ms(1_000);
const WARM_UP: Duration = Duration::from_ms(300);
/// Checks that fail by what is asked for, and not by how much: here they say nothing.
const OF_THE_REPLIES: [&str; 2] = ["something-succeeded", "server-failing"];

/// Measures the limit, and prints it.
pub fn limit(flags: &DoctorFlags) -> Result<Exit, Problem> {
    let mut overlay = Overlay::default();
    if flags.what.is_none() {
        overlay.set("load.arrivals", "--rate", FIRST_RATE);
    }
    let own = crate::commands::run::read(flags.what.as_deref(), &overlay)?;
    if own.scenario().plane != PlaneKind::Sockets {
        return Err(Problem::usage(format!(
            "--limit is of the sockets plane, and this scenario is {}: its verdict says what the generator lacks",
            own.scenario().plane.name()
        )));
    }
    if names_a_certificate(own.scenario()) {
        return Err(Problem::usage(
            "--limit is measured before farfield's own server, whose certificate `tls.ca` and `tls.pins` do not know: \
             leave them out, and write --insecure",
        ));
    }
    let load = RisingLoad::of(&own, false)?;
    let budget = time("--budget", Some(&flags.budget))?.unwrap_or(Duration::ZERO);
    let stop = interrupt::flag();
    let stop = stop.map_err(|error| Problem::failed(format!("cannot listen for signals: {error}")))?;
    let (what, words) = (flags.what.clone(), overlay.words());
    let runs = ChildRuns { what, words, scenario: own.scenario().digest(), on: None, stop };
    let whole = load.whole;
    let rounded = move |load: f64| if whole { load.round().max(1.0) } else { three_digits(load) };
    let server = OwnServer::of(own.scenario(), Duration::ZERO);
    let found = before_own_server(server, runs, &load, |generators| {
        limit::limit(load.own, budget.as_secs_f64(), &rounded, generators)
    });
    match found {
        Ok(report) => {
            output::put(&text(&report, &load))?;
            Ok(if report.load.is_some() { Exit::Fine } else { Exit::Invalid })
        }
        Err(Stop::Interrupted) => Ok(Exit::Interrupted),
        Err(stop) => Err(Problem::failed(stop.to_string())),
    }
}

/// Holds one generator against two at a load of a search, in about `budget_s` seconds.
pub fn check(
    server: OwnServer,
    runs: ChildRuns,
    load: &RisingLoad,
    at: f64,
    budget_s: f64,
) -> Result<GeneratorCheck, Stop> {
    before_own_server(server, runs, load, |generators| limit::check(at, budget_s, generators))
}

/// True if only one certificate, or those of one authority, are accepted.
pub fn names_a_certificate(scenario: &Scenario) -> bool {
    scenario.tls.as_ref().is_some_and(|tls| tls.ca.is_some() || !tls.pins.is_empty())
}

/// The server that generators are held against.
#[derive(Debug, Clone, Copy)]
pub struct OwnServer {
    tls: bool,
    service_time: Duration,
}

impl OwnServer {
    /// A server that speaks as the scenario's target does, and takes this time for a reply.
    pub fn of(scenario: &Scenario, service_time: Duration) -> OwnServer {
        let tls = scenario.target.as_ref().is_some_and(|target| target.to_string().starts_with("https"));
        OwnServer { tls, service_time }
    }

    fn start(self) -> Result<Origin, OriginError> {
        let threads = thread::available_parallelism().ok().and_then(|count| u32::try_from(count.get()).ok());
        let threads = threads.and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN);
        let OwnServer { tls, service_time } = self;
        Origin::start(OriginConfig { threads, tls, service_time, ..OriginConfig::default() })
    }
}

/// The result of generators' runs before farfield's own server.
fn before_own_server<T>(
    server: OwnServer,
    runs: ChildRuns,
    load: &RisingLoad,
    of: impl FnOnce(&mut dyn Generators) -> Result<T, Stop>,
) -> Result<T, Stop> {
    descriptors::raise();
    let origin = server.start().map_err(|error| Stop::Failed(error.to_string()))?;
    let folder = farfield_files::temporary_folder("farfield-limit-");
    let folder = folder.map_err(|error| Stop::Failed(format!("cannot make a temporary folder: {error}")))?;
    let mut runs = LimitRuns {
        runs,
        target: format!("{}://{}/{PAGE}", if server.tls { "https" } else { "http" }, origin.address()),
        tls: server.tls,
        load,
        folder: folder.path().to_owned(),
        made: 0,
    };
    let found = of(&mut runs);
    origin.stop();
    found
}

/// A rate of three digits.
fn three_digits(rate: f64) -> f64 {
    let unit = 10_f64.powf(rate.max(1.0).log10().floor() - 2.0);
    ((rate / unit).round() * unit).round().max(1.0)
}

/// The content of a run's `design.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct LimitDesign {
    number: u32,
    which: u32,
}

/// Makes runs by child processes, several at once.
struct LimitRuns<'a> {
    runs: ChildRuns,
    target: String,
    tls: bool,
    load: &'a RisingLoad,
    folder: PathBuf,
    made: u32,
}

impl Generators for LimitRuns<'_> {
    fn offer(&mut self, load: f64, generators: u32) -> Result<Offered, Stop> {
        self.made += 1;
        let number = self.made;
        let shares = (0..generators).map(|which| self.share(load, generators, which));
        let shares: Vec<f64> = shares.filter(|share| *share > 0.0).collect();
        let one = |(which, share): (u32, f64)| self.one(number, which, share);
        let made: Vec<Result<(Summary, f64), Stop>> = thread::scope(|scope| {
            let running: Vec<_> = (0..).zip(shares).map(|share| scope.spawn(move || one(share))).collect();
            let failed = || Stop::Failed("a run was lost".to_owned());
            running.into_iter().map(|run| run.join().unwrap_or_else(|_| Err(failed()))).collect()
        });
        let made: Vec<(Summary, f64)> = made.into_iter().collect::<Result<_, Stop>>()?;
        Ok(together(load, self.load.whole, &made))
    }
}

impl LimitRuns<'_> {
    /// The part of a load that one of several generators offers; users are whole.
    fn share(&self, load: f64, generators: u32, which: u32) -> f64 {
        let (count, place) = (f64::from(generators), f64::from(which));
        match self.load.whole {
            true => ((load * (place + 1.0) / count).floor() - (load * place / count).floor()).max(0.0),
            false => load / count,
        }
    }

    fn one(&self, number: u32, which: u32, share: f64) -> Result<(Summary, f64), Stop> {
        let sets = [
            ("target", self.target.clone()),
            (self.load.key.as_str(), self.load.value(share)),
            ("run.duration", in_ns(MEASURED)),
            ("run.warm-up", in_ns(WARM_UP)),
            ("run.cool-down", in_ns(Duration::ZERO)),
            ("run.drain", in_ns(MEASURED)),
            ("seed", (u64::from(number) * 2 + u64::from(which)).to_string()),
            ("thresholds", "[]".to_owned()),
            ("output.samples", "none".to_owned()),
        ];
        // Nobody has signed its certificate.
        let unsigned = self.tls.then(|| ("tls.verify", "false".to_owned()));
        let sets = sets.into_iter().chain(unsigned);
        let made = self.runs.run(&ChildRun {
            design: &LimitDesign { number, which },
            point: "",
            sets: sets.map(|(key, value)| (key.to_owned(), value)).collect(),
            directory: directory(&self.folder, number, which),
        })?;
        Ok((made.run.summary().clone(), made.took_s))
    }
}

fn directory(folder: &Path, number: u32, which: u32) -> PathBuf {
    folder.join(format!("{number:03}-{which}"))
}

/// The result of runs at the same time.
fn together(load: f64, is_closed: bool, made: &[(Summary, f64)]) -> Offered {
    let cause = |summary: &Summary| match validity(summary, &[]) {
        Validity::Valid => None,
        Validity::Overwhelmed { cause } if OF_THE_REPLIES.contains(&cause.as_str()) => None,
        Validity::Overwhelmed { cause } => Some((cause, [true, false])),
        Validity::TooShort { cause } | Validity::StillRising { cause } => Some((cause, [false, true])),
        Validity::Invalid { cause, is_full } => Some((cause, [false, !is_full])),
    };
    let first = made.iter().find_map(|(summary, _)| cause(summary));
    let replies = |summary: &Summary| summary.steady.rates.and_then(|rates| rates.completed_per_s);
    let due = |summary: &Summary| summary.steady.rates.map_or(0.0, |rates| rates.offered_per_s);
    let highest_ns = |of: Quantile| {
        let times = made.iter().filter_map(|(summary, _)| summary.steady.times.response.as_ref());
        times.filter_map(|times| times.quantile_ns(of)).max().map(|ns| ns as f64)
    };
    Offered {
        load,
        generators: made.len() as u32,
        by_server: first.as_ref().is_some_and(|(_, [by_server, _])| *by_server),
        disturbed: first.as_ref().is_some_and(|(_, [_, disturbed])| *disturbed),
        cause: first.map(|(cause, _)| cause),
        due_per_s: (!is_closed).then(|| made.iter().map(|(summary, _)| due(summary)).sum()),
        replies_per_s: made.iter().filter_map(|(summary, _)| replies(summary)).sum(),
        median_ns: highest_ns(Quantile::P50),
        p99_ns: highest_ns(Quantile::P99),
        took_s: made.iter().map(|(_, took_s)| *took_s).fold(0.0, f64::max),
    }
}

/// The limit, and what was offered, in at most 24 lines.
fn text(report: &LimitReport, load: &RisingLoad) -> String {
    const ROWS: usize = 16;
    let mut text = match report.load {
        Some(limit) => format!("this machine offers {limit:.0} {}\nwith more, ", load.unit),
        None => "no load is the same with one generator and two\n".to_owned(),
    };
    text += &report.because;
    text += "\n";
    text += &format!("\n{:>14} {:>10} {:>12} {:>10}\n", load.unit, "generators", "replies/s", "median");
    let left_out = report.offered.len().saturating_sub(ROWS);
    for offered in report.offered.iter().skip(left_out) {
        let median = offered.median_ns.map_or("-".to_owned(), |ns| figures::time(ns as u64));
        let cause = offered.cause.as_deref().map_or(String::new(), |cause| format!("  {cause}"));
        text += &format!(
            "{:>14.0} {:>10} {:>12.0} {median:>10}{cause}\n",
            offered.load, offered.generators, offered.replies_per_s
        );
    }
    if let Some(limit) = report.load {
        text += &format!("\nfarfield capacity … --generator-limit {limit:.0}\n");
    }
    text
}
