//! What a reader tells of a stream, from its first byte to the server's close; and the laws that hold for every
//! stream. The fuzz target `http1_reply` is [`obeys_the_laws`] of this file.

use farfield_http::http1::{Answering, Event, Head, KnownHead, Limits, Malformed, Reply, ReplyReader};

/// What was told of one stream.
#[derive(Debug, PartialEq, Eq)]
pub struct Story {
    pub told: Vec<Told>,
    /// The body of the reply that was not over when the story was.
    pub unfinished: Vec<u8>,
    /// What was wrong; nothing if the stream ended between replies.
    pub wrong: Option<Malformed>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Told {
    Interim(u16),
    Head(Head),
    Done { reply: Reply, body: Vec<u8> },
}

/// Limits that a fuzzer's inputs can reach.
pub const TIGHT: Limits = Limits { head_bytes: 96, head_fields: 6, body_bytes: 24 };

/// The law of a fuzzer's input: a first byte that says what is answered and under which limits, a second that
/// seeds the cuts, then the stream.
pub fn obeys_the_laws(input: &[u8]) {
    let [mode, seed, stream @ ..] = input else { return };
    let answering = if mode.eq_ignore_ascii_case(&b'h') { Answering::Head } else { Answering::Other };
    let limits = if mode.is_ascii_lowercase() { TIGHT } else { Limits::default() };
    told_however_cut(stream, answering, &limits, u64::from(*seed));
}

/// Reads the stream whole, byte by byte, and cut at random; all must tell the same, which is returned.
pub fn told_however_cut(stream: &[u8], answering: Answering, limits: &Limits, seed: u64) -> Story {
    let whole = told(&[stream], answering, limits);
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(whole, told(&bytes, answering, limits), "byte by byte");
    for longest in [3, 40] {
        let pieces = cut(stream, seed, longest);
        assert_eq!(whole, told(&pieces, answering, limits), "cut as {pieces:?}");
    }
    told_with_a_known_head(&whole, stream, answering, limits);
    whole
}

/// Heads that were read before, for the same request and for others, change nothing.
fn told_with_a_known_head(whole: &Story, stream: &[u8], answering: Answering, limits: &Limits) {
    let other = if answering == Answering::Head { Answering::Other } else { Answering::Head };
    let fewer = Limits { head_fields: limits.head_fields / 2, ..*limits };
    let known = &mut KnownHead::new();
    for (answering, limits) in [(other, limits), (answering, &fewer), (answering, limits)] {
        let fresh = told(&[stream], answering, limits);
        for _ in 0..2 {
            assert_eq!(fresh, told_knowing(known, &[stream], answering, limits), "with a known head");
        }
    }
    assert_eq!(*whole, told_knowing(known, &[stream], answering, limits), "with a known head");
}

/// Cuts the stream into pieces of 0 to `longest` bytes.
fn cut(mut stream: &[u8], seed: u64, longest: u64) -> Vec<&[u8]> {
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

/// Hands the pieces to a reader, then the server's close, and holds every step against the laws of accounting
/// and of progress.
fn told(pieces: &[&[u8]], answering: Answering, limits: &Limits) -> Story {
    told_knowing(&mut KnownHead::new(), pieces, answering, limits)
}

fn told_knowing(known: &mut KnownHead, pieces: &[&[u8]], answering: Answering, limits: &Limits) -> Story {
    let mut reader = ReplyReader::new();
    let mut story = Story { told: Vec::new(), unfinished: Vec::new(), wrong: None };
    let mut bytes_taken = 0;
    for piece in pieces {
        let mut rest = *piece;
        loop {
            let (taken, event) = match reader.read_with(known, rest, answering, limits) {
                Ok(step) => step,
                Err(wrong) => {
                    story.wrong = Some(wrong);
                    return story;
                }
            };
            bytes_taken += taken as u64;
            story.absorb(event, &rest[..taken]);
            assert_eq!(bytes_taken, story.bytes_done() + reader.so_far().reply_bytes, "bytes of replies");
            assert_eq!(reader.so_far().body_bytes, story.unfinished.len() as u64, "bytes of body");
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
        Ok(Some(reply)) => story.absorb(Event::Done(reply), &[]),
        Ok(None) => assert!(idle),
        Err(wrong) => story.wrong = Some(wrong),
    }
    assert!(!idle || story.wrong.is_none());
    story
}

impl Story {
    fn absorb(&mut self, event: Event<'_>, taken: &[u8]) {
        match event {
            Event::NeedMore => {}
            Event::Interim(status) => self.told.push(Told::Interim(status)),
            Event::Head(head) => self.told.push(Told::Head(head)),
            Event::Body(body) => {
                assert!(!body.is_empty() && taken.ends_with(body));
                self.unfinished.extend_from_slice(body);
            }
            Event::Done(reply) => {
                let Some(&Told::Head(head)) = self.told.last() else { panic!("a reply without a head") };
                assert_eq!((reply.status, reply.persistent), (head.status, head.persistent));
                let body = std::mem::take(&mut self.unfinished);
                assert_eq!(reply.body_bytes, body.len() as u64);
                self.told.push(Told::Done { reply, body });
            }
        }
    }

    /// Bytes of the replies that are over.
    fn bytes_done(&self) -> u64 {
        let bytes = |told: &Told| if let Told::Done { reply, .. } = told { reply.reply_bytes } else { 0 };
        self.told.iter().map(bytes).sum()
    }
}
