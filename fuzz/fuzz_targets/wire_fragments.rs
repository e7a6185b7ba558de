//! Any bytes as fragments that come to a host: what is held is bounded, and what is cut comes together.
//!
//! The laws are those of the crate's own tests, which also hold them against this target's corpus.

#![no_main]

#[allow(dead_code, reason = "the laws of the other targets")]
#[path = "../../crates/farfield-wire/tests/fuzzed/laws.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|input: &[u8]| laws::of_fragments(input));
