//! Handshakes of TLS: how many a second one processor makes, beside what the TLS library alone makes on it,
//! whose two ends exchange messages in memory.
//!
//! An example of `farfield-http` runs the library; here it is called and its rows are read.

use super::generator::farfield::{Farfield, Summary};
use super::generator::{Pace, Reuse, Version, Work};
use super::goal;
use super::lab::{self, Lab};
use super::page::Table;
use super::spread::Spread;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;
use xtask::nginx::Speaks;

/// Users, with one connection after another.
const USERS: u32 = 64;
/// Handshakes of the library in one run, of each kind.
const IN_MEMORY: u32 = 4_000;
const IN_MEMORY_QUICK: u32 = 500;
/// Seconds that they are expected to take.
const IN_MEMORY_S: u32 = 4;

/// The part of the handshakes that must have been resumed ones: the first of each user cannot be, which is a
/// few in a hundred of a short run.
const RESUMED_SHARE_MIN: f64 = 0.9;

/// Kinds of handshakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Full,
    Resumed,
}

/// Microseconds of processor time for one handshake of a kind, run by run.
#[derive(Debug, Default)]
struct Runs {
    /// The library alone.
    library: Vec<f64>,
    /// A session of farfield's, in memory too.
    session: Vec<f64>,
    /// Handshakes in a run, by the worker's own clock.
    in_tls: Vec<f64>,
    /// All of the generator, TCP, request and samples included.
    whole: Vec<f64>,
    /// All of the generator, less what a connection and a request take without TLS.
    less_plain: Vec<f64>,
}

/// Full and resumed handshakes, each in turn with the library's.
pub fn a_second(lab: &Lab) -> Result<String> {
    let example = lab::example(lab, "handshake_speed")?;
    let (mut full, mut resumed, mut plain) = (Runs::default(), Runs::default(), Vec::new());
    for _ in 0..lab.extent.pairs {
        let without = whole_us(lab, Speaks::default())?;
        plain.push(without);
        let memory = in_memory(lab, &example)?;
        for (kind, runs) in [(Kind::Full, &mut full), (Kind::Resumed, &mut resumed)] {
            runs.library.push(memory.us(kind, "rustls")?);
            runs.session.push(memory.us(kind, "session")?);
            let (in_tls, whole) = in_a_run(lab, kind)?;
            runs.in_tls.push(in_tls);
            runs.whole.push(whole);
            runs.less_plain.push(whole - without);
        }
    }
    let mut table = Table::new(&["per core", "full, 1/s", "÷ rustls", "resumed, 1/s", "÷ rustls"]);
    type Row = (&'static str, fn(&Runs) -> &[f64]);
    let rows: [Row; 5] = [
        ("rustls alone, in memory", |runs| &runs.library),
        ("farfield's session, in memory", |runs| &runs.session),
        ("farfield, time in handshakes", |runs| &runs.in_tls),
        ("farfield, all of its time less that without TLS", |runs| &runs.less_plain),
        ("farfield, all of its time: TCP, handshake, request, sample", |runs| &runs.whole),
    ];
    for (words, of) in rows {
        let cells = |runs: &Runs| [rates(of(runs)), ratio(of(runs), &runs.library).to_string()];
        let ([full_rate, full_ratio], [resumed_rate, resumed_ratio]) = (cells(&full), cells(&resumed));
        table.row([words.to_owned(), full_rate, full_ratio, resumed_rate, resumed_ratio]);
    }
    let mut text = format!(
        "{}\nA connection and a request without TLS take all of farfield {} µs of processor time.\n\n",
        table.to_markdown(),
        Spread::of(plain)
    );
    for (words, runs) in [("full", &full), ("resumed", &resumed)] {
        let ratio = ratio(&runs.in_tls, &runs.library);
        let bound = format!("{words} handshakes a second of the time in them at least 0.9 × rustls's");
        text += &goal(&bound, &ratio, ratio.median >= 0.9);
    }
    Ok(text)
}

/// Handshakes a second of processor time, where each took so many microseconds.
fn rates(each_us: &[f64]) -> String {
    format!("{:.0}", Spread::of(each_us.iter().map(|us| 1e6 / us)))
}

/// The ratio of rates is that of times, upside down.
fn ratio(each_us: &[f64], library_us: &[f64]) -> Spread {
    Spread::of_ratios(library_us, each_us)
}

/// Microseconds of processor time for a handshake in a run: in the handshake, and all in all.
fn in_a_run(lab: &Lab, kind: Kind) -> Result<(f64, f64)> {
    let nginx = lab.nginx_speaking(Speaks { tls: true, http2: false })?;
    let work = one_request_each(lab, nginx.url("/1k"));
    let mut command = super::generator::farfield::of_work(lab.farfield(), &work, lab.scratch());
    let resumes = kind == Kind::Resumed;
    command.arg("--set").arg(format!("tls.resumption={resumes}"));
    let (summary, usage) = lab.farfield_run(&command, work.seconds)?;
    let share = summary.number("/handshakes/resumed_share")?;
    if resumes && share < RESUMED_SHARE_MIN || !resumes && share > 0.0 {
        bail!("{share} of the handshakes resumed a session, where {kind:?} ones were to be measured");
    }
    let completed = completed(&summary)?;
    let in_tls_us = summary.number("/handshakes/cpu/each_ns")? / 1e3;
    Ok((in_tls_us, usage.cpu_us() as f64 / completed))
}

/// Microseconds of processor time for a connection with one request.
fn whole_us(lab: &Lab, speaks: Speaks) -> Result<f64> {
    let nginx = lab.nginx_speaking(speaks)?;
    let work = one_request_each(lab, nginx.url("/1k"));
    Ok(lab.drive(&Farfield, &work)?.0.cpu_us_per_request())
}

fn one_request_each(lab: &Lab, url: String) -> Work {
    let seconds = lab.extent.seconds;
    let reuse = Reuse::OneRequest;
    Work { url, connections: USERS, seconds, pace: Pace::Closed, reuse, version: Version::Http1 }
}

fn completed(summary: &Summary) -> Result<f64> {
    let completed = summary.outcomes(|name| name == "ok");
    if completed == 0 {
        bail!("no request was completed");
    }
    Ok(completed as f64)
}

/// The rows of the example.
struct InMemory(String);

fn in_memory(lab: &Lab, example: &Path) -> Result<InMemory> {
    let mut command = Command::new(example);
    command.arg(if lab.extent.quick { IN_MEMORY_QUICK } else { IN_MEMORY }.to_string());
    Ok(InMemory(lab.measure(&command, IN_MEMORY_S)?.output))
}

impl InMemory {
    /// Microseconds of a handshake of `kind` by `client`.
    fn us(&self, kind: Kind, client: &str) -> Result<f64> {
        let kind = match kind {
            Kind::Full => "full",
            Kind::Resumed => "resumed",
        };
        let found = self.0.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            let is_row = words.next() == Some(kind) && words.next() == Some(client);
            if is_row { words.next()?.parse::<f64>().ok() } else { None }
        });
        found.with_context(|| format!("no row of {kind} handshakes of {client} in:\n{}", self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_example_are_read() {
        let memory = InMemory(
            "handshake  client  µs  µs with tickets\n\
             full     rustls   101.50  104.00\n\
             full     session  103.00  106.00\n\
             resumed  rustls    62.25   65.00\n"
                .to_owned(),
        );
        assert_eq!(memory.us(Kind::Full, "rustls").unwrap(), 101.5);
        assert_eq!(memory.us(Kind::Full, "session").unwrap(), 103.0);
        assert_eq!(memory.us(Kind::Resumed, "rustls").unwrap(), 62.25);
        let missing = memory.us(Kind::Resumed, "session").unwrap_err().to_string();
        assert!(missing.starts_with("no row of resumed handshakes of session"), "{missing}");
    }

    /// 100 µs beside the library's 80 µs: 10,000 a second, and 0.8 of the library's rate.
    #[test]
    fn rates_are_those_of_times() {
        assert_eq!(rates(&[100.0, 50.0, 200.0]), "10000 (5000–20000)");
        assert_eq!(ratio(&[100.0], &[80.0]).median, 0.8);
    }
}
