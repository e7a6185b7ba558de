//! A queue of the gateway: packets from the server's kernel, and packets to it, one a call.
//!
//! A packet is an IP packet behind a virtio-net header of ten bytes (`farfield_wire::VnetHeader`), whatever the
//! gateway is made of: with packet sockets the Ethernet header is put in and taken out here, and the header's
//! offsets are moved past it. Reading and writing allocate nothing and never wait.

use crate::os::tun::VNET_LEN;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{Errno, readv, writev};
use std::io::{self, IoSlice, IoSliceMut};
use std::sync::Arc;

const ETHERNET_LEN: usize = 14;
const PARTS_MAX: usize = 8;
const ETHERTYPE_V4: [u8; 2] = [0x08, 0x00];
const ETHERTYPE_V6: [u8; 2] = [0x86, 0xdd];

/// One queue. Whoever holds it keeps the interface alive.
#[derive(Debug)]
pub struct Queue {
    descriptor: Arc<OwnedFd>,
    framing: Framing,
}

/// What lies between the virtio-net header and the packet.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Framing {
    /// Nothing.
    None,
    /// An Ethernet header, with these addresses in what is written.
    Ethernet { server: [u8; 6], gateway: [u8; 6] },
}

impl Queue {
    /// Bytes of a buffer in which every packet fits that the kernel can hand over.
    pub const READ_LEN: usize = VNET_LEN + 40 + 65_536;
    /// Bytes of the header before a packet.
    pub const HEADER_LEN: usize = VNET_LEN;
    /// The most parts that [`write`](Self::write) takes.
    pub const PARTS_MAX: usize = PARTS_MAX;

    pub(crate) fn new(descriptor: Arc<OwnedFd>, framing: Framing) -> Queue {
        Queue { descriptor, framing }
    }

    /// Reads the next packet, with its header, into `buffer`; tells its length, or `None` if there is none now. A
    /// buffer shorter than [`READ_LEN`](Self::READ_LEN) may get only the front of a packet.
    ///
    /// # Errors
    /// When the interface is gone.
    ///
    /// # Panics
    /// If the buffer cannot hold the header.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        assert!(buffer.len() >= VNET_LEN, "the header does not fit into {} bytes", buffer.len());
        match self.framing {
            Framing::None => Ok(taken(rustix::io::read(&*self.descriptor, buffer))?),
            Framing::Ethernet { .. } => loop {
                let (header, packet) = buffer.split_at_mut(VNET_LEN);
                let mut ethernet = [0; ETHERNET_LEN];
                let mut parts =
                    [IoSliceMut::new(header), IoSliceMut::new(&mut ethernet), IoSliceMut::new(packet)];
                let Some(length) = taken(readv(&*self.descriptor, &mut parts))? else { return Ok(None) };
                let ip = ethernet.ends_with(&ETHERTYPE_V4) || ethernet.ends_with(&ETHERTYPE_V6);
                if ip && length > VNET_LEN + ETHERNET_LEN {
                    shift(header, |offset| offset.saturating_sub(ETHERNET_LEN as u16));
                    return Ok(Some(length - ETHERNET_LEN));
                }
            },
        }
    }

    /// Hands one packet to the server's kernel, which does its receive work before this returns. `parts` together
    /// are the header and the packet; the first holds at least the header. Tells whether the kernel took it: not, if
    /// its queue is full.
    ///
    /// # Errors
    /// When the packet or its header is malformed, or the interface is gone.
    ///
    /// # Panics
    /// With more than [`PARTS_MAX`](Self::PARTS_MAX) parts, or a first one that cannot hold the header.
    pub fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<bool> {
        let Framing::Ethernet { server, gateway } = self.framing else {
            return Ok(taken(writev(&*self.descriptor, parts))?.is_some());
        };
        assert!(parts.len() <= PARTS_MAX, "a packet of {} parts", parts.len());
        let (header, rest) = parts[0].split_at(VNET_LEN);
        let mut header: [u8; VNET_LEN] = header.try_into().expect("the split is at its length");
        shift(&mut header, |offset| offset + ETHERNET_LEN as u16);
        let version = rest.first().or_else(|| parts.get(1)?.first()).map_or(0, |first| first >> 4);
        let mut ethernet = [0; ETHERNET_LEN];
        ethernet[..6].copy_from_slice(&server);
        ethernet[6..12].copy_from_slice(&gateway);
        ethernet[12..].copy_from_slice(if version == 6 { &ETHERTYPE_V6 } else { &ETHERTYPE_V4 });
        let mut framed = [IoSlice::new(&[]); PARTS_MAX + 2];
        framed[0] = IoSlice::new(&header);
        framed[1] = IoSlice::new(&ethernet);
        framed[2] = IoSlice::new(rest);
        framed[3..parts.len() + 2].copy_from_slice(&parts[1..]);
        Ok(taken(writev(&*self.descriptor, &framed[..parts.len() + 2]))?.is_some())
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// `None` for what the kernel would have to wait for.
fn taken(result: rustix::io::Result<usize>) -> Result<Option<usize>, Errno> {
    match result {
        Ok(count) => Ok(Some(count)),
        Err(Errno::AGAIN | Errno::NOBUFS | Errno::INTR) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Moves the offsets of a virtio-net header that count from the packet's front: the length of all headers, if it is
/// given, and where the checksum begins, if one is to be done.
fn shift(header: &mut [u8], moved: impl Fn(u16) -> u16) {
    const NEEDS_CHECKSUM: u8 = 1;
    let checksum_to_do = header[0] & NEEDS_CHECKSUM != 0;
    let mut at = |at: usize| {
        let value = u16::from_ne_bytes([header[at], header[at + 1]]);
        if value != 0 || at == 6 {
            header[at..at + 2].copy_from_slice(&moved(value).to_ne_bytes());
        }
    };
    at(2);
    if checksum_to_do {
        at(6);
    }
}
