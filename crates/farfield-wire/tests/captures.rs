//! Captures: read back by our own reader, and by tshark.

mod scene;

use farfield_wire::pcapng::{
    Block, Direction, Interface, InterfaceId, LinkType, PacketMetadata, Reader, ReaderError, Statistics,
    Writer,
};
use farfield_wire::{Fragments, IcmpError, TcpFlags, TcpRepr, Tso};
use proptest::prelude::*;
use scene::{data, tcp, tcp_packet, udp_packet, v4, v6};
use std::process::Command;

fn interface(name: &str, snap_len: u32) -> Interface {
    Interface { name: name.to_owned(), link: LinkType::RAW, snap_len }
}

fn metadata(at_unix_ns: u64) -> PacketMetadata {
    PacketMetadata { interface: InterfaceId(0), at_unix_ns, direction: Direction::Inbound, drops: 0 }
}

fn read(bytes: &[u8]) -> Result<Vec<Block>, ReaderError> {
    let mut reader = Reader::new(bytes);
    let mut blocks = Vec::new();
    while let Some(block) = reader.next_block()? {
        blocks.push(block);
    }
    Ok(blocks)
}

#[test]
fn an_enhanced_packet_laid_out_by_hand() {
    let mut writer = Writer::new(Vec::new(), "farfield").unwrap();
    writer.add_interface(&interface("tun0", 5)).unwrap();
    let begun = writer.finish().unwrap();
    let mut writer = Writer::new(Vec::new(), "farfield").unwrap();
    writer.add_interface(&interface("tun0", 5)).unwrap();
    let drops = PacketMetadata { drops: 3, ..metadata(0x0001_0000_0002) };
    writer.packet(&drops, &[b"ab", b"", b"cdefgh"]).unwrap();
    let bytes = writer.finish().unwrap();
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
    let option = |code: u16, len: u16| [code.to_ne_bytes(), len.to_ne_bytes()].concat();
    let expected = [
        words(&[6, 64, 0, 1, 2, 5, 8]),
        b"abcde\0\0\0".to_vec(),
        [option(2, 4), words(&[1])].concat(),
        [option(4, 8), 3u64.to_ne_bytes().to_vec()].concat(),
        words(&[0, 64]),
    ];
    assert_eq!(bytes[begun.len()..], expected.concat());
}

#[test]
fn a_file_of_the_other_order_of_bytes_is_read() {
    // Big-endian, as another machine would write it; time in microseconds, as is meant where nothing is said.
    let block = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
    let bytes = [
        block(&[0x0a0d_0d0a, 28, 0x1a2b_3c4d, 0x0001_0000, u32::MAX, u32::MAX, 28]),
        block(&[1, 20, 101 << 16, 0, 20]),
        block(&[6, 36, 0, 0, 7, 2, 60, 0x4142_0000, 36]),
        block(&[0xbad, 12, 12]),
    ];
    let blocks = read(&bytes.concat()).unwrap();
    let metadata = PacketMetadata { direction: Direction::Unknown, ..metadata(7_000) };
    let packet = Block::Packet { metadata, original_len: 60, bytes: b"AB".to_vec() };
    assert_eq!(blocks, [Block::Section, Block::Interface(interface("", 0)), packet, Block::Other(0xbad)]);
}

#[test]
fn damage_is_reported() {
    let mut writer = Writer::new(Vec::new(), "farfield").unwrap();
    writer.add_interface(&interface("a", 0)).unwrap();
    writer.packet(&metadata(1), &[&data(60)]).unwrap();
    let bytes = writer.finish().unwrap();
    assert!(matches!(read(&bytes[..bytes.len() - 1]), Err(ReaderError::Io(_))));
    assert!(matches!(read(&bytes[4..]), Err(ReaderError::NotPcapng)));
    assert!(matches!(read(&[]), Err(ReaderError::NotPcapng)));
    let mut lengths_differ = bytes.clone();
    *lengths_differ.last_mut().unwrap() ^= 1;
    assert!(matches!(read(&lengths_differ), Err(ReaderError::Damaged(_))));
}

proptest! {
    #[test]
    fn what_is_written_reads_back(
        names in prop::collection::vec("[a-zé ]{0,9}", 1..4), snap_len in prop_oneof![Just(0u32), 1u32..200],
        packets in prop::collection::vec(
            (any::<prop::sample::Index>(), any::<u64>(), 0u8..3, 0u64..3, 0usize..300, 0usize..300),
            0..20,
        ),
        counts: (Option<u64>, Option<u64>, Option<u64>),
    ) {
        let mut writer = Writer::new(Vec::new(), "farfield 0.1.0").unwrap();
        let mut expected = vec![Block::Section];
        for name in &names {
            writer.add_interface(&interface(name, snap_len)).unwrap();
            expected.push(Block::Interface(interface(name, snap_len)));
        }
        for (which, at_unix_ns, direction, drops, len, cut) in packets {
            let direction = [Direction::Unknown, Direction::Inbound, Direction::Outbound][usize::from(direction)];
            let interface = InterfaceId(which.index(names.len()) as u32);
            let metadata = PacketMetadata { interface, at_unix_ns, direction, drops };
            let whole = data(len);
            let (head, tail) = whole.split_at(cut.min(len));
            writer.packet(&metadata, &[head, tail]).unwrap();
            let kept = if snap_len == 0 { len } else { len.min(snap_len as usize) };
            expected.push(Block::Packet { metadata, original_len: len as u32, bytes: whole[..kept].to_vec() });
        }
        let statistics = Statistics {
            start_unix_ns: counts.0, received: counts.1, capture_drops: counts.2, ..Statistics::default()
        };
        writer.statistics(InterfaceId(0), 5, &statistics).unwrap();
        expected.push(Block::Statistics(InterfaceId(0), statistics));
        prop_assert_eq!(read(&writer.finish().unwrap()).unwrap(), expected);
    }
}

/// One of everything that this crate writes.
fn everything(writer: &mut Writer<Vec<u8>>) -> usize {
    let mut packets: Vec<Vec<u8>> = Vec::new();
    for addresses in [v4(), v6()] {
        let syn =
            TcpRepr { flags: TcpFlags::SYN, ack: Default::default(), seq: tcp().seq + u32::MAX, ..tcp() };
        packets.push(tcp_packet(addresses, &syn, &[]));
        let large = tcp_packet(addresses, &tcp(), &data(20_000));
        let tso = Tso::new(&large, 1400).unwrap();
        for index in 0..tso.packets() {
            let mut header = [0; Tso::HEADER_LEN_MAX];
            let len = tso.write_header(&large, index, &mut header);
            packets.push([&header[..len], &large[tso.payload(index)]].concat());
        }
        let udp = udp_packet(addresses, &data(4000));
        let mut fragments = Fragments::new(&udp, 1280, 77).unwrap();
        let mut header = [0; Fragments::HEADER_LEN_MAX];
        while let Some(piece) = fragments.next(&mut header) {
            packets.push([&header[..piece.header_len], piece.payload].concat());
        }
        let mut error = [0; IcmpError::LEN_MAX];
        let small = udp_packet(addresses, &data(40));
        for kind in [
            IcmpError::HopLimitExceeded,
            IcmpError::PortUnreachable,
            IcmpError::TooBig { next_hop_mtu: 1280 },
        ] {
            let len = kind.write(&small, addresses.destination(), &mut error).unwrap();
            packets.push(error[..len].to_vec());
        }
    }
    for (nth, packet) in packets.iter().enumerate() {
        let at = 1_700_000_000_123_456_789 + nth as u64 * 1_000_001;
        writer.packet(&metadata(at), &[packet]).unwrap();
    }
    packets.len()
}

/// Bytes that another program wrote a reader for are compared with that program.
#[test]
fn tshark_finds_nothing_wrong() {
    if Command::new("tshark").arg("--version").output().is_err() {
        return farfield_testkit::skip("tshark_finds_nothing_wrong", "no tshark");
    }
    let mut writer = Writer::new(Vec::new(), "farfield").unwrap();
    let id = writer.add_interface(&interface("gateway", 0)).unwrap();
    let count = everything(&mut writer);
    let statistics =
        Statistics { received: Some(count as u64), capture_drops: Some(0), ..Statistics::default() };
    writer.statistics(id, 1_700_000_001_000_000_000, &statistics).unwrap();
    let folder = tempfile::tempdir().expect("a folder of its own");
    let path = folder.path().join("everything.pcapng");
    std::fs::write(&path, writer.finish().unwrap()).expect("a file in a folder of its own");

    let tshark = |arguments: &[&str]| {
        let checks = ["ip", "tcp", "udp"].map(|protocol| format!("{protocol}.check_checksum:TRUE"));
        let mut command = Command::new("tshark");
        command.arg("-r").arg(&path).args(checks.iter().flat_map(|check| ["-o", check])).args(arguments);
        let output = command.output().expect("tshark runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("tshark writes text")
    };
    let fields = ["-T", "fields", "-e", "frame.time_epoch", "-e", "frame.interface_name"];
    let all = tshark(&fields);
    let faults = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0 || udp.checksum.status == 0 \
                  || icmp.checksum.status == 0 || icmpv6.checksum.status == 0 || tcp.analysis.flags \
                  || ip.fragment.error || ipv6.fragment.error";
    let wrong = tshark(&["-Y", faults]);
    let sound = tshark(&["-Y", "tcp.checksum.status == 1", "-T", "fields", "-e", "frame.number"]);
    let whole = tshark(&[
        "-Y",
        "udp.length == 4008 && udp.checksum.status == 1",
        "-T",
        "fields",
        "-e",
        "frame.number",
    ]);

    assert_eq!(all.lines().count(), count);
    assert_eq!(all.lines().next(), Some("1700000000.123456789\tgateway"));
    assert_eq!(wrong, "");
    assert_eq!(
        sound.lines().count(),
        2 * (1 + 20_000usize.div_ceil(1400)),
        "every segment's checksum is checked"
    );
    assert_eq!(whole.lines().count(), 2, "tshark puts the fragments together");
}

/// A block of `kind` around `words`, big-endian.
fn foreign_block(kind: u32, words: &[u32]) -> Vec<u8> {
    let length = 12 + 4 * words.len() as u32;
    let all = [kind, length].into_iter().chain(words.iter().copied()).chain([length]);
    all.flat_map(u32::to_be_bytes).collect()
}

/// Nanoseconds (`if_tsresol` 9) that begin 100 s after 1970 (`if_tsoffset`), and a packet in the block that
/// was used before the Enhanced Packet Block, with 5 packets dropped before it.
#[test]
fn offsets_of_time_and_obsolete_packets_are_read() {
    let bytes = [
        foreign_block(0x0a0d_0d0a, &[0x1a2b_3c4d, 0x0001_0000, u32::MAX, u32::MAX]),
        foreign_block(1, &[101 << 16, 0, 9 << 16 | 1, 9 << 24, 14 << 16 | 8, 0, 100, 0]),
        foreign_block(2, &[5, 0, 7, 2, 60, 0x4142_0000]),
        foreign_block(3, &[2, 0x4142_0000]),
    ];
    let blocks = read(&bytes.concat()).unwrap();
    let metadata = PacketMetadata { direction: Direction::Unknown, drops: 5, ..metadata(100_000_000_007) };
    assert_eq!(blocks[2], Block::Packet { metadata, original_len: 60, bytes: b"AB".to_vec() });
    assert_eq!(blocks[3], Block::Other(farfield_wire::pcapng::SIMPLE_PACKET));
}

#[path = "../examples/capture.rs"]
#[allow(dead_code, reason = "its main is not run")]
mod capture;

#[test]
fn the_example_prints_what_the_readme_shows() {
    let output = capture::lines(&capture::capture().unwrap()).unwrap();
    assert!(include_str!("../README.md").contains(&output), "README.md is to show:\n{output}");
}
