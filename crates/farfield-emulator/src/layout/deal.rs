//! Things dealt to classes by weight, so that every class has its part of any first things.

/// The class of each of `count` things, as an index of `weights`, all of which are above zero.
///
/// Among the first n, class i has n·wᵢ within less than one: the schedule of Tijdeman (1980, "The chairman
/// assignment problem", Discrete Mathematics 32), which serves the class whose next thing is due first among
/// those whose turn may have come. So any run of consecutive things has the shares within less than two.
pub fn deal(weights: &[f64], count: u32) -> Vec<u16> {
    let total: f64 = weights.iter().sum();
    let parts: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
    // With k classes the bound is 1 - 1/(2k - 2).
    let slack = if parts.len() > 1 { 1.0 / (2 * parts.len() - 2) as f64 } else { 0.0 };
    let mut dealt = vec![0_u32; parts.len()];
    let turn = |n: u32| {
        let n = f64::from(n) + 1.0;
        // The last instant at which the class may have its next thing and stay within the bound.
        let due = |class: usize| (f64::from(dealt[class]) + 1.0 - slack) / parts[class];
        let lacks = |class: usize| n * parts[class] - f64::from(dealt[class]);
        // The sum of what classes lack is one, so some class lacks its part of that; rounding must not hide
        // it.
        let may = (0..parts.len()).filter(|&class| lacks(class) >= slack - 1e-9);
        let class = may.min_by(|&a, &b| due(a).total_cmp(&due(b))).unwrap_or(0);
        dealt[class] += 1;
        class as u16
    };
    (0..count).map(turn).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worst distance from the shares over all prefixes.
    fn discrepancy(weights: &[f64], count: u32) -> f64 {
        let total: f64 = weights.iter().sum();
        let mut dealt = vec![0.0; weights.len()];
        let mut worst = 0.0_f64;
        for (n, class) in deal(weights, count).into_iter().enumerate() {
            dealt[usize::from(class)] += 1.0;
            for (dealt, weight) in dealt.iter().zip(weights) {
                worst = worst.max((dealt - (n as f64 + 1.0) * weight / total).abs());
            }
        }
        worst
    }

    #[test]
    fn every_first_clients_have_the_shares_within_one() {
        for weights in [
            &[1.0][..],
            &[1.0, 1.0],
            &[60.0, 25.0, 10.0, 5.0],
            &[0.3, 0.3, 0.4],
            &[1000.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
            &[1.0; 64],
            &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7],
        ] {
            let worst = discrepancy(weights, 3000);
            assert!(worst < 1.0, "{worst} with {weights:?}");
        }
    }

    #[test]
    fn whole_shares_come_out_exactly() {
        let dealt = deal(&[3.0, 2.0, 1.0], 600);
        let count = |class| dealt.iter().filter(|&&of| of == class).count();
        assert_eq!([count(0), count(1), count(2)], [300, 200, 100]);
        assert_eq!(deal(&[1.0, 1.0], 4), [0, 1, 0, 1]);
        assert_eq!(deal(&[2.0, 2.0, 2.0, 2.0], 8), [0, 1, 2, 3, 0, 1, 2, 3]);
    }
}
