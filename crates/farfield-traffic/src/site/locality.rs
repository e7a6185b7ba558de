//! Requests with temporal locality: pages return at distances of a given distribution, and as often as their
//! popularity requires.
//!
//! After SURGE (Barford and Crovella 1998, section 4.2). Pages lie in a stack, in a random order at first. A
//! distance is drawn, the page at that depth is asked for and comes to the top; one whose number of
//! requests is reached is passed over from then on. Where distances are short for the number of pages, this
//! alone asks for each page in a spell of its own, and at last for the most popular one only. So it is done
//! in rounds of [`ROUND`] requests, each with its part of every page's requests, the stack kept from one to
//! the next: counts are exact over the whole sequence and within 1 in each round. Distances follow the
//! distribution except where a page comes back in the next round, which makes a few of them long, and at the
//! end of a round, where the last pages have no depth left.

use super::Site;
use crate::distribution::Distribution;
use farfield_base::random::Stream;
use rand::seq::SliceRandom;

/// Requests of a sequence: 4 MiB.
pub const SEQUENCE: usize = 1 << 20;

/// Requests of a round.
pub const ROUND: usize = 1 << 15;

/// `length` pages of `site`, with distances drawn from `distances`, in whole numbers from 1.
pub fn sequence(site: &Site, distances: &Distribution, length: usize, rng: &mut Stream) -> Vec<u32> {
    let weights: Vec<f64> = site.pages().iter().map(|page| page.weight).collect();
    let counts = counts(&weights, length);
    let rounds = length.div_ceil(ROUND) as u64;
    // The top is the end.
    let mut stack: Vec<u32> = (0..counts.len() as u32).collect();
    stack.shuffle(rng);
    let mut asked = Vec::with_capacity(length);
    for round in 0..rounds {
        // Each page begins to count at a fraction of its own, so that rounds are about alike in length.
        let until = |round: u64, page: u32| {
            (u64::from(counts[page as usize]) * round + u64::from(page) * 13 % rounds) / rounds
        };
        let mut left: Vec<u32> = (0..counts.len() as u32)
            .map(|page| (until(round + 1, page) - until(round, page)) as u32)
            .collect();
        let (mut live, mut passed): (Vec<u32>, Vec<u32>) =
            stack.into_iter().partition(|page| left[*page as usize] > 0);
        let mut over = Vec::with_capacity(live.len());
        while !live.is_empty() {
            let distance = distances.sample_count(rng).min(live.len() as u64) as usize;
            let page = live.remove(live.len() - distance);
            asked.push(page);
            left[page as usize] -= 1;
            if left[page as usize] > 0 { &mut live } else { &mut over }.push(page);
        }
        passed.append(&mut over);
        stack = passed;
    }
    asked
}

/// Whole numbers of sum `length`, in proportion to `weights`: each rounded down, the rest to those that lost
/// most.
fn counts(weights: &[f64], length: usize) -> Vec<u32> {
    let total: f64 = weights.iter().sum();
    let exact: Vec<f64> = weights.iter().map(|weight| weight / total * length as f64).collect();
    let mut counts: Vec<u32> = exact.iter().map(|count| *count as u32).collect();
    let given: usize = counts.iter().map(|count| *count as usize).sum();
    let mut lost: Vec<usize> = (0..weights.len()).filter(|at| weights[*at] > 0.0).collect();
    lost.sort_by(|a, b| (exact[*b].fract()).total_cmp(&exact[*a].fract()));
    lost.iter().cycle().take(length.saturating_sub(given)).for_each(|at| counts[*at] += 1);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_sum_up_and_are_nearest(
            weights in proptest::collection::vec(0.0..10.0f64, 1..50),
            length in 1usize..5_000,
        ) {
            prop_assume!(weights.iter().any(|weight| *weight > 0.0));
            let total: f64 = weights.iter().sum();
            let counts = counts(&weights, length);
            prop_assert_eq!(counts.iter().map(|count| *count as usize).sum::<usize>(), length);
            for (count, weight) in counts.iter().zip(&weights) {
                prop_assert!((f64::from(*count) - weight / total * length as f64).abs() < 1.0 + 1e-9);
            }
        }
    }
}
