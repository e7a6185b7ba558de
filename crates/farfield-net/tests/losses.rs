//! Losses against their models: rates, run lengths, and which packets share a memory.

mod scene;

use farfield_base::{Duration, Instant, Share};
use farfield_net::loss::{GilbertElliott, Loss, Memory, Scope};
use farfield_net::{DropCause, Fate, Link, LinkModel, Packet, Probability};
use scene::{Bench, chi_squared, chi_squared_limit, stream};
use std::sync::Arc;

const PACKETS: usize = 1_000_000;
const PACKET: Packet = Packet::new(1000, 0);

fn share(x: f64) -> Share {
    Share::new(x).unwrap()
}

fn losses(loss: Loss) -> Vec<bool> {
    let mut bench = Bench::of(LinkModel::ideal(Duration::ZERO).loss(loss));
    (0..PACKETS).map(|_| bench.offer(Instant::ZERO, 1000) == Err(DropCause::Lost)).collect()
}

/// Number of runs of `wanted` that are 1, 2, …, `longest` or longer long.
fn runs(lost: &[bool], wanted: bool, longest: usize) -> Vec<u64> {
    let mut counts = vec![0; longest];
    for run in lost.chunk_by(|a, b| a == b).filter(|run| run[0] == wanted) {
        counts[run.len().min(longest) - 1] += 1;
    }
    counts
}

/// Runs that end with probability `end` after each packet: 1, 2, … `longest` or longer.
fn geometric(count: u64, end: f64, longest: usize) -> Vec<f64> {
    let stays = |k: usize| (1.0 - end).powi(k as i32);
    let share = |k: usize| if k + 1 < longest { stays(k) * end } else { stays(k) };
    (0..longest).map(|k| count as f64 * share(k)).collect()
}

fn assert_geometric(lost: &[bool], wanted: bool, end: f64, longest: usize) {
    let seen = runs(lost, wanted, longest);
    let expected = geometric(seen.iter().sum(), end, longest);
    let (chi, limit) = (chi_squared(&seen, &expected), chi_squared_limit(longest - 1));
    assert!(chi < limit, "runs of {wanted}: chi-squared is {chi}, above {limit}: {seen:?}, not {expected:?}");
}

fn rate(lost: &[bool]) -> f64 {
    lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64
}

/// Independent losses: the rate within four standard errors, and runs of both kinds geometric.
#[test]
fn independent_losses_remember_nothing() {
    for p in [0.01, 0.1, 0.5] {
        let lost = losses(Loss::Independent(Probability::of(share(p))));
        let error = (p * (1.0 - p) / PACKETS as f64).sqrt();
        assert!((rate(&lost) - p).abs() < 4.0 * error, "{p}: {}", rate(&lost));
        assert_geometric(&lost, true, 1.0 - p, if p < 0.05 { 3 } else { 5 });
        assert_geometric(&lost, false, p, 20);
    }
}

/// WASP's table: runs of losses end with 0.65, runs without begin a loss with 0.02, 0.04, 0.07, and the rate
/// is what the chain's stationary distribution says. A two-state chain's rate has the variance of an
/// independent one times (1 + λ) / (1 - λ), with λ = 1 - to_bad - to_good.
#[test]
fn bursts_are_as_long_and_as_many_as_wasps_table_says() {
    for (percent, to_bad) in [(3, 0.02), (6, 0.04), (9, 0.07)] {
        let model = GilbertElliott::wasp(percent).unwrap();
        let lost = losses(Loss::GilbertElliott(model, Scope::Link));
        let (p, memory) = (to_bad / (to_bad + 0.65), 1.0 - to_bad - 0.65);
        let error = (p * (1.0 - p) / PACKETS as f64 * (1.0 + memory) / (1.0 - memory)).sqrt();
        assert!((rate(&lost) - p).abs() < 4.0 * error, "{percent} %: {}, not {p}", rate(&lost));
        assert_geometric(&lost, true, 0.65, 6);
        assert_geometric(&lost, false, to_bad, 30);
    }
}

/// Two connections that take turns on one link: each is WASP's chain, and neither depends on the other. With
/// one memory for the link, a loss of one foretells the other's.
#[test]
fn connections_with_memories_of_their_own_are_independent() {
    let model = GilbertElliott::wasp(9).unwrap();
    let both = |scope| {
        let model = LinkModel::ideal(Duration::ZERO).loss(Loss::GilbertElliott(model, scope));
        let (mut link, mut rng) = (Link::new(Arc::new(model)), stream(50));
        let mut memories = [Memory::default(); 2];
        let mut lost = |memory: &mut Memory| {
            link.offer_of(memory, Instant::ZERO, PACKET, &mut rng) == Fate::Dropped(DropCause::Lost)
        };
        let pairs: Vec<[bool; 2]> = (0..PACKETS).map(|_| memories.each_mut().map(&mut lost)).collect();
        pairs
    };
    let own = both(Scope::Connection);
    let limit = assert_independent(&own, model.loss_rate());
    let (shared, expected) = (table(&both(Scope::Link)), expected_table(model.loss_rate()));
    assert!(chi_squared(&shared, &expected) > 100.0 * limit, "{shared:?}");
}

/// Packets of two connections that take turns: neither lost, the second, the first, both.
fn table(pairs: &[[bool; 2]]) -> [u64; 4] {
    let count = |a, b| pairs.iter().filter(|pair| **pair == [a, b]).count() as u64;
    [count(false, false), count(false, true), count(true, false), count(true, true)]
}

/// The table of two connections that know nothing of each other and lose a share `p` each.
fn expected_table(p: f64) -> [f64; 4] {
    [(1.0 - p) * (1.0 - p), (1.0 - p) * p, p * (1.0 - p), p * p].map(|q| q * PACKETS as f64)
}

/// Asserts that two connections are WASP's chain of 9 % and independent; the limit of the statistic.
fn assert_independent(pairs: &[[bool; 2]], p: f64) -> f64 {
    let (table, expected) = (table(pairs), expected_table(p));
    // Successive packets of a connection are correlated, which widens the statistic by (1 + λ²) / (1 - λ²).
    let limit = chi_squared_limit(3) * (1.0 + 0.28f64.powi(2)) / (1.0 - 0.28f64.powi(2)) * 1.5;
    assert!(chi_squared(&table, &expected) < limit, "{table:?}, not {expected:?}");
    let first: Vec<bool> = pairs.iter().map(|pair| pair[0]).collect();
    assert_geometric(&first, true, 0.65, 6);
    limit
}

/// A link that is lent no memory keeps one for each flow, where losses belong to connections: two flows that
/// take turns are WASP's chain each, and independent.
#[test]
fn flows_have_memories_of_their_own() {
    let model = GilbertElliott::wasp(9).unwrap();
    let loss = Loss::GilbertElliott(model, Scope::Connection);
    let (mut link, mut rng) = (Link::new(Arc::new(LinkModel::ideal(Duration::ZERO).loss(loss))), stream(51));
    let mut lost = |flow: u32| {
        link.offer(Instant::ZERO, PACKET.of_flow(flow), &mut rng) == Fate::Dropped(DropCause::Lost)
    };
    let pairs: Vec<[bool; 2]> = (0..PACKETS).map(|_| [7, 8].map(&mut lost)).collect();
    assert_independent(&pairs, model.loss_rate());
}

/// Packets that the wire loses take none of the link's time.
#[test]
fn lost_packets_do_not_occupy_the_link() {
    let model = LinkModel::ideal(Duration::ZERO).rate("8Mbit".parse().unwrap());
    let mut bench = Bench::of(model.loss(Loss::Independent(Probability::of(share(0.5)))));
    let arrived: Vec<Instant> = (0..1000).filter_map(|_| bench.offer(Instant::ZERO, 1000).ok()).collect();
    let expected: Vec<Instant> = (1..=arrived.len() as u64).map(|n| scene::at(n * 1_000_000)).collect();
    assert_eq!(arrived, expected);
}
