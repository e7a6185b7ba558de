//! Faults planted into whole runs: each is found by its own check, reported as the first cause, with advice.
//!
//! Limits on lateness are those of the other tests ([`crate::common::CALM`]), so that this machine's slowness
//! fails nothing; a fault here lasts a second or is exact, and its check keeps the default limit.

use crate::common::wan::{Wan, may_build};
use crate::common::{Ended, Place, Running, Signal, shell, try_poll};
use farfield_base::Outcome;
use farfield_measure::verdict::{Check, CheckState};
use std::time::Duration;

const FARFIELD: &str = env!("CARGO_BIN_EXE_farfield");

/// The first cause of an invalid run, which the terminal shows with what to do.
#[track_caller]
pub(super) fn cause(ended: &Ended) -> Check {
    let verdict = ended.summary().verdict;
    let cause = verdict.first_cause().unwrap_or_else(|| panic!("nothing failed:\n{}", ended.stdout)).clone();
    assert_eq!(ended.code, Some(3), "{}", ended.stdout);
    let reported = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let advice = cause.advice.as_deref().unwrap_or_else(|| panic!("no advice: {cause:?}"));
    assert!(reported.contains(&format!("! {}", cause.name)), "{reported}");
    assert!(reported.contains(&format!("→ {advice}")), "`{advice}` is not in: {reported}");
    cause
}

#[track_caller]
pub(super) fn check(ended: &Ended, name: &str) -> Check {
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

/// A server that is stopped for good, and hangs with all its connections open.
#[test]
fn a_server_that_hangs_is_silent() {
    for load in ["-R 50", "-c 10 --think 10ms"] {
        let place = Place::new();
        let server = place.serve("");
        #[expect(
            clippy::disallowed_methods,
            reason = "when a real process was stopped is read from the clock"
        )]
        let begun = std::time::Instant::now();
        let run = place.begin_run(&format!("{}/bytes/100 {load} -d 10s --set run.drain=500ms", server.url));
        run.await_checkpoint();
        server.signal(Signal::STOP);
        let stopped = begun.elapsed().as_secs_f64();
        let ended = run.ended();
        server.signal(Signal::CONT);
        let cause = cause(&ended);
        assert_eq!(cause.name, "server-silent", "{load}");
        let note = cause.note.expect("a note");
        // The checkpoint is that of the first second; a busy machine shows it late.
        let second = note.strip_prefix("nothing came from the server after second ").expect("the second");
        let second: f64 = second.parse().expect("a number");
        assert!(0.9 <= second && second <= stopped + 0.1, "{note}, stopped after {stopped:.2} s");
    }
}

/// The warning of a run that begins so, if there is one.
fn warning(ended: &Ended, begins: &str) -> Option<String> {
    ended.summary().warnings.into_iter().find(|warning| warning.starts_with(begins))
}

const SILENCE: &str = "nothing came from the server between second ";

/// A server that pauses and goes on is slow, not silent: it is measured, and the pause is reported with its
/// seconds.
#[test]
fn a_server_that_pauses_is_measured() {
    let place = Place::new();
    let server = place.serve("");
    let run = place.begin_run(&format!("{}/bytes/100 -R 50 -d 6s", server.url));
    run.await_checkpoint();
    server.signal(Signal::STOP);
    pass(Duration::from_secs(1));
    server.signal(Signal::CONT);
    let ended = run.ended().exits(0);
    let longest = ended.summary().steady.times.response.expect("replies").max_ns;
    assert!(longest >= 900_000_000, "{longest}");
    assert_eq!(check(&ended, "server-silent").state, CheckState::Passed);
    let silence = warning(&ended, SILENCE).expect("the pause is reported");
    let words: Vec<&str> = silence.split_whitespace().collect();
    let seconds: Vec<f64> = words.iter().filter_map(|word| word.trim_end_matches(',').parse().ok()).collect();
    // It was paused for a second at least, after the first; seen are the whole tenths of it.
    assert!(seconds[0] >= 0.9 && seconds[1] - seconds[0] >= 0.8, "{silence}");
}

/// A server that is slowed down, by being stopped again and again: how often is reported, and for how long in
/// all.
#[test]
fn a_server_that_stutters_is_reported_as_that() {
    let place = Place::new();
    let server = place.serve("");
    let run = place.begin_run(&format!("{}/bytes/100 -R 50 -d 6s", server.url));
    run.await_checkpoint();
    // Those between which a busy machine lets no reply through are one.
    for _ in 0..4 {
        server.signal(Signal::STOP);
        pass(Duration::from_millis(500));
        server.signal(Signal::CONT);
        pass(Duration::from_millis(500));
    }
    let ended = run.ended().exits(0);
    let silence = warning(&ended, SILENCE).expect("the pauses are reported");
    let more = (1..=3).any(|count| silence.contains(&format!("; {count} more such pause")));
    assert!(more, "{silence}");
}

/// An overload may silence a server, which is what it measures: nothing fails, and the silence is reported.
#[test]
fn a_server_that_an_overload_silences_is_reported() {
    let place = Place::new();
    let server = place.serve("");
    let load = "--set load.model=overload --set load.descriptors=20 --set load.timeout=100ms";
    let run = place.begin_run(&format!("{}/bytes/100 {load} -d 10s --set run.drain=500ms", server.url));
    run.await_checkpoint();
    server.signal(Signal::STOP);
    let ended = run.ended();
    server.signal(Signal::CONT);
    assert_eq!(check(&ended, "server-silent").state, CheckState::Skipped);
    let silence = warning(&ended, "nothing came from the server after second ");
    assert!(silence.is_some(), "{:?}", ended.summary().warnings);
}

/// In virtual time all is exact: the link that carries a kilobyte each 8 ms stands still from 3 s to 5 s.
#[test]
fn a_silence_in_virtual_time() {
    let place = Place::new();
    // Milliseconds at which a packet may pass; the trace repeats after its last line.
    let at = (1..=10_000_u32).filter(|ms| !(3_000..5_000).contains(ms));
    let trace: String = at.map(|ms| format!("{ms}\n")).collect();
    std::fs::write(place.path("rates"), trace).expect("own file");
    let scenario = "plane = 'simulated'\n[load]\nmodel = 'open'\narrivals = '100/s'\n[network]\nclients = 10\n\
                    [[network.class]]\nname = 'all'\nup = { delay = '5ms' }\ndown = { delay = '5ms', trace = 'rates' }\n\
                    [simulated]\nreply-size = '100B'\n";
    std::fs::write(place.path("s.toml"), scenario).expect("own file");
    let ended = place.run("s.toml --warm-up 1s -d 8s").exits(0);
    let silence = warning(&ended, SILENCE).expect("the silence is reported");
    assert_eq!(silence, format!("{SILENCE}3.0 and 5.0, while requests waited"));
    // It is the server's, or its path's: nothing else is said of it.
    assert_eq!(check(&ended, "server-silent").state, CheckState::Skipped);
}

/// One second without a processor in a run of eight, which a busy machine may begin late: no percentile of
/// the turns shows it, the longest stall does.
#[test]
fn a_worker_that_is_held_for_a_second() {
    let _alone = crate::common::alone();
    let place = Place::new();
    let server = place.serve("");
    let limits = "--set verdict.longest-stall=100ms --set verdict.server-silent=1m";
    let run = place.begin_run(&format!("{}/bytes/100 -c 2 --think 5ms -d 8s {limits}", server.url));
    run.await_checkpoint();
    hold_for_a_second(&run);
    let ended = run.ended();
    let cause = cause(&ended);
    assert_eq!(cause.name, "longest-stall");
    assert!(cause.measured.expect("a time") >= 0.9e9, "{cause:?}");
    assert_eq!(check(&ended, "loop-lag").state, CheckState::Passed, "with the limits of these tests");
}

/// A held worker of the emulated plane.
#[test]
fn a_shard_that_is_held_for_a_second() {
    if !may_build("a_shard_that_is_held_for_a_second") {
        return;
    }
    let _alone = crate::common::alone();
    let wan = Wan::of("", Vec::new()).expect("root");
    let scenario = "
        load = { model = 'closed', users = 20, think = '20ms', ramp = '200ms' }
        network = { clients = 20, rtt = '10ms' }
        run = { warm-up = '200ms', duration = '8s' }";
    let run = wan.begin_without_server(scenario, "--set verdict.longest-stall=100ms");
    run.await_checkpoint();
    hold_for_a_second(&run);
    let cause = cause(&run.ended());
    assert_eq!(cause.name, "longest-stall");
    assert!(cause.measured.expect("a time") >= 0.9e9, "{cause:?}");
}

/// A server that the run starts and that ends in its middle: how, when, and its last words, which may do
/// nothing to the terminal.
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
    assert!(note.ends_with("out of \\u001B[31mmemory"), "{note:?}");
    assert!(!ended.stdout.contains('\u{1b}'), "{:?}", ended.stdout);
    // A check that follows from it is reported as that.
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

/// A command that only its own folder has. The scenario that is kept names the folder, from wherever it is
/// run again.
#[test]
fn a_server_runs_in_its_directory() {
    let command = vec!["/bin/sh".into(), "here.sh".into()];
    let Some(wan) = Wan::of("a_server_runs_in_its_directory", command) else { return };
    let place = Place::new();
    place.write("here.sh", format!("exec {FARFIELD} serve 0.0.0.0:80\n"));
    let scenario = "load = { model = 'open', arrivals = '50/s' }\nnetwork = { clients = 20, rtt = '10ms' }\n\
                    run = { warm-up = '100ms', duration = '300ms' }";
    let folder = place.path("");
    let ended = wan.run(scenario, &format!("--set server.directory={}", folder.display())).exits(0);
    let kept = std::fs::read_to_string(ended.directory.join("scenario.toml")).expect("a kept scenario");
    let kept: toml::Table = kept.parse().expect("TOML");
    assert_eq!(kept["server"]["directory"].as_str().map(std::path::Path::new), Some(folder.as_path()));
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
    // The limit that it names is enough; and a soft limit is raised as far as the hard one goes.
    let (_, wanted) = refused.stderr.split_once("`ulimit -n ").expect("a limit");
    let wanted: u64 = wanted.split('`').next().and_then(|text| text.parse().ok()).expect("a number");
    let calm = format!("{run} {}", crate::common::CALM);
    let ended = shell(&place, &format!("ulimit -n {wanted}; ulimit -S -n 100; {calm}")).exits(0);
    assert_eq!(check(&ended, "generator-lacked").state, CheckState::Passed);
}

/// The number of connections that an open load comes to is not known before: it lacks them in mid-run, and
/// that is the run's fault.
#[test]
fn descriptors_that_run_out_make_a_run_invalid() {
    let place = Place::new();
    let server = place.serve("--service-time 2s");
    let run = format!(
        "FARFIELD run {}/bytes/100 -R 100 -d 2s --warm-up 0s -t 1 -q -o run {} --threshold errors<=100%",
        server.url,
        crate::common::CALM
    );
    let ended = shell(&place, &format!("ulimit -n 100; exec {run}").replace('<', "\\<"));
    let cause = cause(&ended);
    assert_eq!(cause.name, "generator-lacked");
    let lacked = crate::common::count(&ended.summary().steady, Outcome::NoDescriptor);
    assert_eq!(cause.note, Some(format!("{lacked} requests found no descriptor")));
    assert!(cause.advice.expect("advice").contains("ulimit -n"));
}

/// Ten local ports: 20 users who each keep a connection are refused; a load that opens one for each request
/// runs out.
#[test]
fn too_few_ports() {
    if !may_build("too_few_ports") {
        return;
    }
    let place = Place::new();
    let inside = |words: &str| {
        let run = format!(
            "FARFIELD run {words} -d 1s -q -o run -t 1 {} --set 'sockets.sources=[\"127.0.0.2\"]'",
            crate::common::CALM
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
    refused.says(&["4000000 users take at least 9.4 GB of memory", "`ulimit -v`", "ask for fewer users"]);
    assert!(!refused.directory.exists());
}

/// A thousand million arrivals a second: no machine begins as many, and the run is refused. A number of
/// requests that is offered at once is no rate.
#[test]
fn a_rate_that_no_machine_offers_is_refused() {
    let place = Place::new();
    let server = place.serve("");
    let refused = place.run(&format!("{}/bytes/100 -R 1e9 -d 2s -t 2", server.url)).exits(1);
    refused.says(&["1.000e9 arrivals a second", "2e7 with 2 workers", "offer less (`load.arrivals`, `-R`)"]);
    assert!(!refused.directory.exists(), "a run that never was leaves no directory");
    let ended = place.run(&format!("{}/bytes/100 -R 1e9 -n 20 -d 2s", server.url));
    assert_eq!(ended.summary().steady.requests, 20);
}

/// A rate that is far beyond this machine, and too few descriptors meanwhile: the cause is the rate.
#[test]
fn a_rate_far_beyond_this_machine_is_the_first_cause() {
    let place = Place::new();
    let server = place.serve("--service-time 1s");
    let load = "-R 2e6 -d 300ms --warm-up 0s -t 1 --set run.drain=100ms";
    let ended =
        shell(&place, &format!("ulimit -n 100; exec FARFIELD run {}/bytes/100 {load} -q -o run", server.url));
    let cause = cause(&ended);
    assert_eq!(cause.name, "achieved-rate", "{}", ended.stdout);
    let note = cause.note.expect("a note");
    assert!(note.starts_with("2,000,000/s were offered, more than this machine can begin: "), "{note}");
    let verdict = ended.summary().verdict;
    let lacked = verdict.checks.iter().find(|check| check.name == "generator-lacked").expect("the check");
    assert_eq!(lacked.follows_from.as_deref(), Some("achieved-rate"), "{lacked:?}");
    let offered = ended.summary().steady.rates.expect("rates").offered_per_s;
    assert!((1.9e6..2.1e6).contains(&offered), "{offered}");
}

/// Somebody removes what leads to the clients in mid-run: the run says what, by whom not and when, and does
/// not take it for the server's silence.
#[test]
fn a_way_to_clients_that_is_taken_away_is_named() {
    let test = "a_way_to_clients_that_is_taken_away_is_named";
    let Some(_) = crate::common::wan::find(test, "ip") else { return };
    let own = "set -- $(ip -o -4 route show | grep ' via ')";
    for (taken, named) in [
        ("ip route del $1", "removed the route to "),
        ("ip route add blackhole ${1%%/*}", "routed "),
        ("ip address flush dev $5", "removed the address "),
        ("ip link set $5 down", "interface"),
    ] {
        let line = format!("{FARFIELD} serve 0.0.0.0:80 & sleep 2.5; {own}; {taken}; wait");
        let Some(wan) = Wan::of(test, vec!["/bin/sh".into(), "-c".into(), line]) else { return };
        let scenario = "load = { model = 'open', arrivals = '50/s' }\nnetwork = { clients = 20, rtt = '10ms' }\n\
                        run = { warm-up = '100ms', duration = '4s', drain = '200ms' }";
        let ended = wan.run(scenario, "");
        assert_eq!(ended.code, Some(3), "{taken}: {}", ended.stdout);
        let verdict = ended.summary().verdict;
        let cause = verdict.first_cause().expect("a cause");
        assert_eq!(cause.name, "completed", "{taken}: {}", ended.stdout);
        let note = cause.note.as_deref().expect("a note");
        assert!(note.contains("something ") && note.contains(named), "{taken}: {note}");
        let begins: String = note.chars().take(50).collect();
        assert!(ended.stdout.contains(&format!("INCOMPLETE  {begins}")), "{taken}: {}", ended.stdout);
        // A server that cannot be reached is silent, and that follows.
        let silent = check(&ended, "server-silent");
        let follows = silent.follows_from.as_deref() == Some("completed");
        assert!(silent.state != CheckState::Failed || follows, "{taken}: {silent:?}");
    }
}

/// Before a server that answers nobody, visitors of an open load are as many as memory holds, and not ever
/// more.
#[test]
fn memory_bounds_the_visitors_of_an_open_load() {
    let place = Place::new();
    let server = place.serve("--service-time 50s --servers 1");
    let run = format!(
        "FARFIELD run {}/bytes/1 -R 3000 -d 4s --warm-up 0s -t 1 -q -o run {} --threshold 'errors<=100%' \
         --set run.drain=100ms",
        server.url,
        crate::common::CALM
    );
    // In KiB: enough to start in, and for some thousand visitors, of 12,000 that come. What the C library
    // reserves for each thread, 64 MiB of addresses at once and not of memory, would count too.
    let ended = shell(&place, &format!("ulimit -v 136000; export MALLOC_ARENA_MAX=1; exec {run}"));
    let cause = cause(&ended);
    assert_eq!(cause.name, "dropped-arrivals");
    assert!(cause.advice.expect("advice").contains("raise `load.users-max`"));
    let dropped = crate::common::count(&ended.summary().steady, Outcome::Dropped);
    let reported = warning(&ended, &format!("{dropped} arrivals were dropped: without load.users-max"))
        .expect("a warning");
    assert!(reported.contains("half of the free memory holds"), "{reported}");
}

/// One request is over in a millisecond, of which no share and no percentile is asked: VALID, ten times of
/// ten, with the default limits.
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

/// Limits of the verdict are printed where they are not the defaults.
#[test]
fn changed_limits_stand_beside_valid() {
    let place = Place::new();
    let server = place.serve("");
    let short = crate::common::wan::SHORT;
    let ended = place.run(&format!("{}/bytes/100 -c 2 --think 5ms -d 300ms {short}", server.url)).exits(0);
    let reported = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        reported.contains("set by the scenario: capture-error 1m, host-steal 1, lateness-p99 1m, "),
        "{reported}"
    );
    let changed = ended.summary().verdict.changed_limits;
    assert!(changed.iter().any(|limit| limit.key == "lateness-p99" && limit.default == "1ms"), "{changed:?}");
}

/// Users of a closed load who do not think: nothing is scheduled, and a generator that is stopped again and
/// again is late all the same, by the time from a reply's arrival to the next request. No stop is long
/// enough to be found as one.
#[test]
fn a_closed_load_that_is_held_up_is_late() {
    let place = Place::new();
    let server = place.serve("--service-time 10ms");
    // No more than 1,600 requests, of which each of ten stops delays four.
    let words = format!("{}/bytes/100 -c 4 -d 4s --set verdict.lateness-p99=1ms", server.url);
    let run = place.begin_run(&words);
    run.await_checkpoint();
    for _ in 0..10 {
        run.signal(Signal::STOP);
        pass(Duration::from_millis(60));
        run.signal(Signal::CONT);
        pass(Duration::from_millis(20));
    }
    let ended = run.ended();
    let cause = cause(&ended);
    assert_eq!(cause.name, "send-lateness");
    assert!(cause.measured.is_some_and(|late_ns| late_ns >= 10e6), "{cause:?}");
}

/// The first request of each user of a closed load is scheduled, and what leaves as soon as its connection is
/// there is due then: both are counted. One that follows a think time is counted once.
#[test]
fn what_is_due_in_a_closed_load_is_counted() {
    let place = Place::new();
    let server = place.serve("");
    let counted = |words: &str| {
        let ended = place
            .run(&format!("{}/bytes/100 --warm-up 0s {} {words}", server.url, crate::common::wan::SHORT))
            .exits(0);
        let summary = ended.summary();
        (summary.generator.lateness.map_or(0, |late| late.count), summary.steady.requests)
    };
    // A start and a connection for each of eight, and nothing else.
    assert_eq!(counted("-c 8 -n 8 -d 1m --set load.ramp=0s"), (16, 8));
    // And a reply for each of the rest.
    assert_eq!(counted("-c 4 -n 40 -d 1m"), (4 + 4 + 36, 40));
    // A think time for each of the rest, and for those who find at its end that all has been asked for.
    let (late, requests) = counted("-c 4 -n 40 -d 1m --think 2ms");
    assert!((4 + 4 + 36..=4 + 4 + 36 + 3).contains(&late) && requests == 40, "{late} of {requests}");
    // An open load has its arrivals alone, whatever it connects for.
    let (late, requests) = counted("-R 100 -d 400ms --set connections.policy=one-request");
    assert_eq!(late, requests);
}
