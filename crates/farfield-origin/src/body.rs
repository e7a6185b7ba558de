//! Bodies of replies: whole pages, and any number of filler bytes out of one static buffer.
//!
//! Nothing is allocated or copied here, but for events: every frame is a slice of what is there already.

use crate::events::EventBody;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The body of a reply.
#[derive(Debug)]
pub(crate) enum ReplyBody {
    /// No bytes.
    Empty,
    /// The bytes themselves.
    Whole(Bytes),
    /// Filler of a length that the head announces.
    Filler(FillerBody),
    /// Filler of a length that is not announced: chunked in HTTP/1.1, ended by the close in 1.0.
    Chunked(FillerBody),
    /// Events, each when it is due.
    Events(Box<EventBody>),
}

/// The rest of a body of filler.
#[derive(Debug)]
pub(crate) struct FillerBody {
    position: u64,
    length: u64,
}

/// Bytes of a chunk, but for the last: small enough that a body of common size has several.
const CHUNK: usize = 8 * 1024;

impl ReplyBody {
    pub(crate) fn filler(length: u64) -> ReplyBody {
        ReplyBody::Filler(FillerBody { position: 0, length })
    }

    pub(crate) fn chunked(length: u64) -> ReplyBody {
        ReplyBody::Chunked(FillerBody { position: 0, length })
    }
}

impl FillerBody {
    /// The next at most `limit` bytes, fewer where the buffer ends.
    fn next(&mut self, limit: usize) -> Option<Bytes> {
        let from = (self.position % FILLER.len() as u64) as usize;
        let left = usize::try_from(self.length - self.position).unwrap_or(usize::MAX);
        let count = left.min(limit).min(FILLER.len() - from);
        self.position += count as u64;
        (count > 0).then(|| Bytes::from_static(&FILLER[from..from + count]))
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = match &mut *self {
            ReplyBody::Empty => None,
            ReplyBody::Whole(bytes) => Some(std::mem::take(bytes)).filter(|bytes| !bytes.is_empty()),
            ReplyBody::Filler(filler) => filler.next(FILLER.len()),
            ReplyBody::Chunked(filler) => filler.next(CHUNK),
            ReplyBody::Events(events) => ready!(events.poll_next(context)),
        };
        Poll::Ready(data.map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            ReplyBody::Empty => true,
            ReplyBody::Whole(bytes) => bytes.is_empty(),
            ReplyBody::Filler(filler) | ReplyBody::Chunked(filler) => filler.position == filler.length,
            ReplyBody::Events(events) => events.is_over(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ReplyBody::Empty => SizeHint::with_exact(0),
            ReplyBody::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            ReplyBody::Filler(filler) => SizeHint::with_exact(filler.length - filler.position),
            ReplyBody::Chunked(_) | ReplyBody::Events(_) => SizeHint::default(),
        }
    }
}

/// Numbered lines, each of which is a comment to a browser that takes it for a style sheet or a script.
static FILLER: [u8; 64 * 1024] = {
    const LINE: &[u8; 64] = b"/* farfield filler: line 0000 of 1024, and then from 0 again */\n";
    const LAST_DIGIT: usize = 28;
    let mut filler = [0; 64 * 1024];
    let mut at = 0;
    while at < filler.len() {
        let (line, column) = (at / LINE.len(), at % LINE.len());
        filler[at] = LINE[column];
        if column > LAST_DIGIT - 4 && column <= LAST_DIGIT {
            let digit = line / 10_usize.pow((LAST_DIGIT - column) as u32) % 10;
            filler[at] = b'0' + digit as u8;
        }
        at += 1;
    }
    filler
};

#[cfg(test)]
mod tests {
    use super::*;

    /// All bytes of a body of filler, and the length of its longest frame.
    fn collect(mut filler: FillerBody, limit: usize) -> (Vec<u8>, usize) {
        let frames: Vec<Bytes> = std::iter::from_fn(|| filler.next(limit)).collect();
        (frames.concat(), frames.iter().map(Bytes::len).max().unwrap_or(0))
    }

    #[test]
    fn filler_is_exact_and_the_same_in_any_frames() {
        for length in [0, 1, 64, 8192, 65_535, 65_536, 65_537, 200_000] {
            let body = || FillerBody { position: 0, length };
            let (whole, _) = collect(body(), FILLER.len());
            let (chunked, longest) = collect(body(), CHUNK);
            assert_eq!(whole.len() as u64, length);
            assert_eq!(whole, chunked);
            assert!(longest <= CHUNK);
        }
    }

    #[test]
    fn filler_lines_are_numbered_from_0_to_1023() {
        let text = std::str::from_utf8(&FILLER).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1024);
        assert!(lines[0].contains("line 0000 of"));
        assert!(lines[1023].contains("line 1023 of"));
        assert!(lines.iter().all(|line| line.starts_with("/*") && line.ends_with("*/")));
    }
}
