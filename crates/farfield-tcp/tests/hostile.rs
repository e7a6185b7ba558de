//! One connection against a peer that does what it likes: the properties of [`connections`], for the fuzzer's
//! corpus and for bytes at random.

use farfield_testkit::{corpus, properties::connections};
use proptest::prelude::*;

#[test]
fn the_corpus_is_endured() {
    corpus::check(&[("tcp_connection", connections::of_connection, 20)]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_peer_is_endured(input in prop::collection::vec(any::<u8>(), 0..600)) {
        connections::of_connection(&input);
    }

    /// Input with a handshake first, and mostly segments that fit.
    #[test]
    fn any_connected_peer_is_endured(
        head in any::<[u8; 3]>(),
        steps in prop::collection::vec((prop::sample::select(b"hhhhsssttwwuc".to_vec()), any::<[u8; 12]>()), 0..80),
    ) {
        let opening = [head[0] | 0x80, head[1], head[2]];
        let steps = steps.into_iter().flat_map(|(step, more)| std::iter::once(step).chain(more));
        let input: Vec<u8> = opening.into_iter().chain(steps).collect();
        connections::of_connection(&input);
    }
}
