//! Omitted waiting: what open users would have seen of the server while a tool looked at it.
//!
//! A tool whose connections wait for replies sends least while the server is slowest, so that its requests
//! see less of the bad times than users do who do not know of each other ("coordinated omission"; Tene
//! 2013, Schroeder et al. 2006, section 3). What it omitted is estimated from the packets, in one of two
//! ways.
//!
//! **By schedule**, where the tool was to send at a known constant rate: the k-th request was due at its
//! instant of the schedule, and its response time counts from there, or from when it was sent if that was
//! earlier. This is wrk2's method, but with instants of packets. Requests that were due and never sent
//! count with the time until the end, which is less than they would have waited.
//!
//! **By availability**, for all other tools: users arrive evenly over the observed time. One that arrives
//! at t gets the response time of the next request that the tool sends, and before that it waits until
//! then, or until the server completes a request that is under way at t, whichever is sooner: until one of
//! the two, nothing shows that the server answers. The median response time is taken off this wait, as it
//! is the usual rest of requests that are under way. For a server that stands still for T in every E this
//! gives the wait's distribution by formula, P(wait > x) = (T - x)/E, however few requests the tool sent in
//! the stall.
//!
//! Assumptions: users do not change the server's load; in particular those who arrive in a stall are served
//! at once after it, so that with a server close to its capacity the truth is worse. With one connection,
//! one slow request and a server that stands still look alike, and count as the latter.
//!
//! HdrHistogram's correction (`recordValueWithExpectedInterval`) does the same from recorded times alone,
//! and takes each slow request for a server that stands still; here other connections' replies refute that.

use super::times::Times;
use super::truth::Exchange;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Times that open users would have seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Omitted {
    /// Method by which it was found.
    pub method: OmissionMethod,
    /// Users in the estimate.
    pub users: u64,
    /// Users whose request had no complete reply; they count with the time until the end.
    pub unanswered: u64,
    /// Requests that were due and never sent; likewise.
    pub never_sent: u64,
    /// The response times that they would have seen.
    pub times: Times,
}

/// Method of finding omitted waiting.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum OmissionMethod {
    /// From the instants at which requests were due.
    Schedule {
        /// Requests per second that were due.
        rate_per_s: f64,
    },
    /// From when the server answered.
    Availability,
}

/// Users of the estimate by availability.
const USERS: u64 = 100_000;
/// Requests due by a schedule that are looked at.
const DUE_MAX: f64 = 10_000_000.0;

impl Omitted {
    /// Times that open users would have seen while `exchanges` were made, which are in order of sending.
    /// `rate_per_s` is the constant rate at which they were to be sent. `None` without two requests.
    pub(super) fn of(exchanges: &[Exchange], rate_per_s: Option<f64>) -> Option<Omitted> {
        if exchanges.len() < 2 {
            return None;
        }
        match rate_per_s {
            Some(rate) if rate.is_finite() && rate > 0.0 => Some(by_schedule(exchanges, rate)),
            _ => Some(by_availability(exchanges)),
        }
    }
}

fn by_schedule(exchanges: &[Exchange], rate_per_s: f64) -> Omitted {
    let start = exchanges.iter().map(|exchange| exchange.begun).min().unwrap_or(0);
    let end = exchanges.iter().map(|exchange| exchange.ended).max().unwrap_or(start);
    let due = |k: usize| start + (k as f64 / rate_per_s * 1e9) as u64;
    let mut begun: Vec<&Exchange> = exchanges.iter().collect();
    begun.sort_by_key(|exchange| exchange.begun);
    let mut times: Vec<u64> =
        begun.iter().enumerate().map(|(k, exchange)| exchange.ended - due(k).min(exchange.begun)).collect();
    let last_sent = exchanges.last().map_or(start, |exchange| exchange.sent);
    let expected = ((last_sent - start) as f64 / 1e9 * rate_per_s).floor().min(DUE_MAX) as usize + 1;
    let never_sent = expected.saturating_sub(exchanges.len());
    times.extend((exchanges.len()..expected).map(|k| end.saturating_sub(due(k))));
    Omitted {
        method: OmissionMethod::Schedule { rate_per_s },
        users: times.len() as u64,
        unanswered: exchanges.iter().filter(|exchange| !exchange.complete).count() as u64,
        never_sent: never_sent as u64,
        times: Times::of(times),
    }
}

fn by_availability(exchanges: &[Exchange]) -> Omitted {
    let start = exchanges[0].sent;
    let end = exchanges.iter().map(|exchange| exchange.ended).max().unwrap_or(start);
    let usual = {
        let mut times: Vec<u64> = exchanges.iter().map(|exchange| exchange.ended - exchange.sent).collect();
        times.sort_unstable();
        times[times.len() / 2]
    };
    let span = u128::from(end - start);
    let arrival = |k: u64| start + (span * (2 * u128::from(k) + 1) / (2 * u128::from(USERS))) as u64;
    let (mut next, mut unanswered) = (0, 0);
    // Ends of requests under way, the earliest on top.
    let mut under_way: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
    let times = (0..USERS)
        .map(|k| {
            let now = arrival(k);
            while let Some(exchange) = exchanges.get(next).filter(|exchange| exchange.sent <= now) {
                under_way.push(Reverse(exchange.ended));
                next += 1;
            }
            while under_way.peek().is_some_and(|Reverse(ended)| *ended <= now) {
                under_way.pop();
            }
            let free = under_way.peek().map_or(now, |Reverse(ended)| *ended);
            let wait = match exchanges.get(next) {
                Some(following) => free.min(following.sent) - now,
                None => free - now,
            };
            let service = exchanges.get(next).map_or(usual, |following| following.ended - following.sent);
            unanswered += u64::from(exchanges.get(next).is_some_and(|following| !following.complete));
            wait.saturating_sub(usual) + service
        })
        .collect();
    Omitted {
        method: OmissionMethod::Availability,
        users: USERS,
        unanswered,
        never_sent: 0,
        times: Times::of(times),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_base::random::{Purpose, Seed};
    use rand::RngExt;

    const MS: u64 = 1_000_000;

    fn exchange(connection: u32, sent: u64, ended: u64) -> Exchange {
        Exchange { connection, number: 1, begun: sent, sent, ended, complete: true }
    }

    /// A closed load of so many connections for `ms`, before a server that takes 1 ms and is not there in
    /// the last 500 ms of every 5 s.
    fn closed_before_stalls(connections: u32, ms: u64) -> Vec<Exchange> {
        let mut all = Vec::new();
        for connection in 0..connections {
            let mut now = u64::from(connection) * MS / u64::from(connections);
            while now < ms * MS {
                let ready = now + MS;
                let in_period = ready % (5_000 * MS);
                let ended = if in_period > 4_500 * MS { ready - in_period + 5_000 * MS } else { ready };
                all.push(exchange(connection, now, ended));
                now = ended;
            }
        }
        all.sort_by_key(|one| one.sent);
        all
    }

    /// P(wait > x) = (T - x)/E, whatever the number of connections; the tool itself has a p99 of 1 ms.
    #[test]
    fn stalls_show_as_the_formula_has_them() {
        for connections in [1, 2, 10] {
            let exchanges = closed_before_stalls(connections, 20_000);
            let own = Times::of(exchanges.iter().map(|one| one.ended - one.sent).collect());
            assert_eq!(own.at(99.0), MS, "the tool's own p99");
            let seen = Omitted::of(&exchanges, None).expect("an estimate").times;
            for (percent, wait_ms) in [(50.0, 1.0), (95.0, 250.0), (99.0, 450.0), (99.9, 495.0)] {
                let found = seen.at(percent) as f64 / MS as f64;
                assert!((found - wait_ms).abs() < 2.0, "{connections}: p{percent} {found} ms, not {wait_ms}");
            }
            // The mean of the formula: T²/2E of wait, and 1 ms.
            assert!((seen.mean_ns / 1e6 - 26.0).abs() < 0.6, "mean {} ms", seen.mean_ns / 1e6);
        }
    }

    /// Twenty connections, and one request in a hundred takes 200 ms: nobody else waits for it, though two
    /// thirds of a connection's time go into such requests.
    #[test]
    fn one_slow_request_does_not_stand_for_a_server_that_stands_still() {
        let mut rng = Seed(4).stream(Purpose::Server, 0);
        let mut all = Vec::new();
        for connection in 0..20u32 {
            let mut now = u64::from(connection) * 50_000;
            while now < 10_000 * MS {
                let slow = rng.random::<f64>() < 0.01;
                let ended = now + if slow { 200 * MS } else { MS };
                all.push(exchange(connection, now, ended));
                now = ended;
            }
        }
        all.sort_by_key(|one| one.sent);
        let seen = Omitted::of(&all, None).expect("an estimate").times;
        let (p50, p95) = (seen.at(50.0), seen.at(95.0));
        assert!(p50 < 2 * MS && p95 < 3 * MS, "{p50} ns, {p95} ns");
    }

    /// Due every 10 ms, but held up by one reply that takes a second: the 99 behind it wait as well.
    #[test]
    fn a_schedule_counts_from_when_requests_were_due() {
        let mut all = vec![exchange(0, 0, 1_000 * MS)];
        all.extend((1..100).map(|k| exchange(0, (1_000 + k) * MS, (1_001 + k) * MS)));
        let found = Omitted::of(&all, Some(100.0)).expect("an estimate");
        assert_eq!((found.users, found.never_sent), (110, 10), "the last was sent at 1099 ms");
        // The k-th was due at 10 k ms and ended at 1001 + k ms: 1001 - 9 k.
        assert_eq!(found.times.max_ns, 1_000 * MS);
        assert_eq!(found.times.at(50.0), (1_001 - 9 * 55) * MS);
    }
}
