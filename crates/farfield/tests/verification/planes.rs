//! `farfield verify` as people use it: runs on each plane compared with their own packets and against a
//! capture of somebody else's, errors planted in the files of a run, and what bad input gets.

use crate::common::{Ended, Place, poll, skip};
use farfield_measure::verdict::CheckState;
use farfield_verify::{TimeKind, Verification};
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Sessions of three pages in virtual time, captured at the gateway, whose clients are all a round trip
/// away.
const SIMULATED: &str = "plane = 'simulated'\n\
    [load]\nmodel = 'hybrid'\narrivals = '100/s'\nrequests = 3\nthink = '20ms'\n\
    [run]\nwarm-up = '1s'\nduration = '4s'\n\
    [network]\nclients = 10\nrtt = '20ms'\n\
    [simulated]\nworkers = 4\nservice-time = '1ms'\nreply-size = '20kB'\n\
    [capture]\ngateway = true\n";

/// The result that `farfield verify` left.
#[track_caller]
fn result(directory: &Path) -> Verification {
    let text = fs::read_to_string(directory.join("verify.json")).expect("verify.json");
    serde_json::from_str(&text).expect("a verification")
}

/// Names of the disagreements.
fn names(found: &Verification) -> Vec<&str> {
    found.findings.iter().filter(|f| f.disagrees).map(|f| f.name.as_str()).collect()
}

/// `farfield verify` of a run.
fn verify(place: &Place, run: &Ended, words: &str) -> Ended {
    place.farfield(&format!("verify {} {words}", run.directory.display()))
}

/// Packets cut after 96 bytes, within the heads of requests: no time can be compared, and that is no
/// agreement, in the run's own verdict as from `farfield verify`. A limit of none at all lets it pass.
#[test]
fn a_capture_of_cut_heads_agrees_with_nothing() {
    let place = Place::new();
    place.write("s.toml", SIMULATED);
    let words = "s.toml -d 1s --warm-up 200ms --set capture.snap=96";
    let run = place.run(words).exits(0);
    let verdict = run.summary().verdict;
    let check = verdict.checks.iter().find(|check| check.name == "capture-agrees").expect("a check");
    assert_eq!(check.state, CheckState::Skipped, "{check:?}");
    let ended = verify(&place, &run, "").exits(3);
    let said = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.starts_with("UNKNOWN whether samples and packets agree ! too-little-compared"), "{said}");
    let shares =
        "reply, transfer, service, response times were compared of no request, 90.00 % at least are needed";
    assert!(said.contains(shares) && said.contains(" packets were cut off "), "{said}");
    let found = result(&run.directory);
    assert!(!found.agrees && names(&found) == ["too-little-compared"], "{:?}", found.findings);
    let of_response = found.times.iter().find(|errors| errors.time == TimeKind::Response).expect("times");
    assert_eq!((of_response.pairs, of_response.compared), (0, Some(0.0)));
    let allowed = place.run(&format!("{words} --set verdict.capture-compared=0")).exits(0);
    verify(&place, &allowed, "").exits(0);
}

/// A simulated run and its packets have one clock and no lateness: between the gateway and a client nothing
/// lies but the path, a delay of half a round trip each way, so that the packets' instants are known at the
/// client.
#[test]
fn a_simulated_run_agrees_to_the_nanosecond() {
    let place = Place::new();
    place.write("s.toml", SIMULATED);
    let run = place.run("s.toml -d 4s").exits(0);
    let verdict = run.summary().verdict;
    let check = verdict.checks.iter().find(|check| check.name == "capture-agrees").expect("a check");
    assert_eq!(check.measured, Some(0.0), "{check:?}");
    let ended = verify(&place, &run, "").exits(0);
    assert!(ended.stdout.starts_with("AGREES"), "{}", ended.stdout);
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ended.stdout);
    let found = result(&run.directory);
    let samples = run.samples().len() as u64;
    assert!(samples > 500);
    assert_eq!((found.matched.requests, found.matched.unexplained), (samples, 0.0), "{:?}", found.matched);
    assert!(found.capture.by_paths && !found.capture.at_gateway);
    let is_there = |time: TimeKind| time != TimeKind::Tls && !time.is_of_events();
    for errors in found.times.iter().filter(|errors| is_there(errors.time)) {
        let (mean, most) = (errors.mean_absolute_ns, errors.max_absolute_ns);
        assert_eq!((mean, most, errors.constant_ns), (Some(0.0), Some(0), Some(0)), "{errors:?}");
    }
    let clocks = found.clocks.estimate.expect("an estimate");
    assert_eq!((clocks.offset_ns, clocks.offset_error_ns), (0.0, 0.0), "{clocks:?}");
    let arrivals = found.load.arrivals.expect("a hybrid load");
    assert_eq!((arrivals.begun, arrivals.due_moved), (arrivals.asked, 0));
    assert!(arrivals.gaps.and_then(|gaps| gaps.anderson_darling).expect("Poisson") < 6.0);
    assert_eq!(found.load.session_lengths.expect("sessions").mean, Some(3.0));
    let open = found.connections.iter().map(|at| (at.in_use, at.in_use_samples));
    // Half a round trip earlier at the gateway, for the few that begin or end at a second.
    assert!(open.clone().all(|(packets, samples)| packets.abs_diff(samples) <= 3), "{:?}", found.connections);
    assert!(open.map(|(in_use, _)| in_use).max() > Some(2));
    for name in ["verify.json", "transactions.parquet", "connection-events.parquet"] {
        let mode = fs::metadata(run.directory.join(name)).expect(name).permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name} is the owner's alone");
    }
}

/// The file of a run rewritten, and the command's answer.
#[test]
fn errors_planted_in_the_files_of_a_run_are_named() {
    let place = Place::new();
    place.write("s.toml", SIMULATED);
    let run = place.run("s.toml -d 4s").exits(0);
    let summary = run.directory.join("summary.json");
    let honest = fs::read_to_string(&summary).expect("a summary");
    let mean = run.summary().steady.times.response.expect("requests").mean_ns;
    let faked = honest.replace(&format!("\"mean_ns\": {mean},"), &format!("\"mean_ns\": {},", mean / 2));
    assert_ne!(faked, honest);
    fs::write(&summary, faked).expect("own file");
    let ended = verify(&place, &run, "").exits(3);
    assert!(ended.stdout.contains("! summary-wrong"), "{}", ended.stdout);
    assert_eq!(names(&result(&run.directory)), ["summary-wrong"]);
    // Another seed's arrivals: the `due` of no sample is one of them.
    fs::write(&summary, honest).expect("own file");
    let scenario = run.directory.join("scenario.toml");
    let other = fs::read_to_string(&scenario).expect("a scenario").replace("seed = 1\n", "seed = 2\n");
    fs::write(&scenario, other).expect("own file");
    let json = verify(&place, &run, "--format json").exits(3).stdout;
    let found: Verification = serde_json::from_str(&json).expect("a verification");
    assert_eq!(names(&found), ["summary-wrong", "due-moved"], "{:?}", found.findings);
    assert!(found.findings[0].evidence.contains("heading.seed 1 for 2"), "{:?}", found.findings);
}

/// Input that cannot be verified gets a sentence; the rest is still verified.
#[test]
fn bad_input_gets_a_sentence() {
    let place = Place::new();
    place.write("s.toml", SIMULATED);
    let run = place.run("s.toml -d 4s").exits(0);
    let capture = run.directory.join("capture.pcapng");
    let whole = fs::read(&capture).expect("a capture");
    fs::write(&capture, &whole[..whole.len() * 2 / 3]).expect("own file");
    let ended = verify(&place, &run, "").exits(0);
    assert!(ended.stdout.contains("capture-cut-short"), "{}", ended.stdout);
    let found = result(&run.directory);
    assert!(found.matched.requests > 300 && names(&found).is_empty(), "{:?}", found.findings);
    place.write("text", "this is no capture of any kind\n");
    verify(&place, &run, "--capture text").exits(1).says(&["text", "neither pcapng nor pcap"]);
    verify(&place, &run, "--capture absent").exits(1).says(&["absent", "cannot be read"]);
    verify(&place, &run, "--capture /").exits(1).says(&["cannot be read"]);
    fs::remove_file(&capture).expect("own file");
    verify(&place, &run, "").exits(2).says(&["holds no capture.pcapng", "--capture"]);
    fs::write(&capture, &whole).expect("own file");
    fs::remove_file(run.directory.join("scenario.toml")).expect("own file");
    let ended = verify(&place, &run, "").exits(0);
    assert!(ended.stdout.contains("asked for is not judged"), "{}", ended.stdout);
    fs::remove_file(run.directory.join("samples.parquet")).expect("own file");
    verify(&place, &run, "").exits(1).says(&["samples.parquet", "cannot be read"]);
    place.farfield("verify nowhere").exits(2).says(&["no directory `nowhere`"]);
}

/// A scenario can do without the comparison at the end.
#[test]
fn the_check_at_the_end_can_be_left_out() {
    let place = Place::new();
    place.write("s.toml", SIMULATED);
    let run = place.run("s.toml -d 4s --set capture.verify=false").exits(0);
    assert!(run.summary().verdict.checks.iter().all(|check| check.name != "capture-agrees"));
    assert!(!run.directory.join("verify.json").exists());
}

/// Where no sample was kept nothing was compared, which is no agreement.
#[test]
fn a_run_without_samples_is_not_said_to_agree() {
    let place = Place::new();
    place.write("s.toml", SIMULATED);
    let run = place.run("s.toml -d 4s --samples none").exits(0);
    let verdict = run.summary().verdict;
    let check = verdict.checks.iter().find(|check| check.name == "capture-agrees").expect("a check");
    assert_eq!(check.state, farfield_measure::verdict::CheckState::Skipped, "{check:?}");
    let note = check.note.as_deref().expect("a reason");
    assert!(note.contains("no request was compared"), "{note}");
}

/// A run on sockets, with the kernel's packets. How late replies are read depends on the machine; what was
/// sent, by whom and in which order does not.
#[test]
fn a_run_on_sockets_agrees_with_the_kernels_packets() {
    let test = "a_run_on_sockets_agrees_with_the_kernels_packets";
    let place = Place::new();
    let server = place.serve("");
    let run = place.run(&format!("{}/bytes/3000 -R 200 --capture -d 2s", server.url));
    if run.code == Some(1) && !rustix::process::geteuid().is_root() {
        return skip(test, "no permission to capture");
    }
    // The lateness of its requests is not what this test is about.
    let found = result(&run.directory);
    assert_eq!(found.matched.unexplained, 0.0, "{:?}", found.matched);
    assert!(found.clocks.same && found.matched.requests > 300, "{:?}", found.matched);
    let clocks = found.clocks.estimate.expect("an estimate");
    assert!(clocks.offset_ns.abs() < clocks.offset_error_ns + 1e6, "{clocks:?}");
    let arrivals = found.load.arrivals.expect("an open load");
    assert_eq!((arrivals.due_moved, arrivals.begun), (0, arrivals.asked));
    assert_eq!(found.replies, Default::default(), "statuses, bytes and ends are those of the packets");
}

/// A capture by tcpdump on the same machine, beside a run that left no list of its connections: these are
/// matched by their handshakes, and packets show that the clock is the run's, or another.
#[test]
fn a_capture_by_tcpdump_is_aligned_and_matched() {
    let test = "a_capture_by_tcpdump_is_aligned_and_matched";
    let place = Place::new();
    let server = place.serve("");
    let port = server.url.rsplit(':').next().expect("a port");
    let (file, said) = (place.path("dump.pcap"), place.path("tcpdump.err"));
    let mut tcpdump = Command::new("tcpdump");
    tcpdump.args(["-i", "lo", "--immediate-mode", "-U", "-B", "8192", "-s", "300", "-w"]).arg(&file);
    tcpdump.args(["tcp", "port", port]).stderr(File::create(&said).expect("own file"));
    let Ok(mut child) = tcpdump.stdin(Stdio::null()).spawn() else { return skip(test, "no tcpdump") };
    let listens = || fs::read_to_string(&said).is_ok_and(|text| text.contains("listening on"));
    let has_ended = poll("tcpdump", || {
        child.try_wait().expect("a child").is_some().then_some(true).or_else(|| listens().then_some(false))
    });
    if has_ended {
        return skip(test, "tcpdump is not permitted to capture");
    }
    let run = place.run(&format!("{}/bytes/300 -R 100 --policy one-request -d 2s", server.url)).exits(0);
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), crate::common::Signal::INT)
        .expect("alive");
    child.wait().expect("a child");
    assert!(!run.directory.join("connections.parquet").exists(), "the run took no capture of its own");
    let ended = verify(&place, &run, &format!("--capture {}", file.display()));
    let found = result(&run.directory);
    let samples = run.samples().len() as u64;
    assert!(found.matched.requests * 100 >= samples * 99, "{}", ended.stdout);
    assert!(found.clocks.same && found.clocks.round_trip_ns.is_some(), "{:?}", found.clocks);
    let response =
        found.times.iter().find(|errors| errors.time == TimeKind::Response).expect("all are listed");
    assert!(response.mean_absolute_ns.is_some(), "response times are judged");
    assert_eq!(found.load.arrivals.as_ref().map(|arrivals| arrivals.due_moved), Some(0));
    let wrong =
        names(&found).into_iter().filter(|name| !name.ends_with("-times") && !name.starts_with("arrivals"));
    assert_eq!(wrong.collect::<Vec<_>>(), Vec::<&str>::new(), "{}", ended.stdout);
    // Its packets, by a clock that is ahead by as much as nobody's own clock is.
    let apart = place.path("apart.pcap");
    fs::write(&apart, ahead(&fs::read(&file).expect("tcpdump's"), 83_000)).expect("own file");
    let ended = verify(&place, &run, &format!("--capture {}", apart.display()));
    assert!(ended.stdout.contains("clocks      two"), "{}", ended.stdout);
    let reason = result(&run.directory).clocks.reason.expect("two clocks");
    assert!(reason.starts_with("it is 83.") || reason.starts_with("it is 82."), "{reason}");
}

/// A copy of a capture of virtual time is one of virtual time.
#[test]
fn a_copy_of_a_simulated_capture_is_judged_as_the_runs_own() {
    let place = Place::new();
    let run = place.run("--plane simulated --clients 4 --rtt 20ms -R 100 -d 2s --capture").exits(0);
    let copy = place.path("copy.pcapng");
    fs::copy(run.directory.join("capture.pcapng"), &copy).expect("own file");
    verify(&place, &run, "").exits(0);
    let own = result(&run.directory);
    verify(&place, &run, &format!("--capture {}", copy.display())).exits(0);
    let found = result(&run.directory);
    assert!(found.clocks.same, "{:?}", found.clocks);
    assert_eq!((found.limits, found.capture), (own.limits, own.capture));
}

/// The packets of a classic capture with times in microseconds, so many later.
fn ahead(file: &[u8], us: u64) -> Vec<u8> {
    let mut moved = file.to_vec();
    let number = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
    assert_eq!(number(file, 0), 0xa1b2_c3d4, "microseconds, in this machine's order");
    let mut at = 24;
    while at + 16 <= file.len() {
        let later = u64::from(number(file, at)) * 1_000_000 + u64::from(number(file, at + 4)) + us;
        moved[at..at + 4].copy_from_slice(&((later / 1_000_000) as u32).to_le_bytes());
        moved[at + 4..at + 8].copy_from_slice(&((later % 1_000_000) as u32).to_le_bytes());
        at += 16 + number(file, at + 8) as usize;
    }
    moved
}
