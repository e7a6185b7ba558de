//! Bytes of an HTTP/3 server, however wrong, and the properties that hold for all. The fuzz target
//! `http3_qpack` is [`of_sections`].

use farfield_http::http3::qpack::{
    self, DecoderStream, EncoderStream, InstructionError, Literal, QpackError, Scratch,
};

type Field = (Vec<u8>, Vec<u8>);

/// A fuzzer's input as a field section, and as the bytes of both streams of instructions.
///
/// A section's fields fit into what they came from, buffers that were used before change nothing, and the
/// fields come back when they are encoded again. Streams are read alike in one piece and byte by byte.
pub fn of_sections(input: &[u8]) {
    let mut scratch = Scratch::default();
    let decoded = decode(input, &mut scratch);
    assert_eq!(decoded, decode(input, &mut scratch), "the buffers' contents matter");
    let fields = decoded.as_ref().unwrap_or_else(|(before, _)| before);
    for (name, value) in fields {
        // The shortest Huffman code has five bits; the static table's longest field has 76 bytes.
        let most = 2 * input.len() + 76;
        assert!(name.len() + value.len() <= most, "{} bytes", name.len() + value.len());
    }
    for literal in [Literal::Insertable, Literal::Never] {
        let mut section = Vec::new();
        qpack::begin(&mut section);
        fields.iter().for_each(|(name, value)| qpack::encode(literal, name, value, &mut section));
        assert_eq!(decode(&section, &mut scratch).as_ref(), Ok(fields), "encoded again");
    }
    let whole = read_instructions(&[input]);
    assert_eq!(whole, read_instructions(&input.chunks(1).collect::<Vec<_>>()), "byte by byte");
}

/// The section's fields, or those before the first that is wrong.
fn decode(section: &[u8], scratch: &mut Scratch) -> Result<Vec<Field>, (Vec<Field>, QpackError)> {
    let mut fields = Vec::new();
    let decoded = qpack::decode(section, scratch, &mut |name, value| {
        fields.push((name.to_vec(), value.to_vec()));
    });
    match decoded {
        Ok(()) => Ok(fields),
        Err(wrong) => Err((fields, wrong)),
    }
}

/// What the readers of the encoder stream and of the decoder stream make of the pieces.
fn read_instructions(pieces: &[&[u8]]) -> [Result<(), InstructionError>; 2] {
    let (mut encoder, mut decoder) = (EncoderStream, DecoderStream::default());
    [
        pieces.iter().try_for_each(|piece| encoder.read(piece)),
        pieces.iter().try_for_each(|piece| decoder.read(piece)),
    ]
}
