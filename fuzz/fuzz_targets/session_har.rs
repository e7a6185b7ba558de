//! Any bytes as a browser's archive.
//!
//! The properties are those of the crate's own tests, which also check them on this target's corpus.

#![no_main]

use farfield_fuzz::recordings;

libfuzzer_sys::fuzz_target!(|input: &[u8]| recordings::of_har(input));
