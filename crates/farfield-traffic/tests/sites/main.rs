//! The laws that fuzz targets hold any site to, over the fuzzer's corpus and what is near it.

mod laws;

use farfield_testkit::corpus::{self, Target};

/// The targets with their laws.
const TARGETS: [Target; 3] = [
    ("site_folder", laws::of_folder, 6),
    ("site_manifest", laws::of_manifest, 3),
    ("site_page", laws::of_page, 3),
];

#[test]
fn the_corpus_obeys_the_laws() {
    corpus::check(&TARGETS);
}

#[test]
fn what_is_near_a_seed_obeys_the_laws() {
    corpus::check_damaged(&TARGETS, 300);
}
