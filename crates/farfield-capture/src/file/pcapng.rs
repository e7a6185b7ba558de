//! pcapng, read by farfield-wire. Interfaces of a second section are numbered on behind those of the first.

use super::{FileItem, RawPacket, note_end};
use crate::instant::UnixNs;
use crate::limits::{InterfaceSeen, Limits};
use farfield_wire::pcapng::{BlockView, Reader, ReaderError, SIMPLE_PACKET};
use std::collections::BTreeMap;
use std::io::{self, Read};

/// A pcapng file being read.
pub(crate) struct Pcapng<R> {
    reader: Reader<R>,
    /// Link types of all interfaces so far.
    link_types: Vec<u16>,
    /// Interfaces of the sections before this one.
    before_section: u32,
    /// Packets lost, as counted by the packets themselves.
    drops: u64,
    /// Packets lost, as the last statistics of each interface have it.
    statistics: BTreeMap<u32, u64>,
}

impl<R: Read> Pcapng<R> {
    pub fn new(source: R) -> Pcapng<R> {
        Pcapng {
            reader: Reader::new(source),
            link_types: Vec::new(),
            before_section: 0,
            drops: 0,
            statistics: BTreeMap::new(),
        }
    }

    pub fn next_record(&mut self, limits: &mut Limits) -> FileItem<'_> {
        let block = match self.reader.next_view() {
            Ok(Some(block)) => block,
            Ok(None) => return FileItem::End,
            Err(error) => {
                let ended = |error: &io::Error| error.kind() == io::ErrorKind::UnexpectedEof;
                note_end(limits, &error, matches!(&error, ReaderError::Io(error) if ended(error)));
                return FileItem::End;
            }
        };
        match block {
            BlockView::Section => self.before_section = self.link_types.len() as u32,
            BlockView::Interface(interface) => {
                let link_type = interface.link.0;
                let seen = InterfaceSeen { name: interface.name, link_type, packets: 0 };
                limits.interfaces.insert(self.link_types.len() as u32, seen);
                self.link_types.push(link_type);
            }
            BlockView::Packet { metadata, original_len, bytes } => {
                let interface = self.before_section + metadata.interface.0;
                self.drops += metadata.drops;
                return FileItem::Packet(RawPacket {
                    at: UnixNs(metadata.at_unix_ns),
                    interface,
                    link_type: self.link_types[interface as usize],
                    original_len: (original_len as usize).max(bytes.len()),
                    bytes,
                });
            }
            BlockView::Statistics(interface, statistics) => {
                let lost = [statistics.interface_drops, statistics.capture_drops];
                let lost = lost.into_iter().flatten().fold(0, u64::saturating_add);
                self.statistics.insert(self.before_section + interface.0, lost);
            }
            BlockView::Other(SIMPLE_PACKET) => {
                limits.packets += 1;
                limits.packets_timeless += 1;
            }
            BlockView::Other(_) => {}
        }
        FileItem::Noted
    }

    /// Packets that the capture lost: the larger count, since the two are of the same packets.
    pub fn reported_drops(&self) -> u64 {
        self.statistics.values().copied().fold(0, u64::saturating_add).max(self.drops)
    }
}
