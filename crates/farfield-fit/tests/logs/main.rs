//! Properties that fuzz targets check of any log, over the fuzzer's corpus and what is near it.

use farfield_testkit::corpus::{self, Target};
use farfield_testkit::properties::logs;

/// The targets with their properties.
const TARGETS: [Target; 5] = [
    ("log_common", logs::of_common, 5),
    ("log_extended", logs::of_extended, 4),
    ("log_json", logs::of_json, 4),
    ("log_gn", logs::of_gn, 3),
    ("log_compressed", logs::of_compressed, 6),
];

#[test]
fn the_corpus_has_the_properties() {
    corpus::check(&TARGETS);
}

#[test]
fn what_is_near_a_seed_has_the_properties() {
    corpus::check_damaged(&TARGETS, 150);
}
