//! `farfield verify`: the samples of a run compared with the packets of a capture; and the same at the end
//! of a run, as a check of its verdict.
//!
//! Reads only the run directory, and the capture that is named. Leaves `verify.json`, `transactions.parquet`
//! and `connection-events.parquet` in the directory, which only its owner can read.

use crate::exit::Exit;
use crate::flags::{Format, VerifyFlags};
use crate::output;
use crate::problem::Problem;
use farfield_base::random::Seed;
use farfield_base::{Duration, Instant, ReplyEvent, Sample, Window};
use farfield_capture::{Capture, Options, Secrets, ServerFilter};
use farfield_engine::PlaneKind;
use farfield_files::{Folder, open_regular, open_stream};
use farfield_measure::events::{self, EVENTS_FILE};
use farfield_measure::samples::{Keep, SamplesFile};
use farfield_measure::verdict::CaptureAgreement;
use farfield_measure::{Summary, connections};
use farfield_report::{Look, RunDirectory, directory};
use farfield_scenario::{AskedOfFlow, HttpVersion, RunPlan, Scenario};
use farfield_traffic::RequestSetSpec;
use farfield_traffic::request::Order;
use farfield_user::Reuse;
use farfield_verify::{
    AgreementLimits, AskedFlow, AskedPolicy, Finding, PathDelay, RunRecord, RunStart, ScenarioDemands,
    SetAside, Verification, tables,
};
use serde_json::Value;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

/// The capture that a run takes.
const CAPTURE_FILE: &str = "capture.pcapng";
/// The second one, of the emulated plane, by the server's kernel.
const KERNEL_FILE: &str = "capture-kernel.pcapng";
/// The secrets of the run's sessions of TLS.
const KEYS: &str = "keys.log";
/// The samples.
const SAMPLES: &str = "samples.parquet";
/// The name of interface 0 in captures of virtual time.
const GATEWAY: &str = "gateway";
/// The result.
const VERIFY_FILE: &str = "verify.json";
/// A wall clock that went otherwise than the run's by more than this, in nanoseconds, was set: the capture's
/// instants are then those of another clock.
const CLOCK_SET_NS: u64 = 1_000_000;
/// Samples beyond which the check at the end of a run is left to the command: about half a kilobyte of
/// memory each, and as much for each connection.
const SAMPLES_AT_END: u64 = 5_000_000;

/// Events of streams beyond which they are not looked at: each takes some 100 bytes of memory.
const EVENTS_MAX: u64 = 20_000_000;

/// A capture's origin: who took it, and at which place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// By the run itself, at its clients or their gateway.
    Run,
    /// By the run, by the kernel, behind the emulated clients' links.
    RunsKernel,
    /// By somebody else.
    Other,
}

impl Origin {
    fn of(capture: &Path, directory: &Path) -> Origin {
        let is = |name: &str| {
            let own = directory.join(name).canonicalize();
            own.is_ok_and(|own| capture.canonicalize().is_ok_and(|capture| capture == own))
        };
        if is(CAPTURE_FILE) {
            Origin::Run
        } else if is(KERNEL_FILE) {
            Origin::RunsKernel
        } else {
            Origin::Other
        }
    }
}

impl Origin {
    /// The capture's name in the run directory, if it is one of the run's.
    fn file(self) -> Option<&'static str> {
        match self {
            Origin::Run => Some(CAPTURE_FILE),
            Origin::RunsKernel => Some(KERNEL_FILE),
            Origin::Other => None,
        }
    }
}

/// Holds a run against a capture, and prints the result.
pub fn verify(flags: &VerifyFlags) -> Result<Exit, Problem> {
    let run = RunDirectory::open(&flags.directory).map_err(Problem::usage)?;
    let own = flags.directory.join(CAPTURE_FILE);
    let capture = match &flags.capture {
        Some(path) => path.clone(),
        None if own.exists() => own,
        None => {
            return Err(Problem::usage(format!(
                "`{}` holds no {CAPTURE_FILE}; name a capture with --capture, or let the next run take one with \
                 `farfield run --capture`",
                flags.directory.display()
            )));
        }
    };
    // As it was written: the reader brings numbers of an older farfield under the names of today.
    let said = serde_json::from_str(run.json()).ok();
    let found = hold(&flags.directory, run.summary(), said, &capture)?;
    let colour = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let directory = flags.directory.to_string_lossy();
    match flags.format {
        Format::Text => output::put_coloured(&farfield_report::verification::render(
            &found,
            Look { colour, directory: Some(&directory), ..Look::default() },
        ))?,
        Format::Json => output::put(&json(&found))?,
    }
    Ok(if found.agrees { Exit::Fine } else { Exit::Invalid })
}

/// Holds the run that has just ended against its own capture, and adds the result to its verdict. What
/// prevents that is a check that does not apply, with the reason. Whoever has interrupted the run wants it
/// to end, which reading a large capture would keep it from for as long as it took.
pub fn at_the_end(directory: &Path, summary: &mut Summary, interrupted: bool) {
    let samples = open_samples(directory).map(|samples| samples.kept()).unwrap_or(0);
    let left_to_command = |why: &str| CaptureAgreement::Unknown {
        why: format!("{why}; `farfield verify {}` compares it with the packets", directory.display()),
    };
    let agreement = if interrupted {
        left_to_command("the run was interrupted")
    } else if samples > SAMPLES_AT_END {
        left_to_command(&format!("a run of {samples} samples would take much memory"))
    } else {
        let said = serde_json::to_value(&*summary).ok();
        match hold(directory, summary, said, &directory.join(CAPTURE_FILE)) {
            Ok(found) => agreement(&found),
            Err(problem) => CaptureAgreement::Unknown { why: problem.to_string() },
        }
    };
    summary.verdict.hold_against_capture(agreement);
}

fn agreement(found: &Verification) -> CaptureAgreement {
    let wrong: Vec<_> = found.findings.iter().filter(|finding| finding.disagrees).collect();
    if let [alone] = wrong[..]
        && alone.name == Finding::TOO_LITTLE_COMPARED
    {
        let sealed = found.findings.iter().find(|finding| finding.name == Finding::TLS_UNREAD);
        let why = sealed.map_or_else(
            || alone.evidence.clone(),
            |sealed| format!("{}; {}; {}", alone.evidence, sealed.evidence, sealed.advice),
        );
        return CaptureAgreement::Unknown { why };
    }
    let Some(first) = wrong.first() else {
        return match found.matched.requests {
            0 => CaptureAgreement::Unknown {
                why: "no request was compared: the run kept no samples, or sent nothing".to_owned(),
            },
            _ => CaptureAgreement::Agrees,
        };
    };
    // Packets that the capture lost may be why, or what could not be decrypted.
    let is_lossy =
        |finding: &&Finding| [Finding::CAPTURE_LOSSY, Finding::TLS_UNREAD].contains(&&*finding.name);
    let lossy = found.findings.iter().find(is_lossy);
    let named = lossy.iter().chain(&wrong);
    let words: Vec<String> = named.map(|f| format!("{}: {}", f.name, f.evidence)).collect();
    CaptureAgreement::Disagrees {
        findings: wrong.len() as u64,
        note: words.join("; "),
        advice: format!("{}; `farfield verify` shows all", lossy.unwrap_or(first).advice),
        only_late: wrong.iter().all(|finding| is_lateness(&finding.name)),
    }
}

/// True if a finding is what a machine without time for farfield leads to.
fn is_lateness(finding: &str) -> bool {
    let times = finding.ends_with("-times") && finding != "rounded-times";
    times || finding.starts_with("arrivals-")
}

/// Reads the directory and the capture, compares them, and leaves the result in the directory. What the
/// summary `said` is counted again.
fn hold(
    directory: &Path,
    summary: &Summary,
    said: Option<Value>,
    capture: &Path,
) -> Result<Verification, Problem> {
    let (samples, all_kept) = read_samples(directory)?;
    let scenario = farfield_scenario::read(directory.join("scenario.toml"));
    if scenario.as_ref().is_ok_and(|plan| plan.scenario().connections.proxy.is_some()) {
        let sentence = "the run went through a proxy (connections.proxy), to which the packets went: its samples, whose \
                        connections begin at the other end of tunnels, cannot be compared with them";
        return Err(Problem::usage(sentence));
    }
    let secrets = read_secrets(directory)?;
    // Of the result alone: the scenario may be unreadable by now, and silence would pass for agreement.
    let is_secured =
        summary.heading.target.starts_with("https://") || samples.iter().any(|sample| sample.tls.is_some());
    if is_secured && secrets.is_none() {
        return Err(Problem::usage(lacks_secrets(directory, summary)));
    }
    let limits =
        scenario.as_ref().map_or_else(|_| AgreementLimits::default(), |plan| limits(plan.scenario()));
    let mut record = record(directory, summary, &samples, all_kept, Origin::of(capture, directory))?;
    record.summary = said;
    record.captures_all = scenario.as_ref().is_ok_and(|plan| captures_all(plan.scenario()))
        && record.capture_file.as_deref() == Some(CAPTURE_FILE);
    // Computation of TLS lies between the two instants.
    record.stamps_packets &= !is_secured;
    let read = read_capture(capture, Origin::of(capture, directory), &record, secrets)?;
    if is_copy(summary, &read) {
        record.start = start(summary, Origin::Run);
        (record.stamps_packets, record.gateway_is_first) = (!is_secured, true);
    }
    let limits = if record.stamps_packets { limits.of_own_packets() } else { limits.of_kernels_packets() };
    let asked = scenario.as_ref().ok().map(|plan| asked(plan, is_secured));
    let mut verified = farfield_verify::verify(&samples, &read, &record, asked.as_ref(), limits);
    if let Err(error) = &scenario {
        let note = format!("what was asked for is not judged, since the scenario cannot be read: {error}");
        verified.verification.notes.push(note);
    }
    verified.verification.notes.extend(set_clock(summary));
    if let Some(error) = write(directory, &samples, &read, &verified).err() {
        let note = format!("the rebuilt transactions could not be written: {error}");
        verified.verification.notes.push(note);
    }
    Ok(verified.verification)
}

/// True if a capture is one of virtual time, wherever it lies: no other program sees such packets, and their
/// clock is that of the samples.
fn is_copy(summary: &Summary, capture: &Capture) -> bool {
    let first = capture.limits.interfaces.get(&0);
    summary.generator.plane == "simulated" && first.is_some_and(|first| first.name == GATEWAY)
}

/// The secrets that the run's clients wrote down, if they did.
fn read_secrets(directory: &Path) -> Result<Option<Arc<Secrets>>, Problem> {
    let path = directory.join(KEYS);
    let secrets = match directory::open(&path) {
        Ok(file) => Secrets::read(BufReader::new(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => Err(error),
    };
    secrets.map(|secrets| Some(Arc::new(secrets))).map_err(|error| unreadable(&path, error))
}

/// The reason why the packets of a run over TLS cannot be read, and what would mend it.
fn lacks_secrets(directory: &Path, summary: &Summary) -> String {
    match summary.generator.plane.as_str() {
        "simulated" => {
            "the run was over a model of TLS, whose packets have no secrets to be read with; compare a run \
                        over http:// instead"
                .to_owned()
        }
        _ => format!(
            "the run was over TLS, and `{}` holds no {KEYS} to read its packets with; let the next run write it with \
             `--set tls.key-log=true`",
            directory.display()
        ),
    }
}

fn read_samples(directory: &Path) -> Result<(Vec<Sample>, bool), Problem> {
    let file = open_samples(directory)?;
    let all_kept = file.keep() == Keep::All && file.left_out() == 0;
    let samples: Result<Vec<Sample>, _> = file.samples().collect();
    let path = directory.join(SAMPLES);
    Ok((samples.map_err(|error| unreadable(&path, error))?, all_kept))
}

/// Opens the samples of a run directory.
fn open_samples(directory: &Path) -> Result<SamplesFile<File>, Problem> {
    let path = directory.join(SAMPLES);
    let file = directory::open(&path).map_err(|error| unreadable(&path, error))?;
    SamplesFile::open(file).map_err(|error| unreadable(&path, error))
}

fn unreadable(path: &Path, error: impl Display) -> Problem {
    Problem::failed(format!("`{}` cannot be read: {error}", path.display()))
}

fn read_capture(
    path: &Path,
    origin: Origin,
    record: &RunRecord,
    secrets: Option<Arc<Secrets>>,
) -> Result<Capture, Problem> {
    let file = match origin {
        Origin::Run | Origin::RunsKernel => open_regular(path),
        // Its name was typed: it may be a pipe.
        Origin::Other => open_stream(path),
    };
    let file = file.map_err(|error| unreadable(path, error))?;
    let mut options = Options { secrets, ..Options::default() };
    // A capture may hold other servers' traffic. Where the run had one server, only that is looked at.
    let mut servers = record.connections.iter().flatten().map(|row| row.server);
    if let Some(first) = servers.next()
        && servers.all(|server| server == first)
    {
        options.server = ServerFilter { address: Some(first.ip()), port: Some(first.port()) };
    }
    farfield_capture::read(BufReader::new(file), &options).map_err(|error| unreadable(path, error))
}

/// The events of the run's streams; `None` where it left none, or more than can be looked at.
fn read_events(directory: &Path) -> Result<Option<Vec<ReplyEvent>>, Problem> {
    let path = directory.join(EVENTS_FILE);
    let file = match directory::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(&path, error)),
    };
    match events::read_parquet(file, EVENTS_MAX) {
        Ok(events) => Ok(events),
        // A run that was killed leaves a file without an end; its samples and packets can be read.
        Err(error) => {
            output::put_error(format_args!(
                "warning: {EVENTS_FILE} cannot be read, and events are not compared one by one: {error}\n"
            ));
            Ok(None)
        }
    }
}

/// The run's record of itself.
fn record(
    directory: &Path,
    summary: &Summary,
    samples: &[Sample],
    all_kept: bool,
    origin: Origin,
) -> Result<RunRecord, Problem> {
    let from = Instant::from_ns(summary.phases.warm_up_ns);
    let window = Window {
        measure_from: from,
        measure_to: Instant::from_ns(summary.phases.warm_up_ns + summary.phases.steady_ns),
    };
    let path = directory.join(connections::CONNECTIONS_FILE);
    let connections = match directory::open(&path) {
        Ok(file) => Some(connections::read_parquet(file).map_err(|error| unreadable(&path, error))?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(unreadable(&path, error)),
    };
    let said = serde_json::to_value(summary).ok();
    let last = samples.iter().map(|sample| sample.done).max().unwrap_or(window.measure_to);
    Ok(RunRecord {
        window,
        end: last.max(window.measure_to),
        start: start(summary, origin),
        connections,
        events: read_events(directory)?,
        set_aside: said.as_ref().map(SetAside::of).unwrap_or_default(),
        summary: None,
        capture_file: origin.file().map(str::to_owned),
        captures_all: false,
        stamps_packets: origin == Origin::Run && summary.generator.plane != "sockets",
        resent: summary.connections.resent_requests + summary.http2.as_ref().map_or(0, |own| own.refused),
        all_kept,
        gateway_is_first: match origin {
            // Other programs see emulated clients behind their links.
            Origin::Other => summary.generator.plane == "emulated",
            Origin::Run | Origin::RunsKernel => summary.generator.plane != "sockets",
        },
    })
}

/// The start of the run's clock, by the clock of a capture. Another program's may be of another machine.
fn start(summary: &Summary, origin: Origin) -> RunStart {
    match summary.clock {
        Some(clock) if clock.drift_ns.unsigned_abs() < CLOCK_SET_NS => match origin {
            Origin::Run | Origin::RunsKernel => RunStart::Exact(clock.start_unix_ns),
            Origin::Other => RunStart::Claimed(clock.start_unix_ns),
        },
        _ => RunStart::Unknown,
    }
}

/// The reason why a run's wall clock is not that of a capture.
fn set_clock(summary: &Summary) -> Option<String> {
    let clock = summary.clock.filter(|clock| clock.drift_ns.unsigned_abs() >= CLOCK_SET_NS)?;
    Some(format!(
        "the wall clock was set by {:.1} ms during the run: packets are taken for those of another clock, and \
         response times are not judged",
        clock.drift_ns as f64 / 1e6
    ))
}

/// True if the run's capture is of all clients.
fn captures_all(scenario: &Scenario) -> bool {
    let Some(capture) = &scenario.capture else { return true };
    let clients = scenario.network.as_ref().and_then(|network| network.clients);
    let named = capture.clients.iter().collect::<std::collections::BTreeSet<_>>().len();
    let names_all = clients.is_some_and(|clients| named == clients.get() as usize);
    capture.filter.is_none() && (capture.clients.is_empty() || names_all)
}

fn limits(scenario: &Scenario) -> AgreementLimits {
    AgreementLimits {
        error_ns: scenario.verdict.capture_error.as_ns(),
        unmatched: scenario.verdict.capture_unmatched.as_f64(),
        compared: scenario.verdict.capture_compared.as_f64(),
        ..AgreementLimits::default()
    }
}

/// Load, connection policy and request mix that the scenario asked for.
fn asked(plan: &RunPlan, is_secured: bool) -> ScenarioDemands {
    let scenario = plan.scenario();
    let policy = &scenario.connections;
    // Visitors of an open load inherit the connections of earlier ones.
    let inherits = plan.loads().any(|load| matches!(load, farfield_traffic::LoadModel::Open { .. }));
    let mix_of = |requests: Option<&RequestSetSpec>| match requests {
        Some(set) if set.order() == Order::Weighted && set.site().is_none() && set.file().is_none() => {
            let alone = set.requests().iter().all(|request| request.embedded.is_empty());
            let weights = set.requests().iter().map(|request| request.weight.as_f64());
            let all: f64 = weights.clone().sum();
            if alone { weights.map(|weight| weight / all).collect() } else { Vec::new() }
        }
        _ => Vec::new(),
    };
    let flow = |flow: AskedOfFlow<'_>| AskedFlow {
        name: flow.name.to_owned(),
        load: flow.load.clone(),
        own_sessions: flow.session.is_some(),
        mix: if flow.session.is_some() { Vec::new() } else { mix_of(flow.requests) },
        requests: flow.request_count,
    };
    ScenarioDemands {
        flows: plan.flows().map(flow).collect(),
        hosts: scenario.hosts_in_results(),
        authorities: scenario.authorities(),
        part: scenario.run.part,
        seed: Seed(scenario.seed),
        policy: AskedPolicy {
            requests_max: policy.requests_max(),
            parallel: policy.parallel.get().into(),
            depth: match scenario.http {
                HttpVersion::Http2 | HttpVersion::Http3 => policy.streams.get().into(),
                // The server chooses.
                HttpVersion::Auto if is_secured => policy.streams.get().into(),
                _ => policy.depth() as u32,
            },
            shares: policy.policy == Reuse::SharedPool || inherits && policy.policy != Reuse::OneRequest,
        },
        stall_ns: scenario.events.stall.as_ns(),
        paths: path_delays(scenario),
    }
}

/// The paths of the simulated plane's clients, by class, where each has a round trip and nothing else.
fn path_delays(scenario: &Scenario) -> Vec<PathDelay> {
    let Some(network) = scenario.network.as_ref().filter(|_| scenario.plane == PlaneKind::Simulated) else {
        return Vec::new();
    };
    let is_plain = network.shared.is_none()
        && network.backbone.is_none()
        && network.topology.is_none()
        && network.cross_traffic.is_empty()
        && network.change.is_empty()
        && network.server.is_empty();
    let delay = |rtt: Option<Duration>| {
        let (whole, half) = (rtt?.as_ns(), rtt?.as_ns() / 2);
        Some(PathDelay { up_ns: half, down_ns: whole - half })
    };
    let classes = network.class.iter().map(|class| {
        let is_plain = class.access.is_none()
            && class.up.is_none()
            && class.down.is_none()
            && class.core.is_none()
            && class.migrate.is_none()
            && class.server.is_none();
        delay(class.rtt).filter(|_| is_plain)
    });
    let paths: Option<Vec<PathDelay>> = if network.class.is_empty() {
        delay(network.rtt).filter(|_| network.access.is_none()).map(|path| vec![path])
    } else {
        classes.collect()
    };
    paths.filter(|_| is_plain).unwrap_or_default()
}

fn json(found: &Verification) -> String {
    let mut text = serde_json::to_string_pretty(found).expect("names are strings and numbers are finite");
    text.push('\n');
    text
}

/// Leaves the three files.
fn write(
    directory: &Path,
    samples: &[Sample],
    capture: &Capture,
    verified: &farfield_verify::Verified,
) -> io::Result<()> {
    let farfield_verify::Verified { verification, matching, frame } = verified;
    replace(directory, VERIFY_FILE, |to| to.write_all(json(verification).as_bytes()))?;
    replace(directory, tables::TRANSACTIONS_FILE, |to| {
        tables::write_transactions(capture, samples, matching, frame, to).map_err(io::Error::other)
    })?;
    replace(directory, tables::CONNECTION_EVENTS_FILE, |to| {
        tables::write_connection_events(capture, frame, to).map_err(io::Error::other)
    })
}

/// Replaces a file of the directory in one step; only its owner can read it.
fn replace(
    directory: &Path,
    name: &str,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    Folder::open(directory)?.replace(name, |file| {
        let mut to = BufWriter::new(file.try_clone()?);
        write(&mut to)?;
        to.flush()
    })
}
