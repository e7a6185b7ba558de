//! `farfield route` between two network namespaces that play machines of somebody else's: a client in the
//! one, a server in the other, and nothing between them but the emulated network.
//!
//! Root is needed, nginx, curl and iproute2; a test that lacks one skips by name.

use crate::common::machine::ByHand;
use crate::common::wan::{find, may_build};
use crate::common::{Ended, Place, Running, Signal, poll};
use farfield_os::namespace::Namespace;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};
use std::process::Command;

/// Machines that are busy are late, which is not what is tested.
const CALM: &str = "--set verdict.departure-lateness-p99=1m";

/// A machine of somebody else's.
struct Host {
    namespace: Namespace,
}

impl Host {
    /// A machine that has these addresses.
    fn with(addresses: &[&str]) -> Host {
        let host = Host { namespace: Namespace::make().expect("root makes namespaces") };
        host.ip("link set lo up");
        for address in addresses {
            let nodad = if address.contains(':') { "nodad" } else { "" };
            host.ip(&format!("address add {address} dev lo {nodad}"));
        }
        host
    }

    /// The file of its namespace, for as long as this lives.
    fn file(&self) -> String {
        file_of(&self.namespace)
    }

    /// Output of `ip` there with these words.
    fn ip(&self, words: &str) -> String {
        let ended = self.run("ip", words);
        assert_eq!(ended.code, Some(0), "ip {words}: {}", ended.stderr);
        ended.stdout
    }

    /// Runs a program there, to its end.
    fn run(&self, program: &str, words: &str) -> Ended {
        let output = self.namespace.inside(|| Command::new(program).args(words.split_whitespace()).output());
        let output = output.expect("root enters namespaces").expect("the program is there");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Ended {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            directory: std::path::PathBuf::new(),
        }
    }

    /// Its interfaces, addresses, routes and rules.
    fn state(&self) -> String {
        let tables = ["-d link", "address", "route show table all", "-6 route show table all", "rule"];
        tables.map(|words| self.ip(words)).concat()
    }

    /// As [`curl`](Self::curl), at best of five times: a busy machine makes some of them slower.
    fn curl_at_best(&self, words: &str) -> (f64, String) {
        let all = (0..5).map(|_| self.curl(words));
        all.min_by(|a, b| a.0.total_cmp(&b.0)).expect("five")
    }

    /// Milliseconds that curl takes there for a URL, and the bytes that it gets.
    fn curl(&self, words: &str) -> (f64, String) {
        let format = "-s -S -g -o /dev/null -w %{time_total}_%{size_download} -m 60";
        let ended = self.run("curl", &format!("{format} {words}"));
        let (seconds, bytes) = ended.stdout.split_once('_').unwrap_or_else(|| panic!("{ended:?}"));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        (seconds.parse::<f64>().expect("seconds") * 1e3, bytes.to_owned())
    }
}

/// nginx in a namespace that plays another machine, once it listens at `ready`.
pub fn served_in(namespace: &Namespace, place: &Place, listen: &[&str], ready: &str) -> ByHand {
    let nginx = find("", "nginx").expect("it was there before");
    let mut command = Command::new("nsenter");
    command.arg(format!("--net={}", file_of(namespace))).arg(nginx);
    ByHand::start_by(command, place, listen, |process| {
        let connects = || TcpStream::connect(ready).is_ok();
        poll("nginx to listen", || match namespace.inside(connects).expect("root enters namespaces") {
            true => Some(()),
            false => process.ended().map(|status| panic!("nginx has ended: {status}")),
        });
    })
}

/// The file of a namespace, for as long as it is held here.
pub fn file_of(namespace: &Namespace) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), namespace.as_fd().as_raw_fd())
}

fn may_run(test: &str) -> bool {
    may_build(test) && ["nginx", "curl", "ip"].iter().all(|program| find(test, program).is_some())
}

/// Begins a route, and waits until it stands.
fn route(place: &Place, words: &str) -> Running {
    let running = place.begin(&format!("route {words} {CALM}"));
    poll("the route", || {
        assert!(!running.is_gone(), "it has ended: {}", running.said());
        running.said().contains("farfield: routing\n").then_some(())
    });
    running
}

/// Clients at addresses of their own take the paths of their classes, in both families, to the targets and
/// nowhere else; both machines are afterwards as before.
#[test]
fn clients_reach_the_targets_by_paths_of_their_own() {
    if !may_run("clients_reach_the_targets_by_paths_of_their_own") {
        return;
    }
    let place = Place::new();
    let clients = Host::with(&["10.0.1.1/32", "10.0.1.2/32", "fd00:1::1/128"]);
    let server = Host::with(&["10.0.2.1/32", "10.0.2.9/32", "fd00:2::1/128"]);
    let nginx = served_in(&server.namespace, &place, &["*:8080", "[::]:8080"], "10.0.2.1:8080");
    place.write(
        "two.toml",
        "plane = 'emulated'\n[[network.class]]\nname = 'near'\nrtt = '20ms'
        [[network.class]]\nname = 'far'\nrtt = '120ms'\n",
    );
    let before = [clients.state(), server.state()];
    let running = route(
        &place,
        &format!(
            "10.0.2.1 http://[fd00:2::1]:8080/ --clients-netns {} --server-netns {} --scenario {} --counts \
             --client 10.0.1.0/24=near --client 10.0.1.2=far --client fd00:1::1=far",
            clients.file(),
            server.file(),
            place.path("two.toml").display()
        ),
    );
    // A handshake and a request are two round trips.
    let (near, bytes) = clients.curl_at_best("--interface 10.0.1.1 http://10.0.2.1:8080/1k");
    assert!((40.0..130.0).contains(&near) && bytes == "1024", "{near} ms, {bytes} B");
    let (far, bytes) = clients.curl("--interface 10.0.1.2 http://10.0.2.1:8080/64k");
    assert!((240.0..2_000.0).contains(&far) && bytes == "65536", "{far} ms, {bytes} B");
    let (far, _) = clients.curl("--interface fd00:1::1 http://[fd00:2::1]:8080/1k");
    assert!((240.0..2_000.0).contains(&far), "{far} ms");
    let mut askers = nginx.askers();
    askers.dedup();
    assert_eq!(askers, ["10.0.1.1", "10.0.1.2", "fd00:1::1"]);
    // Somebody adds a way to an address that was not named.
    clients.ip("route add 10.0.2.9/32 dev farfield0");
    let refused = clients.run("curl", "-s -m 1 http://10.0.2.9:8080/1k");
    assert_eq!((refused.code, nginx.askers().len()), (Some(28), 7), "{refused:?}");
    poll("counts", || running.said().contains(" packets up, ").then_some(()));
    running.signal(Signal::INT);
    let ended = running.ended().exits(0);
    for said in [
        "adds farfield0 (TUN) in the network namespace of the clients",
        "a route to 10.0.2.1/32, fd00:2::1/128 by it",
    ] {
        assert!(ended.stderr.contains(said), "{ended:?}");
    }
    assert!(ended.stderr.contains("addresses that were not named, not passed on"), "{ended:?}");
    assert!(ended.stderr.contains("on time: packets were late by"), "{ended:?}");
    assert!([clients.state(), server.state()] == before, "something is left");
}

/// One client has a short path to one server, and a long one to another.
#[test]
fn a_pair_has_a_path_of_its_own() {
    if !may_run("a_pair_has_a_path_of_its_own") {
        return;
    }
    let place = Place::new();
    let (clients, server) = (Host::with(&["10.0.1.1/32"]), Host::with(&["10.0.2.1/32", "10.0.2.3/32"]));
    let _nginx = served_in(&server.namespace, &place, &["*:8080"], "10.0.2.1:8080");
    place.write(
        "two.toml",
        "plane = 'emulated'\n[[network.class]]\nname = 'near'\nrtt = '20ms'
        [[network.class]]\nname = 'far'\nrtt = '120ms'\n",
    );
    let running = route(
        &place,
        &format!(
            "10.0.2.1 10.0.2.3 --clients-netns {} --server-netns {} --scenario {} \
             --client 10.0.1.0/24=near --client 10.0.1.0/24,10.0.2.3=far",
            clients.file(),
            server.file(),
            place.path("two.toml").display()
        ),
    );
    let (near, _) = clients.curl_at_best("http://10.0.2.1:8080/1k");
    let (far, _) = clients.curl("http://10.0.2.3:8080/1k");
    assert!((40.0..200.0).contains(&near) && (240.0..2_000.0).contains(&far), "{near} and {far} ms");
    running.signal(Signal::INT);
    running.ended().exits(0);
}

/// A server at a loopback address has another for clients; a route ends by itself after its time, and one
/// that is killed leaves nothing.
#[test]
fn routes_end_and_leave_nothing() {
    if !may_run("routes_end_and_leave_nothing") {
        return;
    }
    let place = Place::new();
    let (clients, server) = (Host::with(&["10.0.1.1/32"]), Host::with(&[]));
    let _nginx = served_in(&server.namespace, &place, &["127.0.0.1:8080"], "127.0.0.1:8080");
    let before = [clients.state(), server.state()];
    let (from, to) = (clients.file(), server.file());
    let words = format!("127.0.0.1 --clients-netns {from} --server-netns {to} --rtt 20ms");
    let running = route(&place, &words);
    assert!(running.said().contains("clients reach the targets at 192.0.2.1\n"), "{}", running.said());
    let (ms, bytes) = clients.curl("http://192.0.2.1:8080/1k");
    assert!(ms >= 40.0 && bytes == "1024", "{ms} ms, {bytes} B");
    running.signal(Signal::KILL);
    assert_eq!(running.ended().code, None);
    assert!([clients.state(), server.state()] == before, "the killed one has left something");

    let ended = place.farfield(&format!("route {words} -d 100ms {CALM}")).exits(0);
    // The server's kernel may still look for the client of the route that was killed.
    assert!(ended.stderr.contains(" packets up and "), "{ended:?}");
    let quiet = place.farfield(&format!("route {words} -d 100ms -q --gateway packet")).exits(0);
    assert_eq!(quiet.stderr, "");
    assert!([clients.state(), server.state()] == before, "something is left");

    // An interface that somebody removes.
    let running = route(&place, &words);
    clients.ip("link delete farfield0");
    let ended = running.ended().exits(1);
    assert!(ended.stderr.contains("an interface at one of its ends is gone"), "{ended:?}");
    assert!([clients.state(), server.state()] == before, "something is left");
}

/// Between two Ethernet cards: the machines at their other ends are on one network as they see it, and each
/// finds the other by ARP and neighbour discovery. Machines that were not named find nobody.
#[test]
fn machines_on_two_links_are_neighbours() {
    if !may_run("machines_on_two_links_are_neighbours") {
        return;
    }
    let (router, place) = (Host::with(&[]), Place::new());
    router.namespace.enter().expect("root enters namespaces");
    let [clients, server] = [(); 2].map(|()| Host::with(&[]));
    for (card, host, addresses) in [
        ("eth1", &clients, ["10.0.9.1/24", "10.0.9.2/24", "fd00:9::1/64"]),
        ("eth2", &server, ["10.0.9.101/24", "10.0.9.102/24", "fd00:9::101/64"]),
    ] {
        router.ip(&format!("link add {card} type veth peer name eth0 netns {}", host.file()));
        // Without addresses that a kernel adds while the test looks.
        router.ip(&format!("link set {card} addrgenmode none up"));
        host.ip("link set eth0 addrgenmode none up");
        for address in addresses {
            let nodad = if address.contains(':') { "nodad" } else { "" };
            host.ip(&format!("address add {address} dev eth0 {nodad}"));
        }
    }
    let nginx = served_in(&server.namespace, &place, &["*:8080", "[::]:8080"], "10.0.9.101:8080");
    let before = [router.state(), server.state()];
    let to = "10.0.9.101 fd00:9::101 --between eth1,eth2 --rtt 20ms";
    let running = route(&place, &format!("{to} --client 10.0.9.1 --client fd00:9::/120"));
    assert!(
        running.said().contains(
            "answers for 10.0.9.101/32, fd00:9::101/128 on the link of eth1, where the clients are"
        )
    );
    for url in ["http://10.0.9.101:8080/64k", "http://[fd00:9::101]:8080/64k"] {
        let (ms, bytes) = clients.curl(url);
        assert!(ms >= 40.0 && bytes == "65536", "{ms} ms, {bytes} B");
    }
    assert_eq!(nginx.askers(), ["10.0.9.1", "fd00:9::1"]);
    for stranger in
        ["--interface 10.0.9.1 http://10.0.9.102:8080/1k", "--interface 10.0.9.2 http://10.0.9.101:8080/1k"]
    {
        let refused = clients.run("curl", &format!("-s -m 1 {stranger}"));
        assert_eq!(refused.code, Some(28), "{refused:?}");
    }
    assert_eq!(nginx.askers().len(), 2);
    running.signal(Signal::TERM);
    running.ended().exits(0);
    assert!([router.state(), server.state()] == before, "something is left");

    let tried = |words: &str| place.farfield(&format!("route -q {words}"));
    tried(to).exits(2).says(&["who the clients on the link of eth1 are is not known", "--client"]);
    tried("10.0.9.101 --between eth1,eth1 --client 10.0.9.1").exits(2).says(&["on one link (eth1)"]);
    tried("10.0.9.101 --between eth1,eth3 --client 10.0.9.1").exits(1).says(&["no interface eth3"]);
    tried("10.0.9.109 --between eth1,eth2 --client 10.0.9.1")
        .exits(1)
        .says(&["nobody on the link of eth2 answers for 10.0.9.109"]);
    // The target is also on the clients' own link.
    clients.ip("address add 10.0.9.101/32 dev eth0");
    tried("10.0.9.101 --between eth1,eth2 --client 10.0.9.1")
        .exits(1)
        .says(&["on the link of eth1 has the address 10.0.9.101", "keep the links of a route apart"]);
}

#[test]
fn what_cannot_be_routed_is_said() {
    if !may_run("what_cannot_be_routed_is_said") {
        return;
    }
    let place = Place::new();
    let clients = Host::with(&["10.0.1.1/32"]);
    let (server, nobody) = (Host::with(&["10.0.2.1/32"]), Host::with(&[]));
    let before = [clients.state(), server.state()];
    let (from, to) = (clients.file(), server.file());
    let tried = |words: &str| place.farfield(&format!("route {words} --rtt 20ms"));
    let between = |words: &str| tried(&format!("{words} --clients-netns {from} --server-netns {to}"));
    tried(&format!("10.0.2.1 --clients-netns {to} --server-netns {to}"))
        .exits(2)
        .says(&["in one network namespace"]);
    between("10.0.2.7").exits(2).says(&["10.0.2.7 is no address", "name one that it has (10.0.2.1)"]);
    between("10.0.2.1 --client 10.0.1.1=lan").exits(2).says(&["no class `lan`", "clients"]);
    between("10.0.2.1 --client 10.0.1.1,10.0.3.0/24")
        .exits(2)
        .says(&["--client", "no TARGET is in 10.0.3.0/24"]);
    between("10.0.2.1 --client 172.16.0.0/12").exits(2).says(&["--client", "smaller blocks"]);
    between("10.0.2.1 --client 10.0.2.0/24").exits(2).says(&["10.0.2.1 is a target and a client"]);
    between("10.0.2.1 --client 10.0.2.0/31").exits(2).says(&["10.0.2.1 is a target and a client"]);
    tried(&format!("10.0.2.1 --clients-netns {} --server-netns {to}", nobody.file()))
        .exits(1)
        .says(&["has no address of the target's family", "ip address add"]);
    tried(&format!("10.0.2.1 --clients-netns no-such-place --server-netns {to}"))
        .exits(1)
        .says(&["`no-such-place` cannot be entered", "ip netns list"]);
    tried(&format!("10.0.2.1 --clients-netns {} --server-netns {to}", u32::MAX >> 1))
        .exits(1)
        .says(&["process 2147483647 cannot be entered"]);
    clients.ip("route add 10.0.2.1/32 dev lo");
    between("10.0.2.1").exits(1).says(&["10.0.2.1/32 would be routed to farfield", "the interface lo"]);
    clients.ip("route delete 10.0.2.1/32 dev lo");
    let named = tried("web --clients-netns a --server-netns b").exits(2);
    assert!(named.stderr.contains("write the address that the server has"), "{named:?}");
    let one = tried("10.0.2.1 --clients-netns a").exits(2);
    assert!(one.stderr.contains("--server-netns"), "{one:?}");
    assert!([clients.state(), server.state()] == before, "something is left");
}
