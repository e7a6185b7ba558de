//! A connection fed by an adversary: segments of its making, time, and an application that does anything at
//! any moment. The fuzz target `tcp_connection` is [`of_connection`].
//!
//! The properties: no panic; nothing is sent beyond the largest window that was offered, but for a probe's
//! one byte; nothing is acknowledged, selectively or not, that was not sent; what is delivered is the peer's
//! stream, in order; neither an acknowledgment nor a window's edge goes back; no window is larger than the
//! receive buffer may become; what is sent is what was written; sending ends; no timer spins.

mod witness;

use super::input::Input;
use bytes::Bytes;
use farfield_base::{Duration, Instant};
use farfield_tcp::{
    Config, Connection, Flags, Numbers, ReceiveBuffer, Segment, SeqNumber, State, Timestamps,
};

use std::sync::Arc;
use witness::{Witness, peer_byte};

struct TcpHarness {
    config: Arc<Config>,
    tcp: Connection,
    witness: Witness,
    now: Instant,
    /// The peer's first sequence number until the connection has taken one.
    peer: SeqNumber,
}

/// A fuzzer's input: a byte that chooses the profile and who opens, two for the sequence numbers, then steps
/// of a byte and its arguments each.
pub fn of_connection(input: &[u8]) {
    let mut input = Input(input);
    let head = input.byte();
    let profiles = [Config::linux, Config::bsd, Config::windows];
    let mut config = profiles[usize::from(head & 0x0f) % 3]();
    config.reassembly_max = 20_000;
    if head & 0x10 != 0 {
        config.receive_buffer = ReceiveBuffer::Auto { initial: 1_000, max: 3_000 };
    }
    if head & 0x40 != 0 {
        config.receive_buffer = ReceiveBuffer::Fixed(300_000);
    }
    let own = SeqNumber(u32::MAX - u32::from(input.byte()) * 7);
    let peer = SeqNumber(u32::MAX - u32::from(input.byte()) * 7);
    let mut harness = TcpHarness::new(config, head & 0x20 != 0, own, peer);
    if head & 0x80 != 0 {
        harness.shake_hands();
    }
    let mut steps = 0;
    while !input.is_over() && steps < 2_000 {
        harness.step(&mut input);
        harness.settle();
        steps += 1;
    }
}

impl TcpHarness {
    fn new(config: Config, listens: bool, isn: SeqNumber, peer: SeqNumber) -> TcpHarness {
        let config = Arc::new(config);
        let numbers = Numbers { isn, timestamp_offset: 7_000 };
        let open = if listens { Connection::listen } else { Connection::open };
        let (tcp, now) = (open(config.clone(), numbers), Instant::ZERO);
        let mut harness = TcpHarness { config, tcp, witness: Witness::new(isn), now, peer };
        harness.settle();
        harness
    }

    fn shake_hands(&mut self) {
        let flags = if self.tcp.state() == State::Listen { Flags::SYN } else { Flags::SYN_ACK };
        let mut segment = self.segment(flags, 0, self.witness.sent_to);
        segment.options.mss = Some(1460);
        segment.options.window_scale = Some(7);
        segment.options.sack_permitted = true;
        self.hand_in(segment, &[]);
        self.settle();
        self.hand_in(self.segment(Flags::ACK, 1, 1), &[]);
        self.settle();
    }

    /// A segment at positions in both directions, with a stamp of now.
    fn segment(&self, flags: Flags, seq: i64, ack: i64) -> Segment {
        let ms = (self.now.as_ns() / 1_000_000) as u32;
        let echo = 7_000u32.wrapping_add(ms);
        let mut segment = Segment { flags, window: 20_000, ..Segment::default() };
        segment.seq = self.witness.peer.unwrap_or(self.peer).at(seq);
        segment.ack = self.own().at(ack);
        segment.options.timestamps = Some(Timestamps { value: ms, echo });
        segment
    }

    fn own(&self) -> SeqNumber {
        self.witness.own()
    }

    fn step(&mut self, input: &mut Input<'_>) {
        match input.byte() {
            b't' => self.pass(Duration::from_ms(u64::from(input.word()))),
            b'T' => self.pass(Duration::from_secs(u64::from(input.word()))),
            b'w' => self.write(usize::from(input.word()) / 4),
            b'u' => self.tcp.set_unread(u32::from(input.word()) * 2),
            b'c' => self.tcp.close(),
            b'a' => self.tcp.abort(),
            b'm' => self.tcp.reduce_mss(input.word()),
            b'h' => self.honest(input),
            _ => self.forged(input),
        }
    }

    fn pass(&mut self, span: Duration) {
        self.now += span;
        self.tcp.handle_timer(self.now);
    }

    fn write(&mut self, len: usize) {
        let from = self.witness.written.len();
        let bytes: Vec<u8> = (from..from + len).map(|at| (at * 31) as u8).collect();
        if self.tcp.write(Bytes::from(bytes.clone())).is_ok() {
            self.witness.written.extend(bytes);
        }
    }

    /// The segment that would come next, give or take a little.
    fn honest(&mut self, input: &mut Input<'_>) {
        let (kind, skip) = (input.byte(), i64::from(input.byte()) * 100);
        let seq = self.witness.acked + if kind & 1 != 0 { skip } else { 0 };
        let ack = (self.witness.sent_to - if kind & 2 != 0 { skip } else { 0 }).max(1);
        let mut segment = self.segment(Flags::ACK, seq, ack);
        segment.flags.fin = kind & 0x1c == 0x1c;
        segment.window = if kind & 0x60 == 0x60 { input.word() } else { 2_000 };
        if kind & 0x80 != 0 {
            let left = ack + i64::from(input.byte()) * 50;
            segment
                .options
                .sack
                .push(self.own().at(left), self.own().at(left + i64::from(input.word()) / 16));
        }
        self.send(segment, usize::from(input.word()) / 16);
    }

    fn forged(&mut self, input: &mut Input<'_>) {
        let (bits, kinds) = (input.byte(), input.byte());
        let flags = Flags {
            syn: bits & 0x07 == 7,
            ack: bits & 0x18 != 0,
            fin: bits & 0x60 == 0x60,
            rst: bits & 0x87 == 0x86,
            psh: bits & 0x80 != 0,
            ece: bits & 0x50 == 0x50,
            cwr: bits & 0x28 == 0x28,
        };
        let (seq, ack) = (self.witness.acked + input.step(), self.witness.sent_to + input.step());
        let mut segment = self.segment(flags, seq, ack);
        segment.window = input.word();
        if kinds & 1 != 0 {
            let (value, echo) = (input.step() as u32, input.step() as u32);
            let stamps = segment.options.timestamps.unwrap_or_default();
            let (value, echo) = (stamps.value.wrapping_add(value), stamps.echo.wrapping_add(echo));
            segment.options.timestamps = (kinds & 2 == 0).then_some(Timestamps { value, echo });
        }
        for _block in 0..(kinds >> 2) & 3 {
            let left = ack + input.step();
            segment.options.sack.push(self.own().at(left), self.own().at(left + input.step()));
        }
        if kinds & 0x10 != 0 {
            segment.options.mss = Some(input.word());
            segment.options.window_scale = Some(input.byte());
            segment.options.sack_permitted = kinds & 0x20 != 0;
        }
        let len = usize::from(input.word());
        self.send(segment, if kinds & 0xc0 == 0xc0 { len } else { len / 64 });
    }

    /// Hands in a segment with `len` bytes of the peer's stream.
    fn send(&mut self, segment: Segment, len: usize) {
        // A SYN that opens the connection sets the origin; text on it is the first of the stream.
        let assumed = if segment.flags.syn { segment.seq } else { self.peer };
        let origin = self.witness.peer.unwrap_or(assumed);
        let first = segment.seq.position(origin, self.witness.acked) + i64::from(segment.flags.syn);
        let bytes: Vec<u8> = (first..first + len as i64).map(peer_byte).collect();
        self.hand_in(segment, &bytes);
    }

    fn hand_in(&mut self, mut segment: Segment, payload: &[u8]) {
        segment.payload_len = payload.len() as u32;
        self.witness.hears(&segment);
        let before = self.tcp.state();
        if let Some(mut waits) = self.tcp.time_wait() {
            waits.handle_segment(self.now, &segment, self.config.time_wait);
        }
        let witness = &mut self.witness;
        self.tcp.handle_segment(self.now, &segment, payload, |bytes| witness.takes(bytes));
        self.witness.saw(&segment, &self.config, before, self.tcp.state());
    }

    fn settle(&mut self) {
        let mut sent = 0;
        while let Some(transmit) = self.tcp.poll_transmit(self.now) {
            self.witness.judges(&self.tcp, &transmit);
            sent += 1;
            assert!(sent < 5_000, "sending ends");
        }
        while self.tcp.poll_event().is_some() {}
        self.tcp.handle_timer(self.now);
        assert!(self.tcp.poll_transmit(self.now).is_none(), "a timer that comes twice does no harm");
        assert!(self.tcp.poll_timer().is_none_or(|at| at > self.now), "no timer spins");
    }
}
