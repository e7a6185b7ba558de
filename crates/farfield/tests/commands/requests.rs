//! Requests on the wire are those that flags ask for, byte for byte.

use crate::common::Place;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

/// The first request that a server gets from `farfield run WORDS -n 1`, where `URL` stands for the server's
/// address, `http://127.0.0.1:PORT`.
fn request(place: &Place, words: &[&str]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    let server = thread::spawn(move || {
        // The first connection may ask whether somebody is there.
        loop {
            let (mut stream, _) = listener.accept().expect("a client");
            let (mut read, mut byte) = (Vec::new(), [0]);
            while !is_whole(&read) && stream.read(&mut byte).is_ok_and(|count| count == 1) {
                read.push(byte[0]);
            }
            if is_whole(&read) {
                stream
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                    .expect("a client that reads");
                return String::from_utf8(read).expect("text");
            }
        }
    });
    let words: Vec<String> = words.iter().map(|word| word.replace("URL", &url)).collect();
    let limits = "-n 1 -c 1 -q --set verdict.lateness-p99=1m --set verdict.longest-stall=1m";
    let all = ["run"].into_iter().chain(words.iter().map(String::as_str)).chain(limits.split(' '));
    let ended = place.farfield_with(&all.collect::<Vec<_>>());
    let request = server.join().expect("a server does not panic");
    ended.exits(0);
    request.replace(&url["http://".len()..], "HOST")
}

/// True if these are a head and as long a body as it says.
fn is_whole(read: &[u8]) -> bool {
    let text = String::from_utf8_lossy(read);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    body.len() >= length.unwrap_or(0)
}

/// The lines of a request without those that each has.
fn own_lines(request: &str) -> Vec<&str> {
    let common = ["user-agent:", "accept:", "accept-encoding:", "accept-language:"];
    let is_own = |line: &&str| !common.iter().any(|name| line.to_lowercase().starts_with(name));
    request.split("\r\n").filter(is_own).collect()
}

#[test]
fn each_header_that_is_repeated_is_sent() {
    let place = Place::new();
    let sent = request(&place, &["URL/a?b=c", "-H", "X-One: 1", "-H", "x-one: 2", "-H", "Host: other"]);
    let mut lines = own_lines(&sent);
    assert_eq!(lines.remove(0), "GET /a?b=c HTTP/1.1");
    let named = |name: &str| -> Vec<&str> {
        lines.iter().copied().filter(|line| line.to_lowercase().starts_with(name)).collect()
    };
    // Names of fields have no case (RFC 9110, 5.1).
    assert_eq!(named("x-one: "), ["x-one: 1", "x-one: 2"]);
    assert_eq!(named("host: ").len(), 1);
    assert!(named("host: ")[0].ends_with(": other"), "{sent}");
}

#[test]
fn a_body_comes_from_the_line_or_from_a_file() {
    let place = Place::new();
    let sent = request(&place, &["URL/", "-X", "PUT", "--body", "a=1&b=@2"]);
    assert!(sent.starts_with("PUT / HTTP/1.1\r\n") && sent.ends_with("\r\n\r\na=1&b=@2"), "{sent}");
    let file = place.write("body.json", "{\"from\": \"a file\"}\n");
    let sent = request(&place, &["URL/", "--body", &format!("@{}", file.display())]);
    assert!(
        sent.starts_with("POST / HTTP/1.1\r\n") && sent.ends_with("\r\n\r\n{\"from\": \"a file\"}\n"),
        "{sent}"
    );
}

#[test]
fn the_flags_count_where_the_url_comes_by_target() {
    let place = Place::new();
    let sent = request(&place, &["--target", "URL/t", "-X", "DELETE", "-H", "X-One: 1", "--body", "b"]);
    assert!(sent.starts_with("DELETE /t HTTP/1.1\r\n") && sent.ends_with("\r\n\r\nb"), "{sent}");
    assert!(sent.contains("\r\nx-one: 1\r\n"), "{sent}");
}

/// As browsers, curl and wrk do it: UTF-8, each byte that is not ASCII percent-encoded. What is encoded
/// already stays.
#[test]
fn a_url_beyond_ascii_is_encoded() {
    let sent = request(&Place::new(), &["URL/käse/%C3%A4?q=ö&r=%20"]);
    assert!(sent.starts_with("GET /k%C3%A4se/%C3%A4?q=%C3%B6&r=%20 HTTP/1.1\r\n"), "{sent}");
}
