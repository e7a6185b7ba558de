//! One end of a path: a gateway's queue, whose packets are passed on as bytes.

use crate::testbed::Queue;
use bytes::BytesMut;
use farfield_emulator::Packet;
use farfield_wire::VnetHeader;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};

/// Size of one allocation for received packets.
const CHUNK: usize = 1 << 20;

/// What a read brought.
pub(super) enum Received {
    Packet(Packet),
    /// Nothing that can be passed on: no IP packet, or one that the kernel left unfinished though it was not
    /// to.
    Malformed,
    /// Nothing: no packet waits.
    Nothing,
}

/// A queue with its buffers.
pub(super) struct PacketPort {
    queue: Queue,
    chunk: BytesMut,
    frame: Vec<u8>,
}

impl PacketPort {
    pub fn new(queue: Queue) -> PacketPort {
        PacketPort { queue, chunk: BytesMut::zeroed(CHUNK), frame: Vec::new() }
    }

    /// Reads the next packet.
    ///
    /// # Errors
    /// If the gateway is gone.
    pub fn receive(&mut self) -> io::Result<Received> {
        if self.chunk.len() < Queue::READ_LEN {
            self.chunk = BytesMut::zeroed(CHUNK);
        }
        let Some(length) = self.queue.read(&mut self.chunk)? else { return Ok(Received::Nothing) };
        let bytes = self.chunk.split_to(length).freeze();
        // The header of a packet that is finished is all zeros, but for a note that its checksum was
        // verified.
        let is_whole = VnetHeader::parse(&bytes).is_ok_and(|header| {
            header.gso.is_none() && !matches!(header.checksum, farfield_wire::ChecksumNeed::Partial { .. })
        });
        let packet = Some(bytes).filter(|_| is_whole).and_then(|bytes| {
            let packet = bytes.slice(VnetHeader::LEN..);
            Packet::raw(packet)
        });
        Ok(packet.map_or(Received::Malformed, Received::Packet))
    }

    /// Writes a packet to the kernel; false if it does not take it.
    pub fn send(&mut self, packet: &Packet) -> bool {
        let headers_max = farfield_emulator::packet::HEADERS_MAX;
        self.frame.resize(packet.bytes as usize + headers_max, 0);
        let length = packet.write(&mut self.frame);
        let header = VnetHeader::default().emit();
        let parts = [IoSlice::new(&header), IoSlice::new(&self.frame[..length])];
        self.queue.write(&parts).is_ok_and(|taken| taken)
    }

    /// Descriptor to poll for packets.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}
