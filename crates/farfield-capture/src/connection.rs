//! A connection of TCP or QUIC as it was seen on its interface.

use crate::instant::UnixNs;
use std::net::SocketAddr;

/// An end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The end that opened it.
    Client,
    /// The end that was connected to.
    Server,
}

impl Side {
    /// The other end.
    #[must_use]
    pub const fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }
}

/// The end of a connection, judged by the first FIN or RST that was captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum End {
    /// Neither FIN nor RST was captured.
    #[default]
    Open,
    /// A FIN came first.
    Fin {
        /// The end that sent it.
        side: Side,
        /// Instant of its first transmission.
        at: UnixNs,
        /// The other end sent a FIN too, before it could have acknowledged this one (RFC 9293, figure 13).
        simultaneous: bool,
    },
    /// A RST came first: the connection was refused, if nothing else came from the server.
    Reset {
        /// The end that sent it.
        side: Side,
        /// Instant of the RST.
        at: UnixNs,
    },
}

/// Counts of one end's direction, as far as it was captured.
///
/// A segment with data or FIN that brings nothing new is a retransmission if its bytes were captured
/// before, or if it fills a hole later than packets overtake each other: a round trip of the handshake
/// after the hole showed, or 3 ms where the handshake is not in the capture, as tshark's `tcp.analysis` has
/// it; also if duplicate ACKs asked for it. Otherwise it is out of order. Keep-alive probes and zero-window
/// probes are neither, and are counted by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Direction {
    /// Bytes of data, each counted once; those never captured are not among them.
    pub bytes: u64,
    /// Packets, retransmissions and probes included; SYN and pure ACKs too. Duplicates that the capture made
    /// are not counted.
    pub packets: u64,
    /// Segments with data or FIN that were sent again.
    pub retransmissions: u64,
    /// Segments that others of the same end had overtaken.
    pub out_of_order: u64,
    /// Bytes that the other end acknowledged but that were never captured. Where the other end was not
    /// captured at all, those before captured ones; and holes that were given up.
    pub missing_bytes: u64,
    /// Bytes of content of TLS, or of packets of QUIC, that could not be decrypted: their secret is not
    /// known, or their records were not captured whole.
    pub sealed_bytes: u64,
    /// Keep-alive probes (RFC 9293, section 3.8.4).
    pub keep_alives: u64,
    /// Probes of a closed window that carry a byte (RFC 9293, section 3.8.6.1).
    pub window_probes: u64,
    /// Instant of the first FIN.
    pub fin: Option<UnixNs>,
    /// Instant of the first RST.
    pub rst: Option<UnixNs>,
}

/// A connection of TCP or, where there are secrets to read it with, of QUIC. A new SYN between the same
/// addresses and ports begins another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// Index among the connections of the capture, in the order of their first packets.
    pub id: u32,
    /// Interface where it was seen first; packets of it on other interfaces are only counted
    /// ([`Limits::other_interface_packets`](crate::Limits)). An index in the file, or the index that a
    /// header of Linux cooked v2 names.
    pub interface: u32,
    /// The end that opened it.
    pub client: SocketAddr,
    /// The end that was connected to.
    pub server: SocketAddr,
    /// True for a connection of QUIC, over UDP.
    pub is_quic: bool,
    /// True if the capture has the SYN, or the client's first packet of QUIC. If not, requests are counted
    /// from the first one that was captured, and replies up to the first that ends are
    /// [`Lossy`](crate::TransactionState::Lossy): they may be to requests from before it.
    pub seen_from_start: bool,
    /// The first SYN. Of QUIC the client's first datagram, which comes as late after its beginning as the
    /// client has to compute for it.
    pub syn: Option<UnixNs>,
    /// The last SYN-ACK before the client's first ACK: the one that it acknowledges. Of QUIC the server's
    /// first datagram.
    pub syn_ack: Option<UnixNs>,
    /// The client's first ACK of the SYN-ACK; of QUIC as `secured`.
    pub established: Option<UnixNs>,
    /// The packet that completes the last message of the server's in the handshake of TLS, where that was
    /// decrypted.
    pub secured: Option<UnixNs>,
    /// The instant of the first packet.
    pub first: UnixNs,
    /// The instant of the last packet.
    pub last: UnixNs,
    /// SYNs, the first among them; 0 if none was captured.
    pub syn_tries: u32,
    /// The client's direction.
    pub client_side: Direction,
    /// The server's direction.
    pub server_side: Direction,
    /// The end of the connection.
    pub end: End,
    /// Transactions on it.
    pub requests: u32,
    /// The instant at which its client could know that the server takes no more requests on it: GOAWAY of
    /// HTTP/2 (RFC 9113, section 6.8).
    pub going_away: Option<UnixNs>,
}
