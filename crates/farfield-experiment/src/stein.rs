//! Number of repeats that an interval of a given width takes, and the interval then: Stein's two stages
//! (1945, "A two-sample test for a linear hypothesis whose power is independent of the variance").
//!
//! A pilot's standard deviation says how many repeats there are to be, and stays the one that the interval
//! is made with, however many follow. Stopping at the first repeat after which the interval is narrow would
//! choose samples whose spread is small, and their intervals contain the true mean less often than their
//! level says.

use farfield_measure::interval::MeanEstimate;

/// Count of numbers that are needed, the pilot's among them, for an interval of at most this half-width.
/// Absent if the pilot has fewer than two numbers; infinite for no width.
pub fn needed(pilot: &[f64], half_width: f64, level: f64) -> Option<f64> {
    let wider = MeanEstimate::of(pilot)?.half_width(level) / half_width;
    let count = (pilot.len() as f64 * wider.powi(2)).ceil();
    Some(if wider == 0.0 { pilot.len() as f64 } else { count.max(pilot.len() as f64) })
}

/// Half the width of the interval of the mean of `numbers`, the first of which are the pilot. With no more
/// than the pilot it is Student's.
pub fn half_width(numbers: &[f64], pilot: usize, level: f64) -> Option<f64> {
    let first = &numbers[..pilot.min(numbers.len())];
    let shrunk = (first.len() as f64 / numbers.len() as f64).sqrt();
    Some(MeanEstimate::of(first)?.half_width(level) * shrunk)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed};
    use rand_core::Rng;

    #[test]
    fn a_pilot_that_is_narrow_already_is_enough() {
        assert_eq!(needed(&[1.0, 1.0, 1.0], 0.1, 0.95), Some(3.0));
        assert_eq!(needed(&[1.0], 0.1, 0.95), None);
        // s = 1, t = 4.303: 3 (4.303/√3/0.5)² = 74.06.
        assert_eq!(needed(&[1.0, 2.0, 3.0], 0.5, 0.95), Some(75.0));
    }

    /// 2,000 means are repeated until their intervals are as narrow as half a standard deviation: 93 to 97 %
    /// of these contain the true one, and all are as narrow as that.
    #[test]
    fn as_many_intervals_contain_the_mean_as_they_say() {
        let (level, asked, runs) = (0.95, 0.5, 2000);
        let mut covered = 0;
        for seed in 0..runs {
            let mut stream = Seed(seed).stream(Purpose::User, 1);
            let mut normal =
                || (0..12).map(|_| (stream.next_u64() >> 11) as f64 / (1u64 << 53) as f64).sum::<f64>() - 6.0;
            let mut numbers: Vec<f64> = (0..5).map(|_| normal()).collect();
            let count = needed(&numbers, asked, level).unwrap() as usize;
            numbers.extend((5..count).map(|_| normal()));
            let half = half_width(&numbers, 5, level).unwrap();
            assert!(half <= asked * 1.000_001, "{half}");
            let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
            covered += u32::from(mean.abs() <= half);
        }
        let share = f64::from(covered) / runs as f64;
        assert!((0.93..=0.97).contains(&share), "{share}");
    }
}
