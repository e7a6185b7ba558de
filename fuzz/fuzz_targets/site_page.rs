//! Any bytes as a page of a site.
//!
//! The property is one that ordinary tests check, too, on this target's corpus.

#![no_main]

use farfield_testkit::properties::sites;

libfuzzer_sys::fuzz_target!(|input: &[u8]| sites::of_page(input));
