//! Logs: every line is counted once, the cuts of the stream change nothing, a request is part of its line,
//! and a report can be made of whatever was read.

use farfield_fit::scenario::{RequestSource, TrafficSettings};
use farfield_fit::session::RequestKinds;
use farfield_fit::{FitReport, FitSettings, Limits, LogSettings, Trials, Visits};
use farfield_log::{LogFormat, LogParser, LogReader, ReadTally, Record, TransferUnit, decompressed};
use std::io::{self, Read};

/// Reads a log in the Common Log Format, or the combined one.
pub fn of_common(input: &[u8]) {
    of_a_log(&LogFormat::Common { transfer: None }, input);
    of_a_log(&LogFormat::Common { transfer: Some(TransferUnit::Seconds) }, input);
}

/// Reads a log in the W3C's Extended Log File Format.
pub fn of_extended(input: &[u8]) {
    of_a_log(&LogFormat::Extended { transfer: None }, input);
    of_a_log(&LogFormat::Extended { transfer: Some(TransferUnit::Milliseconds) }, input);
}

/// Reads JSON lines.
pub fn of_json(input: &[u8]) {
    of_a_log(&LogFormat::Json(Box::default()), input);
}

/// Reads a log of the GN/WN server.
pub fn of_gn(input: &[u8]) {
    of_a_log(&LogFormat::Gn, input);
}

/// A layout, by its name or as a pattern, in the first line, and a log of it in the others.
pub fn of_layouts(input: &[u8]) {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let Ok(layout) = std::str::from_utf8(&input[..end]) else { return };
    if let Ok(Some(format)) = LogFormat::named(layout, None) {
        of_a_log(&format, input.get(end + 1..).unwrap_or_default());
    }
}

/// Reads the first MiB of a compressed log: an error is one, whatever the bytes are.
pub fn of_compressed(input: &[u8]) {
    let Ok(log) = decompressed(input) else { return };
    let mut text = Vec::new();
    if log.take(1 << 20).read_to_end(&mut text).is_ok() {
        let _ = LogFormat::detect(&text);
    }
}

fn of_a_log(format: &LogFormat, input: &[u8]) {
    let (visits, tally) = read(format, input, input.len().max(1));
    let counted = tally.requests + tally.nothing + tally.broken;
    assert_eq!(tally.lines, counted);
    let left_out = visits.left_out() + visits.targets().none;
    assert_eq!(tally.requests, visits.len() as u64 + left_out);
    assert!(tally.shown.len() as u64 == tally.broken.min(LogReader::SHOWN_MAX as u64));
    let (in_pieces, same) = read(format, input, 7);
    assert_eq!(tally, same, "how the stream is cut changes nothing");
    for index in 0..visits.len() {
        assert_eq!(visits.at(index), in_pieces.at(index));
    }
    let mut trials = Trials::singles();
    trials.families.clear();
    let settings = FitSettings { trials, ..FitSettings::default() };
    let report = FitReport::of(&visits, &tally, &settings);
    let text = serde_json::to_string(&report).expect("a report is JSON");
    assert!(serde_json::from_str::<FitReport>(&text).is_ok(), "and reads again");
    let traffic = |asked| report.traffic(&TrafficSettings { speed: 60.0, asked, course: true });
    let _ = traffic(RequestSource::Paths);
    let asked = traffic(RequestSource::Site("site.json".into()));
    assert!(asked.is_err() || report.to_site(1).is_ok(), "the site that is asked for is there");
}

fn read(format: &LogFormat, input: &[u8], piece: usize) -> (Visits, ReadTally) {
    let limits = Limits { requests: 1_000, path_bytes: 4_096, visitor_bytes: 4_096 };
    let mut visits = Visits::new(limits, LogSettings::default(), RequestKinds::default());
    let mut reader = LogReader::new(LogParser::new(format));
    let mut take = |record: &Record<'_>| {
        let parts = [record.client, record.agent, record.method, record.path, record.referrer];
        assert!(parts.iter().all(|part| part.len() <= LogReader::LINE_MAX));
        assert!(record.status < 1_000);
        visits.push(record);
    };
    reader.read(Pieces(input, piece), &mut take).expect("memory does not fail");
    let tally = reader.tally().clone();
    (visits, tally)
}

/// Gives so many bytes at a time.
struct Pieces<'a>(&'a [u8], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.1.min(into.len()).min(self.0.len());
        into[..length].copy_from_slice(&self.0[..length]);
        self.0 = &self.0[length..];
        Ok(length)
    }
}
