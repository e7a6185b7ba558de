//! The Huffman code for string literals (RFC 7541, 5.2 and appendix B).
//!
//! The code is canonical: codes grow with their length, and among equal lengths with the symbol. The lengths
//! alone are therefore written down; everything else is computed from them at compile time.

/// Bits of each symbol's code; the last is EOS, which never stands in a string.
#[rustfmt::skip]
const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7,
    7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21,
    23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24,
    21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

const SYMBOLS: usize = 257;
const EOS: u16 = 256;
/// The longest code, in bits.
const LONGEST: usize = 30;
/// Codes of up to so many bits, which all usual characters have, are found with one look at a table.
const SHORT_BITS: u32 = 8;

/// Tables computed from the codes' lengths.
struct Tables {
    /// The code of each symbol, in its lowest bits.
    codes: [u32; SYMBOLS],
    /// Symbols in the order of their codes.
    symbols: [u16; SYMBOLS],
    /// For each length, the place in `symbols` of the first symbol with such a code.
    offset: [u16; LONGEST + 1],
    /// For each length, the first code.
    first: [u32; LONGEST + 1],
    /// For each length, what follows the last code, as the topmost of 32 bits.
    limit: [u64; LONGEST + 1],
    /// By the next bits: the symbol that they begin with and the length of its code, or 0 if that is longer.
    short: [(u8, u8); 1 << SHORT_BITS],
}

static TABLES: Tables = tables();

const fn tables() -> Tables {
    let mut tables = Tables {
        codes: [0; SYMBOLS],
        symbols: [0; SYMBOLS],
        offset: [0; LONGEST + 1],
        first: [0; LONGEST + 1],
        limit: [0; LONGEST + 1],
        short: [(0, 0); 1 << SHORT_BITS],
    };
    let (mut code, mut placed, mut length) = (0u32, 0, 1);
    while length <= LONGEST {
        code <<= 1;
        tables.first[length] = code;
        tables.offset[length] = placed as u16;
        let mut symbol = 0;
        while symbol < SYMBOLS {
            if LENGTHS[symbol] as usize == length {
                tables.codes[symbol] = code;
                tables.symbols[placed] = symbol as u16;
                if length as u32 <= SHORT_BITS {
                    let free = SHORT_BITS - length as u32;
                    let mut rest = 0;
                    while rest < 1 << free {
                        tables.short[((code << free) | rest) as usize] = (symbol as u8, length as u8);
                        rest += 1;
                    }
                }
                code += 1;
                placed += 1;
            }
            symbol += 1;
        }
        tables.limit[length] = (code as u64) << (32 - length);
        length += 1;
    }
    tables
}

/// Appends the decoded string to `out`. False if a code is EOS, or if what is left at the end is not a
/// padding of at most seven ones: the string is then an error (RFC 7541, 5.2).
pub(super) fn decode(bytes: &[u8], out: &mut Vec<u8>) -> bool {
    let mut rest = bytes;
    // The shortest code has five bits.
    out.reserve(bytes.len() * 8 / 5);
    // The next bits, from the top; `held` of them are there, and zeros follow.
    let (mut bits, mut held) = (0u64, 0u32);
    loop {
        if held < 32 {
            (bits, held) = refill(bits, held, &mut rest);
        }
        let (mut symbol, mut length) = short(bits);
        if length == 0 {
            (symbol, length) = long(bits);
        }
        if length > held {
            return held < 8 && bits.leading_ones() >= held;
        }
        if symbol == EOS {
            return false;
        }
        out.push(symbol as u8);
        bits <<= length;
        held -= length;
    }
}

/// Takes four bytes behind the fewer than 32 bits that are held, or what is left.
fn refill(mut bits: u64, mut held: u32, rest: &mut &[u8]) -> (u64, u32) {
    if let Some((four, behind)) = rest.split_first_chunk::<4>() {
        *rest = behind;
        return (bits | u64::from(u32::from_be_bytes(*four)) << (32 - held), held + 32);
    }
    for &byte in std::mem::take(rest) {
        bits |= u64::from(byte) << (56 - held);
        held += 8;
    }
    (bits, held)
}

fn short(bits: u64) -> (u16, u32) {
    let (symbol, length) = TABLES.short[(bits >> (64 - SHORT_BITS)) as usize];
    (u16::from(symbol), u32::from(length))
}

/// The symbol that the bits begin with, where its code is longer than the table of short ones has.
fn long(bits: u64) -> (u16, u32) {
    let top = bits >> 32;
    let mut length = SHORT_BITS as usize + 1;
    while length < LONGEST && top >= TABLES.limit[length] {
        length += 1;
    }
    let code = (top >> (32 - length)) as u32;
    let place = u32::from(TABLES.offset[length]) + (code - TABLES.first[length]);
    (TABLES.symbols[place as usize], length as u32)
}

/// Bytes of the encoded string.
pub(super) fn encoded_length(bytes: &[u8]) -> usize {
    bytes.iter().map(|&byte| usize::from(LENGTHS[usize::from(byte)])).sum::<usize>().div_ceil(8)
}

/// Appends the encoded string to `out`, padded with ones.
pub(super) fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    let (mut bits, mut held) = (0u64, 0u32);
    for &byte in bytes {
        let length = u32::from(LENGTHS[usize::from(byte)]);
        bits = (bits << length) | u64::from(TABLES.codes[usize::from(byte)]);
        held += length;
        while held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    if held > 0 {
        let padding = 8 - held;
        out.push(((bits << padding) | ((1 << padding) - 1)) as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoded(bytes: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        decode(bytes, &mut out).then_some(out)
    }

    #[test]
    fn codes_are_those_of_the_appendix() {
        // RFC 7541, appendix B: the first, the last, and one of some lengths.
        for (symbol, code) in [
            (0, 0x1ff8),
            (usize::from(b'0'), 0x0),
            (usize::from(b'A'), 0x21),
            (usize::from(b'~'), 0x1ffd),
            (10, 0x3fff_fffc),
            (127, 0xfff_fffc),
            (203, 0x7ff_ffde),
            (255, 0x3ff_ffee),
            (256, 0x3fff_ffff),
        ] {
            assert_eq!(TABLES.codes[symbol], code, "{symbol}");
        }
        // Kraft's sum of a complete code.
        let sum: u64 = LENGTHS.iter().map(|&length| 1u64 << (30 - length)).sum();
        assert_eq!(sum, 1 << 30);
    }

    #[test]
    fn what_is_no_padding_is_an_error() {
        assert_eq!(decoded(b""), Some(Vec::new()));
        // `0` is 00000; three bits are left.
        assert_eq!(decoded(&[0b0000_0111]), Some(b"0".to_vec()));
        assert_eq!(decoded(&[0b0000_0110]), None, "padding with a zero");
        assert_eq!(decoded(&[0b0000_0111, 0xff]), None, "padding of more than seven bits");
        assert_eq!(decoded(&[0xff]), None, "padding of eight bits");
        assert_eq!(decoded(&[0xff; 4]), None, "EOS");
        assert_eq!(decoded(&[0xff; 40]), None, "EOS, again and again");
    }

    proptest! {
        #[test]
        fn strings_come_back(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let mut encoded = Vec::new();
            encode(&bytes, &mut encoded);
            prop_assert_eq!(encoded.len(), encoded_length(&bytes));
            prop_assert_eq!(decoded(&encoded), Some(bytes));
        }

        #[test]
        fn a_string_has_one_encoding(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            if let Some(text) = decoded(&bytes) {
                let mut again = Vec::new();
                encode(&text, &mut again);
                prop_assert_eq!(again, bytes);
            }
        }
    }
}
