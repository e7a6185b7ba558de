//! The thread that passes packets on between the kernels of clients and a server's, by the clock.
//!
//! Its loop handles due events, each at its own instant; lets out packets that have arrived at any end;
//! reads all ends; and sleeps until the next of these. Waking takes time, more on some machines than on
//! others: it sleeps as much shorter as waking took of late, and waits the rest awake.

use super::packet_port::{PacketPort, PortRead};
use crate::emulated::breaks::Breaks;
use crate::worker_loop::timespec;
use farfield_base::{Duration, Instant, Merge, NetworkDrops};
use farfield_emulator::{Packet, Router, lag};
use farfield_measure::Histogram;
use farfield_os::clock::{Clock, thread_cpu};
use farfield_os::processors;
use farfield_testbed::gateway::Queue;
use rustix::event::{PollFd, PollFlags, poll};
use smallvec::SmallVec;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Events handled before packets are read again.
const STEPS_A_TURN: usize = 64;
/// Packets read from an end before the other's turn.
const READS_A_TURN: usize = 64;
/// Events handled, or packets read, before what has arrived is let out: enough that neighbours join, few
/// enough that none waits longer than a write takes.
const BEFORE_LETTING_OUT: usize = 16;
/// The longest sleep, after which the halt flag is looked at.
const SLEEP_MAX: Duration = Duration::from_ms(50);

pub(crate) struct Forwarding {
    router: Router,
    /// The clients' ends, with the address of the one host there; without, all clients are there that have no
    /// end of their own.
    programs: Vec<(Option<IpAddr>, PacketPort)>,
    /// The real servers' ends, by the servers' numbers.
    servers: Vec<(u16, PacketPort)>,
    /// The addresses that clients may send to and hear from; any if empty.
    targets: Vec<IpAddr>,
    /// Counters for others to look at meanwhile.
    seen: Option<Arc<ForwardingCounts>>,
    clock: Clock,
    margin: WakeMargin,
    /// The thread never sleeps.
    polls: bool,
    real_time: bool,
    forwarded: Forwarded,
}

/// Packets so far, for another thread.
#[derive(Debug, Default)]
pub(crate) struct ForwardingCounts {
    pub up: AtomicU64,
    pub down: AtomicU64,
    pub dropped: AtomicU64,
}

/// Counts of packets passed on.
#[derive(Debug, Default)]
pub(crate) struct Forwarded {
    pub up: u64,
    pub down: u64,
    /// Packets to or from addresses that are no targets.
    pub strays: u64,
    pub refused: u64,
    pub drops: NetworkDrops,
    pub lateness: Histogram,
    /// Processor time of the thread.
    pub cpu: Duration,
    pub failed: Option<io::Error>,
}

/// An end of the network.
#[derive(Clone, Copy)]
enum NetworkEnd {
    /// A program's, by its number.
    Program(usize),
    /// A real server's, by its place among them.
    Server(usize),
}

impl Forwarding {
    pub fn new(
        router: Router,
        programs: Vec<(Option<IpAddr>, Queue)>,
        servers: Vec<(u16, Queue)>,
        clock: Clock,
    ) -> Forwarding {
        let port = |(address, queue)| (address, PacketPort::new(queue));
        Forwarding {
            router,
            programs: programs.into_iter().map(port).collect(),
            servers: servers.into_iter().map(|(number, queue)| (number, PacketPort::new(queue))).collect(),
            targets: Vec::new(),
            seen: None,
            clock,
            margin: WakeMargin::default(),
            polls: false,
            real_time: false,
            forwarded: Forwarded::default(),
        }
    }

    /// Sets whether the thread polls without sleeping, and whether it asks for a real-time priority.
    pub fn running(self, polls: bool, real_time: bool) -> Forwarding {
        Forwarding { polls, real_time, ..self }
    }

    /// Sets the only addresses that clients may send to and hear from.
    pub fn to(self, targets: Vec<IpAddr>) -> Forwarding {
        Forwarding { targets, ..self }
    }

    /// Sets the counters that are kept up to date meanwhile.
    pub fn counting(self, seen: Arc<ForwardingCounts>) -> Forwarding {
        Forwarding { seen: Some(seen), ..self }
    }

    /// Passes packets on until `halt` is set, which it sets itself if an end is gone.
    pub fn run(mut self, halt: &AtomicBool) -> Forwarded {
        // Without it packets are a little later, and the lateness says so.
        let _ = processors::reduce_wake_latency();
        let mut breaks = if self.real_time { Breaks::at_real_time_priority() } else { Breaks::none() };
        while !halt.load(Ordering::Relaxed) {
            let worked = self.do_what_is_due();
            let clock = self.clock;
            breaks.take_if_due(clock.now(), || clock.now());
            self.show_counts();
            match self.take_all() {
                Ok(took) if took || worked => {}
                Ok(_) => self.sleep(&mut breaks),
                Err(error) => {
                    self.forwarded.failed = Some(error);
                    halt.store(true, Ordering::Relaxed);
                }
            }
        }
        self.forwarded.drops.merge(&self.router.drops());
        let servers = self.servers.iter().map(|(_, port)| port);
        let ports = self.programs.iter().map(|(_, port)| port).chain(servers);
        self.forwarded.refused += ports.map(|port| port.refused).sum::<u64>();
        self.forwarded.cpu = thread_cpu();
        self.forwarded
    }

    /// Handles the events that are due by now, up to a turn's share; false if there were none.
    fn do_what_is_due(&mut self) -> bool {
        for step in 1..=STEPS_A_TURN {
            if !self.router.step(self.clock.now(), &mut ()) {
                self.let_out();
                return step > 1;
            }
            if step % BEFORE_LETTING_OUT == 0 {
                self.let_out();
            }
        }
        true
    }

    /// Reads packets from all ends; false if there were none.
    fn take_all(&mut self) -> io::Result<bool> {
        let mut took = false;
        for server in 0..self.servers.len() {
            took |= self.take(NetworkEnd::Server(server))?;
        }
        for program in 0..self.programs.len() {
            took |= self.take(NetworkEnd::Program(program))?;
        }
        Ok(took)
    }

    /// Reads packets from an end, up to a turn's share; false if there were none.
    fn take(&mut self, end: NetworkEnd) -> io::Result<bool> {
        for read in 1..=READS_A_TURN {
            let port = match end {
                NetworkEnd::Program(program) => &mut self.programs[program].1,
                NetworkEnd::Server(server) => &mut self.servers[server].1,
            };
            match port.receive()? {
                PortRead::Packet(packet) => self.hand_in(end, packet),
                PortRead::Malformed => self.forwarded.refused += 1,
                PortRead::Nothing => {
                    self.let_out();
                    return Ok(read > 1);
                }
            }
            if read % BEFORE_LETTING_OUT == 0 {
                self.let_out();
            }
        }
        Ok(true)
    }

    /// Hands a packet to the router, at the router's own time where that is behind the clock: otherwise round
    /// trips would grow by the delay. See [`lag`].
    fn hand_in(&mut self, end: NetworkEnd, packet: Packet) {
        let now = self.clock.now();
        let at = self.router.next_at().map_or(now, |due| due.min(now)).max(lag::floor(now));
        let far = match end {
            NetworkEnd::Program(_) => packet.addresses.destination(),
            NetworkEnd::Server(_) => packet.addresses.source(),
        };
        if !self.targets.is_empty() && !self.targets.contains(&far) {
            self.forwarded.strays += packet.packets();
            return;
        }
        match end {
            NetworkEnd::Program(program) => {
                if self.programs[program].0.is_some_and(|own| own != packet.addresses.source()) {
                    // A program has the address of its own client and no other's.
                    self.forwarded.drops.nobody += packet.packets();
                    return;
                }
                self.forwarded.up += packet.packets();
                self.router.handle_client_packet(at, packet);
            }
            NetworkEnd::Server(_) => {
                self.forwarded.down += packet.packets();
                self.router.handle_server_packet(at, packet);
            }
        }
    }

    /// Writes the packets that have arrived to their kernels.
    fn let_out(&mut self) {
        while let Some(departure) = self.router.poll_departure() {
            self.count(departure.intended, departure.packet.packets());
            // One that stands for several has the first's number.
            let own = self.servers.iter().position(|(number, _)| *number == departure.server);
            self.servers[own.unwrap_or(0)].1.send(departure.packet);
        }
        self.servers.iter_mut().for_each(|(_, port)| port.flush());
        while let Some(arrival) = self.router.poll_arrival() {
            self.count(arrival.intended, arrival.packet.packets());
            let address = arrival.packet.addresses.destination();
            let is_there = |(own, _): &(Option<IpAddr>, _)| own.is_none_or(|own| own == address);
            match self.programs.iter_mut().find(|end| is_there(end)) {
                Some((_, port)) => port.send(arrival.packet),
                // No program is in this client's place.
                None => self.forwarded.drops.nobody += arrival.packet.packets(),
            }
        }
        self.programs.iter_mut().for_each(|(_, port)| port.flush());
    }

    fn show_counts(&self) {
        let Some(seen) = &self.seen else { return };
        seen.up.store(self.forwarded.up, Ordering::Relaxed);
        seen.down.store(self.forwarded.down, Ordering::Relaxed);
        let dropped = self.forwarded.drops.sum() + self.forwarded.strays + self.router.drops().sum();
        seen.dropped.store(dropped, Ordering::Relaxed);
    }

    fn count(&mut self, intended: Instant, packets: u64) {
        let late = self.clock.now().since(intended);
        (0..packets).for_each(|_| self.forwarded.lateness.record(late));
    }

    /// Sleeps until an event is due or a packet comes.
    fn sleep(&mut self, breaks: &mut Breaks) {
        let now = self.clock.now();
        let wait = self.router.next_at().map_or(SLEEP_MAX, |next| next.since(now).min(SLEEP_MAX));
        if self.polls || wait <= self.margin.ahead {
            return;
        }
        let until = now + (wait - self.margin.ahead);
        let servers = self.servers.iter().map(|(_, port)| port);
        let ends = self.programs.iter().map(|(_, port)| port).chain(servers);
        let mut listened: SmallVec<[PollFd<'_>; 8]> =
            ends.map(|port| PollFd::from_borrowed_fd(port.as_fd(), PollFlags::IN)).collect();
        // If interrupted, the loop goes on.
        let heard = poll(&mut listened, Some(&timespec(wait - self.margin.ahead)));
        let woken = self.clock.now();
        if heard == Ok(0) {
            self.margin.woke(woken.since(until));
        }
        breaks.slept(now, woken);
    }
}

/// The time before an event is due at which the thread ends its sleep: as long as waking took of late.
#[derive(Debug)]
struct WakeMargin {
    ahead: Duration,
}

impl WakeMargin {
    const AHEAD_MIN: Duration = Duration::from_us(30);
    /// Longer than this the thread would wait awake for what may never come again.
    const AHEAD_MAX: Duration = Duration::from_us(250);

    /// Takes note that waking took `took`: what is longer counts at once, what is shorter little by little.
    fn woke(&mut self, took: Duration) {
        let (took, ahead) = (took.as_ns(), self.ahead.as_ns());
        let ahead = if took > ahead { took } else { ahead - (ahead - took) / 32 };
        self.ahead = Duration::from_ns(ahead).max(WakeMargin::AHEAD_MIN).min(WakeMargin::AHEAD_MAX);
    }
}

impl Default for WakeMargin {
    fn default() -> WakeMargin {
        WakeMargin { ahead: WakeMargin::AHEAD_MIN }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alarm_follows_how_long_waking_takes() {
        let mut margin = WakeMargin::default();
        margin.woke(Duration::from_us(120));
        assert_eq!(margin.ahead, Duration::from_us(120));
        margin.woke(Duration::from_us(56));
        assert_eq!(margin.ahead, Duration::from_us(118));
        margin.woke(Duration::from_ms(9));
        assert_eq!(margin.ahead, WakeMargin::AHEAD_MAX);
        (0..500).for_each(|_| margin.woke(Duration::ZERO));
        assert_eq!(margin.ahead, WakeMargin::AHEAD_MIN);
    }
}
