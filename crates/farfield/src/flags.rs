//! The flags of the command line. Each flag of `run` is short for a key of the scenario, which
//! [`farfield_scenario::Overlay`] sets.

pub mod audit;
pub mod compare;
pub mod export;
pub mod fit;
pub mod import;
pub mod path;
pub mod report;
pub mod route;
pub mod shell;
pub mod site;
pub mod ui;
mod values;
pub mod watch;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use farfield_scenario::Overlay;
use std::path::PathBuf;
pub use values::{ACCESS, POLICIES};
use values::{ADDRESSES, GATEWAYS, HTTP_VERSIONS, PLANES, SAMPLES, Suggested, count, resolving};

/// A web-server benchmark that tells the truth: realistic load, verified figures, and a verdict on itself.
///
/// Without a command, farfield runs a demo: it starts its own server, loads it for ten seconds and explains
/// the result.
#[derive(Debug, Parser)]
#[command(name = "farfield", version, max_term_width = 100)]
pub struct Flags {
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Load a server, and judge the result.
    Run(Box<RunFlags>),
    /// Run one session of a scenario once, and show what is sent, extracted and checked.
    Try(TryFlags),
    /// Run the built-in server, with the capacity and the faults that flags give it.
    Serve(ServeFlags),
    /// Run any program behind an emulated path to a server.
    Shell(shell::ShellFlags),
    /// Be the emulated network between clients and servers that somebody else runs.
    Route(route::RouteFlags),
    /// Measure the paths of clients, and compare them with what was asked for.
    Path(path::PathFlags),
    /// Print the result of a run again, from its directory.
    Report(report::ReportFlags),
    /// Compare runs: whether they differ, by how much, and with what confidence.
    Compare(compare::CompareFlags),
    /// List the runs of a folder, with their verdicts and first figures.
    Runs(compare::RunsFlags),
    /// Show runs in a browser, write scenarios, and start and stop runs.
    Ui(ui::UiFlags),
    /// Compare the samples of a run with the packets of a capture.
    Verify(VerifyFlags),
    /// Show what this machine allows, and how to allow more.
    Doctor,
    /// Fit models to an access log: a scenario with similar traffic, and a report of how well it fits.
    Fit(Box<fit::FitFlags>),
    /// Run another load generator, and compare its report with the packets that it sent.
    Audit(Box<audit::AuditFlags>),
    /// Make a scenario from a curl command, a HAR file, an OpenAPI document, a Postman collection or a JMeter
    /// plan.
    Import(import::ImportFlags),
    /// Write the sessions that a scenario draws, for other load generators.
    Export(export::ExportFlags),
    /// Advise on a server's settings, from an access log.
    Advise(Box<fit::AdviseFlags>),
    /// Make sites from models, and describe the sites of folders and servers.
    Site(site::SiteFlags),
    /// Print shell completions, the man page, or the schema of a result.
    #[command(hide = true)]
    Generate(GenerateFlags),
}

/// `farfield run`
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = "Examples:\n  \
    farfield run http://127.0.0.1:8080/ -c 64 -d 10s\n  \
    farfield run http://127.0.0.1:8080/ -R 5000 -d 1m --threshold 'p99<200ms'\n  \
    farfield run http://127.0.0.1:8080/ --access 4g\n  \
    farfield run http://127.0.0.1/ --container web --rtt 80ms -c 1000\n  \
    farfield run http://10.1.2.3/ --interface eth1 --rtt 80ms -c 1000\n  \
    farfield run --server 'nginx -c /etc/x.conf' --clients 10000 --rtt 50ms -R 5000\n  \
    farfield run scenario.toml --seed 7 --set load.think=2s\n  \
    farfield run scenario.toml --show-scenario\n  \
    farfield run farfield-runs/2026-01-31T12-00-00Z-run")]
pub struct RunFlags {
    /// The URL to load, a scenario file, or the directory of a run to repeat; farfield's built-in server if
    /// absent
    #[arg(value_name = "URL|SCENARIO|RUN", value_hint = ValueHint::FilePath)]
    pub what: Option<String>,

    /// Number of users of a closed load, or the most users that an open load may have at once
    #[arg(short = 'c', long, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<u32>)]
    pub users: Option<u32>,
    /// Length of the measured part
    #[arg(short = 'd', long, value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<String>,
    /// Open load: pages arrive at this rate, as a Poisson process
    #[arg(short = 'R', long, value_name = "RATE", allow_hyphen_values = true)]
    pub rate: Option<String>,
    /// End after this many requests, however long they take unless --duration bounds it; without a warm-up,
    /// unless --warm-up sets one
    #[arg(short = 'n', long, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<u64>)]
    pub requests: Option<u64>,
    /// End after this many sessions, completed or broken off; without a warm-up, unless --warm-up sets one
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<u64>)]
    pub sessions: Option<u64>,
    /// Number of worker threads; on the emulated plane, of shards
    #[arg(short = 't', long, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<u32>)]
    pub workers: Option<u32>,
    /// Length of the warm-up, before the measured part
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub warm_up: Option<String>,
    /// Set seconds in which the machine was disturbed aside, and measure as much longer
    #[arg(long)]
    pub set_aside: bool,
    /// Think time: from the end of a page to the start of the user's next
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub think: Option<String>,
    /// URL of the server, instead of the scenario's
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// How users use connections: one-request, persistent, early-close, pipelined, pipelined-early-close or
    /// shared-pool
    #[arg(long, value_name = "POLICY", value_parser = Suggested(POLICIES))]
    pub policy: Option<String>,
    /// The most connections that a user has open at once
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<u16>)]
    pub parallel: Option<u16>,
    /// What carries the traffic: sockets (the kernel's), emulated (clients far away) or simulated
    #[arg(long, value_name = "PLANE", value_parser = Suggested(PLANES))]
    pub plane: Option<String>,
    /// Number of emulated clients, each with its own address and path; makes emulated the default plane
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<u32>)]
    pub clients: Option<u32>,
    /// Round-trip time between emulated clients and the server
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub rtt: Option<String>,
    /// The access link of emulated clients, such as dsl, fibre, 4g or modem-56k
    #[arg(long, value_name = "KIND", value_parser = Suggested(ACCESS))]
    pub access: Option<String>,
    /// Command that starts the server of emulated clients
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString)]
    pub server: Option<String>,
    /// Process of the server of emulated clients, if it runs already in a network namespace of its own
    #[arg(long, value_name = "PID", allow_negative_numbers = true, value_parser = count::<u32>)]
    pub server_pid: Option<u32>,
    /// Network namespace of the server of emulated clients, if it runs already: a name of `ip netns`, or a
    /// file
    #[arg(long, value_name = "NAME|FILE")]
    pub server_netns: Option<String>,
    /// Container of the server of emulated clients, if it runs already: of Docker, Podman or Kubernetes
    #[arg(long, value_name = "NAME")]
    pub container: Option<String>,
    /// The most processor time that this server may take, in processors, such as 0.2
    #[arg(long, value_name = "PROCESSORS")]
    pub server_cpu: Option<f64>,
    /// The most memory that this server may take, such as 64MiB
    #[arg(long, value_name = "SIZE")]
    pub server_memory: Option<String>,
    /// System user that this server runs as; only root can set another
    #[arg(long, value_name = "USER")]
    pub server_user: Option<String>,
    /// Number of threads that share the emulated clients
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<u32>)]
    pub shards: Option<u32>,
    /// Network card by which a server on another machine is reached; the emulated clients' addresses live on
    /// it
    #[arg(long, value_name = "INTERFACE")]
    pub interface: Option<String>,
    /// Kind of gateway between emulated clients and the server: auto, tun or packet; route where others route
    /// the clients' addresses to the card of --interface
    #[arg(long, value_name = "DEVICE", value_parser = Suggested(GATEWAYS))]
    pub gateway: Option<String>,
    /// Run COMMAND, by the shell `sh`, at a client of CLASS beside the emulated users, on the same network;
    /// it ends with the run; may be repeated
    #[arg(long = "beside", value_name = "CLASS=COMMAND", value_parser = shell::beside)]
    pub beside: Vec<(String, String)>,
    /// Run your shell at a client of CLASS beside the emulated users, on this terminal; the run ends when you
    /// leave it
    #[arg(long, value_name = "CLASS")]
    pub shell: Option<String>,
    /// Keep the packets between clients and server in capture.pcapng
    #[arg(long)]
    pub capture: bool,
    /// PEM file of the CA that an https server's certificate must lead to, instead of the system's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub cacert: Option<PathBuf>,
    /// Accept any certificate of an https server; every output says so
    #[arg(short = 'k', long)]
    pub insecure: bool,
    /// PEM file of the certificates that users have for an https server that asks for one
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub cert: Option<PathBuf>,
    /// PEM file of their private keys; that of the certificates if absent
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub key: Option<PathBuf>,
    /// HTTP version of the requests: 1.0, 1.1, 2, 3, or auto: as browsers choose it
    #[arg(long, value_name = "VERSION", value_parser = Suggested(HTTP_VERSIONS))]
    pub http: Option<String>,
    /// Method of the request
    #[arg(short = 'X', long, value_name = "METHOD")]
    pub method: Option<String>,
    /// A header of the request, `Name: value`; may be repeated
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub headers: Vec<String>,
    /// Body of the request, or `@FILE` for the contents of a file
    #[arg(long, value_name = "TEXT|@FILE")]
    pub body: Option<String>,
    /// Local addresses that connections come from, one after the other; may be repeated
    #[arg(long = "source", value_name = "ADDRESS[/BITS]")]
    pub sources: Vec<String>,
    /// Connect to OTHER-HOST and OTHER-PORT in place of HOST and PORT, as curl does; requests, SNI and the
    /// certificate keep the name. What is empty is any, or as it was; may be repeated
    #[arg(long, value_name = "HOST:PORT:OTHER-HOST:OTHER-PORT")]
    pub connect_to: Vec<String>,
    /// Take ADDRESS, or several with commas between, for HOST, as curl does; may be repeated
    #[arg(long, value_name = "HOST:PORT:ADDRESS", value_parser = resolving)]
    pub resolve: Vec<String>,
    /// Connect to the Unix socket at PATH, or to @NAME, as curl does; the URL says host and path
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub unix_socket: Option<String>,
    /// Connect to the proxy at URL, `http://[user:password@]host:port`, as curl does: it is asked for http in
    /// absolute form, and for a tunnel (CONNECT) for https
    #[arg(short = 'x', long, value_name = "URL", value_hint = ValueHint::Url)]
    pub proxy: Option<String>,
    /// Addresses of the target's name that connections go to: the first that answers, all in turn, or the one
    /// that the name has when a connection is opened
    #[arg(long, value_name = "WHICH", value_parser = Suggested(ADDRESSES))]
    pub addresses: Option<String>,
    /// Processors that farfield runs on, such as 1 or 0,2
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub processors: Vec<u32>,
    /// Seed of all random numbers
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Set any key of the scenario; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,

    /// Exit with 99 if the result does not meet this condition, such as 'p99<200ms' or 'errors<0.1%'; may be
    /// repeated
    #[arg(long = "threshold", value_name = "CONDITION")]
    pub thresholds: Vec<String>,
    /// End the run, and exit with 105, as soon as this condition is not met; may be repeated
    #[arg(long = "abort", value_name = "CONDITION")]
    pub aborts: Vec<String>,
    /// Where to put the run directory; it must hold no run yet
    #[arg(short = 'o', long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Which samples to keep: all, none, or a number k for every k-th
    #[arg(long, value_name = "WHICH", value_parser = Suggested(SAMPLES))]
    pub samples: Option<String>,
    /// Write no page of the run (report.html)
    #[arg(long)]
    pub no_report: bool,
    /// Do not monitor the server during the run
    #[arg(long)]
    pub no_monitor: bool,
    #[command(flatten)]
    pub watch: watch::WatchFlags,
    /// What to print on standard output
    #[arg(long, value_enum, default_value_t = watch::RunFormat::Text)]
    pub format: watch::RunFormat,
    /// Print no progress
    #[arg(short, long)]
    pub quiet: bool,
    /// Print progress as a line each second, also on a terminal, instead of the live view
    #[arg(long)]
    pub plain: bool,
    /// Print the scenario with its defaults and the flags, and run nothing
    #[arg(long)]
    pub show_scenario: bool,
    /// Start only the programs whose digest this is, as somebody has confirmed them in the workbench
    #[arg(long, value_name = "DIGEST", hide = true)]
    pub starts_only: Option<String>,
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
            set_aside: self.set_aside,
            think: self.think.clone(),
            target: self.target.clone(),
            policy: self.policy.clone(),
            parallel: self.parallel,
            plane: self.plane.clone(),
            clients: self.clients,
            rtt: self.rtt.clone(),
            access: self.access.clone(),
            server: self.server.clone(),
            server_pid: self.server_pid,
            server_netns: self.server_netns.clone(),
            container: self.container.clone(),
            server_cpu: self.server_cpu,
            server_memory: self.server_memory.clone(),
            server_user: self.server_user.clone(),
            shards: self.shards,
            gateway: self.gateway.clone(),
            interface: self.interface.clone(),
            beside: self.beside.clone(),
            shell: self.shell.clone(),
            capture: self.capture,
            cacert: self.cacert.clone(),
            insecure: self.insecure,
            certificate: self.cert.clone(),
            key: self.key.clone(),
            http: self.http.clone(),
            method: self.method.clone(),
            headers: self.headers.clone(),
            body: self.body.clone(),
            sources: self.sources.clone(),
            connect_to: self.connect_to.iter().chain(&self.resolve).cloned().collect(),
            addresses: self.addresses.clone(),
            unix_socket: self.unix_socket.clone(),
            proxy: self.proxy.clone(),
            processors: self.processors.clone(),
            seed: self.seed,
            sets: self.sets.clone(),
            thresholds: self.thresholds.clone(),
            aborts: self.aborts.clone(),
            out: self.out.clone(),
            samples: self.samples.clone(),
            no_report: self.no_report,
            no_monitor: self.no_monitor,
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
    /// Scenario file, with a `[session]` of states
    #[arg(value_name = "SCENARIO", value_hint = ValueHint::FilePath)]
    pub scenario: String,
    /// URL of the server, instead of the scenario's
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// What carries the traffic: sockets (the kernel's), emulated (clients far away) or simulated
    #[arg(long, value_name = "PLANE", value_parser = Suggested(PLANES))]
    pub plane: Option<String>,
    /// PEM file of the CA that an https server's certificate must lead to, instead of the system's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub cacert: Option<PathBuf>,
    /// Accept any certificate of an https server
    #[arg(short = 'k', long)]
    pub insecure: bool,
    /// PEM file of the certificate for an https server that asks for one
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub cert: Option<PathBuf>,
    /// PEM file of its private key; that of the certificate if absent
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub key: Option<PathBuf>,
    /// Connect to the proxy at URL, `http://[user:password@]host:port`, as `farfield run` does
    #[arg(short = 'x', long, value_name = "URL", value_hint = ValueHint::Url)]
    pub proxy: Option<String>,
    /// Seed of all random numbers
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Set any key of the scenario; may be repeated
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
    /// Serve over TLS, with a certificate that is made at the start
    #[arg(long)]
    pub tls: bool,
    /// PEM file of the certificate to serve over TLS with, instead of one that is made
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub cert: Option<PathBuf>,
    /// PEM file of the certificate's key; the certificate's file if absent
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "cert")]
    pub key: Option<PathBuf>,
    /// The address to listen on
    #[arg(default_value = "127.0.0.1:8080", value_name = "ADDRESS")]
    pub bind: String,
    /// Number of event loops
    #[arg(short = 't', long, value_name = "COUNT")]
    pub threads: Option<u32>,
    /// How long each request takes to serve
    #[arg(long, value_name = "TIME")]
    pub service_time: Option<String>,
    /// The most requests served at once; the others wait
    #[arg(long, value_name = "COUNT")]
    pub servers: Option<u32>,
    /// The share of requests answered with 503
    #[arg(long, value_name = "SHARE")]
    pub error_rate: Option<String>,
    /// Serve nothing for a time in every period, such as '500ms every 5s'
    #[arg(long, value_name = "TIME every TIME")]
    pub stall: Option<String>,
    /// Serve nothing for a time, once, such as '2s at 3s' after the first request
    #[arg(long, value_name = "TIME at TIME")]
    pub hiccup: Option<String>,
    /// Take longer to serve a share of the requests, such as '1% take 200ms'
    #[arg(long, value_name = "SHARE take TIME")]
    pub slow_tail: Option<String>,
    /// Take longer at first, and less and less so, such as '100ms for 3s'
    #[arg(long, value_name = "TIME for TIME")]
    pub slow_start: Option<String>,
    /// The most connections held at once; the others wait in the kernel's accept queue
    #[arg(long, value_name = "COUNT")]
    pub accept_limit: Option<u32>,
    /// Length of that queue
    #[arg(long, value_name = "COUNT")]
    pub backlog: Option<u32>,
    /// Time after which an idle connection is closed
    #[arg(long, value_name = "TIME")]
    pub keep_alive_timeout: Option<String>,
    /// The most requests served on one connection
    #[arg(long, value_name = "COUNT")]
    pub keep_alive_requests: Option<u32>,
    /// Seed of the pages and of the errors
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Any key of a scenario's `origin` table, as TOML; other flags outrank it
    #[arg(long, value_name = "TOML")]
    pub config: Option<String>,
}

/// `farfield verify`
#[derive(Debug, Args)]
#[command(after_help = "Exit codes:\n  \
    0  samples and packets agree\n  \
    3  they disagree; the findings say how\n\n\
Examples:\n  \
    farfield run http://127.0.0.1:8080/ -d 10s --capture --out a\n  \
    farfield verify a\n  \
    farfield verify a --capture tcpdump.pcap")]
pub struct VerifyFlags {
    /// The run directory
    #[arg(value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,
    /// The capture file, pcapng or pcap, taken on this or another machine; the run's own if absent
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub capture: Option<PathBuf>,
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
    /// The JSON schema of verify.json.
    VerifySchema,
}
