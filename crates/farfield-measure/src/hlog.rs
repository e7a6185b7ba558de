//! `histograms.hlog`: all histograms in the interval-log format that HdrHistogram's own tools read.
//!
//! One line a histogram, tagged `<part>.<time>`: `steady.response`, `warm-up.connect`, `steady.lateness`.
//! Those of one class of clients have its name between the two, with `+` for a space, which no tag may hold:
//! `steady.dsl.response`. Values are nanoseconds; the log's human-readable maximum is in milliseconds. The
//! format keeps the bins alone, so what is read back has HDR's own minimum and mean, not the exact ones of
//! the summary.

use crate::engine_stats::EngineStats;
use crate::fold::{Fold, PhaseStats};
use crate::histogram::Histogram;
use crate::timing::Timing;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use farfield_base::{Duration, Instant};
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::interval_log::{
    IntervalLogIterator, IntervalLogWriterBuilder, LogEntry, Tag,
};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};
use std::borrow::Cow;
use std::io::{self, Write};
use std::time::UNIX_EPOCH;

/// Writes the histograms of a run that began at `started` since the Unix epoch and ended at `until`. Empty
/// histograms are written too: that nothing was measured is known, not forgotten.
pub fn write<W: Write>(
    fold: &Fold,
    stats: &EngineStats,
    started: Duration,
    until: Instant,
    to: W,
) -> io::Result<()> {
    write_lines(&lines(fold, stats, until), started, to)
}

/// The histograms of a run so far, copied, to be written while the run goes on. `pause` is called between
/// two of them, which take tens of microseconds each.
pub fn snapshot(
    fold: &Fold,
    stats: &EngineStats,
    until: Instant,
    pause: &dyn Fn(),
) -> Vec<HistogramLine<'static>> {
    let copy = |line: HistogramLine<'_>| {
        pause();
        let times = match line.times.is_empty() {
            true => Histogram::new(),
            false => line.times.into_owned(),
        };
        HistogramLine { tag: line.tag, times: Cow::Owned(times), span: line.span }
    };
    lines(fold, stats, until).into_iter().map(copy).collect()
}

/// Writes these histograms of a run that began at `started` since the Unix epoch.
pub fn write_lines<W: Write>(lines: &[HistogramLine<'_>], started: Duration, mut to: W) -> io::Result<()> {
    let began = UNIX_EPOCH + started.to_std();
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment("Times in nanoseconds.")
        .with_start_time(began)
        .with_base_time(began)
        .with_max_value_divisor(1e6)
        .begin_log_with(&mut to, &mut serializer)?;
    for HistogramLine { tag, times, span } in lines {
        let start = span.from.since(Instant::ZERO).to_std();
        log.write_histogram(times.bins(), start, span.length.to_std(), Tag::new(tag))
            .map_err(|error| io::Error::other(error.to_string()))?;
    }
    drop(log);
    to.flush()
}

/// One histogram that is to be written.
#[derive(Debug)]
pub struct HistogramLine<'a> {
    tag: String,
    times: Cow<'a, Histogram>,
    span: Span,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    from: Instant,
    length: Duration,
}

fn lines<'a>(fold: &'a Fold, stats: &'a EngineStats, until: Instant) -> Vec<HistogramLine<'a>> {
    let window = fold.window();
    let warm_up_end = window.measure_from.min(until);
    let warm_up = Span { from: Instant::ZERO, length: warm_up_end.since(Instant::ZERO) };
    let steady = Span { from: warm_up_end, length: window.elapsed(until) };
    let line =
        |tag: String, times: &'a Histogram, span| HistogramLine { tag, times: Cow::Borrowed(times), span };
    let part = |name: &str, part: &'a PhaseStats, span| {
        let of =
            |(timing, times): (Timing, &'a Histogram)| line(format!("{name}.{}", timing.name()), times, span);
        let is_there = |(timing, times): &(Timing, &Histogram)| !timing.is_of_events() || !times.is_empty();
        part.times.iter().filter(is_there).map(of).collect::<Vec<_>>()
    };
    let mut lines = part("warm-up", fold.warm_up(), warm_up);
    lines.extend(part("steady", fold.steady(), steady));
    for (class, of_class) in fold.classes() {
        lines.extend(part(&format!("steady.{}", class.replace(' ', "+")), of_class, steady));
    }
    let mut own = vec![("lateness", &stats.lateness), ("loop-lag", &stats.loop_lag)];
    if let Some(network) = &stats.network {
        own.extend(network.lateness.by_name());
    }
    lines.extend(own.into_iter().map(|(name, times)| line(format!("steady.{name}"), times, steady)));
    lines
}

/// One histogram of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// Tag of the histogram, empty if it has none.
    pub tag: String,
    /// Start of the interval, since the log's base time.
    pub start: Duration,
    /// Length of the interval.
    pub length: Duration,
    /// Bins of the histogram, in nanoseconds.
    pub bins: Hdr<u64>,
}

/// The error of reading an interval log.
#[derive(Debug, thiserror::Error)]
pub enum HlogError {
    /// The log ends before its first histogram.
    #[error("the log has no histograms")]
    Empty,
    /// A line is not of the format. Counts histograms, from 1.
    #[error("histogram {0} of the log cannot be read")]
    Line(usize),
    /// A histogram is not what the format says.
    #[error("histogram `{tag}` of the log cannot be decoded: {why}")]
    Histogram {
        /// Tag of the histogram.
        tag: String,
        /// The cause.
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
    if intervals.is_empty() {
        return Err(HlogError::Empty);
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
        let (fold, stats) = good_run();
        let mut log = Vec::new();
        let started = Duration::from_secs(1_700_000_000);
        write(&fold, &stats, started, END, &mut log).expect("memory takes all");
        let mut copied = Vec::new();
        write_lines(&snapshot(&fold, &stats, END, &|| {}), started, &mut copied).expect("memory takes all");
        assert!(copied == log, "a copy is written like what it is of");
        let intervals = read(&log).expect("our own log");
        let tags: Vec<_> = intervals.iter().map(|interval| interval.tag.as_str()).collect();
        assert_eq!(tags.len(), 17);
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

    /// Classes have separate lines, which together cover all requests.
    #[test]
    fn classes_have_lines_of_their_own() {
        let names = ["dsl".to_owned(), "far away".to_owned()];
        let mut fold = Fold::of_classes(window(0, 1000), &names);
        for (class, ms) in [(0, 1), (0, 2), (1, 30)] {
            fold.record(&Sample { class, ..sample(0, ms * 1_000_000) });
        }
        let mut log = Vec::new();
        write(&fold, &EngineStats::default(), Duration::ZERO, END, &mut log).expect("memory takes all");
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
