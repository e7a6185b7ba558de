//! The fuzzer's properties of delivery traces, over its corpus and input near it.

use farfield_testkit::corpus::{self, Target};
use farfield_testkit::properties::traces;

/// The targets with their properties.
const TARGETS: [Target; 1] = [("net_trace", traces::of_trace, 3)];

#[test]
fn the_corpus_has_the_properties() {
    corpus::check(&TARGETS);
}

#[test]
fn input_near_a_seed_has_the_properties() {
    corpus::check_damaged(&TARGETS, 300);
}
