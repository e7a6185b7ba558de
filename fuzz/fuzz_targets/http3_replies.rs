//! Any bytes as the stream of a request over HTTP/3: read alike however they are cut, with bodies as long as
//! their heads say.
//!
//! The property is one that ordinary tests check, too, on this target's corpus.

#![no_main]

use farfield_testkit::properties::http3_replies;

libfuzzer_sys::fuzz_target!(|input: &[u8]| http3_replies::of_replies(input));
