//! Any bytes as a page with a form.
//!
//! The properties are those of the crate's own tests, which also check them on this target's corpus.

#![no_main]

use farfield_fuzz::sessions;

libfuzzer_sys::fuzz_target!(|input: &[u8]| sessions::of_form(input));
