//! A server that answers all and knows what it was asked, written with the standard library alone.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    pub method: String,
    pub target: String,
    /// Fields by name in lower case.
    pub fields: BTreeMap<String, String>,
    pub body: String,
}

impl Arrived {
    pub fn line(&self) -> String {
        let body = if self.body.is_empty() { String::new() } else { format!(" {}", self.body) };
        format!("{} {}{body}", self.method, self.target)
    }

    /// A field; empty if there is none.
    pub fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}

pub struct Server {
    pub address: String,
    arrived: Arc<Mutex<Vec<Arrived>>>,
}

impl Server {
    pub fn new() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("an address of this machine");
        let address = listener.local_addr().expect("it is bound").to_string();
        let arrived = Arc::<Mutex<Vec<Arrived>>>::default();
        let known = Arc::clone(&arrived);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let known = Arc::clone(&known);
                thread::spawn(move || serve(&stream.expect("a client"), &known));
            }
        });
        Server { address, arrived }
    }

    /// Requests that arrived since the last time, in order.
    pub fn take(&self) -> Vec<Arrived> {
        std::mem::take(&mut *self.arrived.lock().expect("nobody panicked"))
    }
}

/// Status, fields and body of the reply to a target.
fn reply(target: &str) -> (u16, &'static str, String) {
    let path = target.split('?').next().unwrap_or_default();
    match path {
        "/login" => (
            200,
            "X-Token: t 1&2\r\nContent-Type: application/json\r\n",
            r#"{"token": "abc/1", "user": {"id": 7}}"#.to_owned(),
        ),
        "/page" => {
            (200, "Content-Type: text/html\r\n", "<p>hello</p><input name='csrf' value='c0ffee'>".to_owned())
        }
        "/redirect" => (302, "Location: /landed\r\n", String::new()),
        "/missing" => (404, "", "none".to_owned()),
        "/set" => (200, "Set-Cookie: sid=1; Path=/\r\n", "ok".to_owned()),
        _ => (200, "", "ok".to_owned()),
    }
}

/// Reads requests with their bodies until the client closes.
fn serve(stream: &TcpStream, known: &Mutex<Vec<Arrived>>) {
    let (mut reader, mut writer) = (BufReader::new(stream), stream);
    loop {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            match reader.read_line(&mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if line == "\r\n" => break,
                Ok(_) => head.push(line.trim_end().to_owned()),
            }
        }
        let mut fields = BTreeMap::new();
        for line in &head[1..] {
            let (name, value) = line.split_once(':').expect("a field");
            fields.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        if fields.contains_key("expect") && writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").is_err() {
            return;
        }
        let length = fields.get("content-length").map_or(0, |length| length.parse().expect("a number"));
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let mut words = head[0].split(' ');
        let (method, target) =
            (words.next().expect("a method").to_owned(), words.next().expect("a target").to_owned());
        let (status, of_reply, content) = reply(&target);
        let body = String::from_utf8_lossy(&body).into_owned();
        let is_head = method == "HEAD";
        known.lock().expect("nobody panicked").push(Arrived { method, target, fields, body });
        let mut reply = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n{of_reply}\r\n", content.len());
        if !is_head {
            reply += &content;
        }
        if writer.write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}
