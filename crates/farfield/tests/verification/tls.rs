//! Runs over https against the packets of their captures, which are decrypted with the run's own key log:
//! they agree in every request, whatever version of HTTP and of TLS was spoken, and a sample that is wrong
//! is found.

use crate::common::secure::{Authority, SecureNginx, VALID};
use crate::common::wan::{CALM_PACKETS, may_build};
use crate::common::{Ended, Place};
use farfield_base::{EarlyData, Outcome, Sample};
use farfield_measure::samples::{Keep, SamplesWriter};
use farfield_measure::verdict::{Check, CheckState};
use farfield_verify::{TimeKind, Verification};
use std::fs;
use std::net::TcpListener;

const LOGGED: &str = "--capture --set tls.key-log=true -k";

fn check(ended: &Ended) -> Check {
    let checks = ended.summary().verdict.checks;
    checks.into_iter().find(|check| check.name == "capture-agrees").expect("a check")
}

/// The result that `farfield verify` left.
fn result(ended: &Ended) -> Verification {
    let text = fs::read_to_string(ended.directory.join("verify.json")).expect("verify.json");
    serde_json::from_str(&text).expect("a verification")
}

/// The run's own check found agreement, and so does the command: in all requests, and in the times of TLS.
#[track_caller]
fn agrees(place: &Place, ended: &Ended, words: &str) {
    let samples = ended.samples();
    let is_well = samples.len() >= 30 && samples.iter().all(|own| own.outcome == Outcome::Ok);
    assert!(is_well, "{words}: {}", ended.stdout);
    let check = check(ended);
    assert!(check.note.is_none() && check.state == CheckState::Passed, "{words}: {check:?}");
    let said = place.farfield(&format!("verify {}", ended.directory.display())).exits(0).stdout;
    assert!(said.starts_with("AGREES"), "{words}: {said}");
    let found = result(ended);
    assert_eq!(found.matched.requests, samples.len() as u64, "{words}: {said}");
    assert!(found.matched.samples_alone.is_empty() && found.matched.unexplained == 0.0, "{words}: {said}");
    assert_eq!(
        (found.capture.tls_sessions_unread, found.capture.tls_records_unread),
        (0, 0),
        "{words}: {said}"
    );
    assert_eq!(found.replies, Default::default(), "{words}: {said}");
    let secured = samples.iter().filter(|own| own.tls.is_some()).count() as u64;
    let times = found.times.iter().find(|errors| errors.time == TimeKind::Tls).expect("times of TLS");
    assert!(secured > 0 && times.pairs <= secured, "{words}: {said}");
}

#[test]
fn samples_and_decrypted_packets_of_sockets_agree() {
    if !may_build("samples_and_decrypted_packets_of_sockets_agree") {
        return;
    }
    let place = Place::new();
    let server = place.serve("--tls");
    place.write(
        "page.toml",
        "[load]\nmodel = 'closed'\nusers = 3\n[[requests.request]]\npath = '/bytes/1kB'\n\
         embedded = ['/bytes/70kB', '/chunked/20000', '/bytes/0']\n\
         [[requests.request]]\npath = '/echo-length'\nmethod = 'POST'\nbody = 'hello'\n",
    );
    for words in [
        format!("{}/bytes/1kB --http 1.1 -n 200 -c 4", server.url),
        format!("{}/bytes/1kB --http 1.1 -n 60 -c 2 --policy one-request", server.url),
        format!("{}/bytes/1kB --http 1.1 -n 60 -c 2 --set tls.versions=['1.2']", server.url),
        format!(
            "{}/bytes/1kB --http 2 -n 200 -c 2 --policy multiplexed --set connections.streams=10",
            server.url
        ),
        format!("{}/bytes/1kB --http 2 -n 60 -c 2 --policy one-request", server.url),
        format!("{}/bytes/1kB --http 2 -n 60 -c 2 --set tls.versions=['1.2']", server.url),
        format!("{}/bytes/1kB --http 3 -n 200 -c 4", server.url),
        format!("{}/bytes/1kB --http 3 -n 60 -c 2 --policy one-request", server.url),
        format!(
            "{}/bytes/1kB --http 3 -n 200 -c 2 --policy multiplexed --set connections.streams=10",
            server.url
        ),
        format!("page.toml --target {}/ --http 1.1 -n 120", server.url),
        format!("page.toml --target {}/ --http 2 -n 120", server.url),
        format!("page.toml --target {}/ --http 3 -n 120", server.url),
    ] {
        agrees(&place, &place.run(&format!("{words} {LOGGED}")).exits(0), &words);
    }
}

#[test]
fn samples_and_decrypted_packets_of_an_emulated_path_agree() {
    if !may_build("samples_and_decrypted_packets_of_an_emulated_path_agree") {
        return;
    }
    let place = Place::new();
    place.write("path.toml", "[[requests.request]]\npath = '/bytes/20kB'\n");
    for http in ["1.1", "2", "3"] {
        for policy in ["", "--policy one-request"] {
            let words = &format!("--http {http} {policy}");
            let path = format!("path.toml --rtt 20ms --set origin.tls=true -n 40 -c 3 {CALM_PACKETS}");
            agrees(&place, &place.run(&format!("{path} {words} {LOGGED}")).exits(0), words);
        }
    }
}

/// Requests within the handshake, which nginx takes.
#[test]
fn requests_within_the_handshake_agree() {
    let test = "requests_within_the_handshake_agree";
    if !may_build(test) {
        return;
    }
    let place = Place::new();
    Authority::new(&place).certify(&place, "shop.test", VALID);
    let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
    let takes = format!("ssl_protocols TLSv1.3; ssl_early_data on; listen {free} ssl http2;");
    let Some(nginx) = SecureNginx::start_with(test, &place, "shop.test", &takes) else { return };
    for (address, http) in [(nginx.address, "1.1"), (free, "2")] {
        let early =
            "--policy one-request --set tls.early-data=true --set tls.server-name=shop.test --cacert ca.pem";
        let words = format!("https://{address}/4k --http {http} -n 60 -c 4 {early} {LOGGED}");
        let ended = place.run(&words.replace(" -k", "")).exits(0);
        let is_early = |own: &Sample| own.tls.is_some_and(|tls| tls.early == EarlyData::Accepted);
        assert!(ended.samples().iter().filter(|own| is_early(own)).count() > 20, "{words}");
        agrees(&place, &ended, &words);
    }
}

/// Writes the samples of a run anew, each as `change` makes it.
fn rewrite(ended: &Ended, change: impl Fn(usize, &mut Sample)) {
    let file = ended.samples_file();
    let mut samples = ended.samples();
    samples.iter_mut().enumerate().for_each(|(place, sample)| change(place, sample));
    let mut writer = SamplesWriter::create(Vec::new(), file.run().clone(), Keep::All, None).expect("memory");
    writer.write(&samples).expect("memory");
    let written = writer.finish().expect("memory").file;
    fs::write(ended.directory.join("samples.parquet"), written).expect("own file");
}

/// One sample of forty that is wrong, the packets of another run, and secrets that are of none of the
/// sessions.
#[test]
fn what_is_wrong_is_found_in_decrypted_packets() {
    if !may_build("what_is_wrong_is_found_in_decrypted_packets") {
        return;
    }
    let place = Place::new();
    let server = place.serve("--tls");
    for http in ["1.1", "2", "3"] {
        let run = |size: &str| {
            place.run(&format!("{}/bytes/{size} --http {http} -n 40 -c 2 {LOGGED}", server.url)).exits(0)
        };
        let (one, other) = (run("1kB"), run("2kB"));
        let verify = |words: &str| place.farfield(&format!("verify {} {words}", one.directory.display()));
        rewrite(&one, |_, _| {});
        verify("").exits(0);
        rewrite(&one, |place, sample| sample.body_bytes += u64::from(place == 17));
        let said = verify("").exits(3).stdout;
        assert!(said.contains("! outcomes-wrong") && said.contains("1 have another length"), "{said}");
        rewrite(&one, |place, sample| sample.body_bytes -= u64::from(place == 17));
        verify("").exits(0);
        // Packets that the key log of the run does not open say nothing, and those that it opens are other
        // requests.
        let capture = format!("--capture {}/capture.pcapng", other.directory.display());
        let said = verify(&capture).exits(3).stdout;
        assert!(said.contains("- tls-unread") && said.contains("tls.key-log"), "{said}");
        let keys = |ended: &Ended| ended.directory.join("keys.log");
        fs::copy(keys(&other), keys(&one)).expect("own file");
        let said = verify(&capture).exits(3).stdout;
        assert!(!said.contains("tls-unread"), "{said}");
        // Its own packets with the secrets of another run: nothing is compared, which is no agreement.
        let said = verify("").exits(3).stdout;
        assert!(said.starts_with("UNKNOWN") && said.contains("- tls-unread"), "{said}");
    }
}

/// A run whose sessions nobody wrote the secrets of.
#[test]
fn a_run_without_a_key_log_is_unknown() {
    if !may_build("a_run_without_a_key_log_is_unknown") {
        return;
    }
    let place = Place::new();
    let server = place.serve("--tls");
    let run = place.run(&format!("{}/bytes/1kB --http 2 -n 40 -c 2 -k --capture", server.url)).exits(0);
    let check = check(&run);
    assert_eq!(check.state, CheckState::Skipped, "{check:?}");
    assert!(check.note.as_deref().is_some_and(|note| note.contains("tls.key-log=true")), "{check:?}");
    let ended = place.farfield(&format!("verify {}", run.directory.display())).exits(2);
    ended.says(&["over TLS", "keys.log", "--set tls.key-log=true"]);
}
