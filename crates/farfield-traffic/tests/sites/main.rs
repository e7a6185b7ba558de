//! Properties that fuzz targets check of any site, over the fuzzer's corpus and what is near it.

mod properties;
#[path = "../../../../fuzz/seeds.rs"]
mod seeds;

use seeds::Target;

/// The targets with their properties.
const TARGETS: [Target; 3] = [
    ("site_folder", properties::of_folder, 6),
    ("site_manifest", properties::of_manifest, 3),
    ("site_page", properties::of_page, 3),
];

#[test]
fn the_corpus_has_the_properties() {
    seeds::obey(&TARGETS);
}

#[test]
fn what_is_near_a_seed_has_the_properties() {
    seeds::damaged_obey(&TARGETS, 300);
}
