//! Any bytes as a site.
//!
//! The properties are those of the crate's own tests, which also check them on this target's corpus.

#![no_main]

use farfield_fuzz::sites;

libfuzzer_sys::fuzz_target!(|input: &[u8]| sites::of_manifest(input));
