//! Captures of runs in virtual time, rebuilt, against two witnesses: the samples of the run, and tshark.

use crate::common::{Ended, Place};
use farfield_base::{Instant, Outcome, Sample, Stamp};
use farfield_capture::{Capture, Options, TransactionState, UnixNs, read};
use std::fs::File;
use std::process::Command;

fn rebuilt(ended: &Ended) -> Capture {
    let file = File::open(ended.directory.join("capture.pcapng")).expect("a capture");
    read(file, &Options::default()).expect("a capture that can be read")
}

/// A run whose only class of clients has these keys.
fn run(place: &Place, connections: &str, class: &str) -> Ended {
    let scenario = format!(
        "plane = 'simulated'\nseed = 5\nrun = {{ warm-up = '0s', duration = '10s' }}\n\
         load = {{ model = 'closed', users = 30, think = '100ms' }}\n[connections]\n{connections}\n\
         [network]\nclients = 30\n[[network.class]]\nname = 'a'\n{class}\n\
         [simulated]\nworkers = 8\nservice-time = '2ms'\nreply-size = '20kB'\n[capture]\ngateway = true"
    );
    place.write("sim.toml", scenario);
    let ended = place.farfield("run sim.toml -q -o run");
    let ended = Ended { directory: place.path("run"), ..ended };
    ended.exits(0)
}

fn unix(stamp: Stamp) -> u64 {
    stamp.instant().map_or(0, Instant::as_ns)
}

/// A path of 50 ms without loss or rates: what passes at the gateway does so a constant after the client
/// sent it, or before the client got it, and the two constants are the round trip. So each instant is held
/// against each other to the nanosecond; a run in virtual time begins at 0.
#[test]
fn transactions_are_the_samples_to_the_nanosecond() {
    for connections in ["policy = 'persistent'", "policy = 'one-request'"] {
        let place = Place::new();
        let ended = run(&place, connections, "rtt = '50ms'");
        let mut samples: Vec<Sample> = ended.samples();
        samples.retain(|sample| sample.outcome == Outcome::Ok);
        samples.sort_by_key(|sample| (sample.connection, sample.number));
        let capture = rebuilt(&ended);
        let mut complete: Vec<_> =
            capture.transactions.iter().filter(|it| it.state == TransactionState::Complete).collect();
        assert!(samples.len() > 1_000 && complete.len() >= samples.len(), "{}", samples.len());
        // Transactions that the run's end left unfinished at the client had passed the gateway.
        let last = samples.iter().map(|sample| sample.done.as_ns()).max().unwrap_or_default();
        complete.retain(|it| it.reply_last.is_some_and(|at| at.0 + 25_000_000 <= last));
        let mut ways = Vec::new();
        for transaction in &complete {
            let key = (transaction.connection, transaction.number);
            let found = samples.binary_search_by_key(&key, |sample| (sample.connection, sample.number));
            let sample = &samples[found.expect("a sample of the same connection and number")];
            assert_eq!(transaction.status, sample.status);
            assert_eq!(transaction.body_bytes, sample.body_bytes);
            assert_eq!(transaction.reply_bytes, sample.reply_bytes);
            let there = transaction.request_first.0 - unix(sample.sent);
            let back = unix(sample.first_byte) - transaction.reply_first.expect("a reply").0;
            assert_eq!(sample.done.as_ns() - transaction.reply_last.expect("a reply").0, back);
            ways.push((there, back));
            if transaction.number == 0 {
                let connection = &capture.connections[transaction.connection as usize];
                let syn = connection.syn.unwrap_or_default().0 - unix(sample.connect_begun);
                let syn_ack = unix(sample.connected) - connection.syn_ack.unwrap_or_default().0;
                ways.push((syn, syn_ack));
            }
        }
        ways.sort_unstable();
        ways.dedup();
        assert_eq!(ways.len(), 1, "{connections}: {ways:?}");
        assert_eq!(ways[0].0 + ways[0].1, 50_000_000);
        assert_eq!(capture.limits.missing_bytes + capture.limits.packets_stray, 0);
    }
}

/// Packets that match `filter`, by tshark: a row of `fields` each.
fn tshark(ended: &Ended, filter: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(ended.directory.join("capture.pcapng")).args(["-Y", filter, "-T", "fields"]);
    fields.iter().for_each(|field| _ = command.args(["-e", field]));
    let output = command.output().expect("tshark runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

/// Seconds with nine decimals, as nanoseconds.
fn ns(text: &str) -> u64 {
    let (seconds, rest) = text.split_once('.').expect("seconds and decimals");
    seconds.parse::<u64>().expect("digits") * 1_000_000_000
        + format!("{rest:0<9}")[..9].parse::<u64>().expect("digits")
}

/// Loss in both directions and jitter: retransmissions, requests, replies and their instants are tshark's.
#[test]
fn retransmissions_and_instants_are_those_of_tshark() {
    let test = "retransmissions_and_instants_are_those_of_tshark";
    if Command::new("tshark").arg("--version").output().is_err() {
        return farfield_testkit::skip(test, "no tshark");
    }
    let place = Place::new();
    let class = "rtt = '50ms'\nup = { loss = '3%' }\n\
                 down = { rate = '8Mbit', loss = '3%', jitter = { law = 'exponential', mean = '5ms' } }";
    let ended = run(&place, "policy = 'one-request'", class);
    let capture = rebuilt(&ended);

    // tshark judges by heuristics whether a segment was sent again or overtaken: the sum is what both know.
    // Handshakes are not among ours.
    let again = "(tcp.analysis.retransmission or tcp.analysis.out_of_order) and tcp.flags.syn == 0";
    let again = tshark(&ended, again, &["tcp.dstport"]);
    let (from_server, from_client): (Vec<_>, Vec<_>) = again.iter().partition(|row| row[0] != "80");
    let ours = |side: fn(&farfield_capture::Connection) -> farfield_capture::Direction| {
        let sides = capture.connections.iter().map(side);
        sides.map(|side| side.retransmissions + side.out_of_order).sum::<u64>()
    };
    println!(
        "sent again or overtaken: {} by clients, {} by the server",
        from_client.len(),
        from_server.len()
    );
    assert!(from_server.len() > 50 && from_client.len() > 5);
    assert_eq!(ours(|connection| connection.client_side), from_client.len() as u64);
    assert_eq!(ours(|connection| connection.server_side), from_server.len() as u64);

    let streams = tshark(&ended, "tcp", &["tcp.stream"]);
    let streams = streams.iter().map(|row| row[0].parse::<usize>().expect("a number") + 1).max();
    assert_eq!(streams, Some(capture.connections.len()));

    // tshark dissects a message at the packet that completes it.
    let requests = tshark(&ended, "http.request", &["tcp.stream", "frame.time_epoch", "http.request.uri"]);
    let mut theirs: Vec<_> = requests
        .iter()
        .map(|row| (row[0].parse::<u32>().expect("a number"), ns(&row[1]), row[2].clone()))
        .collect();
    theirs.sort();
    let request = |it: &farfield_capture::Transaction| (it.connection, it.request_last.0, it.target.clone());
    assert_eq!(theirs, capture.transactions.iter().map(request).collect::<Vec<_>>());

    let fields = ["tcp.stream", "frame.time_epoch", "http.response.code", "http.content_length"];
    let replies = tshark(&ended, "http.response", &fields);
    let mut theirs: Vec<_> = replies
        .iter()
        .map(|row| (row[0].parse::<u32>().expect("a number"), ns(&row[1]), row[2].clone(), row[3].clone()))
        .collect();
    theirs.sort();
    let complete = capture.transactions.iter().filter(|it| it.state == TransactionState::Complete);
    let reply = |it: &farfield_capture::Transaction| {
        let UnixNs(at) = it.reply_last.unwrap_or_default();
        (it.connection, at, it.status.to_string(), it.body_bytes.to_string())
    };
    let ours: Vec<_> = complete.map(reply).collect();
    assert!(ours.len() > 300, "{}", ours.len());
    assert_eq!(theirs, ours);
}
