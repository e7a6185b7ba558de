//! Small bins for the response times of one second, so that a series can hold a quantile a second.
//!
//! Values below 1,024 ns share a bin; above, every octave has 64, so what is reported is below the true
//! time by less than 1/64 (1.6 %), and never above it. [`Bins`] is dense, is counted into and allocates
//! nothing; a second that is over is [packed](Bins::pack) into the bins that hold anything, about 2 KB,
//! and [`Packed`] seconds of several workers add up exactly.

use crate::quantile::Quantile;
use farfield_base::{Duration, Merge};
use serde::{Deserialize, Serialize};

/// Sub-bins of an octave, as a power of two.
const SUB_BITS: u32 = 6;
/// Times below 2^10 ns share a bin.
const LOWEST_BIT: u32 = 10;
/// Times from 2^46 ns (19 hours) share a bin.
const HIGHEST_BIT: u32 = 46;
const COUNT: usize = 1 + (((HIGHEST_BIT - LOWEST_BIT) as usize) << SUB_BITS);

/// Dense counts, 9 KiB.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Bins {
    counts: Vec<u32>,
    any: bool,
}

impl Default for Bins {
    fn default() -> Bins {
        Bins { counts: vec![0; COUNT], any: false }
    }
}

impl Bins {
    /// Counts `time`.
    pub fn record(&mut self, time: Duration) {
        let count = &mut self.counts[bin_index(time.as_ns())];
        *count = count.saturating_add(1);
        self.any = true;
    }

    /// Adds what was counted to `packed`, and is empty again. Allocates only here.
    pub fn pack(&mut self, packed: &mut Packed) {
        if !self.any {
            return;
        }
        let filled = |(bin_index, &count): (usize, &u32)| (count > 0).then_some((bin_index as u16, count));
        let fresh = Packed(self.counts.iter().enumerate().filter_map(filled).collect());
        packed.merge(&fresh);
        self.counts.fill(0);
        self.any = false;
    }
}

/// The non-empty bins, by index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packed(Box<[(u16, u32)]>);

impl Packed {
    /// The quantile by nearest rank, as the lower end of its bin; `None` if nothing was counted.
    pub fn quantile(&self, quantile: Quantile) -> Option<Duration> {
        let count = self.0.iter().map(|&(_, count)| u64::from(count)).sum();
        let rank = quantile.rank(count)?;
        let mut seen = 0;
        let bin = self.0.iter().find(|&&(_, count)| {
            seen += u64::from(count);
            seen >= rank
        });
        bin.map(|&(bin_index, _)| Duration::from_ns(lower_end(bin_index)))
    }
}

/// Adds the counts of `other`.
impl Merge for Packed {
    fn merge(&mut self, other: &Packed) {
        if self.0.is_empty() {
            self.0.clone_from(&other.0);
            return;
        }
        let mut joined = [&self.0[..], &other.0[..]].concat();
        joined.sort_unstable_by_key(|&(bin_index, _)| bin_index);
        joined.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
        self.0 = joined.into();
    }
}

/// The bin of `ns`: its octave, then its next six bits.
fn bin_index(ns: u64) -> usize {
    if ns < 1 << LOWEST_BIT {
        return 0;
    }
    let octave = ns.ilog2().min(HIGHEST_BIT - 1);
    let sub = (ns >> (octave - SUB_BITS)).min((2 << SUB_BITS) - 1) as usize & ((1 << SUB_BITS) - 1);
    1 + (((octave - LOWEST_BIT) as usize) << SUB_BITS) + sub
}

fn lower_end(bin_index: u16) -> u64 {
    let Some(above) = u32::from(bin_index).checked_sub(1) else { return 0 };
    let (octave, sub) = (LOWEST_BIT + (above >> SUB_BITS), u64::from(above & ((1 << SUB_BITS) - 1)));
    (1 << octave) + (sub << (octave - SUB_BITS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_bin_takes_all_that_is_longer() {
        assert_eq!(bin_index(u64::MAX), COUNT - 1);
        assert_eq!(bin_index((1 << HIGHEST_BIT) - 1), COUNT - 1);
        assert_eq!((bin_index(0), bin_index(1023), bin_index(1024)), (0, 0, 1));
    }

    proptest! {
        #[test]
        fn a_bin_is_its_values_less_a_sixty_fourth(ns in 1024_u64..1 << HIGHEST_BIT) {
            let lower = lower_end(bin_index(ns) as u16);
            prop_assert!(lower <= ns && ns - lower <= ns / 64);
        }

        #[test]
        fn packing_in_two_parts_is_packing_at_once(
            times in prop::collection::vec(1024_u64..1 << 40, 1..200),
            cut in 0_usize..200,
        ) {
            let pack = |times: &[u64]| {
                let (mut bins, mut packed) = (Bins::default(), Packed::default());
                times.iter().for_each(|&ns| bins.record(Duration::from_ns(ns)));
                bins.pack(&mut packed);
                packed
            };
            let (left, right) = times.split_at(cut.min(times.len()));
            let mut joined = pack(left);
            joined.merge(&pack(right));
            prop_assert_eq!(&joined, &pack(&times));

            let mut sorted = times.clone();
            sorted.sort_unstable();
            let truth = sorted[sorted.len().div_ceil(2) - 1];
            let reported = joined.quantile(Quantile::P50).expect("not empty").as_ns();
            prop_assert!(reported <= truth && truth - reported <= truth / 64);
        }
    }
}
