//! The vocabulary of tests on the emulated plane: a testbed with nginx in it, and clients at a distance.
//!
//! Root and nginx are needed; a test that has not both skips by name.

#![allow(dead_code, reason = "each test program speaks a part of the vocabulary")]

use farfield_base::random::Seed;
use farfield_base::{Duration, Sample};
use farfield_emulator::layout::{Places, RoundTrips};
use farfield_emulator::{ClassPlan, ClientPlan, NetworkPlan, RoutePlan, Servers};
use farfield_engine::beside::BesidePrograms;
use farfield_engine::emulated::Emulated;
use farfield_engine::plane::{Capture, EmulatedNetwork};
use farfield_engine::{Output, Placement, Plane, Run, RunDirectory, RunSettings};
use farfield_measure::samples::{Keep, read_samples};
use farfield_measure::{Heading, LoadKind, Summary, VerdictLimits};
use farfield_net::LinkModel;
use farfield_os::clock::Readings;
use farfield_tcp::Config;
use farfield_testbed::{Command, Ready, RunningServer, ServerSpec, Testbed, TestbedSpec};
use farfield_traffic::{LoadSpec, RequestSetSpec, RequestSpec};
use farfield_user::HttpVersion;
use farfield_user::{EventPolicy, Flow, Itinerary, Policy, Target, UserSettings};
use std::fs;
use std::net::Ipv4Addr;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

/// Clients at a distance, and what they do.
#[derive(Debug, Clone)]
pub struct Scene {
    pub clients: u32,
    /// As TOML.
    pub load: String,
    pub policy: Policy,
    /// A client's link in either direction.
    pub link: LinkModel,
    pub tcp: Config,
    pub path: &'static str,
    pub duration: Duration,
    pub testbed: TestbedSpec,
    pub shards: NonZeroU32,
    pub capture: Option<Capture>,
    /// The file that the capture goes to at the end.
    pub keep: Option<std::path::PathBuf>,
    /// Those of the emulator, and of the server; all if empty.
    pub processors: Vec<usize>,
    pub server_processors: Vec<usize>,
    /// Time by which somebody sets the wall clock forward during the run, in nanoseconds.
    pub wall_clock_set_ns: i64,
}

impl Default for Scene {
    fn default() -> Scene {
        Scene {
            clients: 100,
            load: "model = 'closed'\nusers = 100".to_owned(),
            policy: Policy::default(),
            link: LinkModel::ideal(Duration::from_ms(10)),
            tcp: Config::linux(),
            path: "/1k",
            duration: Duration::from_secs(2),
            testbed: TestbedSpec::default(),
            shards: NonZeroU32::MIN,
            capture: None,
            keep: None,
            processors: Vec::new(),
            server_processors: Vec::new(),
            wall_clock_set_ns: 0,
        }
    }
}

/// Results of a scene.
pub struct SceneResult {
    pub summary: Summary,
    pub samples: Vec<Sample>,
    /// Lines of the server's access log.
    pub served: usize,
}

/// True if a test cannot run here, which is recorded with the reason.
pub fn skips(test: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    let nginx = Path::new("/usr/sbin/nginx").exists();
    let reason = match (root, nginx) {
        (true, true) => return false,
        (false, _) => "needs root",
        (_, false) => "needs nginx",
    };
    farfield_testkit::skip(test, reason);
    true
}

impl Scene {
    /// Plays the scene against nginx.
    pub fn play(&self) -> SceneResult {
        let folder = tempfile::tempdir().expect("a folder");
        let testbed =
            Testbed::build(&TestbedSpec { queues: self.shards, ..self.testbed.clone() }).expect("a testbed");
        let server = self.nginx(&testbed, &folder);
        let plane = Plane::Emulated(self.emulated(testbed, server).into());
        let run = Run { settings: self.settings(&folder), plane };
        let stop = Arc::new(AtomicBool::new(false));
        // Clocks that stand before and after the run, whatever sets this machine's meanwhile.
        let before = Readings::now();
        let mut set_ns = 0;
        let clocks = || {
            let wall_ns = before.wall_ns + std::mem::replace(&mut set_ns, self.wall_clock_set_ns);
            Readings { wall_ns, ..before }
        };
        let summary = farfield_engine::run_with_clocks(&run, &stop, |_| {}, clocks).expect("a run");
        let samples = fs::read(folder.path().join("run/samples.parquet")).expect("samples");
        let samples = read_samples(&samples).expect("samples");
        if let Some(keep) = &self.keep {
            fs::copy(folder.path().join("run/capture.pcapng"), keep).expect("a capture");
        }
        let log = fs::read_to_string(folder.path().join("access.log")).expect("a log");
        SceneResult { summary, samples, served: log.lines().count() }
    }

    fn network(&self, server: Ipv4Addr) -> NetworkPlan {
        let link = Arc::new(self.link.clone());
        NetworkPlan {
            others: farfield_emulator::OtherServers::default(),
            host_ways: farfield_emulator::HostWays::default(),
            servers: Servers { v4: server, v6: self.testbed.server_v6, port: 80 },
            classes: vec![ClassPlan {
                name: "far".to_owned(),
                tcp: Arc::new(self.tcp.clone()),
                up: vec![Arc::clone(&link)],
                down: vec![link],
                first_address: Ipv4Addr::from_bits(0xc612_0000 + self.shards.get()).into(),
            }],
            routes: vec![RoutePlan::direct(1)],
            shared: Vec::new(),
            cross_traffic: Vec::new(),
            moves: Vec::new(),
            clients: (0..self.clients).map(|rank| ClientPlan { class: 0, route: 0, rank }).collect(),
        }
    }

    fn emulated(&self, testbed: Testbed, server: RunningServer) -> Emulated {
        let round_trip = self.link.propagation().times(2);
        let network = EmulatedNetwork {
            plan: Arc::new(self.network(self.testbed.server_v4)),
            nodes: Vec::new(),
            links: Vec::new(),
            places: Places::Edges,
            models: Vec::new(),
            round_trips: RoundTrips { least: round_trip, largest: round_trip },
            conditions: Vec::new(),
            outages: Vec::new(),
            shards: self.shards,
            processors: Vec::new(),
            busy_poll: false,
            real_time: false,
            capture: self.capture.clone(),
            kernel_capture: None,
        };
        let placement = Placement::unbound(self.shards.get() as usize);
        Emulated {
            beside: BesidePrograms::default(),
            names: Vec::new(),
            network,
            placement,
            server: Some(server),
            joined: None,
            testbed,
            others: Vec::new(),
        }
    }

    fn settings(&self, folder: &TempDir) -> RunSettings {
        let load: LoadSpec = toml::from_str(&self.load).expect("a load");
        let nothing = &mut |_: &Path| Err(std::io::ErrorKind::NotFound.into());
        let request = RequestSpec::get(self.path.to_owned().try_into().expect("a path"));
        let requests = RequestSetSpec::one(request).resolve(nothing, Seed(1)).expect("requests");
        let target = Target {
            host: "far.test".to_owned(),
            version: HttpVersion::Http11,
            authorization: None,
            secure: false,
            proxy: None,
        };
        let heading = Heading {
            farfield: String::new(),
            scenario: "scene".to_owned(),
            note: None,
            path: None,
            target: String::new(),
            seed: 1,
            load: LoadKind::Closed,
            load_words: String::new(),
            started_at: String::new(),
        };
        RunSettings {
            flows: Flow::only(
                load.resolve(nothing).expect("a load"),
                Itinerary::pages(requests, &[target]).expect("a book"),
            ),
            users: UserSettings {
                policy: self.policy.clone(),
                events: EventPolicy::default(),
                seed: Seed(1),
                requests_max: None,
                end: farfield_user::LoadEnd::default(),
            },
            tls: None,
            hosts: Vec::new(),
            workers: self.shards,
            part: farfield_base::Part::WHOLE,
            shared_by_parts: None,
            start_at: None,
            start_source: None,
            processors: self.processors.clone(),
            warm_up: Duration::from_ms(1500),
            duration: self.duration,
            set_aside: None,
            ignores_unfinished: false,
            monitor: None,
            visitors_bound: None,
            drain: Duration::from_secs(5),
            heading,
            limits: VerdictLimits::default(),
            thresholds: Vec::new(),
            aborts: Vec::new(),
            output: Some(Output {
                directory: RunDirectory::create(&folder.path().join("run")).expect("a directory"),
                scenario: String::new(),
                keep: Keep::All,
                budget: farfield_base::Bytes(1 << 30),
                logs_keys: false,
            }),
            warnings: Vec::new(),
        }
    }

    fn nginx(&self, testbed: &Testbed, folder: &TempDir) -> RunningServer {
        let at = folder.path().display();
        fs::create_dir(folder.path().join("site")).expect("own folder");
        for (name, len) in [("1k", 1_000), ("64k", 65_536), ("1m", 1 << 20)] {
            fs::write(folder.path().join("site").join(name), vec![b'x'; len]).expect("own file");
        }
        let text = format!(
            "worker_processes 1; daemon off; user root; pid {at}/pid; error_log {at}/error.log;\n\
             events {{ worker_connections 20000; }}\n\
             http {{ access_log {at}/access.log; root {at}/site; keepalive_requests 1000000; sendfile on; tcp_nopush on;\n\
             server {{ listen 80 backlog=4096; listen [::]:80 backlog=4096; }} }}\n"
        );
        fs::write(folder.path().join("nginx.conf"), text).expect("own file");
        let config = folder.path().join("nginx.conf");
        let words = ["/usr/sbin/nginx", "-c", config.to_str().expect("a plain path")].map(str::to_owned);
        let spec = ServerSpec {
            ready: Ready::Tcp(80),
            processors: self.server_processors.clone(),
            ..ServerSpec::new(Command::Program(words.to_vec()), folder.path().join("server.log"))
        };
        testbed.start_server(&spec).expect("nginx")
    }
}
