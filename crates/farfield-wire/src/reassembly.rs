//! Fragments put together again (RFC 791 section 3.2, RFC 8200 section 4.5), within bounds that no sender
//! moves.
//!
//! Fragments that overlap are an attack or an accident, and either way the datagram is given up, with what is
//! still to come of it (RFC 5722; RFC 8200 has it for IPv6, and we do the same for IPv4, as Linux does). An
//! exact repetition is what networks do, and does no harm. Time is handed in: the owner calls
//! [`Reassembler::poll_expired`] when [`Reassembler::next_timeout`] comes.

use crate::checksum::Sum;
use crate::field::put_u16;
use crate::forward::mark_congestion;
use crate::ip::{Addresses, FragmentInfo, IpPacket, ParseError, Protocol};
use crate::ipv6::{FRAGMENT_HEADER_LEN, HEADER_LEN as V6_HEADER_LEN};
use crate::tcp::TcpPacket;
use farfield_base::{Duration, Instant};
use std::collections::BTreeMap;
use std::ops::Range;

/// The most bytes that an IPv4 packet, or an IPv6 payload, has.
const LENGTH_MAX: usize = 0xffff;

/// Limits on the cost of reassembly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReassemblyLimits {
    /// Time that the rest of a datagram may take, from its first fragment to come.
    pub timeout: Duration,
    /// Datagrams under way.
    pub datagrams_max: usize,
    /// Bytes held of all of them.
    pub bytes_max: usize,
}

impl Default for ReassemblyLimits {
    /// 60 s (RFC 1122, section 3.3.2; RFC 8200, section 4.5), 1,024 datagrams, 4 MiB as in Linux.
    fn default() -> ReassemblyLimits {
        ReassemblyLimits { timeout: Duration::from_secs(60), datagrams_max: 1024, bytes_max: 4 << 20 }
    }
}

/// Result of a fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reassembled {
    /// The packet, without a trace of fragmentation: the fragment was the last that was missing.
    Whole(Vec<u8>),
    /// Others are still missing.
    Waiting,
}

/// Why a fragment was thrown away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FragmentFault {
    /// The bytes are no IP packet.
    #[error("not an IP packet: {0}")]
    Packet(#[from] ParseError),
    /// The packet is whole.
    #[error("not a fragment")]
    NotAFragment,
    /// The fragment is empty, or not the last and no multiple of 8 bytes long.
    #[error("a fragment of an impossible length")]
    Length,
    /// The fragment would make a packet that IP cannot have.
    #[error("a fragment that ends beyond the longest packet")]
    TooLong,
    /// The first fragment of an IPv6 packet must hold all headers (RFC 7112).
    #[error("a first fragment without all headers")]
    HeadersMissing,
    /// The fragment contradicts others: overlaps them with other bytes or bounds, or ends elsewhere. The
    /// datagram is given up.
    #[error("a fragment that contradicts others")]
    Contradiction,
    /// The fragment's datagram was given up earlier.
    #[error("a fragment of a datagram that was given up")]
    GivenUp,
    /// The packet that it makes whole is a fragment again: a fragment header behind the first one, which no
    /// host sends, and which would make the receiver of the packet reassemble it once more, thousands of
    /// times over.
    #[error("a fragment header inside a fragmented packet")]
    Nested,
    /// The fragment alone is more than may be held.
    #[error("no room for the fragment")]
    NoRoom,
}

/// A datagram whose time ran out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expired {
    /// First fragment of the datagram, if that came and nothing was wrong: its sender should be sent
    /// [`IcmpError::ReassemblyTimeout`](crate::IcmpError::ReassemblyTimeout).
    pub first: Option<Vec<u8>>,
}

/// Datagrams under way.
#[derive(Debug)]
pub struct Reassembler {
    limits: ReassemblyLimits,
    datagrams: BTreeMap<Key, Datagram>,
    by_deadline: BTreeMap<Deadline, Key>,
    bytes_held: usize,
    serial: u64,
}

/// End of a datagram's time, with a number that distinguishes equal times.
type Deadline = (Instant, u64);

/// Fields that the fragments of a datagram share: in IPv4 the protocol too (RFC 791, section 2.3).
type Key = (Addresses, Option<Protocol>, u32);

#[derive(Debug)]
struct Datagram {
    deadline: Deadline,
    /// The whole first fragment, empty until it comes.
    first: Vec<u8>,
    /// Payload that came, with holes.
    payload: Vec<u8>,
    /// Ranges of `payload` that came: in order, without overlaps, as they came.
    held: Vec<Range<usize>>,
    /// Bytes of `payload` that came.
    received: usize,
    /// Bytes before the payload that the packet's length field will count.
    counted_front: usize,
    /// The payload's length, once the last fragment came.
    length: Option<usize>,
    /// A router marked one of the fragments (RFC 3168, section 5.3).
    congested: bool,
    given_up: bool,
}

/// A fragment taken apart.
struct Fragment<'a> {
    key: Key,
    info: FragmentInfo,
    /// Bytes before the data that belong to the reassembled packet.
    front_len: usize,
    data: &'a [u8],
    bytes: &'a [u8],
    congested: bool,
}

impl Reassembler {
    /// Nothing under way.
    pub fn new(limits: ReassemblyLimits) -> Reassembler {
        Reassembler {
            limits,
            datagrams: BTreeMap::new(),
            by_deadline: BTreeMap::new(),
            bytes_held: 0,
            serial: 0,
        }
    }

    /// Datagrams under way, those given up included until their time is over.
    pub fn datagrams(&self) -> usize {
        self.datagrams.len()
    }

    /// Bytes held of them.
    pub fn bytes_held(&self) -> usize {
        self.bytes_held
    }

    /// End of the next datagram's time.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.by_deadline.first_key_value().map(|((at, _), _)| *at)
    }

    /// Takes a datagram whose time had run out at `now`, the oldest first.
    pub fn poll_expired(&mut self, now: Instant) -> Option<Expired> {
        let key = match self.by_deadline.first_key_value() {
            Some(((at, _), key)) if *at <= now => *key,
            _ => return None,
        };
        let datagram = self.remove(&key)?;
        let reported = !datagram.given_up && !datagram.first.is_empty();
        Some(Expired { first: reported.then_some(datagram.first) })
    }

    /// Takes a fragment that came at `now`.
    ///
    /// Old datagrams go without a word, the oldest first, where there is no room.
    ///
    /// # Errors
    /// Why the fragment was thrown away.
    pub fn handle_fragment(&mut self, now: Instant, packet: &[u8]) -> Result<Reassembled, FragmentFault> {
        let fragment = Fragment::read(packet)?;
        if fragment.info.offset_bytes == 0 && !fragment.info.more {
            // RFC 6946: an atomic fragment has nothing to do with others of its identification.
            return whole(assemble(fragment.bytes, fragment.data, fragment.congested));
        }
        self.make_room(&fragment)?;
        let datagram = self.datagrams.entry(fragment.key).or_insert_with(|| {
            self.serial += 1;
            let deadline = (now + self.limits.timeout, self.serial);
            self.by_deadline.insert(deadline, fragment.key);
            Datagram::new(deadline)
        });
        let before = datagram.bytes_held();
        let added = datagram.add(&fragment);
        self.bytes_held = self.bytes_held - before + datagram.bytes_held();
        added?;
        if !datagram.is_complete() {
            return Ok(Reassembled::Waiting);
        }
        let all = self.remove(&fragment.key).expect("it was there a moment ago");
        if all.counted_front + all.payload.len() > LENGTH_MAX {
            // The first fragment has more options than the last.
            return Err(FragmentFault::TooLong);
        }
        whole(assemble(&all.first, &all.payload, all.congested))
    }

    fn make_room(&mut self, fragment: &Fragment<'_>) -> Result<(), FragmentFault> {
        loop {
            let known = self.datagrams.get(&fragment.key);
            let growth = known.map_or(fragment.end(), |known| known.growth(fragment)) + fragment.first_len();
            let enough = self.bytes_held + growth <= self.limits.bytes_max;
            if enough && (known.is_some() || self.datagrams.len() < self.limits.datagrams_max) {
                return Ok(());
            }
            let oldest =
                self.by_deadline.first_key_value().map(|(_, key)| *key).ok_or(FragmentFault::NoRoom)?;
            self.remove(&oldest);
        }
    }

    fn remove(&mut self, key: &Key) -> Option<Datagram> {
        let datagram = self.datagrams.remove(key)?;
        self.by_deadline.remove(&datagram.deadline);
        self.bytes_held -= datagram.bytes_held();
        Some(datagram)
    }
}

impl Datagram {
    fn new(deadline: Deadline) -> Datagram {
        Datagram {
            deadline,
            first: Vec::new(),
            payload: Vec::new(),
            held: Vec::new(),
            received: 0,
            counted_front: 0,
            length: None,
            congested: false,
            given_up: false,
        }
    }

    fn bytes_held(&self) -> usize {
        self.first.len() + self.payload.len()
    }

    fn growth(&self, fragment: &Fragment<'_>) -> usize {
        if self.given_up { 0 } else { fragment.end().saturating_sub(self.payload.len()) }
    }

    fn add(&mut self, fragment: &Fragment<'_>) -> Result<(), FragmentFault> {
        if self.given_up {
            return Err(FragmentFault::GivenUp);
        }
        let range = fragment.info.offset_bytes..fragment.end();
        let place = self.held.partition_point(|held| held.start < range.start);
        let repeats = self.held.get(place) == Some(&range) && self.payload[range.clone()] == *fragment.data;
        if repeats && (self.length == Some(range.end)) != fragment.info.more {
            return Ok(());
        }
        if !self.ends_agree(fragment) || self.overlaps(place, &range) {
            self.give_up();
            return Err(FragmentFault::Contradiction);
        }
        if !fragment.info.more {
            self.length = Some(range.end);
        }
        if range.start == 0 {
            self.first = fragment.bytes.to_vec();
            self.counted_front = fragment.counted_front();
        }
        if self.payload.len() < range.end {
            self.payload.resize(range.end, 0);
        }
        self.payload[range.clone()].copy_from_slice(fragment.data);
        self.received += range.len();
        self.held.insert(place, range);
        self.congested |= fragment.congested;
        Ok(())
    }

    /// Nothing lies beyond the end, and there is one end.
    fn ends_agree(&self, fragment: &Fragment<'_>) -> bool {
        match (self.length, fragment.info.more) {
            (Some(length), true) => fragment.end() < length,
            (Some(length), false) => fragment.end() == length,
            (None, true) => true,
            (None, false) => self.payload.len() < fragment.end(),
        }
    }

    fn overlaps(&self, place: usize, range: &Range<usize>) -> bool {
        let before = place.checked_sub(1).is_some_and(|before| self.held[before].end > range.start);
        before || self.held.get(place).is_some_and(|after| after.start < range.end)
    }

    /// Lets go of everything but the memory of it, until the time is over.
    fn give_up(&mut self) {
        *self = Datagram { given_up: true, ..Datagram::new(self.deadline) };
    }

    /// True if no byte is missing. Ranges that are held do not overlap and lie before the end, so counting
    /// them is enough.
    fn is_complete(&self) -> bool {
        self.length == Some(self.received)
    }
}

impl<'a> Fragment<'a> {
    fn read(bytes: &'a [u8]) -> Result<Fragment<'a>, FragmentFault> {
        let packet = IpPacket::parse(bytes)?;
        let info = packet.fragment().ok_or(FragmentFault::NotAFragment)?;
        let bytes = packet.bytes();
        let (front_len, data, protocol, class) = match &packet {
            IpPacket::V4(view) => {
                (view.header_len(), view.payload(), Some(view.protocol()), view.traffic_class())
            }
            IpPacket::V6(view) => {
                let (at, _) = view.fragment_at().ok_or(FragmentFault::NotAFragment)?;
                (at, &bytes[at + FRAGMENT_HEADER_LEN..], None, view.traffic_class())
            }
        };
        let key = (packet.addresses(), protocol, info.ident);
        let fragment = Fragment { key, info, front_len, data, bytes, congested: class & 0b11 == 0b11 };
        if data.is_empty() || (info.more && !data.len().is_multiple_of(8)) {
            return Err(FragmentFault::Length);
        }
        if fragment.packet_len() > LENGTH_MAX {
            return Err(FragmentFault::TooLong);
        }
        if matches!(packet, IpPacket::V6(_)) && info.offset_bytes == 0 && !has_all_headers(&packet) {
            return Err(FragmentFault::HeadersMissing);
        }
        Ok(fragment)
    }

    /// End of its data in the datagram's, in bytes.
    fn end(&self) -> usize {
        self.info.offset_bytes + self.data.len()
    }

    /// Length field of the packet if this were the last fragment.
    fn packet_len(&self) -> usize {
        self.counted_front() + self.end()
    }

    fn counted_front(&self) -> usize {
        match self.key.0 {
            Addresses::V4 { .. } => self.front_len,
            Addresses::V6 { .. } => self.front_len - V6_HEADER_LEN,
        }
    }

    fn first_len(&self) -> usize {
        if self.info.offset_bytes == 0 { self.bytes.len() } else { 0 }
    }
}

/// A packet put together, unless it is a fragment still.
fn whole(packet: Vec<u8>) -> Result<Reassembled, FragmentFault> {
    match IpPacket::parse(&packet)?.fragment() {
        Some(_) => Err(FragmentFault::Nested),
        None => Ok(Reassembled::Whole(packet)),
    }
}

fn has_all_headers(packet: &IpPacket<'_>) -> bool {
    match packet.protocol() {
        Protocol::TCP => TcpPacket::parse(packet.payload()).is_ok(),
        Protocol::UDP | Protocol::ICMPV6 => packet.payload().len() >= 8,
        _ => true,
    }
}

/// The packet whose first fragment is `first` and whose payload is `payload`.
fn assemble(first: &[u8], payload: &[u8], congested: bool) -> Vec<u8> {
    let view = IpPacket::parse(first).expect("a fragment was parsed when it came");
    let mut whole = match &view {
        IpPacket::V4(view) => {
            let mut whole = view.header().to_vec();
            put_u16(&mut whole, 2, (view.header_len() + payload.len()) as u16);
            put_u16(&mut whole, 6, 0);
            put_u16(&mut whole, 10, 0);
            let checksum = Sum::of(&whole).checksum();
            put_u16(&mut whole, 10, checksum);
            whole
        }
        IpPacket::V6(view) => {
            let (at, named_at) = view.fragment_at().expect("only fragments come here");
            let mut whole = first[..at].to_vec();
            whole[named_at] = first[at];
            put_u16(&mut whole, 4, (at - V6_HEADER_LEN + payload.len()) as u16);
            whole
        }
    };
    whole.extend_from_slice(payload);
    if congested {
        // An end that does not understand ECN is not marked; RFC 3168 would have the packet dropped.
        let _ = mark_congestion(&mut whole);
    }
    whole
}
