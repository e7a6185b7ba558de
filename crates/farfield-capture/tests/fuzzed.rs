//! The fuzzer's property of captures, over its corpus and over input near it.

use farfield_testkit::corpus::{self, CorpusTarget};
use farfield_testkit::properties::captures;

const TARGETS: [CorpusTarget; 1] = [("capture_rebuild", captures::of_a_capture, 17)];

#[test]
fn the_corpus_has_the_property() {
    corpus::check(&TARGETS);
}

#[test]
fn damaged_captures_have_the_property() {
    corpus::check_damaged(&TARGETS, 5_000);
}
