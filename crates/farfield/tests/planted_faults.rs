//! Faults planted into whole runs: each is found by its own check, told as the first cause, and comes with what to do.
//!
//! Limits on lateness are those of the other tests ([`common::CALM`]), so that this machine's slowness fails nothing;
//! a fault here lasts a second or is exact, and its check keeps the default limit.

mod common;

use common::wan::{Wan, may_build};
use common::{Ended, Place, Running, Signal, poll, try_poll};
use farfield_base::Outcome;
use farfield_measure::verdict::{Check, CheckState};
use std::process::Command;
use std::time::Duration;

const FARFIELD: &str = env!("CARGO_BIN_EXE_farfield");

/// The first cause of an invalid run, which the terminal shows with what to do.
#[track_caller]
fn cause(ended: &Ended) -> Check {
    let verdict = ended.summary().verdict;
    let cause = verdict.first_cause().unwrap_or_else(|| panic!("nothing failed:\n{}", ended.stdout)).clone();
    assert_eq!(ended.code, Some(3), "{}", ended.stdout);
    let told = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let advice = cause.advice.as_deref().unwrap_or_else(|| panic!("no advice: {cause:?}"));
    assert!(told.contains(&format!("! {}", cause.name)), "{told}");
    assert!(told.contains(&format!("→ {advice}")), "`{advice}` is not in: {told}");
    cause
}

#[track_caller]
fn check(ended: &Ended, name: &str) -> Check {
    let checks = ended.summary().verdict.checks;
    checks.into_iter().find(|check| check.name == name).expect("a check of that name")
}

/// Lets this much time pass.
fn pass(time: Duration) {
    let _ = try_poll::<()>(time, || None);
}

/// A process is stopped for a second, and goes on.
fn hold_for_a_second(running: &Running) {
    running.signal(Signal::STOP);
    pass(Duration::from_secs(1));
    running.signal(Signal::CONT);
}

/// Runs a line of the shell in `place`; `FARFIELD` in it is this program.
fn shell(place: &Place, line: &str) -> Ended {
    let line = line.replace("FARFIELD", FARFIELD);
    let output =
        Command::new("/bin/sh").args(["-c", &line]).current_dir(place.path("")).output().expect("a shell");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    Ended { code: output.status.code(), stdout, stderr, directory: place.path("run") }
}

/// A server that is stopped for good, and hangs with all its connections open.
#[test]
fn a_server_that_hangs_is_silent() {
    for load in ["-R 50", "-c 10 --think 10ms"] {
        let place = Place::new();
        let server = place.serve("");
        let run = place.begin_run(&format!("{}/bytes/100 {load} -d 3s --set run.drain=500ms", server.url));
        run.await_checkpoint();
        server.signal(Signal::STOP);
        let ended = run.ended();
        server.signal(Signal::CONT);
        let cause = cause(&ended);
        assert_eq!(cause.name, "server-silent", "{load}");
        let note = cause.note.expect("a note");
        // It was stopped after the first second; the checkpoint may have been seen late on a busy machine.
        let second = note.strip_prefix("nothing came from the server after second ").expect("the second");
        let second: f64 = second.parse().expect("a number");
        assert!((0.9..2.9).contains(&second), "{note}");
    }
}

/// A server that pauses and goes on is slow, not silent: what it does is measured.
#[test]
fn a_server_that_pauses_is_measured() {
    let place = Place::new();
    let server = place.serve("");
    let run = place.begin_run(&format!("{}/bytes/100 -R 50 -d 4s", server.url));
    run.await_checkpoint();
    server.signal(Signal::STOP);
    pass(Duration::from_secs(1));
    server.signal(Signal::CONT);
    let ended = run.ended().exits(0);
    let longest = ended.summary().steady.times.response.expect("replies").max_ns;
    assert!(longest >= 900_000_000, "{longest}");
    assert_eq!(check(&ended, "server-silent").state, CheckState::Passed);
}

/// One second without a processor in a run of three: no percentile of the turns tells of it, the longest stall does.
#[test]
fn a_worker_that_is_held_for_a_second() {
    let _alone = common::alone();
    let place = Place::new();
    let server = place.serve("");
    let limits = "--set verdict.longest-stall=100ms --set verdict.server-silent=1m";
    let run = place.begin_run(&format!("{}/bytes/100 -c 2 --think 5ms -d 3s {limits}", server.url));
    run.await_checkpoint();
    hold_for_a_second(&run);
    let ended = run.ended();
    let cause = cause(&ended);
    assert_eq!(cause.name, "longest-stall");
    assert!(cause.measured.expect("a time") >= 0.9e9, "{cause:?}");
    assert_eq!(check(&ended, "loop-lag").state, CheckState::Passed, "with the limits of these tests");
}

/// The same across an emulated network.
#[test]
fn a_shard_that_is_held_for_a_second() {
    if !may_build("a_shard_that_is_held_for_a_second") {
        return;
    }
    let _alone = common::alone();
    let wan = Wan::of("", Vec::new()).expect("root");
    let scenario = "
        load = { model = 'closed', users = 20, think = '20ms', ramp = '200ms' }
        network = { clients = 20, rtt = '10ms' }
        run = { warm-up = '200ms', duration = '3s' }";
    let run = wan.begin_without_server(scenario, "--set verdict.longest-stall=100ms");
    run.await_checkpoint();
    hold_for_a_second(&run);
    let cause = cause(&run.ended());
    assert_eq!(cause.name, "longest-stall");
    assert!(cause.measured.expect("a time") >= 0.9e9, "{cause:?}");
}

/// A server that the run starts and that ends in its middle: how, when, and its last words, which may do nothing to
/// the terminal.
#[test]
fn a_started_server_that_ends() {
    let test = "a_started_server_that_ends";
    let line = format!(
        "{FARFIELD} serve 0.0.0.0:80 & server=$!; sleep 2; kill -9 $server; printf 'out of \\033[31mmemory\\n'; exit 7"
    );
    let Some(wan) = Wan::of(test, vec!["/bin/sh".into(), "-c".into(), line]) else { return };
    let ended = wan.run(
        "load = { model = 'open', arrivals = '50/s' }\nnetwork = { clients = 20, rtt = '10ms' }\n\
                         run = { warm-up = '100ms', duration = '4s', drain = '500ms' }",
        "",
    );
    let cause = cause(&ended);
    assert_eq!(cause.name, "server-ended");
    let note = cause.note.expect("a note");
    assert!(note.starts_with("the server ended after ") && note.contains("exit status: 7"), "{note}");
    assert!(note.ends_with("out of  [31mmemory"), "{note:?}");
    assert!(!ended.stdout.contains('\u{1b}'), "{:?}", ended.stdout);
    // What follows from it is told as that.
    assert_eq!(check(&ended, "server-silent").follows_from.as_deref(), Some("server-ended"));
}

/// A server whose first process ends and leaves its work to a child has not ended.
#[test]
fn a_server_that_goes_to_the_background_goes_on() {
    let line = format!("{FARFIELD} serve 0.0.0.0:80 & exit 0");
    let test = "a_server_that_goes_to_the_background_goes_on";
    let Some(wan) = Wan::of(test, vec!["/bin/sh".into(), "-c".into(), line]) else { return };
    let scenario = "load = { model = 'open', arrivals = '50/s' }\nnetwork = { clients = 20, rtt = '10ms' }\n\
                    run = { warm-up = '100ms', duration = '1s' }";
    let ended = wan.run(scenario, "").exits(0);
    assert_eq!(check(&ended, "server-ended").state, CheckState::Passed);
}

/// 100 descriptors for 200 users: refused before the run, with the limit that would do.
#[test]
fn too_few_descriptors_are_refused() {
    let place = Place::new();
    let server = place.serve("");
    let run = format!("exec FARFIELD run {}/bytes/100 -c 200 -d 500ms -q -o run", server.url);
    let refused = shell(&place, &format!("ulimit -n 100; {run}")).exits(1);
    refused.says(&["200 connections", "the limit of open files is 100", "`ulimit -n "]);
    assert!(!refused.directory.exists(), "a run that never was leaves no directory");
    // What it names is enough; and a soft limit is raised as far as the hard one goes.
    let (_, wanted) = refused.stderr.split_once("`ulimit -n ").expect("a limit");
    let wanted: u64 = wanted.split('`').next().and_then(|text| text.parse().ok()).expect("a number");
    let calm = format!("{run} {}", common::CALM);
    let ended = shell(&place, &format!("ulimit -n {wanted}; ulimit -S -n 100; {calm}")).exits(0);
    assert_eq!(check(&ended, "generator-lacked").state, CheckState::Passed);
}

/// How many connections an open load comes to is not known before: it lacks them in mid-run, and that is the run's fault.
#[test]
fn descriptors_that_run_out_make_a_run_invalid() {
    let place = Place::new();
    let server = place.serve("--service-time 2s");
    let run = format!(
        "FARFIELD run {}/bytes/100 -R 100 -d 2s --warm-up 0s -t 1 -q -o run {} --threshold errors<=100%",
        server.url,
        common::CALM
    );
    let ended = shell(&place, &format!("ulimit -n 100; exec {run}").replace('<', "\\<"));
    let cause = cause(&ended);
    assert_eq!(cause.name, "generator-lacked");
    let lacked = common::count(&ended.summary().steady, Outcome::NoDescriptor);
    assert_eq!(cause.note, Some(format!("{lacked} requests found no descriptor")));
    assert!(cause.advice.expect("advice").contains("ulimit -n"));
}

/// Ten local ports: 20 users who each keep a connection are refused; a load that opens one for each request runs out.
#[test]
fn too_few_ports() {
    if !may_build("too_few_ports") {
        return;
    }
    let place = Place::new();
    let inside = |words: &str| {
        let run = format!(
            "FARFIELD run {words} -d 1s -q -o run -t 1 {} --set 'sockets.sources=[\"127.0.0.2\"]'",
            common::CALM
        );
        let ports = "echo 40000 40009 > /proc/sys/net/ipv4/ip_local_port_range";
        let script = format!("ip link set lo up; {ports}; exec \"$0\" \"$@\"");
        shell(&place, &format!("rm -rf run; exec unshare -n sh -c '{script}' {run}"))
    };
    let refused = inside("-c 20").exits(1);
    refused.says(&["20 connections", "1 local address with 10 ports", "`sockets.sources`"]);
    let ended = inside("-R 50 --set connections.policy=one-request --set verdict.server-silent=1m");
    let cause = cause(&ended);
    assert_eq!(cause.name, "generator-lacked");
    assert!(cause.note.expect("a note").contains("no local address and port"));
}

/// More users than the process may have memory for.
#[test]
fn too_little_memory_is_refused() {
    let place = Place::new();
    // A gigabyte: enough to start in, and not for 4 million users.
    let line = "ulimit -v 1000000; exec FARFIELD run --set plane=simulated -c 4000000 --set network.clients=1000 -d 1s -q -o run";
    let refused = shell(&place, line).exits(1);
    refused.says(&["4000000 users take at least 1.2 GB of memory", "`ulimit -v`", "ask for fewer users"]);
    assert!(!refused.directory.exists());
}

/// One request is over in a millisecond, of which no share and no percentile is asked: VALID, ten times of ten, with the
/// default limits.
#[test]
fn one_request_is_valid() {
    let place = Place::new();
    let server = place.serve("");
    for number in 0..10 {
        let words = format!("run {}/bytes/100 -n 1 -q -o run-{number}", server.url);
        let ended =
            Ended { directory: place.path(&format!("run-{number}")), ..place.farfield(&words) }.exits(0);
        assert_eq!(ended.summary().steady.requests, 1);
    }
}

/// What the verdict was held against is told where it is not the default.
#[test]
fn changed_limits_stand_beside_valid() {
    let place = Place::new();
    let server = place.serve("");
    let ended = place.run(&format!("{}/bytes/100 -c 2 --think 5ms -d 300ms", server.url)).exits(0);
    let told = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("set by the scenario: lateness-p99 1m, longest-stall 1m, "), "{told}");
    let changed = ended.summary().verdict.changed_limits;
    assert!(changed.iter().any(|limit| limit.key == "lateness-p99" && limit.default == "1ms"), "{changed:?}");
}

/// Other work on every processor: where the run is late for it, that is the first cause, and not the five symptoms.
#[test]
fn a_busy_machine_is_named() {
    let _alone = common::alone();
    let place = Place::new();
    let server = place.serve("");
    let processors = std::thread::available_parallelism().expect("processors").get();
    // Twice as many as there are processors, each of which always has something to do.
    let mut others: Vec<_> = (0..processors * 2)
        .map(|_| common::Process::start(Command::new("/bin/sh").args(["-c", "while :; do :; done"]), &place))
        .collect();
    let words = format!("run {}/bytes/100 -R 2000 -d 2s --warm-up 500ms -t 1 -q -o run", server.url);
    let ended = Ended { directory: place.path("run"), ..place.farfield(&words) };
    others.iter_mut().for_each(|other| other.signal(Signal::KILL));
    poll("the others to end", || others.iter_mut().all(|other| other.ended().is_some()).then_some(()));
    let busy = check(&ended, "machine-busy");
    match busy.state {
        CheckState::Failed => {
            assert_eq!(cause(&ended).name, "machine-busy");
            assert!(busy.note.expect("a note").contains("load "), "{:?}", ended.stdout);
        }
        // A scheduler that lets the worker on at once keeps it punctual all the same.
        _ => assert_eq!(ended.code, Some(0), "{}", ended.stdout),
    }
}
