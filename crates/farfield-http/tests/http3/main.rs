//! The HTTP/3 client against bytes of every kind.

mod early;
mod failures;
#[path = "../http2/scene.rs"]
#[expect(dead_code, reason = "the tests of HTTP/2 use all of it")]
mod http2;
mod names;
mod replies;
mod requests;
mod scene;

use farfield_testkit::properties::{http3, http3_replies, servers};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

farfield_testkit::corpus_tests!(
    400,
    [
        ("http3_qpack", http3::of_sections, 12),
        ("http3_streams", http3::of_streams, 8),
        ("http3_replies", http3_replies::of_replies, 12),
        ("http3_requests", servers::of_request_stream, 7)
    ]
);

/// Equal cases on every run: looking for new ones is the fuzzer's.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 600,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Default::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_bytes_are_read_to_their_end(input in vec(any::<u8>(), 0..200)) {
        http3::of_sections(&input);
        // Behind a valid prefix, where random bytes get further.
        http3::of_sections(&[&[0, 0], &*input].concat());
        http3::of_streams(&input);
        http3::of_streams(&[&[255, 0, 4, 0], &*input].concat());
        http3_replies::of_replies(&input);
        // Behind a head with the status 200.
        http3_replies::of_replies(&[&[0, 7, 1, 3, 0, 0, 0xd9], &*input].concat());
    }
}
