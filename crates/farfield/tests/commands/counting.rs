//! A server of another hand that counts: what it was asked, and with which status it answered.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A server that answers all, and knows what it was asked: methods, targets, the field `X-A`, cookies,
/// bodies. `/status/CODE` is answered with that status, `/set` with a cookie that is Secure, `/cut` with a
/// part of a reply.
pub struct Counting {
    pub address: String,
    known: Arc<Mutex<Known>>,
}

#[derive(Default)]
struct Known {
    asked: Vec<String>,
    statuses: BTreeMap<u16, u64>,
}

impl Counting {
    pub fn at(address: &str) -> Counting {
        let listener = TcpListener::bind(address).expect("an address of this machine");
        let address = listener.local_addr().expect("it is bound").to_string();
        let known = Arc::<Mutex<Known>>::default();
        let own = Arc::clone(&known);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let known = Arc::clone(&own);
                thread::spawn(move || serve(&stream.expect("a client"), &known));
            }
        });
        Counting { address, known }
    }

    pub fn new() -> Counting {
        Counting::at("127.0.0.1:0")
    }

    /// Requests that it got, in order.
    pub fn asked(&self) -> Vec<String> {
        self.known.lock().expect("nobody panicked").asked.clone()
    }

    /// The number of its replies by status.
    pub fn statuses(&self) -> BTreeMap<u16, u64> {
        self.known.lock().expect("nobody panicked").statuses.clone()
    }

    pub fn port(&self) -> &str {
        self.address.rsplit(':').next().expect("a port")
    }
}

/// Reads requests with their bodies until the client closes.
fn serve(stream: &TcpStream, known: &Mutex<Known>) {
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
        let field = |name: &str| {
            head.iter().skip(1).find_map(|line| {
                let (own, value) = line.split_once(": ")?;
                own.eq_ignore_ascii_case(name).then(|| value.to_owned())
            })
        };
        let mut body = vec![0; field("content-length").map_or(0, |length| length.parse().expect("a number"))];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let mut words = head[0].split(' ');
        let (method, target) = (words.next().expect("a method"), words.next().expect("a target"));
        let cookie = field("cookie").map_or_else(String::new, |cookie| format!(" {cookie}"));
        let own = field("x-a").map_or_else(String::new, |value| format!(" x-a={value}"));
        let body = String::from_utf8_lossy(&body);
        let body = if body.is_empty() { String::new() } else { format!(" {body}") };
        let code = target.strip_prefix("/status/").and_then(|rest| rest.get(..3)?.parse().ok());
        let status: u16 = code.unwrap_or(200);
        {
            let mut known = known.lock().expect("nobody panicked");
            known.asked.push(format!("{method} {target}{own}{cookie}{body}"));
            *known.statuses.entry(status).or_default() += 1;
        }
        let set = if target == "/set" { "Set-Cookie: sid=1; Secure; Path=/\r\n" } else { "" };
        let length = if target == "/cut" { 3 } else { 2 };
        let reply = format!("HTTP/1.1 {status} So\r\nContent-Length: {length}\r\n{set}\r\nok");
        if writer.write_all(reply.as_bytes()).is_err() || target == "/cut" {
            return;
        }
    }
}
