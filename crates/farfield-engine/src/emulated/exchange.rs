//! Shared links between shards on several threads: who holds them, and how packets get there and back in time.
//!
//! The first worker holds the shared links of the network beside its own shard; the others send it the packets that come
//! to one, and get them back behind the last. A packet goes over a channel as soon as it is known when it will be at the
//! other side, a propagation delay before it is there, and takes that instant with it. So the clock that all workers read
//! is the only barrier between them; what comes too late nevertheless is [counted](Exchange::lateness), and goes on from
//! the instant that was meant for it.
//!
//! A worker that sleeps is woken only for what is due before it would wake by itself. There is no lock on this path, and
//! but for the channels' own blocks nothing is allocated.

use farfield_base::{Instant, Window};
use farfield_emulator::{Crossing, Drops, Shard, SharedLinks};
use farfield_measure::Histogram;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::mpsc::{Receiver, Sender, channel};

/// A worker's part in the exchange of packets.
pub(crate) struct Exchange {
    shard: u32,
    shards: u32,
    window: Window,
    /// Of the first worker.
    links: Option<SharedLinks>,
    inbox: Receiver<Crossing>,
    alarm: Arc<Alarm>,
    /// Ways to the other workers, by shard: to the first, or from the first to all. None to itself.
    outlets: Vec<Option<Outlet>>,
    /// Workers whose users are not done.
    at_work: Arc<AtomicUsize>,
    done: bool,
    /// How long after the instant meant for it each packet of another thread was taken over.
    pub lateness: Histogram,
}

/// A way to another worker.
struct Outlet {
    packets: Sender<Crossing>,
    alarm: Arc<Alarm>,
    /// When the first is due of those that it was not rung for.
    first: Instant,
}

/// What wakes a worker.
struct Alarm {
    event: OwnedFd,
    /// Until when it sleeps, in nanoseconds of the run; 0 while it is awake.
    sleeps_until: AtomicU64,
}

impl Alarm {
    fn new() -> io::Result<Alarm> {
        let event = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Alarm { event, sleeps_until: AtomicU64::new(0) })
    }

    /// Wakes its worker, if that sleeps beyond `at`. The packet for it has been sent.
    fn ring(&self, at: Instant) {
        // Against the fence in `may_sleep`: either it finds the packet, or this finds it asleep.
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
    /// The parts of as many workers as there are shards; the first holds `links`.
    ///
    /// # Errors
    /// When the system has no more descriptors.
    pub fn between(shards: u32, links: SharedLinks, window: Window) -> io::Result<Vec<Exchange>> {
        let alarms: Vec<Arc<Alarm>> =
            (0..shards).map(|_| Alarm::new().map(Arc::new)).collect::<io::Result<_>>()?;
        let (senders, inboxes): (Vec<_>, Vec<_>) = (0..shards).map(|_| channel()).unzip();
        let outlet = |to: usize| {
            let (packets, alarm) = (senders[to].clone(), Arc::clone(&alarms[to]));
            Outlet { packets, alarm, first: Instant::MAX }
        };
        let at_work = Arc::new(AtomicUsize::new(shards as usize));
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
                at_work: Arc::clone(&at_work),
                done: false,
                lateness: Histogram::new(),
            }
        };
        Ok((0..shards).zip(inboxes).map(part).collect())
    }

    /// Takes what other workers have sent; true if there was anything.
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

    /// When something happens next at the shared links that are held here.
    pub fn next_at(&self) -> Option<Instant> {
        self.links.as_ref()?.next_at()
    }

    /// Does the next thing that is due there by `wall`; false if nothing is.
    pub fn step(&mut self, wall: Instant) -> bool {
        self.links.as_mut().is_some_and(|links| links.step(wall))
    }

    /// Hands over what has left the shard, and the links that are held here.
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

    /// Whether this worker is needed still, where its users are `done`: who holds the links is until all users are.
    pub fn is_over(&mut self, done: bool) -> bool {
        if done && !std::mem::replace(&mut self.done, true) {
            self.at_work.fetch_sub(1, Ordering::Relaxed);
        }
        done && (self.links.is_none() || self.at_work.load(Ordering::Relaxed) == 0)
    }

    /// What to listen to while asleep.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.alarm.event.as_fd()
    }

    /// Says that this worker is about to sleep until `until`; false if there is something for it.
    pub fn may_sleep(&mut self, until: Instant, now: impl Fn() -> Instant, shard: &mut Shard) -> bool {
        self.alarm.sleeps_until.store(until.as_ns(), Ordering::Relaxed);
        fence(Ordering::SeqCst);
        !self.take(now, shard)
    }

    /// Says that it is awake again, after it `heard` the alarm or not. One that is heard later costs a turn for nothing.
    pub fn wake(&mut self, heard: bool) {
        self.alarm.sleeps_until.store(0, Ordering::Relaxed);
        if heard {
            let _ = rustix::io::read(&self.alarm.event, &mut [0; 8]);
        }
    }

    /// Packets that the links held here did not deliver.
    pub fn drops(&self) -> Drops {
        self.links.as_ref().map(SharedLinks::drops).unwrap_or_default()
    }
}

fn send(outlets: &mut [Option<Outlet>], to: u32, crossing: Crossing) {
    let outlet = outlets[to as usize].as_mut().expect("packets go to the links and back");
    outlet.first = outlet.first.min(crossing.at());
    // A worker whose users are done may be gone, and with it everybody who would miss the packet.
    let _ = outlet.packets.send(crossing);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often the alarm has rung since this was asked last.
    fn rings(alarm: &Alarm) -> u64 {
        let mut count = [0; 8];
        rustix::io::read(&alarm.event, &mut count).map_or(0, |_| u64::from_ne_bytes(count))
    }

    #[test]
    fn it_rings_once_and_only_for_who_would_sleep_too_long() {
        let (alarm, at) = (Alarm::new().expect("a descriptor"), Instant::from_ns);
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
