//! Reasons why a server does not run, each with what to do.

use super::Ready;
use farfield_base::Duration;
use farfield_os::control_group::ControlGroupError;
use std::io;
use std::path::PathBuf;

/// The reason why a server does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The log cannot be written.
    #[error("the server's log {path} cannot be written ({source}): set [server] log")]
    Log {
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// The command is empty.
    #[error("the server's command is empty: set [server] command")]
    Empty,
    /// The command cannot be started.
    #[error(
        "the server's command `{command}` cannot be started ({source}): see [server] command and directory"
    )]
    Start {
        /// The command.
        command: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// The processors cannot be used.
    #[error("the server cannot be bound to processors {processors:?} ({source}): set [server] processors")]
    Processors {
        /// The requested processors.
        processors: Vec<usize>,
        /// The kernel's error.
        source: io::Error,
    },
    /// The limits cannot be enforced.
    #[error(
        "[server] {key} cannot be enforced: {source}. It needs control groups that this user may write, as root has them \
         outside most containers; without the key the server has the whole machine"
    )]
    Limits {
        /// "cpu", "memory", or both.
        key: &'static str,
        /// The cause.
        source: ControlGroupError,
    },
    /// The receive work has no thread that could be limited.
    #[error(
        "[server] cpu-of = \"all\" cannot be enforced: the kernel's receive work for the server is done {by}, in no thread of its \
         own; with cpu-of = \"processes\" the limit is that of the server's processes alone"
    )]
    NoReceiveThread {
        /// The doer of that work, in words.
        by: &'static str,
    },
    /// The server cannot run as the requested user.
    #[error(
        "the server cannot run as user `{user}` ({source}): set [server] user, and run farfield as root for it"
    )]
    User {
        /// The requested user.
        user: String,
        /// The system's error.
        source: io::Error,
    },
    /// The server ended before it was ready.
    #[error("the server `{command}` ended ({status}) before it was ready; its last words:\n{last_words}")]
    Ended {
        /// The command.
        command: String,
        /// Exit status, in words.
        status: String,
        /// The end of its log.
        last_words: String,
    },
    /// The server was not ready in time.
    #[error(
        "the server `{command}` was not ready ({ready}) after {timeout}: set [server] ready-timeout, or ready; its \
         last words:\n{last_words}"
    )]
    NotReady {
        /// The command.
        command: String,
        /// The expected sign of readiness.
        ready: Ready,
        /// The time that it had.
        timeout: Duration,
        /// The end of its log.
        last_words: String,
    },
}
