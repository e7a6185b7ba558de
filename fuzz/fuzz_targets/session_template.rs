//! Any bytes as a template of a session.
//!
//! The property is one that ordinary tests check, too, on this target's corpus.

#![no_main]

use farfield_testkit::properties::sessions;

libfuzzer_sys::fuzz_target!(|input: &[u8]| sessions::of_template(input));
