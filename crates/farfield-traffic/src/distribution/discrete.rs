//! The distributions of counts and ranks, as whole numbers in an `f64`.

use super::{ParameterCheck, ParameterError, Univariate, power};
use farfield_base::random::Stream;
use rand_distr::Distribution as _;

/// The number of trials up to and with the first success: P(k) = (1 − p)^(k−1) p on k = 1, 2, … Mean 1 / p,
/// variance (1 − p) / p². A session that ends after each page with probability p has so many pages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Geometric {
    p: f64,
    failures: rand_distr::Geometric,
}

impl Geometric {
    /// Below this, 1 − p is 1 in an `f64`.
    const P_MIN: f64 = 1e-15;

    /// With the probability `p` of success, from 1e-15 to 1.
    pub fn with_p(p: f64) -> Result<Geometric, ParameterError> {
        Geometric::build(p, "p", p, "write a probability above 0 and up to 1")
    }

    /// With the given mean, from 1 to 1e15.
    pub fn with_mean(mean: f64) -> Result<Geometric, ParameterError> {
        Geometric::build(1.0 / mean, "mean", mean, "write a number from 1 to 1e15")
    }

    fn build(
        p: f64,
        parameter: &'static str,
        given: f64,
        expected: &'static str,
    ) -> Result<Geometric, ParameterError> {
        ParameterCheck("geometric").require(parameter, given, (Self::P_MIN..=1.0).contains(&p), expected)?;
        let failures = rand_distr::Geometric::new(p).map_err(|_| ParameterError {
            distribution: "geometric",
            parameter,
            given,
            expected,
        })?;
        Ok(Geometric { p, failures })
    }
}

impl Univariate for Geometric {
    fn sample(&self, rng: &mut Stream) -> f64 {
        1.0 + self.failures.sample(rng) as f64
    }
    fn mean(&self) -> f64 {
        1.0 / self.p
    }
    fn variance(&self) -> f64 {
        (1.0 - self.p) / (self.p * self.p)
    }
    fn support(&self) -> (f64, f64) {
        (1.0, if self.p == 1.0 { 1.0 } else { f64::INFINITY })
    }
}

/// Ranks by popularity: P(k) = k^(−exponent) / H(exponent) on k = 1 … n, where H(s) = Σ k^(−s). Mean
/// H(exponent−1) / H(exponent), variance H(exponent−2) / H(exponent) less the squared mean. Exponent 0 is
/// uniform; documents on the Web have 0.6 to 1 (Breslau et al. 1999).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zipf {
    n: u64,
    exponent: f64,
    ranks: rand_distr::Zipf<f64>,
}

impl Zipf {
    /// Above this, ranks are no longer whole numbers in an `f64`.
    const N_MAX: u64 = 1 << 53;

    /// Among `n` ranks, 1 to 2⁵³, with `exponent` from 0 up.
    pub fn new(n: u64, exponent: f64) -> Result<Zipf, ParameterError> {
        let check = ParameterCheck("zipf");
        check.require(
            "n",
            n as f64,
            (1..=Self::N_MAX).contains(&n),
            "write a whole number from 1 to 2^53",
        )?;
        const FROM_ZERO: &str = "write a number from 0 up";
        check.require("exponent", exponent, exponent.is_finite() && exponent >= 0.0, FROM_ZERO)?;
        // Within 1e-9 of 1 but not on it, the sampler's 1 / (1 - exponent) loses its digits.
        let drawn = if (exponent - 1.0).abs() < 1e-9 { 1.0 } else { exponent };
        let ranks = rand_distr::Zipf::new(n as f64, drawn).map_err(|_| ParameterError {
            distribution: "zipf",
            parameter: "exponent",
            given: exponent,
            expected: FROM_ZERO,
        })?;
        Ok(Zipf { n, exponent, ranks })
    }

    /// Σ k^by P(k).
    fn moment(&self, by: f64) -> f64 {
        power::sum(by - self.exponent, self.n) / power::sum(-self.exponent, self.n)
    }
}

impl Univariate for Zipf {
    fn sample(&self, rng: &mut Stream) -> f64 {
        self.ranks.sample(rng).min(self.n as f64) // rounding in the sampler can reach n + 1
    }
    fn mean(&self) -> f64 {
        self.moment(1.0)
    }
    fn variance(&self) -> f64 {
        (self.moment(2.0) - self.mean().powi(2)).max(0.0)
    }
    fn support(&self) -> (f64, f64) {
        (1.0, self.n as f64)
    }
}
