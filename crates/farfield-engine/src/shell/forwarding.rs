//! The thread that passes packets on between a program's kernel and a server's, by the clock.
//!
//! Its loop handles due events, each at its own instant; lets out packets that have arrived at either end;
//! reads both ends; and sleeps until the next of these. Shortly before an event is due it does not sleep any
//! more, since waking takes longer.

use super::packet_port::{PacketPort, Received};
use crate::os::clock::Clock;
use crate::testbed::Queue;
use crate::worker_loop::timespec;
use farfield_base::{Duration, Instant};
use farfield_emulator::{Drops, Packet, Router, lag};
use farfield_measure::Histogram;
use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Events handled before packets are read again.
const STEPS_A_TURN: usize = 64;
/// Packets read from an end before the other's turn.
const READS_A_TURN: usize = 64;
/// An event due sooner than this is awaited without sleeping.
const TOO_SOON_TO_SLEEP: Duration = Duration::from_us(30);
/// The longest sleep, after which the halt flag is looked at.
const SLEEP_MAX: Duration = Duration::from_ms(50);

pub(super) struct Forwarding {
    router: Router,
    program: PacketPort,
    server: PacketPort,
    clock: Clock,
    forwarded: Forwarded,
}

/// What was passed on.
pub(super) struct Forwarded {
    pub up: u64,
    pub down: u64,
    pub refused: u64,
    pub drops: Drops,
    pub lateness: Histogram,
    pub failed: Option<io::Error>,
}

#[derive(Clone, Copy)]
enum End {
    Program,
    Server,
}

impl Forwarding {
    pub fn new(router: Router, program: Queue, server: Queue, clock: Clock) -> Forwarding {
        let forwarded = Forwarded {
            up: 0,
            down: 0,
            refused: 0,
            drops: Drops::default(),
            lateness: Histogram::new(),
            failed: None,
        };
        let (program, server) = (PacketPort::new(program), PacketPort::new(server));
        Forwarding { router, program, server, clock, forwarded }
    }

    /// Passes packets on until `halt` is set.
    pub fn run(mut self, halt: &AtomicBool) -> Forwarded {
        while !halt.load(Ordering::Relaxed) {
            let worked = self.do_what_is_due();
            match self.take(End::Program).and_then(|took| Ok(took | self.take(End::Server)?)) {
                Ok(took) if took || worked => {}
                Ok(_) => self.sleep(),
                Err(error) => {
                    self.forwarded.failed = Some(error);
                    break;
                }
            }
        }
        self.forwarded.drops = self.router.drops();
        self.forwarded
    }

    /// Handles the events that are due by now, up to a turn's share; false if there were none.
    fn do_what_is_due(&mut self) -> bool {
        for step in 0..STEPS_A_TURN {
            if !self.router.step(self.clock.now(), &mut ()) {
                return step > 0;
            }
            self.let_out();
        }
        true
    }

    /// Reads packets from an end, up to a turn's share; false if there were none.
    fn take(&mut self, end: End) -> io::Result<bool> {
        for read in 0..READS_A_TURN {
            let port = match end {
                End::Program => &mut self.program,
                End::Server => &mut self.server,
            };
            match port.receive()? {
                Received::Packet(packet) => self.hand_in(end, packet),
                Received::Malformed => self.forwarded.refused += 1,
                Received::Nothing => return Ok(read > 0),
            }
        }
        Ok(true)
    }

    /// Hands a packet to the router, at the router's own time where that is behind the clock: otherwise round
    /// trips would grow by the delay. See [`lag`].
    fn hand_in(&mut self, end: End, packet: Packet) {
        let now = self.clock.now();
        let at = self.router.next_at().map_or(now, |due| due.min(now)).max(lag::floor(now));
        match end {
            End::Program => {
                self.forwarded.up += 1;
                self.router.handle_client_packet(at, packet);
            }
            End::Server => {
                self.forwarded.down += 1;
                self.router.handle_server_packet(at, packet);
            }
        }
        self.let_out();
    }

    /// Writes the packets that have arrived to their kernels.
    fn let_out(&mut self) {
        while let Some(departure) = self.router.poll_departure() {
            let taken = self.server.send(&departure.packet);
            self.count(departure.intended, taken);
        }
        while let Some(arrival) = self.router.poll_arrival() {
            let taken = self.program.send(&arrival.packet);
            self.count(arrival.intended, taken);
        }
    }

    fn count(&mut self, intended: Instant, taken: bool) {
        self.forwarded.lateness.record(self.clock.now().since(intended));
        self.forwarded.refused += u64::from(!taken);
    }

    /// Sleeps until an event is due or a packet comes.
    fn sleep(&self) {
        let now = self.clock.now();
        let wait = self.router.next_at().map_or(SLEEP_MAX, |next| next.since(now).min(SLEEP_MAX));
        if wait <= TOO_SOON_TO_SLEEP {
            return;
        }
        let ends = [&self.program, &self.server];
        let mut listened = ends.map(|port| PollFd::from_borrowed_fd(port.as_fd(), PollFlags::IN));
        // If interrupted, the loop goes on.
        let _ = poll(&mut listened, Some(&timespec(wait - TOO_SOON_TO_SLEEP)));
    }
}
