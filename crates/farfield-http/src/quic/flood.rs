//! Floods within QUIC: frames that come without end and lead to nothing, such as PING, MAX_DATA,
//! NEW_CONNECTION_ID and PATH_CHALLENGE.
//!
//! Memory for them, and the answers to them, are bounded by the library; their number is bounded here,
//! against what the connection is for: bytes of streams that are read, and frames of streams that are sent,
//! be it again. The library counts the frames.
//!
//! Frames of streams count when they come, and earn when their bytes are read, in order. One datagram that is
//! lost holds up all that come after it until it is sent again, a window of them at most.

use super::client::CONNECTION_WINDOW;
use crate::allowance::{self, Allowance};
use quinn_proto::{ConnectionStats, FrameStats};

/// Datagrams from one look to the next: a look copies all of the library's counters.
const DATAGRAMS: u8 = 16;

/// Bytes of a stream in a datagram of a server that has many to send; 1,200 bytes go through every path (RFC
/// 9000, 14).
const DATAGRAM_BYTES: u32 = 1_000;

/// HANDSHAKE_DONE, of which a server sends one, and more only of one that was lost (RFC 9000, 19.20 and
/// 13.3): beyond this number the library does not count them.
const HANDSHAKES_DONE_MAX: u8 = u8::MAX;

/// Frames that may come in advance: those that lead to nothing, and a window behind a datagram that is lost.
const ADVANCE: u32 = allowance::ADVANCE + CONNECTION_WINDOW / DATAGRAM_BYTES;

/// Frames that came on one connection, against what it was for.
#[derive(Debug)]
pub(super) struct FloodWatch {
    /// Datagrams since the last look.
    datagrams: u8,
    /// Pieces and ends of streams that were read.
    pieces: u64,
    /// Frames that had come, and what had earned them, at the last look.
    received: u64,
    useful: u64,
    allowance: Allowance,
    is_flooded: bool,
    is_reported: bool,
}

impl Default for FloodWatch {
    fn default() -> FloodWatch {
        FloodWatch {
            datagrams: 0,
            pieces: 0,
            received: 0,
            useful: 0,
            allowance: Allowance::of(ADVANCE),
            is_flooded: false,
            is_reported: false,
        }
    }
}

impl FloodWatch {
    /// Counts a datagram that came. True if it is time to look.
    pub fn is_due(&mut self) -> bool {
        self.datagrams = (self.datagrams + 1) % DATAGRAMS;
        self.datagrams == 0
    }

    /// A piece of a stream with so many bytes, or its end, was read. The library may have joined the frames
    /// that it came in.
    pub fn read(&mut self, bytes: usize) {
        self.pieces += 1 + bytes as u64 / u64::from(DATAGRAM_BYTES);
    }

    /// Looks at what has come so far. What was useful is earned first, since one look covers both.
    pub fn check(&mut self, stats: &ConnectionStats) {
        let received = frames_in(&stats.frame_rx);
        let useful = self.pieces + stats.frame_tx.stream;
        self.allowance.earn(useful - self.useful);
        self.is_flooded |= self.allowance.spend(received - self.received).is_err();
        self.is_flooded |= stats.frame_rx.handshake_done == HANDSHAKES_DONE_MAX;
        (self.received, self.useful) = (received, useful);
    }

    /// True once, if it is a flood.
    pub fn take_found(&mut self) -> bool {
        self.is_flooded && !std::mem::replace(&mut self.is_reported, true)
    }
}

/// Frames of all kinds.
fn frames_in(frames: &FrameStats) -> u64 {
    [
        frames.acks,
        frames.ack_frequency,
        frames.crypto,
        frames.connection_close,
        frames.data_blocked,
        frames.datagram,
        u64::from(frames.handshake_done),
        frames.immediate_ack,
        frames.max_data,
        frames.max_stream_data,
        frames.max_streams_bidi,
        frames.max_streams_uni,
        frames.new_connection_id,
        frames.new_token,
        frames.path_challenge,
        frames.path_response,
        frames.ping,
        frames.reset_stream,
        frames.retire_connection_id,
        frames.stream_data_blocked,
        frames.streams_blocked_bidi,
        frames.streams_blocked_uni,
        frames.stop_sending,
        frames.stream,
    ]
    .into_iter()
    .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts frames of one kind.
    type Kind = fn(&mut FrameStats, u64);

    /// Looks after each of `looks`, which says how many frames of the kind and how many pieces came.
    fn is_flood(kind: Kind, looks: impl IntoIterator<Item = (u64, u64)>) -> bool {
        let (mut watch, mut stats) = (FloodWatch::default(), ConnectionStats::default());
        for (frames, pieces) in looks {
            kind(&mut stats.frame_rx, frames);
            watch.pieces += pieces;
            watch.check(&stats);
        }
        watch.take_found()
    }

    /// All that count as far as they come.
    const KINDS: [Kind; 23] = [
        |own, count| own.acks += count,
        |own, count| own.ack_frequency += count,
        |own, count| own.crypto += count,
        |own, count| own.connection_close += count,
        |own, count| own.data_blocked += count,
        |own, count| own.datagram += count,
        |own, count| own.immediate_ack += count,
        |own, count| own.max_data += count,
        |own, count| own.max_stream_data += count,
        |own, count| own.max_streams_bidi += count,
        |own, count| own.max_streams_uni += count,
        |own, count| own.new_connection_id += count,
        |own, count| own.new_token += count,
        |own, count| own.path_challenge += count,
        |own, count| own.path_response += count,
        |own, count| own.ping += count,
        |own, count| own.reset_stream += count,
        |own, count| own.retire_connection_id += count,
        |own, count| own.stream_data_blocked += count,
        |own, count| own.streams_blocked_bidi += count,
        |own, count| own.streams_blocked_uni += count,
        |own, count| own.stop_sending += count,
        |own, count| own.stream += count,
    ];

    #[test]
    fn every_kind_of_frame_counts() {
        for (number, kind) in KINDS.into_iter().enumerate() {
            assert!(is_flood(kind, [(u64::from(ADVANCE) + 1, 0)]), "{number}: at once");
            assert!(
                is_flood(kind, (0..500).map(|_| (100, 1))),
                "{number}: a piece between them does not help"
            );
            assert!(!is_flood(kind, (0..300).map(|_| (100, 10))), "{number}: a sound server");
        }
        // The library writes all kinds that it knows.
        let known = format!("{:?}", FrameStats::default()).matches(": 0").count();
        assert_eq!(known, KINDS.len() + 1, "and HANDSHAKE_DONE");
    }

    /// The library counts no more than 255 of them, however many come.
    #[test]
    fn handshakes_that_are_done_again_and_again_are_a_flood() {
        let done: Kind = |own, count| own.handshake_done = own.handshake_done.saturating_add(count as u8);
        assert!(is_flood(done, (0..2_000).map(|_| (16, 1))), "pieces between them do not help");
        assert!(!is_flood(done, [(100, 0), (100, 0)]));
    }

    /// Datagrams of a whole window come before the one that was lost is sent again, and so on.
    #[test]
    fn a_window_behind_a_datagram_that_is_lost_is_no_flood() {
        let window = u64::from(CONNECTION_WINDOW / DATAGRAM_BYTES);
        let looks = vec![(u64::from(DATAGRAMS), 0); (window / u64::from(DATAGRAMS)) as usize];
        for pieces in [window, window / 16] {
            let round = [looks.clone(), vec![(1, pieces)]].concat();
            assert!(!is_flood(|own, count| own.stream += count, round.repeat(20)), "{pieces} pieces");
        }
        // Twice the window, of which nothing is ever read.
        assert!(is_flood(|own, count| own.stream += count, looks.repeat(2)));
    }

    /// Bytes that are read earn by their number, in however many pieces they are.
    #[test]
    fn pieces_that_were_joined_earn_as_much() {
        let (mut apart, mut joined) = (FloodWatch::default(), FloodWatch::default());
        (0..1_000).for_each(|_| apart.read(DATAGRAM_BYTES as usize - 1));
        joined.read(1_000 * DATAGRAM_BYTES as usize);
        joined.read(0);
        assert_eq!((apart.pieces, joined.pieces), (1_000, 1_002));
    }

    /// An upload: the server acknowledges every other packet and says nothing for minutes.
    #[test]
    fn what_is_sent_earns_its_acknowledgements() {
        let (mut watch, mut stats) = (FloodWatch::default(), ConnectionStats::default());
        for _ in 0..10_000 {
            stats.frame_tx.stream += 32;
            stats.frame_rx.acks += 16;
            stats.frame_rx.max_stream_data += 8;
            watch.check(&stats);
        }
        assert!(!watch.take_found());
    }

    #[test]
    fn a_flood_is_reported_once() {
        let (mut watch, mut stats) = (FloodWatch::default(), ConnectionStats::default());
        stats.frame_rx.ping = 1 << 40;
        watch.check(&stats);
        assert!(watch.take_found() && !watch.take_found());
        watch.check(&stats);
        assert!(!watch.take_found());
    }
}
