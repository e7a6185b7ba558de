//! The vocabulary of the tests: a blocking client that shares no code with the origin.

#![allow(dead_code, reason = "each test binary uses its part of the vocabulary")]
#![allow(missing_docs, reason = "tests are not documentation")]

use farfield_origin::{Origin, OriginConfig};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than anything here takes, so that what hangs fails.
const PATIENCE: Duration = Duration::from_secs(30);

pub fn start(config: OriginConfig) -> Origin {
    Origin::start(config).expect("a loopback port is free")
}

/// A connection to an origin.
pub struct Client {
    stream: BufReader<TcpStream>,
}

/// A reply as it came.
#[derive(Debug, PartialEq, Eq)]
pub struct Reply {
    pub version: String,
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("a text")
    }
}

impl Client {
    pub fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).expect("the origin listens");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client { stream: BufReader::new(stream) }
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.get_mut().write_all(bytes.as_ref()).expect("the connection takes a request");
    }

    /// Asks for `path` over HTTP/1.1 and reads the reply.
    pub fn get(&mut self, path: &str) -> Reply {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: origin\r\n\r\n"));
        self.read_reply()
    }

    pub fn post(&mut self, path: &str, body: &[u8]) -> Reply {
        let length = body.len();
        self.send(format!("POST {path} HTTP/1.1\r\nHost: origin\r\nContent-Length: {length}\r\n\r\n"));
        self.send(body);
        self.read_reply()
    }

    pub fn read_reply(&mut self) -> Reply {
        let mut reply = self.read_head();
        reply.body = if reply.header("transfer-encoding") == Some("chunked") {
            self.read_chunks().concat()
        } else if let Some(length) = reply.header("content-length") {
            self.read_exactly(length.parse().expect("a length"))
        } else {
            self.read_to_end()
        };
        reply
    }

    /// A reply's head, its body left unread.
    pub fn read_head(&mut self) -> Reply {
        let start = self.read_line();
        let (version, status) = start.split_once(' ').expect("a status line");
        let mut reply = Reply {
            version: version.to_owned(),
            status: status[..3].parse().expect("a status"),
            headers: Vec::new(),
            body: Vec::new(),
        };
        loop {
            let line = self.read_line();
            match line.split_once(':') {
                Some((name, value)) => {
                    reply.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
                }
                None => return reply,
            }
        }
    }

    pub fn read_chunks(&mut self) -> Vec<Vec<u8>> {
        let mut chunks = Vec::new();
        loop {
            let length = usize::from_str_radix(&self.read_line(), 16).expect("a chunk's length");
            let chunk = self.read_exactly(length);
            assert_eq!(self.read_line(), "", "a chunk ends in a line's end");
            if length == 0 {
                return chunks;
            }
            chunks.push(chunk);
        }
    }

    pub fn read_to_end(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        self.stream.read_to_end(&mut body).expect("the connection ends well");
        body
    }

    /// True if nothing comes within `time`.
    pub fn hears_nothing_for(&mut self, time: Duration) -> bool {
        self.stream.get_ref().set_read_timeout(Some(time)).unwrap();
        let heard = self.stream.fill_buf().map(<[u8]>::len);
        self.stream.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
        heard.is_err_and(|error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
    }

    /// True if the origin has closed the connection, by FIN or by RST; waits until it does.
    pub fn is_closed(&mut self) -> bool {
        match self.stream.fill_buf() {
            Ok(bytes) => bytes.is_empty(),
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }

    /// Ends the client's side only.
    pub fn shut_down_sending(&self) {
        self.stream.get_ref().shutdown(std::net::Shutdown::Write).unwrap();
    }

    pub fn read_bytes(&mut self, length: usize) -> Vec<u8> {
        self.read_exactly(length)
    }

    fn read_line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("a line");
        line.strip_suffix("\r\n").expect("a whole line").to_owned()
    }

    fn read_exactly(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).expect("as many bytes as were announced");
        bytes
    }
}
