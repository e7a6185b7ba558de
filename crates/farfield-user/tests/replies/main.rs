//! The laws that fuzz targets hold sessions to, over the fuzzer's corpus and what is near it.

mod laws;
#[path = "../../../../fuzz/seeds.rs"]
mod seeds;

use seeds::Target;

/// The targets with their laws.
const TARGETS: [Target; 8] = [
    ("session_reply", laws::of_reply, 3),
    ("session_link", laws::of_link, 8),
    ("session_stream", laws::of_stream, 8),
    ("session_cookie", laws::of_cookie, 3),
    ("session_template", laws::of_template, 3),
    ("session_form", laws::of_form, 3),
    ("session_data", laws::of_data, 3),
    ("session_document", laws::of_document, 3),
];

#[test]
fn the_corpus_obeys_the_laws() {
    seeds::obey(&TARGETS);
}

#[test]
fn what_is_near_a_seed_obeys_the_laws() {
    seeds::damaged_obey(&TARGETS, 300);
}
