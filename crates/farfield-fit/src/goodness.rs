//! Goodness of fit: λ², Cramér–von Mises, Anderson–Darling and Kolmogorov–Smirnov.
//!
//! - λ² is that of Pedersen and Johnson as Paxson (1994) and Liu et al. (1999, section 2.2) use it:
//!   (X² − K − df) / (n − 1), with K = Σ (Yᵢ − npᵢ) / npᵢ and df = N − 1 − (number of estimated parameters).
//!   It does not grow with n, so that distributions for samples of different sizes compare. Bins are equally
//!   likely under the distribution, 2 n^(2/5) of them (D'Agostino and Stephens 1986, section 3.2).
//! - The other three compare the empirical distribution function with the distribution's (the same book,
//!   section 4.2).
//!
//! Values that were rounded to a tick are compared with the rounded distribution: a cell is all that rounds
//! to one value, and the statistics are those for grouped data (Choulakian, Lockhart and Stephens 1994). Ties
//! among exact values count as they are.

use crate::points::Points;
use farfield_base::random::Stream;
use farfield_traffic::distribution::Model;
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// The four statistics. Each is 0 or about 0 for a perfect fit, and larger for a worse one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Goodness {
    /// λ²; below 0 where the fit is better than a sample of the model has it.
    #[serde(with = "crate::number")]
    pub lambda_squared: f64,
    /// Cramér–von Mises W².
    #[serde(with = "crate::number")]
    pub cramer_von_mises: f64,
    /// Anderson–Darling A².
    #[serde(with = "crate::number")]
    pub anderson_darling: f64,
    /// Kolmogorov–Smirnov D, the largest distance of the distribution functions.
    #[serde(with = "crate::number")]
    pub kolmogorov_smirnov: f64,
}

/// Share of small subsamples that pass tests which all values together fail.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Subsamples {
    /// Values in a subsample.
    pub size: usize,
    /// Subsamples drawn.
    pub draws: u32,
    /// The share of them that the Anderson–Darling test does not reject at the level of 5 %.
    pub anderson_darling_passed: f64,
    /// The share that the Cramér–von Mises test does not reject at that level.
    pub cramer_von_mises_passed: f64,
    /// The share that the Kolmogorov–Smirnov test does not reject at that level.
    pub kolmogorov_smirnov_passed: f64,
}

/// The statistics of `model` for `points`.
pub fn goodness(model: &Model, points: &Points) -> Goodness {
    let cells = cells(model, points);
    let estimated = model.free_parameters();
    let wanted = wanted_bins(points.n, estimated);
    if points.observation.is_grouped() {
        grouped(&cells, points.n, lambda_squared(&joined_bins(&cells, wanted), points.n, estimated))
    } else {
        exact(&cells, points.n, lambda_squared(&equal_bins(&cells, wanted), points.n, estimated))
    }
}

/// A distinct value (or, on a grid, all that rounds to it): how many there are, and the distribution's
/// distribution function and tail up to its end. On a grid values between that did not come are cells too.
struct Cell {
    count: f64,
    cdf: f64,
    tail: f64,
}

/// A grid with more cells than this has its empty cells left out, which changes nothing that can be seen.
const CELLS_MAX: f64 = 200_000.0;

fn cells(model: &Model, points: &Points) -> Vec<Cell> {
    let (observation, tick) = (points.observation, points.tick());
    let is_grouped = observation.is_grouped();
    let cell = |value: f64, count: f64| {
        let (mut cdf, mut tail) = observation.cdf_and_tail(model, value);
        if cdf == 0.0 && count > 0.0 && model.ln_density(value, value.ln()) > f64::NEG_INFINITY {
            // At the very end of the support, where a Pareto distribution's scale is put by the least value:
            // half of it counts as inside. Without that the Anderson–Darling statistic would be infinite.
            cdf = count / (2.0 * points.n);
            tail = 1.0 - cdf;
        }
        Cell { count, cdf, tail }
    };
    let filled = is_grouped && (points.largest() - points.least()) / tick < CELLS_MAX;
    let mut cells = Vec::with_capacity(points.values.len() + 1);
    if is_grouped && points.least() > observation.least + tick / 2.0 {
        // Probability below the least value is a misfit. At the least that rounding can give it is none.
        cells.push(cell(points.least() - tick, 0.0));
    }
    for (at, (value, count)) in points.values.iter().zip(&points.counts).enumerate() {
        if filled && at > 0 {
            let before = points.values[at - 1];
            let empty = ((value - before) / tick).round() as u64;
            cells.extend((1..empty).map(|i| cell(before + i as f64 * tick, 0.0)));
        }
        cells.push(cell(*value, *count));
    }
    cells
}

/// Statistics of rounded values: W² = n Σ D² p and A² = n Σ D² p / H(1 − H), with H the model's distribution
/// function at the end of a cell, D the empirical one less H, and p the cell's probability. Beyond the
/// largest value D² = (1 − H)², which is integrated.
fn grouped(cells: &[Cell], n: f64, lambda_squared: f64) -> Goodness {
    let (mut w2, mut a2, mut d) = (0.0, 0.0, 0.0f64);
    let (mut seen, mut before) = (0.0, 0.0);
    for cell in cells {
        seen += cell.count;
        let distance = seen / n - cell.cdf;
        let p = cell.cdf - before;
        w2 += distance * distance * p;
        let spread = cell.cdf * cell.tail;
        if p > 0.0 {
            a2 += if spread > 0.0 { distance * distance * p / spread } else { 0.0 };
        } else if cell.cdf <= 0.0 && seen > 0.0 {
            a2 = f64::INFINITY;
        }
        d = d.max(distance.abs());
        before = cell.cdf;
    }
    if let Some(last) = cells.last() {
        w2 += last.tail.powi(3) / 3.0;
        a2 += -last.cdf.ln() - last.tail;
    }
    Goodness { lambda_squared, cramer_von_mises: n * w2, anderson_darling: n * a2, kolmogorov_smirnov: d }
}

/// Statistics of exact values: the textbook's sums over order statistics, with equal values summed in closed
/// form.
fn exact(cells: &[Cell], n: f64, lambda_squared: f64) -> Goodness {
    let (mut w2, mut a2, mut d) = (1.0 / (12.0 * n), -n, 0.0f64);
    let mut a = 0.0; // values before this one
    for cell in cells {
        let b = a + cell.count;
        // Σ (F − (2i − 1)/2n)² over i from a + 1 to b.
        let (first, second) = (b * b - a * a, (b * (4.0 * b * b - 1.0) - a * (4.0 * a * a - 1.0)) / 3.0);
        w2 += (cell.count * cell.cdf * cell.cdf - cell.cdf * first / n + second / (4.0 * n * n)).max(0.0);
        let from_above = (n - a).powi(2) - (n - b).powi(2);
        a2 -= (first * cell.cdf.ln() + from_above * cell.tail.ln()) / n;
        d = d.max((cell.cdf - a / n).abs()).max((cell.cdf - b / n).abs());
        a = b;
    }
    Goodness { lambda_squared, cramer_von_mises: w2, anderson_darling: a2, kolmogorov_smirnov: d }
}

/// Number of bins of λ²: 2 n^(2/5), and enough for its degrees of freedom.
fn wanted_bins(n: f64, estimated: usize) -> usize {
    ((2.0 * n.powf(0.4)) as usize).max(estimated + 2)
}

/// The count and the probability of each of `wanted` bins that are equally likely under the distribution.
fn equal_bins(cells: &[Cell], wanted: usize) -> Vec<(f64, f64)> {
    let mut bins = vec![(0.0, 1.0 / wanted as f64); wanted];
    for cell in cells {
        let bin = (cell.cdf * wanted as f64) as usize; // `as` saturates, and takes NaN to zero
        bins[bin.min(wanted - 1)].0 += cell.count;
    }
    bins
}

/// Cells joined until each bin has the probability of one of `wanted`; the last takes the distribution's
/// tail.
fn joined_bins(cells: &[Cell], wanted: usize) -> Vec<(f64, f64)> {
    let mut bins = Vec::new();
    let (mut count, mut from) = (0.0, 0.0);
    for cell in cells {
        count += cell.count;
        if cell.cdf - from >= 1.0 / wanted as f64 && cell.tail >= 1.0 / wanted as f64 {
            bins.push((count, cell.cdf - from));
            (count, from) = (0.0, cell.cdf);
        }
    }
    bins.push((count, 1.0 - from));
    bins
}

fn lambda_squared(bins: &[(f64, f64)], n: f64, estimated: usize) -> f64 {
    let (mut x2, mut k) = (0.0, 0.0);
    for (count, p) in bins {
        let expected = n * p;
        x2 += (count - expected).powi(2) / expected;
        k += (count - expected) / expected;
    }
    let freedom = bins.len() as f64 - 1.0 - estimated as f64;
    (x2 - k - freedom) / (n - 1.0)
}

/// Tests `draws` subsamples of `size` values, drawn with repetition, against `model` as if it had not been
/// fitted to them: near enough the truth where `points` are many times more. Values rounded to a tick are
/// spread over it as the distribution would have them (a randomized probability transform), so that a level
/// of 5 % is one.
pub fn subsamples(model: &Model, points: &Points, size: usize, draws: u32, rng: &mut Stream) -> Subsamples {
    let size = size.min(points.n as usize).max(1);
    let cumulative = points.cumulative();
    let mut passed = [0u32; 3];
    // Between which levels each value lies: once for those that are drawn, however often that is.
    let mut between: Vec<Option<(f64, f64)>> = vec![None; points.values.len()];
    let is_grouped = points.observation.is_grouped();
    for _ in 0..draws {
        let mut level = |_| {
            let at = points.draw_place(&cumulative, rng);
            let (below, above) = *between[at].get_or_insert_with(|| levels(model, points, points.values[at]));
            if is_grouped { below + rng.random::<f64>() * (above - below) } else { above }
        };
        let mut levels: Vec<f64> = (0..size).map(&mut level).collect();
        levels.sort_unstable_by(f64::total_cmp);
        for (passed, test) in passed.iter_mut().zip(uniform_tests(&levels)) {
            *passed += u32::from(test);
        }
    }
    let share = |count: u32| f64::from(count) / f64::from(draws.max(1));
    Subsamples {
        size,
        draws,
        anderson_darling_passed: share(passed[0]),
        cramer_von_mises_passed: share(passed[1]),
        kolmogorov_smirnov_passed: share(passed[2]),
    }
}

/// The distribution function at the lower and the upper end of a value's interval. A point drawn uniformly
/// between the two is uniform between 0 and 1 if the model is right.
fn levels(model: &Model, points: &Points, value: f64) -> (f64, f64) {
    let observation = points.observation;
    let is_least = value <= observation.least + observation.tick / 2.0;
    let is_open = is_least || !observation.is_grouped();
    let below = if is_open { 0.0 } else { observation.cdf_and_tail(model, value - observation.tick).0 };
    (below, observation.cdf_and_tail(model, value).0)
}

/// True for each test if sorted `levels` pass for uniform at 5 %, by Anderson and Darling, Cramér and von
/// Mises, and Kolmogorov and Smirnov: the case of a distribution that is fully given (D'Agostino and Stephens
/// 1986, table 4.2).
fn uniform_tests(levels: &[f64]) -> [bool; 3] {
    let cells: Vec<Cell> = levels
        .iter()
        .map(|u| u.clamp(1e-15, 1.0 - 1e-15))
        .map(|u| Cell { count: 1.0, cdf: u, tail: 1.0 - u })
        .collect();
    let n = levels.len() as f64;
    let found = exact(&cells, n, 0.0);
    let w2 = (found.cramer_von_mises - 0.4 / n + 0.6 / (n * n)) * (1.0 + 1.0 / n);
    let d = found.kolmogorov_smirnov * (n.sqrt() + 0.12 + 0.11 / n.sqrt());
    [found.anderson_darling < 2.492, w2 < 0.461, d < 1.358]
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed};
    use farfield_traffic::distribution::{Component, Family};

    fn model(family: Family, theta: [f64; 2]) -> Model {
        Model::single(Component::new(family, theta).expect("good parameters"))
    }

    fn near(name: &str, found: f64, oracle: f64) {
        assert!((found - oracle).abs() < 1e-6 * (1.0 + oracle.abs()), "{name}: {found} not {oracle}");
    }

    /// Against sums over order statistics, written out, on values with ties.
    #[test]
    fn exact_statistics_are_the_sums_of_the_textbook() {
        let mut values = vec![0.3, 0.3, 0.9, 1.7, 1.7, 1.7, 2.2, 5.0];
        let model = model(Family::Weibull, [1.1, 1.8]);
        let found = goodness(&model, &Points::new(values.clone()).expect("enough"));
        values.sort_unstable_by(f64::total_cmp);
        let n = values.len() as f64;
        let (mut w2, mut a2, mut d) = (1.0 / (12.0 * n), 0.0, 0.0f64);
        for (at, value) in values.iter().enumerate() {
            let i = at as f64 + 1.0;
            let f = model.cdf_and_tail(*value).0;
            let opposite = model.cdf_and_tail(values[values.len() - 1 - at]).1;
            w2 += (f - (2.0 * i - 1.0) / (2.0 * n)).powi(2);
            a2 -= (2.0 * i - 1.0) * (f.ln() + opposite.ln()) / n;
            d = d.max(i / n - f).max(f - (i - 1.0) / n);
        }
        near("W2", found.cramer_von_mises, w2);
        near("A2", found.anderson_darling, a2 - n);
        near("D", found.kolmogorov_smirnov, d);
    }

    /// λ² by hand: 100 values in the 12 equal bins of a distribution, 9 in four and 8 in the others: X² = 4 ·
    /// (2/3)² · 12/100 + 8 · (1/3)² · 12/100 = 0.32, K = 0, df = 12 − 1 − 1.
    #[test]
    fn lambda_squared_is_its_formula() {
        let bins: Vec<(f64, f64)> = (0..12).map(|i| (if i < 4 { 9.0 } else { 8.0 }, 1.0 / 12.0)).collect();
        near("lambda", lambda_squared(&bins, 100.0, 1), (0.32 - 10.0) / 99.0);
        assert_eq!(wanted_bins(100.0, 1), 12);
    }

    /// A distribution fits its own rounded draws; taken as exact, the same values look wrong.
    #[test]
    fn rounded_values_are_compared_with_the_rounded_distribution() {
        let model = model(Family::Lognormal, [1.0, 0.8]);
        let mut rng = Seed(5).stream(Purpose::User, 0);
        let distribution = model.distribution();
        let values: Vec<f64> = (0..5_000).map(|_| distribution.sample_count(&mut rng) as f64).collect();
        let rounded = goodness(&model, &Points::with_tick(values.clone(), 1.0).expect("enough"));
        let naive = goodness(&model, &Points::new(values.clone()).expect("enough"));
        assert!(rounded.anderson_darling < 6.0, "{rounded:?}");
        assert!(rounded.lambda_squared < 0.01, "{rounded:?}");
        assert!(naive.anderson_darling > 10.0 * rounded.anderson_darling, "{naive:?} against {rounded:?}");
        let points = Points::with_tick(values, 1.0).expect("enough");
        let passed = subsamples(&model, &points, 200, 200, &mut rng);
        assert!(passed.anderson_darling_passed > 0.88, "{passed:?}"); // 0.95 less 4.5 deviations of 200 trials
    }

    #[test]
    fn tests_hold_their_level_and_see_a_wrong_distribution() {
        const TRIALS: u32 = 2_000;
        let mut rng = Seed(6).stream(Purpose::User, 0);
        let mut passed = [0u32; 3];
        for _ in 0..TRIALS {
            let mut levels: Vec<f64> = (0..100).map(|_| rng.random()).collect();
            levels.sort_unstable_by(f64::total_cmp);
            passed.iter_mut().zip(uniform_tests(&levels)).for_each(|(p, test)| *p += u32::from(test));
        }
        // 0.95 of the trials, within five standard deviations.
        let limit = 5.0 * (f64::from(TRIALS) * 0.95 * 0.05).sqrt();
        for passed in passed {
            assert!((f64::from(passed) - 0.95 * f64::from(TRIALS)).abs() < limit, "{passed} of {TRIALS}");
        }
        let skewed: Vec<f64> = (0..100).map(|i| (f64::from(i) / 100.0).powi(2)).collect();
        assert_eq!(uniform_tests(&skewed), [false; 3]);
    }
}
