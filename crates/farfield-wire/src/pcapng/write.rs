//! Writing a capture. No packet allocates; hand in a buffered writer.

use super::{
    BYTE_ORDER, Direction, INTERFACE, Interface, InterfaceId, PACKET, PacketMetadata, SECTION, STATISTICS,
    Statistics, option,
};
use std::io::{self, Write};

/// Bytes of a block around its body: type, and length twice.
const FRAME_LEN: usize = 12;
const END_OF_OPTIONS: [u8; 4] = [0; 4];

/// A pcapng file being written, in the machine's order of bytes.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    /// The snap length of each interface, `u32::MAX` for all.
    snap_lens: Vec<u32>,
}

impl<W: Write> Writer<W> {
    /// Begins a file; `application` is what wrote it, with its version.
    ///
    /// # Errors
    /// Those of `out`, as everywhere here.
    pub fn new(out: W, application: &str) -> io::Result<Writer<W>> {
        let mut writer = Writer { out, snap_lens: Vec::new() };
        let mut body = Vec::new();
        body.extend(BYTE_ORDER.to_ne_bytes());
        body.extend([1u16.to_ne_bytes(), 0u16.to_ne_bytes()].concat()); // version 1.0
        body.extend(u64::MAX.to_ne_bytes()); // the section's length is not said
        push_option(&mut body, option::USER_APPLICATION, application.as_bytes());
        body.extend(END_OF_OPTIONS);
        writer.block(SECTION, &[&body])?;
        Ok(writer)
    }

    /// Describes an interface, before the first of its packets.
    ///
    /// # Errors
    /// If writing fails.
    pub fn add_interface(&mut self, interface: &Interface) -> io::Result<InterfaceId> {
        let mut body = Vec::new();
        body.extend(interface.link.0.to_ne_bytes());
        body.extend([0; 2]);
        body.extend(interface.snap_len.to_ne_bytes());
        push_option(&mut body, option::IF_NAME, interface.name.as_bytes());
        push_option(&mut body, option::IF_TSRESOL, &[9]); // 10^-9 s
        body.extend(END_OF_OPTIONS);
        self.block(INTERFACE, &[&body])?;
        self.snap_lens.push(if interface.snap_len == 0 { u32::MAX } else { interface.snap_len });
        Ok(InterfaceId(self.snap_lens.len() as u32 - 1))
    }

    /// Writes a packet whose bytes are `parts` one after the other (say, a header and a slice of a large
    /// buffer), cut to the interface's snap length.
    ///
    /// # Panics
    /// If the interface is not this file's, or the packet longer than 2^31 bytes.
    pub fn packet(&mut self, metadata: &PacketMetadata, parts: &[&[u8]]) -> io::Result<()> {
        let original_len: usize = parts.iter().map(|part| part.len()).sum();
        self.packet_of_length(metadata, parts, original_len)
    }

    /// Writes a packet of `original_len` bytes, of which the first are given, cut to the interface's snap
    /// length.
    ///
    /// # Panics
    /// If the interface is not this file's, or more bytes are given than the packet had.
    pub fn cut_packet(
        &mut self,
        metadata: &PacketMetadata,
        first: &[u8],
        original_len: u32,
    ) -> io::Result<()> {
        let original_len = original_len as usize;
        assert!(first.len() <= original_len);
        self.packet_of_length(metadata, &[first], original_len)
    }

    fn packet_of_length(
        &mut self,
        metadata: &PacketMetadata,
        parts: &[&[u8]],
        original_len: usize,
    ) -> io::Result<()> {
        let given_len: usize = parts.iter().map(|part| part.len()).sum();
        let snap_len = self.snap_lens[metadata.interface.0 as usize];
        let captured_len = given_len.min(snap_len as usize);
        let padding = captured_len.next_multiple_of(4) - captured_len;

        let (options, options_len) = packet_options(metadata);
        let block_len = word(FRAME_LEN + 20 + captured_len + padding + options_len);
        let mut head = [0; 28];
        let words = [
            PACKET,
            block_len,
            metadata.interface.0,
            (metadata.at_unix_ns >> 32) as u32,
            metadata.at_unix_ns as u32,
            word(captured_len),
            word(original_len),
        ];
        for (place, value) in head.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *place = value.to_ne_bytes();
        }
        self.out.write_all(&head)?;
        let mut left = captured_len;
        for part in parts {
            let kept = &part[..part.len().min(left)];
            self.out.write_all(kept)?;
            left -= kept.len();
        }
        self.out.write_all(&[0; 4][..padding])?;
        self.out.write_all(&options[..options_len])?;
        self.out.write_all(&block_len.to_ne_bytes())
    }

    /// Writes what an interface saw until `at_unix_ns`; usually last.
    ///
    /// # Errors
    /// If writing fails.
    pub fn statistics(
        &mut self,
        of: InterfaceId,
        at_unix_ns: u64,
        statistics: &Statistics,
    ) -> io::Result<()> {
        let mut body = Vec::new();
        body.extend(of.0.to_ne_bytes());
        body.extend(halves(at_unix_ns));
        for (code, time) in
            [(option::ISB_STARTTIME, statistics.start_unix_ns), (option::ISB_ENDTIME, statistics.end_unix_ns)]
        {
            if let Some(time) = time {
                push_option(&mut body, code, &halves(time));
            }
        }
        for (code, count) in [
            (option::ISB_IFRECV, statistics.received),
            (option::ISB_IFDROP, statistics.interface_drops),
            (option::ISB_FILTERACCEPT, statistics.filter_accepted),
            (option::ISB_OSDROP, statistics.capture_drops),
        ] {
            if let Some(count) = count {
                push_option(&mut body, code, &count.to_ne_bytes());
            }
        }
        body.extend(END_OF_OPTIONS);
        self.block(STATISTICS, &[&body])
    }

    /// Hands everything written so far on. What was flushed can be read, whatever happens to the run.
    ///
    /// # Errors
    /// If writing fails.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Writer that the file goes to.
    pub fn sink(&self) -> &W {
        &self.out
    }

    /// Ends the file: what it was written to, flushed.
    ///
    /// # Errors
    /// If writing fails.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn block(&mut self, kind: u32, parts: &[&[u8]]) -> io::Result<()> {
        let body_len: usize = parts.iter().map(|part| part.len()).sum();
        debug_assert!(body_len.is_multiple_of(4));
        let length = word(FRAME_LEN + body_len).to_ne_bytes();
        self.out.write_all(&kind.to_ne_bytes())?;
        self.out.write_all(&length)?;
        for part in parts {
            self.out.write_all(part)?;
        }
        self.out.write_all(&length)
    }
}

/// The options of a packet, and how many of the bytes they take: none where there is nothing to say.
fn packet_options(metadata: &PacketMetadata) -> ([u8; 24], usize) {
    let mut bytes = [0; 24];
    let mut len = 0;
    let mut push = |code: u16, value: &[u8]| {
        bytes[len..len + 2].copy_from_slice(&code.to_ne_bytes());
        bytes[len + 2..len + 4].copy_from_slice(&(value.len() as u16).to_ne_bytes());
        bytes[len + 4..len + 4 + value.len()].copy_from_slice(value);
        len += 4 + value.len();
    };
    let direction = match metadata.direction {
        Direction::Unknown => 0u32,
        Direction::Inbound => 1,
        Direction::Outbound => 2,
    };
    if direction > 0 {
        push(option::EPB_FLAGS, &direction.to_ne_bytes());
    }
    if metadata.drops > 0 {
        push(option::EPB_DROPCOUNT, &metadata.drops.to_ne_bytes());
    }
    if len > 0 {
        len += END_OF_OPTIONS.len();
    }
    (bytes, len)
}

fn push_option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    body.extend(code.to_ne_bytes());
    body.extend((value.len() as u16).to_ne_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// A time as the format has it: the upper word first, whatever the order of bytes.
fn halves(time: u64) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&((time >> 32) as u32).to_ne_bytes());
    bytes[4..].copy_from_slice(&(time as u32).to_ne_bytes());
    bytes
}

fn word(length: usize) -> u32 {
    u32::try_from(length).expect("blocks stay below 4 GiB")
}
