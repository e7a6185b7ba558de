//! Any bytes as a delivery trace.
//!
//! The property is one that ordinary tests check, too, on this target's corpus.

#![no_main]

use farfield_testkit::properties::traces;

libfuzzer_sys::fuzz_target!(|input: &[u8]| traces::of_trace(input));
