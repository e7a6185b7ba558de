//! Early data of TLS 1.3: requests within the handshake, before nginx that takes them, near and far, and
//! before servers that pass over them.

use crate::common::secure::{Authority, SecureNginx, VALID};
use crate::common::{Ended, Place, poll};
use farfield_base::{EarlyData, Outcome, Sample};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of samples whose early data went so.
fn went(samples: &[Sample], early: EarlyData) -> usize {
    samples.iter().filter(|sample| sample.tls.is_some_and(|tls| tls.early == early)).count()
}

/// All was answered.
#[track_caller]
fn answered(ended: &Ended) -> Vec<Sample> {
    let samples = ended.samples();
    for sample in &samples {
        assert_eq!((sample.outcome, sample.status), (Outcome::Ok, 200), "{sample:?}");
        assert!(sample.is_ordered(), "{sample:?}");
    }
    samples
}

/// The lines of nginx's log: whether the request came early, and whether the session was resumed.
fn take_log(place: &Place, expected: usize) -> Vec<(bool, bool)> {
    let path = place.path("early.log");
    let text = || fs::read_to_string(&path).unwrap_or_default();
    poll("nginx to log all requests", || (text().lines().count() >= expected).then_some(()));
    let text = text();
    // nginx goes on writing where it was.
    fs::OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(0)).expect("own file");
    let read = |line: &str| {
        let mut words = line.trim_start_matches('\0').split(' ');
        (words.next() == Some("1"), words.next() == Some("r"))
    };
    text.lines().map(read).collect()
}

const EARLY: &str = "--policy one-request --set tls.early-data=true";

/// Each user as long as it has tickets, and none on its first connection.
#[test]
fn nginx_takes_requests_within_the_handshake() {
    let test = "nginx_takes_requests_within_the_handshake";
    let place = Place::new();
    Authority::new(&place).certify(&place, "shop.test", VALID);
    let address = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
    let takes = format!(
        "ssl_protocols TLSv1.3; ssl_early_data on; listen {address} ssl http2; \
         access_log HOME/early.log early; error_page 405 =200 /4k;"
    );
    let Some(nginx) = SecureNginx::start_with(test, &place, "shop.test", &takes) else { return };
    for (port, http) in [(nginx.address, "1.1"), (address, "2")] {
        let url = format!("https://{port}/4k --set tls.server-name=shop.test --cacert ca.pem --http {http}");
        let ended = place.run(&format!("{url} -n 100 -c 4 {EARLY}")).exits(0);
        let (samples, log) = (answered(&ended), take_log(&place, ended.samples().len()));
        assert_eq!(log.len(), samples.len());
        let early = went(&samples, EarlyData::Accepted);
        // nginx calls a request early only as long as the handshake is not over when it looks at it.
        let logged = log.iter().filter(|(early, _)| *early).count();
        assert!(logged > 0 && logged <= early, "HTTP/{http}: {early} early, {log:?}");
        // Users who close as soon as they are answered miss tickets, and run out of them now and then.
        let resumed = log.iter().filter(|(_, resumed)| *resumed).count();
        assert!(early == resumed && early > 20 && early <= samples.len() - 4, "{early} of {resumed}");
        assert_eq!(went(&samples, EarlyData::Rejected), 0);
        // The request went when the handshake began.
        for sample in samples.iter().filter(|own| own.tls.is_some_and(|tls| tls.early != EarlyData::Unsent)) {
            let (secured, sent) = (sample.tls.expect("it is there").secured, sample.sent.instant());
            assert!(sent.is_some_and(|sent| sent <= secured), "{sample:?}");
        }
        let shares = ended.summary().handshakes.and_then(|own| own.early).expect("early data");
        assert!((shares.accepted_share - early as f64 / samples.len() as f64).abs() < 1e-9, "{shares:?}");
        assert!(shares.rejected_share == 0.0 && ended.stdout.contains("as early data"), "{}", ended.stdout);

        // A method that changes something waits for the handshake, and so does who did not ask for more.
        for words in [&format!("{EARLY} -X POST --body x"), "--policy one-request"] {
            let ended = place.run(&format!("{url} -n 40 -c 2 {words}")).exits(0);
            let (samples, log) = (answered(&ended), take_log(&place, ended.samples().len()));
            assert_eq!(went(&samples, EarlyData::Unsent), samples.len());
            assert!(log.iter().all(|(early, _)| !early) && log.iter().any(|(_, resumed)| *resumed));
            assert_eq!(ended.summary().handshakes.and_then(|own| own.early), None);
        }
    }
}

/// A server that resumes sessions on all connections, but neither takes early data on every third, nor gives
/// tickets for it there. Counts the requests that it has answered.
fn moody(place: &Place) -> (String, Arc<AtomicUsize>) {
    let key = PrivateKeyDer::from_pem_file(place.path("shop.test.key")).expect("own file");
    let certificate = CertificateDer::from_pem_file(place.path("shop.test.pem")).expect("own file");
    let config = ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key);
    let mut config = config.expect("a certificate and its key");
    config.max_early_data_size = 16_384;
    let takes = Arc::new(config.clone());
    config.max_early_data_size = 0;
    let passes_over = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    // Ends with the process of the tests.
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            let config = if number % 3 != 2 { &takes } else { &passes_over };
            let session = ServerConnection::new(Arc::clone(config)).expect("a session");
            // Clients that say nothing, such as the probe before a run, are passed over.
            if serve(session, stream).is_ok() {
                counter.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    (address.to_string(), asked)
}

/// Answers one request, which comes early or not, once the handshake is over.
fn serve(mut session: ServerConnection, mut stream: TcpStream) -> std::io::Result<()> {
    let mut request = Vec::new();
    while session.is_handshaking() || !request.ends_with(b"\r\n\r\n") {
        if session.wants_write() {
            session.write_tls(&mut stream)?;
            continue;
        }
        if session.read_tls(&mut stream)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        session.process_new_packets().map_err(std::io::Error::other)?;
        if let Some(mut early) = session.early_data() {
            early.read_to_end(&mut request)?;
        }
        let _ = session.reader().read_to_end(&mut request);
    }
    assert_eq!(request.windows(4).filter(|end| *end == b"\r\n\r\n").count(), 1, "one request: {request:?}");
    session.writer().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")?;
    session.send_close_notify();
    while session.wants_write() {
        session.write_tls(&mut stream)?;
    }
    Ok(())
}

/// Early data that the server passes over is sent again after the handshake: every request is answered, and
/// served once.
#[test]
fn what_is_passed_over_is_sent_again() {
    let place = Place::new();
    Authority::new(&place).certify(&place, "shop.test", VALID);
    let (address, asked) = moody(&place);
    // One user, so that the server's turns are its own.
    let ended = place.run(&format!("https://{address}/ -k -n 40 -c 1 {EARLY}")).exits(0);
    let samples = answered(&ended);
    let [unsent, accepted, rejected] = EarlyData::ALL.map(|early| went(&samples, early));
    assert_eq!(unsent + accepted + rejected, samples.len());
    assert!(accepted >= 10 && rejected >= 10, "{unsent} unsent, {accepted} accepted, {rejected} rejected");
    assert_eq!(asked.load(Ordering::Relaxed), samples.len());
    assert!(samples.iter().all(|sample| sample.body_bytes == 2));
    assert_eq!(ended.summary().connections.resent_requests, 0, "the server has read each once");
    let shares = ended.summary().handshakes.and_then(|own| own.early).expect("early data");
    assert!(shares.rejected_share > 0.0, "{shares:?}");
}

#[test]
fn early_data_needs_tickets_and_the_newer_version() {
    let place = Place::new();
    let run = "run https://127.0.0.1:1/ -k --set tls.early-data=true";
    for (words, parts) in [
        (format!("{run} --set tls.resumption=false"), ["tls.early-data", "tls.resumption"]),
        (format!("{run} --set tls.versions=['1.2']"), ["tls.early-data", "1.3"]),
        (format!("run {SIMULATED} --set tls.resumption=false"), ["tls.early-data", "tls.resumption"]),
    ] {
        place.farfield(&words).exits(2).says(&parts);
    }
}

const SIMULATED: &str = "--plane simulated --set simulated.tls={} --set tls.early-data=true";

/// In virtual time the model of a server takes what users send early, unless it is configured not to.
#[test]
fn the_model_of_a_server_takes_requests_within_the_handshake() {
    let place = Place::new();
    let words = format!("{SIMULATED} --policy one-request -n 60 -c 3 --rtt 40ms");
    for http in ["1.1", "2", "3"] {
        let run = |more: &str| place.run(&format!("{words} --http {http} {more}")).exits(0);
        let samples = answered(&run(""));
        let accepted = went(&samples, EarlyData::Accepted);
        assert!(accepted > samples.len() / 2, "HTTP/{http}: {accepted} of {}", samples.len());
        assert_eq!(went(&samples, EarlyData::Rejected), 0);
        assert_eq!(answered(&run("")), samples, "HTTP/{http}: the same seed");
        let samples = answered(&run("--set simulated.tls.early-data=false"));
        assert_eq!(went(&samples, EarlyData::Unsent), samples.len(), "HTTP/{http}");
    }
}
