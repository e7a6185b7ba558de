//! A vocabulary for simulations: clients on a way, a server, a load, and what came of it.
#![allow(dead_code, reason = "the bench of queues uses a part of it")]

use farfield_base::random::Seed;
use farfield_base::{Duration, Instant, Outcome, Sample, Window};
use farfield_emulator::{
    ClassPlan, ClientId, ClientPlan, CrossFlow, HopPlan, MovePlan, NetworkPlan, NodePlan, RoutePlan,
    ServerPlan, Servers, SharedLinkId, Simulated, Simulation, simulate,
};
use farfield_http::tls::model::Offer;
use farfield_net::link::NoJitter;
use farfield_net::{LinkModel, LinkSpec, NodeKind};
use farfield_tcp::Config;
use farfield_traffic::load::LoadSpec;
use farfield_traffic::request::{RequestSet, RequestSetSpec};
use farfield_user::HttpVersion;
use farfield_user::{EventPolicy, Flow, Itinerary, Policy, Target, UserSettings};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::Arc;

/// The scene to play.
pub struct Scene {
    pub clients: u32,
    /// A client's own links, both directions alike.
    pub own: Arc<LinkModel>,
    /// Shared links between all clients and the server, both directions alike.
    pub shared: Vec<Arc<LinkModel>>,
    pub tcp: Config,
    pub server: ServerPlan,
    pub load: String,
    pub policy: Policy,
    pub path: String,
    /// Paths of the objects that it embeds.
    pub embedded: Vec<String>,
    pub version: HttpVersion,
    pub length: Duration,
    pub drain: Duration,
    pub shards: u32,
    pub tls: Option<Arc<Offer>>,
    pub first_address: IpAddr,
    pub cross_traffic: Vec<CrossFlow>,
    pub moves_at: Option<Instant>,
}

/// A link as a scenario writes it.
pub fn link(toml: &str) -> Arc<LinkModel> {
    let spec: LinkSpec<NoJitter> = toml::from_str(toml).expect("a link");
    let model = spec.resolve(|never| match *never {}, &mut |_| unreachable!("no trace"));
    Arc::new(model.expect("a link"))
}

pub fn ms(ms: u64) -> Duration {
    Duration::from_ms(ms)
}

pub fn count(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).expect("above zero")
}

impl Scene {
    /// One client at a round trip of `rtt`, which asks for 1 KB again and again, for ten seconds.
    pub fn at(rtt: Duration) -> Scene {
        let half = Duration::from_ns(rtt.as_ns() / 2);
        Scene {
            clients: 1,
            own: link(&format!("delay = '{half}'")),
            shared: Vec::new(),
            tcp: Config::linux(),
            server: ServerPlan::events(count(4)),
            load: "{ model = 'closed', users = 1 }".into(),
            policy: Policy::default(),
            path: "/bytes/1024".into(),
            embedded: Vec::new(),
            version: HttpVersion::Http11,
            length: Duration::from_secs(10),
            drain: Duration::from_secs(2),
            shards: 1,
            tls: None,
            first_address: Ipv4Addr::new(198, 18, 0, 1).into(),
            cross_traffic: Vec::new(),
            moves_at: None,
        }
    }

    /// A scene with `clients`, a user on each.
    pub fn crowd(clients: u32, rtt: Duration) -> Scene {
        let load = format!("{{ model = 'closed', users = {clients} }}");
        Scene { clients, load, ..Scene::at(rtt) }
    }

    pub fn policy(mut self, toml: &str) -> Scene {
        self.policy = toml::from_str(toml).expect("a policy");
        self
    }

    /// All clients move at `moves_at`, if they do.
    fn moves(&self) -> Vec<MovePlan> {
        let all = 0..self.clients;
        let moves = |at| all.map(|client| MovePlan { client: ClientId::new(client), at }).collect();
        self.moves_at.map_or(Vec::new(), moves)
    }

    pub fn network(&self) -> NetworkPlan {
        let router = |id| NodePlan { id, kind: NodeKind::Router };
        let hops = self.shared.len() as u32;
        let up = (0..hops).map(|hop| {
            let to = if hop + 1 == hops { NodePlan::SERVER } else { router(hop + 1) };
            HopPlan { link: Some(SharedLinkId::new(hop)), to }
        });
        let down = (0..hops)
            .map(|hop| HopPlan { link: Some(SharedLinkId::new(hops + hop)), to: router(hops - 1 - hop) });
        let mut route = RoutePlan { up: up.collect(), down: down.collect() };
        if hops == 0 {
            route = RoutePlan::direct(0);
        }
        let class = ClassPlan {
            name: "all".into(),
            tcp: Arc::new(self.tcp.clone()),
            up: vec![Arc::clone(&self.own)],
            down: vec![Arc::clone(&self.own)],
            first_address: self.first_address,
        };
        let servers = Servers {
            v4: Ipv4Addr::new(10, 1, 0, 1),
            v6: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 1, 1),
            port: 80,
        };
        NetworkPlan {
            others: farfield_emulator::OtherServers::default(),
            host_ways: farfield_emulator::HostWays::default(),
            servers,
            classes: vec![class],
            routes: vec![route],
            cross_traffic: self.cross_traffic.clone(),
            moves: self.moves(),
            shared: self.shared.iter().chain(&self.shared).cloned().collect(),
            clients: (0..self.clients * if self.moves_at.is_some() { 2 } else { 1 })
                .map(|rank| ClientPlan { class: 0, route: 0, rank })
                .collect(),
        }
    }

    pub fn simulation(&self) -> Simulation {
        #[derive(serde::Deserialize)]
        struct Document {
            load: LoadSpec,
        }
        let document: Document = toml::from_str(&format!("load = {}", self.load)).expect("a load");
        let requests = requests(&self.path, &self.embedded);
        let target = Target {
            host: "server".into(),
            version: self.version,
            authorization: None,
            secure: false,
            proxy: None,
        };
        let end = Instant::ZERO + self.length;
        Simulation {
            network: Arc::new(self.network()),
            server: Arc::new(self.server.clone()),
            flows: Flow::only(
                document.load.resolve(&mut |_| unreachable!("no files")).expect("a load"),
                Itinerary::pages(requests, &[target]).expect("requests that can be written"),
            ),
            users: UserSettings {
                policy: self.policy.clone(),
                events: EventPolicy::default(),
                seed: Seed(1),
                requests_max: None,
                end: farfield_user::LoadEnd::default(),
            },
            tls: self.tls.clone(),
            window: Window { measure_from: Instant::ZERO, measure_to: end },
            drain_until: end + self.drain,
            shards: count(self.shards),
            part: farfield_base::Part::WHOLE,
        }
    }

    /// Plays it, and checks what must hold whatever is played.
    pub fn play(&self) -> Simulated {
        let simulated = simulate(&self.simulation()).expect("a network with clients and delays");
        simulated.samples.iter().for_each(|sample| assert!(sample.is_ordered(), "{sample:?}"));
        simulated
    }
}

/// The bytes by which runs are compared.
pub fn bytes_of(simulated: &Simulated) -> String {
    let Simulated { samples, counts, in_system_area, connects, drops, server, ended, events, cross, .. } =
        simulated;
    format!("{samples:?}{counts:?}{in_system_area}{connects}{drops:?}{server:?}{ended:?}{events}{cross:?}")
}

pub fn ok(simulated: &Simulated) -> impl Iterator<Item = &Sample> {
    simulated.samples.iter().filter(|sample| sample.outcome == Outcome::Ok)
}

pub fn with(simulated: &Simulated, outcome: Outcome) -> usize {
    simulated.samples.iter().filter(|sample| sample.outcome == outcome).count()
}

fn requests(path: &str, embedded: &[String]) -> RequestSet {
    let page = format!("[[request]]\npath = '{path}'\nembedded = {embedded:?}");
    let spec: RequestSetSpec = toml::from_str(&page).expect("requests");
    spec.resolve(&mut |_| unreachable!("no files"), Seed(1)).expect("requests")
}
