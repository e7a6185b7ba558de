//! Parts of a run, and the run that they are together: in virtual time figure by figure and sample by sample
//! that of one process, on sockets by the log of nginx.

use crate::common::nginx::Nginx;
use crate::common::wan::find;
use crate::common::{CALM, Ended, Place, poll};
use farfield_base::Sample;
use farfield_measure::Summary;
use farfield_measure::verdict::CheckState;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, UNIX_EPOCH};

/// A scenario with something in each corner of a summary: classes, states with a check that fails, stages.
const SCENARIO: &str = r#"
plane = "simulated"
thresholds = ["p99<1s", "p99(connect){up}<1s"]
[run]
duration = "3500ms"
warm-up = "500ms"
[network]
clients = 840
[[network.class]]
name = "near"
share = 0.5
rtt = "30ms"
[[network.class]]
name = "far"
share = 0.5
rtt = "120ms"
down = { rate = "1Mbit" }
[load]
model = "hybrid"
stages = [{ name = "up", for = "2s", to = "300/s" }, { name = "down", for = "2s", to = "0/s" }]
think = { distribution = "exponential", mean = "200ms" }
[[session.state]]
name = "home"
path = "/home"
[[session.state]]
name = "leaf"
path = "/leaf"
check = { contains = "no such words" }
[simulated]
workers = 100000
service-time = "2ms"
[[simulated.reply]]
path = "/leaf"
body = "some words"
"#;

/// Requests of a list.
const LISTED: &str = "plane = 'simulated'\n[run]\nduration = '1s'\n[requests]\nfile = 'list.txt'\n\
                      [load]\nmodel = 'open'\narrivals = '90/s'\n";

/// Arrivals that are counted.
const COUNTED: &str = "plane = 'simulated'\nthresholds = ['rate>150/s']\n[run]\nduration = '2s'\n\
                       [network]\nclients = 40\nrtt = '30ms'\n[load]\nmodel = 'open'\narrivals = '200/s'\n";

/// The run of `parts`, each in a process of its own, in `directory`.
fn merged(place: &Place, parts: &[&str], directory: &str) -> Ended {
    let names: Vec<String> = parts.iter().map(|part| part.replace('/', "-of-")).collect();
    for (part, name) in parts.iter().zip(&names) {
        place.farfield(&format!("run s.toml --part {part} -q -o {name}")).exits(0);
    }
    let ended = place.farfield(&format!("merge {} -o {directory}", names.join(" ")));
    Ended { directory: place.path(directory), ..ended }
}

/// All of a summary but what says which process made it, and when. Packets are counted to the end of each
/// process's time, behind that of the last request.
fn figures(summary: &Summary) -> Value {
    let mut value: Value = serde_json::from_str(&summary.to_json()).expect("JSON");
    value["heading"]["started_at"] = Value::Null;
    for counted in ["shards", "packets_up", "packets_down"] {
        value["network"][counted] = Value::Null;
    }
    for of_processes in ["parts", "warnings"] {
        value.as_object_mut().expect("an object").remove(of_processes);
    }
    let checks = value["verdict"]["checks"].as_array_mut().expect("checks");
    checks.retain(|check| check["name"] != "parts");
    value
}

fn sorted(samples: Vec<Sample>) -> Vec<String> {
    let mut lines: Vec<String> = samples.iter().map(|sample| format!("{sample:?}")).collect();
    lines.sort();
    lines
}

#[test]
fn seven_processes_make_what_one_makes() {
    let place = Place::new();
    place.write("s.toml", SCENARIO);
    place.farfield("run s.toml --part 1..42/42 -q -o whole").exits(0);
    let read = |name: &str| Ended { directory: place.path(name), ..place.farfield("--version") };
    let whole = read("whole");
    let of_whole = whole.summary();
    assert!(of_whole.verdict.valid && of_whole.steady.requests > 500, "{:?}", of_whole.verdict);
    assert!(!of_whole.failures.is_empty() && of_whole.stages.len() == 2 && of_whole.classes.len() == 2);
    let samples = sorted(whole.samples());
    for (number, parts) in [
        &["1..21/42", "22..42/42"][..],
        &["1..5/42", "6..40/42", "41..42/42"],
        &["37..42/42", "1..6/42", "7..12/42", "13..18/42", "19..24/42", "25..30/42", "31..36/42"],
    ]
    .into_iter()
    .enumerate()
    {
        let ended = merged(&place, parts, &format!("merged-{number}")).exits(0);
        let summary = ended.summary();
        assert_eq!(summary.parts.len(), parts.len());
        assert_eq!(figures(&summary), figures(&of_whole), "{parts:?}");
        assert!(sorted(ended.samples()) == samples, "{parts:?}");
        let series = |ended: &Ended| fs::read(ended.directory.join("series.parquet")).expect("a series");
        assert!(series(&ended) == series(&whole), "{parts:?}");
        let failures = fs::read_to_string(ended.directory.join("failures.txt")).expect("first failures");
        assert!(failures.contains("no such words"), "{failures}");
        let warned =
            summary.warnings.iter().filter(|warning| warning.contains("no session reached its last"));
        assert!(warned.count() >= parts.len(), "{:?}", summary.warnings);
    }
}

#[test]
fn what_is_no_run_is_refused_and_what_is_missing_is_said() {
    let place = Place::new();
    place.write("s.toml", SCENARIO);
    for part in ["1/3", "3/3"] {
        place.farfield(&format!("run s.toml --part {part} -q -o {}", part.replace('/', "-"))).exits(0);
    }
    place.farfield("run s.toml --part 3/3 --seed 2 -q -o other").exits(0);
    place.farfield("run s.toml -q -o undivided").exits(0);
    let short = place.farfield("merge 3-3 -o short").exits(3);
    prints(&short, &["INVALID", "parts", "1..2/3 is missing"]);
    assert!(Ended { directory: place.path("short"), ..short }.summary().steady.requests > 0);
    let refused = |words: &str, says: &[&str]| place.farfield(&format!("merge {words}")).exits(2).says(says);
    refused("1-3 other", &["1-3 and other are of different runs", "`seed = 1` and `seed = 2`"]);
    refused("3-3 1-3 3-3", &["both have 3/3", "counted once"]);
    refused("1-3 undivided", &["`undivided` holds no part.json.zst", "--part"]);
    refused("1-3 nowhere", &["nowhere"]);
    // Two parts in which other requests were made by one name.
    let list = |names: &str| place.write("list.txt", names);
    place.write("l.toml", LISTED);
    list("/a?x=1\n");
    place.farfield("run l.toml --part 1/2 -q -o l1").exits(0);
    list("/a?heavy=1\n");
    place.farfield("run l.toml --part 2/2 -q -o l2").exits(0);
    refused("l1 l2", &["of different runs", "inputs.json"]);
    // Samples of another part.
    fs::copy(place.path("3-3/samples.parquet"), place.path("1-3/samples.parquet")).expect("a copy");
    refused("1-3 3-3 -o retried", &["samples.parquet cannot be read", "the part's figures are of"]);
    let begun = place.path("retried/scenario.toml").exists();
    assert!(!begun, "what cannot be read is found before anything is written");
    place.write("1-3/part.json.zst", "no such thing");
    refused("1-3 3-3", &["part.json.zst cannot be read"]);
    assert!(!place.path("farfield-runs").exists(), "nothing is begun before all parts are read");

    let wrong =
        |words: &str, says: &[&str]| place.farfield(&format!("run s.toml -q {words}")).exits(2).says(says);
    wrong("--part 4/3", &["--part", "`2/3`"]);
    wrong("--part 2/9", &["network.clients", "840 clients", "such as 837"]);
    wrong("--start-at noon", &["--start-at", "2026-12-01T09:30:00Z"]);
    wrong("--start-at 2036-12-01T09:30:00Z", &["--start-at", "virtual time"]);
    wrong("--part 1/2 --plane emulated", &["--part", "emulated"]);
    wrong("--part 1/2 --set network.shared.rate=9Mbit", &["network.shared"]);
    let whole = |words: &str, says: &[&str]| place.farfield(words).exits(2).says(says);
    whole("capacity s.toml --set run.part=1/2 --slo p99<1s", &["run.part", "whole runs"]);
    whole("run s.toml --part 1/2 --repeats 2", &["run.part", "whole runs"]);
    whole("sweep s.toml --set run.part=1/2 --vary seed=1,2", &["run.part", "whole runs"]);
    wrong("--part 1/2 --abort p99<1s", &["--abort", "this part alone"]);
    let server = place.serve("");
    let late = format!("run {} -q --start-at 2026-01-01T00:00:00Z", server.url);
    place.farfield(&late).exits(1).says(&["run.start-at", "ago"]);
}

/// Checks that what it printed has all of `parts`.
#[track_caller]
fn prints(ended: &Ended, parts: &[&str]) {
    for part in parts {
        assert!(ended.stdout.contains(part), "`{part}` is not in: {}", ended.stdout);
    }
}

/// A wall-clock time so long from now, as flags take it.
fn in_a_while(ahead: Duration) -> String {
    humantime::format_rfc3339_millis(
        UNIX_EPOCH + Duration::from_millis(farfield_os::clock::unix_ms()) + ahead,
    )
    .to_string()
}

/// Two processes load one nginx. Its log has each request once, from the users of both.
#[test]
fn two_processes_load_one_server() {
    let test = "two_processes_load_one_server";
    let place = Place::new();
    let Some(program) = find(test, "nginx") else { return };
    place.write("www/page", vec![b'x'; 1024]);
    let log = "log_format own '$arg_u $connection'; access_log HOME/access.log own;";
    let nginx = Nginx::start(&program, &place, log, "root HOME/www;");
    place.write("s.toml", format!(
        "target = 'http://{}/page'\n[run]\nduration = '2s'\nwarm-up = '200ms'\n[load]\nmodel = 'open'\narrivals = '400/s'\n",
        nginx.address
    ));
    let at = in_a_while(Duration::from_secs(4));
    let begin = |part: &str, start: &str| {
        let words = format!("run s.toml --part {part}/2 -t 1 -q -o {part} {start} {CALM}");
        place.begin(&words)
    };
    let start = format!("--start-at {at}");
    let both = [begin("1", &start), begin("2", &start)];
    both.into_iter().for_each(|running| drop(running.ended().exits(0)));
    let ended = place.farfield("merge 1 2 -o whole").exits(0);
    let ended = Ended { directory: place.path("whole"), ..ended };
    let (summary, samples) = (ended.summary(), ended.samples());
    let text = || fs::read_to_string(place.path("access.log")).unwrap_or_default();
    poll("nginx to log all requests", || (text().lines().count() >= samples.len()).then_some(()));
    assert_eq!(text().lines().count(), samples.len());
    let connections: BTreeSet<&str> =
        text().leak().lines().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(connections.len() as u64, summary.connections.used);
    // Arrival n is n of the whole: each once, from the first to the last, whichever process made it.
    let users: BTreeSet<u32> = samples.iter().map(|sample| sample.user).collect();
    assert_eq!(users.iter().copied().collect::<Vec<_>>(), (0..samples.len() as u32).collect::<Vec<_>>());
    let due: Vec<_> =
        samples.iter().map(|sample| (sample.user, sample.due)).collect::<BTreeSet<_>>().into_iter().collect();
    assert!(due.windows(2).all(|pair| pair[0].1 <= pair[1].1), "arrivals are in the order of their numbers");
    let scheduled = summary.generator.arrivals.expect("an open load").expected.expect("a known rate");
    assert!((scheduled - 800.0).abs() < 1e-6, "{scheduled}");
    let skew = summary.parts.iter().filter_map(|part| part.skew_ns).max().expect("clocks");
    assert!(skew < 1_000_000, "{skew} ns between two starts on one machine");
    prints(&place.farfield("report whole").exits(0), &["VALID", "400/s"]);

    // A part of its own time is no part of this run.
    let words = format!("run s.toml --part 2/2 -t 1 -q -o late {CALM}");
    place.farfield(&words).exits(0);
    let apart = place.farfield("merge 1 late -o apart").exits(3);
    prints(&apart, &["start-skew", "--start-at"]);
    let apart = Ended { directory: place.path("apart"), ..apart };
    let failed = apart.summary().verdict.checks.into_iter().find(|check| check.name == "start-skew");
    assert_eq!(failed.expect("a check").state, CheckState::Failed);
    nginx.end();
}

/// A part's own packets are held against the part's load, and a verdict that is given behind the part's end
/// counts in the whole.
#[test]
fn packets_of_parts_are_held_against_their_loads() {
    let place = Place::new();
    place.write("s.toml", COUNTED);
    for part in ["1", "2"] {
        place.farfield(&format!("run s.toml --part {part}/2 --capture -q -o {part}")).exits(0);
        place.farfield(&format!("verify {part}")).exits(0);
    }
    prints(&place.farfield("report 1").exits(0), &["part 1/2 of open", "VALID"]);
    let ended = place.farfield("merge 1 2 -o whole").exits(0);
    prints(&ended, &["parts       1/2, 2/2", "VALID"]);
    let page = fs::read_to_string(place.path("whole/report.html")).expect("a page");
    assert!(page.contains("Parts: 1/2, 2/2"), "the page says what it is made of");
    assert!(!ended.stdout.contains("part 1/2 of"), "{}", ended.stdout);
    // As a check against packets leaves it.
    let path = place.path("2/summary.json");
    let text = fs::read_to_string(&path).expect("a summary");
    let mut summary = Summary::from_json(&text).expect("a summary");
    let what = "Samples and packets agree.";
    summary.verdict.fail("capture-agrees", what, "planted".to_owned(), "nothing");
    fs::write(&path, summary.to_json()).expect("own file");
    let invalid = place.farfield("merge 1 2 -o invalid").exits(3);
    prints(&invalid, &["INVALID", "2/2 in 2 is", "capture-agrees"]);
}

/// Thresholds are of the whole, and no part judges by them.
#[test]
fn thresholds_are_of_the_whole() {
    let place = Place::new();
    place.write("s.toml", COUNTED);
    for part in ["1", "2"] {
        place.farfield(&format!("run s.toml --part {part}/2 -q -o {part}")).exits(0);
    }
    prints(&place.farfield("merge 1 2 -o whole").exits(0), &["thresholds", "rate>150/s"]);
    prints(&place.farfield("merge 1 -o half").exits(3), &["rate>150/s"]);
}

/// Parts that were to keep no samples lack none; where one was to keep them, the whole has not all.
#[test]
fn samples_that_nobody_asked_for_are_not_missing() {
    let place = Place::new();
    place.write("s.toml", COUNTED);
    let warned = |of_first: &str, whole: &str| {
        for (part, kept) in [("1", of_first), ("2", "none")] {
            let words = format!("run s.toml --part {part}/2 --samples {kept} -q -o {whole}-{part}");
            place.farfield(&words).exits(0);
        }
        let ended = place.farfield(&format!("merge {whole}-1 {whole}-2 -o {whole}")).exits(0);
        let ended = Ended { directory: place.path(whole), ..ended };
        assert!(!ended.directory.join("samples.parquet").exists());
        ended.summary().warnings.iter().any(|warning| warning.contains("no samples.parquet of the whole"))
    };
    assert!(!warned("none", "unasked"));
    assert!(warned("all", "asked"));
}

/// Ctrl-C ends the wait for a start, and all units in one process are a run without parts.
#[test]
fn waiting_for_a_start_ends_and_a_whole_has_no_parts() {
    let place = Place::new();
    let server = place.serve("");
    let at = in_a_while(Duration::from_secs(200));
    let waiting = place.begin(&format!("run {} -q -d 1s -o waited --start-at {at}", server.url));
    poll("the run to wait", || place.path("waited/inputs.json").exists().then_some(()));
    waiting.signal(crate::common::Signal::INT);
    let ended = waiting.ended().exits(130);
    ended.says(&["interrupted before its start"]);
    let words = format!("run {} -q -d 500ms --warm-up 0s -c 4 --part 1..3/3 -t 1 -o all {CALM}", server.url);
    place.farfield(&words).exits(0);
    assert!(!place.path("all/part.json.zst").exists());
}
