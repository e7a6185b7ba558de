//! The capture file: packets captured by shards, written as pcapng by a thread of its own.
//!
//! A shard never waits for the file. Packets that the writer cannot keep up with are dropped, and the file
//! records how many.

use crate::os::processors;
use crate::plane::Capture;
use crate::run_directory::create_private;
use farfield_base::Instant;
use farfield_emulator::Captured;
use farfield_wire::pcapng::{Direction, Interface, InterfaceId, LinkType, PacketFacts, Statistics, Writer};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

/// Capacity of the channel to the writer, in batches of one turn of a worker each: enough for some seconds
/// in which the writer, a low-priority thread, gets no processor.
const BATCHES: usize = 4096;

/// A capture being written.
#[derive(Debug)]
pub(crate) struct CaptureFile {
    taps: SyncSender<Vec<Captured>>,
    lost: Arc<AtomicU64>,
    writer: JoinHandle<io::Result<()>>,
}

/// A shard's sender to the writer.
#[derive(Debug, Clone)]
pub(crate) struct CaptureSender {
    tap: SyncSender<Vec<Captured>>,
    lost: Arc<AtomicU64>,
}

impl CaptureSender {
    /// Sends packets to the writer, or counts them as lost if the channel is full.
    pub fn push(&self, packets: Vec<Captured>) {
        if packets.is_empty() {
            return;
        }
        if let Err(TrySendError::Full(lost) | TrySendError::Disconnected(lost)) = self.tap.try_send(packets) {
            self.lost.fetch_add(lost.len() as u64, Ordering::Relaxed);
        }
    }
}

impl CaptureFile {
    /// Begins the file. `start_unix_ns` is the start of the run's clock.
    ///
    /// # Errors
    /// If the file or its thread cannot be made.
    pub fn begin(path: &Path, spec: &Capture, start_unix_ns: u64) -> io::Result<CaptureFile> {
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
        let (taps, packets) = sync_channel(BATCHES);
        let lost = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&lost);
        let writer = std::thread::Builder::new().name("capture".to_owned()).spawn(move || {
            // Keeps the processor free for workers; if refused, lateness shows the cost.
            let _ = processors::set_background();
            write_all(writer, interfaces, &packets, start_unix_ns, &count)
        })?;
        Ok(CaptureFile { taps, lost, writer })
    }

    /// A sender for one shard.
    pub fn sender(&self) -> CaptureSender {
        CaptureSender { tap: self.taps.clone(), lost: Arc::clone(&self.lost) }
    }

    /// Ends the file once all senders are dropped, and returns the number of packets that it lacks.
    ///
    /// # Errors
    /// On a disk error: the file holds the packets written before.
    pub fn finish(self) -> io::Result<u64> {
        drop(self.taps);
        self.writer.join().expect("the writer does not panic")?;
        Ok(self.lost.load(Ordering::Relaxed))
    }
}

fn write_all(
    mut writer: Writer<BufWriter<File>>,
    interfaces: u32,
    packets: &Receiver<Vec<Captured>>,
    start_unix_ns: u64,
    lost: &AtomicU64,
) -> io::Result<()> {
    let mut seen = vec![0u64; interfaces as usize];
    let mut last = Instant::ZERO;
    for batch in packets {
        for Captured { at, interface, outbound, packet } in batch {
            let direction = if outbound { Direction::Outbound } else { Direction::Inbound };
            let at_unix_ns = start_unix_ns + at.as_ns();
            let header = PacketFacts { interface: InterfaceId(interface), at_unix_ns, direction, drops: 0 };
            writer.packet(&header, &[&packet.to_bytes()])?;
            seen[interface as usize] += 1;
            last = last.max(at);
        }
    }
    let end = start_unix_ns + last.as_ns();
    for (interface, seen) in (0..interfaces).zip(seen) {
        let statistics = Statistics {
            start_unix_ns: Some(start_unix_ns),
            end_unix_ns: Some(end),
            received: Some(seen),
            // The interface of a lost packet is unknown; most pass the gateway.
            capture_drops: (interface == 0).then(|| lost.load(Ordering::Relaxed)),
            ..Statistics::default()
        };
        writer.statistics(InterfaceId(interface), end, &statistics)?;
    }
    writer.finish()?;
    Ok(())
}
