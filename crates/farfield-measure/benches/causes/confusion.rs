//! Causes that the verdict names for planted faults.

use super::faults::Fault;
use super::scene::Scene;
use farfield_measure::Verdict;

/// The verdict on a run with these faults.
pub fn planted(seed: u64, faults: &[&Fault]) -> Verdict {
    let mut scene = Scene::good(seed);
    faults.iter().for_each(|fault| (fault.plant)(&mut scene));
    scene.judge()
}

/// The first cause that a verdict names; `valid` if there is none.
pub fn named(verdict: &Verdict) -> &str {
    verdict.first_cause().map_or("valid", |check| &check.name)
}

/// True if a verdict names a cause: as one of its own, or as what another follows from.
pub fn names(verdict: &Verdict, cause: &str) -> bool {
    verdict.failed().any(|check| check.name == cause)
}
