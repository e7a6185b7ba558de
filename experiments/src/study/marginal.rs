//! The marginal distribution of counts: single distributions in order of fit, and a plot of quantiles.

use crate::page::{Table, digits, percent};
use farfield_base::random::{Purpose, Seed};
use farfield_fit::{Model, Points, Ranking, Trials, rank};
use farfield_report::chart::{Axis, Chart, Mark, Series};

/// The single distributions of whole numbers, those of 0 left out, the best first. `None` if nearly all are
/// alike.
pub fn of_counts(counts: &[f64]) -> Option<Ranking> {
    ranked(counts.iter().copied().filter(|count| *count > 0.0).collect(), 1.0)
}

/// The single distributions of exact values above 0, the best first.
pub fn of_values(values: &[f64]) -> Option<Ranking> {
    ranked(values.to_vec(), 0.0)
}

fn ranked(values: Vec<f64>, tick: f64) -> Option<Ranking> {
    let points = Points::with_tick(values, tick).ok()?;
    let trials = Trials::singles();
    Some(rank(&points, &trials, &mut Seed(1).stream(Purpose::User, 5)))
}

/// The distributions with their statistics.
pub fn table(of: &str, ranking: &Ranking) -> Table {
    let heads = ["distribution", "parameters", "λ²", "AD", "CVM", "subsamples passed"];
    let mut table = Table::new(format!("{of}: single distributions, the best first."), &heads);
    for candidate in &ranking.candidates {
        let goodness = &candidate.goodness;
        let parameters = candidate
            .estimates
            .iter()
            .map(|estimate| format!("{} {}", estimate.name, digits(estimate.value)));
        table.push([
            candidate.name.clone(),
            parameters.collect::<Vec<_>>().join(", "),
            digits(goodness.lambda_squared),
            digits(goodness.anderson_darling),
            digits(goodness.cramer_von_mises),
            percent(candidate.subsamples.anderson_darling_passed),
        ]);
    }
    table
}

/// Quantiles of `values` against those of the first distribution and of the Weibull, lognormal and normal
/// ones: a straight line where a distribution holds.
pub fn chart(title: &str, values: &[f64], ranking: &Ranking) -> Chart {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let shares: Vec<f64> = (1..100).map(|step| f64::from(step) / 100.0).collect();
    let data = |share: f64| sorted[((share * sorted.len() as f64) as usize).min(sorted.len() - 1)];
    let (least, most) = (data(0.01), data(0.99));
    let shown = |at: usize, name: &str| at == 0 || ["weibull", "lognormal", "normal"].contains(&name);
    let distributions =
        ranking.candidates.iter().enumerate().filter(|(at, distribution)| shown(*at, &distribution.name));
    let curves = distributions.filter_map(|(_, candidate)| {
        let distribution = candidate.model()?;
        let points = shares.iter().map(|share| (quantile(&distribution, *share, most), data(*share)));
        Some(Series::new(candidate.name.clone(), Mark::Line, points))
    });
    let equal = Series::new("equal", Mark::Dashes, vec![(least, least), (most, most)]);
    Chart::new(
        title,
        Axis::linear("quantile of the distribution"),
        Axis::linear("quantile of the data"),
        curves.chain(std::iter::once(equal)).collect(),
    )
}

/// The value that a share of a distribution's values does not exceed, by bisection from 0 to ten times
/// `most`.
fn quantile(distribution: &Model, share: f64, most: f64) -> f64 {
    let (mut low, mut high) = (0.0, 10.0 * most);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if distribution.cdf_and_tail(middle).0 < share { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_fit::{Component, Family};

    #[test]
    fn quantiles_invert_the_distribution_function() {
        let distribution = Model::single(Component::new(Family::Exponential, [2.0, 0.0]).unwrap());
        assert!((quantile(&distribution, 0.5, 10.0) - 2.0 * 2f64.ln()).abs() < 1e-9);
    }

    #[test]
    fn counts_that_are_alike_follow_no_distribution() {
        assert!(of_counts(&[3.0; 100]).is_none());
        assert!(of_counts(&[0.0, 1.0, 2.0, 3.0, 2.0, 1.0]).is_some());
    }
}
