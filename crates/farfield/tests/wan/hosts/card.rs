//! `farfield run --interface`: emulated clients on a network card, and a server on another machine beyond it.
//! Two namespaces play the machines, and a veth pair the wire between their cards.
//!
//! Root is needed, nginx and iproute2; a test that lacks one skips by name.

use super::routed::{file_of, served_in};
use crate::common::machine::ByHand;
use crate::common::wan::{CALM_PACKETS, find, may_build};
use crate::common::{Ended, Place, Running, Signal, poll};
use farfield_os::namespace::Namespace;
use farfield_os::{card_filter, packet_socket};
use farfield_wire::{ArpOperation, ArpRepr, EthernetAddress};
use rustix::fd::OwnedFd;
use std::net::UdpSocket;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The machines' cards.
const HERE: &str = "eth1";
const THERE: &str = "eth7";
const SERVER: &str = "10.1.2.3";
const NOBODY: u32 = 65_534;

/// Both machines; the calling thread is on the one that farfield runs on.
struct Wire {
    there: Namespace,
    /// Held, so that it lasts.
    _here: Namespace,
}

impl Wire {
    fn new() -> Wire {
        let [there, here] = [(); 2].map(|()| Namespace::make().expect("root makes namespaces"));
        here.enter().expect("root enters them");
        let wire = Wire { there, _here: here };
        wire.ip(&format!("link add {HERE} type veth peer name {THERE} netns {}", file_of(&wire.there)));
        for line in [
            format!("link set {HERE} addrgenmode none"),
            format!("link set {HERE} up"),
            format!("address add 10.1.2.9/24 dev {HERE}"),
        ] {
            wire.ip(&line);
        }
        for line in [
            "link set lo up".to_owned(),
            format!("link set {THERE} up"),
            format!("address add {SERVER}/24 dev {THERE}"),
            format!("address add fd00:1::3/64 dev {THERE} nodad"),
            "address add 10.5.0.1/32 dev lo".to_owned(),
        ] {
            wire.ip_there(&line);
        }
        wire
    }

    fn ip(&self, words: &str) -> String {
        said(&mut Command::new("ip"), words)
    }

    fn ip_there(&self, words: &str) -> String {
        self.there.inside(|| said(&mut Command::new("ip"), words)).expect("root enters namespaces")
    }

    /// A socket on the other machine's card that sends any frame.
    fn raw(&self) -> OwnedFd {
        let link = self.ip_there(&format!("-o link show {THERE}"));
        let number = link.split(':').next().and_then(|number| number.parse().ok()).expect("a number");
        let socket = || packet_socket::open_on_card(number, 1 << 16, &mut card_filter::neighbours(), false);
        self.there.inside(socket).expect("root enters namespaces").expect("root opens packet sockets")
    }

    /// nginx on the other machine.
    fn serve(&self, place: &Place) -> ByHand {
        let listen = [&format!("{SERVER}:8080")[..], "10.5.0.1:8080", "[fd00:1::3]:8080"];
        served_in(&self.there, place, &listen, &format!("{SERVER}:8080"))
    }

    /// Interfaces, addresses and routes of this machine; how promiscuous its card is among them.
    fn state(&self) -> String {
        let tables = ["-d link", "address", "route show table all", "-6 route show table all"];
        tables.map(|words| self.ip(words)).concat()
    }
}

fn said(command: &mut Command, words: &str) -> String {
    let output = command.args(words.split_whitespace()).output().expect("iproute2 is there");
    assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn may_run(test: &str) -> bool {
    may_build(test) && ["nginx", "ip"].iter().all(|program| find(test, program).is_some())
}

fn begin(place: &Place, words: &str) -> Running {
    place.begin_run(&format!("http://{SERVER}:8080/64k --interface {HERE} --rtt 20ms {CALM_PACKETS} {words}"))
}

fn run(place: &Place, words: &str) -> Ended {
    begin(place, words).ended()
}

/// Clients from a part of the link's own network, and from a block of their own that the other machine has a
/// way to, in both families: each request comes from its client's address, and large replies come whole.
#[test]
fn clients_live_on_a_card() {
    if !may_run("clients_live_on_a_card") {
        return;
    }
    let (wire, place) = (Wire::new(), Place::new());
    let server = wire.serve(&place);
    let before = wire.state();
    let on_link = "--set network.addresses=10.1.2.128/25 -c 4 -n 40";
    let ended = run(&place, on_link).exits(0);
    assert_eq!(ended.samples().iter().filter(|sample| sample.body_bytes == 64 << 10).count(), 40);
    let askers = server.askers();
    assert_eq!(askers.len(), 40);
    assert!(["10.1.2.129", "10.1.2.132"].iter().all(|client| askers.iter().any(|asker| asker == client)));
    // Twenty milliseconds for the handshake, and as many for the request at least.
    assert!(
        ended
            .samples()
            .iter()
            .all(|sample| sample.service_time().is_some_and(|time| time.as_secs_f64() >= 0.02))
    );
    wire.ip_there(&format!("route add 198.18.0.0/15 dev {THERE}"));
    run(&place, "-c 4 -n 8").exits(0);
    // By the card's own address: others route to it.
    wire.ip_there("route delete 198.18.0.0/15");
    wire.ip_there("route add 198.18.0.0/15 via 10.1.2.9");
    run(&place, "-c 4 -n 8 --gateway route").exits(0);
    wire.ip_there(&format!("route add 2001:2::/48 dev {THERE}"));
    // Behind a router, which the other machine plays for an address of its own.
    let words = format!(
        "http://10.5.0.1:8080/64k --interface {HERE} --rtt 20ms --set network.next-hop={SERVER} \
         --set network.addresses=10.1.2.128/25 {CALM_PACKETS} -c 4 -n 8"
    );
    place.run(&words).exits(0);
    let words =
        format!("http://[fd00:1::3]:8080/64k --interface {HERE} --rtt 20ms {CALM_PACKETS} -c 4 -n 8 -t 2");
    place.run(&words).exits(0);
    let askers = server.askers();
    assert!(
        askers.iter().any(|asker| asker == "198.18.0.4")
            && askers.iter().any(|asker| asker.starts_with("2001:2::"))
    );
    // A program in a client's place, whose requests come from its address.
    if find("clients_live_on_a_card", "curl").is_some() {
        let line = format!(
            "shell -q http://{SERVER}:8080/ --interface {HERE} --rtt 20ms --set network.addresses=10.1.2.64/27"
        );
        let words = format!("{line} -- curl -s -o /dev/null -w %{{size_download}} http://server:8080/64k");
        assert_eq!(place.farfield(&words).exits(0).stdout, "65536");
        assert_eq!(server.askers().last().map(String::as_str), Some("10.1.2.65"));
    }
    let running = begin(&place, "--set network.addresses=10.1.2.128/25 -c 4 -d 60s");
    running.await_checkpoint();
    running.signal(Signal::KILL);
    assert_eq!(running.ended().code, None);
    assert!(wire.state() == before, "something is left");
}

#[test]
fn what_a_card_cannot_do_is_said() {
    if !may_run("what_a_card_cannot_do_is_said") {
        return;
    }
    let (wire, place) = (Wire::new(), Place::new());
    let server = wire.serve(&place);
    let with = |words: &str| run(&place, &format!("-c 4 -n 4 {words}"));
    let on_link = "--set network.addresses=10.1.2.128/25";
    with("--set network.interface=eth5").exits(1).says(&["no interface eth5", "ip link"]);
    with("--set network.interface=lo").exits(1).says(&["lo is no Ethernet interface"]);
    with("--gateway tun").exits(2).says(&["--gateway", "packet sockets"]);
    with("--server true").exits(2).says(&["--server", "on another machine"]);
    with("--set network.addresses=10.1.2.0/25").exits(2).says(&["10.1.2.3", "another block"]);
    // The other machine knows no way to the clients.
    with("").exits(1).says(&["does not answer 198.18.0.1", "ip route add 198.18.0.0/15 dev eth0"]);
    // This machine's own address, and another machine's.
    with("--set network.addresses=10.1.2.8/29")
        .exits(1)
        .says(&["10.1.2.9 is this machine's own address, on eth1"]);
    wire.ip_there(&format!("address add 10.1.2.130/32 dev {THERE}"));
    with(on_link).exits(1).says(&["on the link of eth1 has the address 10.1.2.130", "network.addresses"]);
    wire.ip_there(&format!("address delete 10.1.2.130/32 dev {THERE}"));
    let url = |host: &str| {
        place.run(&format!(
            "http://{host}:8080/64k --interface {HERE} --rtt 20ms {on_link} {CALM_PACKETS} -c 4 -n 4"
        ))
    };
    url("10.1.2.77").exits(1).says(&["nobody on the link of eth1 answers for 10.1.2.77", "network.next-hop"]);
    url("10.1.2.9").exits(1).says(&["10.1.2.9 is an address of this machine"]);
    place
        .run(&format!("http://{SERVER}:8081/ --interface {HERE} --rtt 20ms {on_link} -c 4 -n 4"))
        .exits(1)
        .says(&["10.1.2.3:8081 refuses connections"]);
    std::os::unix::fs::chown(place.path(""), Some(NOBODY), Some(NOBODY)).expect("own folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_farfield"));
    let words = format!("run http://{SERVER}:8080/ --interface {HERE} --rtt 20ms {on_link} -c 4 -n 4 -q");
    command.args(words.split_whitespace()).current_dir(place.path("")).uid(NOBODY).gid(NOBODY);
    let output =
        command.env_remove("XDG_RUNTIME_DIR").env("HOME", place.path("")).output().expect("a program");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && said.contains("may open no packet socket on eth1"), "{said}");
    // The setting of this thread's namespace.
    std::fs::write(format!("/proc/sys/net/ipv4/conf/{HERE}/forwarding"), "1").expect("own namespace");
    with(&format!("{on_link} --set network.mac=card"))
        .exits(1)
        .says(&["net.ipv4.conf.eth1.forwarding is set"]);
    wire.ip(&format!("link set {HERE} down"));
    with(on_link).exits(1).says(&["eth1 is down", "ip link set eth1 up"]);
    assert!(server.askers().is_empty(), "nobody has asked for anything");
}

/// A card that is taken away, and an address that somebody else takes, end the run, which says so.
#[test]
fn a_card_that_changes_ends_the_run() {
    if !may_run("a_card_that_changes_ends_the_run") {
        return;
    }
    let (wire, place) = (Wire::new(), Place::new());
    let _server = wire.serve(&place);
    let words = "--set network.addresses=10.1.2.128/25 -c 4 -d 60s";
    let running = begin(&place, words);
    running.await_checkpoint();
    wire.ip_there(&format!("address add 10.1.2.131/32 dev {THERE}"));
    // It asks for another machine with it.
    let asked = wire.there.inside(|| UdpSocket::bind(("10.1.2.131", 0))?.send_to(b"?", ("10.1.2.250", 9)));
    asked.expect("root enters namespaces").expect("its own address");
    let ended = running.ended().exits(3);
    let reason = ended.summary().incomplete_reason.unwrap_or_default();
    assert!(reason.contains("has the address 10.1.2.131"), "{reason}");
    wire.ip_there(&format!("address delete 10.1.2.131/32 dev {THERE}"));

    let running = begin(&place, words);
    running.await_checkpoint();
    wire.ip(&format!("link delete {HERE}"));
    let ended = running.ended().exits(3);
    let reason = ended.summary().incomplete_reason.unwrap_or_default();
    assert!(reason.contains("eth1 is gone or down"), "{reason}");
}

const CLIENTS: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 0x55]);
const STRANGER: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 0x66]);

/// A stranger's frame of ARP: it claims that `address` is its own.
fn claim(receiver: EthernetAddress, operation: ArpOperation, address: &str, target: &str) -> Vec<u8> {
    let [sender_ip, target_ip] = [address, target].map(|text| text.parse().expect("an address"));
    let arp = ArpRepr { operation, sender: STRANGER, sender_ip, target: receiver, target_ip };
    frame(receiver, [8, 6], &arp.emit())
}

fn frame(receiver: EthernetAddress, ethertype: [u8; 2], payload: &[u8]) -> Vec<u8> {
    [&receiver.0[..], &STRANGER.0, &ethertype, payload].concat()
}

/// A segment of TCP in the server's name to port 9 of the client whose address ends so.
fn segment(client: u8, flags: u8) -> Vec<u8> {
    let mut ip = vec![0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 1, 2, 3, 10, 1, 2, client];
    let sum = ip.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum::<u32>();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let tcp = [31, 144, 0, 9, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, flags, 255, 255, 0, 0, 0, 0];
    [ip, tcp.to_vec()].concat()
}

/// Frames that lie, and frames that are none.
fn lies() -> Vec<Vec<u8>> {
    use ArpOperation::{Reply, Request};
    let all = EthernetAddress::BROADCAST;
    let mut lies = vec![
        // The server's address, in an answer and by gratuitous ones; addresses of nobody.
        claim(CLIENTS, Reply, SERVER, "10.1.2.129"),
        claim(all, Request, SERVER, SERVER),
        claim(all, Reply, SERVER, SERVER),
        claim(all, Request, "10.1.2.77", "10.1.2.77"),
        claim(CLIENTS, Reply, "0.0.0.0", "10.1.2.129"),
        claim(CLIENTS, Reply, "255.255.255.255", "10.1.2.129"),
    ];
    // Cut anywhere, and with each of its bytes of kinds and lengths wrong.
    let whole = claim(CLIENTS, Reply, SERVER, "10.1.2.129");
    lies.extend((14..whole.len()).map(|length| whole[..length].to_vec()));
    lies.extend((14..22).map(|at| {
        let mut wrong = whole.clone();
        wrong[at] ^= 0xff;
        wrong
    }));
    // Segments for clients, and for addresses in their block that are nobody's; cut, and with a wrong length.
    let segments = [129, 131, 200, 254]
        .into_iter()
        .flat_map(|client| [0x02, 0x04, 0x12, 0x10, 0xff].map(|flags| segment(client, flags)));
    for segment in segments {
        let mut long = segment.clone();
        long[2..4].copy_from_slice(&[255, 255]);
        let mut header = segment.clone();
        header[0] = 0x4f;
        lies.extend([long, header, segment[..21].to_vec(), segment].map(|ip| frame(CLIENTS, [8, 0], &ip)));
    }
    lies
}

/// Sends what a stranger may until the run has ended; how often, and the most memory of the run, in KiB.
fn lied_to(running: &Running, stranger: &OwnedFd) -> (u32, u64) {
    let lies = lies();
    let (mut turn, mut most_kib) = (0_u32, 0);
    poll("the run to end", || {
        // Full buffers lose some.
        for number in 0..200 {
            let from = format!("10.{}.{}.{number}", 2 + (turn >> 8) % 250, turn & 0xff);
            let question = claim(CLIENTS, ArpOperation::Request, &from, "10.1.2.130");
            let _ = rustix::io::write(stranger, &question);
        }
        for lie in &lies {
            let _ = rustix::io::write(stranger, lie);
        }
        turn += 1;
        most_kib = most_kib.max(running.memory_most_kib());
        running.is_gone().then_some(())
    });
    (turn, most_kib)
}

/// Somebody on the link who says to be the server, asks for clients from addresses without end, and sends
/// frames that are none: all requests go to the server and are answered, and it takes no memory.
#[test]
fn a_stranger_on_the_link_leads_no_packet_astray() {
    if !may_run("a_stranger_on_the_link_leads_no_packet_astray") {
        return;
    }
    let (wire, place) = (Wire::new(), Place::new());
    let server = wire.serve(&place);
    let (stranger, before) = (wire.raw(), wire.state());
    let words =
        format!("--set network.addresses=10.1.2.128/25 --set network.mac={CLIENTS} -c 4 --think 10ms");
    let running = begin(&place, &format!("{words} -d 3s --warm-up 0s"));
    running.await_checkpoint();
    let (turn, most_kib) = lied_to(&running, &stranger);
    let ended = running.ended().exits(0);
    let summary = ended.summary();
    assert_eq!(summary.failures, [], "{turn} turns");
    let askers = server.askers();
    assert!(askers.len() > 100 && turn > 20, "{} requests in {turn} turns", askers.len());
    let clients = ["10.1.2.129", "10.1.2.130", "10.1.2.131", "10.1.2.132"];
    assert!(askers.iter().all(|asker| clients.contains(&asker.as_str())));
    let requests = summary.warm_up.requests + summary.steady.requests + summary.drained_requests;
    assert_eq!(requests, askers.len() as u64, "as many as the server has seen");
    let drops = summary.network.expect("a network").drops;
    println!("{turn} turns: {drops:?}, {most_kib} KiB");
    assert!(drops.damaged > 100, "{drops:?}");
    assert!(most_kib < 256 << 10, "{most_kib} KiB");
    assert!(wire.state() == before, "something is left");

    // Where it has lied before anybody asked, there is no run, and both are named.
    let running = begin(&place, &words);
    lied_to(&running, &stranger);
    let ended = running.ended().exits(1);
    ended.says(&[
        "10.1.2.3:8080 does not answer",
        "both say to have the address 10.1.2.3",
        &STRANGER.to_string(),
    ]);

    // That a client's address is its own ends the run, which says so.
    let running = begin(&place, &format!("{words} -d 60s"));
    running.await_checkpoint();
    let gratuitous = claim(EthernetAddress::BROADCAST, ArpOperation::Request, "10.1.2.131", "10.1.2.131");
    rustix::io::write(&stranger, &gratuitous).expect("room for a frame");
    let reason = running.ended().exits(3).summary().incomplete_reason.unwrap_or_default();
    assert!(reason.contains("10.1.2.131") && reason.contains(&STRANGER.to_string()), "{reason}");
    assert!(wire.state() == before, "something is left");
}
