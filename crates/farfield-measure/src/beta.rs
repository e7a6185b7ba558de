//! The beta distribution, and Student's t by it, for parameters of any size: those of the beta distribution
//! are counts of requests, of which a run may have a thousand million.
//!
//! The regularized incomplete beta function is computed by its continued fraction (DLMF 8.17.22) with the
//! method of Lentz (Press et al. 2007, "Numerical Recipes", section 6.4), which takes O(√max(a, b)) steps;
//! quantiles by bisection, so that none takes for ever.

/// The relative precision of the fraction.
const PRECISION: f64 = 1e-13;
/// The largest sum of parameters that the fraction is computed for: it takes thousands of steps there.
const COUNTED: f64 = 1e6;
/// Halvings of an interval: what is left of 1 is less than any difference that matters.
const HALVINGS: u32 = 80;

/// The probability that a beta-distributed number with parameters `a` and `b`, both above 0, is at most `x`.
pub(crate) fn probability(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    let ln_beta = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    let front = (a * x.ln() + b * (-x).ln_1p() - ln_beta).exp();
    // The fraction converges fast on its own side of the mean.
    match x < (a + 1.0) / (a + b + 2.0) {
        true => front * fraction(a, b, x) / a,
        false => 1.0 - front * fraction(b, a, 1.0 - x) / b,
    }
}

/// The number that a beta-distributed one is below with probability `p`.
pub(crate) fn quantile(a: f64, b: f64, p: f64) -> f64 {
    // Exactly, where one of both is 1: what has no failures among any number of requests.
    if a == 1.0 {
        return -((-p).ln_1p() / b).exp_m1();
    }
    if b == 1.0 {
        return (p.ln() / a).exp();
    }
    if a + b > COUNTED {
        return near_normal(a, b, p);
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if probability(a, b, middle) < p { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// The quantile where the distribution is all but normal, or, beside a small parameter, that of the gamma
/// distribution (Wilson and Hilferty 1931), which is off by a few thousandths.
fn near_normal(a: f64, b: f64, p: f64) -> f64 {
    if !(a + b).is_finite() {
        return if p > 0.5 { 1.0 } else { 0.0 };
    }
    if b < a {
        return 1.0 - near_normal(b, a, 1.0 - p);
    }
    let (mean, z) = (a / (a + b), normal_quantile(p));
    let found = if a < 1e4 {
        mean * (1.0 - 1.0 / (9.0 * a) + z / (3.0 * a.sqrt())).powi(3)
    } else {
        let deviation = (mean * (1.0 - mean) / (a + b + 1.0)).sqrt();
        let skewness = 2.0 * (b - a) * (a + b + 1.0).sqrt() / ((a + b + 2.0) * (a * b).sqrt());
        // Two terms of Cornish and Fisher's expansion (1938).
        mean + deviation * (z + skewness * (z * z - 1.0) / 6.0)
    };
    found.clamp(0.0, 1.0)
}

/// The number that a normal one is below with probability `p`.
fn normal_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        let below = 0.5 * libm::erfc(-middle / std::f64::consts::SQRT_2);
        if below < p { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// The t that a number of Student's distribution with so many degrees of freedom is not farther from 0 than,
/// with probability `level`.
pub(crate) fn student_quantile(level: f64, degrees: f64) -> f64 {
    if degrees > COUNTED {
        return normal_quantile(f64::midpoint(level, 1.0));
    }
    let share = quantile(0.5, degrees / 2.0, level);
    (degrees * share / (1.0 - share)).sqrt()
}

/// The probability that a number of Student's distribution is at least as far from 0 as `t`.
pub(crate) fn student_beyond(t: f64, degrees: f64) -> f64 {
    match degrees > COUNTED {
        true => libm::erfc(t / std::f64::consts::SQRT_2),
        false => probability(degrees / 2.0, 0.5, degrees / (degrees + t * t)),
    }
}

fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let tiny = f64::MIN_POSITIVE / f64::EPSILON;
    let bounded = |value: f64| if value.abs() < tiny { tiny } else { value };
    let (mut c, mut d) = (1.0, 1.0 / bounded(1.0 - (a + b) * x / (a + 1.0)));
    let mut sum = d;
    let most = 100.0 + 20.0 * a.max(b).sqrt();
    let mut m = 1.0;
    while m < most {
        let even = m * (b - m) * x / ((a - 1.0 + 2.0 * m) * (a + 2.0 * m));
        d = 1.0 / bounded(1.0 + even * d);
        c = bounded(1.0 + even / c);
        sum *= c * d;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 1.0 + 2.0 * m));
        d = 1.0 / bounded(1.0 + odd * d);
        c = bounded(1.0 + odd / c);
        sum *= c * d;
        if (c * d - 1.0).abs() < PRECISION {
            break;
        }
        m += 1.0;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64, relative: f64) {
        assert!((found / expected - 1.0).abs() < relative, "{found}, not {expected}");
    }

    /// Values of tables, and closed forms: I(x; 2, 2) is x²(3 − 2x).
    #[test]
    fn small_parameters_are_as_in_tables() {
        for x in [1e-9_f64, 0.1, 0.5, 0.9, 1.0 - 1e-9] {
            near(probability(2.0, 2.0, x), x * x * (3.0 - 2.0 * x), 1e-9);
            near(probability(0.5, 0.5, x), 2.0 / std::f64::consts::PI * x.sqrt().asin(), 1e-9);
        }
        assert_eq!([probability(2.0, 3.0, 0.0), probability(2.0, 3.0, 1.0)], [0.0, 1.0]);
        for (degrees, t) in [(1.0, 12.706_204_7), (7.0, 2.364_624_3), (30.0, 2.042_272_5), (1e5, 1.959_987_7)]
        {
            near(student_quantile(0.95, degrees), t, 1e-7);
            near(student_beyond(t, degrees), 0.05, 1e-6);
        }
        near(quantile(3.0, 8.0, 0.025), 0.066_739_5, 1e-6);
    }

    /// Counts as runs have them, up to a thousand million: no failure, one, a share of them. A library's
    /// search for a quantile did not end at 7,566,051 requests without a failure.
    #[test]
    fn large_parameters_come_to_an_end() {
        for requests in [1_000.0, 719_843.0, 2_881_514.0, 7_566_051.0, 1e8, 1e9_f64] {
            // 1 − (α/2)^(1/n), which is ln(2/α)/n where that is small.
            near(quantile(1.0, requests, 0.975), 3.688_879_454 / requests, 2.0 / requests.sqrt());
            near(quantile(requests, 1.0, 0.025), 1.0 - 3.688_879_454 / requests, 1e-5);
            // One failure: between those of the Poisson distribution (Garwood 1936).
            near(quantile(1.0, requests, 0.025), 0.025_317_808 / requests, 1e-3);
            near(quantile(2.0, requests - 1.0, 0.975), 5.571_643_391 / requests, 0.01);
            for share in [0.001, 0.02, 0.5, 0.98] {
                let failed = (requests * share).round();
                if failed < 100.0 || requests - failed < 100.0 || requests > 1e8 {
                    continue;
                }
                // Close to the normal distribution.
                let deviation = (share * (1.0 - share) / requests).sqrt();
                let high = quantile(failed + 1.0, requests - failed, 0.975);
                let off = (high - share - 1.959_964 * deviation).abs() / deviation;
                assert!(off < 6.0 / failed.min(requests - failed).sqrt() + 1e-3, "{requests} {share}: {off}");
                if requests < 1e6 {
                    near(probability(failed, requests - failed, share), 0.5, 0.05);
                }
            }
        }
    }
}
