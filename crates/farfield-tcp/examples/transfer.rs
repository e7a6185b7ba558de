//! A transfer of 1 MB over a link with a rate, a delay, a queue and losses at random, in virtual time, and
//! what congestion control does meanwhile.
//!
//! `cargo run -p farfield-tcp --example transfer`
//!
//! The whole loop of a simulation is `Transfer::run`: take what the ends want to send, find the next instant
//! at which something happens, hand it in.

use farfield_net::random::{Purpose, Seed, Stream};
use farfield_net::{Fate, Link, LinkModel, Packet, Probability, Share, Wheel, loss::Loss};
use farfield_tcp::bytes::Bytes;
use farfield_tcp::{Algorithm, Config, Connection, Duration, Instant, Numbers, Segment, SeqNumber};
use std::fmt::Write;
use std::sync::Arc;

/// Bytes of the file.
const FILE: usize = 1_000_000;
/// Bytes of an IPv4 and a TCP header without options.
const HEADERS: u32 = 40;
/// Interval between printed rows of the sender's state.
const ROW: Duration = Duration::from_ms(250);

/// A segment at the end of its link.
struct Arrival {
    to: usize,
    segment: Segment,
    data: Bytes,
}

/// End 0 sends the file to end 1.
struct Transfer {
    now: Instant,
    ends: [Connection; 2],
    /// The way out of each end, with the random stream that it draws from.
    links: [(Link, Stream); 2],
    wheel: Wheel<Arrival>,
    received: usize,
    /// Instant of the last byte.
    complete: Option<Instant>,
    lost: u32,
    table: String,
}

impl Transfer {
    fn new(congestion: Algorithm) -> Transfer {
        let config = Arc::new(Config::linux().with(|config| config.congestion = congestion));
        let numbers = |isn| Numbers { isn: SeqNumber(isn), timestamp_offset: 0 };
        let mut sender = Connection::open(Arc::clone(&config), numbers(1_000));
        sender.write(Bytes::from(vec![b'x'; FILE])).expect("nothing was closed");
        let receiver = Connection::listen(config, numbers(50_000));

        let link = LinkModel::ideal(Duration::from_ms(20))
            .rate("10Mbit".parse().expect("a rate"))
            .drop_tail("64KiB".parse().expect("a limit"));
        let one_percent = Share::new(0.01).expect("a share");
        let lossy = link.clone().loss(Loss::Independent(Probability::of(one_percent)));
        let way = |model, number| (Link::new(Arc::new(model)), Seed(7).stream(Purpose::Link, number));
        Transfer {
            now: Instant::ZERO,
            ends: [sender, receiver],
            links: [way(lossy, 0), way(link, 1)],
            wheel: Wheel::new(),
            received: 0,
            complete: None,
            lost: 0,
            table: String::from("  time   received   cwnd  ssthresh   srtt  sent again  timeouts\n"),
        }
    }

    /// Runs until the receiver has the file and the sender knows it.
    fn run(&mut self) {
        let mut next_row = Instant::ZERO + ROW;
        while self.ends[0].unacknowledged() > 0 {
            for from in [0, 1] {
                self.send(from);
            }
            let timers = self.ends.iter().filter_map(Connection::poll_timer);
            let next = timers.chain(self.wheel.next_at()).min().expect("a sender that waits has a timer");
            while next_row <= next {
                self.add_row(next_row);
                next_row += ROW;
            }
            self.now = next;
            while let Some((at, Arrival { to, segment, data })) = self.wheel.pop_due(self.now) {
                let received = &mut self.received;
                self.ends[to].handle_segment(at, &segment, &data, |bytes| *received += bytes.len());
            }
            self.ends.iter_mut().for_each(|end| end.handle_timer(self.now));
            if self.received == FILE {
                self.complete.get_or_insert(self.now);
            }
        }
    }

    /// Puts all that an end wants to send on its link.
    fn send(&mut self, from: usize) {
        while let Some(transmit) = self.ends[from].poll_transmit(self.now) {
            let segment = transmit.segment;
            let bytes = HEADERS + segment.options.len() as u32 + segment.payload_len;
            let (link, rng) = &mut self.links[from];
            match link.offer(self.now, Packet::new(bytes, 0), rng) {
                Fate::Delivered(delivery) => {
                    let data = self.ends[from].payload_bytes(transmit.payload);
                    self.wheel.schedule(delivery.first.at, Arrival { to: 1 - from, segment, data });
                }
                Fate::Dropped(_) => self.lost += 1,
                Fate::Waits => unreachable!("this queue decides at once"),
            }
        }
    }

    /// The sender's state, as it is until `at`.
    fn add_row(&mut self, at: Instant) {
        let (sender, window) = (&self.ends[0], self.ends[0].window());
        let threshold = match window.ssthresh {
            u32::MAX => "-".to_owned(),
            bytes => (bytes / window.smss).to_string(),
        };
        let counters = sender.counters();
        writeln!(
            self.table,
            "{:4.2} s {:7} kB {:6} {threshold:>9} {:3.0} ms {:11} {:9}",
            at.as_secs_f64(),
            self.received / 1000,
            window.cwnd / window.smss,
            sender.srtt().map_or(0.0, |srtt| srtt.as_secs_f64() * 1e3),
            counters.retransmits,
            counters.timeouts,
        )
        .expect("a string takes it");
    }
}

/// Course and result of a transfer under a congestion control, as text.
pub fn report(name: &str, congestion: Algorithm) -> String {
    let mut transfer = Transfer::new(congestion);
    transfer.run();
    let took = transfer.complete.expect("the file arrived").as_secs_f64();
    let counters = transfer.ends[0].counters();
    format!(
        "{name}: windows in segments, 10 Mbit/s, 20 ms each way, 1 % of the packets lost\n\n{}\n\
         {FILE} bytes in {took:.3} s, {:.1} Mbit/s: {} packets lost, {} segments sent again in {} recoveries\n\
         and {} timeouts.\n",
        transfer.table,
        FILE as f64 * 8.0 / took / 1e6,
        transfer.lost,
        counters.retransmits,
        counters.recoveries,
        counters.timeouts,
    )
}

fn main() {
    println!("{}\n{}", report("Reno", Algorithm::Reno), report("CUBIC", Algorithm::Cubic));
}
