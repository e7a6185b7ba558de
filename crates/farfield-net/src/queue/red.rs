//! Random Early Detection (Floyd and Jacobson 1993, figure 2), with the gentle slope above the upper
//! threshold (Floyd 2000, "Recommendation on using the gentle_ variant of RED").
//!
//! Thresholds are in bytes or packets. A packet's size does not change its probability of being dropped, not
//! even in bytes (RFC 7141). A packet that finds the link idle is dropped too if the average says so, as in
//! the paper. The queue counts as idle from when its last packet started to leave.

use super::Limit;
use crate::probability::Probability;
use farfield_base::Duration;
use farfield_base::random::Stream;

/// Parameters of RED. Thresholds have the unit of `limit`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// The most that may wait, whatever the average.
    pub limit: Limit,
    /// `min_th`: below this average nothing is dropped.
    pub least: f64,
    /// `max_th`: from this average on everything is dropped, or, if gentle, from twice this.
    pub most: f64,
    /// `max_p`: the probability at `max_th`, in (0, 1].
    pub probability: f64,
    /// `w_q`: the weight of the queue's length in its average, in (0, 1].
    pub weight: f64,
    /// The mean size of packets in bytes, by which idle time counts as packets that came to an empty queue.
    pub mean_packet: u64,
    /// The probability rises to 1 between `most` and twice `most`.
    pub gentle: bool,
    /// Packets whose ends understand it are marked in place of being dropped, while the probability is below
    /// 1 (RFC 3168, section 7).
    pub ecn: bool,
}

impl Parameters {
    /// `p_b`, the probability before it is spread: by the average alone.
    pub fn base_probability(&self, average: f64) -> f64 {
        if average < self.least {
            0.0
        } else if average < self.most {
            self.probability * (average - self.least) / (self.most - self.least)
        } else if self.gentle && average < 2.0 * self.most {
            self.probability + (1.0 - self.probability) * (average - self.most) / self.most
        } else {
            1.0
        }
    }
}

/// State of RED.
#[derive(Debug, Clone)]
pub(crate) struct Red {
    average: f64,
    /// Packets since the last drop while the average was between the thresholds; -1 below them.
    count: i64,
}

impl Red {
    pub fn new() -> Red {
        Red { average: 0.0, count: -1 }
    }

    /// Updates the average with a queue of `length`, or, if that is zero, with the time that it has been
    /// empty; `packet_time` is that of a packet of mean size at the link's rate.
    pub fn observe(&mut self, parameters: &Parameters, length: u64, idle: Duration, packet_time: Duration) {
        if length > 0 {
            self.average += parameters.weight * (length as f64 - self.average);
        } else {
            let packets = idle.as_secs_f64() / packet_time.as_secs_f64().max(1e-9);
            self.average *= (1.0 - parameters.weight).powf(packets);
        }
    }

    /// True if the packet that has just been observed is dropped.
    pub fn strikes(&mut self, parameters: &Parameters, rng: &mut Stream) -> bool {
        let base = parameters.base_probability(self.average);
        if base <= 0.0 {
            // At `min_th` itself the probability is 0 and the paper counts; that one packet makes no
            // difference.
            self.count = -1;
            return false;
        }
        self.count += 1;
        if base >= 1.0 {
            self.count = 0;
            return true;
        }
        // p_a = p_b / (1 - count p_b): gaps between drops are uniform, not geometric.
        let rest = 1.0 - self.count as f64 * base;
        let drops = rest <= base || Probability::from_f64(base / rest).happens(rng);
        if drops {
            self.count = 0;
        }
        drops
    }

    /// True if a packet that is struck is marked, where its ends understand that.
    pub fn prefers_marks(&self, parameters: &Parameters) -> bool {
        parameters.ecn && parameters.base_probability(self.average) < 1.0
    }

    /// The average, in the unit of the limit.
    #[cfg(test)]
    pub fn average(&self) -> f64 {
        self.average
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed};

    fn parameters() -> Parameters {
        Parameters {
            limit: Limit::Packets(100),
            least: 5.0,
            most: 15.0,
            probability: 0.02,
            weight: 0.002,
            mean_packet: 500,
            gentle: false,
            ecn: false,
        }
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{a} is not {b}");
    }

    /// The definition, summed: avg after n lengths q_i is Σ w (1 - w)^(n-i) q_i, and an idle time worth m
    /// packets multiplies by (1 - w)^m.
    #[test]
    fn the_average_is_its_definition() {
        let (parameters, packet_time) = (parameters(), Duration::from_us(100));
        let lengths: Vec<u64> = (1..200).map(|i| 1 + i * 37 % 23).collect();
        let mut red = Red::new();
        for &length in &lengths {
            red.observe(&parameters, length, Duration::ZERO, packet_time);
        }
        let w: f64 = parameters.weight;
        let weigh = |(age, &length): (usize, &u64)| w * (1.0 - w).powi(age as i32) * length as f64;
        let sum: f64 = lengths.iter().rev().enumerate().map(weigh).sum();
        close(red.average(), sum);
        red.observe(&parameters, 0, Duration::from_us(25_000), packet_time);
        close(red.average(), sum * (1.0 - w).powi(250));
    }

    #[test]
    fn the_probability_rises_as_drawn_in_the_paper() {
        let plain = parameters();
        let gentle = Parameters { gentle: true, ..plain };
        let check = |average, p, p_gentle| {
            close(plain.base_probability(average), p);
            close(gentle.base_probability(average), p_gentle);
        };
        check(4.9, 0.0, 0.0);
        check(10.0, 0.01, 0.01);
        check(15.0, 1.0, 0.02);
        check(22.5, 1.0, 0.51);
        check(30.0, 1.0, 1.0);
    }

    /// At a standing average the packets from one drop to the next are uniform (the paper's method 2), and
    /// fewer than 1/p_b.
    #[test]
    fn gaps_between_drops_are_uniform() {
        let parameters = parameters();
        let mut red = Red { average: 10.0, count: 0 };
        let mut rng = Seed(3).stream(Purpose::Link, 0);
        let (mut gaps, mut gap) = (vec![0u64; 101], 0);
        for _ in 0..2_000_000 {
            gap += 1;
            if red.strikes(&parameters, &mut rng) {
                gaps[gap] += 1;
                gap = 0;
            }
        }
        let drops: u64 = gaps.iter().sum();
        let expected = drops as f64 / 100.0;
        // The first packet after a drop has count 1, so that gaps are 1 … 99 with 1/(100 - count) left:
        // uniform.
        let shares = &gaps[1..=99];
        assert_eq!(shares.iter().sum::<u64>(), drops);
        let expected = expected * 100.0 / 99.0;
        let chi: f64 = shares.iter().map(|&n| (n as f64 - expected).powi(2) / expected).sum();
        assert!(chi < 148.2, "chi-squared with 98 degrees of freedom is {chi}, above its 99.9 % point");
    }
}
