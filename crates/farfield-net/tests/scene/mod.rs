//! A bench for single links in virtual time: packets come on a schedule, and what became of them is kept.

#![allow(dead_code, reason = "each test file uses its part of the vocabulary")]

use farfield_base::random::{Purpose, Seed, Stream};
use farfield_base::{Duration, Instant};
use farfield_net::{DropCause, Fate, Link, LinkModel, Packet};
use rand_core::Rng;
use std::sync::Arc;

/// A link and its stream.
pub struct Bench {
    pub link: Link,
    pub rng: Stream,
}

impl Bench {
    pub fn of(model: LinkModel) -> Bench {
        Bench { link: Link::new(Arc::new(model)), rng: stream(1) }
    }

    /// Offers a packet, for links that decide at once: its arrival, or why there is none.
    pub fn offer(&mut self, now: Instant, bytes: u32) -> Result<Instant, DropCause> {
        match self.link.offer(now, Packet::new(bytes, 0), &mut self.rng) {
            Fate::Delivered(delivery) => Ok(delivery.first.at),
            Fate::Dropped(why) => Err(why),
            Fate::Waits => panic!("this link should decide at once"),
        }
    }

    /// Offers packets by number, at the times given, asking for fates as they are decided; the fates in the
    /// order in which they fell.
    pub fn play(&mut self, packets: &[(Instant, u32)]) -> Vec<(u64, Fate)> {
        let mut fates = Vec::new();
        for (key, &(now, bytes)) in (0..).zip(packets) {
            self.poll(now, &mut fates);
            match self.link.offer(now, Packet::new(bytes, key), &mut self.rng) {
                Fate::Waits => {}
                fate => fates.push((key, fate)),
            }
        }
        self.poll(Instant::MAX, &mut fates);
        fates
    }

    fn poll(&mut self, until: Instant, fates: &mut Vec<(u64, Fate)>) {
        while let Some(at) = self.link.next_fate_at().filter(|at| *at <= until) {
            fates.extend(std::iter::from_fn(|| self.link.poll(at, &mut self.rng)));
        }
    }
}

pub fn stream(number: u64) -> Stream {
    Seed(20_260_101).stream(Purpose::Link, number)
}

pub fn at(ns: u64) -> Instant {
    Instant::from_ns(ns)
}

/// Uniform in (0, 1].
pub fn uniform(rng: &mut Stream) -> f64 {
    ((rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
}

/// Exponential with this mean.
pub fn exponential(mean: Duration, rng: &mut Stream) -> Duration {
    Duration::from_secs_f64(-uniform(rng).ln() * mean.as_secs_f64())
}

/// Poisson arrivals with this mean gap.
pub fn poisson(count: usize, gap: Duration, rng: &mut Stream) -> Vec<Instant> {
    let mut now = Instant::ZERO;
    let mut next = || {
        now += exponential(gap, rng);
        now
    };
    (0..count).map(|_| next()).collect()
}

/// Mean, and half the width of its 99.9 % interval by batch means (32 batches: t = 3.633 with 31 degrees).
pub fn batch_means(values: &[f64]) -> (f64, f64) {
    const BATCHES: usize = 32;
    let size = values.len() / BATCHES;
    let means: Vec<f64> = values.chunks_exact(size).map(|b| b.iter().sum::<f64>() / size as f64).collect();
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    let variance = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (means.len() - 1) as f64;
    (mean, 3.633 * (variance / means.len() as f64).sqrt())
}

/// Pearson's statistic.
pub fn chi_squared(seen: &[u64], expected: &[f64]) -> f64 {
    assert_eq!(seen.len(), expected.len());
    seen.iter().zip(expected).map(|(&n, e)| (n as f64 - e).powi(2) / e).sum()
}

/// The 99.9 % point of chi-squared (Wilson and Hilferty 1931; within 1 % from 3 degrees up).
pub fn chi_squared_limit(degrees: usize) -> f64 {
    let spread = 2.0 / (9.0 * degrees as f64);
    degrees as f64 * (1.0 - spread + 3.090 * spread.sqrt()).powi(3)
}
