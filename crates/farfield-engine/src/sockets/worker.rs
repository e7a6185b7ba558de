//! One worker of the sockets plane: its event loop, from the first arrival to the last reply.
//!
//! The loop fires the wakes that are due, passes the kernel's events to the users, and sleeps until the next
//! of either. Each wake and each read has a clock reading of its own; the lateness of wakes and the
//! durations of turns go into histograms for the verdict. The instant of received bytes is their arrival, as
//! the kernel noted it (the module `arrivals`).
//!
//! A user of a closed load who does not think asks again as soon as the reply is there, and the first request
//! of a connection leaves as soon as that is established: the time from then until it leaves is the worker's
//! lateness as well, or else it would be the server's.
//!
//! A turn first reads the readable sockets, and only then passes the bytes to the users, who send. A send
//! over loopback does the receiver's work too, and would make replies read after it look late. But due sends
//! take precedence over received bytes: as soon as a send is due no further socket is read, and between
//! replies the sends that have become due are made. If the worker has fallen behind, replies take precedence
//! instead, since each frees a connection that the next arrival would otherwise open, which costs several
//! times as much, and the worker would never catch up.
//!
//! Received bytes are read before the end of a connection is handled: a reply may precede a reset, and the
//! kernel still returns the bytes received by a socket in error. No connection is read for longer than a
//! share of a turn: the rest waits in a list for the next turn, so that an endless reply delays neither
//! other connections nor time limits.

use crate::sample_channel::LiveCounts;
use crate::sockets::transport::{Read, SocketsTransport, Upcall};
use crate::worker_loop::{WorkerLoop, timespec};
use crate::worker_report::WorkerReport;
use farfield_base::{Duration, Instant};
use farfield_measure::{GeneratorCounts, Histogram};
use farfield_os::datagram_socket::DatagramRead;
use farfield_user::{ConnectionKey, Failure, Population};
use rustix::event::epoll::{self, Event, EventFlags};
use std::collections::VecDeque;
use std::ops::Range;

/// Wakes fired before sockets are polled again, so that arrivals past capacity do not starve replies.
const WAKES_A_TURN: usize = 64;
/// Wakes fired between replies: a send that is due waits for one reply at most, and replies are not starved.
const WAKES_A_REPLY: usize = 2;
/// A worker has fallen behind if its next wake has been due for this long.
const BEHIND: Duration = Duration::from_ms(1);
/// If no wake is due within this time of the last clock reading, the clock is not read for wakes between
/// replies.
const WELL_AHEAD: Duration = Duration::from_ms(1);
/// Events taken from the kernel at once.
const EVENTS: usize = 256;
/// Bytes read in one turn before they are passed to the users.
const READ_BUFFER: usize = 512 * 1024;
/// Free space in the buffer below which no further socket is read.
const READ_LEAST: usize = 64 * 1024;
/// Bytes read from one connection in a turn, after its first read.
const READ_ON_MOST: usize = 256 * 1024;

pub(crate) struct Worker {
    population: Population,
    transport: SocketsTransport,
    course: WorkerLoop,
    buffer: Vec<u8>,
    /// Buffer for sockets with more bytes after their first read.
    more: Vec<u8>,
    heard: Vec<SocketEvent>,
    /// Connections that may have unread bytes.
    unread: VecDeque<ConnectionKey>,
}

/// An event of a socket, and its instant: that of the arrival of bytes, and that of the reading of others.
struct SocketEvent {
    key: ConnectionKey,
    at: Instant,
    what: EventKind,
}

enum EventKind {
    Connected {
        more: bool,
    },
    Writable,
    Closed,
    Failed(Failure),
    Bytes {
        /// Range in the buffer.
        bytes: Range<usize>,
        more: bool,
        writable: bool,
        /// The server sends nothing after these bytes.
        ending: bool,
    },
    Datagrams {
        /// Range in the buffer.
        bytes: Range<usize>,
        segment_bytes: usize,
        ecn: u8,
    },
}

impl Worker {
    pub fn new(population: Population, transport: SocketsTransport, course: WorkerLoop) -> Worker {
        Worker {
            population,
            transport,
            course,
            buffer: vec![0; READ_BUFFER],
            more: vec![0; READ_LEAST],
            heard: Vec::with_capacity(EVENTS),
            unread: VecDeque::new(),
        }
    }

    /// Runs until the load is over and drained.
    pub fn run(mut self) -> WorkerReport {
        self.course.await_start();
        self.population.start(&mut self.transport);
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        loop {
            let turn = self.course.begin_turn();
            self.look(turn);
            self.fire_due(WAKES_A_TURN);
            if self.is_over(turn) {
                break;
            }
            self.heartbeat(turn);
            self.sleep(turn, &mut events);
            let woken = self.transport.clock.now();
            let behind = self.transport.wheel.next_at().is_some_and(|due| due + BEHIND <= woken);
            let mut ready = events.drain(..).peekable();
            while ready.peek().is_some() {
                let read = self.hear(&mut ready, behind);
                self.hand_on(read, behind);
            }
            drop(ready);
            self.read_unread(behind);
            self.course.end_turn(woken);
        }
        self.wind_up()
    }

    /// Fires due wakes, at most `most`.
    fn fire_due(&mut self, most: usize) {
        for _ in 0..most {
            let now = self.transport.clock.now();
            let Some((due, wake)) = self.transport.pop_due(now) else { return };
            if wake.is_scheduled() && self.course.phases.window.contains(due) {
                self.course.record_lateness(due, now.since(due));
            }
            self.population.handle_wake(&mut self.transport, now, due, wake);
            self.deliver_upcalls();
        }
    }

    /// Number of requests and connections that users of a closed load have begun so far; 0 for others, whose
    /// sends are due at wakes.
    fn sent(&self) -> u64 {
        match self.population.is_closed() {
            true => self.population.requests_sent() + self.transport.connects,
            false => 0,
        }
    }

    /// Records how late that left which users sent for an event of the instant `at`, if they have sent more
    /// than the `before` of before it.
    fn record_reaction(&mut self, before: u64, at: Instant) {
        if self.sent() != before && self.course.phases.window.contains(at) {
            self.course.record_lateness(at, self.transport.last_sent.since(at));
        }
    }

    /// Delivers the events that the kernel reported at once, while the population was running.
    fn deliver_upcalls(&mut self) {
        while let Some(upcall) = self.transport.upcalls.pop_front() {
            match upcall {
                Upcall::Connected(key, at) => {
                    let before = self.sent();
                    self.population.handle_connected(&mut self.transport, at, key);
                    self.record_reaction(before, at);
                }
                Upcall::Failed(key, failure) => {
                    let now = self.transport.clock.now();
                    self.population.handle_failed(&mut self.transport, now, key, failure);
                }
                Upcall::Broken(key) => {
                    self.population.handle_ending(key);
                    self.read_later(key);
                }
            }
        }
    }

    /// Reads once from each readable socket, until the buffer is full, no events are left or, unless the
    /// worker is behind, a wake is due. Returns the last reading of the clock.
    fn hear(
        &mut self,
        events: &mut std::iter::Peekable<std::vec::Drain<'_, Event>>,
        behind: bool,
    ) -> Instant {
        let mut filled = 0;
        let next_wake = self.transport.look_ahead();
        let due = if behind { Instant::MAX } else { next_wake };
        let mut at = Instant::ZERO;
        while READ_BUFFER - filled >= READ_LEAST
            && at < due
            && let Some(event) = events.next()
        {
            let Some(key) = self.transport.key_of(event.data.u64()) else { continue };
            let flags = event.flags;
            let failed = flags.contains(EventFlags::ERR);
            let ending = failed || flags.intersects(EventFlags::RDHUP | EventFlags::HUP);
            let readable = ending || flags.contains(EventFlags::IN);
            let established =
                if flags.contains(EventFlags::OUT) { self.transport.take_connecting(key) } else { None };
            let mut stamp = None;
            let what = if failed && established.is_some() {
                EventKind::Failed(self.transport.error(key).unwrap_or(Failure::Reset))
            } else if established.is_some() {
                EventKind::Connected { more: readable }
            } else if readable {
                // A socket in error can send nothing more.
                let writable = flags.contains(EventFlags::OUT) && !failed;
                match self.transport.read(key, &mut self.buffer[filled..]) {
                    Read::Bytes(count, stamp_unix_ns) => {
                        stamp = stamp_unix_ns;
                        let bytes = filled..filled + count;
                        filled += count;
                        // A short read has emptied the socket, and later bytes are a new event; but a FIN
                        // that was reported with these bytes is not.
                        let more = filled == READ_BUFFER || ending;
                        EventKind::Bytes { bytes, more, writable, ending }
                    }
                    Read::Datagrams(DatagramRead { count, segment_bytes, ecn, stamp_unix_ns }) => {
                        stamp = stamp_unix_ns;
                        let bytes = filled..filled + count;
                        filled += count;
                        EventKind::Datagrams { bytes, segment_bytes, ecn }
                    }
                    Read::Nothing => EventKind::Writable,
                    Read::Closed => EventKind::Closed,
                    Read::Failed(failure) => EventKind::Failed(failure),
                }
            } else {
                EventKind::Writable
            };
            at = self.transport.clock.now();
            let noted = match what {
                EventKind::Connected { .. } => established.unwrap_or(at),
                _ => self.transport.arrivals.instant(stamp, at),
            };
            self.heard.push(SocketEvent { key, at: noted, what });
        }
        at
    }

    /// Passes the events, the last of which was `read` then, to the users, and reads on from sockets with
    /// more bytes.
    fn hand_on(&mut self, read: Instant, behind: bool) {
        let mut heard = std::mem::take(&mut self.heard);
        for SocketEvent { key, at, what } in heard.drain(..) {
            let before = self.sent();
            match what {
                EventKind::Connected { more } => {
                    self.population.handle_connected(&mut self.transport, at, key);
                    self.record_reaction(before, at);
                    if more {
                        self.read_on(key);
                    }
                }
                EventKind::Writable => self.transport.flush(key),
                EventKind::Closed => self.population.handle_closed(&mut self.transport, at, key),
                EventKind::Failed(failure) => {
                    self.population.handle_failed(&mut self.transport, at, key, failure)
                }
                EventKind::Bytes { bytes, more, writable, ending } => {
                    if writable {
                        self.transport.flush(key);
                    }
                    if ending {
                        self.population.handle_ending(key);
                    }
                    self.population.handle_received(&mut self.transport, at, key, &self.buffer[bytes]);
                    self.record_reaction(before, at);
                    if more {
                        self.read_on(key);
                    }
                }
                EventKind::Datagrams { bytes, segment_bytes, ecn } => {
                    let bytes = &self.buffer[bytes];
                    self.population.handle_datagrams(&mut self.transport, at, key, ecn, segment_bytes, bytes);
                    self.record_reaction(before, at);
                    // Datagrams that did not come with these are read one by one.
                    self.read_on(key);
                }
            }
            self.deliver_upcalls();
            if !behind && self.transport.may_be_due(read.max(self.transport.last_sent) + WELL_AHEAD) {
                self.fire_due(WAKES_A_REPLY);
            }
        }
        self.heard = heard;
    }

    /// Reads on from the connections with unread bytes, once each.
    fn read_unread(&mut self, behind: bool) {
        for _ in 0..self.unread.len() {
            let Some(key) = self.unread.pop_front() else { return };
            self.transport.note_unread(key, false);
            self.read_on(key);
            self.deliver_upcalls();
            if !behind {
                self.fire_due(WAKES_A_REPLY);
            }
        }
    }

    fn read_later(&mut self, key: ConnectionKey) {
        if self.transport.note_unread(key, true) {
            self.unread.push_back(key);
        }
    }

    /// Reads until the kernel has no more, since the poll reports each arrival once, or until the connection
    /// has had its share of the turn.
    fn read_on(&mut self, key: ConnectionKey) {
        let mut room = READ_ON_MOST;
        while self.transport.is_open(key) {
            if room == 0 {
                return self.read_later(key);
            }
            let piece = self.transport.piece(key, room).min(self.more.len());
            let read = self.transport.read(key, &mut self.more[..piece]);
            let now = self.transport.clock.now();
            let before = self.sent();
            match read {
                Read::Bytes(count, stamp) => {
                    let now = self.transport.arrivals.instant(stamp, now);
                    room -= count;
                    self.population.handle_received(&mut self.transport, now, key, &self.more[..count]);
                    self.record_reaction(before, now);
                }
                Read::Datagrams(DatagramRead { count, segment_bytes, ecn, stamp_unix_ns }) => {
                    let now = self.transport.arrivals.instant(stamp_unix_ns, now);
                    room = room.saturating_sub(count);
                    let bytes = &self.more[..count];
                    self.population.handle_datagrams(
                        &mut self.transport,
                        now,
                        key,
                        ecn,
                        segment_bytes,
                        bytes,
                    );
                    self.record_reaction(before, now);
                }
                Read::Nothing => return,
                Read::Closed => return self.population.handle_closed(&mut self.transport, now, key),
                Read::Failed(failure) => {
                    return self.population.handle_failed(&mut self.transport, now, key, failure);
                }
            }
        }
    }

    fn is_over(&mut self, now: Instant) -> bool {
        if self.course.is_halted() {
            return true;
        }
        // Overdue events have not been handled yet, so that the population does not know whether it is done.
        let ended = self.course.phases.load_has_ended(now, self.transport.wheel.next_at());
        if ended {
            self.population.finish();
        }
        let all_begun = ended || now < self.course.phases.load_until;
        all_begun && self.population.is_done() || now >= self.course.phases.drain_until
    }

    /// Sleeps until a wake is due or an event arrives, after the part of a turn, from `turn` on, in which
    /// wakes were fired.
    fn sleep(&mut self, turn: Instant, events: &mut Vec<Event>) {
        let before = self.transport.clock.now();
        self.course.meters.record_turn(turn, before);
        self.course.meters.work_until(before);
        let until = self.course.sleeps_until(self.transport.wheel.next_at());
        // With unread bytes there is no sleep.
        let timeout = if self.unread.is_empty() { until.since(before) } else { Duration::ZERO };
        let timeout = timespec(timeout);
        // If interrupted, the call returns no events, and the turn continues.
        self.transport.arrivals.begin_poll(before);
        let _ = epoll::wait(&self.transport.epoll, rustix::buffer::spare_capacity(events), Some(&timeout));
        self.transport.arrivals.end_poll(events.len() < events.capacity());
        let woken = self.transport.clock.now();
        self.course.meters.slept_from(before, woken);
        self.course.meters.record_late_wake(until.max(before), woken);
        self.look(woken);
    }

    /// Looks at the seconds that are over, where disturbed ones are set aside: the load may go on for longer.
    fn look(&mut self, now: Instant) {
        if let Some(end) = self.course.look(now) {
            self.population.extend_to(end);
        }
    }

    fn heartbeat(&mut self, now: Instant) {
        if !self.course.heartbeat_is_due(now) {
            return;
        }
        self.transport.arrivals.heartbeat();
        self.transport.heartbeat();
        self.transport.samples.live = self.live_counts(now);
        self.transport.samples.flush();
    }

    fn live_counts(&self, at: Instant) -> LiveCounts {
        LiveCounts {
            connections: self.population.connections() as u64,
            in_system: self.population.in_system(),
            connects: self.transport.connects,
            at,
        }
    }

    fn wind_up(mut self) -> WorkerReport {
        let now = self.transport.clock.now();
        self.population.cut(&mut self.transport, now);
        self.transport.heartbeat();
        self.transport.samples.live = self.live_counts(Instant::MAX);
        self.transport.samples.flush();
        let (area, stalls) = (self.population.in_system_area(now), self.transport.samples.stalls);
        let report = self.course.report(now, Histogram::new(), &self.population, area, stalls);
        let (opened, datagrams_lost) = (self.transport.opened, self.transport.datagrams_lost);
        let generator = GeneratorCounts { datagrams_lost, ..report.generator };
        WorkerReport { opened: opened.unwrap_or_default(), generator, ..report }
    }
}
