//! Delivery: how late the server's kernel receives what a shard has written to the gateway.
//!
//! Where a thread of the kernel's does the receive work, a packet that has been written waits until that
//! thread has a processor, which other work on the machine can keep from it for milliseconds; then every
//! response time is that much too long. So right before a packet, every ten milliseconds at most, a datagram
//! is written to a [door](farfield_testbed::gateway::Door) in the server's kernel, and the time until the
//! kernel receives it is recorded.
//!
//! A process that may send from a client's address in the server's namespace, as its root may, can write to
//! the door. Such datagrams hold no shard up, and they are not taken for probes: those have numbers that
//! nobody guesses.

use farfield_base::{Duration, Instant, Window};
use farfield_measure::Histogram;
use farfield_os::clock::Clock;
use farfield_testbed::gateway::{DatagramNumbers, Door, Queue};
use std::io::IoSlice;
use std::sync::Arc;

/// The least time between two probes.
const BETWEEN: Duration = Duration::from_ms(10);
/// A probe that has not arrived by then is not waited for any longer.
const LOST_AFTER: Duration = Duration::from_secs(2);
/// Datagrams that are read at once: one is under way, and whatever else comes is not ours.
const READS_MAX: usize = 16;

/// The probes of one queue.
pub(crate) struct Delivery {
    door: Arc<Door>,
    clock: Clock,
    window: Window,
    /// Numbers of probes.
    numbers: DatagramNumbers,
    /// The instant at which the last probe was written, if it has not been seen to arrive.
    under_way: Option<Instant>,
    /// A probe has arrived: where none can, none is late.
    arrives: bool,
    next_at: Instant,
    datagram: Vec<u8>,
    /// Time from the writing of each probe to its reception by the server's kernel.
    pub lateness: Histogram,
}

impl Delivery {
    pub fn new(door: Arc<Door>, clock: Clock, window: Window) -> Delivery {
        Delivery {
            door,
            clock,
            window,
            numbers: DatagramNumbers::from_random_or(clock.start_unix_ns()),
            under_way: None,
            arrives: false,
            next_at: Instant::ZERO,
            datagram: Vec::new(),
            lateness: Histogram::new(),
        }
    }

    /// Writes a probe if at `now` it is time for one and none is under way; false if it is not time, and
    /// nothing was done. Call it before a packet is written.
    #[inline]
    pub fn probe(&mut self, queue: &mut Queue, now: Instant) -> bool {
        let is_time = now >= self.next_at;
        if is_time {
            self.write(queue, now);
        }
        is_time
    }

    fn write(&mut self, queue: &mut Queue, now: Instant) {
        self.next_at = now + BETWEEN;
        self.look();
        if let Some(written) = self.under_way {
            let late = now.since(written);
            if late < LOST_AFTER {
                return;
            }
            if self.arrives {
                self.record(written, late);
            }
        }
        self.door.datagram(self.numbers.draw(), &mut self.datagram);
        let written = self.clock.now();
        let accepted = queue.write(&[IoSlice::new(&self.datagram)]);
        self.under_way = accepted.is_ok_and(|accepted| accepted).then_some(written);
    }

    /// Records the probe that was under way, if it has arrived.
    pub fn look(&mut self) {
        for _ in 0..READS_MAX {
            let Some((number, received_unix_ns)) = self.door.arrived() else { return };
            let Some(written) = self.under_way.filter(|_| number == self.numbers.last()) else { continue };
            (self.under_way, self.arrives) = (None, true);
            // The wall clock may have been set since the last one.
            let received = Instant::from_ns(received_unix_ns.saturating_sub(self.clock.start_unix_ns()));
            self.record(written, received.since(written));
        }
    }

    fn record(&mut self, written: Instant, late: Duration) {
        if self.window.contains(written) {
            self.lateness.record(late);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_testbed::gateway::QueueFraming;
    use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixDatagram;

    const SERVER: Ipv4Addr = Ipv4Addr::LOCALHOST;
    /// Lengths of the headers of a queue, of IPv4, and of UDP.
    const HEADERS: [usize; 3] = [Queue::HEADER_LEN, 20, 8];

    /// Probes of a queue whose packets the test takes, and a socket with a client's address and port, as a
    /// server's root can have it.
    struct Scene {
        delivery: Delivery,
        queue: Queue,
        packets: UnixDatagram,
        client: Ipv4Addr,
        socket: Option<UdpSocket>,
    }

    impl Scene {
        /// With a client of its own: two sockets do not have one address.
        fn new(client: u8) -> Scene {
            let client = Ipv4Addr::new(127, 60, 99, client);
            let (ours, packets) = UnixDatagram::pair().expect("two sockets");
            packets.set_nonblocking(true).expect("own socket");
            let queue = Queue::new(Arc::new(OwnedFd::from(ours)), QueueFraming::None);
            let door = Door::open(client.into(), SERVER.into()).expect("a door");
            let hour =
                Window { measure_from: Instant::ZERO, measure_to: Instant::from_ns(3_600_000_000_000) };
            let delivery = Delivery::new(Arc::new(door), Clock::starting_in(Duration::ZERO), hour);
            Scene { delivery, queue, packets, client, socket: None }
        }

        /// Lets a time come at which a probe may be written: its number and the port of the door, if one was.
        fn write(&mut self, at_s: u64) -> Option<(u64, u16)> {
            self.delivery.write(&mut self.queue, Instant::ZERO + Duration::from_secs(at_s));
            let mut packet = [0; 128];
            let length = self.packets.recv(&mut packet).ok()?;
            let payload: usize = HEADERS.iter().sum();
            assert_eq!(length, payload + 8);
            let port = |at: usize| u16::from_be_bytes(packet[at..at + 2].try_into().expect("two bytes"));
            let udp = payload - HEADERS[2];
            let from = SocketAddrV4::new(self.client, port(udp));
            self.socket.get_or_insert_with(|| UdpSocket::bind(from).expect("a client's address"));
            Some((
                u64::from_be_bytes(packet[payload..length].try_into().expect("eight bytes")),
                port(udp + 2),
            ))
        }

        /// Sends a datagram to the door, as the kernel does with a probe.
        fn arrive(&self, number: u64, port: u16) {
            let socket = self.socket.as_ref().expect("a probe came before");
            socket.send_to(&number.to_be_bytes(), (SERVER, port)).expect("a loopback interface");
        }

        /// Looks until so many were recorded; how often.
        fn look_for(&mut self, count: u64) -> u32 {
            for looks in 1..100_000 {
                self.delivery.look();
                if self.delivery.lateness.count() == count {
                    return looks;
                }
                std::thread::yield_now();
            }
            panic!("{} recorded, not {count}", self.delivery.lateness.count());
        }
    }

    /// A probe that does not arrive is late by as long as it was waited for, once it is known that probes do
    /// arrive here.
    #[test]
    fn a_lost_probe_is_late_where_others_arrive() {
        let mut scene = Scene::new(1);
        let (first, _) = scene.write(0).expect("a probe");
        assert_eq!(scene.write(1), None, "it is waited for");
        let (second, port) = scene.write(3).expect("a probe");
        assert_ne!(first, second);
        assert_eq!(scene.delivery.lateness.count(), 0, "perhaps none can arrive");
        scene.arrive(second, port);
        scene.look_for(1);
        assert!(scene.delivery.lateness.max().expect("one") < LOST_AFTER);
        let (third, _) = scene.write(6).expect("a probe");
        scene.write(9).expect("a probe");
        assert_eq!(scene.delivery.lateness.count(), 2);
        assert!(scene.delivery.lateness.max().expect("two") >= LOST_AFTER);
        // A probe that comes after all is not recorded again.
        scene.arrive(third, port);
        scene.delivery.look();
        assert_eq!(scene.delivery.lateness.count(), 2);
    }

    /// Datagrams of a server's, in the name of a client: a look reads few of them, and none is the probe.
    #[test]
    fn forged_datagrams_are_no_probes_and_hold_nothing_up() {
        let mut scene = Scene::new(2);
        let (number, port) = scene.write(0).expect("a probe");
        for forged in 0..3 * READS_MAX as u64 {
            scene.arrive(number.wrapping_add(1 + forged), port);
        }
        scene.arrive(number, port);
        let looks = scene.look_for(1);
        assert!(looks > 3, "{looks} looks at 49 datagrams");
        assert!(scene.delivery.lateness.max().expect("one") < LOST_AFTER);
        // A sender that has seen a number does not know the next.
        let (next, _) = scene.write(1).expect("a probe");
        for guess in [0, number, number.wrapping_add(1), number.wrapping_sub(1)] {
            scene.arrive(guess, port);
        }
        scene.delivery.look();
        assert_eq!(scene.delivery.lateness.count(), 1);
        scene.arrive(next, port);
        scene.look_for(2);
    }
}
