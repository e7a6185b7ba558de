//! ARP of IPv4 over Ethernet (RFC 826), without the Ethernet header.

use crate::ethernet::EthernetAddress;
use crate::field::{array_at, put, put_u16, u16_at};
use crate::ip::ParseError;
use std::net::Ipv4Addr;

/// Operation of a message of ARP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArpOperation {
    /// Question for the owner of the target's IPv4 address.
    Request,
    /// The sender has its.
    Reply,
}

/// A valid message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArpRepr {
    /// Operation of the message.
    pub operation: ArpOperation,
    /// The sender's Ethernet address.
    pub sender: EthernetAddress,
    /// The sender's IPv4 address; 0.0.0.0 of one that asks without having any (RFC 5227, section 1.1).
    pub sender_ip: Ipv4Addr,
    /// The target's Ethernet address; zero in a request.
    pub target: EthernetAddress,
    /// The target's IPv4 address.
    pub target_ip: Ipv4Addr,
}

/// Ethernet, IPv4, and the lengths of their addresses.
const KINDS: [u8; 6] = [0, 1, 8, 0, 6, 4];

impl ArpRepr {
    /// Bytes of a message.
    pub const LEN: usize = 28;

    /// Message in the payload of an Ethernet frame.
    ///
    /// # Errors
    /// `Truncated` if it is short, `Unknown` for other kinds of addresses or operations.
    pub fn parse(bytes: &[u8]) -> Result<ArpRepr, ParseError> {
        if bytes.len() < ArpRepr::LEN {
            return Err(ParseError::Truncated);
        }
        let operation = match (bytes[..6] == KINDS, u16_at(bytes, 6)) {
            (true, 1) => ArpOperation::Request,
            (true, 2) => ArpOperation::Reply,
            _ => return Err(ParseError::Unknown),
        };
        Ok(ArpRepr {
            operation,
            sender: EthernetAddress(array_at(bytes, 8)),
            sender_ip: Ipv4Addr::from(array_at::<4>(bytes, 14)),
            target: EthernetAddress(array_at(bytes, 18)),
            target_ip: Ipv4Addr::from(array_at::<4>(bytes, 24)),
        })
    }

    /// The message as bytes.
    pub fn emit(&self) -> [u8; ArpRepr::LEN] {
        let mut out = [0; ArpRepr::LEN];
        put(&mut out, 0, &KINDS);
        put_u16(&mut out, 6, if self.operation == ArpOperation::Request { 1 } else { 2 });
        put(&mut out, 8, &self.sender.0);
        put(&mut out, 14, &self.sender_ip.octets());
        put(&mut out, 18, &self.target.0);
        put(&mut out, 24, &self.target_ip.octets());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_as_rfc_826_draws_it() {
        let request = ArpRepr {
            operation: ArpOperation::Request,
            sender: EthernetAddress([2, 0, 0, 0, 0, 1]),
            sender_ip: Ipv4Addr::new(10, 0, 0, 1),
            target: EthernetAddress::ZERO,
            target_ip: Ipv4Addr::new(10, 0, 0, 2),
        };
        let bytes = request.emit();
        assert_eq!(bytes[..14], [0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1]);
        assert_eq!(bytes[14..], [10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2]);
        assert_eq!(ArpRepr::parse(&bytes), Ok(request));
        // Frames are padded to 60 bytes on the wire.
        assert_eq!(ArpRepr::parse(&[&bytes[..], &[0; 18]].concat()), Ok(request));
        let mut of_ieee_802 = bytes;
        of_ieee_802[1] = 6;
        assert_eq!(ArpRepr::parse(&of_ieee_802), Err(ParseError::Unknown));
    }

    proptest! {
        #[test]
        fn any_bytes_read_back_or_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..40), valid: bool) {
            let mut bytes = bytes;
            if valid && bytes.len() > 8 {
                bytes[..6].copy_from_slice(&KINDS);
                bytes[6..8].copy_from_slice(&[0, 1]);
            }
            match ArpRepr::parse(&bytes) {
                Ok(repr) => prop_assert_eq!(&repr.emit()[..], &bytes[..ArpRepr::LEN]),
                Err(error) => prop_assert!(bytes.len() < ArpRepr::LEN || error == ParseError::Unknown),
            }
        }
    }
}
