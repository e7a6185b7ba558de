//! Peers that have not shown a token: how many of them there are at once, and what is said of those that were
//! refused.

use super::super::link::Waker;
use super::attend::attend;
use super::{News, Shared};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread::Builder;

/// Peers at once that have not shown a token, beside as many as there are parts.
pub(super) const STRANGERS: usize = 64;
/// Peers at once for each of these: those that were refused are heard for a moment longer.
const ATTENDED: usize = 3;
/// The stack of a part's thread: TLS needs some 30 kB of it.
const STACK: usize = 256 << 10;
/// Time between two lines about strangers.
const SAID_NS: u64 = 5_000_000_000;

/// Peers that have not shown a token, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Strangers {
    came: u64,
    here: Vec<Stranger>,
}

#[derive(Debug)]
struct Stranger {
    number: u64,
    address: IpAddr,
    waker: Arc<Waker>,
}

impl Strangers {
    /// Takes one in. Where there are `most`, the oldest of the address that has the most of them has to go: a
    /// part shows its token at once.
    fn admit(&mut self, address: IpAddr, waker: Arc<Waker>, most: usize) -> u64 {
        if self.here.len() >= most {
            let of = |address: IpAddr| self.here.iter().filter(|other| other.address == address).count();
            let crowd = self.here.iter().map(|stranger| of(stranger.address)).max().unwrap_or(0);
            if let Some(oldest) = self.here.iter().position(|stranger| of(stranger.address) == crowd) {
                self.here.remove(oldest).waker.wake();
            }
        }
        self.came += 1;
        self.here.push(Stranger { number: self.came, address, waker });
        self.came
    }

    /// Takes out a peer that is a stranger no longer, or has gone.
    pub(super) fn leave(&mut self, number: u64) {
        self.here.retain(|stranger| stranger.number != number);
    }
}

/// Refusals of strangers: the first is said, and those that follow soon are summed.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    more: u64,
    last: String,
    next_ns: u64,
}

impl Refusals {
    fn add(&mut self, why: String, now_ns: u64) -> Option<News> {
        if self.more == 0 && now_ns >= self.next_ns {
            self.next_ns = now_ns + SAID_NS;
            return Some(News::Refused(why));
        }
        self.more += 1;
        self.last = why;
        None
    }

    /// Sums the refusals that were not said yet, if it is time.
    pub(super) fn summed(&mut self, now_ns: u64) -> Option<News> {
        if self.more == 0 || now_ns < self.next_ns {
            return None;
        }
        self.next_ns = now_ns + SAID_NS;
        let more = std::mem::take(&mut self.more);
        Some(News::Refused(format!("{more} more peers were refused; the last: {}", self.last)))
    }
}

impl Shared {
    pub(super) fn strangers(&self) -> MutexGuard<'_, Strangers> {
        self.strangers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that a peer without a token was refused.
    pub(super) fn refuse_stranger(&self, why: String, now_ns: u64) {
        let mut state = self.state();
        let said = state.refusals.add(why, now_ns);
        state.news.extend(said);
        drop(state);
        self.changed.notify_all();
    }
}

/// Serves a peer on a thread of its own.
pub(super) fn admit(shared: &Arc<Shared>, socket: TcpStream, peer: SocketAddr) {
    let most = STRANGERS + shared.settings.parts.len();
    // Without a descriptor, or with too many that are on their way out, the peer finds the connection closed,
    // and may try again.
    let Ok(waker) = Waker::new().map(Arc::new) else { return };
    if shared.attended.load(Ordering::Relaxed) >= ATTENDED * most {
        return;
    }
    let number = shared.strangers().admit(peer.ip(), Arc::clone(&waker), most);
    let own = Arc::clone(shared);
    shared.attended.fetch_add(1, Ordering::Relaxed);
    let begun = Builder::new().stack_size(STACK).spawn(move || {
        attend(&own, socket, peer, (number, &waker));
        own.attended.fetch_sub(1, Ordering::Relaxed);
        own.changed.notify_all();
    });
    if begun.is_err() {
        shared.attended.fetch_sub(1, Ordering::Relaxed);
        shared.strangers().leave(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_the_address_with_the_most_makes_room() {
        let mut strangers = Strangers::default();
        let waker = Arc::new(Waker::new().expect("a descriptor"));
        let mut admit = |last: u8| strangers.admit(IpAddr::from([10, 0, 0, last]), Arc::clone(&waker), 3);
        assert_eq!([admit(1), admit(2), admit(2), admit(3)], [1, 2, 3, 4]);
        assert_eq!(strangers.here.iter().map(|one| one.number).collect::<Vec<_>>(), [1, 3, 4]);
    }

    #[test]
    fn refusals_that_follow_soon_are_one_line() {
        let mut refusals = Refusals::default();
        let said = |words: &str| Some(News::Refused(words.to_owned()));
        assert_eq!(refusals.add("a".to_owned(), 7), said("a"));
        assert_eq!((refusals.add("b".to_owned(), 8), refusals.add("c".to_owned(), 9)), (None, None));
        assert_eq!(refusals.summed(SAID_NS), None);
        assert_eq!(refusals.summed(SAID_NS + 7), said("2 more peers were refused; the last: c"));
        assert_eq!(refusals.summed(u64::MAX), None);
    }
}
