//! HTTPS in virtual time, as people run it: the same bytes again and again, and a capture that others read.

use crate::common::{Ended, Place};
use farfield_base::{Duration, Outcome, TlsVersion};
use std::fs;
use std::process::Command;

const SCENARIO: &str = "plane = 'simulated'
    seed = 3
    [simulated]
    service-time = '2ms'
    [simulated.tls]
    full-handshake = '5ms'
    resumed-handshake = '1ms'
    [load]
    model = 'closed'
    users = 192
    think = '100ms'
    [connections]
    policy = 'one-request'
    [network]
    clients = 192
    rtt = '40ms'
    [run]
    warm-up = '0s'
    duration = '2s'
    [capture]
    gateway = true";

/// The run of the scenario in the directory `name`, with what else is said.
fn run(place: &Place, name: &str, words: &str) -> Ended {
    place.write("secure.toml", SCENARIO);
    let ended = place.farfield(&format!("run -q secure.toml -o {name} {words}"));
    Ended { directory: place.path(name), ..ended }
}

/// Samples and packets, byte for byte, on one thread, two and three.
#[test]
fn the_same_seed_gives_the_same_bytes() {
    let place = Place::new();
    let files = |name: &str, shards: u32| {
        let ended = run(&place, name, &format!("--shards {shards}")).exits(0);
        ["samples.parquet", "capture.pcapng"]
            .map(|file| fs::read(ended.directory.join(file)).expect("a file"))
    };
    let first = files("first", 1);
    for (name, shards) in [("again", 1), ("two", 2), ("three", 3)] {
        assert!(files(name, shards) == first, "{shards} shards differ");
    }
}

/// HTTP/2 and HTTP/3, with pages on streams: samples and packets are equal on one thread and on three. In
/// cleartext a reader of packets that shares nothing with the model agrees with every sample.
#[test]
fn streams_are_the_same_bytes_on_any_number_of_threads() {
    let place = Place::new();
    let page = "[requests]\nrequest = [{ path = '/bytes/9000', embedded = ['/bytes/30000', '/bytes/7', '/bytes/0'] }]";
    let (secure, plain) = SCENARIO.split_once("[simulated.tls]").expect("the table");
    let plain = plain.split_once("[load]").expect("the table").1;
    let plain = format!("{secure}[load]{plain}\n{page}").replace("one-request", "persistent");
    place.write("plain.toml", &plain);
    place.write("secure.toml", plain.replace("[load]", "[simulated.tls]\n[load]"));
    for (file, http, agrees) in
        [("plain.toml", 2, true), ("secure.toml", 2, false), ("secure.toml", 3, false)]
    {
        let files = |shards: u32| {
            let name = format!("{http}-{shards}-{file}");
            let words = format!("run -q {file} --http {http} -d 700ms --shards {shards} -o {name}");
            let ended = Ended { directory: place.path(&name), ..place.farfield(&words) }.exits(0);
            let files = ["samples.parquet", "capture.pcapng"];
            (files.map(|file| fs::read(ended.directory.join(file)).expect("a file")), ended)
        };
        let (first, ended) = files(1);
        assert!(files(3).0 == first, "three shards differ, {file}, HTTP/{http}");
        let samples = ended.samples();
        let unlike = samples.iter().filter(|sample| sample.outcome != Outcome::Ok).count();
        assert!(samples.len() > 1_500 && unlike <= 4 * 192, "{unlike} of {} at the end", samples.len());
        let check = ended.summary().verdict.checks.into_iter().find(|check| check.name == "capture-agrees");
        assert_eq!(check.expect("a check").note.is_none(), agrees, "{file}, HTTP/{http}");
    }
}

/// Handshakes are in the samples, in the summary and in what is printed, as on the other planes.
#[test]
fn handshakes_are_reported_as_on_other_planes() {
    let place = Place::new();
    for (name, set, first_trips, version) in [
        ("newer", "", 1, TlsVersion::Tls13),
        ("older", "--set simulated.tls.versions=['1.2']", 2, TlsVersion::Tls12),
        ("asked", "--set tls.versions=['1.2']", 2, TlsVersion::Tls12),
        ("insists", "--set simulated.tls.groups=['X25519MLKEM768']", 2, TlsVersion::Tls13),
    ] {
        let ended = run(&place, name, set).exits(0);
        let samples = ended.samples();
        assert!(samples.len() > 1500, "{name}: {}", samples.len());
        let mut resumed = 0;
        for sample in samples.iter().filter(|sample| sample.outcome == Outcome::Ok) {
            let tls = sample.tls.expect("a session of its own");
            assert_eq!(tls.version, version, "{name}: {sample:?}");
            resumed += usize::from(tls.resumed);
            let took = sample.handshake_time().expect("a handshake");
            let least = match tls.resumed {
                true => Duration::from_ms(41),
                // A group that the server insists on is remembered.
                false if name == "insists" => Duration::from_ms(45),
                false => Duration::from_ms(40 * first_trips + 5),
            };
            assert!(took >= least && took < least + Duration::from_ms(200), "{name}: {took}");
        }
        let handshakes = ended.summary().handshakes.expect("handshakes");
        assert!(handshakes.resumed_share > 0.8 && resumed > samples.len() * 8 / 10, "{name}: {handshakes:?}");
        assert_eq!(handshakes.cpu, None, "virtual time takes none");
        assert_eq!(handshakes.tls13_share, f64::from(u8::from(version == TlsVersion::Tls13)), "{name}");
        let printed = place.farfield(&format!("report {}", ended.directory.display())).exits(0).stdout;
        assert!(printed.contains("\ntls ") && printed.contains("% resumed"), "{printed}");
        let agrees = ended.summary().verdict.checks.into_iter().find(|check| check.name == "capture-agrees");
        let note = agrees.expect("a check").note.unwrap_or_default();
        assert!(note.contains("over a model of TLS"), "{note:?}");
    }
}

/// A reader of captures sees handshakes and records, and finds nothing wrong with them.
#[test]
fn tshark_finds_nothing_wrong() {
    const TEST: &str = "simulated::tshark_finds_nothing_wrong";
    if Command::new("tshark").arg("-v").output().is_err() {
        return farfield_testkit::skip(TEST, "no tshark");
    }
    let place = Place::new();
    for (name, set) in [
        ("newer", ""),
        ("older", "--set simulated.tls.versions=['1.2']"),
        ("insists", "--set simulated.tls.groups=['X25519MLKEM768'] --set tls.resumption=false"),
        (
            "refused",
            "--set simulated.tls.versions=['1.2'] --set tls.versions=['1.3'] --set verdict.succeeded=0",
        ),
    ] {
        let ended = run(&place, name, set);
        let samples = ended.samples();
        // The values of `fields` in each of the packets that match `filter`.
        let packets = |filter: &str, fields: &[&str]| {
            let mut tshark = Command::new("tshark");
            tshark.arg("-r").arg(ended.directory.join("capture.pcapng")).args(["-Y", filter, "-T", "fields"]);
            fields.iter().for_each(|field| _ = tshark.args(["-e", field]));
            let output = tshark.output().expect("tshark");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let text = String::from_utf8(output.stdout).expect("text");
            text.lines()
                .map(|line| line.split('\t').map(str::to_owned).collect())
                .collect::<Vec<Vec<String>>>()
        };
        let [kinds, data, certificates, alerts] =
            ["tls.handshake.type", "tls.app_data", "tls.handshake.certificate", "tls.alert_message.desc"];
        // Warnings and errors; what is worth a note or a remark begins below (PI_WARN is 6 << 20).
        let wrong = "_ws.malformed || _ws.expert.severity >= 0x600000";
        let rows = packets(wrong, &["frame.number"]);
        assert_eq!(rows, [[""; 0]; 0], "{name}");
        let opened = samples.iter().filter(|sample| sample.connected.instant().is_some()).count();
        let rows = packets("tls", &[kinds, data, certificates, alerts]);
        let having = |column: usize| rows.iter().filter(|row| !row[column].is_empty()).count();
        let with = |column: usize, value: &str| {
            rows.iter().filter(|row| row[column].split(',').any(|one| one == value)).count()
        };
        if name == "refused" {
            assert!(samples.iter().any(|sample| sample.outcome == Outcome::TlsIncompatible));
            assert!(with(3, "70") >= opened);
            continue;
        }
        let hellos = with(0, "1");
        let a_connection = if name == "insists" { 2 } else { 1 };
        assert!(hellos >= opened * a_connection, "{name}: {hellos} for {opened} connections");
        assert!(having(1) >= opened, "{name}");
        assert_eq!(having(2) > 0, name == "older", "certificates of TLS 1.3 are encrypted");
    }
}

#[test]
fn keys_that_make_no_sense_are_refused() {
    let place = Place::new();
    let simulated = "--plane simulated --set simulated.tls={}";
    for (words, parts) in [
        ("--plane simulated --set tls.versions=['1.3']", &["tls", "[simulated.tls]"][..]),
        (&format!("{simulated} -k"), &["--insecure", "no cryptography"]),
        (&format!("{simulated} --set tls.key-log=true"), &["tls.key-log", "no cryptography"]),
        (&format!("{simulated} --set tls.versions=[]"), &["tls.versions", "1.2"]),
        (&format!("{simulated} --set simulated.tls.versions=[]"), &["simulated.tls.versions", "1.2"]),
        (&format!("{simulated} --set simulated.tls.versions=['1.1']"), &["simulated.tls.versions", "1.2"]),
        (&format!("{simulated} --set simulated.tls.groups=[]"), &["simulated.tls.groups", "x25519"]),
        (&format!("{simulated} --set simulated.tls.groups=['x']"), &["simulated.tls.groups", "x25519"]),
        (
            &format!("{simulated} --set simulated.tls.certificates=[]"),
            &["simulated.tls.certificates", "300 B"],
        ),
        (
            &format!("{simulated} --set simulated.tls.certificates=['1B']"),
            &["simulated.tls.certificates", "300 B"],
        ),
        (&format!("{simulated} --set simulated.tls.tickets=101"), &["simulated.tls.tickets", "100"]),
        (&format!("{simulated} --set simulated.tls.handshake='1ms'"), &["simulated.tls", "full-handshake"]),
    ] {
        place.farfield(&format!("run {words}")).exits(2).says(parts);
    }
}
