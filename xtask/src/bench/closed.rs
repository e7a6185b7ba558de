//! Closed loops at full speed: what a request costs the generator, and how many a second it can make, in the
//! clear and over TLS, over HTTP/1.1 and HTTP/2.

use super::generator::ab::Ab;
use super::generator::bombardier::Bombardier;
use super::generator::farfield::Farfield;
use super::generator::h2load::H2load;
use super::generator::oha::Oha;
use super::generator::wrk::Wrk;
use super::generator::{Generator, Pace, Reuse, Version, Work};
use super::lab::{Lab, Measured};
use super::page::Table;
use super::spread::Spread;
use super::{absent, goal};
use anyhow::Result;
use xtask::nginx::Speaks;

/// Connections at once.
const CONNECTIONS: u32 = 64;
/// Requests at once on a connection of HTTP/2.
const STREAMS: u32 = 10;

/// The runs of one generator, in order.
struct Runs {
    name: &'static str,
    cpu_us: Vec<f64>,
    per_s: Vec<f64>,
    failed: u64,
}

/// Kept-alive connections.
pub fn keep_alive(lab: &Lab) -> Result<String> {
    let contest = Contest { generators: &[&Farfield, &Wrk, &H2load, &Ab, &Bombardier], ..Contest::default() };
    let (runs, mut text) = compare(lab, &contest)?;
    text.push_str(&cpu_goal(&runs, "wrk"));
    if let Some((ours, theirs)) = pair(&runs, "wrk") {
        let ratio = Spread::of_ratios(&ours.per_s, &theirs.per_s);
        text.push_str(&goal("requests a second at least 1.0 × wrk's", &ratio, ratio.median >= 1.0));
    }
    Ok(text)
}

/// A connection for each request.
pub fn one_request(lab: &Lab) -> Result<String> {
    let generators: &[&dyn Generator] = &[&Farfield, &Wrk, &Ab];
    let contest = Contest { generators, reuse: Reuse::OneRequest, ..Contest::default() };
    let (runs, mut text) = compare(lab, &contest)?;
    text.push_str(&cpu_goal(&runs, "wrk"));
    text.push_str(&cpu_goal(&runs, "ab"));
    Ok(text)
}

/// Kept-alive connections of HTTP/1.1 over TLS.
pub fn tls_keep_alive(lab: &Lab) -> Result<String> {
    let server = Before::Nginx(Speaks { tls: true, http2: false });
    let contest = Contest { generators: &[&Farfield, &H2load, &Wrk, &Ab], server, ..Contest::default() };
    let (runs, mut text) = compare(lab, &contest)?;
    text.push_str(&cpu_goal(&runs, "h2load"));
    Ok(text)
}

/// HTTP/2 with ten streams a connection, over TLS and by prior knowledge.
pub fn http2(lab: &Lab) -> Result<String> {
    let mut text = String::new();
    for (tls, words) in [(true, "Over TLS:"), (false, "Without TLS, by prior knowledge:")] {
        let contest = Contest {
            generators: &[&Farfield, &H2load],
            server: Before::Nginx(Speaks { tls, http2: true }),
            version: Version::Http2(STREAMS),
            ..Contest::default()
        };
        let (runs, table) = compare(lab, &contest)?;
        text += &format!("{words}\n\n{table}{}\n", cpu_goal(&runs, "h2load"));
    }
    Ok(text)
}

/// The three versions of HTTP with ten requests at once on a connection, or one where it takes no more,
/// before Caddy, which speaks them all.
pub fn http3(lab: &Lab) -> Result<String> {
    let mut text = String::new();
    for (words, version) in [
        ("HTTP/3:", Version::Http3(STREAMS)),
        ("HTTP/2:", Version::Http2(STREAMS)),
        ("HTTP/1.1:", Version::Http1),
    ] {
        let generators: &[&dyn Generator] = &[&Farfield, &Oha];
        let contest = Contest { generators, server: Before::Caddy, version, ..Contest::default() };
        text += &format!("{words}\n\n{}\n", compare(lab, &contest)?.1);
    }
    Ok(text)
}

/// Generators in turn before one server.
struct Contest<'a> {
    generators: &'a [&'a dyn Generator],
    server: Before,
    reuse: Reuse,
    version: Version,
}

/// The server.
enum Before {
    Nginx(Speaks),
    Caddy,
}

/// Kept-alive connections of HTTP/1.1 in the clear.
impl Default for Contest<'_> {
    fn default() -> Self {
        let server = Before::Nginx(Speaks::default());
        Contest { generators: &[], server, reuse: Reuse::KeepAlive, version: Version::Http1 }
    }
}

/// Runs all generators that are installed in turn, the first against each other, and tabulates them.
fn compare(lab: &Lab, contest: &Contest<'_>) -> Result<(Vec<Runs>, String)> {
    let (there, absent_text) = absent(lab, contest.generators);
    let server = match contest.server {
        Before::Nginx(speaks) => lab.nginx_speaking(speaks)?,
        Before::Caddy => lab.caddy()?,
    };
    let work = Work {
        url: server.url("/1k"),
        connections: CONNECTIONS,
        seconds: lab.extent.seconds,
        pace: Pace::Closed,
        reuse: contest.reuse,
        version: contest.version,
    };
    let mut runs: Vec<Runs> = there.iter().map(|generator| Runs::new(generator.name())).collect();
    for round in 0..lab.extent.pairs {
        // Back and forth, so that a machine that grows slower favours none.
        let mut order: Vec<usize> = (0..there.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for index in order {
            runs[index].add(&lab.drive(there[index], &work)?.0);
        }
    }
    let text = table(&runs) + &absent_text;
    Ok((runs, text))
}

fn table(runs: &[Runs]) -> String {
    let heads =
        ["generator", "requests/s", "CPU a request, µs", "farfield's rate ÷", "farfield's CPU ÷", "failed"];
    let mut table = Table::new(&heads);
    for theirs in runs {
        let ours = &runs[0];
        let against =
            |ratio: Spread| if theirs.name == ours.name { "1".to_owned() } else { ratio.to_string() };
        table.row([
            theirs.name.to_owned(),
            format!("{:.0}", Spread::of(theirs.per_s.iter().copied())),
            Spread::of(theirs.cpu_us.iter().copied()).to_string(),
            against(Spread::of_ratios(&ours.per_s, &theirs.per_s)),
            against(Spread::of_ratios(&ours.cpu_us, &theirs.cpu_us)),
            theirs.failed.to_string(),
        ]);
    }
    table.to_markdown() + "\n"
}

fn cpu_goal(runs: &[Runs], peer: &str) -> String {
    let Some((ours, theirs)) = pair(runs, peer) else { return String::new() };
    let ratio = Spread::of_ratios(&ours.cpu_us, &theirs.cpu_us);
    goal(&format!("CPU a request at most 1.0 × {peer}'s"), &ratio, ratio.median <= 1.0)
}

/// farfield's runs and those of `peer`, if it is installed.
fn pair<'a>(runs: &'a [Runs], peer: &str) -> Option<(&'a Runs, &'a Runs)> {
    Some((runs.first()?, runs.iter().find(|runs| runs.name == peer)?))
}

impl Runs {
    fn new(name: &'static str) -> Runs {
        Runs { name, cpu_us: Vec::new(), per_s: Vec::new(), failed: 0 }
    }

    fn add(&mut self, measured: &Measured) {
        self.cpu_us.push(measured.cpu_us_per_request());
        self.per_s.push(measured.report.per_s);
        self.failed += measured.report.failed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs() -> Vec<Runs> {
        vec![
            Runs { name: "farfield", cpu_us: vec![8.0, 16.0], per_s: vec![50.0, 40.0], failed: 0 },
            Runs { name: "wrk", cpu_us: vec![10.0, 20.0], per_s: vec![40.0, 40.0], failed: 2 },
        ]
    }

    #[test]
    fn the_table_holds_medians_and_ratios() {
        let text = table(&runs());
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[2].starts_with("| farfield  |"), "{text}");
        for part in ["40 (40–40)", "15.00 (10.00–20.00)", "1.12 (1.00–1.25)", "0.80 (0.80–0.80)", " 2 |"]
        {
            assert!(lines[3].contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn goals_are_held_against_the_median() {
        assert!(cpu_goal(&runs(), "wrk").contains("0.80 (0.80–0.80), met"));
        assert_eq!(cpu_goal(&runs(), "ab"), "");
        let mut slow = runs();
        slow[0].cpu_us = vec![11.0, 22.0];
        assert!(cpu_goal(&slow, "wrk").contains("missed"));
    }
}
