//! Arrivals with structure against theory: exact means from the start on, dispersion in closed form, peaks in
//! full, and the Hurst parameter that the tails give.

use farfield_base::{Duration, Instant};
use farfield_fit::series::hurst::{noise_whittle, wavelet};
use farfield_fit::series::{counts, dispersion, mean};
use farfield_testkit::draws::{follows, mean_and_variance, stream};
use farfield_testkit::keys::{no_files, read};
use farfield_traffic::{ArrivalProcess, ArrivalSpec};
use statrs::distribution::{ContinuousCDF, Normal};

fn process(text: &str) -> ArrivalProcess {
    read::<ArrivalSpec>(text).resolve(&mut no_files).expect("no file")
}

fn seconds(secs: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(secs)
}

/// Arrivals of stream `number` in each of `slots` slots.
fn counted(process: &ArrivalProcess, number: u64, slot: Duration, slots: usize) -> Vec<f64> {
    let end = Instant::ZERO + slot.times(slots as u64);
    counts(process.start(stream(number)).take_while(|at| *at < end), Instant::ZERO, slot, slots)
}

const NOISE: &str =
    "{ process = 'fractional-noise', rate = '500/s', hurst = 0.8, deviation = 0.7, for = '10s' }";
const NORMAL_NOISE: &str = "{ process = 'fractional-noise', rate = '500/s', hurst = 0.9, deviation = 0.8, marginal = 'normal', for = '10s' }";
const MARKOV: &str =
    "{ process = 'markov-modulated', rates = ['100/s', '1000/s'], transitions = [[0, 0.5], [2, 0]] }";
const THREE_STATES: &str = "{ process = 'markov-modulated', rates = ['500/s', 0, '2k/s'], transitions = [[0, 1, 0.2], [3, 0, 1], [2, 5, 0]] }";
const ON_OFF: &str = "{ process = 'on-off', rate = '500/s', sources = 20, on = { distribution = 'pareto', shape = 1.3, mean = '300ms' }, off = { distribution = 'pareto', shape = 1.6, mean = '900ms' } }";
const SESSIONS: &str = "{ process = 'm-g-infinity', rate = '500/s', sessions = '20/s', length = { distribution = 'pareto', shape = 1.3, mean = '1s' } }";

#[test]
fn the_mean_is_the_rate_from_the_start_on() {
    const RUNS: u64 = 400;
    for text in [NOISE, NORMAL_NOISE, MARKOV, THREE_STATES, ON_OFF, SESSIONS] {
        let process = process(text);
        for (from, to) in [(0, 1), (4, 5)] {
            let found: Vec<f64> = (0..RUNS)
                .map(|run| counted(&process, run, Duration::from_ms(200), 5 * to)[5 * from..].iter().sum())
                .collect();
            let (mean, variance) = mean_and_variance(&found);
            let expected = process.expected(seconds(from as f64), seconds(to as f64)).expect("known");
            let limit = 4.5 * (variance / RUNS as f64).sqrt();
            assert!(limit < 0.3 * expected, "{text}: too few runs: ± {limit}");
            assert!(
                (mean - expected).abs() < limit,
                "{text}, from {from} s: {mean} not {expected} ± {limit}"
            );
        }
    }
}

/// IDC(t) = 1 + 2 p₁p₂Δ² / ms · (1 − (1 − e^(−st)) / st) for two states with rates Δ apart, left at r₁ and
/// r₂, s = r₁ + r₂, pᵢ their shares and m the mean (Heffes and Lucantoni 1986, section III).
#[test]
fn a_markov_modulated_process_spreads_as_its_closed_form_says() {
    let series = counted(&process(MARKOV), 3, Duration::from_ms(200), 25_000);
    let (m, s, p, step) = (280.0, 2.5, 0.8 * 0.2, 900.0f64);
    for slots in [1, 5, 20, 50] {
        let t = 0.2 * slots as f64;
        let wanted = 1.0 + 2.0 * p * step * step / (m * s) * (1.0 - (1.0 - (-s * t).exp()) / (s * t));
        let found = dispersion(&series, slots).expect("long enough").index;
        // So many of its memories of 1/s fit into the whole; five deviations of a variance from as many
        // values.
        let limit = 5.0 * (2.0 / (5_000.0 / t.max(1.0 / s))).sqrt();
        assert!((found / wanted - 1.0).abs() < limit, "over {t} s: {found} not {wanted}");
    }
    assert_eq!(process(MARKOV).hurst(), Some(0.5));
}

/// Evenly spaced, a slot has as many arrivals as its rate says, to within one: the rates can be read off, and
/// must be lognormal with the deviation asked for. With H = ½ they are independent, as the test of their
/// distribution supposes.
#[test]
fn rates_from_noise_are_lognormal() {
    let process = process(
        "{ process = 'fractional-noise', rate = '20k/s', hurst = 0.5, deviation = 0.8, for = '409.6s', spacing = 'even' }",
    );
    let series = counted(&process, 5, Duration::from_ms(100), 4096);
    let sigma = 0.64f64.ln_1p().sqrt();
    let normal = Normal::new(2000.0f64.ln() - sigma * sigma / 2.0, sigma).expect("good");
    follows("log rates", series.iter().map(|count| count.ln()).collect(), |x| normal.cdf(x));
}

#[test]
fn rates_from_noise_keep_its_hurst_parameter() {
    for hurst in [0.6, 0.75, 0.9] {
        let process = process(&format!(
            "{{ process = 'fractional-noise', rate = '10k/s', hurst = {hurst}, deviation = 0.5, for = '409.6s', spacing = 'even' }}"
        ));
        assert_eq!(process.hurst(), Some(hurst));
        let series = counted(&process, 6, Duration::from_ms(100), 4096);
        let logs: Vec<f64> = series.iter().map(|count| count.ln()).collect();
        let estimate = noise_whittle(&logs).expect("long enough");
        let error = estimate.standard_error.expect("theory has one");
        assert!((estimate.hurst - hurst).abs() < 4.0 * error, "{} ± {error} not {hurst}", estimate.hurst);
    }
}

/// Blocks after the first have the same distribution: a run may be longer than its noise.
#[test]
fn noise_goes_on_after_its_length() {
    let process =
        process("{ process = 'fractional-noise', rate = '1k/s', hurst = 0.7, slot = '50ms', for = '1s' }");
    let series = counted(&process, 7, Duration::from_secs(1), 400);
    let (mean, variance) = mean_and_variance(&series);
    assert!((mean - 1000.0).abs() < 5.0 * (variance / 400.0).sqrt(), "{mean}");
}

/// A state of 8.6 times the mean: evenly spaced, each gap in it is exactly 1/5500 s, and no arrival is
/// missing.
#[test]
fn peaks_come_in_full() {
    let process = process(
        "{ process = 'markov-modulated', rates = ['100/s', '5500/s'], transitions = [[0, '1/s'], ['9/s', 0]], spacing = 'even' }",
    );
    assert_eq!(process.mean_rate().map(|rate| rate.as_per_second().round()), Some(640.0));
    let instants: Vec<u64> = process.start(stream(1)).take(200_000).map(|at| at.as_ns()).collect();
    let at_peak = instants.windows(2).filter(|pair| (pair[1] - pair[0]).abs_diff(181_818) <= 1).count();
    let share = at_peak as f64 / instants.len() as f64;
    // Of 640 arrivals a second 550 are in the peak, but a visit of 0.11 s has one gap that is not all in it.
    assert!((share - 549.1 / 640.0).abs() < 0.02, "{share}");
    assert!(instants.windows(2).all(|pair| pair[1] - pair[0] >= 181_817), "nothing is faster than the peak");
}

#[test]
fn a_flash_crowd_rises_as_asked() {
    let text = "from = '10/s', to = '333/s', at = '60s', within = '4s', stay = '30s', decay = '20s'";
    let crowd = process(&format!("{{ process = 'flash-crowd', {text} }}"));
    let area = |from, to| crowd.expected(seconds(from), seconds(to)).expect("a curve");
    let check = |from, to, wanted: f64| assert!((area(from, to) - wanted).abs() < 1e-6, "{from} to {to}");
    check(0.0, 60.0, 600.0);
    check(60.0, 62.0, 181.5); // from 10 to 171.5
    check(60.0, 64.0, 686.0);
    check(64.0, 94.0, 9_990.0);
    check(94.0, 114.0, 3_430.0);
    check(1_000.0, 1_100.0, 1_000.0);
    let even = process(&format!("{{ process = 'flash-crowd', {text}, spacing = 'even' }}"));
    let series = counted(&even, 1, Duration::from_secs(1), 120);
    for (second, count) in series.iter().enumerate() {
        let wanted = area(second as f64, second as f64 + 1.0);
        assert!((count - wanted).abs() <= 1.0 + 1e-6, "second {second}: {count} not {wanted}");
    }
}

#[test]
fn a_day_goes_round() {
    let text = "rate = '100/s', profile = [4, 0, 8, 12], day = '40s'";
    let day = process(&format!("{{ process = 'diurnal', {text} }}"));
    let rate = |at| day.rate_at(seconds(at)).expect("a curve").as_per_second();
    let check = |at, wanted: f64| assert!((rate(at) - wanted).abs() < 1e-6, "{} at {at} s", rate(at));
    // The mean of the points is 6, so that each stands for 100/6 a second.
    [(0.0, 4.0), (5.0, 2.0), (10.0, 0.0), (25.0, 10.0), (30.0, 12.0), (35.0, 8.0), (4_000.0, 4.0)]
        .into_iter()
        .for_each(|(at, point)| check(at, point / 6.0 * 100.0));
    assert_eq!(day.mean_rate().map(|rate| rate.as_per_second().round()), Some(100.0));
    assert_eq!(day.expected(seconds(40.0), seconds(4_040.0)).map(f64::round), Some(10_000.0 * 40.0));
    let uneven = process("{ process = 'diurnal', rate = 1, profile = [1, 2, 3], day = '100ns' }");
    assert!((uneven.mean_rate().expect("known").as_per_second() - 1.0).abs() < 0.02);
}

/// Counts of one second over hours, the mean of a few runs: heavy tails of index 1.4 give H = 0.8, and the
/// same processes with exponential periods ½. Octaves from 16 s on: periods of a second or so are over by
/// then.
#[test]
fn heavy_tails_make_long_memory_and_light_ones_none() {
    const RUNS: u64 = 4;
    let on_off = |distribution: &str| {
        format!(
            "{{ process = 'on-off', rate = '40/s', sources = 20, on = {{ {distribution}, mean = '500ms' }}, off = {{ {distribution}, mean = '1s' }} }}"
        )
    };
    let sessions = |distribution: &str| {
        format!(
            "{{ process = 'm-g-infinity', rate = '40/s', sessions = '2/s', length = {{ {distribution}, mean = '1s' }} }}"
        )
    };
    let check = |text: String, hurst: f64| {
        let process = process(&text);
        assert!((process.hurst().expect("theory has it") - hurst).abs() < 1e-12, "{text}");
        let estimate = |run| {
            let series = counted(&process, 100 + run, Duration::from_secs(1), 1 << 14);
            wavelet(&series, 4).expect("long enough").hurst
        };
        let found: Vec<f64> = (0..RUNS).map(estimate).collect();
        println!("{text}: {found:?}");
        assert!((mean(&found) - hurst).abs() < 0.05, "{text}: {found:?}");
    };
    let (heavy, light) = ("distribution = 'pareto', shape = 1.4", "distribution = 'exponential'");
    check(on_off(heavy), 0.8);
    check(on_off(light), 0.5);
    check(sessions(heavy), 0.8);
    check(sessions(light), 0.5);
}
