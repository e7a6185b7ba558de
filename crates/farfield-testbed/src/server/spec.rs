//! A server to start, as a caller describes it.

use crate::Limits;
use farfield_base::Duration;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// Specification of a server to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSpec {
    /// Command to run.
    pub command: Command,
    /// Sign that it is ready.
    pub ready: Ready,
    /// Time in which it must be ready.
    pub ready_timeout: Duration,
    /// Time in which it must stop after SIGTERM, before it is killed.
    pub stop_timeout: Duration,
    /// Processors of the server; empty for all that this process may use.
    pub processors: Vec<usize>,
    /// Limits of all its processes together.
    pub limits: Limits,
    /// The kernel's receive work for it is limited together with its processes.
    pub limits_receive_work: bool,
    /// The user that it runs as, by name or id; this process's user if absent. Only root can set another.
    pub user: Option<String>,
    /// The working directory; that of this process if absent.
    pub directory: Option<PathBuf>,
    /// File for its output. An old file is overwritten.
    pub log: PathBuf,
    /// Additional variables of its environment.
    pub env: BTreeMap<String, String>,
    /// Hosts that it knows by name, beside those of the machine's own `/etc/hosts`.
    pub hosts: Vec<(String, IpAddr)>,
}

impl ServerSpec {
    /// A command that is ready at once, writes to `log`, and has ten seconds to get ready and five to stop.
    pub fn new(command: Command, log: PathBuf) -> ServerSpec {
        ServerSpec {
            command,
            ready: Ready::Started,
            ready_timeout: Duration::from_secs(10),
            stop_timeout: Duration::from_secs(5),
            processors: Vec::new(),
            limits: Limits::default(),
            limits_receive_work: false,
            user: None,
            directory: None,
            log,
            env: BTreeMap::new(),
            hosts: Vec::new(),
        }
    }
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Command {
    /// A line for the shell.
    Shell(String),
    /// A program and its arguments.
    Program(Vec<String>),
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::Shell(line) => f.write_str(line),
            Command::Program(words) => f.write_str(&words.join(" ")),
        }
    }
}

/// Sign that a server is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Ready {
    /// The server is ready as soon as it runs.
    Started,
    /// An accepted connection on this port.
    Tcp(u16),
}

/// A text that names no sign of readiness.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} does not say when a server is ready: write \"tcp:80\", or \"started\"")]
pub struct ReadyError {
    /// Text that was given.
    pub text: String,
}

impl FromStr for Ready {
    type Err = ReadyError;

    fn from_str(text: &str) -> Result<Ready, ReadyError> {
        let port = || text.strip_prefix("tcp:")?.parse().ok().filter(|port| *port != 0);
        match text {
            "started" => Ok(Ready::Started),
            _ => port().map(Ready::Tcp).ok_or_else(|| ReadyError { text: text.to_owned() }),
        }
    }
}

impl TryFrom<String> for Ready {
    type Error = ReadyError;

    fn try_from(text: String) -> Result<Ready, ReadyError> {
        text.parse()
    }
}

impl From<Ready> for String {
    fn from(ready: Ready) -> String {
        ready.to_string()
    }
}

impl fmt::Display for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ready::Started => f.write_str("started"),
            Ready::Tcp(port) => write!(f, "tcp:{port}"),
        }
    }
}
