//! The estimators against series whose distribution is known: exact noise, Poisson arrivals, and what is
//! neither.

use farfield_base::{Duration, Instant};
use farfield_fit::series::hurst::*;
use farfield_fit::series::*;
use farfield_testkit::draws::{mean_and_variance, stream};
use farfield_testkit::keys::{no_files, read};
use farfield_traffic::arrival::FractionalGaussianNoise;
use farfield_traffic::{ArrivalProcess, ArrivalSpec};

fn noise(hurst: f64, count: usize, number: u64) -> Vec<f64> {
    FractionalGaussianNoise::new(hurst, count).expect("good parameters").sample(&mut stream(number))
}

fn process(text: &str) -> ArrivalProcess {
    read::<ArrivalSpec>(text).resolve(&mut no_files).expect("no file")
}

fn instants(process: &ArrivalProcess, number: u64, secs: u64) -> Vec<Instant> {
    let end = Instant::ZERO + Duration::from_secs(secs);
    process.start(stream(number)).take_while(|at| *at < end).collect()
}

/// Estimates on many series: in the mean where they should be, spread as they say, and their intervals hold
/// the true value about nineteen times of twenty.
fn holds_at_its_level(estimate: impl Fn(&[f64]) -> HurstEstimate, bias_max: f64) {
    const RUNS: u64 = 60;
    for hurst in [0.5, 0.6, 0.7, 0.8, 0.9] {
        let noise = FractionalGaussianNoise::new(hurst, 4096).expect("good parameters");
        let found: Vec<HurstEstimate> =
            (0..RUNS).map(|run| estimate(&noise.sample(&mut stream(run)))).collect();
        let holds = |e: &&HurstEstimate| e.interval().is_some_and(|(low, high)| (low..high).contains(&hurst));
        let inside = found.iter().filter(holds).count();
        let values: Vec<f64> = found.iter().map(|e| e.hurst).collect();
        let (mean, variance) = mean_and_variance(&values);
        let said = found[0].standard_error.expect("theory has one");
        println!(
            "{:?} {hurst}: {mean:.4} ± {:.4} (says {said:.4}), {inside}/{RUNS}",
            found[0].method,
            variance.sqrt()
        );
        // Of 60, 57 ± 1.7 at the nominal level: 51 is 3.5 deviations off.
        assert!(inside >= 51, "{:?} at {hurst}: {inside} of {RUNS}", found[0].method);
        let limit = bias_max + 4.0 * (variance / RUNS as f64).sqrt();
        assert!((mean - hurst).abs() < limit, "{:?} at {hurst}: {mean}", found[0].method);
        let ratio = variance.sqrt() / said;
        assert!(
            (0.65..1.5).contains(&ratio),
            "{:?} at {hurst}: spread {ratio} of what it says",
            found[0].method
        );
    }
}

#[test]
fn local_whittle_holds_at_its_level() {
    holds_at_its_level(
        |series| local_whittle(series, local_whittle_bandwidth(4096)).expect("long enough"),
        0.01,
    );
}

#[test]
fn whittle_for_noise_holds_at_its_level() {
    holds_at_its_level(|series| noise_whittle(series).expect("long enough"), 0.002);
}

#[test]
fn wavelets_hold_at_their_level() {
    holds_at_its_level(|series| wavelet(series, 3).expect("long enough"), 0.01);
}

#[test]
fn at_65536_points_estimates_are_near() {
    for (number, hurst) in (40..).zip([0.5, 0.6, 0.7, 0.8, 0.9, 0.95]) {
        let series = noise(hurst, 1 << 16, number);
        let estimates = [
            (aggregated_variance(&series, 1), 0.03),
            (local_whittle(&series, local_whittle_bandwidth(1 << 16)), 0.03),
            (noise_whittle(&series), 0.01),
            (wavelet(&series, 3), 0.03),
            (rescaled_range(&series, 64), 0.03),
        ];
        for (estimate, limit) in estimates {
            let HurstEstimate { method, hurst: found, .. } = estimate.expect("long enough");
            println!("{method:?} {hurst}: {found:.4}");
            assert!((found - hurst).abs() < limit, "{method:?}: {found} not {hurst}");
        }
    }
}

#[test]
fn poisson_counts_have_no_memory() {
    let arrivals = process("'50/s'").start(stream(70));
    let series = counts(arrivals.take(50 << 13), Instant::ZERO, Duration::from_secs(1), (1 << 13) - 100);
    for estimate in [
        aggregated_variance(&series, 1),
        rescaled_range(&series, 32),
        local_whittle(&series, local_whittle_bandwidth(series.len())),
        noise_whittle(&series),
        wavelet(&series, 3),
    ] {
        let HurstEstimate { method, hurst, .. } = estimate.expect("long enough");
        assert!((hurst - 0.5).abs() < 0.06, "{method:?}: {hurst}");
    }
    let band = white_noise_band(series.len());
    let correlations = autocorrelation(&series, 40).expect("long enough");
    let outside = correlations[1..].iter().filter(|r| r.abs() > band).count();
    assert!(outside <= 7, "two of 40 in the mean, not {outside}");
    let inside = [1, 3, 10, 30, 100]
        .map(|slots| dispersion(&series, slots).expect("long enough"))
        .map(|d| (d.poisson.0..d.poisson.1).contains(&d.index));
    assert!(inside.iter().filter(|inside| **inside).count() >= 4, "{inside:?}");
    let peak = Marginal::of(&series).expect("good values").peak_to_mean();
    assert!((1.3..1.8).contains(&peak), "Poisson of mean 50 peaks near 80: {peak}");
}

/// A slow swell and a straight rise, which the wavelet does not see.
#[test]
fn wavelets_are_blind_to_trends() {
    let mut series = noise(0.7, 1 << 14, 80);
    let bare = wavelet(&series, 3).expect("long enough").hurst;
    (0..).zip(&mut series).for_each(|(t, value)| *value += 1e-3 * f64::from(t));
    let risen = wavelet(&series, 3).expect("long enough").hurst;
    assert!((bare - risen).abs() < 1e-6, "{bare} then {risen}");
    assert!(aggregated_variance(&series, 1).expect("long enough").hurst > 0.95, "others take it for memory");
}

const BLOCK: Duration = Duration::from_secs(10);

#[test]
fn poisson_arrivals_pass_as_often_as_they_should() {
    const RUNS: u64 = 200;
    // A rate that changes over the blocks, but hardly inside one.
    let schedule = process(
        "{ process = 'schedule', loop = true, segments = [{ for = '1000s', mean = '20/s', amplitude = '15/s', period = '1000s' }] }",
    );
    for process in [process("'20/s'"), schedule] {
        let passes = |run: &u64| {
            let test = poisson_test(&instants(&process, 200 + run, 200), Instant::ZERO, BLOCK, 20);
            test.expect("long enough").passes(0.05)
        };
        let passed = (0..RUNS).filter(passes).count();
        // 190 ± 3.1.
        assert!((177..=200).contains(&passed), "{passed} of {RUNS}");
    }
}

#[test]
fn what_is_not_poisson_fails() {
    for text in [
        "{ process = 'constant', rate = '20/s' }",
        "{ process = 'renewal', gaps = { distribution = 'weibull', shape = 0.7, scale = '40ms' } }",
        "{ process = 'markov-modulated', rates = ['5/s', '60/s'], transitions = [[0, 1], [1, 0]] }",
        "{ process = 'on-off', rate = '20/s', sources = 5, on = { distribution = 'pareto', shape = 1.4, mean = '1s' }, off = { distribution = 'pareto', shape = 1.4, mean = '4s' } }",
    ] {
        let test = poisson_test(&instants(&process(text), 300, 600), Instant::ZERO, BLOCK, 60);
        let test = test.expect("long enough");
        assert!(!test.passes(0.001), "{text}: {test:?}");
    }
}

#[test]
fn a_series_that_does_not_do_is_refused() {
    let short = [1.0, 2.0, 3.0];
    for error in [
        aggregated_variance(&short, 1).expect_err("short"),
        rescaled_range(&short, 16).expect_err("short"),
        local_whittle(&short, 10).expect_err("short"),
        noise_whittle(&short).expect_err("short"),
        wavelet(&short, 3).expect_err("short"),
        dispersion(&short, 1).expect_err("short"),
    ] {
        assert!(matches!(error, SeriesError::TooShort { given: 3, .. }), "{error}");
    }
    let flat = vec![2.0; 1 << 12];
    assert_eq!(local_whittle(&flat, 10), Err(SeriesError::Constant));
    assert!(matches!(wavelet(&noise(0.5, 200, 1), 5), Err(SeriesError::TooShort { .. })));
}
