//! The servers of an emulated run: those that are found, and those that the testbed starts.

use crate::named_server::{NamedHome, NamedServer};
use crate::network::OtherServerSpec;
use crate::other_servers::FIRST;
use crate::plane::{LaidOut, PlannedPlane};
use crate::server::CpuOf;
use crate::{Scenario, ScenarioError, Url};
use farfield_emulator::Servers;
use farfield_engine::plane::{EmulatedNetwork, OtherServer, Plane, Server};
use farfield_origin::OriginConfig;
use farfield_testbed::gateway::{CardAddress, CardSpec, Device, blocks_from};
use farfield_testbed::live::{ClientDemands, FoundServer, Location};
use farfield_testbed::reach;
use farfield_testbed::{Command, Limits, Ready, ServerSpec, TestbedSpec};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

/// A server that was found.
pub(super) enum LocatedServer {
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

impl Scenario {
    /// Finds the server that runs already, and gives the network its addresses.
    pub(super) fn find(
        &self,
        location: &Location,
        laid_out: &mut LaidOut,
    ) -> Result<LocatedServer, ScenarioError> {
        if let Location::Elsewhere { interface } = location {
            return self
                .find_elsewhere(interface, laid_out)
                .map(|card| LocatedServer::Elsewhere(Box::new(card)));
        }
        let server = self.server.clone().unwrap_or_default();
        let wanted = ClientDemands {
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
        Ok(LocatedServer::Here(Box::new(found)))
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
                // A router to this machine finds the card's address.
                (Device::Route, CardAddress::Own) => CardAddress::Cards,
                (_, address) => address,
            },
            answers: network.gateway != Device::Route,
        })
    }

    /// Names by which programs know servers, with the servers' numbers: `server`, and the host of the
    /// target; of the others, their own.
    pub(super) fn names_of_servers(&self) -> Vec<(String, u16)> {
        let is_a_name = |host: &&str| host.trim_matches(['[', ']']).parse::<IpAddr>().is_err();
        let target = self.target.as_ref().map(Url::host).filter(is_a_name);
        let first = [FIRST].into_iter().chain(target).map(|name| (name.to_owned(), 0));
        let others = self.network.iter().flat_map(|network| &network.server).zip(1..);
        first.chain(others.map(|(server, number)| (server.name.clone(), number))).collect()
    }

    /// The servers beside the first, whose testbed is `first`.
    pub(super) fn started_beside(
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

    /// The folder of the server, if it is known by name, with its configuration.
    pub(super) fn home_of_named(&self, plane: &PlannedPlane) -> Result<Option<NamedHome>, ScenarioError> {
        let (Plane::Emulated(laid_out), Some(server)) = (plane, &self.server) else { return Ok(None) };
        let Some(named) = server.command.as_ref().and_then(NamedServer::of) else { return Ok(None) };
        let named = named.map_err(ScenarioError::invalid)?;
        let (port, has_v6) = (self.servers().port, laid_out.around[1].is_some());
        NamedHome::make(&named, port, has_v6, server.user.is_some()).map(Some)
    }

    /// The server of the emulated plane; the built-in one is this program's own `serve`. `has_v6`: some
    /// clients have IPv6.
    pub(super) fn started_server(
        &self,
        has_v6: bool,
        built_in: &OriginConfig,
        home: Option<&NamedHome>,
    ) -> Result<Server, ScenarioError> {
        let spec = self.server.clone().unwrap_or_default();
        let port = self.servers().port;
        let command = match (home, spec.command) {
            (Some(home), _) => home.command.clone(),
            (None, Some(command)) => command,
            (None, None) => start_built_in(built_in, port, has_v6)?,
        };
        Ok(Server::Started(Box::new(ServerSpec {
            ready: spec.ready.unwrap_or(Ready::Tcp(port)),
            ready_timeout: spec.ready_timeout,
            stop_timeout: spec.stop_timeout,
            processors: spec.processors,
            limits: Limits { cpu: spec.cpu, memory: spec.memory },
            limits_receive_work: spec.cpu_of == CpuOf::All,
            user: spec.user,
            directory: spec.directory,
            env: spec.environment,
            ..ServerSpec::new(command, PathBuf::from("server.log"))
        })))
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

/// The warning about a capture by the kernel of a server at ::1, whose packets come in by another interface.
pub(super) fn warning_of_capture(scenario: &Scenario, found: &FoundServer) -> Option<String> {
    let is_captured = scenario.capture.as_ref().is_some_and(|capture| capture.kernel);
    (is_captured && found.has[1] && found.v6.is_loopback()).then(|| {
        "capture-kernel.pcapng has the server's packets alone: those to ::1 come in by the interface lo"
            .to_owned()
    })
}
