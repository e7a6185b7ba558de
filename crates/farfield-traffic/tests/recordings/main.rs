//! Properties that fuzz targets check of any recording, over the fuzzer's corpus and what is near it.

use farfield_testkit::corpus::{self, Target};
use farfield_testkit::properties::recordings;

/// The targets with their properties.
const TARGETS: [Target; 3] = [
    ("session_wsesslog", recordings::of_wsesslog, 3),
    ("session_har", recordings::of_har, 2),
    ("session_log", recordings::of_log_again, 4),
];

#[test]
fn the_corpus_has_the_properties() {
    corpus::check(&TARGETS);
}

#[test]
fn what_is_near_a_seed_has_the_properties() {
    corpus::check_damaged(&TARGETS, 150);
}
