//! From a scenario to what the engine runs: files read, names looked up, the built-in server started.

use super::network::NetworkSpec;
use super::session::Told;
use super::{HttpVersion, Plane, Scenario, Url};
use crate::inputs::{self, Inputs};
use crate::problem::Problem;
use farfield_base::random::Seed;
use farfield_emulator::layout::Block;
use farfield_engine::os::processors;
use farfield_engine::plane::{
    EmulatedNetwork, EmulatedPlane, PlaneSettings, Server, ServerModel, SimulatedPlane,
};
use farfield_engine::sockets::Sources;
use farfield_engine::testbed::{Command, Limits, Prefix, Ready, ServerSpec, TestbedSpec};
use farfield_engine::{Settings, preflight, reach};
use farfield_http::http1::Version;
use farfield_measure::{Heading, LoadKind};
use farfield_origin::{Origin, OriginConfig, Site as OriginSite};
use farfield_traffic::distribution::TimesSpec;
use farfield_traffic::file::Load;
use farfield_traffic::load::{LoadModel, Restart};
use farfield_traffic::request::{Order, SiteSource};
use farfield_traffic::site::Site;
use farfield_traffic::{LoadSpec, RequestSetSpec, RequestSpec};
use farfield_user::{Itinerary, SessionLimits, Target};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What users do, and what is said of it.
struct Asked {
    itinerary: Itinerary,
    /// In words, where it is more than the target's one page.
    in_words: Option<String>,
    warnings: Vec<String>,
}

/// What a scenario has become.
pub struct Resolved {
    /// For the engine; its `output` is still to be chosen, and so is its `plane` where that is to be set up first.
    pub settings: Settings,
    /// What carries the bytes, with all that it needs.
    pub plane: PlaneSettings,
    /// Where the server is.
    pub address: SocketAddr,
    /// The scenario with what was left open filled in.
    pub scenario: Scenario,
    /// The built-in server, which serves for as long as this is held.
    pub origin: Option<Origin>,
    /// The files of the server that the plane is yet to start.
    pub files: Option<TempDir>,
    /// The files that were read.
    pub inputs: Inputs,
}

impl Scenario {
    /// Gets everything ready. Paths in the scenario are relative to `beside`, the scenario's folder.
    pub fn resolve(mut self, beside: &Path) -> Result<Resolved, Problem> {
        let mut inputs = Inputs::beside(beside);
        let mut load_file = |path: &Path| inputs.read(path);
        self.name_folders(beside);
        let mut load =
            self.load.resolve(&mut load_file).map_err(|error| Problem::usage(format!("load: {error}")))?;
        let site = self.asked_site(&mut load_file)?;
        let built_in = self.built_in(site.as_ref())?;
        let plane = self.resolve_plane(&mut load_file, site.as_ref(), &built_in.config)?;
        let origin = match (&plane, &self.target) {
            (PlaneSettings::Sockets, None) => {
                Some(Origin::start(built_in.config.clone()).map_err(Problem::failed)?)
            }
            _ => None,
        };
        let (address, host) = self.server(origin.as_ref())?;
        let version = match self.http {
            HttpVersion::Http10 => Version::Http10,
            HttpVersion::Http11 => Version::Http11,
        };
        let authorization = self.target.as_ref().and_then(Url::authorization);
        let target = Target { host, version, authorization };
        let asked = self.itinerary(&mut load_file, site.as_ref(), origin.as_ref(), &target)?;
        let (workers, sources, processors) = match &plane {
            PlaneSettings::Sockets => self.resolve_sockets(address)?,
            PlaneSettings::Emulated(emulated) => of_network(&emulated.network),
            PlaneSettings::Simulated(simulated) => of_network(&simulated.network),
        };
        let mut warnings = match plane {
            PlaneSettings::Sockets => self.warnings(&load, address)?,
            _ => Vec::new(),
        };
        warnings.extend(asked.warnings);
        if let Some(starts) = asked.itinerary.starts() {
            load = LoadModel::recorded(starts);
        } else {
            self.spread_users(&mut load, &plane);
        }
        let heading = self.heading(&load, asked.in_words, &plane, origin.as_ref());
        // What a model of a server takes is the same on every machine; there memory is looked at while it runs.
        let real = !matches!(plane, PlaneSettings::Simulated(_));
        let visitors_bound = real.then(|| preflight::bound_visitors(&mut load)).flatten();
        let settings = Settings {
            load,
            itinerary: asked.itinerary,
            policy: self.connections,
            seed: Seed(self.seed),
            requests_max: self.run.requests.map(Into::into),
            sessions: SessionLimits {
                most: self.run.sessions.map(Into::into),
                finish: self.run.finish_sessions,
            },
            plane: farfield_engine::run::Plane::Sockets { target: address, sources },
            workers,
            processors,
            warm_up: self.run.warm_up,
            duration: self.run.duration,
            drain: self.run.drain,
            visitors_bound,
            ignores_unfinished: self.run.unfinished == super::Unfinished::Ignore,
            heading,
            limits: self.verdict.clone(),
            thresholds: self.thresholds.iter().chain(&self.aborts).cloned().collect(),
            aborts: self.aborts.clone(),
            output: None,
            warnings,
        };
        Ok(Resolved { settings, plane, address, scenario: self, origin, files: built_in.files, inputs })
    }

    /// Names folders by their absolute paths, so that the scenario means the same wherever farfield runs next.
    fn name_folders(&mut self, beside: &Path) {
        if let Some(root) = self.origin.as_mut().and_then(|origin| origin.root.as_mut()) {
            *root = inputs::absolute(root);
        }
        if let Some(server) = self.server.as_mut().filter(|server| server.command.is_some()) {
            let directory =
                server.directory.take().map_or(PathBuf::from("."), |directory| beside.join(directory));
            server.directory = Some(inputs::absolute(&directory));
        }
    }

    /// Refuses a load or a request that a run would refuse, without a server, a plane or a clock.
    pub fn check(mut self, beside: &Path) -> Result<(), Problem> {
        let mut load_file = |path: &Path| std::fs::read(beside.join(path));
        self.load.resolve(&mut load_file).map_err(|error| Problem::usage(format!("load: {error}")))?;
        if self.requests.as_ref().is_some_and(suits_any_site) {
            return Ok(());
        }
        let site = self.asked_site(&mut load_file)?;
        let host = self.target.as_ref().map_or("localhost".to_owned(), Url::authority);
        let target = Target { host, version: Version::Http11, authorization: None };
        self.itinerary(&mut load_file, site.as_ref(), None, &target).map(drop)
    }

    /// What users do: sessions, or pages of `site` or another set, which the scenario gets where it left that open.
    fn itinerary(
        &mut self,
        load: &mut Load<'_>,
        site: Option<&Site>,
        origin: Option<&Origin>,
        target: &Target,
    ) -> Result<Asked, Problem> {
        let session = self.session(load);
        let session =
            session.map_err(|mistake| Problem::usage(format!("{}: {}", mistake.key, mistake.sentence)))?;
        match session {
            Some(Told::Dependent(session)) => {
                let in_words = Some(format!("sessions of {} states", session.states.len()));
                let warnings = session.warnings.clone();
                let itinerary = Itinerary::sessions(*session, target).map_err(Problem::usage)?;
                return Ok(Asked { itinerary, in_words, warnings });
            }
            Some(Told::Recorded(replay)) => {
                let in_words = Some(format!("{} recorded sessions", replay.sessions.len()));
                let left_out = replay.left_out;
                let told = || {
                    format!("session.replay: {left_out} entries cannot be asked for again and are left out")
                };
                let warnings = (left_out > 0).then(told).into_iter().collect();
                let itinerary = Itinerary::replays(replay, target).map_err(Problem::usage)?;
                return Ok(Asked { itinerary, in_words, warnings });
            }
            None => {}
        }
        let spec = match self.requests.take() {
            Some(spec) => spec,
            None => self.default_requests(origin),
        };
        let seed = Seed(self.seed);
        let requests = match site {
            Some(site) => spec.resolve_over(site, load, seed),
            None => spec.resolve(load, seed),
        };
        let requests = requests.map_err(|error| Problem::usage(format!("requests: {error}")))?;
        self.requests = Some(spec);
        let pages = requests.pages().len();
        let in_words = (pages > 1).then(|| format!("{pages} pages"));
        let itinerary = Itinerary::pages(requests, target).map_err(Problem::usage)?;
        Ok(Asked { itinerary, in_words, warnings: Vec::new() })
    }

    /// What the plane needs. The scenario gets the keys that were left open.
    fn resolve_plane(
        &mut self,
        load: &mut Load<'_>,
        site: Option<&Site>,
        built_in: &OriginConfig,
    ) -> Result<PlaneSettings, Problem> {
        let network = self.network(load);
        let network =
            network.map_err(|mistake| Problem::usage(format!("{}: {}", mistake.key, mistake.sentence)))?;
        let Some((network, around)) = network else { return Ok(PlaneSettings::Sockets) };
        let spec = self.network.get_or_insert_default();
        if spec.backbone.is_none() && spec.topology.is_none() {
            spec.clients = NonZeroU32::new(network.plan.clients.len() as u32);
        }
        if self.plane == Plane::Simulated {
            let objects = self.known_objects(load, site)?.into();
            let spec = self.simulated.get_or_insert_default();
            let wrong = |error| Problem::usage(format!("simulated: {error}"));
            let server = ServerModel {
                workers: spec.workers(),
                objects,
                service_time: spec.service_time.resolve(load).map_err(wrong)?,
                backlog: spec.backlog.get(),
                keep_alive_timeout: spec.keep_alive_timeout,
                linger: spec.linger,
                reply_size: spec.reply_size.0.resolve(load).map_err(wrong)?,
            };
            return Ok(PlaneSettings::Simulated(Box::new(SimulatedPlane { network, server })));
        }
        let server = self.started_server(around[1].is_some(), built_in)?;
        let testbed = self.testbed(around);
        Ok(PlaneSettings::Emulated(Box::new(EmulatedPlane { network, testbed, server })))
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

    /// What starts the server; the built-in one is this program's own `serve`. `has_v6`: some clients have IPv6.
    fn started_server(&self, has_v6: bool, built_in: &OriginConfig) -> Result<Server, Problem> {
        let spec = self.server.clone().unwrap_or_default();
        if let Some(pid) = spec.pid {
            return Ok(Server::Running(pid.get()));
        }
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

    /// Workers, sources and processors of the sockets plane.
    fn resolve_sockets(&mut self, address: SocketAddr) -> Result<(NonZeroU32, Sources, Vec<usize>), Problem> {
        let local = address.ip().is_loopback();
        let workers = match self.sockets.workers {
            Some(workers) => workers,
            None => default_workers(&self.sockets.processors, local)?,
        };
        self.sockets.workers = Some(workers);
        let sources = self.sockets.sources.clone().unwrap_or_else(|| {
            if local && address.is_ipv4() { Sources::loopback() } else { Sources::default() }
        });
        self.sockets.sources = Some(sources.clone());
        Ok((workers, sources, self.sockets.processors.clone()))
    }

    /// The path of the URL; of the built-in server all of its pages with what is embedded in them; of another server,
    /// or a model of one, its root.
    fn default_requests(&self, origin: Option<&Origin>) -> RequestSetSpec {
        let asked = self.target.as_ref().map(Url::path);
        if self.plane == Plane::Emulated && !self.is_started() && asked.is_none() {
            let config = self.origin.clone().unwrap_or_default();
            return all_pages(asked, Some(&OriginSite::generate(config.site, Seed(config.seed))));
        }
        all_pages(asked, origin.map(Origin::site))
    }

    /// The server's address, and what to call it in the Host field.
    fn server(&self, origin: Option<&Origin>) -> Result<(SocketAddr, String), Problem> {
        if self.plane != Plane::Sockets {
            let servers = self.servers();
            let address = SocketAddr::from((servers.v4, servers.port));
            let host = Url::of(address).authority();
            return Ok((address, self.target.as_ref().map_or(host, Url::authority)));
        }
        match (&self.target, origin) {
            (Some(url), _) => {
                let address = reach::look_up(url.host(), url.port()).map_err(Problem::failed)?;
                Ok((address, url.authority()))
            }
            (None, Some(origin)) => Ok((origin.address(), origin.address().to_string())),
            (None, None) => unreachable!("without a target the built-in server was started"),
        }
    }

    /// What the reader should know about the path: the S-Client's T must exceed the largest round trip (Banga and
    /// Druschel 1999, section 4.2), or attempts are dropped whose answer is on its way.
    fn warnings(&self, load: &LoadModel, address: SocketAddr) -> Result<Vec<String>, Problem> {
        let round_trip = reach::probe(address).map_err(Problem::failed)?;
        let timeout = match load {
            LoadModel::Overload(overload) => Some(overload.timeout()),
            _ => self.connections.abandon_after,
        };
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
        vec![format!("[{tables}] ignored on the sockets plane: packets take the kernel's own way")]
    }

    /// Who serves on a plane with a network, and how many clients there are.
    fn across(&self, network: &EmulatedNetwork) -> String {
        let server = self.server.clone().unwrap_or_default();
        let who = match (self.plane, server.command, server.pid) {
            (Plane::Simulated, _, _) => "model of a server".to_owned(),
            (_, Some(command), _) => command.to_string(),
            (_, None, Some(pid)) => format!("process {pid}"),
            (_, None, None) => "built-in server".to_owned(),
        };
        format!("{who}, {} clients", network.plan.clients.len())
    }

    fn heading(
        &self,
        load: &LoadModel,
        asked: Option<String>,
        plane: &PlaneSettings,
        origin: Option<&Origin>,
    ) -> Heading {
        let across = match plane {
            PlaneSettings::Sockets => None,
            PlaneSettings::Emulated(emulated) => Some(self.across(&emulated.network)),
            PlaneSettings::Simulated(simulated) => Some(self.across(&simulated.network)),
        };
        let target = match (&self.target, origin) {
            (None, None) => across.unwrap_or_default(),
            (Some(url), _) => match asked {
                None => url.to_string(),
                Some(asked) => format!("http://{} ({asked})", url.authority()),
            },
            (None, Some(origin)) => {
                format!("built-in server, {}", origin.address())
            }
        };
        let (load, load_words) = in_words(load, &self.load);
        Heading {
            farfield: env!("CARGO_PKG_VERSION").to_owned(),
            scenario: self.name.clone(),
            target,
            seed: self.seed,
            load,
            load_words,
            started_at: crate::commands::run::now_rfc3339(),
        }
    }
}

/// True of requests for a site whose model comes with farfield, in an order that any site has: there is nothing to refuse,
/// and to make the site would take most of the time.
fn suits_any_site(requests: &RequestSetSpec) -> bool {
    let comes_with_farfield = matches!(requests.site(), Some((SiteSource::Preset(_), _)));
    comes_with_farfield && requests.order() != Order::StackDistance
}

/// The command that starts the built-in server: this program's own `serve`.
fn start_built_in(config: &OriginConfig, port: u16, has_v6: bool) -> Result<Command, Problem> {
    let program = std::env::current_exe()
        .map_err(|error| Problem::failed(format!("cannot tell where farfield itself lies: {error}")))?;
    let config = toml::to_string(config).expect("a configuration is written as it was read");
    // The unspecified address of IPv6 stands for those of IPv4 as well.
    let any = if has_v6 { Ipv6Addr::UNSPECIFIED.into() } else { IpAddr::V4(Ipv4Addr::UNSPECIFIED) };
    let any = SocketAddr::new(any, port).to_string();
    let words = [program.to_string_lossy().into_owned(), "serve".into(), any, "--config".into(), config];
    Ok(Command::Program(words.into()))
}

/// Workers, sources and processors of a plane with a network.
fn of_network(network: &EmulatedNetwork) -> (NonZeroU32, Sources, Vec<usize>) {
    (network.shards, Sources::default(), network.processors.clone())
}

/// Half of the processors for a server on this machine, which needs the others; else all of them.
fn default_workers(processors: &[usize], local: bool) -> Result<NonZeroU32, Problem> {
    let cannot_tell = |error| Problem::failed(format!("cannot tell which processors there are: {error}"));
    let own = match processors.len() {
        0 => processors::allowed().map_err(cannot_tell)?.len() / if local { 2 } else { 1 },
        own => own,
    };
    Ok(NonZeroU32::new(own as u32).unwrap_or(NonZeroU32::MIN))
}

/// The path of the URL or, for the built-in server, all of its pages with what is embedded in them.
fn all_pages(asked: Option<&str>, site: Option<&OriginSite>) -> RequestSetSpec {
    let target = |path: &str| path.to_owned().try_into().expect("a URL's path can be asked for");
    match (asked, site) {
        (None, Some(site)) => {
            let page = |page: &farfield_origin::Page| RequestSpec {
                embedded: page.objects().iter().map(|object| target(object.path())).collect(),
                ..RequestSpec::get(target(page.path()))
            };
            RequestSetSpec::new(site.pages().iter().map(page).collect(), None, None)
                .expect("a site has pages, and few")
        }
        (asked, _) => RequestSetSpec::one(RequestSpec::get(target(asked.unwrap_or("/")))),
    }
}

fn in_words(load: &LoadModel, spec: &LoadSpec) -> (LoadKind, String) {
    let most = |users_max: &Option<NonZeroU32>| match users_max {
        Some(most) => format!(", at most {most} users"),
        None => String::new(),
    };
    let off = |law: &Option<TimesSpec>| {
        law.as_ref().map(|law| format!(", active OFF {}", brief(law))).unwrap_or_default()
    };
    match (load, spec) {
        (LoadModel::Closed { users, .. }, LoadSpec::Closed(spec)) => {
            let (think, off) = (brief(&spec.think), off(&spec.active_off));
            (LoadKind::Closed, format!("closed, {users} users, think {think}{off}"))
        }
        (LoadModel::Open { users_max, .. }, LoadSpec::Open(spec)) => {
            (LoadKind::Open, format!("open, {}{}", brief(&spec.arrivals), most(users_max)))
        }
        (LoadModel::Hybrid { users_max, .. }, LoadSpec::Hybrid(spec)) => (
            LoadKind::Hybrid,
            format!(
                "hybrid, sessions {}, think {}{}{}",
                brief(&spec.arrivals),
                brief(&spec.think),
                off(&spec.active_off),
                most(users_max)
            ),
        ),
        (LoadModel::Overload(overload), _) => {
            let (d, t, rate) = (overload.descriptors, overload.timeout(), overload.attempt_rate());
            let rate = match overload.restart {
                Restart::Paced => format!("{rate:.0}"),
                Restart::AtOnce => format!("at least {rate:.0}"),
            };
            (LoadKind::Overload, format!("overload, D {d}, T {t}: {rate}"))
        }
        (LoadModel::Hybrid { .. }, _) => (LoadKind::Hybrid, "hybrid, sessions as recorded".to_owned()),
        _ => unreachable!("a model is resolved from its own spec"),
    }
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
            // The law or process first, then its parameters in the order of their names.
            let named = |key: &&str| table.contains_key(*key);
            let first = ["law", "process"].iter().find(|key| named(key)).copied().unwrap_or_default();
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
