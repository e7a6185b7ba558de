//! `cargo xtask audit`: other load generators before servers with known faults, each with its defaults, and
//! farfield's audit of each. The table is kept in docs/audit.md.

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::process;

/// Audits other load generators before servers with known faults, and keeps the table in docs/audit.md.
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Tools to audit; all that are installed if none is named.
    #[arg(value_parser = TOOLS.map(|(name, _)| name))]
    tools: Vec<String>,
    /// One-second runs, to see that all works; the table is printed and not kept.
    #[arg(long)]
    quick: bool,
    /// A farfield that is built already; by default it is built as it is shipped.
    #[arg(long, value_name = "FILE")]
    farfield: Option<PathBuf>,
}

/// Each tool with ten users for {s} seconds; httperf, which has no users, at a rate.
const TOOLS: [(&str, &str); 7] = [
    ("wrk", "wrk -t1 -c10 -d{s}s --latency {url}/bytes/100"),
    ("ab", "ab -q -k -c 10 -t {s} -n 1000000 {url}/bytes/100"),
    ("h2load", "h2load --h1 -t1 -c10 -D{s} {url}/bytes/100"),
    (
        "httperf",
        "httperf --hog --server {host} --port {port} --uri /bytes/100 --rate {rate} --num-conns {conns} --timeout 20",
    ),
    ("oha", "oha --no-tui -c 10 -z {s}s {url}/bytes/100"),
    ("locust", "locust -f {home}/locustfile.py --headless -u 10 -r 10 -t {s}s --host {url} --only-summary"),
    ("jmeter", "jmeter -n -t {home}/plan.jmx -l {home}/run.jtl -j {home}/jmeter.log"),
];

/// Each fault: its name, the server's keys, and httperf's rate. Capacity matters for the last alone.
const FAULTS: [(&str, &[&str], u32); 6] = [
    ("none", &["service-time=1ms"], 100),
    ("stall", &["service-time=1ms", "stall=500ms every 5s"], 100),
    ("hiccup", &["service-time=1ms", "hiccup=2s at 3s"], 100),
    ("slow tail", &["service-time=1ms", "slow-tail=1% take 200ms"], 100),
    ("slow start", &["service-time=1ms", "slow-start=100ms for 3s"], 100),
    ("overload", &["service-time=5ms", "servers=1"], 250),
];

/// The server's port: JMeter's plan names it.
const PORT: u16 = 18480;
const PAGE: &str = "docs/audit.md";
const MARKS: [&str; 2] = ["<!-- audits: written by `cargo xtask audit` -->\n", "<!-- end of audits -->\n"];

/// Runs the audits.
pub fn run(args: &AuditArgs) -> Result<()> {
    let farfield = match &args.farfield {
        Some(path) => fs::canonicalize(path).with_context(|| format!("no {}", path.display()))?,
        None => process::build_farfield()?,
    };
    let seconds = if args.quick { 1 } else { 10 };
    let mut table = "| tool | fault | mean: reported | true | p99: reported | true | p99 of open users | furthest off |\n\
                     | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n"
        .to_owned();
    let mut missing = Vec::new();
    for (tool, line) in TOOLS {
        if !args.tools.is_empty() && !args.tools.iter().any(|name| name == tool) {
            continue;
        }
        if !is_installed(tool) {
            missing.push(tool);
            continue;
        }
        for (fault, keys, rate) in FAULTS {
            let audit = audit(&farfield, line, keys, rate, seconds)
                .with_context(|| format!("{tool} before a server with the fault {fault}"))?;
            let row = row(tool, fault, &audit);
            print!("{row}");
            table.push_str(&row);
        }
    }
    if !missing.is_empty() {
        let _ = writeln!(table, "\nNot installed, and therefore not audited: {}.", missing.join(", "));
    }
    if args.quick || !args.tools.is_empty() {
        return Ok(());
    }
    keep(&table)
}

fn is_installed(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(tool).is_file())
}

/// Audits one tool before one server.
fn audit(farfield: &Path, line: &str, keys: &[&str], rate: u32, seconds: u32) -> Result<Value> {
    let home = tempfile::tempdir()?;
    write_scripts(home.path(), seconds)?;
    let out = home.path().join("audit");
    let mut command = Command::new(farfield);
    command.args(["audit", "--format", "json", "--server"]).arg(format!("http://127.0.0.1:{PORT}")).arg("-o");
    command.arg(&out).args(keys.iter().flat_map(|key| ["--origin", key])).arg("--");
    for word in line.split(' ') {
        let word = word.replace("{home}", &home.path().to_string_lossy());
        let word = word.replace("{s}", &seconds.to_string()).replace("{rate}", &rate.to_string());
        command.arg(word.replace("{conns}", &(rate * seconds).to_string()));
    }
    let done = command.output()?;
    if !matches!(done.status.code(), Some(0 | 3)) {
        bail!("{}", String::from_utf8_lossy(&done.stderr).trim());
    }
    Ok(serde_json::from_slice(&done.stdout)?)
}

fn write_scripts(home: &Path, seconds: u32) -> Result<()> {
    let locust = "from locust import HttpUser, task\n\nclass User(HttpUser):\n    @task\n    def get(self):\n        \
                  self.client.get('/bytes/100')\n";
    fs::write(home.join("locustfile.py"), locust)?;
    let plan = include_str!("audits/plan.jmx");
    let plan = plan.replace("PORT", &PORT.to_string()).replace("SECONDS", &seconds.to_string());
    Ok(fs::write(home.join("plan.jmx"), plan)?)
}

/// A line of the table. Times are in milliseconds.
fn row(tool: &str, fault: &str, audit: &Value) -> String {
    let rows = audit["rows"].as_array().cloned().unwrap_or_default();
    let figure = |name: &str, side: &str| {
        let found = rows.iter().find(|row| row["figure"] == name).and_then(|row| row[side].as_f64());
        found.map_or_else(|| "-".to_owned(), ms)
    };
    let p99 = |times: &Value| {
        let all = times["percentiles"].as_array().cloned().unwrap_or_default();
        let found = all.iter().find(|one| one["percent"] == 99.0).and_then(|one| one["ns"].as_f64());
        found.map_or_else(|| "-".to_owned(), ms)
    };
    let mean = audit["truth"]["times"]["mean_ns"].as_f64().map_or_else(|| "-".to_owned(), ms);
    format!(
        "| {tool} | {fault} | {} | {mean} | {} | {} | {} | {} |\n",
        figure("mean", "reported"),
        figure("p99", "reported"),
        p99(&audit["truth"]["times"]),
        p99(&audit["omitted"]["times"]),
        furthest(&rows)
    )
}

/// The figure whose share is furthest off among those that do not agree.
fn furthest(rows: &[Value]) -> String {
    let off = |row: &Value| row["difference"].as_f64().unwrap_or(f64::INFINITY);
    let wrong = rows.iter().filter(|row| row["agrees"] == false);
    let Some(most) = wrong.max_by(|a, b| off(a).abs().total_cmp(&off(b).abs())) else {
        return "all agree".to_owned();
    };
    let name = most["figure"].as_str().unwrap_or_default();
    // The page says what it is where no cause is named.
    let why = most["why"].as_str().filter(|why| !why.starts_with("the tool sees replies later"));
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    match most["difference"].as_f64() {
        Some(share) => format!("{name} {:+.0} %{why}", 100.0 * share),
        None => format!("{name}, of which there is none{why}"),
    }
}

fn ms(ns: f64) -> String {
    let ms = ns / 1e6;
    if ms < 10.0 { format!("{ms:.2}") } else { format!("{ms:.0}") }
}

/// Puts the table between its marks on the page.
fn keep(table: &str) -> Result<()> {
    let page = fs::read_to_string(PAGE).with_context(|| format!("cannot read {PAGE}"))?;
    let (head, rest) =
        page.split_once(MARKS[0]).with_context(|| format!("{PAGE} has no place for the table"))?;
    let (_, tail) = rest.split_once(MARKS[1]).with_context(|| format!("{PAGE} has no end of the table"))?;
    fs::write(PAGE, format!("{head}{}\n{table}\n{}{tail}", MARKS[0], MARKS[1]))?;
    println!("{PAGE}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_names_the_figure_that_is_furthest_off() {
        let audit = json!({
            "rows": [
                { "figure": "mean", "reported": 2.28e7, "observed": 1.95e6, "difference": 10.7, "agrees": false,
                  "why": "added" },
                { "figure": "p99", "reported": 4.4e8, "observed": 7.5e6, "difference": -0.5, "agrees": false },
            ],
            "truth": { "times": { "mean_ns": 1.95e6, "percentiles": [{ "percent": 99.0, "ns": 7_500_000 }] } },
            "omitted": { "times": { "percentiles": [{ "percent": 99.0, "ns": 450_000_000 }] } },
        });
        let expected = "| wrk | stall | 23 | 1.95 | 440 | 7.50 | 450 | mean +1070 %: added |\n";
        assert_eq!(row("wrk", "stall", &audit), expected);
        assert!(row("ab", "none", &json!({ "rows": [] })).ends_with("| all agree |\n"));
    }

    #[test]
    fn the_page_has_a_place_for_the_table() {
        let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(PAGE))
            .expect("the page");
        let (_, rest) = page.split_once(MARKS[0]).expect("a begin");
        assert!(rest.contains(MARKS[1]));
    }
}
