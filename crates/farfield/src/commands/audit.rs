//! `farfield audit`: another load generator's report, compared with the packets that it sent.
//!
//! The tool runs unmodified on this machine. What passes between it and its server is captured where it
//! leaves, rebuilt, and put beside the report.

mod reports;
mod server;
mod tool;

use super::run::new_directory;
use crate::exit::Exit;
use crate::flags::Format;
use crate::flags::audit::AuditFlags;
use crate::output;
use crate::problem::Problem;
use farfield_capture::{Capture, Options, ServerFilter};
use farfield_engine::observe::{CaptureSettings, PacketCapture};
use farfield_engine::{RunDirectory, descriptors, interrupt};
use farfield_files::open_regular;
use farfield_origin::{Origin, OriginConfig};
use farfield_report::audit::{page, text};
use farfield_verify::audit::{Agreement, Audit, AuditInput, Tolerance};
use reports::ReportFile;
use server::ServerName;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use toml::{Table, Value};

/// Runs the tool, and prints reported, true and why.
pub fn audit(flags: &AuditFlags) -> Result<Exit, Problem> {
    let stop =
        interrupt::flag().map_err(|error| Problem::failed(format!("cannot listen for Ctrl-C: {error}")))?;
    let expected = expected_tool(flags)?;
    let (server, origin) = start_server(flags)?;
    let addresses = server.addresses()?;
    let command = server::filled_in(&flags.tool, &server);
    let directory = match &flags.out {
        Some(asked) => RunDirectory::create(asked),
        None => new_directory(&format!("audit-{}", short_name(&command))),
    };
    let directory = directory.map_err(Problem::failed)?;
    if directory.path().join(AUDIT).exists() {
        return Err(Problem::usage(format!(
            "{} holds an audit already; name another directory",
            directory.path().display()
        )));
    }
    let setup = AuditSetup { directory, command, server, addresses, expected };
    let observed = setup.observe(flags, &stop);
    drop(origin);
    let judged = observed.and_then(|observed| setup.judge(flags, observed));
    let audit = judged.inspect_err(|_| setup.remove())?;
    setup.write(flags, &audit)?;
    let interrupted = stop.load(Ordering::Relaxed) && audit.run.interrupted;
    Ok(match audit.agreement {
        _ if interrupted => Exit::Interrupted,
        _ if audit.truth.is_none() => Exit::Failed,
        Agreement::Agrees => Exit::Fine,
        Agreement::Disagrees | Agreement::NotJudged => Exit::Invalid,
    })
}

/// The tool whose report is expected.
fn expected_tool(flags: &AuditFlags) -> Result<Option<farfield_verify::audit::Tool>, Problem> {
    use farfield_verify::audit::Tool;
    match &flags.known_as {
        None => Ok(reports::tool_of(&flags.tool[0].to_string_lossy())),
        Some(name) => Tool::of_program(name).map(Some).ok_or_else(|| {
            let names = Tool::ALL.map(Tool::name).join(", ");
            Problem::usage(format!("--as {name}: its report is not read; those of {names} are"))
        }),
    }
}

/// The server that the tool sends to; the built-in one is started if asked for.
fn start_server(flags: &AuditFlags) -> Result<(ServerName, Option<Origin>), Problem> {
    let stand_in = server::has_stand_in(&flags.tool);
    let named = match &flags.server {
        Some(text) => Some(ServerName::read(text)?),
        None if stand_in => None,
        None => ServerName::of_arguments(&flags.tool).transpose()?,
    };
    if flags.origin.is_empty() {
        let named = named.ok_or_else(|| {
            Problem::usage(
                "the tool's arguments name no server: add --server http://HOST:PORT/, or --origin KEY=VALUE for \
                 the built-in one",
            )
        })?;
        return Ok((named, None));
    }
    let mut config = origin_config(&flags.origin)?;
    // Without a name the tool finds it by a stand-in, or by FARFIELD_URL in its environment.
    if let Some(named) = &named {
        config.bind = named.addresses()?[0];
    }
    descriptors::raise();
    let origin = Origin::start(config).map_err(Problem::failed)?;
    let address = origin.address();
    let name = named.unwrap_or(ServerName { host: address.ip().to_string(), port: address.port() });
    Ok((name, Some(origin)))
}

/// `KEY=VALUE` of the `origin` table: a number or a table as TOML, anything else as text.
fn origin_config(pairs: &[String]) -> Result<OriginConfig, Problem> {
    let mut table = Table::new();
    for pair in pairs {
        let (key, value) = pair.split_once('=').ok_or_else(|| {
            Problem::usage(format!("--origin {pair}: write KEY=VALUE, such as 'stall=500ms every 5s'"))
        })?;
        let parsed = format!("v = {value}").parse::<Table>().ok().and_then(|mut one| one.remove("v"));
        table.insert(key.trim().to_owned(), parsed.unwrap_or_else(|| Value::from(value.trim())));
    }
    serde_path_to_error::deserialize(Value::Table(table)).map_err(|error| {
        let message = error.inner().to_string();
        let message =
            farfield_scenario::in_user_words(message.lines().next().unwrap_or_default()).to_string();
        Problem::usage(format!("--origin {}: {message}", error.path()))
    })
}

/// The program's name, for the name of a directory.
fn short_name(command: &[OsString]) -> String {
    let path = PathBuf::from(&command[0]);
    path.file_name().map_or_else(|| "tool".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The packets.
const CAPTURE: &str = "capture.pcapng";
/// The tool's standard output.
const OUTPUT: &str = "tool-output.txt";
/// The tool's standard error.
const ERRORS: &str = "tool-errors.txt";
/// The audit, as data.
const AUDIT: &str = "audit.json";
/// The audit, as a page.
const PAGE: &str = "audit.html";

/// The tool to audit, its server, and the directory of the audit's files.
struct AuditSetup {
    directory: RunDirectory,
    command: Vec<OsString>,
    server: ServerName,
    addresses: Vec<SocketAddr>,
    expected: Option<farfield_verify::audit::Tool>,
}

/// A tool that has run, and what was captured of it.
struct ToolCapture {
    ended: tool::ToolEnd,
    files: Vec<ReportFile>,
    capture: Option<Capture>,
    limits: Vec<String>,
    /// The capture ended before the tool did.
    ended_early: bool,
}

impl AuditSetup {
    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A new file that only its owner may read.
    fn begin(&self, name: &str) -> Result<File, Problem> {
        self.directory.begin(name).map_err(Problem::failed)
    }

    /// Removes what an audit of nothing has written. The directory stays if anything else is in it.
    fn remove(&self) {
        for name in [CAPTURE, OUTPUT, ERRORS] {
            let _ = self.directory.remove(name);
        }
        let _ = fs::remove_dir(self.directory.path());
    }

    /// Runs the tool in front of a capture.
    fn observe(&self, flags: &AuditFlags, stop: &AtomicBool) -> Result<ToolCapture, Problem> {
        let arguments: Vec<&str> = self.command.iter().filter_map(|argument| argument.to_str()).collect();
        let named = reports::files_in(self.expected, &arguments);
        let files = flags.report.iter().cloned().chain(named).map(ReportFile::at).collect();
        let path = self.file(CAPTURE);
        let (mut limits, mut ended_early) = (Vec::new(), false);
        let capture = match PacketCapture::begin(CaptureSettings::new(self.addresses.clone(), path.clone())) {
            Ok(capture) => Some(capture),
            Err(error) => {
                limits.push(error.to_string());
                None
            }
        };
        let (output, errors) = (self.begin(OUTPUT)?, self.begin(ERRORS)?);
        let tool = tool::Tool {
            command: &self.command,
            environment: vec![
                ("FARFIELD_URL", self.server.url()),
                ("FARFIELD_HOST", self.server.host.clone()),
                ("FARFIELD_PORT", self.server.port.to_string()),
            ],
            output: &output,
            errors: &errors,
        };
        let ended = tool.run(stop);
        let captured = capture.map(PacketCapture::finish);
        let ended = ended?;
        let capture = match captured {
            Some(report) => {
                limits.extend(report.warnings());
                ended_early = report.file_error.is_some() || report.interface_down;
                Some(self.rebuild(&path)?)
            }
            None => None,
        };
        Ok(ToolCapture { ended, files, capture, limits, ended_early })
    }

    fn rebuild(&self, path: &Path) -> Result<Capture, Problem> {
        let cannot = |error: &dyn std::fmt::Display| {
            Problem::failed(format!("the capture {} cannot be read: {error}", path.display()))
        };
        let file = open_regular(path).map_err(|error| cannot(&error))?;
        let server = ServerFilter { address: None, port: Some(self.server.port) };
        let options = Options { server, ..Options::default() };
        farfield_capture::read(BufReader::with_capacity(1 << 20, file), &options)
            .map_err(|error| cannot(&error))
    }

    /// Holds the report against the packets. A tool that failed before it sent anything is a failure.
    fn judge(&self, flags: &AuditFlags, observed: ToolCapture) -> Result<Audit, Problem> {
        let (output, errors) = (self.file(OUTPUT), self.file(ERRORS));
        let reported = reports::read(self.expected, &observed.files, &[&output, &errors]);
        let sent = observed.capture.as_ref().is_some_and(|capture| !capture.connections.is_empty());
        if !observed.ended.succeeded && !observed.ended.run.interrupted && !sent && reported.is_none() {
            return Err(Problem::failed(format!(
                "{} {} and sent nothing to {}:{}; its last words: {}",
                short_name(&self.command),
                observed.ended.run.ended,
                self.server.host,
                self.server.port,
                last_words(&[&errors, &output])
            )));
        }
        let arguments: Vec<&str> = self.command.iter().filter_map(|argument| argument.to_str()).collect();
        let asked = flags.rate.map(farfield_base::Rate::as_per_second);
        let rate_per_s = asked.or_else(|| reports::rate_in(self.expected, &arguments));
        let tolerance = Tolerance { share: flags.tolerance.as_f64(), ..Tolerance::default() };
        Ok(Audit::of(AuditInput {
            run: observed.ended.run,
            server: format!("{}:{}", self.server.host, self.server.port),
            reported,
            capture: observed.capture.as_ref(),
            capture_ended_early: observed.ended_early,
            rate_per_s,
            tolerance,
            limits: observed.limits,
        }))
    }

    /// Writes audit.json and the page, and prints the audit.
    fn write(&self, flags: &AuditFlags, audit: &Audit) -> Result<(), Problem> {
        let mut json = serde_json::to_string_pretty(audit)
            .map_err(|error| Problem::failed(format!("cannot write the audit as JSON: {error}")))?;
        json.push('\n');
        let html = page(audit);
        self.directory.replace(PAGE, html.as_bytes()).map_err(Problem::failed)?;
        self.directory.replace(AUDIT, json.as_bytes()).map_err(Problem::failed)?;
        if let Some(path) = &flags.page {
            farfield_files::output::put(path, html.as_bytes())
                .map_err(|error| Problem::failed(format!("cannot write {}: {error}", path.display())))?;
        }
        match flags.format {
            Format::Json => output::put(&json),
            Format::Text => {
                output::put(&text(audit))?;
                output::put(&format!("{}\n", self.file(PAGE).display()))
            }
        }
    }
}

/// The last line that a tool printed.
fn last_words(files: &[&Path]) -> String {
    let last = |path: &&Path| {
        let text = end_of(path).ok()?;
        let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
        Some(line.trim().chars().take(300).collect::<String>())
    };
    files.iter().find_map(last).unwrap_or_else(|| "none".to_owned())
}

/// The end of what a tool printed.
fn end_of(path: &Path) -> std::io::Result<String> {
    const BYTES: u64 = 64 << 10;
    let mut file = open_regular(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(BYTES)))?;
    let mut bytes = Vec::new();
    file.take(BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
