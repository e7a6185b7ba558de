//! Captures of real interfaces, against the traffic that the tests make and what tshark reads.

use farfield_base::Bytes;
use farfield_engine::observe::{CaptureError, CaptureSettings, PacketCapture};
use farfield_os::namespace::Namespace;
use farfield_os::netlink::{Netlink, VethEnd};
use farfield_testkit::skip;
use farfield_wire::pcapng::{Block, Direction, Reader, Statistics};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use tempfile::TempDir;

/// Begins a capture, or notes that the test is skipped.
fn begin(test: &str, settings: CaptureSettings) -> Option<PacketCapture> {
    match PacketCapture::begin(settings) {
        Err(error @ CaptureError::Permission) => {
            skip(test, &error.to_string());
            None
        }
        begun => Some(begun.unwrap_or_else(|error| panic!("{error}"))),
    }
}

/// A server that answers each connection's `length` bytes with as many, and then closes.
fn echo(server: TcpListener, connections: usize) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        for _ in 0..connections {
            let (mut stream, _) = server.accept().unwrap();
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).unwrap();
            stream.write_all(&bytes).unwrap();
        }
    })
}

/// Sends `length` bytes to the server and reads the echo; returns its own address.
fn exchange(server: SocketAddr, length: usize) -> SocketAddr {
    let mut stream = TcpStream::connect(server).unwrap();
    stream.write_all(&vec![7; length]).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes, vec![7; length]);
    stream.local_addr().unwrap()
}

/// A packet as it was captured.
#[derive(Debug)]
struct Seen {
    from: SocketAddr,
    to: SocketAddr,
    syn: bool,
    fin: bool,
    /// Of the whole packet, by its IP header.
    payload_len: usize,
    kept_len: usize,
    original_len: usize,
    direction: Direction,
    at_unix_ns: u64,
}

/// Payload length of a whole packet, from the lengths in its headers.
fn payload_len(bytes: &[u8], tcp_header_len: usize) -> usize {
    let field = |at: usize| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    match bytes[0] >> 4 {
        4 => field(2) - 4 * usize::from(bytes[0] & 15) - tcp_header_len,
        _ => field(4) - tcp_header_len,
    }
}

fn read(path: &Path) -> (Vec<Seen>, Statistics) {
    let mut reader = Reader::new(BufReader::new(File::open(path).unwrap()));
    let (mut packets, mut all) = (Vec::new(), None);
    while let Some(block) = reader.next_block().unwrap() {
        match block {
            Block::Packet { metadata, original_len, bytes } => {
                let at = if bytes[0] >> 4 == 4 { 4 * usize::from(bytes[0] & 15) } else { 40 };
                let port = |nth: usize| u16::from_be_bytes([bytes[at + 2 * nth], bytes[at + 2 * nth + 1]]);
                let address = |at: usize| match bytes[0] >> 4 {
                    4 => IpAddr::V4(<[u8; 4]>::try_from(&bytes[at..at + 4]).unwrap().into()),
                    _ => IpAddr::V6(<[u8; 16]>::try_from(&bytes[at..at + 16]).unwrap().into()),
                };
                let [source, destination] = if bytes[0] >> 4 == 4 { [12, 16] } else { [8, 24] };
                packets.push(Seen {
                    from: (address(source), port(0)).into(),
                    to: (address(destination), port(1)).into(),
                    fin: bytes[at + 13] & 1 != 0,
                    syn: bytes[at + 13] & 2 != 0,
                    payload_len: payload_len(&bytes, 4 * usize::from(bytes[at + 12] >> 4)),
                    kept_len: bytes.len(),
                    original_len: original_len as usize,
                    direction: metadata.direction,
                    at_unix_ns: metadata.at_unix_ns,
                });
            }
            Block::Statistics(_, statistics) => all = Some(statistics),
            _ => {}
        }
    }
    (packets, all.expect("statistics at the end"))
}

fn captures_connections(test: &str, address: IpAddr) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("capture.pcapng");
    let bind = |test: &str| match TcpListener::bind((address, 0)) {
        Err(error) => {
            skip(test, &format!("no {address}: {error}"));
            None
        }
        bound => bound.ok(),
    };
    let (Some(server), Some(other)) = (bind(test), bind(test)) else { return };
    let (target, elsewhere) = (server.local_addr().unwrap(), other.local_addr().unwrap());
    let settings = CaptureSettings::new(vec![target], path.clone());
    let Some(capture) = begin(test, settings) else { return };
    let (served, unwatched) = (echo(server, 20), echo(other, 1));
    let lengths = [0, 1, 1_000, 100_000];
    let clients: Vec<_> = (0..20).map(|nth| (exchange(target, lengths[nth % 4]), lengths[nth % 4])).collect();
    exchange(elsewhere, 10);
    let report = capture.finish();
    served.join().unwrap();
    unwatched.join().unwrap();
    assert!(report.is_whole(), "{report:?}");
    let (packets, statistics) = read(&path);
    assert_eq!(packets.len() as u64, report.packets);
    assert_eq!(statistics.received, Some(report.packets));
    assert_eq!(statistics.capture_drops, Some(0));
    assert_eq!(std::fs::metadata(&path).unwrap().len(), report.bytes);
    for seen in &packets {
        assert!(seen.from == target || seen.to == target, "{seen:?}");
        // The sender's copy of each packet, and not the receiver's.
        assert_eq!(seen.direction, Direction::Outbound);
        assert_eq!(seen.kept_len, seen.original_len.min(2048));
    }
    for (client, length) in clients {
        let sum = |from: SocketAddr, to: SocketAddr| {
            let way = packets.iter().filter(|seen| seen.from == from && seen.to == to);
            let (mut syns, mut fins, mut payload) = (0, 0, 0);
            for seen in way {
                syns += u32::from(seen.syn);
                fins += u32::from(seen.fin);
                payload += seen.payload_len;
            }
            (syns, fins, payload)
        };
        // Nothing is lost on loopback: each byte passes once, and so do SYN and FIN.
        assert_eq!(sum(client, target), (1, 1, length), "{client}");
        assert_eq!(sum(target, client), (1, 1, length), "{client}");
    }
    let span = packets.last().unwrap().at_unix_ns - packets[0].at_unix_ns;
    assert!(span > 0 && span < 3_600_000_000_000, "{span}");
}

#[test]
fn every_packet_of_a_server_is_captured_once() {
    captures_connections("every_packet_of_a_server_is_captured_once", Ipv4Addr::new(127, 3, 2, 1).into());
}

#[test]
fn every_packet_of_an_ipv6_server_is_captured_once() {
    captures_connections("every_packet_of_an_ipv6_server_is_captured_once", Ipv6Addr::LOCALHOST.into());
}

/// Two captures of the same packets: one with room for all, and one with room for a packet or two.
#[test]
fn packets_that_find_no_room_are_counted() {
    const TEST: &str = "packets_that_find_no_room_are_counted";
    let folder = TempDir::new().unwrap();
    let [whole, small] = ["whole", "small"].map(|name| folder.path().join(name));
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let target = server.local_addr().unwrap();
    let Some(of_all) = begin(TEST, CaptureSettings::new(vec![target], whole.clone())) else { return };
    let settings = CaptureSettings { buffer: Bytes(1), ..CaptureSettings::new(vec![target], small.clone()) };
    let Some(of_some) = begin(TEST, settings) else { return };
    let served = echo(server, 1);
    exchange(target, 10_000_000);
    served.join().unwrap();
    let (of_some, of_all) = (of_some.finish(), of_all.finish());
    assert!(of_all.is_whole() && of_all.packets > 100, "{of_all:?}");
    assert!(of_some.dropped > 0, "{of_some:?}");
    assert_eq!(of_some.packets + of_some.dropped, of_all.packets);
    let (packets, statistics) = read(&small);
    assert_eq!(packets.len() as u64, of_some.packets);
    assert_eq!(statistics.received, Some(of_all.packets));
    assert_eq!(statistics.capture_drops, Some(of_some.dropped));
    let warnings = of_some.warnings();
    let counts = format!("lacks {} of {} packets", of_some.dropped, of_all.packets);
    assert!(warnings.len() == 1 && warnings[0].contains(&counts), "{warnings:?}");
    assert_eq!(of_all.warnings(), [""; 0]);
}

/// Capabilities belong to threads: only this one gives its own up.
#[test]
fn without_permission_the_error_says_which() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("capture.pcapng");
    let refused = std::thread::spawn(move || {
        let mut own = capabilities(None).unwrap();
        own.effective.remove(CapabilitySet::NET_RAW);
        set_capabilities(None, own).unwrap();
        let servers = vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 80))];
        PacketCapture::begin(CaptureSettings::new(servers, path.clone())).map(|_| path.exists())
    });
    let refused = refused.join().unwrap().expect_err("no permission");
    assert!(matches!(refused, CaptureError::Permission), "{refused}");
    let sentence = refused.to_string();
    assert!(sentence.contains("CAP_NET_RAW") && sentence.contains("as root"), "{sentence}");
}

#[test]
fn what_cannot_be_captured_is_said() {
    const TEST: &str = "what_cannot_be_captured_is_said";
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("capture.pcapng");
    let server = SocketAddr::from((Ipv4Addr::LOCALHOST, 80));
    let good = CaptureSettings::new(vec![server], path);
    let Some(capture) = begin(TEST, good.clone()) else { return };
    // Nothing came: a file with an interface and its statistics.
    let report = capture.finish();
    assert!(report.is_whole() && report.packets == 0 && report.interface == "lo", "{report:?}");
    assert_eq!(read(&good.path).0.len(), 0);
    let says = |settings: CaptureSettings, words: &[&str]| {
        let sentence = PacketCapture::begin(settings).expect_err("it cannot be captured").to_string();
        assert!(words.iter().all(|word| sentence.contains(word)), "{sentence}");
    };
    says(CaptureSettings { interface: Some("nowhere7".into()), ..good.clone() }, &["nowhere7", "ip link"]);
    says(CaptureSettings { servers: Vec::new(), ..good.clone() }, &["0 were given"]);
    let many = (1..2_000).map(|port| (Ipv4Addr::LOCALHOST, port).into()).collect();
    says(CaptureSettings { servers: many, ..good.clone() }, &["1999 were given"]);
    says(CaptureSettings { path: folder.path().join("no/file"), ..good.clone() }, &["no/file"]);
    says(
        CaptureSettings { path: "/dev/full".into(), ..good },
        &["/dev/full", "no regular file, but a device"],
    );
}

/// The filter takes several servers and all addresses of a port, of both families, and no others.
#[test]
fn only_packets_of_the_servers_are_captured() {
    const TEST: &str = "only_packets_of_the_servers_are_captured";
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("capture.pcapng");
    let listen = |address: &str| TcpListener::bind((address, 0)).unwrap();
    let wanted = [listen("127.0.0.1"), listen("127.9.9.9"), listen("127.0.0.2")];
    // Those of the address of one and the port of another are not wanted.
    let Ok(crossed) = TcpListener::bind(("127.9.9.9", wanted[0].local_addr().unwrap().port())) else {
        return skip(TEST, "a port is taken");
    };
    let mut servers: Vec<_> = wanted.iter().map(|server| server.local_addr().unwrap()).collect();
    let targets = servers.clone();
    servers[2].set_ip(Ipv4Addr::UNSPECIFIED.into());
    let Some(capture) = begin(TEST, CaptureSettings::new(servers, path.clone())) else { return };
    let elsewhere = crossed.local_addr().unwrap();
    let served = wanted.into_iter().chain([crossed]).map(|server| echo(server, 1)).collect::<Vec<_>>();
    for target in &targets {
        exchange(*target, 100);
    }
    exchange(elsewhere, 100);
    served.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(capture.finish().is_whole());
    let (packets, _) = read(&path);
    let syns: Vec<_> = packets.iter().filter(|seen| seen.syn && targets.contains(&seen.to)).collect();
    assert_eq!(syns.len(), 3, "{syns:?}");
    assert!(packets.iter().all(|seen| targets.contains(&seen.from) || targets.contains(&seen.to)));
}

/// A veth pair in a namespace of its own, captured on all of it, that is then removed.
#[test]
fn an_interface_that_goes_is_reported() {
    const TEST: &str = "an_interface_that_goes_is_reported";
    let namespace = match Namespace::make() {
        Err(error) => return skip(TEST, &format!("no network namespace: {error}")),
        Ok(namespace) => namespace,
    };
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("capture.pcapng");
    let end = |name| VethEnd { name, address: [2, 0, 0, 0, 0, name.as_bytes()[4]] };
    let pair = namespace.inside(|| -> std::io::Result<u32> {
        let mut netlink = Netlink::open()?;
        netlink.add_veth(end("here0"), end("here1"), rustix::fd::AsFd::as_fd(&namespace))?;
        let index = netlink.index_of("here0")?;
        netlink.up(index)?;
        Ok(index)
    });
    let index = match pair.expect("a thread inside") {
        Err(error) => return skip(TEST, &format!("no veth: {error}")),
        Ok(index) => index,
    };
    let settings = CaptureSettings {
        namespace: Some(namespace.clone()),
        interface: Some("here0".to_owned()),
        ..CaptureSettings::new(vec![SocketAddr::from((Ipv4Addr::UNSPECIFIED, 80))], path.clone())
    };
    let Some(capture) = begin(TEST, settings) else { return };
    namespace.inside(|| Netlink::open()?.remove(index)).expect("a thread inside").expect("it is there");
    let report = capture.finish();
    assert!(report.interface_down && !report.is_whole(), "{report:?}");
    let warnings = report.warnings();
    assert!(warnings.len() == 1 && warnings[0].contains("here0 went down or away"), "{warnings:?}");
    read(&path);
}
