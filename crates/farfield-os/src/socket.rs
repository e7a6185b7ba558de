//! TCP sockets of clients: non-blocking, from a chosen source address, to one target.

use farfield_base::{Duration, UnixAddress};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::addr::SocketAddrArg;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, socket_with, sockopt,
};
use std::net::{IpAddr, SocketAddr};

/// Progress of a connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectProgress {
    /// The handshake is done, as it is over loopback before the call returns.
    Connected,
    /// The handshake is under way.
    UnderWay,
}

/// A socket for a connection to `target`, from `source` if given, whose packets' arrivals the kernel notes if
/// it can.
pub fn client_socket(target: &SocketAddr, source: Option<IpAddr>, no_delay: bool) -> Result<OwnedFd, Errno> {
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
    // Without timestamps, replies arrive when they are read.
    let _ = stamp_arrivals(&fd);
    Ok(fd)
}

/// A Unix socket for a connection.
pub fn unix_socket() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

/// The address as the system has it.
pub fn unix_address(address: &UnixAddress) -> Result<SocketAddrUnix, Errno> {
    match address {
        UnixAddress::Path(path) => SocketAddrUnix::new(path.as_path()),
        UnixAddress::Abstract(name) => SocketAddrUnix::new_abstract_name(name.as_bytes()),
    }
}

/// Begins to connect a socket to `target`, and returns the progress so far.
pub fn begin_connect(fd: &OwnedFd, target: &impl SocketAddrArg) -> Result<ConnectProgress, Errno> {
    match connect(fd, target) {
        Ok(()) => Ok(ConnectProgress::Connected),
        Err(Errno::INPROGRESS) => {
            let done = rustix::net::getpeername(fd).is_ok();
            Ok(if done { ConnectProgress::Connected } else { ConnectProgress::UnderWay })
        }
        Err(errno) => Err(errno),
    }
}

/// A socket that keeps the kernel's timestamps of arrivals switched on while it is open.
///
/// The kernel notes arrivals while any socket asks for it, and patches its own code when the first one asks
/// and the last one closes. Connections of one request each would make it do so thousands of times a second,
/// and interrupt all processors each time.
pub fn timestamps_kept_on() -> Result<OwnedFd, Errno> {
    let fd = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    stamp_arrivals(&fd)?;
    Ok(fd)
}

/// The time from the SYN to its SYN-ACK as the kernel's TCP measured it, if it is known. Of a SYN that was
/// sent again the kernel may know how long the last one took, which is not the time that the client waited.
/// To be asked before anything is sent (tcp(7), `TCP_INFO`, `tcpi_rtt`).
#[expect(unsafe_code, reason = "rustix does not read TCP_INFO")]
pub fn handshake_rtt(fd: impl AsFd) -> Option<Duration> {
    // SAFETY: all-zero is a valid `tcp_info`, which has only integers.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of_val(&info) as libc::socklen_t;
    // SAFETY: the descriptor is open while borrowed, and the kernel writes at most `length` bytes to `info`.
    let result = unsafe {
        libc::getsockopt(
            fd.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    let measured = result == 0 && info.tcpi_rtt > 0 && info.tcpi_total_retrans == 0;
    measured.then(|| Duration::from_us(u64::from(info.tcpi_rtt)))
}

/// Defers the choice of the port to `connect`, which knows the whole four-tuple: a source address then has
/// its full range of ports for every target (ip(7), `IP_BIND_ADDRESS_NO_PORT`).
#[expect(unsafe_code, reason = "the option has no safe wrapper in rustix")]
pub(super) fn choose_port_on_connect(fd: impl AsFd) -> Result<(), Errno> {
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
    if result == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Makes the kernel note when packets of the socket arrive, for [`receive_stamped`] (socket(7),
/// `SO_TIMESTAMPNS`).
///
/// # Errors
/// `ENOPROTOOPT` from a kernel without it.
#[expect(unsafe_code, reason = "the option has no safe wrapper in rustix")]
pub(super) fn stamp_arrivals(fd: impl AsFd) -> Result<(), Errno> {
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open for as long as it is borrowed, and the pointer and length are those of
    // a live `c_int`, which is what the option takes.
    let result = unsafe {
        libc::setsockopt(
            fd.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Receives into `buffer`, once. Returns the bytes received and the arrival of the packet that brought the
/// last of them, in nanoseconds since 1970, if the kernel noted it (`SO_TIMESTAMPNS`).
///
/// # Errors
/// Those of recv(2).
#[expect(unsafe_code, reason = "rustix reads no timestamps")]
pub fn receive_stamped(fd: impl AsFd, buffer: &mut [u8]) -> Result<(usize, Option<u64>), Errno> {
    /// Room for one `cmsghdr` with a `timespec`, aligned as the header is.
    #[repr(C, align(8))]
    struct Control([u8; 64]);
    let mut control = Control([0; 64]);
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: all-zero is a valid `msghdr`.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control).cast();
    message.msg_controllen = size_of::<Control>();
    // SAFETY: the descriptor is open while borrowed; the message points to live memory of the given lengths,
    // which nothing else uses until the call returns.
    let count = unsafe { libc::recvmsg(fd.as_fd().as_raw_fd(), &raw mut message, 0) };
    if count < 0 {
        return Err(last_errno());
    }
    // SAFETY: the kernel has filled the control buffer as far as `msg_controllen` says.
    let header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    if header.is_null() {
        return Ok((count as usize, None));
    }
    // SAFETY: the header lies in the control buffer and is aligned, and its data are a `timespec` if it is of
    // this type.
    let stamp = unsafe {
        ((*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_TIMESTAMPNS)
            .then(|| libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned())
    };
    let ns = |time: libc::timespec| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
    Ok((count as usize, stamp.map(ns)))
}

pub(super) fn last_errno() -> Errno {
    std::io::Error::last_os_error().raw_os_error().map_or(Errno::INVAL, Errno::from_raw_os_error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, poll};
    use std::net::{Ipv4Addr, TcpListener};

    /// Over loopback the handshake is done when the call returns, and the kernel has measured it.
    #[test]
    fn the_kernel_knows_how_long_a_handshake_took() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let target = listener.local_addr().unwrap();
        let fd = client_socket(&target, Some(Ipv4Addr::new(127, 0, 0, 2).into()), true).unwrap();
        assert_eq!(handshake_rtt(&fd), None, "there was no SYN yet");
        assert_eq!(begin_connect(&fd, &target), Ok(ConnectProgress::Connected));
        let rtt = handshake_rtt(&fd).expect("a handshake without loss");
        assert!(rtt > Duration::ZERO && rtt < Duration::from_secs(60), "{rtt:?}");
    }

    /// A client that had to send its SYN again has waited for longer than a round trip.
    #[test]
    fn a_handshake_of_two_syns_has_no_round_trip() {
        let listener =
            socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        bind(&listener, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        // Room for one: the kernel drops the SYN of the second.
        rustix::net::listen(&listener, 0).unwrap();
        let target = SocketAddr::try_from(rustix::net::getsockname(&listener).unwrap()).unwrap();
        let connecting = || {
            let fd = client_socket(&target, None, true).unwrap();
            let progress = begin_connect(&fd, &target).unwrap();
            (fd, progress)
        };
        let (_first, progress) = connecting();
        assert_eq!(progress, ConnectProgress::Connected);
        let (second, progress) = connecting();
        assert_eq!(progress, ConnectProgress::UnderWay);
        let _accepted = rustix::net::accept(&listener).unwrap();
        let mut polled = [PollFd::new(&second, PollFlags::OUT)];
        poll(&mut polled, None).unwrap();
        assert!(polled[0].revents().contains(PollFlags::OUT) && rustix::net::getpeername(&second).is_ok());
        assert_eq!(handshake_rtt(&second), None);
    }

    #[test]
    fn a_port_that_nobody_listens_on_refuses() {
        let target = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let target = target.unwrap();
        let fd = client_socket(&target, None, false).unwrap();
        // The kernel may handle the reset after the call has returned.
        let refused = match begin_connect(&fd, &target) {
            Ok(ConnectProgress::UnderWay) => {
                poll(&mut [PollFd::new(&fd, PollFlags::OUT)], None).unwrap();
                sockopt::socket_error(&fd).unwrap()
            }
            begun => begun.map(|_| ()),
        };
        assert_eq!(refused, Err(Errno::CONNREFUSED));
        assert_eq!(handshake_rtt(&fd), None);
    }
}
