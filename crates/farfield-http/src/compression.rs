//! Common parts of HPACK and QPACK: integers with a prefix, and strings as they are or in the Huffman code
//! (RFC 7541, 5; RFC 9204, 4.1).

mod huffman;
pub(crate) mod integer;

/// Why an integer or a string cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodingError {
    /// The bytes end before it does.
    Truncated,
    /// The integer has more bytes or a greater value than any that is of use (RFC 7541, 5.1).
    IntegerTooLarge,
    /// The string is no Huffman code, contains EOS, or is badly padded (RFC 7541, 5.2).
    BadHuffman,
}

/// Buffers of strings on their way through a decoder; any number of decoders share one.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(crate) name: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

/// Takes a string whose length has a prefix of so many bits, 3 to 7, behind the bit that says whether it is
/// Huffman-coded: its bytes as they are, or decoded in `buffer`.
pub(crate) fn take_string<'a, 'b: 'a>(
    rest: &mut &'b [u8],
    prefix_bits: u32,
    buffer: &'a mut Vec<u8>,
) -> Result<&'a [u8], CodingError> {
    let is_huffman = rest.first().is_some_and(|first| first & (1 << prefix_bits) != 0);
    let length = integer::decode(rest, prefix_bits)? as usize;
    let (bytes, behind) = rest.split_at_checked(length).ok_or(CodingError::Truncated)?;
    *rest = behind;
    if !is_huffman {
        return Ok(bytes);
    }
    buffer.clear();
    if huffman::decode(bytes, buffer) { Ok(buffer) } else { Err(CodingError::BadHuffman) }
}

/// Appends a string, Huffman-coded where that makes it shorter; its length has a prefix of so many bits, 3 to
/// 7, behind the bits of `pattern` and the one that says whether it is coded.
pub(crate) fn put_string(bytes: &[u8], pattern: u8, prefix_bits: u32, out: &mut Vec<u8>) {
    let coded = huffman::encoded_length(bytes);
    if coded < bytes.len() {
        integer::encode(coded as u32, pattern | 1 << prefix_bits, prefix_bits, out);
        huffman::encode(bytes, out);
    } else {
        integer::encode(bytes.len() as u32, pattern, prefix_bits, out);
        out.extend_from_slice(bytes);
    }
}
