//! Runs of two sides that belong together: with one seed in virtual time, or in one block of a sweep.
//!
//! Such runs are offered the same users, arrivals and losses, or are made one after the other. What that does
//! to both does not make their difference doubtful, so differences of pairs vary less than the runs.

use crate::directory::RunDirectory;
use farfield_experiment::Design;
use farfield_experiment::trial::DESIGN_FILE;
use farfield_files::input::DOCUMENT_MAX;
use std::collections::BTreeMap;

/// Pairs at least: the mean of fewer differences has too few degrees of freedom.
const PAIRS_MIN: usize = 3;

/// Runs of two sides, each with its partner.
pub struct Pairs<'a> {
    /// The runs, of the base and of the other side.
    pub runs: Vec<[&'a RunDirectory; 2]>,
    /// Runs without a partner, which do not count.
    alone: usize,
}

impl Pairs<'_> {
    /// A note on runs without a partner; `None` if there are none.
    pub fn note(&self) -> Option<String> {
        match self.alone {
            0 => None,
            1 => {
                Some("one run has no partner with its seed on the other side, and does not count".to_owned())
            }
            alone => Some(format!("{alone} runs have no partners on the other side, and do not count")),
        }
    }
}

/// Common property of runs that belong together.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PairKey {
    Seed(u64),
    Block { experiment: String, block: u32 },
}

/// The pairs of two sides; absent if runs do not belong together, or if too few of them do.
pub fn between<'a>(base: &'a [RunDirectory], others: &'a [RunDirectory]) -> Option<Pairs<'a>> {
    let (of_base, mut of_others) = (by_together(base)?, by_together(others)?);
    let mut runs = Vec::new();
    for (together, run) in of_base {
        runs.extend(of_others.remove(&together).map(|other| [run, other]));
    }
    let alone = base.len() + others.len() - 2 * runs.len();
    // Seeds agree by accident where most runs are alone.
    (runs.len() >= PAIRS_MIN && alone <= runs.len()).then_some(Pairs { runs, alone })
}

/// Runs by what they have in common with those of the other side; absent if two have the same.
fn by_together(runs: &[RunDirectory]) -> Option<BTreeMap<PairKey, &RunDirectory>> {
    let mut by_together = BTreeMap::new();
    for run in runs {
        if by_together.insert(together(run)?, run).is_some() {
            return None;
        }
    }
    Some(by_together)
}

fn together(run: &RunDirectory) -> Option<PairKey> {
    let summary = run.summary();
    if summary.generator.plane == "simulated" {
        return Some(PairKey::Seed(summary.heading.seed));
    }
    let text = farfield_files::read_text(&run.path().join(DESIGN_FILE), DOCUMENT_MAX).ok()?;
    let Design { experiment, block, .. } = serde_json::from_str(&text).ok()?;
    // Blocks of a search for capacity number loads that follow from each other.
    (block > 0).then_some(PairKey::Block { experiment, block })
}
