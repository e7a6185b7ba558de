//! The fuzzer's corpus as ordinary tests: every change is compared with the fuzzer's finds without a fuzzer,
//! and against input near them.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::fs;
use std::path::Path;

/// A property that holds for any bytes; it panics where it does not.
pub type Property = fn(&[u8]);

/// A fuzz target: its name, its property, and the least number of its seeds.
pub type CorpusTarget = (&'static str, Property, usize);

/// A target's seeds with their files, sorted.
fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut seeds: Vec<_> = fs::read_dir(folder)
        .expect("the corpus is in the repository")
        .map(|entry| entry.expect("a readable folder").path())
        .map(|path| (path.display().to_string(), fs::read(&path).expect("a readable seed")))
        .collect();
    seeds.sort();
    seeds
}

/// Writes two tests: each property holds for its target's seeds, and in the given number of cases for input
/// near them.
///
/// ```
/// use farfield_testkit::properties::traces;
/// farfield_testkit::corpus_tests!(300, [("net_trace", traces::of_trace, 3)]);
/// ```
#[macro_export]
macro_rules! corpus_tests {
    ($cases:expr, [$($target:expr),+ $(,)?]) => {
        /// Fuzz targets with their properties and the least number of their seeds.
        const TARGETS: &[$crate::corpus::CorpusTarget] = &[$($target),+];

        #[test]
        fn the_corpus_has_the_properties() {
            $crate::corpus::check(TARGETS);
        }

        #[test]
        fn input_near_a_seed_has_the_properties() {
            $crate::corpus::check_damaged(TARGETS, $cases);
        }
    };
}

/// Checks the property of each target on each of its seeds.
pub fn check(targets: &[CorpusTarget]) {
    for (target, property, least) in targets {
        let seeds = seeds(target);
        assert!(seeds.len() >= *least, "{target}: {} seeds", seeds.len());
        for (name, seed) in seeds {
            println!("{name}");
            property(&seed);
        }
    }
}

/// Checks the properties in `cases` cases on seeds with some bytes changed and their ends cut off: the first
/// mutations of a fuzzer.
pub fn check_damaged(targets: &[CorpusTarget], cases: u32) {
    let corpora: Vec<_> = targets.iter().map(|(target, ..)| seeds(target)).collect();
    let damage = (
        0..targets.len(),
        any::<prop::sample::Index>(),
        prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        prop::option::of(any::<prop::sample::Index>()),
    );
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) };
    let result = TestRunner::new(config).run(&damage, |(target, seed, changes, end)| {
        let mut bytes = seed.get(&corpora[target]).1.clone();
        changes.iter().for_each(|(at, byte)| *at.get_mut(&mut bytes) = *byte);
        if let Some(end) = end {
            bytes.truncate(end.index(bytes.len()));
        }
        (targets[target].1)(&bytes);
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}
