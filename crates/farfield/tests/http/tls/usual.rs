//! HTTPS as people run it: against the built-in server, against nginx on sockets and across the WAN, and
//! against servers whose TLS is wrong, each of which has a name in the outcomes.

use crate::common::relay::words_closing_first;
use crate::common::secure::{Authority, BOTH, HandshakeLog, SecureNginx, VALID, take_log};
use crate::common::wan::{DebianServer, Wan};
use crate::common::{Ended, Place, count};
use farfield_base::{Duration, Outcome, Sample, TlsVersion};
use farfield_measure::verdict::CheckState;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;

/// All that the samples have was answered and is in the log; returns both.
#[track_caller]
fn accounts(place: &Place, ended: &Ended) -> (Vec<Sample>, Vec<HandshakeLog>) {
    let samples = ended.samples();
    for sample in &samples {
        assert_eq!((sample.outcome, sample.body_bytes), (Outcome::Ok, 4096), "{sample:?}");
    }
    let log = take_log(place, samples.len());
    assert_eq!(log.len(), samples.len() + ended.summary().connections.resent_requests as usize);
    assert!(log.iter().all(|line| line.name == "shop.test" && line.request == "GET /4k HTTP/1.1"));
    (samples, log)
}

#[test]
fn each_request_to_nginx_is_in_its_log() {
    let place = Place::new();
    Authority::new(&place).certify(&place, "shop.test", VALID);
    let Some(nginx) = SecureNginx::start("each_request_to_nginx_is_in_its_log", &place, "shop.test", BOTH)
    else {
        return;
    };
    let url = nginx.url("shop.test");
    let run = |words: &str| place.run(&format!("{url} --cacert ca.pem {words}")).exits(0);

    let ended = run("-n 400 -c 4");
    let (samples, log) = accounts(&place, &ended);
    assert!(log.iter().all(|line| line.version == "TLSv1.3"));
    let opened = samples.iter().filter(|sample| sample.number == 0).count();
    assert!((4..12).contains(&opened), "{opened} connections for four users");
    // The run directory has all that repeats the run.
    fs::rename(place.path("ca.pem"), place.path("elsewhere.pem")).expect("own file");
    let again = place.farfield(&format!("run {} -o again", ended.directory.display())).exits(0);
    fs::rename(place.path("elsewhere.pem"), place.path("ca.pem")).expect("own file");
    assert!(again.stdout.contains("400 ok of 400 requests"), "{}", again.stdout);
    take_log(&place, 400);
    // The handshake takes its time between the connection and the request.
    for sample in &samples {
        assert_eq!(sample.tls.is_some(), sample.number == 0, "{sample:?}");
        assert!(sample.handshake_time().is_none_or(|took| took > Duration::ZERO), "{sample:?}");
    }

    // One connection for each request: every user shakes hands once, and resumes from then on.
    let ended = run("-n 100 -c 4 --policy one-request");
    let (samples, log) = accounts(&place, &ended);
    assert_eq!(log.iter().filter(|line| !line.resumed).count(), 4, "{log:?}");
    // Both ends say the same of how many resumed, and so does the summary of all that are in its window.
    let resumed = samples.iter().filter(|sample| sample.tls.is_some_and(|tls| tls.resumed)).count();
    assert_eq!(resumed, log.iter().filter(|line| line.resumed).count());
    let handshakes = ended.summary().handshakes.expect("handshakes");
    assert_eq!(handshakes.time.count, samples.len() as u64);
    let cpu = handshakes.cpu.expect("a worker shook hands");
    // Less than a resumed handshake could take anywhere; and no more than there was time for.
    assert!(cpu.each_ns > 5_000 && cpu.worker_share > 0.0 && cpu.worker_share <= 1.0, "{cpu:?}");
    let verbose = place.farfield(&format!("report {} -v", ended.directory.display())).stdout;
    assert!(verbose.contains(" of CPU each"), "{verbose}");
    assert!((handshakes.resumed_share - resumed as f64 / samples.len() as f64).abs() < 1e-9);
    assert!(
        handshakes.tls13_share == 1.0 && ended.stdout.contains("100 handshakes, 96% resumed, "),
        "{}",
        ended.stdout
    );
    let (_, log) = accounts(&place, &run("-n 40 -c 4 --policy one-request --set tls.resumption=false"));
    assert!(log.iter().all(|line| !line.resumed));
    // Visitors who come once have nothing to resume.
    let (_, log) = accounts(&place, &run("-R 50/s --policy one-request -d 1s"));
    assert!(log.len() > 10);
    let older = "--set tls.versions=['1.2']";
    let ended = run(&format!("-n 40 -c 2 --policy one-request {older}"));
    let (_, log) = accounts(&place, &ended);
    assert!(log.iter().all(|line| line.version == "TLSv1.2"));
    assert!(
        ended.samples().iter().all(|sample| sample.tls.is_some_and(|tls| tls.version == TlsVersion::Tls12))
    );
    assert_eq!(log.iter().filter(|line| !line.resumed).count(), 2, "{log:?}");
}

/// Outcomes that every handshake with the server would have: the run is refused before it begins.
const LASTING: [Outcome; 5] = [
    Outcome::TlsUntrusted,
    Outcome::TlsNameMismatch,
    Outcome::TlsAlpnRefused,
    Outcome::TlsIncompatible,
    Outcome::NotTls,
];

/// A run against a server with this outcome says that all failed so, with a remedy, and never hangs. One with
/// a lasting outcome is refused, and has it where the server is another than before the run.
#[track_caller]
fn fails(place: &Place, words: &str, outcome: Outcome) -> Ended {
    let words = match LASTING.contains(&outcome) {
        true => {
            place.farfield(&format!("run {words} -n 6 -q -o refused")).exits(1).says(&["no user could talk"]);
            assert!(!place.path("refused").exists(), "a run that was not begun leaves nothing");
            words_closing_first(words)
        }
        false => words.to_owned(),
    };
    let ended = place.run(&format!("{words} -n 6 -c 2")).exits(3);
    let summary = ended.summary();
    assert_eq!(count(&summary.steady, outcome), summary.steady.requests, "{:?}", summary.steady.outcomes);
    assert!(summary.steady.requests >= 6 && ended.stdout.contains(outcome.name()), "{}", ended.stdout);
    ended
}

#[test]
fn wrong_certificates_have_names() {
    let test = "wrong_certificates_have_names";
    let (place, strangers) = (Place::new(), Place::new());
    let authority = Authority::new(&place);
    authority.certify(&place, "shop.test", VALID);
    Authority::new(&strangers);
    let strangers_ca = strangers.path("ca.pem").display().to_string();
    let Some(nginx) = SecureNginx::start(test, &place, "shop.test", BOTH) else { return };
    let url = nginx.url("shop.test");
    place.run(&format!("{url} --cacert ca.pem -n 6")).exits(0);
    let ended = fails(&place, &url, Outcome::TlsUntrusted);
    assert!(ended.stdout.contains("--cacert"), "{}", ended.stdout);
    fails(&place, &format!("{url} --cacert {strangers_ca}"), Outcome::TlsUntrusted);
    let name = nginx.url("other.test");
    fails(&place, &format!("{name} --cacert ca.pem"), Outcome::TlsNameMismatch);
    let elsewhere = copy_of(&place);
    let older = SecureNginx::start(test, &elsewhere, "shop.test", "TLSv1.2").expect("nginx is there");
    let url = older.url("shop.test");
    fails(&place, &format!("{url} -k --set tls.versions=['1.3']"), Outcome::TlsIncompatible);

    // Accepted by whoever asks for it, and every output says so.
    let ended = place.run(&format!("{} -k -n 6", nginx.url("other.test"))).exits(0);
    let summary = fs::read_to_string(ended.directory.join("summary.json")).expect("a summary");
    let printed = place.farfield(&format!("report {}", ended.directory.display())).exits(0).stdout;
    for output in [&ended.stdout, &summary, &printed] {
        assert!(output.contains("certificates are not verified"), "{output}");
    }

    let old = Place::new();
    authority.certify(&old, "shop.test", (2001, 2002));
    let Some(nginx) = SecureNginx::start(test, &old, "shop.test", BOTH) else { return };
    fails(&place, &format!("{} --cacert ca.pem", nginx.url("shop.test")), Outcome::TlsUntrusted);
}

/// Another place with the same certificates.
fn copy_of(place: &Place) -> Place {
    let other = Place::new();
    for name in ["shop.test.pem", "shop.test.key"] {
        other.write(name, fs::read(place.path(name)).expect("own file"));
    }
    other
}

/// A server that answers whatever comes first with `answer`, and then closes or stays silent.
fn answers(answer: &'static [u8], closes: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    // Ends with the process of the tests.
    std::thread::spawn(move || {
        let mut silent = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let mut asked = [0; 1 << 12];
            // The probe before a run says nothing.
            if stream.read(&mut asked).is_ok_and(|count| count > 0) {
                let _ = stream.write_all(answer);
            }
            if !closes {
                silent.push(stream);
            }
        }
    });
    address.to_string()
}

#[test]
fn what_is_no_session_has_a_name() {
    let place = Place::new();
    for (answer, closes, outcome) in [
        (&b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"[..], false, Outcome::NotTls),
        (&[21, 3, 3, 0, 2, 2, 80], false, Outcome::TlsAlert),
        (&[21, 3, 3, 0, 2, 2, 120], false, Outcome::TlsAlpnRefused),
        (&[21, 3, 3, 0, 2, 2, 70], false, Outcome::TlsIncompatible),
        (&[22, 3, 3, 0, 4, 9, 0, 0, 0], false, Outcome::BadRecord),
        (&[22, 3, 3, 0, 100, 2, 0, 0], true, Outcome::TlsTruncated),
        (&[], true, Outcome::TlsTruncated),
        (&[22, 3, 3, 0, 100, 2, 0, 0], false, Outcome::TimedOut),
        (&[], false, Outcome::TimedOut),
    ] {
        // A busy machine may be slower than this: only who waits in vain is hurried.
        let hurried = if outcome == Outcome::TimedOut { "300ms" } else { "20s" };
        let patience = format!("--set connections.request-timeout={hurried}");
        let words = format!("https://{}/ -k {patience}", answers(answer, closes));
        fails(&place, &words, outcome);
    }
    // And the reverse, to servers that answer in TLS.
    let words = format!("http://{}/", answers(&[21, 3, 3, 0, 2, 2, 10], true));
    fails(&place, &words, Outcome::TlsExpected);
}

/// A server of TLS that says `reply` to each request and closes the connection, with close_notify or without.
fn replies(place: &Place, reply: &'static [u8], says_goodbye: bool) -> String {
    let key = PrivateKeyDer::from_pem_file(place.path("shop.test.key")).expect("own file");
    let certificate = CertificateDer::from_pem_file(place.path("shop.test.pem")).expect("own file");
    let config = ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into())
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key);
    let config = Arc::new(config.expect("a certificate and its key"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    // Ends with the process of the tests.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let session = ServerConnection::new(Arc::clone(&config)).expect("a session");
            let mut stream = StreamOwned::new(session, stream);
            // The probe before a run says nothing. A request comes in one record.
            if !stream.read(&mut [0; 1 << 12]).is_ok_and(|count| count > 0) {
                continue;
            }
            let replied = stream.write_all(reply);
            if says_goodbye {
                stream.conn.send_close_notify();
            }
            let _ = replied.and_then(|()| stream.flush());
        }
    });
    address.to_string()
}

/// RFC 9112 section 9.8: without close_notify, only what says its own length is complete.
#[test]
fn a_reply_without_a_length_needs_the_servers_goodbye() {
    let place = Place::new();
    Authority::new(&place).certify(&place, "shop.test", VALID);
    let with_length = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
    let in_chunks =
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let without = b"HTTP/1.1 200 OK\r\n\r\nhello";
    let short = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello";
    for (reply, says_goodbye, outcome) in [
        (&with_length[..], false, Outcome::Ok),
        (&in_chunks[..], false, Outcome::Ok),
        (&without[..], true, Outcome::Ok),
        (&without[..], false, Outcome::TlsTruncated),
        (&short[..], true, Outcome::Truncated),
        (&short[..], false, Outcome::Truncated),
    ] {
        let words = format!("https://{}/ -k", replies(&place, reply, says_goodbye));
        if outcome != Outcome::Ok {
            fails(&place, &words, outcome);
            continue;
        }
        for sample in place.run(&format!("{words} -n 6 -c 2")).exits(0).samples() {
            assert_eq!((sample.outcome, sample.body_bytes), (Outcome::Ok, 5), "{sample:?}");
        }
    }
}

/// The built-in server makes a certificate, and says which key it has.
#[test]
fn the_built_in_server_serves_over_tls() {
    let place = Place::new();
    let served = place.serve("--tls");
    assert!(served.url.starts_with("https://"), "{}", served.url);
    let said = served.said();
    let pin = said.split('"').find(|word| word.starts_with("sha256//")).expect("a pin").to_owned();
    let url = format!("{}/", served.url);
    place.run(&format!("{url} -n 20 --set tls.pins=['{pin}']")).exits(0);
    fails(&place, &url, Outcome::TlsUntrusted);
    let wrong = format!("sha256//{}=", "A".repeat(43));
    fails(&place, &format!("{url} --set tls.pins=['{wrong}']"), Outcome::TlsUntrusted);
    fails(&place, &url.replacen("https", "http", 1), Outcome::TlsExpected);
    let plain = place.serve("");
    fails(&place, &format!("{}/ -k", plain.url.replacen("http", "https", 1)), Outcome::NotTls);
    // Without a target it is the run's own.
    place.run("--set origin.tls=true -k -n 20").exits(0);
}

#[test]
fn keys_that_contradict_each_other_are_refused() {
    let place = Place::new();
    place.write("empty.pem", "nothing");
    let https = "https://127.0.0.1:1/";
    for (words, parts) in [
        ("http://127.0.0.1:1/ -k", &["--insecure", "https"][..]),
        (&format!("{https} -k --cacert empty.pem"), &["--cacert", "tls.verify"]),
        (&format!("{https} --cacert none.pem"), &["none.pem"]),
        (&format!("{https} --cacert empty.pem"), &["--cacert", "PEM"]),
        (&format!("{https} --set tls.pins=['x']"), &["tls.pins", "sha256//"]),
        (&format!("{https} --set tls.versions=[]"), &["tls.versions", "1.2"]),
        (&format!("{https} --set tls.server-name=a/b"), &["tls.server-name", "a/b"]),
        ("--set origin.tls=true", &["origin.tls", "--insecure"]),
        ("--plane simulated -k", &["--insecure", "simulated"]),
    ] {
        place.farfield(&format!("run {words}")).exits(2).says(parts);
    }
}

/// With the key log, tshark reads the requests and replies in a capture. `farfield verify` does not, and says
/// so.
#[test]
fn a_capture_is_read_with_the_key_log() {
    let test = "a_capture_is_read_with_the_key_log";
    if Command::new("tshark").arg("--version").output().is_err() {
        return farfield_testkit::skip(test, "no tshark");
    }
    let Some(wan) = Wan::configured(test, DebianServer::Nginx, secure) else { return };
    Authority::new(&wan.place).certify(&wan.place, "shop.test", VALID);
    for (versions, resumption) in [("['1.3']", true), ("['1.2']", true), ("['1.2']", false)] {
        let scenario = format!(
            "target = 'https://shop.test:80/4k'
            [tls]
            ca = 'ca.pem'
            key-log = true
            versions = {versions}
            resumption = {resumption}
            [load]
            model = 'closed'
            users = 5
            [connections]
            policy = 'one-request'
            [network]
            clients = 5
            [run]
            warm-up = '0s'
            requests = 30"
        );
        let ended = wan.run(&scenario, "--capture").exits(0);
        let agrees = ended.summary().verdict.checks.into_iter().find(|check| check.name == "capture-agrees");
        let agrees = agrees.expect("a check");
        assert_eq!(agrees.state, CheckState::Passed, "{agrees:?}");
        let directory = ended.directory.display().to_string();
        let said = wan.place.farfield(&format!("verify {directory}")).exits(0).stdout;
        assert!(said.starts_with("AGREES"), "{said}");

        let replies = |keys: &str| {
            let keys = format!("tls.keylog_file:{directory}/{keys}");
            let mut tshark = Command::new("tshark");
            tshark.args([
                "-r",
                &format!("{directory}/capture.pcapng"),
                "-d",
                "tcp.port==80,tls",
                "-o",
                &keys,
            ]);
            // One interface is before the emulated network and the others are behind it.
            tshark.args(["-Y", "frame.interface_id == 0 && http.response.code == 200"]);
            tshark.args(["-T", "fields", "-e", "http.content_length"]);
            let read = tshark.output().expect("tshark runs");
            assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
            String::from_utf8(read.stdout).expect("text").lines().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(replies("keys.log"), vec!["4096"; ended.samples().len()], "{versions}, {resumption}");
        assert_eq!(replies("none.log"), [""; 0], "nothing is in the clear");
    }
}

/// nginx's configuration, over TLS; its log says whether the session was resumed, in place of the request.
fn secure(config: String) -> String {
    let home = config.split("pid ").nth(1).and_then(|rest| rest.split("/pid").next()).expect("a home");
    let keys = format!(
        "ssl_certificate {home}/shop.test.pem; ssl_certificate_key {home}/shop.test.key; ssl_protocols {BOTH};"
    );
    let config =
        config.replace("backlog=4096;", "ssl backlog=4096;").replace("root ", &format!("{keys} root "));
    config.replace(
        "log_format asked '$remote_addr $request'",
        "log_format asked '$remote_addr $ssl_session_reused'",
    )
}

/// Clients far away, on paths that lose packets, before nginx: each request is in its log.
#[test]
fn emulated_clients_talk_tls_across_the_wan() {
    let test = "emulated_clients_talk_tls_across_the_wan";
    let Some(wan) = Wan::configured(test, DebianServer::Nginx, secure) else { return };
    Authority::new(&wan.place).certify(&wan.place, "shop.test", VALID);
    let scenario = "target = 'https://shop.test:80/4k'
        [tls]
        ca = 'ca.pem'
        [load]
        model = 'closed'
        users = 200
        think = '500ms'
        [connections]
        policy = 'one-request'
        [network]
        clients = 200
        [[network.class]]
        name = 'far'
        up = { delay = '20ms', loss = '1%' }
        down = { delay = '20ms', loss = '2%' }
        [run]
        warm-up = '300ms'
        duration = '2s'
        drain = '30s'";
    let ended = wan.run(scenario, "").exits(0);
    let (samples, log) = (ended.samples(), wan.take_log());
    assert!(samples.len() > 150, "{}", samples.len());
    for sample in &samples {
        assert_eq!(sample.outcome, Outcome::Ok, "{sample:?}");
        // A round trip for the connection, and one for the handshake.
        let shook = sample.handshake_time().expect("a session of its own");
        assert!(shook >= Duration::from_ms(40), "{sample:?}");
    }
    assert_eq!(log.len(), samples.len());
    let resumed = log.iter().filter(|asked| asked.request == "r").count();
    let sampled = samples.iter().filter(|sample| sample.tls.is_some_and(|tls| tls.resumed)).count();
    assert_eq!(sampled, resumed, "both ends say the same of how many resumed");
    assert!(resumed > 50 && log.len() - resumed >= 200, "{resumed} of {} resumed", log.len());
}
