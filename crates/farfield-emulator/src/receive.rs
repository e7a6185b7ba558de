//! A client's host takes what is for it: segments for its connections, datagrams for its sockets, fragments,
//! echo requests, errors about what it sent.

use crate::client::PortKind;
use crate::client_side::ClientSide;
use crate::datagrams::Complaint;
use crate::icmp;
use crate::packet::{Packet, PacketPayload, Tcp, Udp};
use crate::slots::{ClientSlot, SocketSlot};
use bytes::Bytes;
use farfield_base::HostNumber;
use farfield_tcp::reply_to_stray;
use farfield_wire::{
    Icmpv4Repr, Icmpv6Repr, IpPacket, Protocol, Quote, Reassembled, Transport, Unreachable, Unreachablev6,
};

impl ClientSide {
    /// Hands a packet to the host of the client at `client`.
    pub fn receive(&mut self, client: ClientSlot, packet: Packet) {
        match &packet.carried {
            PacketPayload::Tcp(tcp) => self.receive_tcp(client, Some(&packet), tcp),
            PacketPayload::Udp(udp) => self.receive_datagram(client, Some(&packet), packet.ecn, udp.clone()),
            PacketPayload::Raw(bytes) => self.receive_raw(client, &packet, bytes),
            // A real host's, for an emulated one.
            PacketPayload::Framed(_) => {
                if let Some(packet) = Packet::raw(packet.to_bytes().into()) {
                    self.receive(client, packet);
                }
            }
        }
    }

    /// A segment, in a `packet` where it is not one as the plan has them.
    pub fn receive_tcp(&mut self, client: ClientSlot, packet: Option<&Packet>, tcp: &Tcp) {
        let port = (PortKind::Tcp, tcp.destination_port);
        let Some(slot) = self.hosts.clients[client].socket(port).filter(|slot| self.is_of(*slot, packet))
        else {
            return self.answer_stray(client, packet, tcp);
        };
        self.hosts.receive_segment(self.transit.now, slot, tcp);
        // As in a real stack, what is to be acknowledged at once is so before the user wakes.
        self.flush(slot);
    }

    /// True if a segment is of the server that a connection is with. Addresses that are no server's are of
    /// one that is known by another address.
    fn is_of(&self, slot: SocketSlot, packet: Option<&Packet>) -> bool {
        let socket = &self.hosts.tcp[slot];
        let found = match packet {
            Some(packet) => self.transit.plan.server_at(packet.addresses.source()),
            None => Some(self.server_for(socket.client, HostNumber::TARGET)),
        };
        found.is_none_or(|server| server == socket.server)
    }

    /// A segment for a port on which there is no connection, or one in TIME-WAIT (RFC 9293 §3.10.7.1 and
    /// §3.10.7.4).
    fn answer_stray(&mut self, client: ClientSlot, packet: Option<&Packet>, tcp: &Tcp) {
        let (now, port) = (self.transit.now, tcp.destination_port);
        let class = &self.transit.plan.classes[usize::from(self.hosts.clients[client].class)];
        let waiting = self.hosts.tcp.time_waits.answer(now, client, port, &tcp.segment, class.tcp.time_wait);
        if let Some(segment) = waiting.unwrap_or_else(|| reply_to_stray(&tcp.segment)) {
            let Some(packet) = packet else {
                let server = self.server_for(client, HostNumber::TARGET);
                return self.send_segment((client, server), port, &segment, &Bytes::new());
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
                let tcp = Tcp::parse(&view, packet.ecn, bytes);
                self.receive_tcp(client, Some(packet), &tcp);
            }
            Ok(Transport::Fragment(_)) => {
                // What a queue marked says so in the packet, and in its bytes only once they are written.
                let marked = (packet.ecn != ip.ecn()).then(|| packet.to_bytes());
                let bytes = marked.as_deref().unwrap_or(bytes);
                if let Ok(Reassembled::Whole(whole)) =
                    self.hosts.reassembler.handle_fragment(self.transit.now, bytes)
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
                        self.receive_error(client, quote, complaint_of_v4(reason));
                    }
                    _ => self.answer(client, packet),
                }
            }
            Ok(Transport::Icmpv6(icmp)) if icmp.checksum_is_valid(&packet.addresses) => {
                match Icmpv6Repr::parse(&icmp) {
                    Ok(Icmpv6Repr::Unreachable { reason, quote }) => {
                        let is_port = reason == Unreachablev6::Port;
                        let complaint = if is_port { Complaint::PortClosed } else { Complaint::NoWay };
                        self.receive_error(client, quote, complaint);
                    }
                    Ok(Icmpv6Repr::PacketTooBig { mtu, quote }) => {
                        self.receive_error(client, quote, Complaint::TooBig { mtu });
                    }
                    _ => self.answer(client, packet),
                }
            }
            Ok(Transport::Udp(udp)) if udp.checksum_is_valid(&packet.addresses) => {
                let udp = Udp::parse(&udp, bytes);
                self.receive_datagram(client, Some(packet), packet.ecn, udp);
            }
            Ok(Transport::Other(_)) => self.answer(client, packet),
            _ => self.transit.drops.damaged += 1,
        }
    }

    /// Something that the client sent did not get through.
    fn receive_error(&mut self, client: ClientSlot, quote: &[u8], complaint: Complaint) {
        let Some(quote) = Quote::parse(quote) else { return };
        if quote.protocol == Protocol::UDP {
            let server = self.server_of_datagrams(client, quote.source_port);
            return self.hosts.receive_udp_complaint(client, server, &quote, complaint);
        }
        let port = (PortKind::Tcp, quote.source_port);
        let Some(slot) = self.hosts.clients[client].socket(port) else { return };
        let headers_len = if self.is_v6(client) { 60 } else { 40 };
        self.hosts.receive_tcp_complaint(slot, complaint, headers_len);
        self.flush(slot);
    }

    /// Answers a packet for a client that is neither TCP nor UDP: an echo request, or nothing that it takes.
    fn answer(&mut self, client: ClientSlot, packet: &Packet) {
        let PacketPayload::Raw(bytes) = &packet.carried else { return };
        if let Some(reply) = icmp::answer(packet, bytes) {
            self.send_up(client, reply);
        }
    }
}

fn complaint_of_v4(reason: Unreachable) -> Complaint {
    match reason {
        Unreachable::FragmentationNeeded { next_hop_mtu } => Complaint::TooBig { mtu: next_hop_mtu.into() },
        Unreachable::Port => Complaint::PortClosed,
        _ => Complaint::NoWay,
    }
}
