//! PIE (RFC 8033): packets are dropped at random as they come, with a probability that a controller adjusts
//! every [update](Parameters::update) by how far the delay is from its target and how it changes.
//!
//! The delay is that of the packet that left last, by its time of arrival, or zero if it left nothing behind
//! (RFC 8033, section 5.2, leaves open how it is known; Linux does so). Drops are spread (section 5.4), the
//! probability rises by at most 2 % at a time where it is high (section 5.5), and bursts pass (section 4.4).
//! A packet's size does not change its probability of being dropped (RFC 7141).
//!
//! Departures are known when packets come, so that departures and updates up to then are worked out in order
//! when the next packet comes. Updates are at multiples of their interval from the start of the run.

use super::Limit;
use crate::probability::Probability;
use farfield_base::random::Stream;
use farfield_base::{Duration, Instant};
use std::collections::VecDeque;

/// Parameters of PIE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// The most that may wait, whatever the probability.
    pub limit: Limit,
    /// `QDELAY_REF`: the delay that is aimed at (RFC 8033: 15 ms).
    pub target: Duration,
    /// `T_UPDATE`: the time between two updates of the probability, above 0 (RFC 8033: 15 ms).
    pub update: Duration,
    /// `MAX_BURST`: how long a burst after idleness passes without drops (RFC 8033: 150 ms).
    pub burst: Duration,
    /// Weight of the delay's distance from its target, in 1/s (RFC 8033: 1/8).
    pub alpha: f64,
    /// Weight of the delay's change since the last update, in 1/s (RFC 8033: 5/4).
    pub beta: f64,
    /// `MEAN_PKTSIZE`: with at most twice so many bytes in the queue nothing is dropped early.
    pub mean_packet: u64,
    /// Packets whose ends understand it are marked in place of being dropped early, while the probability is
    /// below a tenth (RFC 8033, section 5.1).
    pub ecn: bool,
}

/// Probability from which on packets are dropped that could be marked (RFC 8033, section 5.1).
const MARKED_BELOW: f64 = 0.1;

/// Accumulated probability below which no packet is dropped (RFC 8033, section 5.4).
const ACCUMULATED_LEAST: f64 = 0.85;

/// Accumulated probability from which on every packet is dropped (RFC 8033, section 5.4).
const ACCUMULATED_MOST: f64 = 8.5;

/// The most that a probability of a tenth and more rises by (RFC 8033, section 5.5).
const RISE_MOST: f64 = 0.02;

/// Share of the probability that is left after an update in which nothing waited (RFC 8033, section 4.2).
const DECAY: f64 = 0.98;

/// A packet that waits.
#[derive(Debug, Clone, Copy)]
struct PieDeparture {
    start: Instant,
    came: Instant,
    bytes: u32,
}

/// The controller of a queue; names are the RFC's.
#[derive(Debug, Clone, Default)]
pub(crate) struct Control {
    drop_prob: f64,
    accu_prob: f64,
    current_qdelay: Duration,
    qdelay_old: Duration,
    burst_allowance: Duration,
    updated_at: Instant,
}

/// The controller, and the packets that wait with their departures.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pie {
    waiting: VecDeque<PieDeparture>,
    bytes: u64,
    control: Control,
}

impl Pie {
    /// Packets and bytes that wait.
    pub fn length(&self) -> (u64, u64) {
        (self.waiting.len() as u64, self.bytes)
    }

    /// Works out departures and updates up to `now`, in order.
    pub fn settle(&mut self, now: Instant, parameters: &Parameters) {
        while let Some(&PieDeparture { start, came, bytes }) = self.waiting.front() {
            if start > now {
                break;
            }
            self.waiting.pop_front();
            self.bytes -= u64::from(bytes);
            self.control.leave((start, came), self.waiting.is_empty(), parameters);
        }
        self.control.update(now, parameters);
    }

    /// `enque`: true if the packet that has come is dropped early.
    pub fn strikes(&mut self, parameters: &Parameters, rng: &mut Stream) -> bool {
        self.control.strikes(self.bytes, parameters, rng)
    }

    /// True if a packet that is struck is marked, where its ends understand that.
    pub fn prefers_marks(&self, parameters: &Parameters) -> bool {
        self.control.prefers_marks(parameters)
    }

    /// Notes a packet that was dropped, for whichever cause, or marked.
    pub fn dropped(&mut self) {
        self.control.dropped();
    }

    /// Adds a packet that waits from `came` until `start`.
    pub fn push(&mut self, start: Instant, came: Instant, bytes: u32) {
        self.waiting.push_back(PieDeparture { start, came, bytes });
        self.bytes += u64::from(bytes);
    }

    /// Notes a packet that went by without waiting.
    pub fn passed(&mut self) {
        self.control.empty();
    }
}

impl Control {
    /// Works out updates up to `now`.
    pub fn update(&mut self, now: Instant, parameters: &Parameters) {
        loop {
            let update_at = self.updated_at + parameters.update;
            if update_at > now {
                return;
            }
            if self.is_at_rest() {
                let rounds = now.since(self.updated_at).as_ns() / parameters.update.as_ns();
                self.updated_at += parameters.update.times(rounds);
                return;
            }
            self.updated_at = update_at;
            self.calculate_drop_prob(parameters);
        }
    }

    /// Notes a packet that leaves at the first of these instants and came at the other, as the last of those
    /// that wait or not. It goes before an update at its instant.
    pub fn leave(&mut self, (now, came): (Instant, Instant), is_last: bool, parameters: &Parameters) {
        if let Some(before_ns) = now.as_ns().checked_sub(1) {
            self.update(Instant::from_ns(before_ns), parameters);
        }
        self.current_qdelay = if is_last { Duration::ZERO } else { now.since(came) };
    }

    /// Notes that no packet waits.
    pub fn empty(&mut self) {
        self.current_qdelay = Duration::ZERO;
    }

    /// `enque`: true if the packet that has come, to `bytes` that wait, is dropped early.
    pub fn strikes(&mut self, bytes: u64, parameters: &Parameters, rng: &mut Stream) -> bool {
        let half = Duration::from_ns(parameters.target.as_ns() / 2);
        if self.drop_prob == 0.0 && self.current_qdelay < half && self.qdelay_old < half {
            self.burst_allowance = parameters.burst;
        }
        self.burst_allowance.is_zero() && self.drop_early(bytes, parameters, rng)
    }

    /// True if a packet that is struck is marked, where its ends understand that.
    pub fn prefers_marks(&self, parameters: &Parameters) -> bool {
        parameters.ecn && self.drop_prob < MARKED_BELOW
    }

    /// Notes a packet that was dropped, for whichever cause, or marked.
    pub fn dropped(&mut self) {
        self.accu_prob = 0.0;
    }

    /// True if the control of an empty queue behaves as a new one.
    pub fn remembers_nothing(&self) -> bool {
        self.is_at_rest() && self.accu_prob == 0.0
    }

    /// `drop_early`, with the spread of section 5.4.
    fn drop_early(&mut self, bytes: u64, parameters: &Parameters, rng: &mut Stream) -> bool {
        let half = Duration::from_ns(parameters.target.as_ns() / 2);
        if self.qdelay_old < half && self.drop_prob < 0.2 || bytes <= 2 * parameters.mean_packet {
            return false;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += self.drop_prob;
        if self.accu_prob < ACCUMULATED_LEAST {
            return false;
        }
        self.accu_prob >= ACCUMULATED_MOST || Probability::from_f64(self.drop_prob).happens(rng)
    }

    /// `calculate_drop_prob`.
    fn calculate_drop_prob(&mut self, parameters: &Parameters) {
        let [current, old, target] =
            [self.current_qdelay, self.qdelay_old, parameters.target].map(Duration::as_secs_f64);
        let mut p = parameters.alpha * (current - target) + parameters.beta * (current - old);
        p /= divisor(self.drop_prob);
        if self.drop_prob >= 0.1 {
            p = p.min(RISE_MOST);
        }
        self.drop_prob += p;
        if self.current_qdelay.is_zero() && self.qdelay_old.is_zero() {
            self.drop_prob *= DECAY;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = self.current_qdelay;
        let left_ns = self.burst_allowance.as_ns().saturating_sub(parameters.update.as_ns());
        self.burst_allowance = Duration::from_ns(left_ns);
    }

    /// True if updates change nothing any more until a packet comes.
    fn is_at_rest(&self) -> bool {
        self.drop_prob == 0.0
            && self.current_qdelay.is_zero()
            && self.qdelay_old.is_zero()
            && self.burst_allowance.is_zero()
    }
}

/// Divisor of steps, so that they are small where the probability is (RFC 8033, section 4.2).
fn divisor(drop_prob: f64) -> f64 {
    let steps = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (0.01, 8.0), (0.1, 2.0)];
    steps.into_iter().find(|(below, _)| drop_prob < *below).map_or(1.0, |(_, divisor)| divisor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed};

    fn parameters() -> Parameters {
        Parameters {
            limit: Limit::Packets(1000),
            target: Duration::from_ms(15),
            update: Duration::from_ms(15),
            burst: Duration::from_ms(150),
            alpha: 0.125,
            beta: 1.25,
            mean_packet: 1500,
            ecn: false,
        }
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    /// A packet that leaves at 20 ms after 18 ms makes 0.125 · 3 ms + 1.25 · 18 ms of it at 30 ms, over
    /// 2,048; another, after 18 ms too, 0.125 · 3 ms more at 45 ms.
    #[test]
    fn the_probability_follows_the_delay() {
        let (parameters, mut pie) = (parameters(), Pie::default());
        pie.push(at(20), at(2), 1500);
        pie.push(at(40), at(22), 1500);
        pie.push(at(50), at(23), 1500);
        pie.settle(at(30), &parameters);
        let first = (0.125 * 0.003 + 1.25 * 0.018) / 2048.0;
        assert!((pie.control.drop_prob - first).abs() < 1e-12, "{}", pie.control.drop_prob);
        pie.settle(at(45), &parameters);
        let second = first + 0.125 * 0.003 / 128.0;
        assert!((pie.control.drop_prob - second).abs() < 1e-12, "{}", pie.control.drop_prob);
        pie.settle(at(100_000), &parameters);
        assert!(pie.control.is_at_rest() && pie.length() == (0, 0), "{pie:?}");
        assert!((at(100_000).since(pie.control.updated_at)) < parameters.update, "updates go on from there");
    }

    /// At a standing probability gaps between drops lie between 0.85 and 8.5 of its inverse, and their mean
    /// is 1.85 of it, less what rounding takes.
    #[test]
    fn drops_are_spread() {
        let control = Control { drop_prob: 0.0625, qdelay_old: Duration::from_ms(20), ..Control::default() };
        let mut pie = Pie { bytes: 9000, control, ..Pie::default() };
        let (parameters, mut rng) = (parameters(), Seed(3).stream(Purpose::Link, 0));
        let mut gaps = Vec::new();
        let mut gap = 0u64;
        for _ in 0..2_000_000 {
            gap += 1;
            if pie.strikes(&parameters, &mut rng) {
                pie.dropped();
                gaps.push(gap);
                gap = 0;
            }
        }
        assert!(gaps.iter().all(|gap| (14..=136).contains(gap)));
        // Thirteen packets pass, then each is dropped with 1/16: 29 in the mean, with a deviation of 15.5.
        let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        assert!((mean - 29.0).abs() < 4.0 * 15.5 / (gaps.len() as f64).sqrt(), "{mean}");
    }

    #[test]
    fn a_burst_after_idleness_passes() {
        let (parameters, mut rng) = (parameters(), Seed(3).stream(Purpose::Link, 0));
        let mut pie = Pie::default();
        assert!(!pie.strikes(&parameters, &mut rng));
        // Two a millisecond come, one leaves: the delay passes the target soon.
        let (mut first_ms, mut starts_ms, mut drops) = (None, 1, 0);
        for ms in 1..20_000 {
            for _ in 0..2 {
                pie.settle(at(ms), &parameters);
                if pie.strikes(&parameters, &mut rng) {
                    pie.dropped();
                    first_ms = first_ms.or(Some(ms));
                    drops += u64::from(ms >= 10_000);
                } else {
                    starts_ms = starts_ms.max(ms) + 1;
                    pie.push(at(starts_ms), at(ms), 1500);
                }
            }
        }
        let first_ms = first_ms.expect("it drops in the end");
        assert!((150..400).contains(&first_ms), "{first_ms} ms");
        // Half of it is too much.
        assert!((9_700..10_300).contains(&drops), "{drops} of 20,000 in the second half");
    }
}
