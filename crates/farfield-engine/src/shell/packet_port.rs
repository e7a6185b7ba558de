//! One end of a path: a gateway's queue, whose packets are passed on as they are.
//!
//! The kernel hands over packets with what is left to do to them, many in one where its program sends much
//! at once. Packets for a kernel that follow one another in such a large packet are written as one again, and
//! so are datagrams that were sent one by one, if they are of one flow and leave together.
//! Nothing is copied but headers, and nothing allocated for a packet: received ones lie in chunks that are
//! used again.

use farfield_emulator::{Framed, Head, Packet, PacketPayload};
use farfield_testbed::gateway::{Chunks, Queue};
use farfield_wire::{RowDatagram, VnetHeader};
use smallvec::SmallVec;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};

/// Chunks kept to be used again: 32 MiB may be under way without a new one.
const CHUNKS_KEPT: usize = 32;
/// The most datagrams that are written as one packet, and the most bytes of their data.
const ROW_MAX: usize = Queue::PARTS_MAX - 1;
const ROW_BYTES_MAX: usize = 65_000;
const _: () = assert!(ROW_MAX <= RowDatagram::DATAGRAMS_MAX, "every kernel takes such a row");

/// The result of a read.
pub(crate) enum PortRead {
    Packet(Packet),
    /// Nothing that can be passed on: no IP packet, or one whose headers contradict one another.
    Malformed,
    /// Nothing: no packet waits.
    Nothing,
}

/// A queue with its buffers.
pub(crate) struct PacketPort {
    queue: Queue,
    chunks: Chunks,
    /// The packet to be written next, for those that follow it to join.
    pending: Option<Packet>,
    /// Datagrams that follow it in a row.
    row: Vec<Framed>,
    /// Packets that the kernel did not take.
    pub refused: u64,
    /// Writes, each of one packet or several.
    pub writes: u64,
}

impl PacketPort {
    pub fn new(queue: Queue) -> PacketPort {
        PacketPort {
            queue,
            chunks: Chunks::new(CHUNKS_KEPT),
            pending: None,
            row: Vec::new(),
            refused: 0,
            writes: 0,
        }
    }

    /// Reads the next packet, or packets in one.
    ///
    /// # Errors
    /// If the gateway is gone.
    pub fn receive(&mut self) -> io::Result<PortRead> {
        let Some(length) = self.queue.read(self.chunks.room(Queue::READ_LEN))? else {
            return Ok(PortRead::Nothing);
        };
        Ok(match Framed::parse(self.chunks.take(length)) {
            Ok(framed) => PortRead::Packet(framed.into_packet()),
            Err(_) => PortRead::Malformed,
        })
    }

    /// Writes a packet to the kernel, now or when the next does not join it, or with [`flush`](Self::flush).
    pub fn send(&mut self, packet: Packet) {
        if let Some(packet) = self.join(packet) {
            self.flush();
            self.pending = Some(packet);
        }
    }

    /// Takes a packet into what is written next, or returns it.
    fn join(&mut self, packet: Packet) -> Option<Packet> {
        let Some(Packet { carried: PacketPayload::Framed(first), ttl, ecn, .. }) = &mut self.pending else {
            return Some(packet);
        };
        let PacketPayload::Framed(next) = &packet.carried else { return Some(packet) };
        if (*ttl, *ecn) != (packet.ttl, packet.ecn) {
            return Some(packet);
        }
        if self.row.is_empty() && first.join(next) {
            return None;
        }
        if !self.queue.takes_rows() || !goes_on(first, &self.row, next) {
            return Some(packet);
        }
        if let PacketPayload::Framed(next) = packet.carried {
            self.row.push(next);
        }
        None
    }

    /// Writes what has not been written yet.
    pub fn flush(&mut self) {
        let Some(packet) = self.pending.take() else { return };
        let mut packets = packet.packets();
        let taken = match &packet.carried {
            PacketPayload::Framed(first) if !self.row.is_empty() => {
                packets += self.row.len() as u64;
                let taken = write_row(&mut self.queue, first, &self.row, &packet);
                self.row.clear();
                taken
            }
            PacketPayload::Framed(framed) => {
                let (head, rest) = framed.emit(packet.ttl, packet.ecn);
                self.queue.write(&[IoSlice::new(head.as_bytes()), IoSlice::new(rest)])
            }
            // Packets that routers write, and those that were damaged.
            PacketPayload::Raw(_) | PacketPayload::Tcp(_) | PacketPayload::Udp(_) => {
                let header = VnetHeader::default().emit();
                self.queue.write(&[IoSlice::new(&header), IoSlice::new(&packet.to_bytes())])
            }
        };
        self.writes += 1;
        if !taken.is_ok_and(|taken| taken) {
            self.refused += packets;
        }
    }

    /// Descriptor to poll for packets.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}

/// True if the row that begins with `first` goes on with `next`.
fn goes_on(first: &Framed, row: &[Framed], next: &Framed) -> bool {
    let Some(first) = first.row_datagram() else { return false };
    let Some(next) = next.row_datagram() else { return false };
    let len = first.payload().len();
    let is_whole = row.last().and_then(Framed::row_datagram).is_none_or(|last| last.payload().len() == len);
    is_whole
        && row.len() + 2 <= ROW_MAX
        && (row.len() + 2) * len <= ROW_BYTES_MAX
        && first.goes_on_with(&next)
}

/// Writes a row of datagrams as one packet with the hop limit and the ECN codepoint of its first.
fn write_row(queue: &mut Queue, first: &Framed, row: &[Framed], as_of: &Packet) -> io::Result<bool> {
    let datagrams: SmallVec<[_; ROW_MAX]> =
        std::iter::once(first).chain(row).filter_map(Framed::row_datagram).collect();
    let bytes = datagrams.iter().map(|datagram| datagram.payload().len()).sum();
    let head = Head::of_row(&datagrams[0], bytes, as_of.ttl, as_of.ecn);
    let mut parts: SmallVec<[IoSlice<'_>; Queue::PARTS_MAX]> = SmallVec::new();
    parts.push(IoSlice::new(head.as_bytes()));
    parts.extend(datagrams.iter().map(|datagram| IoSlice::new(datagram.payload())));
    queue.write(&parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_testbed::gateway::QueueFraming;
    use farfield_wire::{
        Addresses, ChecksumNeed, Ecn, IpRepr, Large, Message, Protocol, UdpRepr, VnetHeader, write_packet,
    };
    use std::net::Ipv4Addr;
    use std::os::unix::net::UnixDatagram;
    use std::sync::Arc;

    /// A port whose writes arrive one by one at a socket.
    fn port(rows: bool) -> (PacketPort, UnixDatagram) {
        let (own, other) = UnixDatagram::pair().unwrap();
        other.set_nonblocking(true).unwrap();
        (PacketPort::new(Queue::new(Arc::new(own.into()), QueueFraming::None).with_rows(rows)), other)
    }

    /// A datagram as a kernel with offload hands it over.
    fn datagram(source_port: u16, data: &[u8]) -> Packet {
        let (source, destination) = (Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(192, 0, 2, 1));
        let ip = IpRepr::new(Addresses::V4 { source, destination }, Protocol::UDP);
        let message = Message::Udp(UdpRepr { source_port, destination_port: 443 }, data);
        let mut bytes = vec![0; VnetHeader::LEN + 20 + message.wire_len()];
        write_packet(&ip, &message, &mut bytes[VnetHeader::LEN..]);
        let checksum = ChecksumNeed::Partial { start: 20, offset: 6 };
        bytes[..VnetHeader::LEN].copy_from_slice(&VnetHeader { checksum, ..VnetHeader::default() }.emit());
        Framed::parse(bytes.into()).unwrap().into_packet()
    }

    /// The packets that were written: of each the lengths of the datagrams that it is, and all of its data.
    fn written(socket: &UnixDatagram) -> Vec<(Vec<usize>, Vec<u8>)> {
        let mut buffer = vec![0; Queue::READ_LEN];
        let reads = std::iter::from_fn(|| {
            let length = socket.recv(&mut buffer).ok()?;
            let (vnet, packet) = (VnetHeader::parse(&buffer).unwrap(), &buffer[VnetHeader::LEN..length]);
            let lengths = match vnet.gso {
                Some(gso) => {
                    let large = Large::new(packet, gso).unwrap();
                    (0..large.packets()).map(|nth| large.payload(&(nth..nth + 1)).len()).collect()
                }
                None => vec![packet.len() - 28],
            };
            Some((lengths, packet[28..].to_vec()))
        });
        reads.collect()
    }

    fn lengths(socket: &UnixDatagram) -> Vec<Vec<usize>> {
        written(socket).into_iter().map(|(lengths, _)| lengths).collect()
    }

    #[test]
    fn datagrams_that_leave_together_are_written_as_a_row() {
        let (mut port, socket) = port(true);
        let sent: Vec<Vec<u8>> =
            [100, 100, 100, 40, 100, 100].iter().zip(0..).map(|(&len, nth)| vec![nth; len]).collect();
        sent.iter().for_each(|data| port.send(datagram(5, data)));
        port.flush();
        let written = written(&socket);
        let rows: Vec<&[usize]> = written.iter().map(|(lengths, _)| &lengths[..]).collect();
        assert_eq!(rows, [&[100, 100, 100, 40][..], &[100, 100]], "a shorter one ends its row");
        assert_eq!(written.into_iter().flat_map(|(_, data)| data).collect::<Vec<u8>>(), sent.concat());
        assert_eq!(port.refused, 0);
    }

    #[test]
    fn rows_are_of_one_flow_and_of_one_moment() {
        let (mut port, socket) = port(true);
        [5, 5, 6, 5].iter().for_each(|&source| port.send(datagram(source, &[1; 9])));
        port.flush();
        port.send(datagram(5, &[1; 9]));
        port.send(Packet { ecn: Ecn::Ce, ..datagram(5, &[1; 9]) });
        port.send(Packet { ttl: 3, ..datagram(5, &[1; 9]) });
        port.flush();
        assert_eq!(lengths(&socket), [vec![9, 9], vec![9], vec![9], vec![9], vec![9], vec![9]]);
    }

    #[test]
    fn a_long_row_is_several() {
        let (mut port, socket) = port(true);
        (0..70).for_each(|_| port.send(datagram(5, &[1; 9])));
        (0..60).for_each(|_| port.send(datagram(5, &[1; 4_000])));
        port.flush();
        let counts: Vec<usize> = lengths(&socket).iter().map(Vec::len).collect();
        assert_eq!(counts, [31, 31, 8, 16, 16, 16, 12]);
    }

    #[test]
    fn a_kernel_without_rows_gets_datagrams_one_by_one() {
        let (mut port, socket) = port(false);
        (0..3).for_each(|_| port.send(datagram(5, &[1; 9])));
        port.flush();
        assert_eq!(lengths(&socket), vec![vec![9]; 3]);
    }

    #[test]
    fn a_row_that_is_refused_is_all_of_its_datagrams() {
        let (mut port, socket) = port(true);
        drop(socket);
        (0..3).for_each(|_| port.send(datagram(5, &[1; 9])));
        port.flush();
        assert_eq!(port.refused, 3);
    }
}
