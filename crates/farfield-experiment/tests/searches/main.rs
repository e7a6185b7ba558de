//! Searches against servers whose capacity is known by a formula, in no time: thousands of seeds, noise, and
//! trials that are invalid.

mod queues;

use farfield_base::Duration;
use farfield_base::random::{Purpose, Seed, Stream};
use farfield_experiment::peak::peak;
use farfield_experiment::report::{Ended, Method};
use farfield_experiment::{Answer, CapacityReport, GoalReading, Needs, Observed, Runner, SearchPlan};
use farfield_experiment::{Stop, Throughput, Trial, Validity, search};
use rand_core::Rng;
use std::path::PathBuf;

/// A limit of the p99, in seconds.
const LIMIT_S: f64 = 0.05;
/// Replies that one server of the model gives a second.
const MU: f64 = 1000.0;

/// A server, as a formula, behind trials that vary.
struct Model {
    /// The p99 in seconds and the share of errors, by load.
    law: fn(f64) -> (f64, f64),
    /// Successful replies a second, by load.
    throughput: fn(f64) -> f64,
    /// Bytes of bodies a second, by load.
    goodput: fn(f64) -> f64,
    /// The standard deviation of the logarithm of a full trial's p99; a short one's is twice that.
    noise: f64,
    /// The share of trials that something disturbs.
    disturbed: f64,
    /// The load from which the generator has no more to give.
    full_from: f64,
    random: Stream,
    made: u32,
    /// The trial before which it is interrupted.
    interrupted_at: u32,
    /// Requests without which a trial says nothing.
    needed: u64,
    /// Growth of response times from half to half.
    halves_ratio: Option<f64>,
    /// Replies are counted one by one, and come independently.
    whole_replies: bool,
    /// The share of times that may be beyond the first goal's limit, where that is of a percentile.
    allowed_share: Option<f64>,
}

/// Throughput of a server, by the load.
type Curve = fn(f64) -> f64;

impl Model {
    fn new(law: fn(f64) -> (f64, f64), seed: u64) -> Model {
        let random = Seed(seed).stream(Purpose::Server, 0);
        let (noise, disturbed, full_from) = (0.0, 0.0, f64::INFINITY);
        let throughput: Curve = thrashing;
        let goodput: Curve = |load| 1e4 * thrashing(load);
        let (made, interrupted_at) = (0, u32::MAX);
        let (needed, halves_ratio, whole_replies) = (0, None, false);
        Model {
            law,
            throughput,
            goodput,
            noise,
            disturbed,
            full_from,
            random,
            made,
            interrupted_at,
            needed,
            halves_ratio,
            whole_replies,
            allowed_share: None,
        }
    }

    fn uniform(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Successful replies a second, in whole replies of a trial where these are counted.
    fn achieved(&mut self, trial: &Trial) -> f64 {
        let per_s = (self.throughput)(trial.load);
        let (mean, length_s) = (per_s * trial.length.as_secs_f64(), trial.length.as_secs_f64());
        if !self.whole_replies {
            return per_s;
        }
        (mean + mean.sqrt() * self.normal()).round().max(0.0) / length_s
    }

    /// A normal number, as the sum of twelve uniform ones.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

impl Runner for Model {
    fn run(&mut self, trial: &Trial) -> Result<Observed, Stop> {
        self.made += 1;
        if self.made >= self.interrupted_at {
            return Err(Stop::Interrupted);
        }
        let too_short = format!("{} requests were due", requests(trial));
        let validity = match (trial.load >= self.full_from, self.uniform() < self.disturbed) {
            _ if requests(trial) < self.needed => Validity::TooShort { cause: too_short },
            (true, _) => Validity::Invalid { cause: "worker-cpu".to_owned(), is_full: true },
            (_, true) => Validity::Invalid { cause: "host-steal".to_owned(), is_full: false },
            _ => Validity::Valid,
        };
        let (p99_s, errors) = (self.law)(trial.load);
        let shorter = if trial.length < FULL { 2.0 } else { 1.0 };
        // The measurements of an invalid trial must not count.
        let spoilt = if validity == Validity::Valid { 1.0 } else { 1000.0 };
        let p99_s = p99_s * (self.noise * shorter * self.normal()).exp() * spoilt;
        let reading = |goal: &str, measured: f64, limit: f64, allowed_share| GoalReading {
            goal: goal.to_owned(),
            measured: Some(measured),
            margin: if measured > 0.0 { (limit / measured).min(4.0) } else { 4.0 },
            kept: measured < limit,
            beyond_share: None,
            allowed_share,
            requests_needed: 1,
            ..GoalReading::default()
        };
        let noise = 1.0 + 0.01 * self.normal();
        Ok(Observed {
            validity,
            offered_per_s: trial.load,
            requests: requests(trial),
            achieved_per_s: self.achieved(trial) * noise,
            body_bytes_per_s: (self.goodput)(trial.load) * noise,
            median_ns: None,
            p99_ns: Some(p99_s * 1e9),
            error_share: Some(errors),
            goals: vec![
                reading("p99<50ms", p99_s, LIMIT_S, self.allowed_share),
                reading("errors<0.1%", errors, 0.001, None),
            ],
            backlog_share: 0.0,
            gave_out: None,
            warm_up_ns: 0,
            settled_ns: None,
            end_ns: 0,
            halves_ratio: self.halves_ratio,
            directory: PathBuf::from(format!("{:04}", trial.design.number)),
            took_s: trial.length.as_secs_f64() * 1.25 + 0.3,
        })
    }
}

/// A server that loses a twentieth of what is offered beyond its capacity.
fn thrashing(load: f64) -> f64 {
    load.min(MU) - 0.05 * (load - MU).max(0.0)
}

/// M/M/1: times in the system are exponential with the rate μ − λ. Past μ the queue grows.
fn mm1(load: f64) -> (f64, f64) {
    let p99_s = if load < MU { 100_f64.ln() / (MU - load) } else { f64::INFINITY };
    (p99_s.min(10.0), 0.0)
}

/// The load at which the p99 of M/M/1 is the limit: 907.9/s.
fn mm1_capacity() -> f64 {
    MU - 100_f64.ln() / LIMIT_S
}

/// A server that is fast up to 800/s and refuses what is above that.
fn shedding(load: f64) -> (f64, f64) {
    (0.001, (1.0 - 800.0 / load).max(0.0))
}

const FULL: Duration = Duration::from_secs(4);

/// Requests that are due in a trial.
fn requests(trial: &Trial) -> u64 {
    (trial.load * trial.length.as_secs_f64()) as u64
}

fn plan(seed: u64) -> SearchPlan {
    SearchPlan {
        experiment: "capacity".to_owned(),
        goals: vec!["p99<50ms".to_owned(), "errors<0.1%".to_owned()],
        peak_of: Throughput::Requests,
        key: "load.arrivals".to_owned(),
        unit: "requests/s".to_owned(),
        whole: false,
        from: 100.0,
        to: None,
        generator: None,
        length: FULL,
        needs: Needs::default(),
        precision: 0.01,
        budget: Duration::from_secs(600),
        first_budget: None,
        seed,
    }
}

fn found(report: &CapacityReport) -> (f64, f64, f64, Method) {
    match report.answer {
        Answer::Found { value, low, high, method, .. } => (value, low, high, method),
        ref other => panic!("{other:?} of {:?} after {} trials", report.ended, report.trials.len()),
    }
}

/// Without noise the capacity of M/M/1 is found to a hundredth.
#[test]
fn a_known_capacity_is_found() {
    let report = search(&plan(1), &mut Model::new(mm1, 1));
    let (value, low, high, method) = found(&report);
    assert_eq!((report.ended.clone(), method), (Ended::Done, Method::Regression));
    assert!((value / mm1_capacity() - 1.0).abs() < 0.002, "{value} is not {}", mm1_capacity());
    assert!(low <= value && value <= high, "{low} to {high}");
    assert_eq!(report.trials.iter().map(|trial| trial.design.number).max(), Some(report.trials.len() as u32));
}

/// Errors jump from none to many: halving ends within a hundredth.
#[test]
fn a_jump_is_bounded() {
    let report = search(&plan(1), &mut Model::new(shedding, 1));
    let (value, low, high, method) = found(&report);
    assert!(report.trials.len() < 40, "{} trials", report.trials.len());
    assert_eq!(method, Method::Bounds);
    assert!(low <= 800.8 && 800.0 <= high && high / low < 1.011, "{low} to {high}");
    assert!((value / 800.0 - 1.0).abs() < 0.01);
    let goals: Vec<_> = report.goal_bounds.iter().map(|goal| goal.upper.is_some()).collect();
    assert_eq!(goals, [false, true], "errors alone bound it");
}

/// With noise of a tenth and one trial in twenty disturbed, at least 98 % of 2,000 searches end within 2 % of
/// the true capacity, and 93 to 97 % of the intervals contain it.
#[test]
fn intervals_cover() {
    const SEEDS: u64 = 2_000;
    let (mut covered, mut near) = (0, 0);
    for seed in 0..SEEDS {
        let mut model = Model { noise: 0.1, disturbed: 0.05, ..Model::new(mm1, seed) };
        let report = search(&plan(seed), &mut model);
        let (value, low, high, _) = found(&report);
        covered += u64::from(low <= mm1_capacity() && mm1_capacity() <= high);
        near += u64::from((value / mm1_capacity() - 1.0).abs() <= 0.02);
    }
    let share = |count: u64| count as f64 / SEEDS as f64;
    println!("covered {:.4}, within 2 % {:.4}", share(covered), share(near));
    assert!((0.93..=0.97).contains(&share(covered)), "{}", share(covered));
    assert!(share(near) >= 0.98, "{}", share(near));
}

/// Users of a closed load who do not think, before a server that serves one after the other: N of them wait
/// N service times. The load is whole and the crossing is not: 93 to 97 % of 1,000 intervals contain it.
#[test]
fn intervals_cover_for_users() {
    const SEEDS: u64 = 1_000;
    let waiting = |users: f64| (users / MU, 0.0);
    let (capacity, budget) = (LIMIT_S * MU, Duration::from_secs(1_800));
    let (mut covered, mut near) = (0, 0);
    for seed in 0..SEEDS {
        let plan = SearchPlan { whole: true, from: 4.0, key: "load.users".to_owned(), budget, ..plan(seed) };
        let mut model = Model { noise: 0.1, disturbed: 0.05, ..Model::new(waiting, seed) };
        let (value, low, high, _) = found(&search(&plan, &mut model));
        covered += u64::from(low <= capacity && capacity <= high);
        near += u64::from((value / capacity - 1.0).abs() <= 0.02);
    }
    let share = |count: u64| count as f64 / SEEDS as f64;
    println!("users: covered {:.4}, within 2 % {:.4}", share(covered), share(near));
    assert!((0.93..=0.97).contains(&share(covered)), "{}", share(covered));
    assert!(share(near) >= 0.98, "{}", share(near));
}

/// Where the generator is full before the server, no number is made up.
#[test]
fn a_full_generator_is_no_capacity() {
    let mut model = Model { full_from: 500.0, ..Model::new(mm1, 1) };
    let report = search(&plan(1), &mut model);
    let Answer::AtLeast { value, generator_full, ref because } = report.answer else {
        panic!("{:?}", report.answer)
    };
    assert!((490.0..500.0).contains(&value) && generator_full, "{value} {because}");
    assert!(because.contains("worker-cpu"), "{because}");
}

/// A machine on which nothing is valid ends the search at its first load.
#[test]
fn a_disturbed_machine_ends_the_search() {
    for search in [search, peak] {
        let report = search(&plan(1), &mut Model { disturbed: 1.0, ..Model::new(mm1, 1) });
        assert_eq!((report.trials.len(), report.ended), (5, Ended::Disturbed("host-steal".to_owned())));
        let Answer::Undecided { because, .. } = &report.answer else { panic!("{:?}", report.answer) };
        assert!(because.contains("no run was valid (host-steal)"), "{because}");
    }
}

#[test]
fn a_server_that_keeps_nothing_is_said_to() {
    let report = search(&plan(1), &mut Model::new(|_| (9.0, 0.5), 1));
    assert!(matches!(report.answer, Answer::LessThan { value } if value < 1.0), "{:?}", report.answer);
}

#[test]
fn the_highest_load_to_offer_is_kept() {
    let report = search(&SearchPlan { to: Some(300.0), ..plan(1) }, &mut Model::new(mm1, 1));
    assert!(report.trials.iter().all(|trial| trial.load <= 300.0));
    assert!(
        matches!(report.answer, Answer::AtLeast { value, generator_full: false, .. } if value == 300.0),
        "{:?}",
        report.answer
    );
}

/// The load that the generator can offer is not exceeded, and an answer there says nothing of the server.
#[test]
fn what_the_generator_can_offer_is_a_ceiling() {
    let asked = SearchPlan { generator: Some(300.0), to: Some(500.0), ..plan(1) };
    for search in [search, peak] {
        let report = search(&asked, &mut Model::new(mm1, 1));
        assert!(report.trials.iter().all(|trial| trial.load <= 300.0));
        let Answer::AtLeast { because, generator_full: true, .. } = &report.answer else {
            panic!("{:?}", report.answer)
        };
        assert_eq!(because, "the generator was full (--generator-limit 300)");
    }
    let below = search(&SearchPlan { generator: Some(5000.0), ..plan(1) }, &mut Model::new(mm1, 1));
    assert!(matches!(below.answer, Answer::Found { .. }), "{:?}", below.answer);
}

/// Trials that are too short for their goals are no evidence: of a server that keeps a p99 of 50 ms up to
/// 3/s, no trial of 2 s says so, and of M/M/1 trials of 300 ms say only that its capacity is no higher.
#[test]
fn trials_too_short_to_judge_are_no_bound() {
    let needs =
        |length| Needs { requests: 100, limit: Duration::from_ms(50), timed: vec![0], length_max: length };
    let of = |length: Duration, law, from| {
        let plan = SearchPlan { length, needs: needs(length), from, ..plan(1) };
        search(&plan, &mut Model { needed: 100, ..Model::new(law, 1) })
    };
    let slow = of(Duration::from_secs(2), |load| (if load > 3.0 { 9.0 } else { 0.01 }, 0.0), 200.0);
    let Answer::Undecided { low: None, high: Some(high), because } = &slow.answer else {
        panic!("{:?}", slow.answer)
    };
    assert!((50.0..=100.0).contains(high) && because.contains("too short with"), "{high} {because}");
    assert!(slow.trials.iter().all(|trial| trial.counts() || trial.observed.requests < 100));
    let few = of(Duration::from_ms(300), mm1, 1.0);
    let Answer::Undecided { low: None, high: Some(high), because } = &few.answer else {
        panic!("{:?}", few.answer)
    };
    assert!(*high > 0.99 * mm1_capacity() && because.contains("--duration 1s"), "{high} {because}");
    // Twenty times as long as the limit, it is an estimate, which may be a tenth too high.
    let enough = of(Duration::from_secs(1), mm1, 1.0);
    assert_eq!((found(&enough).3, enough.overstated_by), (Method::Regression, Some(0.1)));
    let (length, budget) = (Duration::from_secs(60), Duration::from_secs(36_000));
    let plan = SearchPlan { length, needs: needs(length), budget, ..plan(1) };
    assert_eq!(search(&plan, &mut Model::new(mm1, 1)).overstated_by, None);
}

/// Where nobody says how long trials are, they become as long as their percentile asks.
#[test]
fn trials_become_as_long_as_their_requests_need() {
    let law = |load: f64| (if load > 3.0 { 9.0 } else { 0.01 }, 0.0);
    let needs = Needs { requests: 100, length_max: Duration::from_secs(50), ..Needs::default() };
    let mut model = Model { needed: 100, ..Model::new(law, 1) };
    let plan = SearchPlan { needs, from: 8.0, budget: Duration::from_secs(36_000), ..plan(1) };
    let report = search(&plan, &mut model);
    let (_, low, high, _) = found(&report);
    assert!(low <= 3.0 && 3.0 <= high * 1.001, "{low} to {high}");
    let lengths: Vec<f64> = report.trials.iter().map(|trial| trial.length().as_secs_f64()).collect();
    assert!(lengths.iter().all(|length| *length <= 50.0) && lengths.iter().any(|length| *length > 30.0));
}

/// Response times that grow within trials at loads that are said to be kept leave an upper bound.
#[test]
fn what_grows_within_trials_is_no_capacity() {
    let mut growing = Model { halves_ratio: Some(1.5), noise: 0.1, ..Model::new(mm1, 1) };
    let report = search(&plan(1), &mut growing);
    let Answer::Undecided { low: None, high: Some(_), because } = &report.answer else {
        panic!("{:?}", report.answer)
    };
    assert!(because.contains("grow by 50 % within trials of 4s"), "{because}");
}

/// A few replies in a short trial do not look like a plateau: the peak is that of the server.
#[test]
fn a_peak_is_not_found_among_a_few_replies() {
    for seed in 0..20 {
        let plan = SearchPlan { length: Duration::from_ms(300), from: 1.0, goals: Vec::new(), ..plan(seed) };
        let report = peak(&plan, &mut Model { whole_replies: true, ..Model::new(mm1, seed) });
        let (value, ..) = found(&report);
        assert!((value / MU - 1.0).abs() < 0.1, "seed {seed}: {value}");
    }
}

/// The time is kept to, and what is known by then is said.
#[test]
fn a_budget_is_kept() {
    for budget_s in [3, 10, 20, 40, 60] {
        let plan = SearchPlan { budget: Duration::from_secs(budget_s), ..plan(1) };
        let mut model = Model { noise: 0.3, ..Model::new(mm1, 1) };
        let report = search(&plan, &mut model);
        assert_eq!(report.ended, Ended::BudgetOver, "{budget_s}");
        assert!(report.spent_s <= budget_s as f64 + 1e-9, "{} of {budget_s}", report.spent_s);
    }
}

/// A search that was interrupted makes the same trials again, and so can read them back.
#[test]
fn a_search_goes_on_where_it_was() {
    let whole = search(&plan(7), &mut Model { noise: 0.1, ..Model::new(mm1, 7) });
    let mut model = Model { noise: 0.1, interrupted_at: 9, ..Model::new(mm1, 7) };
    let broken = search(&plan(7), &mut model);
    assert_eq!((broken.ended.clone(), broken.trials.len()), (Ended::Interrupted, 8));
    assert_eq!(broken.trials[..], whole.trials[..8]);
    let Answer::Undecided { because, .. } = &broken.answer else { panic!("{:?}", broken.answer) };
    assert_eq!(because, "it was interrupted");
}

/// Users are whole, and so is their capacity.
#[test]
fn users_are_whole() {
    let plan = SearchPlan { whole: true, from: 1.0, key: "load.users".to_owned(), ..plan(1) };
    let law = |users: f64| (if users <= 7.0 { 0.01 } else { 0.5 }, 0.0);
    let report = search(&plan, &mut Model::new(law, 1));
    let (value, low, high, _) = found(&report);
    assert_eq!((value, low, high, report.few_beyond), (7.0, 7.0, 8.0, None));
    // Of the 28 requests of a trial with seven users not one may be beyond the limit.
    let report = search(&plan, &mut Model { allowed_share: Some(0.01), ..Model::new(law, 1) });
    let (value, low, high, _) = found(&report);
    assert_eq!((value, low, high), (7.0, 7.0, 8.0));
    assert!(
        report.few_beyond.is_some_and(|allowed| (allowed - 0.28).abs() < 1e-9),
        "{:?}",
        report.few_beyond
    );
}

/// The maximum of a curve, whichever loads a search tries.
fn highest(of: fn(f64) -> f64) -> f64 {
    (100..4000).map(|load| of(f64::from(load))).fold(0.0, f64::max)
}

/// Curves of other shapes have their maximum at one load, on a plateau, and at another load in bytes than in
/// replies. The interval contains the maximum over all loads in 93 % of 1,000 searches at least, and the
/// answer lies within 2 % of it.
#[test]
fn a_peak_is_found_with_its_selection_allowed_for() {
    const SEEDS: u64 = 1_000;
    // Large replies are dropped first: bytes have their maximum before replies have.
    let shrinking = |load: f64| 1e4 * thrashing(load) * (400.0 / load.max(400.0));
    let curves: [(&str, Curve, Throughput); 4] = [
        ("thrashing", thrashing, Throughput::Requests),
        ("a plateau", |load| load.min(MU), Throughput::Requests),
        ("a steep fall", |load| load.min(MU) - 0.5 * (load - MU).clamp(0.0, MU), Throughput::Requests),
        ("bytes", shrinking, Throughput::Bytes),
    ];
    for (name, of, peak_of) in curves {
        let (mut covered, mut near, mut trials) = (0, 0, 0);
        for seed in 0..SEEDS {
            let plan = SearchPlan { precision: 0.005, goals: Vec::new(), peak_of, ..plan(seed) };
            let mut model = Model { throughput: of, goodput: of, ..Model::new(mm1, seed) };
            let report = peak(&plan, &mut model);
            let Answer::Found { value, low, high, .. } = report.answer else { panic!("{:?}", report.answer) };
            covered += u64::from(low <= highest(of) && highest(of) <= high);
            near += u64::from((value / highest(of) - 1.0).abs() <= 0.02);
            trials += report.trials.len();
        }
        let share = |count: u64| count as f64 / SEEDS as f64;
        let each = trials as f64 / SEEDS as f64;
        println!("{name}: covered {:.4}, within 2 % {:.4}, {each:.1} trials", share(covered), share(near));
        assert!(share(covered) >= 0.93, "{name}: {}", share(covered));
        assert!(share(near) >= 0.97, "{name}: {}", share(near));
    }
}

/// A peak at the last load that may be offered is none: with more, throughput may grow on. Below that load
/// the peak of a server that declines beyond 850/s is found though it is near.
#[test]
fn a_peak_at_the_edge_is_no_peak() {
    let declining: Curve = |load| load.min(850.0) - 0.5 * (load - 850.0).max(0.0);
    let at = |to: f64, of: Curve| {
        let plan = SearchPlan { precision: 0.005, goals: Vec::new(), to: Some(to), ..plan(1) };
        peak(&plan, &mut Model { throughput: of, goodput: of, ..Model::new(mm1, 1) })
    };
    let (value, low, high, _) = found(&at(1000.0, declining));
    assert!(value > 830.0 && low <= 850.0 && 850.0 <= high, "{value} ({low} to {high})");
    // One that answers nothing any more beyond 1,000/s is no edge: loads between are tried.
    let (value, low, high, _) = found(&at(8000.0, |load| if load <= 1000.0 { load } else { 0.0 }));
    assert!(value > 970.0 && low <= 1000.0 && 1000.0 <= high, "{value} ({low} to {high})");
    let rising = at(700.0, declining);
    let Answer::AtLeast { value, because, generator_full: false } = &rising.answer else {
        panic!("{:?}", rising.answer)
    };
    assert!((680.0..=700.0).contains(value) && because.contains("--to"), "{value} {because}");
}

/// A peak whose time was over is gone on with by the same trials, and then more.
#[test]
fn a_peak_goes_on_with_more_time() {
    let budget = Duration::from_secs(60);
    let asked = SearchPlan { precision: 0.001, goals: Vec::new(), budget, ..plan(3) };
    let first = peak(&asked, &mut Model::new(mm1, 3));
    assert_eq!(first.ended, Ended::BudgetOver);
    let more = SearchPlan {
        budget: Duration::from_secs(240),
        first_budget: Some(Duration::from_ns(first.first_budget_ns)),
        ..asked
    };
    let more = peak(&more, &mut Model::new(mm1, 3));
    assert!(more.trials.len() > first.trials.len());
    assert_eq!(more.trials[..first.trials.len()], first.trials[..]);
}
