//! TUN: an interface whose wire is a file descriptor (the kernel's documentation, networking/tuntap). Each
//! read and each write is one packet, behind a virtio-net header of ten bytes.

use crate::steering::Steering;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use std::io;

/// Bytes of the header before each packet.
pub const VNET_LEN: usize = 10;

/// The descriptors of one TUN interface, one for each queue, in the order of the queues' numbers.
#[derive(Debug)]
pub struct Tun {
    /// The interface's name.
    pub name: String,
    /// Non-blocking.
    pub queues: Vec<OwnedFd>,
    /// Rows of UDP datagrams pass as one packet.
    pub rows: bool,
}

/// Options of an interface.
#[derive(Debug, Clone, Copy)]
pub struct TunOptions<'a> {
    /// Name of the interface; `%d` stands for the first free number.
    pub name: &'a str,
    /// Number of queues, at least 1.
    pub queues: usize,
    /// Packets may lack checksums, and TCP segments and rows of UDP datagrams may be larger than the MTU.
    pub offload: bool,
    /// Bytes of packets that may wait for the kernel's receive threads, of all queues; further packets are
    /// refused.
    pub waiting_bytes: usize,
    /// True if receive work can move to a thread (`IFF_NAPI`, Linux 4.15; older kernels ignore it).
    pub threads: bool,
}

impl Tun {
    /// Makes an interface in the calling thread's network namespace. It is removed when the last descriptor
    /// is closed.
    ///
    /// # Errors
    /// `NotFound` or `PermissionDenied` where `/dev/net/tun` is closed, `EPERM` without `CAP_NET_ADMIN`,
    /// `EINVAL` or `E2BIG` for too many queues.
    #[expect(clippy::disallowed_methods, reason = "a device of the kernel's, by its own name")]
    pub fn open(options: TunOptions<'_>) -> io::Result<Tun> {
        let mut tun =
            Tun { name: options.name.to_owned(), queues: Vec::with_capacity(options.queues), rows: true };
        for _ in 0..options.queues {
            let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let queue = rustix::fs::open("/dev/net/tun", flags, Mode::empty())?;
            tun.name = attach(&queue, &tun.name, options)?;
            set_header_len(&queue)?;
            tun.rows &= set_offload(&queue, options.offload)?;
            set_waiting(&queue, options.waiting_bytes)?;
            tun.queues.push(queue);
        }
        Ok(tun)
    }

    /// Makes the kernel choose queues by `steering` instead of by its own hash.
    ///
    /// # Errors
    /// As [`Steering::load`].
    #[expect(unsafe_code, reason = "the ioctl has no safe wrapper")]
    pub fn steer(&self, steering: &Steering) -> io::Result<()> {
        let program = steering.load()?;
        let descriptor: libc::c_int = program.as_raw_fd();
        // SAFETY: the ioctl reads a `c_int`, which lives, and takes a reference of its own to the program.
        let result = unsafe {
            libc::ioctl(self.queues[0].as_raw_fd(), libc::TUNSETSTEERINGEBPF, &raw const descriptor)
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Makes the interface, or adds a queue to it, and returns its name.
#[expect(unsafe_code, reason = "the ioctl has no safe wrapper")]
fn attach(queue: impl AsFd, name: &str, options: TunOptions<'_>) -> io::Result<String> {
    // SAFETY: all-zero is a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    let flags = if options.queues > 1 { flags | libc::IFF_MULTI_QUEUE } else { flags };
    let flags = if options.threads { flags | libc::IFF_NAPI } else { flags };
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    // SAFETY: the descriptor is open while borrowed; the ioctl reads and writes an `ifreq`, which lives.
    let result = unsafe { libc::ioctl(queue.as_fd().as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(request.ifr_name.iter().take_while(|byte| **byte != 0).map(|byte| *byte as u8 as char).collect())
}

#[expect(unsafe_code, reason = "the ioctl has no safe wrapper")]
fn set_header_len(queue: impl AsFd) -> io::Result<()> {
    let length = VNET_LEN as libc::c_int;
    // SAFETY: the descriptor is open while borrowed; the ioctl reads a `c_int`, which lives.
    let result = unsafe { libc::ioctl(queue.as_fd().as_raw_fd(), libc::TUNSETVNETHDRSZ, &raw const length) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[expect(unsafe_code, reason = "the ioctl has no safe wrapper")]
fn set_waiting(queue: impl AsFd, bytes: usize) -> io::Result<()> {
    let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    // SAFETY: the descriptor is open while borrowed; the ioctl reads a `c_int`, which lives.
    let result = unsafe { libc::ioctl(queue.as_fd().as_raw_fd(), libc::TUNSETSNDBUF, &raw const bytes) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Switches offload on or off, and returns whether that goes for rows of UDP datagrams. These (Linux 6.2)
/// need both of their flags; a kernel that does not know them cuts rows itself, before the interface.
fn set_offload(queue: impl AsFd + Copy, on: bool) -> io::Result<bool> {
    if !on {
        return set_features(queue, 0).map(|()| false);
    }
    let segments = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
    match set_features(queue, segments | libc::TUN_F_USO4 | libc::TUN_F_USO6) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            set_features(queue, segments).map(|()| false)
        }
        result => result.map(|()| true),
    }
}

#[expect(unsafe_code, reason = "the ioctl has no safe wrapper")]
fn set_features(queue: impl AsFd, features: libc::c_uint) -> io::Result<()> {
    // SAFETY: the descriptor is open while borrowed; the ioctl takes its argument by value.
    let result =
        unsafe { libc::ioctl(queue.as_fd().as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(features)) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
