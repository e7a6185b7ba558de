//! Any bytes as a pcapng file.
//!
//! The property is one that ordinary tests check, too, on this target's corpus.

#![no_main]

use farfield_testkit::properties::packets;

libfuzzer_sys::fuzz_target!(|input: &[u8]| packets::of_a_capture(input));
