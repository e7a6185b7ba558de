//! Processor time that a packet costs in virtual time before each kind of queue, beside drop-tail: `cargo
//! bench -p farfield-emulator`.
//!
//! Three ratios. A whole simulation of downloads of 200 kB that arrive at random and take half of a link of
//! 100 Mbit/s, so that hardly anything is dropped and the packets are nearly the same. Another, of 64 users
//! whose downloads fill it, where each queue makes another traffic: TCP's work for what is lost counts too.
//! The link alone, without TCP, wheel and server, is the harshest: Poisson packets of 64 flows at nine tenths
//! of its rate.

#[path = "../tests/shard/scene.rs"]
mod scene;

use farfield_base::random::{Purpose, Seed};
use farfield_base::{Duration, Instant};
use farfield_net::{Fate, Link, Packet};
use rand_core::Rng;
use scene::{Scene, link, ms};
use std::hint::black_box;

const QUEUES: [&str; 6] = ["'10240 packets'", "'pie'", "'codel'", "'fq-codel'", "'fq-pie'", "'unlimited'"];

/// Rounds, of which the best of each queue counts: others on the machine only add.
const ROUNDS: usize = 12;

const PACKETS: u64 = 500_000;

fn main() {
    report("half load", |queue| simulated_ns(queue, "{ model = 'open', arrivals = '30/s' }"));
    report("full load", |queue| simulated_ns(queue, "{ model = 'closed', users = 64 }"));
    report("link alone", link_ns);
}

/// Prints the nanoseconds of a packet before each queue, and their ratio to those of drop-tail.
fn report(title: &str, ns_of: impl Fn(&str) -> f64) {
    let mut best = [f64::INFINITY; QUEUES.len()];
    for _ in 0..ROUNDS {
        for (best, queue) in best.iter_mut().zip(QUEUES) {
            *best = best.min(ns_of(queue));
        }
    }
    for (ns, queue) in best.into_iter().zip(QUEUES) {
        println!("{title}: {ns:7.1} ns a packet, {:5.2} of drop-tail: {queue}", ns / best[0]);
    }
}

fn simulated_ns(queue: &str, load: &str) -> f64 {
    let mut scene = Scene::crowd(64, ms(40));
    scene.load = load.into();
    scene.path = "/bytes/200000".into();
    scene.shared = vec![link(&format!("delay = '2ms'\nrate = '100Mbit'\nqueue = {queue}"))];
    scene.length = Duration::from_secs(5);
    let before_ns = processor_time_ns();
    let played = scene.play();
    let took_ns = processor_time_ns() - before_ns;
    let packets: u64 = played.links.iter().map(|link| link.packets + link.impairments.dropped).sum();
    took_ns / packets as f64
}

fn link_ns(queue: &str) -> f64 {
    let model = link(&format!("rate = '1Gbit'\nqueue = {queue}"));
    let (mut link, mut rng) = (Link::new(model), Seed(1).stream(Purpose::Link, 0));
    let mut gaps = Seed(1).stream(Purpose::Arrivals, 0);
    let (mut now, mut dropped) = (Instant::ZERO, 0u64);
    let before_ns = processor_time_ns();
    for key in 0..PACKETS {
        let draw = gaps.next_u64();
        let uniform = ((draw >> 11) + 1) as f64 / (1u64 << 53) as f64;
        now += Duration::from_secs_f64(-uniform.ln() * 12e-6 / 0.9);
        let packet = Packet::new(1_500, key).of_flow((draw as u32 & 63) << 26);
        let fate = link.offer(now, packet, &mut rng);
        dropped += u64::from(matches!(fate, Fate::Dropped(_)));
        while let Some((_, fate)) = link.poll(now, &mut rng) {
            dropped += u64::from(matches!(fate, Fate::Dropped(_)));
        }
    }
    let took_ns = processor_time_ns() - before_ns;
    black_box(dropped);
    took_ns / PACKETS as f64
}

/// Processor time of this thread so far, by the kernel's scheduler.
fn processor_time_ns() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux has it");
    text.split(' ').next().and_then(|ns| ns.parse().ok()).expect("nanoseconds")
}
