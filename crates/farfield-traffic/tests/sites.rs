//! Properties that fuzz targets check of any site, over the fuzzer's corpus and input near it.

use farfield_testkit::corpus_tests;
use farfield_testkit::properties::sites;

corpus_tests!(
    300,
    [
        ("site_folder", sites::of_folder, 6),
        ("site_manifest", sites::of_manifest, 3),
        ("site_page", sites::of_page, 3),
    ]
);
