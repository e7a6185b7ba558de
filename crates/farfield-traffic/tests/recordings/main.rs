//! Properties that fuzz targets check of any recording, over the fuzzer's corpus and what is near it.

mod properties;
#[path = "../../../../fuzz/seeds.rs"]
mod seeds;

use seeds::Target;

/// The targets with their properties.
const TARGETS: [Target; 3] = [
    ("session_wsesslog", properties::of_wsesslog, 3),
    ("session_har", properties::of_har, 2),
    ("session_log", properties::of_log_again, 4),
];

#[test]
fn the_corpus_has_the_properties() {
    seeds::obey(&TARGETS);
}

#[test]
fn what_is_near_a_seed_has_the_properties() {
    seeds::damaged_obey(&TARGETS, 150);
}
