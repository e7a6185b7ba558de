//! Any bytes as what a server sends, cut anywhere, on a connection that it closes, resets or holds open.
//!
//! The property is one that ordinary tests check, too, on this target's corpus.

#![no_main]

use farfield_testkit::properties::sessions;

libfuzzer_sys::fuzz_target!(|input: &[u8]| sessions::of_stream(input));
