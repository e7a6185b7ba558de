//! Any bytes as an IP packet: its headers, TCP options and ICMP messages, and the answers to it.
//!
//! The property is one that ordinary tests check, too, on this target's corpus.

#![no_main]

use farfield_testkit::properties::packets;

libfuzzer_sys::fuzz_target!(|input: &[u8]| packets::of_a_packet(input));
