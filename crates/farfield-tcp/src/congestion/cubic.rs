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
#[derive(Debug, Clone, Default)]
pub struct Cubic {
    /// W_max: the window before the last reduction, in segments; 0 before any.
    w_max: f64,
    /// cwnd_prior of §4.3.
    prior: f64,
    epoch: Option<Epoch>,
}

/// A stage of congestion avoidance.
#[derive(Debug, Clone)]
struct Epoch {
    start: Instant,
    /// K, seconds from the start until the cubic passes W_max.
    k: f64,
    /// The plateau of this epoch.
    w_max: f64,
    /// The window of a Reno flow beside us.
    w_est: f64,
    /// cwnd with the fraction that bytes do not hold.
    cwnd: f64,
}

impl Cubic {
    fn begin(&self, now: Instant, cwnd: f64) -> Epoch {
        // RFC 9438 §4.2 eq. (2): K = cbrt((W_max - cwnd_epoch) / C); §4.7: after a timeout or with no loss yet, the
        // plateau is where we are
        let w_max = self.w_max.max(cwnd);
        Epoch { start: now, k: ((w_max - cwnd) / C).cbrt(), w_max, w_est: cwnd, cwnd }
    }
}

impl CongestionControl for Cubic {
    fn grow(&mut self, window: &mut Window, acked: Acked) {
        if window.cwnd < window.ssthresh {
            return slow_start(window, acked.bytes);
        }
        let smss = f64::from(window.smss);
        let begun = self.begin(acked.now, f64::from(window.cwnd) / smss);
        let epoch = self.epoch.get_or_insert(begun);
        let segments = f64::from(acked.bytes) / smss;
        let t = acked.now.since(epoch.start).as_secs_f64();
        let rtt = acked.srtt.unwrap_or(Duration::ZERO).as_secs_f64();
        // RFC 9438 §4.2 eq. (1): W_cubic(t) = C*(t-K)^3 + W_max
        let w_cubic = |t: f64| C * (t - epoch.k).powi(3) + epoch.w_max;
        // RFC 9438 §4.3 eq. (4): W_est += α * segments_acked / cwnd, with α = 1 from cwnd_prior on
        let alpha = if epoch.w_est >= self.prior { 1.0 } else { ALPHA };
        epoch.w_est += alpha * segments / epoch.cwnd;
        if w_cubic(t) < epoch.w_est {
            // RFC 9438 §4.3: the Reno-friendly region
            epoch.cwnd = epoch.cwnd.max(epoch.w_est);
        } else {
            // RFC 9438 §4.2: target within [cwnd, 1.5 cwnd]; §4.4, §4.5: cwnd += (target - cwnd) / cwnd an ACK
            let target = w_cubic(t + rtt).clamp(epoch.cwnd, 1.5 * epoch.cwnd);
            epoch.cwnd += (target - epoch.cwnd) / epoch.cwnd * segments;
        }
        window.cwnd = (epoch.cwnd * smss) as u32; // `as` saturates
    }

    fn reduce(&mut self, window: &mut Window, flight: u32) {
        let smss = f64::from(window.smss);
        let cwnd = f64::from(window.cwnd) / smss;
        // RFC 9438 §4.7: fast convergence
        self.w_max = if cwnd < self.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.prior = cwnd;
        self.epoch = None;
        // RFC 9438 §4.6: ssthresh = max (flight_size * β, 2 segments)
        window.ssthresh = ((f64::from(flight) * BETA) as u32).max(2 * window.smss);
    }

    fn handle_timeout(&mut self) {
        // RFC 9438 §4.8: slow start follows; congestion avoidance after it begins at its own plateau
        self.epoch = None;
        self.w_max = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Acknowledges whole windows each round trip and gives the window after `secs`, in segments.
    fn after(secs: f64, window: &mut Window, cubic: &mut Cubic, rtt: Duration) -> f64 {
        let mut now = Instant::ZERO;
        while now.as_secs_f64() < secs {
            let acked = Acked { now, bytes: window.smss, srtt: Some(rtt) };
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
