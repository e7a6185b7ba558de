//! Pickup: how long a packet from the server's kernel waits at the gateway until its shard reads it.
//!
//! A queue of the gateway keeps no times. What is read now came after the queue was last seen empty, so that
//! it has waited for no longer than since then; and where the worker has slept, for no longer than since the
//! packet woke it: the time for which the thread was ready to run and had no processor. The longest time
//! that a packet can have waited is recorded for each read. Work that keeps the processor from a worker
//! therefore shows even if nothing else was due.
//!
//! A busy shard may not see its queue empty for long although nothing in it is old. It then puts
//! [marks](Door::mark) behind what waits: what is read after a mark has come after the mark was put there.

use farfield_base::{Duration, Instant, Window};
use farfield_measure::Histogram;
use farfield_os::clock::Clock;
use farfield_os::run_delay::RunDelay;
use farfield_testbed::gateway::{DatagramNumbers, Door};
use std::collections::VecDeque;
use std::sync::Arc;

/// The time between two marks, while a queue is not seen to be empty: by so much the longest time is too
/// long.
const BETWEEN_MARKS: Duration = Duration::from_us(250);
/// Marks that can be under way; older ones are lost.
const MARKS_MAX: usize = 64;

/// Knowledge of the age of one queue's packets.
#[derive(Debug)]
pub(crate) struct Pickup {
    window: Window,
    /// The instant after which all that is in the queue came.
    empty_at: Instant,
    marks: Option<Marks>,
    /// The longest that what each read returned can have waited.
    pub lateness: Histogram,
}

/// Marks in one queue.
#[derive(Debug)]
struct Marks {
    door: Arc<Door>,
    clock: Clock,
    numbers: DatagramNumbers,
    next_at: Instant,
    /// Marks that were not read yet, and from when each has been in the queue, or was about to be.
    under_way: VecDeque<(u64, Instant)>,
}

impl Pickup {
    pub fn new(window: Window) -> Pickup {
        Pickup { window, empty_at: Instant::ZERO, marks: None, lateness: Histogram::new() }
    }

    /// With marks from the door of the queue.
    pub fn with_marks(self, door: Arc<Door>, clock: Clock) -> Pickup {
        let numbers = DatagramNumbers::from_random_or(clock.start_unix_ns());
        let under_way = VecDeque::with_capacity(MARKS_MAX);
        Pickup { marks: Some(Marks { door, clock, numbers, next_at: Instant::ZERO, under_way }), ..self }
    }

    /// Records that a read returned a packet, by `now`.
    #[inline]
    pub fn read(&mut self, now: Instant) {
        let longest = now.since(self.empty_at);
        if self.window.contains(now) {
            self.lateness.record(longest);
        }
        if longest > BETWEEN_MARKS {
            self.mark(now);
        }
    }

    /// Puts a mark behind what waits, if it is time for one.
    fn mark(&mut self, now: Instant) {
        let Some(marks) = self.marks.as_mut().filter(|marks| now >= marks.next_at) else { return };
        marks.next_at = now + BETWEEN_MARKS;
        let (number, put) = (marks.numbers.draw(), marks.clock.now());
        if marks.door.mark(number) {
            marks.under_way.truncate(MARKS_MAX - 1);
            marks.under_way.push_front((number, put));
        }
    }

    /// True if a packet that was read is one of our marks; packets read from now on came later.
    #[inline]
    pub fn is_mark(&mut self, packet: &[u8]) -> bool {
        let number = self.marks.as_ref().and_then(|marks| marks.door.marked(packet));
        number.is_some_and(|number| self.passed(number))
    }

    fn passed(&mut self, number: u64) -> bool {
        let Some(marks) = &mut self.marks else { return false };
        let Some(place) = marks.under_way.iter().position(|(each, _)| *each == number) else { return false };
        let (_, put) = marks.under_way[place];
        // Those before it are lost.
        marks.under_way.truncate(place);
        self.empty_at = self.empty_at.max(put);
        true
    }

    /// Notes that a read that began at `looked`, or later, found nothing.
    #[inline]
    pub fn found_empty(&mut self, looked: Instant) {
        self.empty_at = looked;
    }

    /// Notes that nothing has come before `since`.
    pub fn nothing_before(&mut self, since: Instant) {
        self.empty_at = self.empty_at.max(since);
    }
}

/// The worker's sleep: how long it was ready to run and did not, each time.
#[derive(Debug, Default)]
pub(crate) struct SleepMeter {
    delay: Option<RunDelay>,
    asleep: Option<Duration>,
}

impl SleepMeter {
    /// A meter of the calling thread.
    pub fn of_this_thread() -> SleepMeter {
        SleepMeter { delay: RunDelay::of_this_thread(), asleep: None }
    }

    /// The thread is about to sleep.
    pub fn sleeps(&mut self) {
        self.asleep = self.delay.as_mut().and_then(RunDelay::read);
    }

    /// The instant at which it was woken, having run again by `now`: nothing that was to wake it has come
    /// before. Where the kernel does not count the wait for a processor, `now`.
    pub fn woken(&mut self, now: Instant) -> Instant {
        let ready = self.delay.as_mut().and_then(RunDelay::read);
        let waited = ready.zip(self.asleep).map(|(ready, asleep)| ready - asleep);
        Instant::from_ns(now.as_ns().saturating_sub(waited.unwrap_or_default().as_ns()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farfield_wire::{Addresses, IpRepr, Message, UdpRepr, write_packet};
    use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    fn most_us(pickup: &Pickup) -> u64 {
        pickup.lateness.max().expect("a read").as_ns() / 1000
    }

    #[test]
    fn a_packet_has_waited_since_its_queue_was_empty_at_most() {
        let mut pickup = Pickup::new(Window { measure_from: at(1_000), measure_to: at(1_000_000) });
        pickup.found_empty(at(900));
        pickup.read(at(990));
        assert_eq!(pickup.lateness.count(), 0, "before the window");
        pickup.read(at(1_100));
        assert_eq!(most_us(&pickup), 200);
        // A queue that has not been empty for long may hold what came then.
        pickup.read(at(3_900));
        assert_eq!(most_us(&pickup), 3_000);
        pickup.found_empty(at(4_000));
        pickup.read(at(4_010));
        assert_eq!((pickup.lateness.count(), pickup.lateness.min().map(Duration::as_ns)), (3, Some(10_000)));
    }

    #[test]
    fn what_wakes_a_worker_has_waited_since_then() {
        let mut pickup = Pickup::new(Window { measure_from: at(0), measure_to: at(1_000_000) });
        pickup.found_empty(at(1_000));
        pickup.nothing_before(at(90_000));
        pickup.read(at(94_000));
        assert_eq!(most_us(&pickup), 4_000);
        // A wake by something else, earlier than what is known.
        pickup.nothing_before(at(20_000));
        pickup.read(at(94_500));
        assert_eq!(most_us(&pickup), 4_500);
    }

    /// A pickup with marks from a server at 127.0.0.1, and the client that gets them.
    struct Marked {
        pickup: Pickup,
        clock: Clock,
        client: UdpSocket,
    }

    impl Marked {
        /// With a client of its own: two sockets do not have one address.
        fn new(client: u8) -> Marked {
            let client = Ipv4Addr::new(127, 60, 98, client);
            let door = Door::open(client.into(), Ipv4Addr::LOCALHOST.into()).expect("a door").with_marks();
            let client = UdpSocket::bind((client, 60_998)).expect("a client's address");
            client.set_read_timeout(Some(std::time::Duration::from_secs(10))).expect("own socket");
            let clock = Clock::starting_in(Duration::ZERO);
            let window = Window { measure_from: at(0), measure_to: at(3_600_000_000) };
            Marked { pickup: Pickup::new(window).with_marks(Arc::new(door), clock), clock, client }
        }

        /// A read that returned a packet then, and the mark that it put, as a packet.
        fn read_and_mark(&mut self, at_us: u64) -> Vec<u8> {
            self.pickup.read(at(at_us));
            let mut number = [0; 8];
            let (length, server) = self.client.recv_from(&mut number).expect("a mark");
            let SocketAddr::V4(server) = server else { panic!("{server}") };
            let SocketAddr::V4(client) = self.client.local_addr().expect("own socket") else { panic!() };
            let addresses = Addresses::V4 { source: *server.ip(), destination: *client.ip() };
            let ports = UdpRepr { source_port: server.port(), destination_port: client.port() };
            let message = Message::Udp(ports, &number[..length]);
            let ip = IpRepr::new(addresses, message.protocol());
            let mut packet = vec![0; ip.header_len() + message.wire_len()];
            write_packet(&ip, &message, &mut packet);
            packet
        }
    }

    /// Packets read behind a mark have come after it was put, however long the queue has not been empty.
    #[test]
    fn what_comes_behind_a_mark_is_no_older_than_it() {
        let mut scene = Marked::new(1);
        let before = scene.clock.now();
        let mark = scene.read_and_mark(300_000);
        assert_eq!(most_us(&scene.pickup), 300_000, "it says nothing of what was before it");
        assert!(!scene.pickup.is_mark(&mark[..mark.len() - 1]), "a packet like it");
        let mut other = mark.clone();
        *other.last_mut().expect("a number") ^= 1;
        assert!(!scene.pickup.is_mark(&other), "a number that was not sent");
        assert!(scene.pickup.is_mark(&mark));
        assert!(scene.pickup.empty_at >= before && scene.pickup.empty_at <= scene.clock.now());
        assert!(!scene.pickup.is_mark(&mark), "once");
        // Soon after the queue was empty nothing is marked.
        scene.pickup.found_empty(at(400_000));
        scene.pickup.read(at(400_100));
        let soon = Some(std::time::Duration::from_millis(1));
        scene.client.set_read_timeout(soon).expect("own socket");
        scene.client.recv(&mut [0; 8]).expect_err("no mark");
    }

    /// A mark that comes says of those before it that they are lost, and those that are lost take no memory.
    #[test]
    fn marks_may_be_lost() {
        let mut scene = Marked::new(2);
        let marks: Vec<Vec<u8>> =
            (1..=2 * MARKS_MAX as u64).map(|nth| scene.read_and_mark(nth * 1_000)).collect();
        assert_eq!(scene.pickup.marks.as_ref().expect("marks").under_way.len(), MARKS_MAX);
        assert!(!scene.pickup.is_mark(&marks[0]), "given up");
        let [.., older, newer, last] = &marks[..] else { panic!("many marks") };
        assert!(scene.pickup.is_mark(newer));
        assert!(!scene.pickup.is_mark(older), "older than one that has come");
        assert!(scene.pickup.is_mark(last));
        assert!(scene.pickup.marks.as_ref().expect("marks").under_way.is_empty());
    }

    /// A thread that waits for a processor is woken before it runs: by as long as the kernel says.
    #[test]
    fn a_thread_is_woken_before_it_runs() {
        let mut waking = SleepMeter::of_this_thread();
        assert!(waking.delay.is_some(), "this kernel counts");
        waking.sleeps();
        let woken = waking.woken(at(5_000_000));
        assert!(woken <= at(5_000_000) && woken > at(1_000_000), "{woken:?}");
        let mut uncounted = SleepMeter::default();
        uncounted.sleeps();
        assert_eq!(uncounted.woken(at(7)), at(7));
    }
}
