//! Replies that come in pieces, before real servers in Node and Python and before farfield's own: the times
//! of events and the stalls that were planted, held against the servers' logs and the packets.

use crate::common::wan::{Wan, find, may_build};
use crate::common::{Ended, Place, Process, poll};
use farfield_base::{Outcome, ReplyEvent};
use farfield_measure::events::{EVENTS_FILE, read_parquet};
use farfield_verify::{TimeKind, Verification};
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

/// A program of these tests that serves streams.
struct Streaming {
    process: Process,
    url: String,
    log: std::path::PathBuf,
}

impl Streaming {
    fn start(place: &Place, program: &Path, script: &str, name: &str) -> Streaming {
        let script = place.write(name, script);
        let log = place.path("streams.log");
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|free| free.local_addr());
        let port = free.expect("a free port").port();
        let mut command = Command::new(program);
        command.arg(script).arg(port.to_string()).arg(&log);
        let process = Process::start(&mut command, place);
        poll("the server", || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok());
        Streaming { process, url: format!("http://127.0.0.1:{port}"), log }
    }

    /// Pauses of the replies that it wrote to their ends, as many as are expected.
    fn pauses(&self, expected: usize) -> Vec<u64> {
        let text = || fs::read_to_string(&self.log).unwrap_or_default();
        poll("the server's log", || (text().lines().count() >= expected).then_some(()));
        let last =
            |line: &str| line.split(' ').next_back().and_then(|word| word.parse().ok()).expect("a pause");
        text().lines().map(last).collect()
    }

    fn end(mut self) {
        self.process.signal(rustix::process::Signal::KILL);
        self.process.wait();
    }
}

fn events(ended: &Ended) -> Vec<ReplyEvent> {
    read_parquet(File::open(ended.directory.join(EVENTS_FILE)).expect("a file of events"), u64::MAX)
        .expect("events")
        .expect("no more than that")
}

/// The run's check against its packets, which agree; events are among what was compared.
fn agreement(place: &Place, ended: &Ended) -> Verification {
    place.farfield(&format!("verify {}", ended.directory.display())).exits(0);
    let text = fs::read_to_string(ended.directory.join("verify.json")).expect("a result");
    let found: Verification = serde_json::from_str(&text).expect("a result");
    assert!(found.agrees, "{:?}", found.findings);
    found
}

/// Replies whose first event and longest gap were compared.
fn compared(found: &Verification) -> [u64; 2] {
    let of = |kind| found.times.iter().find(|errors| errors.time == kind).map_or(0, |errors| errors.pairs);
    [TimeKind::FirstEvent, TimeKind::EventGap].map(of)
}

#[test]
fn node_pauses_in_the_middle_of_streams_and_is_seen() {
    let test = "node_pauses_in_the_middle_of_streams_and_is_seen";
    let Some(program) = find(test, "node") else { return };
    if !may_build(test) {
        return;
    }
    let place = Place::new();
    let server = Streaming::start(&place, &program, include_str!("streams/server.js"), "server.js");
    let words = format!("{}/ -c 5 -n 40 --warm-up 0s --capture --set capture.snap=65535", server.url);
    let ended = place.run(&format!("{words} --threshold stalls==0 --threshold p99(event-gap)<1m")).exits(99);
    let samples = ended.samples();
    assert_eq!(samples.len(), 40);
    assert!(
        samples.iter().all(|own| own.outcome == Outcome::Ok && own.events.is_some_and(|e| e.events == 30))
    );
    let pauses = server.pauses(40);
    let planted = pauses.iter().filter(|pause| **pause == 700).count();
    assert_eq!(planted, 8);
    let stalled = samples.iter().filter(|own| own.longest_gap.as_ns() >= 690_000_000).count();
    assert_eq!(stalled, planted);
    let steady = ended.summary().steady;
    let (stalls, of_events) = (steady.stalls.expect("stalls"), steady.events.expect("events"));
    assert_eq!((stalls.replies, stalls.limit_ns), (8, 500_000_000));
    assert_eq!((of_events.streams, of_events.events, of_events.left), (40, 1_200, 0));
    assert_eq!(steady.times.event_gap.expect("gaps").count, 40 * 29);
    assert_eq!(steady.times.first_event.expect("first events").count, 40);
    assert_eq!(events(&ended).iter().map(ReplyEvent::events).sum::<u64>(), 1_200);
    assert!(ended.stdout.contains("stalls      8 replies paused for more than 500ms"), "{}", ended.stdout);
    assert_eq!(compared(&agreement(&place, &ended)), [40, 40]);
    server.end();
}

#[test]
fn python_streams_lines_chunks_and_events_without_end() {
    let test = "python_streams_lines_chunks_and_events_without_end";
    let Some(program) = find(test, "python3") else { return };
    let place = Place::new();
    let server = Streaming::start(&place, &program, include_str!("streams/server.py"), "server.py");
    let run = |words: &str| place.run(&format!("{}{words} --warm-up 0s", server.url)).exits(0);
    let lines = run("/lines -c 3 -n 9");
    let of =
        |ended: &Ended| ended.samples().iter().map(|own| own.events.map(|e| e.events)).collect::<Vec<_>>();
    assert_eq!(of(&lines), [Some(20); 9]);
    assert_eq!(lines.summary().steady.stalls.expect("stalls").replies, 3);
    // Chunks of plain text are no events, and a pause among them is one all the same.
    let chunks = run("/chunks -c 3 -n 9");
    assert_eq!(of(&chunks), [None; 9]);
    assert_eq!(chunks.summary().steady.stalls.expect("stalls").replies, 3);
    let pieces = run("/chunks -c 3 -n 9 --set events.by=pieces");
    assert!(of(&pieces).iter().all(|events| events.is_some_and(|events| events >= 15)), "{:?}", of(&pieces));
    assert_eq!(server.pauses(27).iter().filter(|pause| **pause == 800).count(), 9);
    // Streams without end: users leave after some events, or stay until the end of the run.
    let left = run("/ -c 3 -n 9 --set events.leave-at=5");
    assert_eq!(of(&left), [Some(5); 9]);
    assert_eq!(left.summary().steady.events.expect("events").left, 9);
    assert!(left.summary().steady.times.response.is_none(), "how long users stayed is no response time");
    let open = run("/ -c 4 -d 500ms --set run.drain=0s");
    let steady = open.summary().steady;
    assert_eq!((steady.requests, steady.error_share), (4, Some(0.0)), "{:?}", steady.outcomes);
    let of_events = steady.events.expect("events");
    assert!(of_events.left == 4 && of_events.events > 40, "{of_events:?}");
    server.end();
}

/// Python behind an emulated WAN: pauses that were planted are seen from far.
#[test]
fn a_stall_is_seen_from_far() {
    let test = "a_stall_is_seen_from_far";
    let Some(python) = find(test, "python3") else { return };
    let place = Place::new();
    let script = place.write("server.py", include_str!("streams/server.py"));
    let log = place.path("far.log");
    let words = [python, script, "80".into(), log.clone(), "0.0.0.0".into()];
    let command = words.map(|word| word.to_str().expect("a plain path").to_owned()).to_vec();
    let Some(wan) = Wan::of(test, command) else { return };
    let scenario = "seed = 4\n[load]\nmodel = 'closed'\nusers = 6\n[[requests.request]]\npath = '/lines'\n\
                    [run]\nwarm-up = '0s'\nrequests = 12\n[[network.class]]\nname = 'far'\nrtt = '80ms'\n";
    let ended = wan.run(scenario, "--capture --set capture.snap=65535").exits(0);
    let samples = ended.samples();
    assert_eq!(samples.len(), 12);
    assert!(samples.iter().all(|own| own.events.is_some_and(|events| events.events == 20)));
    assert_eq!(ended.summary().steady.stalls.expect("stalls").replies, 4);
    let first = ended.summary().steady.times.first_event.expect("first events");
    assert!(first.min_ns > 150_000_000, "a connection and a request of 80 ms each: {}", first.min_ns);
    let found = agreement(&wan.place, &ended);
    assert_eq!(compared(&found), [12, 12]);
    let gap = found.times.iter().find(|errors| errors.time == TimeKind::EventGap).expect("gaps");
    assert!(gap.max_absolute_ns.is_some_and(|error| error < 60_000_000), "{gap:?}");
}

/// Over TLS, in all three versions of HTTP, packets say what the samples do.
#[test]
fn events_agree_with_packets_in_every_version() {
    let test = "events_agree_with_packets_in_every_version";
    if !may_build(test) {
        return;
    }
    let place = Place::new();
    let server = place.serve("--tls");
    for version in ["1.1", "2", "3"] {
        let words = format!(
            "{}/events/12/5/60 --insecure --http {version} -c 4 -n 24 --warm-up 0s --capture \
             --set tls.key-log=true --set capture.snap=65535 --set events.stall=50ms",
            server.url
        );
        let ended = place.run(&words).exits(0);
        let steady = ended.summary().steady;
        assert_eq!(steady.events.expect("events").events, 24 * 12, "{version}");
        assert_eq!(steady.stalls.expect("stalls").replies, 24, "{version}");
        assert_eq!(compared(&agreement(&place, &ended)), [24, 24], "{version}");
    }
}

/// Streams that are open when the run ends are left, and what came of them is compared all the same.
#[test]
fn streams_that_are_left_open_agree_with_the_packets() {
    if !may_build("streams_that_are_left_open_agree_with_the_packets") {
        return;
    }
    let place = Place::new();
    let server = place.serve("");
    let words =
        format!("{}/events/0/20 -c 10 -d 1s --warm-up 0s --capture --set capture.snap=65535", server.url);
    let ended = place.run(&words);
    assert_eq!(ended.summary().steady.events.expect("events").left, 10);
    assert_eq!(compared(&agreement(&place, &ended))[0], 10);
}

/// Where pieces are events, a reply without a body has none, and nobody is warned of it.
#[test]
fn a_reply_without_a_body_has_no_pieces() {
    let place = Place::new();
    let server = place.serve("");
    let words = format!("{}/bytes/0 -c 2 -n 6 --warm-up 0s --set events.by=pieces", server.url);
    let ended = place.run(&words).exits(0);
    let samples = ended.samples();
    assert_eq!(samples.len(), 6);
    assert!(samples.iter().all(|own| own.events.is_some_and(|events| events.events == 0)));
    let warnings = ended.summary().warnings;
    assert!(warnings.iter().all(|own| !own.contains("without an event")), "{warnings:?}");
}

/// A file of events that is of another run is found.
#[test]
fn another_file_of_events_is_found() {
    let test = "another_file_of_events_is_found";
    if !may_build(test) {
        return;
    }
    let place = Place::new();
    let server = place.serve("");
    let run = |gap: u32| {
        let words = format!("{}/events/5/{gap} -c 2 -n 6 --warm-up 0s --capture", server.url);
        place.run(&words).exits(0)
    };
    let (own, other) = (run(3), run(4));
    fs::copy(other.directory.join(EVENTS_FILE), own.directory.join(EVENTS_FILE)).expect("a copy");
    let ended = place.farfield(&format!("verify {}", own.directory.display())).exits(3);
    assert!(ended.stdout.contains("events-wrong"), "{}", ended.stdout);
}

/// A model of a server that streams, in virtual time: first events and gaps are as theory has them, and
/// packets show the same instants, to the nanosecond; one thread and three leave the same files.
#[test]
fn a_model_streams_in_virtual_time() {
    let place = Place::new();
    place.write(
        "s.toml",
        "plane = 'simulated'\n[load]\nmodel = 'closed'\nusers = 12\nthink = '30ms'\n\
         [run]\nwarm-up = '1s'\nduration = '4s'\n[network]\nclients = 12\nrtt = '40ms'\n\
         [simulated]\nservice-time = '2ms'\nworkers = 12\nevents = { count = 10, gap = '25ms' }\n\
         [capture]\ngateway = true\n",
    );
    let ended = place.run("s.toml -d 4s --warm-up 1s").exits(0);
    let steady = ended.summary().steady;
    let (first, gap) = (steady.times.first_event.expect("events"), steady.times.event_gap.expect("gaps"));
    // A round trip, the service and the gap before the first event, on a connection that is there.
    assert_eq!([first.min_ns, first.max_ns], [67_000_000; 2]);
    assert_eq!([gap.min_ns, gap.max_ns], [25_000_000; 2]);
    assert_eq!(steady.stalls, None);
    let found = agreement(&place, &ended);
    let compared = compared(&found);
    assert!(compared[0] > 100 && compared[0] == compared[1], "{compared:?}");
    for errors in found.times.iter().filter(|errors| errors.time.is_of_events()) {
        assert_eq!((errors.max_absolute_ns, errors.constant_ns), (Some(0), Some(0)), "{errors:?}");
    }
    // Gaps that vary, and users who leave a stream without end.
    place.write(
        "endless.toml",
        "plane = 'simulated'\nseed = 3\n[load]\nmodel = 'open'\narrivals = '20/s'\n[events]\nleave-at = 12\n\
         [run]\nwarm-up = '0s'\nduration = '3s'\n[network]\nclients = 20\nrtt = '30ms'\n\
         [simulated.events]\ngap = { distribution = 'exponential', mean = '20ms' }\n",
    );
    let of = |shards: &str| place.run(&format!("endless.toml -d 3s --warm-up 0s --shards {shards}")).exits(0);
    let (one, three) = (of("1"), of("3"));
    let samples = one.samples();
    assert!(samples.len() > 30 && samples.iter().all(|own| own.is_left() && own.outcome == Outcome::Ok));
    let mean = one.summary().steady.times.event_gap.expect("gaps").mean_ns as f64 / 1e6;
    assert!((17.0..23.0).contains(&mean), "{mean} ms for 20");
    for name in [EVENTS_FILE, "samples.parquet"] {
        let read = |ended: &Ended| fs::read(ended.directory.join(name)).expect(name);
        assert!(read(&one) == read(&three), "{name}");
    }
    for (words, says) in [("--http 2", "over HTTP/1.1 alone"), ("--set simulated.events.gap=0s", "no stream")]
    {
        place.farfield(&format!("run s.toml {words}")).exits(2).says(&["simulated.events", says]);
    }
}
