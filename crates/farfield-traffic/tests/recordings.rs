//! Properties that fuzz targets check of any recording or list, over the fuzzer's corpus and input near it.

use farfield_testkit::corpus_tests;
use farfield_testkit::properties::recordings;

corpus_tests!(
    150,
    [
        ("session_wsesslog", recordings::of_wsesslog, 3),
        ("session_har", recordings::of_har, 2),
        ("session_list", recordings::of_list, 6),
        ("session_log", recordings::of_log_again, 4),
    ]
);
