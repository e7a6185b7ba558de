//! The addresses of the server's name, and which of them each connection goes to.
//!
//! A [`PeerBook`] is what the workers of a run share: the addresses as they were resolved last, and what was
//! counted by address. Each worker has `Peers` of its own, which cost a new connection one comparison of
//! numbers, and a reply two additions: the lock of the book is taken when the addresses have changed, and ten
//! times a second to hand over what was counted.
//!
//! Names are resolved on a thread of its own (`Renewal`), by the system's resolver, which does not tell how
//! long an answer holds: the scenario says how often it is asked. A resolver that hangs delays nobody.

use farfield_base::{Duration, Merge, Outcome};
use farfield_measure::engine_stats::AddressStats;
use farfield_testbed::reach;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::{io, thread};

/// Addresses that are counted by themselves. A name that keeps changing may have any number.
pub const COUNTED_MAX: usize = 256;

/// Connections whose end is remembered: the sample of a request may come behind it.
const ENDED_MAX: usize = 4096;

/// The addresses of a server, shared by the workers of a run.
#[derive(Debug)]
pub struct PeerBook {
    /// The name that is resolved again, if it is, and its port.
    name: Option<(String, u16)>,
    /// Time between two resolutions.
    every: Duration,
    /// Changes with the addresses.
    edition: AtomicU64,
    latest: Mutex<Arc<[SocketAddr]>>,
    counted: Mutex<PeerCounts>,
}

#[derive(Debug, Default)]
struct PeerCounts {
    by_address: BTreeMap<SocketAddr, AddressStats>,
    others: AddressStats,
    lookups: u64,
    lookups_failed: u64,
    last_error: Option<String>,
}

impl PeerCounts {
    fn of(&mut self, address: SocketAddr) -> &mut AddressStats {
        match self.by_address.len() < COUNTED_MAX || self.by_address.contains_key(&address) {
            true => self.by_address.entry(address).or_default(),
            false => &mut self.others,
        }
    }
}

impl PeerBook {
    /// Connections go to `all`, at least one, in turn.
    pub fn all(all: &[SocketAddr]) -> PeerBook {
        PeerBook {
            name: None,
            every: Duration::MAX,
            edition: AtomicU64::new(1),
            latest: Mutex::new(all.into()),
            counted: Mutex::default(),
        }
    }

    /// Connections go to the first address that `host` has, which is asked for again `every` so often, and
    /// is `first` to begin with.
    pub fn renewed(host: String, first: SocketAddr, every: Duration) -> PeerBook {
        PeerBook { name: Some((host, first.port())), every, ..PeerBook::all(&[first]) }
    }

    /// All addresses at the moment.
    pub fn addresses(&self) -> Arc<[SocketAddr]> {
        Arc::clone(&self.latest.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// True if the name is resolved again during a run.
    pub fn is_renewed(&self) -> bool {
        self.name.is_some()
    }

    fn counted(&self) -> std::sync::MutexGuard<'_, PeerCounts> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts from nothing, for a run that begins.
    pub(crate) fn begin(&self) {
        let addresses = self.addresses();
        let mut counted = self.counted();
        *counted = PeerCounts::default();
        for address in addresses.iter().take(COUNTED_MAX) {
            counted.of(*address);
        }
    }

    /// Counts so far, by address; those without a place of their own together, last.
    pub(crate) fn stats(&self) -> Vec<AddressStats> {
        let counted = self.counted();
        let named = |(address, stats): (&SocketAddr, &AddressStats)| AddressStats {
            address: address.to_string(),
            ..stats.clone()
        };
        let mut all: Vec<AddressStats> = counted.by_address.iter().map(named).collect();
        if counted.others.connections > 0 {
            all.push(AddressStats { address: "others".to_owned(), ..counted.others.clone() });
        }
        all
    }

    /// The warning about look-ups that failed: connections went on to the addresses of before.
    pub(crate) fn warning(&self) -> Option<String> {
        let counted = self.counted();
        let (host, _) = self.name.as_ref()?;
        (counted.lookups_failed > 0).then(|| {
            let why = counted.last_error.as_deref().unwrap_or("no reason is known");
            format!(
                "{} of {} look-ups of `{host}` failed, and connections went on to the address of before: {why}",
                counted.lookups_failed, counted.lookups
            )
        })
    }

    fn note_lookup(&self, found: Result<Vec<SocketAddr>, String>) {
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                let mut counted = self.counted();
                (counted.lookups, counted.lookups_failed) = (counted.lookups + 1, counted.lookups_failed + 1);
                counted.last_error = Some(error);
                return;
            }
        };
        self.counted().lookups += 1;
        // The first alone: that is where a client goes.
        let first: Arc<[SocketAddr]> = found.into_iter().take(1).collect();
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if *latest != first && !first.is_empty() {
            *latest = first;
            self.edition.fetch_add(1, Ordering::Release);
        }
    }
}

/// The thread that resolves a name again and again, until this is dropped. A look-up that is under way then
/// is not waited for.
pub(crate) struct Renewal(#[expect(dead_code, reason = "its end is what the thread waits for")] Sender<()>);

impl Renewal {
    /// Begins to resolve the name of `book`, if it has one.
    ///
    /// # Errors
    /// If the thread cannot be made.
    pub fn begin(book: &Arc<PeerBook>) -> io::Result<Option<Renewal>> {
        let Some((host, port)) = book.name.clone() else { return Ok(None) };
        let (alive, end) = channel();
        let book = Arc::clone(book);
        let work = move || {
            while end.recv_timeout(book.every.to_std()) == Err(RecvTimeoutError::Timeout) {
                let found = reach::in_order(&host, port).map_err(|error| error.to_string());
                book.note_lookup(found);
            }
        };
        thread::Builder::new().name("resolver".to_owned()).spawn(work)?;
        Ok(Some(Renewal(alive)))
    }
}

/// The address of each connection of one worker, and the outcomes since the last heartbeat.
#[derive(Debug)]
pub(crate) struct Peers {
    book: Arc<PeerBook>,
    edition: u64,
    addresses: Arc<[SocketAddr]>,
    turn: usize,
    /// Addresses that connections have gone to.
    known: Vec<(SocketAddr, AddressStats)>,
    /// The place in `known` of each connection's address, by the serial of the connection.
    of_connections: BTreeMap<u32, u16>,
    /// Connections that have ended, the latest last.
    ended: VecDeque<u32>,
}

impl Peers {
    /// The peers of worker `number`, which begins at an address of its own.
    pub fn new(book: Arc<PeerBook>, number: u32) -> Peers {
        let edition = book.edition.load(Ordering::Acquire);
        let addresses = book.addresses();
        let turn = number as usize;
        Peers {
            book,
            edition,
            addresses,
            turn,
            known: Vec::new(),
            of_connections: BTreeMap::new(),
            ended: VecDeque::new(),
        }
    }

    /// The address of the next connection, which has this serial.
    pub fn next(&mut self, serial: u32) -> SocketAddr {
        let edition = self.book.edition.load(Ordering::Acquire);
        if edition != self.edition {
            (self.edition, self.addresses) = (edition, self.book.addresses());
        }
        let address = self.addresses[self.turn % self.addresses.len()];
        self.turn = self.turn.wrapping_add(1);
        let place = match self.known.iter().position(|(known, _)| *known == address) {
            Some(place) => place,
            None if self.known.len() < COUNTED_MAX => {
                self.known.push((address, AddressStats::default()));
                self.known.len() - 1
            }
            // Handed over, so that there is a place again; connections of before are counted no more.
            None => {
                self.hand_over();
                self.known.clear();
                self.of_connections.clear();
                self.known.push((address, AddressStats::default()));
                0
            }
        };
        self.of_connections.insert(serial, place as u16);
        self.known[place].1.connections += 1;
        address
    }

    fn of(&mut self, serial: u32) -> Option<&mut AddressStats> {
        let place = *self.of_connections.get(&serial)?;
        self.known.get_mut(usize::from(place)).map(|(_, stats)| stats)
    }

    /// The address that the connection goes to.
    pub fn server_of(&self, serial: u32) -> Option<SocketAddr> {
        let place = *self.of_connections.get(&serial)?;
        self.known.get(usize::from(place)).map(|(address, _)| *address)
    }

    /// A connection is established.
    pub fn note_established(&mut self, serial: u32) {
        if let Some(stats) = self.of(serial) {
            stats.established += 1;
        }
    }

    /// The connection has ended.
    pub fn note_ended(&mut self, serial: u32) {
        self.ended.push_back(serial);
        if self.ended.len() > ENDED_MAX {
            let oldest = self.ended.pop_front();
            oldest.and_then(|oldest| self.of_connections.remove(&oldest));
        }
    }

    /// A request on the connection is over.
    pub fn note_request(&mut self, serial: u32, outcome: Outcome) {
        if let Some(stats) = self.of(serial) {
            stats.requests += 1;
            let is_cut = matches!(outcome, Outcome::Unfinished | Outcome::Dropped);
            stats.failed += u64::from(outcome != Outcome::Ok && !is_cut);
        }
    }

    /// Hands what was counted over to the book.
    pub fn hand_over(&mut self) {
        if self.known.iter().all(|(_, stats)| stats.is_nothing()) {
            return;
        }
        let mut counted = self.book.counted();
        for (address, stats) in &mut self.known {
            counted.of(*address).merge(&std::mem::take(stats));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, last], 80))
    }

    /// Two workers, whose turns begin at different addresses, give each address its share.
    #[test]
    fn connections_go_to_all_addresses_in_turn() {
        let all = [address(2), address(3), address(4)];
        let book = Arc::new(PeerBook::all(&all));
        book.begin();
        let mut workers = [Peers::new(Arc::clone(&book), 0), Peers::new(Arc::clone(&book), 1)];
        for round in 0..300 {
            for (number, peers) in (0..).zip(&mut workers) {
                let serial = round * 2 + number;
                let to = peers.next(serial);
                assert_eq!(to, all[(round + number) as usize % 3]);
                peers.note_established(serial);
                let outcome = if to == all[1] { Outcome::Reset } else { Outcome::Ok };
                peers.note_request(serial, outcome);
            }
        }
        workers.iter_mut().for_each(Peers::hand_over);
        let stats = book.stats();
        let counts = |stats: &AddressStats| {
            (stats.address.clone(), stats.connections, stats.established, stats.requests, stats.failed)
        };
        assert_eq!(
            stats.iter().map(counts).collect::<Vec<_>>(),
            [
                ("127.0.0.2:80".to_owned(), 200, 200, 200, 0),
                ("127.0.0.3:80".to_owned(), 200, 200, 200, 200),
                ("127.0.0.4:80".to_owned(), 200, 200, 200, 0),
            ]
        );
        // A run that begins counts from nothing, and knows its addresses.
        book.begin();
        assert!(book.stats().len() == 3 && book.stats().iter().all(AddressStats::is_nothing));
    }

    /// A name that is resolved again: connections of before keep their address in the counts.
    #[test]
    fn new_connections_go_where_the_name_leads_now() {
        let book = Arc::new(PeerBook::renewed("a.test".into(), address(2), Duration::from_secs(1)));
        let mut peers = Peers::new(Arc::clone(&book), 0);
        assert_eq!(peers.next(0), address(2));
        book.note_lookup(Ok(vec![address(3), address(2)]));
        assert_eq!(peers.next(1), address(3));
        book.note_lookup(Err("no such name".into()));
        assert_eq!(peers.next(2), address(3), "the address of before");
        peers.note_request(0, Outcome::Ok);
        peers.hand_over();
        let requests: Vec<_> = book
            .stats()
            .into_iter()
            .map(|stats| (stats.address, stats.connections, stats.requests))
            .collect();
        assert_eq!(requests, [("127.0.0.2:80".into(), 1, 1), ("127.0.0.3:80".into(), 2, 0)]);
        let warning = book.warning().expect("a look-up failed");
        assert!(warning.contains("1 of 2") && warning.contains("no such name"), "{warning}");
    }

    /// However many connections come and go, those that are open and a bounded number of others are known.
    #[test]
    fn connections_that_have_ended_are_forgotten() {
        let book = Arc::new(PeerBook::all(&[address(2), address(3)]));
        let mut peers = Peers::new(Arc::clone(&book), 0);
        peers.next(u32::MAX);
        for serial in 0..3 * ENDED_MAX as u32 {
            peers.next(serial);
            peers.note_ended(serial);
            peers.note_request(serial, Outcome::Reset);
        }
        peers.note_request(u32::MAX, Outcome::Ok);
        assert_eq!((peers.of_connections.len(), peers.ended.len()), (ENDED_MAX + 1, ENDED_MAX));
        peers.hand_over();
        let requests: u64 = book.stats().iter().map(|stats| stats.requests).sum();
        assert_eq!(requests, 3 * ENDED_MAX as u64 + 1, "a sample may come behind the end of its connection");
    }

    /// However often a name changes, what is counted by address has a bound, and nothing is lost.
    #[test]
    fn a_name_that_keeps_changing_takes_no_memory_without_end() {
        let book = Arc::new(PeerBook::renewed("a.test".into(), address(1), Duration::from_secs(1)));
        let mut peers = Peers::new(Arc::clone(&book), 0);
        for serial in 0..2000u32 {
            let [_, _, high, low] = serial.to_be_bytes();
            book.note_lookup(Ok(vec![SocketAddr::from(([127, 1, high, low], 80))]));
            peers.next(serial);
        }
        peers.hand_over();
        let stats = book.stats();
        assert_eq!(stats.len(), COUNTED_MAX + 1);
        assert_eq!(stats.iter().map(|stats| stats.connections).sum::<u64>(), 2000);
        assert_eq!(stats.last().expect("one").address, "others");
    }
}
