//! Any bytes as what a scenario says of sessions.
//!
//! The laws are those of the crate's own tests, which also hold them against this target's corpus.

#![no_main]

#[allow(dead_code, reason = "the laws of the other targets")]
#[path = "../../crates/farfield-user/tests/replies/laws.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|input: &[u8]| laws::of_document(input));
