//! Speed and memory of the simulated plane: packet events a second and the resident set over the number of
//! clients, and the gain of a second thread.
//!
//! ```text
//! cargo run --release -p farfield-emulator --example simulated_speed -- [what[:seconds] …]
//! ```
//!
//! `1000` is so many clients behind links of their own and one router; `1000open` keeps their connections
//! open; `1000backbone` puts them behind IP-TNE's backbone of four subnetworks; `shards` is one thread beside
//! two. The seconds are virtual.
//!
//! Users think for ten seconds in the mean and then ask for 1 KB, one request a connection, at 50 ms of round
//! trip and more. A packet event is a packet taken from the event store at the end of a hop. Rates on one
//! thread are by processor time, so that others on the machine count only for what they take of the caches;
//! what a second thread adds is by the clock, in alternating pairs, and needs a quiet machine.

use farfield_base::random::Seed;
use farfield_base::{Duration, Instant, Window};
use farfield_emulator::{
    ClassPlan, ClientPlan, HopPlan, NetworkPlan, NodePlan, RoutePlan, ServerPlan, Servers, SharedLinkId,
    Simulated, Simulation, simulate,
};
use farfield_net::link::NoJitter;
use farfield_net::{LinkModel, LinkSpec, NodeKind};
use farfield_tcp::Config;
use farfield_traffic::load::LoadSpec;
use farfield_traffic::request::RequestSetSpec;
use farfield_user::HttpVersion;
use farfield_user::{EventPolicy, Flow, Itinerary, Policy, Target, UserSettings};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::Arc;

#[derive(serde::Deserialize)]
struct Document {
    load: LoadSpec,
    policy: Policy,
}

fn link(toml: &str) -> Arc<LinkModel> {
    let spec: LinkSpec<NoJitter> = toml::from_str(toml).expect("a link");
    Arc::new(spec.resolve(|never| match *never {}, &mut |_| unreachable!("no trace")).expect("a link"))
}

/// Clients whose own links end at a router before the server.
fn far_away(clients: u32) -> NetworkPlan {
    let own = link("delay = '25ms'\nrate = '100Mbit'\nqueue = '64KiB'");
    network(clients, own, vec![RoutePlan::direct(0)], Vec::new())
}

/// IP-TNE's backbone of four subnetworks, the server's link shared by all: `delay` on clients' own links,
/// `rate` on all others.
fn backbone(clients: u32, delay: &str, rate: &str) -> NetworkPlan {
    let shared = |number| Some(SharedLinkId::new(number));
    let trunk = link(&format!("delay = '1ms'\nrate = '{rate}'\nqueue = '1MiB'"));
    let stem = link(&format!("rate = '{rate}'\nqueue = '1MiB'"));
    let router = |id| NodePlan { id, kind: NodeKind::Router };
    let switch = |subnet| NodePlan { id: 100 + subnet, kind: NodeKind::Switch };
    // Up: 0 to 3 from router i+1 to router i (or the server), 4 to 7 the stems; down: the same, 8 on.
    let route = |subnet: u32| {
        let mut up = vec![HopPlan { link: shared(4 + subnet), to: router(subnet) }];
        let mut down = Vec::new();
        for hop in (0..=subnet).rev() {
            let to = if hop == 0 { NodePlan::SERVER } else { router(hop - 1) };
            up.push(HopPlan { link: shared(hop), to });
        }
        for hop in 0..=subnet {
            down.push(HopPlan { link: shared(8 + hop), to: router(hop) });
        }
        down.push(HopPlan { link: shared(12 + subnet), to: switch(subnet) });
        RoutePlan { up, down }
    };
    let links = |model: &Arc<LinkModel>| (0..4).map(|_| Arc::clone(model)).collect::<Vec<_>>();
    let shared = [links(&trunk), links(&stem), links(&trunk), links(&stem)].concat();
    let own = link(&format!("delay = '{delay}'\nrate = '100Mbit'\nqueue = '64KiB'"));
    network(clients, own, (0..4).map(route).collect(), shared)
}

fn network(
    clients: u32,
    own: Arc<LinkModel>,
    routes: Vec<RoutePlan>,
    shared: Vec<Arc<LinkModel>>,
) -> NetworkPlan {
    let subnets = routes.len() as u32;
    let class = ClassPlan {
        name: "all".into(),
        tcp: Arc::new(Config::linux().with(|config| config.time_wait = Duration::ZERO)),
        up: vec![Arc::clone(&own)],
        down: vec![own],
        first_address: Ipv4Addr::new(198, 18, 0, 1).into(),
    };
    NetworkPlan {
        others: farfield_emulator::OtherServers::default(),
        host_ways: farfield_emulator::HostWays::default(),
        servers: Servers { v4: Ipv4Addr::new(10, 1, 0, 1), v6: Ipv6Addr::LOCALHOST, port: 80 },
        classes: vec![class],
        routes,
        shared,
        cross_traffic: Vec::new(),
        moves: Vec::new(),
        clients: (0..clients).map(|rank| ClientPlan { class: 0, route: rank % subnets, rank }).collect(),
    }
}

fn simulation(network: NetworkPlan, document: &str, length: Duration, shards: u32) -> Simulation {
    let document: Document = toml::from_str(document).expect("a load and a policy");
    let spec: RequestSetSpec = toml::from_str("[[request]]\npath = '/bytes/1024'").expect("requests");
    let requests = spec.resolve(&mut |_| unreachable!("no files"), Seed(1)).expect("requests");
    let target = Target {
        host: "server".into(),
        version: HttpVersion::Http11,
        authorization: None,
        secure: false,
        proxy: None,
    };
    let count = |count| NonZeroU32::new(count).expect("above zero");
    let end = Instant::ZERO + length;
    let server = ServerPlan {
        tcp: Arc::new(Config::linux().with(|config| config.time_wait = Duration::from_ms(100))),
        syn_backlog: u32::MAX,
        accept_queue: 1 << 20,
        ..ServerPlan::events(count(64))
    };
    Simulation {
        network: Arc::new(network),
        server: Arc::new(server),
        flows: Flow::only(
            document.load.resolve(&mut |_| unreachable!("no files")).expect("a load"),
            Itinerary::pages(requests, &[target]).expect("requests"),
        ),
        users: UserSettings {
            policy: document.policy,
            events: EventPolicy::default(),
            seed: Seed(1),
            requests_max: None,
            end: farfield_user::LoadEnd::default(),
        },
        tls: None,
        window: Window { measure_from: Instant::ZERO, measure_to: end },
        drain_until: end,
        shards: count(shards),
        part: farfield_base::Part::WHOLE,
    }
}

/// Seconds that a simulation took by the clock, and of processor time over all threads.
#[expect(clippy::disallowed_methods, reason = "this measures speed")]
fn timed(simulation: &Simulation) -> (Simulated, f64, f64) {
    let (begun, before) = (std::time::Instant::now(), processor_time());
    let simulated = simulate(simulation).expect("a network with clients and delays");
    (simulated, begun.elapsed().as_secs_f64(), processor_time() - before)
}

/// User and system time of this process, from hundredths of a second.
fn processor_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// The most memory that the process has held so far, and what it holds; kilobytes.
fn memory() -> (f64, f64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    (field("VmHWM:").unwrap_or(f64::NAN), field("VmRSS:").unwrap_or(f64::NAN))
}

fn curve(clients: u32, kind: &str, secs: Option<u64>) {
    let network = match kind {
        "backbone" => backbone(clients, "25ms", "10Gbit"),
        _ => far_away(clients),
    };
    let policy = if kind == "open" { "policy = 'persistent'" } else { "policy = 'one-request'" };
    let document = format!(
        "load = {{ model = 'closed', users = {clients}, ramp = '10s', think = {{ distribution = 'exponential', mean = '10s' }} }}\n[policy]\n{policy}"
    );
    // About 600,000 requests, or a turn and more of everybody.
    let secs = secs.unwrap_or((6_000_000.0 / f64::from(clients)).clamp(14.0, 3000.0) as u64);
    let (_, before) = memory();
    let simulation = simulation(network, &document, Duration::from_secs(secs), 1);
    let (simulated, wall, took) = timed(&simulation);
    let (most, _) = memory();
    let samples = simulated.samples.len() as f64 * 96.0 / 1024.0;
    println!(
        "{clients:>9} {kind:>9} {:>10} {:>12} {:>9.2} {:>9.2} {:>9.0} {:>9.0} {:>11.0} {:>7.1}",
        simulated.samples.len(),
        simulated.packet_events,
        simulated.packet_events as f64 / took / 1e6,
        simulated.events as f64 / took / 1e6,
        took * 1e9 / simulated.packet_events as f64,
        took * 1e9 / simulated.events as f64,
        (most - before - samples) * 1024.0 / f64::from(clients),
        wall,
    );
}

/// Pairs of runs on one thread and on two: enough for a median that one slow moment does not move.
const PAIRS: usize = 9;

fn shards(clients: u32, secs: Option<u64>) {
    let document = format!(
        "load = {{ model = 'closed', users = {clients}, think = '20ms' }}\n[policy]\npolicy = 'one-request'"
    );
    let turn = |threads| {
        let network = backbone(clients, "100us", "1Gbit");
        let simulation = simulation(network, &document, Duration::from_secs(secs.unwrap_or(1)), threads);
        let (simulated, wall, processors) = timed(&simulation);
        (simulated.events as f64 / wall / 1e6, processors / wall, simulated)
    };
    println!(
        "{:>9} {:>9} {:>12} {:>9} {:>9} {:>9} {:>9}",
        "", "clients", "events", "windows", "M/s one", "M/s two", "proc. two"
    );
    let (mut alone, mut together, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let ((one, _, simulated), (two, busy, same)) = (turn(1), turn(2));
        assert_eq!(simulated.events, same.events, "threads change nothing that happens");
        let Simulated { events, windows, .. } = simulated;
        println!("     pair {clients:>9} {events:>12} {windows:>9} {one:>9.3} {two:>9.3} {busy:>9.3}");
        alone.push(one);
        together.push(two);
        ratios.push(two / one);
    }
    println!(
        "Median of {PAIRS} pairs: {} and {} million events a second, {} times",
        spread(&mut alone),
        spread(&mut together),
        spread(&mut ratios)
    );
}

/// Median, least and greatest.
fn spread(values: &mut [f64]) -> String {
    values.sort_by(f64::total_cmp);
    let &mut [least, .., most] = values else { return "nothing".into() };
    format!("{:.2} ({least:.2}–{most:.2})", values[values.len() / 2])
}

fn main() {
    let mut asked: Vec<String> = std::env::args().skip(1).collect();
    if asked.is_empty() {
        let all = ["1000", "10000", "100000", "1000000", "1000backbone", "1000000backbone", "shards"];
        asked = all.map(str::to_owned).to_vec();
    }
    println!(
        "{:>9} {:>9} {:>10} {:>12} {:>9} {:>9} {:>9} {:>9} {:>11} {:>7}",
        "clients",
        "kind",
        "requests",
        "packet ev.",
        "M pkt/s",
        "M ev/s",
        "ns/pkt",
        "ns/ev",
        "bytes/cl.",
        "wall s"
    );
    for word in asked {
        let (word, secs) = match word.split_once(':') {
            Some((word, secs)) => (word, secs.parse().ok()),
            None => (&word[..], None),
        };
        let kind = word.trim_start_matches(|letter: char| letter.is_ascii_digit());
        match (kind, word.trim_end_matches(kind).parse()) {
            ("", Ok(clients)) => curve(clients, "thinking", secs),
            (kind @ ("open" | "backbone"), Ok(clients)) => curve(clients, kind, secs),
            _ => shards(4096, secs),
        }
    }
}
