//! Any bytes as a delivery trace.
//!
//! The properties are those of the crate's own tests, which also check them on this target's corpus.

#![no_main]

use farfield_fuzz::traces;

libfuzzer_sys::fuzz_target!(|input: &[u8]| traces::of_trace(input));
