//! Seconds of the measured part that are set aside, because the machine was disturbed in them.
//!
//! Seconds are set aside by the watcher of the machine, one by one from the beginning of the measured part
//! on, and never by the times of requests: a second in which only the server was slow is measured as any
//! other. A request belongs to the second in which it was **due**, however late it ends. So a slow request
//! is not left out because something happened while it waited; and one that was due before a disturbance and
//! ends in it counts with the time that it took, which errs to the side of slowness.
//!
//! Figures are of the requests that were due in the seconds that are left: their times, outcomes and events,
//! over the time that is left. Intervals see these seconds one behind the other. What describes the run as it
//! went (its series, connections, pages, sessions, Little's law) has all of it.

use crate::histogram::Histogram;
use crate::summary::TimingSummary;
use farfield_base::{Duration, EventStats, Instant, Outcome, Sample, Stamp, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const SECOND: Duration = Duration::from_secs(1);

/// A disturbance of the machine in a second; each has a bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Disturbance {
    /// A worker was stopped: it neither computed nor waited for its processor.
    Stopped,
    /// A worker was ready to run, and other work held its processor.
    Held,
    /// The host of a virtual machine took time from the processors.
    Stolen,
}

impl Disturbance {
    /// All of them.
    pub const ALL: [Disturbance; 3] = [Disturbance::Stopped, Disturbance::Held, Disturbance::Stolen];

    /// The bit that stands for the disturbance.
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// In words for a reader.
    pub const fn name(self) -> &'static str {
        match self {
            Disturbance::Stopped => "stopped",
            Disturbance::Held => "held",
            Disturbance::Stolen => "stolen",
        }
    }
}

farfield_base::mergeable! {
    /// Seconds that are set aside, and what was due in them.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub struct SetAside {
        /// The beginning of the measured part, and of its first second.
        from: Instant => same,
        /// The length of the measured part that was asked for.
        asked: Duration => same,
        /// The seconds in order, each with the bits of what disturbed it.
        seconds: Vec<(u64, u8)> => same,
        requests: u64,
        failed: u64,
        response: Histogram,
    }
}

impl SetAside {
    /// None yet, of a measured part that begins at `from`, of which so much was `asked` for.
    pub fn new(from: Instant, asked: Duration) -> SetAside {
        SetAside { from, asked, seconds: Vec::new(), requests: 0, failed: 0, response: Histogram::new() }
    }

    /// Sets a second aside, which is later than all before, for what these bits stand for.
    ///
    /// # Panics
    /// If it is not later.
    pub fn add(&mut self, second: u64, disturbances: u8) {
        assert!(self.seconds.last().is_none_or(|(last, _)| *last < second), "seconds come in order");
        self.seconds.push((second, disturbances));
    }

    /// The second in which an instant lies; `None` before the measured part.
    fn second(&self, at: Instant) -> Option<u64> {
        (at >= self.from).then(|| at.since(self.from).as_ns() / SECOND.as_ns())
    }

    /// True if the second of this instant is set aside.
    pub fn contains(&self, at: Instant) -> bool {
        let second = self.second(at);
        second.is_some_and(|second| self.seconds.binary_search_by_key(&second, |(own, _)| *own).is_ok())
    }

    /// Time that is set aside before the second of this instant.
    pub fn before(&self, at: Instant) -> Duration {
        let second = self.second(at).unwrap_or(0);
        SECOND.times(self.seconds.partition_point(|(own, _)| *own < second) as u64)
    }

    /// Time of the measured part up to `until` that is set aside.
    pub fn within(&self, window: Window, until: Instant) -> Duration {
        let to = window.measure_to.min(until);
        let parts = self.seconds.iter().map(|(second, _)| {
            let begun = self.from + SECOND.times(*second);
            to.min(begun + SECOND).since(begun)
        });
        parts.fold(Duration::ZERO, |sum, part| sum + part)
    }

    /// Counts a request that was due in a second set aside.
    pub(crate) fn count(&mut self, sample: &Sample) {
        self.requests += 1;
        self.failed += u64::from(sample.outcome != Outcome::Ok);
        if let Some(time) = sample.success_time() {
            self.response.record(time);
        }
    }

    /// As the summary has it, of a run that has come to `until` with `kept` requests beside.
    pub(crate) fn summary(&self, window: Window, until: Instant, kept: u64) -> SetAsideSummary {
        let to = window.measure_to.min(until);
        let second = |(second, bits): &(u64, u8)| {
            let begun = self.from + SECOND.times(*second);
            let names = Disturbance::ALL.into_iter().filter(|own| bits & own.bit() != 0);
            SecondAside {
                from_ns: begun.as_ns(),
                to_ns: to.min(begun + SECOND).as_ns(),
                disturbances: names.map(|own| own.name().to_owned()).collect(),
            }
        };
        let seconds: Vec<SecondAside> = self.seconds.iter().map(second).collect();
        let left = window.elapsed(until) - self.within(window, until);
        let all = self.requests + kept;
        SetAsideSummary {
            asked_ns: self.asked.as_ns(),
            left_ns: left.as_ns(),
            seconds: seconds.into_iter().filter(|second| second.from_ns < second.to_ns).collect(),
            requests: self.requests,
            requests_share: (all > 0).then(|| self.requests as f64 / all as f64),
            failed: self.failed,
            response: TimingSummary::of(&self.response),
        }
    }
}

/// The sample as its batch sees it where time before it is set aside: all instants so much earlier.
pub(crate) fn earlier(sample: &Sample, by: Duration) -> Sample {
    let at = |at: Instant| Instant::from_ns(at.as_ns().saturating_sub(by.as_ns()));
    let stamp = |stamp: Stamp| stamp.instant().map_or(Stamp::NEVER, |own| Stamp::at(at(own)));
    Sample {
        due: at(sample.due),
        connect_begun: stamp(sample.connect_begun),
        connected: stamp(sample.connected),
        sent: stamp(sample.sent),
        first_byte: stamp(sample.first_byte),
        done: at(sample.done),
        events: sample.events.map(|own| EventStats { first: stamp(own.first), last: stamp(own.last), ..own }),
        ..*sample
    }
}

/// A second of the measured part that is set aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecondAside {
    /// Beginning of the second, in nanoseconds since the start of the run.
    pub from_ns: u64,
    /// End of the second, or of the measured part.
    pub to_ns: u64,
    /// The disturbances of the machine: `stopped`, `held`, `stolen`.
    pub disturbances: Vec<String>,
}

/// Seconds of the measured part that were set aside, by choice (`run.set-aside`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetAsideSummary {
    /// The undisturbed time that was asked for: `run.duration`.
    pub asked_ns: u64,
    /// The time that is left, of which the figures are.
    pub left_ns: u64,
    /// The seconds that are set aside.
    pub seconds: Vec<SecondAside>,
    /// Requests that were due in them, which no figure has.
    pub requests: u64,
    /// Share of the requests set aside in all that were due in the measured part; null if none was.
    pub requests_share: Option<f64>,
    /// Requests set aside that ended otherwise than well.
    pub failed: u64,
    /// Response times of those that went well; null if there are none.
    pub response: Option<TimingSummary>,
}

impl SetAsideSummary {
    /// The parts of the run that are set aside, in seconds since its start; neighbouring seconds are one.
    pub fn spans(&self) -> Vec<(f64, f64)> {
        let joined = self.seconds.chunk_by(|one, next| one.to_ns == next.from_ns);
        let at = |ns: u64| ns as f64 / 1e9;
        joined.filter_map(|own| Some((at(own.first()?.from_ns), at(own.last()?.to_ns)))).collect()
    }

    /// In sentences for a reader; `None` if nothing is set aside and as much was measured as asked for.
    pub fn in_words(&self) -> Option<String> {
        let [asked, left] = [self.asked_ns, self.left_ns].map(|ns| ns as f64 / 1e9);
        // A run that somebody ended has said so.
        let lacks = (left + 0.001 < asked).then(|| {
            format!("{left:.1} s of the {asked:.1} s that were asked for are left (`run.duration-max`)")
        });
        if self.seconds.is_empty() {
            return lacks;
        }
        let named = Disturbance::ALL.into_iter().filter_map(|own| {
            let names = |second: &&SecondAside| second.disturbances.iter().any(|name| name == own.name());
            let seconds = self.seconds.iter().filter(names).count();
            (seconds > 0).then(|| format!("{} {seconds}", own.name()))
        });
        let named: Vec<String> = named.collect();
        let response = self.response.as_ref().map_or_else(String::new, |own| {
            format!(", answered in {:.3} ms on average", own.mean_ns as f64 / 1e6)
        });
        let share = self.requests_share.unwrap_or(0.0) * 100.0;
        Some(format!(
            "{} of disturbed time {} set aside ({}), with {} requests ({share:.2} %){response}: no figure has them{}",
            seconds(self.seconds.iter().map(|second| second.to_ns - second.from_ns).sum()),
            if self.seconds.len() == 1 { "is" } else { "are" },
            named.join(", "),
            self.requests,
            lacks.map_or_else(String::new, |lacks| format!("; {lacks}")),
        ))
    }
}

/// A time in whole or tenths of seconds.
fn seconds(ns: u64) -> String {
    if ns.is_multiple_of(SECOND.as_ns()) {
        format!("{} s", ns / SECOND.as_ns())
    } else {
        format!("{:.1} s", ns as f64 / 1e9)
    }
}

#[cfg(test)]
mod tests;
