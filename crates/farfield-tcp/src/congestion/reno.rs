//! Slow start and congestion avoidance of RFC 5681 §3.1.

use super::{Acked, CongestionControl, Window, slow_start};

/// Additive increase by one segment a round trip, halving on loss.
#[derive(Debug, Clone, Default)]
pub struct Reno {
    /// Bytes acknowledged since cwnd grew last, in congestion avoidance.
    counted: u32,
}

impl CongestionControl for Reno {
    fn grow(&mut self, window: &mut Window, mut acked: Acked) {
        if window.cwnd < window.ssthresh {
            acked.bytes = slow_start(window, acked);
            if acked.bytes == 0 {
                return;
            }
        }
        // RFC 5681 §3.1: count acknowledged bytes; when they reach cwnd, cwnd grows by at most SMSS. (The RFC
        // recommends this over equation 3, which delayed ACKs slow down.)
        self.counted = self.counted.saturating_add(acked.bytes);
        if self.counted >= window.cwnd {
            self.counted -= window.cwnd;
            window.cwnd = window.cwnd.saturating_add(window.smss);
        }
    }

    fn reduce(&mut self, window: &mut Window, flight: u32) {
        // RFC 5681 equation (4): ssthresh = max (FlightSize / 2, 2*SMSS)
        window.ssthresh = (flight / 2).max(2 * window.smss);
        self.counted = 0;
    }

    fn handle_timeout(&mut self) {
        self.counted = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SlowStart;
    use farfield_base::Instant;

    fn acked(bytes: u32, slow_start: SlowStart) -> Acked {
        Acked { now: Instant::ZERO, bytes, srtt: None, slow_start }
    }

    #[test]
    fn an_ack_of_two_segments_counts_once_or_twice_and_ends_at_ssthresh() {
        let grown = |slow_start, cwnd| {
            let mut window = Window { cwnd, ssthresh: 10_000, smss: 1000 };
            Reno::default().grow(&mut window, acked(2000, slow_start));
            window.cwnd - cwnd
        };
        assert_eq!((grown(SlowStart::PerAck, 4000), grown(SlowStart::PerByte, 4000)), (1000, 2000));
        assert_eq!((grown(SlowStart::PerAck, 9500), grown(SlowStart::PerByte, 9500)), (1000, 500));
    }

    #[test]
    fn doubles_below_ssthresh_and_adds_one_above() {
        let mut window = Window { cwnd: 1000, ssthresh: 4000, smss: 1000 };
        let mut reno = Reno::default();
        let mut segments = Vec::new();
        for _round in 0..5 {
            segments.push(window.cwnd / 1000);
            for _ack in 0..window.cwnd / 1000 {
                reno.grow(&mut window, acked(1000, SlowStart::PerAck));
            }
        }
        assert_eq!(segments, [1, 2, 4, 5, 6]);
        reno.reduce(&mut window, 7000);
        assert_eq!(window.ssthresh, 3500);
        reno.reduce(&mut window, 1000);
        assert_eq!(window.ssthresh, 2000);
    }
}
