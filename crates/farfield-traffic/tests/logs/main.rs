//! The laws that fuzz targets hold any log to, and the fuzzer's corpus, so that what it once found is held against
//! every change without a fuzzer.

mod laws;

use proptest::prelude::*;
use std::fs;
use std::path::Path;

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

fn replay(target: &str, law: Law, least: usize) {
    let seeds = corpus(target);
    assert!(seeds.len() >= least, "{} seeds", seeds.len());
    for (name, seed) in seeds {
        println!("{name}");
        law(&seed);
    }
}

/// What holds for any bytes.
type Law = fn(&[u8]);

/// The targets with their laws.
const TARGETS: [(&str, Law); 8] = [
    ("log_common", laws::of_common),
    ("log_extended", laws::of_extended),
    ("log_json", laws::of_json),
    ("log_gn", laws::of_gn),
    ("log_compressed", laws::of_compressed),
    ("session_wsesslog", laws::of_wsesslog),
    ("session_har", laws::of_har),
    ("session_log", laws::of_log_again),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

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

#[test]
fn common_logs_obey_the_laws() {
    replay("log_common", laws::of_common, 5);
}

#[test]
fn extended_logs_obey_the_laws() {
    replay("log_extended", laws::of_extended, 4);
}

#[test]
fn json_logs_obey_the_laws() {
    replay("log_json", laws::of_json, 4);
}

#[test]
fn gn_logs_obey_the_laws() {
    replay("log_gn", laws::of_gn, 3);
}

#[test]
fn compressed_logs_obey_the_laws() {
    replay("log_compressed", laws::of_compressed, 6);
}

#[test]
fn session_files_obey_the_laws() {
    replay("session_wsesslog", laws::of_wsesslog, 3);
}

#[test]
fn archives_obey_the_laws() {
    replay("session_har", laws::of_har, 2);
}

#[test]
fn logs_asked_for_again_obey_the_laws() {
    replay("session_log", laws::of_log_again, 4);
}
