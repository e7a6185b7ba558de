//! The planes: clients, links and server of a scenario, checked and turned into the emulated and the
//! simulated plane's input when the scenario is read.

use super::capture::CaptureSpec;
use super::http::HttpVersion;
use super::mistake::Mistake;
use super::named_server::NamedServer;
use super::network::Mac;
use super::network_layout::LayoutBuilder;
use super::server::{CpuOf, ServerSpec};
use super::simulated::SimulatedSpec;
use super::{OF_A_NETWORK, Scenario, Url};
use farfield_base::Duration;
use farfield_base::random::Seed;
use farfield_emulator::Servers;
use farfield_emulator::layout::{Block, nearest_multiple};
use farfield_engine::plane::{BesideProgram, EmulatedNetwork, Plane, PlaneKind, SimulatedPlane};
use farfield_http::tls::model::Offer;
use farfield_model::ServerPlan;
use farfield_testbed::gateway::Device;
use farfield_testbed::live::Location;
use farfield_traffic::LoadSpec;
use farfield_traffic::file::Load;
use farfield_traffic::site::Site;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

/// The blocks around all clients with IPv4 and with IPv6 addresses.
pub type ClientBlocks = [Option<Block>; 2];

/// A plane that has been checked. What depends on the machine is still missing.
pub type PlannedPlane = Plane<(), Box<LaidOut>>;

/// The network of the emulated plane.
#[derive(Debug, Clone)]
pub struct LaidOut {
    /// Clients and links.
    pub network: EmulatedNetwork,
    /// The addresses of clients.
    pub around: ClientBlocks,
    /// Real programs beside the users.
    pub programs: Vec<BesideProgram>,
}

impl Scenario {
    /// The plane with its network and its model of a server, which knows the requested `site`. Files come
    /// from `load`.
    ///
    /// # Errors
    /// The first mistake in clients, links, server and capture.
    pub fn plan_plane(&self, load: &mut Load<'_>, site: Option<&Site>) -> Result<PlannedPlane, Mistake> {
        match self.plane {
            PlaneKind::Sockets => {
                self.check_sockets()?;
                self.capture.as_ref().map_or(Ok(()), CaptureSpec::check_of_sockets)?;
                self.check_ways()?;
                Ok(Plane::Sockets(()))
            }
            PlaneKind::Emulated => {
                let mut laid_out = self.network(load)?;
                let spec = self.network.clone().unwrap_or_default();
                laid_out.network.models = self.model_servers(&spec, load, site)?;
                // Unused on this plane, but checked.
                if let Some(model) = &self.simulated {
                    model.fixed_replies(Seed(self.seed), load)?;
                }
                Ok(Plane::Emulated(Box::new(laid_out)))
            }
            PlaneKind::Simulated => {
                let LaidOut { network, .. } = self.network(load)?;
                let model = self.simulated.clone().unwrap_or_default();
                let (server, offer) = self.server_plan(&model, load, site)?;
                Ok(Plane::Simulated(Box::new(SimulatedPlane { network, server, offer })))
            }
        }
    }

    /// Lays out the network.
    fn network(&self, load: &mut Load<'_>) -> Result<LaidOut, Mistake> {
        self.check_server()?;
        self.check_ways()?;
        let spec = self.network.clone().unwrap_or_default();
        let (laid, parts) = LayoutBuilder::new(self, &spec, load).lay_out()?;
        self.check_timeout(laid.round_trips.largest)?;
        self.check_descriptors(spec.dealt_over(self.plane))?;
        let classes: Vec<&str> = laid.network.classes.iter().map(|class| class.name.as_str()).collect();
        self.check_scopes(&classes)?;
        let clients = laid.network.acting() as u32;
        self.run.check_clients_of_parts(clients)?;
        let capture = self.capture.clone().unwrap_or_default();
        let network = EmulatedNetwork {
            plan: Arc::new(laid.network),
            nodes: laid.nodes,
            links: laid.links,
            places: laid.places,
            models: Vec::new(),
            round_trips: laid.round_trips,
            conditions: parts.conditions,
            outages: parts.outages,
            shards: spec.shards,
            processors: spec.processors.clone(),
            busy_poll: spec.busy_poll,
            // A shard that polls gains nothing by it, and the breaks that it would take make packets late.
            real_time: spec.real_time && !spec.busy_poll,
            capture: capture.of_network(clients)?,
            kernel_capture: capture.by_server(self.plane, self.logs_keys())?,
        };
        let programs = self.programs(&spec, &network)?;
        let around = [laid.clients_v4, laid.clients_v6];
        Ok(LaidOut { network, around, programs })
    }

    /// The plan of the model of a server, and its clients' offer of TLS, if it has some.
    pub(crate) fn server_plan(
        &self,
        model: &SimulatedSpec,
        load: &mut Load<'_>,
        site: Option<&Site>,
    ) -> Result<(Arc<ServerPlan>, Option<Arc<Offer>>), Mistake> {
        let plan = model.plan(Seed(self.seed), site, load)?;
        let (offer, terms) = self.model_tls(model)?.unzip();
        Ok((Arc::new(ServerPlan { tls: terms, ..plan }), offer))
    }

    /// The server's addresses and port.
    pub fn servers(&self) -> Servers {
        let server = self.server.clone().unwrap_or_default();
        let named = self.location().and(self.target.as_ref()).and_then(|url| url.host().parse().ok());
        let (mut v4, mut v6) = (server.ipv4, server.ipv6);
        match named {
            Some(IpAddr::V4(address)) => v4 = address,
            Some(IpAddr::V6(address)) => v6 = address,
            None => {}
        }
        let of_model = (self.plane == PlaneKind::Simulated && self.is_secure()).then_some(443);
        let port = server.port(self.target.as_ref().map(Url::port).or(of_model));
        Servers { v4, v6, port }
    }

    /// Location of the emulated plane's server, if it runs already: that of a key, or else, with a target
    /// and nothing to start, farfield's own.
    pub fn location(&self) -> Option<Location> {
        if self.plane != PlaneKind::Emulated {
            return None;
        }
        if let Some(interface) = self.network.as_ref().and_then(|network| network.interface.clone()) {
            return Some(Location::Elsewhere { interface });
        }
        let server = self.server.clone().unwrap_or_default();
        let is_here = self.target.is_some() && server.command.is_none();
        server.location().or(is_here.then_some(Location::Here))
    }

    /// The block of the clients' addresses, where their class has none; the usual one if absent. Clients of
    /// a server at an IPv6 address have such addresses, too.
    pub fn block_of_clients(&self) -> Option<Block> {
        let written = self.network.as_ref().and_then(|network| network.addresses);
        let host = self.location().and(self.target.as_ref()).and_then(|url| url.host().parse().ok());
        let is_v6 = host.is_some_and(|host: IpAddr| host.is_ipv6());
        written.map(|pool| pool.0).or(is_v6.then_some(Block::BENCHMARK_V6))
    }

    /// The sockets plane has neither a network nor classes, and starts no server.
    fn check_sockets(&self) -> Result<(), Mistake> {
        let written = [self.network.is_some(), self.server.is_some(), self.simulated.is_some()];
        let mut tables = OF_A_NETWORK.into_iter().zip(written);
        if let Some((table, _)) = tables.find(|(_, written)| *written) {
            let sentence = format!(
                "the sockets plane has no [{table}]; write `plane = \"emulated\"` (or \"simulated\") above, or \
                 remove the table"
            );
            return Err(Mistake::at(table, sentence));
        }
        self.check_scopes(&[])
    }

    fn check_server(&self) -> Result<(), Mistake> {
        let server = self.server.clone().unwrap_or_default();
        if self.plane == PlaneKind::Simulated {
            let model =
                "the simulated plane has a model in place of a server, see [simulated]; remove this key";
            return match (&self.target, &self.server) {
                (Some(_), _) => Err(Mistake::at("target", model)),
                (None, Some(spec)) if spec.command.is_some() => Err(Mistake::at("server.command", model)),
                (None, Some(spec)) if spec.cpu.is_some() => Err(Mistake::at("server.cpu", model)),
                (None, Some(spec)) if spec.memory.is_some() => Err(Mistake::at("server.memory", model)),
                _ => Ok(()),
            };
        }
        self.check_location(&server)?;
        self.check_named(&server)?;
        if server.cpu_of == CpuOf::All && server.cpu.is_none() {
            let sentence =
                "there is no limit that it could be about; write `server.cpu` as well, or remove this key";
            return Err(Mistake::at("server.cpu-of", sentence));
        }
        match (&self.target, server.port) {
            (Some(url), Some(port)) if url.port() != port.get() => {
                let sentence =
                    format!("the port is {port}, and the target's is {}; write one of them", url.port());
                Err(Mistake::at("server.port", sentence))
            }
            _ => Ok(()),
        }
    }

    /// A server that is known by name is one that there is, and speaks HTTP/1 in cleartext.
    fn check_named(&self, server: &ServerSpec) -> Result<(), Mistake> {
        let Some(named) = server.command.as_ref().and_then(NamedServer::of) else { return Ok(()) };
        named.map_err(|sentence| Mistake::at("server.command", sentence))?;
        if self.is_secure() || matches!(self.http, HttpVersion::Http2 | HttpVersion::Http3) {
            return Err(Mistake::at(
                "server.command",
                "a server by name speaks HTTP/1 in cleartext; write the command of one with a configuration of your own",
            ));
        }
        Ok(())
    }

    /// A server is in one place, and one that runs already has what whoever started it gave it.
    fn check_location(&self, server: &ServerSpec) -> Result<(), Mistake> {
        server.check_place()?;
        self.check_card(server)?;
        let Some(location) = self.location() else { return Ok(()) };
        if let Some(key) = server.key_of_start() {
            let who = match location {
                Location::Process(pid) => format!("process {pid}"),
                _ => "the server".to_owned(),
            };
            let sentence = format!(
                "{who} runs already, as whoever started it limited it; remove this key, or start the server with \
                 server.command"
            );
            return Err(Mistake::at(key, sentence));
        }
        match server.key_of_namespace().filter(|_| location == Location::Here) {
            Some(key) => Err(Mistake::at(
                key,
                "the server runs in this machine's own network namespace, whose settings all its programs share: set it \
                 with sysctl, or start the server with server.command",
            )),
            None => Ok(()),
        }
    }

    /// A network card leads to a server on another machine, of which nothing can be set from here.
    fn check_card(&self, server: &ServerSpec) -> Result<(), Mistake> {
        let network = self.network.clone().unwrap_or_default();
        if network.interface.is_none() {
            let keys = [
                ("network.next-hop", network.next_hop.is_some()),
                ("network.mac", network.mac != Mac::default()),
                ("network.gateway", network.gateway == Device::Route),
            ];
            return match keys.into_iter().find(|(_, given)| *given) {
                None => Ok(()),
                Some((key, _)) => Err(Mistake::at(
                    key,
                    "it is about a network card, by which a server on another machine is reached: write `network.interface` \
                     (--interface) as well, or remove this",
                )),
            };
        }
        let elsewhere =
            "the server is on another machine, which `network.interface` leads to; remove this key";
        let keys = [
            ("server.command", server.command.is_some()),
            ("server.pid", server.pid.is_some()),
            ("server.netns", server.netns.is_some()),
            ("server.container", server.container.is_some()),
            ("server.congestion", server.congestion.is_some()),
            ("server.initial-window", server.initial_window.is_some()),
            ("server.receive-processors", server.receive_processors.is_some()),
            ("capture.kernel", self.capture.as_ref().is_some_and(|capture| capture.kernel)),
        ];
        let of_namespace = server.key_of_namespace();
        let key = keys.into_iter().find(|(_, given)| *given).map(|(key, _)| key).or(of_namespace);
        match (key, &self.target) {
            (Some("capture.kernel"), _) => Err(Mistake::at(
                "capture.kernel",
                "packets that farfield sends by a network card pass this machine's kernel unseen: capture at the server, or \
                 write `capture.gateway = true` (--capture)",
            )),
            (Some(key), _) => Err(Mistake::at(key, elsewhere)),
            (None, None) => Err(Mistake::at(
                "network.interface",
                "a server on another machine has a URL: write it as `target`, such as \"http://10.1.2.3/\"",
            )),
            (None, Some(_)) if network.gateway == Device::Tun => Err(Mistake::at(
                "network.gateway",
                "a network card is used by packet sockets: write \"packet\", or \"route\" where others route the clients' \
                 addresses to this machine",
            )),
            (None, Some(_)) => Ok(()),
        }
    }

    /// The S-Client's T must exceed the largest round trip (Banga and Druschel 1999, section 4.2), or
    /// attempts are dropped whose answer is on its way. Here the round trip is known.
    fn check_timeout(&self, largest: Duration) -> Result<(), Mistake> {
        let (key, timeout) = match self.loads().filter_map(LoadSpec::attempt_timeout).min() {
            Some(timeout) => ("load.timeout", Some(timeout)),
            None => ("connections.abandon-after", self.connections.abandon_after),
        };
        match timeout {
            Some(timeout) if timeout <= largest => Err(Mistake::at(
                key,
                format!(
                    "T = {timeout} is no longer than the largest round trip, {largest}: attempts would be dropped \
                     whose answer is on its way; write more than {largest}"
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Descriptors stay on one shard with the clients that their attempts are of.
    fn check_descriptors(&self, shards: NonZeroU32) -> Result<(), Mistake> {
        let shards = shards.get();
        let mut all = self.loads().filter_map(LoadSpec::descriptors).map(NonZeroU32::get);
        let Some(descriptors) = all.find(|all| !all.is_multiple_of(shards)) else {
            return Ok(());
        };
        let nearest = nearest_multiple(descriptors, shards);
        Err(Mistake::at(
            "load.descriptors",
            format!(
                "{descriptors} descriptors cannot be dealt out over {shards} shards; the nearest number that can is \
                 {nearest}"
            ),
        ))
    }
}

#[cfg(test)]
mod tests;
