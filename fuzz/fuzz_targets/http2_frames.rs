//! Any bytes as those of an HTTP/2 server, cut anywhere: a client's connection returns the same events and
//! sends the same bytes for every cut, takes every byte, and ends each stream once.
//!
//! The property is one that ordinary tests check, too, on this target's corpus.

#![no_main]

use farfield_testkit::properties::http2;

libfuzzer_sys::fuzz_target!(|input: &[u8]| http2::of_frames(input));
