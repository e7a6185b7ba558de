//! Any bytes as the replies of a server, cut anywhere: the reader returns the same events for every cut,
//! accounts for every byte, makes progress and comes to an end.
//!
//! The property is one that ordinary tests check, too, on this target's corpus.

#![no_main]

use farfield_testkit::properties::replies;

libfuzzer_sys::fuzz_target!(|input: &[u8]| replies::of_stream(input));
