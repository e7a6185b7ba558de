//! Long series thinned: of each stretch a percentile or the extremes stay, never a mean, which would hide
//! what a reader looks for.

/// Points of a line that are kept: more than a screen has columns.
pub(super) const POINTS: usize = 1000;

/// Values of a stretch that stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stays {
    /// The least and the largest value, where they stood.
    Extremes,
    /// The largest value.
    Largest,
    /// The median.
    Median,
}

/// At most [`POINTS`] of `points`, which are in order of their first number.
pub(super) fn thinned(points: &[(f64, f64)], stays: Stays) -> Vec<(f64, f64)> {
    thinned_of(points, |_, point| *point, stays)
}

/// At most [`POINTS`] of what becomes points by `point`, which is given the place of each: a stretch is in
/// memory at a time.
pub(super) fn thinned_of<T>(
    all: &[T],
    point: impl Fn(usize, &T) -> (f64, f64),
    stays: Stays,
) -> Vec<(f64, f64)> {
    let points_of = |first: usize, part: &[T]| -> Vec<(f64, f64)> {
        part.iter().enumerate().map(|(at, one)| point(first + at, one)).collect()
    };
    if all.len() <= POINTS {
        return points_of(0, all);
    }
    let stretches = if stays == Stays::Extremes { POINTS / 2 } else { POINTS };
    let size = all.len().div_ceil(stretches);
    let parts = all.chunks(size).enumerate();
    parts.flat_map(|(number, part)| kept(&points_of(number * size, part), stays)).collect()
}

fn kept(stretch: &[(f64, f64)], stays: Stays) -> Vec<(f64, f64)> {
    let mut by_value: Vec<usize> = (0..stretch.len()).collect();
    by_value.sort_by(|a, b| stretch[*a].1.total_cmp(&stretch[*b].1));
    let (least, most) = (by_value[0], by_value[by_value.len() - 1]);
    match stays {
        Stays::Largest => vec![stretch[most]],
        Stays::Median => vec![stretch[by_value[(by_value.len() - 1) / 2]]],
        Stays::Extremes if least == most => vec![stretch[least]],
        Stays::Extremes => vec![stretch[least.min(most)], stretch[least.max(most)]],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spike_survives_and_order_stays() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|n| (f64::from(n), 1.0)).collect();
        points[77_777].1 = 9.0;
        points[50_001].1 = 0.0;
        for (stays, spike, dip) in
            [(Stays::Extremes, true, true), (Stays::Largest, true, false), (Stays::Median, false, false)]
        {
            let thin = thinned(&points, stays);
            assert!(thin.len() <= POINTS && thin.len() > POINTS / 4, "{}", thin.len());
            assert!(thin.windows(2).all(|pair| pair[0].0 < pair[1].0));
            assert_eq!((thin.contains(&(77_777.0, 9.0)), thin.contains(&(50_001.0, 0.0))), (spike, dip));
        }
        assert_eq!(thinned(&points[..10], Stays::Median), points[..10]);
    }
}
