//! Emulated clients against a real nginx, through the engine.

mod scene;

use farfield_base::{Duration, Outcome};
use scene::{Scene, skips};

/// Without loss every request is answered, and takes a round trip; the first on a connection takes another.
#[test]
fn far_clients_wait_for_their_round_trips() {
    if skips("far_clients_wait_for_their_round_trips") {
        return;
    }
    let left = Scene::default().play();
    assert!(left.samples.len() > 5_000, "{} samples", left.samples.len());
    assert!(left.samples.iter().all(|sample| matches!(sample.outcome, Outcome::Ok | Outcome::Unfinished)));
    let rtt = Duration::from_ms(20);
    for sample in left.samples.iter().filter(|sample| sample.outcome == Outcome::Ok) {
        assert!(sample.service_time().is_some_and(|took| took >= rtt), "{sample:?}");
        assert!(sample.connect_time().is_none_or(|took| took >= rtt), "{sample:?}");
    }
    let served = left.samples.iter().filter(|sample| sample.outcome == Outcome::Ok).count();
    assert!(left.served >= served && left.served <= left.samples.len(), "{} served", left.served);
}
