//! Properties that fuzz targets check of any log, over the fuzzer's corpus and input near it.

use farfield_testkit::corpus_tests;
use farfield_testkit::properties::logs;

corpus_tests!(
    150,
    [
        ("log_common", logs::of_common, 5),
        ("log_extended", logs::of_extended, 4),
        ("log_json", logs::of_json, 4),
        ("log_gn", logs::of_gn, 3),
        ("log_compressed", logs::of_compressed, 6),
    ]
);
