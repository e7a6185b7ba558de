//! Any bytes as a page of a site.
//!
//! The laws are those of the crate's own tests, which also hold them against this target's corpus.

#![no_main]

#[allow(dead_code, reason = "the laws of the other targets")]
#[path = "../../crates/farfield-traffic/tests/sites/laws.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|input: &[u8]| laws::of_page(input));
