//! A client's host takes what is for it: segments for its connections, fragments, echo requests, errors about
//! what it sent.

use crate::client_side::{ClientSide, Upcall};
use crate::icmp;
use crate::packet::{Carried, Packet, Tcp};
use crate::slots::ClientSlot;
use crate::transport::stats_of;

use bytes::Bytes;
use farfield_tcp::reply_to_stray;
use farfield_user::Failure;
use farfield_wire::{
    IcmpError, Icmpv4Repr, Icmpv6Repr, IpPacket, Quote, Reassembled, Transport, Unreachable, echo_reply,
};

impl ClientSide {
    /// Hands a packet to the host of the client at `client`.
    pub fn receive(&mut self, client: ClientSlot, packet: Packet) {
        match &packet.carried {
            Carried::Tcp(tcp) => self.receive_tcp(client, Some(&packet), tcp),
            Carried::Raw(bytes) => self.receive_raw(client, &packet, bytes),
            // A real host's, for an emulated one.
            Carried::Framed(_) => {
                if let Some(packet) = Packet::raw(packet.to_bytes().into()) {
                    self.receive(client, packet);
                }
            }
        }
    }

    /// A segment, in a `packet` where it is not one as the plan has them.
    pub fn receive_tcp(&mut self, client: ClientSlot, packet: Option<&Packet>, tcp: &Tcp) {
        let Some(slot) = self.clients[client.index()].connection(tcp.destination_port) else {
            return self.answer_stray(client, packet, tcp);
        };
        let now = self.transit.now;
        let socket = &mut self.connections[slot.index()];
        let (key, upcalls, payload) = (socket.key, &mut self.upcalls, &tcp.payload);
        let (opening, before) = (!socket.tcp.state().is_synchronized(), upcalls.len());
        let mut unwanted = false;
        socket.tcp.handle_segment(now, &tcp.segment, payload, |bytes| match key {
            Some(key) => upcalls.push_back(Upcall::Received(key, piece_of(payload, bytes))),
            None => unwanted = true,
        });
        if let Some(key) = key.filter(|_| opening && upcalls.len() > before) {
            // Text on a SYN-ACK: the upcall of the connection comes first
            let event = socket.tcp.poll_event();
            debug_assert_eq!(event, Some(farfield_tcp::Event::Connected));
            upcalls.insert(before, Upcall::Connected(key));
        }
        if unwanted {
            // RFC 9293 §3.6.1: data for a user who has closed: the peer is reset.
            socket.tcp.abort();
        }
        // As in a real stack, what is to be acknowledged at once is so before the user wakes.
        self.flush(slot);
    }

    /// A segment for a port on which there is no connection, or one in TIME-WAIT (RFC 9293 §3.10.7.1 and
    /// §3.10.7.4).
    fn answer_stray(&mut self, client: ClientSlot, packet: Option<&Packet>, tcp: &Tcp) {
        let (now, port) = (self.transit.now, tcp.destination_port);
        let class = &self.transit.plan.classes[usize::from(self.clients[client.index()].class)];
        let waiting = self.time_waits.answer(now, client, port, &tcp.segment, class.tcp.time_wait);
        if let Some(segment) = waiting.unwrap_or_else(|| reply_to_stray(&tcp.segment)) {
            let Some(packet) = packet else {
                return self.send_segment(client, port, &segment, &Bytes::new());
            };
            let (source_port, destination_port) = (port, tcp.source_port);
            let reply = Tcp { source_port, destination_port, segment, payload: Bytes::new() };
            self.send_up(client, Packet::tcp(packet.addresses.reversed(), reply));
        }
    }

    fn receive_raw(&mut self, client: ClientSlot, packet: &Packet, bytes: &Bytes) {
        let Ok(ip) = IpPacket::parse(bytes) else {
            self.transit.drops.damaged += 1;
            return;
        };
        // Damage may have struck the addresses.
        let intact = match &ip {
            IpPacket::V4(v4) => v4.checksum_is_valid(),
            IpPacket::V6(_) => true,
        };
        if !intact || ip.addresses() != packet.addresses {
            self.transit.drops.damaged += 1;
            return;
        }
        match ip.transport() {
            Ok(Transport::Tcp(view)) if view.checksum_is_valid(&packet.addresses) => {
                let tcp = Tcp::parse(&view, bytes);
                self.receive_tcp(client, Some(packet), &tcp);
            }
            Ok(Transport::Fragment(_)) => {
                if let Ok(Reassembled::Whole(whole)) =
                    self.reassembler.handle_fragment(self.transit.now, bytes)
                {
                    let whole = Bytes::from(whole);
                    if let Some(packet) = Packet::raw(whole) {
                        self.receive(client, packet);
                    }
                }
            }
            Ok(Transport::Icmpv4(icmp)) if icmp.checksum_is_valid(&packet.addresses) => {
                match Icmpv4Repr::parse(&icmp) {
                    Ok(Icmpv4Repr::Unreachable { reason, quote }) => {
                        self.receive_v4_error(client, reason, quote)
                    }
                    _ => self.answer(client, packet),
                }
            }
            Ok(Transport::Icmpv6(icmp)) if icmp.checksum_is_valid(&packet.addresses) => {
                match Icmpv6Repr::parse(&icmp) {
                    Ok(Icmpv6Repr::Unreachable { quote, .. }) => self.receive_error(client, quote, None),
                    Ok(Icmpv6Repr::PacketTooBig { mtu, quote }) => {
                        self.receive_error(client, quote, Some(mtu.saturating_sub(60)));
                    }
                    _ => self.answer(client, packet),
                }
            }
            Ok(Transport::Udp(udp)) if udp.checksum_is_valid(&packet.addresses) => {
                self.answer(client, packet)
            }
            Ok(Transport::Other(_)) => self.answer(client, packet),
            _ => self.transit.drops.damaged += 1,
        }
    }

    fn receive_v4_error(&mut self, client: ClientSlot, reason: Unreachable, quote: &[u8]) {
        let mss = match reason {
            Unreachable::FragmentationNeeded { next_hop_mtu } => {
                Some(u32::from(next_hop_mtu).saturating_sub(40))
            }
            _ => None,
        };
        self.receive_error(client, quote, mss);
    }

    /// Something that the client sent did not get through: it was too big for segments beyond `mss`, or there
    /// is no way. RFC 1122 §4.2.3.9: the latter ends only an attempt to connect.
    fn receive_error(&mut self, client: ClientSlot, quote: &[u8], mss: Option<u32>) {
        let Some(quote) = Quote::parse(quote) else { return };
        let Some(slot) = self.clients[client.index()].connection(quote.source_port) else { return };
        let socket = &mut self.connections[slot.index()];
        match mss {
            Some(mss) => socket.tcp.reduce_mss(mss.min(u32::from(u16::MAX)) as u16),
            None if !socket.tcp.state().is_synchronized() => {
                socket.tcp.abort();
                if let Some(key) = socket.key.take() {
                    self.bound[key.slot.index()] = None;
                    let counters = stats_of(&socket.tcp);
                    self.upcalls.push_back(Upcall::Failed(key, Failure::Unreachable, Some(counters)));
                }
            }
            None => {}
        }
        self.flush(slot);
    }

    /// Answers a packet for a client that is not TCP: echo requests, and datagrams for ports that are closed.
    fn answer(&mut self, client: ClientSlot, packet: &Packet) {
        let Carried::Raw(bytes) = &packet.carried else { return };
        let mut reply = vec![0; bytes.len()];
        let reply = match echo_reply(bytes, &mut reply) {
            Some(len) => {
                reply.truncate(len);
                Packet::raw(reply.into())
            }
            None => {
                let own = packet.addresses.destination();
                icmp::error_about(packet, IcmpError::PortUnreachable, own)
            }
        };
        if let Some(reply) = reply {
            self.send_up(client, reply);
        }
    }
}

/// `bytes` as a part of `payload` if it lies there, and else a copy: what filled a gap comes from a store.
fn piece_of(payload: &Bytes, bytes: &[u8]) -> Bytes {
    if payload.as_ptr_range().contains(&bytes.as_ptr()) {
        payload.slice_ref(bytes)
    } else {
        Bytes::copy_from_slice(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_shared_where_they_can_be() {
        let payload = Bytes::from_static(b"abcdef");
        assert_eq!(piece_of(&payload, &payload[2..4]).as_ptr(), payload[2..].as_ptr());
        assert_eq!(piece_of(&payload, b"xy"), Bytes::from_static(b"xy"));
    }
}
