//! Links as queues, against queueing theory: Lindley's recursion to the nanosecond, M/D/1 and M/D/1/K in the
//! mean.

mod scene;

use farfield_base::{Duration, Instant};
use farfield_net::queue::Limit;
use farfield_net::{DropCause, LinkModel};
use scene::{Bench, batch_means, poisson, stream};

/// 1,000 bytes take 8 µs.
const GIGABIT: &str = "1Gbit";
const SERVICE_NS: u64 = 8_000;
const PACKET: u32 = 1_000;

fn gigabit() -> LinkModel {
    LinkModel::ideal(Duration::from_ms(10)).rate(GIGABIT.parse().unwrap())
}

fn waiting_ns(model: LinkModel, arrivals: &[Instant]) -> Vec<Result<u64, DropCause>> {
    let mut bench = Bench::of(model);
    let under_way_ns = 10_000_000 + SERVICE_NS;
    let mut wait = |&now: &Instant| Ok(bench.offer(now, PACKET)?.since(now).as_ns() - under_way_ns);
    arrivals.iter().map(&mut wait).collect()
}

/// Lindley 1952: W(n+1) = max(0, W(n) + S - A(n)), packet by packet.
#[test]
fn waits_follow_lindleys_recursion_to_the_nanosecond() {
    let arrivals = poisson(200_000, Duration::from_ns(8_400), &mut stream(10));
    let waits = waiting_ns(gigabit(), &arrivals);
    let mut expected = 0u64;
    for (n, pair) in arrivals.windows(2).enumerate() {
        assert_eq!(waits[n], Ok(expected), "packet {n}");
        expected = (expected + SERVICE_NS).saturating_sub(pair[1].since(pair[0]).as_ns());
    }
}

/// Pollaczek and Khinchine: the mean wait of M/D/1 is ρ S / (2 (1 - ρ)).
#[test]
fn poisson_arrivals_wait_as_long_as_in_m_d_1() {
    for (number, load) in [(20, 0.3), (21, 0.6), (22, 0.8)] {
        let gap = Duration::from_ns((SERVICE_NS as f64 / load) as u64);
        let arrivals = poisson(1_000_000, gap, &mut stream(number));
        let waits: Vec<f64> =
            waiting_ns(gigabit(), &arrivals).into_iter().map(|wait| wait.unwrap() as f64).collect();
        let (mean, half_width) = batch_means(&waits);
        let theory = load * SERVICE_NS as f64 / (2.0 * (1.0 - load));
        assert!((mean - theory).abs() < half_width, "load {load}: {mean} ± {half_width} ns, not {theory}");
        assert!(half_width < 0.06 * theory, "the test would see a tenth: ± {half_width} of {theory}");
    }
}

/// The share lost of M/D/1/K, from the chain embedded at departures (Gross and Harris 1998): with π
/// the distribution of who is left behind, the loss is 1 - 1 / (π(0) + ρ).
fn m_d_1_k_loss(load: f64, room: usize) -> f64 {
    let poisson = |k: usize| (1..=k).fold((-load).exp(), |p, i| p * load / i as f64);
    // Unnormalised: π(0) = 1, and each column of the chain's balance gives the next.
    let mut weight = vec![1.0];
    for j in 0..room - 1 {
        let before: f64 =
            weight[0] * poisson(j) + (1..=j).map(|i| weight[i] * poisson(j - i + 1)).sum::<f64>();
        weight.push((weight[j] - before) / poisson(0));
    }
    let empty = 1.0 / weight.iter().sum::<f64>();
    1.0 - 1.0 / (empty + load)
}

#[test]
fn the_formula_knows_the_easy_cases() {
    // With room for the packet in service only, it is Erlang's: ρ / (1 + ρ), whatever the service.
    assert!((m_d_1_k_loss(0.7, 1) - 0.7 / 1.7).abs() < 1e-12);
    assert!(m_d_1_k_loss(0.5, 40) < 1e-9);
}

/// A queue of `n` packets beside the one in transmission is M/D/1/K with K = n + 1.
#[test]
fn drop_tail_loses_as_m_d_1_k_does() {
    for (number, load, waiting) in [(30, 0.8, 2), (31, 0.9, 5), (32, 1.2, 10)] {
        let gap = Duration::from_ns((SERVICE_NS as f64 / load) as u64);
        let arrivals = poisson(1_000_000, gap, &mut stream(number));
        let model = || gigabit().drop_tail(Limit::Packets(waiting));
        let fates = waiting_ns(model(), &arrivals);
        let lost: Vec<f64> = fates.iter().map(|fate| f64::from(u8::from(fate.is_err()))).collect();
        assert!(fates.iter().all(|fate| fate.is_ok() || *fate == Err(DropCause::QueueFull)));
        let (mean, half_width) = batch_means(&lost);
        let theory = m_d_1_k_loss(load, waiting as usize + 1);
        assert!((mean - theory).abs() < half_width, "load {load}: {mean} ± {half_width}, not {theory}");
        let bytes = gigabit().drop_tail(Limit::Bytes(waiting * u64::from(PACKET)));
        assert_eq!(waiting_ns(bytes, &arrivals), fates, "so many packets are so many bytes");
    }
}

/// Lindley's recursion with a finite buffer, by the book: who has not started to leave waits.
#[test]
fn drop_tail_drops_exactly_who_finds_the_queue_full() {
    let arrivals = poisson(100_000, Duration::from_ns(7_000), &mut stream(40));
    let sizes: Vec<u32> = (0..arrivals.len() as u32).map(|n| 40 + n * 7919 % 1461).collect();
    let mut bench = Bench::of(gigabit().overhead(38).drop_tail(Limit::Bytes(6_000)));
    // Starts and ends in bit times of 1 ns, which at a gigabit have no fractions.
    let mut accepted: Vec<(u64, u64)> = Vec::new();
    let (mut free_at, mut dropped) = (0, 0);
    for (&now, &bytes) in arrivals.iter().zip(&sizes) {
        let size = u64::from(bytes) + 38;
        let waiting: u64 =
            accepted.iter().rev().take_while(|(start, _)| *start > now.as_ns()).map(|(_, size)| size).sum();
        let busy = free_at > now.as_ns();
        let expected = if busy && waiting + size > 6_000 {
            dropped += 1;
            Err(DropCause::QueueFull)
        } else {
            let start = free_at.max(now.as_ns());
            accepted.push((start, size));
            free_at = start + size * 8;
            Ok(Instant::from_ns(free_at + 10_000_000))
        };
        assert_eq!(bench.offer(now, bytes), expected);
    }
    assert!(dropped > 1_000, "{dropped}");
}

/// Headers count: with 1460 of 1500 bytes and 38 more on the wire, goodput is 1460/1538 of the rate.
#[test]
fn a_saturated_link_carries_its_rate_less_what_surrounds_the_payload() {
    for rate in ["56kbit", "1.5Mbit", "100Mbit", "1Gbit"] {
        let model = LinkModel::ideal(Duration::ZERO).rate(rate.parse().unwrap()).overhead(38);
        let bits = model.speed().mean_bits().unwrap();
        let mut bench = Bench::of(model);
        let packets = 10_000;
        let last = (0..packets).map(|_| bench.offer(Instant::ZERO, 1500).unwrap()).last().unwrap();
        let goodput = f64::from(packets) * 1460.0 * 8.0 / last.as_secs_f64();
        let theory = bits * 1460.0 / 1538.0;
        assert!((goodput / theory - 1.0).abs() < 1e-6, "{rate}: {goodput}, not {theory}");
    }
}

#[path = "../examples/queues.rs"]
#[allow(dead_code, reason = "its main is not run")]
mod queues;

#[test]
fn the_example_prints_what_the_readme_shows() {
    let output = queues::report();
    assert!(include_str!("../README.md").contains(&output), "README.md is to show:\n{output}");
}
