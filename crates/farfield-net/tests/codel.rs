//! The CoDel link against the RFC's own pseudo-code, run event by event.

mod scene;

use farfield_base::random::Stream;
use farfield_base::{Duration, Instant, Share};
use farfield_net::loss::Loss;
use farfield_net::queue::{Discipline, Limit, codel};
use farfield_net::{DropCause, Fate, LinkModel, Order, Packet, Probability, Trace};
use scene::{Bench, at, exponential, stream};
use std::collections::VecDeque;
use std::sync::Arc;

const TARGET_NS: u64 = 5_000_000;
const INTERVAL_NS: u64 = 100_000_000;
const MAX_PACKET: u64 = 1500;
/// 10 Mbit/s.
const NS_A_BYTE: u64 = 800;
const UNDER_WAY_NS: u64 = 7_000_000;

/// RFC 8289, section 5, in its own words and with zero for "not set".
#[derive(Default)]
struct Rfc {
    queue: VecDeque<(u64, u64, u64)>,
    bytes: u64,
    first_above_time: u64,
    drop_next: u64,
    count: u32,
    lastcount: u32,
    dropping: bool,
    fates: Vec<(u64, Option<u64>)>,
}

impl Rfc {
    fn dodequeue(&mut self, now: u64) -> (Option<(u64, u64)>, bool) {
        let Some((key, size, tstamp)) = self.queue.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        self.bytes -= size;
        let mut ok_to_drop = false;
        let sojourn_time = now - tstamp;
        if sojourn_time < TARGET_NS || self.bytes <= MAX_PACKET {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + INTERVAL_NS;
        } else if now >= self.first_above_time {
            ok_to_drop = true;
        }
        (Some((key, size)), ok_to_drop)
    }

    fn control_law(t: u64, count: u32) -> u64 {
        t + (INTERVAL_NS as f64 / f64::from(count).sqrt()) as u64
    }

    fn drop(&mut self, packet: Option<(u64, u64)>) {
        self.fates.push((packet.expect("only packets are dropped").0, None));
    }

    fn deque(&mut self, now: u64) -> Option<(u64, u64)> {
        let (mut p, mut ok_to_drop) = self.dodequeue(now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.drop(p);
                self.count += 1;
                (p, ok_to_drop) = self.dodequeue(now);
                if !ok_to_drop {
                    self.dropping = false;
                } else {
                    self.drop_next = Rfc::control_law(self.drop_next, self.count);
                }
            }
        } else if ok_to_drop {
            self.drop(p);
            (p, _) = self.dodequeue(now);
            self.dropping = true;
            let delta = i64::from(self.count) - i64::from(self.lastcount);
            self.count = 1;
            if delta > 1 && now - self.drop_next < 16 * INTERVAL_NS {
                self.count = delta as u32;
            }
            self.drop_next = Rfc::control_law(now, self.count);
            self.lastcount = self.count;
        }
        p
    }

    /// The link: whenever it is free it takes the next packet.
    fn play(mut self, packets: &[(Instant, u32)]) -> Vec<(u64, Option<u64>)> {
        let mut free_at: Option<u64> = None;
        for (key, &(now, size)) in (0..).zip(packets) {
            while let Some(free) = free_at.filter(|free| *free <= now.as_ns()) {
                free_at = self.transmit(free);
            }
            self.queue.push_back((key, size.into(), now.as_ns()));
            self.bytes += u64::from(size);
            if free_at.is_none() {
                free_at = self.transmit(now.as_ns());
            }
        }
        while let Some(free) = free_at {
            free_at = self.transmit(free);
        }
        self.fates
    }

    fn transmit(&mut self, now: u64) -> Option<u64> {
        let (key, size) = self.deque(now)?;
        let end = now + size * NS_A_BYTE;
        self.fates.push((key, Some(end + UNDER_WAY_NS)));
        Some(end)
    }
}

/// Thirty seconds of load that swings between half and more than the link carries.
fn swinging_load(number: u64) -> Vec<(Instant, u32)> {
    let mut rng = stream(number);
    let mut now = Instant::ZERO;
    let mut next = |n: u64| {
        let size = 40 + (n * 7919 % 1461) as u32;
        let load = [0.5, 1.4, 0.9, 1.1, 2.5][(now.as_ns() / 1_700_000_000 % 5) as usize];
        now += exponential(Duration::from_secs_f64(770.0 * 8.0 / 10e6 / load), &mut rng);
        (now, size)
    };
    (0..60_000).map(&mut next).collect()
}

fn codel(limit: Option<Limit>) -> Discipline {
    let (target, interval) = (Duration::from_ns(TARGET_NS), Duration::from_ns(INTERVAL_NS));
    Discipline::Codel(codel::Parameters { limit, target, interval, max_packet: MAX_PACKET, ecn: false })
}

fn link() -> LinkModel {
    let rate = "10Mbit".parse().unwrap();
    LinkModel::ideal(Duration::from_ns(UNDER_WAY_NS)).rate(rate).queue(codel(None))
}

fn arrival_ns((key, fate): (u64, Fate)) -> (u64, Option<u64>) {
    match fate {
        Fate::Delivered(delivery) => (key, Some(delivery.first.at.as_ns())),
        Fate::Dropped(why) => {
            assert_eq!(why, DropCause::Delayed);
            (key, None)
        }
        Fate::Waits => panic!("a fate is not to wait"),
    }
}

#[test]
fn every_fate_is_the_pseudo_codes() {
    for number in 60..64 {
        let packets = swinging_load(number);
        let expected = Rfc::default().play(&packets);
        let dropped = expected.iter().filter(|(_, arrival)| arrival.is_none()).count();
        assert!(dropped > 100, "the load must make CoDel work: {dropped} drops");
        let fates: Vec<_> = Bench::of(link()).play(&packets).into_iter().map(arrival_ns).collect();
        assert_eq!(fates, expected);
    }
}

/// Polling late makes no difference, also where draws for losses and for jitter alternate.
#[test]
fn fates_do_not_depend_on_when_they_are_asked_for() {
    let packets = swinging_load(70);
    let jitter = Arc::new(|rng: &mut Stream| exponential(Duration::from_ms(1), rng));
    let loss = Loss::Independent(Probability::of(Share::new(0.05).unwrap()));
    let rough = || link().loss(loss).jitter(jitter.clone(), Order::Free);
    let mut lazy = Bench::of(rough());
    let mut fates = Vec::new();
    for (key, &(now, bytes)) in (0..).zip(&packets) {
        match lazy.link.offer(now, Packet::new(bytes, key), &mut lazy.rng) {
            Fate::Waits => {}
            fate => fates.push((key, fate)),
        }
    }
    fates.extend(std::iter::from_fn(|| lazy.link.poll(Instant::MAX, &mut lazy.rng)));
    assert_eq!(lazy.link.next_fate_at(), None);
    let mut asked = Bench::of(rough()).play(&packets);
    fates.sort_by_key(|(key, _)| *key);
    asked.sort_by_key(|(key, _)| *key);
    assert_eq!(fates, asked);
}

/// Below its rate a link holds nothing up for long, and nothing is dropped; its times are those of drop-tail.
#[test]
fn without_a_standing_queue_it_is_a_plain_link() {
    let packets: Vec<(Instant, u32)> = (0..2_000).map(|n| (at(n / 3 * 4_000_000), 1500)).collect();
    let fates: Vec<_> = Bench::of(link()).play(&packets).into_iter().map(arrival_ns).collect();
    let mut plain = Bench::of(link().queue(Discipline::Unlimited));
    let expected = (0..)
        .zip(&packets)
        .map(|(key, &(now, bytes))| (key, plain.offer(now, bytes).ok().map(Instant::as_ns)));
    assert_eq!(fates, expected.collect::<Vec<_>>());
}

#[test]
fn a_full_queue_drops_what_comes() {
    let model = link().queue(codel(Some(Limit::Packets(3))));
    let packets = [(at(0), 1500); 6];
    let fates = Bench::of(model).play(&packets);
    let full = |key| fates.contains(&(key, Fate::Dropped(DropCause::QueueFull)));
    assert_eq!([0, 1, 2, 3, 4, 5].map(full), [false, false, false, false, true, true]);
}

/// On a trace the head waits for the next opportunity: 1 ms apart here, so that 300 packets at once stand for
/// 300 ms, and drops begin an interval after the first has waited for the target.
#[test]
fn it_stands_before_a_trace_too() {
    let trace = Arc::new(Trace::parse("1\n").unwrap());
    let model = LinkModel::ideal(Duration::ZERO).trace(trace).queue(codel(None));
    let fates = Bench::of(model).play(&[(at(0), 1500); 300]);
    let first_drop = fates.iter().position(|(_, fate)| *fate == Fate::Dropped(DropCause::Delayed)).unwrap();
    // 5 ms above target from the fifth on; 100 ms later, at 105 ms, the 105th goes.
    assert_eq!(fates[first_drop].0, 104);
    let arrivals: Vec<u64> = fates.iter().copied().filter_map(|fate| arrival_ns(fate).1).collect();
    let every_ms: Vec<u64> = (1..=arrivals.len() as u64).map(|n| n * 1_000_000).collect();
    assert_eq!(arrivals, every_ms, "what is dropped leaves its opportunity to the next");
}
