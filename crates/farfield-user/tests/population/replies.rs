//! The fuzzer's properties of sessions, over its corpus and input near it.

use farfield_testkit::corpus_tests;
use farfield_testkit::properties::sessions;

corpus_tests!(
    300,
    [
        ("session_reply", sessions::of_reply, 3),
        ("session_link", sessions::of_link, 8),
        ("session_stream", sessions::of_stream, 8),
        ("session_cookie", sessions::of_cookie, 3),
        ("session_template", sessions::of_template, 3),
        ("session_form", sessions::of_form, 3),
        ("session_data", sessions::of_data, 3),
        ("session_document", sessions::of_document, 3),
    ]
);
