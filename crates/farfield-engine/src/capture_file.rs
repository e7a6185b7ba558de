//! The capture file: packets that shards saw, written as pcapng by a thread of its own.
//!
//! A shard never waits for the file. What the writer cannot keep up with is left out, and the file says how much.

use crate::os::processors;
use crate::plane::Capture;
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

/// Batches of packets on their way to the writer, one for each turn of a worker in which packets were seen: some seconds
/// in which the writer, which stands back, gets no processor.
const BATCHES: usize = 4096;

/// A capture that is being written.
#[derive(Debug)]
pub(crate) struct CaptureFile {
    taps: SyncSender<Vec<Captured>>,
    lost: Arc<AtomicU64>,
    writer: JoinHandle<io::Result<()>>,
}

/// A shard's way into the file.
#[derive(Debug, Clone)]
pub(crate) struct CaptureSender {
    tap: SyncSender<Vec<Captured>>,
    lost: Arc<AtomicU64>,
}

impl CaptureSender {
    /// Hands packets to the writer, or counts them as lost if it is behind.
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
    /// Begins the file. `start_unix_ns` is when the run's clock starts.
    ///
    /// # Errors
    /// When the file or its thread cannot be made.
    pub fn begin(path: &Path, spec: &Capture, start_unix_ns: u64) -> io::Result<CaptureFile> {
        let mut writer = Writer::new(BufWriter::new(File::create(path)?), "farfield")?;
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
            // A courtesy to the workers; where it is refused, lateness shows what it cost.
            let _ = processors::set_background();
            write_all(writer, interfaces, &packets, start_unix_ns, &count)
        })?;
        Ok(CaptureFile { taps, lost, writer })
    }

    /// A way into the file for one shard.
    pub fn sender(&self) -> CaptureSender {
        CaptureSender { tap: self.taps.clone(), lost: Arc::clone(&self.lost) }
    }

    /// Ends the file once all senders are gone; tells how many packets were lost to it.
    ///
    /// # Errors
    /// When the disk refused: the file holds what was written before.
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
            // Which interface they would have been of, nobody knows: the gateway sees most.
            capture_drops: (interface == 0).then(|| lost.load(Ordering::Relaxed)),
            ..Statistics::default()
        };
        writer.statistics(InterfaceId(interface), end, &statistics)?;
    }
    writer.finish()?;
    Ok(())
}
