//! Records of one direction (RFC 8446, section 5.1), cut out of a direction of TCP, each with the packets
//! that carried it.

use crate::instant::UnixNs;
use crate::stream::{StreamContent, StreamOffset, StreamPiece};

/// Bytes of a record's header.
const HEADER: usize = 5;
/// The longest body: content of 2^14 bytes, and what TLS 1.2 allows around it (RFC 5246, section 6.2.3).
const BODY_MAX: usize = (1 << 14) + 2048;

/// A record as far as it was captured.
#[derive(Debug)]
pub(super) struct TlsRecord {
    pub header: [u8; HEADER],
    /// The body; what of it was not captured is absent, and then [`TlsRecord::is_whole`] is false.
    pub body: Vec<u8>,
    /// Bytes that the body has.
    pub len: usize,
    /// Offset of the body's first byte.
    offset: StreamOffset,
    /// For each run of bytes from one packet: where in the body it ends, and when it was captured.
    runs: Vec<(usize, UnixNs)>,
    /// The packet that made the last byte of it available in order.
    pub available: UnixNs,
    /// Bytes of it were captured without their content.
    is_cut: bool,
    /// Bytes of it were never captured.
    is_missing: bool,
}

/// The next item of a direction.
#[derive(Debug)]
pub(super) enum Item {
    Record(TlsRecord),
    /// Bytes that are no part of a record that is known.
    Lost {
        offset: StreamOffset,
        count: u64,
        captured: UnixNs,
        available: UnixNs,
    },
    /// The end of the direction.
    Fin {
        offset: StreamOffset,
        captured: UnixNs,
        available: UnixNs,
    },
}

#[derive(Debug)]
enum Phase {
    Header {
        bytes: [u8; HEADER],
        len: usize,
    },
    /// A byte between records was never captured: a FIN, if nothing comes after it.
    ByteMissing,
    Body(TlsRecord),
    /// The bounds of records are not known any more.
    Lost,
}

const AT_HEADER: Phase = Phase::Header { bytes: [0; HEADER], len: 0 };

/// The records of one direction.
#[derive(Debug)]
pub(super) struct Records(Phase);

impl Records {
    /// Records from the beginning of a direction.
    pub fn new() -> Records {
        Records(AT_HEADER)
    }

    /// Reads no records any more.
    pub fn lose(&mut self) {
        self.0 = Phase::Lost;
    }

    /// Takes in what comes next in the direction.
    pub fn handle(&mut self, piece: &StreamPiece<'_>, hand_on: &mut impl FnMut(Item)) {
        let StreamPiece { offset, captured, available, .. } = *piece;
        match piece.what {
            StreamContent::Bytes(bytes) => self.handle_bytes(bytes, piece, hand_on),
            StreamContent::Missing(1) if matches!(self.0, Phase::Header { len: 0, .. }) => {
                self.0 = Phase::ByteMissing
            }
            StreamContent::Cut(count) => self.pass_over(count, false, piece, hand_on),
            StreamContent::Missing(count) => self.pass_over(count, true, piece, hand_on),
            StreamContent::Fin => hand_on(Item::Fin { offset, captured, available }),
        }
    }

    /// `count` bytes are not known: within a body they need not be.
    fn pass_over(
        &mut self,
        count: u64,
        is_missing: bool,
        piece: &StreamPiece<'_>,
        hand_on: &mut impl FnMut(Item),
    ) {
        let StreamPiece { offset, captured, available, .. } = *piece;
        match &mut self.0 {
            Phase::Body(record) if count <= (record.len - record.known()) as u64 => {
                record.is_missing |= is_missing;
                record.is_cut |= !is_missing;
                record.extend(count as usize, captured, available);
                self.end_if_whole(hand_on);
            }
            _ => {
                self.0 = Phase::Lost;
                hand_on(Item::Lost { offset, count, captured, available });
            }
        }
    }

    fn handle_bytes(&mut self, mut bytes: &[u8], piece: &StreamPiece<'_>, hand_on: &mut impl FnMut(Item)) {
        let StreamPiece { captured, available, .. } = *piece;
        let end = piece.offset + bytes.len() as StreamOffset;
        while !bytes.is_empty() {
            let offset = end - bytes.len() as StreamOffset;
            match &mut self.0 {
                Phase::Header { bytes: header, len } => {
                    let count = bytes.len().min(HEADER - *len);
                    header[*len..*len + count].copy_from_slice(&bytes[..count]);
                    *len += count;
                    bytes = &bytes[count..];
                    if *len == HEADER {
                        let header = *header;
                        self.begin(header, offset + count as StreamOffset, available);
                        self.end_if_whole(hand_on);
                    }
                }
                Phase::Body(record) => {
                    let count = bytes.len().min(record.len - record.known());
                    record.body.extend_from_slice(&bytes[..count]);
                    record.extend(count, captured, available);
                    bytes = &bytes[count..];
                    self.end_if_whole(hand_on);
                }
                Phase::ByteMissing | Phase::Lost => {
                    self.0 = Phase::Lost;
                    let count = bytes.len() as u64;
                    return hand_on(Item::Lost { offset, count, captured, available });
                }
            }
        }
    }

    /// The header that is whole begins a record, unless nothing of TLS begins so.
    fn begin(&mut self, header: [u8; HEADER], offset: StreamOffset, available: UnixNs) {
        let len = usize::from(u16::from_be_bytes([header[3], header[4]]));
        self.0 = match header {
            [20..=23, 3, ..] if len <= BODY_MAX => Phase::Body(TlsRecord {
                header,
                body: Vec::new(),
                len,
                offset,
                runs: Vec::new(),
                available,
                is_cut: false,
                is_missing: false,
            }),
            _ => Phase::Lost,
        };
    }

    fn end_if_whole(&mut self, hand_on: &mut impl FnMut(Item)) {
        if matches!(&self.0, Phase::Body(record) if record.known() == record.len)
            && let Phase::Body(record) = std::mem::replace(&mut self.0, AT_HEADER)
        {
            hand_on(Item::Record(record));
        }
    }
}

impl TlsRecord {
    /// The kind of its content; of a record of TLS 1.3 that is sealed always that of application data.
    pub fn kind(&self) -> u8 {
        self.header[0]
    }

    /// True if all of it was captured.
    pub fn is_whole(&self) -> bool {
        !self.is_cut && !self.is_missing
    }

    /// Bytes of the body that have come, with their content or without.
    fn known(&self) -> usize {
        self.runs.last().map_or(0, |run| run.0)
    }

    fn extend(&mut self, count: usize, captured: UnixNs, available: UnixNs) {
        self.runs.push((self.known() + count, captured));
        self.available = self.available.max(available);
    }

    /// Hands on `content`, which begins `before` bytes into the body: a piece for each packet. No byte is
    /// available before the last of the record is, with which its tag is checked.
    pub fn hand_on(&self, before: usize, content: &[u8], hand_on: &mut impl FnMut(&StreamPiece<'_>)) {
        let mut from = before;
        let end = before + content.len();
        for &(run_end, captured) in &self.runs {
            let to = run_end.min(end);
            if to > from {
                hand_on(&StreamPiece {
                    offset: self.offset + from as StreamOffset,
                    what: StreamContent::Bytes(&content[from - before..to - before]),
                    captured,
                    available: self.available,
                    begins_packet: from == before,
                });
                from = to;
            }
        }
    }

    /// The record's place in the direction, for what stands in place of its content.
    pub fn place(&self) -> RecordPlace {
        let captured = self.runs.first().map_or(self.available, |run| run.1);
        RecordPlace { offset: self.offset, captured, available: self.available }
    }

    /// True if content that is not known was captured, but for its bytes.
    pub fn is_only_cut(&self) -> bool {
        self.is_cut && !self.is_missing
    }
}

/// The place of something in a direction, and its instants.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordPlace {
    pub offset: StreamOffset,
    pub captured: UnixNs,
    pub available: UnixNs,
}

impl RecordPlace {
    /// The piece at this place.
    pub fn piece(self, what: StreamContent<'_>) -> StreamPiece<'_> {
        let RecordPlace { offset, captured, available } = self;
        StreamPiece { offset, what, captured, available, begins_packet: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(offset: StreamOffset, at: u64, what: StreamContent<'_>) -> StreamPiece<'_> {
        StreamPiece { offset, what, captured: UnixNs(at), available: UnixNs(at + 1), begins_packet: true }
    }

    /// The lengths of records, negative where they are not whole; the counts of lost bytes as 1,000 and
    /// more.
    fn read(pieces: &[(u64, StreamContent<'_>)]) -> Vec<i64> {
        let (mut records, mut found, mut offset) = (Records::new(), Vec::new(), 1);
        for &(at, what) in pieces {
            records.handle(&piece(offset, at, what), &mut |item| match item {
                Item::Record(record) if record.is_whole() => found.push(record.len as i64),
                Item::Record(record) => found.push(-(record.len as i64)),
                Item::Lost { count, .. } => found.push(1_000 + count as i64),
                Item::Fin { .. } => found.push(0),
            });
            offset += match what {
                StreamContent::Bytes(bytes) => bytes.len() as i64,
                StreamContent::Cut(count) | StreamContent::Missing(count) => count as i64,
                StreamContent::Fin => 1,
            };
        }
        found
    }

    const TWO: &[u8] = &[23, 3, 3, 0, 3, b'a', b'b', b'c', 22, 3, 1, 0, 1, b'd'];

    #[test]
    fn records_are_cut_out_however_they_come() {
        assert_eq!(read(&[(1, StreamContent::Bytes(TWO)), (2, StreamContent::Fin)]), [3, 1, 0]);
        let bytes: Vec<(u64, StreamContent<'_>)> =
            TWO.chunks(1).map(|byte| (1, StreamContent::Bytes(byte))).collect();
        assert_eq!(read(&bytes), [3, 1]);
        assert_eq!(read(&[(1, StreamContent::Bytes(&[21, 3, 3, 0, 0]))]), [0]);
    }

    #[test]
    fn what_is_missing_inside_a_body_loses_one_record_and_elsewhere_all() {
        let (head, tail) = (&TWO[..6], &TWO[8..]);
        assert_eq!(
            read(&[
                (1, StreamContent::Bytes(head)),
                (2, StreamContent::Missing(2)),
                (3, StreamContent::Bytes(tail))
            ]),
            [-3, 1]
        );
        assert_eq!(
            read(&[
                (1, StreamContent::Bytes(head)),
                (2, StreamContent::Cut(2)),
                (3, StreamContent::Bytes(tail))
            ]),
            [-3, 1]
        );
        // Past the body's end lies a header.
        let over =
            [(1, StreamContent::Bytes(head)), (2, StreamContent::Cut(3)), (3, StreamContent::Bytes(tail))];
        assert_eq!(read(&over), [1_003, 1_006]);
        assert_eq!(read(&[(1, StreamContent::Bytes(&TWO[..2])), (2, StreamContent::Missing(3))]), [1_003]);
        // One byte between records is a FIN, unless more comes.
        let between = [
            (1, StreamContent::Bytes(&TWO[..8])),
            (2, StreamContent::Missing(1)),
            (3, StreamContent::Bytes(tail)),
        ];
        assert_eq!(read(&between[..2]), [3]);
        assert_eq!(read(&between), [3, 1_006]);
        // No kind, no version, no length of a record.
        for header in [[24, 3, 3, 0, 1], [23, 2, 3, 0, 1], [23, 3, 3, 0x50, 0]] {
            assert_eq!(
                read(&[(1, StreamContent::Bytes(&header)), (2, StreamContent::Bytes(b"xx"))]),
                [1_002]
            );
        }
    }

    #[test]
    fn content_has_the_packets_of_its_bytes_and_is_available_with_the_last() {
        let mut records = Records::new();
        let mut seen = Vec::new();
        for (at, range) in [(10, 0..7), (20, 7..8)] {
            let offset = 1 + range.start as i64;
            records.handle(&piece(offset, at, StreamContent::Bytes(&TWO[range])), &mut |item| {
                let Item::Record(record) = item else { panic!("{item:?}") };
                record.hand_on(1, b"BC", &mut |piece| {
                    let StreamContent::Bytes(bytes) = piece.what else { panic!("{piece:?}") };
                    seen.push((piece.offset, bytes[0], piece.captured.0, piece.available.0));
                });
            });
        }
        assert_eq!(seen, [(7, b'B', 10, 21), (8, b'C', 20, 21)]);
    }
}
