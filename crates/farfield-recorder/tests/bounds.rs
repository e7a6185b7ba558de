//! RecordingBounds of a recorder towards its clients.

use farfield_recorder::{Recorder, RecorderConfig, RecordingBounds, WebOrigin};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::crypto::aws_lc_rs;

/// A recorder that takes so many connections at once.
fn recorder(connections: usize) -> Recorder {
    recorder_of(WebOrigin::new(false, "a.example", 80), connections)
}

/// One of this server.
fn recorder_of(origin: WebOrigin, connections: usize) -> Recorder {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let own = rcgen::generate_simple_self_signed(vec!["a.example".to_owned()]).expect("a certificate");
    let mut roots = RootCertStore::empty();
    roots.add(own.cert.der().clone()).expect("a root");
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), provider).build();
    let config = RecorderConfig {
        recorded: vec![origin],
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

/// A server that answers each connection by `answer`, and its address.
fn server(answer: impl Fn(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || listener.incoming().flatten().for_each(answer));
    address
}

/// Reads the head of a request.
fn read_head(stream: &mut BufReader<TcpStream>) {
    let mut line = String::new();
    while stream.read_line(&mut line).is_ok_and(|length| length > 2) {
        line.clear();
    }
}

#[test]
fn a_head_without_an_end_is_no_reply() {
    let address = server(|stream| {
        let mut stream = BufReader::new(stream);
        read_head(&mut stream);
        let mut written = stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\n");
        while written.is_ok() {
            written = stream.get_mut().write_all(b"x: y\r\n");
        }
    });
    let recorder = recorder_of(WebOrigin::new(false, "127.0.0.1", address.port()), 2);
    let mut client = TcpStream::connect(recorder.address()).expect("the recorder");
    write!(client, "GET http://{address}/ HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("a request");
    assert_eq!(status(&mut client), "502");
    drop(client);
    let recording = recorder.stop();
    assert!(recording.exchanges[0].reply.is_none() && recording.exchanges[0].failure.is_some());
}

/// A server that ends each connection at its second request, without a reply.
#[test]
fn a_request_that_met_a_closed_connection_is_repeated() {
    let address = server(|stream| {
        let mut stream = BufReader::new(stream);
        read_head(&mut stream);
        // Its client may be gone.
        let _ = stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        read_head(&mut stream);
    });
    let recorder = recorder_of(WebOrigin::new(false, "127.0.0.1", address.port()), 2);
    let client = TcpStream::connect(recorder.address()).expect("the recorder");
    let mut client = BufReader::new(client);
    for nth in 0..100 {
        let head = format!("GET http://{address}/{nth} HTTP/1.1\r\nHost: {address}\r\n\r\n");
        client.get_mut().write_all(head.as_bytes()).expect("a request");
        let mut first = String::new();
        client.read_line(&mut first).expect("a reply");
        assert_eq!(first, "HTTP/1.1 200 OK\r\n", "request {nth}");
        read_head(&mut client);
        client.read_exact(&mut [0; 2]).expect("content");
    }
    drop(client);
    assert_eq!(recorder.stop().exchanges.len(), 100);
}
