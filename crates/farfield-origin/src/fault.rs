//! Faults in time: periodic stalls, one long hiccup, a slow tail, a slow start. Each is a formula, so that
//! what users see of it can be computed and a load generator's report compared with it.
//!
//! All instants count from the first request of the origin: tools take seconds to start, and the course of
//! a fault must not depend on that. Within a stall or a hiccup nothing is served: a request that arrives
//! waits for the end, and one in service goes on after it. Connections are still accepted by the kernel,
//! and a reply that is being sent is still sent, as with a server whose process waits for its garbage
//! collector or its disk.
//!
//! For open arrivals, spread evenly over whole periods, a stall of T in every E makes a share of T/E wait,
//! for a time that is uniform from 0 to T: the wait exceeds x with the probability (T - x)/E. A stall of
//! 0.5 s in every 5 s thus has a 99th percentile of 450 ms. The same is known as the argument against
//! measuring with clients that wait (Tene, "How NOT to measure latency", 2013).

use crate::config::OriginConfig;
use farfield_base::random::{Purpose, Seed};
use farfield_base::{Duration, Instant, Share};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A stall of `time` at the end of every period of `every`: nothing is served from `every - time` to
/// `every` after the first request, and so on in each period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Stall {
    time: Duration,
    every: Duration,
}

/// One pause of `time`, which begins `at` after the first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hiccup {
    time: Duration,
    at: Duration,
}

/// A share of the requests, drawn by seed and request number, take `time` longer to serve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SlowTail {
    share: Share,
    time: Duration,
}

/// A request whose service begins t after the first request takes `time` * (1 - t/`lasting`) longer, until
/// t is `lasting`: caches that fill, code that is being compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SlowStart {
    time: Duration,
    lasting: Duration,
}

/// Text that is not the description of a fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}`: write {expected}")]
pub struct FaultError {
    given: String,
    expected: &'static str,
}

const STALL: &str = "a stall such as \"500ms every 5s\", at least 1 ms shorter than its period";
const HICCUP: &str = "a pause and when it begins after the first request, such as \"2s at 3s\"";
const SLOW_TAIL: &str = "a share of requests and how much longer they take, such as \"1% take 200ms\"";
const SLOW_START: &str =
    "how much longer the first request takes and when that is over, such as \"100ms for 3s\"";

/// Values left and right of a word, each read.
fn halves<A: FromStr, B: FromStr>(
    text: &str,
    word: &str,
    expected: &'static str,
) -> Result<(A, B), FaultError> {
    let wrong = || FaultError { given: text.to_owned(), expected };
    let mut words = text.split_whitespace();
    match (words.next(), words.next(), words.next(), words.next()) {
        (Some(left), Some(between), Some(right), None) if between == word => {
            Ok((left.parse().map_err(|_| wrong())?, right.parse().map_err(|_| wrong())?))
        }
        _ => Err(wrong()),
    }
}

impl FromStr for Stall {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Stall, FaultError> {
        let (time, every): (Duration, Duration) = halves(text, "every", STALL)?;
        match every >= time.max(Duration::from_ns(1)) + Duration::from_ms(1) {
            true => Ok(Stall { time, every }),
            false => Err(FaultError { given: text.to_owned(), expected: STALL }),
        }
    }
}

impl FromStr for Hiccup {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Hiccup, FaultError> {
        let (time, at) = halves(text, "at", HICCUP)?;
        Ok(Hiccup { time, at })
    }
}

impl FromStr for SlowTail {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<SlowTail, FaultError> {
        let (share, time) = halves(text, "take", SLOW_TAIL)?;
        Ok(SlowTail { share, time })
    }
}

impl FromStr for SlowStart {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<SlowStart, FaultError> {
        let (time, lasting) = halves(text, "for", SLOW_START)?;
        Ok(SlowStart { time, lasting })
    }
}

/// Display, and the two conversions that serde goes through.
macro_rules! as_text {
    ($fault:ty, $self:ident, $f:ident, $write:expr) => {
        impl fmt::Display for $fault {
            fn fmt(&$self, $f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $write
            }
        }

        impl TryFrom<String> for $fault {
            type Error = FaultError;

            fn try_from(text: String) -> Result<$fault, FaultError> {
                text.parse()
            }
        }

        impl From<$fault> for String {
            fn from(fault: $fault) -> String {
                fault.to_string()
            }
        }
    };
}

as_text!(Stall, self, f, write!(f, "{} every {}", self.time, self.every));
as_text!(Hiccup, self, f, write!(f, "{} at {}", self.time, self.at));
as_text!(SlowTail, self, f, write!(f, "{} take {}", self.share, self.time));
as_text!(SlowStart, self, f, write!(f, "{} for {}", self.time, self.lasting));

/// The faults of one origin. Instants are those since its first request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Faults {
    seed: Seed,
    stall: Option<Stall>,
    hiccup: Option<Hiccup>,
    slow_tail: Option<SlowTail>,
    slow_start: Option<SlowStart>,
}

impl Faults {
    pub(crate) fn new(config: &OriginConfig) -> Faults {
        Faults {
            seed: Seed(config.seed),
            stall: config.stall,
            hiccup: config.hiccup,
            slow_tail: config.slow_tail,
            slow_start: config.slow_start,
        }
    }

    /// True if there are none.
    pub(crate) fn none(&self) -> bool {
        self.stall.is_none() && self.hiccup.is_none() && self.slow_tail.is_none() && self.slow_start.is_none()
    }

    /// The end of a service of `usual` length that begins at `start`, for the `number`-th request from 0.
    pub(crate) fn served(&self, number: u64, start: Instant, usual: Duration) -> Instant {
        let start = self.awake(start);
        let work = usual + self.tail(number) + self.start_up(start);
        self.finish(start, work)
    }

    /// Time that the slow tail adds to the `number`-th request. The draw is the second one of its number, so
    /// that slow requests and failing ones are independent.
    fn tail(&self, number: u64) -> Duration {
        let Some(SlowTail { share, time }) = self.slow_tail else { return Duration::ZERO };
        let mut rng = self.seed.stream(Purpose::Server, number);
        let _ = rng.random::<f64>();
        if rng.random::<f64>() < share.as_f64() { time } else { Duration::ZERO }
    }

    /// Time that the slow start adds to a service that begins at `start`.
    fn start_up(&self, start: Instant) -> Duration {
        match self.slow_start {
            Some(SlowStart { time, lasting }) if start < Instant::ZERO + lasting => {
                let left = 1.0 - start.as_secs_f64() / lasting.as_secs_f64();
                Duration::from_secs_f64(time.as_secs_f64() * left)
            }
            _ => Duration::ZERO,
        }
    }

    /// The end of `work` from `start` on, with nothing done within pauses.
    fn finish(&self, start: Instant, mut work: Duration) -> Instant {
        let mut now = start;
        loop {
            let pause = self.pause_from(now);
            let Some((begin, _)) = pause.filter(|(begin, _)| *begin < now + work) else {
                return now + work;
            };
            work = work - begin.since(now);
            now = self.awake(begin);
        }
    }

    /// `now`, or the end of the pauses that it lies in.
    fn awake(&self, mut now: Instant) -> Instant {
        while let Some((_, end)) = self.pause_from(now).filter(|(begin, _)| *begin <= now) {
            now = end;
        }
        now
    }

    /// The first pause that ends after `now`: its begin and its end.
    fn pause_from(&self, now: Instant) -> Option<(Instant, Instant)> {
        let stall = self.stall.filter(|stall| !stall.time.is_zero()).map(|Stall { time, every }| {
            let period = now.as_ns() / every.as_ns();
            let end = Instant::ZERO + every.times(period + 1);
            (Instant::from_ns(end.as_ns() - time.as_ns()), end)
        });
        let hiccup = self.hiccup.and_then(|Hiccup { time, at }| {
            let begin = Instant::ZERO + at;
            (now < begin + time).then_some((begin, begin + time))
        });
        stall.into_iter().chain(hiccup).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    fn faults(text: &str) -> Faults {
        Faults::new(&toml::from_str(text).expect("a valid table"))
    }

    #[test]
    fn each_fault_is_read_as_it_is_written() {
        let text = "stall = '500ms every 5s'\nhiccup = '2s at 3s'\nslow-tail = '1% take 200ms'\n\
                    slow-start = '100ms for 3s'";
        let config: OriginConfig = toml::from_str(text).expect("valid");
        assert_eq!(config.stall, Some(Stall { time: Duration::from_ms(500), every: Duration::from_secs(5) }));
        let again: OriginConfig = toml::from_str(&toml::to_string(&config).expect("text")).expect("valid");
        assert_eq!(again, config);
        for wrong in [
            "stall = '5s every 5s'",
            "stall = '500ms'",
            "stall = '500ms every 5s twice'",
            "hiccup = '2s every 3s'",
            "slow-tail = '150% take 1s'",
            "slow-start = '100ms'",
        ] {
            let error = toml::from_str::<OriginConfig>(wrong).expect_err(wrong).to_string();
            assert!(error.contains("such as"), "{error}");
        }
    }

    #[test]
    fn nothing_is_served_within_a_stall() {
        let faults = faults("stall = '500ms every 5s'");
        let served = |at, work| faults.served(0, ms(at), Duration::from_ms(work));
        assert_eq!(served(0, 10), ms(10));
        assert_eq!(served(4_490, 10), ms(4_500), "ends as the stall begins");
        assert_eq!(served(4_495, 10), ms(5_005), "half before, half after");
        assert_eq!(served(4_500, 0), ms(5_000));
        assert_eq!(served(4_999, 0), ms(5_000));
        assert_eq!(served(5_000, 0), ms(5_000));
        assert_eq!(served(0, 9_000), ms(9_500), "two periods hold 9 s of work");
        assert_eq!(served(0, 9_001), ms(10_001));
    }

    #[test]
    fn pauses_that_touch_or_overlap_are_one() {
        let faults = faults("stall = '500ms every 5s'\nhiccup = '1s at 4800ms'");
        assert_eq!(faults.served(0, ms(4_600), Duration::ZERO), ms(5_800));
        assert_eq!(faults.served(0, ms(4_490), Duration::from_ms(20)), ms(5_810));
        assert_eq!(faults.served(0, ms(9_600), Duration::ZERO), ms(10_000), "the hiccup comes once");
    }

    /// The formula of the module's head: for arrivals spread evenly the wait exceeds x with the probability
    /// (T - x)/E, hence the p99 of 450 ms.
    #[test]
    fn open_arrivals_see_the_percentiles_of_the_formula() {
        let faults = faults("stall = '500ms every 5s'");
        let mut waits: Vec<u64> = (0..100_000u64)
            .map(|k| Instant::from_ns(k * 100_000 + 50_000))
            .map(|at| faults.served(0, at, Duration::ZERO).since(at).as_ns())
            .collect();
        waits.sort_unstable();
        for (share, wait_ms) in [(0.9, 0.0), (0.95, 250.0), (0.99, 450.0), (0.999, 495.0)] {
            let found = waits[(share * waits.len() as f64) as usize] as f64 / 1e6;
            assert!((found - wait_ms).abs() < 0.2, "p{share}: {found} ms, not {wait_ms}");
        }
    }

    /// The number of slow requests is binomial (five standard deviations), and independent of who fails.
    #[test]
    fn the_tail_is_as_long_and_as_thick_as_it_says() {
        const REQUESTS: u64 = 100_000;
        let text = "slow-tail = '1% take 200ms'\nerror-rate = 0.5";
        let faults = faults(text);
        let config: OriginConfig = toml::from_str(text).expect("valid");
        let failures = crate::failures::Failures::new(Seed(config.seed), config.error_rate);
        let slow = |number: &u64| faults.served(*number, ms(7), Duration::from_ms(1)) == ms(208);
        let count = (0..REQUESTS).filter(slow).count() as f64;
        let failing = (0..REQUESTS).filter(slow).filter(|number| failures.strikes(*number)).count() as f64;
        assert!((count - 1_000.0).abs() < 5.0 * 990.0_f64.sqrt(), "{count} slow");
        assert!((failing - count / 2.0).abs() < 5.0 * (count / 4.0).sqrt(), "{failing} of {count} fail");
    }

    #[test]
    fn a_slow_start_ends_in_a_straight_line() {
        let faults = faults("slow-start = '100ms for 3s'");
        for (at, took) in [(0, 101), (1_500, 51), (2_970, 2), (3_000, 1), (9_000, 1)] {
            assert_eq!(faults.served(0, ms(at), Duration::from_ms(1)), ms(at + took), "at {at} ms");
        }
    }
}
