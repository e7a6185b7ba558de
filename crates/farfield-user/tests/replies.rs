//! The fuzzer's properties of sessions, over its corpus and input near it.

use farfield_testkit::corpus::{self, Target};
use farfield_testkit::properties::sessions;

/// The targets with their properties.
const TARGETS: [Target; 8] = [
    ("session_reply", sessions::of_reply, 3),
    ("session_link", sessions::of_link, 8),
    ("session_stream", sessions::of_stream, 8),
    ("session_cookie", sessions::of_cookie, 3),
    ("session_template", sessions::of_template, 3),
    ("session_form", sessions::of_form, 3),
    ("session_data", sessions::of_data, 3),
    ("session_document", sessions::of_document, 3),
];

#[test]
fn the_corpus_has_the_properties() {
    corpus::check(&TARGETS);
}

#[test]
fn input_near_a_seed_has_the_properties() {
    corpus::check_damaged(&TARGETS, 300);
}
