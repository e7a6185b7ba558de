//! Networks as a scenario writes them: read, shown, read again, laid out; and each mistake with its line and
//! key.

use crate::overlay::Overlay;
use crate::{RunPlan, Scenario, from_text};
use farfield_base::{Duration, Instant};
use farfield_engine::plane::EmulatedNetwork;
use std::path::Path;

/// The plan of `text`, read as the file `s.toml` beside this crate's manifest.
fn plan(text: &str) -> Result<RunPlan, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("s.toml");
    from_text(text, Some(&path), &Overlay::default()).map_err(|problem| problem.to_string())
}

/// Reads `text` as the file `s.toml` beside this crate's manifest.
fn read(text: &str) -> Result<Scenario, String> {
    plan(text).map(|plan| plan.scenario)
}

/// On the emulated plane, with a link between comma and text as a line each.
fn emulated(text: &str) -> String {
    format!("plane = 'emulated'\n{text}")
}

fn network(text: &str) -> EmulatedNetwork {
    let plan = plan(&emulated(text)).unwrap_or_else(|problem| panic!("{problem}"));
    plan.network().expect("the plane has a network").clone()
}

const WAN: &str = "
[server]
command = \"nginx -g 'daemon off;'\"
ready = 'tcp:8080'
congestion = 'reno'
sack = false
initial-window = 10
somaxconn = 4096
receive-buffer = '1MiB'
processors = [1]
settings = { 'net.ipv4.tcp_fin_timeout' = '20' }
[network]
clients = 100
shards = 1
gateway = 'packet'
offload = false
tcp = 'windows'
shared = { rtt = '10ms', down = { rate = '100Mbit', queue = { discipline = 'codel' } } }
[[network.class]]
name = 'dsl'
share = 60
access = 'dsl'
tcp = { profile = 'bsd', mss = 536 }
[[network.class]]
name = 'mobile'
share = 40
up = { rate = '1Mbit', delay = '20ms', queue = '50 packets', loss = '1%' }
down = { rate = '8Mbit', delay = '20ms', jitter = { distribution = 'exponential', mean = '5ms' }, reorder = true, mtu = 1400 }
core = { rtt = '30ms' }
addresses = '198.19.0.0/16'
[capture]
gateway = true
clients = [0, 99]
snap = 96
filter = { port = 8080 }";

#[test]
fn what_is_shown_reads_as_the_same() {
    for text in [
        "",
        WAN,
        "[network]\nrtt = '80ms'",
        "[network]\naccess = 'modem-56k'\nclients = 5",
        "[network.backbone]\nsubnets = 2\nhosts = 3",
        GRAPH,
        "[server]\ncommand = ['nginx', '-c', 'x.conf']\nenvironment = { A = 'b' }\nready = 'started'",
        "[server]\npid = 1234\nport = 8080",
        "[server]\nnetns = 'web'\n[network]\naddresses = '10.99.0.0/16'",
        "target = 'http://[::1]:8080/'\nserver.container = 'web'",
    ] {
        let scenario = read(&emulated(text)).expect(text);
        let shown = scenario.to_toml();
        assert_eq!(read(&shown).as_ref(), Ok(&scenario), "{shown}");
    }
    let text =
        "plane = 'simulated'\n[simulated]\nworkers = 2\nservice-time = { distribution = 'exponential', mean = '2ms' }
        keep-alive-timeout = '5s'\nreply-size = '64KiB'\nbacklog = 5";
    let scenario = read(text).expect(text);
    assert_eq!(read(&scenario.to_toml()).as_ref(), Ok(&scenario));
}

#[test]
fn classes_become_links_and_a_bottleneck() {
    let network = network(WAN);
    let [dsl, mobile] = &network.plan.classes[..] else { panic!("two classes") };
    assert_eq!((dsl.tcp.mss, mobile.tcp.mss), (536, 1360));
    assert_eq!((dsl.up.len(), mobile.up.len(), mobile.down.len()), (1, 2, 2));
    assert_eq!(mobile.up[0].propagation(), Duration::from_ms(20), "the client's end first");
    assert_eq!(mobile.down[0].propagation(), Duration::from_ms(15), "the edge's end first");
    assert_eq!(mobile.first_address.to_string(), "198.19.0.1", "the first past the network's own");
    assert_eq!(network.plan.shared.len(), 2);
    // The presets' 20 ms and 40 + 30 ms, and the shared 10 ms.
    assert_eq!(network.round_trips.least, Duration::from_ms(30));
    assert_eq!(network.round_trips.largest, Duration::from_ms(80));
    let of_dsl = network.plan.clients.iter().filter(|client| client.class == 0).count();
    assert_eq!((network.plan.clients.len(), of_dsl), (100, 60));
    let capture = network.capture.expect("a capture");
    assert_eq!((capture.snap, capture.plan.clients), (Some(96), vec![0, 99]));
}

/// The round trips of a preset that follows a model are within what was measured; another beside it is
/// refused.
#[test]
fn starlink_has_the_round_trips_of_its_model() {
    let starlink = network("network.access = 'starlink'");
    assert_eq!(starlink.round_trips.least, Duration::from_us(19_640));
    assert_eq!(starlink.round_trips.largest, Duration::from_us(72_170));
    for text in [
        "[network]\naccess = 'starlink'\nrtt = '50ms'",
        "[[network.class]]\nname = 'ship'\naccess = 'starlink'\nrtt = '50ms'",
    ] {
        let problem = plan(&emulated(text)).map(|plan| plan.network().is_some()).expect_err(text);
        assert!(problem.contains("remove `rtt`"), "{problem}");
    }
    let twice =
        "[[network.class]]\nname = 'ship'\nup.path-profile = 'starlink'\ndown.path-profile = 'starlink'";
    let problem = plan(&emulated(twice)).map(|plan| plan.network().is_some()).expect_err("two round trips");
    assert!(problem.contains("write `up.delay = \"9ms\"` instead"), "{problem}");
}

/// Each client of the class moves at an instant of its own, the others never; the seed alone decides when.
#[test]
fn clients_move_when_their_class_says() {
    let text = |migrate: &str| {
        format!(
            "network.clients = 40\n[[network.class]]\nname = 'wifi'\nrtt = '20ms'\nshare = 3\nmigrate = {{ {migrate} }}\n\
             [[network.class]]\nname = '4g'\nrtt = '50ms'"
        )
    };
    let after = "to = '4g', after = { distribution = 'exponential', mean = '10s' }";
    let plan = network(&text(after)).plan;
    assert_eq!((plan.acting(), plan.moves.len(), plan.clients.len()), (40, 30, 80));
    let mut instants: Vec<_> = plan.moves.iter().map(|own| own.at).collect();
    assert_eq!(instants, network(&text(after)).plan.moves.iter().map(|own| own.at).collect::<Vec<_>>());
    instants.sort_unstable();
    instants.dedup();
    assert_eq!(instants.len(), 30, "each has its own");
    let mean = instants.iter().map(|at| at.since(Instant::ZERO).as_secs_f64()).sum::<f64>() / 30.0;
    // Five standard deviations.
    assert!((mean - 10.0).abs() < 5.0 * 10.0 / 30.0_f64.sqrt(), "{mean}");
    let fixed = network(&text("to = '4g', after = '3s'")).plan;
    assert!(fixed.moves.iter().all(|own| own.at == Instant::ZERO + Duration::from_secs(3)));
    for (migrate, part) in [
        ("to = '5g', after = '3s'", "there is no class `5g`; there are wifi, 4g"),
        ("to = 'wifi', after = '3s'", "another class"),
        ("to = '4g'", "after"),
    ] {
        let problem = read(&emulated(&text(migrate))).expect_err(migrate).to_string();
        assert!(problem.contains(part) && problem.contains("migrate"), "{problem}");
    }
}

#[test]
fn there_are_as_many_clients_as_users() {
    let clients = |text| network(text).plan.clients.len();
    assert_eq!(clients("load.users = 37\nload.model = 'closed'"), 37);
    assert_eq!(clients("load = { model = 'open', arrivals = '5/s' }"), 1000);
    assert_eq!(clients("load = { model = 'closed', users = 37 }\nnetwork.shards = 3"), 39);
    assert_eq!(clients("network.backbone = { subnets = 2, hosts = 3 }"), 6);
}

/// A server that runs already is where a key says, or here; its address and the clients' are of one family.
#[test]
fn a_server_that_runs_already_is_somewhere() {
    use farfield_testbed::live::Location;
    let of = |text: &str| read(text).unwrap_or_else(|problem| panic!("{problem}")).location();
    let target = "target = 'http://127.0.0.1:8080/'";
    assert_eq!(of(&emulated(target)), Some(Location::Here));
    assert_eq!(of(&format!("{target}\nnetwork.rtt = '80ms'")), Some(Location::Here), "without a plane");
    assert_eq!(of(target), None, "a URL alone stays on sockets");
    assert_eq!(of(&emulated(&format!("{target}\nserver.command = 'nginx'"))), None);
    assert_eq!(of(&format!("{target}\nserver.pid = 7")), Some(Location::Process(7)));
    assert_eq!(of(&emulated("server.netns = 'web'")), Some(Location::Namespace("web".into())));
    let container = Location::Container { name: "web".into(), pid: None };
    assert_eq!(of(&format!("{target}\nserver.container = 'web'")), Some(container));
    assert_eq!(of("plane = 'simulated'"), None);

    let first = |text: &str| network(text).plan.classes[0].first_address.to_string();
    assert_eq!(first(target), "198.18.0.1");
    assert_eq!(first("target = 'http://[::1]:8080/'"), "2001:2::1");
    assert_eq!(first("target = 'http://[::1]:8080/'\nserver.command = 'nginx'"), "198.18.0.1");
    assert_eq!(first("network.addresses = '10.99.0.0/16'"), "10.99.0.1");
    // Workers of a run with a network are its shards.
    let flags = Overlay::default().with("sockets.workers", "--workers", 2);
    let text = format!("{target}\nnetwork.clients = 10");
    let plan = from_text(&text, Some(Path::new("s.toml")), &flags).expect("a scenario");
    assert_eq!(plan.network().expect("a network").shards.get(), 2);
}

/// A network card leads to a server on another machine, of which nothing can be set from here.
#[test]
fn a_network_card_leads_to_another_machine() {
    use farfield_testbed::live::Location;
    let target = "target = 'http://10.1.2.3/'";
    let card = format!("{target}\nnetwork.interface = 'eth1'");
    let elsewhere = Location::Elsewhere { interface: "eth1".into() };
    assert_eq!(read(&card).expect("a scenario").location(), Some(elsewhere));
    for mac in ["own", "card", "02:00:00:00:00:07"] {
        let scenario = read(&format!("{card}\nnetwork.mac = '{mac}'")).expect(mac);
        let spec = scenario.network.expect("a network");
        assert_eq!(String::from(spec.mac), mac);
    }
    assert!(read(&format!("{card}\nnetwork.gateway = 'route'\nnetwork.next-hop = '10.1.2.254'")).is_ok());
    for (text, expected) in [
        (format!("{card}\nnetwork.mac = '01:00:00:00:00:07'"), "no Ethernet address of one host"),
        (format!("{card}\nserver.command = 'nginx'"), "server.command"),
        (format!("{card}\nserver.netns = 'web'"), "server.netns"),
        (format!("{card}\nserver.somaxconn = 7"), "server.somaxconn"),
        (format!("{card}\nserver.congestion = 'bbr'"), "on another machine"),
        (format!("{card}\nserver.cpu = 0.5"), "server.cpu"),
        (format!("{card}\ncapture = {{ kernel = true }}"), "capture at the server"),
        (format!("{card}\nnetwork.gateway = 'tun'"), "packet sockets"),
        (emulated("network.interface = 'eth1'"), "has a URL"),
        (format!("{target}\nnetwork.next-hop = '10.1.2.254'"), "network.interface"),
        (format!("{target}\nnetwork.mac = 'card'"), "network.interface"),
        (format!("{target}\nnetwork.gateway = 'route'"), "network.interface"),
    ] {
        let refused = read(&text).expect_err(&text);
        assert!(refused.contains(expected), "{text}: {refused}");
    }
}

const GRAPH: &str = "
[network]
tcp = 'bsd'
[[network.class]]
name = 'home'
hosts = ['one', 'two']
[[network.class]]
name = 'office'
hosts = ['desk']
[network.topology]
server = 'www'
hosts = ['www', 'one', 'two', 'desk']
routers = ['core']
links = [
    { from = 'www', to = 'core', link = { rate = '1Gbit', delay = '1ms' } },
    { from = 'core', to = 'one', link = { delay = '2ms' } },
    { from = 'core', to = 'two', link = { delay = '2ms' } },
    { from = 'core', to = 'desk', link = { delay = '5ms', jitter = '1ms' } },
]";

#[test]
fn a_graph_has_the_clients_that_its_classes_name() {
    let network = network(GRAPH);
    let names: Vec<&str> = network.plan.classes.iter().map(|class| class.name.as_str()).collect();
    assert_eq!(names, ["home", "office"]);
    assert_eq!(network.plan.clients.len(), 3);
    assert_eq!(network.plan.classes[0].up.len(), 1, "homes have links that are alike");
    assert_eq!(network.round_trips.largest, Duration::from_ms(12));
    assert_eq!(network.nodes[network.plan.routes[0].edge().id as usize], "core");
}

/// Every mistake is reported with the file, the line of its key, the key, and what would do.
#[expect(clippy::too_many_lines, reason = "a table of cases")]
#[test]
fn mistakes_are_reported_with_line_and_key() {
    let check = |text: &str, line: usize, parts: &[&str]| {
        let sentence = read(text).expect_err(text);
        assert!(sentence.contains(&format!("s.toml:{line}: ")), "line {line}: {sentence}");
        for part in parts {
            assert!(sentence.contains(part), "`{part}` is not in: {sentence}");
        }
    };
    let two =
        "plane = 'emulated'\n[[network.class]]\nname = 'a'\nrtt = '5ms'\n[[network.class]]\nname = 'b'\n";
    let more = |text: &str| format!("{two}{text}");
    check("plane = 'emulted'", 1, &["plane: ", "`emulated`"]);
    check("plane = 'emulated'\n[network]\nclinets = 5", 3, &["network.clinets: ", "`clients`"]);
    check(
        &more("rtt = '5ms'\naddresses = '198.19.0.0/30'"),
        8,
        &["class[1].addresses: ", "/30 has 2 addresses for the 5"],
    );
    check(
        &more("rtt = '5ms'\naddresses = '198.18.0.0/24'"),
        8,
        &["class[1].addresses: ", "overlaps 198.18.0.0/15"],
    );
    check(
        &more("rtt = '5ms'\naddresses = '192.0.2.0/24'"),
        8,
        &["addresses: ", "server's address 192.0.2.1"],
    );
    check(&more("rtt = '5ms'\naddresses = '10.0.0.1/8'"), 8, &["addresses: ", "write `10.0.0.0/8`"]);
    check(&more("rtt = '5ms'\nshare = 0"), 8, &["class[1].share: ", "not above 0"]);
    check(&more("up = { rate = '0bit' }"), 7, &["class[1].up.rate: ", "above 0"]);
    check(&more("rtt = '5ms'\n[network.class.up]\nmtu = 60"), 9, &["class[1].up.mtu: ", "from 68"]);
    check(
        &more("rtt = '5ms'\nup = { trace = 'missing.trace' }"),
        8,
        &["class[1].up.trace: ", "missing.trace"],
    );
    check(&more("rtt = '5ms'\nup = { trace = 'Cargo.toml' }"), 8, &["up.trace: ", "Cargo.toml: line 1"]);
    check(&more("rtt = '5ms'\nup = { reorder = true }"), 8, &["up.reorder: ", "needs `jitter`"]);
    check(&more("rtt = '5ms'\nup = { delay = '3ms' }"), 7, &["class[1].rtt: ", "`delay` of its own"]);
    check(&more("up = { delay = '3ms' }"), 5, &["class[1]: ", "write `rtt`, or both"]);
    check(&more("access = 'dls'"), 7, &["class[1].access: ", "`dsl`"]);
    check(&more("rtt = '5ms'\ntcp = 'lynux'"), 8, &["class[1].tcp: ", "`linux`"]);
    check(
        &more("rtt = '5ms'\naddresses = '2001:2::/48'\nup = { mtu = 576 }"),
        8,
        &["addresses: ", "at least 1280"],
    );
    check(&more("rtt = '5ms'\nhosts = ['x']"), 8, &["class[1].hosts: ", "topology"]);
    check(&two.replace("'b'", "'a'"), 6, &["class[1].name: ", "`a` already"]);
    check("plane = 'emulated'\n[network]\nclients = 1001\nshards = 4", 3, &["network.clients: ", "is 1000"]);
    check("plane = 'emulated'\n[network]\nclients = 5000000", 3, &["network.clients: ", "100.64.0.0/10 has"]);
    check(
        "plane = 'emulated'\n[network]\nrtt = '1ms'\n[network.backbone]\nhosts = 3",
        3,
        &["network.rtt: ", "backbone"],
    );
    check(
        "plane = 'emulated'\n[network.backbone]\nsubnets = 0\nhosts = 3",
        3,
        &["network.backbone: ", "`subnets`"],
    );
    check(
        "plane = 'emulated'\n[network]\nshards = 3\n[network.backbone]\nsubnets = 4\nhosts = 8",
        6,
        &["network.backbone.hosts: ", "32 clients", "over 3 shards"],
    );
    let graph = |from: &str, to: &str| format!("plane = 'emulated'{}", GRAPH.replace(from, to));
    check(&graph("to = 'desk'", "to = 'dask'"), 10, &["network.topology: ", "`dask`"]);
    check(&graph("from = 'core', to = 'desk'", "from = 'one', to = 'desk'"), 14, &["cannot reach host"]);
    check(&graph("hosts = ['desk']", "hosts = ['dask']"), 9, &["class[1].hosts: ", "no host `dask`"]);
    check(&graph("hosts = ['desk']", "hosts = ['one']"), 9, &["class[1].hosts: ", "home's already"]);
    check(&graph("server = 'www'", "server = 'web'"), 11, &["topology.server: ", "no host `web`"]);
    let overload = "plane = 'emulated'\n[network]\nrtt = '300ms'\nclients = 99\nshards = 3\n[load]\nmodel = 'overload'\n";
    check(
        &format!("{overload}descriptors = 9\ntimeout = '300ms'"),
        9,
        &["load.timeout: ", "largest round trip, 300ms"],
    );
    check(&format!("{overload}timeout = '301ms'\ndescriptors = 10"), 9, &["load.descriptors: ", "is 9"]);
    check(
        "plane = 'emulated'\n[connections]\nabandon-after = '50ms'",
        3,
        &["connections.abandon-after: ", "50ms"],
    );
    check("plane = 'emulated'\n[capture]\nclients = [10]", 3, &["capture.clients: ", "0 to 9"]);
    check("[capture]\ngateway = true\nclients = [1]", 3, &["capture.clients: ", "gateway = true"]);
    check("[capture]\nkernel = true", 2, &["capture.kernel: ", "gateway = true"]);
    check("[capture.filter]\nport = 80", 1, &["capture.filter: ", "the sockets plane has one capture"]);
    check("plane = 'simulated'\n[capture]\nkernel = true", 3, &["capture.kernel: ", "model"]);
    check("plane = 'simulated'\n[capture]\nclients = [1]", 3, &["capture.clients: ", "gateway = true"]);
    check("plane = 'emulated'\n[server]\nsoma-xconn = 3", 3, &["server.soma-xconn: ", "`somaxconn`"]);
    check("plane = 'emulated'\n[server]\nready = 'udp:80'", 3, &["server.ready: ", "tcp:80"]);
    let twice = "plane = 'emulated'\nserver.command = 'nginx'\nserver.netns = 'web'";
    check(twice, 3, &["server.netns: ", "remove this or `server.command`"]);
    check("plane = 'emulated'\nserver.container = '-x'", 2, &["server.container: ", "is no name"]);
    check("plane = 'emulated'\nserver.netns = ''", 2, &["server.netns: ", "is no name"]);
    let here = |key: &str| format!("plane = 'emulated'\ntarget = 'http://127.0.0.1/'\n{key}");
    check(&here("server.sack = false"), 3, &["server.sack: ", "this machine's own network namespace"]);
    check(&here("server.memory = '64MiB'"), 3, &["server.memory: ", "the server runs already"]);
    check(
        &here("network.addresses = '127.0.0.0/16'"),
        3,
        &["network.addresses: ", "server's address 127.0.0.1"],
    );
    check(
        &here("network.addresses = '10.0.0.0/30'"),
        3,
        &["network.addresses: ", "has 2 addresses for the 10"],
    );
    check("plane = 'simulated'\ntarget = 'http://127.0.0.1/'", 2, &["target: ", "model"]);
    check("plane = 'simulated'\n[simulated]\nreply-size = '3s'", 3, &["simulated.reply-size: ", "1KiB"]);
    check("plane = 'simulated'\n[simulated]\nworkers = 0", 3, &["simulated.workers: ", "from 1"]);
    check("plane = 'emulated'\nthresholds = ['p99{dsl}<1s']", 2, &["thresholds: ", "`clients`"]);
}

/// Packets that the kernel captures are cut by default, those of emulated clients are not.
#[test]
fn captures_by_the_kernel_have_defaults_of_their_own() {
    let plan = plan("[capture]\ngateway = true").expect("the sockets plane captures");
    let capture = plan.scenario.capture.and_then(|spec| spec.of_sockets(false)).expect("a capture");
    assert_eq!((capture.snap.get(), capture.buffer.0), (2048, 32 << 20));
    let network = network("[capture]\nkernel = true\nsnap = 100\nbuffer = '1MiB'");
    let kernel = network.kernel_capture.expect("a capture");
    assert_eq!((kernel.snap.get(), kernel.buffer.0), (100, 1 << 20));
    assert!(network.capture.is_none(), "the emulated network's own capture was not asked for");
}

#[test]
fn flags_are_keys() {
    let flags = Overlay::default()
        .with("network.clients", "--clients", 8)
        .with("network.rtt", "--rtt", "70ms")
        .with("network.shards", "--shards", 2)
        .with("server.command", "--server", "nginx")
        .with("capture.gateway", "--capture", true)
        .with("sockets.processors", "--processors", vec![1]);
    let scenario = from_text("", None, &flags).expect("a scenario").scenario;
    let written = "plane = 'emulated'\nserver.command = 'nginx'\ncapture.gateway = true
        network = { clients = 8, rtt = '70ms', shards = 2, processors = [1] }";
    assert_eq!(scenario, from_text(written, None, &Overlay::default()).expect("a scenario").scenario);
    let wrong = flags.with("network.clients", "--clients", 9);
    let problem = from_text("", None, &wrong).expect_err("nine over two").to_string();
    assert!(problem.contains("--clients") && problem.contains("is 10"), "{problem}");
}
