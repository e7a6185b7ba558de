//! Files: formats, orders of bytes, link types, fragments, damage.

mod scene;

use farfield_capture::{CaptureError, Options, TransactionState, UnixNs, read};
use farfield_wire::Fragments;
use farfield_wire::pcapng::{
    Direction, Interface, InterfaceId, LinkType, PacketMetadata, Statistics, Writer,
};
use scene::{CLIENT, GET, SERVER, Scene, at, file, only, outcomes, rebuilt, reply};

fn exchange() -> Scene {
    let mut scene = Scene::open();
    scene.say(CLIENT, GET).say(SERVER, &reply(30)).close();
    scene
}

/// A pcap file whose words are written by `word`, its times in units of `unit_ns`.
fn pcap(
    magic: u32,
    word: fn(u32) -> [u8; 4],
    unit_ns: u64,
    link: u32,
    packets: &[(u64, Vec<u8>)],
) -> Vec<u8> {
    let mut file: Vec<u8> = [magic, 0, 0, 0, 65_535, link].into_iter().flat_map(word).collect();
    for (at, bytes) in packets {
        let (seconds, rest) = (at / 1_000_000_000, at % 1_000_000_000 / unit_ns);
        let len = bytes.len() as u32;
        file.extend([seconds as u32, rest as u32, len, len].into_iter().flat_map(word));
        file.extend(bytes);
    }
    file
}

#[test]
fn pcap_of_either_order_and_resolution() {
    let packets = exchange().ip_packets();
    let expected = rebuilt(&file(&packets, 0));
    assert_eq!(outcomes(&expected), [(TransactionState::Complete, 200, 30, 69)]);
    for word in [u32::to_le_bytes, u32::to_be_bytes] {
        for (magic, unit_ns) in [(0xa1b2_c3d4, 1_000), (0xa1b2_3c4d, 1)] {
            let capture = rebuilt(&pcap(magic, word, unit_ns, 101, &packets));
            assert_eq!(capture.connections, expected.connections);
            assert_eq!(capture.transactions, expected.transactions);
        }
    }
}

#[test]
fn what_is_no_capture_is_refused_by_name() {
    let refused = |bytes: &[u8]| read(bytes, &Options::default()).unwrap_err().to_string();
    let modified = pcap(0xa1b2_cd34, u32::to_le_bytes, 1000, 1, &[]);
    assert!(refused(&modified).starts_with("modified pcap (Kuznetzov) captures are not read"));
    assert!(refused(b"\x1f\x8b\x08\0more").contains("gzip"));
    assert!(refused(b"\x28\xb5\x2f\xfdmore").contains("zstd"));
    assert!(refused(b"snoop\0\0\0").contains("snoop"));
    for nothing in [&b""[..], b"abc", b"GET / HTTP/1.1", &[0xd4, 0xc3, 0xb2, 0xa1, 0, 0]] {
        assert!(matches!(read(nothing, &Options::default()), Err(CaptureError::NotACapture)));
    }
}

/// However a file is cut, what came before the cut is there, and the cut is reported unless it lies between
/// packets.
#[test]
fn a_file_that_is_cut_keeps_what_came_before() {
    let packets = exchange().ip_packets();
    let pcap = pcap(0xa1b2_c3d4, u32::to_le_bytes, 1_000, 101, &packets);
    let pcapng = file(&packets, 0);
    let ends: Vec<usize> = packets
        .iter()
        .scan(24, |end, (_, bytes)| {
            *end += 16 + bytes.len();
            Some(*end)
        })
        .collect();
    for cut in 24..pcap.len() {
        let limits = rebuilt(&pcap[..cut]).limits;
        assert_eq!(limits.packets, ends.iter().filter(|&&end| end <= cut).count() as u64);
        let between = cut == 24 || ends.contains(&cut);
        assert_eq!(limits.cut_short.is_none(), between, "{cut}: {:?}", limits.cut_short);
    }
    let mut reported = 0;
    for cut in 200..pcapng.len() {
        reported += usize::from(rebuilt(&pcapng[..cut]).limits.cut_short.is_some());
    }
    assert!(reported > pcapng.len() - 200 - 2 * packets.len());
    let cut = rebuilt(&pcapng[..pcapng.len() - 1]).limits;
    assert_eq!(cut.cut_short.as_deref(), Some("the file ends inside a record, after 7 packets"));
    // And damage: a length that cannot be.
    let mut damaged = pcap;
    damaged[ends[2] + 8..ends[2] + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    let limits = rebuilt(&damaged).limits;
    assert_eq!(limits.packets, 3);
    assert!(limits.cut_short.unwrap().contains("damaged"));
}

#[test]
fn link_types_have_headers_and_unknown_ones_are_counted() {
    let scene = exchange();
    let packets = scene.ip_packets();
    let expected = rebuilt(&file(&packets, 0));
    let ethernet = |tags: &[u8]| [&[2; 12], tags, &[0x08, 0x00]].concat();
    let cooked = [&[0; 14][..], &[0x08, 0x00]].concat();
    let cooked_2 = [&[0x08, 0x00, 0, 0, 0, 0, 0, 9][..], &[0; 12]].concat();
    let headers = [
        (1, ethernet(&[])),
        (1, ethernet(&[0x81, 0, 0, 5])),
        (1, ethernet(&[0x88, 0xa8, 0, 5, 0x81, 0, 0, 7])),
        (0, vec![2, 0, 0, 0]),
        (108, vec![0, 0, 0, 2]),
        (113, cooked),
        (276, cooked_2),
        (12, vec![]),
        (228, vec![]),
    ];
    for (link, header) in headers {
        // Frames of Ethernet are padded to 60 bytes.
        let framed =
            packets.iter().map(|(at, ip)| (*at, [&header[..], ip, &[0; 6]].concat())).collect::<Vec<_>>();
        let mut capture = rebuilt(&pcap(0xa1b2_c3d4, u32::to_le_bytes, 1_000, link, &framed));
        capture.connections.iter_mut().for_each(|connection| {
            assert_eq!(connection.interface, if link == 276 { 9 } else { 0 });
            connection.interface = 0;
        });
        assert_eq!(capture.connections, expected.connections, "link type {link}");
        assert_eq!(capture.transactions, expected.transactions, "link type {link}");
    }
    let unknown = rebuilt(&pcap(0xa1b2_c3d4, u32::to_le_bytes, 1_000, 147, &packets)).limits;
    assert_eq!(unknown.unknown_link_types.into_iter().collect::<Vec<_>>(), [(147, packets.len() as u64)]);
}

#[test]
fn packets_out_of_order_of_time_are_sorted_as_far_as_is_allowed() {
    let packets = exchange().ip_packets();
    let expected = rebuilt(&file(&packets, 0));
    let mut turned = packets.clone();
    turned.reverse();
    let capture = rebuilt(&file(&turned, 0));
    assert_eq!(
        (&capture.connections, &capture.transactions),
        (&expected.connections, &expected.transactions)
    );
    assert_eq!(capture.limits.packets_unsorted, 0);
    let options = Options { sort_packets: 0, ..Options::default() };
    let capture = read(&file(&turned, 0)[..], &options).unwrap();
    assert_eq!(capture.limits.packets_unsorted, packets.len() as u64 - 1);
    assert_eq!((capture.limits.first, capture.limits.last), (Some(at(1)), Some(at(packets.len() as u64))));
}

#[test]
fn fragments_are_put_together_or_counted() {
    let mut scene = Scene::open();
    scene.say(CLIENT, GET).say(SERVER, &reply(3000)).close();
    let expected = scene.rebuilt();
    let mut fragmented = Vec::new();
    for (nth, (at, mut packet)) in scene.ip_packets().into_iter().enumerate() {
        packet[6] = 0; // may be fragmented
        packet[5] = nth as u8 + 1;
        let mut pieces = Fragments::new(&packet, 600, 0).unwrap();
        let mut header = [0; Fragments::HEADER_LEN_MAX];
        while let Some(piece) = pieces.next(&mut header) {
            fragmented.push((at, [&header[..piece.header_len], piece.payload].concat()));
        }
    }
    assert_eq!(fragmented.len(), scene.packets.len() + 5);
    let capture = rebuilt(&file(&fragmented, 0));
    assert_eq!(capture.transactions, expected.transactions);
    assert_eq!((capture.limits.fragments, capture.limits.fragments_unused), (6, 0));
    fragmented.remove(6);
    let capture = rebuilt(&file(&fragmented, 0));
    assert_eq!((capture.limits.fragments, capture.limits.fragments_unused), (5, 1));
    assert_eq!(capture.transactions[0].state, TransactionState::Lossy);
}

/// farfield's own captures have an interface for the gateway and one for each client; a connection that is
/// on both is seen where its SYN came first.
#[test]
fn a_connection_on_two_interfaces_is_one() {
    let packets = exchange().ip_packets();
    let mut writer = Writer::new(Vec::new(), "test").unwrap();
    for name in ["gateway", "client 0"] {
        let interface = Interface { name: name.into(), link: LinkType::RAW, snap_len: 0 };
        writer.add_interface(&interface).unwrap();
    }
    let mut write = |interface, at_unix_ns, drops, bytes: &[u8]| {
        let interface = InterfaceId(interface);
        let metadata = PacketMetadata { interface, at_unix_ns, direction: Direction::Unknown, drops };
        writer.packet(&metadata, &[bytes]).unwrap();
    };
    for ((at, bytes), packet) in packets.iter().zip(&exchange().packets) {
        // The client's interface comes 40 ns before the gateway on the way there, and behind it on the way
        // back.
        let client_at = if packet.from == CLIENT { at - 40 } else { at + 40 };
        write(0, *at, 0, bytes);
        write(1, client_at, 2, bytes);
    }
    let statistics = Statistics { capture_drops: Some(5), interface_drops: Some(1), ..Statistics::default() };
    writer.statistics(InterfaceId(0), 99_000, &statistics).unwrap();
    let file = writer.finish().unwrap();
    let capture = rebuilt(&file);
    let connection = only(&capture);
    assert_eq!((connection.interface, connection.syn), (1, Some(UnixNs(960))));
    assert_eq!(connection.syn_ack, Some(UnixNs(2_040)));
    assert_eq!(capture.limits.other_interface_packets, packets.len() as u64);
    assert_eq!(capture.limits.interfaces[&1].name, "client 0");
    assert_eq!(capture.limits.reported_drops, 2 * packets.len() as u64, "more than the statistics have");
    let options = Options { interface: Some(0), ..Options::default() };
    let gateway = read(&file[..], &options).unwrap();
    assert_eq!(only(&gateway).syn, Some(at(1)));
    assert_eq!(gateway.limits.packets_filtered, packets.len() as u64);
}

#[test]
fn other_protocols_and_packets_without_an_instant_are_counted() {
    let mut bytes = file(&exchange().ip_packets(), 0);
    let words = [3u32, 20, 2, 0, 20]; // a Simple Packet Block
    bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
    let limits = rebuilt(&bytes).limits;
    assert_eq!((limits.packets, limits.packets_timeless, limits.packets_used), (9, 1, 8));
    let mut udp = exchange().ip_packets();
    udp[3].1[9] = 17;
    let truncated = udp[4].1.len() - 3;
    udp[4].1.truncate(truncated); // shorter than its length says, and not cut by the capture
    let limits = rebuilt(&file(&udp, 0)).limits;
    assert_eq!((limits.packets_other, limits.packets_malformed), (1, 1));
}

/// 1 GiB of sequence numbers wrap four times: segments of 64 KiB, as offload makes them.
#[test]
fn sequence_numbers_wrap_and_large_segments_are_read() {
    let mut scene = Scene::open();
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 6442450944\r\n\r\n";
    scene.say(CLIENT, GET).say(SERVER, head);
    let first = scene.packets.len();
    // The snap length keeps headers alone, so that the test needs no 6 GiB.
    let packets: Vec<_> = (0..98_304u32).map(|_| scene.say(SERVER, &[]).packets.len()).collect();
    assert_eq!(packets.len(), 98_304);
    let mut file: Vec<u8> =
        [0xa1b2_c3d4, 0, 0, 0, 65_535, 101].into_iter().flat_map(u32::to_le_bytes).collect();
    let start = scene.packets[first - 1].repr.seq + head.len() as u32;
    for (nth, packet) in scene.packets.iter().enumerate() {
        let mut packet = packet.clone();
        let mut original_len = None;
        if nth >= first {
            packet.repr.seq = start + ((nth - first) as u32).wrapping_mul(65_536);
            original_len = Some(40 + 65_536);
        }
        let mut bytes = scene.ip_packet(&packet);
        if original_len.is_some() {
            bytes[2..4].fill(0); // a total length that 16 bits do not hold
        }
        let original_len = original_len.unwrap_or(bytes.len() as u32);
        let words = [0, packet.at as u32 / 1000, bytes.len() as u32, original_len];
        file.extend(words.into_iter().flat_map(u32::to_le_bytes));
        file.extend(bytes);
    }
    let capture = rebuilt(&file);
    assert_eq!(
        outcomes(&capture),
        [(TransactionState::Complete, 200, 6 << 30, (6 << 30) + head.len() as u64)]
    );
    assert_eq!(only(&capture).server_side.retransmissions, 0);
}
