//! Captures by other programs: whether their clock is the run's, as packets show it, and what is judged then.

mod scene;

use farfield_base::{Instant, Stamp};
use farfield_verify::{TimeKind, Verification};
use scene::{Scene, closed, names, open};

/// Later by `by` nanoseconds.
fn later(at: Instant, by: i64) -> Instant {
    Instant::from_ns(at.as_ns().saturating_add_signed(by))
}

/// With the replies of all requests `by` later, as a client's clock that is read late has them.
fn late(scene: &Scene, by: i64) -> Scene {
    scene.with(|sample| {
        sample.first_byte = sample.first_byte.instant().map_or(Stamp::NEVER, |at| Stamp::at(later(at, by)));
        sample.done = later(sample.done, by);
    })
}

/// Why the clocks are two; empty if they are one.
fn reason(found: &Verification) -> &str {
    assert_eq!(found.clocks.same, found.clocks.reason.is_none(), "{:?}", found.clocks);
    found.clocks.reason.as_deref().unwrap_or("")
}

#[test]
fn this_machines_clock_is_known_by_the_packets() {
    // Whole microseconds, as classic captures have them, and what lies between two readings of a clock.
    let microseconds = |ns: u64| -((ns % 1_000) as i64);
    for scene in [open(), closed()] {
        for other in [scene.of_other(|_| 0), scene.of_other(microseconds), scene.of_other(|_| 12_000)] {
            let found = other.verify();
            assert_eq!(reason(&found), "");
            assert_eq!(names(&found), [""; 0], "{:?}", found.findings);
            assert_eq!(found.matched.requests, scene.samples.len() as u64);
            assert!(found.clocks.round_trip_ns.is_some_and(|ns| ns <= 3_000), "{:?}", found.clocks);
            let response = found.times.iter().find(|errors| errors.time == TimeKind::Response);
            let error = response.and_then(|errors| errors.mean_absolute_ns).expect("judged");
            assert!(error < 25_000.0, "{error}");
        }
    }
}

#[test]
fn errors_that_all_requests_have_show_against_another_programs_capture() {
    for by in [50_000, 200_000, 5_000_000] {
        let found = late(&open().of_other(|_| 0), by).verify();
        assert!(found.clocks.same, "{by}: {:?}", found.clocks);
        assert_eq!(names(&found)[0], "times-shifted", "{by}: {:?}", found.findings);
    }
    // A clock of farfield's that is off as a whole moves nothing but response times.
    for by in [200_000, -200_000, 900_000] {
        let found = open().of_other(|_| by).verify();
        assert!(found.clocks.same, "{by}: {:?}", found.clocks);
        assert_eq!(names(&found)[0], "clock-offset", "{by}: {:?}", found.findings);
    }
}

#[test]
fn a_second_clock_is_a_second_clock() {
    let drift = |ppm: f64| move |ns: u64| (ns as f64 * ppm * 1e-6) as i64;
    let hour = 3_600_000_000_000_i64;
    for (offset, ppm, words) in [
        (3_000_000_000, 60.0, "it gains"),
        (-40 * hour, -25.0, "it gains"),
        (101_000_000, 0.0, "101ms ± "),
        (-2_500_000, 0.0, "2.50ms ± "),
        (300_000, 60.0, "it gains"),
        (13_000 * hour, 0.0, "the capture's clock is 541 days from that of the run's machine"),
    ] {
        let drift = drift(ppm);
        for with_list in [true, false] {
            let mut scene = open().of_other(|ns| offset + drift(ns));
            if !with_list {
                scene.run.connections = None;
            }
            let found = scene.verify();
            if !with_list && ppm < 0.0 {
                // With a connection every 2 ms, the votes of handshakes can miss by half a millisecond, and
                // neighbours are confused, of which a finding warns; that there are two clocks is known.
                assert!(found.findings.iter().any(|finding| finding.name == "ambiguous-connections"));
                assert!(reason(&found).contains("the run's"), "{offset}: {}", reason(&found));
                continue;
            }
            assert!(reason(&found).contains(words), "{offset}: {}", reason(&found));
            let gains = found.clocks.estimate.expect("an estimate").drift_ppm;
            assert!((gains - ppm).abs() < 5.0, "{offset}: {gains} ppm");
            // A capture that was taken at the clients, and keeps the run's pace, is by a clock that is set
            // wrong.
            let wrong = if ppm == 0.0 { &["clock-offset"][..] } else { &[] };
            assert_eq!(names(&found), wrong, "{offset}: {:?}", found.findings);
            assert_eq!(found.matched.requests, scene.samples.len() as u64, "{offset}");
            let late = found.load.arrivals.expect("an open load").lateness.p50_ns.expect("arrivals");
            assert!((0..200_000).contains(&late), "{offset}: {late} ns: the frame is the run's");
        }
    }
    // A second clock cannot hide times of its own side.
    let found = late(&open().of_other(|ns| 3_000_000_000 + drift(60.0)(ns)), 200_000).verify();
    assert!(names(&found).contains(&"service-times"), "{:?}", found.findings);
}

#[test]
fn a_capture_elsewhere_is_one_of_another_clock_and_its_way_excuses_no_more_than_it_takes() {
    let afar = open().seen_from_afar(400_000).of_other(|_| 100_000);
    let found = afar.verify();
    assert!(reason(&found).contains("packets take 8"), "{}", reason(&found));
    assert_eq!(names(&found), [""; 0], "{:?}", found.findings);
    let found = late(&afar, 200_000).verify();
    assert!(names(&found).contains(&"service-times"), "{:?}", found.findings);
}

/// The way makes times longer at the clients, never shorter, and by no more than it takes.
#[test]
fn a_way_has_a_sign() {
    let afar = open().seen_from_afar(400_000).of_other(|_| 100_000);
    for by in [-800_000, -300_000, 300_000] {
        let found = late(&afar, by).verify();
        assert!(names(&found).contains(&"service-times"), "{by}: {:?}", found.findings);
    }
}

/// Clients and ports are those, and the instants others; or a clock that no machine has.
#[test]
fn a_capture_of_another_run_is_no_second_clock() {
    let moved = |connection: u32| i64::from(connection * 7_919 % 101) * 1_000_000;
    let mut other = open().with(|sample| {
        let by = moved(sample.connection);
        let stamp = |at: Stamp| at.instant().map_or(Stamp::NEVER, |at| Stamp::at(later(at, by)));
        sample.due = later(sample.due, by);
        (sample.connect_begun, sample.connected) = (stamp(sample.connect_begun), stamp(sample.connected));
        (sample.sent, sample.first_byte) = (stamp(sample.sent), stamp(sample.first_byte));
        sample.done = later(sample.done, by);
    });
    for row in other.run.connections.as_mut().expect("a list") {
        row.at = later(row.at, moved(row.connection));
    }
    let other = other.of_other(|_| 9_000_000_000);
    let fast = open().of_other(|ns| (ns as f64 * 0.02) as i64);
    for scene in [other, fast] {
        for is_known in [true, false] {
            let mut scene = scene.clone();
            if !is_known {
                scene.run.start = farfield_verify::RunStart::Unknown;
            }
            let found = scene.verify();
            assert!(names(&found).contains(&"another-run"), "{:?}", found.findings);
            assert!(!names(&found).contains(&"clock-offset"), "{:?}", found.findings);
        }
    }
}

/// The next machine of a rack, 25 µs away, with a clock that is kept close to this one's: no error of either.
#[test]
fn a_capture_next_door_is_of_another_clock_unless_it_agrees() {
    let next_door = open().seen_from_afar(25_000);
    for by in [300_000, -700_000] {
        let found = next_door.of_other(|_| by).verify();
        assert!(reason(&found).contains("that of the run's machine"), "{by}: {}", reason(&found));
        assert_eq!(names(&found), [""; 0], "{by}: {:?}", found.findings);
    }
    let found = next_door.of_other(|_| 0).verify();
    assert_eq!((reason(&found), names(&found)), ("", vec![]), "{:?}", found.findings);
}

#[test]
fn without_a_handshake_the_requests_bound_the_way() {
    let without = |scene: &Scene| {
        let mut scene = scene.of_other(|_| 0);
        for connection in &mut scene.capture.connections {
            (connection.syn, connection.syn_ack, connection.established) = (None, None, None);
        }
        scene.verify()
    };
    let found = without(&open());
    assert_eq!((reason(&found), names(&found)), ("", vec![]), "{:?}", found.findings);
    let found = without(&open().seen_from_afar(400_000));
    assert!(reason(&found).contains("was not taken at"), "{}", reason(&found));
}

/// No error of a clock passes for one clock: it is a finding, or said to be a second clock.
#[test]
fn no_error_of_a_clock_passes_for_one_clock_that_is_right() {
    let after = |share: f64, by: i64| move |ns: u64| if ns > (share * 8e9) as u64 { by } else { 0 };
    let drift = |ppm: f64| move |ns: u64| (ns as f64 * ppm * 1e-6) as i64;
    let mut errors: Vec<(String, Scene)> = Vec::new();
    for by in [130_000, -450_000, 7_300_000, -61_000_000_000] {
        errors.push((format!("offset {by} ns"), open().of_other(|_| by)));
    }
    for ppm in [33.0, -90.0, 410.0] {
        errors.push((format!("drift {ppm} ppm"), open().of_other(drift(ppm))));
    }
    for (share, by) in [(0.5, 250_000), (0.35, -1_700_000), (0.7, 40_000_000), (0.6, -900_000_000)] {
        errors.push((format!("step of {by} ns after {share}"), open().of_other(after(share, by))));
    }
    let seen = errors.iter().map(|(what, scene)| {
        let found = scene.verify();
        (what, !found.findings.is_empty() || found.clocks.reason.is_some())
    });
    let missed: Vec<_> = seen.filter(|(_, is_seen)| !is_seen).map(|(what, _)| what).collect();
    assert_eq!(missed, Vec::<&String>::new());
    // Nothing of the kind is what two readings of one clock may differ by.
    for scene in
        [open().of_other(|_| -9_000), open().of_other(drift(0.4)), open().of_other(after(0.5, 6_000))]
    {
        let found = scene.verify();
        assert_eq!((reason(&found), names(&found)), ("", vec![]), "{:?}", found.findings);
    }
}
