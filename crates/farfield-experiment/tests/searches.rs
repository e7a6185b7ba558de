//! Searches against servers whose capacity is known by a formula, in no time: thousands of seeds, noise, and
//! trials that are invalid.

use farfield_base::Duration;
use farfield_base::random::{Purpose, Seed, Stream};
use farfield_experiment::peak::peak;
use farfield_experiment::report::{Ended, Method};
use farfield_experiment::{Answer, CapacityReport, GoalReading, Observed, Runner, SearchPlan};
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
        Model { law, throughput, goodput, noise, disturbed, full_from, random, made, interrupted_at }
    }

    fn uniform(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
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
        let validity = match (trial.load >= self.full_from, self.uniform() < self.disturbed) {
            (true, _) => Validity::Invalid { cause: "worker-cpu".to_owned(), is_full: true },
            (_, true) => Validity::Invalid { cause: "host-steal".to_owned(), is_full: false },
            _ => Validity::Valid,
        };
        let (p99_s, errors) = (self.law)(trial.load);
        let shorter = if trial.length < FULL { 2.0 } else { 1.0 };
        // The measurements of an invalid trial must not count.
        let spoilt = if validity == Validity::Valid { 1.0 } else { 1000.0 };
        let p99_s = p99_s * (self.noise * shorter * self.normal()).exp() * spoilt;
        let reading = |goal: &str, measured: f64, limit: f64| GoalReading {
            goal: goal.to_owned(),
            measured: Some(measured),
            margin: if measured > 0.0 { (limit / measured).min(4.0) } else { 4.0 },
            kept: measured < limit,
        };
        let noise = 1.0 + 0.01 * self.normal();
        Ok(Observed {
            validity,
            offered_per_s: trial.load,
            achieved_per_s: (self.throughput)(trial.load) * noise,
            body_bytes_per_s: (self.goodput)(trial.load) * noise,
            p99_ns: Some(p99_s * 1e9),
            error_share: Some(errors),
            goals: vec![reading("p99<50ms", p99_s, LIMIT_S), reading("errors<0.1%", errors, 0.001)],
            gave_out: None,
            warm_up_ns: 0,
            settled_ns: None,
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

/// M/M/1 itself, customer by customer (Lindley 1952): trials that vary as those of a queue do.
struct Queue {
    random: Stream,
}

impl Queue {
    fn exponential(&mut self, mean: f64) -> f64 {
        let uniform = ((self.random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        -mean * uniform.ln()
    }
}

impl Runner for Queue {
    fn run(&mut self, trial: &Trial) -> Result<Observed, Stop> {
        let length_s = trial.length.as_secs_f64();
        let (warm_up, all) =
            ((trial.load * length_s / 4.0) as usize, (trial.load * length_s * 1.25) as usize);
        let (mut wait_s, mut times) = (0.0_f64, Vec::with_capacity(all));
        for _ in 0..all {
            let served_s = wait_s + self.exponential(1.0 / MU);
            times.push(served_s);
            wait_s = (served_s - self.exponential(1.0 / trial.load)).max(0.0);
        }
        let times = &mut times[warm_up..];
        times.sort_by(f64::total_cmp);
        let p99_s = times[times.len() * 99 / 100];
        let margin = (LIMIT_S / p99_s).min(4.0);
        let (goal, kept) = ("p99<50ms".to_owned(), p99_s < LIMIT_S);
        Ok(Observed {
            validity: Validity::Valid,
            offered_per_s: trial.load,
            achieved_per_s: trial.load.min(MU),
            body_bytes_per_s: 0.0,
            p99_ns: Some(p99_s * 1e9),
            error_share: Some(0.0),
            goals: vec![GoalReading { goal, measured: Some(p99_s * 1e9), margin, kept }],
            gave_out: None,
            warm_up_ns: 0,
            settled_ns: None,
            directory: PathBuf::new(),
            took_s: 0.3,
        })
    }
}

/// A processor that serves all who are there, each at an equal share of its speed; service takes
/// exponential times.
struct Shared {
    random: Stream,
    limit_s: f64,
}

impl Shared {
    fn exponential(&mut self, mean: f64) -> f64 {
        let uniform = ((self.random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        -mean * uniform.ln()
    }

    /// The mean response time of those who come within `length_s` behind a quarter of it. Who is there is
    /// ordered by the service that all have had since the beginning when he leaves.
    fn mean_s(&mut self, load: f64, length_s: f64) -> f64 {
        let (begin_s, end_s) = (length_s / 4.0, length_s * 1.25);
        let mut there: std::collections::BTreeMap<u64, f64> = std::collections::BTreeMap::new();
        let (mut now_s, mut had, mut sum_s, mut count) = (0.0, 0.0_f64, 0.0, 0_u32);
        let mut next_s = self.exponential(1.0 / load);
        while now_s < end_s || !there.is_empty() {
            let leaves = there.first_key_value().map(|(bits, _)| f64::from_bits(*bits));
            let left_s = leaves.map_or(f64::INFINITY, |at| now_s + (at - had) * there.len() as f64);
            if left_s <= next_s {
                (had, now_s) = (leaves.expect("somebody is there"), left_s);
                let (_, came_s) = there.pop_first().expect("somebody is there");
                if (begin_s..end_s).contains(&came_s) {
                    (sum_s, count) = (sum_s + now_s - came_s, count + 1);
                }
                continue;
            }
            if !there.is_empty() {
                had += (next_s - now_s) / there.len() as f64;
            }
            now_s = next_s;
            next_s = if now_s < end_s { now_s + self.exponential(1.0 / load) } else { f64::INFINITY };
            there.insert((had + self.exponential(1.0 / MU)).to_bits(), now_s);
            // Past its capacity it never empties: what is there is as slow as the rest.
            if there.len() > 20_000 {
                return 1.0;
            }
        }
        sum_s / f64::from(count.max(1))
    }
}

impl Runner for Shared {
    fn run(&mut self, trial: &Trial) -> Result<Observed, Stop> {
        let mean_s = self.mean_s(trial.load, trial.length.as_secs_f64());
        let margin = (self.limit_s / mean_s).min(4.0);
        let (goal, kept) = ("mean<20ms".to_owned(), mean_s < self.limit_s);
        Ok(Observed {
            validity: Validity::Valid,
            offered_per_s: trial.load,
            achieved_per_s: trial.load.min(MU),
            body_bytes_per_s: 0.0,
            p99_ns: None,
            error_share: Some(0.0),
            goals: vec![GoalReading { goal, measured: Some(mean_s * 1e9), margin, kept }],
            gave_out: None,
            warm_up_ns: 0,
            settled_ns: None,
            directory: PathBuf::new(),
            took_s: 0.3,
        })
    }
}

/// Searches before the queue itself, of at most 200 trials of 20 s each. Of forty seeds 38 ended within
/// 2 % of the capacity, on average 0.8 % above it; two take as long as a test may.
#[test]
fn the_capacity_of_a_queue_is_found() {
    const SEEDS: u64 = 2;
    let (mut covered, mut near, mut off) = (0, 0, 0.0);
    for seed in 0..SEEDS {
        let plan =
            SearchPlan { length: Duration::from_secs(20), budget: Duration::from_secs(60), ..plan(seed) };
        let mut queue = Queue { random: Seed(seed).stream(Purpose::Server, 1) };
        let (value, low, high, _) = found(&search(&plan, &mut queue));
        covered += u64::from(low <= mm1_capacity() && mm1_capacity() <= high);
        near += u64::from((value / mm1_capacity() - 1.0).abs() <= 0.02);
        off += (value / mm1_capacity() - 1.0) / SEEDS as f64;
    }
    println!("queue: {covered} covered, {near} near, of {SEEDS}; on average off by {:.2} %", off * 100.0);
    assert_eq!(near, SEEDS);
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
        precision: 0.01,
        budget: Duration::from_secs(600),
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

/// Processor sharing (M/G/1-PS): the mean response time is s/(1 − ρ), whatever the distribution of service
/// times. The load at which a mean of 20 ms is kept is found, customer by customer: in 20 of 20 searches,
/// of which one takes as long as a test may.
#[test]
fn the_capacity_of_a_shared_processor_is_found() {
    const LIMIT: f64 = 0.02;
    const SEEDS: u64 = 1;
    let capacity = MU - 1.0 / LIMIT;
    let mut covered = 0;
    for seed in 0..SEEDS {
        let plan = SearchPlan {
            goals: vec!["mean<20ms".to_owned()],
            length: Duration::from_secs(120),
            budget: Duration::from_secs(60),
            ..plan(seed)
        };
        let mut server = Shared { random: Seed(seed).stream(Purpose::Server, 2), limit_s: LIMIT };
        let (value, low, high, _) = found(&search(&plan, &mut server));
        assert!((value / capacity - 1.0).abs() <= 0.02, "seed {seed}: {value} is not {capacity}");
        covered += u32::from(low <= capacity && capacity <= high);
    }
    println!("processor sharing: {covered} of {SEEDS} intervals contain the capacity");
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
    let (value, low, high, _) = found(&search(&plan, &mut Model::new(law, 1)));
    assert_eq!((value, low, high), (7.0, 7.0, 8.0));
}

/// The loads that a search for a peak from 100/s on can select near 1000/s, and the maximum among them.
fn highest(of: fn(f64) -> f64) -> f64 {
    let from_100 = (0..40).map(|step| 100.0 * 2.0_f64.powf(f64::from(step) / 2.0));
    from_100.map(of).fold(0.0, f64::max)
}

/// Curves of other shapes have their maximum at one load, on a plateau, and at another load in bytes than in
/// replies. The interval contains the maximum over the loads of the search in 93 % of 1,000 searches at
/// least, and the answer lies within 2 % of it.
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
        assert!(share(near) >= 0.98, "{name}: {}", share(near));
    }
}
