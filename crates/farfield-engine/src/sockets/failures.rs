//! Errors of the kernel as failures of connections.

use farfield_user::Failure;
use rustix::io::Errno;

/// The failure to connect to a Unix socket (connect(2), unix(7)).
pub(super) fn failure_of_unix_socket(errno: Errno) -> Failure {
    match errno {
        Errno::AGAIN => Failure::BacklogFull,
        Errno::NOENT | Errno::NOTDIR => Failure::NoSocket,
        Errno::ACCESS | Errno::PERM => Failure::NotAllowed,
        errno => failure(errno),
    }
}

/// The failure that an error of a socket of TCP or UDP is (connect(2), ip(7)).
pub(super) fn failure(errno: Errno) -> Failure {
    match errno {
        Errno::CONNREFUSED => Failure::Refused,
        Errno::TIMEDOUT => Failure::ConnectTimedOut,
        Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS => Failure::NoDescriptor,
        Errno::ADDRNOTAVAIL | Errno::ADDRINUSE | Errno::AGAIN => Failure::NoAddress,
        Errno::CONNRESET | Errno::PIPE | Errno::NOTCONN => Failure::Reset,
        _ => Failure::Unreachable,
    }
}
