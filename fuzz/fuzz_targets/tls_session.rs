//! Any bytes as records and handshakes of a server of TLS, cut anywhere: no session comes of them, no
//! plaintext, no panic, and the model of TLS in virtual time makes the same of every cut.
//!
//! The property is one that ordinary tests check, too, on this target's corpus.

#![no_main]

use farfield_testkit::properties::handshakes;

libfuzzer_sys::fuzz_target!(|input: &[u8]| handshakes::of_stream(input));
