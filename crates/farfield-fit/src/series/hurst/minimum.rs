//! The minimum of a function of one variable, by golden sections (Kiefer 1953).

/// Argument of the least `f` in [low, high], to 1e-6; for functions that fall, then rise.
pub(super) fn minimum(low: f64, high: f64, f: impl FnMut(f64) -> f64) -> f64 {
    minimum_to(1e-6, low, high, f)
}

/// Argument of the least `f` in [low, high], to `precision`; for functions that fall, then rise.
pub(crate) fn minimum_to(precision: f64, mut low: f64, mut high: f64, mut f: impl FnMut(f64) -> f64) -> f64 {
    let part = (5.0f64.sqrt() - 1.0) / 2.0;
    let (mut left, mut right) = (high - part * (high - low), low + part * (high - low));
    let (mut at_left, mut at_right) = (f(left), f(right));
    while high - low > precision {
        if at_left < at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - part * (high - low);
            at_left = f(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + part * (high - low);
            at_right = f(right);
        }
    }
    low + (high - low) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_minima_inside_and_at_an_end() {
        assert!((minimum(-3.0, 7.0, |x| (x - 1.25).powi(2)) - 1.25).abs() < 1e-6);
        assert!((minimum(0.0, 1.0, |x| x) - 0.0).abs() < 1e-6);
    }
}
