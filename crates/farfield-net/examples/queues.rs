//! Packets through one link with four queues: how long they wait and how many are dropped, beside theory.
//!
//! `cargo run -p farfield-net --example queues`
//!
//! Packets of 1,500 bytes come as a Poisson process to a link of 10 Mbit/s, which takes 1.2 ms for each.
//! Without a limit that is M/D/1, whose mean wait is known: ρ S / (2 (1 - ρ)).

use farfield_net::queue::{Discipline, codel, red};
use farfield_net::rand_core::Rng;
use farfield_net::random::{Purpose, Seed, Stream};
use farfield_net::{Duration, Fate, Instant, Link, LinkModel, Packet};
use std::fmt::Write;
use std::sync::Arc;

const PACKETS: u64 = 20_000;
const PACKET_BYTES: u32 = 1_500;
/// Transmission time of a packet on the link.
const SERVICE: Duration = Duration::from_us(1_200);

/// Waits of the packets that arrived, in order of length, and how many were dropped.
struct Outcome {
    waits: Vec<Duration>,
    dropped: u64,
}

/// Offers Poisson arrivals to a link with this queue, at `load` of its rate.
fn run(discipline: Discipline, load: f64) -> Outcome {
    let model = LinkModel::ideal(Duration::ZERO).rate("10Mbit".parse().expect("a rate")).queue(discipline);
    let mut link = Link::new(Arc::new(model));
    // The link draws from one stream and the arrivals from another: neither changes the other.
    let (mut rng, mut gaps) = (Seed(1).stream(Purpose::Link, 0), Seed(1).stream(Purpose::Arrivals, 0));
    let (mut now, mut came) = (Instant::ZERO, Vec::new());
    let mut outcome = Outcome { waits: Vec::new(), dropped: 0 };
    for key in 0..PACKETS {
        now += exponential(SERVICE.as_secs_f64() / load, &mut gaps);
        came.push(now);
        match link.offer(now, Packet::new(PACKET_BYTES, key), &mut rng) {
            // A queue that decides later: `poll` has the fate once it is decided.
            Fate::Waits => {}
            fate => outcome.count(now, fate),
        }
        while let Some((key, fate)) = link.poll(now, &mut rng) {
            outcome.count(came[key as usize], fate);
        }
    }
    while let Some((key, fate)) = link.poll(Instant::MAX, &mut rng) {
        outcome.count(came[key as usize], fate);
    }
    outcome.waits.sort();
    outcome
}

impl Outcome {
    fn count(&mut self, came: Instant, fate: Fate) {
        match fate {
            Fate::Delivered(delivery) => self.waits.push(delivery.first.at.since(came + SERVICE)),
            Fate::Dropped(_) => self.dropped += 1,
            Fate::Waits => unreachable!("a fate that was polled is decided"),
        }
    }

    fn mean_ms(&self) -> f64 {
        let sum: f64 = self.waits.iter().map(|wait| wait.as_secs_f64()).sum();
        1e3 * sum / self.waits.len() as f64
    }

    fn p99_ms(&self) -> f64 {
        1e3 * self.waits[self.waits.len() * 99 / 100].as_secs_f64()
    }
}

fn exponential(mean_secs: f64, rng: &mut Stream) -> Duration {
    let uniform = ((rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
    Duration::from_secs_f64(-uniform.ln() * mean_secs)
}

/// Waits and drops of each queue at each load, as text.
pub fn report() -> String {
    let limit = "50 packets".parse().expect("a limit");
    let red = red::Parameters {
        limit,
        least: 5.0,
        most: 15.0,
        probability: 0.1,
        weight: 0.002,
        mean_packet: u64::from(PACKET_BYTES),
        gentle: true,
        ecn: false,
    };
    let codel = codel::Parameters {
        limit: Some(limit),
        target: Duration::from_ms(5),
        interval: Duration::from_ms(100),
        max_packet: u64::from(PACKET_BYTES),
        ecn: false,
    };
    let queues = [
        ("unlimited", Discipline::Unlimited),
        ("drop-tail of 50", Discipline::DropTail(limit)),
        ("RED, 5 to 15", Discipline::Red(red)),
        ("CoDel, 5 ms", Discipline::Codel(codel)),
    ];
    let mut table = String::from("load  queue            mean wait   99 % below   dropped   M/D/1's mean\n");
    for load in [0.5, 0.9, 1.2] {
        for (name, discipline) in queues {
            let outcome = run(discipline, load);
            let theory = match discipline {
                Discipline::Unlimited if load < 1.0 => {
                    format!("{:9.2} ms", 1e3 * load * SERVICE.as_secs_f64() / (2.0 * (1.0 - load)))
                }
                Discipline::Unlimited => "  no mean".to_owned(),
                _ => String::new(),
            };
            let row = format!(
                "{load:4}  {name:15} {:7.2} ms   {:7.2} ms   {:6.2} %   {theory}",
                outcome.mean_ms(),
                outcome.p99_ms(),
                100.0 * outcome.dropped as f64 / PACKETS as f64
            );
            writeln!(table, "{}", row.trim_end()).expect("a string takes it");
        }
    }
    table
}

fn main() {
    print!("{}", report());
}
