//! A TCP connection fed by an adversary: any segments, any timers, an application that does anything at any
//! moment.
//!
//! The property is one that ordinary tests check, too, on this target's corpus.

#![no_main]

use farfield_testkit::properties::connections;

libfuzzer_sys::fuzz_target!(|input: &[u8]| connections::of_connection(input));
