//! Layout of the network: from classes, links, a backbone or a topology as written, with the key of each
//! mistake.

use super::Scenario;
use super::cross_traffic;
use super::http::HttpVersion;
use super::mistake::Mistake;
use super::network::{ClassSpec, Link, NetworkSpec, OtherServerSpec, PathSpec};
use super::network_change::{Changes, End, PartsOfRun};
use super::other_servers as servers;
use farfield_base::random::{Purpose, Seed};
use farfield_base::{Duration, Instant};
use farfield_emulator::MovePlan;
use farfield_emulator::layout::{self, Bottleneck, Class, Graph, Layout, LayoutError, LayoutSettings};
use farfield_engine::PlaneKind;
use farfield_net::topology::{Metric, NodeId, Routes, TopologySpec};
use farfield_net::{LinkModel, LinkSpec, NodeKind, Topology};
use farfield_traffic::distribution::TimesSpec;
use farfield_traffic::file::Load;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

/// The default round trip of clients.
const USUAL_RTT: Duration = Duration::from_ms(50);

/// The default number of clients, of a load that has no number of users.
const USUAL_CLIENTS: u32 = 1000;

/// A network being laid out.
pub struct LayoutBuilder<'a, 'l> {
    scenario: &'a Scenario,
    spec: &'a NetworkSpec,
    load: &'a mut Load<'l>,
    changes: Changes,
}

impl<'a, 'l> LayoutBuilder<'a, 'l> {
    /// The network `spec` of `scenario`, whose files come from `load`.
    pub fn new(
        scenario: &'a Scenario,
        spec: &'a NetworkSpec,
        load: &'a mut Load<'l>,
    ) -> LayoutBuilder<'a, 'l> {
        LayoutBuilder { scenario, spec, load, changes: Changes::default() }
    }

    /// All classes with their links, dealt out and addressed; and the conditions between changes of links.
    ///
    /// # Errors
    /// The first mistake in what is said of them.
    pub fn lay_out(mut self) -> Result<(Layout, PartsOfRun), Mistake> {
        self.check_one_kind()?;
        let (run, end) = (&self.scenario.run, End::of(&self.scenario.run, self.scenario.has_no_end));
        self.changes = Changes::of(self.spec, run.measured_from(), end)?;
        servers::check(self.scenario, self.spec)?;
        let mut layout = match (&self.spec.backbone, &self.spec.topology) {
            (Some(_), _) => self.backbone(),
            (None, Some(graph)) => self.graph(graph),
            (None, None) => self.classes(),
        }?;
        servers::assign(&mut layout, self.spec)?;
        layout.network.others.of_hosts = self.scenario.servers_of_hosts();
        cross_traffic::add(&mut layout, &self.spec.cross_traffic)?;
        let parts = self.changes.put_on_layout(&mut layout)?;
        Ok((layout, parts))
    }

    /// Refuses keys that another of classes, backbone and topology already sets.
    fn check_one_kind(&self) -> Result<(), Mistake> {
        let spec = self.spec;
        let graph = if spec.backbone.is_some() { "backbone" } else { "topology" };
        let drawn = spec.backbone.is_some() || spec.topology.is_some();
        let refuse = |key: &str, sentence: String| Err(Mistake::at(format!("network.{key}"), sentence));
        if spec.backbone.is_some() && spec.topology.is_some() {
            return refuse("topology", "there is a backbone already; remove one of the two".to_owned());
        }
        if spec.backbone.is_some() && !spec.class.is_empty() {
            return refuse(
                "class",
                "a backbone's subnetworks are its classes; remove `class` or `backbone`".to_owned(),
            );
        }
        for (key, written) in [
            ("clients", spec.clients.is_some()),
            ("shared", spec.shared.is_some()),
            ("access", spec.access.is_some()),
            ("rtt", spec.rtt.is_some()),
        ] {
            if written && drawn {
                return refuse(key, format!("the {graph} sets this; remove the key"));
            }
        }
        for (key, written) in [("access", spec.access.is_some()), ("rtt", spec.rtt.is_some())] {
            if written && !spec.class.is_empty() {
                return refuse(
                    key,
                    format!("this is for networks without classes; write `{key}` in each class"),
                );
            }
        }
        Ok(())
    }

    fn classes(&mut self) -> Result<Layout, Mistake> {
        let mut classes = Vec::new();
        let alone = [self.only_class()];
        let spec = self.spec;
        let specs = if spec.class.is_empty() { &alone[..] } else { &spec.class[..] };
        for (place, class) in specs.iter().enumerate() {
            let key = format!("network.class[{place}]");
            check_name(specs, place)?;
            if !class.hosts.is_empty() {
                return Err(Mistake::at(
                    format!("{key}.hosts"),
                    "hosts are those of a topology, and there is none",
                ));
            }
            let moves_to = self.moves_to(&key, specs, class)?;
            classes.push(Class { moves_to, ..self.class(&key, class)? });
        }
        let bottleneck = match &spec.shared {
            None => None,
            Some(path) => {
                let (up, down) = self.path("network.shared", path)?;
                Some(Bottleneck { up, down })
            }
        };
        let (clients, shards) = (self.clients(), self.spec.dealt_over(self.scenario.plane));
        let block = self.scenario.block_of_clients();
        let settings = LayoutSettings { clients, shards, servers: self.scenario.servers(), block };
        let mut layout =
            layout::lay_out(classes, bottleneck, settings).map_err(|error| self.misplaced(&error))?;
        self.set_moves(specs, &mut layout)?;
        self.add_servers(&mut layout)?;
        Ok(layout)
    }

    /// The class that clients of `class` move to.
    fn moves_to(&self, key: &str, classes: &[ClassSpec], class: &ClassSpec) -> Result<Option<u16>, Mistake> {
        let Some(migrate) = &class.migrate else { return Ok(None) };
        let here = |sentence: &str| Err(Mistake::at(format!("{key}.migrate"), sentence));
        if !self.spec.program.is_empty() {
            return here(
                "programs in the places of clients do not move; remove this key or [[network.program]]",
            );
        }
        if self.scenario.plane == PlaneKind::Simulated && self.scenario.http == HttpVersion::Http3 {
            return here(
                "the model of a server follows no connection of QUIC; choose another plane, or another `http`",
            );
        }
        let refuse = |sentence: String| Err(Mistake::at(format!("{key}.migrate.to"), sentence));
        let to = &migrate.to;
        match classes.iter().position(|other| other.name == *to) {
            None => {
                let names: Vec<&str> = classes.iter().map(|other| other.name.as_str()).collect();
                refuse(format!("there is no class `{to}`; there are {}", names.join(", ")))
            }
            Some(_) if *to == class.name => refuse(
                "clients move to another class than their own; write a second class with its links"
                    .to_owned(),
            ),
            Some(place) if classes[place].server != class.server => {
                refuse(format!("users of `{to}` have another `server`; name the same in both"))
            }
            Some(place) => Ok(Some(place as u16)),
        }
    }

    /// Draws when each client moves, from a stream of its own.
    fn set_moves(&mut self, specs: &[ClassSpec], layout: &mut Layout) -> Result<(), Mistake> {
        let seed = Seed(self.scenario.seed);
        for (place, spec) in specs.iter().enumerate() {
            let Some(migrate) = &spec.migrate else { continue };
            let after = migrate.after.resolve(self.load);
            let after =
                after.map_err(|error| Mistake::at(format!("network.class[{place}].migrate.after"), error))?;
            let clients = Arc::clone(&layout.network.clients);
            let is_of_class = |client: &MovePlan| usize::from(clients[client.client.index()].class) == place;
            for own in layout.network.moves.iter_mut().filter(|own| is_of_class(own)) {
                let mut rng = seed.stream(Purpose::Move, own.client.get().into());
                own.at = Instant::ZERO + after.sample_duration(&mut rng);
            }
        }
        Ok(())
    }

    /// Adds the servers beside the first, each behind its own link if it has one.
    fn add_servers(&mut self, layout: &mut Layout) -> Result<(), Mistake> {
        let spec = self.spec;
        let addresses = self.scenario.other_servers(spec);
        for (nth, (server, servers)) in spec.server.iter().zip(addresses).enumerate() {
            let OtherServerSpec { rtt, up, down, .. } = server;
            let link = match (rtt, up, down) {
                (None, None, None) => None,
                (rtt, up, down) => {
                    let path = PathSpec { rtt: *rtt, up: up.clone(), down: down.clone() };
                    let (up, down) = self.path(&format!("network.server[{nth}]"), &path)?;
                    Some(Bottleneck { up, down })
                }
            };
            layout.add_server(&server.name, servers, link);
        }
        Ok(())
    }

    /// The one class of all clients, where none is written.
    fn only_class(&self) -> ClassSpec {
        let NetworkSpec { access, rtt, .. } = *self.spec;
        let rtt = if access.is_none() { rtt.or(Some(USUAL_RTT)) } else { rtt };
        ClassSpec { access, rtt, ..ClassSpec::named("clients") }
    }

    fn clients(&self) -> NonZeroU32 {
        let users = self.scenario.users(USUAL_CLIENTS);
        let users = users.saturating_add(self.spec.program.len() as u32);
        let dealt_over = self.spec.dealt_over(self.scenario.plane).get() * self.scenario.run.part.of();
        let usual = users.checked_next_multiple_of(dealt_over).unwrap_or(users);
        self.spec.clients.or(NonZeroU32::new(usual)).expect("there are users")
    }

    fn class(&mut self, key: &str, spec: &ClassSpec) -> Result<Class, Mistake> {
        let (up, down) = own_links(key, spec)?;
        let mut class = self.bare(spec);
        class.up.push(self.model(&format!("{key}.up"), &up)?);
        class.down.push(self.model(&format!("{key}.down"), &down)?);
        if let Some(core) = &spec.core {
            let (up, down) = self.path(&format!("{key}.core"), core)?;
            class.up.push(up);
            class.down.insert(0, down);
        }
        Ok(class)
    }

    /// The class without its links.
    fn bare(&self, spec: &ClassSpec) -> Class {
        let tcp = spec.tcp.as_ref().unwrap_or(&self.spec.tcp);
        Class {
            name: spec.name.clone(),
            weight: spec.share,
            tcp: tcp.config(),
            mss_is_given: tcp.mss_is_given(),
            up: Vec::new(),
            down: Vec::new(),
            pool: spec.addresses.map(|pool| pool.0),
            moves_to: None,
        }
    }

    fn path(&mut self, key: &str, spec: &PathSpec) -> Result<(Arc<LinkModel>, Arc<LinkModel>), Mistake> {
        let (up, down) = both_ways(key, spec.rtt, spec.up.clone(), spec.down.clone())?;
        Ok((self.model(&format!("{key}.up"), &up)?, self.model(&format!("{key}.down"), &down)?))
    }

    fn model(&mut self, key: &str, link: &Link) -> Result<Arc<LinkModel>, Mistake> {
        resolve_link(link, self.load)
            .map(Arc::new)
            .map_err(|(part, sentence)| Mistake::at(format!("{key}{part}"), sentence))
    }

    fn backbone(&mut self) -> Result<Layout, Mistake> {
        const SUBNETS_MOST: u32 = 119;
        let backbone = self.spec.backbone.clone().expect("there is one");
        let refuse = |sentence: String| Mistake::at("network.backbone", sentence);
        let topology: Topology<Arc<LinkSpec<TimesSpec>>> =
            backbone.topology().map_err(|error| refuse(error.to_string()))?;
        if backbone.subnets > SUBNETS_MOST {
            let sentence =
                format!("{} subnetworks are too long a way; write at most {SUBNETS_MOST}", backbone.subnets);
            return Err(Mistake::at("network.backbone.subnets", sentence));
        }
        let named = |(name, hosts): (String, Vec<NodeId>)| (self.bare(&ClassSpec::named(&name)), hosts);
        let members = layout::subnets(&topology, &backbone).into_iter().map(named).collect();
        let server = topology.find("server").expect("a backbone has a server");
        self.lay_out_graph(&topology, Metric::Hops, (server, Vec::new()), members, "network.backbone")
    }

    fn graph(&mut self, spec: &TopologySpec<TimesSpec>) -> Result<Layout, Mistake> {
        let key = "network.topology";
        let topology = spec.topology().map_err(|error| Mistake::at(key, error))?;
        let hosts: BTreeMap<&str, NodeId> = topology
            .nodes()
            .filter(|(_, node)| node.kind == NodeKind::Host)
            .map(|(id, node)| (node.name.as_str(), id))
            .collect();
        let server = hosts.get(spec.server.as_str()).copied().ok_or_else(|| {
            Mistake::at(
                format!("{key}.server"),
                format!("there is no host `{}`; add it to `hosts`", spec.server),
            )
        })?;
        let beside = servers::hosts(self.spec, &hosts, server)?;
        let members = self.members(&hosts, server, &beside)?;
        self.lay_out_graph(&topology, spec.routing, (server, beside), members, key)
    }

    /// Classes with the hosts that they name; one class of all hosts if there are none.
    fn members(
        &self,
        hosts: &BTreeMap<&str, NodeId>,
        server: NodeId,
        beside: &[NodeId],
    ) -> Result<Vec<(Class, Vec<NodeId>)>, Mistake> {
        if self.spec.class.is_empty() {
            let is_client = |host: &NodeId| *host != server && !beside.contains(host);
            let mut all: Vec<NodeId> = hosts.values().copied().filter(is_client).collect();
            all.sort();
            if all.is_empty() {
                return Err(Mistake::at("network.topology.hosts", "there is no host beside the server"));
            }
            return Ok(vec![(self.bare(&ClassSpec::named("hosts")), all)]);
        }
        let mut taken: BTreeMap<NodeId, &str> = BTreeMap::from([(server, "the server")]);
        taken.extend(beside.iter().zip(&self.spec.server).map(|(host, spec)| (*host, spec.name.as_str())));
        let mut members = Vec::new();
        for (place, class) in self.spec.class.iter().enumerate() {
            let key = format!("network.class[{place}].hosts");
            check_name(&self.spec.class, place)?;
            if class.migrate.is_some() {
                let sentence =
                    "in a topology each host has its own place; remove this key, or write classes with links";
                return Err(Mistake::at(format!("network.class[{place}].migrate"), sentence));
            }
            if let Some(own) = written_link(class) {
                let sentence = "links are those of the topology; remove this key";
                return Err(Mistake::at(format!("network.class[{place}].{own}"), sentence));
            }
            let mut own = Vec::new();
            for name in &class.hosts {
                let host = hosts.get(name.as_str()).copied();
                let host = host.ok_or_else(|| {
                    Mistake::at(
                        &key,
                        format!("there is no host `{name}` in the topology; add it to its `hosts`"),
                    )
                })?;
                if let Some(other) = taken.insert(host, &class.name) {
                    return Err(Mistake::at(
                        &key,
                        format!("host `{name}` is {other}'s already; name it once"),
                    ));
                }
                own.push(host);
            }
            if own.is_empty() {
                return Err(Mistake::at(key, format!("class `{}` has no hosts; name some", class.name)));
            }
            members.push((self.bare(class), own));
        }
        Ok(members)
    }

    fn lay_out_graph(
        &mut self,
        topology: &Topology<Arc<LinkSpec<TimesSpec>>>,
        metric: Metric,
        (server, beside): (NodeId, Vec<NodeId>),
        members: Vec<(Class, Vec<NodeId>)>,
        key: &str,
    ) -> Result<Layout, Mistake> {
        let load = &mut *self.load;
        let models = layout::with_models(topology, |link| resolve_link(link, load));
        let mut models = models.map_err(|((_, sentence), link)| {
            let edge = topology.edge(link);
            let (from, to) = (&topology.node(edge.from).name, &topology.node(edge.to).name);
            Mistake::at(format!("{key}.links"), format!("the link from {from} to {to}: {sentence}"))
        })?;
        self.changes.put_on_topology(&mut models)?;
        let routes =
            Routes::compute(&models, metric).map_err(|error| Mistake::at(format!("{key}.links"), error))?;
        let others = self.scenario.other_servers(self.spec);
        let others = others.into_iter().zip(beside).map(|(servers, host)| (host, servers)).collect();
        let graph = Graph { topology: &models, routes: &routes, server, others, members };
        graph
            .lay_out(
                self.spec.dealt_over(self.scenario.plane),
                self.scenario.servers(),
                self.scenario.block_of_clients(),
            )
            .map_err(|error| self.misplaced(&error))
    }

    /// The mistake at the key that the layout's error is about.
    fn misplaced(&self, error: &LayoutError) -> Mistake {
        let part = match error {
            LayoutError::Weight { .. } | LayoutError::Empty { .. } => "share",
            LayoutError::MtuOfV6 { .. } | LayoutError::PoolTooSmall { .. } => "addresses",
            LayoutError::PoolsOverlap { .. }
            | LayoutError::PoolHoldsServer { .. }
            | LayoutError::PoolsApart { .. } => "addresses",
            LayoutError::Shards { .. } => return Mistake::at(self.key_of_clients(), error),
            LayoutError::Classes(_) => return Mistake::at("network.class", error),
            LayoutError::TooFar { .. } => return Mistake::at("network.topology", error),
        };
        let own = |place: usize| self.spec.class.get(place).is_some_and(|class| class.addresses.is_some());
        let is_of_all = part == "addresses" && self.spec.addresses.is_some();
        if is_of_all && !error.class().is_some_and(own) {
            return Mistake::at("network.addresses", error);
        }
        let written = error.class().and_then(|place| Some((place, self.spec.class.get(place)?)));
        match written {
            Some((_, class)) if part == "addresses" && class.addresses.is_none() => {
                Mistake::at(self.key_of_clients(), error)
            }
            Some((place, _)) => Mistake::at(format!("network.class[{place}].{part}"), error),
            None => Mistake::at(self.key_of_clients(), error),
        }
    }

    /// The key that sets the number of clients.
    fn key_of_clients(&self) -> &'static str {
        match self.spec {
            NetworkSpec { backbone: Some(_), .. } => "network.backbone.hosts",
            NetworkSpec { topology: Some(_), .. } => "network.topology.hosts",
            NetworkSpec { clients: None, shards, .. } if shards.get() > 1 => "network.shards",
            _ => "network.clients",
        }
    }
}

impl ClassSpec {
    fn named(name: &str) -> ClassSpec {
        ClassSpec {
            name: name.to_owned(),
            share: 1.0,
            access: None,
            rtt: None,
            up: None,
            down: None,
            core: None,
            addresses: None,
            tcp: None,
            migrate: None,
            hosts: Vec::new(),
            server: None,
        }
    }
}

fn check_name(classes: &[ClassSpec], place: usize) -> Result<(), Mistake> {
    let name = &classes[place].name;
    let key = format!("network.class[{place}].name");
    let word = |c: char| c.is_alphanumeric() || "-_. ".contains(c);
    if name.is_empty() || !name.chars().all(word) {
        let sentence = format!("`{name}` is no name; write letters, digits, `-`, `_` and `.`, such as `dsl`");
        return Err(Mistake::at(key, sentence));
    }
    if classes[..place].iter().any(|class| class.name == *name) {
        return Err(Mistake::at(
            key,
            format!("there is a class `{name}` already; give each a name of its own"),
        ));
    }
    Ok(())
}

/// The first key of a class that sets its links.
fn written_link(class: &ClassSpec) -> Option<&'static str> {
    let written = [
        ("access", class.access.is_some()),
        ("rtt", class.rtt.is_some()),
        ("up", class.up.is_some()),
        ("down", class.down.is_some()),
        ("core", class.core.is_some()),
    ];
    written.into_iter().find(|(_, written)| *written).map(|(key, _)| key)
}

/// The class's first link in each direction: written out, or of its preset, with its round trip.
fn own_links(key: &str, spec: &ClassSpec) -> Result<(Link, Link), Mistake> {
    let Some(access) = spec.access else {
        return both_ways(key, spec.rtt, spec.up.clone(), spec.down.clone());
    };
    if spec.up.is_some() && spec.down.is_some() {
        let sentence = "`up` and `down` leave nothing to the preset; remove one of the three";
        return Err(Mistake::at(format!("{key}.access"), sentence));
    }
    let mut preset = (access.up(), access.down());
    if access.profile().is_some() && spec.rtt.is_some() {
        let sentence = "this access has the round trips of a model fitted to data; remove `rtt`";
        return Err(Mistake::at(format!("{key}.rtt"), sentence));
    }
    if let Some(rtt) = spec.rtt {
        (preset.0.delay, preset.1.delay) = halves(rtt);
    }
    let (up, down) = (spec.up.clone(), spec.down.clone());
    if spec.rtt.is_some() && (up.is_some() || down.is_some()) {
        let sentence = "a direction is written out, with its delay; remove `rtt`";
        return Err(Mistake::at(format!("{key}.rtt"), sentence));
    }
    one_profile(key, up.unwrap_or(preset.0), down.unwrap_or(preset.1))
}

/// A link's two directions, of which one at most follows a profile: its round trip is that of both.
fn one_profile(key: &str, up: Link, down: Link) -> Result<(Link, Link), Mistake> {
    match (up.path_profile, down.path_profile) {
        (Some(profile), Some(_)) => {
            let other = profile.profile().other_way;
            let sentence = format!(
                "a profile has the round trip of both directions; write `up.delay = \"{other}\"` instead"
            );
            Err(Mistake::at(format!("{key}.up.path-profile"), sentence))
        }
        _ => Ok((up, down)),
    }
}

fn both_ways(
    key: &str,
    rtt: Option<Duration>,
    up: Option<Link>,
    down: Option<Link>,
) -> Result<(Link, Link), Mistake> {
    let delayed = |link: &Option<Link>| link.as_ref().is_some_and(|link| !link.delay.is_zero());
    if rtt.is_some() && (delayed(&up) || delayed(&down)) {
        let sentence = "a direction has a `delay` of its own; remove that or `rtt`";
        return Err(Mistake::at(format!("{key}.rtt"), sentence));
    }
    if rtt.is_none() && (up.is_none() || down.is_none()) {
        let sentence = "there is no path; write `rtt`, or both `up` and `down`, or in a class `access`";
        return Err(Mistake::at(key, sentence));
    }
    let (mut up, mut down) = (up.unwrap_or_default(), down.unwrap_or_default());
    if let Some(rtt) = rtt {
        (up.delay, down.delay) = halves(rtt);
    }
    one_profile(key, up, down)
}

fn halves(rtt: Duration) -> (Duration, Duration) {
    let up = Duration::from_ns(rtt.as_ns() / 2);
    (up, rtt - up)
}

/// The model of the link, or the key of it that is invalid, and why.
fn resolve_link(link: &Link, load: &mut Load<'_>) -> Result<LinkModel, (&'static str, String)> {
    let distribution = match &link.jitter {
        Some(jitter) => Some(jitter.resolve(load).map_err(|error| (".jitter", error.to_string()))?),
        None => None,
    };
    let jitter = |_: &TimesSpec| -> Arc<dyn farfield_net::Jitter> {
        let distribution = distribution.expect("jitter that is written was resolved");
        Arc::new(move |rng: &mut farfield_base::random::Stream| distribution.sample_duration(rng))
    };
    link.resolve(jitter, load).map_err(|error| {
        use farfield_net::link::LinkError;
        let part = match &error {
            LinkError::TwoSpeeds | LinkError::Unreadable { .. } | LinkError::Trace { .. } => ".trace",
            LinkError::NothingReorders => ".reorder",
            LinkError::BesideProfile => ".path-profile",
            LinkError::Overhead(_) => ".overhead",
        };
        (part, error.to_string())
    })
}
