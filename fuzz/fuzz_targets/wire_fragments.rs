//! Any bytes as fragments that come to a host: what is held is bounded, and what is cut comes together.
//!
//! The properties are those of the crate's own tests, which also check them on this target's corpus.

#![no_main]

use farfield_fuzz::packets;

libfuzzer_sys::fuzz_target!(|input: &[u8]| packets::of_fragments(input));
