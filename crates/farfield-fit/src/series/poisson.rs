//! Test of arrivals as a Poisson process, whose rate may change slowly.
//!
//! Time is cut into blocks within which the rate hardly changes. Given how many arrivals a block has, those
//! of a Poisson process lie uniformly in it, whatever the rate: with the j-th of J arrivals at Tⱼ in a block
//! of length L, (J + 1 − j) · −ln((L − Tⱼ) / (L − Tⱼ₋₁)) are independent exponentials of mean 1 over all
//! blocks (Brown, Gans, Mandelbaum, Sakov, Shen, Zeltyn and Zhao 2005, "Statistical analysis of a telephone
//! call center", section 3.1). So the two things that Paxson and Floyd (1995, "Wide area traffic", appendix
//! A) ask of each block, exponential gaps and independent ones, are asked of all blocks together.
//!
//! A clock with coarse steps makes ties, and ties make gaps of zero: spread such arrivals over their step
//! first.

use super::SeriesError;
use farfield_base::{Duration, Instant};

/// Test of a Poisson process; small p-values reject it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PoissonTest {
    /// Number of transformed gaps.
    pub gaps: usize,
    /// The largest distance between their distribution function and the exponential one.
    pub distance: f64,
    /// Probability of such a distance or a larger for a Poisson process (Kolmogorov and Smirnov).
    pub exponential_p: f64,
    /// The correlation of neighbouring gaps in a block.
    pub correlation: f64,
    /// Probability of such a correlation or a stronger for a Poisson process, of either sign.
    pub independence_p: f64,
}

impl PoissonTest {
    /// True unless one of the two tests speaks against Poisson; a process that is Poisson fails with the
    /// probability `level`, which the tests share (Bonferroni).
    pub fn passes(&self, level: f64) -> bool {
        self.exponential_p.min(self.independence_p) >= level / 2.0
    }
}

/// Tests `arrivals`, in order, from `from` on: those within `blocks` blocks, each `block` long. Takes at
/// least 20 of them.
///
/// # Errors
/// Too few arrivals.
pub fn poisson_test(
    arrivals: &[Instant],
    from: Instant,
    block: Duration,
    blocks: usize,
) -> Result<PoissonTest, SeriesError> {
    const GAPS_MIN: usize = 20;
    let mut gaps = Vec::with_capacity(arrivals.len());
    // Sums over neighbours within a block, of gaps less their mean of 1.
    let (mut products, mut pairs) = (0.0, 0usize);
    let mut rest = &arrivals[arrivals.partition_point(|at| *at < from)..];
    for index in 0..blocks as u64 {
        let begins = from + block.times(index);
        let inside = rest.partition_point(|at| at.since(begins) < block);
        let first = gaps.len();
        transformed(&rest[..inside], begins, block, &mut gaps);
        let neighbours = gaps[first..].windows(2);
        pairs += neighbours.len();
        products += neighbours.map(|pair: &[f64]| (pair[0] - 1.0) * (pair[1] - 1.0)).sum::<f64>();
        rest = &rest[inside..];
    }
    if gaps.len() < GAPS_MIN || pairs == 0 {
        return Err(SeriesError::TooShort { given: gaps.len(), needed: GAPS_MIN });
    }
    let correlation = products / pairs as f64;
    let normal = correlation.abs() * (pairs as f64).sqrt();
    let distance = distance_to_exponential(&mut gaps);
    Ok(PoissonTest {
        gaps: gaps.len(),
        distance,
        exponential_p: kolmogorov_p(distance, gaps.len()),
        correlation,
        independence_p: libm::erfc(normal / std::f64::consts::SQRT_2),
    })
}

fn transformed(arrivals: &[Instant], begins: Instant, block: Duration, gaps: &mut Vec<f64>) {
    let mut left = block.as_secs_f64();
    for (before, at) in arrivals.iter().enumerate() {
        let next_left = (block - at.since(begins)).as_secs_f64();
        gaps.push((arrivals.len() - before) as f64 * (left / next_left).ln());
        left = next_left;
    }
}

/// The statistic of Kolmogorov and Smirnov against the exponential distribution of mean 1. Sorts `gaps`.
fn distance_to_exponential(gaps: &mut [f64]) -> f64 {
    gaps.sort_unstable_by(f64::total_cmp);
    let n = gaps.len() as f64;
    let distance = |(i, gap): (usize, &f64)| {
        let wanted = -(-gap).exp_m1();
        (wanted - i as f64 / n).max((i + 1) as f64 / n - wanted)
    };
    gaps.iter().enumerate().map(distance).fold(0.0, f64::max)
}

/// P(D ≥ `distance`) for n values, by Kolmogorov's limit with the correction of Stephens (1970).
fn kolmogorov_p(distance: f64, n: usize) -> f64 {
    let root = (n as f64).sqrt();
    let x = (root + 0.12 + 0.11 / root) * distance;
    if x < 0.2 {
        return 1.0; // where the series, not yet alternating away, is 1 to twelve digits
    }
    let term = |k: i32| {
        let sign = if k % 2 == 1 { 2.0 } else { -2.0 };
        sign * (-2.0 * f64::from(k * k) * x * x).exp()
    };
    (1..=40).map(term).sum::<f64>().clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kolmogorov_has_its_printed_quantiles() {
        // Smirnov (1948): 1.36 at 5 %, 1.63 at 1 %, for large n.
        for (x, p) in [(1.3581, 0.05), (1.6276, 0.01), (0.8276, 0.5)] {
            let n = 100_000_000;
            let found = kolmogorov_p(x / (n as f64).sqrt(), n);
            assert!((found - p).abs() < 1e-4, "{found} at {x}");
        }
    }

    #[test]
    fn a_block_knows_its_exponentials() {
        let at = [1u64, 3].map(Instant::from_ns);
        let mut gaps = Vec::new();
        transformed(&at, Instant::ZERO, Duration::from_ns(4), &mut gaps);
        let wanted = [2.0 * (4.0f64 / 3.0).ln(), 3.0f64.ln()];
        assert!(gaps.iter().zip(wanted).all(|(found, wanted)| (found - wanted).abs() < 1e-12), "{gaps:?}");
    }

    #[test]
    fn few_arrivals_are_no_test() {
        let error = poisson_test(&[Instant::ZERO], Instant::ZERO, Duration::from_secs(1), 1);
        assert_eq!(error, Err(SeriesError::TooShort { given: 1, needed: 20 }));
    }
}
