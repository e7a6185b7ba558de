//! `farfield sweep` and repeats as people use them, before models of servers.

use crate::common::{Place, Signal, poll};
use serde_json::Value;

/// A server that takes 2 ms for each request, and users who think 50 ms.
const SERVER: &str = "plane = 'simulated'\nload = { model = 'closed', users = 4, think = { distribution = \
    'exponential', mean = '50ms' } }\nrun = { duration = '4s', warm-up = '0s' }\nnetwork = { rtt = '1ms' }\n\
    [simulated]\nworkers = 1\nservice-time = '2ms'\n";

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// Two keys by two values each: the points are there with their runs, the table has a row for each, what
/// moves the median is said, and the same command makes nothing again but what is missing.
#[test]
fn a_sweep_says_what_moves_the_result_and_goes_on_where_it_was() {
    let place = Place::new();
    place.write("server.toml", SERVER);
    let words = "sweep server.toml --vary network.rtt=1ms,20ms --vary load.users=4,8 --repeats 3 -o swept -q";
    let text = place.farfield(words).exits(0).stdout;
    assert!(text.contains("4 points, 12 runs, all valid"), "{text}");
    assert!(text.lines().count() <= 24 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let kept = std::fs::read_to_string(place.path("swept/sweep.json")).expect("sweep.json");
    let report = json(&kept);
    let median = report["effects"].as_array().expect("effects").iter().find(|of| of["metric"] == "p50");
    let of_rtt = &median.expect("p50")["variation"][0];
    assert!(of_rtt["from"]["factor"] == "network.rtt" && of_rtt["share"].as_f64() > Some(0.95), "{of_rtt}");
    let change = median.expect("p50")["changes"][0]["by"].as_f64().expect("a change");
    // 22 ms instead of 3, but for the time that users wait for each other.
    assert!((5.0..6.5).contains(&change), "{change}");
    let table = std::fs::read_to_string(place.path("swept/table.csv")).expect("table.csv");
    assert_eq!(table.lines().count(), 13);
    for name in ["network.rtt", "load.users", "p99", "steady.times.response.p99.value_ns", "verdict.valid"] {
        let names: Vec<&str> = table.lines().next().expect("names").split(',').collect();
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    for name in ["table.parquet", "sweep.html", "point-04/repeat-3/design.json"] {
        assert!(place.path("swept").join(name).exists(), "{name}");
    }
    // As if it had been killed: the run is there, and nothing says that it is whole.
    std::fs::remove_file(place.path("swept/point-02/repeat-1/design.json")).expect("a run");
    let again = json(&place.farfield(&format!("{words} --format json")).exits(0).stdout);
    assert_eq!((&again["points"], &again["effects"]), (&report["points"], &report["effects"]));
    assert!(place.path("swept/point-02/repeat-1-2/summary.json").exists());
    assert!(!place.path("swept/point-01/repeat-1-2").exists());
    let compared = place.farfield("compare swept/point-01 swept/point-03").exits(0).stdout;
    assert!(compared.contains("by pairs of runs with one seed"), "{compared}");
    let other = place.farfield(&format!("{words} --set simulated.workers=2")).exits(1);
    assert!(other.stderr.contains("is of another scenario"), "{}", other.stderr);
}

/// Points of a table and one key at a time are held against the first point, also words.
#[test]
fn points_of_a_table_are_held_against_the_first() {
    let place = Place::new();
    place.write("server.toml", SERVER);
    place.write("points.csv", "connections.policy,load.users\npersistent,2\none-request,2\npersistent,4\n");
    let text =
        place.farfield("sweep server.toml --points points.csv --repeats 2 -o swept -q").exits(0).stdout;
    assert!(text.contains("3 points, 6 runs") && text.contains("  policy=one-request  "), "{text}");
    let words = "sweep server.toml --one-at-a-time --vary connections.policy=persistent,one-request \
                 --vary load.users=2,4 --repeats 2 -q --format csv";
    let csv = place.farfield(words).exits(0).stdout;
    assert_eq!(csv.lines().count(), 7, "{csv}");
}

/// A run is repeated until its interval is as narrow as was asked, and thresholds are those of the runs.
#[test]
fn a_run_is_repeated_until_its_interval_is_narrow() {
    let place = Place::new();
    place.write("server.toml", SERVER);
    let words = "run server.toml --until p50+-5% --threshold p99<1s -q --format json -o repeats";
    let report = json(&place.farfield(words).exits(0).stdout);
    let median = &report["points"][0]["estimates"];
    let median = median.as_array().expect("estimates").iter().find(|of| of["metric"] == "p50").expect("p50");
    assert_eq!(median["narrow"], true, "{median}");
    assert!(report["runs"].as_array().is_some_and(|runs| runs.len() >= 5));
    let missed = place.farfield("run server.toml --repeats 2 --threshold p99<1us -q").exits(99).stdout;
    assert!(missed.contains("not met in 2 runs: p99<1us"), "{missed}");
}

/// Runs that are too short for the metric become as long as it needs, with their seeds; the same command goes
/// on where it was, with the same lengths. An interval that no length has is refused in words.
#[test]
fn runs_become_as_long_as_their_metric_needs() {
    let place = Place::new();
    place.write("server.toml", SERVER);
    let words = "run server.toml --until p99+-5% -q -o repeats";
    let text = place.farfield(words).exits(0).stdout;
    assert!(text.contains("runs of 4s were lengthened to "), "{text}");
    assert!(text.lines().count() <= 24 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let kept = || std::fs::read_to_string(place.path("repeats/sweep.json")).expect("sweep.json");
    let report = json(&kept());
    let lengths = &report["lengths"];
    let length_ns = lengths["measured_ns"].as_u64().expect("a length");
    // Some 75 requests a second, of which 2,000 have 20 beyond the p99.
    assert!((20_000_000_000..=120_000_000_000).contains(&length_ns), "{lengths}");
    let runs = report["runs"].as_array().expect("runs");
    let read = |run: &Value| {
        let path = run["directory"].as_str().expect("a path");
        let path = place.path("repeats").join(path).join("summary.json");
        json(&std::fs::read_to_string(path).expect("a summary"))
    };
    let summary = read(&runs[0]);
    assert_eq!(summary["phases"]["steady_ns"].as_u64(), Some(length_ns));
    let earlier = report["earlier_runs"].as_array().expect("runs");
    assert!(!earlier.is_empty() && earlier[0]["design"]["seed"] == runs[0]["design"]["seed"], "{earlier:?}");
    assert!(
        std::fs::read_to_string(place.path("repeats/sweep.html")).expect("a page").contains("<h2>Lengths")
    );
    let last = place.path("repeats").join(runs[4]["directory"].as_str().expect("a path"));
    std::fs::remove_file(last.join("design.json")).expect("a run");
    place.farfield(words).exits(0);
    let again = json(&kept());
    assert_eq!((&again["lengths"], &again["points"]), (&report["lengths"], &report["points"]));
    let short = place.farfield(&format!("{words}-again --length-max 6s")).exits(3).stdout.replace('\n', " ");
    assert!(short.contains("it cannot be had: p99 needs 20 independent requests"), "{short}");
    assert!(short.contains("and --length-max is 6s"), "{short}");
    let time = place.farfield(&format!("{words}-in-time --budget 1ms")).exits(3).stdout.replace('\n', " ");
    assert!(time.contains("are left of --budget") || time.contains("the time was over"), "{time}");
    // Where the length is varied, it stays as it is.
    let varied = "sweep server.toml --vary run.duration=4s,8s --until p99+-5% -q --repeats-max 5 -o varied";
    place.farfield(varied);
    let varied = json(&std::fs::read_to_string(place.path("varied/sweep.json")).expect("sweep.json"));
    assert_eq!(varied["lengths"], Value::Null);
}

/// Processes with this in their command.
fn runs_in(part: &str) -> usize {
    let processes = std::fs::read_dir("/proc").expect("/proc").flatten();
    let commands = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    let commands = commands.map(|command| String::from_utf8_lossy(&command).replace('\0', " "));
    commands.filter(|command| command.contains(part)).count()
}

/// A sweep that is killed leaves no run behind that goes on.
#[test]
fn a_killed_sweep_ends_its_runs() {
    let place = Place::new();
    place.write("server.toml", SERVER);
    let sweep =
        place.begin("sweep server.toml --set run.duration=100h --jobs 2 --repeats 2 -o swept-and-killed");
    let ours = || runs_in("swept-and-killed/point-01/repeat-");
    poll("two runs", || (ours() == 2).then_some(()));
    sweep.signal(Signal::KILL);
    poll("their end", || (ours() == 0).then_some(()));
}

/// A sweep that was killed goes on where it was: what was whole is not made again, and the result is that
/// of one that ran through.
#[test]
fn a_killed_sweep_goes_on() {
    let place = Place::new();
    place.write("server.toml", SERVER);
    let words = "sweep server.toml --vary load.users=2,4 --set run.duration=2m --repeats 3 --jobs 1 -q";
    let sweep = place.begin(&format!("{words} -o killed-halfway"));
    let designs = || -> Vec<(std::path::PathBuf, std::time::SystemTime)> {
        let runs = (1..=2).flat_map(|point| (1..=3).map(move |repeat| (point, repeat)));
        let files =
            runs.map(|(point, repeat)| format!("killed-halfway/point-0{point}/repeat-{repeat}/design.json"));
        let files = files.map(|file| place.path(&file));
        files.filter_map(|file| Some((file.clone(), file.metadata().ok()?.modified().ok()?))).collect()
    };
    poll("two runs", || (designs().len() >= 2).then_some(()));
    sweep.signal(Signal::KILL);
    sweep.ended();
    poll("the end of its run", || (runs_in("killed-halfway/point-0") == 0).then_some(()));
    let before = designs();
    assert!(before.len() < 6, "it was over before it was killed");
    let resumed = json(&place.farfield(&format!("{words} -o killed-halfway --format json")).exits(0).stdout);
    let after = designs();
    // The run that was broken off stays, and is made again beside it.
    assert_eq!(resumed["runs"].as_array().map(Vec::len), Some(6));
    assert!(before.iter().all(|whole| after.contains(whole)), "made again: {before:?} {after:?}");
    let through = json(&place.farfield(&format!("{words} -o through --format json")).exits(0).stdout);
    assert_eq!(resumed["points"], through["points"]);
}

/// Repeats may go on until the interval of any number of the summary is narrow.
#[test]
fn any_number_of_the_summary_ends_repeats() {
    let place = Place::new();
    place.write("server.toml", SERVER);
    let words = "run server.toml --until 'steady.rates.body_bytes_per_s ± 5%' -q -o repeated --format json";
    let words: Vec<&str> = words
        .split('\'')
        .flat_map(|part| match part.starts_with("steady") {
            true => vec![part],
            false => part.split_whitespace().collect(),
        })
        .collect();
    let report = json(&place.farfield_with(&words).exits(0).stdout);
    let estimates = report["points"][0]["estimates"].as_array().expect("estimates");
    let found = estimates
        .iter()
        .find(|found| found["metric"] == "steady.rates.body_bytes_per_s")
        .expect("it is there");
    let (mean, low) =
        (found["mean"].as_f64().expect("a mean"), found["interval"][0].as_f64().expect("an end"));
    assert!(mean > 0.0 && low > 0.9 * mean && report["points"][0]["runs"].as_u64() >= Some(5), "{found}");
    let refused = place.farfield("run server.toml --until monitor.server.x±5% -o other").exits(2);
    assert!(refused.stderr.contains("monitor.WHO.METRIC.mean"), "{}", refused.stderr);
}

/// A sweep that cannot be made is refused in a line, before anything runs.
#[test]
fn what_is_no_sweep_is_refused() {
    let place = Place::new();
    place.write("server.toml", SERVER);
    place.write("empty.csv", "load.users\n");
    place.write("twice.csv", "load.users\n3\n3\n");
    for (words, part) in [
        ("sweep server.toml --vary network.rtt", "write KEY=VALUE,VALUE"),
        ("sweep server.toml --vary load.users=3,x", "load.users"),
        ("sweep server.toml --vary load.users=3,4 --vary load.users=5,6", "is varied twice"),
        ("sweep server.toml --vary network.rtx=1ms,2ms", "network.rtx"),
        ("sweep server.toml --points empty.csv", "it has no points"),
        ("sweep server.toml --points twice.csv", "the point load.users=3 is there twice"),
        ("sweep server.toml --points none.csv", "none.csv"),
        ("sweep server.toml --until p98", "--until"),
        ("sweep http://127.0.0.1:1/ --vary load.users=1,2 --jobs 2", "would take each other's processors"),
        ("sweep server.toml --repeats 4294967295", "4294967295 repeats: at most 100000 runs in all"),
        ("sweep server.toml --vary load.users=1,2,3 --repeats 40000", "40000 repeats of 3 points"),
        ("run server.toml --repeats 100001", "at most 100000 runs in all"),
        ("sweep server.toml --jobs 4294967295", "at most 1000 runs at once"),
        ("run server.toml --repeats 2 --ui", "--ui is of one run"),
        ("run server.toml --budget 3s", "write --repeats or --until"),
    ] {
        let refused = place.farfield(words).exits(2);
        assert!(refused.stderr.contains(part), "{words}: {}", refused.stderr);
        assert_eq!(refused.stderr.trim_end().lines().count(), 1, "{}", refused.stderr);
        assert!(!place.path("farfield-runs").exists(), "{words}");
    }
}

/// A question in a file: its claims are judged, those that are open get more runs, and exit codes say which
/// was worst. Keys of the question are those of its file.
#[test]
fn a_question_is_answered_until_its_claims_are_decided() {
    let place = Place::new();
    place.write("server.toml", SERVER);
    let question = |is: &str| {
        format!(
            "title = 'What distance costs'\nscenario = 'server.toml'\nrepeats = 3\nlooks = 3\n\
             vary = {{ \"network.rtt\" = ['1ms', '20ms'] }}\nset = {{ \"run.duration\" = '2s' }}\n\
             [[claim]]\nsays = 'The median is below 5 ms nearby'\nmetric = 'p50'\nat = {{ \"network.rtt\" = '1ms' }}\nis = '< 5ms'\n\
             [[claim]]\nsays = 'Distance costs half of the rate'\nmetric = 'rate'\nis = '{is}'\n\
             at = {{ \"network.rtt\" = '20ms' }}\nagainst = {{ \"network.rtt\" = '1ms' }}\n"
        )
    };
    // Each of four users asks every 53 ms nearby, and every 72 ms from afar.
    place.write("holds.toml", question("< -20%"));
    let text = place.farfield("experiment holds.toml -q -o holds").exits(0).stdout;
    assert!(text.contains("HOLDS      The median is below 5 ms nearby"), "{text}");
    assert!(
        text.contains("HOLDS      Distance costs half") && text.contains("claimed below -20.0%"),
        "{text}"
    );
    assert!(text.lines().count() <= 24 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(std::fs::read_to_string(place.path("holds/sweep.html")).expect("a page").contains("Claims"));
    place.write("fails.toml", question("< -50%"));
    let fails = place.farfield("experiment fails.toml -q").exits(99).stdout;
    assert!(fails.contains("FAILS"), "{fails}");
    for (text, part) in [
        ("title = 'a'\nscenario = 'server.toml'\nvaries = 1\n", "line 3: unknown field `varies`"),
        ("title = 'a'\nscenario = 'server.toml'\nvary.load.users = 3\n", "needs a list of values"),
        ("title = 'a'\nscenario = 'none.toml'\n", "none.toml"),
    ] {
        place.write("bad.toml", text);
        place.farfield("experiment bad.toml -q").exits(2).says(&[part]);
    }
    place.write("bad.toml", question("< -20%").replace("looks = 3", "looks = 4000000000"));
    place.farfield("experiment bad.toml -q").exits(2).says(&["4000000000 looks; write at most 16"]);
    place.write("bad.toml", question("< -100%"));
    place.farfield("experiment bad.toml -q").exits(2).says(&["nothing can fall by 100% or more"]);
    place.write("bad.toml", question("much"));
    place.farfield("experiment bad.toml -q").exits(2).says(&["claim `Distance costs half of the rate`"]);
    // A claim about a point that there is not could never be decided.
    place.write(
        "bad.toml",
        question("< -20%").replace("at = { \"network.rtt\" = '20ms' }", "at = { \"network.rtt\" = '30ms' }"),
    );
    place.farfield("experiment bad.toml -q").exits(2).says(&["no point has network.rtt=30ms"]);
}

/// Files of a question are files also where they are named like flags, and its words cannot move a terminal.
#[test]
fn names_and_words_of_a_question_are_those_of_a_stranger() {
    let place = Place::new();
    place.write("--out=x", SERVER);
    place.write(
        "question.toml",
        "title = \"a\\u001b[2Jb\"\nscenario = '--out=x'\nrepeats = 2\nset = { \"run.duration\" = '1s' }\n\
         [[claim]]\nsays = \"one\\ntwo\\u001b[31m\"\nmetric = 'p50'\nis = '< 1s'\n",
    );
    let text = place.farfield("experiment question.toml -q -o answer").exits(0).stdout;
    assert!(text.contains("a\\u001B[2Jb: 1 point, 2 runs, all valid"), "{text}");
    assert!(text.contains("HOLDS      one\\u000Atwo\\u001B[31m\n"), "{text}");
}
