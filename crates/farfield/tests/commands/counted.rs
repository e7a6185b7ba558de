//! Runs that end with a number of requests: all of them are made, however slow the server is, unless a length
//! was asked for as well or the server is dead. In virtual time, where a minute takes none.

use crate::common::{Ended, Place, count};
use farfield_base::Outcome;
use std::fs;

/// A run of `-n 40` before a model of a server that takes `service_time` for each request.
fn forty(place: &Place, service_time: &str, words: &str) -> Ended {
    let scenario = format!(
        "plane = 'simulated'\nload = {{ model = 'closed', users = 1 }}\n[simulated]\nworkers = 1\n\
         service-time = '{service_time}'\n"
    );
    place.write("slow.toml", scenario);
    let name = format!("run-{}-{}", service_time, words.len());
    let ended = place.farfield(&format!("run slow.toml -n 40 -q -o {name} {words}"));
    Ended { directory: place.path(&name), ..ended }
}

#[test]
fn a_number_of_requests_is_made_to_the_last() {
    let place = Place::new();
    let summary = forty(&place, "500ms", "").summary();
    assert_eq!((summary.complete, count(&summary.steady, Outcome::Ok)), (true, 40));
    assert!(summary.phases.steady_ns > 20_000_000_000, "{:?}", summary.phases);
    assert!(
        !summary.warnings.iter().any(|warning| warning.contains("run.requests")),
        "{:?}",
        summary.warnings
    );
    let kept = fs::read_to_string(place.path("run-500ms-0/scenario.toml")).expect("the scenario");
    assert!(kept.contains("duration = \"24h\""), "{kept}");
}

/// With a length it is whichever comes first, and that is said.
#[test]
fn a_length_that_cuts_a_number_of_requests_is_named() {
    let place = Place::new();
    let summary = forty(&place, "500ms", "-d 10s").summary();
    let begun = summary.steady.requests;
    assert!(summary.complete && (8..=20).contains(&begun), "{begun}");
    let warning =
        format!("run.requests: {begun} of 40 requests were begun before the measured part was over");
    assert!(summary.warnings.iter().any(|own| own.starts_with(&warning)), "{:?}", summary.warnings);
    let summary = forty(&place, "500ms", "-d 1m").summary();
    assert_eq!((summary.complete, summary.steady.requests), (true, 40));
    assert!(!summary.warnings.iter().any(|own| own.contains("run.requests")), "{:?}", summary.warnings);
}

/// A server that answers nobody does not keep a run for the time limits of all its requests.
#[test]
fn a_dead_server_ends_a_number_of_requests() {
    let place = Place::new();
    let ended = forty(&place, "2h", "");
    assert_ne!(ended.code, Some(0), "{}", ended.stdout);
    let summary = ended.summary();
    assert_eq!((summary.complete, count(&summary.steady, Outcome::Ok)), (false, 0));
    let reason = summary.incomplete_reason.expect("a reason");
    assert!(reason.starts_with("nothing came from the server for 60."), "{reason}");
    assert!(reason.ends_with("of 40 requests had been begun"), "{reason}");
    assert!(summary.steady.requests < 10, "{}", summary.steady.requests);
}
