//! A queue of the gateway: packets from the server's kernel, and packets to it, one a call.
//!
//! A packet is an IP packet behind a virtio-net header of ten bytes (`farfield_wire::VnetHeader`), on either
//! device: with packet sockets the Ethernet header is inserted and removed here, and the header's offsets
//! are adjusted. Reading and writing allocate nothing and never block.

use super::card::link::CardPort;
use super::{AddressMap, Door};
use farfield_os::tun::VNET_LEN;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{Errno, readv, writev};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::IpAddr;
use std::sync::Arc;

const ETHERNET_LEN: usize = 14;
const PARTS_MAX: usize = 32;
/// Frames of other protocols that are passed over at once: whoever sends them without a pause holds no shard
/// up.
const OTHERS_MOST: usize = 64;
const ETHERTYPE_V4: [u8; 2] = [0x08, 0x00];
const ETHERTYPE_V6: [u8; 2] = [0x86, 0xdd];

/// A queue of the gateway, which keeps the interface alive.
#[derive(Debug)]
pub struct Queue {
    descriptor: Arc<OwnedFd>,
    framing: QueueFraming,
    /// Rows of UDP datagrams pass as one packet.
    rows: bool,
    /// Interface that IPv6 packets to the server are written to instead.
    loopback: Option<Arc<OwnedFd>>,
    /// The link of a network card, where the queue is on one.
    card: Option<CardPort>,
    /// Door at which written packets can be seen to arrive, if they can.
    door: Option<Arc<Door>>,
    /// Other addresses of the server.
    maps: Vec<AddressMap>,
    /// A packet being rewritten.
    rewritten: Vec<u8>,
}

/// The flag of a virtio-net header whose packet has a checksum left to be done.
const NEEDS_CHECKSUM: u8 = 1;

/// The addresses of the loopback interface.
const LOOPBACK: [[u8; 6]; 2] = [[0; 6]; 2];

/// Framing between the virtio-net header and the packet.
#[derive(Debug, Clone, Copy)]
pub enum QueueFraming {
    /// Nothing.
    None,
    /// An Ethernet header, with these addresses in what is written.
    Ethernet {
        /// Destination address of frames.
        server: [u8; 6],
        /// Source address of frames.
        gateway: [u8; 6],
    },
}

impl Queue {
    /// Size of a buffer that holds any packet from the kernel.
    pub const READ_LEN: usize = VNET_LEN + 40 + 65_536;
    /// Bytes of the header before a packet.
    pub const HEADER_LEN: usize = VNET_LEN;
    /// The most parts that [`write`](Self::write) takes.
    pub const PARTS_MAX: usize = PARTS_MAX;

    /// The queue that is read and written through `descriptor`.
    pub fn new(descriptor: Arc<OwnedFd>, framing: QueueFraming) -> Queue {
        Queue {
            descriptor,
            framing,
            rows: false,
            loopback: None,
            card: None,
            door: None,
            maps: Vec::new(),
            rewritten: Vec::new(),
        }
    }

    /// Sets whether the kernel takes rows of UDP datagrams as one packet.
    pub fn with_rows(self, rows: bool) -> Queue {
        Queue { rows, ..self }
    }

    /// True if the kernel takes rows of UDP datagrams as one packet.
    pub fn takes_rows(&self) -> bool {
        self.rows
    }

    /// Sets the packet socket that IPv6 packets to a server at ::1 are written to.
    pub fn with_loopback(self, loopback: Option<Arc<OwnedFd>>) -> Queue {
        Queue { loopback, ..self }
    }

    /// Sets the link of the network card that the queue is on.
    pub(crate) fn on_card(self, card: Option<CardPort>) -> Queue {
        Queue { card, ..self }
    }

    /// Sets the door at the server's address.
    pub fn with_door(self, door: Option<Arc<Door>>) -> Queue {
        Queue { door, ..self }
    }

    /// The door at the server's address, if there is one.
    pub fn door(&self) -> Option<Arc<Door>> {
        self.door.clone()
    }

    /// Sets the addresses under which others know the server.
    pub fn with_maps(self, maps: &[AddressMap]) -> Queue {
        Queue { maps: maps.to_vec(), ..self }
    }

    /// True if packets come and go by a network card, to and from other machines.
    pub fn is_on_card(&self) -> bool {
        self.card.is_some()
    }

    /// Reads the next packet, with its header, into `buffer`, and returns its length; `None` if there is
    /// none now. A buffer shorter than [`READ_LEN`](Self::READ_LEN) may get only the front of a packet.
    ///
    /// # Errors
    /// If the interface is gone.
    ///
    /// # Panics
    /// If the buffer cannot hold the header.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        assert!(buffer.len() >= VNET_LEN, "the header does not fit into {} bytes", buffer.len());
        let length = self.read_as_it_is(buffer)?;
        if let Some(packet) =
            length.and_then(|length| buffer.get_mut(..length)).filter(|_| !self.maps.is_empty())
        {
            let (header, packet) = packet.split_at_mut(VNET_LEN);
            let partial = header[0] & NEEDS_CHECKSUM != 0;
            self.maps.iter().for_each(|map| map.from_server(packet, partial));
        }
        Ok(length)
    }

    fn read_as_it_is(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(card) = &self.card else { return self.read_framed(buffer) };
        if let Some(fault) = card.fault() {
            return Err(io::Error::other(fault.clone()));
        }
        loop {
            match self.read_framed(buffer) {
                // A large packet of a kind that the header has no word for, which the kernel has dropped.
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
                read => return read.map_err(|error| card.in_words(error)),
            }
        }
    }

    fn read_framed(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.framing {
            QueueFraming::None => Ok(taken(rustix::io::read(&*self.descriptor, buffer))?),
            QueueFraming::Ethernet { .. } => {
                for _ in 0..OTHERS_MOST {
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
                }
                // As a packet without a byte, which nobody takes for one.
                Ok(Some(VNET_LEN))
            }
        }
    }

    /// Writes one packet to the server's kernel, which does its receive work before this returns. `parts`
    /// together are the header and the packet; the first holds at least the header. Returns whether the
    /// kernel accepted it: false if its queue is full.
    ///
    /// # Errors
    /// If the packet or its header is malformed, or the interface is gone.
    ///
    /// # Panics
    /// With more than [`PARTS_MAX`](Self::PARTS_MAX) parts, or a first one that cannot hold the header.
    pub fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<bool> {
        if self.maps.is_empty() {
            return self.write_as_it_is(parts);
        }
        let mut whole = std::mem::take(&mut self.rewritten);
        whole.clear();
        parts.iter().for_each(|part| whole.extend_from_slice(part));
        let partial = whole[0] & NEEDS_CHECKSUM != 0;
        self.maps.iter().for_each(|map| map.to_server(&mut whole[VNET_LEN..], partial));
        let written = self.write_as_it_is(&[IoSlice::new(&whole)]);
        self.rewritten = whole;
        written
    }

    fn write_as_it_is(&mut self, parts: &[IoSlice<'_>]) -> io::Result<bool> {
        if let Some(loopback) = self.loopback.as_deref().filter(|_| version(parts) == 6) {
            return write_framed(loopback, LOOPBACK, parts);
        }
        if let Some(card) = &mut self.card {
            // Packets for nobody that was named, or for nobody that is known, are lost as on any link.
            let Some(ends) = destination(parts).and_then(|address| card.towards(address)) else {
                return Ok(true);
            };
            return write_framed(&self.descriptor, ends, parts).map_err(|error| card.in_words(error));
        }
        match self.framing {
            QueueFraming::None => Ok(taken(writev(&*self.descriptor, parts))?.is_some()),
            QueueFraming::Ethernet { server, gateway } => {
                write_framed(&self.descriptor, [server, gateway], parts)
            }
        }
    }
}

/// The IP version of the packet behind the header.
fn version(parts: &[IoSlice<'_>]) -> u8 {
    parts[0].get(VNET_LEN).or_else(|| parts.get(1)?.first()).map_or(0, |first| first >> 4)
}

/// The destination of the packet behind the header.
fn destination(parts: &[IoSlice<'_>]) -> Option<IpAddr> {
    let mut header = [0; 40];
    let mut len = 0;
    let behind = parts[0].get(VNET_LEN..).unwrap_or_default();
    for part in std::iter::once(behind).chain(parts[1..].iter().map(|part| &part[..])) {
        let taken = part.len().min(header.len() - len);
        header[len..len + taken].copy_from_slice(&part[..taken]);
        len += taken;
    }
    match header[0] >> 4 {
        4 if len >= 20 => <[u8; 4]>::try_from(&header[16..20]).ok().map(IpAddr::from),
        6 if len == 40 => <[u8; 16]>::try_from(&header[24..40]).ok().map(IpAddr::from),
        _ => None,
    }
}

/// Writes a packet with an Ethernet header, whose addresses are `to` and `from`.
fn write_framed(socket: &OwnedFd, [to, from]: [[u8; 6]; 2], parts: &[IoSlice<'_>]) -> io::Result<bool> {
    assert!(parts.len() <= PARTS_MAX, "a packet of {} parts", parts.len());
    let (header, rest) = parts[0].split_at(VNET_LEN);
    let mut header: [u8; VNET_LEN] = header.try_into().expect("the split is at its length");
    shift(&mut header, |offset| offset + ETHERNET_LEN as u16);
    let mut ethernet = [0; ETHERNET_LEN];
    ethernet[..6].copy_from_slice(&to);
    ethernet[6..12].copy_from_slice(&from);
    ethernet[12..].copy_from_slice(if version(parts) == 6 { &ETHERTYPE_V6 } else { &ETHERTYPE_V4 });
    let mut framed = [IoSlice::new(&[]); PARTS_MAX + 2];
    framed[0] = IoSlice::new(&header);
    framed[1] = IoSlice::new(&ethernet);
    framed[2] = IoSlice::new(rest);
    framed[3..parts.len() + 2].copy_from_slice(&parts[1..]);
    Ok(taken(writev(socket, &framed[..parts.len() + 2]))?.is_some())
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// `None` if the call would block.
fn taken(result: rustix::io::Result<usize>) -> Result<Option<usize>, Errno> {
    match result {
        Ok(count) => Ok(Some(count)),
        Err(Errno::AGAIN | Errno::NOBUFS | Errno::INTR) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Adjusts the offsets of a virtio-net header that count from the packet's front: the length of all headers,
/// if present, and the start of the checksum, if one is needed.
fn shift(header: &mut [u8], moved: impl Fn(u16) -> u16) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    /// Frames of other protocols, as a server's root may send them without end: a read passes over some of
    /// them and returns.
    #[test]
    fn frames_that_are_no_packets_hold_no_reader_up() {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::NONBLOCK, None)
                .expect("two sockets");
        let framing = QueueFraming::Ethernet { server: [2; 6], gateway: [4; 6] };
        let mut queue = Queue::new(Arc::new(ours), framing);
        let frame = |ethertype: [u8; 2], packet: &[u8]| {
            [&[0; VNET_LEN][..], &[2; 6], &[4; 6], &ethertype, packet].concat()
        };
        for _ in 0..OTHERS_MOST {
            rustix::io::write(&theirs, &frame([0x88, 0xcc], b"other")).expect("room for a frame");
        }
        rustix::io::write(&theirs, &frame(ETHERTYPE_V4, b"packet")).expect("room for a frame");
        let mut buffer = vec![0; Queue::READ_LEN];
        assert_eq!(queue.read(&mut buffer).expect("a socket"), Some(VNET_LEN), "nothing that is a packet");
        assert_eq!(queue.read(&mut buffer).expect("a socket"), Some(VNET_LEN + 6));
        assert_eq!(&buffer[VNET_LEN..VNET_LEN + 6], b"packet");
        assert_eq!(queue.read(&mut buffer).expect("a socket"), None);
    }
}
