//! `farfield audit`: real tools before servers whose faults are known by formula, and tools that fail.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs `farfield audit` with the arguments, into `directory`.
fn audit(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_farfield"));
    command.arg("audit").arg("-o").arg(directory).args(arguments);
    command.stdin(Stdio::null()).output().expect("farfield runs")
}

/// The audit in `directory`.
fn read(directory: &Path) -> Value {
    let text = std::fs::read_to_string(directory.join("audit.json")).expect("an audit");
    serde_json::from_str(&text).expect("JSON")
}

/// The reason why tests that capture packets or need `tool` cannot run here.
fn missing(tool: &str) -> Option<String> {
    let found = Command::new("sh").arg("-c").arg(format!("command -v {tool}")).stdout(Stdio::null()).status();
    if !found.is_ok_and(|status| status.success()) {
        return Some(format!("no {tool}"));
    }
    (!rustix::process::geteuid().is_root()).then(|| "no right to capture packets".to_owned())
}

fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path}"))
}

/// The row of a figure.
fn row<'a>(audit: &'a Value, figure: &str) -> &'a Value {
    let rows = audit["rows"].as_array().expect("rows");
    rows.iter().find(|row| row["figure"] == figure).unwrap_or_else(|| panic!("no row {figure}"))
}

/// A percentile of times, in milliseconds.
fn percentile(times: &Value, percent: f64) -> f64 {
    let all = times["percentiles"].as_array().expect("percentiles");
    let found = all.iter().find(|one| one["percent"] == percent).expect("that percentile");
    number(found, "/ns") / 1e6
}

/// wrk for two periods of a server that stands still for 0.2 s in every second: a share of (0.2 s - x)/1 s
/// of open arrivals waits longer than x, so that the p99 is 190 ms and the p90 100 ms. wrk's own requests
/// see next to nothing of it, and what it reports is not what they took. A machine that is busy makes times
/// longer, never shorter, and the stall only ends by the clock: the upper bounds are wide.
#[test]
fn what_wrk_omits_is_what_the_formula_says() {
    let name = "what_wrk_omits_is_what_the_formula_says";
    if let Some(reason) = missing("wrk") {
        return farfield_testkit::skip(name, &reason);
    }
    let home = tempfile::tempdir().expect("a folder");
    let directory = home.path().join("wrk");
    let arguments = "--origin|stall=200ms every 1s|--origin|service-time=1ms|--|wrk|-t1|-c4|-d4s|--latency|{url}/bytes/100";
    let done = audit(&directory, &arguments.split('|').collect::<Vec<_>>());
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(done.status.code(), Some(3), "{text}{}", String::from_utf8_lossy(&done.stderr));
    let audit = read(&directory);
    assert_eq!(audit["agreement"], "disagrees", "{text}");
    // The count of wrk agrees with the packets, request by request.
    assert_eq!(row(&audit, "requests")["agrees"], true, "{text}");
    let (reported, observed) = (&row(&audit, "requests")["reported"], &row(&audit, "requests")["observed"]);
    let off = reported.as_f64().expect("a count") - observed.as_f64().expect("a count");
    assert!(off.abs() <= 4.0, "wrk counts {reported}, packets {observed}: one for each connection at most");
    let (p90, p99) =
        (percentile(&audit["omitted"]["times"], 90.0), percentile(&audit["omitted"]["times"], 99.0));
    assert!((98.0..130.0).contains(&p90), "p90 of open users {p90} ms, by formula 100 ms\n{text}");
    assert!((188.0..220.0).contains(&p99), "p99 of open users {p99} ms, by formula 190 ms\n{text}");
    // Four connections meet four or five stalls of 200 ms each, whatever the machine does.
    let longest = number(&audit, "/truth/times/max_ns") / 1e6;
    assert!((195.0..400.0).contains(&longest), "{longest} ms");
    let mean = row(&audit, "mean");
    assert_eq!(mean["agrees"], false, "{text}");
    assert!(mean["why"].as_str().is_some_and(|why| why.contains("values that wrk adds")), "{mean}");
    assert_eq!(audit["arrivals"]["process"], "closed");
    assert_eq!(audit["connections"]["open_max"], 4);
    assert!(directory.join("capture.pcapng").exists() && directory.join("audit.html").exists());
}

/// curl has no report that is read: the true side is shown all the same, to the request.
#[test]
fn a_tool_whose_output_nobody_reads_gets_the_true_side() {
    let name = "a_tool_whose_output_nobody_reads_gets_the_true_side";
    if let Some(reason) = missing("curl") {
        return farfield_testkit::skip(name, &reason);
    }
    let home = tempfile::tempdir().expect("a folder");
    let directory = home.path().join("curl");
    let script = "for n in 1 2 3; do curl -s -o /dev/null $FARFIELD_URL/status/404 $FARFIELD_URL/bytes/10; done; echo 42";
    let done = audit(&directory, &["--origin", "seed=1", "--", "sh", "-c", script]);
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(done.status.code(), Some(3), "{text}{}", String::from_utf8_lossy(&done.stderr));
    let audit = read(&directory);
    assert_eq!(audit["agreement"], "not-judged");
    assert_eq!((&audit["truth"]["requests"], &audit["truth"]["refused"]), (&6.into(), &3.into()), "{text}");
    assert_eq!(audit["connections"]["accepted"], 3);
    assert!(text.contains("NOT JUDGED"), "{text}");
}

/// A report of requests that the capture does not have is no lie that is proven: the tool may have sent
/// them elsewhere.
#[test]
fn a_report_without_a_packet_is_not_judged() {
    let name = "a_report_without_a_packet_is_not_judged";
    if let Some(reason) = missing("cat") {
        return farfield_testkit::skip(name, &reason);
    }
    let home = tempfile::tempdir().expect("a folder");
    let directory = home.path().join("elsewhere");
    let report = concat!(env!("CARGO_MANIFEST_DIR"), "/../farfield-verify/tests/reports/wrk.txt");
    let done = audit(&directory, &["--server", "127.0.0.1:9", "--as", "wrk", "--", "cat", report]);
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(done.status.code(), Some(3), "{text}{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(read(&directory)["agreement"], "not-judged");
    assert!(text.contains("sends to another server"), "{text}");
}

/// The report of a tool that is killed is missing, and what it did is not.
#[test]
fn a_tool_that_is_killed_leaves_the_true_side() {
    let name = "a_tool_that_is_killed_leaves_the_true_side";
    if let Some(reason) = missing("curl") {
        return farfield_testkit::skip(name, &reason);
    }
    let home = tempfile::tempdir().expect("a folder");
    let directory = home.path().join("killed");
    let script = "curl -s -o /dev/null $FARFIELD_URL/bytes/10; kill -9 $$";
    let done = audit(&directory, &["--origin", "seed=1", "--", "sh", "-c", script]);
    assert_eq!(done.status.code(), Some(3), "{}", String::from_utf8_lossy(&done.stderr));
    let audit = read(&directory);
    assert_eq!(audit["run"]["ended"], "was ended by signal 9");
    assert_eq!(audit["truth"]["requests"], 1);
}

#[test]
fn a_tool_that_cannot_be_started_is_a_sentence() {
    let home = tempfile::tempdir().expect("a folder");
    let directory = home.path().join("none");
    let done = audit(&directory, &["--server", "127.0.0.1:9", "--", "/no/such/tool"]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot start /no/such/tool") && said.contains("install it"), "{said}");
    assert!(!directory.exists(), "nothing is left of it");
    let done =
        audit(&directory, &["--server", "127.0.0.1:9", "--", "sh", "-c", "echo no such option >&2; exit 2"]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("ended with exit code 2") && said.contains("no such option"), "{said}");
}

/// A directory that the user names keeps what is in it, also where the audit fails.
#[test]
fn what_is_in_the_directory_stays() {
    let home = tempfile::tempdir().expect("a folder");
    std::fs::write(home.path().join("notes"), "mine").expect("a file");
    let done = audit(home.path(), &["--server", "127.0.0.1:9", "--", "/no/such/tool"]);
    assert_eq!(done.status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(home.path().join("notes")).expect("the file"), "mine");
    std::fs::write(home.path().join("audit.json"), "{}").expect("a file");
    let done = audit(home.path(), &["--server", "127.0.0.1:9", "--", "true"]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!((done.status.code(), said.contains("holds an audit already")), (Some(2), true), "{said}");
}

#[test]
fn a_server_that_is_not_named_or_not_readable_is_a_sentence() {
    let home = tempfile::tempdir().expect("a folder");
    for (arguments, sentence) in [
        (&["--", "k6", "run", "x.js"][..], "name no server"),
        (&["--", "wrk", "https://127.0.0.1/"], "inside TLS"),
        (&["--origin", "stall", "--", "wrk", "{url}"], "write KEY=VALUE"),
        (&["--origin", "stall=5s every 1s", "--", "wrk", "{url}"], "500ms every 5s"),
        (&["--as", "siege", "--server", "127.0.0.1:9", "--", "true"], "those of wrk, wrk2, ab"),
    ] {
        let done = audit(&home.path().join("x"), arguments);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(said.contains(sentence), "{said}");
    }
}

/// Ctrl-C ends the tool and all that it started; what it did until then is shown.
#[test]
fn ctrl_c_ends_the_tool_with_its_children_and_keeps_the_capture() {
    let name = "ctrl_c_ends_the_tool_with_its_children_and_keeps_the_capture";
    if let Some(reason) = missing("curl") {
        return farfield_testkit::skip(name, &reason);
    }
    let home = tempfile::tempdir().expect("a folder");
    let directory = home.path().join("stopped");
    let mark = home.path().join("pids");
    // A child that ignores the first signal, and one in a session of its own.
    let script = format!(
        "curl -s -o /dev/null $FARFIELD_URL/bytes/10; sh -c 'trap \"\" INT; exec sleep 600' & setsid sleep 600 & \
         echo $! $$ > {0}.part; mv {0}.part {0}; wait",
        mark.display()
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_farfield"));
    command.args(["audit", "--origin", "seed=1", "-o"]).arg(&directory).args(["--", "sh", "-c", &script]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("farfield runs");
    while !mark.exists() {
        assert!(child.try_wait().expect("a child").is_none(), "farfield ended early");
        std::thread::yield_now();
    }
    let pids = std::fs::read_to_string(&mark).expect("process numbers");
    let pid = rustix::process::Pid::from_raw(child.id() as i32).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    let done = child.wait_with_output().expect("an end");
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(130), "{said}");
    for pid in pids.split_whitespace() {
        assert!(!Path::new("/proc").join(pid).exists(), "process {pid} is left");
    }
    let audit = read(&directory);
    assert_eq!((&audit["truth"]["requests"], &audit["run"]["interrupted"]), (&1.into(), &true.into()));
}
