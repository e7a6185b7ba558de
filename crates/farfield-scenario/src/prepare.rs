//! From a plan to what the engine runs: addresses looked up, processors counted, the built-in server
//! started.

mod address;
mod heading;
mod path;
mod servers;

use crate::activity::Encoded;
use crate::http::HttpVersion;
use crate::inputs::{self, Inputs};
use crate::named_server::NamedHome;
use crate::plan::PlannedFlow;
use crate::plan::{Parts, RunPlan};
use crate::plane::{LaidOut, PlannedPlane};
use crate::server::CpuOf;
use crate::start_at::StartAt;
use crate::tls::PlannedTls;
use crate::{RunSpec, Scenario, ScenarioError};
use address::AskedAt;
use farfield_base::Duration;
use farfield_base::random::Seed;
use farfield_engine::plane::{
    EmulatedNetwork, EmulatedPlane, Plane, PlaneKind, PreparedPlane, Server, SocketsPlane,
};
use farfield_engine::sockets::SourceAddresses;
use farfield_engine::{Run, RunSettings, preflight};
use farfield_files::TempDir;
use farfield_measure::VerdictLimits;
use farfield_measure::paths::PathNames;
use farfield_monitor::MonitorSettings;
use farfield_origin::{Origin, OriginConfig};
use farfield_testbed::reach::ReachError;
use farfield_traffic::load::LoadModel;
use farfield_traffic::site::Site;
use farfield_user::{Flow, Itinerary, LoadEnd, UserSettings};
use servers::{LocatedServer, warning_of_capture};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

/// The name of the built-in server's certificate.
pub(crate) const BUILT_IN_NAME: &str = "localhost";

/// A run with all that depends on the machine: addresses, processors, the built-in server.
pub struct Prepared {
    /// For the engine; its `output` is still to be chosen.
    pub run: Run<PreparedPlane>,
    /// The server's address.
    pub address: SocketAddr,
    /// The scenario with the values that it left open.
    pub scenario: Scenario,
    /// The built-in server, which serves for as long as this is held.
    pub origin: Option<Origin>,
    /// The files of the server that the plane is yet to start.
    pub files: Option<TempDir>,
    /// The folder of a server that is known by name, which it needs for as long as it runs.
    pub home: Option<NamedHome>,
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
        let RunPlan { mut scenario, parts, inputs, location, .. } = self;
        let Parts { flows: planned, site, mut plane, tls, hosts, monitor } = parts;
        scenario.name_folders(inputs.folder());
        let built_in = scenario.built_in(site.as_ref())?;
        let found = match (&mut plane, location) {
            (Plane::Emulated(laid_out), Some(location)) => Some(scenario.find(&location, laid_out)?),
            _ => None,
        };
        let AskedAt { address, peers, not_asked, origin } = scenario.asked_at(&plane, &built_in.config)?;
        let tls = tls.map(PlannedTls::prepare).transpose()?;
        let (hosts, of_hosts) = scenario.prepare_hosts(hosts)?;
        scenario.fill_in(&plane);
        let way_in = found.as_ref().and_then(|found| scenario.warning_of_way_in(found));
        let home = scenario.home_of_named(&plane)?;
        let mut plane = scenario.prepare_plane(plane, address, &built_in.config, home.as_ref(), found)?;
        if let Plane::Sockets(sockets) = &mut plane {
            sockets.peers = peers;
        }
        let (workers, processors) = scenario.workers_of(&plane, address)?;
        let mut warnings = match plane {
            Plane::Sockets(_) => scenario.warnings(&planned, address)?,
            Plane::Emulated(_) | Plane::Simulated(_) => Vec::new(),
        };
        warnings.extend(scenario.warnings_of_tls());
        warnings.extend(way_in.into_iter().chain(not_asked).chain(of_hosts).chain(built_in.left_out));
        let PreparedFlows { mut flows, is_recorded, in_words, warnings: of_flows } =
            scenario.prepare_flows(planned, address, farthest(&plane))?;
        warnings.extend(of_flows);
        warnings.extend(put_files(home.as_ref(), site.as_ref(), &flows)?);
        scenario.check_paths(&PathNames::of_some(Flow::targets(&flows))).map_err(ScenarioError::invalid)?;
        let heading = scenario.heading(is_recorded, in_words, &plane, origin.as_ref(), started_at);
        let real = plane.kind() != PlaneKind::Simulated;
        let part = scenario.run.part;
        // A visitor may have a connection to each host.
        let secured = std::iter::once(tls.is_some()).chain(hosts.iter().map(|host| host.tls.is_some()));
        let secured: Vec<bool> = secured.collect();
        let loads = flows.iter_mut().map(|flow| &mut flow.load);
        // A simulation takes the same memory on every machine, and watches it while it runs.
        let visitors_bound = if real { preflight::bound_visitors(loads, &secured, part) } else { None };
        let settings = RunSettings {
            flows,
            users: scenario.user_settings(),
            tls,
            hosts,
            workers: if real { part.workers(workers) } else { workers },
            part,
            shared_by_parts: (!part.is_whole()).then(|| scenario.shared_by_parts()),
            start_at: scenario.run.start_at.map(StartAt::unix_ns),
            start_source: None,
            processors,
            warm_up: scenario.run.warm_up,
            duration: scenario.run.measured_part(),
            set_aside: scenario.run.set_aside.then(|| scenario.run.longest()),
            drain: scenario.run.drain,
            visitors_bound,
            ignores_unfinished: scenario.run.unfinished == super::Unfinished::Ignore,
            heading,
            limits: scenario.limits(),
            thresholds: scenario.all_thresholds(),
            aborts: scenario.aborts.clone(),
            output: None,
            monitor: monitor.map(|monitor| MonitorSettings { port: Some(address.port()), ..monitor }),
            warnings,
        };
        let run = Run { settings, plane };
        Ok(Prepared { run, address, scenario, origin, files: built_in.files, home, inputs })
    }
}

impl Scenario {
    /// The itinerary of users, once the server's address is known.
    fn itinerary(&self, encoded: Encoded, address: SocketAddr) -> Result<Itinerary, ScenarioError> {
        match encoded {
            Encoded::Whole(itinerary) => Ok(itinerary),
            Encoded::ForBuiltIn(activity) => {
                let hosts = self.http_targets(address.to_string());
                activity.itinerary(&hosts).map_err(ScenarioError::invalid)
            }
        }
    }

    /// The flows of users, once the server's address is known and clients are at most `farthest` from it.
    fn prepare_flows(
        &mut self,
        planned: Vec<PlannedFlow>,
        address: SocketAddr,
        farthest: Duration,
    ) -> Result<PreparedFlows, ScenarioError> {
        let mut prepared = PreparedFlows::default();
        for (number, PlannedFlow { name, mut load, asked, .. }) in planned.into_iter().enumerate() {
            let itinerary = self.itinerary(asked.encoded, address)?;
            match itinerary.starts() {
                Some(starts) => {
                    load = LoadModel::recorded(starts);
                    prepared.is_recorded = true;
                }
                None => self.spread_users(number, &mut load, farthest),
            }
            prepared.in_words = match self.flow.len() {
                0 => asked.in_words,
                flows => Some(format!("{flows} flow{}", if flows == 1 { "" } else { "s" })),
            };
            prepared.warnings.extend(asked.warnings);
            prepared.flows.push(Flow { name: name.into(), load, itinerary });
        }
        Ok(prepared)
    }

    /// The limits of the verdict. Where the receive work is limited with the server, packets wait for it as
    /// for the server, and that they do is no fault of the run: the limit is then as long as the run,
    /// unless the scenario says another.
    fn limits(&self) -> VerdictLimits {
        let mut limits = self.verdict.clone();
        let of_all = self.server.as_ref().is_some_and(|server| server.cpu_of == CpuOf::All);
        if of_all && limits.delivery_lateness_p99 == VerdictLimits::default().delivery_lateness_p99 {
            limits.delivery_lateness_p99 = self.run.warm_up + self.run.longest() + self.run.cool_down;
        }
        limits
    }

    /// Settings of the users of all flows.
    fn user_settings(&self) -> UserSettings {
        let RunSpec { requests, sessions, cool_down, finish_sessions: finish, .. } = self.run;
        UserSettings {
            policy: self.connections.clone(),
            events: self.events,
            seed: Seed(self.seed),
            requests_max: requests.map(Into::into),
            end: LoadEnd { sessions: sessions.map(Into::into), cool_down, finish },
        }
    }

    fn warning_of_way_in(&self, found: &LocatedServer) -> Option<String> {
        match found {
            LocatedServer::Here(found) => warning_of_capture(self, found),
            LocatedServer::Elsewhere(_) => None,
        }
    }

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

    /// The plane with addresses, and with what starts its server.
    fn prepare_plane(
        &mut self,
        plane: PlannedPlane,
        address: SocketAddr,
        built_in: &OriginConfig,
        home: Option<&NamedHome>,
        found: Option<LocatedServer>,
    ) -> Result<PreparedPlane, ScenarioError> {
        Ok(match plane {
            Plane::Sockets(()) => {
                let capture = self.capture.as_ref().and_then(|spec| spec.of_sockets(self.logs_keys()));
                let unix = self.connections.unix_socket.clone();
                let sources = match &unix {
                    // Nobody has an address there.
                    Some(_) => SourceAddresses::default(),
                    None => self.sockets.fill_in_sources(address.ip()),
                };
                Plane::Sockets(SocketsPlane { target: address, peers: None, unix, sources, capture })
            }
            Plane::Emulated(laid_out) => {
                let LaidOut { network, around, programs } = *laid_out;
                let spec = self.network.clone().unwrap_or_default();
                let mut testbed = self.server.clone().unwrap_or_default().testbed(&spec, around);
                let others = self.started_beside(&testbed, &network, built_in, around[1].is_some())?;
                let server = match found {
                    None => self.started_server(around[1].is_some(), built_in, home)?,
                    Some(LocatedServer::Here(found)) => {
                        (testbed.server_v4, testbed.server_v6) = (found.v4, found.v6);
                        testbed.server_has = found.has;
                        testbed.families = around.map(|block| block.is_some());
                        Server::Running(found)
                    }
                    Some(LocatedServer::Elsewhere(card)) => {
                        let servers = network.plan.servers;
                        (testbed.server_v4, testbed.server_v6) = (servers.v4, servers.v6);
                        testbed.families = around.map(|block| block.is_some());
                        Server::Elsewhere(card)
                    }
                };
                let names = self.names_of_servers();
                Plane::Emulated(Box::new(EmulatedPlane { network, testbed, server, others, programs, names }))
            }
            Plane::Simulated(simulated) => Plane::Simulated(simulated),
        })
    }

    /// Workers and processors of a plane.
    fn workers_of(
        &mut self,
        plane: &PreparedPlane,
        address: SocketAddr,
    ) -> Result<(NonZeroU32, Vec<usize>), ScenarioError> {
        match plane {
            Plane::Sockets(_) => self.sockets.fill_in_workers(address.ip()),
            Plane::Emulated(emulated) => Ok(of_network(&emulated.network)),
            Plane::Simulated(simulated) => Ok(of_network(&simulated.network)),
        }
    }

    /// Warnings about the path to the server: the S-Client's T must exceed the largest round trip (Banga and
    /// Druschel 1999, section 4.2), or attempts are dropped whose answer is on its way.
    fn warnings(&self, flows: &[PlannedFlow], address: SocketAddr) -> Result<Vec<String>, ScenarioError> {
        if let Some(unix) = &self.connections.unix_socket {
            farfield_testbed::reach::probe_unix(unix).map_err(ScenarioError::unavailable)?;
            return Ok(self.unused());
        }
        let round_trip = match self.http {
            HttpVersion::Http3 => farfield_testbed::reach::probe_datagrams(address),
            _ if self.connections.proxy.is_some() => {
                farfield_testbed::reach::probe(address).map_err(ReachError::of_proxy)
            }
            _ => farfield_testbed::reach::probe(address),
        };
        let round_trip = round_trip.map_err(ScenarioError::unavailable)?;
        self.sockets.check_sources()?;
        let timeout = flows.iter().filter_map(|flow| flow.load.attempt_timeout()).min();
        let timeout = timeout.or(self.connections.abandon_after);
        let mut warnings = self.unused();
        let urls = self.target.iter().chain(self.host.iter().map(|host| &host.url));
        let unmatched: Vec<_> = urls.map(|url| self.sockets.unmatched(url)).collect();
        if unmatched.iter().all(Option::is_some) {
            warnings.extend(unmatched.into_iter().next().flatten());
        }
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
}

/// The flows of users of a run, and what its result says of them.
#[derive(Default)]
struct PreparedFlows {
    flows: Vec<Flow>,
    /// Sessions begin when they were recorded.
    is_recorded: bool,
    /// The requests in words.
    in_words: Option<String>,
    warnings: Vec<String>,
}

/// Puts the files that users ask for into the folder of a server that is known by name; returns a warning of
/// those that it cannot have.
fn put_files(
    home: Option<&NamedHome>,
    site: Option<&Site>,
    flows: &[Flow],
) -> Result<Option<String>, ScenarioError> {
    let Some(home) = home else { return Ok(None) };
    if flows.iter().any(|flow| matches!(flow.itinerary, Itinerary::Sessions(_))) {
        return Err(ScenarioError::invalid(
            "server.command: the requests of a [session] may follow from replies, so that a server by name does not know \
             which files to have; write the command of a server that has them",
        ));
    }
    home.put_files(site, Flow::targets(flows).flatten())
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
