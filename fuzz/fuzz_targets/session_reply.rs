//! Any bytes as what a server sends to users in sessions.
//!
//! The property is one that ordinary tests check, too, on this target's corpus.

#![no_main]

use farfield_testkit::properties::sessions;

libfuzzer_sys::fuzz_target!(|input: &[u8]| sessions::of_reply(input));
