//! What the servers of experiments serve: files of fixed sizes, and a site of many sizes with the order in which
//! clients ask for its files.
//!
//! The site is that of Williamson, Simmonds and Arlitt 2004, section 5.2.2, remade from what the paper says of it: 3000
//! files of a log-normal body and a Pareto tail (α = 1.2 from 10,000 bytes), of median 3600 bytes, mean 9963 and 1.4 MB
//! at most, and a popularity that falls with rank to the power of 0.8. Sizes and popularity are independent. The
//! body's parameters, which the paper does not give, are those that make its median and mean.

use anyhow::{Context, Result};
use std::f64::consts::TAU;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Files of fixed sizes: their paths and bytes.
const FIXED: [(&str, usize); 2] = [("1k", 1024), ("64k", 64 * 1024)];

/// Files `surge/1` to `surge/32`.
const SURGE: usize = 32;

const FILES: usize = 3000;
/// How many of them lie in the tail.
const TAIL: usize = 570;
const TAIL_LEAST: f64 = 10_000.0;
const TAIL_SHAPE: f64 = 1.2;
const LARGEST: f64 = 1_400_000.0;
/// The body, cut off where the tail begins.
const BODY_MEDIAN: f64 = 3108.0;
const BODY_SIGMA: f64 = 0.8;
/// The slope of popularity.
const ZIPF: f64 = 0.8;
/// Requests in the order that clients take them in turn.
const REQUESTS: usize = 60_000;

/// Writes the files into `folder/site`, and `folder/requests.txt`, a path on each line.
pub fn write(folder: &Path) -> Result<()> {
    let site = folder.join("site");
    let cannot = || format!("cannot write the site in {}", site.display());
    fs::create_dir_all(site.join("files")).with_context(cannot)?;
    fs::create_dir_all(site.join("surge")).with_context(cannot)?;
    for place in 1..=SURGE {
        fs::write(site.join(format!("surge/{place}")), "x".repeat(surge(place))).with_context(cannot)?;
    }
    for (path, bytes) in FIXED {
        fs::write(site.join(path), "x".repeat(bytes)).with_context(cannot)?;
    }
    for (rank, bytes) in sizes().into_iter().enumerate() {
        fs::write(site.join(path(rank)), "x".repeat(bytes)).with_context(cannot)?;
    }
    fs::write(folder.join("requests.txt"), requests()).with_context(cannot)
}

/// The size of `surge/PLACE` in bytes: those of requests in SURGE (Barford and Crovella 1998, table 1), a Pareto
/// distribution of shape 1 from 1000 bytes on, at the middles of 32 equal parts of its probability, the largest first.
fn surge(place: usize) -> usize {
    1000 * SURGE * 2 / (2 * place - 1)
}

fn path(rank: usize) -> String {
    format!("files/{rank}")
}

/// The sizes of the files in bytes, the most popular first.
fn sizes() -> Vec<usize> {
    let mut chance = Chance(1);
    let mut sizes: Vec<f64> = (0..TAIL).map(|place| tail((place as f64 + 0.5) / TAIL as f64)).collect();
    sizes[TAIL - 1] = LARGEST;
    while sizes.len() < FILES {
        let size = BODY_MEDIAN * (BODY_SIGMA * chance.normal()).exp();
        if size < TAIL_LEAST {
            sizes.push(size);
        }
    }
    // Fisher and Yates: which rank has which size.
    for last in (1..FILES).rev() {
        sizes.swap(last, (chance.uniform() * (last + 1) as f64) as usize);
    }
    sizes.into_iter().map(|size| size.max(1.0) as usize).collect()
}

/// The size that a share `below` of the tail stays below: a Pareto distribution, cut off at the largest.
fn tail(below: f64) -> f64 {
    let beyond = (TAIL_LEAST / LARGEST).powf(TAIL_SHAPE);
    TAIL_LEAST * (1.0 - below * (1.0 - beyond)).powf(-1.0 / TAIL_SHAPE)
}

fn requests() -> String {
    let mut chance = Chance(2);
    let mut sum = 0.0;
    let up_to: Vec<f64> = (1..=FILES)
        .map(|rank| {
            sum += (rank as f64).powf(-ZIPF);
            sum
        })
        .collect();
    let mut lines = String::new();
    for _ in 0..REQUESTS {
        let drawn = chance.uniform() * sum;
        let rank = up_to.partition_point(|&up_to| up_to <= drawn).min(FILES - 1);
        writeln!(lines, "/{}", path(rank)).expect("a String takes all");
    }
    lines
}

/// SplitMix64 (Steele, Lea and Flood 2014): enough for a site that is the same everywhere.
struct Chance(u64);

impl Chance {
    /// At least 0 and below 1.
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Of mean 0 and variance 1 (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (TAU * angle).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(number: f64, expected: f64, within: f64) {
        assert!((number / expected - 1.0).abs() <= within, "{number} is not {expected}");
    }

    /// At the place of probability p a Pareto distribution of shape 1 from k on has the size k / (1 - p).
    #[test]
    fn surges_sizes_are_quantiles() {
        for place in 1..=SURGE {
            let above = (place as f64 - 0.5) / SURGE as f64;
            assert_eq!(surge(place), (1000.0 / above) as usize, "{place}");
        }
        assert_eq!((surge(1), surge(SURGE)), (64_000, 1015));
    }

    #[test]
    fn sizes_are_the_papers() {
        let mut sizes = sizes();
        assert_eq!(sizes.len(), FILES);
        near(sizes.iter().sum::<usize>() as f64 / FILES as f64, 9963.0, 0.02);
        sizes.sort_unstable();
        near(sizes[FILES / 2] as f64, 3600.0, 0.02);
        assert_eq!((sizes[0] > 0, sizes[FILES - 1]), (true, 1_400_000));
        assert_eq!(sizes.iter().filter(|&&size| size >= 10_000).count(), TAIL);
    }

    /// The share of the first ranks is that of the law: five standard deviations are allowed.
    #[test]
    fn popularity_falls_with_rank() {
        let requests = requests();
        let weight =
            |ranks: std::ops::RangeInclusive<usize>| ranks.map(|rank| (rank as f64).powf(-ZIPF)).sum::<f64>();
        for first in [1, 10, 100, 1000] {
            let share = weight(1..=first) / weight(1..=FILES);
            let rank = |line: &str| line.rsplit('/').next().unwrap().parse::<usize>().unwrap();
            let seen = requests.lines().filter(|line| rank(line) < first).count() as f64 / REQUESTS as f64;
            let sigma = (share * (1.0 - share) / REQUESTS as f64).sqrt();
            assert!((seen - share).abs() < 5.0 * sigma, "{first}: {seen} is not {share}");
        }
        assert_eq!(requests.lines().count(), REQUESTS);
    }
}
