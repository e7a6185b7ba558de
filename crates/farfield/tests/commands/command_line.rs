//! The command line as a script meets it: exit codes, what is printed where, what a run leaves behind however
//! it ends, and the one sentence that says what is wrong.

use crate::common::{Ended, Place, Signal, count, poll};
use farfield_base::Outcome;
use farfield_measure::Summary;
use farfield_measure::samples::Keep;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A short run on the built-in server.
const SHORT: &str = "-c 2 --think 5ms";

#[test]
fn a_run_that_is_fine() {
    let place = Place::new();
    let ended = place.run(SHORT).exits(0);
    let summary = ended.summary();
    assert!(summary.complete && summary.verdict.valid && ended.samples_file().is_complete());
    assert_eq!(ended.stderr, "", "quiet means quiet");
}

/// Without a word, farfield shows itself, and says where the result is and what to try next.
#[test]
fn the_tour_explains_itself() {
    let place = Place::new();
    let tour = place.begin("");
    let runs = place.path("farfield-runs");
    let directory = poll("a run directory", || entries(&runs).into_iter().next());
    poll("a first checkpoint", || directory.join("summary.json").exists().then_some(()));
    tour.signal(Signal::INT);
    let ended = tour.ended().exits(130);
    let name = directory.file_name().expect("a name").to_string_lossy();
    for part in [&*name, "its own server", "\nNext", "run http://", "run scenario.toml"] {
        assert!(ended.stdout.contains(part), "`{part}` is not in:\n{}", ended.stdout);
    }
    assert!(ended.stderr.contains("\nwarming up, "), "{}", ended.stderr);
}

#[test]
fn what_is_printed_fits_a_terminal() {
    let place = Place::new();
    place.write(
        "page.toml",
        "[[requests.request]]\npath = '/bytes/10'\nembedded = ['/status/404', '/status/503']\n",
    );
    let server = place.serve("");
    let thresholds = "--threshold p99<1ns --threshold errors<1% --threshold rate>1000000";
    let words =
        format!("page.toml --target {} -R 100 -c 1 --set verdict.lateness-p99=0ns {thresholds}", server.url);
    for ended in [place.run(SHORT), place.run(&words)] {
        // The tables of pages and of failures, and warnings, stand above the last screen's lines.
        let lines: Vec<&str> = ended.stdout.lines().collect();
        let last = &lines[lines.len().saturating_sub(24)..];
        for label in ["rate", "time", "response", "outcomes", "directory", "page"] {
            let is_there = last.iter().any(|line| line.split_whitespace().next() == Some(label));
            assert!(is_there, "{label}: {}", ended.stdout);
        }
        assert!(last.iter().any(|line| line.starts_with("VALID ") || line.starts_with("INVALID ")));
        for line in ended.stdout.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

#[test]
fn thresholds_decide_the_exit_code() {
    let place = Place::new();
    place.run(&format!("{SHORT} --threshold p99<1h --threshold errors<=0%")).exits(0);
    let broken = place.run(&format!("{SHORT} --threshold p99<1ns --threshold errors<=0%")).exits(99);
    let passed: Vec<bool> = broken.summary().thresholds.iter().map(|threshold| threshold.passed).collect();
    assert_eq!(passed, [false, true]);
    // An invalid run says nothing about thresholds.
    place.run("-R 100 --threshold p99<1ns --set verdict.lateness-p99=0ns").exits(3);
}

#[test]
fn a_threshold_may_end_the_run() {
    let place = Place::new();
    let ended = place.run(&format!("{SHORT} -d 50s --abort p99<1ns")).exits(105);
    let summary = ended.summary();
    assert!(!summary.complete && summary.phases.steady_ns < 40_000_000_000);
    assert!(summary.incomplete_reason.is_some_and(|reason| reason.contains("p99<1ns")));
    assert!(!ended.samples().is_empty());
}

/// Of a run that was ended early: what was measured, marked as not complete.
#[track_caller]
fn partial(ended: &Ended) -> Summary {
    let (summary, file) = (ended.summary(), ended.samples_file());
    assert!(!summary.complete && !file.is_complete());
    let counted = summary.warm_up.requests + summary.steady.requests + summary.drained_requests;
    assert!(counted > 0);
    // Samples are written before the summary of a checkpoint is.
    assert!(!file.is_torn() && file.kept() >= counted, "{} samples of {counted} requests", file.kept());
    assert_eq!(ended.samples().len() as u64, file.kept());
    summary
}

#[test]
fn an_interrupted_run_keeps_what_it_has() {
    let place = Place::new();
    for (signal, format) in [(Signal::INT, "text"), (Signal::TERM, "json")] {
        let run = place.begin_run(&format!("{SHORT} -d 50s --format {format}"));
        run.await_checkpoint();
        run.signal(signal);
        let ended = run.ended().exits(130);
        let summary = partial(&ended);
        assert_eq!(summary.incomplete_reason.as_deref(), Some("it was interrupted"));
        match format {
            "json" => assert_eq!(Summary::from_json(&ended.stdout).expect("JSON"), summary),
            _ => assert!(ended.stdout.contains("\nINCOMPLETE  it was interrupted\n"), "{}", ended.stdout),
        }
        assert_eq!(summary.warm_up.requests + summary.steady.requests, ended.samples_file().kept());
    }
}

#[test]
fn a_killed_run_leaves_its_last_checkpoint() {
    let place = Place::new();
    let run = place.begin_run(&format!("{SHORT} -d 50s"));
    run.await_checkpoint();
    run.signal(Signal::KILL);
    let ended = run.ended();
    assert_eq!(ended.code, None);
    partial(&ended);
    let report = place.farfield(&format!("report {}", ended.directory.display())).exits(3);
    assert!(report.stdout.contains("\nINCOMPLETE  "), "{}", report.stdout);
}

#[test]
fn json_is_all_that_goes_to_standard_output() {
    let place = Place::new();
    let ended = place.run(&format!("{SHORT} --format json")).exits(0);
    let kept = fs::read_to_string(ended.directory.join("summary.json")).expect("a summary");
    assert_eq!(ended.stdout, kept);
}

#[test]
fn progress_goes_to_standard_error() {
    let ended = Place::new().farfield("run -c 1 --think 5ms -d 1s --warm-up 100ms -t 1 --format json");
    assert!(Summary::from_json(&ended.stdout).is_ok());
    assert!(
        ended.stderr.lines().next().is_some_and(|line| line.contains("built-in server")),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("\nmeasuring, "), "{}", ended.stderr);
}

#[test]
fn a_report_says_what_the_run_said() {
    let place = Place::new();
    for words in [SHORT, "-c 1 --think 5ms --threshold p99<1ns"] {
        let ended = place.run(words);
        let name = ended.directory.file_name().expect("a name").to_string_lossy();
        let report = place.farfield(&format!("report {name}")).exits(ended.code.expect("an exit code"));
        assert_eq!(report.stdout, ended.stdout);
        let json = place.farfield(&format!("report {name} --format json"));
        assert_eq!(Summary::from_json(&json.stdout).expect("JSON"), ended.summary());
    }
}

/// Each export of a run agrees with its summary, on standard output and in a file.
#[test]
fn a_run_is_exported_for_other_programs() {
    let place = Place::new();
    let ended = place.run("--plane simulated -c 4 --think 20ms --threshold p99<1ns").exits(99);
    let name = ended.directory.file_name().expect("a name").to_string_lossy();
    let export = |words: &str| place.farfield(&format!("report {name} --format {words}")).exits(99);
    let csv = export("csv");
    assert_eq!((csv.stdout.lines().count(), csv.stderr.as_str()), (ended.samples().len() + 1, ""));
    export("csv --out samples.csv");
    assert_eq!(fs::read_to_string(place.path("samples.csv")).expect("the file"), csv.stdout);
    let json = export("jsonl").stdout;
    let first: serde_json::Value = serde_json::from_str(json.lines().next().expect("a line")).expect("JSON");
    assert_eq!(first["due_ns"], ended.samples()[0].due.as_ns());
    let all = ended.summary().steady.requests;
    assert!(export("hgrm").stdout.contains(&format!("Total count    = {all:>12}]")));
    assert!(export("hdr").stdout.contains("Tag=steady.response,"));
    assert!(export("junit").stdout.contains("<testcase name=\"p99&lt;1ns\""));
    assert!(export("markdown").stdout.contains("- threshold `p99<1ns`: **failed**"));
    place
        .farfield(&format!("report {name} --format hgrm --histogram x"))
        .exits(2)
        .says(&["`x`", "steady.response"]);
    place.farfield(&format!("report {name} --format csv --out nowhere/x")).exits(1);
}

/// The damaged part is named, with what can still be read.
#[test]
fn a_damaged_run_gives_what_it_still_has() {
    let place = Place::new();
    let ended = place.run("--plane simulated -c 4 --think 20ms").exits(0);
    let name = ended.directory.file_name().expect("a name").to_string_lossy();
    let samples = ended.samples().len();
    fs::write(ended.directory.join("summary.json"), "{").expect("own file");
    let report = place.farfield(&format!("report {name}")).exits(2);
    report.says(&["summary.json", "no summary of a run", "samples.parquet by `--format csv`"]);
    let csv = place.farfield(&format!("report {name} --format csv")).exits(2);
    csv.says(&["no summary of a run"]);
    assert_eq!(csv.stdout.lines().count(), samples + 1);
    fs::remove_file(ended.directory.join("samples.parquet")).expect("own file");
    fs::remove_file(ended.directory.join("summary.json")).expect("own file");
    place.farfield(&format!("report {name} --format csv")).exits(2).says(&["holds no summary.json"]);
}

#[test]
fn a_count_of_requests_is_kept_exactly() {
    let place = Place::new();
    let server = place.serve("");
    for workers in 1..=2 {
        let words = format!(
            "run {}/bytes/1 -n 101 -c 4 -q -t {workers} -o {workers} {}",
            server.url,
            crate::common::CALM
        );
        let ended = Ended { directory: place.path(&workers.to_string()), ..place.farfield(&words) }.exits(0);
        let summary = ended.summary();
        assert!(summary.complete, "a count ends a run like a time does");
        assert_eq!((summary.steady.requests, summary.warm_up.requests), (101, 0));
        assert_eq!(ended.samples().len(), 101);
    }
}

#[test]
fn samples_are_kept_as_asked() {
    let place = Place::new();
    let check = |which: &str, keep: Keep, rows: fn(u64) -> u64| {
        let ended = place.run(&format!("{SHORT} --samples {which}")).exits(0);
        let (summary, file) = (ended.summary(), ended.samples_file());
        let all = summary.warm_up.requests + summary.steady.requests + summary.drained_requests;
        assert_eq!((file.keep(), file.kept()), (keep, rows(all)), "{which}");
        assert_eq!(file.kept() + file.left_out(), all);
        assert_eq!(ended.samples().len() as u64, file.kept());
    };
    check("all", Keep::All, |all| all);
    check("none", Keep::None, |_| 0);
    check("10", Keep::EveryKth(10.try_into().expect("not 0")), |all| all.div_ceil(10));
}

#[test]
fn a_spent_disk_budget_is_reported() {
    let place = Place::new();
    let ended = place.run("-R 100 -d 4s --set output.disk-budget=100kB").exits(0);
    let (summary, file) = (ended.summary(), ended.samples_file());
    assert!(fs::metadata(ended.directory.join("samples.parquet")).expect("a file").len() <= 100_000);
    let all = summary.warm_up.requests + summary.steady.requests + summary.drained_requests;
    assert!(file.kept() > 0 && file.left_out() > 0);
    assert_eq!(file.kept() + file.left_out(), all);
    let reported =
        format!("samples.parquet holds {} samples; {} were left out", file.kept(), file.left_out());
    assert!(summary.warnings.iter().any(|warning| warning.contains(&reported)), "{:?}", summary.warnings);
    assert!(ended.stdout.contains("\nwarning     "), "{}", ended.stdout);
}

#[test]
fn a_run_directory_holds_one_run_whose_scenario_runs_again() {
    let place = Place::new();
    let ended = place.run(&format!("{SHORT} --seed 7")).exits(0);
    let name = ended.directory.file_name().expect("a name").to_string_lossy();
    for file in ["environment.json", "series.parquet", "histograms.hlog"] {
        assert!(ended.directory.join(file).is_file(), "{file}");
    }
    let before = fs::read(ended.directory.join("summary.json")).expect("a summary");
    place.farfield(&format!("run -q -o {name}")).exits(1).says(&[&name, "holds a run already", "--out"]);
    assert_eq!(fs::read(ended.directory.join("summary.json")).expect("a summary"), before);

    // Its scenario is the whole of it, and names no directory: the new run gets one of its own.
    let again = place.farfield(&format!("run {name}/scenario.toml -q --format json")).exits(0);
    let summary = Summary::from_json(&again.stdout).expect("JSON");
    assert_eq!(summary.heading.seed, 7);
    assert_eq!(summary.heading.load_words, ended.summary().heading.load_words);
    assert_eq!(entries(&place.path("farfield-runs")).len(), 1);
    assert_eq!(fs::read_to_string(place.path("farfield-runs/.gitignore")).expect("git's"), "*\n");
    // By its age: the run that was made last, and none before it.
    let last = place.farfield("report last --format json").exits(0);
    assert_eq!(Summary::from_json(&last.stdout).expect("JSON").heading.seed, 7);
    let before = place.farfield("report last~1").exits(2);
    assert!(before.stderr.contains("farfield-runs has only 1 of them"), "{}", before.stderr);
}

/// The runs in a folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("an entry").path());
    entries.filter(|path| path.is_dir()).collect()
}

#[test]
fn a_scenario_that_is_shown_shows_the_same() {
    let place = Place::new();
    for words in [
        "",
        "http://127.0.0.1:8080/x?y=1 -c 20 -d 3s --think 1s -n 500",
        "http://127.0.0.1:8080/ -R 500 --policy pipelined --http 1.0 --seed 9 -X POST --body hello -H Accept:text/html",
        "--source 127.0.0.0/24 --processors 0 --samples 10 --threshold p99<200ms --abort errors<1% -o here",
        "--clients 20 --rtt 30ms --shards 2 --capture --server nginx --gateway packet",
        "--plane simulated --access dsl -R 50",
    ] {
        let shown = place.farfield(&format!("run {words} --show-scenario")).exits(0).stdout;
        place.write("shown.toml", &shown);
        let again = place.farfield("run shown.toml --show-scenario").exits(0).stdout;
        assert_eq!(again, shown, "{words}");
    }
    assert!(!place.path("here").exists(), "nothing was run");
}

#[test]
fn a_flag_outranks_its_key() {
    let place = Place::new();
    place.write("s.toml", "seed = 1\n[load]\nmodel = 'hybrid'\narrivals = '5/s'\nthink = '1s'\n");
    let words = "run s.toml --seed 2 -R 6 --think 3s --set connections.parallel=6 --show-scenario";
    let shown = place.farfield(words).exits(0).stdout;
    for line in ["seed = 2", "model = \"hybrid\"", "think = \"3s\"", "parallel = 6", "name = \"s\""] {
        assert!(shown.lines().any(|shown| shown == line), "{line} is not in:\n{shown}");
    }
}

/// One clear sentence, with the place where the mistake is.
#[test]
fn mistakes_are_reported_in_one_sentence() {
    let place = Place::new();
    place.write("is-a-file", "");
    let check = |words: &str, code: i32, parts: &[&str]| place.farfield(words).exits(code).says(parts);
    check("run nosuch.toml", 2, &["nosuch.toml", "No such file", "http://"]);
    check("run .", 2, &["directory"]);
    check("run ftp://127.0.0.1/", 2, &["ftp://127.0.0.1/", "http://", "https://"]);
    check("run http://:80/", 2, &["http://:80/", "http://host:port/path"]);
    check("run http://no-such-host.invalid/", 1, &["no-such-host.invalid", "does not resolve"]);
    check("run --set load.usres=3", 2, &["--set load.usres=3", "`usres`", "`users`"]);
    check("run --set nonsense", 2, &["--set nonsense", "KEY=VALUE"]);
    check("run --think soon", 2, &["--think", "soon", "300ms"]);
    check("run -c 0", 2, &["--users", "0"]);
    check("run -R -5", 2, &["--rate", "-5", "500/s"]);
    check("run --plane pigeons", 2, &["--plane", "pigeons", "`emulated`"]);
    check("run --clients 0", 2, &["--clients", "0"]);
    check("run --clients 9 --shards 2", 2, &["--clients", "the nearest number that can is 10"]);
    check("run --rtt far", 2, &["--rtt", "far", "300ms"]);
    check("run --access dls", 2, &["--access", "`dsl`"]);
    check("run --gateway bridge", 2, &["--gateway", "`packet`"]);
    check("run -t 0", 2, &["--workers", "0"]);
    check("run --threshold p99<fast", 2, &["--threshold", "p99<fast"]);
    check("run --threshold speed>1", 2, &["--threshold", "speed", "p50"]);
    check("run --samples 0", 2, &["--samples", "0", "every k-th"]);
    check("run --policy sometimes", 2, &["--policy", "sometimes", "`early-close`"]);
    check("run --source 127.0.0.0/33", 2, &["--source", "127.0.0.0/33"]);
    check("run http://127.0.0.1:80/ -X g@t", 2, &["g@t", "GET"]);
    check("run http://127.0.0.1:80/ -H nonsense", 2, &["-H", "nonsense"]);
    check("run --processors 999 -d 1s -q", 1, &["999", "this process may use"]);
    check("run -q -o is-a-file/run", 1, &["is-a-file/run", "--out"]);
    check("serve nowhere", 2, &["nowhere", "127.0.0.1:8080"]);
    check("serve 192.0.2.1:80", 1, &["192.0.2.1:80", "127.0.0.1"]);
    check("serve --service-time never", 2, &["--service-time", "never"]);
    check("serve --error-rate 2", 2, &["--error-rate", "2"]);
    check("report nowhere", 2, &["nowhere", "farfield run"]);
    check("report .", 2, &["summary.json"]);
}

#[test]
fn mistakes_in_a_scenario_are_reported_with_file_line_and_key() {
    let place = Place::new();
    let check = |text: &str, parts: &[&str]| {
        place.write("bad.toml", text);
        place.farfield("run bad.toml").exits(2).says(parts);
    };
    check("seed = 1\n[load]\nusres = 3", &["bad.toml:3: load.usres: ", "`users`"]);
    check("[laod]\nusers = 3", &["bad.toml:1: laod: ", "`load`"]);
    check("seed = 1\nseed = 2", &["bad.toml:2: "]);
    check("[run]\nduration = 'long'", &["bad.toml:2: run.duration: ", "`long`"]);
    check("[run]\nduration = '-3s'", &["bad.toml:2: run.duration: ", "`-3s`"]);
    check("[origin]\nerror-rate = 1.5", &["bad.toml:2: origin.error-rate: ", "`1.5`"]);
    check("[load]\nmodel = 'open'\narrivals = '-5/s'", &["bad.toml:3: load.arrivals: ", "`-5/s`"]);
    check("[load]\nmodel = 'overload'\ndescriptors = 5\ntimeout = '-1s'", &["bad.toml:4: load.timeout: "]);
    check("[load]\nmodel = 'overload'\ndescriptors = 0", &["bad.toml:3: load.descriptors: "]);
    check("[connections]\npolicy = 'sometimes'", &["bad.toml:2: connections.policy: ", "`early-close`"]);
    let two =
        "plane = 'emulated'\n[[network.class]]\nname = 'a'\nrtt = '5ms'\n[[network.class]]\nname = 'b'\n";
    check(&format!("{two}acess = 'dsl'"), &["bad.toml:7: network.class[1].acess: ", "`access`"]);
    check(&format!("{two}up = {{ trace = 'urls' }}"), &["bad.toml:5: network.class[1]: ", "`down`"]);
    check(
        &format!("{two}rtt = '1ms'\ndown = {{ trace = 'no' }}"),
        &["bad.toml:8: network.class[1].down.trace: "],
    );
    check("[[requests.request]]\npath = 'x y'", &["bad.toml:2: ", "path"]);
    check("requests.file = 'nosuch.txt'", &["requests", "nosuch.txt", "No such file"]);
    check("thresholds = ['p99<fast']", &["bad.toml:1: thresholds", "p99<fast"]);
    place.write("urls.txt", "/a\nGE T /b\n");
    check("requests.file = 'urls.txt'", &["urls.txt:2"]);
}

#[test]
fn an_unknown_flag_is_named() {
    let place = Place::new();
    for (words, named) in
        [("run --user 3", "--users"), ("frobnicate", "frobnicate"), ("run --seed x", "--seed")]
    {
        let ended = place.farfield(words).exits(2);
        assert!(ended.stderr.contains(named), "{}", ended.stderr);
    }
}

#[test]
fn doctor_examines_the_machine() {
    let ended = Place::new().farfield("doctor").exits(0);
    for subject in ["descriptors", "ports", "somaxconn", "namespaces", "TUN", "processors"] {
        assert!(
            ended.stdout.to_lowercase().contains(&subject.to_lowercase()),
            "{subject}:\n{}",
            ended.stdout
        );
    }
}

/// One generator and two are compared before farfield's own server; on a busy machine there may be no load at
/// which they are the same, which is said as well.
#[test]
fn doctor_measures_what_the_generator_can_offer() {
    let place = Place::new();
    let ended = place.farfield("doctor --limit --budget 8s");
    let text = ended.stdout;
    let found = text.starts_with("this machine offers ") && text.contains("--generator-limit ");
    assert!(found || text.starts_with("no load is the same with one generator and two\n"), "{text}");
    assert!(text.contains("requests/s generators"), "{text}");
    assert!(text.lines().count() <= 24 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    place.write("simulated.toml", "plane = 'simulated'\nload.model = 'closed'\n");
    place.farfield("doctor --limit simulated.toml").exits(2).says(&["is of the sockets plane"]);
    place.write("tls.toml", "target = 'https://127.0.0.1:1/'\nload = { model = 'closed', users = 2 }\n");
    let text = place.farfield("doctor --limit tls.toml --budget 6s").stdout;
    assert!(text.contains("users generators") && text.contains("with "), "{text}");
    let pin = format!("tls.pins = ['sha256//{}=']\n", "A".repeat(43));
    place.write("pinned.toml", format!("target = 'https://127.0.0.1:1/'\nload.model = 'closed'\n{pin}"));
    place.farfield("doctor --limit pinned.toml").exits(2).says(&["`tls.pins` do not know"]);
    assert!(place.farfield("doctor shop.toml").exits(2).stderr.contains("--limit"));
}

#[test]
fn documents_are_generated() {
    let place = Place::new();
    for (shell, part) in
        [("bash", "_farfield()"), ("zsh", "#compdef"), ("fish", "complete -c"), ("powershell", "Register-")]
    {
        let text = place.farfield(&format!("generate completions {shell}")).exits(0).stdout;
        assert!(text.contains(part) && text.contains("threshold"), "{shell}");
    }
    let schema = place.farfield("schema summary").exits(0).stdout;
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
    let run = place.run(&format!("{SHORT} --format json")).exits(0).stdout;
    let summary: serde_json::Value = serde_json::from_str(&run).expect("JSON");
    let required = schema["required"].as_array().expect("a list of keys");
    let keys: Vec<&String> = summary.as_object().expect("an object").keys().collect();
    assert!(required.iter().all(|key| summary.get(key.as_str().expect("a key")).is_some()));
    assert!(keys.iter().all(|key| schema["properties"].get(key.as_str()).is_some()), "{keys:?}");
}

/// Each command has a page with its exit status; those of the examples of its help are there.
#[test]
fn each_command_has_a_man_page() {
    let place = Place::new();
    let commands = place.farfield("generate commands").exits(0).stdout;
    assert!(commands.lines().count() > 25, "{commands}");
    for command in commands.lines() {
        let page = place.farfield(&format!("generate man {command}")).exits(0).stdout;
        for part in [".TH farfield", ".SH NAME", ".SH SYNOPSIS", ".SH \"EXIT STATUS\"", ".SH \"SEE ALSO\""] {
            assert!(page.contains(part), "{command}: {part}");
        }
    }
    let run = place.farfield("generate man run").exits(0).stdout;
    for part in [".TH farfield-run 1", "\\-\\-threshold", "\\fB105\\fR", ".SH EXAMPLES"] {
        assert!(run.contains(part), "{part}: {run}");
    }
    place.farfield("generate man frobnicate").exits(2).says(&["frobnicate"]);
}

#[test]
fn a_server_ends_when_it_is_signalled() {
    let place = Place::new();
    for signal in [Signal::TERM, Signal::INT] {
        let server = place.serve("--error-rate 10%");
        let url = format!("{}/bytes/10", server.url);
        let run = place.run(&format!("{url} -n 200 -c 1 --threshold errors<50%")).exits(0);
        let failed = count(&run.summary().steady, Outcome::Status5xx);
        assert!((1..60).contains(&failed), "{failed} of 200");
        let ended = server.end(signal).exits(0);
        let reported = ended.stdout.lines().last().unwrap_or_default().to_owned();
        assert!(reported.contains(&format!("{failed} of them errors on purpose")), "{reported}");
    }
}

/// A reader that has had enough is no reason to lose a run, nor to panic.
#[test]
fn nobody_needs_to_read_to_the_end() {
    let place = Place::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_farfield"));
    command
        .args("run -c 1 --think 5ms -d 300ms --warm-up 0s -t 1 -o run".split(' '))
        .args(crate::common::CALM.split_whitespace());
    let mut child = command
        .current_dir(place.path(""))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("farfield starts");
    drop(child.stdout.take());
    let mut first = [0];
    child.stderr.take().expect("it is piped").read_exact(&mut first).expect("progress");
    let status = poll("farfield to end", || child.try_wait().expect("a child"));
    assert_eq!(status.code(), Some(0));
    place.farfield("report run").exits(0);
}

/// In virtual time the same scenario leaves the same samples and the same packets, on any number of threads.
#[test]
fn a_simulation_leaves_the_same_bytes_on_any_number_of_threads() {
    let place = Place::new();
    place.write(
        "sim.toml",
        "plane = 'simulated'\nseed = 3\nrun = { warm-up = '500ms', duration = '2s' }\n\
         load = { model = 'hybrid', arrivals = '100/s', think = '200ms' }\n\
         [network]\nclients = 300\nclass = [{ name = 'dsl', access = 'dsl' }, { name = 'lossy', rtt = '60ms', down = { loss = '2%' } }]\n\
         [simulated]\nworkers = 2\nservice-time = '2ms'\n[capture]\ngateway = true",
    );
    let runs = std::cell::Cell::new(0);
    let left = |shards: &str| {
        runs.set(runs.get() + 1);
        let directory = format!("run-{}", runs.get());
        let ended = place.farfield(&format!("run sim.toml -q --shards {shards} -o {directory}"));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ["samples.parquet", "capture.pcapng"]
            .map(|file| std::fs::read(place.path(&directory).join(file)).unwrap())
    };
    let once = left("1");
    assert!(once.iter().all(|bytes| bytes.len() > 1_000));
    for shards in ["1", "2", "3"] {
        assert!(left(shards) == once, "on {shards}");
    }
}
