//! Memory before servers that flood: how much more a run takes than before a calm server of the same
//! protocol, on the sockets plane and on the emulated one.

use super::generator::farfield::{self, Summary};
use super::goal;
use super::lab::{self, Lab};
use super::page::Table;
use super::server::Server;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use xtask::process;

/// Connections at once.
const CONNECTIONS: u32 = 20;

/// Seconds of a run.
const SECONDS: u32 = 20;

/// Memory that a flood may take beyond a calm server, in MiB.
const BEYOND_CALM_MIB_MAX: f64 = 64.0;

/// The port of a server in a place of its own.
const PORT: u16 = 8080;

/// A kind of server, as the program of the servers lists it.
struct Listed {
    name: String,
    scheme: String,
    version: String,
}

impl Listed {
    fn all(program: &Path) -> Result<Vec<Listed>> {
        let text = String::from_utf8(process::output(&mut Command::new(program))?)?;
        let read = |line: &str| {
            let mut words = line.split_whitespace().map(str::to_owned);
            Some(Listed { name: words.next()?, scheme: words.next()?, version: words.next()? })
        };
        text.lines().map(|line| read(line).with_context(|| format!("no flood: `{line}`"))).collect()
    }

    fn is_calm(&self) -> bool {
        self.name.starts_with("calm-")
    }

    /// One run on a plane; its peak of memory in MiB, and what became of most requests.
    fn run(&self, lab: &Lab, program: &Path, plane: &str) -> Result<(f64, String)> {
        let seconds = if lab.extent.quick { lab.extent.seconds } else { SECONDS };
        let server = match plane {
            "sockets" => Some(Server::flood(program, &self.name, &self.scheme)?),
            _ => None,
        };
        let scenario = lab.scratch().join("flood.toml");
        fs::write(&scenario, self.scenario(program, server.as_ref()))?;
        let what = scenario.to_str().context("a folder with a plain name")?;
        let mut command = farfield::command(lab.farfield(), what, seconds, lab.scratch());
        command.args(["-c", &CONNECTIONS.to_string(), "--warm-up", "0s", "-t", "1"]);
        let ran = lab.measure_anywhere(&command, seconds)?;
        Ok((ran.usage.peak_mib(), Summary::parse(&ran.output)?.commonest()))
    }

    fn scenario(&self, program: &Path, server: Option<&Server>) -> String {
        let Listed { name, scheme, version } = self;
        let target = server.map_or(format!("{scheme}://server:{PORT}/"), |server| server.url("/"));
        let mut text = format!("target = '{target}'\nhttp = '{version}'\n");
        if scheme == "https" {
            text += "tls.verify = false\n";
        }
        if server.is_none() {
            text += &format!(
                "plane = 'emulated'\nnetwork.rtt = '10ms'\nnetwork.clients = {CONNECTIONS}\n\
                 server.command = ['{}', '{name}', '0.0.0.0:{PORT}']\nserver.ready = 'tcp:{PORT}'\n",
                program.display()
            );
        }
        if name.starts_with("gzip") {
            // Content is decoded where a page is looked at.
            text += "session.page-load = 'browser'\n[[session.state]]\nname = 'home'\npath = '/'\n";
        }
        text
    }
}

/// Each flood on each plane.
pub fn beyond_calm(lab: &Lab) -> Result<String> {
    let program = lab::example(lab, "flood_server")?;
    let all = Listed::all(&program)?;
    let heads = ["server", "HTTP", "plane", "peak, MiB", "beyond calm, MiB", "most requests"];
    let (mut table, mut most) = (Table::new(&heads), f64::MIN);
    for plane in ["sockets", "emulated"] {
        let mut calm_mib = BTreeMap::new();
        // Calm ones first.
        let (calm, floods): (Vec<_>, Vec<_>) = all.iter().partition(|own| own.is_calm());
        for server in calm.into_iter().chain(floods) {
            let (peak_mib, outcome) = server.run(lab, &program, plane)?;
            let protocol = (&server.scheme, &server.version);
            let calm = *calm_mib.entry(protocol).or_insert(peak_mib);
            let beyond = peak_mib - calm;
            let cell = if server.is_calm() { "—".to_owned() } else { format!("{beyond:+.1}") };
            most = most.max(beyond);
            let [name, version, plane] = [server.name.as_str(), &server.version, plane].map(str::to_owned);
            table.row([name, version, plane, format!("{peak_mib:.1}"), cell, outcome]);
        }
    }
    let bound = format!("{CONNECTIONS} connections take at most {BEYOND_CALM_MIB_MAX} MiB more than calm");
    let met = goal(&bound, &format!("{most:+.1} MiB"), most <= BEYOND_CALM_MIB_MAX);
    Ok(format!("{CONNECTIONS} connections, {SECONDS} s.\n\n{}\n{met}", table.to_markdown()))
}
