//! Integers with a prefix (RFC 7541, 5.1; RFC 9204, 4.1.1).

use super::CodingError;

/// No length, index or size in a block is larger; a decoder MUST set a limit (RFC 7541, 5.1).
const LARGEST: u64 = 1 << 30;

/// Takes an integer with a prefix of so many bits, 3 to 8, from the beginning of `bytes`.
pub(crate) fn decode(bytes: &mut &[u8], prefix_bits: u32) -> Result<u32, CodingError> {
    let (&first, mut rest) = bytes.split_first().ok_or(CodingError::Truncated)?;
    let mask = 0xffu8 >> (8 - prefix_bits);
    let mut value = u64::from(first & mask);
    if first & mask == mask {
        let mut shift = 0;
        loop {
            let (&byte, behind) = rest.split_first().ok_or(CodingError::Truncated)?;
            rest = behind;
            value += u64::from(byte & 0x7f) << shift;
            shift += 7;
            if value > LARGEST || (shift > 28 && byte & 0x80 != 0) {
                return Err(CodingError::IntegerTooLarge);
            }
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    *bytes = rest;
    Ok(value as u32)
}

/// Appends `value` with a prefix of so many bits, behind the bits of `pattern`.
pub(crate) fn encode(value: u32, pattern: u8, prefix_bits: u32, out: &mut Vec<u8>) {
    let mask = (1u32 << prefix_bits) - 1;
    if value < mask {
        return out.push(pattern | value as u8);
    }
    out.push(pattern | mask as u8);
    let mut rest = value - mask;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}
