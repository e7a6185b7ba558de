//! Exchange of packets between shards on several threads that share links.
//!
//! The first worker holds the shared links of the network beside its own shard; the others send it the
//! packets that arrive at one, and get them back behind the last. A packet is sent over a channel, with its
//! instant of arrival, as soon as that instant is known: a propagation delay before it arrives. So the clock
//! that all workers read is the only barrier between them; a packet that arrives too late all the same is
//! [counted](Exchange::lateness), and continues from its intended instant.
//!
//! A sleeping worker is woken only for packets that are due before it would wake by itself. This path has no
//! lock, and only the channels' own blocks are allocated.

use farfield_base::{CrossCounts, Instant, NetworkDrops, Window};
use farfield_emulator::{Crossing, LinkCounts, Shard, SharedLinks};
use farfield_measure::Histogram;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::mpsc::{Receiver, Sender, channel};

/// A worker's end of the packet exchange.
pub(crate) struct Exchange {
    shard: u32,
    shards: u32,
    window: Window,
    /// The shared links, in the first worker.
    links: Option<SharedLinks>,
    inbox: Receiver<Crossing>,
    alarm: Arc<WorkerWaker>,
    /// Senders to the other workers, by shard: to the first, or from the first to all; `None` to itself.
    outlets: Vec<Option<Outlet>>,
    /// Lateness of each packet of another thread when it was taken over, against its intended instant.
    pub lateness: Histogram,
}

/// Sender to another worker.
struct Outlet {
    packets: Sender<Crossing>,
    alarm: Arc<WorkerWaker>,
    /// Instant of the first packet for which the alarm has not been rung yet.
    first: Instant,
}

/// Wakes a sleeping worker.
struct WorkerWaker {
    event: OwnedFd,
    /// End of the worker's sleep, in nanoseconds of the run; 0 while it is awake.
    sleeps_until: AtomicU64,
}

impl WorkerWaker {
    fn new() -> io::Result<WorkerWaker> {
        let event = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(WorkerWaker { event, sleeps_until: AtomicU64::new(0) })
    }

    /// Wakes the worker if it sleeps beyond `at`. Call it after sending the packet.
    fn ring(&self, at: Instant) {
        // Pairs with the fence in `may_sleep`: either the worker finds the packet, or this call finds it
        // asleep.
        fence(Ordering::SeqCst);
        if self.sleeps_until.load(Ordering::Relaxed) > at.as_ns()
            && self.sleeps_until.swap(0, Ordering::Relaxed) > 0
        {
            // The count cannot overflow: its reader empties it.
            let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
        }
    }
}

impl Exchange {
    /// The ends of all workers, one for each shard; the first holds `links`.
    ///
    /// # Errors
    /// If the system has no more descriptors.
    pub fn between(shards: u32, links: SharedLinks, window: Window) -> io::Result<Vec<Exchange>> {
        let alarms: Vec<Arc<WorkerWaker>> =
            (0..shards).map(|_| WorkerWaker::new().map(Arc::new)).collect::<io::Result<_>>()?;
        let (senders, inboxes): (Vec<_>, Vec<_>) = (0..shards).map(|_| channel()).unzip();
        let outlet = |to: usize| {
            let (packets, alarm) = (senders[to].clone(), Arc::clone(&alarms[to]));
            Outlet { packets, alarm, first: Instant::MAX }
        };
        let mut links = Some(links);
        let part = |(shard, inbox): (u32, Receiver<Crossing>)| {
            let reaches = |to: &u32| *to != shard && (shard == 0 || *to == 0);
            Exchange {
                shard,
                shards,
                window,
                links: links.take(),
                inbox,
                alarm: Arc::clone(&alarms[shard as usize]),
                outlets: (0..shards).map(|to| reaches(&to).then(|| outlet(to as usize))).collect(),
                lateness: Histogram::new(),
            }
        };
        Ok((0..shards).zip(inboxes).map(part).collect())
    }

    /// Takes the packets that other workers have sent; true if there were any.
    pub fn take(&mut self, now: impl Fn() -> Instant, shard: &mut Shard) -> bool {
        let mut took = false;
        while let Ok(crossing) = self.inbox.try_recv() {
            took = true;
            if self.window.contains(crossing.at()) {
                self.lateness.record(now().since(crossing.at()));
            }
            match &mut self.links {
                Some(links) => links.take(crossing),
                None => shard.take(crossing),
            }
        }
        took
    }

    /// Instant of the next event at the shared links that are held here.
    pub fn next_at(&self) -> Option<Instant> {
        self.links.as_ref()?.next_at()
    }

    /// Handles the next event that is due there by `wall`; false if none is.
    pub fn step(&mut self, wall: Instant) -> bool {
        self.links.as_mut().is_some_and(|links| links.step(wall))
    }

    /// Sends on the packets that have left the shard, and the links that are held here.
    pub fn hand_over(&mut self, shard: &mut Shard) {
        match &mut self.links {
            None => {
                for crossing in shard.crossings() {
                    send(&mut self.outlets, 0, crossing);
                }
            }
            Some(links) => loop {
                let mut rest = true;
                for crossing in shard.crossings() {
                    links.take(crossing);
                }
                for crossing in links.crossings() {
                    match crossing.shard(self.shards) {
                        own if own == self.shard => {
                            shard.take(crossing);
                            // It may have been let through at once.
                            rest = false;
                        }
                        other => send(&mut self.outlets, other, crossing),
                    }
                }
                if rest {
                    break;
                }
            },
        }
        for outlet in self.outlets.iter_mut().flatten() {
            if outlet.first != Instant::MAX {
                outlet.alarm.ring(std::mem::replace(&mut outlet.first, Instant::MAX));
            }
        }
    }

    /// True if the shared links are held here.
    pub fn holds_links(&self) -> bool {
        self.links.is_some()
    }

    /// Descriptor to poll while asleep.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.alarm.event.as_fd()
    }

    /// Announces that this worker is about to sleep until `until`; false if packets have arrived for it.
    pub fn may_sleep(&mut self, until: Instant, now: impl Fn() -> Instant, shard: &mut Shard) -> bool {
        self.alarm.sleeps_until.store(until.as_ns(), Ordering::Relaxed);
        fence(Ordering::SeqCst);
        !self.take(now, shard)
    }

    /// Announces that the worker is awake again; `heard` says whether by the alarm. An alarm that is read
    /// later costs an empty turn.
    pub fn wake(&mut self, heard: bool) {
        self.alarm.sleeps_until.store(0, Ordering::Relaxed);
        if heard {
            let _ = rustix::io::read(&self.alarm.event, &mut [0; 8]);
        }
    }

    /// Counters of each flow of cross traffic on the links held here.
    pub fn cross_counts(&self) -> Vec<CrossCounts> {
        self.links.as_ref().map(SharedLinks::cross_counts).unwrap_or_default()
    }

    /// Counters of each shared link, if these are held here.
    pub fn link_counts(&self) -> &[LinkCounts] {
        self.links.as_ref().map(SharedLinks::link_counts).unwrap_or_default()
    }

    /// Packets that the links held here have dropped.
    pub fn drops(&self) -> NetworkDrops {
        self.links.as_ref().map(SharedLinks::drops).unwrap_or_default()
    }
}

fn send(outlets: &mut [Option<Outlet>], to: u32, crossing: Crossing) {
    let outlet = outlets[to as usize].as_mut().expect("packets go to the links and back");
    outlet.first = outlet.first.min(crossing.at());
    // A worker whose users are done may have ended; then nobody misses the packet.
    let _ = outlet.packets.send(crossing);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of rings since the last call.
    fn rings(alarm: &WorkerWaker) -> u64 {
        let mut count = [0; 8];
        rustix::io::read(&alarm.event, &mut count).map_or(0, |_| u64::from_ne_bytes(count))
    }

    #[test]
    fn it_rings_once_and_only_for_who_would_sleep_too_long() {
        let (alarm, at) = (WorkerWaker::new().expect("a descriptor"), Instant::from_ns);
        alarm.ring(at(0));
        assert_eq!(rings(&alarm), 0, "awake");
        alarm.sleeps_until.store(100, Ordering::Relaxed);
        alarm.ring(at(100));
        assert_eq!(rings(&alarm), 0, "it wakes in time by itself");
        for due in [99, 3, 50] {
            alarm.ring(at(due));
        }
        assert_eq!(rings(&alarm), 1);
    }
}
