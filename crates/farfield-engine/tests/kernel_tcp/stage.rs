//! A path of 100 ms each way between a *subject*, which is the kernel or farfield, and farfield; what is
//! lost or late on it is a script's. Farfield with itself plays in virtual time, the kernel in real time.

use crate::end::{Application, Kernel, Ours, Packet, testbed, too_busy};
use farfield_base::{Duration, Instant};
use farfield_os::clock::Clock;
use farfield_tcp::{Config, Ecn, Segment, SeqNumber};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use std::collections::BTreeMap;

pub const RTT: Duration = Duration::from_ms(200);
const ONE_WAY: Duration = Duration::from_ms(100);
/// Data in a full segment: 1,460 bytes less timestamps.
pub const MSS: i64 = 1448;
/// A scene in real time that lagged by more than this says nothing, and is played again.
const LAG_MAX: Duration = Duration::from_ms(40);
const TRIES: u32 = 24;
/// No scene is longer.
const LIMIT: Duration = Duration::from_secs(40);

/// A segment as it left its end.
#[derive(Debug, Clone)]
pub struct Sent {
    pub at: Instant,
    pub by_subject: bool,
    pub segment: Segment,
    /// Positions from the initial sequence numbers: data begins at 1.
    pub seq: i64,
    pub ack: i64,
    pub len: i64,
    /// Times that its first byte was sent by then; 0 without data.
    pub time: u32,
}

impl Sent {
    /// The full segment that its data begins in, from 0.
    pub fn index(&self) -> i64 {
        (self.seq - 1) / MSS
    }

    pub fn has_data(&self) -> bool {
        self.len > 0
    }
}

/// The fate of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Pass,
    Drop,
    /// Arrives marked with congestion, if its sender allows that.
    Mark,
    Late(Duration),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    Kernel,
    Ours,
}

/// The script to play: who opens, what each writes, who closes first, and what the path does.
pub struct Scene<'a> {
    pub subject_opens: bool,
    pub subject: Application,
    pub other: Application,
    pub config: Config,
    /// Settings of the kernel's.
    pub settings: &'a [(&'a str, &'a str)],
    pub fate: &'a dyn Fn(&Sent) -> Fate,
}

/// The segments that were seen.
pub struct Played {
    pub log: Vec<Sent>,
    /// Both ends got what was written.
    pub all_arrived: bool,
}

enum End {
    Kernel(Box<Kernel>),
    Ours(Box<Ours>),
}

impl End {
    fn take(&mut self, now: Instant) -> Option<Packet> {
        match self {
            End::Kernel(kernel) => kernel.take(),
            End::Ours(ours) => ours.take(now),
        }
    }

    fn is_over(&self) -> bool {
        match self {
            End::Kernel(kernel) => kernel.is_over(),
            End::Ours(ours) => ours.is_over(),
        }
    }
}

struct Stage<'a> {
    scene: &'a Scene<'a>,
    now: Instant,
    clock: Option<Clock>,
    /// The subject and the other end.
    ends: [End; 2],
    isn: [Option<SeqNumber>; 2],
    near: [(i64, i64); 2],
    times: [BTreeMap<i64, u32>; 2],
    under_way: BTreeMap<(Instant, usize), (usize, Packet)>,
    log: Vec<Sent>,
    lag: Duration,
}

impl Scene<'_> {
    /// Plays it; `None`, and `test` is skipped, where this machine has not the means or not the time.
    pub fn play(&self, test: &str, subject: Subject) -> Option<Played> {
        if subject == Subject::Ours {
            return Some(self.play_once(None).0);
        }
        for _try in 0..TRIES {
            let testbed = testbed(test, self.settings)?;
            let (played, lag) = self.play_once(Some(&testbed));
            if lag <= LAG_MAX {
                return Some(played);
            }
            eprintln!("{test}: lagged by {lag}");
            // The load that made it lag, a test beside it perhaps, may be over soon
            std::thread::park_timeout(std::time::Duration::from_millis(500));
        }
        too_busy(test);
        None
    }

    fn play_once(&self, testbed: Option<&farfield_testbed::Testbed>) -> (Played, Duration) {
        let ours =
            |opens, isn, application| End::Ours(Box::new(Ours::new(&self.config, opens, isn, application)));
        let other = ours(!self.subject_opens, 50_000, self.other);
        let subject = match testbed {
            Some(testbed) => End::Kernel(Box::new(Kernel::new(testbed, 5, self.subject_opens, self.subject))),
            None => ours(self.subject_opens, 1_000, self.subject),
        };
        let mut stage = Stage {
            scene: self,
            now: Instant::ZERO,
            clock: testbed.map(|_| Clock::starting_in(Duration::ZERO)),
            ends: [subject, other],
            isn: [None; 2],
            near: [(0, 0); 2],
            times: Default::default(),
            under_way: BTreeMap::new(),
            log: Vec::new(),
            lag: Duration::ZERO,
        };
        stage.run();
        stage.end()
    }
}

impl Stage<'_> {
    fn run(&mut self) {
        let limit = Instant::ZERO + LIMIT;
        loop {
            for side in [0, 1] {
                while let Some(packet) = self.ends[side].take(self.now) {
                    self.depart(side, packet);
                }
            }
            let over = self.under_way.is_empty() && self.ends.iter().all(End::is_over);
            if over || self.now > limit || !self.pass() {
                return;
            }
            while let Some(first) = self.under_way.first_entry().filter(|first| first.key().0 <= self.now) {
                let ((at, _), (to, packet)) = first.remove_entry();
                self.lag = self.lag.max(self.now.since(at));
                match &mut self.ends[to] {
                    End::Kernel(kernel) => kernel.arrive(&packet),
                    End::Ours(ours) => ours.arrive(self.now, &packet),
                }
                // Packets that an arrival brings about are sent before the next
                while let Some(packet) = self.ends[to].take(self.now) {
                    self.depart(to, packet);
                }
            }
            for end in &mut self.ends {
                if let End::Ours(ours) = end {
                    ours.wake(self.now);
                }
            }
            if let [End::Kernel(kernel), End::Ours(other)] = &mut self.ends
                && other.has_sent_all()
            {
                kernel.let_read();
            }
        }
    }

    /// Waits for what is next. False if nothing is.
    fn pass(&mut self) -> bool {
        let timers = self.ends.iter().filter_map(|end| match end {
            End::Ours(ours) => ours.tcp.poll_timer(),
            End::Kernel(_) => None,
        });
        let next = timers.chain(self.under_way.first_key_value().map(|((at, _), _)| *at)).min();
        let (Some(clock), End::Kernel(kernel)) = (self.clock, &self.ends[0]) else {
            self.now = next.unwrap_or(self.now).max(self.now);
            return next.is_some();
        };
        // Applications of the kernel's are looked at now and then
        let wait = next.map_or(Duration::from_ms(10), |at| at.since(clock.now())).min(Duration::from_ms(10));
        let wait = Timespec { tv_sec: 0, tv_nsec: wait.as_ns() as i64 };
        poll(&mut [PollFd::new(&kernel.queue, PollFlags::IN)], Some(&wait)).unwrap();
        let before = self.now;
        self.now = clock.now();
        self.lag = self.lag.max(Duration::from_ns(self.now.since(before).as_ns().saturating_sub(10_000_000)));
        true
    }

    fn depart(&mut self, side: usize, mut packet: Packet) {
        let (segment, payload) = &packet;
        let own = *self.isn[side].get_or_insert(segment.seq);
        let (near, near_ack) = self.near[side];
        let seq = segment.seq.position(own, near);
        let ack = self.isn[1 - side].map_or(0, |other| segment.ack.position(other, near_ack));
        self.near[side] = (seq, ack);
        let len = payload.len() as i64;
        let mut time = 0;
        if len > 0 {
            // Each full segment that it has a part of
            for index in (seq - 1) / MSS..=(seq + len - 2) / MSS {
                *self.times[side].entry(index).or_default() += 1;
            }
            time = self.times[side][&((seq - 1) / MSS)];
        }
        let sent = Sent { at: self.now, by_subject: side == 0, segment: *segment, seq, ack, len, time };
        let fate = (self.scene.fate)(&sent);
        if fate == Fate::Mark && packet.0.ecn != Ecn::NotEct {
            packet.0.ecn = Ecn::Ce;
        }
        let late = match fate {
            Fate::Pass | Fate::Mark => Some(Duration::ZERO),
            Fate::Late(late) => Some(late),
            Fate::Drop => None,
        };
        self.log.push(sent);
        if let Some(late) = late {
            self.under_way.insert((self.now + ONE_WAY + late, self.log.len()), (1 - side, packet));
        }
    }

    fn end(self) -> (Played, Duration) {
        let expected = [self.scene.other.body(), self.scene.subject.body()];
        let received = self.ends.map(|end| match end {
            End::Ours(ours) => ours.received,
            End::Kernel(kernel) if kernel.is_over() => {
                kernel.app.and_then(|app| app.join().unwrap().ok()).unwrap_or_default()
            }
            End::Kernel(_) => Vec::new(),
        });
        (Played { log: self.log, all_arrived: received == expected }, self.lag)
    }
}

impl Played {
    pub fn data(&self, by_subject: bool) -> impl Iterator<Item = &Sent> {
        self.log.iter().filter(move |sent| sent.by_subject == by_subject && sent.has_data())
    }

    /// The subject's new segments in each round trip since its first data.
    pub fn rounds(&self) -> Vec<i64> {
        self.rounds_by(true)
    }

    /// New segments of the subject, or of the other, in each round trip since its first data.
    pub fn rounds_by(&self, subject: bool) -> Vec<i64> {
        let mut rounds = Vec::new();
        let Some(first) = self.data(subject).next().map(|sent| sent.at) else { return rounds };
        let mut reached = 1;
        for sent in self.data(subject) {
            let round = ((sent.at.since(first) + ONE_WAY).as_ns() / RTT.as_ns()) as usize;
            rounds.resize(rounds.len().max(round + 1), 0);
            rounds[round] += (sent.seq + sent.len - reached).max(0);
            reached = reached.max(sent.seq + sent.len);
        }
        rounds.iter().map(|bytes| (bytes + MSS / 2) / MSS).collect()
    }

    /// Full segments that the subject sent more than once, with the round trips since its first data.
    pub fn resent(&self) -> Vec<(i64, f64)> {
        let Some(first) = self.data(true).next().map(|sent| sent.at) else { return Vec::new() };
        let again = self.data(true).filter(|sent| sent.time > 1);
        again.map(|sent| (sent.index(), sent.at.since(first).as_secs_f64() / RTT.as_secs_f64())).collect()
    }
}
