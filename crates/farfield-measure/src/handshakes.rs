//! Handshakes of TLS in the measured part: how many, how long, and how many of them resumed a session.

use crate::engine_stats::WorkerStats;
use crate::histogram::Histogram;
use crate::summary::TimingSummary;
use farfield_base::{Duration, EarlyData, Sample, TlsVersion, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

farfield_base::mergeable! {
    /// Handshakes that were over in the measured part. Takes no histogram before the first.
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct Handshakes {
        times: Option<Box<Histogram>>,
        resumed: u64,
        tls13: u64,
        early_accepted: u64,
        early_rejected: u64,
    }
}

/// Handshakes of TLS that were over in the measured part, whatever became of the requests that began them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandshakesSummary {
    /// Handshakes a second.
    pub per_s: f64,
    /// The part of them that resumed an earlier session of the user's.
    pub resumed_share: f64,
    /// The part of them of TLS 1.3; the others are of TLS 1.2.
    pub tls13_share: f64,
    /// Early data; absent if none was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early: Option<EarlySummary>,
    /// From the connection's end of its own handshake to the end of this one.
    pub time: TimingSummary,
    /// The processor time that they took the generator; absent in virtual time, where they take none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<HandshakeCpu>,
}

/// Handshakes with which a request was sent (early data, RFC 8446 section 2.3).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EarlySummary {
    /// The part of the handshakes in which a request went and the server took it.
    pub accepted_share: f64,
    /// The part of the handshakes in which a request went that the server passed over, so that it was sent
    /// again.
    pub rejected_share: f64,
}

/// Processor time that handshakes took the generator.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandshakeCpu {
    /// The time of all, those that failed included, for each that was over, in nanoseconds.
    pub each_ns: u64,
    /// The largest share of a worker's time that handshakes took.
    pub worker_share: f64,
}

impl HandshakeCpu {
    fn of(workers: &[WorkerStats], count: u64) -> Option<HandshakeCpu> {
        let took: u64 = workers.iter().map(|worker| worker.handshakes.as_ns()).sum();
        let worker_share = workers.iter().map(WorkerStats::handshake_share).fold(0.0, f64::max);
        (took > 0 && count > 0).then(|| HandshakeCpu { each_ns: took / count, worker_share })
    }
}

impl Handshakes {
    /// Counts the handshake that `sample` opened its session with, if it did so in `window`.
    pub fn record(&mut self, sample: &Sample, window: Window) {
        let (Some(tls), Some(took)) = (sample.tls, sample.handshake_time()) else { return };
        if window.contains(tls.secured) {
            self.times.get_or_insert_default().record(took);
            self.resumed += u64::from(tls.resumed);
            self.tls13 += u64::from(tls.version == TlsVersion::Tls13);
            self.early_accepted += u64::from(tls.early == EarlyData::Accepted);
            self.early_rejected += u64::from(tls.early == EarlyData::Rejected);
        }
    }

    /// The summary for a measured part that `lasted` so long, in which `workers` shook hands; `None` without
    /// a handshake.
    pub fn summary(&self, lasted: Duration, workers: &[WorkerStats]) -> Option<HandshakesSummary> {
        let time = TimingSummary::of(self.times.as_ref()?)?;
        let all = time.count as f64;
        let early = EarlySummary {
            accepted_share: self.early_accepted as f64 / all,
            rejected_share: self.early_rejected as f64 / all,
        };
        Some(HandshakesSummary {
            per_s: all / lasted.as_secs_f64(),
            resumed_share: self.resumed as f64 / all,
            tls13_share: self.tls13 as f64 / all,
            early: (self.early_accepted + self.early_rejected > 0).then_some(early),
            cpu: HandshakeCpu::of(workers, time.count),
            time,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::scene::{sample, window};
    use farfield_base::{Instant, Merge, TlsStats};

    const MS: u64 = 1_000_000;

    /// Connected after a tenth of its time, 1 ms, and secured after `secured_ms`.
    fn opened(due_ms: u64, secured_ms: u64, version: TlsVersion, resumed: bool) -> Sample {
        let secured = Instant::from_ns((due_ms + secured_ms) * MS);
        let early = EarlyData::Unsent;
        let tls = Some(TlsStats { secured, version, resumed, early });
        Sample { tls, ..sample(due_ms * MS, (due_ms + 10) * MS) }
    }

    #[test]
    fn handshakes_count_where_they_end() {
        let window = window(100, 300);
        let samples = [
            opened(95, 3, TlsVersion::Tls13, false),
            opened(98, 4, TlsVersion::Tls12, false),
            opened(200, 6, TlsVersion::Tls13, true),
            opened(250, 2, TlsVersion::Tls13, true),
            opened(298, 3, TlsVersion::Tls13, true),
            sample(200 * MS, 210 * MS),
        ];
        let (mut mine, mut theirs) = (Handshakes::default(), Handshakes::default());
        samples[..3].iter().for_each(|sample| mine.record(sample, window));
        samples[3..].iter().for_each(|sample| theirs.record(sample, window));
        mine.merge(&theirs);
        // A worker with 30 ms of handshakes in 200 ms, and one with 6.
        let worker = |ms| WorkerStats {
            handshakes: Duration::from_ms(ms),
            wall: Duration::from_ms(200),
            ..WorkerStats::default()
        };
        let found = mine.summary(Duration::from_ms(200), &[worker(6), worker(30)]).expect("handshakes");
        let cpu = found.cpu.expect("workers that shook hands");
        assert_eq!((cpu.each_ns, cpu.worker_share), (12_000_000, 0.15));
        assert_eq!(mine.summary(Duration::from_ms(200), &[worker(0)]).expect("handshakes").cpu, None);
        assert_eq!((found.time.count, found.per_s), (3, 15.0));
        assert_eq!((found.resumed_share, found.tls13_share), (2.0 / 3.0, 2.0 / 3.0));
        // 3, 5 and 1 ms after the connection, to the histogram's resolution.
        let mean = Duration::from_ns(found.time.mean_ns);
        assert!(mean >= Duration::from_us(2_990) && mean <= Duration::from_us(3_010), "{mean}");
        assert_eq!(Handshakes::default().summary(Duration::from_ms(200), &[worker(6)]), None);
    }

    /// Four handshakes, three with a request, one of which was passed over.
    #[test]
    fn requests_within_handshakes_are_counted() {
        let mut handshakes = Handshakes::default();
        let of = |early| {
            let mut sample = opened(150, 5, TlsVersion::Tls13, early != EarlyData::Unsent);
            sample.tls.as_mut().expect("a handshake").early = early;
            sample
        };
        handshakes.record(&of(EarlyData::Unsent), window(100, 300));
        let summary = |own: &Handshakes| own.summary(Duration::from_ms(200), &[]).expect("handshakes");
        assert_eq!(summary(&handshakes).early, None);
        let mut others = Handshakes::default();
        for early in [EarlyData::Accepted, EarlyData::Rejected, EarlyData::Accepted] {
            others.record(&of(early), window(100, 300));
        }
        handshakes.merge(&others);
        let expected = EarlySummary { accepted_share: 0.5, rejected_share: 0.25 };
        assert_eq!(summary(&handshakes).early, Some(expected));
    }
}
