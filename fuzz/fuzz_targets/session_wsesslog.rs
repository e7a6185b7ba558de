//! Any bytes as httperf's session file.
//!
//! The property is one that ordinary tests check, too, on this target's corpus.

#![no_main]

use farfield_testkit::properties::recordings;

libfuzzer_sys::fuzz_target!(|input: &[u8]| recordings::of_wsesslog(input));
