//! The laws that the fuzzer holds any delivery trace to, and its corpus, so that what it once found is held against every
//! change without a fuzzer.

mod laws;

use proptest::prelude::*;
use std::fs;
use std::path::Path;

/// What holds for any bytes.
type Law = fn(&[u8]);

/// The targets with their laws.
const TARGETS: [(&str, Law); 1] = [("net_trace", laws::of_trace)];

/// The target's seeds, by name.
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

#[test]
fn the_corpus_obeys_the_laws() {
    for (target, law) in TARGETS {
        let seeds = corpus(target);
        assert!(seeds.len() >= 3, "{target}: {} seeds", seeds.len());
        for (name, seed) in seeds {
            println!("{name}");
            law(&seed);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A seed with some bytes changed and its end cut off: what a fuzzer tries first.
    #[test]
    fn what_is_near_a_seed_obeys_the_laws(
        target in 0..TARGETS.len(),
        seed in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        end in any::<prop::sample::Index>(),
        whole in any::<bool>(),
    ) {
        let (name, law) = TARGETS[target];
        let seeds = corpus(name);
        let mut bytes = seed.get(&seeds).1.clone();
        changes.iter().for_each(|(at, byte)| *at.get_mut(&mut bytes) = *byte);
        if !whole {
            bytes.truncate(end.index(bytes.len()));
        }
        law(&bytes);
    }
}
