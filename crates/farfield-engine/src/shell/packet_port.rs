//! One end of a path: a gateway's queue, whose packets are passed on as they are.
//!
//! The kernel hands over packets with what is left to do to them, many in one where its program sends much
//! at once. Packets for a kernel that follow one another in such a large packet are written as one again.
//! Nothing is copied but headers, and nothing allocated for a packet: received ones lie in chunks that are
//! used again.

use crate::gateway::Queue;
use bytes::{Bytes, BytesMut};
use farfield_emulator::{Carried, Framed, Packet};
use farfield_wire::VnetHeader;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};

/// Size of one chunk of received packets.
const CHUNK: usize = 1 << 20;
/// Chunks kept to be used again: 32 MiB may be under way without a new one.
const CHUNKS_KEPT: usize = 32;

/// What a read brought.
pub(crate) enum Received {
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
    /// Packets that the kernel did not take.
    pub refused: u64,
    /// Writes, each of one packet or several.
    pub writes: u64,
}

impl PacketPort {
    pub fn new(queue: Queue) -> PacketPort {
        PacketPort { queue, chunks: Chunks::new(), pending: None, refused: 0, writes: 0 }
    }

    /// Reads the next packet, or packets in one.
    ///
    /// # Errors
    /// If the gateway is gone.
    pub fn receive(&mut self) -> io::Result<Received> {
        let Some(length) = self.queue.read(self.chunks.room(Queue::READ_LEN))? else {
            return Ok(Received::Nothing);
        };
        Ok(match Framed::parse(self.chunks.take(length)) {
            Ok(framed) => Received::Packet(framed.into_packet()),
            Err(_) => Received::Malformed,
        })
    }

    /// Writes a packet to the kernel, now or when the next does not join it, or with [`flush`](Self::flush).
    pub fn send(&mut self, packet: Packet) {
        if let Some(Packet { carried: Carried::Framed(before), ttl, ecn, .. }) = &mut self.pending
            && let Carried::Framed(next) = &packet.carried
            && (*ttl, *ecn) == (packet.ttl, packet.ecn)
            && before.join(next)
        {
            return;
        }
        self.flush();
        self.pending = Some(packet);
    }

    /// Writes what has not been written yet.
    pub fn flush(&mut self) {
        let Some(packet) = self.pending.take() else { return };
        let taken = match &packet.carried {
            Carried::Framed(framed) => {
                let (head, rest) = framed.emit(packet.ttl, packet.ecn);
                self.queue.write(&[IoSlice::new(head.as_bytes()), IoSlice::new(rest)])
            }
            // What routers write, and what was damaged.
            Carried::Raw(_) | Carried::Tcp(_) | Carried::Udp(_) => {
                let header = VnetHeader::default().emit();
                self.queue.write(&[IoSlice::new(&header), IoSlice::new(&packet.to_bytes())])
            }
        };
        self.writes += 1;
        if !taken.is_ok_and(|taken| taken) {
            self.refused += packet.packets();
        }
    }

    /// Descriptor to poll for packets.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}

/// Memory for received packets: chunks that are filled one after the other, and again once nothing of them
/// is under way.
struct Chunks {
    /// The room that is left in the present chunk.
    room: BytesMut,
    /// Full ones, the oldest first.
    full: VecDeque<BytesMut>,
}

impl Chunks {
    fn new() -> Chunks {
        Chunks { room: BytesMut::zeroed(CHUNK), full: VecDeque::with_capacity(CHUNKS_KEPT + 1) }
    }

    /// Room for `bytes`, at most a chunk.
    fn room(&mut self, bytes: usize) -> &mut [u8] {
        if self.room.len() < bytes {
            let next = self.next();
            let full = std::mem::replace(&mut self.room, next);
            self.full.push_back(full);
            if self.full.len() > CHUNKS_KEPT {
                self.full.pop_front();
            }
        }
        &mut self.room
    }

    /// The first `length` bytes of the room.
    fn take(&mut self, length: usize) -> Bytes {
        self.room.split_to(length).freeze()
    }

    /// An empty chunk: the oldest, if nothing of it is under way any more.
    fn next(&mut self) -> BytesMut {
        if let Some(oldest) = self.full.front_mut() {
            oldest.clear();
            if oldest.try_reclaim(CHUNK)
                && let Some(mut oldest) = self.full.pop_front()
            {
                oldest.resize(CHUNK, 0);
                return oldest;
            }
        }
        BytesMut::zeroed(CHUNK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is under way stays as it is, and what no longer is makes room.
    #[test]
    fn chunks_are_used_again() {
        let mut chunks = Chunks::new();
        let held: Vec<Bytes> = (0..40u8)
            .map(|nth| {
                chunks.room(CHUNK / 2).fill(nth);
                chunks.take(CHUNK / 2)
            })
            .collect();
        assert!(held.iter().zip(0..).all(|(bytes, nth): (_, u8)| bytes.iter().all(|byte| *byte == nth)));
        assert_eq!(chunks.full.len(), 19);
        drop(held);
        let at = chunks.full[0].as_ptr();
        chunks.room(CHUNK);
        let again = chunks.take(CHUNK);
        assert!((at as usize - again.as_ptr() as usize) <= CHUNK, "the oldest chunk, from its front");
        assert_eq!(chunks.full.len(), 19);
    }
}
