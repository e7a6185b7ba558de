//! Captures that a run takes by itself, compared with its samples and read by tshark.

use crate::common::{Ended, Place, skip};
use farfield_base::{Outcome, Sample};
use farfield_measure::connections;
use farfield_wire::pcapng::{Block, Reader, Statistics};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::Command;

/// Packets with the payload of one exchange: when they passed, in nanoseconds of the run.
#[derive(Debug, Default, Clone, PartialEq)]
struct Exchange {
    request: Vec<i64>,
    reply: Vec<i64>,
    reply_bytes: u64,
}

/// A connection, as a capture shows it.
#[derive(Debug, Clone)]
struct Connection {
    syn: i64,
    /// The sequence number of its SYN.
    number: u32,
    exchanges: Vec<Exchange>,
    /// The sequence numbers of the next bytes of the client and of the server.
    next: [Option<u32>; 2],
}

impl Connection {
    /// Number of bytes from `begin` on that have not passed before: a busy machine retransmits even on
    /// loopback.
    fn new_bytes(&mut self, side: usize, begin: u32, length: u32) -> u32 {
        let next = self.next[side].get_or_insert(begin);
        let new = begin.wrapping_add(length).wrapping_sub(*next).cast_signed().max(0).cast_unsigned();
        assert!(new <= length, "bytes are missing");
        *next = next.wrapping_add(new);
        new
    }
}

struct Capture {
    /// By the client's address, in the order of their beginnings: ports are used again.
    connections: BTreeMap<SocketAddr, Vec<Connection>>,
    packets: u64,
    /// None in virtual time.
    statistics: Option<Statistics>,
}

/// Reads the connections to one server out of a capture of whole packets or of their heads, by the headers
/// alone. Exchanges follow each other: no request is pipelined here.
fn read(path: &Path, server: SocketAddr, start_unix_ns: u64) -> Capture {
    let mut reader = Reader::new(BufReader::new(File::open(path).expect("a capture")));
    let (mut connections, mut packets, mut all) = (BTreeMap::<_, Vec<Connection>>::new(), 0, None);
    while let Some(block) = reader.next_block().expect("a whole capture") {
        let (metadata, bytes) = match block {
            Block::Packet { metadata, bytes, .. } => (metadata, bytes),
            Block::Statistics(_, statistics) => {
                all = Some(statistics);
                continue;
            }
            _ => continue,
        };
        packets += 1;
        let half = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let (tcp, source, destination, length) = match bytes[0] >> 4 {
            4 => {
                let address = |at: usize| IpAddr::from(<[u8; 4]>::try_from(&bytes[at..at + 4]).unwrap());
                (4 * usize::from(bytes[0] & 15), address(12), address(16), usize::from(half(2)))
            }
            _ => {
                let address = |at: usize| IpAddr::from(<[u8; 16]>::try_from(&bytes[at..at + 16]).unwrap());
                (40, address(8), address(24), 40 + usize::from(half(4)))
            }
        };
        let [from, to] = [(source, half(tcp)), (destination, half(tcp + 2))].map(SocketAddr::from);
        assert!(from == server || to == server, "neither {from} nor {to} is the server");
        let payload = length - tcp - 4 * usize::from(bytes[tcp + 12] >> 4);
        let at = metadata.at_unix_ns.cast_signed() - start_unix_ns.cast_signed();
        let of_client = connections.entry(if to == server { from } else { to }).or_default();
        let begin = u32::from(half(tcp + 4)) << 16 | u32::from(half(tcp + 6));
        // A busy machine sends a SYN again.
        let is_first = of_client.last().is_none_or(|last| last.number != begin);
        if bytes[tcp + 13] & 2 != 0 && to == server && is_first {
            of_client.push(Connection { syn: at, number: begin, exchanges: Vec::new(), next: [None; 2] });
        }
        if payload == 0 {
            continue;
        }
        let connection = of_client.last_mut().expect("no packet before the SYN");
        let payload = connection.new_bytes(usize::from(to != server), begin, payload as u32);
        if payload == 0 {
            continue;
        }
        if to == server {
            if connection.exchanges.last().is_none_or(|last| !last.reply.is_empty()) {
                connection.exchanges.push(Exchange::default());
            }
            connection.exchanges.last_mut().expect("just made").request.push(at);
        } else {
            let exchange = connection.exchanges.last_mut().expect("no reply before a request");
            exchange.reply.push(at);
            exchange.reply_bytes += u64::from(payload);
        }
    }
    Capture { connections, packets, statistics: all }
}

/// Takes up a run's capture, or skips the test where the machine forbids it.
fn captured(test: &str, ended: Ended) -> Option<Ended> {
    if ended.code == Some(1) && ended.stderr.contains("CAP_NET_RAW") {
        skip(test, "packets may not be captured");
        return None;
    }
    // Of a busy machine the verdict may say that the emulated network was late.
    if ended.code == Some(3) { Some(ended) } else { Some(ended.exits(0)) }
}

/// The order of packets against the instants of samples.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Order {
    /// A request is sent before its packet passes, and a reply arrives after its packets do.
    Kept,
    /// An emulated client that is late has the instants of its own time, not those of the kernel.
    OfAnotherClock,
}

/// Every sample has its exchange in the capture, with as many bytes, and the capture no other.
#[track_caller]
fn hold_samples_against(ended: &Ended, file: &str, order: Order) {
    let summary = ended.summary();
    let clock = summary.clock.expect("the clock of a run");
    let opened = File::open(ended.directory.join("connections.parquet")).expect("connections");
    let opened = connections::read_parquet(opened).expect("rows");
    let server = opened.first().expect("a connection").server;
    let mut capture = read(&ended.directory.join(file), server, clock.start_unix_ns);
    if let Some(statistics) = capture.statistics {
        let stats = summary.captures.iter().find(|stats| stats.file == file).expect("in the summary");
        assert_eq!((stats.packets, stats.lost), (capture.packets, 0));
        assert_eq!(statistics.capture_drops.unwrap_or(0), 0);
    }
    let mut of_rows = BTreeMap::new();
    let mut begun = BTreeMap::<SocketAddr, usize>::new();
    for row in &opened {
        let nth = begun.entry(row.client).or_default();
        assert!(
            of_rows.insert(row.connection, (row.client, *nth)).is_none(),
            "two rows of {}",
            row.connection
        );
        *nth += 1;
    }
    let samples = ended.samples();
    assert!(samples.len() > 100, "{} samples", samples.len());
    for sample in &samples {
        assert_eq!(sample.outcome, Outcome::Ok);
        let (client, nth) = of_rows[&sample.connection];
        let connection = &mut capture.connections.get_mut(&client).expect("its client")[nth];
        let exchange = std::mem::take(&mut connection.exchanges[sample.number as usize]);
        assert_eq!(sample.reply_bytes, exchange.reply_bytes);
        if order == Order::Kept {
            is_in_order(sample, connection, &exchange);
        }
    }
    let left = capture.connections.values().flatten().flat_map(|connection| &connection.exchanges);
    assert_eq!(
        left.filter(|exchange| **exchange != Exchange::default()).count(),
        0,
        "exchanges without samples"
    );
}

#[track_caller]
fn is_in_order(sample: &Sample, connection: &Connection, exchange: &Exchange) {
    let ns = |instant: farfield_base::Instant| instant.as_ns().cast_signed();
    /// The error of relating the two clocks.
    const CLOCKS: i64 = 1_000;
    if let Some(begun) = sample.connect_begun.instant() {
        assert!(ns(begun) <= connection.syn + CLOCKS, "{sample:?}\n{connection:?}");
    }
    let (first, last) = (exchange.reply[0], *exchange.reply.last().expect("a reply"));
    assert!(
        ns(sample.sent.instant().expect("sent")) <= exchange.request[0] + CLOCKS,
        "{sample:?}\n{exchange:?}"
    );
    assert!(
        first <= ns(sample.first_byte.instant().expect("a first byte")) + CLOCKS,
        "{sample:?}\n{exchange:?}"
    );
    assert!(last <= ns(sample.done) + CLOCKS, "{sample:?}\n{exchange:?}");
}

/// On keep-alive connections and on one connection each, with replies of some and of many packets.
#[test]
fn a_run_on_sockets_captures_its_own_packets() {
    const TEST: &str = "a_run_on_sockets_captures_its_own_packets";
    let place = Place::new();
    let server = place.serve("");
    for words in
        ["/ -R 400", "/ -c 3 --think 2ms --set connections.requests-per-connection=1", "/bytes/300kB -R 100"]
    {
        let ended = place.run(&format!("{}{words} --capture", server.url));
        let Some(ended) = captured(TEST, ended) else { return };
        hold_samples_against(&ended, "capture.pcapng", Order::Kept);
    }
}

#[test]
fn a_capture_of_ipv6_is_whole() {
    const TEST: &str = "a_capture_of_ipv6_is_whole";
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        return skip(TEST, "no IPv6");
    }
    let place = Place::new();
    let server = place.serve_at("[::1]:0");
    let ended = place.run(&format!("{}/ -R 200 --capture", server.url));
    let Some(ended) = captured(TEST, ended) else { return };
    hold_samples_against(&ended, "capture.pcapng", Order::Kept);
}

/// On planes with a network the addresses are those of emulated clients.
#[test]
fn a_run_in_virtual_time_has_its_connections() {
    let place = Place::new();
    let words = "--plane simulated --clients 40 --rtt 20ms -R 300 --capture";
    for more in ["--shards 1", "--shards 2 --set connections.requests-per-connection=2"] {
        let ended = place.run(&format!("{words} {more}")).exits(0);
        hold_samples_against(&ended, "capture.pcapng", Order::Kept);
    }
}

/// A filter keeps the packets of one client, and of one port, of those of the whole run; the whole and the
/// part are of the same requests.
#[test]
fn a_filter_in_virtual_time_keeps_a_client_or_a_port() {
    let place = Place::new();
    let server = SocketAddr::from(([192, 0, 2, 1], 80));
    let captured = |filter: &str| {
        let words = "--plane simulated --clients 40 --rtt 20ms -R 300 --capture --set capture.verify=false";
        let ended = place.run(&format!("{words} {filter}")).exits(0);
        read(&ended.directory.join("capture.pcapng"), server, 0)
    };
    let addresses = |capture: &Capture| capture.connections.keys().map(SocketAddr::ip).collect::<Vec<_>>();
    let whole = captured("");
    let of_one = captured("--set capture.filter.clients=[3]");
    let own = addresses(&of_one)[0];
    assert!(of_one.packets > 0 && addresses(&of_one).iter().all(|address| *address == own));
    let expected = whole.connections.keys().filter(|client| client.ip() == own);
    assert_eq!(of_one.connections.keys().collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    assert!(addresses(&whole).iter().any(|address| *address != own));
    assert_eq!(captured("--set capture.filter.port=80").packets, whole.packets);
    assert_eq!(captured("--set capture.filter.port=81").packets, 0);
}

/// The packets that the emulated network sent, and those that the server's kernel saw, are the same
/// exchanges.
#[test]
fn the_servers_kernel_sees_what_emulated_clients_send() {
    const TEST: &str = "the_servers_kernel_sees_what_emulated_clients_send";
    let place = Place::new();
    let words = "--plane emulated --clients 20 --rtt 20ms -R 150 --capture --set capture.kernel=true";
    let ended = place.run(words);
    if ended.code == Some(1) && ended.stderr.contains("namespace") {
        return skip(TEST, "no network namespace may be made");
    }
    let Some(ended) = captured(TEST, ended) else { return };
    hold_samples_against(&ended, "capture.pcapng", Order::Kept);
    hold_samples_against(&ended, "capture-kernel.pcapng", Order::OfAnotherClock);
}

/// An independent reader finds the requests and replies of the run, nothing damaged, and nothing lost.
#[test]
fn tshark_reads_a_capture_of_sockets() {
    const TEST: &str = "tshark_reads_a_capture_of_sockets";
    if Command::new("tshark").arg("-v").output().is_err() {
        return skip(TEST, "no tshark");
    }
    let place = Place::new();
    let server = place.serve("");
    let ended = place.run(&format!("{}/bytes/1kB -R 300 --capture", server.url));
    let Some(ended) = captured(TEST, ended) else { return };
    let count = |filter: &str| {
        let file = ended.directory.join("capture.pcapng");
        let mut command = Command::new("tshark");
        command.arg("-r").arg(file).args(["-d", "tcp.port==1-65535,http", "-Y", filter]);
        let output = command.output().expect("tshark");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout.iter().filter(|byte| **byte == b'\n').count()
    };
    let samples = ended.samples().len();
    assert_eq!((count("http.request"), count("http.response")), (samples, samples));
    assert_eq!(count("_ws.malformed || tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment"), 0);
}

/// A disk that only this run sees, which the capture fills: the run goes on, and says what the capture lacks.
/// The file can be read to its end.
#[test]
fn a_full_disk_ends_the_capture_and_not_the_run() {
    const TEST: &str = "a_full_disk_ends_the_capture_and_not_the_run";
    let place = Place::new();
    let may_mount =
        Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|status| status.success());
    if !may_mount {
        return skip(TEST, "no mount namespace may be made");
    }
    let server = place.serve("");
    // Whole packets of 300 kB a reply fill the disk, and not the buffer between kernel and file.
    place.write(
        "inside",
        format!(
            "mount --make-rprivate / && mkdir disk && mount -t tmpfs -o size=8M none disk || exit 1\n\
             FARFIELD run -q {} URL/bytes/300kB -R 20 -d 2s -t 1 --capture --set capture.snap=65535 -o disk/run\n\
             code=$?; cp -r disk/run run; exit $code\n",
            crate::common::CALM
        )
        .replace("URL", &server.url)
        .replace("FARFIELD", env!("CARGO_BIN_EXE_farfield")),
    );
    let ended = crate::common::shell(&place, "exec unshare -m sh inside");
    if ended.stderr.contains("CAP_NET_RAW") {
        return skip(TEST, "packets may not be captured");
    }
    let summary = ended.summary();
    let stats = summary.captures.first().expect("a capture");
    assert!(stats.lost > 0 && stats.packets > 0, "{stats:?}");
    let said = summary.warnings.iter().find(|warning| warning.contains("the capture is cut short"));
    let said = said.unwrap_or_else(|| panic!("{:?}", summary.warnings));
    assert!(said.contains(&stats.lost.to_string()) && said.contains("No space left"), "{said}");
    // All seconds of the run have requests: it did not end with the capture.
    assert!(summary.steady.requests >= 35, "{} requests", summary.steady.requests);
    let mut reader = Reader::new(BufReader::new(File::open(ended.directory.join("capture.pcapng")).unwrap()));
    let mut packets = 0;
    while let Some(block) = reader.next_block().expect("whole blocks") {
        packets += u64::from(matches!(block, Block::Packet { .. }));
    }
    assert_eq!(packets, stats.packets);
}
