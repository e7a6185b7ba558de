//! Properties that fuzz targets check of any site, over the fuzzer's corpus and what is near it.

use farfield_testkit::corpus::{self, Target};
use farfield_testkit::properties::sites;

/// The targets with their properties.
const TARGETS: [Target; 3] = [
    ("site_folder", sites::of_folder, 6),
    ("site_manifest", sites::of_manifest, 3),
    ("site_page", sites::of_page, 3),
];

#[test]
fn the_corpus_has_the_properties() {
    corpus::check(&TARGETS);
}

#[test]
fn what_is_near_a_seed_has_the_properties() {
    corpus::check_damaged(&TARGETS, 300);
}
