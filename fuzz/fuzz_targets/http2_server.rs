//! Any bytes as those of a client of HTTP/2, cut anywhere: a model of a server finds the same requests and
//! sends the same bytes for every cut, takes each request once, and replies within the client's windows.
//!
//! The property is one that ordinary tests check, too, on this target's corpus.

#![no_main]

use farfield_testkit::properties::servers;

libfuzzer_sys::fuzz_target!(|input: &[u8]| servers::of_client_frames(input));
