//! Integers of variable length (RFC 9000, 16): one, two, four or eight bytes, as the first two bits say.

/// An integer on its way, in pieces of any size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Varint {
    value: u64,
    /// Bytes that are still to come; 0 before the first.
    missing: u8,
}

impl Varint {
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
}
