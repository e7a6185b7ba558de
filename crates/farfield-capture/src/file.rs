//! Capture files, of whichever format, as one sequence of packets.
//!
//! The format is known by the first four bytes. What is wrong later ends the file there: what was read
//! before is kept.

mod pcap;
mod pcapng;

use crate::instant::UnixNs;
use crate::limits::Limits;
use crate::rebuild::CaptureError;
use std::io::{self, BufReader, Read};

/// Bytes that are read ahead.
const BUFFER_LEN: usize = 256 << 10;

/// A packet as the file has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawPacket<'a> {
    /// The instant of its capture.
    pub at: UnixNs,
    /// The packet's interface.
    pub interface: u32,
    /// The LINKTYPE of its first header.
    pub link_type: u16,
    /// Bytes that it had.
    pub original_len: usize,
    /// Bytes of the packet that were kept.
    pub bytes: &'a [u8],
}

/// The next item of a file.
pub(crate) enum FileItem<'a> {
    /// A packet.
    Packet(RawPacket<'a>),
    /// Something else, which was counted or noted.
    Noted,
    /// The file ended, or cannot be read on for the reason that was noted.
    End,
}

/// A file being read.
pub(crate) enum File<R> {
    Pcap(pcap::Pcap<R>),
    Pcapng(pcapng::Pcapng<R>),
}

/// The source of a file: the first bytes again, then the rest.
pub(crate) type FileSource<R> = BufReader<io::Chain<io::Cursor<[u8; 4]>, R>>;

impl<R: Read> File<FileSource<R>> {
    /// Finds out the format.
    ///
    /// # Errors
    /// If it is none that is read.
    pub fn open(mut source: R, limits: &mut Limits) -> Result<File<FileSource<R>>, CaptureError> {
        let mut magic = [0; 4];
        source.read_exact(&mut magic).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => CaptureError::NotACapture,
            _ => CaptureError::Io(error),
        })?;
        let whole = BufReader::with_capacity(BUFFER_LEN, io::Cursor::new(magic).chain(source));
        match magic {
            [0x0a, 0x0d, 0x0d, 0x0a] => Ok(File::Pcapng(pcapng::Pcapng::new(whole))),
            [0x1f, 0x8b, ..] => Err(CaptureError::Compressed("gzip")),
            [0x28, 0xb5, 0x2f, 0xfd] => Err(CaptureError::Compressed("zstd")),
            [0xfd, b'7', b'z', b'X'] => Err(CaptureError::Compressed("xz")),
            [0x04, 0x22, 0x4d, 0x18] => Err(CaptureError::Compressed("lz4")),
            [b's', b'n', b'o', b'o'] => Err(CaptureError::Format("snoop")),
            [b'G' | b'R', b'M' | b'T', b'B' | b'S', b'U' | b'S'] => Err(CaptureError::Format("NetMon")),
            _ => pcap::Pcap::open(whole, magic, limits).map(File::Pcap),
        }
    }

    /// The next item.
    pub fn next_record(&mut self, limits: &mut Limits) -> FileItem<'_> {
        match self {
            File::Pcap(file) => file.next_record(limits),
            File::Pcapng(file) => file.next_record(limits),
        }
    }

    /// Completes what the file says of itself, at its end.
    pub fn finish(&self, limits: &mut Limits) {
        if let File::Pcapng(file) = self {
            limits.reported_drops = file.reported_drops();
        }
    }
}

/// Notes why the file cannot be read on.
fn note_end(limits: &mut Limits, error: &dyn std::fmt::Display, cut: bool) {
    let after = limits.packets;
    limits.cut_short = Some(match cut {
        true => format!("the file ends inside a record, after {after} packets"),
        false => format!("{error}, after {after} packets"),
    });
}
