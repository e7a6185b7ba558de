//! From a plan to what the engine runs: addresses looked up, processors counted, the built-in server
//! started.

use super::activity::Encoded;
use super::network::{NetworkSpec, OtherServerSpec};
use super::other_servers::FIRST;
use super::plan::{Parts, RunPlan};
use super::plane::{LaidOut, PlannedPlane};
use super::tls::PlannedTls;
use super::{Scenario, Url};
use crate::ScenarioError;
use crate::http::HttpVersion;
use crate::inputs::{self, Inputs};
use farfield_base::Duration;
use farfield_base::random::Seed;
use farfield_emulator::Servers;
use farfield_emulator::layout::Block;
use farfield_engine::gateway::{CardAddress, CardSpec, Device, blocks_from};
use farfield_engine::live::{FoundServer, Location, Wanted};
use farfield_engine::os::processors;
use farfield_engine::plane::{
    EmulatedNetwork, EmulatedPlane, OtherServer, Plane, PlaneKind, PreparedPlane, Server, SocketsPlane,
};
use farfield_engine::sockets::Sources;
use farfield_engine::testbed::{Command, Limits, Prefix, Ready, ServerSpec, TestbedSpec};
use farfield_engine::{MonitorSettings, Settings, preflight, reach};
use farfield_files::TempDir;
use farfield_measure::paths::PathNames;
use farfield_measure::{Heading, LoadKind};
use farfield_origin::{Origin, OriginConfig};
use farfield_traffic::LoadSpec;
use farfield_traffic::distribution::TimesSpec;
use farfield_traffic::load::{LoadModel, Restart};
use farfield_user::{Addresses, SessionLimits};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the built-in server's certificate.
pub(crate) const BUILT_IN_NAME: &str = "localhost";

/// A server that was found.
enum Found {
    /// On this machine.
    Here(Box<FoundServer>),
    /// On another, beyond a network card.
    Elsewhere(Box<CardSpec>),
}

impl LaidOut {
    /// Gives the network its server's addresses, none of which may be a client's.
    fn lead_to(&mut self, servers: Servers) -> Result<(), ScenarioError> {
        for ip in [IpAddr::V4(servers.v4), IpAddr::V6(servers.v6)] {
            if let Some(block) = self.around.into_iter().flatten().find(|block| block.contains(ip)) {
                return Err(ScenarioError::invalid(format!(
                    "network.addresses: clients' addresses in {block} would hold the server's, {ip}; write another block"
                )));
            }
        }
        Arc::make_mut(&mut self.network.plan).servers = servers;
        Ok(())
    }

    /// The clients' addresses as blocks, with few others: where classes have clients on several shards, some
    /// addresses between them are nobody's.
    fn blocks_of_clients(&self) -> Vec<(IpAddr, u8)> {
        let plan = &self.network.plan;
        let spans = plan.classes.iter().enumerate().map(|(class, spec)| {
            let members = plan.clients.iter().filter(|client| usize::from(client.class) == class);
            (spec.first_address, members.map(|client| u128::from(client.rank) + 1).max().unwrap_or(0))
        });
        spans.flat_map(|(first, count)| blocks_from(first, count)).collect()
    }
}

/// A run with all that depends on the machine: addresses, processors, the built-in server.
pub struct Prepared {
    /// For the engine; its `output` is still to be chosen.
    pub settings: Settings<PreparedPlane>,
    /// The server's address.
    pub address: SocketAddr,
    /// The scenario with the values that it left open.
    pub scenario: Scenario,
    /// The built-in server, which serves for as long as this is held.
    pub origin: Option<Origin>,
    /// The files of the server that the plane is yet to start.
    pub files: Option<TempDir>,
    /// The files that were read.
    pub inputs: Inputs,
}

impl RunPlan {
    /// Prepares a run that begins at `started_at`, a time in words: looks the server up or starts the
    /// built-in one, and chooses the number of workers by the processors there are.
    ///
    /// # Errors
    /// If the server is not found, or the machine lacks something.
    pub fn prepare(self, started_at: String) -> Result<Prepared, ScenarioError> {
        let RunPlan { mut scenario, parts, inputs, location } = self;
        let Parts { mut load, site, mut plane, asked, tls, monitor } = parts;
        scenario.name_folders(inputs.folder());
        let built_in = scenario.built_in(site.as_ref())?;
        let found = match &mut plane {
            Plane::Emulated(laid_out) => {
                location.map(|location| scenario.find(&location, laid_out)).transpose()?
            }
            Plane::Sockets(()) | Plane::Simulated(_) => None,
        };
        let (mut not_asked, mut peers) = (None, None);
        let (address, origin) = match (&plane, &scenario.target) {
            (Plane::Sockets(()), Some(url)) if scenario.connections.unix_socket.is_some() => {
                // It stands for this machine alone.
                (SocketAddr::from((Ipv4Addr::LOCALHOST, url.port())), None)
            }
            (Plane::Sockets(()), Some(url)) => {
                let speaks_datagrams = scenario.http == HttpVersion::Http3;
                let (host, port) = scenario.connects_to(url);
                let found =
                    reach::look_up(&host, port, speaks_datagrams).map_err(ScenarioError::unavailable)?;
                let all = reach::in_order(&host, port).map_err(ScenarioError::unavailable)?;
                peers = scenario.peers(&host, &all);
                // Several addresses that were given for it are no name.
                let host = if host.contains(',') { url.host() } else { &host };
                not_asked = match scenario.connections.addresses {
                    Addresses::First => warning_of_addresses(host, &found),
                    Addresses::All if !speaks_datagrams => warning_of_unreachable(host, &all),
                    Addresses::All | Addresses::EachConnection => None,
                };
                (found.address, None)
            }
            (Plane::Sockets(()), None) => {
                let origin = Origin::start(built_in.config.clone()).map_err(ScenarioError::unavailable)?;
                (origin.address(), Some(origin))
            }
            (Plane::Emulated(laid_out), _) => {
                let (servers, has_v4) = (laid_out.network.plan.servers, laid_out.around[0].is_some());
                let ip = if has_v4 { IpAddr::V4(servers.v4) } else { IpAddr::V6(servers.v6) };
                (SocketAddr::new(ip, servers.port), None)
            }
            (Plane::Simulated(_), _) => {
                let servers = scenario.servers();
                (SocketAddr::from((servers.v4, servers.port)), None)
            }
        };
        let tls = tls.map(PlannedTls::prepare).transpose()?;
        let itinerary = match asked.encoded {
            Encoded::Whole(itinerary) => itinerary,
            Encoded::ForBuiltIn(activity) => {
                let target = scenario.http_target(address.to_string());
                activity.itinerary(&target).map_err(ScenarioError::invalid)?
            }
        };
        scenario.fill_in(&plane);
        let way_in = match &found {
            Some(Found::Here(found)) => warning_of_capture(&scenario, found),
            Some(Found::Elsewhere(_)) | None => None,
        };
        let mut plane = scenario.prepare_plane(plane, address, &built_in.config, found)?;
        if let Plane::Sockets(sockets) = &mut plane {
            sockets.peers = peers;
        }
        let (workers, processors) = match &plane {
            Plane::Sockets(_) => scenario.workers_of_sockets(address)?,
            Plane::Emulated(emulated) => of_network(&emulated.network),
            Plane::Simulated(simulated) => of_network(&simulated.network),
        };
        let mut warnings = match plane {
            Plane::Sockets(_) => scenario.warnings(&load, address)?,
            Plane::Emulated(_) | Plane::Simulated(_) => Vec::new(),
        };
        warnings.extend(scenario.warnings_of_tls());
        warnings.extend(way_in);
        warnings.extend(not_asked);
        warnings.extend(built_in.left_out);
        warnings.extend(asked.warnings);
        let paths = PathNames::of(itinerary.targets());
        scenario.check_paths(&paths).map_err(ScenarioError::invalid)?;
        let starts = itinerary.starts();
        let is_recorded = starts.is_some();
        if let Some(starts) = starts {
            load = LoadModel::recorded(starts);
        } else {
            scenario.spread_users(&mut load, farthest(&plane));
        }
        let heading = scenario.heading(is_recorded, asked.in_words, &plane, origin.as_ref(), started_at);
        // A simulation takes the same memory on every machine, and watches it while it runs.
        let real = plane.kind() != PlaneKind::Simulated;
        let visitors_bound = real.then(|| preflight::bound_visitors(&mut load, tls.is_some())).flatten();
        let settings = Settings {
            load,
            itinerary,
            policy: scenario.connections.clone(),
            tls,
            seed: Seed(scenario.seed),
            requests_max: scenario.run.requests.map(Into::into),
            sessions: SessionLimits {
                most: scenario.run.sessions.map(Into::into),
                finish: scenario.run.finish_sessions,
            },
            plane,
            workers,
            processors,
            warm_up: scenario.run.warm_up,
            duration: scenario.run.measured_part(),
            set_aside: scenario.run.set_aside.then(|| scenario.run.longest()),
            drain: scenario.run.drain,
            visitors_bound,
            ignores_unfinished: scenario.run.unfinished == super::Unfinished::Ignore,
            heading,
            limits: scenario.verdict.clone(),
            thresholds: scenario.thresholds.iter().chain(&scenario.aborts).cloned().collect(),
            aborts: scenario.aborts.clone(),
            output: None,
            monitor: monitor.map(|monitor| MonitorSettings { port: Some(address.port()), ..monitor }),
            warnings,
        };
        Ok(Prepared { settings, address, scenario, origin, files: built_in.files, inputs })
    }
}

/// A name with several addresses may be several servers, of which a run asks one.
fn warning_of_addresses(host: &str, found: &reach::LookedUp) -> Option<String> {
    let several = 1 + found.others.len();
    let is_one_machine =
        found.address.ip().is_loopback() && found.others.iter().all(|other| other.ip().is_loopback());
    (several > 1 && !is_one_machine).then(|| {
        format!(
            "`{host}` has {several} addresses, of which the run asks {} alone, the first to answer: what is behind the \
             others is not measured; `--addresses all` asks them all",
            found.address.ip()
        )
    })
}

/// Addresses that a warning names.
const NAMED_MAX: usize = 5;

/// The warning about addresses that connections will go to in vain.
fn warning_of_unreachable(host: &str, all: &[SocketAddr]) -> Option<String> {
    let silent = reach::unreachable_among(all);
    let named = silent.iter().take(NAMED_MAX).map(|(address, why)| format!("{address} ({why})"));
    let more = silent.len().saturating_sub(NAMED_MAX);
    let more = (more > 0).then(|| format!("{more} more"));
    let named: Vec<String> = named.chain(more).collect();
    (!silent.is_empty()).then(|| {
        let of = all.len();
        format!("of the {of} addresses of `{host}` nothing answered before the run at {}", named.join(", "))
    })
}

impl Scenario {
    /// Makes folders absolute, so that the scenario is the same in whatever folder farfield runs next.
    fn name_folders(&mut self, beside: &Path) {
        if let Some(origin) = &mut self.origin {
            let paths = [&mut origin.root, &mut origin.certificate, &mut origin.key];
            paths.into_iter().flatten().for_each(|path| *path = inputs::absolute(path));
        }
        for server in self.network.iter_mut().flat_map(|network| &mut network.server) {
            if server.command.is_some() {
                let directory =
                    server.directory.take().map_or(PathBuf::from("."), |directory| beside.join(directory));
                server.directory = Some(inputs::absolute(&directory));
            }
        }
        if let Some(unix) = self.connections.unix_socket.take() {
            let folder = if beside.as_os_str().is_empty() { Path::new(".") } else { beside };
            self.connections.unix_socket = Some(unix.within(&inputs::absolute(folder)));
        }
        if let Some(server) = self.server.as_mut().filter(|server| server.command.is_some()) {
            let directory =
                server.directory.take().map_or(PathBuf::from("."), |directory| beside.join(directory));
            server.directory = Some(inputs::absolute(&directory));
        }
    }

    /// Fills in the values that were left open and follow from the plan.
    fn fill_in(&mut self, plane: &PlannedPlane) {
        if self.session.is_none() {
            self.requests = Some(self.requests_or_default());
        }
        if self.is_secure() {
            self.tls.get_or_insert_default();
        }
        let network = match plane {
            Plane::Sockets(()) => return,
            Plane::Emulated(laid_out) => &laid_out.network,
            Plane::Simulated(simulated) => {
                self.simulated.get_or_insert_default();
                &simulated.network
            }
        };
        let spec = self.network.get_or_insert_default();
        if spec.backbone.is_none() && spec.topology.is_none() {
            spec.clients = NonZeroU32::new(network.plan.acting() as u32);
        }
    }

    /// Finds the server that runs already, and gives the network its addresses.
    fn find(&self, location: &Location, laid_out: &mut LaidOut) -> Result<Found, ScenarioError> {
        if let Location::Elsewhere { interface } = location {
            return self.find_elsewhere(interface, laid_out).map(|card| Found::Elsewhere(Box::new(card)));
        }
        let server = self.server.clone().unwrap_or_default();
        let wanted = Wanted {
            host: self.target.as_ref().map(|url| url.host().to_owned()),
            port: self.servers().port,
            v4: server.ipv4,
            v6: server.ipv6,
            families: laid_out.around.map(|block| block.is_some()),
        };
        let found = location.find(&wanted).map_err(|error| match error.is_usage() {
            true => ScenarioError::invalid(error.to_string()),
            false => ScenarioError::unavailable(error),
        })?;
        laid_out.lead_to(Servers { v4: found.v4, v6: found.v6, port: found.port })?;
        Ok(Found::Here(Box::new(found)))
    }

    /// Looks up the server on another machine that a network card leads to, and gives the network its
    /// addresses.
    fn find_elsewhere(&self, interface: &str, laid_out: &mut LaidOut) -> Result<CardSpec, ScenarioError> {
        let network = self.network.clone().unwrap_or_default();
        let Some(target) = &self.target else {
            return Err(ScenarioError::invalid("network.interface: a server on another machine has a URL"));
        };
        let addresses = reach::addresses(target.host(), target.port()).map_err(ScenarioError::unavailable)?;
        let mut servers = self.servers();
        let mut found = Vec::new();
        for (family, _) in laid_out.around.iter().enumerate().filter(|(_, block)| block.is_some()) {
            let Some(address) = addresses.iter().find(|address| usize::from(address.is_ipv6()) == family)
            else {
                let (of, block) = [("IPv4", "2001:2::/48"), ("IPv6", "198.18.0.0/15")][family];
                return Err(ScenarioError::invalid(format!(
                    "clients have {of} addresses, and {} has none: give them others with --set network.addresses={block}, or \
                     a part of the server's own network",
                    target.host()
                )));
            };
            match *address {
                IpAddr::V4(v4) => servers.v4 = v4,
                IpAddr::V6(v6) => servers.v6 = v6,
            }
            found.push(*address);
        }
        laid_out.lead_to(servers)?;
        let single = |address: &IpAddr| (*address, if address.is_ipv4() { 32 } else { 128 });
        let hop = |v6: bool| network.next_hop.filter(|hop| hop.is_ipv6() == v6);
        Ok(CardSpec {
            interface: interface.to_owned(),
            own: laid_out.blocks_of_clients(),
            peers: found.iter().map(single).collect(),
            servers: found,
            next_hops: [hop(false), hop(true)],
            address: match (network.gateway, network.mac.0) {
                // Whoever routes to this machine finds the card's.
                (Device::Route, CardAddress::Own) => CardAddress::Cards,
                (_, address) => address,
            },
            answers: network.gateway != Device::Route,
        })
    }

    /// The plane with addresses, and with what starts its server.
    fn prepare_plane(
        &mut self,
        plane: PlannedPlane,
        address: SocketAddr,
        built_in: &OriginConfig,
        found: Option<Found>,
    ) -> Result<PreparedPlane, ScenarioError> {
        Ok(match plane {
            Plane::Sockets(()) => {
                let (sources, capture) = (self.sources(address), self.capture_of_sockets());
                let unix = self.connections.unix_socket.clone();
                Plane::Sockets(SocketsPlane { target: address, peers: None, unix, sources, capture })
            }
            Plane::Emulated(laid_out) => {
                let LaidOut { network, around, programs, models } = *laid_out;
                let mut testbed = self.testbed(around);
                let others = self.started_beside(&testbed, &network, built_in, around[1].is_some())?;
                let server = match found {
                    None => self.started_server(around[1].is_some(), built_in)?,
                    Some(Found::Here(found)) => {
                        (testbed.server_v4, testbed.server_v6) = (found.v4, found.v6);
                        testbed.server_has = found.has;
                        testbed.families = around.map(|block| block.is_some());
                        Server::Running(found)
                    }
                    Some(Found::Elsewhere(card)) => {
                        let servers = network.plan.servers;
                        (testbed.server_v4, testbed.server_v6) = (servers.v4, servers.v6);
                        testbed.families = around.map(|block| block.is_some());
                        Server::Elsewhere(card)
                    }
                };
                let names = self.names_of_servers();
                Plane::Emulated(Box::new(EmulatedPlane {
                    network,
                    testbed,
                    server,
                    others,
                    models,
                    programs,
                    names,
                }))
            }
            Plane::Simulated(simulated) => Plane::Simulated(simulated),
        })
    }

    /// Names by which programs know servers, with the servers' numbers: `server`, and the host of the
    /// target; of the others, their own.
    fn names_of_servers(&self) -> Vec<(String, u16)> {
        let is_a_name = |host: &&str| host.trim_matches(['[', ']']).parse::<IpAddr>().is_err();
        let target = self.target.as_ref().map(Url::host).filter(is_a_name);
        let first = [FIRST].into_iter().chain(target).map(|name| (name.to_owned(), 0));
        let others = self.network.iter().flat_map(|network| &network.server).zip(1..);
        first.chain(others.map(|(server, number)| (server.name.clone(), number))).collect()
    }

    /// The servers beside the first, whose testbed is `first`.
    fn started_beside(
        &self,
        first: &TestbedSpec,
        network: &EmulatedNetwork,
        built_in: &OriginConfig,
        has_v6: bool,
    ) -> Result<Vec<OtherServer>, ScenarioError> {
        let specs = self.network.iter().flat_map(|network| &network.server);
        let other = |(number, (spec, servers)): (u16, (&OtherServerSpec, &Servers))| {
            let command = match &spec.command {
                Some(command) => command.clone(),
                None => start_built_in(built_in, servers.port, has_v6)?,
            };
            let log = PathBuf::from(format!("server-{}.log", spec.name));
            let server = ServerSpec {
                ready: Ready::Tcp(servers.port),
                directory: spec.directory.clone(),
                ..ServerSpec::new(command, log)
            };
            let testbed = TestbedSpec { server_v4: servers.v4, server_v6: servers.v6, ..first.clone() };
            Ok(OtherServer { name: spec.name.clone(), number, testbed, server })
        };
        let real =
            (1..).zip(specs.zip(&network.plan.others.servers)).filter(|(_, (spec, _))| spec.model.is_none());
        real.map(other).collect()
    }

    /// The testbed that the server's part of the scenario describes, with `around` for clients.
    fn testbed(&self, around: [Option<Block>; 2]) -> TestbedSpec {
        let network = self.network.clone().unwrap_or_default();
        let server = self.server.clone().unwrap_or_default();
        let NetworkSpec { gateway, gateway_queue, offload, shards, .. } = network;
        let mut testbed = TestbedSpec {
            server_v4: server.ipv4,
            server_v6: server.ipv6,
            queues: shards,
            mtu: server.mtu.as_bytes(),
            offload,
            queue_packets: gateway_queue.get(),
            device: gateway,
            tcp: server.tcp(),
            receive_asked: server.receive_processors.is_some(),
            receive_processors: server.receive_processors.unwrap_or_default(),
            ..TestbedSpec::default()
        };
        let fits = "a block has no bits past its length";
        for block in around.into_iter().flatten() {
            match block.network() {
                IpAddr::V4(network) => testbed.clients_v4 = Prefix::new(network, block.bits()).expect(fits),
                IpAddr::V6(network) => testbed.clients_v6 = Prefix::new(network, block.bits()).expect(fits),
            }
        }
        testbed
    }

    /// The server of the emulated plane; the built-in one is this program's own `serve`. `has_v6`: some
    /// clients have IPv6.
    fn started_server(&self, has_v6: bool, built_in: &OriginConfig) -> Result<Server, ScenarioError> {
        let spec = self.server.clone().unwrap_or_default();
        let port = self.servers().port;
        let command = match spec.command {
            Some(command) => command,
            None => start_built_in(built_in, port, has_v6)?,
        };
        Ok(Server::Started(Box::new(ServerSpec {
            ready: spec.ready.unwrap_or(Ready::Tcp(port)),
            ready_timeout: spec.ready_timeout,
            stop_timeout: spec.stop_timeout,
            processors: spec.processors,
            limits: Limits { cpu: spec.cpu, memory: spec.memory },
            user: spec.user,
            directory: spec.directory,
            env: spec.environment,
            ..ServerSpec::new(command, PathBuf::from("server.log"))
        })))
    }

    /// Workers and processors of the sockets plane.
    fn workers_of_sockets(&mut self, address: SocketAddr) -> Result<(NonZeroU32, Vec<usize>), ScenarioError> {
        let workers = match self.sockets.workers {
            Some(workers) => workers,
            None => default_workers(&self.sockets.processors, address.ip().is_loopback())?,
        };
        self.sockets.workers = Some(workers);
        Ok((workers, self.sockets.processors.clone()))
    }

    /// Addresses that clients of the sockets plane connect from.
    fn sources(&mut self, address: SocketAddr) -> Sources {
        let usual = || match address.ip() {
            IpAddr::V4(v4) if v4.is_loopback() => Sources::loopback(),
            _ => Sources::default(),
        };
        match self.connections.unix_socket {
            // Nobody has an address there.
            Some(_) => Sources::default(),
            None => self.sockets.sources.get_or_insert_with(usual).clone(),
        }
    }

    /// Warnings about the path to the server: the S-Client's T must exceed the largest round trip (Banga and
    /// Druschel 1999, section 4.2), or attempts are dropped whose answer is on its way.
    fn warnings(&self, load: &LoadModel, address: SocketAddr) -> Result<Vec<String>, ScenarioError> {
        if let Some(unix) = &self.connections.unix_socket {
            reach::probe_unix(unix).map_err(ScenarioError::unavailable)?;
            return Ok(self.unused());
        }
        let round_trip = match self.http {
            HttpVersion::Http3 => reach::probe_datagrams(address),
            _ => reach::probe(address),
        };
        let round_trip = round_trip.map_err(ScenarioError::unavailable)?;
        let timeout = load.attempt_timeout().or(self.connections.abandon_after);
        let mut warnings = self.unused();
        let Some(timeout) = timeout else { return Ok(warnings) };
        let path = address.ip();
        warnings.push(match round_trip {
            Some(took) if timeout <= took => format!(
                "T = {timeout} is no longer than one connect to {path} took just now: attempts will be dropped whose \
                 answer is on its way; set it above the largest round trip"
            ),
            _ => format!("T = {timeout} must exceed the largest round trip to {path}, which is not known"),
        });
        Ok(warnings)
    }

    /// Tables of the scenario that the sockets plane ignores.
    fn unused(&self) -> Vec<String> {
        if self.ignored.is_empty() {
            return Vec::new();
        }
        let tables = self.ignored.join("], [");
        vec![format!("ignored on the sockets plane, where packets take the kernel's own path: [{tables}]")]
    }

    /// The server and the number of clients, in words, on a plane with a network.
    fn across(&self, network: &EmulatedNetwork) -> String {
        let server = self.server.clone().unwrap_or_default();
        let who = match (self.plane, self.location().filter(|at| *at != Location::Here), server.command) {
            (PlaneKind::Simulated, _, _) => "model of a server".to_owned(),
            (_, Some(Location::Process(pid)), _) => format!("process {pid}"),
            (_, Some(Location::Namespace(name)), _) => format!("server in namespace {name}"),
            (_, Some(Location::Container { name, .. }), _) => format!("container {name}"),
            (_, Some(Location::Elsewhere { interface }), _) => format!("server beyond {interface}"),
            (_, _, Some(command)) => command.to_string(),
            (_, _, None) => "built-in server".to_owned(),
        };
        format!("{who}, {} clients", network.plan.acting())
    }

    fn heading(
        &self,
        is_recorded: bool,
        asked: Option<String>,
        plane: &PreparedPlane,
        origin: Option<&Origin>,
        started_at: String,
    ) -> Heading {
        let across = match plane {
            Plane::Sockets(_) => None,
            Plane::Emulated(emulated) => Some(self.across(&emulated.network)),
            Plane::Simulated(simulated) => Some(self.across(&simulated.network)),
        };
        let target = match (&self.target, origin) {
            (None, None) => across.unwrap_or_default(),
            (Some(url), _) => match asked {
                None => url.to_string(),
                Some(asked) => format!("{}://{} ({asked})", url.scheme(), url.authority()),
            },
            (None, Some(origin)) => {
                format!("built-in server, {}", origin.address())
            }
        };
        let (load, load_words) = match is_recorded {
            true => (LoadKind::Hybrid, "hybrid, sessions as recorded".to_owned()),
            false => in_words(&self.load),
        };
        Heading {
            farfield: env!("CARGO_PKG_VERSION").to_owned(),
            scenario: self.name.clone(),
            target,
            seed: self.seed,
            load,
            load_words,
            started_at,
        }
    }
}

/// The command that starts the built-in server: this program's own `serve`.
fn start_built_in(config: &OriginConfig, port: u16, has_v6: bool) -> Result<Command, ScenarioError> {
    let program = std::env::current_exe().map_err(|error| {
        ScenarioError::unavailable(format!("cannot find the program file of farfield itself: {error}"))
    })?;
    let config = toml::to_string(config).expect("a configuration is written as it was read");
    // The unspecified address of IPv6 stands for those of IPv4 as well.
    let any = if has_v6 { Ipv6Addr::UNSPECIFIED.into() } else { IpAddr::V4(Ipv4Addr::UNSPECIFIED) };
    let any = SocketAddr::new(any, port).to_string();
    let words = [program.to_string_lossy().into_owned(), "serve".into(), any, "--config".into(), config];
    Ok(Command::Program(words.into()))
}

/// Workers and processors of a plane with a network.
fn of_network(network: &EmulatedNetwork) -> (NonZeroU32, Vec<usize>) {
    (network.shards, network.processors.clone())
}

/// The largest round trip, as far as it is known.
fn farthest(plane: &PreparedPlane) -> Duration {
    match plane {
        Plane::Sockets(_) => Duration::ZERO,
        Plane::Emulated(emulated) => emulated.network.round_trips.largest,
        Plane::Simulated(simulated) => simulated.network.round_trips.largest,
    }
}

/// Half of the processors for a server on this machine, which needs the others; else all of them.
fn default_workers(processors: &[usize], local: bool) -> Result<NonZeroU32, ScenarioError> {
    let unknown =
        |error| ScenarioError::unavailable(format!("cannot read which processors there are: {error}"));
    let own = match processors.len() {
        0 => processors::allowed().map_err(unknown)?.len() / if local { 2 } else { 1 },
        own => own,
    };
    Ok(NonZeroU32::new(own as u32).unwrap_or(NonZeroU32::MIN))
}

/// The model of load of a run, by its kind and in words.
fn in_words(load: &LoadSpec) -> (LoadKind, String) {
    let most = |users_max: &Option<NonZeroU32>| match users_max {
        Some(most) => format!(", at most {most} users"),
        None => String::new(),
    };
    let off = |times: &Option<TimesSpec>| {
        times.as_ref().map(|times| format!(", active OFF {}", brief(times))).unwrap_or_default()
    };
    match load {
        LoadSpec::Closed(spec) => {
            let (users, think, off) = (spec.users, brief(&spec.think), off(&spec.active_off));
            (LoadKind::Closed, format!("closed, {users} users, think {think}{off}"))
        }
        LoadSpec::Open(spec) => {
            (LoadKind::Open, format!("open, {}{}", brief(&spec.arrivals), most(&spec.users_max)))
        }
        LoadSpec::Hybrid(spec) => (
            LoadKind::Hybrid,
            format!(
                "hybrid, sessions {}, think {}{}{}",
                brief(&spec.arrivals),
                brief(&spec.think),
                off(&spec.active_off),
                most(&spec.users_max)
            ),
        ),
        LoadSpec::Overload(overload) => {
            let (d, t, rate) = (overload.descriptors, overload.timeout(), overload.attempt_rate());
            let rate = match overload.restart {
                Restart::Paced => format!("{rate:.0}"),
                Restart::AtOnce => format!("at least {rate:.0}"),
            };
            (LoadKind::Overload, format!("overload, D {d}, T {t}: {rate}"))
        }
    }
}

/// The warning about a capture by the kernel of a server at ::1, whose packets come in by another interface.
fn warning_of_capture(scenario: &Scenario, found: &FoundServer) -> Option<String> {
    let is_captured = scenario.capture.as_ref().is_some_and(|capture| capture.kernel);
    (is_captured && found.has[1] && found.v6.is_loopback()).then(|| {
        "capture-kernel.pcapng has the server's packets alone: those to ::1 come in by the interface lo"
            .to_owned()
    })
}

/// A value of the scenario in as few words as its TOML has.
fn brief<T: serde::Serialize>(value: &T) -> String {
    match toml::Value::try_from(value) {
        Ok(toml::Value::String(text)) => text,
        Ok(toml::Value::Table(table)) => {
            let part = |(_, value): (&String, &toml::Value)| match value {
                toml::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            // The distribution or process first, then its parameters in the order of their names.
            let named = |key: &&str| table.contains_key(*key);
            let first =
                ["distribution", "process"].iter().find(|key| named(key)).copied().unwrap_or_default();
            let head = table.get_key_value(first).map(part);
            head.into_iter()
                .chain(table.iter().filter(|(key, _)| *key != first).map(part))
                .collect::<Vec<_>>()
                .join(" ")
        }
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}
