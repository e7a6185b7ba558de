//! Any bytes as QPACK: field sections decode to fields that encode and decode again, and streams of
//! instructions are read alike however they are cut.
//!
//! The property is one that ordinary tests check, too, on this target's corpus.

#![no_main]

use farfield_testkit::properties::http3;

libfuzzer_sys::fuzz_target!(|input: &[u8]| http3::of_sections(input));
