//! Packets of an interface as the kernel sees them, with its timestamps, through a ring of memory that the
//! kernel fills (packet(7), `TPACKET_V3`; Documentation/networking/packet_mmap.rst).
//!
//! The kernel copies packets into a block of the ring and passes the block on when it is full or
//! [`RETIRE_AFTER_MS`] old, so that a reader wakes once a block and makes no call for a packet. Packets begin
//! with their IP header on every kind of interface (`SOCK_DGRAM`). A packet that finds no free block is
//! dropped and counted.
//!
//! Timestamps are of the kernel's wall clock (`CLOCK_REALTIME`), in nanoseconds: of a packet that is sent,
//! when it is handed to the device; of one that arrives, when the kernel takes it from the device. Packets
//! of several processors may stand in the ring slightly out of their order in time.

use crate::packet_filter;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};
use rustix::time::Timespec;
use std::io;
use std::net::SocketAddr;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Age at which the kernel passes a block on that is not full.
pub const RETIRE_AFTER_MS: u32 = 50;
/// Largest block: at most this much is read at once.
const BLOCK_LEN_MAX: usize = 512 << 10;
const PAGE: usize = 4096;
/// The kernel wants a frame size, although packets of this version of the ring have their own.
const FRAME_LEN: usize = 2048;

/// Offsets in `struct tpacket_block_desc`.
mod block {
    pub const STATUS: usize = 8;
    pub const PACKETS: usize = 12;
    pub const FIRST_PACKET: usize = 16;
}

/// Offsets in `struct tpacket3_hdr` and the `struct sockaddr_ll` behind it.
mod packet {
    pub const NEXT: usize = 0;
    pub const SECONDS: usize = 4;
    pub const NANOSECONDS: usize = 8;
    pub const KEPT_LEN: usize = 12;
    pub const LEN: usize = 16;
    pub const NETWORK_AT: usize = 26;
    pub const TYPE: usize = 48 + 10;
}

/// A packet in the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingPacket<'a> {
    /// Nanoseconds since 1970.
    pub at_unix_ns: u64,
    /// True if this machine sent the packet; on a loopback interface, if it is the sender's copy.
    pub outgoing: bool,
    /// Length of the packet on the interface, from the IP header on, in bytes.
    pub original_len: u32,
    /// The bytes that were kept, from the IP header on.
    pub bytes: &'a [u8],
}

/// Packets that passed the filter since the last call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RingCounts {
    /// Packets in all.
    pub passed: u64,
    /// Packets that found no room in the ring.
    pub dropped: u64,
}

/// A ring and the packet socket that fills it.
#[derive(Debug)]
pub struct PacketRing {
    socket: OwnedFd,
    map: NonNull<u8>,
    block_len: usize,
    blocks: usize,
    /// The block that the kernel passes on next.
    next: usize,
}

// SAFETY: the mapping belongs to this value alone, and is not bound to a thread.
#[expect(unsafe_code, reason = "a mapping is held by a pointer")]
unsafe impl Send for PacketRing {}

impl PacketRing {
    /// Opens a ring of about `ring_len` bytes on `interface`, or on all interfaces of the calling thread's
    /// network namespace, for TCP packets from and to `servers`, of each of which `snap` bytes are kept.
    /// Packets are in it from the moment this returns.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW`, `ENOMEM` if the machine has no room for the ring, `ENODEV` or
    /// `ENETDOWN` for an interface that is gone or down, `InvalidInput` for more servers than a filter takes.
    pub fn open(
        interface: Option<u32>,
        servers: &[SocketAddr],
        snap: u32,
        ring_len: usize,
    ) -> io::Result<PacketRing> {
        let program = packet_filter::program(servers, snap).ok_or(io::ErrorKind::InvalidInput)?;
        // With no protocol it receives nothing until it is bound: no packet gets past the filter.
        let socket = socket_with(AddressFamily::PACKET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        filter(&socket, program)?;
        set(
            &socket,
            libc::SOL_PACKET,
            libc::PACKET_VERSION,
            &(libc::tpacket_versions::TPACKET_V3 as libc::c_int),
        )?;
        // The kernel then stamps packets as they leave and arrive, not as they are copied.
        set::<libc::c_int>(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1)?;
        let block_len = (ring_len / 8).clamp(PAGE, BLOCK_LEN_MAX) / PAGE * PAGE;
        let blocks = (ring_len / block_len).max(2);
        let request = libc::tpacket_req3 {
            tp_block_size: block_len as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: FRAME_LEN as u32,
            tp_frame_nr: (blocks * (block_len / FRAME_LEN)) as u32,
            tp_retire_blk_tov: RETIRE_AFTER_MS,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        set(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let map = map(&socket, blocks * block_len)?;
        let ring = PacketRing { socket, map, block_len, blocks, next: 0 };
        bind(&ring.socket, interface.unwrap_or(0))?;
        Ok(ring)
    }

    /// Waits for a block, at most `timeout`. False if the interface went down or away meanwhile.
    ///
    /// # Errors
    /// `EINTR` if a signal interrupts it.
    pub fn wait(&self, timeout: Timespec) -> io::Result<bool> {
        let mut ready = [PollFd::new(&self.socket, PollFlags::IN)];
        poll(&mut ready, Some(&timeout))?;
        let failed = ready[0].revents().contains(PollFlags::ERR);
        // Reading the error also takes it from the socket.
        Ok(!failed || !matches!(sockopt::socket_error(&self.socket), Ok(Err(_)) | Err(_)))
    }

    /// The number of its blocks.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Shows each packet of the next block to `each` and gives the block back to the kernel. Returns the
    /// number of packets; `None` if no block is ready.
    pub fn take_block(&mut self, mut each: impl FnMut(RingPacket<'_>)) -> Option<u32> {
        if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        let bytes = self.block();
        let packets = word(bytes, block::PACKETS);
        let mut at = word(bytes, block::FIRST_PACKET) as usize;
        for _ in 0..packets {
            let bytes = &bytes[at..];
            each(parse(bytes));
            at += word(bytes, packet::NEXT) as usize;
        }
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.blocks;
        Some(packets)
    }

    /// The packets since the last call.
    ///
    /// # Errors
    /// None known.
    #[expect(unsafe_code, reason = "the option has no safe wrapper in rustix")]
    pub fn counts(&self) -> io::Result<RingCounts> {
        let mut stats = libc::tpacket_stats_v3 { tp_packets: 0, tp_drops: 0, tp_freeze_q_cnt: 0 };
        let mut length = size_of_val(&stats) as libc::socklen_t;
        // SAFETY: the descriptor is open; the pointers are those of a live `tpacket_stats_v3`, which the
        // option writes for this version of the ring, and of the length of it.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut stats).cast(),
                &raw mut length,
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(RingCounts { passed: stats.tp_packets.into(), dropped: stats.tp_drops.into() })
    }

    /// Lets no further packet into the ring. Those in it stay, and their block is passed on when it is due.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub fn shut(&self) -> io::Result<()> {
        filter(&self.socket, packet_filter::nothing())
    }

    /// The status of the next block, which says whose it is.
    #[expect(unsafe_code, reason = "the kernel changes the status")]
    fn status(&self) -> &AtomicU32 {
        // SAFETY: the offset lies in the mapping, which lives as long as `self`, is aligned to pages, and is
        // written by others, the kernel, only as a whole word.
        unsafe {
            AtomicU32::from_ptr(self.map.as_ptr().add(self.next * self.block_len + block::STATUS).cast())
        }
    }

    /// The next block, which the kernel has passed on.
    #[expect(unsafe_code, reason = "the kernel fills the mapping")]
    fn block(&self) -> &[u8] {
        // SAFETY: the block lies in the mapping. Its status, read with acquire order, has passed it on, and
        // the kernel changes nothing in it until the status gives it back; the status itself is written here
        // only, after the last use of this slice.
        unsafe {
            std::slice::from_raw_parts(self.map.as_ptr().add(self.next * self.block_len), self.block_len)
        }
    }
}

impl Drop for PacketRing {
    #[expect(unsafe_code, reason = "unmapping memory")]
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, of this length, and no slice of it is left. A failure
        // leaves it mapped, which harms nothing.
        let _ = unsafe { munmap(self.map.as_ptr().cast(), self.blocks * self.block_len) };
    }
}

fn parse(bytes: &[u8]) -> RingPacket<'_> {
    let network_at =
        usize::from(u16::from_ne_bytes([bytes[packet::NETWORK_AT], bytes[packet::NETWORK_AT + 1]]));
    let kept = word(bytes, packet::KEPT_LEN) as usize;
    let seconds = u64::from(word(bytes, packet::SECONDS));
    RingPacket {
        at_unix_ns: seconds * 1_000_000_000 + u64::from(word(bytes, packet::NANOSECONDS)),
        outgoing: bytes[packet::TYPE] == libc::PACKET_OUTGOING,
        original_len: word(bytes, packet::LEN),
        bytes: &bytes[network_at..network_at + kept],
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[expect(unsafe_code, reason = "mapping memory")]
fn map(socket: &OwnedFd, length: usize) -> io::Result<NonNull<u8>> {
    // SAFETY: the address is the kernel's choice, so that nothing else is there.
    let map = unsafe {
        mmap(std::ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, socket, 0)
    }?;
    NonNull::new(map.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

fn filter(socket: &OwnedFd, mut program: Vec<libc::sock_filter>) -> io::Result<()> {
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

#[expect(unsafe_code, reason = "the options have no safe wrapper in rustix")]
fn set<T>(socket: impl AsFd, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the descriptor is open while borrowed; the pointer and the length are those of a live value of
    // the type that the option takes: `c_int`, `tpacket_req3`, or `sock_fprog` whose filter the caller holds.
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

#[expect(unsafe_code, reason = "the address has no safe form in rustix")]
fn bind(socket: &OwnedFd, interface: u32) -> io::Result<()> {
    // SAFETY: all-zero is a valid `sockaddr_ll`.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    // Only a socket of all protocols sees packets that leave.
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = interface as libc::c_int;
    // SAFETY: the descriptor is open; the pointer and the length are those of a live `sockaddr_ll`.
    let result = unsafe {
        libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size_of_val(&address) as libc::socklen_t)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
