//! Counts of status codes: a 401, a 404 and a 429 are three things. Replies count that came as a whole, as
//! they do among those completed: the status of one that was cut off says nothing.

use farfield_base::{Merge, Sample};
use serde::{Deserialize, Serialize};

/// The number of replies by their status code, in the order of the codes. A reply's status has three digits,
/// so that there are a thousand at most.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StatusCounts(Vec<(u16, u64)>);

impl StatusCounts {
    /// Counts the reply to a request, if a whole one came.
    pub fn record(&mut self, sample: &Sample) {
        if sample.outcome.is_reply() {
            self.add(sample.status);
        }
    }

    /// Counts one more reply; a request without one has the status 0.
    fn add(&mut self, status: u16) {
        if status > 0 {
            self.add_all(status, 1);
        }
    }

    fn add_all(&mut self, status: u16, count: u64) {
        match self.0.binary_search_by_key(&status, |(known, _)| *known) {
            Ok(place) => self.0[place].1 += count,
            Err(place) => self.0.insert(place, (status, count)),
        }
    }

    /// Replies with this status.
    pub fn of(&self, status: u16) -> u64 {
        self.iter().find(|(known, _)| *known == status).map_or(0, |(_, count)| count)
    }

    /// Replies with a status of this class: 4 is 400 to 499. One beyond 599 is of class 5, as whoever
    /// receives it is to treat it (RFC 9110 section 15), and as its outcome has it.
    pub fn of_class(&self, class: u16) -> u64 {
        self.iter().filter(|(status, _)| (status / 100).min(5) == class).map(|(_, count)| count).sum()
    }

    /// All replies.
    pub fn sum(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// The codes that occurred, in order, each with its count.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u64)> {
        self.0.iter().copied()
    }
}

/// Adds the counts of another.
impl Merge for StatusCounts {
    fn merge(&mut self, other: &StatusCounts) {
        other.0.iter().for_each(|(status, count)| self.add_all(*status, *count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::scene::sample;
    use farfield_base::Outcome;

    #[test]
    fn replies_that_were_cut_off_have_no_status() {
        let mut counts = StatusCounts::default();
        for outcome in [Outcome::Ok, Outcome::Truncated, Outcome::TimedOut, Outcome::CheckFailed] {
            counts.record(&Sample { outcome, status: 200, ..sample(0, 1) });
        }
        assert_eq!(counts.of(200), 2);
    }

    #[test]
    fn codes_beyond_the_classes_are_of_the_class_of_their_outcome() {
        let mut counts = StatusCounts::default();
        for status in [599, 600, 999] {
            let outcome = Outcome::of_status(status);
            assert_eq!(outcome, Outcome::Status5xx);
            counts.record(&Sample { outcome, status, ..sample(0, 1) });
        }
        assert_eq!(counts.of_class(5), 3);
    }

    #[test]
    fn codes_are_counted_in_order_and_add_up() {
        let of = |codes: &[u16]| {
            let mut counts = StatusCounts::default();
            codes.iter().for_each(|status| counts.add(*status));
            counts
        };
        let mut all = of(&[404, 200, 0, 429, 200]);
        assert_eq!(all.iter().collect::<Vec<_>>(), [(200, 2), (404, 1), (429, 1)]);
        assert_eq!((all.of(200), all.of(0), all.of(500)), (2, 0, 0));
        assert_eq!((all.of_class(4), all.of_class(2), all.sum()), (2, 2, 4));
        all.merge(&of(&[503, 404]));
        assert_eq!(all, of(&[200, 200, 404, 404, 429, 503]));
    }
}
