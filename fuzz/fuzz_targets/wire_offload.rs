//! Any bytes as a packet from a gateway with offload: its virtio header, and the segment cut into packets.
//!
//! The property is one that ordinary tests check, too, on this target's corpus.

#![no_main]

use farfield_testkit::properties::packets;

libfuzzer_sys::fuzz_target!(|input: &[u8]| packets::of_offload(input));
