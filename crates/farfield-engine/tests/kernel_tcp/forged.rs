//! Segments that no honest peer sends, and what the subject answers: resets, challenges, silence.

use crate::end::{Application, Closes, Kernel, Ours, Packet, body};
use crate::stage::Subject;
use farfield_base::{Duration, Instant};
use farfield_os::clock::Clock;
use farfield_tcp::{Config, Flags, Segment, SeqNumber, Timestamps};
use farfield_testbed::Testbed;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

/// The forger's initial sequence number, and its clock of stamps at the SYN.
const ISN: SeqNumber = SeqNumber(3_000_000_000);
const STAMP: u32 = 500_000;

/// An answer: its flags, and its numbers as positions.
pub type Answer = (Flags, i64, i64);

enum End {
    Kernel(Box<Kernel>),
    Ours(Box<Ours>),
}

/// A peer that says what it likes to a subject that listens.
pub struct Forger {
    end: End,
    now: Instant,
    clock: Clock,
    subject: SeqNumber,
    stamp: u32,
}

impl Forger {
    /// Before a SYN was sent.
    pub fn new(subject: Subject, testbed: Option<&Testbed>, config: &Config) -> Forger {
        let application = Application { writes: 0, turns: &[], closes: Closes::Afterwards };
        let end = match (subject, testbed) {
            (Subject::Kernel, Some(testbed)) => {
                End::Kernel(Box::new(Kernel::new(testbed, 9, false, application)))
            }
            _ => End::Ours(Box::new(Ours::new(config, false, 1_000, application))),
        };
        let clock = Clock::starting_in(Duration::ZERO);
        Forger { end, now: Instant::ZERO, clock, subject: SeqNumber(0), stamp: STAMP }
    }

    /// A segment at positions of both directions, with a stamp later than the one before.
    pub fn segment(&mut self, flags: Flags, seq: i64, ack: i64) -> Segment {
        self.stamp += 10;
        let timestamps = Some(Timestamps { value: self.stamp, echo: 0 });
        let mut segment = Segment {
            seq: ISN.at(seq),
            ack: self.subject.at(ack),
            flags,
            window: 10_000,
            ..Segment::default()
        };
        segment.options.timestamps = timestamps;
        segment
    }

    pub fn syn(&mut self) -> Segment {
        let mut syn = self.segment(Flags::SYN, 0, 0);
        (syn.options.mss, syn.options.window_scale, syn.options.sack_permitted) = (Some(1460), Some(0), true);
        syn
    }

    /// A SYN, and its answer.
    pub fn opening(mut self) -> Forger {
        let syn = self.syn();
        self.deliver(syn, 0);
        let (syn_ack, _) = self.listen().expect("a SYN-ACK");
        assert_eq!(syn_ack.flags, Flags::SYN_ACK);
        self.subject = syn_ack.seq;
        self
    }

    /// A whole handshake.
    pub fn connected(mut self) -> Forger {
        self = self.opening();
        let ack = self.segment(Flags::ACK, 1, 1);
        assert_eq!(self.say(ack, 0), []);
        self
    }

    /// Sends `segment` with so much data and gives all that comes back.
    pub fn say(&mut self, segment: Segment, len: usize) -> Vec<Answer> {
        self.deliver(segment, len);
        let mut answers = Vec::new();
        while let Some((answer, _)) = self.listen() {
            let ack = if answer.flags.ack { answer.ack.position(ISN, 0) } else { 0 };
            answers.push((Flags { psh: false, ..answer.flags }, answer.seq.position(self.subject, 0), ack));
        }
        answers
    }

    /// Sends a segment at these positions with so much data and gives all that comes back.
    pub fn forge(&mut self, flags: Flags, seq: i64, ack: i64, len: usize) -> Vec<Answer> {
        let segment = self.segment(flags, seq, ack);
        self.say(segment, len)
    }

    fn deliver(&mut self, segment: Segment, len: usize) {
        let packet = (Segment { payload_len: len as u32, ..segment }, body(len));
        match &mut self.end {
            End::Kernel(kernel) => kernel.arrive(&packet),
            End::Ours(ours) => {
                self.now += Duration::from_ms(300);
                ours.wake(self.now);
                ours.arrive(self.now, &packet);
            }
        }
    }

    /// The next answer, if one comes within 300 ms: the kernel does its receive work while it is handed a
    /// packet, and its application needs a turn of its processor.
    fn listen(&mut self) -> Option<Packet> {
        match &mut self.end {
            End::Ours(ours) => {
                let now = self.now + Duration::from_ms(100);
                ours.take(self.now).or_else(|| {
                    ours.wake(now);
                    ours.take(now)
                })
            }
            End::Kernel(kernel) => {
                let until = self.clock.now() + Duration::from_ms(300);
                loop {
                    if let Some(packet) = kernel.take() {
                        return Some(packet);
                    }
                    let left = until.since(self.clock.now());
                    if left.is_zero() {
                        return None;
                    }
                    let wait = Timespec { tv_sec: 0, tv_nsec: left.as_ns().min(20_000_000) as i64 };
                    poll(&mut [PollFd::new(&kernel.queue, PollFlags::IN)], Some(&wait)).unwrap();
                }
            }
        }
    }
}
