//! SURGE's matching of files and requests (Barford and Crovella 1998, section 4.1): popularities are
//! assigned to files so that the sizes of requests follow a distribution of their own; and, conversely, sizes
//! to embedded objects.
//!
//! Files are in the order of their sizes. Their popularities are steps of a distribution function G; the
//! distribution is F. The goal is an order of the steps in which G is nowhere far from F. No order
//! comes nearer than half the largest step. Here the largest steps are placed first, each where it brings G
//! nearest to F if all smaller ones were spread evenly; then the others from the least file upwards, each
//! time the one that fits best; last, the largest are exchanged with others as long as that brings G nearer.
//! The work grows with the square of the number of files.

use super::model::RequestSizes;

/// Files matched at once, at most.
pub(super) const PAGES_MAX: usize = 20_000;

/// Steps that are placed first.
const PLACED_FIRST: usize = 100;

/// Steps that are exchanged at the end, and how far.
const EXCHANGED: usize = 30;
const REACHES: [usize; 9] = [1, 2, 3, 4, 8, 16, 32, 64, 128];

/// Deals out `popularity`, most popular first and of sum 1, to files of `sizes`: each file's, in the files'
/// order.
pub(super) fn matched(sizes: &[u64], popularity: &[f64], target: RequestSizes) -> Vec<f64> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|file| sizes[*file]);
    let wanted = wanted(&order, sizes, target);
    let mut steps: Vec<Option<f64>> = vec![None; sizes.len()];
    let first = PLACED_FIRST.min(sizes.len());
    let mut left = 1.0;
    for step in &popularity[..first] {
        left -= step;
        let best = place(&steps, &wanted, *step, left);
        steps[best] = Some(*step);
    }
    let mut steps = fill(&steps, &wanted, &popularity[first..]);
    exchange(&mut steps, &wanted);
    let mut matched = vec![0.0; sizes.len()];
    order.iter().zip(steps).for_each(|(file, step)| matched[*file] = step);
    matched
}

/// F at each file's size.
fn wanted(order: &[usize], sizes: &[u64], target: RequestSizes) -> Vec<f64> {
    let beyond = |size: u64| (target.from.0 as f64 / (size.max(target.from.0)) as f64).powf(target.shape);
    let largest = order.last().map_or(0.0, |file| beyond(sizes[*file]));
    let all = 1.0 - largest;
    let share = |file: &usize| if all > 0.0 { (1.0 - beyond(sizes[*file])) / all } else { 1.0 };
    order.iter().map(share).collect()
}

/// The free file at which `step` leaves the least squared distance, weighted by F, with `left` spread evenly
/// over the files that are still free.
fn place(steps: &[Option<f64>], wanted: &[f64], step: f64, left: f64) -> usize {
    let free = steps.iter().filter(|step| step.is_none()).count();
    let even = left / free as f64;
    let mut reached = 0.0;
    let off: Vec<f64> = std::iter::zip(steps, wanted)
        .map(|(step, wanted)| {
            reached += step.unwrap_or(even);
            reached - wanted
        })
        .collect();
    let (mut best, mut least, mut change) = (0, f64::INFINITY, 0.0);
    for at in (0..steps.len()).rev() {
        let before = if at > 0 { wanted[at - 1] } else { 0.0 };
        change += (2.0 * off[at] + step) * (wanted[at] - before + 1e-4);
        if steps[at].is_none() && change < least {
            (best, least) = (at, change);
        }
    }
    best
}

/// Assigns the remaining steps to the files without one, each the step whose middle comes nearest to F.
fn fill(steps: &[Option<f64>], wanted: &[f64], rest: &[f64]) -> Vec<f64> {
    let mut rest: Vec<f64> = rest.iter().rev().copied().collect();
    let mut reached = 0.0;
    let mut filled = Vec::with_capacity(steps.len());
    for (step, wanted) in steps.iter().zip(wanted) {
        let step = step.unwrap_or_else(|| {
            let fits = 2.0 * (wanted - reached);
            let above = rest.partition_point(|step| *step < fits).min(rest.len() - 1);
            let nearer = above > 0 && fits - rest[above - 1] < rest[above] - fits;
            rest.remove(above - usize::from(nearer))
        });
        reached += step;
        filled.push(step);
    }
    filled
}

fn exchange(steps: &mut [f64], wanted: &[f64]) {
    let mut least = distance(steps, wanted);
    let mut large: Vec<usize> = (0..steps.len()).collect();
    large.sort_by(|a, b| steps[*b].total_cmp(&steps[*a]));
    large.truncate(EXCHANGED);
    loop {
        let before = least;
        for at in &mut large {
            let mut best = *at;
            let (from, files) = (*at, steps.len());
            let others = REACHES.iter().flat_map(|by| [from.checked_sub(*by), from.checked_add(*by)]);
            for other in others.flatten().filter(|other| *other < files) {
                steps.swap(*at, other);
                let now = distance(steps, wanted);
                steps.swap(*at, other);
                if now < least {
                    (best, least) = (other, now);
                }
            }
            steps.swap(*at, best);
            *at = best;
        }
        if least >= before {
            return;
        }
    }
}

/// The largest distance between G and F.
pub(super) fn distance(steps: &[f64], wanted: &[f64]) -> f64 {
    let (mut reached, mut most) = (0.0, 0.0_f64);
    for (step, wanted) in steps.iter().zip(wanted) {
        let below: f64 = wanted - reached;
        reached += step;
        most = most.max(below.abs()).max((reached - wanted).abs());
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::Bytes;

    const LAW: RequestSizes = RequestSizes { shape: 1.0, from: Bytes(1_000) };

    fn harmonic(files: usize) -> Vec<f64> {
        let all: f64 = (1..=files).map(|rank| 1.0 / rank as f64).sum();
        (1..=files).map(|rank| 1.0 / rank as f64 / all).collect()
    }

    /// Sizes at the middles of steps of the distribution itself, in a mixed order: an exact matching exists,
    /// and is found.
    #[test]
    fn a_matching_that_exists_is_come_near_to() {
        let popularity = harmonic(200);
        let mut mixed: Vec<f64> = popularity.clone();
        mixed.sort_by_key(|step| (step * 1e9) as u64 % 97);
        let mut reached = 0.0;
        let sizes: Vec<u64> = mixed
            .iter()
            .map(|step| {
                reached += step;
                (1_000.0 / (1.0 - (reached - step / 2.0)).max(1e-6)) as u64
            })
            .collect();
        let matched = matched(&sizes, &popularity, LAW);
        let order: Vec<usize> = (0..sizes.len()).collect();
        let distance = distance(&matched, &wanted(&order, &sizes, LAW));
        assert!(distance < 1.3 * popularity[0] / 2.0, "{distance} with steps up to {}", popularity[0]);
    }

    #[test]
    fn every_popularity_is_dealt_out_once() {
        for files in [1, 2, 3, 99, 100, 101, 500] {
            let sizes: Vec<u64> = (0..files as u64).map(|file| (file * 7_919) % 50_000).collect();
            let mut matched = matched(&sizes, &harmonic(files), LAW);
            matched.sort_by(|a, b| b.total_cmp(a));
            assert_eq!(matched, harmonic(files));
        }
    }
}
