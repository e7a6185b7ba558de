//! The special functions that densities, distribution functions and estimators need and `libm` lacks: ψ, ψ′,
//! the incomplete gamma function and the scaled complementary error function. Formulas: NIST Digital Library
//! of Mathematical Functions.
//!
//! statrs has neither ψ′ nor the scaled error function, so it is no substitute; it is the independent oracle
//! of the tests.

use std::f64::consts::{PI, SQRT_2};

/// ψ(x) for x > 0, to about 1e-13 (DLMF 5.5.2 and 5.11.2).
pub fn digamma(mut x: f64) -> f64 {
    let mut shifted = 0.0;
    while x < 12.0 {
        shifted -= 1.0 / x;
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series = y * (1.0 / 12.0 - y * (1.0 / 120.0 - y * (1.0 / 252.0 - y * (1.0 / 240.0 - y / 132.0))));
    shifted + x.ln() - 0.5 / x - series
}

/// ψ′(x) for x > 0, to about 1e-13 (DLMF 5.15.5 and 5.15.8).
pub fn trigamma(mut x: f64) -> f64 {
    let mut shifted = 0.0;
    while x < 12.0 {
        shifted += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series = y * (1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y * (1.0 / 30.0 - y * 5.0 / 66.0))));
    shifted + 1.0 / x + y / 2.0 + series / x
}

/// The regularized incomplete gamma functions (P(a, x), Q(a, x)), for a > 0 and x ≥ 0: a series below a + 1
/// (DLMF 8.11.4), Legendre's continued fraction above it (DLMF 8.9.2), each where it converges fast.
pub fn incomplete_gamma(a: f64, x: f64) -> (f64, f64) {
    if x <= 0.0 {
        return (0.0, 1.0);
    }
    let scale = (a * x.ln() - x - libm::lgamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        while term > sum * 1e-16 {
            n += 1.0;
            term *= x / n;
            sum += term;
        }
        let p = (scale * sum).min(1.0);
        return (p, 1.0 - p);
    }
    const TINY: f64 = 1e-300;
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut fraction = d;
    for i in 1..100_000 {
        let i = f64::from(i);
        let numerator = -i * (i - a);
        b += 2.0;
        d = 1.0 / away_from_zero(numerator * d + b, TINY);
        c = away_from_zero(b + numerator / c, TINY);
        fraction *= d * c;
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    let q = (scale * fraction).min(1.0);
    (1.0 - q, q)
}

fn away_from_zero(x: f64, tiny: f64) -> f64 {
    if x.abs() < tiny { tiny } else { x }
}

/// Φ(z), the distribution function of the standard normal distribution.
pub fn normal_cdf(z: f64) -> f64 {
    libm::erfc(-z / SQRT_2) / 2.0
}

/// e^(x²) erfc(x) for x ≥ 0, which underflows nowhere: the product itself below 5, Laplace's continued
/// fraction above (DLMF 7.9.1).
pub fn erfcx(x: f64) -> f64 {
    if x < 5.0 {
        return (x * x).exp() * libm::erfc(x);
    }
    const TERMS: u32 = 40;
    let fraction = (1..=TERMS).rev().fold(x, |below, term| x + f64::from(term) / 2.0 / below);
    1.0 / (PI.sqrt() * fraction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_statrs(a in 0.01..200.0f64, x in 0.0..300.0f64) {
            use statrs::function::gamma;
            prop_assert!((digamma(a) - gamma::digamma(a)).abs() < 1e-10 * (1.0 + gamma::digamma(a).abs()));
            let (p, q) = incomplete_gamma(a, x);
            prop_assert!((p - gamma::gamma_lr(a, x)).abs() < 1e-10, "P({a}, {x}) = {p}");
            prop_assert!((p + q - 1.0).abs() < 1e-14);
        }

        #[test]
        fn trigamma_is_the_slope_of_digamma(x in 0.05..100.0f64) {
            let step = 1e-4 * x;
            let slope = (digamma(x + step) - digamma(x - step)) / (2.0 * step);
            prop_assert!((trigamma(x) / slope - 1.0).abs() < 1e-6, "{} against {slope}", trigamma(x));
        }
    }

    #[test]
    fn psi_has_its_known_values() {
        const EULER: f64 = 0.577_215_664_901_532_9;
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-12, "{found} not {wanted}");
        near(digamma(1.0), -EULER);
        near(digamma(0.5), -EULER - 2.0 * 2.0f64.ln());
        near(trigamma(1.0), PI * PI / 6.0);
        near(trigamma(0.5), PI * PI / 2.0);
        near(trigamma(11.0), PI * PI / 6.0 - (1..=10).map(|k| 1.0 / f64::from(k * k)).sum::<f64>());
    }

    /// Against its own asymptotic series (DLMF 7.12.1) far out, and where product and fraction meet.
    #[test]
    fn the_scaled_error_function_is_one_function() {
        let (below, above) = (erfcx(5.0 - 1e-12), erfcx(5.0));
        assert!((below / above - 1.0).abs() < 1e-12, "{below} and {above}");
        for x in [30.0f64, 1e3, 1e6] {
            let y = 1.0 / (2.0 * x * x);
            let series = (1.0 - y * (1.0 - y * (3.0 - y * 15.0))) / (x * PI.sqrt());
            assert!((erfcx(x) / series - 1.0).abs() < 1e-10, "{x}: {} and {series}", erfcx(x));
        }
        assert!((erfcx(0.0) - 1.0).abs() < 1e-15);
    }
}
