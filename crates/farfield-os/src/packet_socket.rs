//! Packet sockets on one end of a veth pair (packet(7)), behind the same virtio-net header as TUN has. Where
//! there are several, the kernel spreads what arrives over them by a [`Steering`].

use crate::steering::Steering;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};
use std::io;

/// Opens a non-blocking socket on `interface`, in the calling thread's network namespace. It receives all
/// protocols, but no outgoing packets, and its own packets pass no queueing discipline.
///
/// # Errors
/// `EPERM` without `CAP_NET_RAW`, `EAFNOSUPPORT` from a kernel without packet sockets.
pub fn open(interface: u32, receive_bytes: usize) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    // With no protocol it receives nothing until it is bound, so that no packets of other interfaces get in.
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
    set(&socket, libc::PACKET_VNET_HDR, &1)?;
    set(&socket, libc::PACKET_IGNORE_OUTGOING, &1)?;
    set(&socket, libc::PACKET_QDISC_BYPASS, &1)?;
    if sockopt::set_socket_recv_buffer_size_force(&socket, receive_bytes).is_err() {
        // Inside a user namespace the machine's `net.core.rmem_max` holds, and the kernel cuts to it.
        sockopt::set_socket_recv_buffer_size(&socket, receive_bytes)?;
    }
    bind(&socket, interface, libc::ETH_P_ALL)?;
    Ok(socket)
}

/// Frames that a socket on a network card receives beside those to the card's own address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Membership {
    /// Frames to another address; a card that cannot filter by several becomes promiscuous.
    Unicast([u8; 6]),
    /// Frames to any group.
    AllMulticast,
    /// All.
    Promiscuous,
}

/// Opens a non-blocking socket on a network card, in the calling thread's network namespace. It receives the
/// frames that `filter` keeps, with a virtio-net header if `offload`, and no outgoing ones.
///
/// # Errors
/// As [`open`].
pub fn open_on_card(
    interface: u32,
    receive_bytes: usize,
    filter: &mut Vec<libc::sock_filter>,
    offload: bool,
) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
    if offload {
        set(&socket, libc::PACKET_VNET_HDR, &1)?;
    }
    set(&socket, libc::PACKET_IGNORE_OUTGOING, &1)?;
    set(&socket, libc::PACKET_QDISC_BYPASS, &1)?;
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    set_at(&socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)?;
    if sockopt::set_socket_recv_buffer_size_force(&socket, receive_bytes).is_err() {
        sockopt::set_socket_recv_buffer_size(&socket, receive_bytes)?;
    }
    bind(&socket, interface, libc::ETH_P_ALL)?;
    Ok(socket)
}

/// Lets more frames into the card of `interface`, for as long as the socket is open.
///
/// # Errors
/// Those of the device.
pub fn join(socket: impl AsFd, interface: u32, membership: Membership) -> io::Result<()> {
    let (kind, address) = match membership {
        Membership::Unicast(address) => (libc::PACKET_MR_UNICAST, address),
        Membership::AllMulticast => (libc::PACKET_MR_ALLMULTI, [0; 6]),
        Membership::Promiscuous => (libc::PACKET_MR_PROMISC, [0; 6]),
    };
    let mut request = libc::packet_mreq {
        mr_ifindex: interface as libc::c_int,
        mr_type: kind as libc::c_ushort,
        mr_alen: address.len() as libc::c_ushort,
        mr_address: [0; 8],
    };
    request.mr_address[..address.len()].copy_from_slice(&address);
    set(socket, libc::PACKET_ADD_MEMBERSHIP, &request)
}

/// Opens a non-blocking socket that receives nothing, and whose packets the loopback interface receives.
///
/// # Errors
/// As [`open`].
pub fn open_to_loopback(loopback: u32) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
    set(&socket, libc::PACKET_VNET_HDR, &1)?;
    set(&socket, libc::PACKET_QDISC_BYPASS, &1)?;
    bind(&socket, loopback, 0)?;
    Ok(socket)
}

/// Spreads arriving packets over `sockets`, numbered in their order.
///
/// # Errors
/// `EINVAL` for sockets that differ.
pub fn spread(sockets: &[OwnedFd], steering: &Steering) -> io::Result<()> {
    // Others of the namespace may have groups, too.
    let group = std::process::id() & 0xffff;
    for socket in sockets {
        set(socket, libc::PACKET_FANOUT, &(group | libc::PACKET_FANOUT_CBPF << 16))?;
    }
    let mut program = steering.classic();
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    set(&sockets[0], libc::PACKET_FANOUT_DATA, &program)
}

/// Packets that found the socket's buffer full since the last call.
///
/// # Errors
/// None known.
#[expect(unsafe_code, reason = "the option has no safe wrapper in rustix")]
pub fn dropped(socket: impl AsFd) -> io::Result<u32> {
    let mut stats = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let mut length = size_of_val(&stats) as libc::socklen_t;
    // SAFETY: the descriptor is open while borrowed; the pointers are those of a live `tpacket_stats`, which
    // the option writes, and of the length of it.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut stats).cast(),
            &raw mut length,
        )
    };
    if result == 0 { Ok(stats.tp_drops) } else { Err(io::Error::last_os_error()) }
}

/// Switches the checksum and segmentation offload of the interface `name` off: the packets that it sends are
/// complete.
///
/// # Errors
/// `EOPNOTSUPP` if the device cannot.
#[expect(unsafe_code, reason = "the ioctl has no safe wrapper")]
pub fn switch_offload_off(name: &str) -> io::Result<()> {
    const SET_TX_CHECKSUM: u32 = 0x17;
    /// `struct ethtool_value`.
    #[repr(C)]
    struct Value {
        command: u32,
        data: u32,
    }
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // The kernel cuts no segments whose checksums it must do anyway: this one switch ends both.
    let mut value = Value { command: SET_TX_CHECKSUM, data: 0 };
    // SAFETY: all-zero is a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the descriptor is open; the request and the value it points to live until the call returns.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn set<T>(socket: impl AsFd, option: libc::c_int, value: &T) -> io::Result<()> {
    set_at(socket, libc::SOL_PACKET, option, value)
}

#[expect(unsafe_code, reason = "the options have no safe wrapper in rustix")]
fn set_at<T>(socket: impl AsFd, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the descriptor is open while borrowed; the pointer and the length are those of a live value,
    // of the type that the option takes: `c_int`, `packet_mreq` or, for programs, `sock_fprog` whose filter
    // the caller holds.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Binds the socket to what `interface` receives of `protocol`; 0 for nothing.
#[expect(unsafe_code, reason = "the address has no safe form in rustix")]
fn bind(socket: impl AsFd, interface: u32, protocol: libc::c_int) -> io::Result<()> {
    // SAFETY: all-zero is a valid `sockaddr_ll`.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (protocol as u16).to_be();
    address.sll_ifindex = interface as libc::c_int;
    // SAFETY: the descriptor is open while borrowed; the pointer and the length are those of a live
    // `sockaddr_ll`.
    let result = unsafe {
        libc::bind(
            socket.as_fd().as_raw_fd(),
            (&raw const address).cast(),
            size_of_val(&address) as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
