//! Connections under way, by their two ends. Those that are closed stay for a while, so that late packets
//! find them and begin no other.

use crate::duplicate::mix;
use crate::instant::UnixNs;
use crate::rebuild::Sink;
use crate::segment::{Segment, ordered};
use crate::tracked::{Context, Tracked};
use farfield_wire::TcpFlags;
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::hash::{BuildHasherDefault, Hasher};
use std::net::{IpAddr, SocketAddr};

/// Time for which a closed connection stays: TIME-WAIT (RFC 9293, section 3.6.1) with Linux's segment
/// lifetime.
const LINGER_NS: u64 = 60_000_000_000;
/// Closed connections that stay at most.
const LINGERING_MAX: usize = 65_536;
/// Connections that are looked at to find one that was silent for long.
const SAMPLED: usize = 64;

/// Two ends in order: addresses, ports, and their family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key(u128, u128, u64);

impl Key {
    fn of(segment: &Segment<'_>) -> Key {
        let (a, b) = ordered(segment.source, segment.destination);
        let number = |end: SocketAddr| match end.ip() {
            IpAddr::V4(ip) => u128::from(u32::from(ip)),
            IpAddr::V6(ip) => u128::from(ip),
        };
        let ports = u64::from(a.port()) << 16 | u64::from(b.port());
        Key(number(a), number(b), u64::from(a.is_ipv6()) << 32 | ports)
    }
}

/// A hasher without a random seed: results do not depend on the run. Order of the map is never used.
#[derive(Debug, Default, Clone, Copy)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        let words = words.iter().map(|&word| u64::from_le_bytes(word));
        self.0 = words.chain(rest.iter().map(|&byte| u64::from(byte))).fold(self.0, mix);
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = mix(self.0, word);
    }

    fn write_u128(&mut self, word: u128) {
        self.0 = mix(mix(self.0, word as u64), (word >> 64) as u64);
    }
}

/// The connections under way.
#[derive(Debug, Default)]
pub(crate) struct TrackedConnections {
    places: HashMap<Key, usize, BuildHasherDefault<KeyHasher>>,
    slots: Vec<Option<(Key, Box<Tracked>)>>,
    free: Vec<usize>,
    /// Closed connections in order of closing: instant, place, and id there.
    lingering: VecDeque<(UnixNs, usize, u32)>,
    now: UnixNs,
    /// The place from which a connection to be evicted is looked for.
    hand: usize,
}

impl TrackedConnections {
    /// The latest instant so far.
    pub fn now(&self) -> UnixNs {
        self.now
    }

    /// Takes in a segment of any connection.
    pub fn handle<S: Sink>(
        &mut self,
        at: UnixNs,
        interface: u32,
        segment: &Segment<'_>,
        context: &mut Context<'_, S>,
    ) {
        self.now = self.now.max(at);
        self.let_go(context);
        let key = Key::of(segment);
        let mut found = self.places.get(&key).copied();
        if let Some(slot) = found
            && self.tracked(slot).is_followed_by(segment)
        {
            self.remove(slot, context);
            found = None;
        }
        let slot = match found {
            Some(slot) => slot,
            None if segment.data_len == 0 && !segment.flags.contains(TcpFlags::SYN) => {
                return context.limits.packets_stray += 1;
            }
            None => self.insert(key, interface, at, segment, context),
        };
        let tracked = self.tracked(slot);
        if tracked.interface != interface {
            return context.limits.other_interface_packets += 1;
        }
        let was_closed = tracked.closed;
        tracked.handle(at, segment, context);
        if tracked.closed && !was_closed {
            let id = tracked.id;
            self.lingering.push_back((at, slot, id));
        }
    }

    fn tracked(&mut self, slot: usize) -> &mut Tracked {
        &mut self.slots[slot].as_mut().expect("a place that is in use").1
    }

    fn insert<S: Sink>(
        &mut self,
        key: Key,
        interface: u32,
        at: UnixNs,
        segment: &Segment<'_>,
        context: &mut Context<'_, S>,
    ) -> usize {
        if self.places.len() >= context.options.open_max.max(1) {
            self.evict(context);
        }
        let tracked = Box::new(Tracked::new(*context.next_id, interface, at, segment, context.options));
        *context.next_id += u32::from(!tracked.rejected);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some((key, tracked));
        self.places.insert(key, slot);
        slot
    }

    fn remove<S: Sink>(&mut self, slot: usize, context: &mut Context<'_, S>) {
        if let Some((key, tracked)) = self.slots[slot].take() {
            self.places.remove(&key);
            self.free.push(slot);
            tracked.finish(context);
        }
    }

    /// Lets closed connections go, the oldest first.
    fn let_go<S: Sink>(&mut self, context: &mut Context<'_, S>) {
        while let Some(&(closed, slot, id)) = self.lingering.front() {
            if self.lingering.len() <= LINGERING_MAX && self.now.since(closed) < LINGER_NS {
                return;
            }
            self.lingering.pop_front();
            if self.slots[slot].as_ref().is_some_and(|(_, tracked)| tracked.id == id) {
                self.remove(slot, context);
            }
        }
    }

    /// Lets a connection go that was silent for long: a closed one, or of some the one that was silent
    /// longest.
    fn evict<S: Sink>(&mut self, context: &mut Context<'_, S>) {
        if let Some((_, slot, id)) = self.lingering.pop_front()
            && self.slots[slot].as_ref().is_some_and(|(_, tracked)| tracked.id == id)
        {
            return self.remove(slot, context);
        }
        let from = self.hand;
        let places = (0..self.slots.len()).map(|step| (from + step) % self.slots.len());
        let open = places.filter_map(|slot| Some((slot, self.slots[slot].as_ref()?.1.last)));
        let sampled: Vec<(usize, UnixNs)> = open.take(SAMPLED).collect();
        self.hand = sampled.last().map_or(0, |last| last.0 + 1);
        if let Some(&(slot, _)) = sampled.iter().min_by_key(|sample| sample.1) {
            context.limits.connections_evicted += 1;
            self.remove(slot, context);
        }
    }

    /// Lets all connections go, at the end of the file.
    pub fn finish<S: Sink>(&mut self, context: &mut Context<'_, S>) {
        for slot in 0..self.slots.len() {
            self.remove(slot, context);
        }
    }
}
