//! Any bytes as a pcapng file.
//!
//! The properties are those of the crate's own tests, which also check them on this target's corpus.

#![no_main]

use farfield_fuzz::packets;

libfuzzer_sys::fuzz_target!(|input: &[u8]| packets::of_a_capture(input));
