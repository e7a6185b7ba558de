//! Any bytes as the replies of a server, cut anywhere: the reader returns the same for every cut, accounts for every
//! byte, makes progress and comes to an end.
//!
//! The properties are those of the crate's own tests, which also check them on this target's corpus.

#![no_main]

#[path = "../../crates/farfield-http/tests/reply/story.rs"]
mod story;

libfuzzer_sys::fuzz_target!(|input: &[u8]| story::obeys_the_laws(input));
