//! Any bytes as a path of a site that is written to a folder, and as what a page names.
//!
//! The property is one that ordinary tests check, too, on this target's corpus.

#![no_main]

use farfield_testkit::properties::sites;

libfuzzer_sys::fuzz_target!(|input: &[u8]| sites::of_folder(input));
