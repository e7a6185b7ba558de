//! Bytes of a request's stream of HTTP/3, however wrong, and the properties that hold for all. The fuzz
//! target `http3_replies` is [`of_replies`].

use super::replies::TIGHT;
use bytes::Bytes;
use farfield_http::http3::{Answering, Heads, Limits, Reply, ReplyError, ReplyPart, ReplyStream};

/// Result of a client that reads a request's stream.
#[derive(Debug, PartialEq, Eq)]
pub struct ReplyRead {
    /// Statuses of interim heads and, last, of the final one.
    pub statuses: Vec<u16>,
    /// Fields of the final head.
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
    /// The body.
    pub body: Vec<u8>,
    /// The reply, if it is whole.
    pub end: Result<Reply, ReplyError>,
}

/// Reads the pieces of a stream that ends behind them.
pub fn read(pieces: &[&[u8]], answering: Answering, limits: &Limits) -> ReplyRead {
    let (mut reader, mut heads) = (ReplyStream::new(answering), Heads::default());
    let mut read = ReplyRead {
        statuses: Vec::new(),
        fields: Vec::new(),
        body: Vec::new(),
        end: Err(ReplyError::Stream(farfield_http::http3::StreamError::Unanswered)),
    };
    for piece in pieces {
        let mut rest = Bytes::copy_from_slice(piece);
        loop {
            let before = rest.len();
            match reader.read(&mut heads, &mut rest, limits) {
                Ok(ReplyPart::Nothing) => break,
                Ok(ReplyPart::Interim(status)) => read.statuses.push(status),
                Ok(ReplyPart::Head(head)) => {
                    read.statuses.push(head.status);
                    let own = |(name, value): (&[u8], &[u8])| (name.to_vec(), value.to_vec());
                    read.fields = heads.fields().map(own).collect();
                }
                Ok(ReplyPart::Body(body)) => {
                    assert!(!body.is_empty(), "a body of nothing");
                    read.body.extend_from_slice(&body);
                }
                Err(wrong) => {
                    read.end = Err(wrong);
                    return read;
                }
            }
            assert!(rest.len() < before, "an event that takes nothing");
        }
        assert!(rest.is_empty(), "bytes are left over");
    }
    read.end = reader.finish();
    read
}

/// A fuzzer's input: a first byte that says what was asked under which limits, a second for the length of
/// pieces, then the stream's bytes. They are read alike in one piece, in such pieces and byte by byte; a
/// whole reply has the bytes of the stream, and its body as many as its head says.
pub fn of_replies(input: &[u8]) {
    let [mode, length, stream @ ..] = input else { return };
    let limits = if mode & 1 == 0 { Limits::default() } else { TIGHT };
    let answering = if mode & 2 == 0 { Answering::Other } else { Answering::Head };
    let whole = read(&[stream], answering, &limits);
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    let pieces: Vec<&[u8]> = stream.chunks(usize::from(*length).max(1)).collect();
    assert_eq!(whole, read(&bytes, answering, &limits), "byte by byte");
    assert_eq!(whole, read(&pieces, answering, &limits), "in pieces of {length}");
    if let Ok(reply) = whole.end {
        assert_eq!(reply.reply_bytes, stream.len() as u64);
        assert_eq!(reply.body_bytes, whole.body.len() as u64);
        assert_eq!(whole.statuses.last(), Some(&reply.status));
        assert!(reply.status >= 200 && (answering == Answering::Other || whole.body.is_empty()));
    }
}
