//! Reports of a run of ten million requests: how long they take, how much memory, and when their page answers
//! in a browser.
//!
//! Two such runs are made on the simulated plane, in the build folder, where they stay until the next time.

use super::goal;
use super::lab::{Lab, Ran};
use super::page::Table;
use super::spread::Spread;
use crate::browser::{self, Browser};
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::{process, system};

/// Requests of a run a second, and seconds.
const PER_S: u32 = 20_000;
const SECONDS: u32 = 505;
const SECONDS_QUICK: u32 = 5;
/// Requests that the measured part must have.
const REQUESTS_MIN: f64 = 1e7;

/// Bounds: of all that reads samples, of what reads the summary alone, and of the page.
const REPORT_S_MAX: f64 = 10.0;
const REPORT_MIB_MAX: f64 = 1024.0;
const SUMMARY_S_MAX: f64 = 1.0;
const USABLE_S_MAX: f64 = 2.0;
const PAGE_MB_MAX: f64 = 5.0;

/// Seconds that a command may take before it is ended.
const PATIENCE_S: u32 = 120;

/// Moves the pointer over the first chart over time as soon as the page's scripts have run, and returns the
/// milliseconds from the navigation's beginning to the picture after the chart's answer.
const USABLE: &str = "const done = arguments[arguments.length - 1];\
    const svg = document.querySelector('svg:has(g.scales[data-kind=time])');\
    const box = svg.getBoundingClientRect();\
    svg.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + box.width / 2, clientY: box.top + 99 }));\
    requestAnimationFrame(() => requestAnimationFrame(() => {\
    const readings = [...document.querySelectorAll('.reading')].filter((text) => text.textContent.includes(':')).length;\
    done({ readings, charts: document.querySelectorAll('svg polyline').length, ms: performance.now() }); }));";

/// A command of farfield that is measured, by its words behind `farfield`.
struct Measured {
    shown: &'static str,
    words: Vec<String>,
    bound_s: f64,
}

/// Makes the runs, measures every report of them, and opens the page.
pub fn of_ten_million(lab: &Lab) -> Result<String> {
    let missing = system::provide(&browser::NEEDED, true)?;
    if !missing.is_empty() {
        bail!("without a browser nobody sees the page");
    }
    let folder = process::builds()?.join("report-bench");
    let runs = [made(lab, &folder, "a", 1)?, made(lab, &folder, "b", 2)?];
    let page = folder.join("report.html");
    let mut table = Table::new(&["command", "seconds", "CPU, s", "peak of memory, MiB"]);
    let mut goals = String::new();
    for measured in commands(&folder, &runs, &page) {
        let rans: Vec<Ran> = (0..lab.extent.pairs).map(|_| measured.run(lab)).collect::<Result<_>>()?;
        let seconds = Spread::of(rans.iter().map(|ran| ran.took.as_secs_f64()));
        let cpu = Spread::of(rans.iter().map(|ran| ran.usage.cpu_us() as f64 / 1e6));
        let peak = Spread::of(rans.iter().map(|ran| ran.usage.peak_mib()));
        table.row([
            format!("`farfield {}`", measured.shown),
            seconds.to_string(),
            cpu.to_string(),
            format!("{peak:.1}"),
        ]);
        let is_met = seconds.max <= measured.bound_s && peak.max <= REPORT_MIB_MAX;
        let bound = format!(
            "`farfield {}` in at most {} s and {REPORT_MIB_MAX} MiB",
            measured.shown, measured.bound_s
        );
        goals += &goal(&bound, &format!("{seconds} s, {peak:.1} MiB"), is_met);
    }
    let megabytes = fs::metadata(&page)?.len() as f64 / 1e6;
    goals += &goal(
        &format!("a page of less than {PAGE_MB_MAX} MB"),
        &format!("{megabytes:.2} MB"),
        megabytes < PAGE_MB_MAX,
    );
    let usable = usable(lab, &page)?;
    let bound = format!("the page answers a pointer within {USABLE_S_MAX} s of being opened, in Chromium");
    goals += &goal(&bound, &format!("{usable} s"), usable.max <= USABLE_S_MAX);
    Ok(format!("{}\n{goals}", table.to_markdown()))
}

/// A run on the simulated plane, with this seed.
fn made(lab: &Lab, folder: &Path, name: &str, seed: u32) -> Result<PathBuf> {
    let directory = folder.join("runs").join(name);
    if directory.exists() {
        fs::remove_dir_all(&directory).with_context(|| format!("cannot remove {}", directory.display()))?;
    }
    fs::create_dir_all(folder)?;
    let scenario = folder.join("scenario.toml");
    fs::write(&scenario, scenario_of_paths())?;
    let seconds = if lab.extent.quick { SECONDS_QUICK } else { SECONDS };
    let mut command = Command::new(lab.farfield());
    command.arg("run").arg(&scenario).args(["--quiet", "--samples", "all", "--warm-up", "1s"]);
    command.args(["-R", &PER_S.to_string(), "-d", &format!("{seconds}s"), "--seed", &seed.to_string()]);
    command.arg("--out").arg(&directory);
    process::run(&mut command)?;
    let summary: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(directory.join("summary.json"))?)?;
    let requests = summary.pointer("/steady/requests").and_then(serde_json::Value::as_f64).unwrap_or(0.0);
    if requests < REQUESTS_MIN && !lab.extent.quick {
        bail!("{} has {requests} requests only", directory.display());
    }
    Ok(directory)
}

/// Thirty paths, the first asked for most.
fn scenario_of_paths() -> String {
    let mut text = "name = \"ten million\"\nplane = \"simulated\"\n".to_owned();
    for number in 1..=30 {
        let weight = 300 / number;
        text += &format!("[[requests.request]]\npath = \"/page/{number}\"\nweight = {weight}\n");
    }
    text
}

fn commands(folder: &Path, runs: &[PathBuf; 2], page: &Path) -> [Measured; 4] {
    let [a, b] = runs.each_ref().map(|run| run.to_string_lossy().into_owned());
    let (page, runs) = (page.to_string_lossy(), folder.join("runs"));
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    [
        Measured { shown: "report RUN", words: words(&["report", &a]), bound_s: SUMMARY_S_MAX },
        Measured {
            shown: "report RUN --format html",
            words: words(&["report", &a, "--format", "html", "--out", &page]),
            bound_s: REPORT_S_MAX,
        },
        Measured { shown: "compare A B", words: words(&["compare", &a, &b]), bound_s: REPORT_S_MAX },
        Measured {
            shown: "runs FOLDER",
            words: words(&["runs", &runs.to_string_lossy()]),
            bound_s: SUMMARY_S_MAX,
        },
    ]
}

impl Measured {
    fn run(&self, lab: &Lab) -> Result<Ran> {
        lab.measure_anywhere(Command::new(lab.farfield()).args(&self.words), PATIENCE_S)
    }
}

/// Seconds until the page answers, each time in a browser that has not seen it.
fn usable(lab: &Lab, page: &Path) -> Result<Spread> {
    let url = format!("file://{}", page.display());
    let mut seconds = Vec::new();
    for _ in 0..lab.extent.pairs {
        let browser = Browser::begin()?;
        browser.post("/url", &json!({ "url": url }))?;
        let readings = browser.post("/execute/async", &json!({ "script": USABLE, "args": [] }))?;
        if readings["readings"].as_u64() == Some(0) || readings["charts"].as_u64() == Some(0) {
            bail!("the page did not answer: {readings}");
        }
        seconds.push(readings["ms"].as_f64().context("a time")? / 1e3);
    }
    Ok(Spread::of(seconds))
}
