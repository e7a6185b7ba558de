//! The recording while it goes on: exchanges that have ended, the room that is left, and counts of what is
//! not recorded.

use crate::clock::RecordingClock;
use crate::exchange::{BodyCopy, RecordedExchange};
use crate::web_origin::WebOrigin;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// Names that counts are kept under; what has another name is counted without it.
const NAMES_MAX: usize = 100;

/// RecordingBounds of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordingBounds {
    /// Bytes of a body, in its coding and without; a longer one is left out.
    pub body_bytes: usize,
    /// Bytes of all heads and bodies together; beyond them bodies, and then exchanges, are left out.
    pub recording_bytes: usize,
    /// Exchanges that are kept: as many as an import reads.
    pub exchanges: usize,
    /// Connections of clients at once; later ones wait to be accepted.
    pub connections: usize,
}

impl Default for RecordingBounds {
    fn default() -> RecordingBounds {
        RecordingBounds {
            body_bytes: 4 << 20,
            recording_bytes: 256 << 20,
            exchanges: 20_000,
            connections: 256,
        }
    }
}

/// Counts by name, of which there are few.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameCounts {
    /// Names, each with its count.
    pub by_name: BTreeMap<String, u64>,
    /// Counted under further names.
    pub further: u64,
}

impl NameCounts {
    fn add(&mut self, name: String) {
        if self.by_name.len() < NAMES_MAX || self.by_name.contains_key(&name) {
            *self.by_name.entry(name).or_default() += 1;
        } else {
            self.further += 1;
        }
    }

    /// The sum of all.
    pub fn total(&self) -> u64 {
        self.by_name.values().sum::<u64>() + self.further
    }
}

/// Traffic that passed, or did not, without being recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unrecorded {
    /// Requests in absolute form to other servers, by their origins.
    pub requests: NameCounts,
    /// Tunnels to other servers, by their authorities.
    pub tunnels: NameCounts,
    /// Exchanges beyond what a recording takes.
    pub beyond_bounds: u64,
    /// Handshakes of TLS that clients refused, as do those that do not trust the recording's authority.
    pub handshakes: u64,
    /// Requests that are for no server: not in absolute form, or refused in reverse mode.
    pub refused: u64,
}

/// Exchanges that passed through a recorder, and counts of the rest.
#[derive(Debug, Clone)]
pub struct Recording {
    /// Exchanges with the recorded servers, in the order in which they began.
    pub exchanges: Vec<RecordedExchange>,
    /// All other traffic.
    pub unrecorded: Unrecorded,
    /// The bounds that it was made with.
    pub bounds: RecordingBounds,
    pub(crate) clock: RecordingClock,
}

impl Recording {
    /// The date at an instant of the recording.
    pub fn date(&self, at: farfield_base::Instant) -> SystemTime {
        self.clock.date(at)
    }
}

#[derive(Debug, Default)]
struct ClosedExchanges {
    exchanges: Vec<RecordedExchange>,
    unrecorded: Unrecorded,
}

/// Shared record of all that passes.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) clock: RecordingClock,
    bounds: RecordingBounds,
    /// Bytes that are left of the recording's.
    room: AtomicUsize,
    begun: AtomicUsize,
    kept: Mutex<ClosedExchanges>,
}

impl Ledger {
    pub(crate) fn new(bounds: RecordingBounds) -> Ledger {
        Ledger {
            clock: RecordingClock::start(),
            bounds,
            room: AtomicUsize::new(bounds.recording_bytes),
            begun: AtomicUsize::new(0),
            kept: Mutex::default(),
        }
    }

    /// Notes that an exchange begins.
    pub(crate) fn begin(&self) {
        self.begun.fetch_add(1, Relaxed);
    }

    /// Exchanges that have begun.
    pub(crate) fn begun(&self) -> usize {
        self.begun.load(Relaxed)
    }

    /// Adds a piece of a body to its copy, as far as there is room: a body is kept whole or left out.
    pub(crate) fn copy(&self, copy: &mut BodyCopy, piece: &[u8]) {
        copy.length += piece.len() as u64;
        if copy.is_left_out || piece.is_empty() {
            return;
        }
        let fits = copy.bytes.len() + piece.len() <= self.bounds.body_bytes;
        if fits && self.take_room(piece.len()) {
            copy.bytes.extend_from_slice(piece);
        } else {
            self.room.fetch_add(copy.bytes.len(), Relaxed);
            copy.bytes = Vec::new();
            copy.is_left_out = true;
        }
    }

    fn take_room(&self, bytes: usize) -> bool {
        self.room.fetch_update(Relaxed, Relaxed, |room| room.checked_sub(bytes)).is_ok()
    }

    /// Keeps an exchange that has ended, if there is room for it.
    pub(crate) fn keep(&self, exchange: RecordedExchange) {
        let has_room = self.take_room(exchange.head_bytes());
        let mut kept = self.kept();
        if has_room && kept.exchanges.len() < self.bounds.exchanges {
            kept.exchanges.push(exchange);
        } else {
            kept.unrecorded.beyond_bounds += 1;
        }
    }

    /// Counts a request to a server that is not recorded.
    pub(crate) fn pass_request(&self, origin: &WebOrigin) {
        self.kept().unrecorded.requests.add(origin.to_string());
    }

    /// Counts a tunnel to a server that is not recorded.
    pub(crate) fn pass_tunnel(&self, authority: &str) {
        self.kept().unrecorded.tunnels.add(authority.to_owned());
    }

    /// Counts a handshake that a client refused.
    pub(crate) fn fail_handshake(&self) {
        self.kept().unrecorded.handshakes += 1;
    }

    /// Counts a request that was refused.
    pub(crate) fn refuse(&self) {
        self.kept().unrecorded.refused += 1;
    }

    /// All that was kept. What ends later is not in it.
    pub(crate) fn take(&self) -> Recording {
        let ClosedExchanges { mut exchanges, unrecorded } = std::mem::take(&mut *self.kept());
        exchanges.sort_by_key(|exchange| exchange.began);
        Recording { exchanges, unrecorded, bounds: self.bounds, clock: self.clock }
    }

    fn kept(&self) -> MutexGuard<'_, ClosedExchanges> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::OpenExchange;
    use http::{HeaderMap, Method, Version};
    use std::sync::Arc;

    fn ledger(body_bytes: usize, recording_bytes: usize) -> Ledger {
        Ledger::new(RecordingBounds { body_bytes, recording_bytes, ..RecordingBounds::default() })
    }

    #[test]
    fn a_body_is_whole_or_left_out_and_gives_its_room_back() {
        let ledger = ledger(10, 15);
        let (mut first, mut second) = (BodyCopy::default(), BodyCopy::default());
        ledger.copy(&mut first, &[0; 10]);
        ledger.copy(&mut second, &[0; 5]);
        assert_eq!((first.bytes.len(), second.bytes.len()), (10, 5));
        // Beyond a body's bound: its ten bytes are free again.
        ledger.copy(&mut first, &[0; 1]);
        ledger.copy(&mut first, &[0; 100]);
        assert_eq!((first.bytes.capacity(), first.length, first.is_left_out), (0, 111, true));
        ledger.copy(&mut second, &[0; 5]);
        assert_eq!((second.bytes.len(), second.is_left_out), (10, false));
        // Beyond the recording's.
        let mut third = BodyCopy::default();
        ledger.copy(&mut third, &[0; 6]);
        assert!(third.is_left_out && third.bytes.is_empty());
    }

    /// Too many of them, or too much in their heads together.
    #[test]
    fn exchanges_beyond_the_bound_are_counted() {
        for (exchanges, recording_bytes, kept) in [(3, 1 << 20, 3), (100, 4 * (1_024 + 20) + 10, 4)] {
            let bounds = RecordingBounds { exchanges, recording_bytes, ..RecordingBounds::default() };
            let ledger = Arc::new(Ledger::new(bounds));
            for _ in 0..10 {
                let url = "http://shop.example/".to_owned();
                drop(OpenExchange::new(&ledger, &Method::GET, url, Version::HTTP_11, &HeaderMap::new()));
            }
            let recording = ledger.take();
            let counts = (recording.exchanges.len(), recording.unrecorded.beyond_bounds, ledger.begun());
            assert_eq!(counts, (kept, 10 - kept as u64, 10));
        }
    }

    #[test]
    fn names_without_end_are_counted_without_a_name() {
        let mut counts = NameCounts::default();
        (0..150).for_each(|nth| counts.add(format!("host-{nth}:443")));
        counts.add("host-0:443".to_owned());
        assert_eq!((counts.by_name.len(), counts.further, counts.total()), (NAMES_MAX, 50, 151));
    }
}
