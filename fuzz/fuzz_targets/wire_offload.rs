//! Any bytes as a packet from a gateway with offload: its virtio header, and the segment cut into packets.
//!
//! The properties are those of the crate's own tests, which also check them on this target's corpus.

#![no_main]

use farfield_fuzz::packets;

libfuzzer_sys::fuzz_target!(|input: &[u8]| packets::of_offload(input));
