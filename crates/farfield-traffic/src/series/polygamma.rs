//! The first two derivatives of ln Γ, by their recurrence up to 8 and their asymptotic series from there
//! (Abramowitz and Stegun 1964, 6.3.5, 6.3.18, 6.4.6 and 6.4.12). For x > 0, to about 1e-9.

/// ψ(x), the derivative of ln Γ.
pub(super) fn digamma(mut x: f64) -> f64 {
    let mut below = 0.0;
    while x < 8.0 {
        below -= 1.0 / x;
        x += 1.0;
    }
    let r = 1.0 / (x * x);
    below + x.ln() - 0.5 / x - r * (1.0 / 12.0 - r * (1.0 / 120.0 - r * (1.0 / 252.0 - r / 240.0)))
}

/// ψ′(x), which is also Hurwitz' ζ(2, x).
pub(super) fn trigamma(mut x: f64) -> f64 {
    let mut below = 0.0;
    while x < 8.0 {
        below += 1.0 / (x * x);
        x += 1.0;
    }
    let r = 1.0 / (x * x);
    below + 1.0 / x + 0.5 * r + r / x * (1.0 / 6.0 - r * (1.0 / 30.0 - r * (1.0 / 42.0 - r / 30.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn known_values() {
        const EULER: f64 = 0.577_215_664_901_532_9;
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-9, "{found} not {wanted}");
        near(digamma(1.0), -EULER);
        near(digamma(0.5), -EULER - 2.0 * 2.0f64.ln());
        near(digamma(20.0), statrs::function::gamma::digamma(20.0));
        near(trigamma(1.0), PI * PI / 6.0);
        near(trigamma(0.5), PI * PI / 2.0);
        near(trigamma(11.0), PI * PI / 6.0 - (1..=10).map(|k| 1.0 / f64::from(k * k)).sum::<f64>());
    }
}
