//! Classic pcap (draft-ietf-opsawg-pcap): either order of bytes, microseconds or nanoseconds. It has one
//! interface and says nothing of packets that were lost. Variants with other records are refused by name.

use super::{FileItem, RawPacket, note_end};
use crate::instant::UnixNs;
use crate::limits::{InterfaceSeen, Limits};
use crate::rebuild::CaptureError;
use std::io::{self, Read};

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
/// A record that says it is longer is damage.
const RECORD_LEN_MAX: u32 = 16 << 20;

/// A pcap file being read.
pub(crate) struct Pcap<R> {
    source: R,
    big_endian: bool,
    /// Nanoseconds in a unit of the lower word of a time.
    unit_ns: u64,
    link_type: u16,
    body: Vec<u8>,
}

impl<R: Read> Pcap<R> {
    /// Reads the file's header, which begins with `magic`.
    ///
    /// # Errors
    /// If it is none, or one of a variant.
    pub fn open(mut source: R, magic: [u8; 4], limits: &mut Limits) -> Result<Pcap<R>, CaptureError> {
        let is = |number: u32| {
            let big = u32::from_be_bytes(magic) == number;
            (big || u32::from_le_bytes(magic) == number).then_some(big)
        };
        let (big_endian, unit_ns) = match (is(MICROSECONDS), is(NANOSECONDS)) {
            (Some(big_endian), _) => (big_endian, 1_000),
            (_, Some(big_endian)) => (big_endian, 1),
            _ if is(0xa1b2_cd34).is_some() => return Err(CaptureError::Format("modified pcap (Kuznetzov)")),
            _ if is(0x1c00_01ab).is_some() => return Err(CaptureError::Format("IxVeriWave software pcap")),
            _ if is(0x1c00_01ac).is_some() => return Err(CaptureError::Format("IxVeriWave hardware pcap")),
            _ => return Err(CaptureError::NotACapture),
        };
        let mut head = [0; 24];
        source.read_exact(&mut head).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => CaptureError::NotACapture,
            _ => CaptureError::Io(error),
        })?;
        let mut file = Pcap { source, big_endian, unit_ns, link_type: 0, body: Vec::new() };
        // The upper half of the word says how many bytes of checksum follow each packet, which IP's own
        // length leaves out.
        file.link_type = file.u32(&head, 20) as u16;
        let interface = InterfaceSeen { name: String::new(), link_type: file.link_type, packets: 0 };
        limits.interfaces.insert(0, interface);
        Ok(file)
    }

    pub fn next_record(&mut self, limits: &mut Limits) -> FileItem<'_> {
        let mut head = [0; 16];
        let mut begun = 0;
        while begun < head.len() {
            match self.source.read(&mut head[begun..]) {
                Ok(0) if begun == 0 => return FileItem::End,
                Ok(0) => {
                    note_end(limits, &"", true);
                    return FileItem::End;
                }
                Ok(more) => begun += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    note_end(limits, &error, false);
                    return FileItem::End;
                }
            }
        }
        let (captured_len, original_len) = (self.u32(&head, 8), self.u32(&head, 12));
        if captured_len > RECORD_LEN_MAX {
            note_end(limits, &"the file is damaged: an impossible length of a packet", false);
            return FileItem::End;
        }
        self.body.clear();
        match self.source.by_ref().take(captured_len.into()).read_to_end(&mut self.body) {
            Ok(read) if read == captured_len as usize => {}
            Ok(_) => {
                note_end(limits, &"", true);
                return FileItem::End;
            }
            Err(error) => {
                note_end(limits, &error, false);
                return FileItem::End;
            }
        }
        let seconds = u64::from(self.u32(&head, 0));
        FileItem::Packet(RawPacket {
            at: UnixNs(seconds * 1_000_000_000 + u64::from(self.u32(&head, 4)) * self.unit_ns),
            interface: 0,
            link_type: self.link_type,
            original_len: (original_len as usize).max(self.body.len()),
            bytes: &self.body,
        })
    }

    fn u32(&self, bytes: &[u8], at: usize) -> u32 {
        let bytes = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }
}
