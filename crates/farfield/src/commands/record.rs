//! `farfield record`: a proxy that a browser or a program works through, and a scenario of what passed.
//!
//! The recording becomes an HTTP Archive, and that a scenario by the very import that reads a browser's.
//! Everything is said on standard error: standard output is the program's.

mod account;
mod program;

use crate::commands::import::{self, ScenarioReaders, replace_private};
use crate::exit::Exit;
use crate::flags::import::ImportFlags;
use crate::flags::record::RecordFlags;
use crate::output;
use crate::problem::Problem;
use farfield_base::Duration;
use farfield_engine::{descriptors, interrupt, tls as machine};
use farfield_files::input::KEY_MAX;
use farfield_http::tls::{Group, Trust, certificates_of_pem};
use farfield_import::DocumentKind;
use farfield_os::clock::monotonic_ns;
use farfield_recorder::{
    ClientIdentity, Recorder, RecorderConfig, Recording, RecordingBounds, WebOrigin, write_archive,
};
use farfield_scenario::Url;
use program::RecordedProgram;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The scenario where no name is given.
const OUT: &str = "recorded.toml";
/// The port that is tried first where no address is given.
const LISTEN: &str = "127.0.0.1:8888";
/// Between two looks at whether the recording is to end.
const LOOK: std::time::Duration = std::time::Duration::from_millis(20);

/// The files of a recording.
struct RecordingFiles {
    scenario: PathBuf,
    archive: PathBuf,
    certificate: PathBuf,
}

/// Records, and imports what was recorded.
pub fn record(flags: &RecordFlags) -> Result<Exit, Problem> {
    let target: Url = flags.url.parse().map_err(Problem::usage)?;
    let origins = origins(flags, &target)?;
    let files = files(flags)?;
    let config = RecorderConfig {
        is_reverse: flags.reverse,
        verifier: trust(flags, &origins)?
            .verifier(&machine::provider(&Group::ALL))
            .map_err(|error| Problem::failed(format!("--cacert: {error}")))?,
        identity: identity(flags)?,
        recorded: origins.clone(),
        bounds: RecordingBounds::default(),
    };
    let stop =
        interrupt::flag().map_err(|error| Problem::failed(format!("cannot listen for Ctrl-C: {error}")))?;
    descriptors::raise();
    let recorder = Recorder::start(listen(flags.listen)?, config).map_err(Problem::failed)?;
    if let Some(pem) = recorder.certificate_pem() {
        replace_private(&files.certificate, |to| to.write_all(pem.as_bytes()))
            .map_err(|error| unwritable(&files.certificate, &error))?;
    }
    account::guide(flags, &recorder, &files.certificate);
    let ended = until_it_ends(flags, &recorder, &files, &stop)?;
    let recording = recorder.stop();
    let exit = keep(flags, recording, &files, &origins)?;
    Ok(if exit == Exit::Fine { ended } else { exit })
}

/// The servers that are recorded, the target's first.
fn origins(flags: &RecordFlags, target: &Url) -> Result<Vec<WebOrigin>, Problem> {
    let of = |url: &Url| WebOrigin::new(url.is_secure(), url.host(), url.port());
    let mut origins = vec![of(target)];
    for host in &flags.hosts {
        let host: Url = host.parse().map_err(|error| Problem::usage(format!("--host: {error}")))?;
        let origin = of(&host);
        if !origins.contains(&origin) {
            origins.push(origin);
        }
    }
    Ok(origins)
}

/// The names of the files; one that nobody has given is not there yet, as a recording is some work.
fn files(flags: &RecordFlags) -> Result<RecordingFiles, Problem> {
    let scenario = flags.out.clone().unwrap_or_else(|| OUT.into());
    let archive = flags.har.clone().unwrap_or_else(|| scenario.with_extension("har"));
    let stem = scenario.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let beside = scenario.with_file_name(format!("{stem}-ca.pem"));
    let certificate = flags.ca_out.clone().unwrap_or(beside);
    let unnamed = [(&scenario, flags.out.is_none()), (&archive, flags.out.is_none() && flags.har.is_none())];
    if let Some((path, _)) = unnamed.iter().find(|(path, is_unnamed)| *is_unnamed && path.exists()) {
        return Err(Problem::usage(format!(
            "{} is there already; name another file with `-o`, or move it away",
            path.display()
        )));
    }
    if scenario == archive || certificate == archive || certificate == scenario {
        return Err(Problem::usage("-o, --har and --ca-out name one file; give each a name of its own"));
    }
    // A recording is not made in vain.
    let folder = scenario.parent().filter(|own| *own != Path::new("")).unwrap_or(Path::new("."));
    match folder.is_dir() {
        true => Ok(RecordingFiles { scenario, archive, certificate }),
        false => Err(Problem::usage(format!("{} is no folder; make it, or name another", folder.display()))),
    }
}

/// Trust in the servers' certificates, as a run has it.
fn trust(flags: &RecordFlags, origins: &[WebOrigin]) -> Result<Trust, Problem> {
    if flags.tls.insecure {
        return Ok(Trust::Anyone);
    }
    if let Some(path) = &flags.tls.cacert {
        let found = certificates_of_pem(&read("--cacert", path)?).filter(|found| !found.is_empty());
        let none = || Problem::usage(format!("--cacert: {} has no certificate in PEM", path.display()));
        return found.map(Trust::Roots).ok_or_else(none);
    }
    match machine::system_roots() {
        Ok(roots) => Ok(roots),
        Err(error) if origins.iter().any(|origin| origin.is_secure) => Err(Problem::failed(error)),
        // Nobody, as nobody is to be: only servers in clear are recorded.
        Err(_) => Ok(Trust::Pins(Vec::new())),
    }
}

fn identity(flags: &RecordFlags) -> Result<Option<ClientIdentity>, Problem> {
    let Some(chain) = &flags.tls.cert else { return Ok(None) };
    let key = flags.tls.key.as_ref().unwrap_or(chain);
    let made = ClientIdentity::of_pem(&read("--cert", chain)?, &read("--key", key)?);
    made.map(Some).map_err(|why| Problem::usage(format!("--cert or --key: {why}")))
}

fn read(flag: &str, path: &Path) -> Result<Vec<u8>, Problem> {
    farfield_files::read(path, KEY_MAX)
        .map_err(|error| Problem::failed(format!("{flag}: cannot read {}: {error}", path.display())))
}

fn unwritable(path: &Path, error: &io::Error) -> Problem {
    Problem::failed(format!("cannot write {}: {error}", path.display()))
}

/// The listener: at the address that was asked for or, without one, on a port that is free.
fn listen(asked: Option<SocketAddr>) -> Result<TcpListener, Problem> {
    let refused = |address: &str, error: io::Error| {
        Problem::failed(format!("cannot listen on {address}: {error}; name another address with --listen"))
    };
    if let Some(address) = asked {
        return TcpListener::bind(address).map_err(|error| refused(&address.to_string(), error));
    }
    match TcpListener::bind(LISTEN) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            TcpListener::bind("127.0.0.1:0").map_err(|error| refused("127.0.0.1", error))
        }
        bound => bound.map_err(|error| refused(LISTEN, error)),
    }
}

/// Waits until the recording is to end: by the program that was given, by time, or by a signal.
fn until_it_ends(
    flags: &RecordFlags,
    recorder: &Recorder,
    files: &RecordingFiles,
    stop: &AtomicBool,
) -> Result<Exit, Problem> {
    let deadline = flags.duration.map(|duration: Duration| monotonic_ns().saturating_add(duration.as_ns()));
    let is_due =
        || stop.load(Ordering::Relaxed) || deadline.is_some_and(|deadline| monotonic_ns() >= deadline);
    let mut program = match flags.command.as_slice() {
        [] => None,
        command => Some(RecordedProgram::start(command, flags, recorder, &files.certificate)?),
    };
    let mut shown = 0;
    loop {
        if recorder.has_died() {
            return Err(Problem::failed(
                "the recorder has ended by itself, by a defect of farfield that is reported above",
            ));
        }
        let ended = match &mut program {
            Some(program) => program.ended(is_due())?,
            None => is_due().then_some(Exit::Fine),
        };
        if let Some(exit) = ended {
            if shown > 0 {
                account::end_progress();
            }
            return Ok(exit);
        }
        let begun = recorder.begun();
        if program.is_none() && begun != shown {
            shown = begun;
            account::progress(begun);
        }
        std::thread::park_timeout(LOOK);
    }
}

/// Writes the archive, and the scenario that comes of it.
fn keep(
    flags: &RecordFlags,
    recording: Recording,
    files: &RecordingFiles,
    origins: &[WebOrigin],
) -> Result<Exit, Problem> {
    account::unrecorded(&recording);
    if recording.exchanges.is_empty() {
        return Err(Problem::failed(account::nothing(&recording, origins)));
    }
    let mut archived = None;
    replace_private(&files.archive, |to| {
        archived = Some(write_archive(recording, &mut BufWriter::new(to))?);
        Ok(())
    })
    .map_err(|error| unwritable(&files.archive, &error))?;
    account::archive(&archived.unwrap_or_default(), &files.archive);
    let exit = import::import_for(&import_flags(flags, files, origins), ScenarioReaders::Owner).map_err(
        |problem| {
            Problem::failed(format!("{problem}; the recording itself is kept in {}", files.archive.display()))
        },
    )?;
    account::next(flags, &files.scenario);
    Ok(exit)
}

/// The import of a recording, as one would type it.
fn import_flags(flags: &RecordFlags, files: &RecordingFiles, origins: &[WebOrigin]) -> ImportFlags {
    let mut roots = origins.iter().map(|origin| format!("{origin}/"));
    ImportFlags {
        file: Some(files.archive.to_string_lossy().into_owned()),
        from: Some(DocumentKind::Har),
        out: Some(files.scenario.clone()),
        target: roots.next(),
        hosts: roots.collect(),
        values: Vec::new(),
        all_methods: false,
        bind: !flags.no_bind,
        command: Vec::new(),
    }
}

/// Prints a line on standard error, where all that farfield says of a recording goes.
fn say(line: &str) {
    output::put_error(format_args!("{line}\n"));
}
