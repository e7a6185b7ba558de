//! TCP segments that this machine sent again, by what the kernel's counters say (RFC 4022, `tcpOutSegs` and
//! `tcpRetransSegs`): a sign of a path that loses packets, which no resource of the machine shows.
//!
//! The counters are those of a network namespace, with all that goes on in it; a server elsewhere sends again
//! unseen.

use super::readings::Readings;
use crate::monitor::{MonitorLog, Source, metric};

/// The share of segments from which on times are not those of a sound path. Data centres lose less than a
/// thousandth, and paths across the internet up to one or two in a hundred.
const SHARE_MIN: f64 = 0.01;
/// Fewer may be those of another program.
const SEGMENTS_MIN: f64 = 30.0;

/// The warning that many segments were sent again in the first `seconds` of a run on real paths.
pub fn segments_sent_again(log: &MonitorLog, seconds: u64) -> Option<String> {
    let readings = Readings::of(log, seconds);
    let all = |metric| Some(readings.only(Source::Network, metric)?.values().sum::<f64>());
    let (sent, again) = (all(metric::SEGMENTS_SENT)?, all(metric::SEGMENTS_SENT_AGAIN)?);
    let share = again / (sent + again);
    (again >= SEGMENTS_MIN && share >= SHARE_MIN).then(|| {
        format!(
            "{:.1} % of the TCP segments that this machine sent were sent again ({again:.0}): the path loses packets, or a \
             full accept queue drops SYNs; what waited for that is in the response times",
            share * 100.0
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bottleneck::tests::{Scene, of_network};

    /// The warning of a run of ten seconds, each with so many segments.
    fn warning(sent: f64, again: f64) -> Option<String> {
        let scene = Scene::well()
            .with(of_network(metric::SEGMENTS_SENT), move |_| sent)
            .with(of_network(metric::SEGMENTS_SENT_AGAIN), move |_| again);
        segments_sent_again(&scene.log(), 10)
    }

    #[test]
    fn a_path_that_loses_packets_is_named() {
        let words = warning(900.0, 100.0).expect("a warning");
        assert!(
            words.starts_with("10.0 % of the TCP segments that this machine sent were sent again (1000):"),
            "{words}"
        );
    }

    #[test]
    fn few_and_rare_ones_are_not() {
        assert_eq!(warning(1000.0, 9.0), None, "less than 1 %");
        assert_eq!(warning(5.0, 2.0), None, "20 segments");
        assert_eq!(warning(0.0, 0.0), None);
        assert_eq!(segments_sent_again(&MonitorLog::default(), 10), None);
    }
}
