//! Captures: any bytes as a file, and any segments between two ends, are read to their end; every packet is
//! accounted for once, and what comes out is consistent. The property of the fuzz target `capture_rebuild`.
//! Replies of a server are rebuilt as the client's own reader reads them.

use farfield_capture::{Capture, Options, Secrets, TransactionState, read};
use farfield_http::http1::{Answering, Event, Limits, Reply, ReplyReader};
use farfield_wire::pcapng::{Direction, Interface, InterfaceId, LinkType, PacketMetadata, Writer};
use farfield_wire::{Addresses, IpRepr, Message, Protocol, SeqNumber, TcpFlags, TcpRepr, write_packet};
use std::sync::Arc;

/// Reads bytes as a file; and as segments: five bytes (flags, sequence and acknowledgment numbers, length,
/// time) and the data of each.
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

/// An input of the fuzz target `http1_reply`, as the stream of a server that answers one request, a HEAD if
/// the first byte is an h: a reply that farfield-http takes is the same in a capture of its packets. Returns
/// whether there is one.
pub fn of_a_reply(input: &[u8]) -> bool {
    let [mode, _, stream @ ..] = input else { return false };
    let method = if mode.eq_ignore_ascii_case(&b'h') { "HEAD" } else { "GET" };
    let Some(reply) = first_reply(stream, Answering::method(method)) else { return false };
    let request = format!("{method} / HTTP/1.1\r\n\r\n");
    let mut file = SegmentFile::new();
    file.segment(CLIENT, TcpFlags::SYN, b"");
    file.segment(SERVER, TcpFlags::SYN | TcpFlags::ACK, b"");
    file.segment(CLIENT, TcpFlags::ACK, request.as_bytes());
    stream.chunks(1_000).for_each(|chunk| file.segment(SERVER, TcpFlags::ACK, chunk));
    file.segment(SERVER, TcpFlags::FIN | TcpFlags::ACK, b"");
    let capture = read(&file.finish()[..], &Options::default()).expect("a capture");
    let rebuilt = capture.transactions.first().expect("a request");
    assert_eq!((rebuilt.state, rebuilt.status), (TransactionState::Complete, reply.status));
    assert_eq!((rebuilt.body_bytes, rebuilt.reply_bytes), (reply.body_bytes, reply.reply_bytes));
    true
}

/// The first reply in a stream that the server closes at its end, if that is none of a client's to refuse.
fn first_reply(mut stream: &[u8], answering: Answering) -> Option<Reply> {
    let (mut reader, limits) = (ReplyReader::new(), Limits::default());
    loop {
        match reader.read(stream, answering, &limits).ok()? {
            (_, Event::Done(reply)) => return Some(reply),
            (_, Event::NeedMore) => return reader.finish().ok()?,
            (taken, _) => stream = &stream[taken..],
        }
    }
}

const CLIENT: usize = 0;
const SERVER: usize = 1;

/// A capture of one connection, segment by segment.
struct SegmentFile {
    writer: Writer<Vec<u8>>,
    next: [SeqNumber; 2],
    at_unix_ns: u64,
}

impl SegmentFile {
    fn new() -> SegmentFile {
        let mut writer = Writer::new(Vec::new(), "test").expect("memory does not fail");
        let interface = Interface { name: String::new(), link: LinkType::RAW, snap_len: 0 };
        writer.add_interface(&interface).expect("memory does not fail");
        let next = [SeqNumber(u32::MAX - 30), SeqNumber(u32::MAX - 90)];
        SegmentFile { writer, next, at_unix_ns: 0 }
    }

    /// A segment that continues its direction and acknowledges all of the other.
    fn segment(&mut self, own: usize, flags: TcpFlags, data: &[u8]) {
        let repr = TcpRepr { seq: self.next[own], ack: self.next[1 - own], flags, ..TcpRepr::default() };
        self.at_unix_ns += 1_000;
        self.push(own, repr, data);
    }

    fn push(&mut self, own: usize, mut repr: TcpRepr, data: &[u8]) {
        (repr.source_port, repr.destination_port) = if own == CLIENT { (1000, 80) } else { (80, 1000) };
        let controls = (repr.flags.0 & 3).count_ones();
        self.next[own] = repr.seq + data.len() as u32 + controls;
        let addresses = Addresses::V4 { source: [198, 18, 0, 1].into(), destination: [10, 0, 0, 1].into() };
        let addresses = if own == CLIENT { addresses } else { addresses.reversed() };
        let ip = IpRepr::new(addresses, Protocol::TCP);
        let message = Message::Tcp(&repr, data);
        let mut packet = vec![0; ip.header_len() + message.wire_len()];
        write_packet(&ip, &message, &mut packet);
        let metadata = PacketMetadata {
            interface: InterfaceId(0),
            at_unix_ns: self.at_unix_ns,
            direction: Direction::Unknown,
            drops: 0,
        };
        self.writer.packet(&metadata, &[&packet]).expect("memory does not fail");
    }

    fn finish(self) -> Vec<u8> {
        self.writer.finish().expect("memory does not fail")
    }
}

/// A capture of one connection whose segments are what the bytes say.
fn segments(mut bytes: &[u8]) -> Vec<u8> {
    let mut file = SegmentFile::new();
    while let Some((&[flags, seq, ack, length, time], rest)) = bytes.split_first_chunk() {
        let (data, rest) = rest.split_at(rest.len().min(usize::from(length)));
        bytes = rest;
        let own = usize::from(flags & 0x80 != 0);
        // Near to what comes next, mostly exactly there.
        let near = |number: SeqNumber, by: u8| if by < 200 { number } else { number + u32::from(by) - 228 };
        let repr = TcpRepr {
            seq: near(file.next[own], seq),
            ack: near(file.next[1 - own], ack),
            flags: TcpFlags(flags & 0x1f),
            window: u16::from(seq),
            ..TcpRepr::default()
        };
        file.at_unix_ns += u64::from(time) * 1_000;
        file.push(own, repr, data);
    }
    file.finish()
}
