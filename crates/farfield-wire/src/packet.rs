//! A whole packet written into one buffer: IP header, what it carries, data.

use crate::icmpv4::Icmpv4Repr;
use crate::icmpv6::Icmpv6Repr;
use crate::ip::{IpRepr, Protocol};
use crate::tcp::TcpRepr;
use crate::udp::UdpRepr;

/// Contents of an IP packet to be written.
#[derive(Debug, Clone, Copy)]
pub enum Message<'a> {
    /// A TCP segment with its data.
    Tcp(&'a TcpRepr, &'a [u8]),
    /// A UDP datagram with its data.
    Udp(UdpRepr, &'a [u8]),
    /// An ICMP message, for an IPv4 header.
    Icmpv4(Icmpv4Repr<'a>),
    /// An ICMP message, for an IPv6 header.
    Icmpv6(Icmpv6Repr<'a>),
}

impl Message<'_> {
    /// Number of the protocol in the IP header.
    pub fn protocol(&self) -> Protocol {
        match self {
            Message::Tcp(..) => Protocol::TCP,
            Message::Udp(..) => Protocol::UDP,
            Message::Icmpv4(_) => Protocol::ICMPV4,
            Message::Icmpv6(_) => Protocol::ICMPV6,
        }
    }

    /// Bytes, header and data.
    pub fn wire_len(&self) -> usize {
        match self {
            Message::Tcp(tcp, data) => tcp.header_len() + data.len(),
            Message::Udp(udp, data) => udp.header_len() + data.len(),
            Message::Icmpv4(icmp) => icmp.wire_len(),
            Message::Icmpv6(icmp) => icmp.wire_len(),
        }
    }
}

/// Writes a packet to the front of `out`, all checksums whole; returns its length. The header's protocol is
/// set to the message's.
///
/// # Panics
/// If `out` is shorter than `ip.header_len() + message.wire_len()`, or that is more than IP can say.
pub fn write_packet(ip: &IpRepr<'_>, message: &Message<'_>, out: &mut [u8]) -> usize {
    let addresses = ip.addresses();
    let ip_len = ip.with_protocol(message.protocol()).emit(message.wire_len(), out);
    let rest = &mut out[ip_len..];
    let message_len = match message {
        Message::Tcp(tcp, data) => with_data(tcp.emit(&addresses, data, rest), data, rest),
        Message::Udp(udp, data) => with_data(udp.emit(&addresses, data, rest), data, rest),
        Message::Icmpv4(icmp) => icmp.emit(&addresses, rest),
        Message::Icmpv6(icmp) => icmp.emit(&addresses, rest),
    };
    ip_len + message_len
}

fn with_data(header_len: usize, data: &[u8], out: &mut [u8]) -> usize {
    let len = header_len + data.len();
    out[header_len..len].copy_from_slice(data);
    len
}
