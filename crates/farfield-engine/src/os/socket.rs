//! TCP sockets of clients: non-blocking, from a chosen source address, to one target.

use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt};
use std::net::{IpAddr, SocketAddr};

/// Progress of a connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The handshake is done, as it is over loopback before the call returns.
    Connected,
    /// The handshake is under way.
    UnderWay,
}

/// Begins to connect to `target`, from `source` if given, and returns the progress so far.
pub fn begin_connect(
    target: &SocketAddr,
    source: Option<IpAddr>,
    no_delay: bool,
) -> Result<(OwnedFd, Progress), Errno> {
    let family = if target.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let fd = socket_with(family, SocketType::STREAM, flags, None)?;
    if no_delay {
        sockopt::set_tcp_nodelay(&fd, true)?;
    }
    if let Some(source) = source {
        choose_port_on_connect(&fd)?;
        bind(&fd, &SocketAddr::new(source, 0))?;
    }
    match connect(&fd, target) {
        Ok(()) => Ok((fd, Progress::Connected)),
        Err(Errno::INPROGRESS) => {
            let done = rustix::net::getpeername(&fd).is_ok();
            Ok((fd, if done { Progress::Connected } else { Progress::UnderWay }))
        }
        Err(errno) => Err(errno),
    }
}

/// Defers the choice of the port to `connect`, which knows the whole four-tuple: a source address then has
/// its full range of ports for every target (ip(7), `IP_BIND_ADDRESS_NO_PORT`).
#[expect(unsafe_code, reason = "the option has no safe wrapper in rustix")]
fn choose_port_on_connect(fd: impl AsFd) -> Result<(), Errno> {
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open for as long as it is borrowed, and the pointer and length are those of
    // a live `c_int`, which is what the option takes.
    let result = unsafe {
        libc::setsockopt(
            fd.as_fd().as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error().raw_os_error().map_or(Errno::INVAL, Errno::from_raw_os_error))
    }
}
