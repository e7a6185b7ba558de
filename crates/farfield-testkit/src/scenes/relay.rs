//! A relay of a test's own in front of a server.
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

/// A relay to `server` that closes the first connection on which anything is said: the handshake that a run
/// over TLS begins with fails there for a reason that may pass, and the run meets the server itself.
pub fn closing_first(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    // Ends with the process of the tests.
    thread::spawn(move || {
        let mut is_first = true;
        for client in listener.incoming().flatten() {
            // A client that only finds out whether somebody is there says nothing.
            let talks = client.peek(&mut [0]).is_ok_and(|count| count > 0);
            if talks && !std::mem::take(&mut is_first) {
                thread::spawn(move || carry(&client, server));
            }
        }
    });
    address
}

/// The words, with a relay that closes the first connection in place of the server of their URL.
pub fn words_closing_first(words: &str) -> String {
    let authority = words.split("://").nth(1).and_then(|rest| rest.split('/').next()).expect("a URL");
    let relay = closing_first(authority.parse().expect("an address"));
    words.replacen(authority, &relay.to_string(), 1)
}

/// Carries bytes both ways until one end is done.
fn carry(client: &TcpStream, server: SocketAddr) -> io::Result<()> {
    let server = TcpStream::connect(server)?;
    let one_way = |mut from: TcpStream, mut to: TcpStream| {
        let copied = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
        copied
    };
    let (from, to) = (client.try_clone()?, server.try_clone()?);
    let upward = thread::spawn(move || one_way(from, to));
    one_way(server, client.try_clone()?)?;
    let _ = upward.join();
    Ok(())
}
