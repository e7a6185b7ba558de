//! Streams of replies: the events that a reader returns, from the first byte to the server's close, and the
//! properties that hold for every stream. The fuzz target `http1_reply` is [`of_stream`].

use farfield_http::http1::{Answering, Event, Head, KnownHead, Limits, Malformed, Reply, ReplyReader};

/// Everything that a reader returned for one stream.
#[derive(Debug, PartialEq, Eq)]
pub struct StreamReading {
    /// The events of replies, in order.
    pub events: Vec<ReplyEvent>,
    /// The body of a reply that the stream's end cut off.
    pub unfinished: Vec<u8>,
    /// The mistake in the stream; absent if the stream ended between replies.
    pub wrong: Option<Malformed>,
}

/// An event of a reply, with its body as a whole.
#[derive(Debug, PartialEq, Eq)]
pub enum ReplyEvent {
    /// The status of an interim reply.
    Interim(u16),
    /// The head of a final reply.
    Head(Head),
    /// The end of a reply.
    Done {
        /// The reply.
        reply: Reply,
        /// The reply's body.
        body: Vec<u8>,
    },
}

/// Limits that a fuzzer's inputs can reach.
pub const TIGHT: Limits = Limits { head_bytes: 96, head_fields: 6, body_bytes: 24 };

/// A fuzzer's input: a first byte that says which request is answered and under which limits, a second that
/// seeds the cuts, then the stream.
pub fn of_stream(input: &[u8]) {
    let [mode, seed, stream @ ..] = input else { return };
    let answering = if mode.eq_ignore_ascii_case(&b'h') { Answering::Head } else { Answering::Other };
    let limits = if mode.is_ascii_lowercase() { TIGHT } else { Limits::default() };
    read_however_cut(stream, answering, &limits, u64::from(*seed));
}

/// Reads the stream whole, byte by byte, and cut at random. All readings must be equal; the reading is
/// returned.
pub fn read_however_cut(stream: &[u8], answering: Answering, limits: &Limits, seed: u64) -> StreamReading {
    let whole = read(&[stream], answering, limits);
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(whole, read(&bytes, answering, limits), "byte by byte");
    for longest in [3, 40] {
        let pieces = cut(stream, seed, longest);
        assert_eq!(whole, read(&pieces, answering, limits), "cut as {pieces:?}");
    }
    read_with_a_known_head(&whole, stream, answering, limits);
    whole
}

/// Heads that were read before, for the same request and for others, change nothing.
fn read_with_a_known_head(whole: &StreamReading, stream: &[u8], answering: Answering, limits: &Limits) {
    let other = if answering == Answering::Head { Answering::Other } else { Answering::Head };
    let fewer = Limits { head_fields: limits.head_fields / 2, ..*limits };
    let known = &mut KnownHead::new();
    for (answering, limits) in [(other, limits), (answering, &fewer), (answering, limits)] {
        let fresh = read(&[stream], answering, limits);
        for _ in 0..2 {
            assert_eq!(fresh, read_knowing(known, &[stream], answering, limits), "with a known head");
        }
    }
    assert_eq!(*whole, read_knowing(known, &[stream], answering, limits), "with a known head");
}

/// Cuts the stream into pieces of 0 to `longest` bytes.
pub(super) fn cut(mut stream: &[u8], seed: u64, longest: u64) -> Vec<&[u8]> {
    let mut state = seed;
    let mut pieces = Vec::new();
    while !stream.is_empty() {
        // Knuth's MMIX generator; its high bits are good enough for cuts.
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let (piece, rest) = stream.split_at(stream.len().min(((state >> 33) % (longest + 1)) as usize));
        pieces.push(piece);
        stream = rest;
    }
    pieces
}

/// Hands the pieces to a reader, then the server's close, and checks accounting and progress at every step.
fn read(pieces: &[&[u8]], answering: Answering, limits: &Limits) -> StreamReading {
    read_knowing(&mut KnownHead::new(), pieces, answering, limits)
}

fn read_knowing(
    known: &mut KnownHead,
    pieces: &[&[u8]],
    answering: Answering,
    limits: &Limits,
) -> StreamReading {
    let mut reader = ReplyReader::new();
    let mut reading = StreamReading { events: Vec::new(), unfinished: Vec::new(), wrong: None };
    let mut bytes_taken = 0;
    for piece in pieces {
        let mut rest = *piece;
        loop {
            let (taken, event) = match reader.read_with(known, rest, answering, limits) {
                Ok(step) => step,
                Err(wrong) => {
                    reading.wrong = Some(wrong);
                    return reading;
                }
            };
            bytes_taken += taken as u64;
            reading.absorb(event, &rest[..taken]);
            assert_eq!(bytes_taken, reading.bytes_done() + reader.so_far().reply_bytes, "bytes of replies");
            assert_eq!(reader.so_far().body_bytes, reading.unfinished.len() as u64, "bytes of body");
            rest = &rest[taken..];
            match event {
                Event::NeedMore => break assert!(rest.is_empty(), "{} bytes left lying", rest.len()),
                Event::Done(_) => assert!(reader.is_idle()),
                Event::Interim(_) | Event::Head(_) | Event::Body(_) => {
                    assert!(taken > 0, "no progress");
                    assert!(!reader.is_idle());
                }
            }
        }
    }
    let idle = reader.is_idle();
    match reader.finish() {
        Ok(Some(reply)) => reading.absorb(Event::Done(reply), &[]),
        // An interim reply leaves the request unanswered.
        Ok(None) => assert!(idle || matches!(reader.so_far().status, 100..200)),
        Err(wrong) => reading.wrong = Some(wrong),
    }
    assert!(!idle || reading.wrong.is_none());
    reading
}

impl StreamReading {
    fn absorb(&mut self, event: Event<'_>, taken: &[u8]) {
        match event {
            Event::NeedMore => {}
            Event::Interim(status) => self.events.push(ReplyEvent::Interim(status)),
            Event::Head(head) => self.events.push(ReplyEvent::Head(head)),
            Event::Body(body) => {
                assert!(!body.is_empty() && taken.ends_with(body));
                self.unfinished.extend_from_slice(body);
            }
            Event::Done(reply) => {
                let Some(&ReplyEvent::Head(head)) = self.events.last() else {
                    panic!("a reply without a head")
                };
                assert_eq!((reply.status, reply.persistent), (head.status, head.persistent));
                let body = std::mem::take(&mut self.unfinished);
                assert_eq!(reply.body_bytes, body.len() as u64);
                self.events.push(ReplyEvent::Done { reply, body });
            }
        }
    }

    /// Bytes of the replies that are over.
    fn bytes_done(&self) -> u64 {
        let bytes = |event: &ReplyEvent| {
            if let ReplyEvent::Done { reply, .. } = event { reply.reply_bytes } else { 0 }
        };
        self.events.iter().map(bytes).sum()
    }
}
