//! A course: a rate that is constant for a while, then another, at known times. In each piece sessions are a
//! Poisson process.
//!
//! The log is cut where that makes it likeliest, then the piece for which a further cut gains most, and so on
//! (binary segmentation: Scott and Knott 1974, "A cluster analysis method for grouping means in the analysis
//! of variance"; for events with a Poisson likelihood Scargle 1998, "Studies in astronomical time series
//! analysis V"). A course may have as many pieces as a day has half-hours: what needs more of them is no
//! course but a process, of which another log would show another path.

use super::scales::StartCounts;
use crate::series::{joined, mean, variance};
use farfield_base::Duration;
use serde::{Deserialize, Serialize};

/// A rate over time, constant in pieces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// The pieces, from the log's begin on.
    pub pieces: Vec<CoursePiece>,
}

/// A time at one rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CoursePiece {
    /// Length of the piece.
    pub lasts: Duration,
    /// Sessions a second.
    pub rate: f64,
}

impl Course {
    /// Pieces of a course at most.
    pub const PIECES_MAX: usize = 48;

    /// The course of the counts, and the index of dispersion at each scale that it makes with a Poisson
    /// process in each piece.
    pub(crate) fn fit(counted: &StartCounts) -> (Course, Vec<f64>) {
        let slot_s = counted.slot.as_secs_f64();
        let (mut pieces, mut rates) = (Vec::new(), Vec::with_capacity(counted.series.len()));
        for (from, to) in segments(&counted.series) {
            let a_slot = mean(&counted.series[from..to]);
            rates.resize(to, a_slot);
            pieces.push(CoursePiece { lasts: counted.slot.times((to - from) as u64), rate: a_slot / slot_s });
        }
        let expected = |slots: &usize| {
            let rates = joined(&rates, *slots);
            1.0 + variance(&rates) / mean(&rates)
        };
        (Course { pieces }, counted.ladder.iter().map(expected).collect())
    }

    /// The course begun with the piece from which the rate over `window_s` seconds, or over a twentieth
    /// of the course if that is less, is nearest to the mean: the same course, where it repeats.
    pub(crate) fn begun_at_its_mean(&self, window_s: f64) -> Course {
        let total: f64 = self.pieces.iter().map(|piece| piece.lasts.as_secs_f64() * piece.rate).sum();
        let length_s: f64 = self.pieces.iter().map(|piece| piece.lasts.as_secs_f64()).sum();
        let (mean, window_s) = (total / length_s, window_s.min(length_s / 20.0));
        let off = |first: usize| {
            let (mut left_s, mut sessions) = (window_s, 0.0f64);
            for piece in self.pieces.iter().cycle().skip(first) {
                let taken_s = piece.lasts.as_secs_f64().min(left_s);
                sessions += taken_s * piece.rate;
                left_s -= taken_s;
                if left_s <= 0.0 {
                    break;
                }
            }
            (sessions / (window_s * mean)).max(1e-9).ln().abs()
        };
        let first = (0..self.pieces.len()).min_by(|a, b| off(*a).total_cmp(&off(*b))).unwrap_or(0);
        let mut pieces = self.pieces.clone();
        pieces.rotate_left(first);
        Course { pieces }
    }
}

/// A piece of the counts, and the cut of it that gains most likelihood.
struct Segment {
    from: usize,
    to: usize,
    cut: usize,
    gain: f64,
}

/// Begin and end of each piece, in order.
fn segments(counts: &[f64]) -> Vec<(usize, usize)> {
    // Of a constant rate, the best of all cuts rarely gains this much: the gain of any one of them is half of
    // a χ² of one degree of freedom.
    let least_gain = 3.0 * (counts.len() as f64).ln();
    let sums: Vec<f64> = std::iter::once(0.0)
        .chain(counts.iter().scan(0.0, |sum, count| {
            *sum += count;
            Some(*sum)
        }))
        .collect();
    let mut all = vec![segment(&sums, 0, counts.len())];
    while all.len() < Course::PIECES_MAX {
        let best = (0..all.len()).max_by(|a, b| all[*a].gain.total_cmp(&all[*b].gain)).expect("there is one");
        let Segment { from, to, cut, gain } = all[best];
        if gain < least_gain {
            break;
        }
        all[best] = segment(&sums, from, cut);
        all.push(segment(&sums, cut, to));
    }
    let mut ends: Vec<(usize, usize)> = all.into_iter().map(|piece| (piece.from, piece.to)).collect();
    ends.sort_unstable();
    ends
}

fn segment(sums: &[f64], from: usize, to: usize) -> Segment {
    // ln of the likelihood of N arrivals in T slots at their own mean rate, up to what no cut changes.
    let ln = |from: usize, to: usize| {
        let arrivals = sums[to] - sums[from];
        if arrivals > 0.0 { arrivals * (arrivals / (to - from) as f64).ln() } else { 0.0 }
    };
    let whole = ln(from, to);
    let mut best = Segment { from, to, cut: from, gain: f64::NEG_INFINITY };
    for cut in from + 1..to {
        let gain = ln(from, cut) + ln(cut, to) - whole;
        if gain > best.gain {
            (best.cut, best.gain) = (cut, gain);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_cut_where_it_is() {
        let counts: Vec<f64> = (0..600).map(|at| if (200..260).contains(&at) { 9.0 } else { 2.0 }).collect();
        assert_eq!(segments(&counts), [(0, 200), (200, 260), (260, 600)]);
        assert_eq!(segments(&[3.0; 500]), [(0, 500)]);
    }

    #[test]
    fn a_course_begins_where_it_is_at_its_mean() {
        let piece = |secs, rate| CoursePiece { lasts: Duration::from_secs(secs), rate };
        let course =
            Course { pieces: vec![piece(100, 1.0), piece(100, 3.1), piece(100, 9.0), piece(200, 1.0)] };
        // 1,510 in 500 s: 3.02 a second.
        let begun = course.begun_at_its_mean(500.0);
        assert_eq!(begun.pieces[0].rate, 3.1);
        assert_eq!((begun.pieces.len(), begun.pieces[3].rate), (4, 1.0));
    }
}
