//! The whole way from a file to connections and transactions.

use crate::connection::Connection;
use crate::file::{File, FileItem};
use crate::instant::UnixNs;
use crate::limits::Limits;
use crate::link::{self, LinkPayload};
use crate::options::Options;
use crate::quic::QuicTable;
use crate::segment::{self, IpContent};
use crate::sorted::{BufferedPacket, ReorderBuffer};
use crate::table::TrackedConnections;
use crate::tracked::Context;
use crate::transaction::Transaction;
use farfield_base::Instant;
use farfield_wire::{Reassembled, Reassembler, ReassemblyLimits};
use std::io::{self, Read};

/// Why a file cannot be read at all. A file that is damaged later is read up to there, and
/// [`Limits::cut_short`] says so.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The source failed.
    #[error("the capture cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The file begins like no capture that is known.
    #[error("not a capture: neither pcapng nor pcap")]
    NotACapture,
    /// A capture in a format that is not read.
    #[error("{0} captures are not read: convert it with `editcap -F pcapng`")]
    Format(&'static str),
    /// A compressed file.
    #[error("the capture is compressed: decompress it ({0}) first")]
    Compressed(&'static str),
}

/// A capture, rebuilt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Capture {
    /// Connections in the order of their first packets; [`Connection::id`] is the index.
    pub connections: Vec<Connection>,
    /// Transactions by connection, then number.
    pub transactions: Vec<Transaction>,
    /// Counts of what could not be rebuilt.
    pub limits: Limits,
}

/// Takes connections and transactions as they end.
pub trait Sink {
    /// A connection left: all its transactions were handed on before. Connections come in the order in which
    /// they leave, not in that of their ids.
    fn connection(&mut self, connection: Connection);

    /// A transaction ended; those of one connection come in order.
    fn transaction(&mut self, transaction: Transaction);
}

/// Reads a whole capture. Memory grows with connections and transactions; see [`read_into`].
///
/// # Errors
/// If the file is no capture, or its source fails at once.
pub fn read(source: impl Read, options: &Options) -> Result<Capture, CaptureError> {
    let mut capture = Capture::default();
    capture.limits = read_into(source, options, &mut capture)?;
    capture.connections.sort_unstable_by_key(|connection| connection.id);
    capture.transactions.sort_unstable_by_key(|transaction| (transaction.connection, transaction.number));
    Ok(capture)
}

impl Sink for Capture {
    fn connection(&mut self, connection: Connection) {
        self.connections.push(connection);
    }

    fn transaction(&mut self, transaction: Transaction) {
        self.transactions.push(transaction);
    }
}

/// Reads a capture of any length, in memory that grows only with the connections open at once.
///
/// # Errors
/// As [`read`].
pub fn read_into(source: impl Read, options: &Options, sink: &mut impl Sink) -> Result<Limits, CaptureError> {
    let mut limits = Limits::default();
    let mut file = File::open(source, &mut limits)?;
    let mut sorted = ReorderBuffer::new(options.sort_packets);
    let mut rebuild = Rebuild {
        table: TrackedConnections::default(),
        quic: QuicTable::default(),
        fragments: Reassembler::new(ReassemblyLimits::default()),
        waiting_total: 0,
        next_id: 0,
    };
    loop {
        let ended = match file.next_record(&mut limits) {
            FileItem::Noted => continue,
            FileItem::End => true,
            FileItem::Packet(packet) => {
                limits.packets += 1;
                limits.first = Some(limits.first.map_or(packet.at, |first| first.min(packet.at)));
                limits.last = Some(limits.last.map_or(packet.at, |last| last.max(packet.at)));
                if let Some(interface) = limits.interfaces.get_mut(&packet.interface) {
                    interface.packets += 1;
                }
                sorted.push(&packet);
                false
            }
        };
        let mut context = Context {
            options,
            limits: &mut limits,
            sink: &mut *sink,
            waiting_total: &mut rebuild.waiting_total,
            next_id: &mut rebuild.next_id,
        };
        while let Some(held) = sorted.pop(ended) {
            let tables = (&mut rebuild.table, &mut rebuild.quic);
            handle_frame(tables, &mut rebuild.fragments, &held, &mut context);
            sorted.reuse(held.bytes);
        }
        if ended {
            rebuild.table.finish(&mut context);
            rebuild.quic.finish(&mut context);
            limits.fragments_unused += rebuild.fragments.datagrams() as u64;
            file.finish(&mut limits);
            return Ok(limits);
        }
    }
}

/// State that is held while a file is read.
struct Rebuild {
    table: TrackedConnections,
    quic: QuicTable,
    fragments: Reassembler,
    waiting_total: usize,
    next_id: u32,
}

fn handle_frame<S: Sink>(
    tables: (&mut TrackedConnections, &mut QuicTable),
    fragments: &mut Reassembler,
    held: &BufferedPacket,
    context: &mut Context<'_, S>,
) {
    if held.at < tables.0.now() {
        context.limits.packets_unsorted += 1;
    }
    if held.bytes.len() < held.original_len {
        context.limits.packets_cut += 1;
    }
    let (offset, named) = match link::open(held.link_type, &held.bytes) {
        LinkPayload::Ip { offset, interface } => (offset, interface),
        LinkPayload::Other => return context.limits.packets_other += 1,
        LinkPayload::Short => return context.limits.packets_malformed += 1,
        LinkPayload::Unknown => {
            *context.limits.unknown_link_types.entry(held.link_type).or_default() += 1;
            return;
        }
    };
    let interface = named.unwrap_or(held.interface);
    if context.options.interface.is_some_and(|asked| asked != interface) {
        return context.limits.packets_filtered += 1;
    }
    let packet = held.bytes.get(offset..).unwrap_or_default();
    match segment::parse(packet, held.original_len - offset) {
        IpContent::Malformed => context.limits.packets_malformed += 1,
        IpContent::Fragment => {
            context.limits.fragments += 1;
            let now = Instant::from_ns(held.at.0);
            while fragments.poll_expired(now).is_some() {
                context.limits.fragments_unused += 1;
            }
            match fragments.handle_fragment(now, packet) {
                Ok(Reassembled::Waiting) => {}
                Ok(Reassembled::Whole(whole)) => {
                    handle_carried(tables, held.at, interface, segment::parse(&whole, whole.len()), context);
                }
                Err(_) => context.limits.fragments_unused += 1,
            }
        }
        carried => handle_carried(tables, held.at, interface, carried, context),
    }
}

fn handle_carried<S: Sink>(
    (table, quic): (&mut TrackedConnections, &mut QuicTable),
    at: UnixNs,
    interface: u32,
    carried: IpContent<'_>,
    context: &mut Context<'_, S>,
) {
    let (source, destination) = match &carried {
        IpContent::Segment(segment) => (segment.source, segment.destination),
        // QUIC is read with secrets alone.
        IpContent::Datagram(datagram) if context.options.secrets.is_some() => {
            (datagram.source, datagram.destination)
        }
        _ => return context.limits.packets_other += 1,
    };
    let server = context.options.server;
    if !server.matches(destination) && !server.matches(source) {
        return context.limits.packets_filtered += 1;
    }
    match carried {
        IpContent::Segment(segment) => table.handle(at, interface, &segment, context),
        IpContent::Datagram(datagram) => quic.handle(at, interface, &datagram, context),
        _ => {}
    }
}
