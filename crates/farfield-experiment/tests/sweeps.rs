//! Sweeps over a made-up server: which runs are made, in which order and with which seeds, and what follows
//! from them.

use farfield_base::Duration;
use farfield_base::random::{Purpose, Seed};
use farfield_experiment::report::Ended;
use farfield_experiment::sweep::{
    Claim, Doubt, EachValue, Factor, Layout, PlannedRun, PointRun, PointRunner, Reading, Scale, Setting,
    Side, SweepPlan, SweepReport, Verdict, points, sweep,
};
use farfield_experiment::{Stop, Validity};
use rand_core::Rng;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A server whose p99 is 10 ms, times what each value says, times what the seed and chance say.
struct Server {
    noise: f64,
    /// Runs that are disturbed, by number.
    disturbed: BTreeSet<u32>,
    /// Runs in which it does not cope, by number.
    overwhelmed: BTreeSet<u32>,
    /// The number of the run at which it is interrupted.
    interrupted: Option<u32>,
    made: Mutex<Vec<PlannedRun>>,
    at_once: AtomicUsize,
    most_at_once: AtomicUsize,
}

impl Server {
    fn new(noise: f64) -> Server {
        Server {
            noise,
            disturbed: BTreeSet::new(),
            overwhelmed: BTreeSet::new(),
            interrupted: None,
            made: Mutex::default(),
            at_once: AtomicUsize::new(0),
            most_at_once: AtomicUsize::new(0),
        }
    }
}

/// A standard normal number, of 12 uniform ones.
fn normal(seed: u64, number: u64) -> f64 {
    let mut stream = Seed(seed).stream(Purpose::User, number);
    (0..12).map(|_| (stream.next_u64() >> 11) as f64 / (1u64 << 53) as f64).sum::<f64>() - 6.0
}

impl PointRunner for Server {
    fn run(&self, run: &PlannedRun) -> Result<PointRun, Stop> {
        let others = self.at_once.fetch_add(1, Ordering::SeqCst);
        self.most_at_once.fetch_max(others + 1, Ordering::SeqCst);
        std::thread::yield_now();
        let number = run.design.number;
        self.made.lock().unwrap().push(run.clone());
        let factor: f64 = run.settings.iter().map(|setting| setting.value.parse::<f64>().unwrap()).product();
        let of_seed = normal(run.design.seed, 0);
        let of_run = self.noise * normal(run.design.seed, 1 + run.point as u64);
        self.at_once.fetch_sub(1, Ordering::SeqCst);
        if self.interrupted == Some(number) {
            return Err(Stop::Interrupted);
        }
        let validity = match self.disturbed.contains(&number) && run.attempt == 0 {
            true => Validity::Invalid { cause: "host-steal".to_owned(), is_full: false },
            false if self.overwhelmed.contains(&number) => {
                Validity::Overwhelmed { cause: "server-silent".to_owned() }
            }
            false => Validity::Valid,
        };
        let value = Some(1e7 * factor * (0.5 * of_seed + of_run).exp());
        let reading = Reading {
            metric: "p99".to_owned(),
            scale: Scale::Ratio,
            value,
            unknown: None,
            need: None,
            requests: None,
        };
        let directory = PathBuf::from(format!("{number}-{}", run.attempt));
        Ok(PointRun {
            validity,
            readings: vec![reading],
            course: None,
            missed: Vec::new(),
            relaxed: Vec::new(),
            warnings: 0,
            directory,
            took_s: 1.0,
        })
    }
}

fn plan(factors: &[&str]) -> SweepPlan {
    let factors: Vec<Factor> = factors.iter().map(|text| text.parse().expect("a factor")).collect();
    SweepPlan {
        experiment: "test".to_owned(),
        points: points::full(&factors),
        factors,
        layout: Layout::Full,
        repeats: 4,
        until: None,
        repeats_max: 1000,
        lengths: None,
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

fn change(report: &SweepReport, point: usize) -> f64 {
    report.points[point].against_first[0].by
}

#[test]
fn each_block_has_every_point_once_with_one_seed_in_an_order_of_its_own() {
    let (plan, server) = (plan(&["a=1,2,3", "b=1,4"]), Server::new(0.0));
    let report = sweep(&plan, &server);
    assert!(report.ended == Ended::Done && report.is_decided());
    let mut orders = BTreeSet::new();
    for block in 1..=4 {
        let runs: Vec<_> = report.runs.iter().filter(|run| run.design.block == block).collect();
        let order: Vec<usize> = runs.iter().map(|run| run.point).collect();
        assert_eq!(order.iter().copied().collect::<BTreeSet<_>>(), (0..6).collect());
        assert!(runs.iter().all(|run| run.design.seed == 4 + u64::from(block)));
        orders.insert(order);
    }
    assert!(orders.len() > 1, "all blocks have one order");
    assert_eq!(server.most_at_once.load(Ordering::SeqCst), 1);
}

/// An effect of the seed on all points is no doubt about their difference: by pairs it is exact, though the
/// mean of each point has a wide interval.
#[test]
fn points_are_compared_by_pairs_of_runs_with_one_seed() {
    let report = sweep(&plan(&["a=1,2", "b=1,4"]), &Server::new(0.0));
    let [low, high] = report.points[0].estimates[0].interval.expect("an interval");
    assert!(high / low > 1.5, "{low} {high}");
    assert!((change(&report, 3) - 7.0).abs() < 1e-9);
    let change = &report.points[3].against_first[0];
    assert!(change.interval[1] - change.interval[0] < 1e-6 && change.differs, "{change:?}");
    let of_a = &report.effects[0].changes[0];
    assert!((of_a.by - 1.0).abs() < 1e-9 && of_a.differs, "{of_a:?}");
    // The seeds' part is that of the blocks.
    assert!(report.effects[0].variation.iter().map(|row| row.share).sum::<f64>() > 0.999_999);
}

#[test]
fn runs_side_by_side_come_to_the_same_as_one_after_the_other() {
    let plan = plan(&["a=1,2,3,4", "b=1,2,3,4"]);
    let one = sweep(&plan, &Server::new(0.1));
    let server = Server::new(0.1);
    let many = sweep(&SweepPlan { jobs: 4, ..plan }, &server);
    assert_eq!(one, many);
    assert_eq!(server.made.lock().unwrap().len(), 64);
}

#[test]
fn a_disturbed_run_is_made_again_with_its_seed_and_does_not_count() {
    let mut server = Server::new(0.1);
    server.disturbed = [1, 5].into();
    let report = sweep(&plan(&["a=1,2"]), &server);
    assert_eq!(report.runs.len(), 10);
    assert_eq!(
        report
            .points
            .iter()
            .map(|point| (point.runs, point.invalid))
            .fold((0, 0), |sum, of| { (sum.0 + of.0, sum.1 + of.1) }),
        (8, 2)
    );
    for number in [1, 5] {
        let seeds: Vec<_> =
            report.runs.iter().filter(|run| run.design.number == number).map(|run| run.design.seed).collect();
        assert!(seeds.len() == 2 && seeds[0] == seeds[1], "{seeds:?}");
    }
}

/// A cause that disturbs every run from the first on would disturb all.
#[test]
fn a_sweep_that_is_disturbed_from_the_beginning_ends() {
    struct Disturbed;
    impl PointRunner for Disturbed {
        fn run(&self, _: &PlannedRun) -> Result<PointRun, Stop> {
            let validity = Validity::Invalid { cause: "machine-busy".to_owned(), is_full: false };
            let (readings, missed) = (Vec::new(), Vec::new());
            Ok(PointRun {
                validity,
                readings,
                course: None,
                missed,
                relaxed: Vec::new(),
                warnings: 0,
                directory: PathBuf::new(),
                took_s: 1.0,
            })
        }
    }
    let report = sweep(&plan(&["a=1,2"]), &Disturbed);
    assert_eq!(report.ended, Ended::Disturbed("machine-busy".to_owned()));
    assert!(report.runs.len() == 6 && !report.is_decided(), "{}", report.runs.len());
}

#[test]
fn what_a_sweep_has_when_it_is_interrupted_is_kept() {
    let server = Server { interrupted: Some(6), ..Server::new(0.1) };
    let report = sweep(&plan(&["a=1,2"]), &server);
    assert_eq!((report.ended.clone(), report.runs.len()), (Ended::Interrupted, 5));
    assert_eq!(report.effects[0].blocks, 2);
    // Each run takes a second, by its record.
    let budget = SweepPlan { budget: Some(Duration::from_secs(3)), ..plan(&["a=1,2"]) };
    let report = sweep(&budget, &Server::new(0.1));
    assert_eq!((report.ended.clone(), report.runs.len()), (Ended::BudgetOver, 3));
}

/// Of 400 means that are repeated until they are known to 20 %, 93 to 97 % of the intervals contain the true
/// one, and all are as narrow as that.
#[test]
fn repeats_until_an_interval_is_narrow_and_it_covers() {
    let (mut covered, designs) = (0, 400);
    for seed in 0..designs {
        let plan = SweepPlan {
            until: Some("p99 ± 20%".parse().expect("a width")),
            repeats: 1,
            seed: seed * 100_000,
            ..plan(&["a=1,2"])
        };
        let report = sweep(&plan, &Server::new(0.1));
        assert!(report.is_decided() && report.runs.len() >= 10, "{}", report.runs.len());
        let [low, high] = report.points[0].estimates[0].interval.expect("an interval");
        assert!(high / low <= 1.2_f64.powi(2) * 1.000_01, "{low} {high}");
        covered += u32::from((low..=high).contains(&1e7));
    }
    let share = f64::from(covered) / designs as f64;
    assert!((0.93..=0.975).contains(&share), "{share}");
}

/// Equal points are called different in at most 6 % of sweeps, over all their lines together.
#[test]
fn equal_points_are_rarely_called_different() {
    let mut alarms = 0;
    for seed in 0..1000 {
        let plan = SweepPlan { seed: seed * 1000, ..plan(&["a=1,1.0,1.00"]) };
        let report = sweep(&plan, &Server::new(0.2));
        alarms += u32::from(report.points[1..].iter().any(|point| point.against_first[0].differs));
    }
    assert!((25..=60).contains(&alarms), "{alarms} of 1000");
}

fn claim(limit: f64) -> Claim {
    let setting = |value: &str| Setting { key: "a".to_owned(), value: value.to_owned() };
    Claim {
        says: "It grows.".to_owned(),
        metric: "p99".to_owned(),
        at: vec![setting("2")],
        against: Some(vec![setting("1")]),
        each: None,
        side: Side::Above,
        limit,
        was: Vec::new(),
    }
}

/// A p99 that is twice as long is claimed to be half as long again, or thrice as long, or just that; claims
/// that are open get twice as many blocks each time, for as many looks as there are, and no others do.
#[test]
fn claims_are_decided_by_more_blocks() {
    let asked = |limit, looks| SweepPlan { claims: vec![claim(limit)], looks, ..plan(&["a=1,2,4"]) };
    let holds = sweep(&asked(0.5, 4), &Server::new(0.02));
    assert_eq!((holds.claims[0].verdict, holds.claims[0].blocks, holds.runs.len()), (Verdict::Holds, 4, 12));
    let fails = sweep(&asked(2.0, 4), &Server::new(0.02));
    assert_eq!((fails.claims[0].verdict, fails.runs.len()), (Verdict::Fails, 12));
    let open = sweep(&asked(1.0, 3), &Server::new(0.1));
    // The third point is of no claim.
    assert_eq!(
        (open.claims[0].verdict, open.claims[0].blocks, open.runs.len()),
        (Verdict::Undecided, 16, 36)
    );
    // A true claim that four blocks do not show.
    let later = sweep(&asked(0.64, 5), &Server::new(0.15));
    assert_eq!(later.claims[0].verdict, Verdict::Holds);
    assert!(later.claims[0].blocks > 4, "{:?}", later.claims[0]);
}

/// Of 1,000 claims that are true at their very limits, looked at up to four times, at most 5 % are taken for
/// decided.
#[test]
fn looking_again_decides_no_more_claims_wrongly() {
    let decided = (0..1000).filter(|seed| {
        let plan = SweepPlan { claims: vec![claim(1.0)], looks: 4, seed: seed * 1000, ..plan(&["a=1,2"]) };
        sweep(&plan, &Server::new(0.2)).claims[0].verdict != Verdict::Undecided
    });
    let decided = decided.count();
    assert!((10..=50).contains(&decided), "{decided} of 1000");
}

/// Of 1,000 questions with five claims each, all true at their very limits, any is decided in at most 5 %
/// where claims are taken together, and more often where they are not.
#[test]
fn claims_are_wrong_together_no_more_often_than_one() {
    let of = |value: u32| {
        let at = vec![Setting { key: "a".to_owned(), value: value.to_string() }];
        Claim { at, ..claim(f64::from(value) - 1.0) }
    };
    let decided = |claims_together: bool| {
        let any = (0..1000).filter(|seed| {
            let claims: Vec<Claim> = (2..=6).map(of).collect();
            let own = plan(&["a=1,2,3,4,5,6"]);
            let plan = SweepPlan { claims, looks: 1, claims_together, seed: seed * 1000, ..own };
            let report = sweep(&plan, &Server::new(0.2));
            report.claims.iter().any(|claim| claim.verdict != Verdict::Undecided)
        });
        any.count()
    };
    // Four that are plain do not make the fifth one harder to decide than one alone.
    let plain = |value: u32| Claim { limit: 0.01, ..of(value) };
    let levels = |claims: Vec<Claim>| -> Vec<f64> {
        let plan = SweepPlan { claims, looks: 1, claims_together: true, ..plan(&["a=1,2,3,4,5,6"]) };
        sweep(&plan, &Server::new(0.02)).claims.iter().map(|claim| claim.level).collect()
    };
    let levels = levels((2..=5).map(plain).chain([of(6)]).collect());
    assert!(levels[..4].iter().all(|level| (level - 0.99).abs() < 1e-9), "{levels:?}");
    assert!((levels[4] - 0.95).abs() < 1e-9, "{levels:?}");
    let (together, apart) = (decided(true), decided(false));
    println!("together {together}, apart {apart}, of 1000");
    assert!((5..=50).contains(&together) && apart > 80, "{together} together, {apart} apart, of 1000");
}

/// A claim about each of several values holds if it does at all of them, fails if it does at one, and names
/// the value that decides; only values that are open get more runs. By no more than a limit is a claim of
/// its own.
#[test]
fn a_claim_about_each_value_is_decided_by_the_weakest() {
    let of = |values: &[&str], side: Side, limit: f64, noise: f64| {
        let each =
            EachValue { key: "a".to_owned(), values: values.iter().map(ToString::to_string).collect() };
        let own = Claim { at: Vec::new(), each: Some(each), side, ..claim(limit) };
        let plan = SweepPlan { claims: vec![own], looks: 3, ..plan(&["a=1,2,4"]) };
        let report = sweep(&plan, &Server::new(noise));
        let judged = &report.claims[0];
        let value = judged.decided_at.as_ref().map(|setting| setting.value.clone()).unwrap_or_default();
        (judged.verdict, value, report.runs.len())
    };
    let decided = |verdict: Verdict, value: &str, runs: usize| (verdict, value.to_owned(), runs);
    assert_eq!(of(&["2", "4"], Side::Above, 0.5, 0.02), decided(Verdict::Holds, "2", 12));
    assert_eq!(of(&["2", "4"], Side::Above, 2.0, 0.02), decided(Verdict::Fails, "2", 12));
    // At 4 it holds at once; 12 blocks more of 1 and 2.
    assert_eq!(of(&["2", "4"], Side::Above, 1.0, 0.1), decided(Verdict::Undecided, "2", 36));
    assert_eq!(of(&["1"], Side::Within, 0.1, 0.02), decided(Verdict::Holds, "1", 12));
    assert_eq!(of(&["1", "2"], Side::Within, 0.1, 0.02), decided(Verdict::Fails, "2", 12));
}

#[test]
fn a_sweep_of_one_point_is_repeats() {
    let report = sweep(&plan(&[]), &Server::new(0.1));
    assert_eq!((report.points.len(), report.runs.len(), report.effects.len()), (1, 4, 0));
    assert!(report.points[0].estimates[0].interval.is_some());
}

/// Runs of so many requests, of which none fails.
struct Faultless(u64);

impl PointRunner for Faultless {
    fn run(&self, run: &PlannedRun) -> Result<PointRun, Stop> {
        let mut came_to = Server::new(0.0).run(run)?;
        let (metric, scale) = ("errors".to_owned(), Scale::Difference);
        came_to.readings[0] =
            Reading { metric, scale, value: Some(0.0), unknown: None, need: None, requests: Some(self.0) };
        Ok(came_to)
    }
}

/// Five runs without an error show no share of errors that is below what may be among so few requests: the
/// upper end for 500 requests is 0.73 % (Poisson), and for 500,000 it is 0.00073 %. Runs are repeated until
/// there are requests enough.
#[test]
fn no_error_among_few_requests_shows_no_small_share() {
    let below =
        |limit, against| Claim { metric: "errors".to_owned(), side: Side::Below, against, ..claim(limit) };
    let judged = |requests: u64, repeats_max: u32| {
        let changed = below(0.001, claim(0.0).against);
        let plan = SweepPlan {
            claims: vec![below(0.001, None), changed],
            until: Some("errors ± 0.1%".parse().expect("a width")),
            repeats_max,
            ..plan(&["a=1,2"])
        };
        let report = sweep(&plan, &Faultless(requests));
        let verdicts: Vec<Verdict> = report.claims.iter().map(|claim| claim.verdict).collect();
        let estimate = &report.points[1].estimates[0];
        let high = estimate.interval.expect("an interval")[1];
        let by = report.points[1].against_first[0].interval;
        (verdicts, estimate.narrow, high, by, report.points[1].runs)
    };
    let (verdicts, narrow, high, by, _) = judged(100, 4);
    assert_eq!((verdicts, narrow), (vec![Verdict::Undecided; 2], Some(false)));
    assert!((0.007..0.008).contains(&high) && by[0] < -0.01 && by[1] > 0.01, "{high} {by:?}");
    let (verdicts, narrow, high, ..) = judged(100_000, 4);
    assert_eq!((verdicts, narrow), (vec![Verdict::Holds; 2], Some(true)));
    assert!((7e-6..8e-6).contains(&high), "{high}");
    let (_, narrow, high, _, runs) = judged(200, 100);
    assert!(narrow == Some(true) && (18..=20).contains(&runs), "{runs} runs, up to {high}");
}

/// Where the server coped in some runs of a point, their mean is one of those in which it did: nothing about
/// that point is decided, and everything about the others is.
#[test]
fn a_server_that_copes_at_times_decides_nothing() {
    let claims = vec![
        claim(0.5),
        Claim { at: vec![Setting { key: "a".to_owned(), value: "4".to_owned() }], ..claim(0.5) },
    ];
    let plan = SweepPlan { claims, ..plan(&["a=1,2,4"]) };
    let whole = sweep(&plan, &Server::new(0.0));
    let fails = whole.runs.iter().find(|run| run.point == 1).expect("a run").design.number;
    let report = sweep(&plan, &Server { overwhelmed: BTreeSet::from([fails]), ..Server::new(0.0) });
    let verdicts = |report: &SweepReport| report.claims.iter().map(|claim| claim.verdict).collect::<Vec<_>>();
    assert_eq!((verdicts(&whole), whole.is_decided()), (vec![Verdict::Holds; 2], true));
    assert_eq!((verdicts(&report), report.is_decided()), (vec![Verdict::Undecided, Verdict::Holds], false));
    let doubts = |point: usize| &report.points[point].estimates[0].doubts;
    assert_eq!((doubts(1).as_slice(), doubts(2).as_slice()), ([Doubt::Survivors].as_slice(), [].as_slice()));
}
