//! The fuzzer's corpus as tests of a crate: what it once found is held against every change without a fuzzer, and what is near
//! a seed is tried as well.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::fs;
use std::path::Path;

/// What holds for any bytes.
pub type Law = fn(&[u8]);

/// A target: its name, its law, and how many seeds it has at least.
pub type Target = (&'static str, Law, usize);

/// A target's seeds, by name.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut seeds: Vec<_> = fs::read_dir(folder)
        .expect("the corpus is in the repository")
        .map(|entry| entry.expect("a readable folder").path())
        .map(|path| (path.display().to_string(), fs::read(&path).expect("a readable seed")))
        .collect();
    seeds.sort();
    seeds
}

/// Holds every seed to its target's law.
pub fn obey(targets: &[Target]) {
    for (target, law, least) in targets {
        let seeds = corpus(target);
        assert!(seeds.len() >= *least, "{target}: {} seeds", seeds.len());
        for (name, seed) in seeds {
            println!("{name}");
            law(&seed);
        }
    }
}

/// Holds seeds with some bytes changed and their ends cut off to the laws, so many of them: what a fuzzer tries first.
pub fn damaged_obey(targets: &[Target], cases: u32) {
    let corpora: Vec<_> = targets.iter().map(|(target, ..)| corpus(target)).collect();
    let damage = (
        0..targets.len(),
        any::<prop::sample::Index>(),
        prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        prop::option::of(any::<prop::sample::Index>()),
    );
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) };
    let tried = TestRunner::new(config).run(&damage, |(target, seed, changes, end)| {
        let mut bytes = seed.get(&corpora[target]).1.clone();
        changes.iter().for_each(|(at, byte)| *at.get_mut(&mut bytes) = *byte);
        if let Some(end) = end {
            bytes.truncate(end.index(bytes.len()));
        }
        (targets[target].1)(&bytes);
        Ok(())
    });
    tried.unwrap_or_else(|error| panic!("{error}"));
}
