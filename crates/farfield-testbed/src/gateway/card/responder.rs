//! Messages from addresses on a network card to their neighbours: answers of ARP (RFC 826, RFC 5227) and of
//! neighbour discovery (RFC 4861) for these addresses alone, and questions. No I/O.

use crate::gateway::blocks::is_in;
use farfield_wire::{ArpOperation, ArpRepr, EthernetAddress, Neighbour};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const HEADER_LEN: usize = 14;
const ARP: [u8; 2] = [0x08, 0x06];
const IPV6: [u8; 2] = [0x86, 0xdd];

/// Answers and asks for the addresses of a card.
#[derive(Debug)]
pub(super) struct Responder {
    ethernet: EthernetAddress,
    own: Vec<(IpAddr, u8)>,
    /// The address that questions of IPv6 come from.
    link_local: Ipv6Addr,
    /// The responder answers for its own addresses.
    answers: bool,
}

/// Consequence of a neighbour's frame.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FrameOutcome {
    /// A frame to be sent.
    pub reply: Option<Vec<u8>>,
    /// An address, and who has it.
    pub known: Option<(IpAddr, EthernetAddress)>,
    /// An own address that somebody else says to have.
    pub claimed: Option<(IpAddr, EthernetAddress)>,
}

impl Responder {
    pub fn new(ethernet: EthernetAddress, own: &[(IpAddr, u8)], answers: bool) -> Responder {
        Responder { ethernet, own: own.to_vec(), link_local: ethernet.link_local(), answers }
    }

    /// Handles a frame of ARP or IPv6. What is malformed, or concerns others, leads to nothing.
    pub fn handle(&self, frame: &[u8]) -> FrameOutcome {
        let Some((header, payload)) = frame.split_at_checked(HEADER_LEN) else {
            return FrameOutcome::default();
        };
        let mut sender = EthernetAddress([0; 6]);
        sender.0.copy_from_slice(&header[6..12]);
        // Its own frames, which some switches send back.
        if sender == self.ethernet {
            return FrameOutcome::default();
        }
        match [header[12], header[13]] {
            ARP => ArpRepr::parse(payload).map(|arp| self.handle_arp(&arp)).unwrap_or_default(),
            IPV6 => {
                Neighbour::parse(payload).map(|message| self.handle_v6(&message, sender)).unwrap_or_default()
            }
            _ => FrameOutcome::default(),
        }
    }

    fn handle_arp(&self, arp: &ArpRepr) -> FrameOutcome {
        let sender = IpAddr::V4(arp.sender_ip);
        let is_known =
            !arp.sender_ip.is_unspecified() && arp.sender.is_unicast() && arp.sender != self.ethernet;
        let is_mine = self.has(sender);
        let asks = arp.operation == ArpOperation::Request && self.answers && self.has(arp.target_ip.into());
        // One that says to have an own address is given no answer for it.
        let reply = (asks && !is_mine)
            .then(|| self.arp(arp.sender, ArpOperation::Reply, arp.target_ip, arp.sender, arp.sender_ip));
        let said = is_known.then_some((sender, arp.sender));
        FrameOutcome { reply, known: said.filter(|_| !is_mine), claimed: said.filter(|_| is_mine) }
    }

    fn handle_v6(&self, message: &Neighbour, sender: EthernetAddress) -> FrameOutcome {
        match *message {
            Neighbour::Solicitation { from, target, source, .. } => {
                let asks = target == self.link_local || self.answers && self.has(target.into());
                let solicited = !from.is_unspecified();
                let to = if solicited { from } else { Neighbour::ALL };
                let receiver =
                    if solicited { source.unwrap_or(sender) } else { EthernetAddress::of_multicast(to) };
                let address = Some(self.ethernet);
                let answer = Neighbour::Advertisement { from: target, to, target, address, solicited };
                let said = source.filter(|ethernet| solicited && ethernet.is_unicast());
                let said = said.map(|ethernet| (IpAddr::V6(from), ethernet));
                let is_mine = solicited && self.has(from.into());
                FrameOutcome {
                    reply: (asks && !is_mine).then(|| self.neighbour(receiver, &answer)),
                    known: said.filter(|_| !is_mine),
                    claimed: said.filter(|_| is_mine),
                }
            }
            Neighbour::Advertisement { target, address, .. } => {
                let said = address.filter(|ethernet| ethernet.is_unicast() && *ethernet != self.ethernet);
                let said = said.map(|ethernet| (IpAddr::V6(target), ethernet));
                let is_mine = self.has(target.into());
                FrameOutcome {
                    reply: None,
                    known: said.filter(|_| !is_mine),
                    claimed: said.filter(|_| is_mine),
                }
            }
        }
    }

    /// A question who has `address`: to all, or to `known`, who had it. Of IPv4 it comes from no address, as
    /// a probe does, so that whoever answers needs no way back to it.
    pub fn question(&self, address: IpAddr, known: Option<EthernetAddress>) -> Vec<u8> {
        match address {
            IpAddr::V4(target) => {
                let receiver = known.unwrap_or(EthernetAddress::BROADCAST);
                let nobody = Ipv4Addr::UNSPECIFIED;
                self.arp(receiver, ArpOperation::Request, nobody, EthernetAddress::ZERO, target)
            }
            IpAddr::V6(target) => {
                let to = if known.is_some() { target } else { Neighbour::group_of(target) };
                let receiver = known.unwrap_or_else(|| EthernetAddress::of_multicast(to));
                let (from, source) = (self.link_local, Some(self.ethernet));
                self.neighbour(receiver, &Neighbour::Solicitation { from, to, target, source })
            }
        }
    }

    /// A question whether anybody has the own address `address`.
    pub fn probe(&self, address: IpAddr) -> Vec<u8> {
        match address {
            IpAddr::V4(_) => self.question(address, None),
            IpAddr::V6(target) => {
                let to = Neighbour::group_of(target);
                let probe = Neighbour::Solicitation { from: Ipv6Addr::UNSPECIFIED, to, target, source: None };
                self.neighbour(EthernetAddress::of_multicast(to), &probe)
            }
        }
    }

    fn has(&self, address: IpAddr) -> bool {
        is_in(&self.own, address)
    }

    fn arp(
        &self,
        receiver: EthernetAddress,
        operation: ArpOperation,
        sender_ip: Ipv4Addr,
        target: EthernetAddress,
        target_ip: Ipv4Addr,
    ) -> Vec<u8> {
        let sender = self.ethernet;
        let arp = ArpRepr { operation, sender, sender_ip, target, target_ip };
        self.frame(receiver, ARP, &arp.emit())
    }

    fn neighbour(&self, receiver: EthernetAddress, message: &Neighbour) -> Vec<u8> {
        let mut bytes = [0; Neighbour::LEN];
        let length = message.emit(&mut bytes);
        self.frame(receiver, IPV6, &bytes[..length])
    }

    fn frame(&self, receiver: EthernetAddress, ethertype: [u8; 2], payload: &[u8]) -> Vec<u8> {
        [&receiver.0[..], &self.ethernet.0, &ethertype, payload].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OWN: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 1]);
    const OTHER: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 9]);

    fn responder(answers: bool) -> Responder {
        let own = [("198.18.0.0", 24), ("2001:2::", 64)].map(|(first, bits)| (first.parse().unwrap(), bits));
        Responder::new(OWN, &own, answers)
    }

    /// Another machine's responder, to ask and answer with.
    fn other() -> Responder {
        let own = [("10.1.2.3", 32), ("fd00::1", 128)].map(|(first, bits)| (first.parse().unwrap(), bits));
        Responder::new(OTHER, &own, true)
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn own_addresses_are_answered_for_and_no_others() {
        for own in ["198.18.0.7", "2001:2::7"] {
            let asked = other().question(address(own), None);
            let reply = responder(true).handle(&asked).reply.expect("an answer");
            assert_eq!((&reply[..6], &reply[6..12]), (&OTHER.0[..], &OWN.0[..]));
            assert_eq!(other().handle(&reply).known, Some((address(own), OWN)));
            assert_eq!(responder(false).handle(&asked).reply, None, "others route to the card");
        }
        for foreign in ["198.18.1.7", "10.1.2.3", "2001:3::7", "fe80::1"] {
            assert_eq!(responder(true).handle(&other().question(address(foreign), None)).reply, None);
        }
    }

    #[test]
    fn machines_are_learned_from_their_questions_and_answers() {
        for theirs in ["10.1.2.3", "fd00::1"] {
            let question = responder(true).question(address(theirs), None);
            let answer = other().handle(&question).reply.expect("an answer");
            let heard = responder(true).handle(&answer);
            assert_eq!(
                heard,
                FrameOutcome { known: Some((address(theirs), OTHER)), ..FrameOutcome::default() }
            );
            // And again, by the address that was learned.
            let question = responder(true).question(address(theirs), Some(OTHER));
            assert_eq!(&question[..6], &OTHER.0);
            assert!(other().handle(&question).reply.is_some());
        }
        // The kernel that answered asks back for the address that asked.
        let link_local = IpAddr::V6(OWN.link_local());
        assert!(responder(false).handle(&other().question(link_local, None)).reply.is_some());
    }

    #[test]
    fn a_probe_finds_who_has_an_own_address() {
        let squatter =
            Responder::new(OTHER, &[(address("198.18.0.7"), 32), (address("2001:2::7"), 128)], true);
        for own in ["198.18.0.7", "2001:2::7"] {
            let answer = squatter.handle(&responder(true).probe(address(own))).reply.expect("an answer");
            let heard = responder(true).handle(&answer);
            assert_eq!(
                heard,
                FrameOutcome { claimed: Some((address(own), OTHER)), ..FrameOutcome::default() }
            );
            // Probed by another before it takes the address, it is defended.
            assert!(responder(true).handle(&squatter.probe(address(own))).reply.is_some());
        }
        let free = responder(true).probe(address("198.18.0.8"));
        assert_eq!(other().handle(&free), FrameOutcome::default());
        assert_eq!(responder(true).handle(&free), FrameOutcome::default(), "its own frame, sent back");
    }

    proptest! {
        #[test]
        fn any_frame_is_heard_or_not(bytes in prop::collection::vec(any::<u8>(), 0..120), kind in 0usize..3) {
            let mut bytes = bytes;
            if let (Some(ethertype), true) = (bytes.get_mut(12..14), kind < 2) {
                ethertype.copy_from_slice(&[ARP, IPV6][kind]);
            }
            let heard = responder(true).handle(&bytes);
            prop_assert!(heard.reply.is_none_or(|reply| reply[6..12] == OWN.0));
        }
    }
}
