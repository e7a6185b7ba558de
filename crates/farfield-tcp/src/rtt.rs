//! The round-trip time and the retransmission timeout that follows from it: RFC 6298.

use farfield_base::Duration;

/// The bounds of the retransmission timeout, which stacks set differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RtoLimits {
    /// Before the first sample (RFC 6298 §2.1: 1 s).
    pub initial: Duration,
    /// The least timeout (§2.4: 1 s).
    pub min: Duration,
    /// The greatest, backed off or not (§2.5: at least 60 s).
    pub max: Duration,
    /// G of §2.2 and §2.3: the least that is added to the smoothed time. Linux has 200 ms here.
    pub granularity: Duration,
}

/// SRTT, RTTVAR and the timeout.
#[derive(Debug, Clone, Copy)]
pub struct RttEstimator {
    /// SRTT and RTTVAR in nanoseconds; `None` before the first sample.
    smoothed: Option<(u64, u64)>,
    /// RTO before backing off.
    rto: Duration,
    /// Times that the timer was doubled since the last good sample.
    doublings: u8,
}

impl RttEstimator {
    /// Nothing measured yet.
    pub fn new(limits: &RtoLimits) -> RttEstimator {
        RttEstimator { smoothed: None, rto: limits.initial, doublings: 0 }
    }

    /// The smoothed round-trip time, once there is a sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.smoothed.map(|(srtt, _)| Duration::from_ns(srtt))
    }

    /// Takes a measured round-trip time of a segment that was sent once (Karn's algorithm is the caller's:
    /// §3).
    pub fn sample(&mut self, rtt: Duration, limits: &RtoLimits) {
        let r = rtt.as_ns();
        let (srtt, rttvar) = match self.smoothed {
            // RFC 6298 §2.2: SRTT <- R, RTTVAR <- R/2
            None => (r, r / 2),
            // RFC 6298 §2.3: RTTVAR <- 3/4 RTTVAR + 1/4 |SRTT - R'|, then SRTT <- 7/8 SRTT + 1/8 R'
            Some((srtt, rttvar)) => {
                let rttvar = weigh(rttvar, srtt.abs_diff(r), 4);
                (weigh(srtt, r, 8), rttvar)
            }
        };
        self.smoothed = Some((srtt, rttvar));
        // RFC 6298 §2.2, §2.3: RTO <- SRTT + max (G, K*RTTVAR), K = 4; §2.4 and §2.5: bounds
        let spread = limits.granularity.max(Duration::from_ns(rttvar).times(4));
        self.rto = (Duration::from_ns(srtt) + spread).max(limits.min).min(limits.max);
        self.doublings = 0;
    }

    /// The timeout as it stands, backed off.
    pub fn rto(&self, limits: &RtoLimits) -> Duration {
        self.rto.times(1 << u32::from(self.doublings).min(32)).min(limits.max)
    }

    /// RFC 6298 §5.5: RTO <- RTO * 2.
    pub fn back_off(&mut self) {
        self.doublings = self.doublings.saturating_add(1);
    }

    /// RFC 6298 §5.7: where the SYN's timer expired and the timeout is under 3 s, data begins with 3 s.
    pub fn begin_after_lost_syn(&mut self) {
        if self.smoothed.is_none() {
            self.rto = self.rto.max(Duration::from_secs(3));
        }
        self.doublings = 0;
    }
}

/// `old + (new - old) / share`, without overflow.
fn weigh(old: u64, new: u64, share: u64) -> u64 {
    old - old / share + new / share
}

#[cfg(test)]
mod tests {
    use super::*;

    const RFC: RtoLimits = RtoLimits {
        initial: Duration::from_secs(1),
        min: Duration::from_ms(1),
        max: Duration::from_secs(60),
        granularity: Duration::from_ms(1),
    };

    /// The recurrence in floating point, as section 2 writes it.
    fn textbook(samples_ms: &[f64]) -> f64 {
        let (mut srtt, mut rttvar) = (samples_ms[0], samples_ms[0] / 2.0);
        for r in &samples_ms[1..] {
            rttvar = 0.75 * rttvar + 0.25 * (srtt - r).abs();
            srtt = 0.875 * srtt + 0.125 * r;
        }
        srtt + (4.0 * rttvar).max(1.0)
    }

    #[test]
    fn follows_the_recurrence() {
        let samples = [100.0, 120.0, 80.0, 300.0, 100.0, 100.0, 50.0];
        for len in 1..=samples.len() {
            let mut rtt = RttEstimator::new(&RFC);
            samples[..len].iter().for_each(|ms| rtt.sample(Duration::from_secs_f64(ms / 1e3), &RFC));
            let (seen, expected) = (rtt.rto(&RFC).as_secs_f64() * 1e3, textbook(&samples[..len]));
            assert!((seen - expected).abs() < 1e-3, "{len}: {seen} against {expected}");
        }
    }

    #[test]
    fn backs_off_to_the_limit_and_returns() {
        let mut rtt = RttEstimator::new(&RFC);
        rtt.sample(Duration::from_secs(4), &RFC);
        let seconds: Vec<_> = (0..5)
            .map(|_| {
                rtt.back_off();
                rtt.rto(&RFC).as_secs_f64()
            })
            .collect();
        assert_eq!(seconds, [24.0, 48.0, 60.0, 60.0, 60.0]);
        // §5, and Karn and Partridge 1987: only a sample ends it; SRTT 4 s, RTTVAR 1.5 s
        rtt.sample(Duration::from_secs(4), &RFC);
        assert_eq!(rtt.rto(&RFC), Duration::from_secs(10));
    }
}
