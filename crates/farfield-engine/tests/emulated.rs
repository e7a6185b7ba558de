//! Emulated clients against a real nginx, through the engine.

mod scene;

use farfield_base::{Duration, Instant, Outcome, Sample};
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

/// Users who do not think ask again at the very instant of a reply: the times of each follow on each other
/// without a gap, from its beginning to the end of the load at `end`.
#[track_caller]
fn no_time_is_missing(samples: &[Sample], users: u32, end: Instant) {
    for user in 0..users {
        let mut own: Vec<&Sample> = samples.iter().filter(|sample| sample.user == user).collect();
        own.sort_by_key(|sample| sample.due);
        for pair in own.windows(2) {
            assert_eq!(pair[0].done, pair[1].due, "{pair:?}");
        }
        assert!(own.iter().all(|sample| sample.is_ordered()), "{own:?}");
        let last = own.last().unwrap_or_else(|| panic!("user {user} asked for nothing"));
        assert!(own[0].due < end && last.done >= end, "{last:?}");
    }
}

/// Somebody sets the wall clock back by an hour in the middle of a run: it is reported, and no time of the
/// run is other for it.
#[test]
fn a_wall_clock_that_is_set_changes_no_time() {
    if skips("a_wall_clock_that_is_set_changes_no_time") {
        return;
    }
    let set =
        Scene { wall_clock_set_ns: -3_600_000_000_000, duration: Duration::from_ms(500), ..Scene::default() };
    let left = set.play();
    let warnings = |left: &scene::SceneResult| {
        let warnings = left.summary.warnings.iter();
        warnings.filter(|warning| warning.starts_with("the wall clock was set ")).cloned().collect::<Vec<_>>()
    };
    let [warning] = &warnings(&left)[..] else { panic!("{:?}", left.summary.warnings) };
    assert!(warning.contains("set back by 1h during the run: no time of the run is affected"), "{warning}");
    assert_eq!(left.summary.phases.steady_ns, 500_000_000);
    no_time_is_missing(&left.samples, set.clients, Instant::ZERO + Duration::from_secs(2));
    assert!(warnings(&Scene { wall_clock_set_ns: 0, ..set }.play()).is_empty());
}
