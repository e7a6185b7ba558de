//! Arrival processes against theory: what their gaps and counts must be, and that workers share them exactly.

use farfield_base::{Duration, Instant, Rate};
use farfield_testkit::draws::{follows, mean_and_variance, stream};
use farfield_testkit::keys::{holding, no_files, read};
use farfield_traffic::arrival::Spacing;
use farfield_traffic::{ArrivalProcess, ArrivalSpec};
use proptest::prelude::*;
use statrs::distribution::{ContinuousCDF, Weibull};
use statrs::statistics::Distribution as _;

fn process(text: &str) -> ArrivalProcess {
    read::<ArrivalSpec>(text).resolve(&mut no_files).expect("no file")
}

fn seconds(secs: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(secs)
}

/// The instants before `end_s`, in seconds.
fn until(process: &ArrivalProcess, end_s: f64) -> Vec<f64> {
    process.start(stream(1)).map(|at| at.as_secs_f64()).take_while(|at| *at < end_s).collect()
}

fn gaps(instants: &[f64]) -> Vec<f64> {
    std::iter::once(0.0).chain(instants.iter().copied()).zip(instants).map(|(a, b)| b - a).collect()
}

/// Number of `instants` in [from, to).
fn count(instants: &[f64], from: f64, to: f64) -> usize {
    instants.iter().filter(|at| (from..to).contains(at)).count()
}

#[test]
fn poisson_gaps_are_exponential_and_independent() {
    let gaps = gaps(&until(&process("'1000/s'"), 100.0));
    let (mean, variance) = mean_and_variance(&gaps);
    let neighbours: f64 = gaps.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
    let correlation = neighbours / (gaps.len() as f64 * variance);
    assert!(
        correlation.abs() < 5.0 / (gaps.len() as f64).sqrt(),
        "neighbouring gaps correlate by {correlation}"
    );
    follows("gaps", gaps, |x| 1.0 - (-1000.0 * x.max(0.0)).exp());
}

#[test]
fn poisson_counts_vary_as_much_as_they_are() {
    const WINDOWS: u32 = 10_000;
    let instants = until(&process("{ process = 'poisson', rate = '20/s' }"), f64::from(WINDOWS));
    let mut counts = vec![0.0; WINDOWS as usize];
    instants.iter().for_each(|at| counts[*at as usize] += 1.0);
    let (mean, variance) = mean_and_variance(&counts);
    let n = f64::from(WINDOWS);
    assert!((mean - 20.0).abs() < 5.0 * (20.0 / n).sqrt(), "mean {mean}");
    assert!(
        (variance / mean - 1.0).abs() < 5.0 * (2.0 / n).sqrt(),
        "index of dispersion {}",
        variance / mean
    );
}

#[test]
fn constant_arrivals_are_even_to_the_nanosecond() {
    let process = process("{ process = 'constant', rate = '7/s' }");
    for (index, at) in process.start(stream(1)).take(100_000).enumerate() {
        let exact = (2 * index as u64 + 1) * 1_000_000_000 / 14;
        assert!(at.as_ns().abs_diff(exact) <= 1, "{index}: {at:?} instead of {exact}");
    }
    assert_eq!(process.mean_rate(), Rate::per_second(7.0).ok());
    assert_eq!(process.expected(seconds(3.0), seconds(13.0)), Some(70.0));
}

#[test]
fn renewal_gaps_follow_their_distribution() {
    let process =
        process("{ process = 'renewal', gaps = { distribution = 'weibull', shape = 0.6, scale = '2ms' } }");
    let instants = until(&process, 200.0);
    let weibull = Weibull::new(0.6, 2e-3).expect("good");
    follows("gaps", gaps(&instants), |x| weibull.cdf(x));
    let expected = process.expected(Instant::ZERO, seconds(200.0)).expect("a finite mean");
    // Counts of a renewal process over a long time t vary as t σ² / m³.
    let (m, v) = (weibull.mean().expect("finite"), weibull.variance().expect("finite"));
    let limit = 5.0 * (200.0 * v / m.powi(3)).sqrt();
    assert!((instants.len() as f64 - expected).abs() < limit, "{} not {expected} ± {limit}", instants.len());
}

#[test]
fn renewals_without_a_known_rate_say_so() {
    for distribution in [
        "{ distribution = 'pareto', shape = 1, scale = 1 }",
        "{ distribution = 'normal', mean = 1, sigma = 1 }",
    ] {
        let process = process(&format!("{{ process = 'renewal', gaps = {distribution} }}"));
        assert_eq!(process.mean_rate(), None, "{distribution}");
        assert_eq!(process.expected(seconds(0.0), seconds(1.0)), None, "{distribution}");
    }
}

const SCHEDULE: &str = "
    { for = '2s', rate = '300/s' },
    { for = '4s', from = '100/s', to = '900/s' },
    { for = '1s', rate = 0 },
    { for = '10s', mean = '200/s', amplitude = '200/s', period = '5s' },
    { for = '3s', from = '500/s', to = 0 },
";

fn schedule(spacing: &str, repeats: bool) -> ArrivalProcess {
    let one_line = SCHEDULE.replace('\n', " ");
    process(&format!(
        "{{ process = 'schedule', spacing = '{spacing}', loop = {repeats}, segments = [{one_line}] }}"
    ))
}

#[test]
fn a_schedule_has_the_area_under_its_rate() {
    let schedule = schedule("even", false);
    let area = |from, to| schedule.expected(seconds(from), seconds(to)).expect("a schedule");
    let check = |from, to, arrivals: f64| assert!((area(from, to) - arrivals).abs() < 1e-6, "{from} to {to}");
    check(0.0, 2.0, 600.0);
    check(2.0, 6.0, 2_000.0);
    check(2.0, 4.0, 600.0); // the ramp's first half: from 100 to 500
    check(6.0, 7.0, 0.0);
    check(7.0, 17.0, 2_000.0);
    check(17.0, 20.0, 750.0);
    check(20.0, 1e6, 0.0);
    assert_eq!(schedule.mean_rate(), Rate::per_second(5_350.0 / 20.0).ok());
    assert_eq!(schedule.rate_at(seconds(4.0)), Rate::per_second(500.0).ok());
    assert_eq!(schedule.rate_at(seconds(6.5)), Some(Rate::ZERO));
    assert_eq!(schedule.rate_at(seconds(20.0)), Some(Rate::ZERO));
    assert_eq!(until(&schedule, 1e9).len(), 5_350);
    assert_eq!(count(&until(&schedule, 1e9), 6.0, 7.0), 0);
}

#[test]
fn a_repeated_schedule_goes_on() {
    let schedule = schedule("even", true);
    let instants = until(&schedule, 2_000.0);
    assert_eq!(instants.len(), 100 * 5_350);
    assert_eq!(count(&instants, 1_986.0, 1_987.0), 0, "the hundredth pause");
    assert_eq!(schedule.expected(seconds(10.0), seconds(50.0)).map(f64::round), Some(10_700.0));
}

/// Put through the cumulative rate, any Poisson process is one of rate one.
#[test]
fn a_poisson_schedule_is_unit_poisson_in_its_own_time() {
    let schedule = schedule("poisson", true);
    let own = |at: f64| schedule.expected(Instant::ZERO, seconds(at)).expect("a schedule");
    let own_times: Vec<f64> = until(&schedule, 400.0).into_iter().map(own).collect();
    follows("gaps in own time", gaps(&own_times), |x| 1.0 - (-x.max(0.0)).exp());
    let (found, expected) = (own_times.len() as f64, own(400.0));
    assert!((found - expected).abs() < 5.0 * expected.sqrt(), "{found} not {expected}");
}

/// The four combinations of a and b are of the kind of figure 8 in Banga and Druschel (1999).
#[test]
fn bursts_hold_a_times_the_mean_for_b_of_the_time() {
    for (factor, percent) in [(6, 5), (4, 10), (2, 25), (10, 10)] {
        let text = format!(
            "{{ process = 'bursts', rate = '200/s', factor = {factor}, share = '{percent}%', spacing = 'even' }}"
        );
        let bursts = process(&text);
        let instants = until(&bursts, 1_000.0);
        assert_eq!(instants.len(), 200_000, "{text}: the mean is the rate");
        let in_burst = instants.iter().filter(|at| *at % 100.0 < f64::from(percent)).count();
        assert_eq!(in_burst, 200_000 * factor * percent as usize / 100, "{text}");
        let peak = bursts.rate_at(seconds(100.0 + f64::from(percent) / 2.0)).expect("known");
        let rest = bursts.rate_at(seconds(150.0)).expect("known");
        assert_eq!(peak.as_per_second(), 200.0 * factor as f64, "{text}");
        let (a, b) = (factor as f64, f64::from(percent) / 100.0);
        let low = 200.0 * (1.0 - a * b) / (1.0 - b);
        assert!((rest.as_per_second() - low).abs() < 1e-9, "{text}: {rest} beside the bursts, not {low}");
        assert_eq!(bursts.mean_rate().map(|rate| rate.as_per_second().round()), Some(200.0), "{text}");
    }
}

#[test]
fn poisson_bursts_have_the_same_rates_in_the_mean() {
    let bursts = process("{ process = 'bursts', rate = '500/s', factor = 6, share = 0.05, period = '10s' }");
    let instants = until(&bursts, 1_000.0);
    let (inside, outside): (Vec<f64>, Vec<f64>) = instants.iter().partition(|at| *at % 10.0 < 0.5);
    let near = |found: usize, expected: f64| (found as f64 - expected).abs() < 5.0 * expected.sqrt();
    assert!(near(inside.len(), 150_000.0), "{} in bursts", inside.len());
    assert!(near(outside.len(), 350_000.0), "{} beside them", outside.len());
}

#[test]
fn recorded_gaps_and_instants_come_back() {
    let instants = |text: &str, file: &str| -> Vec<f64> {
        let spec: ArrivalSpec = read(text);
        let process = spec.resolve(&mut holding(file)).expect("a good file");
        process.start(stream(1)).take(7).map(|at| at.as_secs_f64()).collect()
    };
    assert_eq!(instants("{ process = 'gaps', file = 'g' }", "1\n500ms\n0.5"), [1.0, 1.5, 2.0]);
    let twice = instants("{ process = 'gaps', file = 'g', loop = true }", "1\n500ms\n0.5");
    assert_eq!(twice, [1.0, 1.5, 2.0, 3.0, 3.5, 4.0, 5.0]);
    assert_eq!(instants("{ process = 'instants', file = 'i', loop = true }", "1\n1.5\n2s"), twice);
}

#[test]
fn a_recorded_process_knows_its_counts() {
    let spec: ArrivalSpec = read("{ process = 'instants', file = 'i', loop = true }");
    let process = spec.resolve(&mut holding("0.5\n1\n4")).expect("a good file");
    assert_eq!(process.mean_rate(), Rate::per_second(0.75).ok());
    assert_eq!(process.expected(seconds(1.0), seconds(5.0)), Some(3.0)); // at 1, 4 and 4.5
    assert_eq!(process.rate_at(seconds(1.0)), None);
}

#[test]
fn gaps_that_a_file_holds_must_take_time() {
    let spec: ArrivalSpec =
        read("{ process = 'renewal', gaps = { distribution = 'empirical', file = 'g.txt' } }");
    let error = spec.resolve(&mut holding("0\n0")).expect_err("no gap above zero");
    assert!(error.to_string().starts_with("g.txt: the mean of `gaps` is below 1ns"), "{error}");
}

#[test]
fn at_rate_zero_nothing_comes() {
    for spacing in [Spacing::Even, Spacing::Poisson] {
        let process = ArrivalProcess::steady(Rate::ZERO, spacing);
        assert_eq!(process.start(stream(1)).next(), None);
        assert_eq!(process.expected(Instant::ZERO, Instant::MAX), Some(0.0));
        assert_eq!(process.mean_rate(), Some(Rate::ZERO));
    }
}

#[test]
fn a_renewal_process_ends_with_time() {
    let process = process("{ process = 'renewal', gaps = 1e10 }");
    let mut arrivals = process.start(stream(1));
    assert!(arrivals.next().is_some());
    assert_eq!((arrivals.next(), arrivals.next()), (None, None));
}

fn any_process() -> impl Strategy<Value = ArrivalProcess> {
    prop_oneof![
        Just(process("'1000/s'")),
        Just(process("{ process = 'constant', rate = '1k/s' }")),
        Just(process(
            "{ process = 'renewal', gaps = { distribution = 'gamma', shape = 0.3, scale = '3ms' } }"
        )),
        Just(process("{ process = 'bursts', rate = '500/s', factor = 6, share = '5%', period = '100ms' }")),
        Just(schedule("even", false)),
        Just(schedule("poisson", true)),
        Just(process(
            "{ process = 'fractional-noise', rate = '1k/s', hurst = 0.8, slot = '10ms', for = '500ms' }"
        )),
        Just(process(
            "{ process = 'markov-modulated', rates = [0, '2k/s'], transitions = [[0, 50], [50, 0]] }"
        )),
        Just(process(
            "{ process = 'on-off', rate = '1k/s', sources = 20, on = { distribution = 'pareto', shape = 1.4, mean = '20ms' }, off = { distribution = 'exponential', mean = '50ms' }, spacing = 'even' }"
        )),
        Just(process(
            "{ process = 'm-g-infinity', rate = '1k/s', sessions = '50/s', length = { distribution = 'pareto', shape = 1.4, mean = '100ms' } }"
        )),
        Just(process("{ process = 'diurnal', rate = '1k/s', profile = [1, 0, 5, 2], day = '1s' }")),
        Just(process(
            "{ process = 'flash-crowd', from = '10/s', to = '333/s', at = '2s', within = '4s', stay = '2s', decay = '3s' }"
        )),
        Just(
            read::<ArrivalSpec>("{ process = 'gaps', file = 'g', loop = true }")
                .resolve(&mut holding("1ms\n0\n3ms"))
                .expect("a good file")
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn workers_together_see_what_one_would(
        process in any_process(),
        workers in 1u32..9,
        number in any::<u64>(),
    ) {
        const TAKEN: usize = 2_000;
        let alone: Vec<(u64, Instant)> = (0..).zip(process.start(stream(number))).take(TAKEN).collect();
        let mut together: Vec<(u64, Instant)> = (0..workers)
            .flat_map(|worker| {
                let mine = process.start(stream(number)).share(worker, workers);
                mine.take_while(|(index, _)| *index < TAKEN as u64)
            })
            .collect();
        together.sort_unstable();
        prop_assert_eq!(together, alone);
    }

    #[test]
    fn time_never_goes_back(process in any_process(), number in any::<u64>()) {
        let instants: Vec<Instant> = process.start(stream(number)).take(5_000).collect();
        prop_assert!(instants.is_sorted());
    }

    /// Evenly spaced, any window holds what is expected of it to within one arrival.
    #[test]
    fn even_arrivals_are_where_the_rate_puts_them(from in 0.0..60.0f64, length in 0.0..30.0f64) {
        let schedule = schedule("even", true);
        let found = count(&until(&schedule, from + length), from, from + length) as f64;
        let expected = schedule.expected(seconds(from), seconds(from + length)).expect("a schedule");
        prop_assert!((found - expected).abs() <= 1.0 + 1e-6, "{found} not {expected}");
    }
}

/// A rate that jumps, times a course that rises fivefold in its second half: in each half the mean number is
/// the course's share of all, and inside a half the rate still jumps.
#[test]
fn a_random_rate_follows_its_course() {
    let process = process(
        "{ process = 'markov-modulated', rates = ['5/s', '35/s'], transitions = [[0, '2/s'], ['2/s', 0]], \
         course = [{ for = '50s', rate = 1 }, { for = '50s', rate = 5 }] }",
    );
    assert_eq!((process.mean_rate(), process.hurst()), (Rate::per_second(20.0).ok(), None));
    let round = process.expected(seconds(0.0), seconds(100.0)).expect("a mean rate");
    let rise = process.expected(seconds(50.0), seconds(100.0)).expect("a mean rate");
    assert!((round - 2_000.0).abs() < 1e-6 && (rise - 5.0 / 6.0 * 2_000.0).abs() < 1e-6, "{round}, {rise}");
    const ROUNDS: u32 = 400;
    let instants = until(&process, 100.0 * f64::from(ROUNDS));
    assert!(instants.is_sorted());
    let late = instants.iter().filter(|at| **at % 100.0 >= 50.0).count() as f64;
    let all = instants.len() as f64;
    // A half of 50 s has a deviation of its mean of some √(2 p₁p₂ Δ² / (s 50)) / m = 11 %.
    let limit = 5.0 * 0.11 / f64::from(ROUNDS).sqrt();
    assert!((late / all - 5.0 / 6.0).abs() < limit, "{late} of {all}");
    // Over 1 s of the busy half, 33.3 a second in the mean: 1 + Δ² p₁p₂ / m · g with the course's factor
    // of 5/3.
    let mut counts = vec![0.0; 100 * ROUNDS as usize];
    instants.iter().for_each(|at| counts[*at as usize] += 1.0);
    let busy: Vec<f64> = (0..counts.len()).filter(|at| at % 100 >= 50).map(|at| counts[at]).collect();
    let (mean, variance) = mean_and_variance(&busy);
    let (s, t) = (4.0f64, 1.0f64);
    let wanted = 1.0 + 5.0 / 3.0 * 2.0 * 225.0 / (20.0 * s) * (1.0 - (1.0 - (-s * t).exp()) / (s * t));
    assert!((mean / (100.0 / 3.0) - 1.0).abs() < 0.03, "{mean}");
    assert!((variance / mean / wanted - 1.0).abs() < 0.06, "{} not {wanted}", variance / mean);
}

#[path = "../examples/self_similar.rs"]
#[allow(dead_code, reason = "its main is not run")]
mod self_similar;

#[test]
fn the_example_prints_what_the_readme_shows() {
    let output = self_similar::report();
    assert!(include_str!("../README.md").contains(&output), "README.md is to show:\n{output}");
}
