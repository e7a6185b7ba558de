//! Any bytes as those of a client on the stream of a request of HTTP/3, cut anywhere: a model of a server
//! finds the same head, or the same mistake, for every cut.
//!
//! The property is one that ordinary tests check, too, on this target's corpus.

#![no_main]

use farfield_testkit::properties::servers;

libfuzzer_sys::fuzz_target!(|input: &[u8]| servers::of_request_stream(input));
