//! Draws from a seeded stream, compared with theory.

use farfield_base::random::{Purpose, Seed, Stream};

/// Stream `number` of the tests' seed.
pub fn stream(number: u64) -> Stream {
    Seed(20_260).stream(Purpose::Arrivals, number)
}

/// Mean and (unbiased) variance.
pub fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0))
}

/// Asserts that `values` may follow `cdf`, by the test of Kolmogorov and Smirnov at a level of one in a
/// thousand (1.95 is that quantile of Kolmogorov's distribution). For a distribution with steps the level is
/// lower still.
pub fn follows(what: &str, mut values: Vec<f64>, cdf: impl Fn(f64) -> f64) {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len() as f64;
    let mut distance: f64 = 0.0;
    let mut at = 0;
    while at < values.len() {
        let value = values[at];
        let after = at + values[at..].partition_point(|v| *v <= value);
        let below = cdf(value.next_down());
        let up_to = cdf(value);
        distance = distance.max((below - at as f64 / n).abs()).max((up_to - after as f64 / n).abs());
        at = after;
    }
    assert!(distance * n.sqrt() < 1.95, "{what}: distance {distance} over {n} draws");
}
