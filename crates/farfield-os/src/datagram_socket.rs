//! UDP sockets of clients: non-blocking, each connected to one target, with what QUIC needs of them: the ECN
//! codepoint of each packet in both directions, datagrams that are never fragmented, and equal datagrams
//! received and sent in one call (generic receive and segmentation offload).

use super::socket::{choose_port_on_connect, stamp_arrivals};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::sockopt::{self, Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};
use std::net::{IpAddr, SocketAddr};

/// Bytes that the kernel is asked to hold of received datagrams, within the limit of net.core.rmem_max: a
/// socket that overflows would look like a path that loses packets.
const RECEIVE_BUFFER: usize = 4 << 20;

/// Bytes that the kernel may return of one read: datagrams up to the greatest length of one.
pub const READ_BYTES: usize = 65_535;

/// Result of one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramRead {
    /// Bytes of all datagrams.
    pub count: usize,
    /// Bytes of each, but for the last.
    pub segment_bytes: usize,
    /// The codepoint in the ECN field of their headers.
    pub ecn: u8,
    /// The arrival of the last of them, in nanoseconds since 1970, if the kernel noted it.
    pub stamp_unix_ns: Option<u64>,
}

/// Opens a socket to `target`, from `source` if given. Nothing is sent.
///
/// # Errors
/// Those of socket(2), bind(2) and connect(2).
pub fn open(target: &SocketAddr, source: Option<IpAddr>) -> Result<OwnedFd, Errno> {
    let family = if target.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let fd = socket_with(family, SocketType::DGRAM, flags, None)?;
    // More than the limit is cut to it.
    sockopt::set_socket_recv_buffer_size(&fd, RECEIVE_BUFFER)?;
    // QUIC finds the path's MTU itself: its probes must be lost, and not be cut (RFC 9000 section 14).
    if target.is_ipv4() {
        sockopt::set_ip_recvtos(&fd, true)?;
        sockopt::set_ip_mtu_discover(&fd, Ipv4PathMtuDiscovery::PROBE)?;
    } else {
        sockopt::set_ipv6_recvtclass(&fd, true)?;
        sockopt::set_ipv6_mtu_discover(&fd, Ipv6PathMtuDiscovery::PROBE)?;
    }
    // Without timestamps, datagrams arrive when they are read.
    let _ = stamp_arrivals(&fd);
    // Without offload, datagrams come one by one.
    let _ = offload_receiving(&fd);
    if let Some(source) = source {
        choose_port_on_connect(&fd)?;
        bind(&fd, &SocketAddr::new(source, 0))?;
    }
    connect(&fd, target)?;
    Ok(fd)
}

/// Sets the codepoint that packets of the socket carry from now on.
///
/// # Errors
/// Those of setsockopt(2).
pub fn set_ecn(fd: impl AsFd, target: &SocketAddr, ecn: u8) -> Result<(), Errno> {
    match target.is_ipv4() {
        true => sockopt::set_ip_tos(fd, ecn),
        false => sockopt::set_ipv6_tclass(fd, ecn.into()),
    }
}

/// Receives into `buffer`, once.
///
/// # Errors
/// Those of recv(2). What ICMP reported of the socket is among them.
#[expect(unsafe_code, reason = "rustix reads no segment sizes and no ECN codepoints")]
pub fn receive(fd: impl AsFd, buffer: &mut [u8]) -> Result<DatagramRead, Errno> {
    /// Room for a timestamp, a codepoint and a segment size, each behind a `cmsghdr`, aligned as that is.
    #[repr(C, align(8))]
    struct Control([u8; 128]);
    let mut control = Control([0; 128]);
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
    let Ok(count) = usize::try_from(count) else { return Err(super::socket::last_errno()) };
    let mut received = DatagramRead { count, segment_bytes: count, ecn: 0, stamp_unix_ns: None };
    // SAFETY: the kernel has filled the control buffer as far as `msg_controllen` says.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    while !header.is_null() {
        // SAFETY: the header lies in the control buffer and is aligned, and its data are of the type that
        // its level and type say: the kernel writes a `timespec`, a `c_int` as the segment size and as the
        // class of IPv6, and one byte as the type of service of IPv4.
        unsafe {
            let data = libc::CMSG_DATA(header);
            match ((*header).cmsg_level, (*header).cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    let time = data.cast::<libc::timespec>().read_unaligned();
                    received.stamp_unix_ns = Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
                }
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    let bytes = data.cast::<libc::c_int>().read_unaligned();
                    received.segment_bytes = usize::try_from(bytes).unwrap_or(count).max(1);
                }
                (libc::IPPROTO_IP, libc::IP_TOS) => received.ecn = data.read() & 0b11,
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    received.ecn = (data.cast::<libc::c_int>().read_unaligned() & 0b11) as u8;
                }
                _ => {}
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
    }
    Ok(received)
}

/// Sends datagrams of `segment_bytes` each, of which the last may have less, in one call (udp(7),
/// `UDP_SEGMENT`).
///
/// # Errors
/// Those of send(2). `EINVAL` and `EIO` say that the kernel, or the device, cuts none.
#[expect(unsafe_code, reason = "rustix sends no segment sizes")]
pub fn send_row(fd: impl AsFd, bytes: &[u8], segment_bytes: u16) -> Result<(), Errno> {
    /// Room for a segment size behind its `cmsghdr`, aligned as that is.
    #[repr(C, align(8))]
    struct Control([u8; 24]);
    let mut control = Control([0; 24]);
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: all-zero is a valid `msghdr`.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control).cast();
    // SAFETY: the macros compute lengths alone; the first header lies in the control buffer, which has room
    // for it and for the two bytes behind it, and is aligned as it.
    unsafe {
        message.msg_controllen = libc::CMSG_SPACE(size_of::<u16>() as libc::c_uint) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_UDP;
        (*header).cmsg_type = libc::UDP_SEGMENT;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<u16>() as libc::c_uint) as _;
        libc::CMSG_DATA(header).cast::<u16>().write_unaligned(segment_bytes);
    }
    // SAFETY: the descriptor is open while borrowed; the message points to live memory of the given lengths,
    // of which the kernel reads only.
    let sent = unsafe { libc::sendmsg(fd.as_fd().as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
    if sent < 0 { Err(super::socket::last_errno()) } else { Ok(()) }
}

/// Datagrams that came for the socket and found no room in its receive buffer; nothing if the kernel does
/// not say (socket(7), `SO_MEMINFO`).
#[expect(unsafe_code, reason = "the option has no safe wrapper in rustix")]
pub fn dropped(fd: impl AsFd) -> Option<u32> {
    /// The place of the count among the numbers (`SK_MEMINFO_DROPS` of linux/sock_diag.h).
    const DROPS: usize = 8;
    let mut numbers = [0_u32; DROPS + 1];
    let mut bytes = size_of_val(&numbers) as libc::socklen_t;
    // SAFETY: the descriptor is open while borrowed, and the pointers are those of live memory of the given
    // length, which is all that the kernel writes to.
    let result = unsafe {
        libc::getsockopt(
            fd.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            numbers.as_mut_ptr().cast(),
            &raw mut bytes,
        )
    };
    (result == 0 && bytes as usize == size_of_val(&numbers)).then_some(numbers[DROPS])
}

/// Makes the kernel return equal datagrams that came together in one read (udp(7), `UDP_GRO`).
#[expect(unsafe_code, reason = "the option has no safe wrapper in rustix")]
fn offload_receiving(fd: impl AsFd) -> Result<(), Errno> {
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open for as long as it is borrowed, and the pointer and length are those of
    // a live `c_int`, which is what the option takes.
    let result = unsafe {
        libc::setsockopt(
            fd.as_fd().as_raw_fd(),
            libc::SOL_UDP,
            libc::UDP_GRO,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(super::socket::last_errno()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    /// Waits until there is something to be read, or an error.
    fn wait(fd: &impl AsFd) {
        let mut fds = [rustix::event::PollFd::new(fd, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut fds, None).expect("a poll");
    }

    #[test]
    fn datagrams_come_with_their_codepoint_and_length() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(server) = UdpSocket::bind(address) else { continue };
            let target = server.local_addr().expect("an address");
            let client = open(&target, None).expect("a socket");
            set_ecn(&client, &target, 2).expect("the option");
            rustix::net::send(&client, b"hello", rustix::net::SendFlags::empty()).expect("sent");
            let mut buffer = [0; READ_BYTES];
            let (_, from) = server.recv_from(&mut buffer).expect("received");
            set_ecn(&server, &target, 1).expect("the option");
            server.send_to(b"hello back", from).expect("sent");
            wait(&client);
            let received = receive(&client, &mut buffer).expect("received");
            assert_eq!((received.count, received.segment_bytes, received.ecn), (10, 10, 1), "{address}");
            assert_eq!(receive(&client, &mut buffer), Err(Errno::AGAIN));
        }
    }

    /// A row leaves as datagrams, of which the last is shorter.
    #[test]
    fn rows_are_cut_by_the_kernel() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(server) = UdpSocket::bind(address) else { continue };
            let client = open(&server.local_addr().expect("an address"), None).expect("a socket");
            let row: Vec<u8> = (0..2_900).map(|byte: u32| byte as u8).collect();
            send_row(&client, &row, 1_200).expect("sent");
            let mut buffer = [0; READ_BYTES];
            for part in row.chunks(1_200) {
                let count = server.recv(&mut buffer).expect("received");
                assert_eq!(&buffer[..count], part);
            }
        }
    }

    /// Datagrams that do not fit into the receive buffer are counted: all that were sent, but for those that
    /// are read.
    #[test]
    fn what_finds_no_room_is_counted() {
        let server = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let target = server.local_addr().expect("an address");
        let client = open(&target, None).expect("a socket");
        sockopt::set_socket_recv_buffer_size(&client, 4096).expect("the option");
        assert_eq!(dropped(&client), Some(0));
        rustix::net::send(&client, b"hello", rustix::net::SendFlags::empty()).expect("sent");
        let (_, from) = server.recv_from(&mut [0; 100]).expect("received");
        const SENT: u32 = 50;
        for _ in 0..SENT {
            server.send_to(&[0; 1_000], from).expect("sent");
        }
        let (mut buffer, mut read) = ([0; READ_BYTES], 0);
        while let Ok(received) = receive(&client, &mut buffer) {
            read += received.count.div_ceil(received.segment_bytes) as u32;
        }
        assert!(read < SENT, "{read}");
        assert_eq!(dropped(&client), Some(SENT - read));
    }

    #[test]
    fn a_port_without_a_server_is_an_error() {
        let server = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let target = server.local_addr().expect("an address");
        drop(server);
        let client = open(&target, None).expect("a socket");
        rustix::net::send(&client, b"hello", rustix::net::SendFlags::empty()).expect("sent");
        wait(&client);
        assert_eq!(receive(&client, &mut [0; 100]), Err(Errno::CONNREFUSED));
    }
}
