//! Properties that fuzz targets check of any log, over the fuzzer's corpus and what is near it.

mod properties;
#[path = "../../../../fuzz/seeds.rs"]
mod seeds;

use seeds::Target;

/// The targets with their properties.
const TARGETS: [Target; 5] = [
    ("log_common", properties::of_common, 5),
    ("log_extended", properties::of_extended, 4),
    ("log_json", properties::of_json, 4),
    ("log_gn", properties::of_gn, 3),
    ("log_compressed", properties::of_compressed, 6),
];

#[test]
fn the_corpus_has_the_properties() {
    seeds::obey(&TARGETS);
}

#[test]
fn what_is_near_a_seed_has_the_properties() {
    seeds::damaged_obey(&TARGETS, 150);
}
