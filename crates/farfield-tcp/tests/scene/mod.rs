//! A stage for two connections in virtual time: a path with a delay each way, and a fate for every segment.
//!
//! `A` opens, `B` listens. Positions in assertions count from the initial sequence numbers: data begins at 1.

#![allow(dead_code, reason = "each test file uses its part of the vocabulary")]

use bytes::Bytes;
use farfield_base::random::{Purpose, Seed, Stream};
use farfield_base::{Duration, Instant};
use farfield_net::Wheel;
use farfield_tcp::{
    Config, Connection, Ecn, Event, Flags, Numbers, ReceiveBuffer, Segment, SeqNumber, State, Timestamps,
    Transmit,
};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    A,
    B,
}
pub use Side::{A, B};

/// Fate of a segment on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Pass,
    Drop,
    /// Arrives marked with congestion if its sender allows that, and not at all otherwise.
    Mark,
    /// Arrives so much later than others.
    Late(Duration),
    /// Arrives twice, the second time so much later.
    Twice(Duration),
}

/// A segment that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    pub at: Instant,
    pub from: Side,
    pub segment: Segment,
    /// Position of its first byte.
    pub seq: i64,
    /// Position that it acknowledges.
    pub ack: i64,
    pub len: usize,
    /// Number of times that these bytes (or FIN) were sent by then, this time included; 0 for a bare ACK.
    pub time: usize,
    pub fate: Fate,
}

enum Happening {
    Arrive(Side, Segment, Vec<u8>),
    Timer(Side),
}

pub struct End {
    pub tcp: Connection,
    pub received: Vec<u8>,
    pub events: Vec<(Instant, Event)>,
    /// The application reads the bytes that it is given.
    pub reads: bool,
    armed: Option<Instant>,
    isn: u32,
    /// Positions of the last segment sent: its own and the one it acknowledged.
    last: (i64, i64),
    /// Number of times that something was sent from a position.
    times: BTreeMap<i64, usize>,
}

pub struct Pair {
    pub now: Instant,
    pub a: End,
    pub b: End,
    pub log: Vec<Sent>,
    one_way: Duration,
    /// Bits a second of the link each way, and until when each is busy; without a rate nothing takes time to
    /// send.
    rate: Option<u64>,
    busy: [Instant; 2],
    fate: Box<dyn FnMut(&Sent) -> Fate>,
    wheel: Wheel<Happening>,
}

/// One configuration for both sides, with nothing that obscures arithmetic: no options, no delayed ACKs,
/// segments of 1,000.
pub fn plain() -> Config {
    let mut config = Config::linux();
    config.mss = 1000;
    (config.timestamps, config.sack, config.window_scaling) = (false, false, true);
    config.receive_buffer = ReceiveBuffer::Fixed(1 << 20);
    config.reassembly_max = 1 << 20;
    config.congestion = farfield_tcp::Algorithm::Reno;
    config.slow_start = farfield_tcp::SlowStart::PerAck;
    config.delayed_ack.delay = Duration::ZERO;
    config.time_wait = Duration::from_secs(1);
    config
}

pub fn with_sack() -> Config {
    plain().with(|config| config.sack = true)
}

pub fn ms(ms: u64) -> Duration {
    Duration::from_ms(ms)
}

/// Bytes that differ from place to place.
pub fn body(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at ^ (at >> 8) ^ (at >> 16)) as u8).collect()
}

pub fn luck(seed: u64) -> Stream {
    Seed(seed).stream(Purpose::Link, 0)
}

/// Plays a scene twice, asserts that both went the same, and gives the second.
pub fn twice(scene: impl Fn() -> Pair) -> Pair {
    let (first, second) = (scene(), scene());
    assert_eq!(first.log, second.log, "a scene must be the same each time");
    assert_eq!((first.a.events, first.b.events), (second.a.events.clone(), second.b.events.clone()));
    assert_eq!((&first.a.received, &first.b.received), (&second.a.received, &second.b.received));
    second
}

impl End {
    fn new(tcp: Connection, isn: u32) -> End {
        End {
            tcp,
            received: Vec::new(),
            events: Vec::new(),
            reads: true,
            armed: None,
            isn,
            last: (0, 0),
            times: BTreeMap::new(),
        }
    }

    pub fn saw(&self, event: Event) -> bool {
        self.events.iter().any(|(_, seen)| *seen == event)
    }
}

pub fn numbers(isn: u32) -> Numbers {
    Numbers { isn: SeqNumber(isn), timestamp_offset: 7_000 }
}

pub const ISN_A: u32 = 1_000;
pub const ISN_B: u32 = 50_000;

impl Pair {
    pub fn new(a: Config, b: Config) -> Pair {
        Pair::from_numbers(a, b, ISN_A, ISN_B)
    }

    pub fn from_numbers(a: Config, b: Config, isn_a: u32, isn_b: u32) -> Pair {
        let open = Connection::open(Arc::new(a), numbers(isn_a));
        let listen = Connection::listen(Arc::new(b), numbers(isn_b));
        Pair::of(End::new(open, isn_a), End::new(listen, isn_b))
    }

    /// Both open actively, at once.
    pub fn simultaneous(config: Config) -> Pair {
        let open = |isn| End::new(Connection::open(Arc::new(config.clone()), numbers(isn)), isn);
        Pair::of(open(ISN_A), open(ISN_B))
    }

    fn of(a: End, b: End) -> Pair {
        let fate = Box::new(|_: &Sent| Fate::Pass);
        let log = Vec::new();
        let (now, busy) = (Instant::ZERO, [Instant::ZERO; 2]);
        Pair { now, a, b, log, one_way: ms(50), rate: None, busy, fate, wheel: Wheel::new() }
    }

    /// Decides about each segment.
    pub fn fate(mut self, fate: impl FnMut(&Sent) -> Fate + 'static) -> Pair {
        self.fate = Box::new(fate);
        self
    }

    /// Drops the segments of which `lost` says so.
    pub fn losing(self, mut lost: impl FnMut(&Sent) -> bool + 'static) -> Pair {
        self.fate(move |sent| if lost(sent) { Fate::Drop } else { Fate::Pass })
    }

    pub fn one_way(mut self, delay: Duration) -> Pair {
        self.one_way = delay;
        self
    }

    /// A link of so many bits a second each way, with a queue that has no end.
    pub fn rate(mut self, bits_per_s: u64) -> Pair {
        self.rate = Some(bits_per_s);
        self
    }

    /// Instant at which a segment sent now leaves the link.
    fn leaves(&mut self, from: Side, segment: &Segment) -> Instant {
        let Some(rate) = self.rate else { return self.now };
        let bits = 8 * u64::from(40 + segment.options.len() as u32 + segment.payload_len);
        let busy = &mut self.busy[from as usize];
        *busy = (*busy).max(self.now) + Duration::from_ns(bits * 1_000_000_000 / rate);
        *busy
    }

    pub fn connected(mut self) -> Pair {
        self.run_for(self.one_way.times(4));
        assert!(self.a.saw(Event::Connected) && self.b.saw(Event::Connected));
        self
    }

    pub fn end(&mut self, side: Side) -> &mut End {
        match side {
            A => &mut self.a,
            B => &mut self.b,
        }
    }

    pub fn write(&mut self, side: Side, bytes: &[u8]) {
        self.end(side).tcp.write(Bytes::copy_from_slice(bytes)).expect("open for sending");
        self.settle(side);
    }

    pub fn close(&mut self, side: Side) {
        self.end(side).tcp.close();
        self.settle(side);
    }

    pub fn abort(&mut self, side: Side) {
        self.end(side).tcp.abort();
        self.settle(side);
    }

    pub fn set_unread(&mut self, side: Side, bytes: u32) {
        self.end(side).tcp.set_unread(bytes);
        self.settle(side);
    }

    /// A segment out of nowhere.
    pub fn inject(&mut self, to: Side, segment: Segment, payload: &[u8]) {
        let segment = Segment { payload_len: payload.len() as u32, ..segment };
        self.arrive(to, segment, payload);
    }

    /// A segment that `from` might have sent, at these positions.
    pub fn forged(&self, from: Side, flags: Flags, seq: i64, ack: i64) -> Segment {
        let (own, other) = match from {
            A => (self.a.isn, self.b.isn),
            B => (self.b.isn, self.a.isn),
        };
        let (seq, ack) = (SeqNumber(own).at(seq), SeqNumber(other).at(ack));
        Segment { seq, ack, flags, window: 20_000, ..Segment::default() }
    }

    /// Runs until nothing is due before `span` has passed.
    pub fn run_for(&mut self, span: Duration) {
        let end = self.now + span;
        self.settle(A);
        self.settle(B);
        while let Some((at, happening)) = self.wheel.pop_due(end) {
            assert!(at >= self.now, "time never goes back");
            self.now = at;
            match happening {
                Happening::Arrive(to, segment, payload) => self.arrive(to, segment, &payload),
                Happening::Timer(side) => {
                    if self.end(side).armed == Some(at) {
                        self.end(side).armed = None;
                    }
                    self.end(side).tcp.handle_timer(at);
                    self.settle(side);
                }
            }
        }
        self.now = end;
    }

    /// Forgets what was sent and received so far, in scenes that run for hours.
    pub fn forget(&mut self) {
        self.log.clear();
        for end in [&mut self.a, &mut self.b] {
            end.received.clear();
            end.times.clear();
        }
    }

    fn arrive(&mut self, to: Side, segment: Segment, payload: &[u8]) {
        let now = self.now;
        let end = self.end(to);
        let received = &mut end.received;
        end.tcp.handle_segment(now, &segment, payload, |bytes| received.extend_from_slice(bytes));
        if !end.reads {
            end.tcp.set_unread(end.received.len() as u32);
        }
        self.settle(to);
    }

    fn settle(&mut self, side: Side) {
        let now = self.now;
        while let Some(transmit) = self.end(side).tcp.poll_transmit(now) {
            self.send(side, transmit);
        }
        let end = self.end(side);
        while let Some(event) = end.tcp.poll_event() {
            end.events.push((now, event));
        }
        let timer = end.tcp.poll_timer();
        if let Some(at) = timer.filter(|at| end.armed.is_none_or(|armed| *at < armed)) {
            end.armed = Some(at);
            self.wheel.schedule(at, Happening::Timer(side));
        }
    }

    fn send(&mut self, from: Side, transmit: Transmit) {
        let (mut segment, range) = (transmit.segment, transmit.payload);
        let payload: Vec<u8> = self.end(from).tcp.payload_bytes(range).into();
        assert_eq!(payload.len(), segment.payload_len as usize);
        let (own, other) = if from == A { (self.a.isn, self.b.isn) } else { (self.b.isn, self.a.isn) };
        let (near, near_ack) = self.end(from).last;
        let seq = segment.seq.position(SeqNumber(own), near);
        let ack = segment.ack.position(SeqNumber(other), near_ack);
        let end = self.end(from);
        end.last = (seq, ack);
        let time = if segment.sequence_len() > 0 {
            let times = end.times.entry(seq).or_default();
            *times += 1;
            *times
        } else {
            0
        };
        let len = payload.len();
        let mut sent = Sent { at: self.now, from, segment, seq, ack, len, time, fate: Fate::Pass };
        sent.fate = (self.fate)(&sent);
        let to = if from == A { B } else { A };
        let arrives = self.leaves(from, &segment) + self.one_way;
        let late = match sent.fate {
            Fate::Mark if segment.ecn == Ecn::NotEct => None,
            Fate::Drop => None,
            Fate::Mark => {
                segment.ecn = Ecn::Ce;
                Some(Duration::ZERO)
            }
            Fate::Pass => Some(Duration::ZERO),
            Fate::Late(late) => Some(late),
            Fate::Twice(late) => {
                self.wheel.schedule(arrives, Happening::Arrive(to, segment, payload.clone()));
                Some(late)
            }
        };
        if let Some(late) = late {
            self.wheel.schedule(arrives + late, Happening::Arrive(to, segment, payload));
        }
        self.log.push(sent);
    }

    /// Milliseconds at which `side` sent segments that `which` picks.
    pub fn times_ms(&self, side: Side, which: impl Fn(&Sent) -> bool) -> Vec<u64> {
        let picked = self.log.iter().filter(|sent| sent.from == side && which(sent));
        picked.map(|sent| sent.at.as_ns() / 1_000_000).collect()
    }

    /// First positions of the segments with data that `side` sent at `at_ms`.
    pub fn data_at(&self, side: Side, at_ms: u64) -> Vec<i64> {
        let at = Instant::ZERO + ms(at_ms);
        let picked = self.log.iter().filter(|sent| sent.from == side && sent.at == at && sent.len > 0);
        picked.map(|sent| sent.seq).collect()
    }

    pub fn sent(&self, side: Side) -> impl DoubleEndedIterator<Item = &Sent> {
        self.log.iter().filter(move |sent| sent.from == side)
    }

    pub fn states(&self) -> (State, State) {
        (self.a.tcp.state(), self.b.tcp.state())
    }
}

pub fn stamped(segment: Segment, value: u32) -> Segment {
    let mut segment = segment;
    segment.options.timestamps = Some(Timestamps { value, echo: 0 });
    segment
}
