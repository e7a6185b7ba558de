//! The flags of the command line. Those that are short for keys of a scenario are in [`scenario`], in groups
//! that commands share.

pub mod audit;
pub mod capacity;
pub mod cluster;
pub mod compare;
pub mod doctor;
pub mod export;
pub mod fit;
pub mod gather;
pub mod heading;
pub mod import;
pub mod join;
pub mod keys;
pub mod merge;
pub mod on;
pub mod path;
pub mod record;
pub mod report;
pub mod route;
pub mod scenario;
pub mod serve;
pub mod shell;
pub mod site;
pub mod sweep;
pub mod ui;
pub mod values;
pub mod verbose;
pub mod watch;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use farfield_scenario::Overlay;
use heading::{LIMITS, OUTPUT, PATHS};
use scenario::{KeyFlags, LoadFlags, ProxyFlags, ResultFlags, ScenarioFlags, TargetFlags, TlsFlags};
use std::path::PathBuf;
pub use values::{ACCESS, POLICIES};

/// A web-server benchmark that tells the truth: realistic load, verified figures, and a verdict on itself.
///
/// Without a command, farfield runs a demo: it starts its own server, loads it for ten seconds and explains
/// the result.
#[derive(Debug, Parser)]
#[command(name = "farfield", version, max_term_width = 100, disable_help_subcommand = true)]
pub struct Flags {
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Load a server, and judge the result.
    Run(Box<RunFlags>),
    /// Find what a server can take: the highest load that keeps goals, or its highest throughput.
    Capacity(Box<capacity::CapacityFlags>),
    /// Make runs at many points, each repeated, and say what moves the result.
    Sweep(Box<sweep::SweepFlags>),
    /// Answer a question by a sweep: make its runs until its claims are decided.
    Experiment(sweep::ExperimentFlags),
    /// Run one session of a scenario once, and show what is sent, extracted and checked.
    Try(TryFlags),
    /// Run the built-in server, with the capacity and the faults that flags give it.
    Serve(serve::ServeFlags),
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
    /// Make one run of several processes, which join here: one start, one result.
    Gather(Box<gather::GatherFlags>),
    /// Make one run on several machines, by ssh or Kubernetes.
    Cluster(cluster::ClusterFlags),
    /// Make one run of the parts that several processes made.
    Merge(merge::MergeFlags),
    /// Compare the samples of a run with the packets of a capture.
    Verify(VerifyFlags),
    /// Show what this machine allows, and how to allow more.
    Doctor(doctor::DoctorFlags),
    /// Fit models to an access log: a scenario with similar traffic, and a report of how well it fits.
    Fit(Box<fit::FitFlags>),
    /// Run another load generator, and compare its report with the packets that it sent.
    Audit(Box<audit::AuditFlags>),
    /// Make a scenario from a curl command, a HAR file, an OpenAPI document, a Postman collection or a JMeter
    /// plan.
    Import(import::ImportFlags),
    /// Record what a browser or a program asks a server for, and make a scenario of it.
    Record(Box<record::RecordFlags>),
    /// Write the sessions that a scenario draws, for other load generators.
    Export(export::ExportFlags),
    /// Advise on a server's settings, from an access log.
    Advise(Box<fit::AdviseFlags>),
    /// Make sites from models, and describe the sites of folders and servers.
    Site(site::SiteFlags),
    /// Explain a command, or a key of the scenario, a check of the verdict, a metric.
    Help(HelpFlags),
    /// Print the JSON schema of a scenario file, or of a result.
    Schema(SchemaFlags),
    /// Print completions of shells, and man pages.
    #[command(hide = true)]
    Generate(GenerateFlags),
}

/// `farfield run`
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = "Exit codes:\n  \
    0    the result is valid, and keeps its thresholds\n  \
    1    farfield, or the machine, could not do it; a sentence says what and why\n  \
    2    the command line or the scenario is wrong\n  \
    3    measured, but invalid: the figures are not to be believed\n  \
    99   a threshold does not hold\n  \
    105  a condition of --abort ended the run\n  \
    130  interrupted; what was measured is kept\n\n\
Examples:\n  \
    farfield run http://127.0.0.1:8080/ -c 64 -d 10s\n  \
    farfield run http://127.0.0.1:8080/ -R 5000 -d 1m --threshold 'p99<200ms'\n  \
    farfield run http://127.0.0.1:8080/ --access 4g\n  \
    farfield run http://127.0.0.1/ --container web --rtt 80ms -c 1000\n  \
    farfield run http://10.1.2.3/ --interface eth1 --rtt 80ms -c 1000\n  \
    farfield run --server 'nginx -c /etc/x.conf' --clients 10000 --rtt 50ms -R 5000\n  \
    farfield run http://127.0.0.1:8080/ -c 64 --until 'p99 ± 5%'\n  \
    farfield run http://10.1.2.3/ -c 2000 --on ssh:a,b\n  \
    farfield run scenario.toml --seed 7 --set load.think=2s\n  \
    farfield run scenario.toml --show-scenario\n  \
    farfield run farfield-runs/2026-01-31T12-00-00Z-run")]
pub struct RunFlags {
    /// A URL, a scenario file, or a run directory; the built-in server if absent
    ///
    /// A run directory is repeated.
    #[arg(value_name = "URL|SCENARIO|RUN", value_hint = ValueHint::FilePath)]
    pub what: Option<String>,

    #[command(flatten)]
    pub load: LoadFlags,
    #[command(flatten)]
    pub scenario: ScenarioFlags,
    /// Run COMMAND, by the shell `sh`, at a client of CLASS beside the emulated users, on the same network;
    /// it ends with the run; may be repeated
    #[arg(long = "beside", help_heading = PATHS, hide_short_help = true, value_name = "CLASS=COMMAND", value_parser = shell::beside)]
    pub beside: Vec<(String, String)>,
    /// Run your shell at a client of CLASS beside the emulated users, on this terminal; the run ends when you
    /// leave it; no shell if absent
    #[arg(long, help_heading = PATHS, hide_short_help = true, value_name = "CLASS")]
    pub shell: Option<String>,
    #[command(flatten)]
    pub join: join::JoinFlags,
    #[command(flatten)]
    pub repeat: sweep::RepeatFlags,
    #[command(flatten, next_help_heading = LIMITS)]
    pub on: on::OnFlags,
    #[command(flatten)]
    pub result: ResultFlags,
    #[command(flatten)]
    pub watch: watch::WatchFlags,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = watch::RunFormat::Text, help_heading = OUTPUT)]
    pub format: watch::RunFormat,
    /// Print no progress
    #[arg(short, long, help_heading = OUTPUT)]
    pub quiet: bool,
    #[command(flatten, next_help_heading = OUTPUT)]
    pub verbose: verbose::VerboseFlags,
    /// Print progress as a line each second, also on a terminal, instead of the live view
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    pub plain: bool,
    /// Print the scenario with its defaults and the flags, and run nothing
    #[arg(long, help_heading = OUTPUT)]
    pub show_scenario: bool,
    /// Start only the programs whose digest this is, as somebody has confirmed them in the workbench
    #[arg(long, value_name = "DIGEST", hide = true)]
    pub starts_only: Option<String>,
    /// End when this process does, which makes the run
    #[arg(long, value_name = "PID", hide = true)]
    pub with_parent: Option<u32>,
}

impl RunFlags {
    /// The keys that the flags lay over a scenario.
    pub fn overlay(&self) -> Overlay {
        let mut overlay = Overlay::default();
        self.load.lay(&mut overlay);
        self.scenario.lay(&mut overlay);
        for (class, command) in &self.beside {
            overlay.add_program("--beside", class, Some(command));
        }
        if let Some(class) = &self.shell {
            overlay.add_program("--shell", class, None);
        }
        self.result.lay(&mut overlay);
        overlay
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
    /// The flow whose session is tried; the first with states if absent
    #[arg(long, value_name = "NAME")]
    pub flow: Option<String>,
    /// Show whole heads and bodies, up to 4000 characters of each
    #[arg(long)]
    pub trace: bool,
    #[command(flatten)]
    pub target: TargetFlags,
    #[command(flatten)]
    pub proxy: ProxyFlags,
    #[command(flatten)]
    pub tls: TlsFlags,
    #[command(flatten)]
    pub keys: KeyFlags,
}

/// The format of what is printed on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// A summary that fits a terminal.
    #[default]
    Text,
    /// The summary as JSON, for pipes.
    Json,
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
    /// The run directory; `last` is the newest of farfield-runs, `last~1` the one before it
    #[arg(value_hint = ValueHint::DirPath, value_parser = values::run_directory)]
    pub directory: PathBuf,
    /// The capture file, pcapng or pcap, taken on this or another machine; the run's own if absent
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub capture: Option<PathBuf>,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// `farfield help`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    farfield help run\n  \
    farfield help scenario\n  \
    farfield help scenario run.duration\n  \
    farfield help checks server-silent\n  \
    farfield help metrics p99")]
pub struct HelpFlags {
    /// A command; or `scenario`, `checks` or `metrics`, with a name; all commands if absent
    #[arg(value_name = "COMMAND|scenario|checks|metrics")]
    pub about: Vec<String>,
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
    /// The man page of the program, or of a command.
    Man { command: Vec<String> },
    /// The commands that have man pages, a line each.
    Commands,
}

/// `farfield schema`
#[derive(Debug, Args)]
#[command(
    after_help = "Editors with taplo (Even Better TOML) take the schema of scenarios by a first line\n  \
    #:schema ./scenario.schema.json\n\n\
Examples:\n  \
    farfield schema > scenario.schema.json\n  \
    farfield schema summary"
)]
pub struct SchemaFlags {
    /// The document
    #[arg(value_enum, value_name = "DOCUMENT", default_value_t = Schematic::Scenario)]
    pub of: Schematic,
}

/// A document that has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Schematic {
    /// A scenario file.
    Scenario,
    /// summary.json of a run directory.
    Summary,
    /// Output of `farfield capacity --format json`.
    Capacity,
    /// sweep.json of a sweep.
    Sweep,
    /// verify.json of a run directory.
    Verify,
}
