//! Throughput under loss against the formulas of the field, in virtual time.
//!
//! Mathis, Semke, Mahdavi and Ott 1997 count congestion avoidance alone: `B = C / (RTT sqrt (p))` segments a
//! second. Padhye, Firoiu, Towsley and Kurose 1998 add what recovery and timeouts cost; their `p` counts
//! losses of which each takes the rest of its round with it, and their `b`, segments for each ACK, slows the
//! growth of the window to 1/b a round. Here bytes are counted (RFC 5681 §3.1), so that delayed ACKs do not
//! slow the growth: b is 1.

mod scene;

use bytes::Bytes;
use farfield_base::Duration;
use farfield_tcp::{Config, LossRecovery, ReceiveBuffer};
use rand::RngExt;
use scene::*;

/// Process of losses.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Losses {
    /// Each segment by its own luck.
    Independent,
    /// A loss takes what is left of its round along, as Padhye et al. §2 assume.
    Rounds,
}

const RTT: f64 = 0.1;
const MSS: usize = 100;
/// T₀ of Padhye et al.: the first timeout.
const T0: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct Seen {
    /// Segments a second that were sent.
    sent: f64,
    /// Segments a second that arrived in order.
    goodput: f64,
    timeouts: u32,
    recoveries: u32,
}

/// A long transfer with losses of share `p`.
fn transfer(config: &Config, losses: Losses, p: f64) -> Seen {
    let (mut luck, mut last) = (luck(7), None);
    let buffer = ReceiveBuffer::Fixed(1 << 26);
    let config = config.clone().with(|config| (config.receive_buffer, config.mss) = (buffer, MSS as u16));
    let mut pair = Pair::new(config.clone(), config).connected().losing(move |sent| {
        if sent.len == 0 {
            return false;
        }
        let lost = match losses {
            Losses::Independent => luck.random::<f64>() < p,
            Losses::Rounds => last == Some(sent.at) || luck.random::<f64>() < p,
        };
        last = lost.then_some(sent.at).or(last);
        lost
    });
    let segment = Bytes::from(body(MSS));
    let (mut sent, mut received, mut steps) = (0, 0, 0);
    let mut before = *pair.a.tcp.counters();
    let step = |pair: &mut Pair| {
        while pair.a.tcp.unacknowledged() < 200_000 {
            pair.a.tcp.write(segment.clone()).unwrap();
        }
        pair.run_for(Duration::from_secs(2));
        let counts = (pair.sent(A).filter(|sent| sent.len > 0).count(), pair.b.received.len() / MSS);
        pair.forget();
        counts
    };
    while before.recoveries + before.timeouts < 3 {
        step(&mut pair);
        before = *pair.a.tcp.counters();
    }
    while sent < 60_000 {
        let (more_sent, more_received) = step(&mut pair);
        (sent, received, steps) = (sent + more_sent, received + more_received, steps + 1);
    }
    let (counters, secs) = (pair.a.tcp.counters(), 2.0 * f64::from(steps));
    Seen {
        sent: sent as f64 / secs,
        goodput: received as f64 / secs,
        timeouts: counters.timeouts - before.timeouts,
        recoveries: counters.recoveries - before.recoveries,
    }
}

/// Mathis et al. equation 3: C = sqrt (3/2) where the window grows by a segment a round.
fn mathis(p: f64) -> f64 {
    1.5f64.sqrt() / (RTT * p.sqrt())
}

/// Padhye et al. equation 32 with an unlimited receiver's window: segments sent a second.
fn padhye(p: f64) -> f64 {
    let (rtt, t0) = (RTT, T0.as_secs_f64());
    let (b, q) = (1.0, 1.0 - p);
    let c = (2.0 + b) / (3.0 * b);
    // Equation 13: the mean window at the end of a period
    let w = c + (8.0 * q / (3.0 * b * p) + c * c).sqrt();
    // Equation 24: the share of losses that end in a timeout
    let timeout = (1.0 - q.powi(3)) * (1.0 + q.powi(3) * (1.0 - q.powf(w - 3.0))) / (1.0 - q.powf(w));
    let timeout = timeout.min(1.0);
    // Equation 29
    let f =
        1.0 + p + 2.0 * p.powi(2) + 4.0 * p.powi(3) + 8.0 * p.powi(4) + 16.0 * p.powi(5) + 32.0 * p.powi(6);
    (q / p + w + timeout / q) / (rtt * (b / 2.0 * w + 1.0) + timeout * t0 * f / q)
}

fn config(recovery: LossRecovery, sack: bool) -> Config {
    let mut config = plain().with(|config| (config.recovery, config.sack) = (recovery, sack));
    config.rto.min = T0;
    config
}

fn is_within_15_percent(rate: f64, expected: f64, p: f64, seen: &Seen) {
    let Seen { timeouts, recoveries, .. } = seen;
    println!(
        "p {p}: {rate:.1} segments a second, {expected:.1} in theory; {recoveries} recoveries, {timeouts} timeouts"
    );
    assert!((rate / expected - 1.0).abs() < 0.15, "{:+.1} %", 100.0 * (rate / expected - 1.0));
}

#[test]
fn reno_under_independent_losses_is_that_of_padhye() {
    // As in the paper: recovery of RFC 5681 alone, and a third duplicate or a timeout
    let reno = config(LossRecovery::Reno, false).with(|config| config.limited_transmit = false);
    for p in [0.001, 0.003, 0.01, 0.03] {
        let seen = transfer(&reno, Losses::Independent, p);
        is_within_15_percent(seen.sent, padhye(p), p, &seen);
    }
}

#[test]
fn sack_under_losses_of_rounds_is_that_of_padhye() {
    // The paper's model of losses leaves no second loss to a recovery, and only SACK can live up to that
    for p in [0.003, 0.01, 0.03] {
        let seen = transfer(&config(LossRecovery::NewReno, true), Losses::Rounds, p);
        is_within_15_percent(seen.sent, padhye(p), p, &seen);
    }
}

#[test]
fn rare_independent_losses_are_those_of_mathis() {
    // Above one in a hundred, timeouts and the rounds of recovery, which the formula leaves out, take their
    // share
    for (p, sack) in [(0.003, false), (0.01, false), (0.003, true), (0.01, true)] {
        let seen = transfer(&config(LossRecovery::NewReno, sack), Losses::Independent, p);
        is_within_15_percent(seen.goodput, mathis(p), p, &seen);
    }
}
