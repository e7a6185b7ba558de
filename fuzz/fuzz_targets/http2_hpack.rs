//! Any bytes as HPACK header blocks: two decoders make the same of them, and no field is larger than what it
//! can have come from.
//!
//! The property is one that ordinary tests check, too, on this target's corpus.

#![no_main]

use farfield_testkit::properties::http2;

libfuzzer_sys::fuzz_target!(|input: &[u8]| http2::of_blocks(input));
