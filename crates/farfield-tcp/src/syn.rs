//! Schedule of a SYN's repetitions, and the end of the attempt.
//!
//! RFC 9293 §3.8.3 asks for at least three minutes of trying; clients differ, and a server under overload
//! feels the difference (Banga and Druschel 1999, §2.3), so the schedule is a value.

use farfield_base::Duration;

/// The waits after each SYN: after the first wait the second SYN is sent, after the last the attempt fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SynSchedule {
    waits: Vec<Duration>,
}

impl SynSchedule {
    /// As many SYNs as there are waits; at least one.
    pub fn new(waits: impl IntoIterator<Item = Duration>) -> Option<SynSchedule> {
        let waits: Vec<_> = waits.into_iter().collect();
        let fits = !waits.is_empty() && waits.len() <= usize::from(u8::MAX);
        fits.then_some(SynSchedule { waits })
    }

    /// 4.4BSD: again 6 s and 30 s after the first, given up after 75 s (Banga and Druschel 1999, footnote 3).
    pub fn bsd() -> SynSchedule {
        SynSchedule::seconds(&[6, 24, 45])
    }

    /// Linux with `tcp_syn_retries = 6`: again after 1, 3, 7, 15, 31 and 63 s, given up after 127 s.
    pub fn linux() -> SynSchedule {
        SynSchedule::seconds(&[1, 2, 4, 8, 16, 32, 64])
    }

    /// Linux's SYN-ACK with `tcp_synack_retries = 5`: given up after 63 s.
    pub fn linux_syn_ack() -> SynSchedule {
        SynSchedule::seconds(&[1, 2, 4, 8, 16, 32])
    }

    /// Windows with an initial timeout of 3 s and two retransmissions: again after 3 and 9 s, given up after
    /// 21 s.
    pub fn windows() -> SynSchedule {
        SynSchedule::seconds(&[3, 6, 12])
    }

    /// Wait after the `tries`-th SYN, counted from 1.
    pub fn wait_after(&self, tries: u8) -> Duration {
        self.waits[usize::from(tries.max(1) - 1).min(self.waits.len() - 1)]
    }

    /// True if no SYN follows the `tries`-th.
    pub fn is_last(&self, tries: u8) -> bool {
        usize::from(tries) >= self.waits.len()
    }

    /// From the first SYN until the attempt is given up.
    pub fn total(&self) -> Duration {
        self.waits.iter().fold(Duration::ZERO, |sum, wait| sum + *wait)
    }

    fn seconds(waits: &[u64]) -> SynSchedule {
        SynSchedule { waits: waits.iter().copied().map(Duration::from_secs).collect() }
    }
}
