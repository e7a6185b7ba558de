//! Errors of routers about packets, and fragments of packets that are too big.

use crate::packet::Packet;
use bytes::Bytes;
use farfield_wire::{Fragments, IcmpError, echo_reply};
use std::net::IpAddr;

/// The ICMP error of the node at `from` about `packet`; `None` where there is none to send.
pub(crate) fn error_about(packet: &Packet, error: IcmpError, from: IpAddr) -> Option<Packet> {
    let mut out = [0; IcmpError::LEN_MAX];
    let len = error.write(&packet.to_bytes(), from, &mut out)?;
    Packet::raw(Bytes::copy_from_slice(&out[..len]))
}

/// The answer of a host to `packet`, of these bytes, which is for it and neither TCP nor UDP: to an echo
/// request its reply, to another that nothing there takes it.
pub(crate) fn answer(packet: &Packet, bytes: &Bytes) -> Option<Packet> {
    let mut reply = vec![0; bytes.len()];
    match echo_reply(bytes, &mut reply) {
        Some(len) => {
            reply.truncate(len);
            Packet::raw(reply.into())
        }
        None => error_about(packet, IcmpError::PortUnreachable, packet.addresses.destination()),
    }
}

/// Hands the fragments of at most `mtu` bytes of `packet` to `each`. Only IPv4 is cut by routers, and its
/// packets bring their own identification.
pub(crate) fn fragments(packet: &Packet, mtu: u32, mut each: impl FnMut(Packet)) {
    let bytes = packet.to_bytes();
    let Ok(mut fragments) = Fragments::new(&bytes, mtu as usize, 0) else { return };
    let mut header = [0; Fragments::HEADER_LEN_MAX];
    while let Some(piece) = fragments.next(&mut header) {
        let whole = [&header[..piece.header_len], piece.payload].concat();
        if let Some(mut part) = Packet::raw(Bytes::from(whole)) {
            part.ttl = packet.ttl;
            each(part);
        }
    }
}
