//! `farfield capacity` before servers whose capacity a formula gives: models in virtual time, and
//! farfield's own server over sockets.

mod formula;

use super::goal;
use super::lab::Lab;
use super::page::Table;
use anyhow::{Context, Result, bail};
use formula::{Law, highest};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// Searches before each server, each with a seed of its own.
const SEARCHES: usize = 20;
const SEARCHES_QUICK: usize = 2;
/// The farthest from the capacity that an answer may be, as a share of it.
const NEAR: f64 = 0.02;
/// The longest that a search may take, in seconds of the wall clock.
const LONGEST_S: f64 = 60.0;

/// A server of known capacity.
struct Known {
    name: &'static str,
    /// Tables of a scenario that it is, beside load and network; of a server over sockets, flags of `serve`.
    is: &'static str,
    goals: &'static str,
    law: Law,
    /// The limit of the goal: seconds without the path, or a share.
    limit: f64,
    /// The measured part of a full trial.
    trial: &'static str,
}

/// Models in virtual time. The path takes 1 ms of a response time, but where a connection is what waits.
const MODELS: [Known; 4] = [
    Known {
        name: "M/M/1, 1 ms",
        is: "workers = 1\nservice-time = { distribution = 'exponential', mean = '1ms' }",
        goals: "p99<50ms,errors<0.1%",
        law: Law::Mm1 { service_s: 0.001, quantile: 0.99 },
        limit: 0.049,
        trial: "60s",
    },
    Known {
        name: "M/D/1, 2 ms",
        is: "workers = 1\nservice-time = '2ms'",
        goals: "p99<40ms,errors<0.1%",
        law: Law::Mdc { servers: 1, service_s: 0.002, quantile: 0.99 },
        limit: 0.039,
        trial: "90s",
    },
    Known {
        name: "M/D/4, 4 ms",
        is: "workers = 4\nservice-time = '4ms'",
        goals: "p99<30ms,errors<0.1%",
        law: Law::Mdc { servers: 4, service_s: 0.004, quantile: 0.99 },
        limit: 0.029,
        trial: "60s",
    },
    Known {
        // A backlog of 19 holds 20, as Linux's does, and one is served.
        name: "M/M/1/21, 2 ms",
        is: "workers = 1\nholding = 'connection'\nbacklog = 19\nservice-time = { distribution = 'exponential', mean = \
             '2ms' }",
        goals: "errors<1%",
        law: Law::Mm1k { service_s: 0.002, places: 21 },
        limit: 0.01,
        trial: "60s",
    },
];

/// farfield's own server, whose service times are constant. In a minute it has requests enough for a
/// percentile only where it is not nearly full: bursts of long times are short there, and many.
const SERVERS: [Known; 2] = [
    Known {
        name: "M/D/16, 4 ms",
        is: "--service-time 4ms --servers 16",
        goals: "p99<8ms,errors<0.1%",
        law: Law::Mdc { servers: 16, service_s: 0.004, quantile: 0.99 },
        limit: 0.008,
        trial: "2s",
    },
    Known {
        name: "M/D/8, 4 ms",
        is: "--service-time 4ms --servers 8",
        goals: "mean<8ms,errors<0.1%",
        law: Law::MdcMean { servers: 8, service_s: 0.004 },
        limit: 0.008,
        trial: "2s",
    },
];

/// The result of one search.
struct Found {
    /// Value and interval, if it has an answer.
    answer: Option<[f64; 3]>,
    took_s: f64,
}

/// Searches before models, in virtual time.
pub fn simulated(lab: &Lab) -> Result<String> {
    table(lab, &MODELS, |lab, known, seed, folder| {
        let scenario = folder.join(format!("{seed}.toml"));
        // Each request on a connection of its own where connections are what waits, and is given up before
        // its SYN is sent again.
        let connections = match known.law {
            Law::Mm1k { .. } => "connections = { policy = 'one-request', abandon-after = '900ms' }\n",
            _ => "",
        };
        let rtt = if connections.is_empty() { "1ms" } else { "2us" };
        let text = format!(
            "plane = 'simulated'\n{connections}load = {{ model = 'open', arrivals = '50/s' }}\nnetwork = {{ rtt = '{rtt}' \
             }}\nrun = {{ duration = '{}' }}\n[simulated]\n{}\n",
            known.trial, known.is
        );
        fs::write(&scenario, text).context("cannot write a scenario")?;
        search(lab, known, &scenario.display().to_string(), &[], seed, folder)
    })
}

/// Searches before farfield's own server.
pub fn served(lab: &Lab) -> Result<String> {
    table(lab, &SERVERS, |lab, known, seed, folder| {
        let server = Serving::start(lab, known.is)?;
        let url = format!("http://{}/", server.address);
        search(lab, known, &url, &["--duration", known.trial], seed, folder)
    })
}

type Search = fn(&Lab, &Known, usize, &Path) -> Result<Found>;

fn table(lab: &Lab, servers: &[Known], search: Search) -> Result<String> {
    let searches = if lab.extent.quick { SEARCHES_QUICK } else { SEARCHES };
    let heads = [
        "server",
        "goals",
        "capacity, 1/s",
        "answers",
        "within 2 %",
        "farthest",
        "interval contains it",
        "longest, s",
    ];
    let (mut table, mut bounds) = (Table::new(&heads), String::new());
    for (at, known) in servers.iter().enumerate() {
        let capacity = highest(&known.law, known.limit);
        let mut found = Vec::new();
        for seed in 1..=searches {
            let folder = lab.scratch().join(format!("capacity-{at}-{seed}-{}", known.is.len()));
            fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
            found.push(search(lab, known, seed, &folder)?);
            fs::remove_dir_all(&folder).context("cannot remove a folder")?;
            eprintln!(
                "  {} seed {seed}: {:?} in {:.1} s",
                known.name,
                found[seed - 1].answer,
                found[seed - 1].took_s
            );
        }
        let answers: Vec<[f64; 3]> = found.iter().filter_map(|found| found.answer).collect();
        let off = |answer: &[f64; 3]| answer[0] / capacity - 1.0;
        let near = answers.iter().filter(|answer| off(answer).abs() <= NEAR).count();
        let contains = answers.iter().filter(|answer| answer[1] <= capacity && capacity <= answer[2]).count();
        let farthest = answers.iter().map(off).max_by(|a, b| a.abs().total_cmp(&b.abs()));
        let longest = found.iter().map(|found| found.took_s).fold(0.0, f64::max);
        table.row([
            known.name.to_owned(),
            format!("`{}`", known.goals),
            format!("{capacity:.1}"),
            format!("{} of {searches}", answers.len()),
            format!("{near} of {searches}"),
            farthest.map_or("–".to_owned(), |off| format!("{:+.2} %", off * 100.0)),
            format!("{contains} of {}", answers.len()),
            format!("{longest:.0}"),
        ]);
        bounds += &goal(
            &format!(
                "{}: within 2 % in {searches} of {searches} searches, each at most {LONGEST_S:.0} s",
                known.name
            ),
            &format!("{near}, at most {longest:.0} s"),
            near == searches && longest <= LONGEST_S,
        );
    }
    Ok(format!("{}\n{bounds}", table.to_markdown()))
}

fn search(lab: &Lab, known: &Known, what: &str, more: &[&str], seed: usize, folder: &Path) -> Result<Found> {
    let begun = now();
    let mut command = Command::new(lab.farfield());
    command.args(["capacity", what, "--slo", known.goals, "--quiet", "--format", "json"]).args(more);
    command.arg(format!("--seed={seed}")).arg("--out").arg(folder.join("trials"));
    let output = command.output().context("farfield does not run")?;
    let took_s = begun.elapsed().as_secs_f64();
    let report: Value = serde_json::from_slice(&output.stdout).with_context(|| {
        format!("farfield capacity ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr))
    })?;
    let answer = &report["answer"];
    if answer["is"] != "found" {
        eprintln!("  {answer}");
        return Ok(Found { answer: None, took_s });
    }
    let number = |key: &str| answer[key].as_f64().with_context(|| format!("the answer has no {key}"));
    Ok(Found { answer: Some([number("value")?, number("low")?, number("high")?]), took_s })
}

#[expect(clippy::disallowed_methods, reason = "a bench measures by the clock")]
fn now() -> Instant {
    Instant::now()
}

/// farfield's own server, as long as this lives.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn start(lab: &Lab, flags: &str) -> Result<Serving> {
        let mut command = Command::new(lab.farfield());
        command
            .args(["serve", "127.0.0.1:0"])
            .args(flags.split(' '))
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = command.spawn().context("farfield does not serve")?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("stdout is piped")?).read_line(&mut line)?;
        let address = line.split_once("http://").and_then(|(_, rest)| rest.split_once('/'));
        let Some((address, _)) = address else {
            let _ = child.kill();
            let _ = child.wait();
            bail!("farfield serve does not say where it serves: {line}");
        };
        Ok(Serving { address: address.to_owned(), child })
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
