//! Points whose load generator is another tool, such as httperf or Locust: `farfield audit` runs it before
//! farfield's origin and holds its report against the packets.
//!
//! The tool's command is written as in a shell without quotes, with stand-ins: `{value}` is the value of the
//! varied key, `{folder}` that of the figure, `{sessions}` a file with the sessions of the point's scenario
//! as httperf's `--wsesslog` reads them, and `{host}`, `{port}` and `{url}` are the server.
//!
//! A tool passes no verdict on itself. Its run is doubted if the audit could not judge it, or if other work
//! took the processor that the tool was held on: what it saw late is then not its own fault.

use super::drive::{Plane, Point, Runner};
use super::measured::{Measured, RunSummary};
use super::origin::Origin;
use super::packets::{self, Packets};
use anyhow::{Context, Result, bail};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use xtask::hold::usage::Usage;
use xtask::{process, system};

/// The stand-in for a file of sessions.
const SESSIONS: &str = "{sessions}";

/// The largest share of its processor's time that other work may take, as for a run of farfield
/// (`verdict.machine-busy`).
const OTHERS_MAX: f64 = 0.02;

/// Ticks a second of `/proc/stat` (USER_HZ, proc_stat(5)).
const TICKS_PER_S: f64 = 100.0;

impl Runner {
    /// Sees to it that the point's tool is installed, if it has one.
    pub fn check_tool(&self, point: &Point) -> Result<()> {
        let program = point.tool.as_deref().and_then(|line| line.split(' ').next());
        match program {
            Some(program) if system::find(program).is_none() => bail!("{program} is not installed"),
            _ => Ok(()),
        }
    }

    /// Audits `tool` before an origin that is started for it; `number` counts the runs of the point.
    pub fn audited(&self, point: &Point, tool: &str, number: u32) -> Result<RunSummary> {
        let (mut scenario, origin) = Origin::taken_from(&point.scenario)?;
        let sessions = self.scratch().join("sessions.wsesslog");
        if tool.contains(SESSIONS) {
            scenario.insert("origin".to_owned(), origin.clone().into());
            let mut export = self.scenario_command("export", point, &scenario, number)?;
            process::output(export.arg("--wsesslog").arg(&sessions))?;
        }
        let origin = self.origin(&origin)?;
        let directory = self.fresh_directory("audit")?;
        let mut command = Command::new(self.farfield());
        command.args(["audit", "--format", "json", "--server", &format!("http://{}/", origin.address)]);
        command.arg("-o").arg(&directory).arg("--");
        let folder = point.folder.display().to_string();
        let stand_ins = [("{value}", point.value.to_string()), ("{folder}", folder)];
        let file = (SESSIONS, sessions.display().to_string());
        command.args(words(tool, &[&stand_ins[..], &[file]].concat()));
        let before = processor_ticks(self.generator_cpu())?;
        let output = self.output(&command, Plane::Sockets)?;
        let ticks = processor_ticks(self.generator_cpu())? - before;
        let audit: Json = serde_json::from_str(&output)
            .with_context(|| format!("`{}` printed no audit:\n{output}", process::words(&command)))?;
        let usage: Usage = fs::read_to_string(self.scratch().join("usage"))?.parse()?;
        let others_s = ticks as f64 / TICKS_PER_S - usage.cpu_us() as f64 / 1e6;
        Ok(summary(&audit, others_s, point))
    }
}

/// The words of a command line with its stand-ins filled in.
fn words(line: &str, stand_ins: &[(&str, String)]) -> Vec<String> {
    let filled = |word: &str| {
        stand_ins.iter().fold(word.to_owned(), |word, (stand_in, text)| word.replace(stand_in, text))
    };
    line.split_whitespace().map(filled).collect()
}

/// Numbers of an audit. Other work took its processor for `others_s` seconds.
fn summary(audit: &Json, others_s: f64, point: &Point) -> RunSummary {
    let number = |pointer: &str| audit.pointer(pointer).and_then(Json::as_f64);
    let (wall_s, cpu_s) = (number("/run/wall_s"), number("/run/cpu_s"));
    let rate = number("/truth/rate_per_s").unwrap_or(0.0);
    let seconds = number("/truth/duration_ns").map(|ns| ns / 1e9).filter(|seconds| *seconds > 0.0);
    let failed =
        ["refused", "broken", "given_up"].map(|kind| number(&format!("/truth/{kind}")).unwrap_or(0.0));
    let median = audit.pointer("/truth/times/percentiles").and_then(Json::as_array);
    let median = median.into_iter().flatten().find(|one| one["percent"] == 50.0);
    let mut measured = Measured {
        offered_per_s: rate,
        completed_per_s: rate,
        errors: number("/truth/requests").map(|all| failed.iter().sum::<f64>() / all.max(1.0)),
        median_ms: median.and_then(|one| one["ns"].as_f64()).map(|ns| ns / 1e6),
        body_mbit_per_s: number("/truth/bytes").zip(seconds).map_or(0.0, |(bytes, s)| bytes * 8e-6 / s),
        packets: Packets::of_audit(audit),
        ..Measured::default()
    };
    measured.server.generator_cpu = cpu_s.zip(wall_s).map(|(cpu_s, wall_s)| cpu_s / wall_s.max(1e-3));
    let mut doubts = Vec::new();
    if audit["agreement"] == "not-judged" {
        doubts.push("audit-not-judged".to_owned());
    }
    if wall_s.is_none_or(|wall_s| others_s > OTHERS_MAX * wall_s) {
        doubts.push("machine-busy".to_owned());
    }
    let line = |&detail| (detail, packets::lines_of_audit(audit, detail));
    let lines = point.details.iter().map(line).collect();
    RunSummary { measured, classes: BTreeMap::new(), doubts, lines }
}

/// Ticks in which a processor ran programs, or its host ran others in its place (steal).
fn processor_ticks(cpu: usize) -> Result<u64> {
    let file = Path::new("/proc/stat");
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    ticks(&text, cpu).with_context(|| format!("{} has no processor {cpu}", file.display()))
}

/// User, nice, system and steal of `cpuN user nice system idle iowait irq softirq steal …`. Time in
/// interrupts is left out: that of the tool's own packets is no program's.
fn ticks(stat: &str, cpu: usize) -> Option<u64> {
    let name = format!("cpu{cpu}");
    let line = stat.lines().find(|line| line.split_whitespace().next() == Some(&name))?;
    let field = |nth: usize| line.split_whitespace().nth(nth)?.parse::<u64>().ok();
    Some(field(1)? + field(2)? + field(3)? + field(8)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::detail::Detail;
    use crate::experiment::plan::Number;
    use serde_json::json;

    fn point() -> Point {
        Point {
            curve: 0,
            scenario: toml::Table::new(),
            sets: BTreeMap::new(),
            value: Number::Whole(300),
            server: None,
            sends_at: None,
            details: vec![Detail::Distribution],
            tool: None,
            routed: false,
            folder: "/figure".into(),
        }
    }

    fn audit(agreement: &str) -> Json {
        json!({
            "run": { "wall_s": 20.0, "cpu_s": 5.0 },
            "truth": { "requests": 200, "refused": 1, "broken": 0, "given_up": 1, "rate_per_s": 10.0,
                "duration_ns": 20_000_000_000u64, "bytes": 2_500_000,
                "times": { "mean_ns": 2e6, "percentiles": [{ "percent": 50.0, "ns": 1_500_000 }] } },
            "rows": [{ "figure": "mean", "reported": 3e6, "observed": 2e6 }],
            "agreement": agreement,
        })
    }

    #[test]
    fn stand_ins_are_filled_in_and_those_of_the_audit_stay() {
        let stand_ins = [("{value}", "300".to_owned()), ("{sessions}", "/a b".to_owned())];
        let words = words("httperf --port {port}  --wsesslog {value},0,{sessions}", &stand_ins);
        assert_eq!(words, ["httperf", "--port", "{port}", "--wsesslog", "300,0,/a b"]);
    }

    #[test]
    fn an_audit_becomes_a_run() {
        let run = summary(&audit("disagrees"), 0.3, &point());
        let found = run.measured;
        assert_eq!((found.completed_per_s, found.body_mbit_per_s, found.errors), (10.0, 1.0, Some(0.01)));
        assert_eq!((found.median_ms, found.server.generator_cpu), (Some(1.5), Some(0.25)));
        assert_eq!((found.packets.actual_ms, found.packets.error_ms()), (Some(2.0), Some(1.0)));
        assert!(run.doubts.is_empty(), "a wrong report is a result: {:?}", run.doubts);
        assert_eq!(run.lines[&Detail::Distribution][0].points, [(1.5, 0.5)]);
    }

    #[test]
    fn a_tool_that_did_not_get_its_processor_is_doubted() {
        assert_eq!(summary(&audit("agrees"), 0.5, &point()).doubts, ["machine-busy"]);
        assert_eq!(summary(&audit("not-judged"), 0.0, &point()).doubts, ["audit-not-judged"]);
    }

    #[test]
    fn time_in_interrupts_is_no_programs() {
        let stat = "cpu  900 0 0 0 0 0 0 0 0 0\ncpu1 10 2 30 400 5 60 70 8 0 0\ncpu10 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!((ticks(stat, 1), ticks(stat, 10), ticks(stat, 2)), (Some(50), Some(4), None));
    }
}
