//! The results of JMeter: a JTL file as CSV or XML, or the summary that it prints.
//!
//! `elapsed` goes from just before a request is sent, a connection that has to be opened among it, to the
//! last byte of the reply, in whole milliseconds. Samples within samples (embedded resources) are not
//! counted, as in JMeter's own summary.

use super::reported::{Reported, Time, Tool};
use super::rows::{self, ToolRow};
use super::text::{number, whole};

const MS: u64 = 1_000_000;

/// Columns of a JTL without a line of names, JMeter's default ones.
const COLUMNS: &str = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,\
                       sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect";

/// Reads the JTL, or the summary, in `text`.
pub fn read(text: &str) -> Option<Reported> {
    let begin = text.trim_start();
    if begin.starts_with("<?xml") || begin.starts_with("<testResults") {
        rows::report(Tool::Jmeter, &xml_rows(begin), MS)
    } else if begin.starts_with("timeStamp,") {
        rows::report(Tool::Jmeter, &csv_rows(begin)?, MS)
    } else if is_row(begin.lines().next().unwrap_or_default()) {
        rows::report(Tool::Jmeter, &csv_rows(&format!("{COLUMNS}\n{begin}"))?, MS)
    } else {
        read_summary(text)
    }
}

/// True if a line begins with an instant in milliseconds and a time.
fn is_row(line: &str) -> bool {
    let mut fields = line.split(',');
    let digits = |field: Option<&str>| field.is_some_and(|field| whole(field).is_some());
    line.split(',').count() >= 10 && digits(fields.next()) && digits(fields.next())
}

fn csv_rows(text: &str) -> Option<Vec<ToolRow>> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let names = reader.headers().ok()?.clone();
    let column = |name: &str| names.iter().position(|column| column == name);
    let (start, took) = (column("timeStamp")?, column("elapsed")?);
    let (success, bytes, users) = (column("success"), column("bytes"), column("allThreads"));
    let rows = reader.records().filter_map(Result::ok).filter_map(|row| {
        let number = |at: Option<usize>| at.and_then(|at| row.get(at)).and_then(whole);
        Some(ToolRow {
            start_ns: Some(number(Some(start))?.saturating_mul(MS)),
            took_ns: number(Some(took))?.saturating_mul(MS),
            failed: success.and_then(|at| row.get(at)).is_some_and(|success| success != "true"),
            bytes: number(bytes).unwrap_or(0),
            users: number(users).unwrap_or(0),
        })
    });
    Some(rows.collect())
}

/// Elements `httpSample` and `sample` right below `testResults`.
fn xml_rows(text: &str) -> Vec<ToolRow> {
    let (mut rows, mut depth, mut rest) = (Vec::new(), 0u32, text);
    while let Some(begin) = rest.find('<') {
        let tag = &rest[begin + 1..];
        let Some(end) = tag_end(tag) else { break };
        let (inside, name) = (&tag[..end], tag.split([' ', '>', '/', '\n']).next().unwrap_or_default());
        if matches!(name, "httpSample" | "sample") {
            if depth == 0 {
                rows.extend(xml_row(inside));
            }
            depth += u32::from(!inside.ends_with('/'));
        } else if matches!(inside, "/httpSample" | "/sample") {
            depth = depth.saturating_sub(1);
        }
        rest = &tag[end..];
    }
    rows
}

/// The end of a tag: the first `>` outside of quotes.
fn tag_end(tag: &str) -> Option<usize> {
    let mut quoted = false;
    tag.bytes().position(|byte| {
        quoted ^= byte == b'"';
        byte == b'>' && !quoted
    })
}

/// `t` is the time, `ts` the instant of the begin, `s` success, `by` bytes, `na` all threads.
fn xml_row(tag: &str) -> Option<ToolRow> {
    let attribute = |name: &str| {
        let (_, behind) = tag.split_once(&format!(" {name}=\""))?;
        behind.split('"').next()
    };
    let count = |name| attribute(name).and_then(whole);
    Some(ToolRow {
        start_ns: count("ts").map(|ms| ms.saturating_mul(MS)),
        took_ns: count("t")?.saturating_mul(MS),
        failed: attribute("s").is_some_and(|success| success != "true"),
        bytes: count("by").unwrap_or(0),
        users: count("na").unwrap_or(0),
    })
}

/// `summary =   8427 in 00:00:06 = 1385.8/s Avg:     3 Min:     1 Max:   509 Err:    78 (0.93%)`, the last
/// such line.
fn read_summary(text: &str) -> Option<Reported> {
    let line = text.lines().rev().find_map(|line| line.split_once("summary ="))?.1;
    let mut found = Reported::nothing(Tool::Jmeter);
    found.requests = whole(line);
    found.rate_per_s = line.split('=').nth(1).and_then(number);
    let of = |key: &str| line.split_once(key).map(|(_, behind)| behind.trim_start());
    let ms = |key| of(key).and_then(|value| Time::in_units(value.split_whitespace().next()?, 1e-3));
    (found.mean, found.min, found.max) = (ms("Avg:"), ms("Min:"), ms("Max:"));
    found.errors = of("Err:").and_then(whole);
    found.if_any()
}
