//! Any bytes as the unidirectional streams of an HTTP/3 server: they are read alike however they are cut.
//!
//! The property is one that ordinary tests check, too, on this target's corpus.

#![no_main]

use farfield_testkit::properties::http3;

libfuzzer_sys::fuzz_target!(|input: &[u8]| http3::of_streams(input));
