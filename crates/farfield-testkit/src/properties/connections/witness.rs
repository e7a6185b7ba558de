//! The bytes and windows that a peer has sent and offered, and the bounds that they set for everything that
//! comes back.

use farfield_tcp::{Config, Connection, Segment, SeqNumber, State, Transmit};
use std::collections::BTreeMap;

/// Keeps the books between a connection and the bytes it is fed.
pub struct Witness {
    own: SeqNumber,
    /// The peer's initial sequence number, once the connection has taken one.
    pub peer: Option<SeqNumber>,
    /// Positions that the peer has sent: begin and end of runs.
    sent: BTreeMap<i64, i64>,
    /// Right edge of the largest window that was ever offered.
    offered: i64,
    shift: u8,
    own_shift: u8,
    /// The largest window that may be offered.
    buffer_max: i64,
    /// After the highest position sent.
    pub sent_to: i64,
    /// The position that the last segment acknowledged, and the edge of its window.
    pub acked: i64,
    edge: i64,
    pub written: Vec<u8>,
    pub delivered: i64,
}

/// The byte at a position of the peer's stream.
pub fn peer_byte(at: i64) -> u8 {
    (at ^ (at >> 8)) as u8
}

impl Witness {
    pub fn new(own: SeqNumber) -> Witness {
        Witness {
            own,
            peer: None,
            sent: BTreeMap::new(),
            offered: 1,
            shift: 0,
            own_shift: 0,
            buffer_max: 0,
            sent_to: 0,
            acked: 0,
            edge: 0,
            written: Vec::new(),
            delivered: 0,
        }
    }

    pub fn own(&self) -> SeqNumber {
        self.own
    }

    /// The state was `before` and is `after` this segment was handed in.
    pub fn saw(&mut self, segment: &Segment, config: &Config, before: State, after: State) {
        let flags = segment.flags;
        if matches!(before, State::Listen | State::SynSent) && flags.syn && after != before {
            self.peer = Some(segment.seq);
            let scaling = config.window_scaling && segment.options.window_scale.is_some();
            let buffer_max = config.receive_buffer.max();
            self.buffer_max = i64::from(buffer_max);
            if scaling {
                self.shift = segment.options.window_scale.unwrap_or(0).min(14);
                self.own_shift = (0..14).find(|s| buffer_max >> s <= 65_535).unwrap_or(14);
            }
        }
    }

    /// A segment is about to be handed in.
    pub fn hears(&mut self, segment: &Segment) {
        let ack = segment.ack.position(self.own, self.sent_to).min(self.sent_to);
        let scale = if segment.flags.syn { 0 } else { self.shift };
        let from = if segment.flags.ack { ack } else { 1 };
        self.offered = self.offered.max(from + (i64::from(segment.window) << scale));
        let Some(peer) = self.peer else {
            if segment.flags.syn {
                // The one that is taken is the last one heard; text may be on it
                self.sent = BTreeMap::from([(0, i64::from(segment.sequence_len()))]);
            }
            return;
        };
        let start = segment.seq.position(peer, self.acked);
        let end = start + i64::from(segment.sequence_len());
        if start < end && end > 0 {
            self.add_sent(start.max(0), end);
        }
    }

    fn add_sent(&mut self, mut start: i64, mut end: i64) {
        while let Some((from, to)) = self.sent.range(..=end).next_back().map(|(from, to)| (*from, *to)) {
            if to < start {
                break;
            }
            self.sent.remove(&from);
            (start, end) = (start.min(from), end.max(to));
        }
        self.sent.insert(start, end);
    }

    /// True if the peer has sent all of `from..to`.
    fn was_sent(&self, from: i64, to: i64) -> bool {
        self.sent.range(..=from).next_back().is_some_and(|(_, end)| to <= *end)
    }

    /// Data was handed over.
    pub fn takes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.delivered += 1;
            assert_eq!(*byte, peer_byte(self.delivered), "the byte at {}", self.delivered);
        }
        assert!(self.was_sent(0, self.delivered + 1), "what is delivered was sent");
    }

    /// Checks a segment that the connection sends.
    pub fn judges(&mut self, tcp: &Connection, transmit: &Transmit) {
        let segment = &transmit.segment;
        if segment.flags.rst {
            return;
        }
        let start = segment.seq.position(self.own, self.sent_to);
        let end = start + i64::from(segment.sequence_len());
        assert!(start <= self.sent_to, "nothing is left out");
        self.sent_to = self.sent_to.max(end);
        // A probe of a closed window is one byte, or the FIN
        assert!(end <= self.offered + 1, "{end} is beyond the window, which ends at {}", self.offered);
        if segment.payload_len > 0 {
            let range = transmit.payload.start as usize..transmit.payload.end as usize;
            assert_eq!(range.start as i64, start - 1);
            let bytes = tcp.payload_bytes(transmit.payload.clone());
            assert_eq!(bytes[..], self.written[range], "what was written is what is sent");
            assert!(tcp.payload(transmit.payload.clone()).flatten().eq(bytes.iter()));
        }
        if segment.flags.ack && !segment.flags.syn {
            self.judges_acknowledgment(segment);
        }
    }

    fn judges_acknowledgment(&mut self, segment: &Segment) {
        let peer = self.peer.expect("an ACK follows a SYN");
        let ack = segment.ack.position(peer, self.acked);
        assert!(ack >= self.acked, "an acknowledgment never goes back");
        assert!(self.was_sent(0, ack), "{ack} is acknowledged and was not sent: {:?}", self.sent);
        let window = i64::from(segment.window) << self.own_shift;
        // A part that the shift cuts off is rounded up
        assert!(window < self.buffer_max + (1 << self.own_shift), "{window} bytes are offered");
        let edge = ack + window;
        assert!(edge >= self.edge, "the window never shrinks: {edge} after {}", self.edge);
        (self.acked, self.edge) = (ack, edge);
        for (left, right) in segment.options.sack.as_slice() {
            let (left, right) = (left.position(peer, ack), right.position(peer, ack));
            assert!(ack < left && left < right && self.was_sent(left, right), "{left}..{right} was not sent");
        }
    }
}
