//! Packets of senders like TCP, at instants that do not depend on the queue under test: the loads of the
//! oracles in `../ns3`, where they are written once more in Python.

#![allow(dead_code, reason = "each test file uses its part of the vocabulary")]

use crate::scene::{Bench, at};
use farfield_base::Instant;
use farfield_net::{DropCause, Fate, Packet};

/// A packet that comes: the instant in nanoseconds, its bytes, and the number of its flow.
pub type Coming = (u64, u32, u32);

/// Nanoseconds that a byte takes on the link that is measured: 10 Mbit/s.
pub const NS_PER_BYTE: u64 = 800;

const ROUND_TRIP_NS: u64 = 40_000_000;
const REFERENCE_QUEUE_NS: u64 = 60_000_000;
const DATAGRAM_GAP_NS: u64 = 8_000_000;

/// A load: senders like TCP, and datagrams beside them.
///
/// Each sender paces a window over a round trip of 40 ms and the delay of a drop-tail queue of 60 ms before
/// a link of `bits` a second. The window grows by a packet a round trip and is halved at a loss there, at
/// most once a round trip. Datagrams of 200 bytes come every 8 ms: 2 % of 10 Mbit/s.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub name: &'static str,
    pub senders: u32,
    pub with_datagrams: bool,
    pub bits: u64,
}

const REFERENCE_BITS: u64 = 10_500_000;

/// All loads, in the order of the oracles' files.
pub const LOADS: [Load; 5] = [
    Load { name: "one", senders: 1, with_datagrams: false, bits: REFERENCE_BITS },
    Load { name: "eight", senders: 8, with_datagrams: false, bits: REFERENCE_BITS },
    Load { name: "sixty-four", senders: 64, with_datagrams: false, bits: REFERENCE_BITS },
    Load { name: "datagrams", senders: 8, with_datagrams: true, bits: REFERENCE_BITS },
    Load { name: "flood", senders: 8, with_datagrams: true, bits: 2 * REFERENCE_BITS },
];

impl Load {
    /// The first `count` packets.
    pub fn packets(&self, count: usize) -> Vec<Coming> {
        let senders = self.senders as usize;
        let mut next_ns: Vec<u64> = (1..=u64::from(self.senders)).map(|n| n * 1_000_000).collect();
        if self.with_datagrams {
            next_ns.push(1_000_000 * u64::from(self.senders + 1));
        }
        let (mut window, mut cut_ns) = (vec![2_000u64; senders], vec![0u64; senders]);
        let (mut state, mut busy_ns) = (1u64, 0u64);
        let mut packets = Vec::with_capacity(count);
        while packets.len() < count {
            let flow = (0..next_ns.len()).min_by_key(|&flow| next_ns[flow]).expect("there is a sender");
            let now = next_ns[flow];
            if flow == senders {
                packets.push((now, 200, flow as u32));
                next_ns[flow] += DATAGRAM_GAP_NS;
                continue;
            }
            packets.push((now, 1500, flow as u32));
            let waits_ns = busy_ns.saturating_sub(now);
            let trip_ns = ROUND_TRIP_NS + waits_ns;
            if waits_ns <= REFERENCE_QUEUE_NS {
                busy_ns = busy_ns.max(now) + 1500 * 8_000_000_000 / self.bits;
                window[flow] += 1_000_000 / window[flow];
            } else if now > cut_ns[flow] + trip_ns {
                window[flow] = (window[flow] / 2).max(1_000);
                cut_ns[flow] = now;
            }
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let spread = 768 + (state >> 33) % 512;
            next_ns[flow] = now + trip_ns * 1_000 / window[flow] * spread / 1024;
        }
        packets
    }
}

/// The fate of a packet in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueFate {
    /// The packet left after so many nanoseconds.
    Left(u64),
    /// The packet left after so many nanoseconds, marked with congestion.
    Marked(u64),
    /// The discipline dropped it.
    Dropped,
    /// It was dropped because the queue was full.
    Full,
}

/// The fates in the part of an oracle's file that belongs to `load`.
pub fn recorded(file: &str, load: &Load) -> Vec<QueueFate> {
    let title = format!("load {}", load.name);
    let lines = file.lines().skip_while(|line| *line != title).skip(1);
    let fate = |line: &str| match line {
        "c" => QueueFate::Dropped,
        "f" => QueueFate::Full,
        wait => QueueFate::Left(wait.parse().expect("nanoseconds")),
    };
    let lines = lines.take_while(|line| !line.starts_with("load"));
    lines.flat_map(str::split_ascii_whitespace).map(fate).collect()
}

/// Offers packets to the link, polling as often as `polls` says: what became of each.
/// Those of flows with odd numbers may be marked.
pub fn play(
    bench: &mut Bench,
    ns_per_byte: u64,
    packets: &[Coming],
    hash: impl Fn(u32) -> u32,
    polls: impl Fn(usize) -> bool,
) -> Vec<QueueFate> {
    let mut fates = vec![None; packets.len()];
    let mut settle = |key: u64, fate: Fate| {
        let (came, bytes, _) = packets[key as usize];
        let waited = |at: Instant| at.as_ns() - came - u64::from(bytes) * ns_per_byte;
        let fate = match fate {
            Fate::Delivered(delivery) if delivery.first.marked => {
                QueueFate::Marked(waited(delivery.first.at))
            }
            Fate::Delivered(delivery) => QueueFate::Left(waited(delivery.first.at)),
            Fate::Dropped(DropCause::Delayed | DropCause::Early) => QueueFate::Dropped,
            Fate::Dropped(DropCause::QueueFull) => QueueFate::Full,
            other => panic!("{other:?} is no fate here"),
        };
        assert_eq!(fates[key as usize].replace(fate), None, "a packet has one fate");
    };
    for (number, &(now, bytes, flow)) in packets.iter().enumerate() {
        if polls(number) {
            while let Some(due) = bench.link.next_fate_at().filter(|due| due.as_ns() <= now) {
                while let Some((key, fate)) = bench.link.poll(due, &mut bench.rng) {
                    settle(key, fate);
                }
            }
        }
        let packet = Packet::new(bytes, number as u64).of_flow(hash(flow)).able_to_be_marked(flow % 2 == 1);
        match bench.link.offer(at(now), packet, &mut bench.rng) {
            Fate::Waits => {}
            fate => settle(number as u64, fate),
        }
    }
    while let Some((key, fate)) = bench.link.poll(Instant::MAX, &mut bench.rng) {
        settle(key, fate);
    }
    assert_eq!(bench.link.next_fate_at(), None, "nothing is left behind");
    fates.into_iter().map(|fate| fate.expect("every packet has a fate")).collect()
}
