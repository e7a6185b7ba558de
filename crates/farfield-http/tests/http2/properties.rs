//! Streams that nobody thought of: bytes, frames in any order, and valid replies cut anywhere.

use crate::scene::*;
use farfield_http::http2::{Limits, Settings, StreamError};
use farfield_testkit::properties::http2::{
    ClientRequests, ConnectionEvent, ConnectionReading, of_blocks, of_frames, read_however_cut,
};
use farfield_testkit::properties::replies::TIGHT;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;

/// Equal cases on every run: looking for new ones is the fuzzer's.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 600,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Default::default()
    }
}

fn asked(requests: usize, limits: Limits) -> ClientRequests {
    let settings = Settings { limits, ..Settings::default() };
    ClientRequests { settings, requests: vec![(false, Vec::new()); requests] }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_bytes_are_read_to_their_end(input in vec(any::<u8>(), 0..200)) {
        of_frames(&input);
        of_blocks(&input);
    }

    #[test]
    fn frames_in_any_order_are_read_to_their_end(
        frames in vec(any_frame(), 0..24),
        tight in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let bytes = [vec![settings(&[])], frames].concat().concat();
        read_however_cut(&bytes, &asked(4, if tight { TIGHT } else { Limits::default() }), seed);
    }

    #[test]
    fn valid_replies_give_back_their_bodies(
        replies in vec(reply(), 1..5),
        order in vec(any::<prop::sample::Index>(), 0..60),
        seed in any::<u64>(),
    ) {
        let mut queues: Vec<Vec<Vec<u8>>> = replies
            .iter()
            .enumerate()
            .map(|(at, reply)| reply.frames(1 + 2 * at as u32).into_iter().rev().collect())
            .collect();
        let mut bytes = settings(&[(3, 100)]);
        // Frames of all streams in the order that was drawn, then what is left, stream by stream.
        for index in &order {
            let at = index.index(queues.len());
            bytes.extend(queues[at].pop().unwrap_or_default());
        }
        for queue in &mut queues {
            while let Some(frame) = queue.pop() {
                bytes.extend(frame);
            }
        }
        let reading = read_however_cut(&bytes, &asked(replies.len(), Limits::default()), seed);
        prop_assert_eq!(reading.wrong, None);
        for (at, reply) in replies.iter().enumerate() {
            let stream = 1 + 2 * at as u32;
            prop_assert_eq!(body_of(&reading, stream), Some((reply.status, reply.body.clone())));
            // All bytes of its frames are counted.
            let reply_bytes = reply.frames(stream).concat().len() as u64;
            let is_counted = |event: &ConnectionEvent| {
                matches!(
                    event,
                    ConnectionEvent::Done(id, done)
                        if id.number() == stream && done.reply_bytes == reply_bytes
                )
            };
            prop_assert!(reading.events.iter().any(is_counted), "{} bytes: {:?}", reply_bytes, reading.events);
        }
    }

    /// A reply that is cut off fails nothing but what is open.
    #[test]
    fn a_reset_in_the_middle_is_of_its_stream(reply in reply(), at in any::<prop::sample::Index>()) {
        let mut frames = reply.frames(1);
        frames.truncate(at.index(frames.len()));
        let bytes = [vec![settings(&[])], frames, vec![rst_stream(1, 2)], reply.frames(3)].concat().concat();
        let reading = read_however_cut(&bytes, &asked(2, Limits::default()), 7);
        prop_assert_eq!(reading.wrong, None);
        let is_reset =
            |event: &&ConnectionEvent| matches!(event, ConnectionEvent::Failed(_, _, StreamError::Reset(_)));
        prop_assert_eq!(reading.events.iter().filter(is_reset).count(), 1);
        prop_assert_eq!(body_of(&reading, 3), Some((reply.status, reply.body)));
    }
}

/// Status and body of a reply that is over.
fn body_of(reading: &ConnectionReading, stream: u32) -> Option<(u16, Vec<u8>)> {
    let mut body = Vec::new();
    for event in &reading.events {
        match event {
            ConnectionEvent::Body(id, bytes) if id.number() == stream => body.extend_from_slice(bytes),
            ConnectionEvent::Done(id, reply) if id.number() == stream => return Some((reply.status, body)),
            _ => {}
        }
    }
    None
}

/// A frame of any kind, on a stream that may be, with a payload that makes sense to some.
fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let sense = prop_oneof![
        Just(block(&[(":status", "200")])),
        Just(block(&[(":status", "100")])),
        Just(block(&[(":status", "200"), ("content-length", "3")])),
        Just(b"\x88\x40\x01a\x01b".to_vec()),
        Just(b"\x88\xbe".to_vec()),
        Just(b"abc".to_vec()),
        Just(vec![0, 0, 0, 1]),
        Just(vec![0, 0, 0, 0, 0, 0, 0, 8]),
        Just(vec![0, 4, 0, 0, 1, 0]),
        vec(any::<u8>(), 0..12),
        vec(Just(0u8), 0..300),
    ];
    let flags = prop_oneof![
        4 => select(&[0, END, END_HEADERS, END | END_HEADERS, PADDED | END_HEADERS, PADDED]),
        1 => any::<u8>()
    ];
    (0..11u8, flags, select(&[0u32, 1, 1, 3, 3, 5, 7, 9, 2]), sense)
        .prop_map(|(kind, flags, stream, payload)| frame(kind, flags, stream, &payload))
}

/// A reply as a server would write it.
#[derive(Debug, Clone)]
struct Scripted {
    interims: usize,
    status: u16,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
    /// Bytes of each frame of body, and of its padding.
    pieces: Vec<(usize, u8)>,
    says_length: bool,
    trailers: bool,
    /// The place at which its header block is cut.
    cut: prop::sample::Index,
}

fn reply() -> impl Strategy<Value = Scripted> {
    (
        0usize..2,
        select(&[200u16, 201, 301, 404, 500, 999]),
        vec(("x-[a-z]{1,8}", "[!-~]{0,12}"), 0..5),
        vec(any::<u8>(), 0..400),
        vec((0usize..60, 0u8..9), 0..8),
        any::<bool>(),
        any::<bool>(),
        any::<prop::sample::Index>(),
    )
        .prop_map(|(interims, status, fields, body, pieces, says_length, trailers, cut)| Scripted {
            interims,
            status,
            fields,
            body,
            pieces,
            says_length,
            trailers,
            cut,
        })
}

impl Scripted {
    /// Its frames; a header block that is cut is one of these, since nothing may come between.
    fn frames(&self, stream: u32) -> Vec<Vec<u8>> {
        let mut frames = vec![headers(stream, 0, &[(":status", "103")]); self.interims];
        let (status, length) = (self.status.to_string(), self.body.len().to_string());
        let mut fields = vec![(":status", status.as_str())];
        fields.extend(self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        if self.says_length {
            fields.push(("content-length", &length));
        }
        let block = block(&fields);
        let (first, second) = block.split_at(self.cut.index(block.len()));
        let cut = [frame(HEADERS, 0, stream, first), frame(CONTINUATION, END_HEADERS, stream, second)];
        frames.push(cut.concat());
        let mut body = self.body.as_slice();
        for (bytes, padding) in &self.pieces {
            let (piece, rest) = body.split_at(body.len().min(*bytes));
            let payload = [&[*padding], piece, &vec![0; usize::from(*padding)]].concat();
            frames.push(data(stream, PADDED, &payload));
            body = rest;
        }
        if self.trailers {
            frames.push(data(stream, 0, body));
            frames.push(headers(stream, END, &[("x-sum", "1")]));
        } else {
            frames.push(data(stream, END, body));
        }
        frames
    }
}
