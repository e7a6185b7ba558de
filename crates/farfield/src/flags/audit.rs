//! The flags of `farfield audit`.

use super::Format;
use clap::{Args, ValueHint};
use farfield_base::{Rate, Share};
use std::ffi::OsString;
use std::path::PathBuf;

/// `farfield audit`
#[derive(Debug, Args)]
#[command(after_help = "Exit codes:\n  \
    0    every figure of the tool's report agrees with the packets\n  \
    3    one does not, or there is no report that can be judged\n  \
    1    the tool could not be started, or there is no capture\n  \
    130  ended by Ctrl-C; what was captured is kept\n\n\
Examples:\n  \
    farfield audit -- wrk -t1 -c10 -d10s --latency http://127.0.0.1:8080/\n  \
    farfield audit --origin 'stall=500ms every 5s' -- ab -k -c 10 -t 10 {url}/\n  \
    farfield audit --server http://127.0.0.1:8080/ -- k6 run script.js\n  \
    farfield audit --rate 100 -- httperf --server 127.0.0.1 --port 8080 --rate 100 --num-conns 1000\n  \
    farfield audit --report requests.csv --server 10.0.0.2:80 -- ./my-tool")]
pub struct AuditFlags {
    /// The tool and its arguments, which are passed on unchanged, except that {url}, {host} and {port} are
    /// replaced by those of the server; its environment has them as FARFIELD_URL, FARFIELD_HOST and
    /// FARFIELD_PORT
    #[arg(value_name = "TOOL", required = true, last = true, num_args = 1..)]
    pub tool: Vec<OsString>,
    /// The server that the tool sends to, as a URL or as ADDRESS:PORT; by default from the tool's arguments
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
    /// Start the built-in server, with this key of a scenario's `origin` table, such as 'stall=500ms every
    /// 5s'; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub origin: Vec<String>,
    /// The constant rate at which the tool is to send requests, if it has one; the waits of open users are
    /// then counted from the instants at which requests were due; none if absent
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Rate>,
    /// The tool whose report to read, if the program has another name: wrk, wrk2, ab, h2load, httperf, k6,
    /// oha, locust, jmeter or csv; by the program's name if absent
    #[arg(long = "as", value_name = "TOOL")]
    pub known_as: Option<String>,
    /// A file that the tool writes its report to; may be repeated. Those of JMeter, Locust, k6 and oha are
    /// found in their arguments
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub report: Vec<PathBuf>,
    /// The largest relative error with which a figure agrees; times may always be off by 40 µs
    #[arg(long, value_name = "SHARE", default_value = "5%")]
    pub tolerance: Share,
    /// Where to put the capture, the tool's output, audit.json and audit.html; farfield-runs/TIME-audit-TOOL
    /// if absent
    #[arg(short = 'o', long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Write the page into this file as well; only into the directory if absent
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub page: Option<PathBuf>,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}
