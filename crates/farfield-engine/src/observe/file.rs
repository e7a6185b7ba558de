//! The file of a capture: packets of one interface, a block of the ring at a time.
//!
//! Blocks that have been [committed](PacketFile::commit) stay readable whatever happens next. After the
//! first error, usually a full disk, the file ends with the last whole commit, and everything after it is
//! counted only.

use farfield_files::create_private;
use farfield_wire::pcapng::{
    Direction, Interface, InterfaceId, LinkType, PacketMetadata, Statistics, Writer,
};
use std::fs::File;
use std::io::{self, Write};
use std::num::NonZeroU32;
use std::os::unix::fs::FileExt;
use std::path::Path;

const INTERFACE: InterfaceId = InterfaceId(0);

/// A capture's file.
pub(super) struct PacketFile {
    writer: Writer<Tail>,
    /// Packets that were committed.
    pub packets: u64,
    /// Length in bytes of what was committed.
    pub len: u64,
    /// The first error.
    pub error: Option<io::Error>,
    /// Packets since the last commit.
    pending: u64,
    /// Packets that the capture lost since the last packet.
    lost: u64,
    first_unix_ns: Option<u64>,
    last_unix_ns: u64,
}

impl PacketFile {
    /// Creates the file, or empties it, and describes its interface.
    pub fn create(path: &Path, interface: &str, snap: NonZeroU32) -> io::Result<PacketFile> {
        let tail = Tail { file: create_private(path)?, committed: 0, bytes: Vec::new() };
        let mut writer = Writer::new(tail, "farfield")?;
        writer.add_interface(&Interface {
            name: interface.to_owned(),
            link: LinkType::RAW,
            snap_len: snap.get(),
        })?;
        writer.flush()?;
        Ok(PacketFile {
            writer,
            packets: 0,
            len: 0,
            error: None,
            pending: 0,
            lost: 0,
            first_unix_ns: None,
            last_unix_ns: 0,
        })
    }

    /// Notes packets that were lost before the next one.
    pub fn lost_before_next(&mut self, lost: u64) {
        self.lost += lost;
    }

    /// Adds a packet of `original_len` bytes, of which `bytes` were kept.
    pub fn push(&mut self, at_unix_ns: u64, direction: Direction, original_len: u32, bytes: &[u8]) {
        if self.error.is_some() {
            return;
        }
        let drops = std::mem::take(&mut self.lost);
        let metadata = PacketMetadata { interface: INTERFACE, at_unix_ns, direction, drops };
        self.writer.cut_packet(&metadata, bytes, original_len).expect("memory takes all");
        self.pending += 1;
        self.first_unix_ns.get_or_insert(at_unix_ns);
        self.last_unix_ns = self.last_unix_ns.max(at_unix_ns);
    }

    /// Writes the packets since the last commit; all of them, or none.
    pub fn commit(&mut self) {
        if self.error.is_some() {
            return;
        }
        match self.writer.flush() {
            Ok(()) => self.packets += std::mem::take(&mut self.pending),
            Err(error) => self.error = Some(error),
        }
    }

    /// Ends the file with what the interface saw: `passed` packets, of which `dropped` were lost before they
    /// came here.
    pub fn end(&mut self, passed: u64, dropped: u64) {
        let unwritten = passed - dropped - self.packets;
        let statistics = Statistics {
            start_unix_ns: self.first_unix_ns,
            end_unix_ns: self.first_unix_ns.map(|_| self.last_unix_ns),
            received: Some(passed),
            capture_drops: Some(dropped + unwritten),
            ..Statistics::default()
        };
        self.writer.statistics(INTERFACE, self.last_unix_ns, &statistics).expect("memory takes all");
        // After an error there may be room again for this little, since the end of the file was cut off.
        let ended = self.writer.flush();
        self.error = self.error.take().or(ended.err());
        self.len = self.writer.sink().committed;
    }
}

/// The end of the file, which is in memory until it is flushed as a whole.
struct Tail {
    file: File,
    committed: u64,
    bytes: Vec<u8>,
}

impl Write for Tail {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let written = self.file.write_all_at(&self.bytes, self.committed);
        match &written {
            Ok(()) => self.committed += self.bytes.len() as u64,
            // Half of a packet would make a reader stop in error. If it cannot be cut off, it stays.
            Err(_) => drop(self.file.set_len(self.committed)),
        }
        self.bytes.clear();
        written
    }
}
