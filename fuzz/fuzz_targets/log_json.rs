//! Any bytes as JSON lines.
//!
//! The property is one that ordinary tests check, too, on this target's corpus.

#![no_main]

use farfield_testkit::properties::logs;

libfuzzer_sys::fuzz_target!(|input: &[u8]| logs::of_json(input));
