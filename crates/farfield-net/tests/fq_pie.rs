//! The FQ-PIE link against a model from the pseudo-code of RFC 8033 and the text of RFC 8290, run event by
//! event, and against what a queue for each flow is for.

mod loads;
mod scene;

use farfield_base::Duration;
use farfield_base::random::Stream;
use farfield_net::queue::{Discipline, Limit, fq_pie, pie};
use farfield_net::{BitRate, LinkModel, Probability, Share};
use loads::{Coming, LOADS, NS_PER_BYTE, QueueFate, play};
use proptest::prelude::*;
use scene::{Bench, stream};
use std::collections::{BTreeMap, VecDeque};

/// A packet that waits: its number, its bytes, when it came, and whether it is marked.
type Waiting = (usize, u64, u64, bool);

/// A flow's queue, and its controller in the words of the RFC.
#[derive(Default)]
struct Flow {
    queue: VecDeque<Waiting>,
    credit: i64,
    is_listed: bool,
    drop_prob: f64,
    accu_prob: f64,
    current_qdelay: u64,
    qdelay_old: u64,
    burst_allowance: u64,
}

/// The queue and its link at work: an event for each arrival, departure and update of all flows.
struct Model {
    p: fq_pie::Parameters,
    ns_per_byte: u64,
    flows: BTreeMap<u32, Flow>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    fates: Vec<Option<QueueFate>>,
    free_at: Option<u64>,
}

impl Model {
    fn play(
        p: fq_pie::Parameters,
        ns_per_byte: u64,
        packets: &[Coming],
        hash: impl Fn(u32) -> u32,
        mut rng: Stream,
    ) -> Vec<QueueFate> {
        let mut model = Model {
            p,
            ns_per_byte,
            flows: BTreeMap::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            fates: vec![None; packets.len()],
            free_at: None,
        };
        let mut update_at = p.pie.update.as_ns();
        for (number, &(now, bytes, flow)) in packets.iter().enumerate() {
            model.run(now, &mut update_at);
            let queue = ((u64::from(hash(flow)) * u64::from(p.queues)) >> 32) as u32;
            model.enque(queue, (number, bytes.into(), now), flow % 2 == 1, &mut rng);
        }
        model.run(u64::MAX / 2, &mut update_at);
        model.fates.into_iter().map(|fate| fate.expect("every packet has a fate")).collect()
    }

    /// Departures and updates up to `now`, the former first where both are due.
    fn run(&mut self, now: u64, update_at: &mut u64) {
        loop {
            match self.free_at {
                Some(free) if free <= now && free <= *update_at => self.transmit(free),
                // Without packets under way nothing is to be seen of updates at the very end.
                _ if *update_at > now || now == u64::MAX / 2 && self.free_at.is_none() => return,
                _ => {
                    self.flows.values_mut().for_each(|flow| flow.calculate_drop_prob(&self.p.pie));
                    *update_at += self.p.pie.update.as_ns();
                }
            }
        }
    }

    fn enque(&mut self, queue: u32, packet: (usize, u64, u64), able: bool, rng: &mut Stream) {
        let (number, bytes, now) = packet;
        let p = &self.p.pie;
        let half = p.target.as_ns() / 2;
        let flow = self.flows.entry(queue).or_default();
        if flow.drop_prob == 0.0 && flow.current_qdelay < half && flow.qdelay_old < half {
            flow.burst_allowance = p.burst.as_ns();
        }
        let mut marked = false;
        if flow.burst_allowance == 0 && flow.drop_early(p, rng) {
            flow.accu_prob = 0.0;
            marked = p.ecn && able && flow.drop_prob < 0.1;
            if !marked {
                self.fates[number] = Some(QueueFate::Dropped);
                return;
            }
        }
        flow.queue.push_back((number, bytes, now, marked));
        if !flow.is_listed {
            (flow.is_listed, flow.credit) = (true, i64::from(self.p.quantum));
            self.new.push_back(queue);
        }
        match self.free_at {
            None => self.transmit(now),
            Some(_) => {
                while self.is_over_limit() {
                    self.drop_of_the_fattest();
                }
            }
        }
    }

    fn is_over_limit(&self) -> bool {
        match self.p.pie.limit {
            Limit::Packets(most) => {
                self.flows.values().map(|flow| flow.queue.len() as u64).sum::<u64>() > most
            }
            Limit::Bytes(most) => self.flows.values().map(Flow::bytes).sum::<u64>() > most,
        }
    }

    /// RFC 8290, section 4.1: half of the bytes, at most 64 packets, of the first by number of those with the
    /// most.
    fn drop_of_the_fattest(&mut self) {
        let most = self.flows.values().map(Flow::bytes).max().expect("a packet waits");
        let flow = self.flows.values_mut().find(|flow| flow.bytes() == most).expect("it has the most");
        let mut dropped = 0;
        for _ in 0..64 {
            let Some((number, bytes, ..)) = flow.queue.pop_front() else { break };
            self.fates[number] = Some(QueueFate::Full);
            dropped += bytes;
            if dropped >= most / 2 {
                break;
            }
        }
        flow.accu_prob = 0.0;
        if flow.queue.is_empty() {
            flow.current_qdelay = 0;
        }
    }

    /// Starts to transmit the next packet, if there is one.
    fn transmit(&mut self, now: u64) {
        self.free_at = None;
        let Some((number, bytes, came, marked)) = self.dequeue(now) else { return };
        let fate = if marked { QueueFate::Marked } else { QueueFate::Left };
        self.fates[number] = Some(fate(now - came));
        self.free_at = Some(now + bytes * self.ns_per_byte);
    }

    fn dequeue(&mut self, now: u64) -> Option<Waiting> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let number = *list.front()?;
            let flow = self.flows.get_mut(&number).expect("it is listed");
            if flow.credit <= 0 {
                flow.credit += i64::from(self.p.quantum);
                list.pop_front();
                self.old.push_back(number);
                continue;
            }
            if let Some(packet) = flow.queue.pop_front() {
                flow.credit -= packet.1 as i64;
                flow.current_qdelay = if flow.queue.is_empty() { 0 } else { now - packet.2 };
                return Some(packet);
            }
            list.pop_front();
            if is_new {
                self.old.push_back(number);
            } else {
                flow.is_listed = false;
            }
        }
    }
}

impl Flow {
    fn bytes(&self) -> u64 {
        self.queue.iter().map(|packet| packet.1).sum()
    }

    fn drop_early(&mut self, p: &pie::Parameters, rng: &mut Stream) -> bool {
        if self.qdelay_old < p.target.as_ns() / 2 && self.drop_prob < 0.2 {
            return false;
        }
        if self.bytes() <= 2 * p.mean_packet {
            return false;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += self.drop_prob;
        if self.accu_prob < 0.85 {
            return false;
        }
        if self.accu_prob >= 8.5 {
            return true;
        }
        Probability::of(Share::new(self.drop_prob).unwrap()).happens(rng)
    }

    fn calculate_drop_prob(&mut self, p: &pie::Parameters) {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let (current, old) = (seconds(self.current_qdelay), seconds(self.qdelay_old));
        let step = p.alpha * (current - seconds(p.target.as_ns())) + p.beta * (current - old);
        let step = match self.drop_prob {
            prob if prob < 0.000_001 => step / 2048.0,
            prob if prob < 0.000_01 => step / 512.0,
            prob if prob < 0.000_1 => step / 128.0,
            prob if prob < 0.001 => step / 32.0,
            prob if prob < 0.01 => step / 8.0,
            prob if prob < 0.1 => step / 2.0,
            _ => step.min(0.02),
        };
        self.drop_prob += step;
        if self.current_qdelay == 0 && self.qdelay_old == 0 {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = self.current_qdelay;
        self.burst_allowance = self.burst_allowance.saturating_sub(p.update.as_ns());
    }
}

fn parameters() -> fq_pie::Parameters {
    let pie = pie::Parameters {
        limit: Limit::Packets(10_240),
        target: Duration::from_ms(15),
        update: Duration::from_ms(15),
        burst: Duration::from_ms(150),
        alpha: 0.125,
        beta: 1.25,
        mean_packet: 1500,
        ecn: false,
    };
    fq_pie::Parameters { pie, quantum: 1500, queues: 1024 }
}

/// A hash that gives each of the first 1,024 flows a queue of its own.
fn own_queue(flow: u32) -> u32 {
    flow << 22
}

/// The link that the model is of, or one with another queue.
fn bench(discipline: Discipline, rng: Stream) -> Bench {
    let rate = BitRate::per_second(8_000_000_000 / NS_PER_BYTE).unwrap();
    let model = LinkModel::ideal(Duration::ZERO).rate(rate).queue(discipline);
    Bench { rng, ..Bench::of(model) }
}

fn played(p: fq_pie::Parameters, packets: &[Coming], number: u64) -> Vec<QueueFate> {
    play(&mut bench(Discipline::FqPie(p), stream(number)), NS_PER_BYTE, packets, own_queue, |_| true)
}

/// The link draws as the model does, and so has the model's fate for every packet.
#[test]
fn the_link_is_the_model() {
    for (load, number) in LOADS.iter().zip(0..) {
        let packets = load.packets(20_000);
        for ecn in [false, true] {
            let p = fq_pie::Parameters { pie: pie::Parameters { ecn, ..parameters().pie }, ..parameters() };
            let expected = Model::play(p, NS_PER_BYTE, &packets, own_queue, stream(number));
            assert!(expected.contains(&QueueFate::Dropped), "{load:?}");
            assert!(played(p, &packets, number) == expected, "{load:?}, marks {ecn}");
        }
    }
}

/// Packets of flows at equal intervals: the bytes, the interval and the first instant of each, in ns.
fn steady(flows: &[(u32, u64, u64)], seconds: u64) -> Vec<Coming> {
    let of_flow = |(flow, &(bytes, gap, first)): (u32, &(u32, u64, u64))| {
        let count = (seconds * 1_000_000_000 - first) / gap;
        (0..count).map(move |nth| (first + nth * gap, bytes, flow))
    };
    let mut packets: Vec<Coming> = (0..).zip(flows).flat_map(of_flow).collect();
    packets.sort_unstable();
    packets
}

/// The fates of a flow's packets that come from `from_ns` on.
fn of_flow(packets: &[Coming], fates: &[QueueFate], flow: u32, from_ns: u64) -> Vec<QueueFate> {
    let own = packets.iter().zip(fates).filter(|((came, _, of), _)| *of == flow && *came >= from_ns);
    own.map(|(_, fate)| *fate).collect()
}

fn dropped_share(fates: &[QueueFate]) -> f64 {
    let left = fates.iter().filter(|fate| matches!(fate, QueueFate::Left(_))).count();
    1.0 - left as f64 / fates.len() as f64
}

fn delays_ms(fates: &[QueueFate]) -> Vec<f64> {
    let left = |fate: &QueueFate| if let QueueFate::Left(ns) = fate { Some(*ns as f64 / 1e6) } else { None };
    fates.iter().filter_map(left).collect()
}

/// A flow of 200 B each 8 ms beside one of twice the link's rate: none of its packets is dropped, and each
/// waits for no more than the packet in transmission, of 1.2 ms. In one queue for both it loses as many.
#[test]
fn a_sparse_flow_is_not_dropped_for_a_heavy_one() {
    let packets = steady(&[(1500, 600_000, 1_000), (200, 8_000_000, 2_000_000)], 5);
    let fates = played(parameters(), &packets, 1);
    let sparse = of_flow(&packets, &fates, 1, 0);
    assert!(dropped_share(&sparse) == 0.0 && sparse.len() > 600, "{sparse:?}");
    assert!(delays_ms(&sparse).iter().all(|delay| *delay <= 1.2), "{sparse:?}");
    assert!(dropped_share(&of_flow(&packets, &fates, 0, 0)) > 0.4);
    let mut one_queue = bench(Discipline::Pie(parameters().pie), stream(1));
    let fates = play(&mut one_queue, NS_PER_BYTE, &packets, own_queue, |_| true);
    assert!(dropped_share(&of_flow(&packets, &fates, 1, 1_000_000_000)) > 0.2, "one queue parts no flows");
}

/// Three flows of 2, 3 and 12 Mbit/s share 10: what is left for the third is 5, so that it is dropped with
/// probability 7/12, at a delay near the target, and the others are not dropped at all.
#[test]
fn each_flow_has_the_probability_of_its_own_excess() {
    let packets = steady(&[(1500, 6_000_000, 1_000), (1500, 4_000_000, 2_000), (1500, 1_000_000, 3_000)], 20);
    let fates = played(parameters(), &packets, 1);
    let settled = |flow| of_flow(&packets, &fates, flow, 8_000_000_000);
    for flow in [0, 1] {
        let fates = settled(flow);
        assert_eq!(dropped_share(&fates), 0.0, "flow {flow}");
        // For the packets of two others at most.
        assert!(delays_ms(&fates).iter().all(|delay| *delay <= 3.0), "flow {flow}");
    }
    let heavy = settled(2);
    let (share, delays) = (dropped_share(&heavy), delays_ms(&heavy));
    assert!((share - 7.0 / 12.0).abs() < 0.01, "{share}");
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    assert!((13.0..18.0).contains(&mean), "{mean} ms in the mean, where 15 are aimed at");
}

/// Of eight flows, those with odd numbers may be marked: they are, while their probability is below a tenth
/// (RFC 8033, section 5.1), and no other is.
#[test]
fn marks_take_the_place_of_drops_below_a_tenth() {
    let packets = LOADS[1].packets(3_000);
    let p = fq_pie::Parameters { pie: pie::Parameters { ecn: true, ..parameters().pie }, ..parameters() };
    let marks = |p| {
        let fates = played(p, &packets, 1);
        let marked = packets.iter().zip(&fates).filter(|(_, fate)| matches!(fate, QueueFate::Marked(_)));
        marked.map(|((_, _, flow), _)| *flow).collect::<Vec<_>>()
    };
    let marked = marks(p);
    assert!(!marked.is_empty() && marked.iter().all(|flow| flow % 2 == 1), "{marked:?}");
    assert!(marks(parameters()).is_empty());
}

/// Parameters and packets in which everything happens within few of them.
fn any_case() -> impl Strategy<Value = (fq_pie::Parameters, Vec<Coming>)> {
    let limit = prop_oneof![
        (1u64..40).prop_map(Limit::Packets),
        (40u64..60_000).prop_map(Limit::Bytes),
        Just(Limit::Packets(10_240)),
    ];
    let times = (1u64..4_000_000, 500_000u64..3_000_000, prop_oneof![Just(0u64), 0u64..9_000_000]);
    let weights = (1.0..200.0f64, 1.0..2_000.0f64);
    let shares = (1u32..3_000, prop_oneof![1u16..9, Just(1024)], any::<bool>());
    let parameters = (limit, times, weights, shares).prop_map(|(limit, times, (alpha, beta), shares)| {
        let (target, update, burst) = times;
        let (quantum, queues, ecn) = shares;
        let [target, update, burst] = [target, update, burst].map(Duration::from_ns);
        let pie = pie::Parameters { limit, target, update, burst, alpha, beta, mean_packet: 500, ecn };
        fq_pie::Parameters { pie, quantum, queues }
    });
    let gap = prop_oneof![
        3 => Just(0u64),
        6 => 0u64..1_500_000,
        1 => (0u64..4).prop_map(|packets| packets * 1_200_000),
        1 => 0u64..100_000_000,
    ];
    let packet = (gap, prop_oneof![Just(1500u32), 1u32..1501], prop_oneof![0u32..6, 0u32..60]);
    (parameters, proptest::collection::vec(packet, 1..250)).prop_map(|(parameters, packets)| {
        let mut now = 1;
        let come = |(gap, bytes, flow)| {
            now += gap;
            (now, bytes, flow)
        };
        (parameters, packets.into_iter().map(come).collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_500) })]

    /// Whatever comes, the link has the model's fates, however often it is polled.
    #[test]
    fn any_packets_fare_as_in_the_model((p, packets) in any_case(), seed in 0u64..100, every in 1usize..30) {
        // Flows beyond the queues share some.
        let hash = |flow: u32| flow.wrapping_mul(0x9e37_79b9);
        let expected = Model::play(p, NS_PER_BYTE, &packets, hash, stream(seed));
        let mut link = bench(Discipline::FqPie(p), stream(seed));
        let fates = play(&mut link, NS_PER_BYTE, &packets, hash, |number| number.is_multiple_of(every));
        prop_assert_eq!(fates, expected);
    }
}
