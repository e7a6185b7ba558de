//! Paths made from data: models of a path whose parameters were fitted to measurements, and what is known of
//! the fit. Each link draws a course of its own from them; the measurements are not here.
//!
//! The delay is a Gaussian process put through the distribution that was measured: a level of the client's
//! own, a slow wandering (an autoregressive process of first order), and levels at the steps of the network,
//! between which it moves along a straight line. Losses are outages, at steps and between them, some of which
//! are followed by another within a second or two; some clients have many of them, and others few. A course
//! is worked out a second ahead of the packet that asks first, so that packets draw nothing.
//!
//! Minutes begin with the run.

use farfield_base::random::{Purpose, Seed, Stream};
use farfield_base::{Duration, Instant};
use rand_core::Rng;
use serde::{Deserialize, Serialize};

const NS_PER_S: u64 = 1_000_000_000;
/// The probability of an outage at a step at most, however high a client's level.
const AT_STEP_MOST: f64 = 0.5;

/// A model fitted to measurements of a path.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub struct Profile {
    /// The profile's name.
    pub name: &'static str,
    /// The measurements.
    pub source: &'static str,
    /// The measurements' licence.
    pub licence: &'static str,
    /// The time in which they were made.
    pub years: &'static str,
    /// The number of measurements.
    pub samples: u32,
    /// The part of them that was fitted, and that which was not.
    pub fitted: &'static str,
    /// The error on the part that was not, in words.
    pub error: &'static str,
    /// The round trip, which is that of one direction's link with this part of it the other's.
    pub delay: DelayProfile,
    /// The part of the round trip that the other direction takes, always.
    pub other_way: Duration,
    /// Losses.
    pub outages: OutageProfile,
}

/// A model of delay.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub struct DelayProfile {
    /// Quantiles in microseconds at equal distances of a standard normal variable, from -3.25 on by a
    /// quarter.
    pub quantiles_us: [u32; 27],
    /// Shares of variance: of the client's level, of the slow wandering, of levels at steps.
    pub shares: [f64; 3],
    /// The time in which the wandering forgets, in seconds.
    pub wandering_s: f64,
    /// Time between steps.
    pub step: Duration,
    /// The first step after the start of a minute.
    pub first_step: Duration,
    /// Correlation of a level with the one before.
    pub correlation: f64,
}

/// A model of outages, in which every packet is lost.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub struct OutageProfile {
    /// Time between steps.
    pub step: Duration,
    /// The first step after the start of a minute.
    pub first_step: Duration,
    /// The probability of one at a step, on average over clients.
    pub at_step: f64,
    /// Outages a second otherwise, on average over clients.
    pub per_second: f64,
    /// Standard deviation of the logarithm of a client's level, which is lognormal of mean one, and by which
    /// both are multiplied.
    pub spread: f64,
    /// The probability that one is followed by another.
    pub again: f64,
    /// The mean time from its end to that one.
    pub again_after: Duration,
    /// Length of each.
    pub lasts: Duration,
}

/// Starlink.
pub static STARLINK: Profile = Profile {
    name: "starlink",
    source: "FjordLink (ds-kiel/FjordLink): a Starlink terminal on a research ship in the Kiel Fjord, round trip to the \
             operator's point of presence and share of pings lost, a second each",
    licence: "CC BY 4.0",
    years: "December 2024 to March 2025",
    samples: 146_979,
    fitted: "21 of 41 hours, every other one; compared with the other 20",
    error: "round trip p5 -0.2 %, p50 +0.3 %, p95 -0.4 %, p99 -2.7 %; autocorrelation within 0.02 at 1, 10 and 60 s; \
            loss bursts -0.6 %; share of pings lost -9.6 % and of seconds with one -9.3 %, where the fitted hours \
            themselves have -9.7 % and -10.2 %",
    delay: DelayProfile {
        quantiles_us: [
            19_640, 19_820, 20_050, 20_380, 20_720, 21_090, 21_540, 22_030, 22_620, 23_220, 23_970, 24_920,
            26_110, 27_500, 28_990, 30_830, 32_980, 35_370, 37_990, 40_740, 44_250, 48_170, 52_510, 57_150,
            62_540, 67_570, 72_170,
        ],
        shares: [0.18, 0.2, 0.62],
        wandering_s: 200.0,
        step: Duration::from_secs(15),
        first_step: Duration::from_secs(12),
        correlation: 0.1,
    },
    other_way: Duration::from_ms(9),
    outages: OutageProfile {
        step: Duration::from_secs(15),
        first_step: Duration::from_secs(12),
        at_step: 0.066,
        per_second: 0.0066,
        spread: 0.42,
        again: 0.16,
        again_after: Duration::from_ms(1500),
        lasts: Duration::from_ms(100),
    },
};

/// The name of a profile, as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ProfileName {
    /// [`STARLINK`].
    Starlink,
}

impl ProfileName {
    /// The profile of this name.
    pub fn profile(self) -> &'static Profile {
        match self {
            ProfileName::Starlink => &STARLINK,
        }
    }
}

impl DelayProfile {
    /// The least round trip.
    pub fn least(&self) -> Duration {
        Duration::from_us(self.quantiles_us[0].into())
    }

    /// The largest round trip.
    pub fn largest(&self) -> Duration {
        Duration::from_us(self.quantiles_us[self.quantiles_us.len() - 1].into())
    }

    /// The round trip in nanoseconds that a standard normal variable stands for.
    fn ns(&self, normal: f64) -> u64 {
        let place = ((normal + 3.25) * 4.0).clamp(0.0, 26.0);
        let below = (place as usize).min(25);
        let [low, high] = [below, below + 1].map(|at| f64::from(self.quantiles_us[at]) * 1e3);
        (low + (high - low) * (place - below as f64)) as u64
    }
}

impl OutageProfile {
    /// Outages a second in all.
    pub fn rate(&self) -> f64 {
        (self.at_step / self.step.as_secs_f64() + self.per_second) / (1.0 - self.again)
    }

    /// The share of time in which everything is lost.
    pub fn share(&self) -> f64 {
        self.rate() * self.lasts.as_secs_f64()
    }
}

/// A normal variable, by Box and Muller.
fn normal(rng: &mut Stream) -> f64 {
    let [radius, angle] = [uniform(rng), uniform(rng)];
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

/// In (0, 1], of 53 bits.
fn uniform(rng: &mut Stream) -> f64 {
    ((rng.next_u64() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// The course of a link by a profile.
#[derive(Debug, Clone)]
pub(crate) struct ProfileState {
    delay: DelayWalk,
    other_way: Duration,
    outages: OutageWalk,
}

impl ProfileState {
    /// A course of its own for each `number`.
    pub fn new(profile: &'static Profile, number: u64) -> ProfileState {
        let stream = |which| Seed(number).stream(Purpose::Link, which);
        ProfileState {
            delay: DelayWalk::new(&profile.delay, stream(0)),
            other_way: profile.other_way,
            outages: OutageWalk::new(&profile.outages, stream(1)),
        }
    }

    /// The delay of this direction at `now`; instants come in order.
    pub fn delay(&mut self, now: Instant) -> Duration {
        self.delay.at(now) - self.other_way
    }

    /// True if a packet is lost that comes at `now`; instants come in order.
    pub fn loses(&mut self, now: Instant) -> bool {
        self.outages.at(now)
    }
}

#[derive(Debug, Clone)]
struct DelayWalk {
    profile: &'static DelayProfile,
    rng: Stream,
    own: f64,
    wandering: f64,
    /// The levels before and after the present second.
    levels: [f64; 2],
    /// The second up to which the course is known, and the delays at its begin and its end.
    second: u64,
    ends_ns: [u64; 2],
}

impl DelayWalk {
    fn new(profile: &'static DelayProfile, mut rng: Stream) -> DelayWalk {
        let [own, wandering, before, fresh] = [(); 4].map(|()| normal(&mut rng));
        let levels = [before, follow(profile.correlation, before, fresh)];
        let mut walk = DelayWalk { profile, rng, own, wandering, levels, second: 0, ends_ns: [0; 2] };
        walk.ends_ns[1] = walk.value(0);
        walk.advance();
        walk
    }

    fn at(&mut self, now: Instant) -> Duration {
        while now.as_ns() >= self.second * NS_PER_S {
            self.advance();
        }
        let [first, last] = self.ends_ns.map(u128::from);
        let passed = u128::from(now.as_ns() % NS_PER_S);
        let sum = first * (u128::from(NS_PER_S) - passed) + last * passed;
        Duration::from_ns((sum / u128::from(NS_PER_S)) as u64)
    }

    /// Works out the next second.
    fn advance(&mut self) {
        self.second += 1;
        let keeps = (-1.0 / self.profile.wandering_s).exp();
        let fresh = normal(&mut self.rng);
        self.wandering = follow(keeps, self.wandering, fresh);
        let step_s = self.profile.step.as_ns() / NS_PER_S;
        let first_s = self.profile.first_step.as_ns() / NS_PER_S;
        if (self.second + step_s - first_s % step_s).is_multiple_of(step_s) {
            let fresh = normal(&mut self.rng);
            self.levels = [self.levels[1], follow(self.profile.correlation, self.levels[1], fresh)];
        }
        self.ends_ns = [self.ends_ns[1], self.value(self.second)];
    }

    /// The delay at a second, in nanoseconds.
    fn value(&self, second: u64) -> u64 {
        let DelayProfile { shares: [own, wandering, levels], correlation, step, first_step, .. } =
            self.profile;
        let step_s = step.as_ns() / NS_PER_S;
        let past = (second + step_s - first_step.as_ns() / NS_PER_S % step_s) % step_s;
        let part = past as f64 / step_s as f64;
        let [before, after] = [1.0 - part, part];
        // Of variance one wherever between two steps it is.
        let spread = (before * before + after * after + 2.0 * correlation * before * after).sqrt();
        let level = (before * self.levels[0] + after * self.levels[1]) / spread;
        let sum = own.sqrt() * self.own + wandering.sqrt() * self.wandering + levels.sqrt() * level;
        self.profile.ns(sum)
    }
}

/// The next value of an autoregressive process of variance one.
fn follow(keeps: f64, before: f64, fresh: f64) -> f64 {
    keeps * before + (1.0 - keeps * keeps).sqrt() * fresh
}

#[derive(Debug, Clone)]
struct OutageWalk {
    profile: &'static OutageProfile,
    rng: Stream,
    /// The probability of an outage at a step, and the mean time between others, of this client.
    at_step: f64,
    between_s: f64,
    /// The end of the present outage, or of the last one.
    until: Instant,
    next_step: Instant,
    /// The next outage at a step, the next between, and the next that follows one before it.
    next: [Instant; 3],
}

impl OutageWalk {
    fn new(profile: &'static OutageProfile, mut rng: Stream) -> OutageWalk {
        let OutageProfile { spread, at_step, per_second, first_step, .. } = *profile;
        let level = (spread * normal(&mut rng) - spread * spread / 2.0).exp();
        let mut walk = OutageWalk {
            profile,
            rng,
            at_step: (at_step * level).min(AT_STEP_MOST),
            between_s: 1.0 / (per_second * level),
            until: Instant::ZERO,
            next_step: Instant::ZERO + first_step,
            next: [Instant::MAX; 3],
        };
        walk.draw_at_step();
        walk.draw_between(Instant::ZERO);
        walk
    }

    fn at(&mut self, now: Instant) -> bool {
        loop {
            let from = self.next[0].min(self.next[1]).min(self.next[2]);
            if now < from {
                return now < self.until;
            }
            self.until = from + self.profile.lasts;
            match self.next.iter().position(|next| *next == from) {
                Some(0) => self.draw_at_step(),
                Some(1) => self.draw_between(from),
                _ => self.next[2] = Instant::MAX,
            }
            self.draw_again();
        }
    }

    /// The step after which the next outage comes: a geometric number of them lies before.
    fn draw_at_step(&mut self) {
        let passed = (uniform(&mut self.rng).ln() / (-self.at_step).ln_1p()) as u64;
        self.next[0] = self.next_step + self.profile.step.times(passed);
        self.next_step = self.next[0] + self.profile.step;
    }

    fn draw_between(&mut self, from: Instant) {
        self.next[1] = from + self.waits(self.between_s);
    }

    /// The outage that follows the one that ends at `until`, if one does. Of two that are due the earlier
    /// counts, which is rare.
    fn draw_again(&mut self) {
        if uniform(&mut self.rng) <= self.profile.again {
            let at = self.until + self.waits(self.profile.again_after.as_secs_f64());
            self.next[2] = self.next[2].min(at);
        }
    }

    /// An exponential time of this mean.
    fn waits(&mut self, mean_s: f64) -> Duration {
        Duration::from_secs_f64(-uniform(&mut self.rng).ln() * mean_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_is_within_what_was_measured_and_its_own() {
        let course = |number| {
            let mut walk = ProfileState::new(&STARLINK, number);
            (0..2000).map(|nth| walk.delay(Instant::from_ns(nth * 300_000_000))).collect::<Vec<_>>()
        };
        let one = course(1);
        assert_eq!(one, course(1));
        assert_ne!(one, course(2));
        let range =
            STARLINK.delay.least() - STARLINK.other_way..=STARLINK.delay.largest() - STARLINK.other_way;
        assert!(one.iter().all(|delay| range.contains(delay)));
        // It does not matter which packets ask.
        let mut late = ProfileState::new(&STARLINK, 1);
        assert_eq!(late.delay(Instant::from_ns(1999 * 300_000_000)), one[1999]);
    }

    /// Outages at steps, between them and after others, over 400 links for half an hour each, whose levels
    /// differ as they should: beyond what their coming in clusters, of geometric numbers, makes of it.
    #[test]
    fn outages_come_as_often_as_they_should() {
        const SECONDS: u64 = 1800;
        let (mut lost, mut at_steps, mut begun) = (0u64, 0u64, Vec::new());
        for number in 0..400 {
            let mut walk = ProfileState::new(&STARLINK, number);
            let (mut before, mut own) = (false, 0u64);
            for nth in 0..SECONDS * 50 {
                let now = walk.loses(Instant::from_ns(nth * 20_000_000));
                lost += u64::from(now);
                own += u64::from(now && !before);
                at_steps += u64::from(now && !before && nth % 750 == 600);
                before = now;
            }
            begun.push(own as f64);
        }
        let profile = &STARLINK.outages;
        let seconds = (400 * SECONDS) as f64;
        let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.06;
        let sum: f64 = begun.iter().sum();
        assert!(close(at_steps as f64, seconds / 15.0 * profile.at_step), "{at_steps}");
        assert!(close(sum, seconds * profile.rate()), "{sum}");
        assert!(close(lost as f64, seconds * 50.0 * profile.share()), "{lost}");
        let mean = sum / 400.0;
        let variance = begun.iter().map(|own| (own - mean).powi(2)).sum::<f64>() / 399.0;
        let clustered = mean * (1.0 + profile.again) / (1.0 - profile.again);
        let of_levels = (variance - clustered).sqrt() / mean;
        let expected = (profile.spread * profile.spread).exp_m1().sqrt();
        assert!((of_levels - expected).abs() < 0.07, "{of_levels} and {expected}");
    }

    /// The highest level that a normal variable of 53 bits has is no probability above one, and the course of
    /// a client with that ends.
    #[test]
    fn an_unlucky_client_still_gets_packets_through() {
        let mut walk = OutageWalk::new(&STARLINK.outages, Seed(1).stream(Purpose::Link, 1));
        walk.at_step = (STARLINK.outages.at_step * (STARLINK.outages.spread * 8.6).exp()).min(AT_STEP_MOST);
        let lost = (0..36_000u64).filter(|nth| walk.at(Instant::from_ns(nth * 100_000_000))).count();
        assert!((1..3_600).contains(&lost), "{lost}");
    }
}
