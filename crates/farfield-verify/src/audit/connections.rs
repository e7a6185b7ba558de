//! The connection policy of a tool: how many connections it has, and what it sends on each.

use farfield_capture::{Capture, Connection, End, Side, UnixNs};
use serde::Serialize;

/// Connections as packets show them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Connections {
    /// Connections that were accepted.
    pub accepted: u64,
    /// Connections that carried no request.
    pub unused: u64,
    /// Largest number of connections open at once.
    pub open_max: u64,
    /// Fewest requests on a connection that carried any.
    pub requests_min: u64,
    /// Median number of requests on these.
    pub requests_median: u64,
    /// Most requests on one.
    pub requests_max: u64,
    /// Requests that were sent before the reply to the one before was complete.
    pub pipelined: u64,
    /// Connections that the server ended first.
    pub closed_by_server: u64,
    /// Segments with data that were sent again, in both directions.
    pub retransmissions: u64,
    /// Connections open at the beginning of each second, from the first packet on.
    pub open_by_second: Vec<u64>,
    /// Requests on the first 10,000 connections that closed, in the order in which they did, without those
    /// that carried none.
    pub in_order_of_closing: Vec<u32>,
}

/// Connections that are listed in order of closing, and seconds that are listed.
const LISTED: usize = 10_000;

impl Connections {
    /// The policy in `capture`.
    pub fn of(capture: &Capture) -> Connections {
        let accepted =
            || capture.connections.iter().filter(|one| one.syn_ack.is_some() || !one.seen_from_start);
        let mut requests: Vec<u64> =
            accepted().map(|one| u64::from(one.requests)).filter(|n| *n > 0).collect();
        requests.sort_unstable();
        let by_server = |end: End| {
            matches!(end, End::Fin { side: Side::Server, .. } | End::Reset { side: Side::Server, .. })
        };
        Connections {
            accepted: accepted().count() as u64,
            unused: accepted().filter(|one| one.requests == 0).count() as u64,
            open_max: open_max(capture),
            requests_min: requests.first().copied().unwrap_or(0),
            requests_median: requests.get(requests.len() / 2).copied().unwrap_or(0),
            requests_max: requests.last().copied().unwrap_or(0),
            pipelined: capture.transactions.iter().filter(|transaction| transaction.pipelined).count() as u64,
            closed_by_server: accepted().filter(|one| by_server(one.end)).count() as u64,
            retransmissions: accepted()
                .map(|one| one.client_side.retransmissions + one.server_side.retransmissions)
                .sum(),
            open_by_second: open_by_second(capture),
            in_order_of_closing: in_order_of_closing(capture),
        }
    }
}

/// Start and end of a connection: from its SYN-ACK, or first packet, to its end; `None` if it was not
/// accepted.
fn open_from_to(one: &Connection) -> Option<(UnixNs, UnixNs)> {
    let begin = one.syn_ack.or((!one.seen_from_start).then_some(one.first))?;
    Some((begin, closed(one).unwrap_or(one.last).max(begin)))
}

/// Instant at which somebody first closed or reset it.
fn closed(one: &Connection) -> Option<UnixNs> {
    match one.end {
        End::Open => None,
        End::Fin { at, .. } | End::Reset { at, .. } => Some(at),
    }
}

fn open_max(capture: &Capture) -> u64 {
    let mut changes = Vec::new();
    for (begin, end) in capture.connections.iter().filter_map(open_from_to) {
        changes.extend([(begin, 1i64), (end, -1)]);
    }
    changes.sort_unstable();
    let (mut now, mut most) = (0i64, 0i64);
    for (_, change) in changes {
        now += change;
        most = most.max(now);
    }
    most.max(0) as u64
}

/// Open connections by the second; one that nobody has closed stays open.
fn open_by_second(capture: &Capture) -> Vec<u64> {
    let connections = &capture.connections;
    let first = connections.iter().map(|one| one.first).min();
    let Some((first, last)) = first.zip(connections.iter().map(|one| one.last).max()) else {
        return Vec::new();
    };
    const SECOND_NS: u64 = 1_000_000_000;
    let seconds = ((last.since(first) / SECOND_NS) as usize + 1).min(LISTED);
    let mut changes = vec![0i64; seconds + 1];
    // The first second whose beginning is not before `at`.
    let second = |at: UnixNs| (at.since(first).div_ceil(SECOND_NS) as usize).min(seconds);
    for one in connections {
        let Some((begin, _)) = open_from_to(one) else { continue };
        changes[second(begin)] += 1;
        changes[closed(one).map_or(seconds, |end| second(end.max(begin)))] -= 1;
    }
    let steps = changes.into_iter().take(seconds);
    let open = steps.scan(0i64, |open, change| {
        *open += change;
        Some(*open as u64)
    });
    open.collect()
}

fn in_order_of_closing(capture: &Capture) -> Vec<u32> {
    let carried = capture.connections.iter().filter(|one| one.requests > 0);
    let mut closed: Vec<(UnixNs, u32)> =
        carried.filter_map(|one| Some((closed(one)?, one.requests))).collect();
    // At one instant, in the order of the capture.
    closed.sort_by_key(|(at, _)| *at);
    closed.into_iter().take(LISTED).map(|(_, requests)| requests).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_capture::Direction;

    /// A connection accepted at `begin` ms and ended at `end`, if it was.
    fn connection(begin: u64, end: Option<u64>, requests: u32) -> Connection {
        let ms = |ms: u64| UnixNs(ms * 1_000_000);
        let address = "127.0.0.1:80".parse().expect("an address");
        Connection {
            id: 0,
            interface: 0,
            client: address,
            server: address,
            is_quic: false,
            seen_from_start: true,
            syn: Some(ms(begin)),
            syn_ack: Some(ms(begin)),
            established: Some(ms(begin)),
            secured: None,
            first: ms(begin),
            last: ms(end.unwrap_or(begin)),
            syn_tries: 1,
            client_side: Direction::default(),
            server_side: Direction::default(),
            end: end.map_or(End::Open, |end| End::Fin {
                side: Side::Client,
                at: ms(end),
                simultaneous: false,
            }),
            requests,
            going_away: None,
        }
    }

    fn of(connections: Vec<Connection>) -> Connections {
        Connections::of(&Capture { connections, ..Capture::default() })
    }

    #[test]
    fn seconds_count_from_the_first_packet() {
        let refused = Connection { syn_ack: None, ..connection(6_000, Some(9_100), 0) };
        let found = of(vec![
            connection(5_000, Some(7_500), 4),
            // Between two beginnings of seconds.
            connection(5_100, Some(5_900), 1),
            // Never closed: open to the end.
            connection(6_000, None, 2),
            // Open at the very beginning of a second, closed at that of another.
            connection(7_000, Some(8_000), 0),
            refused,
        ]);
        assert_eq!(found.open_by_second, [1, 2, 3, 1, 1]);
        assert_eq!((found.accepted, found.unused), (4, 1));
        assert_eq!(of(Vec::new()).open_by_second, [0; 0]);
    }

    #[test]
    fn requests_come_in_the_order_of_closing() {
        let found = of(vec![
            connection(0, Some(900), 7),
            connection(1, Some(300), 3),
            connection(2, None, 9),
            connection(3, Some(600), 5),
            connection(4, Some(400), 0),
        ]);
        assert_eq!(found.in_order_of_closing, [3, 5, 7]);
    }
}
