//! RecordingBounds of a recorder towards its clients.

use farfield_recorder::{Recorder, RecorderConfig, RecordingBounds, WebOrigin};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::crypto::aws_lc_rs;

/// A recorder that takes so many connections at once.
fn recorder(connections: usize) -> Recorder {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let own = rcgen::generate_simple_self_signed(vec!["a.example".to_owned()]).expect("a certificate");
    let mut roots = RootCertStore::empty();
    roots.add(own.cert.der().clone()).expect("a root");
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), provider).build();
    let config = RecorderConfig {
        recorded: vec![WebOrigin::new(false, "a.example", 80)],
        is_reverse: false,
        verifier: verifier.expect("a root"),
        identity: None,
        bounds: RecordingBounds { connections, ..RecordingBounds::default() },
    };
    Recorder::start(listener, config).expect("a port and a thread")
}

fn asked(address: SocketAddr, fields: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("the recorder");
    // It may answer before it has read all.
    let _ = stream.write_all(format!("GET / HTTP/1.1\r\nHost: x\r\n{fields}\r\n").as_bytes());
    stream
}

/// The status of the reply.
fn status(stream: &mut TcpStream) -> String {
    let mut line = [0; 12];
    stream.read_exact(&mut line).expect("a reply");
    String::from_utf8_lossy(&line[9..]).into_owned()
}

#[test]
fn connections_beyond_the_bound_wait() {
    let recorder = recorder(2);
    let mut first: Vec<TcpStream> = (0..2).map(|_| asked(recorder.address(), "")).collect();
    // Not in absolute form: answered, and the connections stay.
    assert_eq!([0, 1].map(|nth| status(&mut first[nth])), ["400", "400"]);
    let mut third = asked(recorder.address(), "");
    third.set_read_timeout(Some(Duration::from_millis(200))).expect("a socket");
    let waits = third.read(&mut [0]).expect_err("there is no leave for it");
    assert!(matches!(waits.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{waits}");
    third.set_read_timeout(None).expect("a socket");
    first.pop();
    assert_eq!(status(&mut third), "400");
    assert_eq!(recorder.stop().unrecorded.refused, 3);
}

#[test]
fn a_head_beyond_the_bound_is_refused() {
    let recorder = recorder(2);
    let many = (0..300).map(|nth| format!("x-{nth}: 1\r\n")).collect::<String>();
    assert_eq!(status(&mut asked(recorder.address(), &many)), "431");
    let long = format!("x-long: {}\r\n", "x".repeat(300 << 10));
    assert_eq!(status(&mut asked(recorder.address(), &long)), "431");
    let within = (0..200).map(|nth| format!("x-{nth}: {}\r\n", "x".repeat(1_000))).collect::<String>();
    assert_eq!(status(&mut asked(recorder.address(), &within)), "400");
    assert!(recorder.stop().exchanges.is_empty());
}
