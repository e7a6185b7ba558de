//! Bytes of an HTTP/3 server, however wrong, and the properties that hold for all. The fuzz target
//! `http3_qpack` is [`of_sections`], `http3_streams` is [`of_streams`].

use farfield_http::http3::qpack::{
    self, DecoderStream, EncoderStream, InstructionError, Literal, QpackError, Scratch,
};
use farfield_http::http3::{ConnectionError, ControlEvent, ControlStream, Role, ServerStream, ServerStreams};

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

/// Results of the readers of the encoder stream and of the decoder stream on the pieces.
fn read_instructions(pieces: &[&[u8]]) -> [Result<(), InstructionError>; 2] {
    let (mut encoder, mut decoder) = (EncoderStream, DecoderStream::default());
    [
        pieces.iter().try_for_each(|piece| encoder.read(piece)),
        pieces.iter().try_for_each(|piece| decoder.read(piece)),
    ]
}

/// A fuzzer's input: a first byte for the length of streams, then the unidirectional streams of a server, one
/// behind another. They are read alike in one piece and byte by byte, settings come before all else and once,
/// and GOAWAY never names a greater stream than before.
pub fn of_streams(input: &[u8]) {
    let [length, streams @ ..] = input else { return };
    let streams: Vec<&[u8]> = streams.chunks(usize::from(*length).max(1)).collect();
    let whole = read_streams(&streams, usize::MAX);
    assert_eq!(whole, read_streams(&streams, 1), "byte by byte");
    let mut last = u64::MAX;
    for (at, event) in whole.events.iter().enumerate() {
        match event {
            ControlEvent::Settings(_) => assert_eq!(at, 0, "settings behind another event"),
            ControlEvent::GoAway(stream) => {
                assert!(at > 0 && *stream <= last && stream % 4 == 0, "GOAWAY of {stream} behind {last}");
                last = *stream;
            }
        }
    }
}

/// State of a client that reads a server's unidirectional streams.
#[derive(Debug, Default, PartialEq, Eq)]
struct Streams {
    roles: Vec<Role>,
    events: Vec<ControlEvent>,
    wrong: Option<ConnectionError>,
}

/// Reads the streams in pieces of so many bytes, up to the first error.
fn read_streams(streams: &[&[u8]], piece_bytes: usize) -> Streams {
    let (mut read, mut all) = (Streams::default(), ServerStreams::default());
    for stream in streams {
        if let Err(wrong) = read_stream(&mut all, stream, piece_bytes, &mut read) {
            read.wrong = Some(wrong);
            break;
        }
    }
    read
}

fn read_stream(
    all: &mut ServerStreams,
    stream: &[u8],
    piece_bytes: usize,
    read: &mut Streams,
) -> Result<(), ConnectionError> {
    let (mut unnamed, mut role) = (ServerStream::default(), None);
    let (mut control, mut encoder) = (ControlStream::default(), EncoderStream);
    let mut decoder = DecoderStream::default();
    for piece in stream.chunks(piece_bytes) {
        let mut rest = piece;
        if role.is_none() {
            let (taken, found) = all.read_type(&mut unnamed, rest)?;
            rest = &rest[taken..];
            read.roles.extend(found);
            role = found;
        }
        match role {
            Some(Role::QpackEncoder) => encoder.read(rest)?,
            Some(Role::QpackDecoder) => decoder.read(rest)?,
            Some(Role::Control) => {
                while !rest.is_empty() {
                    let (taken, event) = control.read(rest)?;
                    assert!(event.is_some() || taken == rest.len(), "bytes left lying");
                    rest = &rest[taken..];
                    read.events.extend(event);
                }
            }
            Some(Role::Unknown) | None => {}
        }
    }
    Ok(())
}
