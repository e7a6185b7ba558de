//! Sums and integrals of powers, from which the moments of the power laws follow.

/// ∫ₐᵇ xʲ dx for 0 < a ≤ b, without cancelling where j is near −1.
pub(super) fn integral(j: f64, a: f64, b: f64) -> f64 {
    let logarithm = (b / a).ln();
    let grown = (j + 1.0) * logarithm;
    // (e^y − 1) / y tends to 1 as y tends to 0.
    let ratio = if grown == 0.0 { 1.0 } else { grown.exp_m1() / grown };
    a.powf(j + 1.0) * logarithm * ratio
}

/// Σ kʲ for k from 1 to n.
///
/// The first terms are added one by one, the rest by the formula of Euler and Maclaurin to its third
/// derivative, whose error at that distance is below the rounding.
pub(super) fn sum(j: f64, n: u64) -> f64 {
    const EXACT: u64 = 1_000;
    let add = |from: u64, to: u64| (from..=to).rev().map(|k| (k as f64).powf(j)).sum::<f64>();
    if n <= EXACT {
        return add(1, n);
    }
    let (a, b) = (EXACT as f64, n as f64);
    let first = |x: f64| j * x.powf(j - 1.0);
    let third = |x: f64| j * (j - 1.0) * (j - 2.0) * x.powf(j - 3.0);
    add(1, EXACT - 1) + integral(j, a, b) + (a.powf(j) + b.powf(j)) / 2.0 + (first(b) - first(a)) / 12.0
        - (third(b) - third(a)) / 720.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_formula_agrees_with_adding_up(j in -4.0..3.0f64, n in 1_001u64..20_000) {
            let added: f64 = (1..=n).rev().map(|k| (k as f64).powf(j)).sum();
            prop_assert!((sum(j, n) / added - 1.0).abs() < 1e-12, "{} against {added}", sum(j, n));
        }

        #[test]
        fn the_integral_is_smooth_through_the_logarithm(by in -1e-9..1e-9f64, b in 1.0..1e6f64) {
            let expected = b.ln() * (1.0 + by * b.ln() / 2.0);
            prop_assert!((integral(-1.0 + by, 1.0, b) - expected).abs() <= 1e-12 * expected);
        }
    }

    #[test]
    fn known_sums() {
        assert!((sum(0.0, 1_000_000) / 1e6 - 1.0).abs() < 1e-14);
        assert!((sum(1.0, 1_000_000) / 500_000_500_000.0 - 1.0).abs() < 1e-14);
        assert!((sum(-1.0, 1_000_000) - 14.392_726_722_865_724).abs() < 1e-12);
    }
}
