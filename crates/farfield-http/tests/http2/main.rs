//! The HTTP/2 client against servers of every kind: scripted ones that behave and that do not, bytes at
//! random, and the h2 crate as another opinion. And the end of a model of a server, against the h2 crate.

mod flow;
mod hostile;
mod oracle;
mod properties;
mod replies;
mod requests;
mod scene;
mod server;

use farfield_testkit::properties::{http2, servers};

farfield_testkit::corpus_tests!(
    400,
    [
        ("http2_frames", http2::of_frames, 20),
        ("http2_hpack", http2::of_blocks, 8),
        ("http2_server", servers::of_client_frames, 12),
    ]
);
