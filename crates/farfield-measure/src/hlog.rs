//! `histograms.hlog`: all histograms in the interval-log format that HdrHistogram's own tools read.
//!
//! One line a histogram, tagged `<part>.<time>`: `steady.response`, `warm-up.connect`, `steady.lateness`. Those of one
//! class of clients have its name between the two, with `+` for a space, which no tag may hold: `steady.dsl.response`.
//! Values are nanoseconds; the log's human-readable maximum is in milliseconds. The format keeps the bins
//! alone, so what is read back has HDR's own minimum and mean, not the exact ones of the summary.

use crate::facts::EngineFacts;
use crate::fold::{Fold, Part};
use crate::histogram::Histogram;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use farfield_base::{Duration, Instant};
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::interval_log::{
    IntervalLogIterator, IntervalLogWriter, IntervalLogWriterBuilder, LogEntry, Tag,
};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};
use std::io::{self, Write};
use std::time::UNIX_EPOCH;

/// Writes the histograms of a run that began at `started` since the Unix epoch and ended at `until`. Empty
/// histograms are written too: that nothing was measured is known, not forgotten.
pub fn write<W: Write>(
    fold: &Fold,
    facts: &EngineFacts,
    started: Duration,
    until: Instant,
    mut to: W,
) -> io::Result<()> {
    let began = UNIX_EPOCH + started.to_std();
    let mut serializer = V2DeflateSerializer::new();
    let log = IntervalLogWriterBuilder::new()
        .add_comment("Times in nanoseconds.")
        .with_start_time(began)
        .with_base_time(began)
        .with_max_value_divisor(1e6)
        .begin_log_with(&mut to, &mut serializer)?;
    let window = fold.window();
    let mut log = Log { log };
    let warm_up_end = window.measure_from.min(until);
    let warm_up = Span { from: Instant::ZERO, length: warm_up_end.since(Instant::ZERO) };
    let steady = Span { from: warm_up_end, length: window.elapsed(until) };
    log.part("warm-up", fold.warm_up(), warm_up)?;
    log.part("steady", fold.steady(), steady)?;
    for (class, part) in fold.classes() {
        log.part(&format!("steady.{}", class.replace(' ', "+")), part, steady)?;
    }
    log.histogram("steady.lateness", &facts.lateness, steady)?;
    log.histogram("steady.loop-lag", &facts.loop_lag, steady)?;
    if let Some(network) = &facts.network {
        log.histogram("steady.departure-lateness", &network.departure_lateness, steady)?;
        log.histogram("steady.arrival-lateness", &network.arrival_lateness, steady)?;
        log.histogram("steady.crossing-lateness", &network.crossing_lateness, steady)?;
    }
    drop(log);
    to.flush()
}

#[derive(Clone, Copy)]
struct Span {
    from: Instant,
    length: Duration,
}

struct Log<'a, 'b, W: Write> {
    log: IntervalLogWriter<'a, 'b, W, V2DeflateSerializer>,
}

impl<W: Write> Log<'_, '_, W> {
    fn part(&mut self, name: &str, part: &Part, span: Span) -> io::Result<()> {
        part.times
            .iter()
            .try_for_each(|(timing, times)| self.histogram(&format!("{name}.{}", timing.name()), times, span))
    }

    fn histogram(&mut self, tag: &str, times: &Histogram, span: Span) -> io::Result<()> {
        let start = span.from.since(Instant::ZERO).to_std();
        self.log
            .write_histogram(times.bins(), start, span.length.to_std(), Tag::new(tag))
            .map_err(|error| io::Error::other(error.to_string()))
    }
}

/// One histogram of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// Its tag, empty if it has none.
    pub tag: String,
    /// When it begins, since the log's base time.
    pub start: Duration,
    /// How long it lasts.
    pub length: Duration,
    /// Its bins, in nanoseconds.
    pub bins: Hdr<u64>,
}

/// Why an interval log could not be read.
#[derive(Debug, thiserror::Error)]
pub enum HlogError {
    /// A line is not of the format. Counts histograms, from 1.
    #[error("histogram {0} of the log cannot be read")]
    Line(usize),
    /// A histogram is not what the format says.
    #[error("histogram `{tag}` of the log cannot be decoded: {why}")]
    Histogram {
        /// Its tag.
        tag: String,
        /// What is wrong with it.
        why: String,
    },
}

/// Reads a log, ours or another's, in its order.
pub fn read(log: &[u8]) -> Result<Vec<Interval>, HlogError> {
    let mut intervals = Vec::new();
    for entry in IntervalLogIterator::new(log) {
        let entry = entry.map_err(|_| HlogError::Line(intervals.len() + 1))?;
        let LogEntry::Interval(interval) = entry else { continue };
        let tag = interval.tag().map_or("", |tag| tag.as_str()).to_owned();
        let wrong = |why: String| HlogError::Histogram { tag: tag.clone(), why };
        let bytes =
            STANDARD.decode(interval.encoded_histogram()).map_err(|error| wrong(error.to_string()))?;
        let bins = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| wrong(error.to_string()))?;
        let ours = |std: std::time::Duration| Duration::from_secs_f64(std.as_secs_f64());
        let (start, length) = (ours(interval.start_timestamp()), ours(interval.duration()));
        intervals.push(Interval { tag, start, length, bins });
    }
    Ok(intervals)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::scene::{sample, window};
    use crate::verdict::scene::{END, good_run};
    use farfield_base::Sample;

    #[test]
    fn gives_back_every_bin() {
        let (fold, facts) = good_run();
        let mut log = Vec::new();
        write(&fold, &facts, Duration::from_secs(1_700_000_000), END, &mut log).expect("memory takes all");
        let intervals = read(&log).expect("our own log");
        let tags: Vec<_> = intervals.iter().map(|interval| interval.tag.as_str()).collect();
        assert_eq!(tags.len(), 15);
        assert_eq!(&tags[..2], ["warm-up.response", "warm-up.service"]);
        let find = |tag: &str| intervals.iter().find(|interval| interval.tag == tag).expect(tag);
        let response = find("steady.response");
        assert_eq!(response.bins, *fold.steady().times.response.bins());
        assert_eq!(response.length, Duration::from_secs(1));
        assert_eq!(find("steady.lateness").bins.len(), 100);
        assert!(find("warm-up.connect").bins.is_empty());
        let head = String::from_utf8_lossy(&log);
        assert!(head.contains("#[BaseTime: 1700000000.000"), "{head}");
    }

    /// Classes are told apart, and together they are all.
    #[test]
    fn classes_have_lines_of_their_own() {
        let names = ["dsl".to_owned(), "far away".to_owned()];
        let mut fold = Fold::of_classes(window(0, 1000), &names);
        for (class, ms) in [(0, 1), (0, 2), (1, 30)] {
            fold.record(&Sample { class, ..sample(0, ms * 1_000_000) });
        }
        let mut log = Vec::new();
        write(&fold, &EngineFacts::default(), Duration::ZERO, END, &mut log).expect("memory takes all");
        let intervals = read(&log).expect("our own log");
        let find = |tag: &str| &intervals.iter().find(|interval| interval.tag == tag).expect(tag).bins;
        let (dsl, far) = (find("steady.dsl.response"), find("steady.far+away.response"));
        assert_eq!((dsl.len(), far.len()), (2, 1));
        assert_eq!(far.max(), fold.class("far away").expect("a class").times.response.bins().max());
        let mut both = dsl.clone();
        both.add(far).expect("bins of one kind");
        assert_eq!(&both, find("steady.response"));
    }

    #[test]
    fn what_is_no_log_is_refused() {
        assert!(read(b"Tag=a,0.1,1.0,2.0,!!!\n").is_err());
        assert!(read(b"Tag=a,0.1,1.0,2.0,AAAA\n").is_err());
        assert!(read(b"not,a,log\n").is_err());
    }
}
