//! Any bytes as JSON lines.
//!
//! The properties are those of the crate's own tests, which also check them on this target's corpus.

#![no_main]

use farfield_fuzz::logs;

libfuzzer_sys::fuzz_target!(|input: &[u8]| logs::of_json(input));
