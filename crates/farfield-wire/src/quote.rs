//! The packet that an ICMP error quotes: enough of it to find whose it was.
//!
//! A quote is cut anywhere from 8 bytes after the IP header on (RFC 792), so the views, which want whole
//! packets, do not take it. A receiver of errors should also see that a quoted sequence number is one in
//! flight (RFC 5927, section 4.1); the number is here, the check is the connection's.

use crate::field::{array_at, u16_at, u32_at};
use crate::ip::{Addresses, Protocol};
use crate::seq::SeqNumber;
use crate::{ipv4, ipv6};

/// The packet that an ICMP error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quote {
    /// Source of the packet, to which the error is sent, and destination.
    pub addresses: Addresses,
    /// Protocol that it carried.
    pub protocol: Protocol,
    /// For TCP and UDP.
    pub source_port: u16,
    /// For TCP and UDP.
    pub destination_port: u16,
    /// For TCP; of UDP these bytes are length and checksum.
    pub seq: SeqNumber,
}

impl Quote {
    /// Reads the quoted front of a packet that carries TCP, UDP, or anything else whose first 8 bytes came
    /// along.
    ///
    /// `None` if it is cut before that, is a later fragment, or has IPv6 extension headers (which are not
    /// walked here: our own clients send none).
    pub fn parse(bytes: &[u8]) -> Option<Quote> {
        let (addresses, protocol, carried) = match bytes.first()? >> 4 {
            4 => quoted_v4(bytes)?,
            6 => quoted_v6(bytes)?,
            _ => return None,
        };
        let carried = carried.get(..8)?;
        Some(Quote {
            addresses,
            protocol,
            source_port: u16_at(carried, 0),
            destination_port: u16_at(carried, 2),
            seq: SeqNumber(u32_at(carried, 4)),
        })
    }
}

fn quoted_v4(bytes: &[u8]) -> Option<(Addresses, Protocol, &[u8])> {
    let header_len = usize::from(bytes[0] & 0x0f) * 4;
    let later_fragment = u16_at(bytes.get(..ipv4::HEADER_LEN)?, 6) & 0x1fff != 0;
    if header_len < ipv4::HEADER_LEN || later_fragment {
        return None;
    }
    let source = array_at::<4>(bytes, 12).into();
    let destination = array_at::<4>(bytes, 16).into();
    Some((Addresses::V4 { source, destination }, Protocol(bytes[9]), bytes.get(header_len..)?))
}

fn quoted_v6(bytes: &[u8]) -> Option<(Addresses, Protocol, &[u8])> {
    let carried = bytes.get(ipv6::HEADER_LEN..)?;
    let source = array_at::<16>(bytes, 8).into();
    let destination = array_at::<16>(bytes, 24).into();
    let protocol = Protocol(bytes[6]);
    let extended = matches!(
        protocol,
        Protocol::HOP_BY_HOP | Protocol::ROUTING | Protocol::FRAGMENT | Protocol::DESTINATION_OPTIONS
    );
    (!extended).then_some((Addresses::V6 { source, destination }, protocol, carried))
}
