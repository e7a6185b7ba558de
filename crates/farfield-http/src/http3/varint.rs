//! Integers of variable length (RFC 9000, 16): one, two, four or eight bytes, as the first two bits say.

/// An integer on its way, in pieces of any size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Varint {
    value: u64,
    /// Bytes that are still to come; 0 before the first.
    missing: u8,
}

impl Varint {
    /// True if no integer has begun that is not over.
    pub(super) fn is_between(self) -> bool {
        self.missing == 0
    }

    /// Takes the next byte, and returns the integer if that was its last.
    pub(super) fn push(&mut self, byte: u8) -> Option<u64> {
        if self.missing == 0 {
            self.value = u64::from(byte & 0x3f);
            self.missing = (1 << (byte >> 6)) - 1;
        } else {
            self.value = (self.value << 8) | u64::from(byte);
            self.missing -= 1;
        }
        (self.missing == 0).then_some(self.value)
    }
}

/// Appends `value`, below 2^62, in as few bytes as hold it.
pub(super) fn encode(value: u64, out: &mut Vec<u8>) {
    match value {
        0..0x40 => out.push(value as u8),
        0x40..0x4000 => out.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => out.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend_from_slice(&(value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rfcs_examples() {
        // RFC 9000, appendix A.1; the last is 37 in two bytes.
        let examples: [(&[u8], u64); 5] = [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
            (&[0x40, 0x25], 37),
        ];
        let mut varint = Varint::default();
        for (bytes, value) in examples {
            let (last, before) = bytes.split_last().expect("bytes");
            assert!(before.iter().all(|byte| varint.push(*byte).is_none()));
            assert_eq!(varint.push(*last), Some(value));
        }
    }

    #[test]
    fn what_is_written_is_short_and_read_back() {
        for (value, bytes) in [(0, 1), (63, 1), (64, 2), (16_383, 2), (16_384, 4), ((1 << 30) - 1, 4)] {
            let mut out = Vec::new();
            encode(value, &mut out);
            assert_eq!(out.len(), bytes, "{value}");
            let mut varint = Varint::default();
            assert_eq!(out.iter().filter_map(|byte| varint.push(*byte)).collect::<Vec<_>>(), [value]);
        }
        let mut out = Vec::new();
        encode((1 << 62) - 1, &mut out);
        assert_eq!(out, [0xff; 8]);
    }
}
