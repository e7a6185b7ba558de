//! Packet-delivery traces in mahimahi's format: on each line the millisecond at which one packet of 1500
//! bytes may leave. After its last line the trace begins again, counted from that line's time.
//!
//! As in mahimahi's `mm-link` (Netravali et al. 2015, section 4): an opportunity is for packets that came
//! before it. What a packet leaves of its 1500 bytes goes to the packets behind it in the queue; what the
//! queue leaves is lost. A packet that needs more takes several opportunities and leaves with the last.
//! Unlike mahimahi, packets above 1500 bytes are carried too, and instants are kept to the nanosecond, not
//! cut to the millisecond.

use crate::transmit::Passage;
use farfield_base::Instant;

/// Bytes that one line of a trace lets go.
pub const OPPORTUNITY_BYTES: u64 = 1500;

const NS_PER_MS: u64 = 1_000_000;

/// A recorded link: opportunities in order, the last of them after time zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    opportunities_ms: Vec<u64>,
}

/// Why a text is no trace. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// A line that is no whole number.
    #[error("line {line}: `{given}` is no time; write a whole number of milliseconds")]
    Number {
        /// The line.
        line: usize,
        /// The text that stands there.
        given: String,
    },
    /// A line that goes back in time.
    #[error("line {line}: {given} is before the {before} above it; sort the lines by time")]
    Order {
        /// The line.
        line: usize,
        /// The line's time, in ms.
        given: u64,
        /// The time before it, in ms.
        before: u64,
    },
    /// No line at all.
    #[error("the trace is empty; write on each line the millisecond at which 1500 bytes may leave")]
    Empty,
    /// A round that takes no time.
    #[error("the trace ends at 0 ms, so that it would carry without limit; its last line must be above 0")]
    Instantaneous,
}

impl Trace {
    /// Reads a trace, one number a line.
    ///
    /// # Errors
    /// The first line that is no number, or less than the one ahead of it; no lines, or none above 0.
    pub fn parse(text: &str) -> Result<Trace, TraceError> {
        let mut opportunities_ms: Vec<u64> = Vec::new();
        for (index, given) in text.lines().enumerate() {
            let line = index + 1;
            let number = || TraceError::Number { line, given: given.to_owned() };
            let ms = given.trim().parse::<u32>().map(u64::from).map_err(|_| number())?;
            match opportunities_ms.last() {
                Some(&before) if ms < before => return Err(TraceError::Order { line, given: ms, before }),
                _ => opportunities_ms.push(ms),
            }
        }
        match opportunities_ms.last() {
            None => Err(TraceError::Empty),
            Some(0) => Err(TraceError::Instantaneous),
            Some(_) => Ok(Trace { opportunities_ms }),
        }
    }

    /// Opportunities in a round.
    pub fn opportunities(&self) -> usize {
        self.opportunities_ms.len()
    }

    /// Bits a second, over a round.
    pub fn mean_bits(&self) -> f64 {
        let bits = self.opportunities_ms.len() as u64 * OPPORTUNITY_BYTES * 8;
        bits as f64 * 1e3 / self.round_ms() as f64
    }

    fn round_ms(&self) -> u64 {
        self.opportunities_ms[self.opportunities_ms.len() - 1]
    }
}

/// An opportunity of a trace, and what is left of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor {
    round: u64,
    index: usize,
    left: u64,
}

impl Default for Cursor {
    fn default() -> Cursor {
        Cursor { round: 0, index: 0, left: OPPORTUNITY_BYTES }
    }
}

impl Cursor {
    /// Instant at which a packet starts to leave that came at `ready` and is next in line.
    pub fn next_start(self, trace: &Trace, ready: Instant) -> Instant {
        self.with_something_left(trace, ready).at(trace)
    }

    /// Lets `bytes` leave that came at `ready`.
    pub fn carry(&mut self, trace: &Trace, ready: Instant, bytes: u64) -> Passage {
        *self = self.with_something_left(trace, ready);
        let start = self.at(trace);
        let mut rest = bytes;
        while rest > self.left {
            rest -= self.left;
            *self = self.following(trace);
        }
        self.left -= rest;
        Passage { start, end: self.at(trace) }
    }

    fn at(self, trace: &Trace) -> Instant {
        let ms =
            self.round.saturating_mul(trace.round_ms()).saturating_add(trace.opportunities_ms[self.index]);
        Instant::from_ns(ms.saturating_mul(NS_PER_MS))
    }

    /// The first opportunity after `ready`, from this one on, of which anything is left.
    fn with_something_left(self, trace: &Trace, ready: Instant) -> Cursor {
        let cursor = if self.at(trace) > ready { self } else { Cursor::first_after(trace, ready) };
        if cursor.left == 0 { cursor.following(trace) } else { cursor }
    }

    fn first_after(trace: &Trace, ready: Instant) -> Cursor {
        let ready_ms = ready.as_ns() / NS_PER_MS;
        let within_ms = ready_ms % trace.round_ms();
        // The last opportunity of a round is after everything within it, so there is always one.
        let index = trace.opportunities_ms.partition_point(|&ms| ms <= within_ms);
        Cursor { round: ready_ms / trace.round_ms(), index, left: OPPORTUNITY_BYTES }
    }

    fn following(self, trace: &Trace) -> Cursor {
        let (round, index) = if self.index + 1 == trace.opportunities_ms.len() {
            (self.round + 1, 0)
        } else {
            (self.round, self.index + 1)
        };
        Cursor { round, index, left: OPPORTUNITY_BYTES }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    fn ends_ms(trace: &str, packets: &[(u64, u64)]) -> Vec<u64> {
        let trace = Trace::parse(trace).unwrap();
        let mut cursor = Cursor::default();
        let mut end =
            |&(ms, bytes): &(u64, u64)| cursor.carry(&trace, Instant::from_ns(ms * NS_PER_MS), bytes).end;
        packets.iter().map(|packet| end(packet).as_ns() / NS_PER_MS).collect()
    }

    /// By hand: 5 and 7 ms, then 12 and 14, 19 and 21.
    #[test]
    fn each_line_lets_one_packet_go_and_the_trace_repeats() {
        assert_eq!(ends_ms("5\n7\n", &[(0, 1500); 5]), [5, 7, 12, 14, 19]);
        assert_eq!(ends_ms("5\n7\n", &[(5, 1500), (8, 1500), (30, 1)]), [7, 12, 33]);
    }

    #[test]
    fn what_a_packet_leaves_is_for_those_behind_it() {
        // 1500 bytes at 5 ms: 1000 and the half of the second; at 7 ms the rest of it and the third.
        assert_eq!(ends_ms("5\n7\n", &[(0, 1000), (1, 1000), (2, 1000)]), [5, 7, 7]);
        // The third came after 5 ms: what was left then is lost.
        assert_eq!(ends_ms("5\n7\n", &[(0, 500), (1, 500), (5, 500)]), [5, 5, 7]);
        assert_eq!(ends_ms("5\n5\n6\n", &[(0, 4000)]), [6]);
    }

    #[test]
    fn what_is_no_trace_says_where() {
        let refuse = |text: &str, error| assert_eq!(Trace::parse(text), Err(error));
        refuse("", TraceError::Empty);
        refuse("0\n0", TraceError::Instantaneous);
        refuse("1\n\n2", TraceError::Number { line: 2, given: String::new() });
        refuse("1\n2.5", TraceError::Number { line: 2, given: "2.5".to_owned() });
        refuse("1\n5\n4", TraceError::Order { line: 3, given: 4, before: 5 });
    }

    #[test]
    fn a_trace_of_one_packet_a_millisecond_is_twelve_megabits() {
        assert_eq!(Trace::parse("1\n").unwrap().mean_bits(), 12e6);
    }

    /// The link as mahimahi runs it, opportunity by opportunity.
    fn played(opportunities: &[u64], packets: &[(u64, u64)]) -> Vec<u64> {
        let mut queue: VecDeque<(usize, u64)> = VecDeque::new();
        let mut ends = vec![0; packets.len()];
        let (mut next, mut base) = (0, 0);
        let mut play_until = |now: u64, queue: &mut VecDeque<(usize, u64)>| {
            while base + opportunities[next] <= now {
                let at = base + opportunities[next];
                next = (next + 1) % opportunities.len();
                if next == 0 {
                    base += opportunities[opportunities.len() - 1];
                }
                let mut left = OPPORTUNITY_BYTES;
                while left > 0 {
                    let Some((packet, rest)) = queue.front_mut() else { break };
                    let taken = left.min(*rest);
                    (left, *rest) = (left - taken, *rest - taken);
                    if *rest == 0 {
                        ends[*packet] = at;
                        queue.pop_front();
                    }
                }
            }
        };
        for (index, &(ms, bytes)) in packets.iter().enumerate() {
            play_until(ms, &mut queue);
            queue.push_back((index, bytes));
        }
        play_until(1_000_000, &mut queue);
        ends
    }

    proptest! {
        #[test]
        fn agrees_with_playing_every_opportunity(
            gaps in prop::collection::vec(0u64..9, 1..12),
            arrivals in prop::collection::vec((0u64..12, 1u64..3200), 1..60),
        ) {
            let sums = |gaps: &mut dyn Iterator<Item = u64>| {
                gaps.scan(0, |at, gap| { *at += gap; Some(*at) }).collect::<Vec<u64>>()
            };
            let mut opportunities = sums(&mut gaps.into_iter());
            opportunities.push(opportunities[opportunities.len() - 1] + 1);
            let at = sums(&mut arrivals.iter().map(|(gap, _)| *gap));
            let packets: Vec<(u64, u64)> = at.into_iter().zip(arrivals.iter().map(|(_, bytes)| *bytes)).collect();
            let text: String = opportunities.iter().map(|ms| format!("{ms}\n")).collect();
            prop_assert_eq!(ends_ms(&text, &packets), played(&opportunities, &packets));
        }
    }
}
