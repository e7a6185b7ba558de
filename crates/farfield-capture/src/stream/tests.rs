//! Segments in any order, over each other, with the FIN anywhere: whatever comes, a direction is handed on
//! once and in order, and what a segment costs is bounded.

use super::*;
use crate::segment::Checksum;
use proptest::prelude::*;

const ISN: u32 = u32::MAX - 100;
const MISSING: u8 = 255;

/// A part of a direction: the offset of its first byte, its length, and whether the FIN ends it.
#[derive(Debug, Clone, Copy)]
struct Part {
    offset: StreamOffset,
    len: usize,
    fin: bool,
    /// Bytes that were captured.
    captured: usize,
}

fn part() -> impl Strategy<Value = Part> {
    let len = prop_oneof![3 => 0..6usize, 1 => 0..300usize, 1 => Just(65_000usize)];
    let offset = prop_oneof![4 => 0..30i64, 1 => 0..500i64, 1 => 0..200_000i64];
    (offset, len, prop::bool::weighted(0.15), 0..64usize).prop_map(|(offset, len, fin, captured)| Part {
        offset: 1 + offset,
        len,
        fin,
        captured: captured.min(len),
    })
}

fn byte_at(offset: StreamOffset) -> u8 {
    (offset % 251) as u8
}

/// A direction, and what was handed on of it.
struct Scene {
    stream: Stream,
    now: u64,
    segments: usize,
    pieces: usize,
    /// The length of what came in order, up to the limit of [`Scene::check`]; holes and cut bytes are
    /// [`MISSING`].
    len: StreamOffset,
    fins: usize,
}

impl Scene {
    fn begin() -> Scene {
        let mut stream = Stream::default();
        stream.begin(ISN);
        Scene { stream, now: 0, segments: 0, pieces: 0, len: 1, fins: 0 }
    }

    fn handle(&mut self, part: Part, waiting_max: usize) -> u64 {
        let data: Vec<u8> = (part.offset..).take(part.captured).map(byte_at).collect();
        let fin = if part.fin { TcpFlags::FIN } else { TcpFlags(0) };
        let segment = Segment {
            source: ([198, 18, 0, 1], 1000).into(),
            destination: ([10, 0, 0, 1], 80).into(),
            ident: 0,
            seq: ISN.wrapping_add(part.offset as u32),
            ack: 0,
            flags: TcpFlags::ACK | fin,
            window: 100,
            options: &[],
            data: &data,
            data_len: part.len,
            checksum: Checksum::Unknown,
        };
        self.now += 1_000_000;
        self.segments += 1;
        let around = DirectionContext { handshake_ns: None, window: None, waiting_max };
        let (at, mut pieces) = (UnixNs(self.now), Vec::new());
        let given_up = self.stream.handle_segment(at, &segment, &around, |piece| pieces.push(owned(&piece)));
        self.note(pieces);
        self.check();
        assert!(self.stream.waiting_bytes() <= waiting_max);
        given_up
    }

    fn acknowledge(&mut self, offset: StreamOffset) {
        let segment = Segment {
            source: ([10, 0, 0, 1], 80).into(),
            destination: ([198, 18, 0, 1], 1000).into(),
            ident: 0,
            seq: 7,
            ack: ISN.wrapping_add(offset as u32),
            flags: TcpFlags::ACK,
            window: 100,
            options: &[],
            data: &[],
            data_len: 0,
            checksum: Checksum::Unknown,
        };
        let mut pieces = Vec::new();
        self.segments += 1;
        self.stream.handle_ack(UnixNs(self.now), &segment, |piece| pieces.push(owned(&piece)));
        self.note(pieces);
        self.check();
    }

    fn flush(&mut self) {
        let mut pieces = Vec::new();
        self.stream.flush(UnixNs(self.now), |piece| pieces.push(owned(&piece)));
        self.note(pieces);
        self.check();
        assert_eq!(self.stream.waiting_bytes(), 0, "nothing waits behind a flush");
    }

    /// Pieces come once, in order, without a gap, and have the bytes that were sent.
    fn note(&mut self, pieces: Vec<(StreamOffset, Vec<u8>, bool)>) {
        for (offset, bytes, is_fin) in pieces {
            assert_eq!(offset, self.len, "pieces come in order");
            let of_sent = |(at, byte): (usize, &u8)| *byte == MISSING || *byte == byte_at(offset + at as i64);
            assert!(bytes.iter().enumerate().all(of_sent), "the bytes at {offset} are those that were sent");
            self.len += bytes.len() as i64 + i64::from(is_fin);
            self.fins += usize::from(is_fin);
            self.pieces += 1;
        }
        assert!(self.fins <= 1 && self.stream.ended == (self.fins == 1));
        assert_eq!(self.len, self.stream.next);
    }

    /// The pieces that a stream keeps fit together, and are no more than segments came.
    fn check(&self) {
        let stream = &self.stream;
        assert!(stream.runs.keys().all(|&start| start > stream.next), "a hole lies before what waits");
        let (mut joined, mut bytes) = (Vec::<(StreamOffset, StreamOffset)>::new(), 0);
        for (&start, waiting) in &stream.waiting {
            bytes += waiting.len;
            let end = start + waiting.len as i64;
            match joined.last_mut() {
                Some(last) if last.1 == start => last.1 = end,
                Some(last) => {
                    assert!(last.1 < start, "pieces that wait do not overlap");
                    joined.push((start, end));
                }
                None => joined.push((start, end)),
            }
        }
        let runs: Vec<_> = stream.runs.iter().map(|(&start, &end)| (start, end)).collect();
        assert_eq!((runs, bytes), (joined, stream.waiting_bytes()));
        // A segment adds a piece behind each run that it joins and one before, and leaves one run of them;
        // each piece comes out as its bytes, as those that were cut, and behind a hole.
        assert!(stream.waiting.len() <= 2 * self.segments, "{} pieces", stream.waiting.len());
        assert!(self.pieces <= 7 * self.segments, "{} pieces of {} segments", self.pieces, self.segments);
    }
}

/// The offset of a piece, its bytes with [`MISSING`] for those that are not known, and whether it is the FIN.
fn owned(piece: &StreamPiece<'_>) -> (StreamOffset, Vec<u8>, bool) {
    match piece.what {
        StreamContent::Bytes(bytes) => (piece.offset, bytes.to_vec(), false),
        StreamContent::Cut(len) | StreamContent::Missing(len) => {
            (piece.offset, vec![MISSING; len as usize], false)
        }
        StreamContent::Fin => (piece.offset, Vec::new(), true),
    }
}

/// The FIN at `fin` fills the only hole before data that waits; `more` come behind it.
fn fin_before_what_waits(waiting: &[(StreamOffset, usize)], fin: StreamOffset, waiting_max: usize) -> Scene {
    let mut scene = Scene::begin();
    for &(offset, len) in waiting {
        scene.handle(Part { offset, len, fin: false, captured: 0 }, waiting_max);
    }
    scene.handle(Part { offset: fin, len: 0, fin: true, captured: 0 }, waiting_max);
    scene
}

#[test]
fn a_fin_that_fills_the_hole_hands_on_what_waits() {
    let scene = fin_before_what_waits(&[(2, 65_000), (65_002, 10)], 1, 1 << 20);
    assert_eq!((scene.len, scene.fins, scene.stream.waiting_bytes()), (65_012, 1, 0));
    // A hole is left behind what the FIN let through.
    let scene = fin_before_what_waits(&[(2, 10), (20, 10)], 1, 1 << 20);
    assert_eq!((scene.len, scene.stream.waiting_bytes()), (12, 10));
}

#[test]
fn more_than_may_wait_behind_a_fin_ends() {
    // As many as may wait and a few more, all behind the byte that the FIN takes.
    let many: Vec<_> = (0..20).map(|nth| (2 + nth * 100, 100)).collect();
    let mut scene = fin_before_what_waits(&many, 1, 2_000);
    for nth in 0..5 {
        let offset = 2_010 + 10 * nth;
        scene.handle(Part { offset, len: 5, fin: false, captured: 5 }, 7);
    }
    assert_eq!(scene.fins, 1);
    // The last of them waits behind its hole.
    assert_eq!((scene.len, scene.stream.waiting_bytes()), (2_045, 5));
}

/// Many pieces wait, one byte each with a hole behind it, and segments over all of them come again and again:
/// from the second on each meets one run.
#[test]
fn a_segment_over_many_pieces_joins_them_once() {
    let mut scene = Scene::begin();
    for nth in 0..500 {
        scene.handle(Part { offset: 3 + 2 * nth, len: 1, fin: false, captured: 1 }, 1 << 20);
    }
    assert_eq!(scene.stream.runs.len(), 500);
    for _again in 0..3 {
        scene.handle(Part { offset: 2, len: 1_100, fin: false, captured: 60 }, 1 << 20);
        assert_eq!((scene.stream.runs.len(), scene.stream.waiting.len()), (1, 1_001));
    }
    scene.handle(Part { offset: 1, len: 1, fin: false, captured: 1 }, 1 << 20);
    assert_eq!((scene.len, scene.stream.waiting.len()), (1_102, 0));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn any_order_of_segments_ends_and_is_handed_on_once(
        parts in prop::collection::vec((part(), 0..4u8, any::<u16>()), 0..60),
        waiting_max in prop_oneof![Just(0usize), 0..400usize, Just(200_000usize)],
        flushed: bool,
    ) {
        let mut scene = Scene::begin();
        for (part, kind, ahead) in parts {
            match kind {
                0 => scene.acknowledge(scene.len + i64::from(ahead % 64) - 4),
                _ => {
                    scene.handle(part, waiting_max);
                }
            }
        }
        if flushed {
            scene.flush();
        }
    }

    /// Cuts of one direction, shuffled and repeated: all of it is there, and the FIN behind it.
    #[test]
    fn any_permutation_of_a_whole_direction_is_whole(
        cuts in prop::collection::vec(1usize..40, 1..40),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..80),
    ) {
        let (mut parts, mut offset) = (Vec::new(), 1);
        for (nth, len) in cuts.iter().copied().enumerate() {
            let fin = nth + 1 == cuts.len();
            parts.push(Part { offset, len, fin, captured: len });
            offset += len as i64;
        }
        let mut scene = Scene::begin();
        for (nth, index) in order.iter().enumerate() {
            let (nth, other) = (nth % parts.len(), index.index(parts.len()));
            parts.swap(nth, other);
            if nth % 3 == 0 {
                parts.push(parts[other]);
            }
        }
        for part in &parts {
            scene.handle(*part, 1 << 20);
        }
        prop_assert_eq!((scene.len, scene.fins), (offset + 1, 1));
        prop_assert_eq!(scene.stream.counts.missing_bytes, 0);
    }
}
