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
pub fn stamp_arrivals(fd: impl AsFd) -> Result<(), Errno> {
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
/// last of them, in nanoseconds since 1970, if the kernel [noted it](stamp_arrivals).
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
