//! Contents of a capture, and those that could not be rebuilt, counted by cause.

use crate::instant::UnixNs;
use std::collections::BTreeMap;

/// An interface of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InterfaceSeen {
    /// The interface's name, empty if the file has none.
    pub name: String,
    /// Number of its LINKTYPE.
    pub link_type: u16,
    /// Packets of it in the file.
    pub packets: u64,
}

/// Contents of a capture, and those that could not be rebuilt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Limits {
    /// Instant of the earliest packet.
    pub first: Option<UnixNs>,
    /// Instant of the latest packet.
    pub last: Option<UnixNs>,
    /// Interfaces by their number.
    pub interfaces: BTreeMap<u32, InterfaceSeen>,
    /// Packets in the file.
    pub packets: u64,
    /// Packets of the connections that were rebuilt.
    pub packets_used: u64,
    /// Packets of other interfaces or servers than those asked for.
    pub packets_filtered: u64,
    /// Packets that are neither TCP over IP nor, where there are secrets to read it with, QUIC.
    pub packets_other: u64,
    /// Packets that the capture holds twice, the second ones.
    pub packets_duplicate: u64,
    /// Packets of a connection on other interfaces than the one where it was seen first.
    pub other_interface_packets: u64,
    /// Packets of no known connection that open none: ends of connections from before the capture.
    pub packets_stray: u64,
    /// Packets without an instant (pcapng's Simple Packet Blocks), which are not used.
    pub packets_timeless: u64,
    /// Packets with an impossible header, or with one that was cut off.
    pub packets_malformed: u64,
    /// Packets whose checksum shows that they were damaged on the way, which their receiver did not accept.
    pub packets_damaged: u64,
    /// Packets of which the end was cut off (snap length); their data counts by its length.
    pub packets_cut: u64,
    /// Fragments of IP packets.
    pub fragments: u64,
    /// Fragmented packets that did not become whole, and fragments that nothing can be made of.
    pub fragments_unused: u64,
    /// Packets that lie further behind later ones in the file than [`Options::sort_packets`](crate::Options)
    /// allows to mend; they are read with their instants, but after packets that came later.
    pub packets_unsorted: u64,
    /// Packets of link types that are not read, by the number of the LINKTYPE.
    pub unknown_link_types: BTreeMap<u16, u64>,
    /// Packets that the file says the capture lost.
    pub reported_drops: u64,
    /// Why the file could not be read to its end, and after how many packets: cut short, or damaged.
    pub cut_short: Option<String>,
    /// Bytes that were sent but never captured, on connections that were rebuilt.
    pub missing_bytes: u64,
    /// Connections whose SYN is not in the capture.
    pub mid_stream: u64,
    /// Connections of which it was guessed, from port numbers, who is server.
    pub roles_guessed: u64,
    /// Connections that left because of [`Options::open_max`](crate::Options) while they were open.
    pub connections_evicted: u64,
    /// Holes that were given up because too many bytes waited behind them.
    pub holes_given_up: u64,
    /// Times that an HTTP direction was lost because of a hole or a cut, and found again at a later head.
    pub http_resynchronised: u64,
    /// Replies to no captured request: to one from before the capture, or sent by the server of its own
    /// accord.
    pub replies_unasked: u64,
    /// Heads longer than [`Options::head_bytes_max`](crate::Options).
    pub heads_too_long: u64,
    /// Connections that became tunnels (CONNECT, 101 Switching Protocols); what followed was not read.
    pub tunnels: u64,
    /// Sessions of TLS, those of QUIC among them, where there are secrets to read them with.
    pub tls_sessions: u64,
    /// Sessions of TLS of which no secret is known.
    pub tls_without_secrets: u64,
    /// Sessions of TLS of a suite or a version that is not read.
    pub tls_unread_suites: u64,
    /// Records of TLS, and packets of QUIC, whose content could not be decrypted, of all sessions.
    pub tls_records_unread: u64,
}
