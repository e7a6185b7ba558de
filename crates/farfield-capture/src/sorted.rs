//! Packets in order of time. A file may have them a little out of it, where several threads or processors
//! captured: packets are read ahead, up to a number and a size, and leave by their instants; those with
//! equal instants keep the order of the file.

use crate::file::RawPacket;
use crate::instant::UnixNs;
use std::collections::VecDeque;

/// Bytes that are read ahead at most.
const AHEAD_BYTES_MAX: usize = 16 << 20;
/// A buffer that is larger is not kept for the next packet.
const KEPT_LEN_MAX: usize = 4 << 10;

/// A packet that was read ahead.
#[derive(Debug)]
pub(crate) struct BufferedPacket {
    pub at: UnixNs,
    pub interface: u32,
    pub link_type: u16,
    pub original_len: usize,
    pub bytes: Vec<u8>,
}

/// The packets that were read ahead, in order.
#[derive(Debug)]
pub(crate) struct ReorderBuffer {
    packets_max: usize,
    held: VecDeque<BufferedPacket>,
    bytes: usize,
    spare: Vec<Vec<u8>>,
}

impl ReorderBuffer {
    pub fn new(packets_max: usize) -> ReorderBuffer {
        ReorderBuffer { packets_max, held: VecDeque::new(), bytes: 0, spare: Vec::new() }
    }

    /// Takes a packet in.
    pub fn push(&mut self, packet: &RawPacket<'_>) {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.extend_from_slice(packet.bytes);
        self.bytes += bytes.len();
        let RawPacket { at, interface, link_type, original_len, .. } = *packet;
        let held = BufferedPacket { at, interface, link_type, original_len, bytes };
        if self.held.back().is_none_or(|last| last.at <= at) {
            self.held.push_back(held);
        } else {
            self.held.insert(self.held.partition_point(|other| other.at <= at), held);
        }
    }

    /// The earliest packet, once there are more than may be held, or in any case if `all` are to leave.
    pub fn pop(&mut self, all: bool) -> Option<BufferedPacket> {
        let full = self.held.len() > self.packets_max || self.bytes > AHEAD_BYTES_MAX;
        if !full && !all {
            return None;
        }
        let held = self.held.pop_front()?;
        self.bytes -= held.bytes.len();
        Some(held)
    }

    /// Takes a buffer back.
    pub fn reuse(&mut self, mut bytes: Vec<u8>) {
        if bytes.capacity() <= KEPT_LEN_MAX && self.spare.len() < 64 {
            bytes.clear();
            self.spare.push(bytes);
        }
    }
}
