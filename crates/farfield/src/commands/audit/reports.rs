//! Reports of a tool: the files that its arguments name, and its output.

use super::server::option;
use farfield_verify::audit::{Reported, Tool, read_report};
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes of a report that are read.
const REPORT_MAX: u64 = 512 << 20;

/// A file that a tool writes its report to, and its length before the tool began: JMeter appends to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFile {
    path: PathBuf,
    length_before: u64,
}

impl ReportFile {
    /// The file at `path`, before the tool begins.
    pub fn at(path: PathBuf) -> ReportFile {
        let length_before = fs::metadata(&path).map_or(0, |metadata| metadata.len());
        ReportFile { path, length_before }
    }

    /// The text that the tool wrote, without what a JMeter log held before it began.
    fn text(&self) -> Option<String> {
        let mut file = farfield_files::open_regular(&self.path).ok()?;
        let length = file.metadata().ok()?.len();
        let is_log = self.path.extension().is_some_and(|extension| extension == "jtl");
        if is_log && self.length_before > 0 && length > self.length_before {
            file.seek(SeekFrom::Start(self.length_before)).ok()?;
        }
        let mut bytes = Vec::new();
        file.take(REPORT_MAX).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The tool that a program is, by the name of its file.
pub fn tool_of(program: &str) -> Option<Tool> {
    let name = Path::new(program).file_name()?.to_str()?;
    Tool::of_program(name)
}

/// Files that the arguments of a tool name for its report.
pub fn files_in(tool: Option<Tool>, arguments: &[&str]) -> Vec<PathBuf> {
    let value = |names: &[&str]| names.iter().find_map(|name| option(arguments, name)).map(PathBuf::from);
    let found = match tool {
        Some(Tool::Jmeter) => value(&["-l", "--logfile"]),
        Some(Tool::K6) => value(&["--summary-export"]),
        Some(Tool::Oha) => value(&["-o", "--output"]),
        Some(Tool::Locust) => value(&["--csv"]).map(|prefix| {
            let mut name = prefix.into_os_string();
            name.push("_stats.csv");
            PathBuf::from(name)
        }),
        _ => None,
    };
    found.into_iter().collect()
}

/// The constant rate of requests that the arguments of a tool ask for.
pub fn rate_in(tool: Option<Tool>, arguments: &[&str]) -> Option<f64> {
    let number = |names: &[&str]| names.iter().find_map(|name| option(arguments, name)?.parse::<f64>().ok());
    let has = |name: &str| arguments.iter().any(|argument| argument.starts_with(name));
    let rate = match tool? {
        // With several calls on a connection, or gaps of another kind, the rate is not that of requests.
        Tool::Httperf => {
            let calls = number(&["--num-calls"]).unwrap_or(1.0);
            let other = has("--period") || has("--wsess") || has("--wsesslog") || has("--burst");
            number(&["--rate"]).filter(|_| calls == 1.0 && !other)
        }
        Tool::Wrk2 => number(&["-R", "--rate"]),
        Tool::Oha => number(&["-q"]),
        _ => None,
    };
    rate.filter(|rate| rate.is_finite() && *rate > 0.0)
}

/// The report in `files` and in what the tool printed. A file comes first, except for Locust's, which is
/// written a second before the end.
pub fn read(tool: Option<Tool>, files: &[ReportFile], printed: &[&Path]) -> Option<Reported> {
    let mut texts: Vec<String> = files.iter().filter_map(ReportFile::text).collect();
    texts.extend(
        printed.iter().filter_map(|path| ReportFile { path: path.to_path_buf(), length_before: 0 }.text()),
    );
    let mut reports: Vec<Reported> = texts.iter().filter_map(|text| read_report(tool, text)).collect();
    if reports.iter().any(|report| report.tool == Tool::Locust) {
        reports.reverse();
    }
    let first = reports.first()?.tool;
    reports.into_iter().filter(|report| report.tool == first).reduce(Reported::filled_from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_rates_are_found_in_arguments() {
        let files = |tool, line: &str| files_in(Some(tool), &line.split(' ').collect::<Vec<_>>());
        assert_eq!(files(Tool::Jmeter, "-n -t a.jmx -l b.jtl"), [PathBuf::from("b.jtl")]);
        assert_eq!(files(Tool::Locust, "--headless --csv=out/run"), [PathBuf::from("out/run_stats.csv")]);
        assert_eq!(files(Tool::K6, "run --summary-export s.json x.js"), [PathBuf::from("s.json")]);
        assert!(files(Tool::Wrk, "-l x").is_empty());
        let rate =
            |program: &str, line: &str| rate_in(tool_of(program), &line.split(' ').collect::<Vec<_>>());
        assert_eq!(rate("/usr/bin/httperf", "--rate 100 --num-conns 5"), Some(100.0));
        assert_eq!(rate("httperf", "--rate=100 --num-calls 5"), None);
        assert_eq!(rate("httperf", "--period=e0.01 --rate 100"), None);
        assert_eq!(rate("wrk2", "-c1 -R 2000"), Some(2000.0));
        assert_eq!(rate("wrk", "-c1 -R 2000"), None);
        assert_eq!(rate("curl", "--rate 5"), None);
    }

    /// JMeter appends: the rows of runs before are not of this one.
    #[test]
    fn rows_of_earlier_runs_are_left_out() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("run.jtl");
        let row = |ms: u32| format!("1000,{ms},a,200,OK,t,text,true,,10,10,1,1,http://h/,0,0,0\n");
        fs::write(&path, row(900)).expect("a file");
        let file = ReportFile::at(path.clone());
        fs::write(&path, row(900) + &row(5)).expect("a file");
        let report = read(Some(Tool::Jmeter), &[file], &[]).expect("a report");
        assert_eq!((report.requests, report.max.map(|max| max.ns)), (Some(1), Some(5_000_000)));
    }
}
