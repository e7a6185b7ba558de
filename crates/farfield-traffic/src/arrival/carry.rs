//! Adding up gaps in seconds to instants in nanoseconds, without the rounding adding up too.

use farfield_base::Instant;

/// An instant and the fraction of a nanosecond by which the true sum lies after it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Carry {
    ns: u64,
    fraction: f64,
}

impl Carry {
    /// `gap_s` seconds later, a negative gap counting as none; `None` beyond the end of time.
    pub(super) fn after(self, gap_s: f64) -> Option<Carry> {
        let gap_ns = gap_s.max(0.0) * 1e9 + self.fraction;
        if gap_ns >= u64::MAX as f64 {
            return None;
        }
        Some(Carry { ns: self.ns.checked_add(gap_ns.trunc() as u64)?, fraction: gap_ns.fract() })
    }

    pub(super) fn instant(self) -> Instant {
        Instant::from_ns(self.ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirds_of_a_nanosecond_add_up() {
        let end =
            (0..3_000_000).try_fold(Carry::default(), |at, _| at.after(1e-9 / 3.0)).expect("a short time");
        assert!(end.ns.abs_diff(1_000_000) <= 1, "{end:?}");
    }

    #[test]
    fn time_ends() {
        assert!(Carry::default().after(f64::INFINITY).is_none());
        let late = Carry::default().after(1.8e10).expect("within 584 years");
        assert!(late.after(1.8e10).is_none());
    }
}
