//! Replies counted by status, before a server that counts them: in thresholds, and as `completed` beside
//! `succeeded` in everything that a run leaves.

use crate::common::{CALM, Ended, Place};
use crate::counting::Counting;
use farfield_base::Outcome;
use std::collections::BTreeMap;
use std::fs;

/// A run of so many requests for each of `paths` in turn.
fn turns(place: &Place, server: &Counting, paths: &[&str], each: usize, more: &str) -> Ended {
    place.write("list.txt", paths.join("\n"));
    let words = format!(
        "run list.txt --target http://{}/ -n {} -c 1 -q --warm-up 0s -o run {more} {CALM}",
        server.address,
        paths.len() * each
    );
    let ended = place.farfield(&words);
    Ended { directory: place.path("run"), ..ended }
}

/// The cells of the columns `names` of what is exported as CSV.
fn columns(place: &Place, names: &[&str]) -> Vec<Vec<String>> {
    let csv = place.farfield("report run --format csv").exits(0).stdout;
    let mut lines = csv.lines();
    let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
    let at: Vec<usize> = names
        .iter()
        .map(|name| head.iter().position(|own| own == name).unwrap_or_else(|| panic!("no column {name}")))
        .collect();
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            at.iter().map(|place| cells[*place].to_owned()).collect()
        })
        .collect()
}

/// The server's counts are in each output, and whole replies beside successful ones.
#[track_caller]
fn counts_as_the_server_does(paths: &[&str], succeeded: u64) {
    let (place, server) = (Place::new(), Counting::new());
    let each = 10;
    let ended = turns(&place, &server, paths, each, "--threshold errors<=100%");
    let counted = server.statuses();
    let all: u64 = counted.values().sum();
    assert_eq!(all, (paths.len() * each) as u64);
    let summary = ended.summary();
    let own: BTreeMap<u16, u64> = summary.steady.statuses.iter().map(|own| (own.status, own.count)).collect();
    assert_eq!(own, counted);
    let rates = summary.steady.rates.expect("a measured part");
    let completed = rates.completed_per_s.expect("a rate of whole replies");
    let share = rates.succeeded_per_s / completed;
    assert!((share - succeeded as f64 / all as f64).abs() < 1e-9, "{rates:?}");

    let mut rows: BTreeMap<u16, u64> = BTreeMap::new();
    for row in columns(&place, &["status", "part"]) {
        assert_eq!(row[1], "measured");
        *rows.entry(row[0].parse().expect("a status")).or_default() += 1;
    }
    assert_eq!(rows, counted);
    let shown = |format: &str| place.farfield(&format!("report run --format {format}")).exits(0).stdout;
    let (text, markdown, junit, page) = (shown("text"), shown("markdown"), shown("junit"), shown("html"));
    assert!(text.contains("   completed ") && text.contains("\nsucceeded "), "{text}");
    assert!(markdown.contains(", completed ") && markdown.contains(", succeeded "), "{markdown}");
    assert!(page.contains(">completed<") && page.contains(">succeeded<"));
    for name in ["completed_per_s", "succeeded_per_s"] {
        assert!(junit.contains(&format!("name=\"{name}\"")), "{junit}");
    }
    for (status, count) in &counted {
        assert!(junit.contains(&format!("name=\"status.{status}\" value=\"{count}\"")), "{junit}");
        assert!(text.contains(&format!("{status} {count}")), "{status}: {text}");
    }
    fs::create_dir(place.path("copy")).expect("own folder");
    for entry in fs::read_dir(place.path("run")).expect("a run").flatten().filter(|own| own.path().is_file())
    {
        fs::copy(entry.path(), place.path("copy").join(entry.file_name())).expect("copied");
    }
    let compared = place.farfield("compare run copy --metric rate --format json").exits(0).stdout;
    let compared: serde_json::Value = serde_json::from_str(&compared).expect("JSON");
    let rate = &compared["comparison"]["others"][0]["rows"][0];
    let base = rate["base"].as_f64().expect("a rate");
    assert!(rate["metric"] == "rate" && (base / rates.succeeded_per_s - 1.0).abs() < 1e-9, "{rate}");
}

#[test]
fn codes_are_counted_as_the_server_counts_them() {
    counts_as_the_server_does(&["/ok", "/status/404", "/status/429", "/status/503"], 10);
}

/// Several successful codes, two pages with the same code, and codes that no registry has.
#[test]
fn codes_of_other_kinds_are_counted_as_the_server_counts_them() {
    let paths = ["/status/206", "/a", "/status/401", "/status/401?again", "/status/299", "/status/599"];
    counts_as_the_server_does(&paths, 30);
}

/// Thresholds on codes and classes of codes, as numbers and as shares, of all replies and of a path.
#[test]
fn thresholds_judge_codes_as_the_server_counted_them() {
    let (place, server) = (Place::new(), Counting::new());
    // Of 60 replies 30 are 404, 10 are 503.
    let paths = ["/a", "/b?x=1", "/status/404", "/status/404?x=2", "/status/404?x=3", "/status/503"];
    let kept = [
        "status.404==30",
        "status.404<=50%",
        "status.4xx>=30",
        "status.5xx<17%",
        "status.5xx{/status/503}==10",
        "status.503{/status/404}==0",
        "status.404{/status/404}>=100%",
        "errors{/b}<1%",
        "status.429==0",
    ];
    let broken =
        ["status.404<30", "status.404<50%", "status.5xx==0", "status.503{/status/503}<10%", "status.2xx>99%"];
    let words: String =
        kept.iter().chain(&broken).map(|threshold| format!("--threshold {threshold} ")).collect();
    let ended = turns(&place, &server, &paths, 10, &words).exits(99);
    let counted = server.statuses();
    assert_eq!((counted[&404], counted[&503], counted[&200]), (30, 10, 20));
    let results = ended.summary().thresholds;
    assert_eq!(results.len(), kept.len() + broken.len());
    for result in results {
        assert_eq!(result.passed, kept.contains(&result.text.as_str()), "{result:?}");
    }
    let refused = [
        ("status.40x<1", "is no status"),
        ("status.404==1%", "only a number of requests"),
        ("status.404{/nowhere}==0", "which no request is for"),
        ("status.404{/b?x=1}==0", "without their queries"),
        ("p99{/a}<1s", "of a path there are errors"),
    ];
    for (threshold, part) in refused {
        let words =
            format!("run list.txt --target http://{}/ -n 6 -q --threshold {threshold}", server.address);
        place.farfield(&words).exits(2).says(&[part]);
    }
}

/// A threshold that ends the run does so by codes, too: at once, but for what waits to be counted, which on a
/// busy machine may be some hundred thousand requests.
#[test]
fn a_run_ends_by_a_code() {
    const EACH: usize = 5_000_000;
    let (place, server) = (Place::new(), Counting::new());
    let words = "--abort status.503{/status/503}<5 --threshold errors<=100%";
    turns(&place, &server, &["/a", "/status/503"], EACH, words).exits(105);
    let counted = server.statuses();
    assert!(counted[&503] >= 5 && counted[&503] < EACH as u64, "{counted:?}");
}

/// Replies that are cut off are no whole ones: they are neither completed nor succeeded.
#[test]
fn what_is_cut_off_is_not_completed() {
    let (place, server) = (Place::new(), Counting::new());
    let ended = turns(&place, &server, &["/cut", "/a", "/status/404"], 10, "--threshold errors<=100%");
    let summary = ended.summary();
    let outcomes: u64 = summary.steady.outcomes.iter().map(|own| own.count).sum();
    assert_eq!(outcomes, 30);
    assert_eq!(crate::common::count(&summary.steady, Outcome::Truncated), 10);
    let rates = summary.steady.rates.expect("a measured part");
    let completed = rates.completed_per_s.expect("a rate of whole replies");
    assert!((rates.succeeded_per_s / completed - 0.5).abs() < 1e-9, "{rates:?}");
    assert!((rates.ended_per_s / completed - 1.5).abs() < 1e-9, "{rates:?}");
    let scenario = fs::read_to_string(place.path("run/scenario.toml")).expect("the scenario");
    assert!(scenario.contains("list.txt"), "{scenario}");
}
