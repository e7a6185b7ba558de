//! Lower and upper bounds of a load, from trials of different lengths: the load classification of MLRsearch
//! (RFC 9971), with "the goals are kept" in place of a loss ratio.
//!
//! Trials that are shorter than the target's length count for less: those that break goals count only as far
//! as they outweigh short trials that kept them. A load is classified once trials that are still missing, up
//! to the target's sum of lengths, could not change the result any more.

use farfield_base::Duration;

/// Conditions on the trials by which a load is classified.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// Trials from this length on count in full.
    pub trial_length: Duration,
    /// The lengths of a load's trials must add up to this.
    pub length_sum: Duration,
    /// The share of this sum for which goals may be broken, below 1: with a half, the median trial decides.
    pub exceed_ratio: f64,
}

/// Class of a load, by its trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The load keeps the goals.
    Lower,
    /// The load breaks the goals.
    Upper,
    /// More trials are needed.
    Undecided,
}

/// A trial that counts: its load, its length, and whether it kept the goals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountedTrial {
    /// The load.
    pub load: f64,
    /// The length.
    pub length: Duration,
    /// The goals were kept.
    pub kept: bool,
}

/// The tightest bounds that trials support.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RelevantBounds {
    /// The highest load below the upper bound that keeps the goals.
    pub lower: Option<f64>,
    /// The lowest load that breaks them, so that a higher one that kept them by chance does not count.
    pub upper: Option<f64>,
}

impl Target {
    /// Classifies a load by its trials.
    pub fn classify(&self, trials: impl IntoIterator<Item = CountedTrial>) -> Class {
        let (mut full, mut short) = ([0.0; 2], [0.0; 2]);
        for trial in trials {
            let sums = if trial.length >= self.trial_length { &mut full } else { &mut short };
            sums[usize::from(trial.kept)] += trial.length.as_secs_f64();
        }
        let ([full_broken, full_kept], [short_broken, short_kept]) = (full, short);
        let balancing = short_kept * self.exceed_ratio / (1.0 - self.exceed_ratio);
        let broken = full_broken + (short_broken - balancing).max(0.0);
        let whole = (full_kept + broken).max(self.length_sum.as_secs_f64());
        let allowed = whole * self.exceed_ratio;
        // If all that is missing keeps the goals, and if all of it breaks them.
        let (optimistic, pessimistic) = (broken <= allowed, whole - full_kept <= allowed);
        match (optimistic, pessimistic) {
            (true, true) => Class::Lower,
            (false, _) => Class::Upper,
            (true, false) => Class::Undecided,
        }
    }

    /// The relevant bounds of all loads that were tried, and the loads between them that are undecided.
    pub fn bounds(&self, trials: &[CountedTrial]) -> (RelevantBounds, Vec<f64>) {
        let mut loads: Vec<f64> = trials.iter().map(|trial| trial.load).collect();
        loads.sort_by(f64::total_cmp);
        loads.dedup();
        let (mut bounds, mut undecided) = (RelevantBounds::default(), Vec::new());
        for load in loads {
            match self.classify(trials.iter().filter(|trial| trial.load == load).copied()) {
                Class::Upper => {
                    bounds.upper = Some(load);
                    break;
                }
                Class::Lower => {
                    bounds.lower = Some(load);
                    undecided.clear();
                }
                Class::Undecided => undecided.push(load),
            }
        }
        (bounds, undecided)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(load: f64, seconds: u64, kept: bool) -> CountedTrial {
        CountedTrial { load, length: Duration::from_secs(seconds), kept }
    }

    /// Full trials of 10 s that add up to 60 s, half of which may break the goals.
    fn target() -> Target {
        let (trial_length, length_sum) = (Duration::from_secs(10), Duration::from_secs(60));
        Target { trial_length, length_sum, exceed_ratio: 0.5 }
    }

    fn class(trials: &[(u64, bool, usize)]) -> Class {
        let all = trials.iter().flat_map(|&(seconds, kept, times)| vec![trial(1.0, seconds, kept); times]);
        target().classify(all)
    }

    /// Three of six trials decide if they keep the goals, whatever the others are; four if they break them.
    #[test]
    fn a_load_is_classified_once_missing_trials_cannot_change_it() {
        assert_eq!(class(&[(10, true, 2)]), Class::Undecided);
        assert_eq!(class(&[(10, true, 3)]), Class::Lower);
        assert_eq!(class(&[(10, false, 3)]), Class::Undecided);
        assert_eq!(class(&[(10, false, 4)]), Class::Upper);
        assert_eq!(class(&[(10, false, 3), (10, true, 3)]), Class::Lower);
    }

    /// Short trials that keep the goals never make a lower bound; those that break them make an upper one if
    /// they outweigh the others.
    #[test]
    fn short_trials_count_for_less() {
        assert_eq!(class(&[(1, true, 1000)]), Class::Undecided);
        assert_eq!(class(&[(1, false, 30)]), Class::Undecided);
        assert_eq!(class(&[(1, false, 31)]), Class::Upper);
        assert_eq!(class(&[(1, false, 31), (1, true, 1)]), Class::Undecided);
    }

    /// Classes of random trials by `TargetStat.estimates` of the reference library (MLRsearch 1.2.1 of
    /// PyPI): by exceed ratio, the lengths of a full trial and of the sum in seconds, and how many full
    /// trials kept and broke the goals, and how many of 4 s.
    #[test]
    fn the_reference_library_classifies_alike() {
        use Class::{Lower, Undecided, Upper};
        let cases: [(f64, [u64; 2], [usize; 4], Class); 48] = [
            (0.5, [10, 20], [0, 1, 1, 0], Undecided),
            (0.75, [20, 60], [0, 2, 2, 5], Undecided),
            (0.25, [10, 30], [1, 2, 0, 5], Upper),
            (0.25, [10, 10], [1, 1, 3, 2], Upper),
            (0.0, [20, 40], [2, 5, 3, 1], Upper),
            (0.5, [20, 60], [0, 0, 1, 2], Undecided),
            (0.25, [10, 60], [2, 1, 0, 0], Undecided),
            (0.0, [10, 60], [1, 1, 0, 2], Upper),
            (0.5, [10, 20], [1, 5, 5, 1], Upper),
            (0.75, [10, 60], [1, 5, 1, 1], Upper),
            (0.25, [20, 60], [0, 0, 0, 1], Undecided),
            (0.5, [10, 30], [2, 0, 2, 2], Lower),
            (0.5, [20, 40], [1, 5, 1, 5], Upper),
            (0.5, [20, 20], [0, 3, 0, 1], Upper),
            (0.75, [20, 40], [5, 0, 3, 1], Lower),
            (0.5, [20, 60], [3, 1, 0, 3], Lower),
            (0.5, [10, 20], [1, 0, 2, 1], Lower),
            (0.0, [20, 40], [1, 3, 3, 5], Upper),
            (0.25, [20, 40], [3, 1, 3, 5], Upper),
            (0.75, [10, 10], [1, 1, 2, 0], Lower),
            (0.25, [20, 120], [3, 5, 5, 2], Upper),
            (0.75, [10, 60], [5, 1, 2, 1], Lower),
            (0.75, [10, 20], [0, 1, 1, 2], Undecided),
            (0.5, [10, 60], [1, 0, 1, 2], Undecided),
            (0.5, [20, 60], [5, 2, 2, 5], Lower),
            (0.0, [10, 20], [3, 2, 3, 1], Upper),
            (0.0, [20, 20], [0, 5, 1, 1], Upper),
            (0.75, [20, 40], [2, 2, 1, 0], Lower),
            (0.5, [20, 60], [5, 1, 3, 3], Lower),
            (0.0, [20, 60], [0, 1, 2, 1], Upper),
            (0.0, [10, 10], [3, 0, 2, 5], Upper),
            (0.75, [10, 30], [5, 1, 5, 2], Lower),
            (0.0, [10, 60], [1, 0, 3, 1], Upper),
            (0.5, [20, 120], [5, 0, 2, 5], Lower),
            (0.5, [20, 120], [0, 0, 0, 3], Undecided),
            (0.5, [10, 30], [1, 0, 1, 1], Undecided),
            (0.75, [20, 20], [5, 0, 1, 5], Lower),
            (0.25, [10, 60], [3, 1, 1, 1], Undecided),
            (0.75, [10, 10], [1, 1, 1, 3], Lower),
            (0.25, [10, 60], [3, 1, 0, 1], Undecided),
            (0.75, [20, 60], [5, 2, 0, 0], Lower),
            (0.5, [10, 60], [5, 1, 3, 1], Lower),
            (0.5, [10, 60], [5, 1, 2, 1], Lower),
            (0.25, [10, 30], [0, 0, 2, 2], Undecided),
            (0.75, [20, 120], [1, 1, 1, 5], Undecided),
            (0.5, [20, 120], [1, 1, 1, 1], Undecided),
            (0.0, [20, 60], [1, 0, 0, 0], Undecided),
            (0.5, [20, 120], [0, 3, 5, 1], Undecided),
        ];
        for case @ (exceed_ratio, [full, sum], [full_kept, full_broken, short_kept, short_broken], class) in
            cases
        {
            let (trial_length, length_sum) = (Duration::from_secs(full), Duration::from_secs(sum));
            let target = Target { trial_length, length_sum, exceed_ratio };
            let counts = [
                (full, true, full_kept),
                (full, false, full_broken),
                (4, true, short_kept),
                (4, false, short_broken),
            ];
            let trials =
                counts.into_iter().flat_map(|(seconds, kept, times)| vec![trial(1.0, seconds, kept); times]);
            assert_eq!(target.classify(trials), class, "{case:?}");
        }
    }

    /// A load above the lowest upper bound is no lower bound, though its trials kept the goals.
    #[test]
    fn inversions_are_read_to_the_safe_side() {
        let once = Target { length_sum: Duration::from_secs(10), ..target() };
        let trials = [trial(1.0, 10, true), trial(2.0, 10, false), trial(3.0, 10, true)];
        let (bounds, undecided) = once.bounds(&trials);
        assert_eq!(bounds, RelevantBounds { lower: Some(1.0), upper: Some(2.0) });
        assert!(undecided.is_empty());
    }
}
