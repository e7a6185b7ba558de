//! How fast the simulated plane is, and how much memory it takes: packet events a second and the resident set over
//! the number of clients, and what a second thread adds.
//!
//! ```text
//! cargo run --release -p farfield-emulator --example simulated_speed -- [clients …]
//! ```
//!
//! Users think for ten seconds in the mean and then ask for 1 KB, one request a connection, at 50 ms of round trip.
//! A packet event is a packet at the end of a stage of its way. Rates on one thread are by processor time, so that
//! others on the machine do not count; what threads add is by the clock and needs a quiet machine.

use farfield_base::random::Seed;
use farfield_base::{Duration, Instant, Window};
use farfield_emulator::{
    ClassPlan, ClientPlan, HopPlan, NetworkPlan, NodePlan, RoutePlan, ServerPlan, Servers, Simulated,
    Simulation, simulate,
};
use farfield_http::http1::Version;
use farfield_net::link::NoJitter;
use farfield_net::{LinkModel, LinkSpec, NodeKind};
use farfield_tcp::Config;
use farfield_traffic::load::LoadSpec;
use farfield_traffic::request::RequestSetSpec;
use farfield_user::{Book, Policy, Target};
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

/// IP-TNE's backbone of four subnetworks, the server's link shared by all.
fn backbone(clients: u32) -> NetworkPlan {
    let trunk = link("delay = '1ms'\nrate = '1Gbit'\nqueue = '1MiB'");
    let stem = link("rate = '1Gbit'\nqueue = '1MiB'");
    let router = |id| NodePlan { id, kind: NodeKind::Router };
    let switch = |subnet| NodePlan { id: 100 + subnet, kind: NodeKind::Switch };
    // Up: 0 to 3 from router i+1 to router i (or the server), 4 to 7 the stems; down: the same, 8 on.
    let route = |subnet: u32| {
        let mut up = vec![HopPlan { link: Some(4 + subnet), to: router(subnet) }];
        let mut down = Vec::new();
        for hop in (0..=subnet).rev() {
            let to = if hop == 0 { NodePlan::SERVER } else { router(hop - 1) };
            up.push(HopPlan { link: Some(hop), to });
        }
        for hop in 0..=subnet {
            down.push(HopPlan { link: Some(8 + hop), to: router(hop) });
        }
        down.push(HopPlan { link: Some(12 + subnet), to: switch(subnet) });
        RoutePlan { up, down }
    };
    let links = |model: &Arc<LinkModel>| (0..4).map(|_| Arc::clone(model)).collect::<Vec<_>>();
    let shared = [links(&trunk), links(&stem), links(&trunk), links(&stem)].concat();
    let own = link("delay = '100us'\nrate = '100Mbit'\nqueue = '64KiB'");
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
        tcp: Arc::new(Config { time_wait: Duration::ZERO, ..Config::linux() }),
        up: vec![Arc::clone(&own)],
        down: vec![own],
        first_address: Ipv4Addr::new(198, 18, 0, 1).into(),
    };
    NetworkPlan {
        servers: Servers { v4: Ipv4Addr::new(10, 1, 0, 1), v6: Ipv6Addr::LOCALHOST, port: 80 },
        classes: vec![class],
        routes,
        shared,
        clients: (0..clients).map(|rank| ClientPlan { class: 0, route: rank % subnets, rank }).collect(),
    }
}

fn simulation(network: NetworkPlan, document: &str, length: Duration, shards: u32) -> Simulation {
    let document: Document = toml::from_str(document).expect("a load and a policy");
    let spec: RequestSetSpec = toml::from_str("[[request]]\npath = '/bytes/1024'").expect("requests");
    let requests = spec.resolve(&mut |_| unreachable!("no files"), Seed(1)).expect("requests");
    let target = Target { host: "server".into(), version: Version::Http11 };
    let count = |count| NonZeroU32::new(count).expect("above zero");
    let end = Instant::ZERO + length;
    let server = ServerPlan {
        tcp: Arc::new(Config { time_wait: Duration::from_ms(100), ..Config::linux() }),
        syn_backlog: u32::MAX,
        accept_queue: 1 << 20,
        ..ServerPlan::events(count(64))
    };
    Simulation {
        network: Arc::new(network),
        server: Arc::new(server),
        load: document.load.resolve(&mut |_| unreachable!("no files")).expect("a load"),
        book: Book::encode(&requests, &target).expect("requests"),
        requests,
        policy: document.policy,
        seed: Seed(1),
        requests_max: None,
        window: Window { measure_from: Instant::ZERO, measure_to: end },
        drain_until: end,
        shards: count(shards),
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

fn curve(clients: u32, keep: bool) {
    let kind = if keep { "open" } else { "thinking" };
    let policy = if keep { "policy = 'persistent'" } else { "policy = 'one-request'" };
    let document = format!(
        "load = {{ model = 'closed', users = {clients}, ramp = '10s', think = {{ law = 'exponential', mean = '10s' }} }}\n[policy]\n{policy}"
    );
    // About three million requests, or two turns of everybody.
    let secs = (3_000_000.0 / f64::from(clients) * 10.0).clamp(12.0, 200.0);
    let (_, before) = memory();
    let simulation = simulation(far_away(clients), &document, Duration::from_secs(secs as u64), 1);
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

fn shards(clients: u32) {
    let document = format!(
        "load = {{ model = 'closed', users = {clients}, think = '20ms' }}\n[policy]\npolicy = 'one-request'"
    );
    let mut alone = f64::NAN;
    for threads in [1, 2, 1, 2] {
        let simulation = simulation(backbone(clients), &document, Duration::from_secs(3), threads);
        let (simulated, took, cpu) = timed(&simulation);
        let rate = simulated.events as f64 / took / 1e6;
        if threads == 1 {
            alone = rate;
        }
        println!(
            "{clients:>9} clients, {threads} shards: {:>8} requests, {:>9} events, {rate:.2} million a second, {:.2} × one; {cpu:.1} s of processors in {took:.1} s; {} windows",
            simulated.samples.len(),
            simulated.events,
            rate / alone,
            simulated.windows,
        );
    }
}

fn main() {
    let mut asked: Vec<String> = std::env::args().skip(1).collect();
    if asked.is_empty() {
        asked = ["1000", "10000", "100000", "1000000", "shards"].map(str::to_owned).to_vec();
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
        match (word.strip_suffix("open"), word.parse()) {
            (_, Ok(clients)) => curve(clients, false),
            (Some(clients), _) => curve(clients.parse().expect("a number"), true),
            _ => shards(4096),
        }
    }
}
