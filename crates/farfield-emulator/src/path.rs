//! Figures of a path by itself, from its links: the time of a small packet there and back, losses, hops, and
//! the goodput of one TCP connection.
//!
//! Sums over the links of a client's way, without other packets on it. What a queue does under load, and TCP
//! under loss, is not predicted: such figures have bounds instead.

use crate::plan::{HopPlan, NetworkPlan, NodePlan};
use crate::slots::ClientId;
use farfield_base::{Duration, Instant};
use farfield_net::queue::{Discipline, Limit};
use farfield_net::{LinkModel, NodeKind, Speed};
use std::sync::Arc;

/// Headers of a TCP segment with timestamps (RFC 7323), behind those of IP.
const TCP_HEADER: u32 = 32;

/// Linux's largest window by default (`tcp_rmem`).
const WINDOW_MAX: f64 = 6.0 * 1024.0 * 1024.0;

/// Expected figures of a client's path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathFigures {
    /// The time of a packet to the server and back, at least.
    pub round_trip: Duration,
    /// The round trip may take longer though nothing else is on the way: jitter, or a delivery trace.
    pub varies: bool,
    /// The share of packets that do not come back.
    pub lost: f64,
    /// The longest time for which everything is lost at once, where losses come as outages; none otherwise.
    pub outage: Duration,
    /// Routers on the way to the server, and the server.
    pub hops: u32,
    /// From the client to the server.
    pub up: GoodputFigures,
    /// From the server to the client.
    pub down: GoodputFigures,
}

/// Expected goodput of one TCP connection on a path in one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GoodputFigures {
    /// The most bits of data a second; absent without a rate.
    pub bits: Option<f64>,
    /// The share of that which the connection should get at least; absent where losses or an early queue
    /// decide.
    pub least_share: Option<f64>,
    /// Bytes that the path and the queue of its slowest link hold. A packet that is sent again holds back as
    /// many from the receiver, which then come at once; none without a rate, or where nothing is lost.
    pub held_bytes: f64,
}

/// The expected figures of the path of client `client`, for a packet of `bytes` from the IP header on.
pub fn figures_of(plan: &NetworkPlan, client: ClientId, bytes: u32) -> PathFigures {
    let client = &plan.clients[client.index()];
    let (class, route) = (&plan.classes[usize::from(client.class)], &plan.routes[client.route as usize]);
    let shared = |hops: &[HopPlan]| -> Vec<Arc<LinkModel>> {
        hops.iter().filter_map(|hop| Some(Arc::clone(&plan.shared[hop.link?.index()]))).collect()
    };
    let up = [class.up.clone(), shared(&route.up)].concat();
    let down = [shared(&route.down), class.down.clone()].concat();
    let all = || up.iter().chain(&down);
    let round_trip = all().fold(Duration::ZERO, |sum, link| sum + passage(link, bytes));
    let edge = std::iter::once(route.edge());
    let nodes = edge.chain(route.up.iter().map(|hop| hop.to));
    let routers = nodes.filter(|node| node.kind == NodeKind::Router && *node != NodePlan::SERVER);
    let headers = TCP_HEADER + if class.first_address.is_ipv4() { 20 } else { 40 };
    let mtu = all().map(|link| link.mtu_of_link().as_bytes()).min().unwrap_or(1500).min(1500);
    let lost_up: f64 = up.iter().map(|link| 1.0 - link.lost_share()).product();
    let lost_down: f64 = down.iter().map(|link| 1.0 - link.lost_share()).product();
    let loses = lost_up * lost_down < 1.0;
    let goodput = |links: &[Arc<LinkModel>]| goodput(links, mtu, headers, round_trip, loses);
    PathFigures {
        round_trip,
        varies: all().any(|link| link.jitters() || matches!(link.speed(), Speed::Trace(_))),
        lost: 1.0 - lost_up * lost_down,
        outage: all().map(|link| link.outage()).max().unwrap_or_default(),
        hops: routers.count() as u32 + 1,
        up: goodput(&up),
        down: goodput(&down),
    }
}

/// The time of a packet of `bytes` on an idle link, without jitter and without what a trace adds.
fn passage(link: &LinkModel, bytes: u32) -> Duration {
    let bits = f64::from(bytes + link.overhead_bytes()) * 8.0;
    let sending = match link.speed() {
        Speed::Rate(rate) => Duration::from_secs_f64(bits / rate.as_bits() as f64),
        Speed::Course(course) => Duration::from_secs_f64(bits / course.at(Instant::ZERO).as_bits() as f64),
        Speed::Unlimited | Speed::Trace(_) => Duration::ZERO,
    };
    link.propagation() + sending
}

fn goodput(
    links: &[Arc<LinkModel>],
    mtu: u32,
    headers: u32,
    round_trip: Duration,
    loses: bool,
) -> GoodputFigures {
    let of = |link: &Arc<LinkModel>| {
        let on_wire = f64::from(mtu + link.overhead_bytes());
        let bits = link.speed().mean_bits()? * f64::from(mtu.saturating_sub(headers)) / on_wire;
        Some((bits, Arc::clone(link)))
    };
    let slowest = links.iter().filter_map(of).min_by(|(one, _), (other, _)| one.total_cmp(other));
    let Some((bits, slowest)) = slowest else {
        return GoodputFigures { bits: None, least_share: None, held_bytes: 0.0 };
    };
    let in_flight = bits * round_trip.as_secs_f64() / 8.0;
    let room = match slowest.discipline() {
        Discipline::Unlimited => f64::INFINITY,
        Discipline::DropTail(Limit::Bytes(bytes)) => *bytes as f64,
        Discipline::DropTail(Limit::Packets(packets)) => *packets as f64 * f64::from(mtu),
        Discipline::Red(_)
        | Discipline::Pie(_)
        | Discipline::Codel(_)
        | Discipline::FqCodel(_)
        | Discipline::FqPie(_) => 0.0,
    };
    // A connection that halves its window at a full queue keeps the link busy if the queue holds as much as
    // is in flight without it (Appenzeller et al. 2004, section 2); CUBIC takes away less.
    let steady = !loses && room > 0.0 && matches!(slowest.speed(), Speed::Rate(_));
    let least_share = steady.then_some(if room >= in_flight { 0.9 } else { 0.6 });
    // A path that loses nothing holds nothing back.
    let holds_back = loses || room.is_finite();
    let held_bytes = if holds_back { (in_flight + room).min(WINDOW_MAX) } else { 0.0 };
    GoodputFigures { bits: Some(bits), least_share, held_bytes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{ClassPlan, ClientPlan, RoutePlan, Servers};
    use farfield_base::Share;
    use farfield_net::loss::Loss;
    use farfield_net::{BitRate, Probability};
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn plan(up: LinkModel, down: LinkModel) -> NetworkPlan {
        NetworkPlan {
            others: crate::plan::OtherServers::default(),
            host_ways: crate::plan::HostWays::default(),
            servers: Servers { v4: Ipv4Addr::LOCALHOST, v6: Ipv6Addr::LOCALHOST, port: 80 },
            classes: vec![ClassPlan {
                name: "all".into(),
                tcp: Arc::new(farfield_tcp::Config::linux()),
                up: vec![Arc::new(up)],
                down: vec![Arc::new(down)],
                first_address: Ipv4Addr::new(198, 18, 0, 1).into(),
            }],
            routes: vec![RoutePlan::direct(0)],
            shared: Vec::new(),
            cross_traffic: Vec::new(),
            moves: Vec::new(),
            clients: vec![ClientPlan { class: 0, route: 0, rank: 0 }].into(),
        }
    }

    fn link(ms: u64, mbit: u64) -> LinkModel {
        LinkModel::ideal(Duration::from_ms(ms)).rate(BitRate::per_second(mbit * 1_000_000).unwrap())
    }

    /// 100 B take 800 µs at 1 Mb/s and 80 µs at 10 Mb/s; of 1,500 B on the wire 1,448 are data.
    #[test]
    fn a_path_is_the_sum_of_its_links() {
        let plan = plan(link(10, 1), link(20, 10).drop_tail(Limit::Packets(50)));
        let figures = figures_of(&plan, ClientId::new(0), 100);
        assert_eq!(figures.round_trip, Duration::from_us(30_880));
        assert_eq!((figures.hops, figures.lost, figures.varies), (2, 0.0, false));
        assert_eq!(figures.down.bits, Some(10e6 * 1448.0 / 1500.0));
        assert_eq!((figures.up.least_share, figures.down.least_share), (Some(0.9), Some(0.9)));
        let in_flight = 10e6 * 1448.0 / 1500.0 * 0.03088 / 8.0;
        assert!((figures.down.held_bytes - in_flight - 75_000.0).abs() < 1.0, "{figures:?}");
        assert_eq!(figures.up.held_bytes, 0.0, "its queue has no end, so that nothing is lost");
    }

    #[test]
    fn losses_multiply_and_bound_no_goodput() {
        let loss = Loss::Independent(Probability::of(Share::new(0.1).unwrap()));
        let figures = figures_of(&plan(link(1, 1).loss(loss), link(1, 1).loss(loss)), ClientId::new(0), 100);
        assert!((figures.lost - 0.19).abs() < 1e-9);
        assert_eq!(figures.down.least_share, None);
        let ideal = LinkModel::ideal(Duration::from_ms(1));
        let figures = figures_of(&plan(ideal.clone(), ideal), ClientId::new(0), 100);
        assert_eq!(figures.up, GoodputFigures { bits: None, least_share: None, held_bytes: 0.0 });
    }

    /// 100 Mb/s over 30 ms have 375 kB in flight, where a queue of ten packets holds 15.
    #[test]
    fn a_short_queue_does_not_keep_a_link_busy() {
        let short = link(15, 100).drop_tail(Limit::Packets(10));
        let figures = figures_of(&plan(short.clone(), short), ClientId::new(0), 100);
        assert_eq!(figures.down.least_share, Some(0.6));
    }
}
