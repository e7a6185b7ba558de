//! The flags that are short for keys of a scenario, in groups: each command flattens those that it has.

use super::heading::{LIMITS, LOAD, OUTPUT, PATHS, PROTOCOL, SERVER, TLS};
use super::keys::{self, grouped, keyed};
use super::values::{
    ACCESS, ADDRESSES, GATEWAYS, HTTP_VERSIONS, PLANES, POLICIES, SAMPLES, Suggested, count, resolving,
};
use clap::{Args, ValueHint};
use farfield_scenario::{Overlay, TypedRequest};
use std::path::PathBuf;

keyed! {
    /// Users, their rate, and the length of a run.
    #[command(next_help_heading = LOAD)]
    pub struct LoadFlags {
        /// Users of a closed load, or the most of an open one at once
        #[arg(short = 'c', long, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<u32>)]
        users: Option<u32> => "load.users",
        /// Open load: Poisson arrivals at this rate; a closed load if absent
        #[arg(short = 'R', long, value_name = "RATE", allow_hyphen_values = true)]
        rate: Option<String> => "load.arrivals",
        /// Users, or their rate, over time: 1m:100,5m:100,1m:0 or 1m:50/s,1m:0/s; one level if absent
        ///
        /// Each stage is a time and the level at its end, reached along a straight line; 0s:100 is a step.
        /// All stages are measured, and each has figures of its own.
        #[arg(long, value_name = "STAGES", allow_hyphen_values = true)]
        stages: Option<String> => "load.stages",
        /// Length of the measured part; a number is of seconds
        #[arg(short = 'd', long, value_name = "TIME", allow_hyphen_values = true)]
        duration: Option<String> => "run.duration" as keys::seconds,
        /// End after this many requests, without a warm-up; no limit if absent
        ///
        /// They take as long as they take unless --duration bounds it, and --warm-up sets a warm-up.
        #[arg(short = 'n', long, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<u64>)]
        requests: Option<u64> => "run.requests",
        /// End after this many sessions, completed or broken off; without a warm-up, unless --warm-up sets
        /// one; no limit if absent
        #[arg(long, hide_short_help = true, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<u64>)]
        sessions: Option<u64> => "run.sessions",
        /// Think time: from the end of a page to the user's next
        #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
        think: Option<String> => "load.think",
        /// Length of the warm-up, before the measured part
        #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
        warm_up: Option<String> => "run.warm-up" as keys::seconds,
        /// Time for which the load goes on after the measured part; none if absent
        #[arg(long, hide_short_help = true, value_name = "TIME", allow_hyphen_values = true)]
        cool_down: Option<String> => "run.cool-down" as keys::seconds,
        /// Set seconds in which the machine was disturbed aside, and measure as much longer
        #[arg(long, hide_short_help = true)]
        set_aside: bool => "run.set-aside",
        /// Make this part of a run that several processes share, such as 2/3, or 3..5/16; auto takes the
        /// place that Slurm, MPI or Kubernetes give; all of it if absent
        #[arg(long, hide_short_help = true, value_name = "K/M")]
        part: Option<String> => "run.part",
        /// Start at this wall-clock time, such as 2026-12-01T09:30:00Z; as soon as all is ready if absent
        #[arg(long, hide_short_help = true, value_name = "TIME")]
        start_at: Option<String> => "run.start-at",
    }
}

/// Request that a URL is asked for.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = PROTOCOL)]
pub struct RequestFlags {
    /// Method of the request; GET if absent, or POST with a body
    #[arg(short = 'X', long, value_name = "METHOD")]
    pub method: Option<String>,
    /// A header of the request, `Name: value`; may be repeated
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub headers: Vec<String>,
    /// Body of the request, or `@FILE` for that of a file; none if absent
    #[arg(long, value_name = "TEXT|@FILE")]
    pub body: Option<String>,
    #[command(flatten)]
    pub http: HttpFlags,
}

keyed! {
    /// The version of HTTP.
    #[command(next_help_heading = PROTOCOL)]
    pub struct HttpFlags {
        /// HTTP version: 1.0, 1.1, 2, 3, or auto as browsers do
        #[arg(long, value_name = "VERSION", value_parser = Suggested(HTTP_VERSIONS))]
        http: Option<String> => "http",
    }
}

impl RequestFlags {
    /// The key of each flag; the request itself has none.
    pub const KEYS: &[(&str, &str)] = HttpFlags::KEYS;

    /// Lays the flags that are given over a scenario.
    pub fn lay(&self, overlay: &mut Overlay) {
        let RequestFlags { method, headers, body, http } = self;
        let [method, body] = [method, body].map(Clone::clone);
        overlay.request = TypedRequest { method, headers: headers.clone(), body };
        http.lay(overlay);
    }
}

keyed! {
    /// Connections: their addresses, and their use by users.
    #[command(next_help_heading = PATHS)]
    pub struct ConnectionFlags {
        /// Use of connections by users: one-request, persistent, early-close, pipelined,
        /// pipelined-early-close, multiplexed or shared-pool
        #[arg(long, help_heading = PROTOCOL, hide_short_help = true, value_name = "POLICY", value_parser = Suggested(POLICIES))]
        policy: Option<String> => "connections.policy",
        /// The most connections that a user has open at once
        #[arg(long, help_heading = PROTOCOL, hide_short_help = true, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<u16>)]
        parallel: Option<u16> => "connections.parallel",
        /// Local addresses that connections come from, one after the other; may be repeated. If absent, all
        /// of 127.0.0.0/8 for a target there, and else as the kernel chooses
        #[arg(long, hide_short_help = true, value_name = "ADDRESS[/BITS]")]
        source: Vec<String> => "sockets.sources",
        /// Connect to OTHER-HOST and OTHER-PORT in place of HOST and PORT, as curl does; requests, SNI and
        /// the certificate keep the name. What is empty is any, or as it was; may be repeated
        #[arg(long, hide_short_help = true, value_name = "HOST:PORT:OTHER-HOST:OTHER-PORT")]
        connect_to: Vec<String> => "sockets.connect-to",
        /// Take ADDRESS, or several with commas between, for HOST, as curl does; may be repeated
        #[arg(long, hide_short_help = true, value_name = "HOST:PORT:ADDRESS", value_parser = resolving)]
        resolve: Vec<String> => "sockets.connect-to",
        /// Addresses of the target's name that connections go to: the first that answers, all in turn, or
        /// the one that the name has when a connection is opened
        #[arg(long, hide_short_help = true, value_name = "WHICH", value_parser = Suggested(ADDRESSES))]
        addresses: Option<String> => "connections.addresses",
        /// Connect to the Unix socket at PATH, or to @NAME, as curl does; the URL says host and path. If
        /// absent, TCP
        #[arg(long, hide_short_help = true, value_name = "PATH", value_hint = ValueHint::FilePath)]
        unix_socket: Option<String> => "connections.unix-socket",
    }
}

keyed! {
    /// A proxy.
    #[command(next_help_heading = PATHS)]
    pub struct ProxyFlags {
        /// Connect to the proxy at URL, `http://[user:password@]host:port`, as curl does: it is asked for
        /// http in absolute form, and for a tunnel (CONNECT) for https; no proxy if absent
        #[arg(short = 'x', long, hide_short_help = true, value_name = "URL", value_hint = ValueHint::Url)]
        proxy: Option<String> => "connections.proxy",
    }
}

keyed! {
    /// Certificates of an https server and of users.
    #[command(next_help_heading = TLS)]
    pub struct TlsFlags {
        /// PEM file of the CA of the server's certificate; the system's if absent
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        cacert: Option<PathBuf> => "tls.ca",
        /// Accept any certificate of the server; every output says so
        #[arg(short = 'k', long)]
        insecure: bool => "tls.verify" as keys::off,
        /// PEM file of the certificates that users have for an https server that asks for one; none if absent
        #[arg(long, hide_short_help = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
        cert: Option<PathBuf> => "tls.certificate",
        /// PEM file of their private keys; that of the certificates if absent
        #[arg(long, hide_short_help = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
        key: Option<PathBuf> => "tls.key",
    }
}

keyed! {
    /// The target and the plane.
    #[command(next_help_heading = SERVER)]
    pub struct TargetFlags {
        /// URL of the server; the scenario's or the built-in server if absent
        #[arg(long, value_name = "URL")]
        target: Option<String> => "target",
        /// Carrier of the traffic: sockets, emulated or simulated
        ///
        /// The kernel's sockets; clients with addresses, paths and TCP of their own before a real server; or
        /// users, network and a model of the server in virtual time.
        #[arg(long, help_heading = PATHS, value_name = "PLANE", value_parser = Suggested(PLANES))]
        plane: Option<String> => "plane",
    }
}

keyed! {
    /// The network between emulated clients and the server.
    #[command(next_help_heading = PATHS)]
    pub struct NetworkFlags {
        /// Round-trip time between clients and the server, emulated; none if absent
        #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
        rtt: Option<String> => "network.rtt",
        /// Access link of clients, such as dsl, fibre, 4g or modem-56k; none if absent
        #[arg(long, value_name = "KIND", value_parser = Suggested(ACCESS))]
        access: Option<String> => "network.access",
        /// Kind of gateway between clients and the server: auto, tun or packet; auto if absent
        #[arg(long, hide_short_help = true, value_name = "DEVICE", value_parser = Suggested(GATEWAYS))]
        gateway: Option<String> => "network.gateway",
    }
}

keyed! {
    /// The emulated clients.
    #[command(next_help_heading = PATHS)]
    pub struct ClientFlags {
        /// Emulated clients, each with an address and a path; none if absent
        #[arg(long, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<u32>)]
        clients: Option<u32> => "network.clients",
        /// Number of threads that share the emulated clients; 1 if absent
        #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<u32>)]
        shards: Option<u32> => "network.shards",
    }
}

keyed! {
    /// Server that emulated clients, or a program behind an emulated path, reach.
    #[command(next_help_heading = SERVER)]
    pub struct ServerFlags {
        /// Command that starts the server; the built-in server if absent
        #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString)]
        server: Option<String> => "server.command",
        /// Process of a server that runs already, in a network namespace of its own; one is started, or
        /// reached by the URL, if absent
        #[arg(long, hide_short_help = true, value_name = "PID", allow_negative_numbers = true, value_parser = count::<u32>)]
        server_pid: Option<u32> => "server.pid",
        /// Network namespace of a server that runs already: a name of `ip netns`, or a file; this one if
        /// absent
        #[arg(long, hide_short_help = true, value_name = "NAME|FILE")]
        server_netns: Option<String> => "server.netns",
        /// Container of a server that runs already; none if absent
        ///
        /// One of Docker, Podman or Kubernetes.
        #[arg(long, value_name = "NAME")]
        container: Option<String> => "server.container",
        /// Network card that leads to a server on another machine; none if absent
        ///
        /// Clients' addresses live on it.
        #[arg(long, hide_short_help = true, value_name = "INTERFACE")]
        interface: Option<String> => "network.interface",
    }
}

keyed! {
    /// Limits of a server that is started.
    #[command(next_help_heading = LIMITS)]
    pub struct LimitFlags {
        /// The most processor time that the started server may take, in processors, such as 0.2; no limit if
        /// absent
        #[arg(long, hide_short_help = true, value_name = "PROCESSORS")]
        server_cpu: Option<f64> => "server.cpu",
        /// The most memory that the started server may take, such as 64MiB; no limit if absent
        #[arg(long, hide_short_help = true, value_name = "SIZE")]
        server_memory: Option<String> => "server.memory",
        /// System user that the started server runs as; only root can set another; the one who runs farfield
        /// if absent
        #[arg(long, hide_short_help = true, value_name = "USER")]
        server_user: Option<String> => "server.user",
    }
}

keyed! {
    /// Threads and processors of farfield.
    #[command(next_help_heading = LIMITS)]
    pub struct MachineFlags {
        /// Worker threads; by the number of processors if absent
        ///
        /// As many as processors, or half of them if the server is on this machine. On the emulated plane,
        /// the number of shards.
        #[arg(short = 't', long, value_name = "COUNT", allow_negative_numbers = true, value_parser = count::<u32>)]
        workers: Option<u32> => "sockets.workers",
        /// Processors that farfield runs on, such as 1 or 0,2; all that it may use if absent
        #[arg(long, hide_short_help = true, value_name = "LIST", value_delimiter = ',')]
        processors: Vec<u32> => "sockets.processors",
    }
}

keyed! {
    /// Files of a run, and conditions on its result.
    #[command(next_help_heading = OUTPUT)]
    pub struct ResultFlags {
        /// Exit with 99 unless 'p99<200ms' (errors<1%, …); may be repeated
        ///
        /// `farfield help metrics` lists what conditions may name.
        #[arg(long, help_heading = LIMITS, value_name = "CONDITION")]
        threshold: Vec<String> => "thresholds",
        /// End the run, and exit with 105, once this does not hold; may be repeated
        #[arg(long, help_heading = LIMITS, hide_short_help = true, value_name = "CONDITION")]
        abort: Vec<String> => "aborts",
        /// Name of the run, in results and of its directory
        #[arg(long, value_name = "NAME")]
        name: Option<String> => "name",
        /// Note on the run, which results and `farfield runs` show; none if absent
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        note: Option<String> => "note",
        /// Where to put the run directory; farfield-runs/TIME-NAME if absent
        ///
        /// It must hold no run yet.
        #[arg(short = 'o', long, value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
        out: Option<PathBuf> => "output.directory",
        /// Keep these samples: all, none, or a number k for every k-th
        #[arg(long, hide_short_help = true, value_name = "WHICH", value_parser = Suggested(SAMPLES))]
        samples: Option<String> => "output.samples" as keys::number_or_word,
        /// Keep the packets between clients and server in capture.pcapng
        #[arg(long, hide_short_help = true)]
        capture: bool => "capture.gateway",
        /// Write no page of the run (report.html)
        #[arg(long, hide_short_help = true)]
        no_report: bool => "output.report" as keys::off,
        /// Do not monitor the server during the run
        #[arg(long, hide_short_help = true)]
        no_monitor: bool => "monitor" as keys::off,
    }
}

keyed! {
    /// The seed.
    #[command(next_help_heading = LOAD)]
    pub struct SeedFlags {
        /// Seed of all random numbers
        #[arg(long, value_name = "NUMBER")]
        seed: Option<u64> => "seed",
    }
}

/// Keys of every scenario.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = LOAD)]
pub struct KeyFlags {
    #[command(flatten)]
    pub seed: SeedFlags,
    /// Any key of the scenario (`farfield help scenario`); may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
}

impl KeyFlags {
    /// The key of each flag; `--set` has any.
    pub const KEYS: &[(&str, &str)] = SeedFlags::KEYS;

    /// Lays the flags that are given over a scenario.
    pub fn lay(&self, overlay: &mut Overlay) {
        self.seed.lay(overlay);
        overlay.sets.clone_from(&self.sets);
    }
}

grouped! {
    /// Flags of every command that makes runs, but for the load, which each has its own way with.
    pub struct ScenarioFlags {
        target: TargetFlags,
        request: RequestFlags,
        connections: ConnectionFlags,
        proxy: ProxyFlags,
        tls: TlsFlags,
        network: NetworkFlags,
        clients: ClientFlags,
        server: ServerFlags,
        limits: LimitFlags,
        machine: MachineFlags,
        keys: KeyFlags,
    }
}

/// The overlay of a command that uses a scenario's network, and measures no load.
pub fn network_alone(command: &str) -> Overlay {
    let mut overlay = Overlay::default().with("plane", command, "emulated").with("monitor", command, false);
    overlay.without_end();
    overlay
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::RunFlags;
    use clap::CommandFactory;
    use farfield_scenario::Scenario;

    /// The keys of all flags of `run`.
    fn keyed() -> Vec<(&'static str, &'static str)> {
        [ScenarioFlags::GROUPS, &[LoadFlags::KEYS, ResultFlags::KEYS]].concat().concat()
    }

    #[test]
    fn each_flag_has_a_key_that_scenarios_know() {
        for (flag, key) in keyed() {
            let is_known = |model: &str| {
                let text = format!("load.model = '{model}'\n{key} = [[[]]]");
                let refused = toml::from_str::<Scenario>(&text).expect_err("no key has such a value");
                !refused.message().contains("unknown")
            };
            assert!(is_known("closed") || is_known("open"), "{flag}: {key}");
        }
    }

    /// Of `run`, only programs and the request are beside the groups: their keys are lists of tables.
    #[test]
    fn each_flag_of_a_run_is_in_a_group_or_changes_nothing_of_the_scenario() {
        let own = [
            "what",
            "method",
            "headers",
            "body",
            "beside",
            "shell",
            "sets",
            "repeats",
            "until",
            "repeats_max",
            "length_max",
            "budget",
            "on",
            "on_ssh",
            "on_listen",
            "on_wait",
            "metrics",
            "metrics_push",
            "metrics_otlp",
            "ui",
            "format",
            "quiet",
            "verbose",
            "plain",
            "show_scenario",
            "starts_only",
            "with_parent",
            "join",
            "ticket",
            "join_within",
        ];
        let command = crate::flags::Flags::command();
        let run = command.find_subcommand("run").expect("a command");
        let keyed = keyed();
        for argument in run.get_arguments().map(|argument| argument.get_id().as_str()) {
            let has_key = keyed.iter().any(|(flag, _)| *flag == argument);
            assert!(has_key != own.contains(&argument), "{argument}");
        }
        assert_eq!(run.get_arguments().count(), keyed.len() + own.len());
    }

    #[test]
    fn lists_of_two_flags_for_one_key_add_up() {
        let connections = ConnectionFlags {
            connect_to: vec!["a:80:b:81".to_owned()],
            resolve: vec!["c:80:127.0.0.1:80".to_owned()],
            ..ConnectionFlags::default()
        };
        let scenario = ScenarioFlags { connections, ..ScenarioFlags::default() };
        let flags = RunFlags { scenario, ..RunFlags::default() };
        let plan = farfield_scenario::from_url("http://a/", &flags.overlay()).expect("a plan");
        assert_eq!(plan.scenario().sockets.connect_to.len(), 2);
    }
}
