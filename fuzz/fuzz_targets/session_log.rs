//! Any bytes as an access log that is asked for again.
//!
//! The laws are those of the crate's own tests, which also hold them against this target's corpus.

#![no_main]

#[allow(dead_code, reason = "the laws of the other targets")]
#[path = "../../crates/farfield-traffic/tests/logs/laws.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|input: &[u8]| laws::of_log_again(input));
