//! The flows of users, each counted by itself in the measured part.
//!
//! A flow's requests have numbers of their own, by which a sample and an event belong to it.

use crate::fold::PhaseStats;
use farfield_base::Window;
use serde::{Deserialize, Serialize};
use std::ops::Range;

farfield_base::mergeable! {
    /// Counts by flow. Those that merge are of the same flows.
    #[derive(Debug, Clone, Default, Serialize, Deserialize)]
    pub struct Flows {
        /// Names and the numbers of requests, in order.
        flows: Vec<(String, Range<u32>)> => same,
        parts: Vec<PhaseStats> => each,
    }
}

impl Flows {
    /// Nothing yet, of the measured part `window`.
    pub(crate) fn new(flows: Vec<(String, Range<u32>)>, window: Window) -> Flows {
        Flows { parts: vec![PhaseStats::steady(window); flows.len()], flows }
    }

    /// The counts of all flows.
    pub(crate) fn parts(&mut self) -> impl Iterator<Item = &mut PhaseStats> {
        self.parts.iter_mut()
    }

    /// The counts of the flow that asks with this request.
    #[inline]
    pub(crate) fn part_of(&mut self, request: u32) -> Option<&mut PhaseStats> {
        let flow = self.flows.iter().position(|(_, requests)| requests.contains(&request))?;
        self.parts.get_mut(flow)
    }

    /// The flows in order: name, numbers of requests, and what was counted; none where there are no several.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, Range<u32>, &PhaseStats)> {
        self.flows.iter().zip(&self.parts).map(|((name, requests), part)| (&**name, requests.clone(), part))
    }

    /// The counts of the flow of this name.
    pub fn flow(&self, name: &str) -> Option<&PhaseStats> {
        self.iter().find(|(own, ..)| *own == name).map(|(.., part)| part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::Fold;
    use crate::fold::scene::{sample, window};
    use farfield_base::{Merge, Sample};

    /// Requests due, responses and rates of each flow.
    fn counts(fold: &Fold) -> Vec<(String, u64, u64)> {
        let counts = |(name, _, part): (&str, _, &PhaseStats)| {
            (name.to_owned(), part.requests(), part.events.completed)
        };
        fold.flows().iter().map(counts).collect()
    }

    #[test]
    fn a_request_is_counted_in_the_flow_of_its_number() {
        let flows = vec![("browse".to_owned(), 0..3), ("none".to_owned(), 3..3), ("api".to_owned(), 3..4)];
        let empty = || Fold::new(window(50, 300)).in_flows(flows.clone());
        // In the warm-up, three in the measured part, one with a number that no flow has, one beyond.
        let all = [(0, 10, 20), (2, 60, 70), (3, 70, 80), (3, 100, 310), (9, 80, 90), (0, 300, 301)];
        const MS: u64 = 1_000_000;
        let samples = all.map(|(request, due, done)| Sample { request, ..sample(due * MS, done * MS) });
        let mut whole = empty();
        samples.iter().for_each(|sample| whole.record(sample));
        let expected = [("browse", 1, 1), ("none", 0, 0), ("api", 2, 1)];
        assert_eq!(counts(&whole), expected.map(|(name, due, done)| (name.to_owned(), due, done)));
        assert_eq!(whole.steady().requests(), 4);

        let [mut one, mut other] = [empty(), empty()];
        samples[..3].iter().for_each(|sample| one.record(sample));
        samples[3..].iter().for_each(|sample| other.record(sample));
        one.merge(&other);
        assert_eq!(counts(&one), counts(&whole));
        assert_eq!(one.flows().flow("api").map(PhaseStats::requests), Some(2));
    }
}
