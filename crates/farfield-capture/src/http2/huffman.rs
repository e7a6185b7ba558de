//! The Huffman code of header strings (RFC 7541, section 5.2 and appendix B).
//!
//! The code is canonical: codes of one length follow each other in the order of their symbols, and shorter
//! ones come first. The lengths therefore say all.

use std::sync::OnceLock;

/// The symbol that stands for the end, and for nothing in a string.
const END: usize = 256;

/// The longest code, in bits.
const LONGEST: usize = 30;

/// The length of each symbol's code, in bits; the end of the string last.
#[rustfmt::skip]
const LENGTHS: [u8; END + 1] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6,
    6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6,
    6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22,
    20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23,
    22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22,
    23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22,
    25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

/// For each length: the first code, and the place of its symbol among all symbols in the order of their
/// codes.
struct Codes {
    first: [u32; LONGEST + 1],
    count: [u32; LONGEST + 1],
    place: [usize; LONGEST + 1],
    symbols: Vec<u16>,
}

fn codes() -> &'static Codes {
    static CODES: OnceLock<Codes> = OnceLock::new();
    CODES.get_or_init(|| {
        let mut symbols: Vec<u16> = (0..=END as u16).collect();
        symbols.sort_by_key(|symbol| (LENGTHS[usize::from(*symbol)], *symbol));
        let mut codes =
            Codes { first: [0; LONGEST + 1], count: [0; LONGEST + 1], place: [0; LONGEST + 1], symbols };
        let (mut code, mut place) = (0, 0);
        for length in 1..=LONGEST {
            code <<= 1;
            let count = LENGTHS.iter().filter(|own| usize::from(**own) == length).count();
            (codes.first[length], codes.count[length], codes.place[length]) = (code, count as u32, place);
            (code, place) = (code + count as u32, place + count);
        }
        codes
    })
}

/// The string that `bytes` are the code of; `None` if they are none, or end in more than padding.
pub(crate) fn decode(bytes: &[u8]) -> Option<Vec<u8>> {
    let codes = codes();
    let mut text = Vec::with_capacity(bytes.len() * 8 / 5);
    let (mut code, mut length) = (0u32, 0usize);
    for byte in bytes {
        for bit in (0..8).rev() {
            code = code << 1 | u32::from(byte >> bit & 1);
            length += 1;
            let within = code.wrapping_sub(codes.first[length]);
            if code >= codes.first[length] && within < codes.count[length] {
                let symbol = codes.symbols[codes.place[length] + within as usize];
                text.push(u8::try_from(symbol).ok()?);
                (code, length) = (0, 0);
            } else if length == LONGEST {
                return None;
            }
        }
    }
    // Padding is the beginning of the code for the end, which is ones, and shorter than a byte.
    (length < 8 && code == (1 << length) - 1).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7541, appendix C.4 and C.6.
    #[test]
    fn strings_of_the_rfc() {
        for (code, text) in [
            (
                &[0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff][..],
                "www.example.com",
            ),
            (&[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf], "no-cache"),
            (&[0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xa9, 0x7d, 0x7f], "custom-key"),
            (&[0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xb8, 0xe8, 0xb4, 0xbf], "custom-value"),
            (&[0x64, 0x02], "302"),
            (&[], ""),
        ] {
            assert_eq!(decode(code).as_deref(), Some(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn what_is_no_string() {
        // The code for the end; padding of a byte; padding with a zero.
        for code in [&[0xff, 0xff, 0xff, 0xff][..], &[0x64, 0x02, 0xff], &[0x18]] {
            assert_eq!(decode(code), None, "{code:x?}");
        }
    }

    /// The code is complete: every sequence of bits begins with one code.
    #[test]
    fn the_lengths_fill_the_code() {
        let taken: f64 = LENGTHS.iter().map(|length| 0.5f64.powi(i32::from(*length))).sum();
        assert_eq!(taken, 1.0);
    }
}
