//! farfield's own server in a process of its own, for runs on the sockets plane and for audits.

use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use toml::{Table, Value};
use xtask::{hold, process};

/// farfield's origin in a process of its own; it ends with this value.
#[derive(Debug)]
pub struct Origin {
    child: Child,
    /// Address and port at which it serves.
    pub address: String,
    /// Kept open: what the origin says at its end must find a reader.
    _says: BufReader<ChildStdout>,
}

impl Origin {
    /// A scenario without its server, and the server's table.
    pub fn taken_from(scenario: &Table) -> Result<(Table, Table)> {
        let mut scenario = scenario.clone();
        let Some(Value::Table(origin)) = scenario.remove("origin") else {
            bail!("the scenario of an experiment must say in `[scenario.origin]` what the server can do");
        };
        Ok((scenario, origin))
    }

    /// Starts one on processor `cpu` and a free port, with the settings of `table`.
    pub fn start(farfield: &Path, table: &Table, cpu: usize) -> Result<Origin> {
        let mut serve = Command::new(farfield);
        serve.args(["serve", "127.0.0.1:0"]).args(knobs(table));
        let mut child = hold::held(&serve, cpu, None)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", process::words(&serve)))?;
        let mut says = BufReader::new(child.stdout.take().context("stdout is piped")?);
        let mut line = String::new();
        says.read_line(&mut line)?;
        let Some(address) = address_in(&line) else {
            let status = child.kill().and_then(|()| child.wait())?;
            bail!("`{}` does not say where it serves ({status}): {line}", process::words(&serve));
        };
        Ok(Origin { child, address, _says: says })
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The flags of `farfield serve` for the server's table of a scenario: each key has one of its name.
fn knobs(table: &Table) -> Vec<String> {
    let flag = |(key, value): (&String, &Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        [format!("--{key}"), value]
    };
    table.iter().flat_map(flag).collect()
}

/// The address in `serving http://127.0.0.1:8080/ (…`.
fn address_in(line: &str) -> Option<String> {
    let (address, _) = line.split_once("http://")?.1.split_once('/')?;
    Some(address.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_becomes_flags() {
        let table: Table = "service-time = '30ms'\nservers = 4".parse().unwrap();
        let mut knobs = knobs(&table);
        knobs.sort();
        assert_eq!(knobs, ["--servers", "--service-time", "30ms", "4"]);
    }

    #[test]
    fn the_address_is_found() {
        let line = "serving http://127.0.0.1:40123/ (its index lists what there is); Ctrl-C ends it";
        assert_eq!(address_in(line).as_deref(), Some("127.0.0.1:40123"));
        assert_eq!(address_in("error"), None);
    }
}
