//! Turning the partitions, window by window, on as many threads as are asked for.
//!
//! In a window a thread that has nothing to do takes the next partition that is free, the hub first and then
//! the far side, for they are the largest. Partitions are handed over by locks that are never waited for;
//! packets between partitions lie in boxes that are filled in one window and emptied in the next.

use super::barrier::{Barrier, BarrierGuard};
use super::hub::{Hub, Links};
use super::partition::{Partition, PartitionEnd};
use super::sink::{Outlet, Pending, Remote, SimulationGauges, Sink};
use super::window::Windows;
use super::{Simulated, Simulation, Tap};
use crate::transit::Crossing;
use farfield_base::merge::by_place;
use farfield_base::{Instant, LoadCounts, Merge, NetworkDrops, Part, Tenths};
use std::convert::Infallible;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread;

/// The report of a partition at the end of a window.
#[derive(Debug, Default)]
struct Report {
    /// The first window in which it has something to do.
    next: AtomicU64,
    done: AtomicBool,
    /// True if packets for it lie in boxes, for the window after.
    fed: AtomicBool,
}

impl Report {
    fn set(&self, next: u64, done: bool) {
        self.next.store(next, Ordering::Relaxed);
        self.done.store(done, Ordering::Relaxed);
    }

    /// Repeats the report of the window before `k` and returns true, if by that there is nothing to do in
    /// `k`: a light load leaves most partitions idle in most windows. Else what lies in boxes is to be taken.
    fn repeats(&self, before: &Report, k: u64) -> bool {
        let next = before.next.load(Ordering::Relaxed);
        if before.fed.swap(false, Ordering::Relaxed) || next <= k {
            return false;
        }
        self.set(next, before.done.load(Ordering::Relaxed));
        true
    }
}

/// Boxes and reports of every second window.
#[derive(Debug)]
struct Handover {
    /// Packets for the hub, by the partition that they are from.
    up: Vec<Mutex<Vec<Crossing>>>,
    /// Packets from the hub, by partition.
    down: Vec<Mutex<Vec<Crossing>>>,
    /// Packets from the far side, by partition.
    far_down: Vec<Mutex<Vec<Crossing>>>,
    /// Packets from the hub to the far side, and back.
    away: Mutex<Vec<Crossing>>,
    back: Mutex<Vec<Crossing>>,
    /// Reports of the hub, of the far side, and then of the partitions.
    reports: Vec<Report>,
    taken: AtomicUsize,
}

struct Machine<'a, T> {
    hub: Mutex<Hub<T>>,
    far: Option<Mutex<Links<Infallible>>>,
    partitions: Vec<Mutex<Partition>>,
    handovers: [Handover; 2],
    barrier: Barrier,
    windows: Windows,
    measure_to: Instant,
    drain_until: Instant,
    part: Part,
    outlet: Mutex<Outlet<'a>>,
    pending: Pending,
    remote: &'a Remote,
    /// The simulation was ended before its time. Set while all threads wait, so that they agree.
    stopped: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("a thread that panics ends the simulation")
}

/// Indices of reports: the hub's, the far side's, and those of the partitions.
const HUB: usize = 0;
const FAR: usize = 1;
const FIRST_PARTITION: usize = 2;

impl Handover {
    fn new(partitions: usize) -> Handover {
        let boxes = || (0..partitions).map(|_| Mutex::default()).collect();
        Handover {
            up: boxes(),
            down: boxes(),
            far_down: boxes(),
            away: Mutex::default(),
            back: Mutex::default(),
            reports: (0..partitions + FIRST_PARTITION).map(|_| Report::default()).collect(),
            taken: AtomicUsize::new(0),
        }
    }
}

/// Turns them to the end, or until `remote` says to stop.
pub(crate) fn turn<T: Tap>(
    mut partitions: Vec<Partition>,
    hub: Hub<T>,
    far: Option<Links<Infallible>>,
    windows: Windows,
    simulation: &Simulation,
    sink: &mut dyn Sink,
    remote: &Remote,
) -> Simulated {
    partitions.iter_mut().for_each(|partition| partition.shard.start());
    let threads = (simulation.shards.get() as usize).min(partitions.len() + 1 + usize::from(far.is_some()));
    let count = partitions.len();
    let machine = Machine {
        hub: Mutex::new(hub),
        far: far.map(Mutex::new),
        partitions: partitions.into_iter().map(Mutex::new).collect(),
        handovers: [Handover::new(count), Handover::new(count)],
        barrier: Barrier::new(threads),
        windows,
        measure_to: simulation.window.measure_to,
        drain_until: simulation.drain_until,
        part: simulation.part,
        outlet: Mutex::new(Outlet::new(sink)),
        pending: Pending::default(),
        remote,
        stopped: AtomicBool::new(false),
    };
    let (ended, turned) = thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| machine.work());
        }
        machine.work()
    });
    machine.conclude(ended, turned)
}

impl Simulated {
    fn add_links<O>(&mut self, links: &Links<O>) {
        self.drops.merge(&links.side.transit.drops);
        self.cross.merge(&links.side.transit.cross.counts());
        by_place(&mut self.links, &links.side.transit.links);
        self.events += links.events;
        self.packet_events += links.packet_events;
    }
}

impl<T: Tap> Machine<'_, T> {
    /// A thread's life; returns when the simulation ended, and in how many windows.
    fn work(&self) -> (Instant, u64) {
        let _guard = BarrierGuard(&self.barrier);
        let (mut k, mut turned) = (0, 0u64);
        loop {
            let (now, before) =
                (&self.handovers[(turned % 2) as usize], &self.handovers[((turned + 1) % 2) as usize]);
            loop {
                let next = now.taken.fetch_add(1, Ordering::Relaxed);
                match next {
                    HUB => self.turn_hub(k, now, before),
                    FAR => self.turn_far(k, now, before),
                    _ if next - FIRST_PARTITION < self.partitions.len() => {
                        self.turn_partition(next - FIRST_PARTITION, k, now, before);
                    }
                    _ => break,
                }
            }
            self.barrier.wait(|| {
                now.taken.store(0, Ordering::Relaxed);
                self.between_windows(k);
            });
            turned += 1;
            match self.after(k, now) {
                Some(next) => k = next,
                None => return (self.windows.clients_end(k).min(self.drain_until), turned),
            }
        }
    }

    /// Work of one thread while the others wait.
    fn between_windows(&self, k: u64) {
        if self.remote.stops() {
            return self.stopped.store(true, Ordering::Relaxed);
        }
        let now = self.windows.clients_end(k).min(self.drain_until);
        let outlet = &mut *lock(&self.outlet);
        let looks = outlet.looks(now);
        if self.pending.is_batch(self.remote) || looks {
            outlet.hand_on(self.partitions.iter().map(lock), now);
        }
        if looks && !outlet.goes_on(now) {
            self.stopped.store(true, Ordering::Relaxed);
        }
    }

    fn turn_hub(&self, k: u64, now: &Handover, before: &Handover) {
        if now.reports[HUB].repeats(&before.reports[HUB], k) {
            return;
        }
        let hub = &mut *lock(&self.hub);
        for from in &before.up {
            hub.links.take(&mut lock(from));
        }
        hub.links.take(&mut lock(&before.back));
        let did = hub.run(self.windows.hub_end(k), self.remote);
        let sent = self.deal(&mut hub.links, now, &now.down, (&now.away, FAR));
        let next = if did > 0 || sent { k + 1 } else { self.windows.of_hub(hub.links.next_at()) };
        now.reports[HUB].set(next, true);
    }

    fn turn_far(&self, k: u64, now: &Handover, before: &Handover) {
        let Some(far) = &self.far else { return now.reports[FAR].set(u64::MAX, true) };
        if now.reports[FAR].repeats(&before.reports[FAR], k) {
            return;
        }
        let far = &mut *lock(far);
        far.take(&mut lock(&before.away));
        let did = far.run(self.windows.far_end(k), self.remote);
        let sent = self.deal(far, now, &now.far_down, (&now.back, HUB));
        let next = if did > 0 || sent { k + 1 } else { self.windows.of_far(far.next_at()) };
        now.reports[FAR].set(next, true);
    }

    /// Puts packets that have left shared links into the boxes of the partitions of their clients, or, where
    /// there are more shared links before them, into that of `other`, which has its report's index; returns
    /// whether there were any.
    fn deal<O: Copy>(
        &self,
        links: &mut Links<O>,
        now: &Handover,
        boxes: &[Mutex<Vec<Crossing>>],
        (other, other_report): (&Mutex<Vec<Crossing>>, usize),
    ) -> bool {
        if links.side.transit.crossings.is_empty() {
            return false;
        }
        let mut crossings = std::mem::take(&mut links.side.transit.crossings);
        let mut boxes: smallvec::SmallVec<[MutexGuard<'_, Vec<Crossing>>; 16]> =
            boxes.iter().map(lock).collect();
        let mut other = lock(other);
        let (_, all) = self.part.worker(0, self.partitions.len() as u32);
        for crossing in crossings.drain(..) {
            let fed = if links.side.is_beyond(&crossing.flight) {
                let own = self.part.own_worker(crossing.shard(all));
                let partition = own.expect("clients of other parts load servers of their own") as usize;
                boxes[partition].push(crossing);
                partition + FIRST_PARTITION
            } else {
                other.push(crossing);
                other_report
            };
            now.reports[fed].fed.store(true, Ordering::Relaxed);
        }
        links.side.transit.crossings = crossings;
        true
    }

    fn turn_partition(&self, number: usize, k: u64, now: &Handover, before: &Handover) {
        let report = &now.reports[number + FIRST_PARTITION];
        if report.repeats(&before.reports[number + FIRST_PARTITION], k) {
            return;
        }
        let partition = &mut *lock(&self.partitions[number]);
        partition.take(&mut lock(&before.down[number]));
        partition.take(&mut lock(&before.far_down[number]));
        let held = partition.shard.side.records.samples.len();
        let did = partition.run(self.windows.clients_end(k), self.remote);
        self.pending.add(partition.shard.side.records.samples.len() - held);
        let crossings = &mut partition.shard.side.transit.crossings;
        let sent = !crossings.is_empty();
        if sent {
            // The box was emptied in the window before.
            std::mem::swap(crossings, &mut lock(&now.up[number]));
            now.reports[HUB].fed.store(true, Ordering::Relaxed);
        }
        let next = if did > 0 || sent { k + 1 } else { self.windows.of_client(partition.next_at()) };
        report.set(next, partition.is_done());
    }

    /// The window after `k`, the same for every thread; none if the simulation is over.
    fn after(&self, k: u64, handover: &Handover) -> Option<u64> {
        let done = handover.reports.iter().all(|report| report.done.load(Ordering::Relaxed));
        if done || self.windows.clients_end(k) >= self.drain_until || self.stopped.load(Ordering::Relaxed) {
            return None;
        }
        let next = handover.reports.iter().map(|report| report.next.load(Ordering::Relaxed)).min()?;
        Some(next.max(k + 1).min(self.windows.of_client(self.drain_until)))
    }

    fn conclude(self, ended: Instant, windows: u64) -> Simulated {
        let hub = self.hub.into_inner().expect("no thread panicked");
        let mut whole = Simulated {
            samples: Vec::new(),
            counts: LoadCounts::default(),
            in_system_area: 0,
            connects: 0,
            opened: Vec::new(),
            received: Tenths::default(),
            drops: NetworkDrops::default(),
            cross: Vec::new(),
            links: Vec::new(),
            server: *hub.server.counters(),
            ended,
            events: 0,
            packet_events: 0,
            windows,
        };
        let far = self.far.map(|far| far.into_inner().expect("no thread panicked"));
        whole.add_links(&hub.links);
        if let Some(far) = far {
            whole.add_links(&far);
        }
        let partitions = self.partitions.into_iter();
        let mut partitions: Vec<Partition> =
            partitions.map(|partition| partition.into_inner().expect("no thread panicked")).collect();
        // Stopped in the middle of a window, each partition ends where it has come to: what virtual time had
        // not come to was not due.
        let stopped = self.stopped.into_inner();
        let is_cut_short = stopped && self.remote.stops();
        let mut outlet = self.outlet.into_inner().expect("no thread panicked");
        // All have come to the end of the last window that was handed on, whether they did anything in it.
        let reached = |partition: &Partition| partition.reached().max(outlet.handed_until);
        if is_cut_short {
            whole.ended = partitions.iter().map(reached).max().unwrap_or(ended).min(ended);
        }
        // A load that is over before its time leaves the rest of the measured part empty.
        let until = match stopped {
            true => whole.ended,
            false => ended.max(self.measure_to.min(self.drain_until)),
        };
        let (mut left, mut notes_left) = (Vec::new(), Vec::new());
        let own_end = |partition: &Partition| if is_cut_short { reached(partition) } else { until };
        for ended in end_all(&mut partitions, own_end) {
            left.extend(ended.samples);
            notes_left.extend(ended.notes);
            whole.in_system_area += ended.in_system_area;
        }
        for partition in &mut partitions {
            whole.counts.merge(&partition.shard.counts());
            whole.connects += partition.shard.connects();
            whole.opened.extend(partition.shard.take_opened());
            whole.received.merge(&partition.shard.population().received());
            whole.drops.merge(&partition.shard.drops());
            whole.events += partition.events;
            whole.packet_events += partition.packet_events;
        }
        whole.opened.sort_unstable_by_key(|opened| opened.connection);
        let standing = SimulationGauges { connects: whole.connects, ..SimulationGauges::default() };
        outlet.hand_on_ordered(left, notes_left, standing, until);
        // Gigabytes take their time to free; the sink works on the last samples meanwhile.
        drop(partitions);
        whole
    }
}

/// Ends what is on its way in each partition, at its own end, on all processors, since nobody else needs them
/// any more: an overload leaves hundreds of thousands of requests, and who interrupts it waits for them.
fn end_all(
    partitions: &mut [Partition],
    own_end: impl Fn(&Partition) -> Instant + Sync,
) -> Vec<PartitionEnd> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let share = partitions.len().div_ceil(threads).max(1);
    let end = |share: &mut [Partition]| -> Vec<PartitionEnd> {
        share.iter_mut().map(|partition| partition.end(own_end(partition))).collect()
    };
    thread::scope(|scope| {
        let shares: Vec<_> = partitions.chunks_mut(share).map(|share| scope.spawn(|| end(share))).collect();
        let ended = shares.into_iter().map(|share| share.join().unwrap_or_else(|panic| resume_unwind(panic)));
        ended.flatten().collect()
    })
}
