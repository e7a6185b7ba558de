//! `farfield path`: what is measured through a path agrees with what was asked for, and where it does not,
//! farfield says so.
//!
//! Root is needed. Timing is not judged here, since other tests run on the machine: the limits are wide, and
//! what a busy machine adds is named by its own line.

use crate::common::wan::may_build;
use crate::common::{Ended, Place};

/// Machines that are busy are late, which is not what is tested.
const CALM: &str = "verdict.departure-lateness-p99=1m";

/// The words of the row of `class`.
#[track_caller]
fn row<'a>(ended: &'a Ended, class: &str) -> Vec<&'a str> {
    let line = ended.stdout.lines().find(|line| line.split_whitespace().next() == Some(class));
    line.unwrap_or_else(|| panic!("no {class}: {ended:?}")).split_whitespace().collect()
}

fn of_milliseconds(cell: &str) -> f64 {
    cell.strip_suffix("ms").and_then(|ms| ms.parse().ok()).unwrap_or_else(|| panic!("{cell}"))
}

fn of_megabits(cell: &str) -> f64 {
    cell.strip_suffix("Mbit/s").and_then(|rate| rate.parse().ok()).unwrap_or_else(|| panic!("{cell}"))
}

/// A link of 20 Mb/s down and 5 up: 1,448 B of 1,500 are data, and no ping is faster than 40 ms and 84 B at
/// these rates, 168 µs.
#[test]
fn a_path_is_what_was_asked_for() {
    if !may_build("a_path_is_what_was_asked_for") {
        return;
    }
    let place = Place::new();
    place.write(
        "home.toml",
        "plane = 'emulated'\n[network]\nclients = 2\n[[network.class]]\nname = 'home'
        up = { delay = '20ms', rate = '5Mbit', queue = '256KiB' }
        down = { delay = '20ms', rate = '20Mbit', queue = '256KiB' }
        [[network.class]]\nname = 'office'\nrtt = '10ms'\n",
    );
    let scenario = place.path("home.toml");
    let scenario = scenario.to_str().expect("a plain path");
    let ended = place.farfield_with(&["path", "--scenario", scenario, "--set", CALM]);
    let home = row(&ended, "home");
    let (least, asked) = (of_milliseconds(home[1]), of_milliseconds(home[2]));
    assert!(asked > 40.0 && asked < 40.5 && least >= asked - 0.1, "{ended:?}");
    assert_eq!(home[4..8], ["0%", "0%", "2", "2"], "{ended:?}");
    let (down, up) = (of_megabits(home[8]), of_megabits(home[10]));
    assert!(down <= 19.7 && up <= 4.93 && down > 10.0 && up > 2.5, "{ended:?}");
    assert_eq!((home[9], home[11]), ("19.3Mbit/s", "4.83Mbit/s"));
    let office = row(&ended, "office");
    assert!(of_milliseconds(office[1]) >= 9.9, "{ended:?}");
    assert_eq!(office[9..11].join(" "), "no limit", "{ended:?}");
}

/// Losses of a fifth each way leave 64 of 100 pings.
#[test]
fn losses_are_found() {
    if !may_build("losses_are_found") {
        return;
    }
    let place = Place::new();
    place.write(
        "lossy.toml",
        "plane = 'emulated'\n[network]\nclients = 1\n[[network.class]]\nname = 'lossy'
        up = { delay = '2ms', loss = '20%' }\ndown = { delay = '2ms', loss = '20%' }\n",
    );
    let scenario = place.path("lossy.toml");
    let ended =
        place.farfield_with(&["path", "--scenario", scenario.to_str().expect("plain"), "--set", CALM]);
    let lossy = row(&ended, "lossy");
    let lost: f64 = lossy[4].trim_end_matches('%').parse().expect("a share");
    // Four standard deviations of 100 pings, 4 √(100 · 0.36 · 0.64) = 19.
    assert!((lost - 36.0).abs() <= 19.5 && lossy[5] == "36.00%", "{ended:?}");
    assert!(!ended.stdout.contains("pings were lost, where"), "{ended:?}");
}

#[test]
fn what_cannot_be_measured_is_said() {
    if !may_build("what_cannot_be_measured_is_said") {
        return;
    }
    let place = Place::new();
    let ended = place.farfield("path --rtt 10ms --as nobody").exits(2);
    assert!(ended.stderr.contains("no clients are of the class `nobody`; there are clients"), "{ended:?}");
    let ended = place.farfield("path --plane emulated").exits(2);
    assert!(ended.stderr.contains("--plane"), "{ended:?}");
}
