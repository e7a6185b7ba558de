//! Faults that are planted into runs in virtual time are found, and their causes are named. docs/verdict.md
//! has the table of more runs, by `cargo bench -p farfield-measure --bench causes`.

#[path = "../benches/causes/confusion.rs"]
mod confusion;
#[path = "../benches/causes/faults.rs"]
mod faults;
#[path = "../benches/causes/scene.rs"]
mod scene;
#[path = "../benches/causes/worker.rs"]
mod worker;

use confusion::{named, names, planted};
use farfield_base::Duration;
use faults::{FAULTS, PAIRS, of_name};
use scene::Scene;

const SEED: u64 = 3;
/// Faults of thirty whose first cause must be named.
const NAMED_LEAST: usize = 28;

/// The page that the bench writes.
fn page() -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/verdict.md");
    let page = std::fs::read_to_string(page).expect("the page of the verdict");
    let marked = page.split_once("<!-- bench causes begins -->\n").expect("a marker").1;
    marked.split_once("<!-- bench causes ends -->").expect("a marker").0.to_owned()
}

/// The row of a fault on the page.
fn row<'a>(page: &'a str, name: &str) -> &'a str {
    let row = page.lines().find(|line| line.starts_with(&format!("| {name} | ")));
    row.unwrap_or_else(|| {
        panic!("{name} is not on the page: `cargo bench -p farfield-measure --bench causes`")
    })
}

/// Without a fault nothing fails, so that what fails with one is that fault's doing.
#[test]
fn a_run_without_a_fault_is_valid() {
    for seed in [SEED, SEED + 1] {
        let verdict = Scene::good(seed).judge();
        assert!(verdict.valid, "{:#?}", verdict.failed().collect::<Vec<_>>());
    }
}

#[test]
fn each_planted_fault_makes_a_run_invalid_and_its_cause_is_named() {
    let (page, mut wrong) = (page(), Vec::new());
    for fault in &FAULTS {
        let verdict = planted(SEED, &[fault]);
        assert!(!verdict.valid, "{} is not found", fault.name);
        let cause = verdict.first_cause().expect("a cause");
        assert!(cause.advice.is_some(), "{}: no advice: {cause:?}", fault.name);
        let row = row(&page, fault.name);
        assert!(row.ends_with(&format!(" | `{}` | `{}` 10 |", fault.cause, cause.name)), "{row}");
        if cause.name != fault.cause {
            let failed: Vec<_> = verdict.failed().map(|check| (&check.name, &check.follows_from)).collect();
            wrong.push(format!("{}: {} and not {}: {failed:?}", fault.name, cause.name, fault.cause));
        }
    }
    assert!(FAULTS.len() - wrong.len() >= NAMED_LEAST, "{wrong:#?}");
}

/// Of two faults at once the first cause is one, and the other is not lost.
#[test]
fn of_two_faults_at_once_both_are_named() {
    let (page, mut lost) = (page(), Vec::new());
    for pair in PAIRS {
        let faults = pair.map(of_name);
        let verdict = planted(SEED, &faults);
        let first = named(&verdict);
        assert!(faults.iter().any(|fault| fault.cause == first), "{pair:?}: {first}");
        let row = row(&page, &pair.join("; "));
        // The choice of the two, and that both fail, is as in the runs of the page.
        assert!(row.ends_with(&format!(" | `{first}` 10 | 10 |")), "{first}: {row}");
        if !faults.iter().all(|fault| names(&verdict, fault.cause)) {
            lost.push((pair, verdict.failed().map(|check| check.name.clone()).collect::<Vec<_>>()));
        }
    }
    assert!(lost.is_empty(), "{lost:#?}");
}

/// Lateness of which no cause was measured follows from none, and the check says so.
#[test]
fn what_nothing_explains_is_blamed_on_nothing() {
    let mut scene = Scene::good(SEED);
    // One request in twenty is late by 5 ms.
    scene.reports.push(|stats| {
        let late = stats.lateness.count() / 20;
        (0..late).for_each(|_| stats.lateness.record(Duration::from_ms(5)));
    });
    let verdict = scene.judge();
    let cause = verdict.first_cause().expect("a cause");
    assert_eq!(cause.name, "send-lateness");
    let advice = cause.advice.as_deref().expect("advice");
    assert!(advice.starts_with("none of what was measured explains it"), "{advice}");
    // The load is open: no users begin together.
    assert!(!advice.contains("load.ramp") && advice.contains("busy for 3."), "{advice}");
}

/// Disturbances are bounded in time: the seconds of a cause stand beside it.
#[test]
fn the_seconds_of_a_cause_are_named() {
    for (name, seconds) in
        [("other work for a second", " to 5."), ("stopped for 300 ms", "in second 4.0 to 4.")]
    {
        let verdict = planted(SEED, &[of_name(name)]);
        let cause = verdict.first_cause().expect("a cause");
        let note = cause.note.as_deref().unwrap_or_default();
        assert!(note.contains(seconds), "{name}: {cause:?}");
    }
}

/// A share of the time that the host took is no cause of what ten times as much would explain.
#[test]
fn a_tick_of_steal_is_no_cause_of_an_overload() {
    let verdict = planted(SEED, &[of_name("three quarters busy, and a tick of steal")]);
    assert!(!names(&verdict, "host-steal"), "{:#?}", verdict.failed().collect::<Vec<_>>());
    let cause = verdict.first_cause().expect("a cause");
    assert_eq!(cause.name, "worker-cpu");
    assert!(cause.advice.as_deref().expect("advice").contains("offer at most about "), "{cause:?}");
}
