//! The program that is recorded: its environment leads it to the proxy and has it trust the recording's CA.
//!
//! It runs under an init, which ends with all that it started. Beside the CA it trusts the system's roots:
//! servers that are not recorded show it their own certificates.

use crate::exit::Exit;
use crate::flags::record::RecordFlags;
use crate::problem::Problem;
use base64::prelude::{BASE64_STANDARD, Engine};
use farfield_engine::tls as machine;
use farfield_files::TempDir;
use farfield_http::tls::Trust;
use farfield_os::clock::monotonic_ns;
use farfield_os::init::{ChildSetup, put_under_init};
use farfield_recorder::Recorder;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

/// Time that it may take to end after SIGTERM.
const PATIENCE_NS: u64 = 5_000_000_000;
/// Characters of a line of PEM (RFC 7468 section 2).
const PEM_LINE: usize = 64;

/// Variables of a proxy, as curl, Python, Node, Go and others read them.
const PROXY: [&str; 4] = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"];
/// Variables of hosts that are asked without one.
const NO_PROXY: [&str; 2] = ["no_proxy", "NO_PROXY"];
/// Variables of a file of all certificates that are trusted: OpenSSL's and what stands on it, curl's,
/// Python's requests'.
const BUNDLE: [&str; 3] = ["SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"];
/// Node's variable of certificates that are trusted beside its own.
const FURTHER_CA: &str = "NODE_EXTRA_CA_CERTS";

/// A program that is recorded.
pub(super) struct RecordedProgram {
    child: Child,
    /// When it was asked to end, and whether it was killed.
    ending: Option<(u64, bool)>,
    /// Holds the file of certificates while it runs.
    _folder: Option<TempDir>,
}

impl RecordedProgram {
    /// Starts the program of the command line.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) fn start(
        words: &[OsString],
        flags: &RecordFlags,
        recorder: &Recorder,
        certificate: &Path,
    ) -> Result<RecordedProgram, Problem> {
        let refused = |error: io::Error| {
            let hint = match error.kind() {
                io::ErrorKind::NotFound => "; install it, or give its path",
                io::ErrorKind::PermissionDenied => "; is it a program?",
                _ => "",
            };
            Problem::failed(format!("cannot start {}: {error}{hint}", words[0].to_string_lossy()))
        };
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        let own = format!("http://{}", recorder.address());
        let mut folder = None;
        if flags.reverse {
            command.env("FARFIELD_URL", format!("{own}/"));
        } else {
            command.env("FARFIELD_URL", &flags.url).env("NODE_USE_ENV_PROXY", "1");
            command.envs(PROXY.map(|name| (name, own.as_str())));
            NO_PROXY.iter().for_each(|name| _ = command.env_remove(name));
            if let Some(pem) = recorder.certificate_pem() {
                let (kept, bundle) = bundle(pem).map_err(|error| {
                    Problem::failed(format!("no file of certificates can be made: {error}"))
                })?;
                command.envs(BUNDLE.map(|name| (name, &bundle)));
                let certificate = std::path::absolute(certificate);
                command.env(FURTHER_CA, certificate.map_err(|error| Problem::failed(error.to_string()))?);
                folder = Some(kept);
            }
        }
        put_under_init(&mut command, false, ChildSetup::default()).map_err(refused)?;
        let child = command.spawn().map_err(refused)?;
        Ok(RecordedProgram { child, ending: None, _folder: folder })
    }

    /// The end of the program, if it has ended; it is asked to once that is due.
    ///
    /// # Errors
    /// If it cannot be waited for.
    pub(super) fn ended(&mut self, is_due: bool) -> Result<Option<Exit>, Problem> {
        let status =
            self.child.try_wait().map_err(|error| Problem::failed(format!("cannot wait: {error}")))?;
        if let Some(status) = status {
            return Ok(Some(match self.ending {
                // It was to end, however it did.
                Some(_) => Exit::Fine,
                None => Exit::OfProgram(code_of(status)),
            }));
        }
        let now = monotonic_ns();
        match self.ending {
            None if is_due => {
                self.send(Signal::TERM);
                self.ending = Some((now, false));
            }
            Some((since, false)) if now - since > PATIENCE_NS => {
                // The init kills all of its group.
                self.send(Signal::HUP);
                self.ending = Some((since, true));
            }
            _ => {}
        }
        Ok(None)
    }

    fn send(&self, signal: Signal) {
        // Not waited for yet, so that the number is still its own.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }
}

impl Drop for RecordedProgram {
    /// Leaves nothing behind, even if the recording ends by an error.
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.send(Signal::HUP);
            let _ = self.child.wait();
        }
    }
}

/// A program that a signal ended has 128 and the signal's number, as in a shell.
fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + status.signal()?));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

/// A file of the recording's CA and the system's roots, in a folder of its own.
fn bundle(own: &str) -> io::Result<(TempDir, PathBuf)> {
    let folder = farfield_files::temporary_folder("farfield-")?;
    let path = folder.path().join("ca.pem");
    let mut file = io::BufWriter::new(farfield_files::create_private(&path)?);
    file.write_all(own.as_bytes())?;
    if let Ok(Trust::Roots(roots)) = machine::system_roots() {
        for root in roots {
            file.write_all(pem(&root).as_bytes())?;
        }
    }
    file.flush()?;
    Ok((folder, path))
}

/// A certificate in PEM.
fn pem(der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let mut pem = "-----BEGIN CERTIFICATE-----\n".to_owned();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(PEM_LINE));
        pem.extend([line, "\n"]);
        rest = more;
    }
    pem + "-----END CERTIFICATE-----\n"
}
