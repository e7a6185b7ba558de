//! Packets that a capture holds twice: the "any" interface sees a packet on a bridge and on its port, a
//! mirror port sees it come and go. The second one has the same header within moments. A retransmission has
//! another identification in IPv4, or comes later.
//!
//! ACKs without data are not distinguished from duplicates if their packets have no identification: receivers
//! repeat them on purpose. They are then counted twice, which changes no byte and no instant.

use crate::instant::UnixNs;
use crate::segment::Segment;

/// Packets of a direction that are remembered: a duplicate comes behind as many others at most.
const REMEMBERED: usize = 4;
/// Greatest delay of a duplicate, if its identification shows that it is one.
const IDENTIFIED_NS: u64 = 10_000_000;
/// Greatest delay, if only the rest of the header does: no retransmission is as quick.
const UNIDENTIFIED_NS: u64 = 100_000;

/// The last packets of a direction.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    seen: [(u64, UnixNs); REMEMBERED],
    at: usize,
}

impl Recent {
    /// True if `segment` was there moments ago; remembers it.
    pub fn has(&mut self, at: UnixNs, segment: &Segment<'_>) -> bool {
        if segment.ident == 0 && segment.data_len == 0 && segment.flags.0 & 0x07 == 0 {
            return false;
        }
        let near = if segment.ident == 0 { UNIDENTIFIED_NS } else { IDENTIFIED_NS };
        let header = fingerprint(segment);
        if self.seen.iter().any(|&(other, before)| other == header && at.since(before) <= near) {
            return true;
        }
        self.seen[self.at] = (header, at);
        self.at = (self.at + 1) % REMEMBERED;
        false
    }
}

/// A number that differs, but for accidents, if a field differs that is not changed on the way.
fn fingerprint(segment: &Segment<'_>) -> u64 {
    let numbers = u64::from(segment.seq) << 32 | u64::from(segment.ack);
    let rest = (segment.data_len as u64) << 40
        | u64::from(segment.flags.0) << 32
        | u64::from(segment.window) << 16
        | u64::from(segment.ident);
    let (words, last) = segment.options.as_chunks::<4>();
    let words = words.iter().map(|&word| u64::from(u32::from_le_bytes(word)));
    let last = last.iter().map(|&byte| u64::from(byte));
    [numbers, rest].into_iter().chain(words).chain(last).fold(1, mix)
}

/// `state` with `word` mixed in.
pub(crate) fn mix(state: u64, word: u64) -> u64 {
    let product = u128::from(state ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
    (product >> 64) as u64 ^ product as u64
}
