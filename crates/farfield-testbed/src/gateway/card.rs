//! The gateway on a network card: a server on another machine, and clients whose addresses live on this
//! machine's card, as far as the link is concerned.
//!
//! Packet sockets take the frames from the named hosts to these addresses, and no others. A thread answers
//! ARP and neighbour discovery for the addresses, finds the Ethernet addresses of the other machines, and
//! sees to it that nobody else has one of them. This machine's own kernel gets none of it: the addresses are
//! on no interface, and the frames, to an Ethernet address of their own, are none of the card's. Nothing of
//! the card or the kernel is changed; what the card lets in beside its own frames ends with the sockets.

mod error;
pub(crate) mod link;
mod responder;

pub use error::CardError;

use super::blocks::{in_words, is_in, offset_by};
use crate::{Changes, TestbedSpec, settings};
use farfield_base::{Duration, Instant};
use farfield_os::card_filter;
use farfield_os::clock::Clock;
use farfield_os::netlink::{CardEntry, Netlink};
use farfield_os::packet_socket::{self, Membership};
use farfield_wire::EthernetAddress;
use link::{Link, Peers};
use responder::{FrameOutcome, Responder};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::time::Timespec;
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// A network card with the machines that are reached by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardSpec {
    /// The interface's name, in the network namespace that farfield runs in.
    pub interface: String,
    /// The addresses that live on it, as blocks.
    pub own: Vec<(IpAddr, u8)>,
    /// The machines that are reached by it, as blocks.
    pub peers: Vec<(IpAddr, u8)>,
    /// Machines that are looked for before anything is sent: the servers.
    pub servers: Vec<IpAddr>,
    /// Routers to the peers, of IPv4 and of IPv6; that of the kernel's own route by the interface, or none
    /// where peers are on the link, if absent.
    pub next_hops: [Option<IpAddr>; 2],
    /// The Ethernet address of frames.
    pub address: CardAddress,
    /// The card answers for its addresses. If not, somebody routes them to the card's own address.
    pub answers: bool,
}

impl CardSpec {
    /// Changes that are made on the card, in words.
    pub fn changes(&self) -> Changes {
        let of =
            |nth: usize| self.next_hops[nth].map(|hop| format!(", by the router {hop}")).unwrap_or_default();
        let ethernet = match self.address {
            CardAddress::Own => "an Ethernet address of their own".to_owned(),
            CardAddress::Cards => "the card's Ethernet address".to_owned(),
            CardAddress::Given(address) => format!("the Ethernet address {address}"),
        };
        let blocks = in_words(&self.own);
        let own = match self.answers {
            true => format!(
                "{blocks}, where clients are: ARP and neighbour discovery are answered for them, with {ethernet}"
            ),
            false => format!("packets to {blocks}, where clients are, which others route to this machine"),
        };
        let servers = self.servers.iter().map(|server| {
            format!(
                "packets between these and {server}{}, and nobody else",
                of(usize::from(server.is_ipv6()))
            )
        });
        Changes {
            heading: format!("while this runs, farfield has on the network card {}", self.interface),
            list: std::iter::once(own).chain(servers).collect(),
            ending: "no address, route or setting of this machine is changed",
        }
    }
}

/// The Ethernet address that addresses on a card have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CardAddress {
    /// A separate address, made from the card's.
    #[default]
    Own,
    /// The card's. The kernel of this machine gets the frames as well.
    Cards,
    /// The given address.
    Given(EthernetAddress),
}

/// A card in use: the sockets' link, and the thread that talks to neighbours.
#[derive(Debug)]
pub(crate) struct Card {
    pub link: Arc<Link>,
    pub entry: CardEntry,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The longest wait of the thread before it looks at the stop flag.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// Addresses that are asked for before they are used, at most: of more, some spread over all.
const PROBED_MOST: usize = 256;
/// Each is asked for so often (RFC 5227, section 2.1.1, has 3).
const PROBES: u32 = 3;
/// Time for an answer.
const PROBE_WAIT: Duration = Duration::from_ms(150);
/// A machine that is looked for is asked for so often, and each time waited for.
const ASKS: u32 = 6;
const ASK_WAIT: Duration = Duration::from_ms(500);
/// A machine whose address was heard that long ago is asked again, by its address.
const REFRESH: Duration = Duration::from_secs(20);
/// Time between two questions for a machine that is not known.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// Time that a machine has to answer before another is believed to have its address.
const CLAIM_WAIT: Duration = Duration::from_secs(1);
/// A frame of ARP or neighbour discovery is shorter.
const FRAME_LEN: usize = 256;
/// Frames that are handled at once: neighbours that never pause keep the thread from nothing else.
const HEARD_MOST: usize = 64;
/// Machines of which is kept when they were asked for last, before those of long ago are forgotten.
const ASKED_MOST: usize = 1 << 16;

impl Card {
    /// Opens a card in the calling thread's network namespace, with a socket for each queue. When it returns,
    /// the servers' Ethernet addresses are known, and nobody else has answered for an own address.
    ///
    /// # Errors
    /// See [`CardError`]; then nothing is left behind.
    pub fn open(
        card: &CardSpec,
        spec: &TestbedSpec,
        receive_bytes: usize,
    ) -> Result<(Card, Vec<OwnedFd>), CardError> {
        let name = || card.interface.clone();
        let refused = |source| CardError::of_opening(&card.interface, source);
        let mut netlink = Netlink::open().map_err(refused)?;
        let entry = look_at(&mut netlink, &card.interface)?;
        check_own(&mut netlink, card).map_err(refused)?.map_or(Ok(()), Err)?;
        let own = match card.address {
            CardAddress::Cards => EthernetAddress(entry.address),
            CardAddress::Own => EthernetAddress(entry.address).local(),
            CardAddress::Given(address) => address,
        };
        if own.0 == entry.address {
            check_forwarding(card)?;
        }
        let hops = [0, 1].map(|family| {
            let of_family = |server: &&IpAddr| usize::from(server.is_ipv6()) == family;
            let by_kernel = || netlink.router_towards(*card.servers.iter().find(of_family)?, entry.index);
            card.next_hops[family].or_else(by_kernel)
        });
        let mut filter = card_filter::packets(own.0, &card.peers, &card.own)
            .ok_or(CardError::TooManyBlocks { blocks: card.own.len() + card.peers.len() })?;
        let sockets = (0..spec.queues.get())
            .map(|_| packet_socket::open_on_card(entry.index, receive_bytes, &mut filter, true))
            .collect::<io::Result<Vec<_>>>()
            .map_err(refused)?;
        if sockets.len() > 1 {
            packet_socket::spread(&sockets, &spec.steering()).map_err(refused)?;
        }
        let talk = packet_socket::open_on_card(entry.index, 1 << 20, &mut card_filter::neighbours(), false)
            .map_err(refused)?;
        let let_in = |membership| packet_socket::join(&talk, entry.index, membership);
        if own.0 != entry.address && let_in(Membership::Unicast(own.0)).is_err() {
            let_in(Membership::Promiscuous).map_err(refused)?;
        }
        if card.own.iter().any(|(address, _)| address.is_ipv6()) {
            let_in(Membership::AllMulticast).map_err(refused)?;
        }
        let peers = Peers { blocks: card.peers.clone(), hops };
        let link = Arc::new(Link::new(name(), own, peers));
        let mut talker = Talker::new(talk, Arc::clone(&link), card);
        talker.probe_own()?;
        talker.find_servers(&card.servers)?;
        let stop = Arc::new(AtomicBool::new(false));
        let thread = {
            let stop = Arc::clone(&stop);
            let named = thread::Builder::new().name("farfield card".into());
            named.spawn(move || talker.run(&stop)).map_err(refused)?
        };
        Ok((Card { link, entry, stop, thread: Some(thread) }, sockets))
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic there has been printed.
            let _ = thread.join();
        }
    }
}

/// The interface, if it can be used.
fn look_at(netlink: &mut Netlink, name: &str) -> Result<CardEntry, CardError> {
    let interface = || name.to_owned();
    let entry = match netlink.card(name) {
        Ok(entry) => entry,
        Err(error)
            if error.raw_os_error() == Some(libc::ENODEV) || error.kind() == io::ErrorKind::InvalidInput =>
        {
            return Err(CardError::NoInterface { interface: interface() });
        }
        Err(source) => return Err(CardError::of_opening(name, source)),
    };
    if !entry.is_ethernet {
        return Err(CardError::NotEthernet { interface: interface() });
    }
    if !entry.is_up {
        return Err(CardError::Down { interface: interface() });
    }
    if !entry.has_carrier {
        return Err(CardError::NoCarrier { interface: interface() });
    }
    Ok(entry)
}

/// Error if this machine has one of the addresses that are to be others'.
fn check_own(netlink: &mut Netlink, card: &CardSpec) -> io::Result<Option<CardError>> {
    let here = |server: &&IpAddr| netlink.is_local(**server).unwrap_or(false);
    if let Some(address) = card.servers.iter().find(here) {
        return Ok(Some(CardError::Here { address: *address }));
    }
    let addresses = netlink.addresses()?;
    let Some(entry) = addresses.iter().find(|entry| is_in(&card.own, entry.address)) else {
        return Ok(None);
    };
    let interface = netlink.name_of(entry.interface)?;
    Ok(Some(CardError::OwnAddress { address: entry.address, interface }))
}

/// With the card's own Ethernet address, the kernel gets the packets, too, and must not pass them on.
fn check_forwarding(card: &CardSpec) -> Result<(), CardError> {
    let name = card.interface.replace('.', "/");
    for (family, used) in [("ipv4", false), ("ipv6", true)]
        .map(|(family, v6)| (family, card.own.iter().any(|(address, _)| address.is_ipv6() == v6)))
    {
        let setting = format!("net.{family}.conf.{name}.forwarding");
        if used && settings::read(&setting).is_some_and(|value| value != "0") {
            return Err(CardError::Forwards { interface: card.interface.clone(), setting });
        }
    }
    Ok(())
}

/// Another Ethernet address for a machine whose address is known already.
#[derive(Debug, Clone, Copy)]
struct Claim {
    by: EthernetAddress,
    since: Instant,
}

/// The thread's part: it hears neighbours, answers them and asks.
struct Talker {
    socket: OwnedFd,
    link: Arc<Link>,
    responder: Responder,
    own: Vec<(IpAddr, u8)>,
    answers: bool,
    clock: Clock,
    /// Instants at which the machines that matter were last asked for.
    asked: BTreeMap<IpAddr, Instant>,
    /// Instants at which those that are known last said something.
    heard: BTreeMap<IpAddr, Instant>,
    /// Other Ethernet addresses of machines, until these have answered or are silent for too long.
    claims: BTreeMap<IpAddr, Claim>,
}

impl Talker {
    fn new(socket: OwnedFd, link: Arc<Link>, card: &CardSpec) -> Talker {
        let responder = Responder::new(link.own, &card.own, card.answers);
        let (own, answers) = (card.own.clone(), card.answers);
        let clock = Clock::starting_in(Duration::ZERO);
        let (asked, heard, claims) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Talker { socket, link, responder, own, answers, clock, asked, heard, claims }
    }

    /// Answers, asks again and listens until `stop` is set or the card is gone.
    fn run(mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) && self.link.fault().is_none() {
            if let Err(error) = self.hear_for(LOOK) {
                self.link.fail(CardError::of_running(&self.link.name, error));
            }
            self.ask_again(self.clock.now());
        }
    }

    /// Handles some of what neighbours say, and waits for `wait` if nobody says anything.
    fn hear_for(&mut self, wait: Timespec) -> io::Result<()> {
        // If interrupted, the caller goes on.
        let _ = poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&wait));
        let mut frame = [0; FRAME_LEN];
        for _ in 0..HEARD_MOST {
            match rustix::io::read(&self.socket, &mut frame) {
                Ok(length) => self.handle(&frame[..length]),
                Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn handle(&mut self, frame: &[u8]) {
        let FrameOutcome { reply, known, claimed } = self.responder.handle(frame);
        if let Some((address, ethernet)) = known.filter(|(address, _)| self.link.peers.matter(*address)) {
            self.hear_of(address, ethernet);
        }
        if let Some((address, by)) = claimed {
            let interface = self.link.name.clone();
            self.link.fail(CardError::Conflict { interface, address, by });
        }
        if let Some(reply) = reply {
            self.send(&reply);
        }
    }

    /// Takes note of a machine that says where it is. Anybody on the link can say so of any machine: one that
    /// is known is asked before another is believed, and stays where it is if it answers.
    fn hear_of(&mut self, address: IpAddr, ethernet: EthernetAddress) {
        let now = self.clock.now();
        if let Some(known) = self.link.find(address).filter(|known| *known != ethernet) {
            let is_new = !self.claims.contains_key(&address);
            self.claims.entry(address).or_insert(Claim { by: ethernet, since: now }).by = ethernet;
            if is_new {
                self.link.dispute(address, [known, ethernet]);
                self.send(&self.responder.question(address, Some(known)));
            }
            return;
        }
        self.claims.remove(&address);
        self.link.learn(address, ethernet);
        // Of more machines than the link remembers, nothing is kept here either.
        if self.link.find(address).is_some() {
            self.asked.insert(address, now);
            self.heard.insert(address, now);
        }
    }

    /// Believes those who say to be in the place of a machine that does not answer.
    fn settle_claims(&mut self, now: Instant) {
        let silent = |_: &IpAddr, claim: &mut Claim| now.since(claim.since) >= CLAIM_WAIT;
        let believed: Vec<(IpAddr, Claim)> = self.claims.extract_if(.., silent).collect();
        for (address, claim) in believed {
            self.link.learn(address, claim.by);
            self.asked.insert(address, now);
            self.heard.insert(address, now);
        }
    }

    fn send(&self, frame: &[u8]) {
        // A frame that is lost is asked for again.
        let _ = rustix::io::write(&self.socket, frame);
    }

    /// Asks for machines that packets wait for, and again for those that were heard long ago.
    fn ask_again(&mut self, now: Instant) {
        self.settle_claims(now);
        if self.asked.len() > ASKED_MOST {
            self.asked.retain(|_, asked| now.since(*asked) < ASK_AGAIN);
        }
        let mut wanted = self.link.take_wanted();
        wanted.retain(|address| self.asked.get(address).is_none_or(|asked| now.since(*asked) >= ASK_AGAIN));
        let known = self.link.known();
        let is_old =
            |address: &IpAddr| self.asked.get(address).is_none_or(|asked| now.since(*asked) >= REFRESH);
        let old: Vec<_> = known.into_iter().filter(|(address, _)| is_old(address)).collect();
        for address in wanted {
            self.asked.insert(address, now);
            self.send(&self.responder.question(address, None));
        }
        for (address, ethernet) in old {
            self.asked.insert(address, now);
            // One that has not answered the last time may have moved.
            let is_silent =
                self.heard.get(&address).is_none_or(|heard| now.since(*heard) >= REFRESH + REFRESH);
            self.send(&self.responder.question(address, (!is_silent).then_some(ethernet)));
        }
    }

    /// Hears neighbours for a length of time; whether `done` said so before it was over.
    fn hear_until(&mut self, wait: Duration, done: impl Fn(&Link) -> bool) -> Result<bool, CardError> {
        let end = self.clock.now() + wait;
        loop {
            let left = end.since(self.clock.now());
            let step = Timespec::try_from(left.to_std()).unwrap_or(LOOK).min(LOOK);
            if let Err(error) = self.hear_for(step) {
                return Err(CardError::of_running(&self.link.name, error));
            }
            if let Some(fault) = self.link.fault() {
                return Err(fault.clone());
            }
            if done(&self.link) {
                return Ok(true);
            }
            if left == Duration::ZERO {
                return Ok(false);
            }
        }
    }

    /// Asks whether somebody else has an own address, of many for some (RFC 5227, section 2.1.1; RFC 4862,
    /// section 5.4). Where others route to the card, the link knows none of them.
    fn probe_own(&mut self) -> Result<(), CardError> {
        if !self.answers {
            return Ok(());
        }
        let probed = some_of(&self.own, PROBED_MOST);
        for _ in 0..PROBES {
            for address in &probed {
                self.send(&self.responder.probe(*address));
            }
            self.hear_until(PROBE_WAIT, |_| false)?;
        }
        Ok(())
    }

    /// Finds the Ethernet addresses on the ways to `servers`.
    fn find_servers(&mut self, servers: &[IpAddr]) -> Result<(), CardError> {
        let wanted: Vec<IpAddr> = servers.iter().map(|server| self.link.peers.hop_of(*server)).collect();
        for _ in 0..ASKS {
            for address in &wanted {
                self.send(&self.responder.question(*address, None));
            }
            if self.hear_until(ASK_WAIT, |link| wanted.iter().all(|address| link.find(*address).is_some()))? {
                return Ok(());
            }
        }
        let silent = wanted.iter().find(|address| self.link.find(**address).is_none());
        match silent {
            None => Ok(()),
            Some(address) => {
                let hop = !servers.contains(address);
                Err(CardError::Silent { interface: self.link.name.clone(), address: *address, hop })
            }
        }
    }
}

/// At most `most` addresses of blocks, the first and the last of each among them, spread evenly.
fn some_of(blocks: &[(IpAddr, u8)], most: usize) -> Vec<IpAddr> {
    let share = (most / blocks.len().max(1)).max(1) as u128;
    let mut some = Vec::new();
    for (first, bits) in blocks {
        let width = if first.is_ipv4() { 32 } else { 128 };
        let last = 1_u128.checked_shl(u32::from(width - bits)).unwrap_or(0).wrapping_sub(1);
        let count = last.saturating_add(1).min(share);
        some.extend((0..count).map(|nth| {
            let offset = if count == 1 {
                0
            } else {
                last / (count - 1) * nth + last % (count - 1) * nth / (count - 1)
            };
            offset_by(*first, offset)
        }));
    }
    some.truncate(most);
    some
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    /// A talker on a link with a network of its own, and the other end of its socket.
    fn talker() -> (Talker, OwnedFd) {
        let flags = SocketFlags::NONBLOCK;
        let (own, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).expect("two sockets");
        let card = CardSpec {
            interface: "eth1".to_owned(),
            own: vec![("198.18.0.0".parse().unwrap(), 24)],
            peers: vec![("10.0.0.0".parse().unwrap(), 8)],
            servers: Vec::new(),
            next_hops: [None; 2],
            address: CardAddress::Own,
            answers: true,
        };
        let peers = Peers { blocks: card.peers.clone(), hops: [None; 2] };
        let link = Arc::new(Link::new(card.interface.clone(), EthernetAddress([2, 0, 0, 0, 0, 1]), peers));
        (Talker::new(own, link, &card), theirs)
    }

    /// A frame in which the machine at this address asks for a client.
    fn question(number: u32) -> Vec<u8> {
        use farfield_wire::{ArpOperation, ArpRepr};
        let arp = ArpRepr {
            operation: ArpOperation::Request,
            sender: EthernetAddress([2, 0, 0, 0, 0, 9]),
            sender_ip: (0x0a00_0000 + number).into(),
            target: EthernetAddress::ZERO,
            target_ip: [198, 18, 0, 7].into(),
        };
        [&[0xff; 6][..], &arp.sender.0, &[0x08, 0x06], &arp.emit()].concat()
    }

    /// Neighbours that send without a pause hold nothing up: between their frames the thread looks whether it
    /// is to end, and asks for what it needs.
    #[test]
    fn neighbours_that_never_pause_hold_nothing_up() {
        let (mut talker, theirs) = self::talker();
        for number in 1..=100 {
            rustix::io::write(&theirs, &question(number)).expect("room for a frame");
        }
        let nothing = Timespec { tv_sec: 0, tv_nsec: 0 };
        for heard in [HEARD_MOST, 100] {
            talker.hear_for(nothing).expect("frames");
            assert_eq!(talker.link.known().len(), heard);
        }
    }

    /// Machines that are made up take no memory without end: of more than the link remembers nothing is kept,
    /// nor of those that were asked for in vain.
    #[test]
    fn machines_without_end_are_forgotten() {
        let machine = |number: u32| IpAddr::V4((0x0a00_0000 + number).into());
        let (mut talker, _theirs) = self::talker();
        for number in 1..=ASKED_MOST as u32 {
            talker.link.learn(machine(number), EthernetAddress([2, 0, 0, 0, 0, 9]));
        }
        talker.handle(&question(ASKED_MOST as u32));
        talker.handle(&question(ASKED_MOST as u32 + 1));
        assert_eq!(talker.asked.len(), 1, "one that is known, and none that is not");

        let (mut talker, _theirs) = self::talker();
        talker.asked = (0..=ASKED_MOST as u32).map(|number| (machine(number), Instant::ZERO)).collect();
        talker.ask_again(Instant::ZERO + ASK_AGAIN);
        assert!(talker.asked.is_empty());
    }

    /// The question that the talker has sent, if any: whom it is sent to.
    fn asked(theirs: &OwnedFd) -> Option<[u8; 6]> {
        let mut frame = [0; FRAME_LEN];
        rustix::io::read(theirs, &mut frame).ok().map(|_| frame[..6].try_into().expect("six bytes"))
    }

    /// A stranger that says to have the server's address: the server is asked, and believed as long as it
    /// answers. One that is silent has moved, and is looked for among all.
    #[test]
    fn a_machine_stays_where_it_is_as_long_as_it_answers() {
        let (mut talker, theirs) = self::talker();
        let (server, stranger) = (EthernetAddress([2, 0, 0, 0, 0, 3]), EthernetAddress([2, 0, 0, 0, 0, 66]));
        let address: IpAddr = "10.0.0.1".parse().unwrap();
        talker.hear_of(address, server);
        assert_eq!(asked(&theirs), None);
        for _ in 0..1_000 {
            talker.hear_of(address, stranger);
        }
        assert_eq!((asked(&theirs), asked(&theirs)), (Some(server.0), None), "one question");
        talker.hear_of(address, server);
        talker.ask_again(talker.clock.now() + CLAIM_WAIT);
        assert_eq!((talker.link.find(address), talker.claims.len()), (Some(server), 0));

        talker.hear_of(address, stranger);
        assert_eq!(asked(&theirs), Some(server.0));
        let now = talker.clock.now();
        talker.ask_again(now);
        assert_eq!(talker.link.find(address), Some(server), "it may answer yet");
        talker.ask_again(now + CLAIM_WAIT);
        assert_eq!((talker.link.find(address), talker.claims.len()), (Some(stranger), 0));
        // Asked twice in vain, it is looked for among all, and the server's answer counts again.
        talker.ask_again(now + CLAIM_WAIT + REFRESH);
        assert_eq!(asked(&theirs), Some(stranger.0));
        talker.ask_again(now + CLAIM_WAIT + REFRESH + REFRESH);
        assert_eq!(asked(&theirs), Some(EthernetAddress::BROADCAST.0));
        talker.hear_of(address, server);
        talker.ask_again(talker.clock.now() + CLAIM_WAIT);
        assert_eq!(talker.link.find(address), Some(server));
    }

    #[test]
    fn some_addresses_stand_for_all() {
        let block = |text: &str, bits| (text.parse::<IpAddr>().unwrap(), bits);
        let text =
            |addresses: Vec<IpAddr>| addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(text(some_of(&[block("10.0.0.0", 30)], 8)), "10.0.0.0 10.0.0.1 10.0.0.2 10.0.0.3");
        assert_eq!(text(some_of(&[block("10.0.0.0", 24)], 3)), "10.0.0.0 10.0.0.127 10.0.0.255");
        assert_eq!(text(some_of(&[block("10.0.0.7", 32), block("fd00::1", 128)], 8)), "10.0.0.7 fd00::1");
        assert_eq!(text(some_of(&[block("2001:2::", 48)], 2)), "2001:2:: 2001:2:0:ffff:ffff:ffff:ffff:ffff");
        assert_eq!(some_of(&[block("::", 0)], 256).len(), 256);
    }
}
