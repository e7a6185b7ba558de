//! Shares of requests among objects: the curve of popularity by rank, and Zipf's law where it holds.
//!
//! P(rank k) = k^(−s) / Σ j^(−s) over ranks 1 … R. The likeliest s makes the distribution's mean of ln k that
//! of the requests; its standard error is 1 / √(n Var ln k). R is not given: the law often holds for
//! the popular objects and not for those that came once or twice (whose number depends on the log's length),
//! so ranges are tried from the whole down to the first ten.

use serde::{Deserialize, Serialize};

/// The popularity of the objects of a log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Popularity {
    /// Objects that were asked for.
    pub objects: u64,
    /// Requests.
    pub requests: u64,
    /// Objects that were asked for once.
    pub once: u64,
    /// The distribution over all ranks; none with fewer than three objects.
    pub all: Option<ZipfFit>,
    /// The distribution over the widest range of ranks from the first for which it holds: the distribution
    /// functions are nowhere further apart than [`Popularity::DISTANCE_MAX`]. None if it holds for no range:
    /// then take the curve.
    pub holds: Option<ZipfFit>,
    /// The curve itself: ranks, about evenly spaced on a logarithmic scale, with their requests.
    pub curve: Vec<RankCount>,
}

/// Zipf's law for ranks 1 to `ranks`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ZipfFit {
    /// The last rank.
    pub ranks: u64,
    /// The exponent.
    pub exponent: f64,
    /// Standard error of the exponent, if ranks were known beforehand: the order by popularity is from the
    /// same requests, which biases the exponent up where counts are small.
    pub error: f64,
    /// The largest distance between the distribution's and the requests' distribution functions.
    pub distance: f64,
    /// The share of all requests that is for these ranks.
    pub share: f64,
}

/// A rank with its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RankCount {
    /// Rank, from 1.
    pub rank: u64,
    /// Requests for that object.
    pub requests: u64,
}

impl Popularity {
    /// Largest distance of the distribution functions at which Zipf's law holds.
    pub const DISTANCE_MAX: f64 = 0.03;

    /// Popularity by the number of requests for each object, in any order. Objects without a request do not
    /// count.
    pub fn of(counts: &[u64]) -> Popularity {
        let mut sorted: Vec<u64> = counts.iter().copied().filter(|count| *count > 0).collect();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let logs: Vec<f64> = (1..=sorted.len()).map(|rank| (rank as f64).ln()).collect();
        let total: u64 = sorted.iter().sum();
        let fit = |ranks: usize| zipf(&sorted[..ranks], &logs, total);
        let all = (sorted.len() >= 3).then(|| fit(sorted.len()));
        let ranges = std::iter::successors(Some(sorted.len()), |ranks| Some(ranks * 3 / 4));
        let holds = ranges
            .take_while(|ranks| *ranks >= 10)
            .map(fit)
            .find(|fit| fit.distance <= Popularity::DISTANCE_MAX);
        Popularity {
            objects: sorted.len() as u64,
            requests: total,
            once: sorted.iter().filter(|count| **count == 1).count() as u64,
            all,
            holds,
            curve: curve(&sorted),
        }
    }
}

fn zipf(counts: &[u64], logs: &[f64], total: u64) -> ZipfFit {
    let n: f64 = counts.iter().map(|c| *c as f64).sum();
    let wanted = counts.iter().zip(logs).map(|(c, ln)| *c as f64 * ln).sum::<f64>() / n;
    let moments = |exponent: f64| {
        logs[..counts.len()].iter().rev().fold([0.0; 3], |[s0, s1, s2], ln| {
            let weight = (-exponent * ln).exp();
            [s0 + weight, s1 + weight * ln, s2 + weight * ln * ln]
        })
    };
    // The distribution's mean of ln k falls in the exponent: Newton's method inside a bracket.
    let (mut low, mut high, mut exponent) = (-2.0, 20.0, 0.8);
    let mut variance = 1.0;
    for _ in 0..60 {
        let [s0, s1, s2] = moments(exponent);
        let mean = s1 / s0;
        variance = s2 / s0 - mean * mean;
        if mean > wanted {
            low = exponent
        } else {
            high = exponent
        }
        let newton = exponent + (mean - wanted) / variance;
        let next = if newton > low && newton < high { newton } else { (low + high) / 2.0 };
        let change: f64 = next - exponent;
        exponent = next;
        if change.abs() < 1e-12 {
            break;
        }
    }
    let [s0, ..] = moments(exponent);
    let (mut expected, mut seen, mut distance) = (0.0, 0.0, 0.0f64);
    for (count, ln) in counts.iter().zip(logs) {
        expected += (-exponent * ln).exp() / s0;
        seen += *count as f64 / n;
        distance = distance.max((expected - seen).abs());
    }
    let error = 1.0 / (n * variance).sqrt();
    ZipfFit { ranks: counts.len() as u64, exponent, error, distance, share: n / total as f64 }
}

fn curve(sorted: &[u64]) -> Vec<RankCount> {
    const A_DECADE: i32 = 20;
    let mut curve: Vec<RankCount> = Vec::new();
    for step in 0.. {
        let rank = 10f64.powf(f64::from(step) / f64::from(A_DECADE)).round() as usize;
        let Some(requests) = sorted.get(rank - 1) else { break };
        if curve.last().is_none_or(|last| last.rank < rank as u64) {
            curve.push(RankCount { rank: rank as u64, requests: *requests });
        }
    }
    curve
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed};
    use farfield_traffic::distribution::{Univariate, Zipf};

    #[test]
    fn an_exponent_comes_back() {
        for exponent in [0.6, 0.8, 1.0, 1.3] {
            let zipf = Zipf::new(300, exponent).expect("good parameters");
            let mut rng = Seed(3).stream(Purpose::Site, 0);
            let mut counts = vec![0u64; 300];
            (0..400_000).for_each(|_| counts[zipf.sample(&mut rng) as usize - 1] += 1);
            let found = Popularity::of(&counts);
            let all = found.all.expect("many objects");
            let off = (all.exponent - exponent).abs();
            // Sorting by the sample's own counts moves it by some thousandths.
            assert!(off < 4.0 * all.error + 0.005, "{exponent}: {all:?}");
            assert_eq!(found.holds.map(|fit| fit.ranks), Some(found.objects));
        }
    }

    #[test]
    fn where_it_does_not_hold_it_does_not() {
        let found = Popularity::of(&[100; 1_000]);
        assert!(found.holds.expect("uniform is exponent 0").exponent.abs() < 1e-9);
        let steps: Vec<u64> = (0..1_000).map(|at| if at < 500 { 1_000 } else { 1 }).collect();
        let found = Popularity::of(&steps);
        assert!(found.all.expect("many").distance > Popularity::DISTANCE_MAX);
        assert!(found.holds.expect("the uniform half").ranks <= 562);
        assert_eq!(Popularity::of(&[]).objects, 0);
    }
}
