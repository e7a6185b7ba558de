//! Emulated clients far away: how many transactions a second one processor carries across the emulated WAN,
//! beside what wrk gets from the same nginx over loopback.

use super::generator::farfield::{self, Summary};
use super::generator::wrk::Wrk;
use super::generator::{Generator, Pace, Reuse, Version, Work};
use super::goal;
use super::lab::Lab;
use super::page::Table;
use super::server::nginx_files;
use super::spread::Spread;
use anyhow::{Context, Result};
use std::fs;
use xtask::nginx::Speaks;

/// The folder of a run below the lab's, and the scenario in it.
pub const FOLDER: &str = "far";
pub const SCENARIO: &str = "scenario.toml";
/// Connections at once of wrk, which waits for no round trip.
const CONNECTIONS: u32 = 256;

/// Clients at 50 ms of round trip, 1 KB, a closed loop at full speed.
pub const FAR: &str = r#"
[load]
model = "closed"
users = 10000
ramp = "1s"
[network]
clients = 10000
[[network.class]]
name = "far"
share = 1
up = { delay = "25ms" }
down = { delay = "25ms" }
"#;

/// IP-TNE's four subnets of 1,024 hosts (Williamson, Simmonds and Arlitt 2004, figure 3), which take turns.
const BACKBONE: &str = r#"
[load]
model = "open"
arrivals = "9000/s"
[network.backbone]
subnets = 4
hosts = 1024
"#;

/// 64 KB over links that carry more than they are asked for.
const LARGE: &str = r#"
[load]
model = "closed"
users = 200
[network]
clients = 200
[[network.class]]
name = "fast"
share = 1
rtt = "2ms"
"#;

/// One request a connection, then kept-alive ones, each in turn with wrk.
pub fn against_wrk(lab: &Lab) -> Result<String> {
    let mut text = String::new();
    for (reuse, words) in [(Reuse::OneRequest, "a connection each"), (Reuse::KeepAlive, "kept alive")] {
        let (mut ours, mut theirs, mut cpu_us) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..lab.extent.pairs {
            let summary = Far { reuse, ..Far::of(lab, FAR) }.run(lab)?;
            let per_s = summary.number("/steady/rates/succeeded_per_s")?;
            cpu_us.push(summary.number("/generator/cpu_ns")? / 1e3 / per_s / f64::from(lab.extent.seconds));
            ours.push(per_s);
            let nginx = lab.nginx()?;
            let work = Work {
                url: nginx.url("/1k"),
                connections: CONNECTIONS,
                seconds: lab.extent.seconds,
                pace: Pace::Closed,
                reuse,
                version: Version::Http1,
            };
            theirs.push(lab.drive(&Wrk, &work)?.0.report.per_s);
        }
        let ratio = Spread::of_ratios(&ours, &theirs);
        let mut table = Table::new(&["10,000 clients at 50 ms", "transactions/s", "CPU each, µs", "÷ wrk's"]);
        table.row([
            format!("farfield, {words}"),
            format!("{:.0}", Spread::of(ours.iter().copied())),
            Spread::of(cpu_us).to_string(),
            ratio.to_string(),
        ]);
        table.row([
            format!("{} over loopback, {words}", Wrk.name()),
            format!("{:.0}", Spread::of(theirs.iter().copied())),
            "—".to_owned(),
            "1".to_owned(),
        ]);
        text += &format!(
            "{}\n{}\n",
            table.to_markdown(),
            goal("at least 1.0 × wrk's", &ratio, ratio.median >= 1.0)
        );
    }
    Ok(text)
}

/// More than the paper's 8,000 transactions a second from 4,096 clients, on time.
pub fn backbone(lab: &Lab) -> Result<String> {
    let (mut per_s, mut late) = (Vec::new(), Vec::new());
    for _ in 0..lab.extent.pairs {
        let summary = Far::of(lab, BACKBONE).run(lab)?;
        per_s.push(summary.number("/steady/rates/succeeded_per_s")?);
        late.push(summary.quantile_us("/network/departure_lateness", "p99.9")?);
    }
    let (per_s, late) = (Spread::of(per_s), Spread::of(late));
    let asked_rate =
        goal("more than 8,000 transactions a second", &format!("{per_s:.0}"), per_s.median > 8000.0);
    let asked_late = goal("lateness p99.9 at most 100 µs", &format!("{late:.0} µs"), late.median <= 100.0);
    Ok(format!(
        "4,096 clients on four subnets, 9,000 arrivals a second, 1 KB, a connection each.\n\n{asked_rate}{asked_late}"
    ))
}

/// At least 4 Gb/s of bodies through the gateway.
pub fn throughput(lab: &Lab) -> Result<String> {
    let mut gigabits = Vec::new();
    for _ in 0..lab.extent.pairs {
        let large = Far { reuse: Reuse::KeepAlive, path: "/64k", ..Far::of(lab, LARGE) };
        let summary = large.run(lab)?;
        gigabits.push(summary.number("/steady/rates/body_bytes_per_s")? * 8.0 / 1e9);
    }
    let gigabits = Spread::of(gigabits);
    let asked = goal("at least 4 Gb/s of bodies", &format!("{gigabits} Gb/s"), gigabits.median >= 4.0);
    Ok(format!("200 clients at 2 ms, objects of 64 KiB, kept alive.\n\n{asked}"))
}

/// A run of farfield on the emulated plane, with an nginx of its own.
#[derive(Debug, Clone)]
pub struct Far<'a> {
    /// Load and network.
    pub rest: &'a str,
    pub reuse: Reuse,
    pub path: &'a str,
    /// The placement on processors; farfield's own choice of all processors by default.
    pub placed: Option<Placed<'a>>,
    pub seconds: u32,
}

/// The placement on processors; the emulator is held to the lab's processor for generators.
#[derive(Debug, Clone)]
pub struct Placed<'a> {
    /// The server.
    pub server: Vec<usize>,
    /// Its kernel's work on what it receives; where the emulator writes it if there are none.
    pub receivers: &'a [usize],
}

impl<'a> Far<'a> {
    /// One request for 1 KB on a connection, with farfield's defaults.
    pub fn of(lab: &Lab, rest: &'a str) -> Far<'a> {
        Far { rest, reuse: Reuse::OneRequest, path: "/1k", placed: None, seconds: lab.extent.seconds }
    }

    /// Runs it after two seconds of warm-up.
    pub fn run(&self, lab: &Lab) -> Result<Summary> {
        let Far { rest, path, .. } = self;
        let folder = lab.scratch().join(FOLDER);
        fs::create_dir_all(&folder)?;
        let config = nginx_files(&folder, "0.0.0.0:80".parse().expect("an address"), Speaks::default())?;
        let nginx = xtask::system::find("nginx").context("nginx is missing")?;
        let policy = match self.reuse {
            Reuse::OneRequest => "one-request",
            Reuse::KeepAlive => "persistent",
        };
        let placed = match &self.placed {
            Some(Placed { server, receivers }) => {
                format!("processors = {server:?}\nreceive-processors = {receivers:?}\n")
            }
            None => String::new(),
        };
        let scenario = format!(
            "plane = \"emulated\"\nconnections = {{ policy = \"{policy}\" }}\n\
             requests = {{ request = [{{ path = \"{path}\" }}] }}\n\
             [server]\ncommand = [\"{}\", \"-e\", \"{}\", \"-c\", \"{}\"]\n{placed}\
             somaxconn = 16384\nsyn-backlog = 16384\n{rest}",
            nginx.display(),
            folder.join("nginx.log").display(),
            config.display(),
        );
        let file = folder.join(SCENARIO);
        fs::write(&file, scenario)?;
        let file = file.to_str().context("a scratch folder with a plain name")?;
        let mut command = farfield::command(lab.farfield(), file, self.seconds, lab.scratch());
        command.args(["--warm-up", "2s"]);
        match self.placed {
            Some(_) => Ok(lab.farfield_run(&command, self.seconds)?.0),
            None => lab.farfield_run_anywhere(&command, self.seconds),
        }
    }
}
