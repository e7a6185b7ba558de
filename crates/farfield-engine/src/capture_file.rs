//! The capture file: packets captured by shards, written as pcapng by a thread of its own.
//!
//! A shard never waits for the file. Packets wait in memory while the writer, a low-priority thread, gets no
//! processor; where they take too much of it, the writer gets the normal priority, and packets that do not
//! fit are dropped. The file records how many.

use crate::plane::Capture;
use farfield_base::{Duration, Instant};
use farfield_emulator::CapturedPacket;
use farfield_files::create_private;
use farfield_os::clock::thread_cpu;
use farfield_os::processors;
use farfield_os::signals::LeftToOthers;
use farfield_wire::pcapng::{
    Direction, Interface, InterfaceId, LinkType, PacketMetadata, Statistics, Writer,
};
use std::fs::File;
use std::io::{self, BufWriter};
use std::mem::size_of;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

/// Bytes of packets that may wait for the writer: 100,000 of full size, or more than 300,000 without data.
const BACKLOG_MAX: usize = 128 << 20;
/// Bytes that wait where the writer has had too little time.
const BACKLOG_URGENT: usize = BACKLOG_MAX / 8;

/// A capture being written.
#[derive(Debug)]
pub(crate) struct CaptureFile {
    sender: CaptureSender,
    start_unix_ns: Arc<OnceLock<u64>>,
    writer: JoinHandle<io::Result<CaptureCounts>>,
}

/// The writer's counts.
#[derive(Debug)]
pub(crate) struct CaptureCounts {
    /// Packets in the file.
    pub packets: u64,
    /// Packets that the file lacks.
    pub lost: u64,
    /// Processor time of the writer.
    pub cpu: Duration,
}

/// A shard's sender to the writer.
#[derive(Debug, Clone)]
pub(crate) struct CaptureSender {
    packets: Sender<Vec<CapturedPacket>>,
    backlog: Arc<Backlog>,
}

/// Packets between shards and the writer.
#[derive(Debug, Default)]
struct Backlog {
    /// Bytes that wait.
    bytes: AtomicUsize,
    /// Packets that found no room.
    lost: AtomicU64,
}

/// The memory that captured packets take. Data is shared with those who send and receive them, for as long
/// as they do.
fn memory_of(packets: &[CapturedPacket]) -> usize {
    packets.iter().map(|captured| size_of::<CapturedPacket>() + captured.packet.bytes as usize).sum()
}

impl CaptureSender {
    /// Sends packets to the writer, or counts them as lost if too many wait for it.
    pub fn push(&self, packets: Vec<CapturedPacket>) {
        if packets.is_empty() {
            return;
        }
        let (memory, count) = (memory_of(&packets), packets.len() as u64);
        let waiting = self.backlog.bytes.fetch_add(memory, Ordering::Relaxed);
        // A writer that has failed takes no more.
        if waiting + memory > BACKLOG_MAX || self.packets.send(packets).is_err() {
            self.backlog.bytes.fetch_sub(memory, Ordering::Relaxed);
            self.backlog.lost.fetch_add(count, Ordering::Relaxed);
        }
    }
}

impl CaptureFile {
    /// Begins the file. The first packet may be sent once the [start](Self::start_at) is set.
    ///
    /// # Errors
    /// If the file or its thread cannot be made.
    pub fn begin(path: &Path, spec: &Capture) -> io::Result<CaptureFile> {
        let mut writer = Writer::new(BufWriter::new(create_private(path)?), "farfield")?;
        let clients = spec.plan.clients.iter().map(|client| format!("client {client}"));
        for name in std::iter::once("gateway".to_owned()).chain(clients) {
            writer.add_interface(&Interface {
                name,
                link: LinkType::RAW,
                snap_len: spec.snap.unwrap_or(0),
            })?;
        }
        let interfaces = 1 + spec.plan.clients.len() as u32;
        let (sender, packets) = channel();
        let backlog = Arc::new(Backlog::default());
        let sender = CaptureSender { packets: sender, backlog: Arc::clone(&backlog) };
        let start_unix_ns = Arc::new(OnceLock::new());
        let start = Arc::clone(&start_unix_ns);
        let writer = std::thread::Builder::new().name("capture".to_owned()).spawn(move || {
            // Keeps the processor free for workers; if refused, lateness shows the cost.
            let _ = processors::set_background();
            let _signals = LeftToOthers::begin();
            write_all(writer, interfaces, &packets, &start, &backlog)
        })?;
        Ok(CaptureFile { sender, start_unix_ns, writer })
    }

    /// Sets the start of the run's clock, in nanoseconds since 1970; once.
    pub fn start_at(&self, start_unix_ns: u64) {
        self.start_unix_ns.get_or_init(|| start_unix_ns);
    }

    /// A sender for one shard.
    pub fn sender(&self) -> CaptureSender {
        self.sender.clone()
    }

    /// Ends the file once all senders are dropped.
    ///
    /// # Errors
    /// On a disk error: the file holds the packets written before.
    pub fn finish(self) -> io::Result<CaptureCounts> {
        drop(self.sender);
        self.writer.join().expect("the writer does not panic")
    }
}

fn write_all(
    mut writer: Writer<BufWriter<File>>,
    interfaces: u32,
    packets: &Receiver<Vec<CapturedPacket>>,
    start: &OnceLock<u64>,
    backlog: &Backlog,
) -> io::Result<CaptureCounts> {
    let mut is_urgent = false;
    let mut seen = vec![0u64; interfaces as usize];
    let mut last = Instant::ZERO;
    let start_unix_ns = || start.get().copied().unwrap_or_default();
    for batch in packets {
        // For the rest of the capture: one that lacks packets is worth little, and how much it delays
        // workers is in their lateness. If the priority may not be raised, packets that are lost are counted.
        if !is_urgent && backlog.bytes.load(Ordering::Relaxed) > BACKLOG_URGENT {
            is_urgent = true;
            let _ = processors::set_normal();
        }
        let memory = memory_of(&batch);
        for CapturedPacket { at, interface, outbound, packet } in batch {
            let direction = if outbound { Direction::Outbound } else { Direction::Inbound };
            let at_unix_ns = start_unix_ns() + at.as_ns();
            let header =
                PacketMetadata { interface: InterfaceId(interface), at_unix_ns, direction, drops: 0 };
            writer.packet(&header, &[&packet.to_bytes()])?;
            seen[interface as usize] += 1;
            last = last.max(at);
        }
        backlog.bytes.fetch_sub(memory, Ordering::Relaxed);
    }
    let end = start_unix_ns() + last.as_ns();
    for (interface, seen) in (0..interfaces).zip(&seen) {
        let statistics = Statistics {
            start_unix_ns: Some(start_unix_ns()),
            end_unix_ns: Some(end),
            received: Some(*seen),
            // The interface of a lost packet is unknown; most pass the gateway.
            capture_drops: (interface == 0).then(|| backlog.lost.load(Ordering::Relaxed)),
            ..Statistics::default()
        };
        writer.statistics(InterfaceId(interface), end, &statistics)?;
    }
    writer.finish()?;
    let lost = backlog.lost.load(Ordering::Relaxed);
    Ok(CaptureCounts { packets: seen.iter().sum(), lost, cpu: thread_cpu() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use farfield_emulator::Packet;

    /// An IPv4 packet of 1,500 bytes.
    fn full_size() -> CapturedPacket {
        let mut bytes = vec![0; 1500];
        bytes[0] = 0x45;
        bytes[2..4].copy_from_slice(&1500u16.to_be_bytes());
        let packet = Packet::raw(Bytes::from(bytes)).expect("a packet");
        CapturedPacket { at: Instant::ZERO, interface: 0, outbound: true, packet }
    }

    /// A writer that takes nothing: packets wait up to the bound, the rest is counted, and there is room
    /// again once some are taken.
    #[test]
    fn packets_that_find_no_room_are_counted() {
        let (packets, receiver) = channel();
        let sender = CaptureSender { packets, backlog: Arc::default() };
        let one = full_size();
        let fit = (BACKLOG_MAX / memory_of(std::slice::from_ref(&one))) as u64;
        for _ in 0..fit + 10 {
            sender.push(vec![one.clone()]);
        }
        assert_eq!(
            (receiver.try_iter().count() as u64, sender.backlog.lost.load(Ordering::Relaxed)),
            (fit, 10)
        );
        sender.backlog.bytes.store(0, Ordering::Relaxed);
        sender.push(vec![one.clone()]);
        drop(receiver);
        sender.push(vec![one.clone(), one]);
        assert_eq!(sender.backlog.lost.load(Ordering::Relaxed), 12);
    }
}
