//! `farfield compare` and `farfield runs`, as people use them, on runs in virtual time: what was planted
//! is found, and where nothing was planted nothing is found, at the stated rate of error.

use crate::common::{Ended, Place};
use serde_json::Value;

/// A model of a server whose times vary, before users who think.
const SERVER: &str = "plane = 'simulated'\nrun = { warm-up = '200ms', duration = '4s' }\n\
    load = { model = 'closed', users = 20, think = { distribution = 'exponential', mean = '50ms' } }\n\
    network = { clients = 20, rtt = '10ms' }\n\
    [simulated]\nworkers = 4\nservice-time = { distribution = 'exponential', mean = 'MEAN' }\n";

/// A scene of two servers, the second of another mean service time.
fn servers(base: &str, other: &str) -> Place {
    let place = Place::new();
    place.write("base.toml", SERVER.replace("MEAN", base));
    place.write("other.toml", SERVER.replace("MEAN", other));
    place
}

/// Runs of a scenario with these seeds, each into `folder/SEED`.
fn repeat(place: &Place, scenario: &str, folder: &str, seeds: std::ops::Range<u32>) {
    for seed in seeds {
        place.farfield(&format!("run {scenario}.toml -q --seed {seed} -o {folder}/{seed}")).exits(0);
    }
}

fn compared(place: &Place, words: &str) -> Value {
    let ended = place.farfield(&format!("compare {words} --format json")).exits(0);
    serde_json::from_str(&ended.stdout).expect("JSON")
}

/// True if any metric of the only comparison is said to differ.
fn differs(document: &Value) -> bool {
    let rows = document["comparison"]["others"][0]["rows"].as_array().expect("rows");
    rows.iter().any(|row| row["change"]["differs"] == true)
}

fn change<'a>(document: &'a Value, metric: &str) -> &'a Value {
    let rows = document["comparison"]["others"][0]["rows"].as_array().expect("rows");
    &rows.iter().find(|row| row["metric"] == metric).expect("a row")["change"]
}

/// A mean service time of 8 ms for 5 ms: three repeats of each find it.
#[test]
fn a_slower_server_is_found() {
    let place = servers("5ms", "8ms");
    repeat(&place, "base", "before", 1..4);
    repeat(&place, "other", "after", 4..7);
    let document = compared(&place, "before after");
    let mean = change(&document, "mean");
    assert_eq!(mean["differs"], true, "{document}");
    assert!(mean["low"].as_f64() > Some(0.0), "{document}");
    let inputs = document["comparison"]["others"][0]["inputs"].to_string();
    assert!(inputs.contains("simulated.service-time.mean"), "{inputs}");
    let text = place.farfield("compare before after").exits(0).stdout;
    assert!(text.contains("DIFFERENT") && text.contains("worse"), "{text}");
    place.farfield("compare before after --fail-if mean+1%").exits(99);
    place.farfield("compare after before --fail-if mean+1%").exits(0);
    let page = place.farfield("compare before after --format html").exits(0).stdout;
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "{page}");
}

/// Fifty comparisons of equal servers, by two runs each and by three repeats each: at 5 % at most 6 are
/// said to differ, with a probability of 99 %. Of the intervals by themselves one in twenty excludes no
/// change: one to ten in a hundred of these four times fifty, which are not independent. Seeds are fixed,
/// so that counts are the same each time.
#[test]
fn equal_servers_are_not_found_to_differ_more_often_than_stated() {
    let place = servers("5ms", "5ms");
    repeat(&place, "base", "all", 0..300);
    let path = |seed: u32| place.path(&format!("all/{seed}"));
    let mut found = [0, 0];
    let (mut excluded, mut known) = ([0, 0], [0, 0]);
    for pair in 0..50 {
        let first = pair * 6;
        let singles = compared(&place, &format!("all/{first} all/{}", first + 1));
        for (side, from) in [("a", first), ("b", first + 3)] {
            let folder = place.path(&format!("{side}{pair}"));
            std::fs::create_dir(&folder).expect("own folder");
            for seed in from..from + 3 {
                std::os::unix::fs::symlink(path(seed), folder.join(seed.to_string())).expect("a link");
            }
        }
        let repeats = compared(&place, &format!("a{pair} b{pair}"));
        for (at, document) in [&singles, &repeats].into_iter().enumerate() {
            found[at] += u32::from(differs(document));
            let p_values =
                ["rate", "mean", "p50", "p90"].map(|metric| change(document, metric)["p_value"].as_f64());
            known[at] += p_values.iter().flatten().count();
            excluded[at] += p_values.iter().flatten().filter(|p| **p < 0.05).count();
        }
    }
    // Nearly all have intervals.
    assert!(known.iter().all(|count| *count > 150), "of 200 each, known: {known:?}");
    assert!(found.iter().all(|count| *count <= 6), "of 50 each, said to differ: {found:?}");
    assert!(excluded.iter().all(|count| (2..=20).contains(count)), "of 200 each, excluded: {excluded:?}");
}

/// A single run is compared by its own intervals, and says what these do not know.
#[test]
fn one_run_against_one_says_what_it_cannot_tell() {
    let place = servers("5ms", "10ms");
    repeat(&place, "base", "runs", 1..2);
    repeat(&place, "other", "runs", 2..3);
    let text = place.farfield("compare runs/1 runs/2").exits(0).stdout;
    assert!(text.contains("DIFFERENT") && text.contains("nothing of what differs"), "{text}");
    let listed = place.farfield("runs runs").exits(0).stdout;
    assert_eq!(listed.lines().filter(|line| line.starts_with("VALID")).count(), 2, "{listed}");
}

#[test]
fn what_cannot_be_compared_is_said_in_a_sentence() {
    let place = servers("5ms", "5ms");
    repeat(&place, "base", "runs", 1..3);
    place.write("empty/note.txt", "");
    let refused = |words: &str, code: i32, parts: &[&str]| -> Ended {
        let ended = place.farfield(words).exits(code);
        ended.says(parts);
        ended
    };
    refused("compare runs nowhere", 2, &["nowhere", "no directory"]);
    refused("compare runs empty", 2, &["empty", "no run directory"]);
    refused("runs empty", 2, &["empty"]);
    refused("compare runs ./runs/../runs", 2, &["named twice"]);
    refused("compare runs/1 runs/2 --metric p98", 2, &["p98", "p99"]);
    refused("compare runs/1 runs/2 --fail-if p99", 2, &["p99 +5%"]);
    place.farfield("compare runs").exits(2);
    // A run that was invalid.
    place.farfield("run base.toml -q --set simulated.service-time=10m -o bad/9").exits(3);
    refused("compare runs bad", 3, &["no valid run", "invalid"]);
    // Too few requests for a percentile: a condition on it is undecided, and not passed.
    let undecided = place.farfield_with(&["compare", "runs/1", "runs/2", "--fail-if", "p99.9 +5%"]).exits(3);
    assert!(undecided.stdout.contains("UNDECIDED"), "{}", undecided.stdout);
}
