//! CUBIC: RFC 9438. Windows are in segments here, as the RFC's equations are.

use super::{Acked, CongestionControl, Window, slow_start};
use farfield_base::{Duration, Instant};

/// β_cubic of RFC 9438 §4.6.
const BETA: f64 = 0.7;
/// C of §5.1, segments per second³.
const C: f64 = 0.4;
/// α_cubic of §4.3: 3 * (1 - β) / (1 + β).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// A window that grows as a cubic of the time since the last loss, around the window at that loss.
///
/// Holds nothing until a first loss or the end of slow start: most connections see neither.
#[derive(Debug, Clone, Default)]
pub struct Cubic {
    history: Option<Box<History>>,
}

#[derive(Debug, Clone, Default)]
struct History {
    /// W_max: the window before the last reduction, in segments; 0 before any.
    w_max: f64,
    /// cwnd_prior of §4.3.
    prior: f64,
    epoch: Option<Epoch>,
}

/// A stage of congestion avoidance.
#[derive(Debug, Clone)]
struct Epoch {
    /// Moves forward by the time in which the window was not used (§4.2: that does not count).
    start: Instant,
    /// Instant of the window's last growth.
    grown_at: Instant,
    /// K, seconds from the start until the cubic passes W_max.
    k: f64,
    /// The plateau of this epoch.
    w_max: f64,
    /// The window of a Reno flow beside us.
    w_est: f64,
    /// cwnd with the fraction that bytes do not hold.
    cwnd: f64,
}

impl Epoch {
    fn begin(now: Instant, cwnd: f64, w_max: f64) -> Epoch {
        // RFC 9438 §4.2 eq. (2): K = cbrt((W_max - cwnd_epoch) / C); §4.8: after a timeout or with no loss
        // yet, the plateau is where we are
        let w_max = w_max.max(cwnd);
        Epoch { start: now, grown_at: now, k: ((w_max - cwnd) / C).cbrt(), w_max, w_est: cwnd, cwnd }
    }

    /// RFC 9438 §4.2 eq. (1): W_cubic(t) = C*(t-K)^3 + W_max.
    fn w_cubic(&self, t: f64) -> f64 {
        C * (t - self.k).powi(3) + self.w_max
    }

    /// `segments` were acknowledged.
    fn grow(&mut self, now: Instant, segments: f64, rtt: Duration, prior: f64) {
        let gap = now.since(self.grown_at);
        if gap > rtt.times(2) {
            // A window in use brings an ACK each round trip: the application paused, and §4.2 leaves that
            // time out
            self.start += gap;
        }
        self.grown_at = now;
        let t = now.since(self.start).as_secs_f64();
        // RFC 9438 §4.3 eq. (4): W_est += α * segments_acked / cwnd, with α = 1 from cwnd_prior on
        let alpha = if self.w_est >= prior { 1.0 } else { ALPHA };
        self.w_est += alpha * segments / self.cwnd;
        if self.w_cubic(t) < self.w_est {
            // RFC 9438 §4.3: the Reno-friendly region
            self.cwnd = self.cwnd.max(self.w_est);
        } else {
            // RFC 9438 §4.2: target within [cwnd, 1.5 cwnd]; §4.4, §4.5: cwnd += (target - cwnd) / cwnd an
            // ACK
            let target = self.w_cubic(t + rtt.as_secs_f64()).clamp(self.cwnd, 1.5 * self.cwnd);
            self.cwnd += (target - self.cwnd) / self.cwnd * segments;
        }
    }
}

impl CongestionControl for Cubic {
    fn grow(&mut self, window: &mut Window, mut acked: Acked) {
        if window.cwnd < window.ssthresh {
            acked.bytes = slow_start(window, acked);
            if acked.bytes == 0 {
                return;
            }
        }
        let smss = f64::from(window.smss);
        let cwnd = f64::from(window.cwnd) / smss;
        let History { w_max, prior, epoch } = &mut **self.history.get_or_insert_default();
        // A window that others moved meanwhile (the restart after idleness, RFC 5681 §4.1) ends the epoch
        let moved = epoch.as_ref().is_none_or(|epoch| (epoch.cwnd - cwnd).abs() > 1.0);
        if moved {
            *epoch = None;
        }
        let epoch = epoch.get_or_insert_with(|| Epoch::begin(acked.now, cwnd, *w_max));
        // Congestion avoidance follows round trips that were measured
        let rtt = acked.srtt.unwrap_or(Duration::from_secs(1));
        epoch.grow(acked.now, f64::from(acked.bytes) / smss, rtt, *prior);
        window.cwnd = (epoch.cwnd * smss) as u32; // `as` saturates
    }

    fn reduce(&mut self, window: &mut Window, flight: u32) {
        let smss = f64::from(window.smss);
        let cwnd = f64::from(window.cwnd) / smss;
        let history = self.history.get_or_insert_default();
        // RFC 9438 §4.7: fast convergence
        history.w_max = if cwnd < history.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        history.prior = cwnd;
        history.epoch = None;
        // RFC 9438 §4.6: ssthresh = max (flight_size * β, 2 segments)
        window.ssthresh = ((f64::from(flight) * BETA) as u32).max(2 * window.smss);
    }

    fn handle_timeout(&mut self) {
        // RFC 9438 §4.8: slow start follows; congestion avoidance after it begins at its own plateau
        if let Some(history) = &mut self.history {
            history.epoch = None;
            history.w_max = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SlowStart;

    /// Acknowledges whole windows each round trip and gives the window after `secs`, in segments.
    fn after(secs: f64, window: &mut Window, cubic: &mut Cubic, rtt: Duration) -> f64 {
        let mut now = Instant::ZERO;
        while now.as_secs_f64() < secs {
            let acked = Acked { now, bytes: window.smss, srtt: Some(rtt), slow_start: SlowStart::PerAck };
            (0..window.cwnd / window.smss).for_each(|_| cubic.grow(window, acked));
            now += rtt;
        }
        f64::from(window.cwnd) / f64::from(window.smss)
    }

    #[test]
    fn follows_the_cubic_on_a_long_path() {
        let (smss, rtt) = (1000, Duration::from_ms(100));
        let mut window = Window { cwnd: 1_000_000, ssthresh: 1, smss };
        let mut cubic = Cubic::default();
        cubic.reduce(&mut window, 1_000_000);
        window.cwnd = window.ssthresh;
        assert_eq!(window.cwnd, 700_000);
        let k = (1000.0 * 0.3 / 0.4f64).cbrt();
        let expected = |t: f64| 0.4 * (t - k).powi(3) + 1000.0;
        // One round trip of lag is allowed for: the window reaches W_cubic(t + RTT) by the end of the round.
        let seen = after(5.0, &mut window, &mut cubic, rtt);
        assert!((expected(4.9)..=expected(5.2)).contains(&seen), "{seen} against {}", expected(5.0));
    }

    #[test]
    fn is_no_slower_than_reno_on_a_short_path() {
        let mut window = Window { cwnd: 10_000, ssthresh: 1, smss: 1000 };
        let mut cubic = Cubic::default();
        cubic.reduce(&mut window, 10_000);
        window.cwnd = window.ssthresh;
        // 20 round trips of 1 ms: α each until cwnd_prior, then one segment each
        let seen = after(0.0195, &mut window, &mut cubic, Duration::from_ms(1));
        let rounds_at_alpha = (3.0 / ALPHA).ceil();
        assert!((seen - (10.0 + 20.0 - rounds_at_alpha)).abs() < 1.6, "{seen}");
    }
}
