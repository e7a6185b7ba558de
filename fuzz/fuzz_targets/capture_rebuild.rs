//! Any bytes as a capture file, and as the segments of a connection.
//!
//! The property is one that ordinary tests check, too, on this target's corpus.

#![no_main]

use farfield_testkit::properties::captures;

libfuzzer_sys::fuzz_target!(|input: &[u8]| captures::of_a_capture(input));
