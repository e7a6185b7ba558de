//! The hosts that users ask, each counted by itself in the measured part, where they are several.

use crate::fold::PhaseStats;
use farfield_base::{HostNumber, Window};
use serde::{Deserialize, Serialize};

/// A host as results name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostLabel {
    /// Name of the host.
    pub name: String,
    /// Scheme, name or address, and port.
    pub url: String,
}

farfield_base::mergeable! {
    /// Counts by host. Those that merge are of the same hosts.
    #[derive(Debug, Clone, Default, Serialize, Deserialize)]
    pub struct Hosts {
        /// Labels, by number.
        labels: Vec<HostLabel> => same,
        parts: Vec<PhaseStats> => each,
    }
}

impl Hosts {
    /// Nothing yet, of the measured part `window`.
    pub(crate) fn new(labels: Vec<HostLabel>, window: Window) -> Hosts {
        Hosts { parts: vec![PhaseStats::steady(window); labels.len()], labels }
    }

    /// The counts of all hosts.
    pub(crate) fn parts(&mut self) -> impl Iterator<Item = &mut PhaseStats> {
        self.parts.iter_mut()
    }

    /// The counts of a host.
    #[inline]
    pub(crate) fn part_of(&mut self, host: HostNumber) -> Option<&mut PhaseStats> {
        self.parts.get_mut(host.index())
    }

    /// The hosts by number: label, and what was counted; none where there are no several.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&HostLabel, &PhaseStats)> {
        self.labels.iter().zip(&self.parts)
    }

    /// The counts of the host of this name.
    pub fn host(&self, name: &str) -> Option<&PhaseStats> {
        self.iter().find(|(own, _)| own.name == name).map(|(_, part)| part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::Fold;
    use crate::fold::scene::{sample, window};
    use farfield_base::{Merge, Sample};

    #[test]
    fn a_request_is_counted_at_its_host() {
        let labels = ["target", "api"].map(|name| HostLabel { name: name.into(), url: name.into() });
        let empty = || Fold::new(window(50, 300)).at_hosts(labels.to_vec());
        // In the warm-up, two in the measured part, one of a host that is not known, one beyond.
        const MS: u64 = 1_000_000;
        let samples = [(0, 10, 20), (1, 60, 70), (0, 70, 80), (9, 80, 90), (1, 300, 301)]
            .map(|(host, due, done)| Sample { host: HostNumber::at(host), ..sample(due * MS, done * MS) });
        let [mut whole, mut one, mut other] = [empty(), empty(), empty()];
        samples.iter().for_each(|sample| whole.record(sample));
        samples[..2].iter().for_each(|sample| one.record(sample));
        samples[2..].iter().for_each(|sample| other.record(sample));
        one.merge(&other);
        for fold in [&whole, &one] {
            let counts: Vec<u64> = fold.hosts().iter().map(|(_, part)| part.requests()).collect();
            assert_eq!((counts, fold.steady().requests()), (vec![1, 1], 3));
        }
        assert_eq!(whole.hosts().host("api").map(PhaseStats::requests), Some(1));
    }
}
