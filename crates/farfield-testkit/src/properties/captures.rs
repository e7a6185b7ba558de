//! Captures: any bytes as a file, and any segments between two ends, are read to their end; every packet is
//! accounted for once, and what comes out is consistent. The property of the fuzz target `capture_rebuild`.

use farfield_capture::{Capture, Options, Secrets, TransactionState, read};
use farfield_wire::pcapng::{Direction, Interface, InterfaceId, LinkType, PacketMetadata, Writer};
use farfield_wire::{Addresses, IpRepr, Message, Protocol, SeqNumber, TcpFlags, TcpRepr, write_packet};
use std::sync::Arc;

/// As a file; and as segments: five bytes (flags, sequence and acknowledgment numbers, length, time) and the
/// data of each.
pub fn of_a_capture(bytes: &[u8]) {
    // Small bounds, so that short inputs reach them.
    let small = Options {
        head_bytes_max: 200,
        target_bytes_max: 10,
        waiting_bytes_max: 300,
        waiting_bytes_total_max: 500,
        sort_packets: 3,
        open_max: 2,
        ..Options::default()
    };
    // TLS and QUIC are looked for where there are secrets, be they of other sessions.
    let secrets = Some(Arc::new(Secrets::default()));
    let secured = Options { secrets, ..small.clone() };
    for options in [Options::default(), small, secured] {
        if let Ok(capture) = read(bytes, &options) {
            is_consistent(&capture);
        }
        let capture = read(&segments(bytes)[..], &options).expect("a capture");
        assert!(capture.limits.cut_short.is_none());
        is_consistent(&capture);
    }
}

fn is_consistent(capture: &Capture) {
    let limits = &capture.limits;
    let fates = [
        limits.packets_used,
        limits.packets_filtered,
        limits.packets_other,
        limits.packets_duplicate,
        limits.other_interface_packets,
        limits.packets_stray,
        limits.packets_timeless,
        limits.packets_malformed,
        limits.packets_damaged,
    ];
    let unknown: u64 = limits.unknown_link_types.values().sum();
    let known: u64 = fates.iter().sum::<u64>() + unknown;
    // A fragment has no fate of its own; its packet has, once it is whole.
    assert!(known <= limits.packets && limits.packets <= known + limits.fragments, "{limits:?}");
    let mut requests = vec![0; capture.connections.len()];
    for transaction in &capture.transactions {
        let counted = &mut requests[transaction.connection as usize];
        assert_eq!(transaction.number, *counted, "each number once, in order");
        *counted += 1;
        assert!(transaction.request_first <= transaction.request_last);
        assert!(transaction.reply_first.is_none() || transaction.reply_last.is_some());
        assert!(transaction.body_bytes <= transaction.reply_bytes);
        if transaction.state == TransactionState::Complete {
            assert!(transaction.status >= 200 || transaction.status == 101);
            assert!(transaction.reply_first.is_some() && !transaction.method.is_empty());
        }
    }
    for (index, (connection, requests)) in capture.connections.iter().zip(requests).enumerate() {
        assert_eq!((connection.id as usize, connection.requests), (index, requests));
        assert!(connection.first <= connection.last);
        assert_eq!(connection.seen_from_start, connection.syn.is_some());
    }
}

/// A capture of one connection whose segments are what the bytes say.
fn segments(mut bytes: &[u8]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), "test").expect("memory does not fail");
    let interface = Interface { name: String::new(), link: LinkType::RAW, snap_len: 0 };
    writer.add_interface(&interface).expect("memory does not fail");
    let mut next = [SeqNumber(u32::MAX - 30), SeqNumber(u32::MAX - 90)];
    let mut at_unix_ns = 0;
    while let Some((&[flags, seq, ack, length, time], rest)) = bytes.split_first_chunk() {
        let (data, rest) = rest.split_at(rest.len().min(usize::from(length)));
        bytes = rest;
        let own = usize::from(flags & 0x80 != 0);
        // Near to what comes next, mostly exactly there.
        let near = |number: SeqNumber, by: u8| if by < 200 { number } else { number + u32::from(by) - 228 };
        let (source_port, destination_port) = if own == 0 { (1000, 80) } else { (80, 1000) };
        let repr = TcpRepr {
            source_port,
            destination_port,
            seq: near(next[own], seq),
            ack: near(next[1 - own], ack),
            flags: TcpFlags(flags & 0x1f),
            window: u16::from(seq),
            ..TcpRepr::default()
        };
        let controls = (flags & 3).count_ones();
        next[own] = repr.seq + data.len() as u32 + controls;
        let addresses = Addresses::V4 { source: [198, 18, 0, 1].into(), destination: [10, 0, 0, 1].into() };
        let addresses = if own == 0 { addresses } else { addresses.reversed() };
        let ip = IpRepr::new(addresses, Protocol::TCP);
        let message = Message::Tcp(&repr, data);
        let mut packet = vec![0; ip.header_len() + message.wire_len()];
        write_packet(&ip, &message, &mut packet);
        at_unix_ns += u64::from(time) * 1_000;
        let metadata =
            PacketMetadata { interface: InterfaceId(0), at_unix_ns, direction: Direction::Unknown, drops: 0 };
        writer.packet(&metadata, &[&packet]).expect("memory does not fail");
    }
    writer.finish().expect("memory does not fail")
}
