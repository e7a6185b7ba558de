//! TCP segments that this machine's kernel sent again during a run, by its own counters (RFC 4022,
//! `tcpOutSegs` and `tcpRetransSegs`): a sign of a path that loses packets, which no resource of the machine
//! shows.
//!
//! The counters are those of a network namespace, with all that goes on in it; what a server elsewhere sends
//! again is not seen.

use crate::plane::Plane;
use farfield_files::system;
use farfield_monitor::column;

/// The share of segments from which on times are not those of a sound path. Data centres lose less than a
/// thousandth, and paths across the internet up to one or two in a hundred.
const SHARE_MIN: f64 = 0.01;
/// Fewer may be those of another program.
const SEGMENTS_MIN: u64 = 30;

/// The counters at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentCounts {
    /// Segments sent, without those sent again.
    sent: u64,
    /// Segments sent again.
    again: u64,
}

impl SegmentCounts {
    /// Counts up to now, where packets go as the kernel sends them: across the emulated network, losses are
    /// what was asked for.
    pub fn of(plane: &Plane) -> Option<SegmentCounts> {
        let Plane::Sockets(sockets) = plane else { return None };
        if sockets.unix.is_some() {
            // There are no segments.
            return None;
        }
        SegmentCounts::parse(&String::from_utf8_lossy(&system::read("/proc/self/net/snmp").ok()?))
    }

    fn parse(text: &str) -> Option<SegmentCounts> {
        let count = |name| column(text, "Tcp:", name);
        Some(SegmentCounts { sent: count("OutSegs")?, again: count("RetransSegs")? })
    }
}

/// The warning that many segments were sent again between the first counts and the second, in which so many
/// requests were due.
pub(crate) fn segments_sent_again(
    (before, after): (SegmentCounts, SegmentCounts),
    requests: u64,
) -> Option<String> {
    let (sent, again) = (after.sent.saturating_sub(before.sent), after.again.saturating_sub(before.again));
    let share = again as f64 / (sent + again) as f64;
    let touched = (again as f64 / requests.max(1) as f64).min(1.0);
    (again >= SEGMENTS_MIN && share >= SHARE_MIN).then(|| {
        format!(
            "{:.1} % of the TCP segments that this machine sent were sent again ({again}): the path loses packets, or a full \
             accept queue drops SYNs; at most {:.1} % of the requests waited for that, which is in their response times",
            share * 100.0,
            touched * 100.0
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warning(sent: u64, again: u64) -> Option<String> {
        let before = SegmentCounts { sent: 7, again: 9 };
        segments_sent_again((before, SegmentCounts { sent: 7 + sent, again: 9 + again }), 4_000)
    }

    #[test]
    fn a_path_that_loses_packets_is_named() {
        let words = warning(9_000, 1_000).expect("a warning");
        let begin = "10.0 % of the TCP segments that this machine sent were sent again (1000): the path loses packets";
        assert!(words.starts_with(begin), "{words}");
        assert!(words.contains("; at most 25.0 % of the requests waited for that"), "{words}");
    }

    #[test]
    fn few_and_rare_ones_are_not() {
        assert_eq!(warning(10_000, 90), None, "less than 1 %");
        assert_eq!(warning(50, 20), None, "few");
        assert_eq!(warning(0, 0), None);
    }

    #[test]
    fn the_kernels_counters_are_read() {
        let text =
            "Ip: Forwarding\nIp: 1\nTcp: RtoMin OutSegs RetransSegs\nTcp: 200 5 2\nUdp: InErrors\nUdp: 0\n";
        assert_eq!(SegmentCounts::parse(text), Some(SegmentCounts { sent: 5, again: 2 }));
        assert_eq!(SegmentCounts::parse("Tcp: OutSegs\nTcp: 5\n"), None);
        let own = system::read("/proc/self/net/snmp").unwrap();
        assert!(SegmentCounts::parse(&String::from_utf8(own).unwrap()).is_some());
    }
}
