//! `farfield capacity` as people use it, before a model of a server of known capacity.

use crate::common::Place;
use serde_json::Value;

/// Users who do not think before a server that serves one after the other: N of them wait for N service times
/// of 100 ms (R = N/X, Denning and Buzen 1978), so that four keep a p99 below 450 ms, and five do not.
const SERVER: &str = "plane = 'simulated'\nload = { model = 'closed', users = 1 }\n\
    run = { duration = '20s' }\nnetwork = { rtt = '1ms' }\n\
    [simulated]\nworkers = 1\nservice-time = '100ms'\n";

fn report(stdout: &str) -> Value {
    serde_json::from_str(stdout).expect("JSON")
}

/// The capacity is found; each trial has its run directory with its design; the same command reads them back,
/// and goes on where a trial is missing.
#[test]
fn a_known_capacity_is_found_and_its_trials_are_kept() {
    let place = Place::new();
    place.write("server.toml", SERVER);
    let words = "capacity server.toml --slo p99<450ms,errors<1% -o trials -q";
    let first = place.farfield(&format!("{words} --format json")).exits(0);
    let found = report(&first.stdout);
    let answer = &found["answer"];
    assert_eq!([&answer["value"], &answer["low"], &answer["high"]], [4.0, 4.0, 5.0], "{answer}");
    let design = std::fs::read_to_string(place.path("trials/0002/design.json")).expect("a design");
    assert!(design.contains("\"point\": \"load.users"), "{design}");
    let trials = found["trials"].as_array().expect("trials").len();
    // As if the run had been killed: no design.
    std::fs::remove_file(place.path("trials/0003/design.json")).expect("a trial");
    let again = place.farfield(&format!("{words} --format json")).exits(0);
    let again = report(&again.stdout);
    assert_eq!(again["answer"], found["answer"]);
    assert_eq!(again["trials"].as_array().map(Vec::len), Some(trials));
    assert!(place.path("trials/0003-2/summary.json").exists());
    let text = place.farfield(words).exits(0).stdout;
    assert!(text.starts_with("capacity 4 users at p99<450ms, errors<1%"), "{text}");
    assert!(text.lines().count() <= 24 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let other = place.farfield("capacity server.toml --slo p99<1s --seed 9 -o trials -q").exits(1);
    assert!(other.stderr.contains("is of another experiment"), "{}", other.stderr);
    // Other goals would be judged by trials that were not held against them.
    let other = place.farfield("capacity server.toml --slo p99<1s,errors<1% -o trials -q").exits(1);
    assert!(other.stderr.contains("trials/0001 was made with thresholds = "), "{}", other.stderr);
    let other = place.farfield(&format!("{words} --warm-up 9s")).exits(1);
    assert!(other.stderr.contains("and 9000000000ns is asked for now"), "{}", other.stderr);
    // A search of another server, with nothing else changed.
    let words = words.replace(" -q", " -q --set simulated.workers=2");
    let other = place.farfield(&words).exits(1);
    assert!(other.stderr.contains("is of another scenario"), "{}", other.stderr);
}

/// M/D/1, whose capacity is known: constant service of 2 ms, of which 99 % of the responses within 40 ms
/// leave room for 441.4 requests a second (Erlang 1909). `cargo xtask bench capacity-simulated` in small:
/// runs of a quarter of the length know it to 5 %, where the bench asks for 2.
#[test]
fn the_capacity_of_a_queue_with_constant_service_is_found() {
    const CAPACITY: f64 = 441.4;
    let place = Place::new();
    place.write(
        "server.toml",
        "plane = 'simulated'\nload = { model = 'open', arrivals = '200/s' }\nnetwork = { rtt = '1ms' }\n\
         run = { duration = '15s' }\n[simulated]\nworkers = 1\nservice-time = '2ms'\n",
    );
    let words = "capacity server.toml --slo p99<40ms --precision 5% --budget 10m -q -o trials --format json";
    let answer = report(&place.farfield(words).exits(0).stdout)["answer"].clone();
    let value = answer["value"].as_f64().expect("a value");
    assert!((value / CAPACITY - 1.0).abs() <= 0.05, "{answer}");
}

/// The peak in bytes is that of the bodies: ten replies of 10 kB a second, with any number of users.
#[test]
fn a_peak_is_found_in_bytes() {
    let place = Place::new();
    place.write("server.toml", SERVER.replace("[simulated]", "[simulated]\nreply-size = '10kB'"));
    let words = "capacity server.toml --peak=bytes -q -o trials";
    let text = place.farfield(words).exits(0).stdout;
    // Ten requests a second, one after the other.
    assert!(text.starts_with("peak 100") && text.contains(" kB/s of bodies at "), "{text}");
    assert!(text.lines().any(|line| line.contains("replies/s") && line.contains("bodies")), "{text}");
    assert!(text.lines().count() <= 24 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let found = report(&place.farfield(&format!("{words} --format json")).exits(0).stdout);
    assert_eq!(found["peak_of"], "bytes");
    let (low, high) = (found["answer"]["low"].as_f64(), found["answer"]["high"].as_f64());
    assert!(low <= Some(100_000.0) && high >= Some(99_000.0), "{}", found["answer"]);
    let other = place.farfield("capacity server.toml --peak=packets").exits(2);
    assert!(other.stderr.contains("requests, bytes"), "{}", other.stderr);
}

/// One server that takes 100 ms a request, and trials of 300 ms: too few requests are due in one to judge by,
/// and a queue grows unseen. No number comes of that, and the way out is named.
#[test]
fn trials_that_are_too_short_are_no_answer() {
    let place = Place::new();
    let open = SERVER.replace("'closed', users = 1", "'open', arrivals = '200/s'");
    place.write("server.toml", open);
    for (slo, part) in
        [("p99<200ms", "requests were due, and p99<200ms takes 100"), ("mean<1s", "--duration 20s")]
    {
        let words = format!("capacity server.toml -d 300ms --budget 10s -q --slo {slo}");
        let answered = place.farfield(&words).exits(3).stdout;
        let lines = answered.lines().take(4).collect::<Vec<_>>().join(" ");
        assert!(lines.starts_with("capacity below ") && lines.contains(part), "{answered}");
        assert!(answered.lines().count() <= 24, "{answered}");
    }
    let swept = place.farfield("sweep server.toml --vary load.arrivals=0.1/s,200/s --repeats 1 -d 300ms -q");
    let swept = swept.exits(3);
    assert!(swept.stdout.contains("no valid run (no request was due)"), "{}", swept.stdout);
}

/// One server that takes 100 ms a request, and a goal on errors alone, which come with the first timeouts,
/// long after the queue began to grow: loads that are not served are not kept.
#[test]
fn a_load_that_is_not_served_is_not_kept() {
    let place = Place::new();
    place.write("server.toml", SERVER.replace("'closed', users = 1", "'open', arrivals = '40/s'"));
    let words = "capacity server.toml --slo errors<1% -d 100s --precision 5% --budget 10m -q --format json";
    let answer = report(&place.farfield(words).exits(0).stdout)["answer"].clone();
    // Ten a second, and what a hundred seconds may hide: six standard deviations of a thousand.
    assert!(answer["low"].as_f64() > Some(9.0) && answer["high"].as_f64() < Some(12.0), "{answer}");
}

/// Sessions of five pages with 5 s between them, one page 100 ms before a server that takes ten a second:
/// in trials of 60 s there are fewer at once than in the long run. A warm-up of their length decides it.
#[test]
fn sessions_that_outlast_a_trial_are_waited_for() {
    let place = Place::new();
    let hybrid = "'hybrid', arrivals = '1/s', requests = 5, think = '5s'";
    place.write("server.toml", SERVER.replace("'closed', users = 1", hybrid));
    let words = "capacity server.toml --slo p90<1s -d 60s --precision 5% --budget 10m -q";
    let answered = place.farfield(words).exits(3).stdout;
    let lines = answered.lines().take(4).collect::<Vec<_>>().join(" ");
    assert!(lines.contains("sessions last ") && lines.contains("--warm-up "), "{answered}");
    let words = format!("{words} --warm-up 90s --format json");
    let answer = report(&place.farfield(&words).exits(0).stdout)["answer"].clone();
    let value = answer["value"].as_f64().expect("a value");
    assert!((1.0..2.0).contains(&value), "{answer}");
}

/// A search that cannot be made is refused in a line, before anything runs.
#[test]
fn what_is_no_search_is_refused() {
    let place = Place::new();
    place.write("server.toml", SERVER);
    for (words, part) in [
        ("", "--slo 'p99<200ms,errors<0.1%'"),
        ("--slo rate>5/s", "is no goal of a search"),
        ("--slo p99<1s --from 50 --to 10", "--to is below the first load, 50"),
        ("--slo p99<1s --set run.requests=5", "leave `run.requests`"),
        ("--slo p99<1s --set network.change=[{at='5s',rtt='80ms'}]", "another mixture of the conditions"),
        (
            "--slo p99<1s --set load.model=overload --set load.descriptors=5",
            "an overload has no capacity under goals",
        ),
    ] {
        let refused = place.farfield(&format!("capacity server.toml {words}")).exits(2);
        assert!(refused.stderr.contains(part), "{words}: {}", refused.stderr);
        assert!(!place.path("farfield-runs").exists());
    }
}
