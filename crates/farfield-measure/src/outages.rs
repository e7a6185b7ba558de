//! The times in which the network lets nothing through, as the user asked for: silence in them is none of the
//! server's.

use farfield_base::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// Times that are held out, in order and none touching another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outages(Vec<(Instant, Instant)>);

/// The first timer of TCP's (RFC 6298, section 2), beyond what an outage adds to it.
const FIRST_TIMER: Duration = Duration::from_secs(1);

impl Outages {
    /// Times in order, each with its aftermath: timers that double have grown to no more than the time since
    /// packets were first lost, so that connections go on at the latest after as long again.
    pub fn new(outages: &[(Instant, Instant)]) -> Outages {
        let mut held_out: Vec<(Instant, Instant)> = Vec::new();
        for &(from, to) in outages {
            let to = to + to.since(from) + FIRST_TIMER;
            match held_out.last_mut() {
                Some((_, end)) if from <= *end => *end = to.max(*end),
                _ => held_out.push((from, to)),
            }
        }
        Outages(held_out)
    }

    /// A stretch without the times that are held out, piece by piece.
    pub(crate) fn left_of(&self, (from, length): (Instant, Duration)) -> Vec<(Instant, Duration)> {
        let end = from + length;
        let before = self.0.partition_point(|(_, to)| *to <= from);
        let (mut pieces, mut from) = (Vec::new(), from);
        for &(held_from, held_to) in self.0[before..].iter().take_while(|(held_from, _)| *held_from < end) {
            if from < held_from {
                pieces.push((from, held_from.since(from)));
            }
            from = held_to;
        }
        if from < end {
            pieces.push((from, end.since(from)));
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From one second to another.
    type Stretch = (u64, u64);

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(secs)
    }

    #[test]
    fn a_stretch_is_left_without_outages_and_what_they_leave_behind() {
        // Held out from 10 to 15, and from 20 to 27 as one.
        let outages = Outages::new(&[(at(10), at(12)), (at(20), at(21)), (at(22), at(24))]);
        let left = |from: u64, to: u64| {
            let pieces = outages.left_of((at(from), at(to).since(at(from))));
            pieces
                .iter()
                .map(|(from, length)| (from.as_ns() / 1_000_000_000, length.as_ns() / 1_000_000_000))
                .collect()
        };
        let cases: [(Stretch, Vec<Stretch>); 6] = [
            ((0, 10), vec![(0, 10)]),
            ((8, 18), vec![(8, 2), (15, 3)]),
            ((10, 15), vec![]),
            ((11, 16), vec![(15, 1)]),
            ((14, 30), vec![(15, 5), (27, 3)]),
            ((23, 26), vec![]),
        ];
        for ((from, to), expected) in cases {
            let found: Vec<(u64, u64)> = left(from, to);
            assert_eq!(found, expected, "{from} to {to}");
        }
        assert_eq!(
            Outages::new(&[(at(5), Instant::MAX)]).left_of((at(4), Duration::MAX)),
            [(at(4), Duration::from_secs(1))]
        );
    }
}
