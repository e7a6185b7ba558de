//! The internet checksum (RFC 1071), its incremental update (RFC 1624) and its offload.
//!
//! A ones' complement sum does not care for the order of bytes inside words nor for the width of the adder
//! (RFC 1071, section 2 (A) to (C)): so [`Sum`] adds 32-bit words as the machine holds them into eight 64-bit
//! lanes, which compilers turn into vector adds, and swaps and folds once at the end.

use crate::field::put_u16;

/// A running ones' complement sum of 16-bit words.
///
/// Pieces may be added one after the other wherever they are cut, also at an odd byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum {
    /// A sum of at most 2^47 words of 16 bits each, not folded.
    words: u64,
    /// An odd count of bytes was added so far: the next byte is the lower half of a word.
    odd: bool,
}

impl Sum {
    /// The sum of nothing.
    pub const ZERO: Sum = Sum { words: 0, odd: false };

    /// The sum of `bytes`, from their first on.
    pub fn of(bytes: &[u8]) -> Sum {
        Sum::ZERO.bytes(bytes)
    }

    /// With `bytes` following.
    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> Sum {
        let sum = native_sum(bytes).to_be();
        // RFC 1071, section 2 (B): where words begin at an odd byte, their sum is the byte-swapped one.
        let sum = if self.odd { sum.swap_bytes() } else { sum };
        Sum { words: self.words + u64::from(sum), odd: self.odd ^ !bytes.len().is_multiple_of(2) }
    }

    /// With a word following. Words follow an even count of bytes.
    #[must_use]
    pub fn word(self, word: u16) -> Sum {
        debug_assert!(!self.odd, "a word would lie across two");
        Sum { words: self.words + u64::from(word), odd: false }
    }

    /// The 16-bit sum. What offload wants in the checksum field when it covers the pseudo-header only.
    pub fn fold(self) -> u16 {
        fold(self.words)
    }

    /// The checksum: the complement of the sum.
    pub fn checksum(self) -> u16 {
        !self.fold()
    }
}

/// Adds 16-bit words in the machine's order of bytes; a last odd byte is followed by zero.
fn native_sum(bytes: &[u8]) -> u16 {
    let (blocks, rest) = bytes.as_chunks::<32>();
    let mut lanes = [0u64; 8];
    for block in blocks {
        let (words, _) = block.as_chunks::<4>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane += u64::from(u32::from_ne_bytes(*word));
        }
    }
    // Below 2^32 words a slice, no lane overflows.
    let mut sum: u64 = lanes.iter().map(|lane| (lane & 0xffff_ffff) + (lane >> 32)).sum();
    let (words, last) = rest.as_chunks::<2>();
    for word in words {
        sum += u64::from(u16::from_ne_bytes(*word));
    }
    if let [last] = last {
        sum += u64::from(u16::from_ne_bytes([*last, 0]));
    }
    fold(sum)
}

fn fold(sum: u64) -> u16 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

/// The checksum of a header in which one aligned word changed from `old` to `new` (RFC 1624, equation 3).
pub fn update_checksum(checksum: u16, old: u16, new: u16) -> u16 {
    !fold(u64::from(!checksum) + u64::from(!old) + u64::from(new))
}

/// As [`update_checksum`], for an aligned field of 32 bits.
pub fn update_checksum_u32(checksum: u16, old: u32, new: u32) -> u16 {
    let high = update_checksum(checksum, (old >> 16) as u16, (new >> 16) as u16);
    update_checksum(high, old as u16, new as u16)
}

/// Finishes a partial checksum, as a device with checksum offload does: sums `packet` from `start` to its
/// end, the partial sum in the field at `start + offset` included, and writes the result there.
///
/// False, and nothing written, if the field does not lie in the packet.
pub fn complete_checksum(packet: &mut [u8], start: usize, offset: usize) -> bool {
    let Some(field) = start.checked_add(offset) else { return false };
    if field.checked_add(2).is_none_or(|end| end > packet.len()) {
        return false;
    }
    let checksum = Sum::of(&packet[start..]).checksum();
    // RFC 768: a UDP checksum that comes out as zero is sent as all ones; for TCP both are zero and equal.
    put_u16(packet, field, if checksum == 0 { 0xffff } else { checksum });
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 1071, section 1, word by word.
    fn naive(bytes: &[u8]) -> u16 {
        let mut sum = 0u32;
        for pair in bytes.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
            if sum > 0xffff {
                sum -= 0xffff; // the end-around carry
            }
        }
        sum as u16
    }

    /// 0 and 0xffff are the same number in ones' complement.
    fn same(a: u16, b: u16) -> bool {
        a == b || (a ^ b == 0xffff && (a == 0 || b == 0))
    }

    #[test]
    fn the_example_of_rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Sum::of(&bytes).fold(), 0xddf2);
        assert_eq!(Sum::of(&bytes).checksum(), 0x220d);
    }

    #[test]
    fn the_example_of_rfc_1624() {
        // Section 4: with equation 2 this came out as 0xffff.
        assert_eq!(update_checksum(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn the_longest_run_of_ones_does_not_overflow() {
        let bytes = vec![0xff; 1 << 20];
        assert_eq!(Sum::of(&bytes).fold(), 0xffff);
    }

    #[test]
    fn a_partial_checksum_outside_the_packet_is_refused() {
        let mut packet = [0u8; 8];
        assert!(!complete_checksum(&mut packet, 4, 3));
        assert!(!complete_checksum(&mut packet, usize::MAX, 2));
        assert!(complete_checksum(&mut packet, 4, 2));
    }

    proptest! {
        #[test]
        fn agrees_with_the_naive_sum(bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
            prop_assert_eq!(Sum::of(&bytes).fold(), naive(&bytes));
        }

        #[test]
        fn pieces_make_the_whole(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            cuts in prop::collection::vec(0usize..300, 0..6),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            cuts.push(bytes.len());
            let mut sum = Sum::ZERO;
            let mut from = 0;
            for cut in cuts {
                sum = sum.bytes(&bytes[from..cut]);
                from = cut;
            }
            prop_assert!(same(sum.fold(), naive(&bytes)));
        }

        #[test]
        fn updating_is_summing_again(
            mut bytes in prop::collection::vec(any::<u8>(), 20..60),
            at in 0usize..8,
            new: u32,
        ) {
            let at = at * 2;
            let before = Sum::of(&bytes).checksum();
            let old = u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
            bytes[at..at + 4].copy_from_slice(&new.to_be_bytes());
            prop_assert!(same(update_checksum_u32(before, old, new), Sum::of(&bytes).checksum()));
        }
    }
}
