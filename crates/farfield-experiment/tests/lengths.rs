//! Sweeps that find how long their runs are to be, over made-up servers that say what their runs lack.

use farfield_base::Duration;
use farfield_base::random::{Purpose, Seed};
use farfield_experiment::report::Ended;
use farfield_experiment::sweep::{
    Course, Factor, Layout, LengthPlan, Need, PlannedRun, PointRun, PointRunner, Reading, RunLength, Scale,
    SweepPlan, SweepReport, points, sweep,
};
use farfield_experiment::{Stop, Validity};
use rand_core::Rng;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

const OWN: RunLength = RunLength { measured: Duration::from_secs(10), warm_up: Duration::from_secs(1) };

/// Findings in a run of a length: how long it would need to be, and how its response times went.
type Shows = dyn Fn(RunLength, u64) -> (Option<u64>, Course) + Sync;

/// A server before which runs vary the less the longer they are.
struct Server<'a> {
    shows: &'a Shows,
    noise: f64,
    /// The number of a run that is interrupted.
    interrupted: Option<usize>,
    /// Runs that are there, by point, length and seed.
    kept: Mutex<BTreeMap<(usize, u64, u64, u64), f64>>,
    made: Mutex<usize>,
}

impl<'a> Server<'a> {
    fn new(shows: &'a Shows) -> Server<'a> {
        Server { shows, noise: 0.02, interrupted: None, kept: Mutex::default(), made: Mutex::default() }
    }
}

fn normal(seed: u64, number: u64) -> f64 {
    let mut stream = Seed(seed).stream(Purpose::User, number);
    (0..12).map(|_| (stream.next_u64() >> 11) as f64 / (1u64 << 53) as f64).sum::<f64>() - 6.0
}

impl PointRunner for Server<'_> {
    fn run(&self, run: &PlannedRun) -> Result<PointRun, Stop> {
        let length = run.length.unwrap_or(OWN);
        let key = (run.point, length.measured.as_ns(), length.warm_up.as_ns(), run.design.seed);
        let mut kept = self.kept.lock().unwrap();
        if !kept.contains_key(&key) {
            let mut made = self.made.lock().unwrap();
            *made += 1;
            if self.interrupted == Some(*made) {
                return Err(Stop::Interrupted);
            }
        }
        let shorter = (OWN.measured.as_secs_f64() / length.measured.as_secs_f64()).sqrt();
        let of_run = self.noise * shorter * normal(run.design.seed, 1 + run.point as u64);
        let value = *kept.entry(key).or_insert(1e7 * of_run.exp());
        let (needs_ns, course) = (self.shows)(length, run.design.seed);
        let need = needs_ns.filter(|needs| *needs > length.measured.as_ns());
        let need = need.map(|needs| Need { length_ns: Some(needs), lacks: "p99 of too few".to_owned() });
        let reading = Reading {
            metric: "p99".to_owned(),
            scale: Scale::Ratio,
            value: Some(value),
            unknown: None,
            requests: None,
            need,
        };
        let took_s = (length.measured + length.warm_up).as_secs_f64();
        let directory = PathBuf::from(format!("{key:?}"));
        Ok(PointRun {
            validity: Validity::Valid,
            readings: vec![reading],
            course: Some(course),
            missed: Vec::new(),
            relaxed: Vec::new(),
            warnings: 0,
            directory,
            took_s,
        })
    }
}

fn plan(factors: &[&str]) -> SweepPlan {
    let factors: Vec<Factor> = factors.iter().map(|text| text.parse().expect("a factor")).collect();
    let bounds = LengthPlan {
        own: OWN.measured,
        max: Duration::from_secs(300),
        warm_up: OWN.warm_up,
        may_warm_up: true,
    };
    SweepPlan {
        experiment: "test".to_owned(),
        points: points::full(&factors),
        factors,
        layout: Layout::Full,
        repeats: 3,
        until: Some("p99 ± 5%".parse().expect("a width")),
        repeats_max: 100,
        lengths: Some(bounds),
        columns: Vec::new(),
        claims: Vec::new(),
        looks: 1,
        claims_together: false,
        budget: None,
        seed: 5,
        jobs: 1,
        attempts: 3,
    }
}

fn course(settled_ns: u64, halves_ratio: f64) -> Course {
    Course { settled_ns: Some(settled_ns), halves_ratio: Some(halves_ratio), end_ns: 0 }
}

const STEADY: Course = Course { settled_ns: Some(0), halves_ratio: Some(1.0), end_ns: 0 };

fn seconds(report: &SweepReport) -> [f64; 2] {
    let lengths = report.lengths.as_ref().expect("lengths");
    [lengths.measured_ns, lengths.warm_up_ns].map(|ns| ns as f64 / 1e9)
}

fn refused(report: &SweepReport) -> &str {
    report.refused().expect("a refusal")
}

/// The course of a server that is slow from the ninth second on.
fn slow_from_9(length: RunLength, seed: u64) -> Course {
    let whole_ns = (length.measured + length.warm_up).as_ns();
    let end_ns = whole_ns.saturating_sub(9_000_000_000);
    let ratio = if end_ns > 0 { 1.6 } else { 1.0 };
    Course { settled_ns: Some(0), halves_ratio: Some(ratio * (0.05 * normal(seed, 9)).exp()), end_ns }
}

/// Runs end before their ends differ, with their seeds, and do not become longer again; what needs longer
/// runs is refused with the cause.
#[test]
fn runs_end_before_their_end_differs() {
    let short = |length: RunLength, seed: u64| (None, slow_from_9(length, seed));
    let report = sweep(&plan(&["a=1,2"]), &Server::new(&short));
    assert!(report.is_decided(), "{:?}", report.lengths);
    assert_eq!(seconds(&report), [6.0, 1.0]);
    let changes = &report.lengths.as_ref().expect("lengths").changes;
    let words = changes[0].in_words();
    let expected = "runs of 10s were shortened to 6s: response times differ in the last 2s";
    assert!(words.starts_with(expected), "{words}");
    let needy = |length: RunLength, seed: u64| (Some(20_000_000_000), slow_from_9(length, seed));
    let report = sweep(&plan(&["a=1,2"]), &Server::new(&needy));
    assert!(refused(&report).contains("after 6s response times differ"), "{}", refused(&report));
}

#[test]
fn runs_that_are_long_enough_stay_as_they_are() {
    let report = sweep(&plan(&["a=1,2"]), &Server::new(&|_, _| (None, STEADY)));
    assert!(report.is_decided() && report.earlier_runs.is_empty(), "{:?}", report.lengths);
    assert_eq!((report.runs.len(), seconds(&report)), (10, [10.0, 1.0]));
    assert!(report.lengths.as_ref().is_some_and(|lengths| lengths.changes.is_empty()));
}

/// One block shows that runs are too short; those that count are all of one length, with the seeds of the
/// first ones, and pairs are of one seed.
#[test]
fn runs_that_are_too_short_are_lengthened_with_their_seeds() {
    let server = Server::new(&|_, _| (Some(40_000_000_000), STEADY));
    let report = sweep(&plan(&["a=1,2"]), &server);
    assert!(report.is_decided(), "{:?}", report.lengths);
    assert_eq!((report.earlier_runs.len(), seconds(&report)), (2, [48.0, 1.0]));
    let change = &report.lengths.as_ref().expect("lengths").changes[0];
    assert_eq!(change.in_words(), "runs of 10s were lengthened to 48s: p99 of too few at a=1");
    let seeds = |point: usize| -> Vec<u64> {
        let of_point = report.runs.iter().filter(|run| run.point == point);
        of_point.map(|run| run.design.seed).collect()
    };
    assert_eq!((seeds(0), seeds(1)), ((5..10).collect(), (5..10).collect()));
    let numbers: Vec<u32> =
        report.earlier_runs.iter().chain(&report.runs).map(|run| run.design.number).collect();
    assert_eq!(numbers, (1..=12).collect::<Vec<u32>>());
}

#[test]
fn an_interrupted_sweep_comes_to_the_same_lengths_and_makes_nothing_again() {
    let shows = |length: RunLength, seed: u64| {
        let needs = 20_000_000_000 + seed * 1_000_000_000;
        (Some(needs), course(if length.measured > OWN.measured { 3_000_000_000 } else { 0 }, 1.0))
    };
    let whole = sweep(&plan(&["a=1,2"]), &Server::new(&shows));
    assert_eq!(whole.ended, Ended::Done);
    let all = whole.earlier_runs.len() + whole.runs.len();
    assert_eq!(seconds(&whole)[1], 6.0);
    for at in 1..=all {
        let mut server = Server { interrupted: Some(at), ..Server::new(&shows) };
        let first = sweep(&plan(&["a=1,2"]), &server);
        assert_eq!(
            (first.ended.clone(), first.earlier_runs.len() + first.runs.len()),
            (Ended::Interrupted, at - 1)
        );
        server.interrupted = None;
        assert_eq!(sweep(&plan(&["a=1,2"]), &server), whole);
        // The one that was interrupted is made again, and no other.
        assert_eq!(*server.made.lock().unwrap(), all + 1, "{at}");
    }
}

#[test]
fn what_cannot_be_had_is_said_with_its_reason() {
    let long = |_: RunLength, _: u64| (Some(1_000_000_000_000), STEADY);
    let report = sweep(&plan(&[]), &Server::new(&long));
    assert_eq!(refused(&report), "p99 of too few: it takes runs of 1000s, and --length-max is 5m");
    assert!(!report.is_decided() && report.runs.len() == 5, "{}", report.runs.len());
    let budget = SweepPlan { budget: Some(Duration::from_secs(200)), ..plan(&["a=1,2"]) };
    let report = sweep(&budget, &Server::new(&|_, _| (Some(40_000_000_000), STEADY)));
    assert!(
        refused(&report).contains("it takes runs of 48s: 10 of them take about 490 s"),
        "{}",
        refused(&report)
    );
    // The need grows with the length: requests are alike over any time.
    let fleeing = |length: RunLength, _: u64| (Some(length.measured.as_ns() * 3 / 2), STEADY);
    let report = sweep(&plan(&[]), &Server::new(&fleeing));
    assert!(refused(&report).starts_with("runs need the longer the longer they are"), "{}", refused(&report));
    let unknown = Server::new(&|_, _| (None, course(0, 1.8)));
    let stays = SweepPlan {
        lengths: plan(&[]).lengths.map(|bounds| LengthPlan { may_warm_up: false, ..bounds }),
        ..plan(&[])
    };
    let report = sweep(&stays, &unknown);
    assert_eq!(
        refused(&report),
        "response times grow by 80 % from the first half of a run to the second: a queue fills; offer less load"
    );
}

/// A server that copes in no run of a point is the reason, and no longer runs are made for it.
#[test]
fn a_server_that_does_not_cope_is_the_reason() {
    struct Overwhelmed;
    impl PointRunner for Overwhelmed {
        fn run(&self, run: &PlannedRun) -> Result<PointRun, Stop> {
            let noise = |_: RunLength, _: u64| (Some(40_000_000_000), STEADY);
            let came_to = Server::new(&noise).run(run)?;
            let validity = match run.point {
                0 => Validity::Valid,
                _ => Validity::Overwhelmed { cause: "unfinished".to_owned() },
            };
            Ok(PointRun { validity, ..came_to })
        }
    }
    let report = sweep(&plan(&["a=1,2"]), &Overwhelmed);
    assert_eq!(refused(&report), "the server did not cope at a=2 (unfinished)");
    assert_eq!((report.runs.len(), report.earlier_runs.len(), report.is_decided()), (10, 0, false));
}

/// A cold start becomes part of the warm-up; a queue that grows is preceded by as long again, twice, and then
/// it is said.
#[test]
fn warm_ups_are_lengthened_where_runs_have_not_settled() {
    let cold = |length: RunLength, _: u64| {
        let ratio = if length.warm_up >= Duration::from_ms(2_900) { 1.0 } else { 0.7 };
        (None, course(2_900_000_000, ratio))
    };
    let report = sweep(&plan(&[]), &Server::new(&cold));
    assert!(report.is_decided(), "{:?}", report.lengths);
    assert_eq!(seconds(&report), [10.0, 5.8]);
    let change = &report.lengths.as_ref().expect("lengths").changes[0];
    assert_eq!(
        change.in_words(),
        "warm-ups of 1s were lengthened to 5.8s: response times settle later than that"
    );
    // However late it seems to settle, and however long runs would have to be.
    let grows = |length: RunLength, seed: u64| {
        let late_ns = 2 * length.warm_up.as_ns();
        (Some(length.measured.as_ns() * 9), course(late_ns, 1.6 + 0.01 * seed as f64))
    };
    let report = sweep(&plan(&[]), &Server::new(&grows));
    assert!(refused(&report).ends_with("a queue fills; offer less load"), "{}", refused(&report));
    assert_eq!(seconds(&report), [10.0, 21.0]);
}

/// Where a narrow interval would take more repeats than there may be, runs become longer instead.
#[test]
fn repeats_that_are_too_many_become_longer_runs() {
    let server = Server { noise: 0.3, ..Server::new(&|_, _| (None, STEADY)) };
    let asked = SweepPlan { repeats_max: 20, ..plan(&[]) };
    let report = sweep(&asked, &server);
    let [measured, _] = seconds(&report);
    assert!(measured > 20.0 && report.earlier_runs.len() == 5, "{measured} {:?}", report.lengths);
    assert!(report.runs.len() <= 20, "{}", report.runs.len());
}

/// Of 400 sweeps of three stationary points, whose halves differ as samples do, at most 2 % are called
/// otherwise.
#[test]
fn stationary_runs_are_rarely_refused() {
    let noise = |_: RunLength, seed: u64| (None, course(0, (0.3 * normal(seed, 9)).exp()));
    let refused = (0..400).filter(|seed| {
        let asked = SweepPlan {
            seed: seed * 1000,
            lengths: plan(&[]).lengths.map(|bounds| LengthPlan { may_warm_up: false, ..bounds }),
            ..plan(&["a=1,2,3"])
        };
        sweep(&asked, &Server::new(&noise)).refused().is_some()
    });
    let refused = refused.count();
    assert!(refused <= 8, "{refused} of 400");
}
