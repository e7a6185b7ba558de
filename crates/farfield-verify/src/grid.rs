//! Rounded instants and times: whether values lie on a grid.
//!
//! A clock of a millisecond, or a report that rounds, leaves values that are all multiples of one tick, up
//! to a common offset. The coarsest of the usual ticks that explains 99 of 100 values is reported. Whether
//! that is rounding or the load itself (constant gaps, an emulated link with round figures) is visible in the
//! packets: what is on a grid there was not rounded by whoever recorded it.

use std::collections::BTreeMap;

/// Ticks that clocks and reports have, in nanoseconds, the coarsest first: 1 s to 1 µs, with the 4 and 10 ms
/// of kernel timers.
const TICKS_NS: [i64; 11] = [
    1_000_000_000,
    100_000_000,
    10_000_000,
    4_000_000,
    1_000_000,
    500_000,
    100_000,
    50_000,
    10_000,
    5_000,
    1_000,
];
/// Values that show a grid, at least.
const VALUES: usize = 50;
/// Distinct values that show a grid, at least: one value is on every grid.
const DISTINCT: usize = 5;

/// The coarsest tick of which 99 of 100 values are multiples, up to a common offset; `None` where there is
/// none, or values are too few to say.
pub fn tick_ns(values: &[i64]) -> Option<i64> {
    TICKS_NS.into_iter().find(|tick| lies_on(values, *tick))
}

/// True if 99 of 100 values are multiples of `tick_ns` up to a common offset.
pub fn lies_on(values: &[i64], tick_ns: i64) -> bool {
    if values.len() < VALUES {
        return false;
    }
    let mut residues: BTreeMap<i64, usize> = BTreeMap::new();
    let mut steps: BTreeMap<i64, ()> = BTreeMap::new();
    for value in values {
        *residues.entry(value.rem_euclid(tick_ns)).or_default() += 1;
        if steps.len() < DISTINCT {
            steps.insert(value.div_euclid(tick_ns), ());
        }
        if residues.len() > values.len() / 50 + 1 {
            return false;
        }
    }
    let most = residues.values().copied().max().unwrap_or(0);
    steps.len() >= DISTINCT && most * 100 >= values.len() * 99
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_is_found_with_its_tick_and_offset() {
        let exact: Vec<i64> = (0..1_000_i64).map(|n| n * n * 7_919 + 13).collect();
        assert_eq!(tick_ns(&exact), None);
        for tick in [1_000, 1_000_000, 4_000_000] {
            let rounded: Vec<i64> = exact.iter().map(|ns| ns * 97 / tick * tick + 250).collect();
            assert_eq!(tick_ns(&rounded), Some(tick));
        }
        assert_eq!(tick_ns(&[5_000_000; 100]), None, "one value is no grid");
        assert_eq!(tick_ns(&exact[..10]), None);
    }
}
