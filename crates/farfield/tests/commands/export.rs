//! `farfield export`: what it writes is what `farfield run` makes, and httperf reads it so.

use crate::common::nginx::Nginx;
use crate::common::wan::find;
use crate::common::{Place, Process};
use farfield_base::{Outcome, Sample};
use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

/// Sessions of some pages, of which one is posted and one embeds two objects.
const SCENARIO: &str = "
seed = 7
[load]
model = 'hybrid'
arrivals = '40/s'
requests = { distribution = 'geometric', mean = 3 }
think = { distribution = 'exponential', mean = '40ms' }
[requests]
order = 'weighted'
request = [
    { path = '/a', weight = 5 },
    { path = '/b?c=d', weight = 3 },
    { path = '/form', method = 'POST', body = 'name=x&pass=y z', weight = 2 },
    EMBEDDING
]
[run]
warm-up = '500ms'
duration = '2s'
drain = '10s'
finish-sessions = '60s'
";

/// nginx that answers everything, and logs connections, requests and lengths of their bodies.
fn serve(program: &Path, place: &Place) -> Nginx {
    let log = "log_format asked '$connection $request_method $request_uri $content_length'; \
               access_log HOME/access.log asked;";
    Nginx::start(program, place, log, "location / { return 200 'ok'; }")
}

/// Requests on each connection, in order; the connections in order of their requests.
fn asked(place: &Place) -> Vec<Vec<String>> {
    let text = fs::read_to_string(place.path("access.log")).expect("a log");
    let mut connections: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for line in text.lines() {
        let (connection, request) = line.split_once(' ').expect("a connection and a request");
        connections.entry(connection.parse().expect("a number")).or_default().push(request.to_owned());
    }
    let mut asked: Vec<Vec<String>> = connections.into_values().collect();
    asked.sort();
    asked
}

/// The lines of the table, each as its fields.
fn table(place: &Place) -> Vec<Vec<String>> {
    let text = fs::read_to_string(place.path("s.csv")).expect("a table");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("session,begins_s,page,object,think_s,method,target,body_bytes"));
    lines.map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// The requests of each session of the table, as in the log.
fn drawn(table: &[Vec<String>]) -> Vec<Vec<String>> {
    let mut sessions: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for line in table {
        let length = if line[7] == "0" { "-" } else { &line[7] };
        let request = format!("{} {} {length}", line[5], line[6]);
        sessions.entry(line[0].parse().expect("a number")).or_default().push(request);
    }
    let mut sessions: Vec<Vec<String>> = sessions.into_values().collect();
    sessions.sort();
    sessions
}

/// Runs httperf on the exported sessions, and waits for it.
fn httperf(program: &Path, place: &Place, server: SocketAddr, sessions: usize) {
    let log = place.path("s.wsesslog");
    let mut command = Command::new(program);
    command.args(["--hog", "--server", "127.0.0.1", "--port", &server.port().to_string(), "--rate", "50"]);
    command.arg(format!("--wsesslog={sessions},0,{}", log.display())).stdout(Stdio::null());
    let status = Process::start(&mut command, place).wait();
    assert!(status.success(), "httperf: {status}");
}

/// Sums a run's and httperf's requests up, with nginx and with httperf; `None` where one is missing.
fn both(test: &str, embedding: &str) -> Option<Outcomes> {
    let [nginx, generator] = [find(test, "nginx")?, find(test, "httperf")?];
    let place = Place::new();
    place.write("s.toml", SCENARIO.replace("EMBEDDING", embedding));
    let said =
        place.farfield("export s.toml --wsesslog s.wsesslog --gaps s.gaps --csv s.csv").exits(0).stdout;
    let table = table(&place);
    let count = drawn(&table).len();
    assert!(said.contains(&format!("{count} sessions with {} requests", table.len())), "{said}");
    let server = serve(&nginx, &place);
    let ended = place.begin_run(&format!("s.toml --target http://{}/ -d 2s --warm-up 500ms", server.address));
    let samples = ended.ended().exits(0).samples();
    let by_farfield = asked(&place);
    fs::write(place.path("access.log"), "").expect("own file");
    httperf(&generator, &place, server.address, count);
    let by_httperf = asked(&place);
    server.end();
    let gaps = fs::read_to_string(place.path("s.gaps")).expect("gaps");
    let gaps = gaps.lines().map(|line| line.parse().expect("seconds")).collect();
    Some(Outcomes { table, samples, gaps, by_farfield, by_httperf })
}

struct Outcomes {
    table: Vec<Vec<String>>,
    samples: Vec<Sample>,
    gaps: Vec<f64>,
    by_farfield: Vec<Vec<String>>,
    by_httperf: Vec<Vec<String>>,
}

/// Session by session, both generators ask for the same in the same order; and the run's sessions begin, and
/// its users think, as the files say.
#[test]
fn httperf_makes_the_sessions_that_a_run_makes() {
    let Some(both) = both("httperf_makes_the_sessions_that_a_run_makes", "") else { return };
    let drawn = drawn(&both.table);
    assert!(drawn.len() > 60 && both.table.len() > 150, "{} sessions", drawn.len());
    assert_eq!(both.by_farfield, drawn);
    assert_eq!(both.by_httperf, drawn);

    let mut users: BTreeMap<u32, Vec<&Sample>> = BTreeMap::new();
    for sample in &both.samples {
        assert_eq!(sample.outcome, Outcome::Ok);
        users.entry(sample.user).or_default().push(sample);
    }
    let close = |field: &str, seconds: f64| (field.parse::<f64>().expect("seconds") - seconds).abs() < 1e-9;
    let mut lines = both.table.iter();
    let mut begun = 0.0;
    let mut gaps = both.gaps.iter();
    for (user, pages) in &mut users {
        pages.sort_by_key(|sample| sample.due);
        let begins = pages[0].due.as_secs_f64();
        assert!((gaps.next().expect("a gap for each session") - (begins - begun)).abs() < 2e-9);
        begun = begins;
        for (number, sample) in pages.iter().enumerate() {
            let line = lines.next().expect("a line for each request");
            assert_eq!([&line[0], &line[2]], [&user.to_string(), &number.to_string()]);
            assert!(close(&line[1], begins), "{line:?}");
            match pages.get(number + 1) {
                Some(next) => assert!(close(&line[4], next.due.since(sample.done).as_secs_f64()), "{line:?}"),
                None => assert_eq!(line[4], ""),
            }
        }
    }
    assert_eq!((lines.next(), gaps.next()), (None, None));
}

/// httperf asks for what a page embeds over further connections, or ahead: requests are the same in sum.
#[test]
fn httperf_asks_for_what_pages_embed() {
    let embedding = "{ path = '/page', embedded = ['/x', '/y'], weight = 4 },";
    let Some(both) = both("httperf_asks_for_what_pages_embed", embedding) else { return };
    let sorted = |connections: &[Vec<String>]| {
        let mut requests: Vec<String> = connections.concat();
        requests.sort();
        requests
    };
    let drawn = sorted(&drawn(&both.table));
    assert!(drawn.iter().filter(|request| *request == "GET /x -").count() > 20);
    assert_eq!(sorted(&both.by_farfield), drawn);
    assert_eq!(sorted(&both.by_httperf), drawn);
}

/// A seed draws the same sessions each time, and another seed draws others.
#[test]
fn a_seed_is_a_workload() {
    let place = Place::new();
    place.write("s.toml", SCENARIO.replace("EMBEDDING", ""));
    let export = |words: &str| {
        place.farfield(&format!("export s.toml --csv s.csv {words}")).exits(0);
        table(&place)
    };
    let first = export("");
    assert!(first == export("--seed 7") && first != export("--seed 8"));
    // A longer run begins with the same sessions.
    let longer = export("-d 4s");
    assert!(longer.len() > first.len() && longer[..first.len()] == first[..]);
}

/// A scenario that depends on replies has no sessions to draw.
#[test]
fn what_depends_on_replies_is_refused() {
    let place = Place::new();
    place.write("closed.toml", "load = { model = 'closed', users = 3 }");
    place.write("overload.toml", "load = { model = 'overload', descriptors = 3, timeout = '1s' }");
    place.write("open.toml", "load = { model = 'open', arrivals = '10/s' }");
    let refused = |words: &str, says: &[&str]| place.farfield(&format!("export {words}")).exits(2).says(says);
    refused(
        "closed.toml --gaps g",
        &["closed.toml: a closed load has no arrivals", "\"open\" or \"hybrid\""],
    );
    refused("overload.toml --gaps g", &["the overload model makes attempts"]);
    refused("open.toml", &["nothing to write", "--wsesslog, --gaps or --csv"]);
    place
        .farfield("export open.toml --gaps no/such/folder")
        .exits(1)
        .says(&["no/such/folder cannot be written"]);
}

/// Requests are the same over either version of HTTP.
#[test]
fn sessions_over_http2_are_those_over_http1() {
    let place = Place::new();
    place.write("s.toml", SCENARIO.replace("EMBEDDING", ""));
    let export = |file: &str, set: &str| {
        place.farfield(&format!("export s.toml --csv {file} {set}")).exits(0);
        fs::read_to_string(place.path(file)).expect("a table")
    };
    let table = export("one.csv", "");
    assert!(table.lines().count() > 50, "{table}");
    assert_eq!(export("two.csv", "--set http='2'"), table);
    let ahead =
        export("three.csv", "--set connections.policy='pipelined' --set connections.pipeline-depth=5");
    let streams = "--set http='2' --set connections.policy='multiplexed' --set connections.streams=5";
    assert_eq!(export("four.csv", streams), ahead);
}
