//! The flags of the command line. Each flag of `run` is short for a key of the scenario, which
//! [`farfield_scenario::Overlay`] sets.

pub mod fit;
pub mod site;
mod values;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use farfield_scenario::Overlay;
use std::path::PathBuf;
use values::{ACCESS, GATEWAYS, HTTP_VERSIONS, PLANES, POLICIES, SAMPLES, Suggested, count};

/// A web-server benchmark that tells the truth: realistic load, verified figures, and a verdict on itself.
///
/// Without a command, farfield shows itself: it starts its own server, drives it for ten seconds and
/// explains the result.
#[derive(Debug, Parser)]
#[command(name = "farfield", version, max_term_width = 100)]
pub struct Flags {
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Drive a server, and judge the result.
    Run(Box<RunFlags>),
    /// Go through one session of a scenario, and show what is sent, extracted and checked.
    Try(TryFlags),
    /// Serve generated pages: a server to try things on, as slow and as narrow as you say.
    Serve(ServeFlags),
    /// Print the result of a run again, from its directory.
    Report(ReportFlags),
    /// Show what this machine allows, and how to allow more.
    Doctor,
    /// Make a scenario like the traffic in an access log, and show how like it is.
    Fit(Box<fit::FitFlags>),
    /// Advise on a server's settings, from an access log.
    Advise(Box<fit::AdviseFlags>),
    /// Make sites to serve, from models, and take folders of files as sites.
    Site(site::SiteFlags),
    /// Print shell completions, the man page or the summary's schema.
    #[command(hide = true)]
    Generate(GenerateFlags),
}

/// `farfield run`
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = "Examples:\n  \
    farfield run http://127.0.0.1:8080/ -c 64 -d 10s\n  \
    farfield run http://127.0.0.1:8080/ -R 5000 -d 1m --threshold 'p99<200ms'\n  \
    farfield run --server 'nginx -c /etc/x.conf' --clients 10000 --rtt 50ms -R 5000\n  \
    farfield run scenario.toml --seed 7 --set load.think=2s\n  \
    farfield run scenario.toml --show-scenario\n  \
    farfield run farfield-runs/2026-01-31T12-00-00Z-run")]
pub struct RunFlags {
    /// The URL to drive, a scenario file, or the directory of a run to repeat; its own built-in server if
    /// absent
    #[arg(value_name = "URL|SCENARIO|RUN", value_hint = ValueHint::FilePath)]
    pub what: Option<String>,

    /// Users: how many a closed load has, or how many an open load may have at once
    #[arg(short = 'c', long, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<u32>)]
    pub users: Option<u32>,
    /// How long to measure
    #[arg(short = 'd', long, value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<String>,
    /// Open load: pages arrive at this rate, as a Poisson process
    #[arg(short = 'R', long, value_name = "RATE", allow_hyphen_values = true)]
    pub rate: Option<String>,
    /// End after so many requests, without a warm-up unless one is asked for
    #[arg(short = 'n', long, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<u64>)]
    pub requests: Option<u64>,
    /// End after so many sessions, completed or broken off, without a warm-up unless one is asked for
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<u64>)]
    pub sessions: Option<u64>,
    /// Worker threads
    #[arg(short = 't', long, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<u32>)]
    pub workers: Option<u32>,
    /// How long to warm up before measuring
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub warm_up: Option<String>,
    /// How long a user thinks between pages
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub think: Option<String>,
    /// The server, where the scenario names none or another
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// When connections are used again: one-request, persistent, early-close, pipelined or
    /// pipelined-early-close
    #[arg(long, value_name = "POLICY", value_parser = Suggested(POLICIES))]
    pub policy: Option<String>,
    /// Connections a user opens at most at once
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<u16>)]
    pub parallel: Option<u16>,
    /// What carries the bytes: sockets, emulated or simulated
    #[arg(long, value_name = "PLANE", value_parser = Suggested(PLANES))]
    pub plane: Option<String>,
    /// Emulated clients, each with an address and a path of its own; the default plane is then emulated
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<u32>)]
    pub clients: Option<u32>,
    /// The round trip between emulated clients and the server
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub rtt: Option<String>,
    /// The access link of emulated clients, such as dsl, fibre, 4g or modem-56k
    #[arg(long, value_name = "KIND", value_parser = Suggested(ACCESS))]
    pub access: Option<String>,
    /// The command that starts the server before emulated clients
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString)]
    pub server: Option<String>,
    /// Processors that this server may take at most, such as 0.2
    #[arg(long, value_name = "PROCESSORS")]
    pub server_cpu: Option<f64>,
    /// Memory that this server may take at most, such as 64MiB
    #[arg(long, value_name = "SIZE")]
    pub server_memory: Option<String>,
    /// The user that this server runs as, where root starts it
    #[arg(long, value_name = "USER")]
    pub server_user: Option<String>,
    /// Threads that emulated clients are dealt out over
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<u32>)]
    pub shards: Option<u32>,
    /// What the gateway between emulated clients and the server is made of: auto, tun or packet
    #[arg(long, value_name = "DEVICE", value_parser = Suggested(GATEWAYS))]
    pub gateway: Option<String>,
    /// Keep the packets between emulated clients and the server in capture.pcapng
    #[arg(long)]
    pub capture: bool,
    /// The version that requests announce: 1.0 or 1.1
    #[arg(long, value_name = "VERSION", value_parser = Suggested(HTTP_VERSIONS))]
    pub http: Option<String>,
    /// The request's method
    #[arg(short = 'X', long, value_name = "METHOD")]
    pub method: Option<String>,
    /// A header of the request, `Name: value`; may be repeated
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub headers: Vec<String>,
    /// The request's body; `@FILE` for what is in a file
    #[arg(long, value_name = "TEXT|@FILE")]
    pub body: Option<String>,
    /// Addresses that clients connect from, in turn; may be repeated
    #[arg(long = "source", value_name = "ADDRESS[/BITS]")]
    pub sources: Vec<String>,
    /// Processors that farfield keeps to, such as 1 or 0,2
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub processors: Vec<u32>,
    /// The seed of all random numbers
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Sets any key of the scenario
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,

    /// Exit with 99 unless this holds of the result, such as 'p99<200ms' or 'errors<0.1%'; may be repeated
    #[arg(long = "threshold", value_name = "CONDITION")]
    pub thresholds: Vec<String>,
    /// End the run, and exit with 105, once this is broken; may be repeated
    #[arg(long = "abort", value_name = "CONDITION")]
    pub aborts: Vec<String>,
    /// Where to put the run directory; it must hold no run yet
    #[arg(short = 'o', long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Which samples to keep: all, none, or a number k for every k-th
    #[arg(long, value_name = "WHICH", value_parser = Suggested(SAMPLES))]
    pub samples: Option<String>,
    /// What to print on standard output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Print no progress
    #[arg(short, long)]
    pub quiet: bool,
    /// Print the scenario with its defaults and the flags, and run nothing
    #[arg(long)]
    pub show_scenario: bool,
}

impl RunFlags {
    /// The flags that are short for keys of the scenario.
    pub fn overlay(&self) -> Overlay {
        Overlay {
            users: self.users,
            duration: self.duration.clone(),
            rate: self.rate.clone(),
            requests: self.requests,
            sessions: self.sessions,
            workers: self.workers,
            warm_up: self.warm_up.clone(),
            think: self.think.clone(),
            target: self.target.clone(),
            policy: self.policy.clone(),
            parallel: self.parallel,
            plane: self.plane.clone(),
            clients: self.clients,
            rtt: self.rtt.clone(),
            access: self.access.clone(),
            server: self.server.clone(),
            server_cpu: self.server_cpu,
            server_memory: self.server_memory.clone(),
            server_user: self.server_user.clone(),
            shards: self.shards,
            gateway: self.gateway.clone(),
            capture: self.capture,
            http: self.http.clone(),
            method: self.method.clone(),
            headers: self.headers.clone(),
            body: self.body.clone(),
            sources: self.sources.clone(),
            processors: self.processors.clone(),
            seed: self.seed,
            sets: self.sets.clone(),
            thresholds: self.thresholds.clone(),
            aborts: self.aborts.clone(),
            out: self.out.clone(),
            samples: self.samples.clone(),
            once: false,
        }
    }
}

/// `farfield try`
#[derive(Debug, Args)]
#[command(after_help = "Exit codes:\n  \
    0   the session was completed, and nothing in it failed\n  \
    99  a request, a check or an extraction failed\n  \
    1   the session could not be begun\n\n\
Examples:\n  \
    farfield try shop.toml\n  \
    farfield try shop.toml --target http://127.0.0.1:8080/ --trace")]
pub struct TryFlags {
    /// The scenario file, which has sessions of states
    #[arg(value_name = "SCENARIO", value_hint = ValueHint::FilePath)]
    pub scenario: String,
    /// The server, where the scenario names none or another
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// What carries the bytes: sockets, emulated or simulated
    #[arg(long, value_name = "PLANE", value_parser = Suggested(PLANES))]
    pub plane: Option<String>,
    /// The seed of all random numbers
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Sets any key of the scenario
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Show whole heads and bodies, up to 4000 characters of each
    #[arg(long)]
    pub trace: bool,
}

/// What is printed on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// A summary that fits a terminal.
    #[default]
    Text,
    /// The summary as JSON, for pipes.
    Json,
}

/// `farfield serve`
#[derive(Debug, Args)]
pub struct ServeFlags {
    /// The address to listen on
    #[arg(default_value = "127.0.0.1:8080", value_name = "ADDRESS")]
    pub bind: String,
    /// Event loops
    #[arg(short = 't', long, value_name = "COUNT")]
    pub threads: Option<u32>,
    /// How long each request takes to serve
    #[arg(long, value_name = "TIME")]
    pub service_time: Option<String>,
    /// Requests served at once at most; the others wait their turn
    #[arg(long, value_name = "COUNT")]
    pub servers: Option<u32>,
    /// The share of requests answered with 503
    #[arg(long, value_name = "SHARE")]
    pub error_rate: Option<String>,
    /// Connections held at once at most; the others wait in the kernel's accept queue
    #[arg(long, value_name = "COUNT")]
    pub accept_limit: Option<u32>,
    /// The length of that queue
    #[arg(long, value_name = "COUNT")]
    pub backlog: Option<u32>,
    /// How long an idle connection is kept
    #[arg(long, value_name = "TIME")]
    pub keep_alive_timeout: Option<String>,
    /// Requests served on one connection at most
    #[arg(long, value_name = "COUNT")]
    pub keep_alive_requests: Option<u32>,
    /// The seed of the pages and of the errors
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Any key of a scenario's `origin` table, as TOML; other flags outrank it
    #[arg(long, value_name = "TOML")]
    pub config: Option<String>,
}

/// `farfield report`
#[derive(Debug, Args)]
pub struct ReportFlags {
    /// The run directory
    #[arg(value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// `farfield generate`
#[derive(Debug, Args)]
pub struct GenerateFlags {
    #[command(subcommand)]
    pub what: Generated,
}

#[derive(Debug, Subcommand)]
pub enum Generated {
    /// Completions for a shell.
    Completions { shell: clap_complete::Shell },
    /// The man page.
    Man,
    /// The JSON schema of summary.json.
    Schema,
}
