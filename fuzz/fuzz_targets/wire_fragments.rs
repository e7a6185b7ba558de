//! Any bytes as fragments that come to a host: what is held is bounded, and what is cut comes together.
//!
//! The property is one that ordinary tests check, too, on this target's corpus.

#![no_main]

use farfield_testkit::properties::packets;

libfuzzer_sys::fuzz_target!(|input: &[u8]| packets::of_fragments(input));
