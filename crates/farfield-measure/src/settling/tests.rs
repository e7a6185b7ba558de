//! Planted beginnings and ends are found, within stated errors.

use super::*;
use farfield_base::random::{Purpose, Seed, Stream};
use rand_core::Rng;

const LOAD_NS: u64 = 20_000_000_000;

fn uniform(stream: &mut Stream) -> f64 {
    ((stream.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

fn exponential(stream: &mut Stream, mean: f64) -> f64 {
    -mean * uniform(stream).ln()
}

fn window(from_ns: u64) -> Window {
    Window { measure_from: Instant::from_ns(from_ns), measure_to: Instant::from_ns(LOAD_NS) }
}

/// 4,000 requests of a load of 20 s, whose exponential response times have the mean that `mean_ms` has at
/// that part of the load.
fn planted(seed: u64, mean_ms: impl Fn(f64) -> f64) -> SettlingSummary {
    let mut stream = Seed(seed).stream(Purpose::User, 1);
    let mut settling = Settling::default();
    for number in 0..4000 {
        let part = f64::from(number) / 4000.0;
        let took_ms = exponential(&mut stream, mean_ms(part));
        let due = Instant::from_ns((part * LOAD_NS as f64) as u64);
        settling.add(due, Duration::from_ns((took_ms * 1e6) as u64));
    }
    settling.summary(window(0), Instant::MAX).expect("enough requests")
}

/// The errors of the beginning and of the end that 90 % of 200 seeds are within, as parts of the load.
fn errors(mean_ms: impl Fn(f64) -> f64, begin: f64, end: f64) -> [f64; 2] {
    let mut off: Vec<[f64; 2]> = (0..200)
        .map(|seed| {
            let found = planted(seed, &mean_ms);
            let part = |ns: u64| ns as f64 / LOAD_NS as f64;
            [part(found.settled_ns.unwrap_or(LOAD_NS)) - begin, part(found.end_ns) - end]
        })
        .collect();
    std::array::from_fn(|which| {
        off.sort_by(|one, other| one[which].abs().total_cmp(&other[which].abs()));
        off[180][which].abs()
    })
}

#[test]
fn a_cold_start_is_found() {
    let [begin, _] = errors(|part| if part < 0.2 { 40.0 } else { 10.0 }, 0.2, 0.0);
    assert!(begin < 0.035, "{begin}");
}

/// Response times approach their mean exponentially, by 98 % at a fifth of the load.
#[test]
fn a_queue_that_fills_is_found() {
    let [begin, _] = errors(|part| 10.0 * (1.0 - (-20.0 * part).exp()), 0.12, 0.0);
    assert!(begin < 0.09, "{begin}");
}

#[test]
fn an_end_that_drains_is_found() {
    let mean = |part: f64| if part > 0.85 { 10.0 * (1.0 - part) / 0.15 * 0.5 } else { 10.0 };
    let [_, end] = errors(mean, 0.0, 0.15);
    assert!(end < 0.03, "{end}");
    let [begin, end] = errors(
        |part| match part {
            part if part < 0.2 => 40.0,
            part if part > 0.9 => 1.0,
            _ => 10.0,
        },
        0.2,
        0.1,
    );
    assert!(begin < 0.03 && end < 0.03, "{begin} {end}");
}

/// Times that grow to the end of the load differ between its halves.
#[test]
fn what_grows_has_halves_that_differ() {
    let found = planted(1, |part| 1.0 + 100.0 * part);
    let ratio = found.halves_ratio().expect("both halves");
    assert!((2.5..3.3).contains(&ratio), "{ratio}");
}

#[test]
fn what_is_alike_is_kept_and_too_little_says_nothing() {
    let mut settling = Settling::default();
    for number in 0..1000 {
        settling.add(Instant::from_ns(number * LOAD_NS / 1000), Duration::from_ms(7));
    }
    let found = settling.summary(window(LOAD_NS / 2), Instant::MAX).expect("enough requests");
    assert_eq!((found.settled_ns, found.end_ns), (Some(0), 0));
    assert_eq!(found.halves_ratio(), Some(1.0));
    let mut settling = Settling::default();
    (0..10).for_each(|number| settling.add(Instant::from_ns(number * 1_000_000_000), Duration::from_ms(7)));
    assert_eq!(settling.summary(window(0), Instant::MAX), None);
}

#[test]
fn workers_together_come_to_what_one_does() {
    let mut stream = Seed(3).stream(Purpose::User, 1);
    let (mut one, mut first, mut second) = (Settling::default(), Settling::default(), Settling::default());
    for number in 0..3000_u64 {
        let due = Instant::from_ns(number * number * 1_000);
        let took = Duration::from_ns((exponential(&mut stream, 1e6)) as u64);
        one.add(due, took);
        if number % 3 == 0 || number > 2_000 { &mut first } else { &mut second }.add(due, took);
    }
    second.merge(&first);
    assert_eq!(one, second);
}

/// Means of 20 runs of an M/M/1 queue at 0.8 that starts empty, with the warm-up that five runs before them
/// show, and without: 1,000 experiments with runs of 500 service times. A run that leaves its own beginning
/// and end out is far too low, which is why none does.
#[test]
fn warm_ups_that_are_found_bring_coverage_and_cutting_a_run_by_itself_does_not() {
    let mut covered = [0_u32; 4];
    let mut bias = [0.0; 4];
    let experiments = 1000;
    for seed in 0..experiments {
        let mut stream = Seed(seed).stream(Purpose::User, 2);
        let pilot: f64 = (0..5).map(|_| ends(&stretches(&queue(&mut stream, 500.0), 500.0)).0 as f64).sum();
        let found = pilot / 5.0 / 200.0 * 500.0;
        for (at, warm_up) in [0.0, found, 0.0, 2.0 * found].into_iter().enumerate() {
            let mut means = Vec::new();
            for _ in 0..20 {
                let requests = queue(&mut stream, 500.0 + warm_up);
                let (mut from, mut to) = (warm_up, 500.0 + warm_up);
                if at == 2 {
                    let (begin, end) = ends(&stretches(&requests, 500.0));
                    (from, to) = (begin as f64 * 2.5, end as f64 * 2.5);
                }
                let kept = requests.iter().filter(|(due, _)| (from..to).contains(due));
                let (count, sum) = kept.fold((0.0, 0.0), |all, one| (all.0 + 1.0, all.1 + one.1));
                means.push(sum / count);
            }
            let mean = crate::interval::MeanEstimate::of(&means).expect("twenty");
            let (low, high) = mean.ends(0.95);
            covered[at] += u32::from((low..=high).contains(&5.0));
            bias[at] += (mean.mean / 5.0 - 1.0) / experiments as f64;
        }
    }
    let [without, found, by_itself, twice] = covered.map(|count| f64::from(count) / experiments as f64);
    println!("coverage {without} {found} {by_itself} {twice}, bias {bias:?}");
    assert!(found > without + 0.015 && twice > found, "{covered:?} {bias:?}");
    assert!(bias[1].abs() < 0.8 * bias[0].abs() && bias[3].abs() < 0.6 * bias[0].abs(), "{bias:?}");
    assert!(by_itself < 0.6, "{covered:?}");
}

/// Requests of an M/M/1 queue at 0.8 that is empty at first, when they are due and how long they take, in
/// service times.
fn queue(stream: &mut Stream, length: f64) -> Vec<(f64, f64)> {
    let (mut due, mut wait) = (0.0, 0.0_f64);
    let mut requests = Vec::new();
    loop {
        let gap = exponential(stream, 1.25);
        due += gap;
        if due > length {
            return requests;
        }
        wait = (wait - gap).max(0.0) + exponential(stream, 1.0);
        requests.push((due, wait));
    }
}

/// Two hundred stretches of that.
fn stretches(requests: &[(f64, f64)], length: f64) -> Vec<(f64, f64)> {
    let mut stretches = vec![(0.0, 0.0); 200];
    for (due, took) in requests {
        let stretch = &mut stretches[((due / length * 200.0) as usize).min(199)];
        *stretch = (stretch.0 + 1.0, stretch.1 + took);
    }
    stretches
}
