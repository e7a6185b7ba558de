//! The laws that fuzz targets hold any log to, over the fuzzer's corpus and what is near it.

mod laws;

use farfield_testkit::corpus::{self, Target};

/// The targets with their laws.
const TARGETS: [Target; 8] = [
    ("log_common", laws::of_common, 5),
    ("log_extended", laws::of_extended, 4),
    ("log_json", laws::of_json, 4),
    ("log_gn", laws::of_gn, 3),
    ("log_compressed", laws::of_compressed, 6),
    ("session_wsesslog", laws::of_wsesslog, 3),
    ("session_har", laws::of_har, 2),
    ("session_log", laws::of_log_again, 4),
];

#[test]
fn the_corpus_obeys_the_laws() {
    corpus::check(&TARGETS);
}

#[test]
fn what_is_near_a_seed_obeys_the_laws() {
    corpus::check_damaged(&TARGETS, 150);
}
