//! The FQ-CoDel link against a model from the RFCs' own words, run event by event, and the model against
//! ns-3.

mod loads;
mod scene;

#[path = "fq_codel/model.rs"]
mod model;

use farfield_base::{Duration, Instant};
use farfield_net::queue::{Discipline, Limit, codel, fq_codel};
use farfield_net::{BitRate, Fate, LinkModel, Packet, Trace};
use loads::{Coming, LOADS, Load, NS_PER_BYTE, QueueFate, play, recorded};
use model::{Dialect, Model, Parameters};
use proptest::prelude::*;
use scene::{Bench, at};
use std::sync::Arc;

/// Fates that `ns3/queues.py fq-codel` printed.
const NS3: &str = include_str!("ns3/fq_codel.txt");

/// Fates that `ns3/queues.py codel` printed.
const NS3_CODEL: &str = include_str!("ns3/codel.txt");

/// ns-3's parameters, where bytes that wait must be fewer than its `MinBytes` of 1,500.
fn parameters(dialect: Dialect, load: &Load) -> Parameters {
    Parameters {
        dialect,
        limit: model::Limit::Packets(if load.name == "flood" { 100 } else { 10_240 }),
        target_ns: 5_000_000,
        interval_ns: 100_000_000,
        max_packet: 1499,
        quantum: 1500,
        queues: 1024,
        ns_per_byte: NS_PER_BYTE,
        ecn: false,
    }
}

/// A hash that gives each of the first 1,024 flows a queue of its own, as ns-3 has them.
fn own_queue(flow: u32) -> u32 {
    flow << 22
}

/// The link that the model is of.
fn link(p: &Parameters) -> LinkModel {
    let limit = match p.limit {
        model::Limit::Packets(packets) => Limit::Packets(packets),
        model::Limit::Bytes(bytes) => Limit::Bytes(bytes),
    };
    let codel = codel::Parameters {
        limit: Some(limit),
        target: Duration::from_ns(p.target_ns),
        interval: Duration::from_ns(p.interval_ns),
        max_packet: p.max_packet,
        ecn: p.ecn,
    };
    let fq_codel = fq_codel::Parameters { codel, quantum: p.quantum as u32, queues: p.queues as u16 };
    let rate = BitRate::per_second(8_000_000_000 / p.ns_per_byte).unwrap();
    LinkModel::ideal(Duration::ZERO).rate(rate).queue(Discipline::FqCodel(fq_codel))
}

fn played(p: &Parameters, packets: &[Coming]) -> Vec<QueueFate> {
    play(&mut Bench::of(link(p)), p.ns_per_byte, packets, own_queue, |_| true)
}

/// With the arithmetic of Linux the model has ns-3's fate for every packet, to the nanosecond.
#[test]
fn the_model_in_linux_arithmetic_is_ns3() {
    for load in &LOADS {
        let expected = recorded(NS3, load);
        let dropped = expected.iter().filter(|fate| **fate == QueueFate::Dropped).count();
        assert!(expected.len() == 3_000 && dropped > 100, "{load:?}: {dropped} drops");
        let fates = Model::play(parameters(Dialect::Linux, load), &load.packets(3_000), own_queue);
        let first = fates.iter().zip(&expected).position(|(fate, expected)| fate != expected);
        assert_eq!(first, None, "{load:?}");
    }
}

/// One queue for all flows is CoDel: with the arithmetic of Linux it is ns-3's, and the link's, which has the
/// RFC's, is near.
#[test]
fn one_queue_is_codel() {
    println!("load        drops: link, ns-3     mean ms: link, ns-3     99 % ms: link, ns-3");
    for load in LOADS.iter().filter(|load| ["eight", "datagrams"].contains(&load.name)) {
        let packets = load.packets(3_000);
        let expected = recorded(NS3_CODEL, load);
        assert_eq!(expected.len(), 3_000);
        let one = |dialect| Parameters { queues: 1, ..parameters(dialect, load) };
        let fates = Model::play(one(Dialect::Linux), &packets, own_queue);
        assert_eq!(fates.iter().zip(&expected).position(|(fate, expected)| fate != expected), None);
        let codel = codel::Parameters {
            limit: None,
            target: Duration::from_ms(5),
            interval: Duration::from_ms(100),
            max_packet: 1499,
            ecn: false,
        };
        let discipline = Discipline::Codel(codel);
        let fates = play(
            &mut Bench::of(link(&one(Dialect::Rfc)).queue(discipline)),
            NS_PER_BYTE,
            &packets,
            own_queue,
            |_| true,
        );
        assert!(fates == Model::play(one(Dialect::Rfc), &packets, own_queue));
        let ([drops, mean, most], [ns3_drops, ns3_mean, ns3_most]) = (figures(&fates), figures(&expected));
        println!(
            "{:10}  {:6.2} % {:6.2} %    {mean:8.2} {ns3_mean:8.2}      {most:8.2} {ns3_most:8.2}",
            load.name,
            100.0 * drops,
            100.0 * ns3_drops
        );
        assert!((drops - ns3_drops).abs() < 0.004 && (mean / ns3_mean - 1.0).abs() < 0.09, "{load:?}");
        assert!((most / ns3_most - 1.0).abs() < 0.12, "{load:?}");
    }
}

/// The link has the fate for every packet that the RFCs' pseudo-code gives it.
#[test]
fn the_link_is_the_model_in_the_rfcs_arithmetic() {
    for load in &LOADS {
        let (parameters, packets) = (parameters(Dialect::Rfc, load), load.packets(20_000));
        let expected = Model::play(parameters, &packets, own_queue);
        assert!(expected.contains(&QueueFate::Dropped), "{load:?}");
        assert!(played(&parameters, &packets) == expected, "{load:?}");
    }
}

/// Share of packets that were dropped, and mean and 99 % point of the delay of the others in ms.
fn figures(fates: &[QueueFate]) -> [f64; 3] {
    let left = |fate: &QueueFate| if let QueueFate::Left(ns) = fate { Some(*ns as f64 / 1e6) } else { None };
    let mut delays: Vec<f64> = fates.iter().filter_map(left).collect();
    delays.sort_by(f64::total_cmp);
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    [1.0 - delays.len() as f64 / fates.len() as f64, mean, delays[delays.len() * 99 / 100]]
}

/// Beside ns-3 the link differs by CoDel's arithmetic alone: its square roots, where ns-3 has one step of
/// Newton's method, bring the second drop of a series after 71 ms and not after 50.
#[test]
fn the_link_is_near_ns3() {
    println!("load        drops: link, ns-3     mean ms: link, ns-3     99 % ms: link, ns-3   same fate");
    for load in &LOADS {
        let expected = recorded(NS3, load);
        let fates = played(&parameters(Dialect::Rfc, load), &load.packets(3_000));
        let same = fates.iter().zip(&expected).filter(|(fate, expected)| fate == expected).count();
        let ([drops, mean, most], [ns3_drops, ns3_mean, ns3_most]) = (figures(&fates), figures(&expected));
        println!(
            "{:10}  {:6.2} % {:6.2} %    {mean:8.2} {ns3_mean:8.2}      {most:8.2} {ns3_most:8.2}     {:6.1} %",
            load.name,
            100.0 * drops,
            100.0 * ns3_drops,
            same as f64 / 30.0
        );
        assert!((drops - ns3_drops).abs() < 0.004, "{load:?}");
        assert!((mean / ns3_mean - 1.0).abs() < 0.09, "{load:?}");
        assert!((most / ns3_most - 1.0).abs() < 0.12, "{load:?}");
    }
}

/// Parameters and packets in which everything happens within few of them.
fn any_case() -> impl Strategy<Value = (Parameters, Vec<Coming>)> {
    let limit = prop_oneof![
        (1u64..40).prop_map(model::Limit::Packets),
        (40u64..40_000).prop_map(model::Limit::Bytes),
        Just(model::Limit::Packets(10_240)),
    ];
    let times = (1u64..4_000_000, 1u64..20_000_000);
    let shares = (
        1i64..3_000,
        any::<bool>(),
        prop_oneof![1u32..9, Just(1024)],
        prop_oneof![Just(800u64), Just(8), Just(1000)],
    );
    let parameters = (limit, times, shares).prop_map(|(limit, (target_ns, more_ns), shares)| {
        let (quantum, ecn, queues, ns_per_byte) = shares;
        let (interval_ns, max_packet) = (target_ns + more_ns, 1500);
        let dialect = Dialect::Rfc;
        Parameters { dialect, limit, target_ns, interval_ns, max_packet, quantum, queues, ns_per_byte, ecn }
    });
    // Many come at once, and many just when the link becomes free.
    let gap = prop_oneof![
        3 => Just(0u64),
        3 => (0u64..4).prop_map(|packets| packets * 1500),
        2 => 0u64..1_500,
        1 => 0u64..30_000,
    ];
    let packet = (gap, prop_oneof![Just(1500u32), 1u32..1501], prop_oneof![0u32..6, 0u32..60]);
    (parameters, proptest::collection::vec(packet, 1..250)).prop_map(|(parameters, packets)| {
        let mut now = 1;
        let come = |(gap, bytes, flow)| {
            now += gap * parameters.ns_per_byte;
            (now, bytes, flow)
        };
        let packets = packets.into_iter().map(come).collect();
        (parameters, packets)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4_000) })]

    /// Whatever comes, the link has the model's fates, however often it is polled.
    #[test]
    fn any_packets_fare_as_in_the_model((parameters, packets) in any_case(), every in 1usize..30) {
        // Flows beyond the queues share some.
        let hash = |flow: u32| flow.wrapping_mul(0x9e37_79b9);
        let expected = Model::play(parameters, &packets, hash);
        let polls = |number: usize| number.is_multiple_of(every);
        let fates = play(&mut Bench::of(link(&parameters)), parameters.ns_per_byte, &packets, hash, polls);
        prop_assert_eq!(fates, expected);
    }
}

/// On a trace a flow that has just begun goes first at each opportunity, and flows take turns at the rest.
#[test]
fn it_stands_before_a_trace_too() {
    let trace = Arc::new(Trace::parse("1\n").unwrap());
    let flood = parameters(Dialect::Rfc, &LOADS[0]);
    let mut bench = Bench::of(link(&flood).trace(trace));
    let packets: Vec<Coming> = (0..6).map(|n| (0, 1500, n / 3)).chain([(3_500_000, 100, 9)]).collect();
    for (key, &(now, bytes, flow)) in (0..).zip(&packets) {
        let packet = Packet::new(bytes, key).of_flow(own_queue(flow));
        assert_eq!(bench.link.offer(at(now), packet, &mut bench.rng), Fate::Waits);
    }
    let next = || bench.link.poll(Instant::MAX, &mut bench.rng);
    let order = std::iter::from_fn(next).map(|(key, fate)| match fate {
        Fate::Delivered(delivery) => (key, delivery.first.at.as_ns() / 1_000_000),
        other => panic!("{other:?}"),
    });
    assert_eq!(order.collect::<Vec<_>>(), [(0, 1), (3, 2), (1, 3), (6, 4), (4, 5), (2, 6), (5, 7)]);
}

/// The key of hashes belongs to the link's stream, and links that need none draw none.
#[test]
fn the_key_of_hashes_is_drawn_once() {
    let model = link(&parameters(Dialect::Rfc, &LOADS[0]));
    let mut one = Bench::of(model.clone());
    let key = one.link.flow_key(&mut one.rng);
    assert!(key.is_some() && key == one.link.flow_key(&mut one.rng), "it is drawn once");
    let mut other = Bench { rng: scene::stream(2), ..Bench::of(model.clone()) };
    assert_ne!(key, other.link.flow_key(&mut other.rng));
    let mut plain = Bench::of(model.queue(Discipline::Unlimited));
    assert_eq!(plain.link.flow_key(&mut plain.rng), None, "nothing is drawn for queues that part no flows");
}
